// SPDX-License-Identifier: GPL-2.0-or-later
/* Registers the tool with Valgrind and parses its options; see exact.h. */
#include "exact/instrument.h"

#include "exact/jobs.h"
#include "exact/path.h"
#include "exact/sharing.h"
#include "exact/window.h"

#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_clientstate.h>
#include <pub_tool_libcprint.h>
#include <pub_tool_libcproc.h>
#include <pub_tool_libcsetjmp.h>
#include <pub_tool_options.h>

struct exact_options exact_options = {.kinds = WIRE_DEAD | WIRE_SILENT | WIRE_LOAD,
                                      .fp_tolerance = 0.01F,
                                      .waste_share = 1ULL << 32,
                                      .jobs = 1,
                                      .unit_shift = -1,
                                      .follow = True,
                                      .stack = True,
                                      .share = 1ULL << 32,
                                      .contexts = True};

static void choose_unit(const HChar *name)
{
    exact_options.unit_shift = VG_(strcmp)(name, "byte") == 0   ? 0
                               : VG_(strcmp)(name, "word") == 0 ? 3
                               : VG_(strcmp)(name, "line") == 0 ? 6
                                                                : -1;
}

/* BYTES,WAYS in digits; headroom has checked what it gives. */
static void add_cache(const HChar *text, struct cache_shape *caches, UInt *count)
{
    HChar *end = NULL;
    if (*count == CACHE_MAX)
        exact_fail("too many simulated caches");
    struct cache_shape *shape = &caches[(*count)++];
    shape->bytes = VG_(strtoull10)(text, &end);
    shape->ways = *end == ',' ? (UInt)VG_(strtoull10)(end + 1, NULL) : 0;
}

/* HEAD,PATH; headroom has checked what it gives. */
static void add_loop(const HChar *text)
{
    HChar *end = NULL;
    if (exact_options.loops_count == EXACT_LOOPS_MAX)
        exact_fail("too many loops");
    struct exact_loop *loop = &exact_options.loops[exact_options.loops_count++];
    loop->head = VG_(strtoull16)(text, &end);
    loop->path = *end == ',' ? end + 1 : end;
}

static Bool take_option(const HChar *argument)
{
    const HChar *text = NULL;
    Long number = 0;
    if (VG_STR_CLO(argument, "--log", exact_options.log)) {
    } else if (VG_STR_CLO(argument, "--log-name", exact_options.log_name)) {
    } else if (VG_BINT_CLO(argument, "--log-inode", exact_options.log_inode, 0,
                           0x7fffffffffffffffLL)) {
    } else if (VG_STR_CLO(argument, "--trace", exact_options.trace)) {
    } else if (VG_BOOL_CLO(argument, "--follow", exact_options.follow)) {
    } else if (VG_BOOL_CLO(argument, "--child", exact_options.child)) {
    } else if (VG_BOOL_CLO(argument, "--trace-values", exact_options.trace_values)) {
    } else if (VG_BINT_CLO(argument, "--kinds", number, 0, 7)) {
        exact_options.kinds = (UInt)number;
    } else if (VG_STR_CLO(argument, "--fp-tolerance", text)) {
        exact_options.fp_tolerance = (float)VG_(strtod)(text, NULL);
    } else if (VG_BINT_CLO(argument, "--waste-share", number, 1, 1LL << 32)) {
        exact_options.waste_share = (ULong)number;
    } else if (VG_BINT_CLO(argument, "--waste-seed", number, 0, 0x7fffffffffffffffLL)) {
        exact_options.waste_seed = (ULong)number;
    } else if (VG_BINT_CLO(argument, "--jobs", exact_options.jobs, 1, SHADOW_PARTS_MAX)) {
    } else if (VG_STR_CLO(argument, "--reuse", text)) {
        choose_unit(text);
    } else if (VG_BOOL_CLO(argument, "--stack", exact_options.stack)) {
    } else if (VG_BINT_CLO(argument, "--share", number, 1, 1LL << 32)) {
        exact_options.share = (ULong)number;
    } else if (VG_BINT_CLO(argument, "--most-locations", number, 0, 1LL << 31)) {
        exact_options.most_locations = (UInt)number;
    } else if (VG_STR_CLO(argument, "--what-if-cache", text)) {
        add_cache(text, exact_options.caches, &exact_options.caches_count);
    } else if (VG_STR_CLO(argument, "--level", text)) {
        add_cache(text, exact_options.levels, &exact_options.levels_count);
    } else if (VG_STR_CLO(argument, "--loop", text)) {
        add_loop(text);
    } else if (VG_STR_CLO(argument, "--graphs", exact_options.graphs)) {
    } else if (VG_BOOL_CLO(argument, "--sharing", exact_options.sharing)) {
    } else if (VG_BOOL_CLO(argument, "--contexts", exact_options.contexts)) {
    } else if (VG_BOOL_CLO(argument, "--call-sites", exact_options.call_sites)) {
    } else {
        return False;
    }
    return True;
}

static void print_usage(void)
{
    VG_(printf)("    see 'headroom help waste' and docs/formats/rawlog.md\n");
}

static void print_debug_usage(void)
{
}

static Bool beginning, blind;
static VG_MINIMAL_JMP_BUF(cannot_begin);

void exact_fail(const HChar *sentence)
{
    if (beginning && exact_options.child)
        VG_MINIMAL_LONGJMP(cannot_begin);
    VG_(umsg)("headroom: %s\n", sentence);
    VG_(exit)(125);
}

static void after_options(void);

static IRSB *leave_alone(VgCallbackClosure *closure, IRSB *block, const VexGuestLayout *layout,
                         const VexGuestExtents *extents, const VexArchInfo *arch, IRType guest,
                         IRType host)
{
    (void)closure, (void)layout, (void)extents, (void)arch, (void)guest, (void)host;
    return block;
}

static void end_blind(Int exit_code)
{
    (void)exit_code;
}

/* The program runs under Valgrind without anything being added to it. */
static void go_blind(void)
{
    blind = True;
    VG_(basic_tool_funcs)(after_options, leave_alone, end_blind);
    VG_(track_start_client_code)(NULL);
    VG_(track_pre_thread_first_insn)(NULL);
    VG_(track_pre_thread_ll_exit)(NULL);
    VG_(track_pre_deliver_signal)(NULL);
    VG_(track_post_deliver_signal)(NULL);
    exact_transfer = NULL;
    exact_objects = False;
    exact_kernel_end();
    VG_(umsg)("headroom: unobserved: %s\n", VG_(args_the_exename));
}

static void after_options(void)
{
    if (VG_MINIMAL_SETJMP(cannot_begin) != 0) {
        go_blind();
        return;
    }
    beginning = True;
    exact_memory_init();
    exact_contexts_init();
    exact_blocks_init();
    if (exact_options.graphs)
        exact_path_init();
    exact_windows_init();
    exact_access_init();
    exact_jobs_init();
    Bool observed = exact_options.kinds || exact_options.unit_shift >= 0;
    if (exact_options.log && (observed || exact_options.sharing)) {
        exact_threads_follow();
        exact_objects_init();
    }
    if (exact_options.log && observed)
        exact_observe_init();
    if (exact_options.sharing)
        exact_sharing_init();
    exact_trace_init();
    exact_output_init();
    beginning = False;
}

static void end(Int exit_code)
{
    (void)exit_code;
    exact_output();
    exact_trace_end();
}

/* The child has what was counted by then, whole. */
static void before_fork(ThreadId tid)
{
    (void)tid;
    exact_jobs_wait();
}

static void forked(ThreadId tid)
{
    (void)tid;
    if (blind)
        return;
    exact_threads_forked();
    exact_trace_forked();
    exact_jobs_forked();
    if (exact_objects)
        exact_sharing_forked();
    exact_output_forked();
}

static void before_options(void)
{
    VG_(details_name)("headroom");
    VG_(details_version)(HEADROOM_VERSION);
    VG_(details_description)("every access of a program");
    VG_(details_copyright_author)("GPL-2.0-or-later");
    VG_(details_bug_reports_to)("headroom");
    VG_(details_avg_translation_sizeB)(600);
    VG_(basic_tool_funcs)(after_options, exact_instrument, end);
    VG_(needs_command_line_options)(take_option, print_usage, print_debug_usage);
    VG_(clo_vex_control).guest_chase = False;
    VG_(clo_vex_control).guest_max_insns = 30;
    /* Else a load whose value nothing uses, in a register that is loaded again, would be optimised
       away before it is seen. Costs a few per cent. */
    VG_(clo_vex_control).iropt_register_updates_default = VexRegUpdAllregsAtEachInsn;
    VG_(atfork)(before_fork, NULL, forked);
    VG_(track_start_client_code)(exact_run_thread);
    VG_(track_pre_thread_first_insn)(exact_thread_begins);
    VG_(track_pre_thread_ll_exit)(exact_thread_ends);
    VG_(track_pre_deliver_signal)(exact_before_signal);
    VG_(track_post_deliver_signal)(exact_after_signal);
    exact_kernel_init();
    exact_sharing_register();
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
