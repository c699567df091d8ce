// SPDX-License-Identifier: MIT
/*
 * Protocol buffers' wire format, as far as pprof's profile.proto needs it: numbers, texts, messages
 * in messages. (https://protobuf.dev/programming-guides/encoding)
 */
#ifndef HEADROOM_EXPORT_PROTO_H
#define HEADROOM_EXPORT_PROTO_H

#include "util/util.h"

/* They add to a text, which has failed if there is no memory for it: what is in it is then of no use. */
void proto_varint(struct util_text *proto, uint64_t value);
/* Fields. A number 0 is left out, as it is what readers assume. */
void proto_number(struct util_text *proto, unsigned field, uint64_t value);
void proto_bytes(struct util_text *proto, unsigned field, const void *bytes, size_t count);
void proto_message(struct util_text *proto, unsigned field, const struct util_text *message);

#endif
