// SPDX-License-Identifier: MIT
/* graph: a function known on paper, all functions of this program, the file, damaged modules. Whole
   programs: tests/exact/paths. */
#include "pathgraph/pathgraph.h"
#include "wire/graphs.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* Block 0; 1, a loop of its own; 2, which ends in a call that may return twice; 3, behind it. */
__asm__(".text\n"
        ".globl graph_test_known\n"
        ".type graph_test_known, @function\n"
        "graph_test_known:\n"
        "push %rbx\n"
        "mov $3, %ebx\n"
        "1: dec %ebx\n"
        "jnz 1b\n"
        "lea graph_test_place(%rip), %rdi\n"
        "call _setjmp@PLT\n"
        "pop %rbx\n"
        "ret\n"
        ".size graph_test_known, . - graph_test_known\n");
void graph_test_known(void);
jmp_buf graph_test_place;

static struct binary *open_self(struct pathgraph_returns *returns)
{
    struct binary_options options = {0};
    struct binary *binary;
    assert_int_equal(binary_open("/proc/self/exe", &options, &binary), BASE_OK);
    pathgraph_returns_begin(returns, binary);
    return binary;
}

static uint64_t find(struct binary *binary, const char *wanted)
{
    uint64_t start, end, at = 0;
    const char *name;
    while (binary_next_function(binary, at, &start, &end, &name) == BASE_OK) {
        if (strcmp(name, wanted) == 0)
            return start;
        at = start + 1;
    }
    return 0;
}

static void known_function(void **state)
{
    static struct pathgraph_returns returns;
    struct binary *binary = open_self(&returns);
    static const uint32_t loads[] = {0, 0, 0, 2}, stores[] = {1, 0, 1, 0};
    static const struct {
        uint32_t from, to;
        bool cut;
    } edges[] = {{0, 1, false},
                 {1, 2, false},
                 {1, 1, true},
                 {2, NUMBERING_EXIT, false},
                 {3, NUMBERING_EXIT, false}};
    struct pathgraph *graph;
    assert_int_equal(pathgraph_of(&returns, find(binary, "graph_test_known"), &graph), BASE_OK);
    assert_string_equal(graph->name, "graph_test_known");
    assert_int_equal(graph->blocks_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(graph->blocks[i].instructions, 2);
        assert_int_equal(graph->blocks[i].loads, loads[i]);
        assert_int_equal(graph->blocks[i].stores, stores[i]);
    }
    assert_int_equal(graph->numbering_graph.edges_count, BASE_COUNT(edges));
    for (size_t i = 0; i < BASE_COUNT(edges); i++) {
        assert_int_equal(graph->numbering_graph.edges[i].from, edges[i].from);
        assert_int_equal(graph->numbering_graph.edges[i].to, edges[i].to);
        assert_int_equal(graph->numbering_graph.edges[i].flags != 0, edges[i].cut);
    }
    assert_true(graph->blocks[1].flags == WIRE_GRAPH_CUT_INTO);
    assert_true(graph->blocks[3].flags == (WIRE_GRAPH_ROOT | WIRE_GRAPH_TWICE));
    assert_int_equal(numbering_count(graph->paths), 5);
    assert_int_equal(graph->calls_count, 1);
    assert_int_equal(graph->calls[0].back, graph->blocks[3].start);
    pathgraph_free(graph);
    assert_int_equal(pathgraph_of(&returns, find(binary, "graph_test_known") + 1, &graph),
                     BASE_NOT_FOUND);
    binary_close(binary);
}

/* Symbols that all reach to the end of the code: no byte of it is gone through more than a few
 * times. */
static void overlapping_functions_are_bounded(void **state)
{
    enum { COUNT = 400 };
    char directory[] = "/tmp/headroom-graph-XXXXXX", path[64], command[256];
    static struct pathgraph_returns returns;
    struct binary_options options = {0};
    struct binary *binary;
    struct pathgraph *graph;
    uint64_t start, end, at = 0, bytes = 0, made = 0, refused = 0;
    const char *name;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/overlap.s", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < COUNT; i++)
        fprintf(file, ".type f%d,@function\nf%d: .fill 15,1,0x90\n.size f%d,end-f%d\nnop\n", i, i,
                i, i);
    fputs("ret\nend:\n", file);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command, "cd %s && gcc -nostdlib -shared overlap.s -o overlap.so",
             directory);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/overlap.so", directory);
    assert_int_equal(binary_open(path, &options, &binary), BASE_OK);
    pathgraph_returns_begin(&returns, binary);
    for (; binary_next_function(binary, at, &start, &end, &name) == BASE_OK; at = start + 1) {
        enum base_status status = pathgraph_of(&returns, start, &graph);
        assert_true(status == BASE_OK || status == BASE_UNSUPPORTED);
        refused += status != BASE_OK;
        if (status != BASE_OK)
            continue;
        bytes += end - start;
        made++;
        pathgraph_free(graph);
    }
    assert_true(made > 10 && refused > 10 && bytes <= 4 * binary_bytes(binary));
    binary_close(binary);
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

static void all_functions(void **state)
{
    static struct pathgraph_returns returns;
    struct binary *binary = open_self(&returns);
    uint64_t start, end, at = 0, count = 0;
    const char *name;
    while (binary_next_function(binary, at, &start, &end, &name) == BASE_OK) {
        struct pathgraph *graph;
        assert_true(start >= at && end > start);
        if (pathgraph_of(&returns, start, &graph) == BASE_OK) {
            assert_int_equal(graph->blocks[0].start, start);
            pathgraph_free(graph);
        }
        count++;
        at = start + 1;
    }
    assert_true(count > 100);
    assert_int_equal(find(binary, "known_function") != 0, 1);
    binary_close(binary);
}

static uint8_t *read_file(const char *path, size_t *count)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0 && fstat(file, &status) == 0);
    uint8_t *bytes = malloc((size_t)status.st_size + 1);
    assert_int_equal(read(file, bytes, (size_t)status.st_size), status.st_size);
    *count = (size_t)status.st_size;
    close(file);
    return bytes;
}

/* What the exact engine relies upon. */
static void check_file(const char *path, bool something)
{
    size_t count;
    uint8_t *bytes = read_file(path, &count);
    const struct wire_graphs *header = (const struct wire_graphs *)(void *)bytes;
    if (count || something) {
        assert_true(count >= sizeof *header && header->magic == WIRE_GRAPHS_MAGIC);
        const struct wire_graph_function *functions = (const void *)(header + 1);
        const struct wire_graph_block *blocks = (const void *)(functions + header->functions);
        const struct wire_graph_edge *edges = (const void *)(blocks + header->blocks);
        assert_ptr_equal(edges + header->edges, bytes + count);
        for (uint32_t i = 0; i < header->blocks; i++) {
            assert_true(blocks[i].function < header->functions && blocks[i].last < blocks[i].bytes);
            assert_true(blocks[i].number < functions[blocks[i].function].blocks);
            if (i)
                assert_true(blocks[i].start >= blocks[i - 1].start + blocks[i - 1].bytes);
        }
        for (uint32_t i = 0; i < header->functions; i++)
            for (uint32_t e = 1; e < functions[i].edges; e++) {
                const struct wire_graph_edge *edge = &edges[functions[i].first_edge + e];
                assert_true(edge[-1].from < edge->from ||
                            (edge[-1].from == edge->from && edge[-1].to < edge->to));
            }
    }
    free(bytes);
}

static void files(void **state)
{
    char folder[] = "/tmp/headroom-graph-XXXXXX", path[64], module[64];
    struct base_random random = {3};
    size_t count;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/graphs", folder);
    snprintf(module, sizeof module, "%s/module", folder);
    assert_int_equal(pathgraph_write("/proc/self/exe", path), BASE_OK);
    check_file(path, true);
    assert_int_equal(pathgraph_write(NULL, path), BASE_OK);
    check_file(path, false);
    assert_int_equal(pathgraph_write("/nowhere", path), BASE_OK);
    check_file(path, false);
    /* damaged modules */
    uint8_t *bytes = read_file("/bin/true", &count);
    for (int i = 0; i < 60; i++) {
        uint8_t *damaged = malloc(count);
        memcpy(damaged, bytes, count);
        for (int j = 0; j < 40; j++)
            damaged[base_random_below(&random, count)] = (uint8_t)base_random_next(&random);
        FILE *out = fopen(module, "w");
        assert_true(out && fwrite(damaged, i % 2 ? count : count / 2, 1, out) == 1);
        fclose(out);
        free(damaged);
        assert_int_equal(pathgraph_write(module, path), BASE_OK);
        check_file(path, false);
    }
    free(bytes);
    unlink(module);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_function),
        cmocka_unit_test(overlapping_functions_are_bounded),
        cmocka_unit_test(all_functions),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
