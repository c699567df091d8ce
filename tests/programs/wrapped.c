// SPDX-License-Identifier: MIT
/*
 * Calls that the agent wraps, as often as it goes. Half of the stores to the buffer are dead, and
 * write(2) to /dev/null reads it without looking at it; beside these there are only the return addresses of the calls, all
 * used. What the wrapper itself stores and loads on the way, and the time it takes, are not the program's.
 *
 * case: wrapped --kinds dead -- 3
 *   dead.fraction 0.42..0.54
 *   dead.pair first>second 0.95..1
 * case: wrapped-loads --kinds load -- 10
 *   load.function main 0.9..1
 */
#include "known.h"

#include <fcntl.h>
#include <unistd.h>

enum { BYTES = 64, WRITES = 200 };

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    static volatile char buffer[BYTES];
    int file = open("/dev/null", O_WRONLY);
    while (known_running(seconds))
        for (int write_number = 0; write_number < WRITES; write_number++) {
            for (int i = 0; i < BYTES; i++) {
                buffer[i] = (char)write_number;  /* @first */
                buffer[i] = (char)~write_number; /* @second */
            }
            if (write(file, (const char *)buffer, BYTES) != BYTES)
                return 1;
        }
    return 0;
}
