// SPDX-License-Identifier: MIT
/*
 * asm: handwritten and compiled code whose blocks and edges are known; liveness against a search
 * along all ways; the stack's place against the compiler's unwind directives; a corpus that has to
 * come out as it went in, with the same flow as room flow sees in its bytes.
 */
#include "asm/asm.h"
#include "binary/object.h"
#include "cfg/cfg.h"

#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char directory[] = "/tmp/headroom-asm-XXXXXX";

static int start(void **state)
{
    return !mkdtemp(directory) || cfg_start() != BASE_OK;
}

static int end(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

/* ---- files and compilers ------------------------------------------------------------------- */

static const char *path(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *out = paths[next++ % 4];
    snprintf(out, sizeof paths[0], "%s/%s", directory, name);
    return out;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path(name), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *name, size_t *bytes)
{
    FILE *file = fopen(path(name), "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    text[size] = 0;
    *bytes = (size_t)size;
    fclose(file);
    return text;
}

static bool run(const char *format, ...)
{
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return bytes < (int)sizeof command && system(command) == 0;
}

static bool have(const char *program)
{
    return run("command -v %s >/dev/null", program);
}

/* A file that was taken apart, with all that it points to. */
struct taken {
    char *text, *object;
    size_t text_bytes, object_bytes;
    struct asm_file *file;
};

static void print_to(const char *name, const struct asm_file *file,
                     void (*print)(const struct asm_file *, FILE *))
{
    FILE *out = fopen(path(name), "w");
    assert_non_null(out);
    print(file, out);
    assert_int_equal(fclose(out), 0);
}

/* Takes apart the text in in.s. */
static struct taken take(const char *assembler)
{
    struct taken taken;
    taken.text = read_file("in.s", &taken.text_bytes);
    assert_int_equal(asm_parse(taken.text, taken.text_bytes, &taken.file), BASE_OK);
    print_to("labelled.s", taken.file, asm_print_labelled);
    assert_true(run("%s -c %s -o %s", assembler, path("labelled.s"), path("labelled.o")));
    taken.object = read_file("labelled.o", &taken.object_bytes);
    assert_int_equal(asm_decode(taken.file, (const uint8_t *)taken.object, taken.object_bytes),
                     BASE_OK);
    return taken;
}

static struct taken take_text(const char *text)
{
    write_file("in.s", text);
    return take("gcc");
}

static struct taken take_source(const char *compiler, const char *flags, const char *file,
                                const char *source)
{
    write_file(file, source);
    assert_true(run("cd %s && %s %s -S %s -o in.s", directory, compiler, flags, file));
    return take(compiler);
}

static void give_back(struct taken *taken)
{
    asm_free(taken->file);
    free(taken->text);
    free(taken->object);
}

static const struct asm_function *function_of(const struct taken *taken, const char *name)
{
    for (uint32_t i = 0; i < taken->file->functions_count; i++) {
        const struct asm_function *function = &taken->file->functions[i];
        if (function->name.bytes == strlen(name) &&
            !memcmp(function->name.text, name, function->name.bytes))
            return function;
    }
    fail_msg("no function %s", name);
    return NULL;
}

static const struct asm_block *blocks_of(const struct taken *taken,
                                         const struct asm_function *function)
{
    return &taken->file->blocks[function->first_block];
}

static unsigned edges_of(const struct taken *taken, const struct asm_function *function,
                         enum asm_edge_kind kind)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < function->blocks; i++) {
        const struct asm_block *block = &blocks_of(taken, function)[i];
        for (uint32_t k = 0; k < block->edges; k++)
            count += taken->file->edges[block->first_edge + k].kind == kind;
    }
    return count;
}

static unsigned blocks_with(const struct taken *taken, const struct asm_function *function,
                            uint32_t flags)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < function->blocks; i++)
        count += (blocks_of(taken, function)[i].flags & flags) == flags;
    return count;
}

/* "F1 T2|R|J0": edges of each block; a letter and the block it goes to. */
static const char *pathgraph_of(const struct taken *taken, const struct asm_function *function)
{
    static char text[1024];
    static const char letters[] = "FTJSGRAaX"; /* S: of a switch; A, a: tail */
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < function->blocks; i++) {
        const struct asm_block *block = &blocks_of(taken, function)[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", i ? "|" : "");
        for (uint32_t k = 0; k < block->edges; k++) {
            const struct asm_edge *edge = &taken->file->edges[block->first_edge + k];
            assert_int_equal(edge->from, i);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%c", k ? " " : "",
                                     letters[edge->kind]);
            if (edge->to != ASM_NONE)
                used += (size_t)snprintf(text + used, sizeof text - used, "%u", edge->to);
        }
        assert_true(used < sizeof text);
    }
    return text;
}

#define HEAD(name) ".text\n.globl " name "\n.type " name ", @function\n" name ":\n"
#define TAIL(name) ".size " name ", .-" name "\n"

/* ---- statements ---------------------------------------------------------------------------- */

static void statements_in_all_shapes(void **state)
{
    static const char text[] = "# c\n"
                               "a: .string \"x;#\\\"y\" ; nop # z ; w\n"
                               "\n"
                               "/* two\n lines */ movl $'#', %eax /* in */\n"
                               "b = 3\n"
                               "\trep; stosq\n"
                               "\tlock\n\taddl %eax, (%rdi)\n"
                               "#APP\n# 1 \"f\"\n 1: jmp 1b; .section foo\n#NO_APP\n"
                               ".macro m\n nop\n.endm\n"
                               "\tnotrack jmp *%rax";
    static const struct {
        uint8_t kind;
        uint32_t line;
        const char *name, *operands;
    } expected[] = {
        {ASM_EMPTY, 1, "", ""},
        {ASM_LABEL, 2, "a", ""},
        {ASM_DIRECTIVE, 2, ".string", "\"x;#\\\"y\""},
        {ASM_INSTRUCTION, 2, "nop", ""},
        {ASM_EMPTY, 3, "", ""},
        {ASM_INSTRUCTION, 4, "movl", "$'#', %eax"},
        {ASM_DIRECTIVE, 6, "=", "3"},
        {ASM_INSTRUCTION, 7, "stosq", ""},
        {ASM_INSTRUCTION, 8, "addl", "%eax, (%rdi)"},
        {ASM_INLINE, 10, "", ""},
        {ASM_INLINE, 14, "", ""},
        {ASM_INSTRUCTION, 17, "jmp", "*%rax"},
    };
    struct asm_file *file;
    assert_int_equal(asm_parse(text, sizeof text - 1, &file), BASE_OK);
    assert_int_equal(file->statements_count, BASE_COUNT(expected));
    const char *at = text;
    for (size_t i = 0; i < BASE_COUNT(expected); i++) {
        const struct asm_statement *statement = &file->statements[i];
        assert_ptr_equal(statement->text.text, at);
        at += statement->text.bytes;
        assert_int_equal(statement->kind, expected[i].kind);
        assert_int_equal(statement->line, expected[i].line);
        assert_int_equal(statement->name.bytes, strlen(expected[i].name));
        assert_memory_equal(statement->name.text, expected[i].name, statement->name.bytes);
        assert_int_equal(statement->operands.bytes, strlen(expected[i].operands));
        assert_memory_equal(statement->operands.text, expected[i].operands,
                            statement->operands.bytes);
    }
    assert_ptr_equal(at, text + sizeof text - 1);
    asm_free(file);
}

static void sections_and_groups(void **state)
{
    static const char text[] = ".section .text.f,\"axG\",@progbits,f,comdat\n nop\n"
                               ".section .rodata.x,\"aMSG\",@progbits,1,g,comdat\n .byte 1\n"
                               ".section .text.f\n nop\n"
                               ".pushsection .data.y,\"aw\"\n.popsection\n nop\n"
                               ".section m,\"aoG\",@progbits,f,h,comdat\n .byte 1\n";
    struct asm_file *file;
    assert_int_equal(asm_parse(text, sizeof text - 1, &file), BASE_OK);
    assert_int_equal(file->sections_count, 5);
    assert_memory_equal(file->sections[1].group.text, "f", 1);
    assert_true(file->sections[1].code);
    assert_memory_equal(file->sections[2].group.text, "g", 1);
    assert_false(file->sections[2].code);
    assert_int_equal(file->statements[5].section, 1);
    assert_int_equal(file->statements[8].section, 1);
    assert_memory_equal(file->sections[4].group.text, "h", 1);
    asm_free(file);
}

/* Whatever the bytes, they print as they were. */
static void any_text_prints_as_it_was(void **state)
{
    static const char *const pieces[] = {
        "f",
        ":",
        "\n",
        ";",
        "#",
        "\"",
        "/*",
        "*/",
        "'",
        "\\",
        " ",
        "\t",
        "#APP\n",
        "#NO_APP\n",
        ".macro",
        ".endm\n",
        "rep",
        "lock",
        "=",
        ".type f, @function\n",
        ".section",
        "\"ax\"",
        ",",
        "%rax",
        "//",
        ".if 1\n",
        ".endif\n",
        "jmp",
        ".byte",
        "0x66",
        "\x80",
        ".size f,.-f\n",
        "{vex}",
        "call",
        "x@tlsgd(%rip)",
        ".popsection\n",
        ".previous\n",
        ".cfi_lsda 3,f\n",
    };
    struct base_random random = {5};
    for (int round = 0; round < 3000; round++) {
        char text[600];
        size_t bytes = 0;
        for (unsigned i = 0, count = (unsigned)base_random_below(&random, 40); i < count; i++) {
            const char *piece = pieces[base_random_below(&random, BASE_COUNT(pieces))];
            memcpy(text + bytes, piece, strlen(piece));
            bytes += strlen(piece);
        }
        char *copy = malloc(bytes ? bytes : 1); /* so that a look beyond its end shows */
        memcpy(copy, text, bytes);
        struct asm_file *file;
        assert_int_equal(asm_parse(copy, bytes, &file), BASE_OK);
        char *out = NULL;
        size_t out_bytes = 0;
        FILE *stream = open_memstream(&out, &out_bytes);
        asm_print(file, stream);
        fclose(stream);
        assert_int_equal(out_bytes, bytes);
        assert_memory_equal(out, copy, bytes);
        free(out);
        asm_free(file);
        free(copy);
    }
}

static void edits_print_in_order(void **state)
{
    static const char text[] = "a:\n\tnop\n\tret";
    struct asm_file *file;
    assert_int_equal(asm_parse(text, sizeof text - 1, &file), BASE_OK);
    assert_true(asm_insert_after(file, 2, "z\n"));
    assert_true(asm_insert_before(file, 1, "1\n"));
    assert_true(asm_replace(file, 1, "x\n"));
    assert_true(asm_insert_before(file, 1, "2\n"));
    assert_true(asm_replace(file, 1, "y\n"));
    assert_true(asm_insert_after(file, 1, "3\n"));
    assert_true(asm_append(file, "end\n"));
    for (int round = 0; round < 2; round++) { /* printing changes nothing */
        char *out = NULL;
        size_t bytes = 0;
        FILE *stream = open_memstream(&out, &bytes);
        asm_print(file, stream);
        fclose(stream);
        assert_string_equal(out, "a:\n1\n2\ny\n3\n\tret\nz\nend\n");
        free(out);
    }
    asm_free(file);
}

/* ---- control flow -------------------------------------------------------------------------- */

static void expect_graph(const char *text, const char *expected)
{
    struct taken taken = take_text(text);
    const struct asm_function *function = function_of(&taken, "f");
    assert_int_equal(function->problem, ASM_FINE);
    assert_string_equal(pathgraph_of(&taken, function), expected);
    give_back(&taken);
}

static void branches_and_tails(void **state)
{
    expect_graph(HEAD("f") "test %edi,%edi\nje .L1\nnop\n.L2: ret\n.L1: dec %edi\njne .L2\n"
                           "jmp g\n" TAIL("f"),
                 "F1 T3|F2|R|F4 T2|A");
    expect_graph(HEAD("f") "jne g\njmp *h@GOTPCREL(%rip)\n" TAIL("f"), "F1 a|A");
    expect_graph(HEAD("f") "call abort\n.L1: call g\ncall _setjmp@PLT\njne f\nud2\n" TAIL("f"),
                 "X|F2|F3 a|X");
    expect_graph(HEAD("f") "jmp *%rax\n" TAIL("f"), "A");
    /* Labels that nothing but debug information names begin no block. */
    expect_graph(HEAD("f") ".LVL1: nop\n.LBB2: nop\n.LVL3: ret\n" TAIL(
                     "f") ".section .debug_info,\"\",@progbits\n.quad .LVL1,.LBB2\n.quad .LVL3-f\n",
                 "R");
    /* Another function of the file that never returns; not if it may be replaced. */
    expect_graph(".type d, @function\nd: jmp d2\n.size d, .-d\n.type d2, @function\nd2: call "
                 "abort\n.size d2,.-d2\n" HEAD("f") "je .L3\ncall d\n.L3: ret\n" TAIL("f"),
                 "F1 T2|X|R");
    expect_graph(".weak d\n.type d, @function\nd: call abort\n.size d, .-d\n" HEAD(
                     "f") "je .L3\ncall d\n.L3: ret\n" TAIL("f"),
                 "F1 T2|F2|R");
}

static void tables_of_switch(void **state)
{
#define TABLE                                                                                      \
    ".section .rodata\n.align 4\n.L4: .long .L1-.L4\n.long .L2-.L4\n.long .L1-.L4\n.text\n"
    struct taken taken =
        take_text(HEAD("f") "leaq .L4(%rip), %rdx\nmovslq (%rdx,%rdi,4), %rax\naddq %rdx, %rax\n"
                            "notrack jmp *%rax\n" TABLE ".L1: nop\n.L2: ret\n" TAIL("f"));
    const struct asm_function *function = function_of(&taken, "f");
    assert_string_equal(pathgraph_of(&taken, function), "S1 S2|F2|R");
    const struct asm_edge *edge = &taken.file->edges[blocks_of(&taken, function)->first_edge];
    assert_int_equal(edge[0].entries, 2);
    assert_int_equal(edge[1].entries, 1);
    for (uint32_t i = 0; i < 2; i++) {
        const struct asm_statement *entry =
            &taken.file->statements[taken.file->table_entries[edge->first_entry + i]];
        assert_memory_equal(entry->operands.text, ".L1-.L4", 7);
    }
    give_back(&taken);

    /* Two jumps of one table; an address computed before a loop; absolute addresses. */
    expect_graph(HEAD("f") "leaq .L4(%rip), %rdx\nmovslq (%rdx,%rdi,4), %rax\naddq %rdx, %rax\n"
                           "jmp *%rax\n" TABLE ".L1: movslq (%rdx,%rsi,4), %rax\naddq %rdx, %rax\n"
                           "jmp *%rax\n.L2: ret\n" TAIL("f"),
                 "G1 G2|G1 G2|R");
    expect_graph(HEAD("f") "leaq .L4(%rip), %rdx\n.L9: movslq (%rdx,%rdi,4), %rax\n"
                           "addq %rdx, %rax\njmp *%rax\n" TABLE
                           ".L1: jmp .L9\n.L2: ret\n" TAIL("f"),
                 "F1|S2 S3|J1|R");
    expect_graph(HEAD("f") "jmp *.L4(,%rdi,8)\n.section .rodata\n.L4: .quad .L2\n.quad .L1\n.text\n"
                           ".L1: nop\n.L2: ret\n" TAIL("f"),
                 "S1 S2|F2|R");
    /* Labels whose addresses are taken. */
    expect_graph(HEAD("f") "movq t(,%rdi,8), %rax\njmp *%rax\n.L1: nop\n.L2: ret\n" TAIL(
                     "f") ".data\n.type t, @object\nt: .quad .L1\n.quad .L2\n",
                 "G1 G2|F2|R");
    /* The place of what is never reached: behind the last instruction. */
    expect_graph(HEAD("f") "jmp *.L4(,%rdi,8)\n.section .rodata\n.L4: .quad .L2\n.quad .L3\n"
                           ".quad .L1\n.text\n.L1: nop\n.L2: jne .L3\nret\n.L3:\n" TAIL("f"),
                 "S1 S2|F2|F3 a|R");
    /* Which table it is depends on the way: by the branch, or by the other table. */
    expect_graph(
        HEAD("f") "leaq .L7(%rip), %rdx\nje .L1\nleaq .L4(%rip), %rdx\n"
                  "movslq (%rdx,%rdi,4), %rax\naddq %rdx, %rax\njmp *%rax\n" TABLE
                  ".L1: movslq (%rdx,%rsi,4), %rax\naddq %rdx, %rax\njmp *%rax\n.L2: ret\n" TAIL(
                      "f") ".section .rodata\n.L7: .long .L2-.L7\n.long .L2-.L7\n",
        "F1 T2|G2 G3|G2 G3|R");
    /* A table of functions is none. */
    expect_graph(HEAD("f") "jmp *t(,%rdi,8)\n" TAIL("f") ".data\nt: .quad g\n.quad f\n", "A");
}

/* Of <headroom.h>, as gcc passes it on and as clang writes it anew. */
#define MARKER                                                                                     \
    ".Lsite:\n\t.byte 0x0f,0x1f,0x44,0,0\n\t.reloc .Lsite,R_X86_64_NONE,.Lname\n"                  \
    "\t.pushsection .rodata.str1.1,\"aMS\",@progbits,1\n"                                          \
    ".Lname:\n\t.asciz \"x\"\n\t.popsection\n\t.pushsection "                                      \
    "headroom_markers,\"ao?\",@progbits,.Lsite\n"                                                  \
    "\t.long .Lsite-.,.Lname-.,1,0\n\t.popsection\n"
#define CLANG_MARKER(back)                                                                         \
    ".Lsite:\n\t.byte\t15\n\t.byte 31,68,0,0\n\t.section\t.rodata.str1.1,\"aMS\",@progbits,1\n"    \
    ".Lname:\n\t.ascii\t\"x\"\n" back "\n\t.section\theadroom_markers,\"ao\",@progbits,.Lsite\n"   \
    "\t.long .Lsite-.,.Lname-.,1,0\n\t.text\n"

static void what_cannot_be_handled(void **state)
{
    static const struct {
        const char *text;
        enum asm_problem problem;
    } cases[] = {
        {HEAD("f") "#APP\njmp .L1\n#NO_APP\nnop\n.L1: ret\n" TAIL("f"), ASM_PROBLEM_INLINE},
        {HEAD("f") "#APP\njmp g\n#NO_APP\nret\n" TAIL("f"), ASM_PROBLEM_INLINE},
        {HEAD("f") "#APP\nret\n#NO_APP\nret\n" TAIL("f"), ASM_PROBLEM_INLINE},
        {HEAD("f") "#APP\n.pushsection .text.x,\"ax\"\nnop\n.popsection\n#NO_APP\nret\n" TAIL("f"),
         ASM_PROBLEM_INLINE},
        {HEAD("f") "#APP\n" MARKER "#NO_APP\nret\n" TAIL("f"), ASM_FINE},
        {HEAD("f") "#APP\n" MARKER
                   ".pushsection .text.x,\"ax\"\nnop\n.popsection\n#NO_APP\nret\n" TAIL("f"),
         ASM_PROBLEM_INLINE},
        {HEAD("f") "#APP\n" CLANG_MARKER(".text") "#NO_APP\nret\n" TAIL("f"), ASM_FINE},
        {HEAD("f") "#APP\n" CLANG_MARKER(
             ".section .text.x,\"ax\"") "nop\n.text\n#NO_APP\nret\n" TAIL("f"),
         ASM_PROBLEM_INLINE},
        {HEAD("f") "#APP\n1: dec %eax\njnz 1b\ncall g\nsyscall\n#NO_APP\nret\n" TAIL("f"),
         ASM_FINE},
        {HEAD("f") "jmp .+2\nret\n" TAIL("f"), ASM_PROBLEM_JUMP_OUT},
        {HEAD("f") "jmp .L1\n" TAIL("f") HEAD("g") "nop\n.L1: ret\n" TAIL("g"),
         ASM_PROBLEM_JUMP_OUT},
        {HEAD("f") "ret\n" HEAD("g") "ret\n" TAIL("g") TAIL("f"), ASM_PROBLEM_STRAY},
        {HEAD("f") "ret\n", ASM_PROBLEM_STRAY},
        {HEAD("f") ".byte 6\nret\n" TAIL("f"), ASM_PROBLEM_UNDECODED},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct taken taken = take_text(cases[i].text);
        const struct asm_function *function = function_of(&taken, "f");
        assert_int_equal(function->problem, cases[i].problem);
        assert_int_equal(function->blocks != 0, cases[i].problem == ASM_FINE);
        give_back(&taken);
    }
}

static void sequences_stay_whole(void **state)
{
    struct taken taken = take_text(HEAD("f") ".byte 0x66\nleaq x@tlsgd(%rip), %rdi\n.value 0x6666\n"
                                             "rex64\ncall __tls_get_addr@PLT\nmovl (%rax), %eax\n"
                                             "rep\nstosq\nret\n" TAIL("f"));
    const struct asm_function *function = function_of(&taken, "f");
    uint32_t first = blocks_of(&taken, function)->first;
    const struct asm_statement *statement = &taken.file->statements[first];
    assert_int_equal(function->blocks, 1);
    assert_int_equal(statement->kind, ASM_INLINE);
    assert_int_equal(statement->insns_count, 2);
    assert_int_equal(function->inline_insns, 0);
    assert_int_equal(function->flags & ASM_LEAF, 0);
    assert_int_equal(blocks_of(&taken, function)->flags & ASM_BLOCK_INLINE, 0);
    assert_int_equal(statement[2].insns_count, 1);
    assert_true(taken.file->insns[statement[2].insns].isa.repeated);
    struct asm_live *live;
    assert_int_equal(asm_liveness(taken.file, 0, &live), BASE_OK);
    /* The sequence destroys what calls do. */
    assert_int_equal(live[asm_index(function, first)].registers & (1u << BASE_R11), 0);
    assert_int_equal(live[asm_index(function, first + 1)].registers & (1u << BASE_RAX), 1);
    free(live);
    give_back(&taken);
}

/* ---- compiled code ------------------------------------------------------------------------- */

static const char c_source[] =
    "#include <stdarg.h>\n#include <setjmp.h>\n#include <stdlib.h>\n#include <stdio.h>\n#include "
    "<alloca.h>\n"
    "__thread int tv; extern __thread int te; jmp_buf jb; void use(void *); int ext(int);\n"
    "int sw(int x, int y) { switch (x) { case 0: return y * 3; case 1: return y + 8; case 2: "
    "puts(\"a\"); return 7;\n"
    "  case 3: return y ^ 5; case 4: return y / 3; case 5: return abs(y); case 6: puts(\"q\"); "
    "return x;\n"
    "  default: return 0; } }\n"
    "int interp(const unsigned char *p) { static void *const t[] = {&&a, &&b, &&c, &&d}; int s = "
    "0; goto *t[*p++];\n"
    "  a: s++; goto *t[*p++]; b: s *= 3; goto *t[*p++]; c: s ^= 7; goto *t[*p++]; d: return s; }\n"
    "int tls(void) { return tv++ + te++; }\n"
    "int sj(int x) { volatile int y = x; if (setjmp(jb)) return y; y++; use(0); return 3; }\n"
    "void tail(int x) { if (x > 3) ext(x + 1); }\n"
    "int (*fp)(int); int indirect(int x) { return fp(x + 1); }\n"
    "int cold(int x) { if (__builtin_expect(x == 5, 0)) { printf(\"no %d\\n\", x); abort(); } "
    "return x * 2; }\n"
    "int region(int x) { __asm__ volatile(\"cpuid; nop\" : \"+a\"(x) : : \"ebx\", \"ecx\", "
    "\"edx\");\n"
    "  __asm__ volatile(\"1: dec %0\\n\\tjnz 1b\" : \"+r\"(x)); return x; }\n"
    "int variadic(int n, ...) { va_list a; va_start(a, n); double d = 0; for (int i = 0; i < n; "
    "i++)\n"
    "  d += va_arg(a, double) + va_arg(a, int); va_end(a); return (int)d; }\n"
    "int block(int n) { char *p = alloca(n); use(p); return p[n / 2]; }\n"
    "int aligned(int n) { __attribute__((aligned(32))) float f[32]; for (int i = 0; i < 32; i++) "
    "f[i] = (float)n * i;\n"
    "  use(f); return (int)f[n & 31]; }\n"
    "int red(int a, int b) { volatile int x[8]; for (int i = 0; i < 8; i++) x[i] = a * i; return "
    "x[b & 7]; }\n"
    "int recursive(int n) { return n < 2 ? n : recursive(n - 1) + recursive(n - 2); }\n"
    "long ten(long a, long b, long c, long d, long e, long f, long g, long h);\n"
    "long many(long x) { return ten(x, x, x, x, x, x, x, x + 1) + 1; }\n"
    "static __attribute__((noinline, noreturn)) void die(int x) { printf(\"%d\", x); exit(1); }\n"
    "int nested(const unsigned char *p) { int s = 0; for (;;) switch (*p++) { case 0: return s; "
    "case 1: s += 3; break;\n"
    "  case 2: s *= 5; break; case 3: s ^= 9; break; case 4: s -= p[0]; break; case 5: s <<= 1; "
    "break; case 6:\n"
    "  switch (*p++) { case 0: s += 1; break; case 1: s = s * s; break; case 2: s |= 7; break; "
    "case 3: s -= 44; break;\n"
    "  case 4: s %= 5; break; case 5: s += s / 3; break; default: die(s); } break; case 7: "
    "use(&s); break; } }\n";

/* A call that, unknown to others, does not return: the stack is elsewhere behind it, says the
 * unwind table. */
static void calls_that_do_not_return(void **state)
{
    static const char begin[] =
        HEAD("f") ".cfi_startproc\ntestl %edi, %edi\nje .L4\npushq %rbx\n"
                  ".cfi_def_cfa_offset 16\n.cfi_offset 3, -16\ncall g\ntestl %eax, %eax\nje .L2\n"
                  "popq %rbx\n.cfi_remember_state\n.cfi_def_cfa_offset 8\nret\n"
                  ".L2:\n.cfi_restore_state\ncall die\n.L4:\n";
    static const char end[] = "xorl %eax, %eax\nret\n.cfi_endproc\n" TAIL("f");
    static const struct {
        const char *directives, *graph;
    } cases[] = {
        {".cfi_def_cfa_offset 8\n.cfi_restore 3\n", "F1 T4|F2 T3|R|X|R"},
        {".cfi_def_cfa 7, 8\n", "F1 T4|F2 T3|R|X|R"},
        {".cfi_adjust_cfa_offset -8\n", "F1 T4|F2 T3|R|X|R"},
        {"", "F1 T4|F2 T3|R|F4|R"},                         /* nothing is said                */
        {".cfi_def_cfa_offset 16\n", "F1 T4|F2 T3|R|F4|R"}, /* the same                   */
        {".cfi_def_cfa 6, 8\n", "F1 T4|F2 T3|R|F4|R"},      /* may be the same place          */
        {".cfi_escape 0xf,3,0x77,8,6\n", "F1 T4|F2 T3|R|F4|R"},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s%s", begin, cases[i].directives, end);
        struct taken taken = take_text(text);
        assert_string_equal(pathgraph_of(&taken, function_of(&taken, "f")), cases[i].graph);
        give_back(&taken);
    }
}

/* By its name err() never returns, but a program may have one of its own that does. */
static void names_of_functions_that_do_not_return(void **state)
{
    static const char caller[] = HEAD("f") "call err\nxorl %eax, %eax\nret\n" TAIL("f");
    static const char own[] = HEAD("err") "ret\n" TAIL("err");
    char text[256];
    struct taken taken = take_text(caller);
    assert_string_equal(pathgraph_of(&taken, function_of(&taken, "f")), "X|R");
    give_back(&taken);
    snprintf(text, sizeof text, "%s%s", caller, own);
    taken = take_text(text);
    assert_string_equal(pathgraph_of(&taken, function_of(&taken, "f")), "R");
    give_back(&taken);
}

static void functions_of_a_compiler(void **state)
{
    struct taken taken = take_source("gcc", "-O2 -fPIC -mavx2 -w", "x.c", c_source);
    const struct asm_function *function = function_of(&taken, "sw");
    assert_int_equal(edges_of(&taken, function, ASM_TABLE), 7);
    assert_int_not_equal(function->cold_first, ASM_NONE);
    assert_int_equal(blocks_with(&taken, function, ASM_BLOCK_COLD), 1);
    assert_int_equal(blocks_with(&taken, function, ASM_BLOCK_REACHED), function->blocks);
    assert_int_equal(function->flags & (ASM_GLOBAL | ASM_CFI | ASM_LEAF), ASM_GLOBAL | ASM_CFI);
    function = function_of(&taken, "interp");
    assert_int_equal(edges_of(&taken, function, ASM_GOTO), 16);
    assert_int_equal(blocks_with(&taken, function, ASM_BLOCK_GOTO), 4);
    uint32_t label = blocks_of(&taken, function)[1].label, references[4];
    assert_int_equal(asm_references(taken.file, taken.file->statements[label].name, references, 4),
                     1);
    assert_int_equal(taken.file->statements[references[0]].kind, ASM_DIRECTIVE);
    function = function_of(&taken, "sj");
    assert_true(function->flags & ASM_SETJMP);
    assert_int_equal(blocks_with(&taken, function, ASM_BLOCK_SETJMP), 1);
    function = function_of(&taken, "tail");
    assert_int_equal(edges_of(&taken, function, ASM_TAIL), 1);
    assert_true(function->flags & ASM_LEAF);
    function = function_of(&taken, "indirect");
    assert_string_equal(pathgraph_of(&taken, function), "A");
    assert_string_equal(pathgraph_of(&taken, function_of(&taken, "cold")), "F1 T2|R|X");
    function = function_of(&taken, "region");
    assert_int_equal(function->inline_insns, 4);
    assert_int_equal(blocks_with(&taken, function, ASM_BLOCK_INLINE), 1);
    assert_true(function_of(&taken, "variadic")->flags & ASM_VARIADIC);
    assert_false(function_of(&taken, "many")->flags & ASM_VARIADIC);
    assert_true(function_of(&taken, "aligned")->flags & ASM_FRAME_ADDRESS);
    assert_true(function_of(&taken, "red")->flags & ASM_LEAF);
    function = function_of(&taken, "nested");
    assert_int_equal(edges_of(&taken, function, ASM_TABLE), 14);
    assert_int_equal(edges_of(&taken, function, ASM_GOTO), 0);
    give_back(&taken);
}

/* Computed goto by differences, copied behind each case of a switch. */
static void switch_among_computed_gotos(void **state)
{
    static const char source[] =
        "int f(const unsigned char *p) { static const int off[] = {&&a - &&a, &&b - &&a, &&c - "
        "&&a}; int s = 0;\n"
        "goto *(&&a + off[*p]); a: s++; p++; switch (*p) { case 0: s += 2; break; case 1: s *= 3; "
        "break;\n"
        "case 2: s -= 7; break; case 3: s ^= 5; break; case 4: s <<= 2; break; case 9: return s; "
        "}\n"
        "goto *(&&a + off[*p++]); b: s--; goto *(&&a + off[*p++]); c: return s; }\n";
    static const char *const flags[] = {"-O0", "-O2", "-O2 -fPIC", "-Os -fno-pie"};
    for (size_t i = 0; i < 2 * BASE_COUNT(flags); i++) {
        const char *compiler = i % 2 ? "clang" : "gcc";
        if (!have(compiler))
            continue;
        struct taken taken = take_source(compiler, flags[i / 2], "x.c", source);
        const struct asm_function *function = function_of(&taken, "f");
        unsigned gotos = edges_of(&taken, function, ASM_GOTO);
        assert_int_equal(edges_of(&taken, function, ASM_TABLE), 7);
        assert_true(gotos >= 3 && gotos % 3 == 0);
        assert_int_equal(blocks_with(&taken, function, ASM_BLOCK_GOTO), 3);
        assert_int_equal(edges_of(&taken, function, ASM_TAIL), 0);
        give_back(&taken);
    }
}

static const char cc_source[] =
    "#include <stdexcept>\n#include <string>\n"
    "struct D { ~D(); }; int g(int); int g8(int, int, int, int, int, int, int, int);\n"
    "int f(int x) { D d; try { return g(x); } catch (std::runtime_error &e) { return 5; } catch "
    "(...) { g(9); throw; } }\n"
    "int eight(int x) { try { return g8(x, x, x, x, x, x, x + 1, x); } catch (int y) { return y; } "
    "}\n"
    "inline std::string s(int x) { return std::to_string(x) + \"a\"; }\n"
    "int h(int x) { return (int)s(x).size(); }\n"
    "struct E { virtual ~E(); virtual int v(int); }; E::~E() {} int E::v(int x) { if (x) throw x; "
    "return g(x); }\n"
    "struct V { virtual int v(int); }; int call(V *e) { return e->v(3); }\n";

static void landing_pads(void **state, const char *compiler)
{
    struct taken taken = take_source(compiler, "-O2", "x.cc", cc_source);
    const struct asm_function *function = function_of(&taken, "_Z1fi");
    uint32_t number = (uint32_t)(function - taken.file->functions);
    assert_int_equal(function->problem, ASM_FINE);
    unsigned pads = blocks_with(&taken, function, ASM_BLOCK_LANDING);
    assert_true(pads >= 2);
    assert_int_equal(blocks_with(&taken, function, ASM_BLOCK_LANDING | ASM_BLOCK_REACHED), pads);
    struct asm_stack *stack;
    assert_int_equal(asm_stack_depths(taken.file, number, &stack), BASE_OK);
    for (uint32_t i = 0; i < function->blocks; i++) {
        const struct asm_block *block = &blocks_of(&taken, function)[i];
        uint32_t reference;
        if (!(block->flags & ASM_BLOCK_LANDING))
            continue;
        assert_int_equal(stack[asm_index(function, block->first)].rsp, 24);
        assert_true(asm_references(taken.file, taken.file->statements[block->label].name,
                                   &reference, 1) >= 1);
    }
    free(stack);
    assert_string_equal(pathgraph_of(&taken, function_of(&taken, "_Z4callP1V")), "A");
    give_back(&taken);
}

static void landing_pads_of_gcc(void **state)
{
    landing_pads(state, "g++");
}

static void landing_pads_of_clang(void **state)
{
    if (!have("clang++"))
        skip();
    landing_pads(state, "clang++");
}

/* ---- effects ------------------------------------------------------------------------------- */

#define BIT(name) (1u << BASE_##name)

static void effects_of_instructions(void **state)
{
    enum { NO, READS = 1, WRITES = 2, KILLS = 4 };
    static const struct {
        const char *text;
        uint32_t reads, writes;
        unsigned flags;
    } cases[] = {
        {"movl %ecx, %eax", BIT(RCX), BIT(RAX), NO},
        {"movb %cl, %al", BIT(RCX) | BIT(RAX), BIT(RAX), NO},
        {"movb %ch, %ah", BIT(RCX) | BIT(RAX), BIT(RAX), NO},
        {"movw $1, %ax", BIT(RAX), BIT(RAX), NO},
        {"leaq 8(%r12,%r13,2), %rdx", BIT(R12) | BIT(R13), BIT(RDX), NO},
        {"xorl %eax, %eax", 0, BIT(RAX), WRITES | KILLS},
        {"xorb %al, %al", BIT(RAX), BIT(RAX), WRITES | KILLS},
        {"xorl %eax, %ecx", BIT(RAX) | BIT(RCX), BIT(RCX), WRITES | KILLS},
        {"sbbl %eax, %eax", BIT(RAX), BIT(RAX), READS | WRITES | KILLS},
        {"incl %eax", BIT(RAX), BIT(RAX), WRITES},
        {"addq $1, (%r9)", BIT(R9), 0, WRITES | KILLS},
        {"cmove %ecx, %eax", BIT(RCX) | BIT(RAX), BIT(RAX), READS},
        {"sete %al", BIT(RAX), BIT(RAX), READS},
        {"shll %cl, %eax", BIT(RCX) | BIT(RAX), BIT(RAX), WRITES},
        {"shll $3, %eax", BIT(RAX), BIT(RAX), WRITES | KILLS},
        {"shlx %ecx, %edx, %eax", BIT(RCX) | BIT(RDX), BIT(RAX), NO},
        {"mulq %rcx", BIT(RAX) | BIT(RCX), BIT(RAX) | BIT(RDX), WRITES | KILLS},
        {"idivl %ecx", BIT(RAX) | BIT(RCX) | BIT(RDX), BIT(RAX) | BIT(RDX), WRITES | KILLS},
        {"cltd", BIT(RAX), BIT(RDX), NO},
        {"cpuid", BIT(RAX) | BIT(RCX), BIT(RAX) | BIT(RBX) | BIT(RCX) | BIT(RDX), NO},
        {"pushq %rbx", BIT(RBX) | BIT(RSP), BIT(RSP), NO},
        {"popq %rbx", BIT(RSP), BIT(RBX) | BIT(RSP), NO},
        {"leave", BIT(RBP), BIT(RBP) | BIT(RSP), NO},
        {"movsb", BIT(RSI) | BIT(RDI), BIT(RSI) | BIT(RDI), NO},
        {"rep stosq", BIT(RAX) | BIT(RCX) | BIT(RDI), BIT(RCX) | BIT(RDI), NO},
        {"nopw 0(%rax,%rcx,1)", 0, 0, NO},
        {"bsfl %ecx, %eax", BIT(RAX) | BIT(RCX), BIT(RAX), WRITES},
        {"cmpxchgq %rcx, (%rdx)", BIT(RAX) | BIT(RCX) | BIT(RDX), BIT(RAX), WRITES | KILLS},
        {"ucomisd %xmm0, %xmm1", 0, 0, WRITES | KILLS},
        {"movd %xmm0, %eax", 0, BIT(RAX), NO},
        {"lahf", BIT(RAX), BIT(RAX), READS},
        {"pushfq", BIT(RSP), BIT(RSP), READS},
        {"jne 0f", 0, 0, READS},
        {"call *8(%r11)", BIT(R11) | BIT(RSP), BIT(RSP), NO},
    };
    char text[4096] = HEAD("f");
    for (size_t i = 0; i < BASE_COUNT(cases); i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n", cases[i].text);
    snprintf(text + strlen(text), sizeof text - strlen(text), "0: ret\n" TAIL("f"));
    struct taken taken = take_text(text);
    assert_int_equal(taken.file->insns_count, BASE_COUNT(cases) + 1);
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        const struct asm_insn *insn = &taken.file->insns[i];
        unsigned flags = (insn->reads_flags ? READS : 0) | (insn->writes_flags ? WRITES : 0) |
                         (insn->kills_flags ? KILLS : 0);
        bool undefined = !strncmp(cases[i].text, "bsf", 3); /* may or may not count as killed */
        uint32_t reads = insn->reads;
        if (cases[i].writes == (BIT(RBP) | BIT(RSP)))
            reads &= ~BIT(RSP);
        if (reads != cases[i].reads || insn->writes != cases[i].writes ||
            (flags != cases[i].flags && !undefined))
            fail_msg("%s: reads %x, writes %x, flags %u", cases[i].text, insn->reads, insn->writes,
                     flags);
    }
    give_back(&taken);
}

/* ---- liveness ------------------------------------------------------------------------------ */

static const char *const live_lines[] = {
    "movq %%r%s, %%r%s",
    "addq %%r%s, %%r%s",
    "leaq 1(%%r%s), %%r%s",
    "testq %%r%s, %%r%s",
};

/* Random code over eight registers, jumps anywhere. */
static void write_random(struct base_random *random, char *text, size_t room, unsigned lines)
{
    static const char *const registers[] = {"ax", "cx", "dx", "bx", "si", "di", "8", "13"};
    size_t used = (size_t)snprintf(text, room, HEAD("f"));
    for (unsigned i = 0; i < lines; i++) {
        used += (size_t)snprintf(text + used, room - used, ".L%u:\n", i);
        unsigned to = (unsigned)base_random_below(random, lines);
        const char *left = registers[base_random_below(random, 8)];
        const char *right = registers[base_random_below(random, 8)];
        switch (base_random_below(random, 8)) {
        case 0: used += (size_t)snprintf(text + used, room - used, "jne .L%u\n", to); break;
        case 1: used += (size_t)snprintf(text + used, room - used, "jmp .L%u\n", to); break;
        case 2:
            used += (size_t)snprintf(text + used, room - used, "setc %%%cl\n", "abcd"[to % 4]);
            break;
        case 3:
            used +=
                (size_t)snprintf(text + used, room - used, to % 4 ? "movl $1, %%eax\n" : "ret\n");
            break;
        default: {
            const char *line = live_lines[base_random_below(random, BASE_COUNT(live_lines))];
            used += (size_t)snprintf(text + used, room - used, line, left, right);
            used += (size_t)snprintf(text + used, room - used, "\n");
        }
        }
    }
    snprintf(text + used, room - used, "ret\n" TAIL("f"));
}

struct search {
    const struct asm_file *file;
    uint32_t code[128], count; /* statements */
    bool seen[128];
};

static uint32_t place_of(const struct search *search, uint32_t statement)
{
    for (uint32_t i = 0; i < search->count; i++) {
        if (search->code[i] >= statement)
            return i;
    }
    return ASM_NONE;
}

/* Is there a way on which the register (16: flags) is read before it is written? */
static bool is_read(struct search *search, uint32_t place, unsigned what)
{
    if (search->seen[place])
        return false;
    search->seen[place] = true;
    const struct asm_statement *at = &search->file->statements[search->code[place]];
    const struct asm_insn *insn = &search->file->insns[at->insns];
    bool returns = insn->isa.flow == ISA_RETURN;
    uint32_t returned = BIT(RAX) | BIT(RDX) | BIT(RBX) | BIT(RBP) | 0xf000u | BIT(RSP);
    if (what < 16 ? (insn->reads >> what & 1 || (returns && returned >> what & 1))
                  : insn->reads_flags)
        return true;
    if (returns || (what < 16 ? insn->writes >> what & 1 : insn->kills_flags))
        return false;
    if (insn->isa.flow == ISA_JUMP || insn->isa.flow == ISA_BRANCH) {
        unsigned to = (unsigned)strtoul(at->operands.text + 2, NULL, 10);
        if (is_read(search, to, what)) /* label and place have the same number */
            return true;
    }
    return insn->isa.flow != ISA_JUMP && is_read(search, place + 1, what);
}

static void liveness_is_what_ways_say(void **state)
{
    struct base_random random = {11};
    for (int round = 0; round < 40; round++) {
        char text[8192];
        write_random(&random, text, sizeof text, 5 + (unsigned)base_random_below(&random, 50));
        struct taken taken = take_text(text);
        const struct asm_function *function = function_of(&taken, "f");
        struct search search = {.file = taken.file};
        for (uint32_t i = function->first; i < function->end; i++) {
            if (taken.file->statements[i].kind == ASM_INSTRUCTION)
                search.code[search.count++] = i;
        }
        struct asm_live *live;
        assert_int_equal(asm_liveness(taken.file, 0, &live), BASE_OK);
        for (uint32_t i = function->first; i < function->end; i++) {
            for (unsigned what = 0; what < 17; what++) {
                if (what == BASE_RSP)
                    continue;
                memset(search.seen, 0, sizeof search.seen);
                bool read = is_read(&search, place_of(&search, i), what);
                struct asm_live at = live[asm_index(function, i)];
                if (read != (what < 16 ? at.registers >> what & 1 : at.flags))
                    fail_msg("round %d, line %u, register %u: %d\n%s", round,
                             taken.file->statements[i].line, what, read, text);
            }
        }
        free(live);
        give_back(&taken);
    }
}

static void liveness_across_calls_and_throws(void **state)
{
    struct taken taken = take_text(HEAD("f") "movl %esi, %r11d\ncall g\nmovl %eax, %ecx\n"
                                             "call *%r11\nret\n" TAIL("f"));
    struct asm_live *live;
    assert_int_equal(asm_liveness(taken.file, 0, &live), BASE_OK);
    const struct asm_function *function = &taken.file->functions[0];
    uint32_t first = asm_index(function, blocks_of(&taken, function)->first);
    uint32_t arguments =
        BIT(RDI) | BIT(RSI) | BIT(RDX) | BIT(RCX) | BIT(R8) | BIT(R9) | BIT(RAX) | BIT(R10);
    uint32_t saved = BIT(RBX) | BIT(RBP) | BIT(RSP) | 0xf000u;
    /* Nothing has written rax and r10 yet: the first call does not read them. */
    uint32_t passed = arguments & ~(BIT(RAX) | BIT(R10));
    assert_int_equal(live[first].registers, passed | saved);
    assert_int_equal(live[first + 1].registers, passed | saved);
    assert_int_equal(live[first + 2].registers, (arguments & ~BIT(RCX)) | saved | BIT(R11));
    assert_int_equal(live[first + 3].registers, arguments | saved | BIT(R11));
    assert_int_equal(live[first + 4].registers, BIT(RAX) | BIT(RDX) | saved);
    assert_false(live[first].flags);
    free(live);
    give_back(&taken);
}

/* ---- the stack ----------------------------------------------------------------------------- */

/* What unwinding directives say, in the order of the text. */
struct unwound {
    long offset, remembered[8];
    bool by_rsp, remembered_by[8];
    unsigned depth;
};

static void follow_cfi(struct unwound *unwound, const struct asm_statement *statement)
{
    char name[64], operands[64];
    snprintf(name, sizeof name, "%.*s", (int)statement->name.bytes, statement->name.text);
    snprintf(operands, sizeof operands, "%.*s", (int)statement->operands.bytes,
             statement->operands.text);
    const char *comma = strchr(operands, ',');
    bool rsp = strstr(operands, "rsp") || strtol(operands, NULL, 0) == 7;
    if (!strcmp(name, ".cfi_startproc")) {
        *unwound = (struct unwound){.offset = 8, .by_rsp = true};
    } else if (!strcmp(name, ".cfi_def_cfa_offset")) {
        unwound->offset = strtol(operands, NULL, 0);
    } else if (!strcmp(name, ".cfi_adjust_cfa_offset")) {
        unwound->offset += strtol(operands, NULL, 0);
    } else if (!strcmp(name, ".cfi_def_cfa_register")) {
        unwound->by_rsp = rsp;
    } else if (!strcmp(name, ".cfi_def_cfa") && comma) {
        unwound->by_rsp = rsp;
        unwound->offset = strtol(comma + 1, NULL, 0);
    } else if (!strcmp(name, ".cfi_escape")) {
        if (strncmp(operands, "0x2e", 4)) /* not the size of arguments: an expression */
            unwound->by_rsp = false;
    } else if (!strcmp(name, ".cfi_remember_state") && unwound->depth < 8) {
        unwound->remembered_by[unwound->depth] = unwound->by_rsp;
        unwound->remembered[unwound->depth++] = unwound->offset;
    } else if (!strcmp(name, ".cfi_restore_state") && unwound->depth) {
        unwound->by_rsp = unwound->remembered_by[--unwound->depth];
        unwound->offset = unwound->remembered[unwound->depth];
    }
}

/* Compares with the directives wherever both know; counts statements that neither... only one
 * knows. */
static void check_stack(const struct taken *taken, uint32_t number, unsigned *known,
                        unsigned *unknown)
{
    const struct asm_file *file = taken->file;
    const struct asm_function *function = &file->functions[number];
    struct asm_stack *stack;
    assert_int_equal(asm_stack_depths(file, number, &stack), BASE_OK);
    for (uint32_t i = 0; i < function->blocks; i++) {
        const struct asm_block *block = &blocks_of(taken, function)[i];
        bool cold = block->flags & ASM_BLOCK_COLD;
        uint32_t first = cold ? function->cold_first : function->first;
        struct unwound unwound = {.offset = 8, .by_rsp = true};
        while (cold && first &&
               !(file->statements[first].kind == ASM_DIRECTIVE &&
                 !strncmp(file->statements[first].name.text, ".cfi_startproc", 14)))
            first--;
        for (uint32_t k = first; k <= block->last; k++) {
            const struct asm_statement *at = &file->statements[k];
            if (at->kind == ASM_DIRECTIVE && at->section == file->statements[block->first].section)
                follow_cfi(&unwound, at);
            if (at->function != number || k < block->first || !at->insns_count || !unwound.by_rsp ||
                !(block->flags & ASM_BLOCK_REACHED))
                continue;
            int32_t rsp = stack[asm_index(function, k)].rsp;
            *known += rsp != ASM_UNKNOWN;
            *unknown += rsp == ASM_UNKNOWN;
            if (rsp != ASM_UNKNOWN && rsp != unwound.offset - 8)
                fail_msg("%.*s, line %u: %d, by directives %ld", (int)function->name.bytes,
                         function->name.text, at->line, rsp, unwound.offset - 8);
        }
    }
    free(stack);
}

static void stack_of_frames(void **state)
{
    struct taken taken =
        take_text(HEAD("f") "pushq %rbp\nmovq %rsp, %rbp\nsubq $40, %rsp\n"
                            "andq $-32, %rsp\nnop\nleaq -16(%rbp), %rsp\npopq %rbx\n"
                            "addq $-128, %rsp\nleave\nje .L1\npushq %rax\n.L1: ret\n" TAIL("f"));
    static const int32_t expected[][2] = {
        {0, ASM_UNKNOWN}, {8, ASM_UNKNOWN}, {8, 8},
        {48, 8},          {ASM_UNKNOWN, 8}, {ASM_UNKNOWN, 8},
        {24, 8},          {16, 8},          {144, 8},
        {0, ASM_UNKNOWN}, {0, ASM_UNKNOWN}, {ASM_UNKNOWN, ASM_UNKNOWN}, /* two ways that disagree */
    };
    struct asm_stack *stack;
    assert_int_equal(asm_stack_depths(taken.file, 0, &stack), BASE_OK);
    const struct asm_function *function = &taken.file->functions[0];
    size_t next = 0;
    for (uint32_t i = function->first; i < function->end; i++) {
        if (!taken.file->statements[i].insns_count)
            continue;
        assert_int_equal(stack[asm_index(function, i)].rsp, expected[next][0]);
        assert_int_equal(stack[asm_index(function, i)].rbp, expected[next++][1]);
    }
    assert_int_equal(next, BASE_COUNT(expected));
    free(stack);
    give_back(&taken);
}

/* ---- corpus -------------------------------------------------------------------------------- */

/* Sections that are there when the program runs must not differ. */
static void same_code(const char *left, const char *right)
{
    size_t bytes[2];
    char *images[2] = {read_file(left, &bytes[0]), read_file(right, &bytes[1])};
    Elf *elves[2];
    elf_version(EV_CURRENT);
    for (int i = 0; i < 2; i++)
        elves[i] = elf_memory(images[i], bytes[i]);
    Elf_Scn *scns[2] = {NULL, NULL};
    unsigned compared = 0;
    for (;;) {
        Elf_Data *data[2] = {NULL, NULL};
        for (int i = 0; i < 2; i++) {
            GElf_Shdr header;
            do {
                scns[i] = elf_nextscn(elves[i], scns[i]);
                assert_true(!scns[i] || gelf_getshdr(scns[i], &header));
            } while (scns[i] && (header.sh_type != SHT_PROGBITS || !(header.sh_flags & SHF_ALLOC)));
            data[i] = scns[i] ? elf_rawdata(scns[i], NULL) : NULL;
        }
        assert_int_equal(!data[0], !data[1]);
        if (!data[0])
            break;
        assert_int_equal(data[0]->d_size, data[1]->d_size);
        if (data[0]->d_size)
            assert_memory_equal(data[0]->d_buf, data[1]->d_buf, data[0]->d_size);
        compared++;
    }
    assert_true(compared > 0);
    for (int i = 0; i < 2; i++) {
        elf_end(elves[i]);
        free(images[i]);
    }
}

/* A shared library of the labelled object: tables hold what they will when it runs. */
struct library {
    char *image;
    Elf *elf;
    uint64_t *address; /* of statements, by their labels */
};

static bool read_library(void *context, uint64_t address, void *out, size_t bytes)
{
    const struct library *library = context;
    size_t count = 0;
    elf_getphdrnum(library->elf, &count);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        gelf_getphdr(library->elf, (int)i, &header);
        if (header.p_type == PT_LOAD && address >= header.p_vaddr &&
            address + bytes <= header.p_vaddr + header.p_filesz) {
            memcpy(out, library->image + header.p_offset + (address - header.p_vaddr), bytes);
            return true;
        }
    }
    return false;
}

static void read_labels(struct library *library, uint32_t statements)
{
    library->address = calloc(statements + 1, sizeof *library->address);
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(library->elf, section))) {
        GElf_Shdr header;
        gelf_getshdr(section, &header);
        if (header.sh_type != SHT_SYMTAB)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
            GElf_Sym symbol;
            unsigned number;
            gelf_getsym(data, (int)i, &symbol);
            const char *name = elf_strptr(library->elf, header.sh_link, symbol.st_name);
            if (name && sscanf(name, "hR.%u", &number) == 1 && number < statements)
                library->address[number] = symbol.st_value;
        }
    }
}

/* What the two see differently on purpose: jumps to the function's own entry are tail calls to asm;
   flow does not know which calls return, of landing pads or of what is taken the address of. */
static bool is_comparable(const struct taken *taken, const struct asm_function *function)
{
    if (function->problem != ASM_FINE || function->cold_first != ASM_NONE ||
        function->flags & ASM_SETJMP || function->inline_insns ||
        edges_of(taken, function, ASM_STOP) || edges_of(taken, function, ASM_GOTO) ||
        blocks_with(taken, function, ASM_BLOCK_LANDING))
        return false;
    for (uint32_t i = 0; i < function->blocks; i++) {
        if (taken->file->statements[blocks_of(taken, function)[i].last].kind != ASM_INSTRUCTION)
            return false;
    }
    return true;
}

static int compare_pairs(const void *left, const void *right)
{
    return memcmp(left, right, 2 * sizeof(uint64_t));
}

/* Last instruction of a block and where it goes, of all edges that stay within the function and are
   not mere falling on. */
static size_t pairs_of_asm(const struct taken *taken, const struct asm_function *function,
                           const struct library *library, uint64_t (*pairs)[2])
{
    size_t count = 0;
    const struct asm_block *blocks = blocks_of(taken, function);
    for (uint32_t i = 0; i < function->blocks; i++) {
        for (uint32_t k = 0; k < blocks[i].edges && blocks[i].flags & ASM_BLOCK_REACHED; k++) {
            const struct asm_edge *edge = &taken->file->edges[blocks[i].first_edge + k];
            if (!edge->to || edge->to == ASM_NONE || edge->kind == ASM_FALL)
                continue;
            pairs[count][0] = library->address[edge->statement];
            pairs[count++][1] = library->address[blocks[edge->to].first];
        }
    }
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    return count;
}

static size_t pairs_of_flow(const struct cfg *flow, uint64_t (*pairs)[2])
{
    size_t count = 0;
    for (uint32_t i = 0; i < flow->edges_count; i++) {
        if (flow->edges[i].kind == CFG_FALL || !flow->edges[i].to)
            continue;
        pairs[count][0] = flow->blocks[flow->edges[i].from].last;
        pairs[count++][1] = flow->blocks[flow->edges[i].to].start;
    }
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    return count;
}

/* A prefix on a line of its own is the jump's: both look at the instruction as a whole. */
static unsigned compare_flows(const struct taken *taken)
{
    struct library library;
    size_t bytes;
    unsigned compared = 0;
    assert_true(run(
        "gcc -shared -nostdlib -Wl,--build-id=none,--defsym=__dso_handle=0 -o %s %s 2>/dev/null",
        path("x.so"), path("labelled.o")));
    library.image = read_file("x.so", &bytes);
    library.elf = elf_memory(library.image, bytes);
    read_labels(&library, taken->file->statements_count);
    for (uint32_t i = 0; i < taken->file->functions_count; i++) {
        const struct asm_function *function = &taken->file->functions[i];
        if (!is_comparable(taken, function))
            continue;
        const struct asm_statement *last = &taken->file->statements[function->end - 1];
        uint64_t from = library.address[blocks_of(taken, function)[0].first];
        uint64_t to =
            library.address[function->end - 1] + taken->file->insns[last->insns].isa.length;
        struct cfg_code code = {
            .count = (size_t)(to - from), .start = from, .data = {read_library, &library}};
        uint8_t *copy = malloc(code.count);
        assert_true(from && read_library(&library, from, copy, code.count));
        code.bytes = copy;
        struct cfg *flow;
        assert_int_equal(cfg_of_code(&code, &flow), BASE_OK);
        if (!(flow->flags & (CFG_LARGE | CFG_OVERLAPPING)) &&
            !(flow->flags & CFG_INCOMPLETE && edges_of(taken, function, ASM_TABLE))) {
            uint64_t(*pairs[2])[2];
            size_t room = flow->edges_count + 16 * (size_t)function->blocks + 4096;
            pairs[0] = malloc(room * sizeof *pairs[0]);
            pairs[1] = malloc(room * sizeof *pairs[1]);
            size_t mine = pairs_of_asm(taken, function, &library, pairs[0]);
            size_t theirs = pairs_of_flow(flow, pairs[1]);
            if (mine != theirs || memcmp(pairs[0], pairs[1], mine * sizeof *pairs[0]))
                fail_msg("%.*s: %zu edges, flow has %zu", (int)function->name.bytes,
                         function->name.text, mine, theirs);
            compared++;
            free(pairs[0]);
            free(pairs[1]);
        }
        cfg_free(flow);
        free(copy);
    }
    elf_end(library.elf);
    free(library.image);
    free(library.address);
    return compared;
}

static const char fortran_source[] =
    "subroutine s(a, n, k)\n  integer :: n, k, i\n  real :: a(n)\n  do i = 1, n\n    select case "
    "(mod(i, k))\n"
    "    case (0)\n      a(i) = a(i) + 1\n    case (1)\n      a(i) = a(i) * 2\n    case (2)\n      "
    "a(i) = sqrt(a(i))\n"
    "    case (3)\n      a(i) = -a(i)\n    case (4)\n      if (a(i) > 3) stop 4\n    case "
    "default\n      a(i) = 0\n"
    "    end select\n  end do\n  print *, sum(a)\nend subroutine\n";

static void corpus_comes_out_as_it_went_in(void **state)
{
    static const struct {
        const char *compiler, *flags, *file, *source;
    } corpus[] = {
        {"gcc", "-O0 -w", "x.c", c_source},
        {"gcc", "-O1 -g -w -fPIC", "x.c", c_source},
        {"gcc", "-O2 -w -fno-pie -fno-ipa-ra", "x.c", c_source},
        {"gcc", "-O2 -w -fPIC -g -mavx2 -fcf-protection=full", "x.c", c_source},
        {"gcc", "-O3 -w -fPIC -fno-plt -ffunction-sections", "x.c", c_source},
        {"gcc", "-Os -w -fPIC -fno-omit-frame-pointer -fstack-protector-all", "x.c", c_source},
        {"gcc", "-O2 -w -fPIC -fpatchable-function-entry=3,1", "x.c", c_source},
        {"g++", "-O0 -fPIC", "x.cc", cc_source},
        {"g++", "-O2 -fPIC -g", "x.cc", cc_source},
        {"g++", "-O3 -fPIC", "x.cc", cc_source},
        {"g++", "-Os -fno-asynchronous-unwind-tables -fPIC", "x.cc", cc_source},
        {"gfortran", "-O2 -fPIC", "x.f90", fortran_source},
        {"gfortran", "-O0 -g -fPIC", "x.f90", fortran_source},
        {"clang", "-O2 -w -fPIC", "x.c", c_source},
        {"clang", "-O0 -g -w -fPIC", "x.c", c_source},
        {"clang", "-O3 -w -fno-pie -mavx2", "x.c", c_source},
        {"clang++", "-O2 -fPIC -g", "x.cc", cc_source},
    };
    unsigned flows = 0, known = 0, unknown = 0;
    for (size_t i = 0; i < BASE_COUNT(corpus); i++) {
        if (!have(corpus[i].compiler))
            continue;
        struct taken taken =
            take_source(corpus[i].compiler, corpus[i].flags, corpus[i].file, corpus[i].source);
        print_to("out.s", taken.file, asm_print);
        assert_true(run("cmp %s %s", path("in.s"), path("out.s")));
        assert_true(run("%s -c %s -o %s", corpus[i].compiler, path("in.s"), path("in.o")));
        same_code("in.o", "labelled.o");
        for (uint32_t k = 0; k < taken.file->functions_count; k++) {
            const struct asm_function *function = &taken.file->functions[k];
            if (function->problem != ASM_FINE)
                fail_msg("%s %s: %.*s: problem %u", corpus[i].compiler, corpus[i].flags,
                         (int)function->name.bytes, function->name.text, function->problem);
            if (function->flags & ASM_CFI)
                check_stack(&taken, k, &known, &unknown);
        }
        if (strstr(corpus[i].flags, "-fPIC"))
            flows += compare_flows(&taken);
        give_back(&taken);
    }
    assert_true(flows > 50);
    assert_true(known > 2000);
    assert_true(unknown < known / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_in_all_shapes),
        cmocka_unit_test(sections_and_groups),
        cmocka_unit_test(any_text_prints_as_it_was),
        cmocka_unit_test(edits_print_in_order),
        cmocka_unit_test(branches_and_tails),
        cmocka_unit_test(tables_of_switch),
        cmocka_unit_test(what_cannot_be_handled),
        cmocka_unit_test(sequences_stay_whole),
        cmocka_unit_test(calls_that_do_not_return),
        cmocka_unit_test(names_of_functions_that_do_not_return),
        cmocka_unit_test(functions_of_a_compiler),
        cmocka_unit_test(switch_among_computed_gotos),
        cmocka_unit_test(landing_pads_of_gcc),
        cmocka_unit_test(landing_pads_of_clang),
        cmocka_unit_test(effects_of_instructions),
        cmocka_unit_test(liveness_is_what_ways_say),
        cmocka_unit_test(liveness_across_calls_and_throws),
        cmocka_unit_test(stack_of_frames),
        cmocka_unit_test(corpus_comes_out_as_it_went_in),
    };
    return cmocka_run_group_tests(tests, start, end);
}
