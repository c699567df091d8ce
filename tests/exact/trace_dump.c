// SPDX-License-Identifier: MIT
/*
 * trace_dump FILE: an access trace as text, one event a line, for tests that recompute what the
 * engine reports from it. Numbers are decimal; addresses and values hexadecimal, values as bytes in
 * the order of memory:
 *
 *     N node parent module flags vaddr       M module start bytes bias path
 *     A id node bytes element l|s            T thread
 *     l|s id address bytes value             L|S id address bytes value     (the kernel's)
 *     F address bytes                        E
 */
#include "trace_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void put_access(char letter, const struct wire_trace_event *event)
{
    static const char digits[] = "0123456789abcdef";
    printf("%c %u %" PRIx64 " %" PRIu64 " ", letter, event->id, event->address, event->bytes);
    for (uint64_t i = 0; event->value && i < event->bytes; i++) {
        putchar(digits[event->value[i] >> 4]);
        putchar(digits[event->value[i] & 15]);
    }
    putchar('\n');
}

static void put_event(const struct wire_trace_event *event)
{
    switch (event->type) {
    case WIRE_TRACE_LOAD: put_access('l', event); break;
    case WIRE_TRACE_STORE: put_access('s', event); break;
    case WIRE_TRACE_KERNEL_LOAD: put_access('L', event); break;
    case WIRE_TRACE_KERNEL_STORE: put_access('S', event); break;
    case WIRE_TRACE_FORGET:
        printf("F %" PRIx64 " %" PRIu64 "\n", event->address, event->bytes);
        break;
    case WIRE_TRACE_THREAD: printf("T %u\n", event->id); break;
    case WIRE_TRACE_ACCESS:
        printf("A %u %u %" PRIu64 " %u %c\n", event->id, event->node, event->bytes, event->element,
               event->store ? 's' : 'l');
        break;
    case WIRE_TRACE_NODE:
        printf("N %u %u %u %u %" PRIx64 "\n", event->id, event->node, event->module, event->flags,
               event->address);
        break;
    case WIRE_TRACE_MODULE:
        printf("M %u %" PRIx64 " %" PRIu64 " %" PRIx64 " %s\n", event->id, event->address,
               event->bytes, event->bias, (const char *)event->value);
        break;
    case WIRE_TRACE_END: puts("E"); break;
    default: exit(2);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    struct wire_trace_reader *reader = trace_open(argv[1], TRACE_IDS_MAX);
    for (struct wire_trace_event event; trace_next(reader, &event);)
        put_event(&event);
    return fflush(stdout) ? 2 : 0;
}
