/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To block, a virtual thread records the reason, draws the next runnable thread, and jumps to it.
 * Each switch exchanges the program's thread-local variables. Locks and conditions use the memory
 * of pthread_mutex_t and pthread_cond_t, which static initialisers set to zero.
 */
#define _GNU_SOURCE    /* dl_iterate_phdr */
#undef _FORTIFY_SOURCE /* its longjmp refuses to go to another stack */
#include "virtual_threads.h"

#include <errno.h>
#include <link.h>
#include <poll.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define THREADS 512
#define STACK_BYTES ((size_t)1 << 20)
#define GUARD_BYTES ((size_t)4096)
#define NEVER UINT64_MAX
#define BEGIN_NS UINT64_C(1000000000000)      /* the monotonic clock at the start */
#define DATE_NS UINT64_C(1750000000000000000) /* the real-time clock minus it */
#define YIELDS 16                             /* one of this many locks yields */

bool virtual_is_told;

/* __real_ is the system's function. */
#define WRAPPED(name, arguments)                                                                   \
    int __real_##name arguments;                                                                   \
    int __wrap_##name arguments;
WRAPPED(pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))
WRAPPED(pthread_join, (pthread_t, void **))
WRAPPED(pthread_once, (pthread_once_t *, void (*)(void)))
WRAPPED(pthread_mutex_init, (pthread_mutex_t *, const pthread_mutexattr_t *))
WRAPPED(pthread_mutex_destroy, (pthread_mutex_t *))
WRAPPED(pthread_mutex_lock, (pthread_mutex_t *))
WRAPPED(pthread_mutex_trylock, (pthread_mutex_t *))
WRAPPED(pthread_mutex_unlock, (pthread_mutex_t *))
WRAPPED(pthread_cond_init, (pthread_cond_t *, const pthread_condattr_t *))
WRAPPED(pthread_cond_destroy, (pthread_cond_t *))
WRAPPED(pthread_cond_wait, (pthread_cond_t *, pthread_mutex_t *))
WRAPPED(pthread_cond_timedwait, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *))
WRAPPED(pthread_cond_signal, (pthread_cond_t *))
WRAPPED(pthread_cond_broadcast, (pthread_cond_t *))
WRAPPED(poll, (struct pollfd *, nfds_t, int))
WRAPPED(nanosleep, (const struct timespec *, struct timespec *))
WRAPPED(clock_gettime, (clockid_t, struct timespec *))
WRAPPED(getentropy, (void *, size_t))

/* DONE: ended, but not joined; FREE: its place can be used again. */
typedef enum state { RUNS, WAITS_LOCK, WAITS_COND, WAITS_POLL, SLEEPS, JOINS, DONE, FREE } state;

typedef struct vthread {
    jmp_buf place; /* not yet set if `fresh` */
    unsigned char *stack, *locals;
    int error;
    bool fresh;
    state state;
    const void *on; /* the lock, condition or joined thread */
    struct pollfd *fds;
    nfds_t fd_count;
    uint64_t due_ns; /* NEVER: no deadline */
    uint32_t device;
    bool held, woken;
    void *(*main)(void *);
    void *argument, *result;
} vthread;

static vthread threads[THREADS];
static uint32_t thread_count;
static bool begun;
static uint64_t now_ns, random_state, trace_hash = UINT64_C(14695981039346656037);
static bool device_held[VIRTUAL_DEVICES];
static int64_t turned_ns[VIRTUAL_DEVICES];
static vthread *self;
static unsigned char *locals; /* the program's thread-local variables */
static const void *locals_start;
static size_t locals_bytes, locals_start_bytes; /* the rest starts as zeros */

/* In the memory of a pthread_mutex_t. */
typedef struct lock {
    uint32_t owner; /* index + 1; 0: free */
} lock;

/* ---- numbers --------------------------------------------------------------------------------- */

static uint64_t next_random(void) /* splitmix64 */
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t virtual_draw(uint64_t limit)
{
    return next_random() % limit;
}

void virtual_trace(uint64_t number)
{
    trace_hash = (trace_hash ^ number) * UINT64_C(1099511628211);
}

uint64_t virtual_trace_hash(void)
{
    return trace_hash;
}

/* ---- scheduling ------------------------------------------------------------------------------ */

static bool is_held(const vthread *one)
{
    return one->held || device_held[one->device];
}

static bool can_run(vthread *one)
{
    if (is_held(one))
        return false;
    if (one->due_ns <= now_ns && one->state < DONE)
        return true;
    switch (one->state) {
    case RUNS:
        return true;
    case WAITS_LOCK:
        return ((const lock *)one->on)->owner == 0;
    case WAITS_COND:
        return one->woken;
    case WAITS_POLL:
        return virtual_files_poll(one->fds, one->fd_count) != 0;
    case JOINS:
        return ((const vthread *)one->on)->state == DONE;
    default:
        return false;
    }
}

void virtual_tell(void)
{
    static const char *const names[] = {"runs",  "waits for a lock", "waits for a condition",
                                        "polls", "sleeps",           "joins"};
    for (uint32_t i = 0; i < thread_count; i++)
        if (threads[i].state < DONE)
            fprintf(stderr, "  thread %u of device %u %s%s\n", i, threads[i].device,
                    names[threads[i].state], is_held(&threads[i]) ? ", held" : "");
}

/* Advances the clock if none can run. */
static vthread *choose(void)
{
    for (;;) {
        vthread *able[THREADS];
        uint32_t count = 0;
        uint64_t first_ns = NEVER;
        for (uint32_t i = 0; i < thread_count; i++) {
            if (can_run(&threads[i]))
                able[count++] = &threads[i];
            else if (threads[i].due_ns < first_ns && !is_held(&threads[i]) &&
                     threads[i].state < DONE)
                first_ns = threads[i].due_ns;
        }
        if (count > 0)
            return able[count == 1 ? 0 : virtual_draw(count)];
        if (first_ns == NEVER) {
            fprintf(stderr, "deadlock at %.3f s: all threads wait without a deadline\n",
                    (double)now_ns / 1e9);
            virtual_tell();
            _exit(3);
        }
        now_ns = first_ns;
    }
}

/* ---- coroutines ------------------------------------------------------------------------------ */

static int find_locals(struct dl_phdr_info *program, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    for (size_t i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &program->dlpi_phdr[i];
        if (part->p_type != PT_TLS)
            continue;
        locals = program->dlpi_tls_data;
        locals_bytes = part->p_memsz;
        locals_start = (const unsigned char *)program->dlpi_addr + part->p_vaddr;
        locals_start_bytes = part->p_filesz;
    }
    return 1; /* the first is the program itself */
}

static void run_thread(void);

static void begin_thread(vthread *next)
{
    ucontext_t context;
    next->fresh = false;
    memset(locals, 0, locals_bytes);
    memcpy(locals, locals_start, locals_start_bytes);
    if (getcontext(&context) != 0)
        abort();
    context.uc_stack.ss_sp = next->stack + GUARD_BYTES;
    context.uc_stack.ss_size = STACK_BYTES - GUARD_BYTES;
    context.uc_link = NULL;
    makecontext(&context, run_thread, 0);
    setcontext(&context);
    abort();
}

static void jump_to(vthread *next)
{
    self = next;
    if (next->fresh)
        begin_thread(next);
    memcpy(locals, next->locals, locals_bytes);
    errno = next->error;
    longjmp(next->place, 1);
}

static void switch_to(vthread *next)
{
    vthread *here = self;
    if (next == here)
        return;
    memcpy(here->locals, locals, locals_bytes);
    here->error = errno;
    if (setjmp(here->place) == 0)
        jump_to(next);
}

static void switch_away(void)
{
    vthread *here = self, *next = choose();
    virtual_trace((uint64_t)(next - threads) << 48 ^ now_ns);
    if (virtual_is_told)
        fprintf(stderr, "%12.6f thread %u (%d) -> %u of device %u\n", (double)now_ns / 1e9,
                (unsigned)(here - threads), here->state, (unsigned)(next - threads), next->device);
    switch_to(next);
    self->state = RUNS;
    self->due_ns = NEVER;
}

static void block(state why, const void *on, uint64_t due_ns)
{
    self->state = why;
    self->on = on;
    self->due_ns = due_ns;
    self->woken = false;
    switch_away();
}

void virtual_begin(uint64_t seed)
{
    random_state = seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
    dl_iterate_phdr(find_locals, NULL);
    self = &threads[thread_count++];
    *self = (vthread){.due_ns = NEVER, .locals = malloc(locals_bytes)};
    if (self->locals == NULL)
        abort();
    begun = true;
}

bool virtual_has_begun(void)
{
    return begun;
}

uint64_t virtual_now_ns(void)
{
    return now_ns;
}

void virtual_sleep(uint64_t ns)
{
    block(ns == 0 ? RUNS : SLEEPS, NULL, ns == 0 ? NEVER : now_ns + ns);
}

void virtual_device(uint32_t device)
{
    self->device = device;
}

uint32_t virtual_this_device(void)
{
    return self == NULL ? 0 : self->device;
}

void virtual_turn_clock(uint32_t device, int64_t by_ns)
{
    turned_ns[device] += by_ns;
}

static uint64_t date_ns(void)
{
    return DATE_NS + (uint64_t)turned_ns[self->device];
}

void virtual_hold(uint32_t device, bool hold)
{
    device_held[device] = hold;
}

static vthread *thread_of(pthread_t thread)
{
    return &threads[thread - 1];
}

void virtual_hold_thread(pthread_t thread, bool hold)
{
    thread_of(thread)->held = hold;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void run_thread(void)
{
    self->state = RUNS;
    self->result = self->main(self->argument);
    self->state = DONE;
    jump_to(choose());
}

static vthread *find_place(void)
{
    vthread *found = NULL;
    for (uint32_t i = 0; i < thread_count && found == NULL; i++)
        found = threads[i].state == FREE ? &threads[i] : NULL;
    if (found != NULL || thread_count == THREADS)
        return found;
    found = &threads[thread_count];
    found->locals = malloc(locals_bytes);
    found->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found->locals == NULL || found->stack == MAP_FAILED ||
        mprotect(found->stack, GUARD_BYTES, PROT_NONE) != 0)
        abort();
    thread_count++;
    return found;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *),
                          void *argument)
{
    if (!begun)
        return __real_pthread_create(thread, attr, main, argument);
    vthread *made = find_place();
    if (made == NULL)
        return EAGAIN;
    *made = (vthread){.stack = made->stack,
                      .locals = made->locals,
                      .fresh = true,
                      .due_ns = NEVER,
                      .device = self->device,
                      .main = main,
                      .argument = argument};
    *thread = (pthread_t)(made - threads) + 1;
    return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    if (!begun)
        return __real_pthread_join(thread, result);
    vthread *ended = thread_of(thread);
    while (ended->state != DONE)
        block(JOINS, ended, NEVER);
    if (result != NULL)
        *result = ended->result;
    ended->state = FREE;
    return 0;
}

int __wrap_pthread_once(pthread_once_t *once, void (*main)(void))
{
    if (!begun)
        return __real_pthread_once(once, main);
    int *said = (int *)once; /* 0: new, 1: running, 2: done */
    while (*said == 1)
        virtual_sleep(0);
    if (*said == 0) {
        *said = 1;
        main();
        *said = 2;
    }
    return 0;
}

/* ---- locks and conditions -------------------------------------------------------------------- */

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
    if (!begun)
        return __real_pthread_mutex_init(mutex, attr);
    memset(mutex, 0, sizeof *mutex);
    return 0;
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    if (!begun)
        return __real_pthread_mutex_destroy(mutex);
    return 0;
}

static uint32_t own_number(void)
{
    return (uint32_t)(self - threads) + 1;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (!begun)
        return __real_pthread_mutex_lock(mutex);
    lock *it = (lock *)mutex;
    if (virtual_draw(YIELDS) == 0)
        virtual_sleep(0);
    while (it->owner != 0) {
        if (it->owner == own_number()) {
            fprintf(stderr, "a thread takes a lock that it holds\n");
            abort();
        }
        block(WAITS_LOCK, it, NEVER);
    }
    it->owner = own_number();
    return 0;
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    if (!begun)
        return __real_pthread_mutex_trylock(mutex);
    lock *it = (lock *)mutex;
    if (it->owner != 0)
        return EBUSY;
    it->owner = own_number();
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    if (!begun)
        return __real_pthread_mutex_unlock(mutex);
    lock *it = (lock *)mutex;
    if (it->owner != own_number()) {
        fprintf(stderr, "a thread gives a lock back that it does not hold\n");
        abort();
    }
    it->owner = 0;
    return 0;
}

int __wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
    if (!begun)
        return __real_pthread_cond_init(cond, attr);
    memset(cond, 0, sizeof *cond);
    return 0;
}

int __wrap_pthread_cond_destroy(pthread_cond_t *cond)
{
    if (!begun)
        return __real_pthread_cond_destroy(cond);
    return 0;
}

static int wait_for(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t due_ns)
{
    __wrap_pthread_mutex_unlock(mutex);
    block(WAITS_COND, cond, due_ns);
    const bool late = !self->woken;
    lock *it = (lock *)mutex;
    while (it->owner != 0)
        block(WAITS_LOCK, it, NEVER);
    it->owner = own_number();
    return late ? ETIMEDOUT : 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    if (!begun)
        return __real_pthread_cond_wait(cond, mutex);
    return wait_for(cond, mutex, NEVER);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    if (!begun)
        return __real_pthread_cond_timedwait(cond, mutex, until);
    uint64_t due_ns = (uint64_t)until->tv_sec * 1000000000u + (uint64_t)until->tv_nsec;
    due_ns -= due_ns >= DATE_NS / 2 ? date_ns() : 0; /* real-time or monotonic clock */
    return wait_for(cond, mutex, due_ns <= BEGIN_NS + now_ns ? now_ns : due_ns - BEGIN_NS);
}

static uint32_t wake(const pthread_cond_t *cond, bool all)
{
    uint32_t waiting[THREADS], count = 0;
    for (uint32_t i = 0; i < thread_count; i++)
        if (threads[i].state == WAITS_COND && threads[i].on == cond && !threads[i].woken)
            waiting[count++] = i;
    if (count == 0)
        return 0;
    if (!all)
        threads[waiting[count == 1 ? 0 : virtual_draw(count)]].woken = true;
    for (uint32_t i = 0; i < count && all; i++)
        threads[waiting[i]].woken = true;
    return count;
}

int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
    if (!begun)
        return __real_pthread_cond_signal(cond);
    (void)wake(cond, false);
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
    if (!begun)
        return __real_pthread_cond_broadcast(cond);
    (void)wake(cond, true);
    return 0;
}

/* ---- the system ------------------------------------------------------------------------------ */

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    if (!begun)
        return __real_poll(fds, count, timeout);
    const int ready = virtual_files_poll(fds, count);
    if (ready != 0 || timeout == 0)
        return ready;
    self->fds = fds;
    self->fd_count = count;
    block(WAITS_POLL, NULL, timeout < 0 ? NEVER : now_ns + (uint64_t)timeout * VIRTUAL_MS);
    return virtual_files_poll(fds, count);
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    if (!begun)
        return __real_nanosleep(time, left);
    virtual_sleep((uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec);
    return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!begun)
        return __real_clock_gettime(clock, time);
    const uint64_t then_ns = now_ns + BEGIN_NS + (clock == CLOCK_REALTIME ? date_ns() : 0);
    *time = (struct timespec){(time_t)(then_ns / 1000000000u), (long)(then_ns % 1000000000u)};
    return 0;
}

int __wrap_getentropy(void *place, size_t bytes)
{
    if (!begun)
        return __real_getentropy(place, bytes);
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)place)[i] = (unsigned char)next_random();
    return 0;
}
