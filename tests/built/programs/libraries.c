// SPDX-License-Identifier: MIT
/* A few accesses of its own between calls of libraries that make many. */
#include <string.h>

static char text[400];
static volatile long places[2];
static volatile size_t length;

int main(void)
{
    memset(text, 'a', sizeof text - 1);
    for (long i = 0; i < 300000; i++) {
        places[0] = i;
        places[1] = -i;
        text[i % 300] = (char)('a' + i % 20);
        length = strlen(text);
    }
    return 0;
}
