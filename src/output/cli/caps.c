// SPDX-License-Identifier: MIT
/*
 * What is made of a profile, which may come from anywhere, is bounded in size and time by the size
 * of the file (docs/formats/profile.md, "Limits"). A small file can ask for a lot: each of its
 * findings names two calling contexts, and most formats write them out.
 *
 * Rejected: to foresee the size of what each format will write. It would have to be kept true for
 * every one of them; counting what they write cannot be wrong.
 */
#include "cli/verbs.h"

#include "show/collect.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/*
 * A finding takes some 50 bytes of a profile at least, with its share of contexts and names.
 * Written out are two contexts of some 180 bytes a frame in the most talkative format, JSON: 512
 * bytes for each byte of the file are 70 frames each, on the average of all findings. Of the
 * largest recordings looked at it is 58 to 91 bytes for each (docs/formats/profile.md). Small
 * profiles are mostly names and empty pages, and their contexts may be as deep as the agent looks:
 * hence a floor.
 */
enum { OUTPUT_FACTOR = 512, OUTPUT_FLOOR = 64 << 20 };

/*
 * The slowest there is, the JSON report of all findings of an exact recording with deep contexts, takes 2 to 5 s
 * of CPU time a MiB when it is counted and then written. The rest is for slow machines, and for
 * processors that work for others as well.
 */
enum { TIME_FLOOR_S = 60, TIME_S_A_MIB = 20, TIME_S_MAX = 1 << 30 };

/* Of what is written, until it is known whether all of it may be: what is larger is written twice.
 */
enum { KEPT_BYTES = 16 << 20 };

uint64_t output_most_bytes(uint64_t profile_bytes)
{
    return OUTPUT_FLOOR + OUTPUT_FACTOR * profile_bytes; /* files have less than 2^50 bytes */
}

enum base_status output_whole(output_writer *write, void *context, FILE *out, uint64_t most_bytes)
{
    struct collected collected;
    if (!collect_begin(&collected, KEPT_BYTES, most_bytes))
        return BASE_NO_MEMORY;
    enum base_status status = collect_end(&collected, write(context, collected.stream));
    errno = 0;
    if (status == BASE_OK && !collected.text)
        status = write(context, out);
    else if (status == BASE_OK &&
             fwrite(collected.text, 1, collected.bytes, out) != collected.bytes)
        status = BASE_IO;
    if (status == BASE_OK && (fflush(out) != 0 || ferror(out)))
        status = BASE_IO;
    int reason = errno;
    free(collected.text);
    errno = reason;
    return status;
}

/* ---- time ------------------------------------------------------------------------------------ */

static char out_of_time[256];
static const char *volatile left_behind[3];

/* Only what may be called in a signal handler. */
static void give_up(int number)
{
    (void)number;
    replace_abandon();
    for (size_t i = 0; i < BASE_COUNT(left_behind); i++)
        if (left_behind[i] && unlink(left_behind[i]) != 0)
            rmdir(left_behind[i]);
    ssize_t written = write(STDERR_FILENO, out_of_time, strlen(out_of_time));
    (void)written; /* nobody may be there to read it */
    _exit(READER_FAILED);
}

void time_limit_removes(const char *file, const char *temporary, const char *directory)
{
    left_behind[0] = file;
    left_behind[1] = temporary;
    left_behind[2] = directory;
}

unsigned time_limit_seconds(int count, const char *const *paths)
{
    uint64_t seconds = TIME_FLOOR_S;
    struct stat info;
    for (int i = 0; i < count; i++)
        if (paths[i] && stat(paths[i], &info) == 0 && S_ISREG(info.st_mode))
            seconds += ((uint64_t)info.st_size >> 20) * TIME_S_A_MIB;
    return seconds < TIME_S_MAX ? (unsigned)seconds : TIME_S_MAX;
}

void time_limit_start(unsigned seconds)
{
    snprintf(out_of_time, sizeof out_of_time,
             "headroom: gave up after %u s of CPU time, more than any recording of this size "
             "takes; the input is damaged or was crafted to do this.\n",
             seconds);
    struct sigaction action = {.sa_handler = give_up, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_value.tv_sec = (time_t)seconds};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    sigaction(SIGPROF, &action, NULL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
}
