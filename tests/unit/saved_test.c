// SPDX-License-Identifier: MIT
/*
 * What is kept for later runs: used when it is sound and as if it were not there when it is
 * anything else, however that came about; bounded; the same frames with it and without.
 */
#include "binary/binary.h"
#include "binary/saved.h"

#include "binary/image.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/headroom-saved-XXXXXX";
static const char *const self = "/proc/self/exe";

static int run(const char *format, ...)
{
    char command[4096];
    va_list arguments;
    int length = snprintf(command, sizeof command, "cd %s && ", directory);
    va_start(arguments, format);
    vsnprintf(command + length, sizeof command - (size_t)length, format, arguments);
    va_end(arguments);
    return system(command);
}

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static int begin(void **state)
{
    return mkdtemp(directory) ? 0 : -1;
}

static int end(void **state)
{
    return run("rm -rf %s", directory);
}

/* Each test has a folder of its own, which is not there yet. */
static int fresh(void **state)
{
    setenv("HEADROOM_CACHE", path_of("cache"), 1);
    return run("chmod -R u+rwx . && rm -rf * .cache");
}

static struct saved_key key_of(const char *path, enum saved_kind kind)
{
    struct image image;
    struct saved_key key;
    assert_int_equal(image_open(path, &image), BASE_OK);
    assert_true(saved_key(&image, kind, &key));
    image_close(&image);
    return key;
}

/* The size of the table that is had for this program; *first: its first bytes. */
static uint64_t compile(uint64_t *first)
{
    uint64_t bytes = 0;
    int file = memfd_create("table", MFD_CLOEXEC);
    assert_int_equal(binary_compile_unwind(self, file, &bytes), BASE_OK);
    assert_int_equal(pread(file, first, sizeof *first, 0), sizeof *first);
    close(file);
    return bytes;
}

static bool is_kept(const struct saved_key *key, const char *bytes)
{
    struct saved saved;
    if (!saved_find(key, &saved))
        return false;
    bool equal = saved.count == strlen(bytes) && memcmp(saved.bytes, bytes, saved.count) == 0;
    assert_true(equal);
    saved_release(&saved);
    return true;
}

static unsigned count_files(void)
{
    unsigned count = 0;
    DIR *entries = opendir(path_of("cache"));
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        count += entry->d_name[0] != '.';
    if (entries)
        closedir(entries);
    return count;
}

static void tables_come_from_what_is_kept(void **state)
{
    static const char other[] = "another table";
    uint64_t made, again, first, second;
    struct saved_key key = key_of(self, SAVED_UNWIND);
    made = compile(&first);
    assert_int_equal(count_files(), 1);
    again = compile(&second);
    assert_int_equal(made, again);
    assert_int_equal(first, second);
    saved_keep(&key, other, strlen(other));
    assert_int_equal(count_files(), 1);
    assert_int_equal(compile(&second), strlen(other));
    assert_memory_equal(&second, other, sizeof second);
    setenv("HEADROOM_CACHE", "", 1);
    assert_int_equal(compile(&second), made);
    assert_int_equal(first, second);
    assert_int_equal(run("rm -r cache"), 0);
    setenv("HEADROOM_CACHE", path_of("cache"), 1);
    assert_int_equal(compile(&second), made);
}

static void other_files_are_not_confused(void **state)
{
    struct saved_key key = key_of(self, SAVED_UNWIND), changed;
    saved_keep(&key, "this", 4);
    assert_true(is_kept(&key, "this"));
    for (size_t i = 0; i < sizeof key; i++) {
        changed = key;
        ((unsigned char *)&changed)[i] ^= 1;
        assert_false(is_kept(&changed, "this"));
    }
    assert_int_equal(run("cp %s copy && touch -d '2001-01-01' copy", "/proc/$PPID/exe"), 0);
    changed = key_of(path_of("copy"), SAVED_UNWIND);
    assert_false(is_kept(&changed, "this"));
}

/* Of the only file in the folder. */
static void change_file(off_t at, off_t cut_to)
{
    char name[512] = "";
    unsigned char byte;
    DIR *entries = opendir(path_of("cache"));
    for (struct dirent *entry; (entry = readdir(entries));)
        if (entry->d_name[0] != '.')
            snprintf(name, sizeof name, "cache/%s", entry->d_name);
    closedir(entries);
    int file = open(path_of(name), O_RDWR);
    assert_true(file >= 0);
    if (cut_to >= 0) {
        assert_int_equal(ftruncate(file, cut_to), 0);
    } else {
        assert_int_equal(pread(file, &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
    }
    close(file);
}

static void damage_is_noticed(void **state)
{
    enum { BYTES = 1000, FIRST = 4096 };
    char text[BYTES + 1];
    struct saved_key key = key_of(self, SAVED_UNWIND);
    memset(text, 'x', BYTES);
    text[BYTES] = 0;
    for (off_t at = 0; at < FIRST + BYTES; at += at >= 200 && at < FIRST ? FIRST - at : 3) {
        saved_keep(&key, text, BYTES);
        assert_true(is_kept(&key, text));
        change_file(at, -1);
        if ((size_t)at < 3 * 8 + sizeof key || at >= FIRST)
            assert_false(is_kept(&key, text));
    }
    for (off_t bytes = 0; bytes < FIRST + BYTES; bytes += 251) {
        saved_keep(&key, text, BYTES);
        change_file(0, bytes);
        assert_false(is_kept(&key, text));
    }
    saved_keep(&key, text, BYTES);
    assert_true(is_kept(&key, text));
}

static void what_others_could_have_made_is_not_used(void **state)
{
    struct saved_key key = key_of(self, SAVED_UNWIND);
    saved_keep(&key, "this", 4);
    assert_int_equal(run("chmod 770 cache"), 0);
    assert_false(is_kept(&key, "this"));
    assert_int_equal(run("chmod 700 cache"), 0);
    assert_true(is_kept(&key, "this"));
    assert_int_equal(run("chmod 666 cache/*"), 0);
    assert_false(is_kept(&key, "this"));
    assert_int_equal(run("chmod 600 cache/*"), 0);
    assert_true(is_kept(&key, "this"));
    assert_int_equal(run("mv cache real && ln -s real cache"), 0);
    assert_false(is_kept(&key, "this"));
    saved_keep(&key, "that", 4);
    assert_int_equal(run("rm cache && mv real cache"), 0);
    assert_true(is_kept(&key, "this"));
    assert_int_equal(run("for f in cache/*; do mv $f there && ln -s ../there $f; done"), 0);
    assert_false(is_kept(&key, "this"));
    saved_keep(&key, "that", 4); /* in place of the link, not through it */
    assert_true(is_kept(&key, "that"));
    assert_int_equal(run("tail -c 4 there | grep -q this"), 0);
}

static void no_folder_is_made_where_none_belongs(void **state)
{
    struct saved_key key = key_of(self, SAVED_UNWIND);
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    unsetenv("HEADROOM_CACHE");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", path_of("nobody"), 1);
    saved_keep(&key, "this", 4);
    assert_int_not_equal(access(path_of("nobody"), F_OK), 0);
    assert_int_equal(run("mkdir nobody"), 0);
    saved_keep(&key, "this", 4);
    assert_int_equal(
        run("test -d nobody/.cache/headroom && test $(stat -c %%a nobody/.cache/headroom) = 700"),
        0);
    assert_true(is_kept(&key, "this"));
    setenv("XDG_CACHE_HOME", path_of("nobody"), 1);
    assert_false(is_kept(&key, "this"));
    saved_keep(&key, "this", 4);
    assert_int_equal(run("test -d nobody/headroom"), 0);
    unsetenv("XDG_CACHE_HOME");
    setenv("HEADROOM_CACHE", "relative", 1);
    saved_keep(&key, "this", 4);
    assert_false(is_kept(&key, "this"));
    if (home)
        setenv("HOME", home, 1);
    free(home);
}

static void the_folder_is_bounded(void **state)
{
    struct saved_key key = key_of(self, SAVED_UNWIND);
    saved_keep(&key, "this", 4);
    assert_int_equal(run("cd cache && touch -d '-5 days' *"), 0);
    /* sparse: they take no room */
    assert_int_equal(run("cd cache && for i in 4 3 2 1; do truncate -s 65M $i.debug && touch -d "
                         "\"-$i days\" $i.debug; done"),
                     0);
    assert_int_equal(run("cd cache && touch mine.txt new.1.2 && touch -d '-2 hours' new.3.4"), 0);
    struct saved_key other = key_of(self, SAVED_DEBUG);
    saved_keep(&other, "that", 4);
    assert_int_equal(run("cd cache && test ! -e 4.debug && test ! -e 3.debug && test -e 2.debug && "
                         "test -e 1.debug"),
                     0);
    assert_false(is_kept(&key, "this"));
    assert_true(is_kept(&other, "that"));
    assert_int_equal(run("cd cache && test -e mine.txt && test -e new.1.2 && test ! -e new.3.4"),
                     0);
}

static void writers_at_one_time_do_no_harm(void **state)
{
    enum { WRITERS = 6, ROUNDS = 40 };
    struct saved_key key = key_of(self, SAVED_UNWIND);
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        char text[20000];
        for (int round = 0; round < ROUNDS; round++) {
            struct saved saved;
            size_t count = 1000 + (size_t)(i * round) % 19000;
            memset(text, 'a' + i, sizeof text);
            saved_keep(&key, text, count);
            if (!saved_find(&key, &saved))
                _exit(1); /* somebody's is there always */
            const char *bytes = saved.bytes;
            if (memchr("abcdef", bytes[0], 6) == NULL ||
                memcmp(bytes, bytes + 1, saved.count - 1) != 0)
                _exit(2);
            saved_release(&saved);
        }
        _exit(0);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(), 1);
}

/* ---- inflated debug sections ------------------------------------------------------------------
 */

enum { FUNCTIONS = 1200 };

/* Large enough that it pays to keep what is inflated. */
static void write_large(void)
{
    FILE *file = fopen(path_of("large.c"), "w");
    assert_non_null(file);
    for (int i = 0; i < FUNCTIONS; i++)
        fprintf(file,
                "struct s%d { long a%d, b%d; char *c%d; };\n"
                "static inline long in%d(struct s%d *s, long k) { return s->a%d * k + %d; }\n"
                "long f%d(struct s%d *s, int q%d) { long r%d = q%d; r%d += in%d(s, r%d); return "
                "r%d; }\n",
                i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i);
    fprintf(file, "int main(void) { return 0; }\n");
    fclose(file);
}

struct place {
    char text[200];
};

static void ask_frames(struct place *places)
{
    struct binary *binary;
    struct binary_options options = {.debug_root = path_of("none")};
    uint64_t start = 0, end;
    const char *name;
    assert_int_equal(binary_open(path_of("large"), &options, &binary), BASE_OK);
    assert_int_equal(binary_detail(binary), BINARY_DETAIL_LINES);
    for (int i = 0; i < FUNCTIONS; i++) {
        struct binary_frame frames[4];
        size_t count = 0;
        do
            assert_int_equal(binary_next_function(binary, start, &start, &end, &name), BASE_OK);
        while (name[0] != 'f' && ++start);
        count = binary_frames(binary, (start + end) / 2, frames, 4);
        assert_true(count > 0);
        snprintf(places[i].text, sizeof places[i].text, "%zu %s %s:%u:%u %s %u", count,
                 frames[0].function, frames[0].file, frames[0].line, frames[0].column,
                 frames[count - 1].function, frames[count - 1].line);
        start++;
    }
    binary_close(binary);
}

static void inflated_sections_say_the_same(void **state)
{
    static struct place without[FUNCTIONS], first[FUNCTIONS], later[FUNCTIONS];
    static const char *const ways[] = {"-gdwarf-4 -gz", "-gdwarf-5 -gz"};
    write_large();
    for (size_t i = 0; i < BASE_COUNT(ways); i++) {
        assert_int_equal(run("rm -rf cache && gcc -O1 %s -Wl,--build-id large.c -o large", ways[i]),
                         0);
        setenv("HEADROOM_CACHE", "", 1);
        ask_frames(without);
        assert_int_equal(count_files(), 0);
        setenv("HEADROOM_CACHE", path_of("cache"), 1);
        ask_frames(first);
        assert_int_equal(run("ls cache/*.debug >list && test $(wc -l <list) -eq 1"), 0);
        ask_frames(later);
        assert_memory_equal(first, without, sizeof without);
        assert_memory_equal(later, without, sizeof without);
    }
}

/* What is kept is asked: with an empty file in its place there are no lines. */
static void inflated_sections_are_used(void **state)
{
    struct binary *binary;
    struct binary_options options = {.debug_root = path_of("none")};
    write_large();
    assert_int_equal(run("gcc -O1 -g -gz -Wl,--build-id large.c -o large && "
                         "gcc -O1 -Wl,--build-id -x c /dev/null -shared -o empty"),
                     0);
    struct saved_key key = key_of(path_of("large"), SAVED_DEBUG);
    char bytes[65536];
    FILE *file = fopen(path_of("empty"), "r");
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    saved_keep(&key, bytes, count);
    assert_int_equal(binary_open(path_of("large"), &options, &binary), BASE_OK);
    assert_int_equal(binary_detail(binary), BINARY_DETAIL_SYMBOLS);
    binary_close(binary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(tables_come_from_what_is_kept, fresh),
        cmocka_unit_test_setup(other_files_are_not_confused, fresh),
        cmocka_unit_test_setup(damage_is_noticed, fresh),
        cmocka_unit_test_setup(what_others_could_have_made_is_not_used, fresh),
        cmocka_unit_test_setup(no_folder_is_made_where_none_belongs, fresh),
        cmocka_unit_test_setup(the_folder_is_bounded, fresh),
        cmocka_unit_test_setup(writers_at_one_time_do_no_harm, fresh),
        cmocka_unit_test_setup(inflated_sections_say_the_same, fresh),
        cmocka_unit_test_setup(inflated_sections_are_used, fresh),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
