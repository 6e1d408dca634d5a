/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread of the engine makes all MPI calls. Lanes make spans ready in any order, but all ranks
 * must start collectives in the same order. MPI makes progress only within its calls, so a thread
 * must make them while the lanes compute. With one thread the library need not be thread-safe
 * (MPI_THREAD_FUNNELED), which not every build is.
 *
 * The thread starts span i once spans 0 .. i are ready here, and polls all running sums. Between
 * polls it sleeps: very briefly at first if the step waits for nothing else, longer while lanes use
 * the cores. If no sum runs, it sleeps until woken, but with a timeout, because MPI may still have
 * to push sent data. It never spins: on a busy machine the scheduler would suspend it later for
 * milliseconds.
 *
 * Additions are our own functions: the standard leaves the overflow of MPI_SUM undefined, and Open
 * MPI 4.1 saturates words of 8 and 16 bits with AVX (its issue 8045).
 *
 * Running collectives cannot be cancelled, so a failure is final: the thread makes no further call,
 * and MPI is not finalized, because that would wait for the others.
 */
#include "reduce/mpi.h"

/* The functions below have MPI's names, and are not visible outside. */
#define OMPI_DECLSPEC
#include <mpi.h>

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/library.h"
#include "base/thread.h"

#define EAGER_POLLS 1000    /* polls with the first rest, while the step waits */
#define EAGER_REST_NS 10000 /* a sleep, not a spin */
#define BUSY_REST_NS 200000 /* afterwards, and while lanes compute */
#define TIMER_SLACK_NS 1000 /* 50 us by default */
#define IDLE_REST_MS 5      /* while no sum runs */

#define LIST(VALUE, NOTHING)                                                                       \
    VALUE(int, MPI_Comm_dup, (MPI_Comm a, MPI_Comm * b), (a, b))                                   \
    VALUE(int, MPI_Comm_free, (MPI_Comm * a), (a))                                                 \
    VALUE(int, MPI_Comm_rank, (MPI_Comm a, int *b), (a, b))                                        \
    VALUE(int, MPI_Comm_set_errhandler, (MPI_Comm a, MPI_Errhandler b), (a, b))                    \
    VALUE(int, MPI_Comm_size, (MPI_Comm a, int *b), (a, b))                                        \
    VALUE(int, MPI_Error_string, (int a, char *b, int *c), (a, b, c))                              \
    VALUE(int, MPI_Finalize, (void), ())                                                           \
    VALUE(int, MPI_Iallreduce,                                                                     \
          (const void *a, void *b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f, MPI_Request *g),   \
          (a, b, c, d, e, f, g))                                                                   \
    VALUE(int, MPI_Init_thread, (int *a, char ***b, int c, int *d), (a, b, c, d))                  \
    VALUE(int, MPI_Initialized, (int *a), (a))                                                     \
    VALUE(int, MPI_Iprobe, (int a, int b, MPI_Comm c, int *d, MPI_Status *e), (a, b, c, d, e))     \
    VALUE(int, MPI_Op_create, (MPI_User_function * a, int b, MPI_Op *c), (a, b, c))                \
    VALUE(int, MPI_Op_free, (MPI_Op * a), (a))                                                     \
    VALUE(int, MPI_Testsome, (int a, MPI_Request *b, int *c, int *d, MPI_Status *e),               \
          (a, b, c, d, e))
SH_LIBRARY_FUNCTIONS(LIST)

/* The constants of the header are the addresses of these. */
static struct mpi_objects {
    SH_LIBRARY_CALL(ompi_mpi_comm_world);
    SH_LIBRARY_CALL(ompi_mpi_errors_return);
    SH_LIBRARY_CALL(ompi_mpi_datatype_null);
    SH_LIBRARY_CALL(ompi_mpi_uint8_t);
    SH_LIBRARY_CALL(ompi_mpi_uint16_t);
    SH_LIBRARY_CALL(ompi_mpi_uint32_t);
    SH_LIBRARY_CALL(ompi_mpi_uint64_t);
} objects;

#define OBJECT(name) SH_LIBRARY_NAME(struct mpi_objects, name)
static const sh_library_name object_names[] = {
    OBJECT(ompi_mpi_comm_world), OBJECT(ompi_mpi_errors_return), OBJECT(ompi_mpi_datatype_null),
    OBJECT(ompi_mpi_uint8_t),    OBJECT(ompi_mpi_uint16_t),      OBJECT(ompi_mpi_uint32_t),
    OBJECT(ompi_mpi_uint64_t),
};
#define ompi_mpi_comm_world (*objects.ompi_mpi_comm_world)
#define ompi_mpi_errors_return (*objects.ompi_mpi_errors_return)
#define ompi_mpi_datatype_null (*objects.ompi_mpi_datatype_null)
#define ompi_mpi_uint8_t (*objects.ompi_mpi_uint8_t)
#define ompi_mpi_uint16_t (*objects.ompi_mpi_uint16_t)
#define ompi_mpi_uint32_t (*objects.ompi_mpi_uint32_t)
#define ompi_mpi_uint64_t (*objects.ompi_mpi_uint64_t)

/* Kind of word, its C type, its MPI type. */
#define WORDS(X)                                                                                   \
    X(SH_WORD_I32, uint32_t, MPI_UINT32_T)                                                         \
    X(SH_WORD_I16, uint16_t, MPI_UINT16_T)                                                         \
    X(SH_WORD_I8, uint8_t, MPI_UINT8_T)                                                            \
    X(SH_WORD_U64, uint64_t, MPI_UINT64_T)

#define COUNT_WORD(kind, type, mpi_type) +1
enum { WORD_KINDS = 0 WORDS(COUNT_WORD) };
#undef COUNT_WORD

typedef struct mpi_engine {
    sh_engine engine; /* first member */
    pthread_t thread;
    int wake; /* eventfd */
    int left; /* eventfd, at the thread's end */

    /* The thread's. */
    MPI_Comm ranks;
    MPI_Op add[WORD_KINDS]; /* by sh_word */
    MPI_Request requests[SH_ENGINE_MAX_SPANS];
    uint32_t round; /* the open or last one */
    const sh_span *spans;
    uint32_t count;
    uint32_t startable, started; /* spans, counted from the first */
    uint32_t ended;
    uint32_t polls; /* since a sum ended */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    bool open, closing, waiting, resting; /* resting: until woken */
    uint32_t rank;
    uint32_t begun, finished; /* rounds */
    const sh_span *begun_spans;
    uint32_t begun_count;
    bool announced[SH_ENGINE_MAX_SPANS]; /* ready in the round */
    sh_status failure;
    char reason[SH_MESSAGE_BYTES];
} mpi_engine;

/* ---- additions ------------------------------------------------------------------------------- */

#define DEFINE_ADD(kind, type, mpi_type)                                                           \
    static void add_##type(void *in, void *in_out, int *length, MPI_Datatype *datatype)            \
    {                                                                                              \
        const type *restrict from = in;                                                            \
        type *restrict to = in_out;                                                                \
        (void)datatype;                                                                            \
        for (int i = 0; i < *length; i++)                                                          \
            to[i] = (type)(to[i] + from[i]);                                                       \
    }
WORDS(DEFINE_ADD)
#undef DEFINE_ADD

static MPI_Datatype type_of(sh_word word)
{
    switch (word) {
#define CASE_TYPE(kind, type, mpi_type)                                                            \
    case kind:                                                                                     \
        return mpi_type;
        WORDS(CASE_TYPE)
#undef CASE_TYPE
    }
    return MPI_DATATYPE_NULL;
}

static void ring_bell(int event)
{
    const uint64_t one = 1;
    const ssize_t wrote = write(event, &one, sizeof one);
    (void)wrote; /* if the event is full, it is readable */
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Caller locks. */
static void wake_up(const mpi_engine *mpi)
{
    if (mpi->resting)
        ring_bell(mpi->wake);
}

static void abort_rounds(sh_engine *engine, sh_status status, const char *reason)
{
    mpi_engine *mpi = (mpi_engine *)engine;
    pthread_mutex_lock(&mpi->lock);
    if (mpi->failure == SH_OK) {
        mpi->failure = status;
        snprintf(mpi->reason, sizeof mpi->reason, "%s", reason);
    }
    pthread_cond_broadcast(&mpi->changed);
    wake_up(mpi);
    pthread_mutex_unlock(&mpi->lock);
}

/* Aborts the rounds after a failure. */
static bool came_through(mpi_engine *mpi, int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "", reason[SH_MESSAGE_BYTES];
    int length = 0;
    if (code == MPI_SUCCESS)
        return true;
    MPI_Error_string(code, text, &length);
    snprintf(reason, sizeof reason, "%s by MPI failed: %.800s", what, text);
    abort_rounds(&mpi->engine, SH_PEER_LOST, reason);
    return false;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void open_mpi(mpi_engine *mpi)
{
    int before = 0, provided = 0, rank = 0, ranks = 0;
    MPI_Initialized(&before);
    if (before) {
        abort_rounds(&mpi->engine, SH_INVALID, "MPI can be opened once in a process");
        return;
    }
    if (!came_through(mpi, MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided), "starting"))
        return;
    if (provided < MPI_THREAD_FUNNELED) {
        abort_rounds(&mpi->engine, SH_UNSUPPORTED,
                     "this MPI library works only in programs without threads");
        return;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!came_through(mpi, MPI_Comm_dup(MPI_COMM_WORLD, &mpi->ranks), "opening"))
        return;
#define MAKE_ADD(kind, type, mpi_type)                                                             \
    if (!came_through(mpi, MPI_Op_create(add_##type, 1, &mpi->add[kind]), "making an addition"))   \
        return;
    WORDS(MAKE_ADD)
#undef MAKE_ADD
    MPI_Comm_rank(mpi->ranks, &rank);
    MPI_Comm_size(mpi->ranks, &ranks);
    pthread_mutex_lock(&mpi->lock);
    mpi->rank = (uint32_t)rank;
    mpi->engine.devices = (uint32_t)ranks;
    mpi->open = true;
    pthread_cond_broadcast(&mpi->changed);
    pthread_mutex_unlock(&mpi->lock);
}

/* Takes over the requests of other threads. Returns false if the engine failed or closes. */
static bool look(mpi_engine *mpi, bool *waiting)
{
    pthread_mutex_lock(&mpi->lock);
    if (mpi->round != mpi->begun) {
        mpi->round = mpi->begun;
        mpi->spans = mpi->begun_spans;
        mpi->count = mpi->begun_count;
        mpi->startable = mpi->started = mpi->ended = mpi->polls = 0;
    }
    while (mpi->startable < mpi->count && mpi->announced[mpi->startable])
        mpi->startable++;
    mpi->resting = false;
    *waiting = mpi->waiting;
    const bool more = mpi->failure == SH_OK && !mpi->closing;
    pthread_mutex_unlock(&mpi->lock);
    return more;
}

static bool start(mpi_engine *mpi)
{
    for (; mpi->started < mpi->startable; mpi->started++) {
        const sh_span *span = &mpi->spans[mpi->started];
        const void *own = span->own == span->total ? MPI_IN_PLACE : span->own;
        if (!came_through(mpi,
                          MPI_Iallreduce(own, span->total, (int)span->count, type_of(span->word),
                                         mpi->add[span->word], mpi->ranks,
                                         &mpi->requests[mpi->started]),
                          "starting a sum"))
            return false;
    }
    return true;
}

static bool drive(mpi_engine *mpi)
{
    int ended = 0, arrived, places[SH_ENGINE_MAX_SPANS];
    if (mpi->started == mpi->ended) /* sent data may not have left yet */
        return came_through(
            mpi, MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, mpi->ranks, &arrived, MPI_STATUS_IGNORE),
            "waiting");
    if (!came_through(
            mpi,
            MPI_Testsome((int)mpi->started, mpi->requests, &ended, places, MPI_STATUSES_IGNORE),
            "adding up"))
        return false;
    mpi->polls++;
    if (ended <= 0)
        return true;
    mpi->polls = 0;
    mpi->ended += (uint32_t)ended;
    if (mpi->ended == mpi->count) {
        pthread_mutex_lock(&mpi->lock);
        mpi->finished++;
        pthread_cond_broadcast(&mpi->changed);
        pthread_mutex_unlock(&mpi->lock);
    }
    return true;
}

static void rest(mpi_engine *mpi, bool waiting)
{
    uint64_t woken;
    struct pollfd wake = {.fd = mpi->wake, .events = POLLIN};
    if (mpi->started != mpi->ended) {
        const bool eager = waiting && mpi->polls < EAGER_POLLS;
        nanosleep(&(struct timespec){.tv_nsec = eager ? EAGER_REST_NS : BUSY_REST_NS}, NULL);
        return;
    }
    pthread_mutex_lock(&mpi->lock);
    const bool news = mpi->failure != SH_OK || mpi->closing || mpi->round != mpi->begun ||
                      (mpi->startable < mpi->count && mpi->announced[mpi->startable]);
    mpi->resting = !news;
    pthread_mutex_unlock(&mpi->lock);
    if (!news && poll(&wake, 1, IDLE_REST_MS) > 0) {
        const ssize_t got = read(mpi->wake, &woken, sizeof woken);
        (void)got;
    }
}

static void *serve(void *argument)
{
    mpi_engine *mpi = argument;
    bool waiting;
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    open_mpi(mpi);
    while (look(mpi, &waiting) && start(mpi) && drive(mpi))
        rest(mpi, waiting);
    /* These values no longer change. */
    if (mpi->open && mpi->failure == SH_OK && mpi->begun == mpi->finished) {
        for (int i = 0; i < WORD_KINDS; i++)
            MPI_Op_free(&mpi->add[i]);
        MPI_Comm_free(&mpi->ranks);
        MPI_Finalize();
    }
    ring_bell(mpi->left);
    return NULL;
}

/* ---- the engine ------------------------------------------------------------------------------ */

static sh_status begin(sh_engine *engine, const sh_span *spans, uint32_t count)
{
    mpi_engine *mpi = (mpi_engine *)engine;
    assert(count > 0 && count <= SH_ENGINE_MAX_SPANS);
    for (uint32_t i = 0; i < count; i++)
        if (spans[i].count > INT_MAX)
            return sh_fail(SH_LIMIT, "%zu words exceed what MPI adds at once (%d)", spans[i].count,
                           INT_MAX);
    pthread_mutex_lock(&mpi->lock);
    assert(mpi->begun == mpi->finished || mpi->failure != SH_OK);
    mpi->begun++;
    mpi->begun_spans = spans;
    mpi->begun_count = count;
    mpi->waiting = false;
    memset(mpi->announced, 0, sizeof mpi->announced);
    pthread_mutex_unlock(&mpi->lock);
    return SH_OK;
}

static void ready(sh_engine *engine, uint32_t span)
{
    mpi_engine *mpi = (mpi_engine *)engine;
    pthread_mutex_lock(&mpi->lock);
    mpi->announced[span] = true;
    wake_up(mpi);
    pthread_mutex_unlock(&mpi->lock);
}

static sh_status wait_for_end(sh_engine *engine)
{
    mpi_engine *mpi = (mpi_engine *)engine;
    pthread_mutex_lock(&mpi->lock);
    mpi->waiting = true;
    while (mpi->finished != mpi->begun && mpi->failure == SH_OK)
        pthread_cond_wait(&mpi->changed, &mpi->lock);
    const bool done = mpi->finished == mpi->begun;
    pthread_mutex_unlock(&mpi->lock);
    /* Once set, `failure` does not change, so it may be read without the lock. */
    return done ? SH_OK : sh_fail(mpi->failure, "%s", mpi->reason);
}

static void free_engine(mpi_engine *mpi)
{
    if (mpi->wake >= 0)
        close(mpi->wake);
    if (mpi->left >= 0)
        close(mpi->left);
    pthread_cond_destroy(&mpi->changed);
    pthread_mutex_destroy(&mpi->lock);
    free(mpi);
}

static void have_it_end(mpi_engine *mpi)
{
    pthread_mutex_lock(&mpi->lock);
    mpi->closing = true;
    wake_up(mpi);
    pthread_mutex_unlock(&mpi->lock);
}

static void close_engine(sh_engine *engine)
{
    mpi_engine *mpi = (mpi_engine *)engine;
    have_it_end(mpi);
    pthread_join(mpi->thread, NULL);
    free_engine(mpi);
}

void sh_mpi_close_within(sh_engine *engine, int patience_ms)
{
    mpi_engine *mpi = (mpi_engine *)engine;
    struct pollfd left = {.fd = mpi->left, .events = POLLIN};
    have_it_end(mpi);
    if (poll(&left, 1, patience_ms) > 0)
        close_engine(engine);
    else
        pthread_detach(mpi->thread); /* it still uses the engine */
}

static sh_status load_mpi(void)
{
    static sh_library library = {SH_LIBRARY_MEMBERS("libmpi.so.40", "openmpi-bin", names),
                                 .has_plugins = true};
    static sh_library again = SH_LIBRARY("libmpi.so.40", "openmpi-bin", object_names);
    SH_TRY(sh_library_load_once(&calls, &library));
    return sh_library_load_once(&objects, &again);
}

sh_status sh_mpi_open(sh_engine **engine, uint32_t *rank)
{
    static const sh_engine_ops ops = {
        .name = "mpi",
        .begin = begin,
        .ready = ready,
        .wait = wait_for_end,
        .abort = abort_rounds,
        .close = close_engine,
    };
    SH_TRY(load_mpi());
    mpi_engine *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "MPI");
    fresh->engine = (sh_engine){.ops = &ops, .devices = 1};
    fresh->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fresh->left = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error = errno;
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_cond_init(&fresh->changed, NULL);
    if (fresh->wake < 0 || fresh->left < 0) {
        free_engine(fresh);
        return sh_fail_errno(error, "starting MPI");
    }
    /* Otherwise hwloc may look for accelerators and load their drivers: PoCL's takes 60 MiB of the
     * --memory budget. The user's setting takes precedence. */
    setenv("HWLOC_COMPONENTS", "-opencl,-cuda,-nvml,-rsmi,-levelzero,-gl", 0);
    error = sh_thread_start(&fresh->thread, serve, fresh);
    if (error != 0) {
        free_engine(fresh);
        return sh_fail_errno(error, "starting MPI's thread");
    }
    pthread_mutex_lock(&fresh->lock);
    while (!fresh->open && fresh->failure == SH_OK)
        pthread_cond_wait(&fresh->changed, &fresh->lock);
    const bool open = fresh->open;
    pthread_mutex_unlock(&fresh->lock);
    if (!open) {
        const sh_status status = sh_fail(fresh->failure, "%s", fresh->reason);
        close_engine(&fresh->engine);
        return status;
    }
    *rank = fresh->rank;
    *engine = &fresh->engine;
    return SH_OK;
}

bool sh_mpi_is_built(void)
{
    return true;
}
