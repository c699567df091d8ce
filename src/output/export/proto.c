// SPDX-License-Identifier: MIT
/* Protocol buffers' wire format. */
#include "export/proto.h"

enum { VARINT_BYTES = 10, WIRE_NUMBER = 0, WIRE_BYTES = 2 };

void proto_varint(struct util_text *proto, uint64_t value)
{
    unsigned char bytes[VARINT_BYTES];
    size_t count = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[count++] = (unsigned char)(value | 0x80);
    bytes[count++] = (unsigned char)value;
    util_text_add(proto, bytes, count);
}

void proto_number(struct util_text *proto, unsigned field, uint64_t value)
{
    if (!value)
        return;
    proto_varint(proto, field << 3 | WIRE_NUMBER);
    proto_varint(proto, value);
}

void proto_bytes(struct util_text *proto, unsigned field, const void *bytes, size_t count)
{
    proto_varint(proto, field << 3 | WIRE_BYTES);
    proto_varint(proto, count);
    util_text_add(proto, bytes, count);
}

void proto_message(struct util_text *proto, unsigned field, const struct util_text *message)
{
    proto->failed |= message->failed;
    proto_bytes(proto, field, message->bytes, message->count);
}
