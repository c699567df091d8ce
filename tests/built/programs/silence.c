// SPDX-License-Identifier: MIT
/* Fills a large table that nobody reads; then stores twice to the same places, over and over. */
enum { TABLE = 4000000, ROUNDS = 100000, PLACES = 8 };
static volatile long table[TABLE], places[PLACES];

int main(void)
{
    for (long i = 0; i < TABLE; i++)
        table[i] = i;
    for (long i = 0; i < ROUNDS; i++) {
        places[i % PLACES] = i;
        places[i % PLACES] = -i;
    }
    return 0;
}
