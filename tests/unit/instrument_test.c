// SPDX-License-Identifier: MIT
/*
 * instrument: which functions are rewritten, and which are left alone for what reason: code as
 * compilers write it, where reading it wrongly would cost either a function or its meaning. What
 * rewritten code does is tested in whole programs.
 */
#include "instrument/instrument.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char directory[] = "/tmp/headroom-instrument-XXXXXX";

static int start(void **state)
{
    return !mkdtemp(directory);
}

static int end(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static bool assemble(char *object, size_t object_bytes)
{
    char command[256];
    snprintf(command, sizeof command, "as %s/in.s -o %s/out.o", directory, directory);
    snprintf(object, object_bytes, "%s/out.o", directory);
    return system(command) == 0;
}

static FILE *create(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

static uint8_t *read_all(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*bytes);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

static uint32_t modes = INSTRUMENTED_PATHS;

/* Rewrites one function f with this body for counting paths, or by `modes`. Its reason (enum
   instrumented_reason); *text gets the new text, which assembles. */
static uint32_t rewrite(const char *body, char **text)
{
    char source[8192], object[64];
    int length = snprintf(source, sizeof source,
                          "\t.text\n\t.globl\tf\n\t.type\tf, @function\nf:\n\t.cfi_startproc\n%s"
                          "\t.cfi_endproc\n\t.size\tf, .-f\n",
                          body);
    assert_in_range(length, 1, sizeof source - 1);
    struct asm_file *file;
    assert_int_equal(asm_parse(source, (size_t)length, &file), BASE_OK);
    FILE *out = create("in.s");
    asm_print_labelled(file, out);
    fclose(out);
    assert_true(assemble(object, sizeof object));
    size_t bytes;
    uint8_t *data = read_all(object, &bytes);
    assert_int_equal(asm_decode(file, data, bytes), BASE_OK);
    free(data);
    struct instrument_options options = {.modes = modes, .gnu = true};
    struct instrument_counts counts = {0};
    assert_int_equal(instrument_file(file, &options, &counts), BASE_OK);
    assert_int_equal(counts.functions, 1);
    assert_int_equal(counts.instrumented + counts.skipped, 1);
    size_t text_bytes;
    out = open_memstream(text, &text_bytes);
    assert_non_null(out);
    asm_print(file, out);
    fclose(out);
    asm_free(file);
    out = create("in.s");
    fputs(*text, out);
    fclose(out);
    assert_true(assemble(object, sizeof object));
    for (uint32_t reason = 0; reason < INSTRUMENTED_REASONS; reason++)
        if (counts.reasons[reason])
            return reason;
    return INSTRUMENTED_WHOLE;
}

static uint32_t reason_of(const char *body)
{
    char *text;
    uint32_t reason = rewrite(body, &text);
    free(text);
    return reason;
}

/* Two paths, and calls: the number of the path needs a place in the frame or a register that the
 * function does not use. */
#define ENTRY                                                                                      \
    "\tpushq %r15\n\tpushq %r14\n\tpushq %r13\n\tpushq %r12\n\tpushq %rbp\n\tpushq %rbx\n\tsubq "  \
    "$40, %rsp\n"
#define EXIT                                                                                       \
    "\taddq $40, %rsp\n\tpopq %rbx\n\tpopq %rbp\n\tpopq %r12\n\tpopq %r13\n\tpopq %r14\n\tpopq "   \
    "%r15\n"                                                                                       \
    "\tret\n"
#define TWO_PATHS "\ttestl %edi, %edi\n\tje .L2\n\tcall g\n.L2:\n\tcall h\n"

static void plain_functions_are_whole(void **state)
{
    assert_int_equal(reason_of(ENTRY TWO_PATHS EXIT), INSTRUMENTED_WHOLE);
    assert_int_equal(reason_of("\ttestl %edi, %edi\n\tje .L2\n\tincl %eax\n.L2:\n\tret\n"),
                     INSTRUMENTED_WHOLE);
}

/* An index that happens to be rbp says nothing about the stack. */
static void rbp_is_an_ordinary_register(void **state)
{
    assert_int_equal(
        reason_of(ENTRY "\tmovl $1, %ebp\n" TWO_PATHS "\tmovq 0(%r13,%rbp,8), %rsi\n" EXIT),
        INSTRUMENTED_WHOLE);
    assert_int_equal(
        reason_of(ENTRY "\tmovq %rdi, %rbp\n" TWO_PATHS "\tleaq (%rax,%rbp), %r13\n" EXIT),
        INSTRUMENTED_WHOLE);
    assert_int_equal(
        reason_of(ENTRY "\tmovq %rdi, %rbp\n" TWO_PATHS "\tleaq 8(,%rbp,4), %r13\n" EXIT),
        INSTRUMENTED_WHOLE);
}

#define NOP                                                                                        \
    "\t.p2align\t3,,4\n.LHR0_p0:\n\t{disp8} "                                                      \
    "nopl\t0(%rax,%rax)\n\t.reloc\t.LHR0_p0,R_X86_64_NONE,.LHR0_q0\n"

/* Is `first` followed by the nop, and that by `then`? */
static bool is_prepared(const char *body, const char *first, const char *then, uint32_t *reason)
{
    char *text, wanted[512];
    snprintf(wanted, sizeof wanted, "%s%s%s", first, NOP, then);
    *reason = rewrite(body, &text);
    bool prepared = strstr(text, wanted) && strstr(text, "headroom_functions,\"ao\",@progbits,f\n");
    assert_int_equal(!prepared, !strstr(text, "headroom_functions"));
    free(text);
    return prepared;
}

static void nops_come_first(void **state)
{
    uint32_t reason;
    modes = INSTRUMENTED_FUNCTIONS;
    assert_true(is_prepared("\tret\n", "\t.cfi_startproc\n", "\tret\n", &reason));
    assert_true(is_prepared("\tendbr64\n.L2:\n\tdecl %edi\n\tjne .L2\n\tret\n", "\tendbr64\n",
                            ".L2:\n", &reason));
    assert_int_equal(reason, INSTRUMENTED_WHOLE);
    /* What is not understood further on does not matter. */
    assert_true(is_prepared(".L2:\n\tjmp *%rdi\n\tjmp *.L3(,%rdi,8)\n.L3:\t.quad .L2\n",
                            "\t.cfi_startproc\n", ".L2:\n", &reason));
    assert_int_equal(reason, INSTRUMENTED_WHOLE);
    assert_true(is_prepared("\t.cfi_personality 0x3,x\n\tendbr64\n#APP\n\tjmp g\n#NO_APP\n\tret\n",
                            "\tendbr64\n", "#APP\n", &reason));
    assert_int_equal(reason, INSTRUMENTED_WHOLE);
    assert_false(is_prepared("\tiretq\n", "", "", &reason));
    assert_int_equal(reason, INSTRUMENTED_SKIP_ATTRIBUTE);
    modes = INSTRUMENTED_PATHS | INSTRUMENTED_FUNCTIONS;
    assert_true(is_prepared(ENTRY TWO_PATHS EXIT, "\t.cfi_startproc\n", "", &reason));
    assert_int_equal(reason, INSTRUMENTED_WHOLE);
    modes = INSTRUMENTED_PATHS;
    assert_false(is_prepared(ENTRY TWO_PATHS EXIT, "", "", &reason));
}

/* But as a frame pointer it may address arguments, whatever is added to it. */
static void rbp_is_a_frame_pointer(void **state)
{
    const char *begin = "\tpushq %rbp\n\tmovq %rsp, %rbp\n\tpushq %rbx\n\tsubq $24, %rsp\n";
    const char *stop = "\tmovq -8(%rbp), %rbx\n\tleave\n\tret\n";
    char body[1024];
    snprintf(body, sizeof body, "%s%s%s%s", begin, TWO_PATHS, "\tmovq (%rax,%rbp), %r13\n", stop);
    assert_int_equal(reason_of(body), INSTRUMENTED_SKIP_ARGUMENTS);
    snprintf(body, sizeof body, "%s%s%s%s", begin, TWO_PATHS, "\tleaq 24(%rbp,%rax,8), %rcx\n",
             stop);
    assert_int_equal(reason_of(body), INSTRUMENTED_SKIP_ARGUMENTS);
}

/* Arguments on the stack are as far away as the frame has grown. */
static void arguments_move(void **state)
{
    char *text;
    assert_int_equal(
        rewrite(ENTRY TWO_PATHS "\tmovq 96(%rsp), %rax\n\tmovq 32(%rsp), %rdx\n" EXIT, &text),
        INSTRUMENTED_WHOLE);
    assert_non_null(strstr(text, "\tmovq 112(%rsp), %rax\n"));
    assert_non_null(strstr(text, "\tmovq 32(%rsp), %rdx\n"));
    free(text);
}

/* Those of local variables might be of the end of an array: then they must not move. */
static void addresses_of_arguments_are_left_alone(void **state)
{
    const char *local = "\tleaq 96(%rsp), %rax\n\tmovq %rsp, %rdi\n";
    char body[1024];
    snprintf(body, sizeof body, "%s%s%s%s", ENTRY, TWO_PATHS, local, EXIT);
    assert_int_equal(reason_of(body), INSTRUMENTED_SKIP_ARGUMENTS);
    assert_int_equal(
        reason_of(ENTRY TWO_PATHS "\tleaq 96(%rsp), %rax\n\tleaq 8(%rsp), %rdi\n" EXIT),
        INSTRUMENTED_SKIP_ARGUMENTS);
    assert_int_equal(
        reason_of(ENTRY TWO_PATHS "\tleaq 96(%rsp), %rax\n\tmovq 8(%rsp), %rdi\n" EXIT),
        INSTRUMENTED_WHOLE);
    assert_int_equal(reason_of(ENTRY TWO_PATHS "\tleaq 32(%rsp), %rax\n" EXIT), INSTRUMENTED_WHOLE);
}

/* Four registers that callees need not preserve are popped: handlers of interrupts have pushed
   them, others take arguments off the stack. */
static void handlers_are_left_alone(void **state)
{
    assert_int_equal(reason_of("\tpushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n" TWO_PATHS
                               "\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n\tret\n"),
                     INSTRUMENTED_SKIP_ATTRIBUTE);
    assert_int_equal(
        reason_of(
            ENTRY
            "\tpushq 32(%rsp)\n\tpushq 32(%rsp)\n\tpushq 32(%rsp)\n\tpushq 32(%rsp)\n" TWO_PATHS
            "\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n" EXIT),
        INSTRUMENTED_WHOLE);
}

/* What is pushed on entry and popped before the return is no argument if the stack was another. */
static void arguments_taken_off_are_none_to_preserve(void **state)
{
    assert_int_equal(reason_of(ENTRY
                               "\tpushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n" TWO_PATHS
                               "\tpopq %rdi\n\tpopq %rsi\n\tpopq %rdx\n\tpopq %rcx\n" EXIT),
                     INSTRUMENTED_WHOLE);
    assert_int_equal(
        reason_of("\ttestl %edi, %edi\n\tje .L3\n\tpushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n"
                  "\tpushq %rcx\n" TWO_PATHS
                  "\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n.L3:\n\tret\n"),
        INSTRUMENTED_WHOLE);
}

/* va_start without vector registers: everything it writes has to be there. */
#define SAVED "\tmovq %rdx, -24(%rsp)\n"
#define LIST(gp, area, list)                                                                       \
    "\tleaq 8(%rsp), %rax\n\tmovl $" gp ", -88(%rsp)\n\tmovq %rax, -80(%rsp)\n\tleaq " area        \
    "(%rsp), %rax\n\tmovq %rax, " list "(%rsp)\n"
#define USED                                                                                       \
    "\tmovl -88(%rsp), %eax\n\ttestl %esi, %esi\n\tje .L2\n\tincl %eax\n.L2:\n\taddq %rbx, %rax\n" \
    "\taddl %ecx, %edx\n\taddl %esi, %edi\n\taddl %r8d, %r9d\n\taddl %r10d, %r11d\n"               \
    "\taddl %ebp, %r12d\n\taddl %r13d, %r14d\n\taddl %r15d, %r14d\n\tret\n"
static void variable_arguments_move(void **state)
{
    char *text;
    assert_int_equal(rewrite(SAVED LIST("16", "-40", "-72") USED, &text), INSTRUMENTED_WHOLE);
    assert_null(strstr(text, "\tleaq 8(%rsp), %rax\n"));
    assert_non_null(strstr(text, "\tleaq -40(%rsp), %rax\n"));
    free(text);
    assert_int_equal(reason_of(LIST("16", "-40", "-72") USED), INSTRUMENTED_SKIP_ARGUMENTS);
    assert_int_equal(reason_of(SAVED LIST("24", "-40", "-72") USED), INSTRUMENTED_SKIP_ARGUMENTS);
    assert_int_equal(reason_of(SAVED LIST("16", "-48", "-72") USED), INSTRUMENTED_SKIP_ARGUMENTS);
    assert_int_equal(reason_of(SAVED LIST("16", "-40", "-64") USED), INSTRUMENTED_SKIP_ARGUMENTS);
}

/* A copy of the stack pointer is put back, or what no longer is one. */
static void copies_of_the_stack_pointer_are_known(void **state)
{
    assert_int_equal(reason_of(ENTRY
                               "\tmovq %rsp, %r14\n\tpushq 8(%rdi)\n\tpushq (%rdi)\n" TWO_PATHS
                               "\tmovq %r14, %rsp\n" EXIT),
                     INSTRUMENTED_WHOLE);
    assert_int_equal(reason_of(ENTRY
                               "\tmovq %rsp, %r14\n\tpushq 8(%rdi)\n\tpushq (%rdi)\n" TWO_PATHS
                               "\tleaq 16(%r14), %r14\n\tmovq %r14, %rsp\n" EXIT),
                     INSTRUMENTED_SKIP_STACK);
}

/* What comes out of a range of calls arrives as the calls leave it, not the epilogue in their
 * midst. */
static void landing_pads_have_the_stack_of_calls(void **state)
{
    const char *table = "\t.section .gcc_except_table,\"a\",@progbits\n.LLSDA0:\n\t.byte 0xff\n"
                        "\t.byte 0xff\n\t.byte 0x1\n\t.uleb128 .LLSDACSE0-.LLSDACSB0\n.LLSDACSB0:\n"
                        "\t.uleb128 .LEHB0-.LFB0\n\t.uleb128 .LEHE0-.LEHB0\n\t.uleb128 .L9-.LFB0\n"
                        "\t.uleb128 0\n.LLSDACSE0:\n\t.text\n";
    const char *code = ".LFB0:\n\t.cfi_lsda 0x1b,.LLSDA0\n" ENTRY ".LEHB0:\n" TWO_PATHS
                       "\ttestl %ebx, %ebx\n\tje .L5\n" EXIT
                       ".L5:\n\tcall h\n.LEHE0:\n\tjmp .L2\n.L9:\n\tmovq %rax, %rdi\n"
                       "\ttestl %ebx, %ebx\n\tje .L8\n\tcall h\n.L8:\n\tcall abort\n";
    char body[4096];
    snprintf(body, sizeof body, "%s%s", code, table);
    modes = INSTRUMENTED_PATHS | INSTRUMENTED_CONTEXTS;
    assert_int_equal(reason_of(body), INSTRUMENTED_WHOLE);
    modes = INSTRUMENTED_PATHS;
}

/* All registers hold arguments of the function that it ends by jumping to. */
static void entries_need_no_free_register(void **state)
{
    char *text;
    modes = INSTRUMENTED_PATHS | INSTRUMENTED_CONTEXTS;
    assert_int_equal(rewrite("\tmovl %edx, %edx\n\tjmp h\n", &text), INSTRUMENTED_WHOLE);
    modes = INSTRUMENTED_PATHS;
    assert_non_null(strstr(text, "\tmovq\t%rax, -8(%rsp)\n"));
    assert_non_null(strstr(text, "\tmovq\t-8(%rsp), %rax\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_functions_are_whole),
        cmocka_unit_test(rbp_is_an_ordinary_register),
        cmocka_unit_test(rbp_is_a_frame_pointer),
        cmocka_unit_test(arguments_move),
        cmocka_unit_test(addresses_of_arguments_are_left_alone),
        cmocka_unit_test(handlers_are_left_alone),
        cmocka_unit_test(arguments_taken_off_are_none_to_preserve),
        cmocka_unit_test(variable_arguments_move),
        cmocka_unit_test(copies_of_the_stack_pointer_are_known),
        cmocka_unit_test(landing_pads_have_the_stack_of_calls),
        cmocka_unit_test(entries_need_no_free_register),
        cmocka_unit_test(nops_come_first),
    };
    return cmocka_run_group_tests(tests, start, end);
}
