# SPDX-License-Identifier: MIT
"""The programs of bench/gain and what is known to make them faster: each fix is a patch beside this file, of its name.

A program is built from what bench/build fetches and drives (package), or from one file of this repository (source). Its
command runs for one to four seconds of CPU time where that can be had: {p} is the program, {i} the inputs of bench/build,
{t} a directory that it may write to.
"""
import dataclasses

HELD_OUT = "held out"  # not looked at while the first estimator was worked on; seen since
KNOWN = "known"


@dataclasses.dataclass
class Fix:
    name: str  # of the patch
    what: str
    # (end of the file's name, text that the line has), (function, "") or (function, "advice ID"): of findings that ask for this
    lines: list
    same_output: bool = True


@dataclasses.dataclass
class Program:
    name: str
    command: str
    fixes: list
    package: str = None  # Debian source package
    program: str = None  # what bench/build calls it
    kernels: tuple = ()  # of bench/kernels, that bench/build drives it with
    source: str = None  # below the repository
    flags: str = "-O2 -g"
    half: str = KNOWN
    # (end of the file's name, text, why not): findings that say what is true and that nobody could follow
    inherent: list = dataclasses.field(default_factory=list)


PROGRAMS = [
    Program("indexer", "{p}", source="examples/indexer.c", fixes=[
        Fix("indexer-search", "as many buckets as words", [("indexer.c", "while (entry && (entry->hash != hash")]),
        Fix("indexer-memset", "a terminator instead of clearing a kilobyte", [("indexer.c", "memset(word->bytes, 0, sizeof word->bytes);")]),
    ]),
    Program("tcc", "{p} -nostdinc -w -c -o {t}/program.o {i}/program.c", package="tcc", program="tcc", fixes=[
        Fix("tcc-buckets", "2^20 buckets for identifiers", [("tccpp.c", "if (ts->len == len && !memcmp(ts->str, p1, len))"),
                                                          ("tccpp.c", "pts = &(ts->hash_next);")]),
    ]),
    Program("mawk", "{p} '{{ n[$1]++; s += length($0) }} END {{ print s }}' {i}/log.txt {i}/log.txt {i}/log.txt", package="mawk",
            program="mawk", half=HELD_OUT, fixes=[
                Fix("mawk-chains", "2 entries a chain of a hash table instead of 12",
                    [("array.c", "else if (p->hval == hval)"), ("array.c", "q = p ; p = q->slink ;"), ("array.c", "while (p)")]),
            ]),
    Program("gzip", "{p} -9 --stdout {i}/binary8", package="gzip", program="gzip", fixes=[
        Fix("gzip-pairs", "candidates compared two bytes at a time", [("deflate.c", "if (match[best_len]   != scan_end")]),
    ], inherent=[("deflate.c", "cur_match = prev[cur_match & WMASK]", "the search is what -9 asks for")]),
    Program("bzip2", "{p} -9 --stdout {i}/binary8", package="bzip2", program="bzip2", half=HELD_OUT, fixes=[
        Fix("bzip2-exchange", "elements exchanged with themselves are left", [("blocksort.c", "mswap(ptr[unLo], ptr[ltLo]);"),
                                                                            ("blocksort.c", "mswap(ptr[unHi], ptr[gtHi]);")]),
    ], inherent=[("blocksort.c", "eclass[k] = j;", "needs another algorithm")]),
    Program("zopfli", "{p} -c {i}/binary05 {i}/binary05 {i}/binary05", package="zopfli", program="zopfli", fixes=[
        Fix("zopfli-resets", "tables that are read only where they were written are not reset",
            [("hash.c", "h->prev[i] = i;"), ("hash.c", "h->hashval[i] = -1;"), ("hash.c", "h->prev2[i] = i;"), ("hash.c", "h->hashval2[i] = -1;")]),
        Fix("zopfli-kept", "an element of a table kept in a local variable",
            [("hash.c", "if (h->head2[h->val2] != -1 && h->hashval2[h->head2[h->val2]] == h->val2) {"), ("hash.c", "h->prev2[hpos] = h->head2[h->val2];")]),
    ]),
    Program("jq", "{p} length {i}/records.json {i}/records.json {i}/records.json {i}/records.json", package="jq", program="jq", fixes=[
        Fix("jq-clear", "a line's buffer cleared as far as it was used", [("util.c", "memset(state->buf, 0, sizeof(state->buf));")]),
    ]),
    Program("jq-start", "sh -c 'for i in $(seq 100); do {p} -n 1; done'", package="jq", program="jq", half=HELD_OUT, fixes=[
        Fix("jq-any", "references looked for until one is found, not counted", [("compile.c", "if (i != binder.first && i->bound_by == binder.first) {")]),
        Fix("jq-calls", "no calls of two functions for empty lists",
            [(function, "advice overhead.calls") for function in ("block_bind_subblock", "block_count_refs")] + [("compile.c", text) for text in ("nrefs += block_bind_subblock(binder, i->", "nrefs += block_count_refs(binder, i->", "for (inst* i = body.first;",
                                              "assert((opcode_describe(binder.first->op)->flags & bindflags) ==", "assert(binder.first->symbol);",
                                              "assert(binder.first->bound_by ==", "if (binder.first->nformals == -1)")]),
    ]),
    Program("pugixml", "{p} {i}/large.xml", package="pugixml", program="pugixml", kernels=("document.cpp",), fixes=[
        Fix("pugixml-digits", "std::to_chars instead of snprintf", [("pugixml.cpp", "PUGI__SNPRINTF(buf, \"%.*g\", precision, value);")]),
    ]),
    Program("tetgen", "{p} -QNEF {i}/large.node", package="tetgen", program="tetgen", half=HELD_OUT, fixes=[
        Fix("tetgen-optimized", "arithmetic compiled with -O2 instead of -O0", [("predicates.cxx", "")]),
    ]),
    Program("re2", "{p} {i}/log.txt", package="re2", program="re2", kernels=("match.cpp", "tables.cpp"), fixes=[
        Fix("re2-map", "a hash table instead of a tree of strings", [("match.cpp", "seen[group]++;")]),
        Fix("re2-pieces", "only those elements constructed that are used", [("re2.cc", "StringPiece stkvec[kVecSize];"),
                                                                          ("stringpiece.h", ": data_(NULL), size_(0) {}")]),
    ], inherent=[("dfa.cc", "if (s->IsMatch()) {", "the step of the automaton")]),
    Program("lapack", "{p} 1600 1000", package="lapack", program="lapack", kernels=("dense.f90",), fixes=[
        Fix("lapack-columns", "four columns of a product at a time", [("dgemm.f", "C(I,J) = C(I,J) + TEMP*A(I,L)")]),
        Fix("lapack-kept", "an element kept in a local variable", [("dlasr.f", "A( I, J+1 ) = CTEMP*TEMP - STEMP*A( I, J )"),
                                                                 ("dlasr.f", "A( I, J ) = STEMP*TEMP + CTEMP*A( I, J )")]),
    ]),
    Program("minisat", "{p} -verb=0 {i}/hard.cnf", package="minisat2", program="minisat", fixes=[
        Fix("minisat-kept", "watches that stay in place are not stored", [("Solver.cc", "*j++ = *i++; continue; }")]),
    ], inherent=[("Vec.h", "push  (const T& elem)", "the search for a proof")]),
    Program("orders", "{p} 20000", package="cjson", program="orders", kernels=("orders.c",), fixes=[
        Fix("orders-size", "a list's length asked for once", [("cJSON.c", "child = child->next;"), ("cJSON.c", "while(child != NULL)"), ("cJSON.c", "size++;"),
                                                             ("orders.c", "cJSON_GetArraySize(orders)")]),
        Fix("orders-list", "a list gone along instead of from its head for each element",
            [("cJSON.c", "while ((current_child != NULL) && (index > 0))"), ("cJSON.c", "current_child = current_child->next;"), ("cJSON.c", "index--;"),
             ("orders.c", "cJSON_GetArrayItem(orders, i)")]),
    ]),
    Program("items", "{p} 30000", source="bench/kernels/items.c", fixes=[
        Fix("items-length", "sscanf of one line instead of all that is left", [("items.c", "sscanf(text")]),
        Fix("items-table", "a hash table of what is loaded", [("items.c", "if (catalogue->items[i]->key == key)"),
                                                           ("items.c", "for (size_t i = 0; i < catalogue->count; i++)")]),
    ]),
    Program("rows", "{p} 500000", source="bench/kernels/rows.c", flags="-O2 -g -lsqlite3", half=HELD_OUT, fixes=[
        Fix("rows-value", "a column looked up once, for its type and its value",
            [("rows.c", "sqlite3_column_type(statement, column)"), ("rows.c", "sqlite3_column_int64(statement, column)"), ("rows.c", "sqlite3_column_double(statement, column)"),
             ("sqlite3_column_type", ""), ("sqlite3_column_int64", ""), ("sqlite3_column_double", "")]),
    ], inherent=[("sqlite3VdbeExec", "", "SQLite's interpreter")]),
    Program("fields", "{p}", source="bench/cases/fields.c", flags="-O3 -g -lm", fixes=[
        Fix("fields-fused", "sweeps of ten steps behind each other", [("fields.c", "field[j] -= ")]),
    ]),
    Program("pages", "{p}", source="bench/cases/pages.c", flags="-O3 -g -lm", half=HELD_OUT, fixes=[
        Fix("pages-bins", "shares written down in bins", [("pages.c", "sum += shares[route->from_of[link]];")]),
    ]),
    Program("routes", "{p}", source="bench/cases/routes.c", flags="-O3 -g -lm", half=HELD_OUT, fixes=[
        Fix("routes-tiles", "tiles", [("routes.c", "lengths[to] = length < lengths[to] ? length : lengths[to];"),
                                      ("routes.c", "int32_t length = there + further[to];")]),
    ]),
    Program("sensors", "{p}", source="bench/cases/sensors.c", flags="-O3 -g -lm", fixes=[
        Fix("sensors-rows", "two loops interchanged, a few columns at a time", [("sensors.c", "sum += values[i][first] * values[i][second];")]),
    ]),
]
