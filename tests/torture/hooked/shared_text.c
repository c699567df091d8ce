// SPDX-License-Identifier: MIT
/*
 * Maps a library's file shared and writable, as something that edits programs might: what is
 * written to the code there is written to the file. Nobody must.
 */
#include "hooked.h"
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

static char *read_all(const char *path, size_t *bytes)
{
    struct stat status;
    int file = open(path, O_RDONLY);
    must(file >= 0 && fstat(file, &status) == 0);
    char *text = malloc((size_t)status.st_size);
    must(text && read(file, text, (size_t)status.st_size) == status.st_size);
    close(file);
    *bytes = (size_t)status.st_size;
    return text;
}

int main(int argc, char **argv)
{
    size_t bytes, bytes_now;
    must(argc > 1);
    char *before = read_all(argv[1], &bytes);
    int copy = open("copy.so", O_RDWR | O_CREAT | O_TRUNC, 0755);
    must(copy >= 0 && write(copy, before, bytes) == (ssize_t)bytes);
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)before;
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(before + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++, segment++)
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
            must(mmap(NULL, segment->p_filesz, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, copy,
                      (off_t)segment->p_offset) != MAP_FAILED);
    busy(1500);
    char *now = read_all("copy.so", &bytes_now);
    say("the file is %s\n",
        bytes == bytes_now && memcmp(before, now, bytes) == 0 ? "as it was" : "changed");
    return 0;
}
