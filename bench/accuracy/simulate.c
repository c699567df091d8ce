// SPDX-License-Identifier: MIT
/* Options, the set of samplers, the loop over events. */
#include "simulate.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    FEW_BYTES = 4096,
    PERIODS_MAX = 16,
    IGNORED_MAX = 24 /* the agent's */
};

struct options {
    const char *trace, *pattern, *output, *name, *copy, *module;
    uint64_t accesses, seed, most, control;
    uint64_t periods[PERIODS_MAX];
    size_t periods_count;
    unsigned repeats;
    uint8_t fault;
    float fp_tolerance;
    bool waste, stack;
    bool units[UNITS];
};

/* ---- the set of samplers --------------------------------------------------------------------- */

/* What is watched with one number of registers and one policy. */
static size_t list_watched(const struct options *options, struct sampler_settings common,
                           struct sampler_settings *list)
{
    static const enum sampler_watch watches[UNITS] = {WATCH_WORD, WATCH_LINE};
    size_t count = 0;
    for (unsigned kind = 0; options->waste && kind < DETECT_REUSE; kind++) {
        list[count] = common;
        list[count++].kinds = (uint8_t)(1U << kind);
    }
    if (options->waste && common.registers >= DETECT_REUSE) {
        list[count] = common;
        list[count++].kinds = (1U << DETECT_REUSE) - 1;
    }
    for (unsigned unit = 0; unit < UNITS; unit++) {
        if (!options->units[unit])
            continue;
        list[count] = common;
        list[count].kinds = 1U << DETECT_DEAD;
        list[count].reuse = true;
        list[count++].watch = watches[unit];
    }
    return count;
}

/* Those of one period and repeat. */
static size_t list_settings(const struct options *options, struct sampler_settings common,
                            struct sampler_settings *list)
{
    size_t count = 0;
    /* Of its samples many never trap and stay watched: not for short periods. */
    bool control = common.period >= options->control && common.repeat == 0;
    for (uint8_t registers = control ? UNLIMITED : 1; registers <= DETECT_MAX_REGISTERS;
         registers++) {
        common.registers = registers;
        common.policy = DETECT_RESERVOIR;
        count += list_watched(options, common, &list[count]);
        common.policy = DETECT_RENEWAL;
        /* The others add nothing. */
        if (registers == 1 || registers >= DETECT_REUSE)
            count += list_watched(options, common, &list[count]);
    }
    return count;
}

static bool samples_direction(const struct sampler_settings *settings, unsigned direction)
{
    bool samples = settings->reuse;
    for (unsigned kind = 0; kind < DETECT_REUSE; kind++)
        samples =
            samples || (settings->kinds >> kind & 1 && detect_kinds[kind].samples & direction);
    return samples;
}

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count ? count : 1, bytes);
    if (!memory) {
        fputs("simulate: no memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* Uniform in 7/8 .. 9/8 of the period: in step with no loop, and right on average. */
static uint64_t next_period(struct clock *clock)
{
    uint64_t spread = clock->period / 8;
    return clock->period - spread + base_random_below(&clock->random, 2 * spread + 1);
}

static void init_clock(struct clock *clock, struct sampler *first, size_t count, unsigned direction,
                       uint64_t seed)
{
    *clock = (struct clock){.period = first->settings.period, .random.state = seed};
    clock->samplers = allocate(count, sizeof(struct sampler *));
    for (size_t i = 0; i < count; i++)
        if (samples_direction(&first[i].settings, direction))
            clock->samplers[clock->samplers_count++] = &first[i];
    clock->next = 1 + base_random_below(&clock->random, clock->period);
}

static void renew_next(struct simulation *simulation, unsigned direction)
{
    simulation->next[direction] = UINT64_MAX;
    for (size_t i = 0; i < simulation->clocks_count; i++)
        if (simulation->clocks[direction][i].next < simulation->next[direction])
            simulation->next[direction] = simulation->clocks[direction][i].next;
}

static bool init_samplers(struct simulation *simulation, const struct options *options)
{
    enum { SETTINGS_MAX = 64 };
    size_t groups = options->periods_count * options->repeats;
    simulation->samplers = allocate(groups * SETTINGS_MAX, sizeof *simulation->samplers);
    for (unsigned i = 0; i < 2; i++)
        simulation->clocks[i] = allocate(groups, sizeof *simulation->clocks[i]);
    for (size_t group = 0; group < groups; group++) {
        struct sampler_settings list[SETTINGS_MAX];
        struct sampler_settings common = {.period = options->periods[group / options->repeats],
                                          .repeat = (unsigned)(group % options->repeats),
                                          .fault = options->fault,
                                          .ignored_limit = IGNORED_MAX,
                                          .fp_tolerance = options->fp_tolerance};
        size_t count = list_settings(options, common, list);
        struct sampler *first = &simulation->samplers[simulation->samplers_count];
        uint64_t seed = base_mix64(options->seed * 1000003 + group);
        for (size_t i = 0; i < count; i++)
            if (!sampler_init(&first[i], &list[i], simulation, base_mix64(seed + i)))
                return false;
        simulation->samplers_count += count;
        for (unsigned i = 0; i < 2; i++)
            init_clock(&simulation->clocks[i][group], first, count, i + 1, base_mix64(seed ^ i));
        simulation->clocks_count = group + 1;
    }
    for (unsigned i = 0; i < 2; i++)
        renew_next(simulation, i);
    return true;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void touch_found(struct simulation *simulation, size_t count, const struct access *access)
{
    for (size_t i = 0; i < count; i++)
        sampler_touch(simulation->found[i], access);
}

static __attribute__((noinline)) void touch(struct simulation *simulation,
                                            const struct access *access)
{
    size_t count = watch_find(&simulation->words, access->address, access->bytes, access->direction,
                              simulation->found, 0);
    count = watch_find(&simulation->lines, access->address, access->bytes, access->direction,
                       simulation->found, count);
    touch_found(simulation, count, access);
}

/* Watches that [address, address + bytes) touches, by looking at every register. */
static size_t find_everywhere(struct simulation *simulation, const struct access *access)
{
    size_t count = 0;
    for (size_t i = 0; i < simulation->samplers_count; i++)
        for (struct slot *slot = simulation->samplers[i].slots; slot; slot = slot->next)
            for (unsigned k = 0; k < DETECT_MAX_REGISTERS; k++) {
                struct watch *watch = &slot->watches[k];
                if (slot->detect.registers[k].busy && watch->directions & access->direction &&
                    access->address < watch->high && access->address + access->bytes > watch->low)
                    simulation->found[count++] = watch;
            }
    return count;
}

/* No reuse: the exact answers count no access of the kernel. */
static void touch_by_kernel(struct simulation *simulation, const struct access *access)
{
    size_t kept = 0;
    size_t count = access->bytes > FEW_BYTES
                       ? find_everywhere(simulation, access)
                       : watch_find(&simulation->words, access->address, access->bytes,
                                    access->direction, simulation->found, 0);
    for (size_t i = 0; i < count; i++)
        if (!simulation->found[i]->slot->sampler->settings.reuse)
            simulation->found[kept++] = simulation->found[i];
    touch_found(simulation, kept, access);
}

static __attribute__((noinline)) void sample(struct simulation *simulation, unsigned direction,
                                             const struct access *access)
{
    uint64_t now = simulation->counts.accesses[direction];
    for (size_t i = 0; i < simulation->clocks_count; i++) {
        struct clock *clock = &simulation->clocks[direction][i];
        if (clock->next > now)
            continue;
        clock->next = now + next_period(clock);
        for (size_t k = 0; k < clock->samplers_count; k++)
            sampler_take(clock->samplers[k], access, simulation->truth.image + access->address);
    }
    renew_next(simulation, direction);
}

static bool in_range(struct simulation *simulation, const struct wire_trace_event *event,
                     uint64_t most_bytes)
{
    bool in = event->bytes > 0 && event->bytes <= most_bytes &&
              event->address < UINT64_C(1) << ADDRESS_BITS &&
              event->address + event->bytes <= UINT64_C(1) << ADDRESS_BITS;
    simulation->counts.out_of_range += !in;
    return in;
}

static void on_access(struct simulation *simulation, const struct wire_trace_event *event,
                      bool store)
{
    if (!in_range(simulation, event, WIRE_TRACE_BYTES_MAX))
        return;
    bool foreign = simulation->truth.foreign[event->id];
    simulation->now += !foreign;
    struct access access = {.address = event->address,
                            .bytes = event->bytes,
                            .now = simulation->now + foreign,
                            .node = simulation->truth.nodes[event->id],
                            .direction = store ? DETECT_STORES : DETECT_LOADS,
                            .element = simulation->truth.elements[event->id]};
    uint32_t bytes = (uint32_t)event->bytes;
    truth_access(&simulation->truth, event, store, access.now);
    if (watch_possible(&simulation->words, event->address, bytes, access.direction) ||
        watch_possible(&simulation->lines, event->address, bytes, access.direction))
        touch(simulation, &access);
    simulation->counts.foreign += foreign;
    if (!foreign && ++simulation->counts.accesses[store] >= simulation->next[store])
        sample(simulation, store, &access);
}

static void on_kernel(struct simulation *simulation, const struct wire_trace_event *event,
                      bool store)
{
    if (!in_range(simulation, event, UINT64_MAX))
        return;
    simulation->counts.kernel_events[store]++;
    simulation->counts.kernel_bytes[store] += event->bytes;
    struct access access = {.address = event->address,
                            .bytes = event->bytes,
                            .now = simulation->now,
                            .node = simulation->truth.nodes[event->id],
                            .direction = store ? DETECT_STORES : DETECT_LOADS,
                            .kernel = true};
    truth_kernel(&simulation->truth, event, store);
    touch_by_kernel(simulation, &access);
}

static bool too_many(const char *what)
{
    fprintf(stderr, "simulate: too many %s\n", what);
    return false;
}

static bool on_event(struct simulation *simulation, const struct wire_trace_event *event)
{
    struct simulation_counts *counts = &simulation->counts;
    switch (event->type) {
    case WIRE_TRACE_LOAD: on_access(simulation, event, false); break;
    case WIRE_TRACE_STORE: on_access(simulation, event, true); break;
    case WIRE_TRACE_KERNEL_LOAD: on_kernel(simulation, event, false); break;
    case WIRE_TRACE_KERNEL_STORE: on_kernel(simulation, event, true); break;
    case WIRE_TRACE_FORGET:
        counts->forgets++;
        if (in_range(simulation, event, UINT64_MAX))
            truth_forget(&simulation->truth, event->address, event->bytes);
        break;
    case WIRE_TRACE_ACCESS:
        counts->ids++;
        return truth_define(&simulation->truth, event, nodes_own(&simulation->nodes, event->node),
                            !nodes_counts(&simulation->nodes, event->node)) ||
               too_many("accesses");
    case WIRE_TRACE_NODE:
        counts->nodes++;
        return nodes_define(&simulation->nodes, event) || too_many("contexts");
    case WIRE_TRACE_MODULE:
        counts->modules++;
        return nodes_module(&simulation->nodes, event) || too_many("modules");
    case WIRE_TRACE_THREAD:
        if (event->id > counts->threads)
            counts->threads = event->id;
        break;
    case WIRE_TRACE_END: counts->complete = true; break;
    }
    return true;
}

static bool run(struct simulation *simulation, struct source *source, struct copy *copy)
{
    struct wire_trace_event event;
    enum base_status status = BASE_NOT_FOUND;
    while (simulation->now < simulation->most &&
           (status = source->next(source, &event)) == BASE_OK) {
        if (copy)
            copy_event(copy, &event);
        if (!on_event(simulation, &event))
            return false;
    }
    if (status != BASE_NOT_FOUND && status != BASE_OK) {
        fprintf(stderr, "simulate: the trace is damaged: %s\n", base_status_text(status));
        return false;
    }
    for (size_t i = 0; i < simulation->samplers_count; i++)
        sampler_settle(&simulation->samplers[i]);
    if (!truth_settle(&simulation->truth)) {
        fputs("simulate: no memory for the exact answers\n", stderr);
        return false;
    }
    return true;
}

/* ---- options --------------------------------------------------------------------------------- */

static void usage(FILE *out)
{
    fputs(
        "usage: simulate [options] TRACE      (- is standard input; a FIFO will do)\n"
        "       simulate [options] --pattern NAME\n\n"
        "  -o, --output FILE      JSON goes there, not to standard output\n"
        "      --name NAME        of the program, for the JSON\n"
        "      --periods P,P...   accesses of one direction between samples\n"
        "                         (10000,100000,1000000,10000000)\n"
        "      --repeats N        sets of samplers with seeds of their own (1)\n"
        "      --control P        with unlimited registers, too, from that period on (10000)\n"
        "      --seed N           (1)\n"
        "      --fp-tolerance X   (0.01)\n"
        "      --no-waste, --no-word, --no-line, --no-stack\n"
        "                         leave out detectors, reuse by word or line, stack distances\n"
        "      --module NAME      count, sample and judge what code of this file does alone; what\n"
        "                         other code does, merely touches memory\n"
        "      --fault NAME       replace-oldest, coin-flip, no-attribution: spoil the samplers\n"
        "      --accesses N       length of a pattern (10000000)\n"
        "      --most N           stop after so many accesses\n"
        "      --copy FILE        write the events there, as a trace\n\n"
        "patterns:\n",
        out);
    source_list_patterns(out);
}

static bool parse_periods(const char *text, struct options *options)
{
    options->periods_count = 0;
    do {
        char *end;
        errno = 0;
        unsigned long long period = strtoull(text, &end, 10);
        if (errno || end == text || (*end && *end != ',') || period < 1 || period > 1ULL << 40 ||
            options->periods_count == PERIODS_MAX)
            return false;
        options->periods[options->periods_count++] = period;
        text = end + (*end == ',');
    } while (*text);
    return true;
}

static bool parse_fault(const char *text, uint8_t *fault)
{
    static const char *const names[] = {
        [DETECT_SOUND] = "sound",
        [DETECT_REPLACE_OLDEST] = "replace-oldest",
        [DETECT_COIN_FLIP] = "coin-flip",
        [DETECT_NO_ATTRIBUTION] = "no-attribution",
    };
    for (uint8_t i = 0; i < BASE_COUNT(names); i++)
        if (strcmp(names[i], text) == 0) {
            *fault = i;
            return true;
        }
    return false;
}

static bool parse_number(const char *text, uint64_t most, uint64_t *number)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || value > most)
        return false;
    *number = value;
    return true;
}

enum option_code {
    OPTION_NAME = 256,
    OPTION_PERIODS,
    OPTION_REPEATS,
    OPTION_SEED,
    OPTION_TOLERANCE,
    OPTION_NO_WASTE,
    OPTION_NO_WORD,
    OPTION_NO_LINE,
    OPTION_NO_STACK,
    OPTION_FAULT,
    OPTION_ACCESSES,
    OPTION_PATTERN,
    OPTION_COPY,
    OPTION_MAX,
    OPTION_CONTROL,
    OPTION_MODULE,
};

static bool take_option(int option, struct options *options)
{
    uint64_t number = 0;
    switch (option) {
    case 'o': options->output = optarg; return true;
    case OPTION_NAME: options->name = optarg; return true;
    case OPTION_MAX: return parse_number(optarg, UINT64_MAX, &options->most);
    case OPTION_CONTROL: return parse_number(optarg, UINT64_MAX, &options->control);
    case OPTION_MODULE: options->module = optarg; return true;
    case OPTION_COPY: options->copy = optarg; return true;
    case OPTION_PATTERN: options->pattern = optarg; return true;
    case OPTION_PERIODS: return parse_periods(optarg, options);
    case OPTION_REPEATS:
        if (!parse_number(optarg, 1000, &number) || number == 0)
            return false;
        options->repeats = (unsigned)number;
        return true;
    case OPTION_SEED: return parse_number(optarg, UINT64_MAX, &options->seed);
    case OPTION_ACCESSES: return parse_number(optarg, UINT64_MAX, &options->accesses);
    case OPTION_TOLERANCE: options->fp_tolerance = strtof(optarg, NULL); return true;
    case OPTION_NO_WASTE: options->waste = false; return true;
    case OPTION_NO_WORD: options->units[UNIT_WORD] = false; return true;
    case OPTION_NO_LINE: options->units[UNIT_LINE] = false; return true;
    case OPTION_NO_STACK: options->stack = false; return true;
    case OPTION_FAULT: return parse_fault(optarg, &options->fault);
    default: return false;
    }
}

static bool parse(int argc, char **argv, struct options *options)
{
    static const struct option long_options[] = {
        {"output", required_argument, NULL, 'o'},
        {"name", required_argument, NULL, OPTION_NAME},
        {"periods", required_argument, NULL, OPTION_PERIODS},
        {"repeats", required_argument, NULL, OPTION_REPEATS},
        {"seed", required_argument, NULL, OPTION_SEED},
        {"fp-tolerance", required_argument, NULL, OPTION_TOLERANCE},
        {"no-waste", no_argument, NULL, OPTION_NO_WASTE},
        {"no-word", no_argument, NULL, OPTION_NO_WORD},
        {"no-line", no_argument, NULL, OPTION_NO_LINE},
        {"no-stack", no_argument, NULL, OPTION_NO_STACK},
        {"fault", required_argument, NULL, OPTION_FAULT},
        {"accesses", required_argument, NULL, OPTION_ACCESSES},
        {"pattern", required_argument, NULL, OPTION_PATTERN},
        {"most", required_argument, NULL, OPTION_MAX},
        {"control", required_argument, NULL, OPTION_CONTROL},
        {"copy", required_argument, NULL, OPTION_COPY},
        {"module", required_argument, NULL, OPTION_MODULE},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    for (int option; (option = getopt_long(argc, argv, "o:h", long_options, NULL)) != -1;) {
        if (option == 'h') {
            usage(stdout);
            exit(0);
        }
        if (!take_option(option, options))
            return false;
    }
    options->trace = optind < argc ? argv[optind++] : NULL;
    if (!options->name)
        options->name = options->pattern ? options->pattern : options->trace;
    return optind == argc && !options->trace != !options->pattern;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void release(struct simulation *simulation)
{
    for (size_t i = 0; i < simulation->samplers_count; i++)
        sampler_free(&simulation->samplers[i]);
    for (unsigned i = 0; i < 2; i++) {
        for (size_t k = 0; k < simulation->clocks_count; k++)
            free(simulation->clocks[i][k].samplers);
        free(simulation->clocks[i]);
    }
    free(simulation->samplers);
    free(simulation->found);
    nodes_free(&simulation->nodes);
    truth_free(&simulation->truth);
}

static int simulate(const struct options *options, struct source *source)
{
    static struct simulation simulation = {.words.shift = 3, .lines.shift = 6};
    double begin = seconds();
    simulation.most = options->most;
    simulation.nodes.chosen = options->module;
    if (!truth_init(&simulation.truth, options->waste && source->has_values, options->units,
                    options->stack, options->fp_tolerance) ||
        !init_samplers(&simulation, options)) {
        fputs("simulate: no address space\n", stderr);
        return 1;
    }
    struct copy *copy = options->copy ? copy_open(options->copy) : NULL;
    if ((options->copy && !copy) || !run(&simulation, source, copy))
        return 1;
    if (copy && !copy_close(copy)) {
        fprintf(stderr, "simulate: %s could not be written\n", options->copy);
        return 1;
    }
    struct output_head head = {.name = options->name,
                               .seconds = seconds() - begin,
                               .seed = options->seed,
                               .fault = options->fault,
                               .has_values = source->has_values};
    FILE *out = options->output ? fopen(options->output, "w") : stdout;
    if (!out) {
        fprintf(stderr, "simulate: %s: %s\n", options->output, strerror(errno));
        return 1;
    }
    output_write(out, &simulation, &head);
    bool failed = ferror(out) || fflush(out) != 0;
    if (options->output)
        failed = fclose(out) != 0 || failed;
    if (failed)
        fputs("simulate: the output could not be written\n", stderr);
    release(&simulation);
    return failed;
}

int main(int argc, char **argv)
{
    struct options options = {.accesses = 10000000,
                              .seed = 1,
                              .most = UINT64_MAX,
                              .control = 10000,
                              .periods = {10000, 100000, 1000000, 10000000},
                              .periods_count = 4,
                              .repeats = 1,
                              .fp_tolerance = 0.01F,
                              .waste = true,
                              .stack = true,
                              .units = {true, true}};
    if (!parse(argc, argv, &options)) {
        usage(stderr);
        return 2;
    }
    struct source *source =
        options.pattern ? source_open_pattern(options.pattern, options.accesses, options.seed)
                        : source_open_trace(options.trace);
    if (!source)
        return 1;
    int result = simulate(&options, source);
    source->close(source);
    return result;
}
