// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls of functions that are known by name, whichever library or program has them: those that allocate memory, and those
 * that wait for threads. Nothing is replaced: allocators that Valgrind would put in their place give out other
 * addresses, and what shares a line would be something else. Code is added where such a function begins; it
 * has ended when a return leaves the stack pointer behind the call.
 */
#include "exact/sharing.h"

#include "exact/code.h"

#include <libvex_guest_amd64.h>
#include <pub_tool_debuginfo.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_threadstate.h>

enum call {
    CALL_NONE,
    CALL_MALLOC,         /* bytes */
    CALL_CALLOC,         /* count, bytes */
    CALL_REALLOC,        /* block, bytes */
    CALL_REALLOCARRAY,   /* block, count, bytes */
    CALL_ALIGNED,        /* alignment, bytes */
    CALL_POSIX_MEMALIGN, /* where to put it, alignment, bytes */
    CALL_FREE,           /* block */
    CALL_JOIN,           /* thread */
    CALL_BARRIER,        /* barrier */
};

static const struct {
    const HChar *name;
    enum call call;
} names[] = {
    {"malloc", CALL_MALLOC},
    {"valloc", CALL_MALLOC},
    {"pvalloc", CALL_MALLOC},
    {"calloc", CALL_CALLOC},
    {"realloc", CALL_REALLOC},
    {"reallocarray", CALL_REALLOCARRAY},
    {"memalign", CALL_ALIGNED},
    {"aligned_alloc", CALL_ALIGNED},
    {"posix_memalign", CALL_POSIX_MEMALIGN},
    {"free", CALL_FREE},
    {"cfree", CALL_FREE},
    {"pthread_join", CALL_JOIN},
    {"pthread_timedjoin_np", CALL_JOIN},
    {"pthread_clockjoin_np", CALL_JOIN},
    {"pthread_clockjoin_ex", CALL_JOIN}, /* glibc's own name for what all of these call */
    {"pthread_tryjoin_np", CALL_JOIN},
    {"thrd_join", CALL_JOIN},
    {"pthread_barrier_wait", CALL_BARRIER},
    /* C++; those of libstdc++ call malloc, which is then part of the same call */
    {"_Znwm", CALL_MALLOC},
    {"_Znam", CALL_MALLOC},
    {"_ZdlPv", CALL_FREE},
    {"_ZdaPv", CALL_FREE},
    {"_ZdlPvm", CALL_FREE},
    {"_ZdaPvm", CALL_FREE},
};

/* glibc's other names for the same functions: __libc_malloc, __GI___libc_malloc, pthread_join@@GLIBC_2.34. */
static Bool is_name(const HChar *symbol, const HChar *name)
{
    static const HChar *const prefixes[] = {"__GI_", "__libc_", "__"};
    for (UInt i = 0; i < BASE_COUNT(prefixes); i++)
        if (VG_(strncmp)(symbol, prefixes[i], VG_(strlen)(prefixes[i])) == 0)
            symbol += VG_(strlen)(prefixes[i]);
    SizeT length = VG_(strlen)(name);
    return VG_(strncmp)(symbol, name, length) == 0 && (!symbol[length] || symbol[length] == '@');
}

static enum call call_at(Addr start)
{
    const HChar *symbol = NULL;
    if (!VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), start, &symbol) || !symbol)
        return CALL_NONE;
    for (UInt i = 0; i < BASE_COUNT(names); i++)
        if (is_name(symbol, names[i].name))
            return names[i].call < CALL_JOIN || exact_transfer ? names[i].call : CALL_NONE;
    return CALL_NONE;
}

/* ---- calls that go on ------------------------------------------------------------------------- */

enum { NESTED = 8 };

struct pending {
    Addr behind; /* the stack pointer when it has returned */
    enum call call;
    ULong arguments[3];
    UInt context;
    Addr function;
};

struct calls {
    struct pending pending[NESTED];
    UInt count;
};
static struct calls *threads; /* VG_N_THREADS */
static struct calls *running;
/* That of the innermost call; 0: there is none. Read by added code. */
static Addr awaited;
Bool exact_allocates;

static void note_awaited(void)
{
    const struct pending *last =
        running && running->count ? &running->pending[running->count - 1] : NULL;
    awaited = last ? last->behind : 0;
    exact_allocates = last && last->call < CALL_JOIN;
}

static struct calls *calls_of(ThreadId tid)
{
    if (!threads)
        threads = VG_(calloc)("headroom.calls", VG_N_THREADS, sizeof *threads);
    return &threads[tid];
}

void exact_calls_run_thread(ThreadId tid)
{
    running = calls_of(tid);
    note_awaited();
}

void exact_calls_thread_begins(ThreadId tid)
{
    calls_of(tid)->count = 0;
    note_awaited();
}

static void enter(ULong packed, ULong sp, ULong first, ULong second, ULong third)
{
    enum call call = (enum call)(packed & 0xff);
    while (running->count && running->pending[running->count - 1].behind <= sp)
        running->count--; /* left by longjmp */
    if (running->count == NESTED || (running->count && call < CALL_JOIN)) {
        note_awaited();
        return; /* an allocator's own calls are part of it */
    }
    /* What is freed is another object from now on; the function may use it for itself. */
    if (call == CALL_FREE || call == CALL_REALLOC || call == CALL_REALLOCARRAY)
        exact_objects_remove(first);
    if (call == CALL_BARRIER)
        exact_sharing_arrive(first);
    running->pending[running->count++] = (struct pending){.behind = sp + sizeof(Addr),
                                                          .call = call,
                                                          .arguments = {first, second, third},
                                                          .context = exact_current,
                                                          .function = packed >> 8};
    note_awaited();
}

static ULong bytes_of(const struct pending *done)
{
    const ULong *arguments = done->arguments;
    switch (done->call) {
    case CALL_CALLOC: return arguments[0] * arguments[1];
    case CALL_REALLOC:
    case CALL_ALIGNED: return arguments[1];
    case CALL_REALLOCARRAY: return arguments[1] * arguments[2];
    case CALL_POSIX_MEMALIGN: return arguments[2];
    default: return arguments[0];
    }
}

static void finish(const struct pending *done, ULong result)
{
    switch (done->call) {
    case CALL_JOIN:
        if ((UInt)result == 0)
            exact_sharing_joined(done->arguments[0]);
        return;
    case CALL_BARRIER: exact_sharing_pass(done->arguments[0]); return;
    case CALL_NONE:
    case CALL_FREE: return;
    case CALL_POSIX_MEMALIGN:
        result = (UInt)result == 0 ? *(const ULong *)done->arguments[0] : 0;
        break;
    default: break;
    }
    if (result)
        exact_objects_add(result, bytes_of(done), done->context, done->function);
}

/* Of several calls as well: the last thing that pthread_join does is a jump to pthread_clockjoin_ex. */
static void leave(ULong result)
{
    while (running->count && running->pending[running->count - 1].behind == awaited)
        finish(&running->pending[--running->count], result);
    note_awaited();
}

/* ---- added code ------------------------------------------------------------------------------ */

static IRExpr *get(IRSB *out, Int offset)
{
    return assign(out, Ity_I64, IRExpr_Get(offset, Ity_I64));
}

void exact_calls_add_entry(IRSB *out, Addr start)
{
    enum call call = call_at(start);
    if (call == CALL_NONE)
        return;
    CALL(out, 0, enter,
         mkIRExprVec_5(constant((ULong)call | (ULong)start << 8),
                       get(out, offsetof(VexGuestAMD64State, guest_RSP)),
                       get(out, offsetof(VexGuestAMD64State, guest_RDI)),
                       get(out, offsetof(VexGuestAMD64State, guest_RSI)),
                       get(out, offsetof(VexGuestAMD64State, guest_RDX))),
         NULL);
}

void exact_calls_add_return(IRSB *out)
{
    IRExpr *sp = get(out, offsetof(VexGuestAMD64State, guest_RSP));
    IRExpr *left = assign(out, Ity_I1, IRExpr_Binop(Iop_CmpEQ64, sp, load_word(out, &awaited)));
    CALL(out, 0, leave, mkIRExprVec_1(get(out, offsetof(VexGuestAMD64State, guest_RAX))), left);
}
