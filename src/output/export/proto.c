// SPDX-License-Identifier: MIT
/* Protocol buffers' wire format. */
#include "export/proto.h"

#include <stdlib.h>
#include <string.h>

enum { VARINT_BYTES = 10, WIRE_NUMBER = 0, WIRE_BYTES = 2 };

static bool reserve(struct proto *proto, size_t more)
{
    if (proto->failed || more > SIZE_MAX / 4 - proto->count)
        return !(proto->failed = true);
    if (proto->capacity - proto->count >= more)
        return true;
    size_t capacity = 2 * (proto->count + more) + 64;
    unsigned char *moved = realloc(proto->bytes, capacity);
    if (!moved)
        return !(proto->failed = true);
    proto->bytes = moved;
    proto->capacity = capacity;
    return true;
}

void proto_varint(struct proto *proto, uint64_t value)
{
    if (!reserve(proto, VARINT_BYTES))
        return;
    for (; value >= 0x80; value >>= 7)
        proto->bytes[proto->count++] = (unsigned char)(value | 0x80);
    proto->bytes[proto->count++] = (unsigned char)value;
}

void proto_number(struct proto *proto, unsigned field, uint64_t value)
{
    if (!value)
        return;
    proto_varint(proto, field << 3 | WIRE_NUMBER);
    proto_varint(proto, value);
}

void proto_bytes(struct proto *proto, unsigned field, const void *bytes, size_t count)
{
    proto_varint(proto, field << 3 | WIRE_BYTES);
    proto_varint(proto, count);
    if (!reserve(proto, count) || !count)
        return;
    memcpy(proto->bytes + proto->count, bytes, count);
    proto->count += count;
}

void proto_message(struct proto *proto, unsigned field, const struct proto *message)
{
    proto->failed |= message->failed;
    proto_bytes(proto, field, message->bytes, message->count);
}

void proto_free(struct proto *proto)
{
    free(proto->bytes);
    *proto = (struct proto){0};
}
