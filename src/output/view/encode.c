// SPDX-License-Identifier: MIT
/* Compression and base64, which browsers undo by themselves (DecompressionStream "deflate", atob).
 */
#include "view/internal.h"

#include <stdlib.h>
#include <zlib.h>

static void base64(const unsigned char *bytes, size_t count, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        unsigned b = i + 1 < count ? bytes[i + 1] : 0, c = i + 2 < count ? bytes[i + 2] : 0;
        unsigned group = (unsigned)bytes[i] << 16 | b << 8 | c;
        putc(digits[group >> 18], out);
        putc(digits[group >> 12 & 63], out);
        putc(i + 1 < count ? digits[group >> 6 & 63] : '=', out);
        putc(i + 2 < count ? digits[group & 63] : '=', out);
    }
}

enum base_status encode_write(const char *bytes, size_t count, FILE *out)
{
    uLongf packed_bytes = compressBound(count);
    unsigned char *packed = malloc(packed_bytes);
    if (!packed)
        return BASE_NO_MEMORY;
    int result =
        compress2(packed, &packed_bytes, (const unsigned char *)bytes, count, Z_BEST_COMPRESSION);
    if (result == Z_OK)
        base64(packed, packed_bytes, out);
    free(packed);
    return result == Z_OK ? BASE_OK : BASE_NO_MEMORY;
}
