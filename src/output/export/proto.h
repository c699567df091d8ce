// SPDX-License-Identifier: MIT
/*
 * Protocol buffers' wire format, as far as pprof's profile.proto needs it: numbers, texts, messages
 * in messages. (https://protobuf.dev/programming-guides/encoding)
 */
#ifndef HEADROOM_EXPORT_PROTO_H
#define HEADROOM_EXPORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto {
    unsigned char *bytes;
    size_t count, capacity;
    bool failed; /* no memory: what is in it is of no use */
};

void proto_varint(struct proto *proto, uint64_t value);
/* Fields. A number 0 is left out, as it is what readers assume. */
void proto_number(struct proto *proto, unsigned field, uint64_t value);
void proto_bytes(struct proto *proto, unsigned field, const void *bytes, size_t count);
void proto_message(struct proto *proto, unsigned field, const struct proto *message);
void proto_free(struct proto *proto);

#endif
