// SPDX-License-Identifier: MIT
/*
 * What the kernel would make of a file, from its first bytes. `binary` knows much more, but
 * exact_start, which runs inside other people's programs, is to need nothing but libc.
 */
#include "launch/exact.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { HEAD_BYTES = 256 }; /* the kernel reads as many (BINPRM_BUF_SIZE) */

static enum launch_format elf_format(const unsigned char *head, size_t bytes)
{
    Elf64_Ehdr header;
    if (bytes < sizeof header)
        return LAUNCH_FORMAT_NONE;
    memcpy(&header, head, sizeof header); /* e_machine lies in the same place in both classes */
    bool x86 = header.e_machine == EM_386 || header.e_machine == EM_X86_64;
    if (header.e_ident[EI_DATA] != ELFDATA2LSB || !x86)
        return LAUNCH_FORMAT_FOREIGN;
    if (header.e_ident[EI_CLASS] == ELFCLASS32)
        return LAUNCH_FORMAT_32BIT;
    if (header.e_machine != EM_X86_64)
        return LAUNCH_FORMAT_FOREIGN;
    bool program = header.e_type == ET_EXEC || header.e_type == ET_DYN;
    return program && header.e_phnum > 0 ? LAUNCH_FORMAT_NATIVE : LAUNCH_FORMAT_NONE;
}

static enum launch_format script_format(const char *head, size_t bytes,
                                        char interpreter[LAUNCH_PATH_BYTES])
{
    size_t from = 2;
    while (from < bytes && (head[from] == ' ' || head[from] == '\t'))
        from++;
    size_t end = from;
    while (end < bytes && head[end] && !strchr(" \t\r\n", head[end]))
        end++;
    if (end == from || end == HEAD_BYTES)
        return LAUNCH_FORMAT_NONE;
    memcpy(interpreter, head + from, end - from);
    interpreter[end - from] = 0;
    return LAUNCH_FORMAT_SCRIPT;
}

enum launch_format launch_format(const char *path, char interpreter[LAUNCH_PATH_BYTES])
{
    char head[HEAD_BYTES];
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return LAUNCH_FORMAT_UNREADABLE;
    ssize_t count = fstat(file, &status) == 0 && S_ISREG(status.st_mode)
                        ? read(file, head, sizeof head)
                        : (errno = EACCES, -1);
    int reason = errno;
    close(file);
    errno = reason;
    if (count < 0)
        return LAUNCH_FORMAT_UNREADABLE;
    if (count >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
        return elf_format((const unsigned char *)head, (size_t)count);
    if (count >= 2 && head[0] == '#' && head[1] == '!')
        return script_format(head, (size_t)count, interpreter);
    return memchr(head, 0, (size_t)count) ? LAUNCH_FORMAT_NONE : LAUNCH_FORMAT_TEXT;
}

bool launch_set_id(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_mode & (S_ISUID | S_ISGID) ||
            getxattr(path, "security.capability", NULL, 0) > 0);
}
