// SPDX-License-Identifier: MIT
/*
 * A module as `headroom cc` makes them, written by hand: code that does nothing, of which only addresses
 * and lines matter, a map of it, and counters. Functions:
 *   work    a loop with two ways through it: 8 paths, array, cycles
 *   hashed  two ways: 2 paths, hash table
 *   outer   calls inner from two sites: contexts and paths by call site
 *   inner   contexts and paths
 *   plain   contexts only, cycles
 *   skipped not instrumented
 * Blocks say: start, instructions, loads, stores, flags.
 */
        .file "built.c"
        .section .debug_line, "", @progbits
lines:
        .text
text:
        .file 1 "/source/built.c"

        .macro BLOCK function number line
\function\()_\number:
        .loc 1 \line
        nop
        .endm

        .macro BEGIN function
        .globl \function
        .type \function, @function
\function:
\function\()_begin:
        .endm

        .macro END function
        ret
        .size \function, . - \function
        .endm

        BEGIN work
        BLOCK work 0 10
        .loc 1 11
        nop
        BLOCK work 1 12
        BLOCK work 2 13
        BLOCK work 3 15
        BLOCK work 4 16
        BLOCK work 5 18
        END work

        BEGIN hashed
        BLOCK hashed 0 30
        BLOCK hashed 1 31
        BLOCK hashed 2 32
        END hashed

        BEGIN outer
        BLOCK outer 0 40
        nop
outer_return_0:
        BLOCK outer 1 41
        nop
outer_return_1:
        BLOCK outer 2 42
        END outer

        BEGIN inner
        BLOCK inner 0 50
        END inner

        BEGIN plain
        BLOCK plain 0 60
        END plain

        BEGIN skipped
        BLOCK skipped 0 70
        END skipped

end_of_text:
        /* A compilation unit, so that the lines belong to something. */
        .section .debug_abbrev, "", @progbits
abbreviations:
        .uleb128 1, 0x11        /* DW_TAG_compile_unit, no children */
        .byte 0
        .uleb128 0x03, 0x08     /* name, string          */
        .uleb128 0x1b, 0x08     /* directory, string     */
        .uleb128 0x11, 0x01     /* low address           */
        .uleb128 0x12, 0x07     /* bytes of code, data8  */
        .uleb128 0x10, 0x17     /* lines, offset         */
        .uleb128 0, 0
        .byte 0
        .section .debug_info, "", @progbits
        .long unit_end - unit
unit:
        .short 4
        .long abbreviations
        .byte 8
        .uleb128 1
        .string "built.c"
        .string "/source"
        .quad text
        .quad end_of_text - text
        .long lines
unit_end:

        .section headroom_counters, "aw", @nobits
        .skip 16                /* what nobody owns */
work_cells:     .skip 8 * 8 * 3
hashed_cells:   .skip 24 + 32 * 256
outer_cells:    .skip 8 * 2
inner_cells:    .skip 8

        .section headroom_map, "a", @progbits
        .balign 4
        .macro HEAD function end cells count modes kind reason blocks edges sites assembly log2
\function\()_entry:
        .long 0x31505248, (\end - \function\()_entry) / 4
        .long \function\()_begin - ., \cells
        .long \count
        .short \modes
        .byte \kind, \reason
        .long \blocks, \edges, \sites, \assembly
        .float \log2
        .endm
        .macro MAPPED function number instructions loads stores
        .long \function\()_\number - ., \instructions
        .short \loads, \stores
        .long 0
        .endm

        HEAD work work_end "work_cells - ." 24 9 1 0 6 8 0 3 3.0
        MAPPED work 0 5 1 2
        MAPPED work 1 2 1 0
        MAPPED work 2 7 3 1
        MAPPED work 3 11 0 0
        MAPPED work 4 3 0 0
        MAPPED work 5 1 1 0
        .long 0, 1, 0
        .long 1, 2, 0
        .long 1, 3, 0
        .long 2, 4, 0
        .long 3, 4, 0
        .long 4, 1, 1
        .long 4, 5, 0
        .long 5, -1, 0
work_end:
        .long 0                 /* padding */

        HEAD hashed hashed_end "hashed_cells - ." 1027 1 2 1 3 4 0 0 60.5
        MAPPED hashed 0 1 0 0
        MAPPED hashed 1 10 0 0
        MAPPED hashed 2 1 0 0
        .long 0, 1, 0
        .long 0, 2, 0
        .long 1, 2, 0
        .long 2, -1, 0
hashed_end:

        HEAD outer outer_end 0 2 7 1 0 3 4 2 0 1.0
        MAPPED outer 0 2 0 0
        MAPPED outer 1 3 0 0
        MAPPED outer 2 1 0 0
        .long 0, 1, 0
        .long 0, 2, 0
        .long 1, 2, 0
        .long 2, -1, 0
        .long outer_return_0 - ., 0, 0
        .long outer_return_1 - ., 1, 0
outer_end:

        HEAD inner inner_end 0 1 7 1 0 1 1 0 0 0.0
        MAPPED inner 0 4 1 1
        .long 0, -1, 0
inner_end:

        HEAD plain plain_end 0 0 10 0 0 1 1 0 0 0.0
        MAPPED plain 0 4 1 1
        .long 0, -1, 0
plain_end:

        HEAD skipped skipped_end 0 0 3 0 4 0 0 0 0 0.0
skipped_end:

        .section .note.GNU-stack, "", @progbits
