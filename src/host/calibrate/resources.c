// SPDX-License-Identifier: MIT
/*
 * Throughput of forms, kernels, and what a form takes of each kernel's resource.
 */
#include "calibrate/internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BODY_INSTRUCTIONS = 480, /* the loop's own branch is then a fifth of a per cent */
    SHARE_RATIO =
        4, /* kernels between two copies last so many times a copy's own time: they stay the bottleneck */
    SLOW_CYCLES = 60, /* such forms are microcode: only their slots are looked at */
    TURNS_MAX = 400,
    KERNEL_MEASUREMENTS = 3,
    MIXTURE_MEASUREMENTS = 6,
    SLOT_MEASUREMENTS = 4,
    AGREEING_MOST = 4,
    READ_AT = -DATA_BEFORE, /* what is loaded was not just stored */
    BLOCK_BYTES = 32,
    CHANGED_BYTES = 128,
    VECTOR_SECOND = 15,
};

/* Schedulers do not share out units perfectly: two kinds of instructions that have some in common may take a third longer than these
   explain (Zen 3: cmov and imul). A resource of their own, which both need all the time, makes it twice as long. */
static const double MIXTURE_LEAST = 1.5;
/* Of the front end. What is more than one micro-operation keeps several resources busy. */
static const double MIXED_SLOTS_MAX = 1.5;

/* What takes so little longer than its slots keeps the front end busy, not a unit. */
static const double SLOTS_FULL = 1.3;

/* ---- copies ----------------------------------------------------------------------------------------- */

struct choice {
    int8_t general[8], general_count, vector_first, vector_count, mask_first, mask_count;
    int8_t vector_source;
};

static const struct choice choices[] = {
    [HALF_LOW] = {{3, 6, 7, 8}, 4, 0, 7, 1, 3, 7},
    [HALF_HIGH] = {{9, 10, 11, 12}, 4, 8, 6, 4, 3, 14},
    [HALF_BOTH] = {{3, 6, 7, 8, 9, 10, 11, 12}, 8, 0, 12, 1, 6, 13},
};

/* What is changed waits for the last store there: each copy has a place of its own. All other stores, of kernels too, are in one small block of memory: some processors store twice a cycle only there. All displacements are a byte: with longer
   ones fewer instructions fit into an entry of the cache of decoded ones. */
static int32_t stored_at(const struct sample *sample, unsigned operand, unsigned turn)
{
    int32_t bytes = sample->op[operand].size / 8,
            within = sample_reads(sample, operand) ? CHANGED_BYTES : BLOCK_BYTES;
    return (int32_t)turn * (bytes < 8 ? 8 : bytes) % within;
}

/* What copy `turn` writes differs from its neighbours'; what is only read is never written. */
static void pick_turn(struct sample *sample, const struct choice *choice, unsigned turn)
{
    /* Sources differ, too: two of the same are nothing to do for some forms (cmp, vpcmpeq). */
    int8_t source = BODY_ADDRESS, vector = choice->vector_source;
    for (unsigned i = 0; i < sample->in.operand_count_visible; i++) {
        bool written = sample_writes(sample, i);
        switch (sample_kind(sample, i)) {
        case KIND_GENERAL:
            sample->pick[i] =
                written ? choice->general[turn % (unsigned)choice->general_count] : source;
            source = written ? source : BODY_DATA;
            if (sample_is_hidden(sample, i))
                sample->pick[i] = -1;
            break;
        case KIND_VECTOR:
            sample->pick[i] = (int8_t)(written ? choice->vector_first +
                                                     (int)(turn % (unsigned)choice->vector_count)
                                               : vector);
            vector = written ? vector : VECTOR_SECOND;
            break;
        case KIND_MASK:
            sample->pick[i] =
                (int8_t)(written ? choice->mask_first + (int)(turn % (unsigned)choice->mask_count)
                                 : 7);
            break;
        case KIND_MEMORY:
            /* Of addresses alone: rbp would be encoded with a displacement. */
            sample->pick[i] = sample_is_address(sample, i) ? BODY_DATA : BODY_ADDRESS;
            sample->base = BODY_DATA;
            sample->displacement = written ? stored_at(sample, i, turn) : READ_AT;
            break;
        default: break;
        }
    }
}

static bool divides_whole(const struct sample *sample)
{
    return sample->in.mnemonic == ZYDIS_MNEMONIC_DIV || sample->in.mnemonic == ZYDIS_MNEMONIC_IDIV;
}

/* As large as the quotient by the data's address, or by as much of it as the divisor holds, allows. */
static void load_dividend(const struct sample *sample, struct body *body)
{
    if (sample->op[0].size == 8) {
        body_hex(body, "b8ff1f0000"); /* mov eax, 0x1fff */
        return;
    }
    body_hex(body, "48c7c0ffffffff"); /* mov rax, -1 */
    body_hex(body, "baff0f0000");     /* mov edx, 0xfff */
}

static bool has_vector(const struct sample *sample)
{
    for (unsigned i = 0; i < sample->in.operand_count_visible; i++)
        if (sample_kind(sample, i) == KIND_VECTOR)
            return true;
    return false;
}

bool copies_make(struct sample *sample, enum half half, bool hard, struct copies *copies)
{
    struct body body;
    copies->count = COPIES_MAX;
    copies->instructions = 0;
    copies->wide = sample_is_wide(sample);
    copies->pattern = sample_pattern(sample, hard);
    copies->old = sample->in.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && has_vector(sample);
    for (unsigned turn = 0; turn < COPIES_MAX; turn++) {
        body_begin(&body, copies->pattern, copies->wide);
        if (hard && divides_whole(sample))
            load_dividend(sample, &body);
        else
            sample_break(sample, &body, -1, -1);
        pick_turn(sample, choices + half, turn);
        if (!sample_emit(sample, &body) || body.count > sizeof copies->bytes[0])
            return false;
        memcpy(copies->bytes[turn], body.bytes, body.count);
        copies->length[turn] = (uint8_t)body.count;
        copies->instructions += (unsigned)body.instructions;
    }
    return true;
}

void copies_of_hex(const char *hex, struct copies *copies)
{
    struct body body;
    body_begin(&body, PATTERN_ONES_DOUBLE, false);
    body_hex(&body, hex);
    copies_of_bytes(body.bytes, body.count, copies);
}

void copies_of_bytes(const uint8_t *bytes, size_t count, struct copies *copies)
{
    assert(count <= sizeof copies->bytes[0]);
    *copies = (struct copies){.count = 1, .instructions = 1, .pattern = PATTERN_ONES_DOUBLE};
    memcpy(copies->bytes[0], bytes, count);
    copies->length[0] = (uint8_t)count;
}

static void add_copy(struct body *body, const struct copies *copies, unsigned turn)
{
    body_add(body, copies->bytes[turn % copies->count], copies->length[turn % copies->count]);
}

double copies_throughput(struct lab *lab, const struct copies *copies)
{
    struct body body;
    unsigned turns = 0;
    body_begin(&body, copies->pattern, copies->wide);
    while (turns < BODY_INSTRUCTIONS && body.count < BODY_MAX - 1024)
        add_copy(&body, copies, turns++);
    double cycles = lab_agreed(lab, &body, AGREEING_MOST);
    return cycles < 0 ? cycles : cycles / turns;
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

static void add_turn(struct body *body, const struct kernel *kernel, unsigned turn)
{
    /* Mixed evenly: the front end and the schedulers see both all the time. */
    unsigned first = kernel->each[0], second = kernel->each[1], done = 0;
    for (unsigned i = 0; i < first; i++) {
        add_copy(body, kernel->copies, turn * first + i);
        for (; done < (i + 1) * second / first; done++)
            add_copy(body, kernel->copies + 1, turn * second + done);
    }
}

static unsigned turn_instructions(const struct kernel *kernel)
{
    return kernel->each[0] + kernel->each[1];
}

/* As often as it takes until it is below `enough` cycles, up to `most` times: disturbances are what makes it take more. */
static bool measure_kernel(struct lab *lab, struct kernel *kernel, unsigned most, double enough)
{
    struct body body;
    unsigned turns = 0;
    body_begin(&body, kernel->copies[0].pattern, kernel->copies[0].wide || kernel->copies[1].wide);
    while (turns * turn_instructions(kernel) < BODY_INSTRUCTIONS && body.count < BODY_MAX - 1024)
        add_turn(&body, kernel, turns++);
    kernel->cycles = INFINITY;
    for (unsigned i = 0; i < most && !(kernel->cycles < enough); i++) {
        double cycles = lab_least(lab, &body, KERNEL_MEASUREMENTS) / turns;
        if (cycles <= 0)
            return false;
        kernel->cycles = fmin(kernel->cycles, cycles);
    }
    return true;
}

double kernel_share(struct lab *lab, const struct kernel *kernel, const struct copies *copies,
                    double alone)
{
    struct body body;
    double wanted = SHARE_RATIO * (alone > 0.25 ? alone : 0.25) / kernel->cycles;
    unsigned turns = wanted < 1 ? 1 : wanted > TURNS_MAX ? TURNS_MAX : (unsigned)ceil(wanted);
    unsigned group = 1 + turns * turn_instructions(kernel), groups = 0, turn = 0;
    body_begin(&body, copies->pattern,
               copies->wide || kernel->copies[0].wide || kernel->copies[1].wide);
    do {
        add_copy(&body, copies, groups++);
        for (unsigned i = 0; i < turns; i++)
            add_turn(&body, kernel, turn++);
    } while (groups * group < BODY_INSTRUCTIONS && body.count < BODY_MAX / 2);
    double beside = turns * kernel->cycles, nothing = beside + 0.02 + 0.02 * alone;
    double cycles = lab_measure(lab, &body, nothing * groups) / groups;
    return cycles < 0 ? 0 : cycles - beside;
}

/* In this order: of those that take the same resource the first stands for all. */
const char *const kernel_candidates[] = {
    "lea_r64_abd", /* copies do not depend on one another: those of add wait a little longer for others than their units make them */
    "add_r64_r64",
    "mov_r64_m64",
    "mov_m64_r64",
    "imul_r64_r64",
    "ror_r64_i",
    "bswap_r64",
    "lea_r64_abid",
    "popcnt_r64_r64",
    "cmovz_r64_r64",
    "setz_r8",
    "adc_r64_r64",
    "bt_r64_r64",
    "tzcnt_r64_r64",
    "bsf_r64_r64",
    "pdep.v_r64_r64_r64",
    "mul_r64",
    "div_r32",
    "vandps.v_x_x_x",
    "vpaddd.v_x_x_x",
    "vaddpd.v_x_x_x",
    "vmulpd.v_x_x_x",
    "vfmadd231pd.v_x_x_x",
    "vpshufb.v_x_x_x",
    "vshufpd.v_x_x_x_i",
    "vpmulld.v_x_x_x",
    "vpmuludq.v_x_x_x",
    "vpslld.v_x_x_i",
    "vpcmpeqd.v_x_x_x",
    "vpsadbw.v_x_x_x",
    "vdivpd.v_x_x_x",
    "vsqrtpd.v_x_x",
    "vroundpd.v_x_x_i",
    "vcvtdq2pd.v_x_x",
    "vmovups.v_x_m128",
    "vmovups.v_m128_x",
    "vmovups.v_m256_y",
    "vmovups.v_y_m256",
    "vmovq.v_r64_x",
    "vmovq.v_x_r64",
    "vpmovmskb.v_r32_x",
    "vpermq.v_y_y_i",
    "vaesenc.v_x_x_x",
    "vpinsrq.v_x_x_r64_i",
    "vpblendvb.v_x_x_x_x",
    "vaddpd.v_y_y_y",
    "addpd_x_x",
    "mulpd_x_x",
    "andps_x_x",
    "paddd_x_x",
    "pshufb_x_x",
    "pslld_x_i",
    "divpd_x_x",
    "movups_x_m128",
    "movups_m128_x",
    "movq_r64_x",
    "vucomisd.v_x_x",
};
const size_t kernel_candidate_count = BASE_COUNT(kernel_candidates);

static const struct form *find(const struct form *forms, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(forms[i].key, key))
            return forms + i;
    return NULL;
}

struct candidate {
    struct copies low;    /* among kernels */
    struct kernel kernel; /* upper registers */
};

static bool make_candidate(struct lab *lab, const struct form *form, struct candidate *candidate)
{
    struct sample sample;
    memset(candidate, 0, sizeof *candidate);
    candidate->kernel.each[0] = 1;
    memcpy(candidate->kernel.name, form->key, sizeof form->key);
    return sample_open(form, &sample) && copies_make(&sample, HALF_LOW, false, &candidate->low) &&
           copies_make(&sample, HALF_HIGH, false, candidate->kernel.copies) &&
           measure_kernel(lab, &candidate->kernel, 1, 0);
}

/* Does each take as much of the other's resource as of its own? */
static bool is_same(struct lab *lab, const struct candidate *a, const struct candidate *b)
{
    double one = a->kernel.cycles, two = b->kernel.cycles;
    return kernel_share(lab, &a->kernel, &b->low, two) > 0.92 * two &&
           kernel_share(lab, &b->kernel, &a->low, one) > 0.92 * one;
}

/* ---- mixtures: resources that no form alone keeps busy ------------------------------------------------------ */

struct mixing {
    struct lab *lab;
    struct kernels *kernels;
    struct candidate *singles;
    size_t count;
    double share[KERNELS_MAX][KERNELS_MAX]; /* of single i of kernel k */
};

static void mix_shares(struct mixing *mixing, size_t kernel)
{
    for (size_t i = 1; i < mixing->count; i++)
        mixing->share[i][kernel] =
            i == kernel ? mixing->singles[i].kernel.cycles
                        : kernel_share(mixing->lab, mixing->kernels->items + kernel,
                                       &mixing->singles[i].low, mixing->singles[i].kernel.cycles);
}

/* The larger of each pair once, the other as often as takes as long. */
static void try_mixture(struct mixing *mixing, size_t a, size_t b)
{
    struct kernels *kernels = mixing->kernels;
    double one = mixing->singles[a].kernel.cycles, two = mixing->singles[b].kernel.cycles;
    if (one < two) {
        size_t swapped = a;
        a = b;
        b = swapped;
        double other = one;
        one = two;
        two = other;
    }
    double ratio = round(one / two), bound = 0;
    double slot = kernels->items[KERNEL_SLOTS].cycles * MIXED_SLOTS_MAX;
    if (ratio > 6 || kernels->count == KERNELS_MAX || mixing->share[a][KERNEL_SLOTS] > slot ||
        mixing->share[b][KERNEL_SLOTS] > slot)
        return;
    struct kernel mixed = {
        .copies = {mixing->singles[b].kernel.copies[0], mixing->singles[a].kernel.copies[0]},
        .each = {(unsigned)ratio, 1}};
    snprintf(mixed.name, sizeof mixed.name, "%.50s+%.50s", mixing->singles[b].kernel.name,
             mixing->singles[a].kernel.name);
    for (size_t k = 0; k < kernels->count; k++) {
        double sum = mixing->share[a][k] + ratio * mixing->share[b][k];
        bound = sum > bound ? sum : bound;
    }
    double enough =
        fmax(MIXTURE_LEAST * bound, SLOTS_FULL * (ratio + 1) * kernels->items[KERNEL_SLOTS].cycles);
    if (!measure_kernel(mixing->lab, &mixed, MIXTURE_MEASUREMENTS, enough) || mixed.cycles < enough)
        return;
    kernels->items[kernels->count] = mixed;
    mix_shares(mixing, kernels->count++);
}

static void find_mixtures(struct lab *lab, struct candidate *singles, struct kernels *kernels)
{
    struct mixing *mixing = calloc(1, sizeof *mixing);
    if (!mixing)
        return;
    *mixing = (struct mixing){
        .lab = lab, .kernels = kernels, .singles = singles, .count = kernels->count};
    for (size_t k = 0; k < mixing->count; k++)
        mix_shares(mixing, k);
    for (size_t a = 1; a < mixing->count; a++)
        for (size_t b = a + 1; b < mixing->count; b++)
            try_mixture(mixing, a, b);
    free(mixing);
}

/* ---- all kernels -------------------------------------------------------------------------------------------- */

void kernels_find(struct lab *lab, const struct form *forms, size_t count, struct kernels *kernels)
{
    enum { SINGLES_MAX = KERNELS_MAX - 6 };
    struct candidate *accepted = calloc(SINGLES_MAX, sizeof *accepted),
                     *next = malloc(sizeof *next);
    struct kernel *slots = kernels->items + KERNEL_SLOTS;
    memset(kernels, 0, sizeof *kernels);
    copies_of_hex("90", slots->copies);
    slots->each[0] = 1;
    strcpy(slots->name, "slots");
    kernels->count = measure_kernel(lab, slots, 1, 0);
    for (size_t i = 0;
         accepted && next && i < kernel_candidate_count && kernels->count < SINGLES_MAX; i++) {
        const struct form *form = find(forms, count, kernel_candidates[i]);
        if (!form || !make_candidate(lab, form, next))
            continue;
        bool same = false;
        for (size_t k = 1; k < kernels->count && !same; k++)
            same = is_same(lab, accepted + k, next);
        if (same)
            continue;
        accepted[kernels->count] = *next;
        kernels->items[kernels->count++] = next->kernel;
    }
    if (accepted)
        find_mixtures(lab, accepted, kernels);
    free(accepted);
    free(next);
}

/* ---- a form's share of each --------------------------------------------------------------------------------- */

/* What is measured is a fraction with a small denominator, but for noise. */
static double snap(double value)
{
    double twelfths = round(value * 12) / 12;
    return fabs(value - twelfths) < 0.015 + 0.01 * value ? twelfths : value;
}

static double whole(double value)
{
    return fabs(value - round(value)) < 0.25 ? round(value) : value;
}

static void add_use(struct model_figures *figures, size_t unit, double cycles)
{
    size_t at = figures->use_count;
    if (at == MODEL_PARTS) { /* the least makes way */
        at = 0;
        for (size_t i = 1; i < MODEL_PARTS; i++)
            if (figures->uses[i].cycles < figures->uses[at].cycles)
                at = i;
        if ((double)figures->uses[at].cycles > cycles)
            return;
    } else {
        figures->use_count++;
    }
    figures->uses[at] = (struct model_use){.units = (model_set)1 << unit, .cycles = (float)cycles};
}

/* What waits for all before it, and makes all behind it wait (fences, locked accesses), empties the stream of nops, too: not all of the time
   that it adds there are slots, of which it takes no more than fit into what a copy takes among its like. */
static double slots_of(double cycles, double alone, double width)
{
    double slots = whole(cycles * width), most = alone * width;
    return slots > CODED_SLOTS && slots > most ? fmax(CODED_SLOTS, most) : slots;
}

double front_end_share(struct lab *lab, const struct kernels *kernels, double width,
                       const struct copies *copies, double alone, unsigned most)
{
    const double one = 1.25; /* slot */
    double least = INFINITY;
    for (unsigned i = 0; i < most && !(least * width < one); i++)
        least = fmin(least, kernel_share(lab, kernels->items + KERNEL_SLOTS, copies, alone));
    return least;
}

void resources_share(struct lab *lab, const struct kernels *kernels, const struct facts *facts,
                     const struct copies *copies, struct model_figures *figures)
{
    double alone = (double)figures->throughput, width = facts->figures[MODEL_WIDTH];
    unsigned breaking = copies->instructions / copies->count - 1;
    for (size_t k = 0; k < kernels->count; k++) {
        if (alone > SLOW_CYCLES && k != KERNEL_SLOTS)
            break;
        if (copies->old && (kernels->items[k].copies[0].wide || kernels->items[k].copies[1].wide))
            continue;
        double cycles = k == KERNEL_SLOTS
                            ? front_end_share(lab, kernels, width, copies, alone, SLOT_MEASUREMENTS)
                            : kernel_share(lab, kernels->items + k, copies, alone);
        if (k == KERNEL_SLOTS) {
            double slots = slots_of(cycles, alone, width) - breaking;
            figures->fused = figures->fused_indexed = (float)(slots > 1 ? slots : 1);
            figures->micro_operations = figures->fused;
            continue; /* the front end is no resource that a form uses: MODEL_WIDTH bounds it */
        }
        if (cycles > alone)
            cycles = alone;
        /* Kernels that are slow are not known to hundredths of a cycle. */
        if (cycles > 0.025 + 0.03 * alone + 0.015 * kernels->items[k].cycles)
            add_use(figures, k, snap(cycles));
    }
    figures->use_source = MODEL_MEASURED;
}

/* Where an index costs slots of its own (un-lamination). */
static void measure_indexed(struct lab *lab, const struct kernels *kernels,
                            const struct facts *facts, struct sample *sample,
                            struct model_figures *figures)
{
    struct copies copies;
    unsigned memory = 0;
    for (unsigned i = 0; i < sample->in.operand_count_visible; i++)
        memory += sample_kind(sample, i) == KIND_MEMORY &&
                  sample->op[i].mem.type != ZYDIS_MEMOP_TYPE_AGEN;
    if (!memory || !kernels->count)
        return;
    sample->indexed = true;
    bool made = copies_make(sample, HALF_LOW, false, &copies);
    sample->indexed = false;
    if (!made)
        return;
    double alone = (double)figures->throughput;
    double width = facts->figures[MODEL_WIDTH];
    double share = front_end_share(lab, kernels, width, &copies, alone, SLOT_MEASUREMENTS);
    double slots = slots_of(share, alone, width) - (copies.instructions / copies.count - 1);
    if (slots > (double)figures->fused)
        figures->fused_indexed = (float)slots;
}

bool resources_measure(struct lab *lab, const struct kernels *kernels, const struct facts *facts,
                       struct sample *sample, struct model_figures *figures)
{
    struct copies copies;
    if (!copies_make(sample, HALF_BOTH, false, &copies))
        return false;
    double throughput = copies_throughput(lab, &copies);
    if (throughput <= 0)
        return false;
    figures->throughput = (float)throughput;
    figures->throughput_source = MODEL_MEASURED;
    if (copies_make(sample, HALF_LOW, false, &copies))
        resources_share(lab, kernels, facts, &copies, figures);
    measure_indexed(lab, kernels, facts, sample, figures);
    return true;
}
