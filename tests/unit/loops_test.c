// SPDX-License-Identifier: MIT
/*
 * Loops that import finds around addresses: programs compiled here and now by several compilers,
 * whose source says which loops there are and on which lines people would say they stand.
 *
 * Compilers that are missing are left out.
 */
#include "import/loops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char directory[] = "/tmp/headroom-loops-XXXXXX";

static int make_directory(void **state)
{
    return mkdtemp(directory) ? 0 : -1;
}

static int run(const char *format, ...)
{
    char command[2048];
    va_list arguments;
    int length = snprintf(command, sizeof command, "cd %s && ", directory);
    va_start(arguments, format);
    vsnprintf(command + length, sizeof command - (size_t)length, format, arguments);
    va_end(arguments);
    return system(command);
}

static int remove_directory(void **state)
{
    return run("rm -rf %s", directory);
}

static void write_text(const char *name, const char *before, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s%s", before, text);
    assert_int_equal(fclose(file), 0);
}

/* ---- subjects ------------------------------------------------------------------------------- */

/* "@name" in a line: the loop of that name stands there. */
static const char c_source[] =
    "#include <stddef.h>\n"
    "#include <stdlib.h>\n"
    "struct node { struct node *next; int key, value; };\n"
    "double matrix[300][300], other[300][300], result[300][300];\n"
    "void multiply(int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) // @rows\n"
    "        for (int j = 0; j < n; j++) { // @columns\n"
    "            double sum = 0;\n"
    "            for (int k = 0; k < n; k++) // @sums\n"
    "                sum += matrix[i][k] * other[k][j];\n"
    "            result[i][j] = sum;\n"
    "        }\n"
    "}\n"
    "int find(struct node *list, int key)\n"
    "{\n"
    "    while (list && // @list\n"
    "           list->key != key)\n"
    "        list = list->next;\n"
    "    return list ? list->value : -1;\n"
    "}\n"
    "size_t length(const char *text)\n"
    "{\n"
    "    const char *end = text;\n"
    "    while (*end) // @text\n"
    "        end++;\n"
    "    return (size_t)(end - text);\n"
    "}\n"
    "void add(float *restrict a, const float *restrict b, int n) {\n"
    "    for (int i = 0; i < n; i++) // @vector\n"
    "        a[i] += b[i];\n"
    "}\n"
    "int digits(unsigned value, char *out)\n"
    "{\n"
    "    int count = 0;\n"
    "    do\n"
    "        out[count++] = (char)('0' + value % 10); // @digits\n"
    "    while (value /= 10);\n"
    "    return count;\n"
    "}\n"
    "static inline int weigh(const int *row, int n)\n"
    "{\n"
    "    int sum = 0;\n"
    "    for (int i = 0; i < n; i++) // @inlined\n"
    "        if (row[i] & 1)\n"
    "            sum += row[i] * 3;\n"
    "    return sum;\n"
    "}\n"
    "int weigh_all(const int *rows, int n, int m)\n"
    "{\n"
    "    int best = 0;\n"
    "    for (int r = 0; r < n; r++) { // @weighed\n"
    "        int got = weigh(rows + r * m, m);\n"
    "        if (got > best)\n"
    "            best = got;\n"
    "    }\n"
    "    return best;\n"
    "}\n"
    "long stencil(long *a, long *b, int n, int steps)\n"
    "{\n"
    "    for (int t = 0; t < steps; t++) { // @steps\n"
    "        for (int i = 1; i < n - 1; i++) // @there\n"
    "            b[i] = a[i - 1] + a[i] + a[i + 1];\n"
    "        for (int i = 1; i < n - 1; i++) // @back\n"
    "            a[i] = b[i] / 3;\n"
    "    }\n"
    "    return a[n / 2];\n"
    "}\n"
    "int cases(const unsigned char *text)\n"
    "{\n"
    "    int count = 0;\n"
    "    while (*text) { // @cases\n"
    "        switch (*text++) {\n"
    "        case 0: count ^= 17; break;\n"
    "        case 1: count += text[1]; break;\n"
    "        case 2: count = abs(count); break;\n"
    "        case 3: count *= 3; break;\n"
    "        case 4: count -= text[2]; break;\n"
    "        case 5: for (int i = 0; i < count; i++) // @inner\n"
    "                    multiply(i);\n"
    "                break;\n"
    "        case 6: count = rand(); break;\n"
    "        case 7: exit(count);\n"
    "        }\n"
    "    }\n"
    "    return count;\n"
    "}\n"
    "int interpret(const unsigned char *text)\n"
    "{\n"
    "    static const void *const labels[] = {&&stop, &&add, &&twice, &&minus, &&back};\n"
    "    const unsigned char *start = text;\n"
    "    int value = 0;\n"
    "    goto *labels[*text];\n"
    "add: value += 3; goto *labels[*++text];\n"
    "twice: value *= 2; goto *labels[*++text];\n"
    "minus: value -= text[1]; goto *labels[*++text];\n"
    "back: if (value < 1000) text = start; goto *labels[*++text];\n"
    "stop: return value;\n"
    "}\n"
    "static double grid[300][300];\n"
    "static inline void sweep(int n)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) // @sweep\n"
    "        for (int j = 0; j < n; j++) // @across\n"
    "            grid[i][j] += grid[j][i] * matrix[i][j];\n"
    "}\n"
    "void sweeps(void)\n"
    "{\n"
    "    for (int t = 0; t < 3; t++) { // @sweeps\n"
    "        multiply(7);\n"
    "        sweep(120);\n"
    "    }\n"
    "}\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    multiply(argc);\n"
    "    return find(NULL, 1) + (int)length(argv[0]) + cases((unsigned char *)argv[0]);\n"
    "}\n";

static const char cpp_source[] = "#include <cstddef>\n"
                                 "#include <map>\n"
                                 "#include <vector>\n"
                                 "double total(const std::vector<double> &v)\n"
                                 "{\n"
                                 "    double sum = 0;\n"
                                 "    for (std::size_t i = 0; i < v.size(); i++) // @total\n"
                                 "        sum += v[i];\n"
                                 "    return sum;\n"
                                 "}\n"
                                 "double squares(const std::vector<std::vector<double>> &v)\n"
                                 "{\n"
                                 "    double sum = 0;\n"
                                 "    for (const auto &row : v) // @lines\n"
                                 "        for (double x : row) // @items\n"
                                 "            sum += x * x;\n"
                                 "    return sum;\n"
                                 "}\n"
                                 "std::size_t walk(const std::map<int, int> &m)\n"
                                 "{\n"
                                 "    std::size_t n = 0;\n"
                                 "    for (auto &p : m) // @map\n"
                                 "        n += (std::size_t)p.second;\n"
                                 "    return n;\n"
                                 "}\n"
                                 "int main() { return 0; }\n";

/* Addresses of elements, computed anew for each column, have the line of the call of memset. */
static const char columns_source[] =
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "enum { N = 1024 };\n"
    "static double a[N][N], b[N][N];\n"
    "static void smooth(void)\n"
    "{\n"
    "    for (int j = 1; j < N - 1; j++) // @columns\n"
    "        for (int i = 1; i < N - 1; i++) // @rows\n"
    "            b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);\n"
    "}\n"
    "int main(void)\n"
    "{\n"
    "    memset(a, 0, sizeof a);\n"
    "    for (int i = 0; i < N; i++) // @border\n"
    "        a[i][0] = a[0][i] = 1.0;\n"
    "    memcpy(b, a, sizeof b);\n"
    "    for (int step = 0; step < 40; step++) { // @steps\n"
    "        smooth();\n"
    "        memcpy(a, b, sizeof a);\n"
    "    }\n"
    "    printf(\"%g\\n\", a[N / 2][N / 2]);\n"
    "    memset(a, 0, sizeof a);\n"
    "    for (int i = 0; i < N; i++) // @edge\n"
    "        a[i][0] = a[0][i] = 2.0;\n"
    "    memcpy(b, a, sizeof b);\n"
    "    for (int step = 0; step < 30; step++) { // @rounds\n"
    "        for (int j = 1; j < N - 1; j++) // @across\n"
    "            for (int i = 1; i < N - 1; i++) // @down\n"
    "                b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);\n"
    "        memcpy(a, b, sizeof a);\n"
    "    }\n"
    "    printf(\"%g\\n\", a[N / 2][N / 2]);\n"
    "    return 0;\n"
    "}\n";

/* A loop of the source, the one around it ("?": one where the function was inlined), and the
   function in which it stands in the source. */
struct known {
    const char *name, *around, *function;
};

static const struct known c_loops[] = {
    {"rows", NULL, "multiply"},    {"columns", "rows", "multiply"}, {"sums", "columns", "multiply"},
    {"list", NULL, "find"},        {"text", NULL, "length"},        {"vector", NULL, "add"},
    {"digits", NULL, "digits"},    {"inlined", "?", "weigh"},       {"weighed", NULL, "weigh_all"},
    {"there", "steps", "stencil"}, {"back", "steps", "stencil"},    {"steps", NULL, "stencil"},
    {"cases", NULL, "cases"},      {"inner", "cases", "cases"},     {"sweeps", NULL, "sweeps"},
    {"sweep", "?", "sweep"},       {"across", "sweep", "sweep"},

};

static const struct known cpp_loops[] = {
    {"total", NULL, "total"},
    {"lines", NULL, "squares"},
    {"items", "lines", "squares"},
    {"map", NULL, "walk"},
};

static const struct known columns_loops[] = {
    {"border", NULL, "main"},      {"steps", NULL, "main"},    {"columns", "steps", "smooth"},
    {"rows", "columns", "smooth"}, {"edge", NULL, "main"},     {"rounds", NULL, "main"},
    {"across", "rounds", "main"},  {"down", "across", "main"},
};

static uint32_t line_of(const char *source, const char *name)
{
    char mark[64];
    uint32_t line = 1;
    snprintf(mark, sizeof mark, "@%s\n", name);
    const char *found = strstr(source, mark);
    assert_non_null(found);
    for (; source < found; source++)
        line += *source == '\n';
    return line;
}

/* ---- what is found --------------------------------------------------------------------------- */

/* Asks for every byte of the functions that nm finds in `symbols`. */
static struct profile *find_loops(const char *name, const char *symbols)
{
    char path[256], command[512];
    unsigned long start, bytes;
    struct binary *binary = NULL;
    struct binary_options options = {0};
    struct profile *profile = profile_new();
    profile->run.verb = "reuse";
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(binary_open(path, &options, &binary), BASE_OK);
    profile_add_modules(profile)->path = "program";
    struct import_flow flow = {0};
    import_flow_begin(&flow, binary);
    struct import_loops *loops = import_loops_new(profile, &flow);
    assert_non_null(loops);
    snprintf(command, sizeof command,
             "nm -S -n %s/%s | "
             "awk 'NF == 4 && $3 ~ /^[tTW]$/ { print $1, $2 }'",
             directory, symbols);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    while (fscanf(list, "%lx %lx", &start, &bytes) == 2) {
        for (unsigned long at = start; at < start + bytes; at++) {
            struct profile_frame *frame = profile_add_frames(profile);
            *frame = (struct profile_frame){.address = at, .module = 1};
            assert_true(
                import_loops_of_frames(loops, 1, at, (uint32_t)profile->frames_count - 1, 1));
        }
    }
    pclose(list);
    assert_true(import_loops_tell(loops));
    import_loops_free(loops);
    import_flow_end(&flow);
    binary_close(binary);
    return profile;
}

static bool is_function(const struct profile_loop *loop, const char *function)
{
    size_t length = strlen(function);
    return loop->function && strncmp(loop->function, function, length) == 0 &&
           (loop->function[length] == 0 || loop->function[length] == '(');
}

/* Is there such a loop, in the loop that it should be in? */
static bool holds(const struct profile *profile, const char *source, const struct known *known)
{
    uint32_t line = line_of(source, known->name);
    bool any = known->around && known->around[0] == '?';
    uint32_t around = known->around && !any ? line_of(source, known->around) : 0;
    for (size_t i = 1; i < profile->loops_count; i++) {
        const struct profile_loop *loop = &profile->loops[i];
        const struct profile_loop *parent = &profile->loops[loop->parent];
        if (loop->line == line && is_function(loop, known->function) &&
            (any || (around == 0 ? loop->parent == 0 : parent->line == around)))
            return true;
    }
    return false;
}

static size_t count_missing(const struct profile *profile, const char *source,
                            const struct known *known, size_t count, const char *who)
{
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        if (holds(profile, source, &known[i]))
            continue;
        missing++;
        if (!who)
            continue;
        print_error("%s: no loop %s at line %u\n", who, known[i].name,
                    line_of(source, known[i].name));
        for (size_t j = 1; j < profile->loops_count; j++)
            if (is_function(&profile->loops[j], known[i].function))
                print_error("  %zu in %u: line %u at %#lx\n", j, profile->loops[j].parent,
                            profile->loops[j].line, (unsigned long)profile->loops[j].address);
    }
    return missing;
}

/* Rows ascend, parents precede, every row's frame lies at or behind its loop's module. */
static void check_rows(const struct profile *profile)
{
    for (size_t i = 0; i < profile->frame_loops_count; i++) {
        const struct profile_frame_loop *row = &profile->frame_loops[i];
        assert_true(i == 0 || row[-1].frame < row->frame);
        assert_true(row->loop > 0 && row->loop < profile->loops_count);
    }
    for (size_t i = 1; i < profile->loops_count; i++) {
        assert_true(profile->loops[i].parent < i);
        assert_int_equal(profile->loops[i].module, 1);
    }
}

static const char *const compilers[] = {
    "gcc -O2",
    "gcc -O3",
    "gcc -O2 -no-pie -gdwarf-4",
    "gcc -O0",
    "gcc -O1",
    "gcc -Og",
    "clang-14 -O0",
    "clang-14 -O1",
    "clang-14 -O2",
    "clang-14 -O3 -no-pie",
};

/* True if there is such a compiler, and it made the program. */
static bool compile(const char *compiler, const char *source, const char *program)
{
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(compiler, " "), compiler);
    if (run("command -v %s >/dev/null 2>&1", name) != 0)
        return false;
    assert_int_equal(run("%s -g %s -o %s", compiler, source, program), 0);
    return true;
}

static void test_lines(void **state)
{
    size_t compiled = 0;
    write_text("subject.c", "", c_source);
    for (size_t i = 0; i < BASE_COUNT(compilers); i++) {
        if (!compile(compilers[i], "subject.c", "subject"))
            continue;
        struct profile *profile = find_loops("subject", "subject");
        check_rows(profile);
        assert_int_equal(
            count_missing(profile, c_source, c_loops, BASE_COUNT(c_loops), compilers[i]), 0);
        compiled++;
        profile_free(profile);
    }
    assert_true(compiled > 0);
}

static void test_cpp(void **state)
{
    static const char *const all[] = {"g++ -O2", "g++ -O3", "clang++-14 -O2"};
    write_text("subject.cpp", "", cpp_source);
    for (size_t i = 0; i < BASE_COUNT(all); i++) {
        if (!compile(all[i], "subject.cpp", "subject"))
            continue;
        struct profile *profile = find_loops("subject", "subject");
        check_rows(profile);
        assert_int_equal(
            count_missing(profile, cpp_source, cpp_loops, BASE_COUNT(cpp_loops), all[i]), 0);
        profile_free(profile);
    }
}

/* The head of a loop that begins with what is computed as something before it was. */
static void test_carried_lines(void **state)
{
    static const char *const all[] = {"gcc -O2", "gcc -O2 -no-pie", "clang-14 -O2"};
    size_t compiled = 0;
    write_text("columns.c", "", columns_source);
    for (size_t i = 0; i < BASE_COUNT(all); i++) {
        if (!compile(all[i], "columns.c", "columns"))
            continue;
        struct profile *profile = find_loops("columns", "columns");
        check_rows(profile);
        assert_int_equal(count_missing(profile, columns_source, columns_loops,
                                       BASE_COUNT(columns_loops), all[i]),
                         0);
        compiled++;
        profile_free(profile);
    }
    assert_true(compiled > 0);
}

/* Threaded code is one loop, though each operation leads to each. */
static void test_interpreter(void **state)
{
    static const char *const all[] = {"gcc -O2", "gcc -O2 -no-pie", "gcc -O1", "clang-14 -O2"};
    write_text("subject.c", "", c_source);
    for (size_t i = 0; i < BASE_COUNT(all); i++) {
        if (!compile(all[i], "subject.c", "subject"))
            continue;
        struct profile *profile = find_loops("subject", "subject");
        size_t found = 0;
        for (size_t j = 1; j < profile->loops_count; j++) {
            if (!is_function(&profile->loops[j], "interpret"))
                continue;
            found++;
            assert_int_equal(profile->loops[j].parent, 0);
        }
        assert_int_equal(found, 1);
        profile_free(profile);
    }
}

/* What is asked here can fail: with all lines one further down, nothing holds. */
static void test_planted_fault(void **state)
{
    write_text("shifted.c", "\n", c_source);
    if (!compile("gcc -O2", "shifted.c", "shifted"))
        skip();
    struct profile *profile = find_loops("shifted", "shifted");
    assert_int_equal(count_missing(profile, c_source, c_loops, BASE_COUNT(c_loops), NULL),
                     BASE_COUNT(c_loops));
    profile_free(profile);
}

/* Without symbols functions are known by call frame information: the same loops, named by where those begin. */
static void test_stripped(void **state)
{
    write_text("subject.c", "", c_source);
    if (!compile("gcc -O2", "subject.c", "subject") ||
        run("strip subject -o stripped 2>/dev/null") != 0)
        skip();
    struct profile *whole = find_loops("subject", "subject");
    struct profile *stripped = find_loops("stripped", "subject");
    check_rows(stripped);
    assert_int_equal(stripped->loops_count, whole->loops_count);
    assert_int_equal(stripped->frame_loops_count, whole->frame_loops_count);
    for (size_t i = 1; i < whole->loops_count; i++) {
        assert_int_equal(stripped->loops[i].address, whole->loops[i].address);
        assert_int_equal(stripped->loops[i].parent, whole->loops[i].parent);
        assert_int_equal(stripped->loops[i].line, 0);
        assert_memory_equal(stripped->loops[i].function, "stripped@0x", 11);
        assert_null(stripped->loops[i].file);
    }
    profile_free(stripped);
    profile_free(whole);
}

/* Only what is around asked addresses enters; nothing for other verbs, unknown modules, places
   known to lie. */
static void test_only_what_is_asked(void **state)
{
    struct binary *binary = NULL;
    struct binary_options options = {0};
    struct profile *profile = profile_new();
    char path[256];
    write_text("subject.c", "", c_source);
    if (!compile("gcc -O2", "subject.c", "subject"))
        skip();
    struct profile *whole = find_loops("subject", "subject");
    snprintf(path, sizeof path, "%s/subject", directory);
    assert_int_equal(binary_open(path, &options, &binary), BASE_OK);
    profile_add_modules(profile)->path = "program";
    for (int i = 0; i < 2; i++)
        profile_add_frames(profile)->module = 1;
    profile_add_frames(profile)->flags = PROFILE_FRAME_IMPRECISE;
    const struct profile_loop *sums = NULL;
    for (size_t i = 1; i < whole->loops_count; i++)
        if (!sums && whole->loops[i].line == line_of(c_source, "sums"))
            sums = &whole->loops[i];
    assert_non_null(sums);
    profile->run.verb = "waste";
    for (int i = 0; i < 2; i++) {
        struct import_flow flow = {0};
        struct import_loops *loops = import_loops_new(profile, &flow);
        assert_true(import_loops_of_frames(loops, 1, sums->address, 1, 1));
        import_flow_begin(&flow, binary);
        assert_true(import_loops_of_frames(loops, 1, sums->address, 3, 1));
        assert_true(import_loops_of_frames(loops, 1, 5, 1, 1));
        assert_true(import_loops_of_frames(loops, 1, UINT64_MAX, 1, 1));
        assert_int_equal(profile->frame_loops_count, 0);
        assert_true(import_loops_of_frames(loops, 1, sums->address, 1, 2));
        import_loops_free(loops);
        import_flow_end(&flow);
        assert_int_equal(profile->frame_loops_count, i ? 2 : 0);
        profile->run.verb = "reuse";
    }
    assert_int_equal(profile->loops_count, 4);
    assert_int_equal(profile->frame_loops[0].loop, 3);
    assert_int_equal(profile->frame_loops[1].frame, 2);
    assert_int_equal(profile->loops[3].parent, 2);
    assert_int_equal(profile->loops[2].parent, 1);
    assert_int_equal(profile->loops[3].address, sums->address);
    binary_close(binary);
    profile_free(profile);
    profile_free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_cpp),
        cmocka_unit_test(test_interpreter),
        cmocka_unit_test(test_planted_fault),
        cmocka_unit_test(test_carried_lines),
        cmocka_unit_test(test_stripped),
        cmocka_unit_test(test_only_what_is_asked),
    };
    return cmocka_run_group_tests_name("loops", tests, make_directory, remove_directory);
}
