/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real devices in virtual time: device 0 runs sh_train, the others sh_join, each with its threads,
 * on a simulated network (virtual_network.h). The seed determines the strategy, the number of
 * devices, when they join, the speed of devices and links, faults, and thread switches. Invariants:
 *
 *     end        the job ends in time
 *     hash       weights, samples and steps equal those of one device
 *     once       each step is reported once, in order
 *     bound      at most BOUND_S without a step
 *     healthy    no device without a fault of its own or its links is expelled
 *
 *     device_sim --first SEED --seeds N        one process per seed; prints violations
 *     device_sim --random --seeds N --jobs 2   begins with a random seed; two processes
 *     device_sim --first SEED --twice          runs each seed twice; courses must be equal
 *     device_sim --seeds N --until-wrong       ends at the first violation
 *     device_sim --first SEED --tell           prints thread switches on standard error
 */
#define _GNU_SOURCE /* nftw, sched_setaffinity */
#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/program.h"
#include "base/fail.h"
#include "shoal/shoal.h"
#include "train/replica_sender.h"
#include "train/sum_layout.h"
#include "train/transfer.h"
#include "virtual_network.h"

#define JOINERS_MAX 5
#define FAULTS_MAX 4
#define STEPS 30
#define BOUND_S 20
#define RUN "run"
#define WORLD (VIRTUAL_DEVICES - 1) /* the device of the first thread */
#define END_S 600
#define SECOND (1000 * VIRTUAL_MS)

typedef struct joiner {
    pthread_t thread;
    uint64_t comes_ns;
    char name[SH_NAME_BYTES];
    sh_status status;
    sh_join_result result;
    char message[256];
    bool came, ended, touched, dead;
} joiner;

static uint64_t seed;
static float audit; /* per cent of the shares */
static uint64_t grain_ns[VIRTUAL_DEVICES];
static joiner joiners[JOINERS_MAX + 1]; /* by device, from 1 */
static uint32_t joiner_count;
static char token[512];
static pthread_t first_thread;
static bool first_ended, first_full, restarted;
static sh_status first_status;
static char first_message[256];
static sh_summary summary;
static uint64_t last_step, last_step_ns, longest_ns;

/* ---- violations ------------------------------------------------------------------------------ */

static void violated(const char *invariant, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("seed %llu: %s: ", (unsigned long long)seed, invariant);
    vprintf(format, list);
    va_end(list);
    printf("\nrun it again: device_sim --first %llu --seeds 1\n", (unsigned long long)seed);
    fflush(stdout);
    if (virtual_is_told)
        virtual_tell();
    _exit(1);
}

/* ---- devices --------------------------------------------------------------------------------- */

/* Computing takes virtual time, depending on the device. */
sh_status __real_sh_execution_run(sh_execution *execution, sh_gradient_sink *sink, void *context);
sh_status __wrap_sh_execution_run(sh_execution *execution, sh_gradient_sink *sink, void *context);
sh_status __wrap_sh_execution_run(sh_execution *execution, sh_gradient_sink *sink, void *context)
{
    if (grain_ns[virtual_this_device()] > 0)
        virtual_sleep(grain_ns[virtual_this_device()]);
    return __real_sh_execution_run(execution, sink, context);
}

static void note_loss(const char *text)
{
    for (uint32_t i = 1; i <= joiner_count; i++) {
        char words[128];
        snprintf(words, sizeof words, "device %s was lost", joiners[i].name);
        if (strncmp(text, words, strlen(words)) == 0 && !joiners[i].touched)
            violated("healthy", "%s", text);
    }
}

static void observe(void *context, const sh_event *event)
{
    (void)context;
    if (virtual_is_told && event->text != NULL)
        fprintf(stderr, "%12.6f event: %s\n", (double)virtual_now_ns() / 1e9, event->text);
    if (event->kind == SH_EVENT_TOKEN)
        snprintf(token, sizeof token, "%s", event->text);
    if (event->kind == SH_EVENT_NOTE)
        note_loss(event->text);
    if (event->kind != SH_EVENT_STEP)
        return;
    if (event->total_step <= last_step)
        violated("once", "step %llu was told after step %llu",
                 (unsigned long long)event->total_step, (unsigned long long)last_step);
    if (last_step > 0 && virtual_now_ns() - last_step_ns > longest_ns)
        longest_ns = virtual_now_ns() - last_step_ns;
    last_step = event->total_step;
    last_step_ns = virtual_now_ns();
}

/* Jobs by seed. In a small one the model, buckets, pieces of a replica, rates and windows are a
 * fortieth of what they are in a large one, so that both take the same virtual time. */
#define STRATEGIES 6
#define JOBS (2 * STRATEGIES)

static bool is_large(void)
{
    return seed / STRATEGIES % 32 == 0;
}

#define SCALE 40

sh_status __real_sh_layout_init(sh_sum_layout *layout, const sh_sum_options *options);
sh_status __wrap_sh_layout_init(sh_sum_layout *layout, const sh_sum_options *options);
sh_status __wrap_sh_layout_init(sh_sum_layout *layout, const sh_sum_options *options)
{
    sh_sum_options scaled = *options;
    scaled.bucket_bytes /= is_large() ? 1 : SCALE;
    return __real_sh_layout_init(layout, &scaled);
}

sh_status __real_sh_chunks_init(sh_chunks *chunks, const sh_replica *replica, uint32_t most);
sh_status __wrap_sh_chunks_init(sh_chunks *chunks, const sh_replica *replica, uint32_t most);
sh_status __wrap_sh_chunks_init(sh_chunks *chunks, const sh_replica *replica, uint32_t most)
{
    return __real_sh_chunks_init(chunks, replica, is_large() ? most : SH_CHUNK_ELEMENTS / SCALE);
}

sh_status __real_sh_replica_sender_new(sh_replica_sender **sender,
                                       const sh_replica_sender_options *options);
sh_status __wrap_sh_replica_sender_new(sh_replica_sender **sender,
                                       const sh_replica_sender_options *options);
sh_status __wrap_sh_replica_sender_new(sh_replica_sender **sender,
                                       const sh_replica_sender_options *options)
{
    sh_replica_sender_options scaled = *options;
    scaled.window_bytes = is_large() ? 0 : SH_REPLICA_SENDER_WINDOW_BYTES / SCALE;
    return __real_sh_replica_sender_new(sender, &scaled);
}

static uint32_t job_number(void)
{
    return (uint32_t)(seed % STRATEGIES) + (is_large() ? STRATEGIES : 0);
}

/* Each device trains by itself, so that the weights depend on the course. */
static bool is_apart(void)
{
    return seed % STRATEGIES == 5;
}

static void fill(sh_train_options *options)
{
    static const char *const strategies[STRATEGIES] = {"sync", "ps-sync", "local:4",
                                                       "sync", "ps-sync", "ps-async"};
    sh_train_options_init(options);
    snprintf(options->job.model, sizeof options->job.model, is_large() ? "mlp:h128" : "mlp:h32");
    snprintf(options->job.data, sizeof options->job.data,
             is_large() ? "noise:1x28x28/10/96/12" : "noise:1x8x8/10/96/12");
    snprintf(options->job.strategy, sizeof options->job.strategy, "%s",
             strategies[seed % STRATEGIES]);
    options->job.batch_size = 16;
    options->job.grain = seed % STRATEGIES == 2 ? 0 : 4;
    options->job.steps = STEPS;
    options->job.epochs = 0;
    options->lanes = "1";
}

/* `context`: NULL, or the run to resume. */
static void *train(void *context)
{
    sh_train_options options;
    fill(&options);
    options.listen = "10.0.0.1:0";
    options.devices_used = seed / STRATEGIES % 5 == 4 ? "auto" : "all";
    options.audit = audit;
    options.run = context == NULL ? RUN : NULL;
    options.resume = context;
    options.observer = observe;
    first_status = sh_train(&options, &summary);
    snprintf(first_message, sizeof first_message, "%s", first_status == SH_OK ? "" : sh_message());
    first_full = virtual_disk_was_full();
    first_ended = true;
    return NULL;
}

static void tell(void *context, const sh_event *event)
{
    const joiner *own = context;
    if (virtual_is_told && event->text != NULL)
        fprintf(stderr, "%12.6f %s hears: %s\n", (double)virtual_now_ns() / 1e9, own->name,
                event->text);
}

static void *join(void *context)
{
    joiner *own = context;
    own->status = sh_join(&(sh_join_options){.token = token,
                                             .lanes = "1",
                                             .name = own->name,
                                             .reconnect_s = 60,
                                             .never_lead = true,
                                             .observer = tell,
                                             .context = own},
                          &own->result);
    snprintf(own->message, sizeof own->message, "%s", own->status == SH_OK ? "" : sh_message());
    own->ended = true;
    return NULL;
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* KILL: its connections end. UNPLUG: no packet leaves or reaches it. HANG: its step's thread, in
 * one of four for good. CLOCK: its wall clock jumps. FULL and SLOW: device 0's disk takes nothing,
 * or hangs. RESTART: device 0 is killed, and resumes its run. */
typedef enum kind {
    KILL,
    UNPLUG,
    FREEZE,
    HANG,
    CUT,
    RESET,
    CLOCK,
    FULL,
    SLOW,
    RESTART,
    KINDS
} kind;

typedef struct fault {
    uint64_t at_ns, until_ns;
    int64_t jump_ns; /* of a clock */
    kind kind;
    uint32_t device, other;
    bool for_good, begun, over;
} fault;

static bool flips, spoils; /* a bit flips; in what a device gives */
static fault faults[FAULTS_MAX];
static uint32_t fault_count;

static void cut_off(uint32_t device)
{
    for (uint32_t i = 0; i < VIRTUAL_DEVICES; i++)
        network_link_of(device, i)->cut = network_link_of(i, device)->cut = true;
}

static void start_thread(pthread_t *thread, uint32_t device, void *(*main)(void *), void *argument)
{
    virtual_device(device);
    if (pthread_create(thread, NULL, main, argument) != 0)
        abort();
    virtual_device(WORLD);
}

static void kill_first(void)
{
    restarted = true;
    virtual_hold(0, true);
    network_reset(0, true);
    last_step = 0; /* it goes on from its checkpoint */
    network_take_over(VIRTUAL_AGAIN, 0);
}

static void begin_fault(fault *it)
{
    joiner *own = &joiners[it->device];
    it->begun = true;
    if (it->kind == FULL || it->kind == SLOW) {
        for (uint32_t i = 1; i <= joiner_count && it->kind == SLOW; i++)
            joiners[i].touched = true; /* device 0 takes nothing from them meanwhile */
        virtual_disk(it->kind == FULL, it->kind == SLOW);
        return;
    }
    if (it->kind == RESTART) {
        it->over =
            restarted || first_ended || access(RUN "/checkpoints/last.safetensors", F_OK) != 0;
        if (!it->over)
            kill_first();
        return;
    }
    it->over = it->kind == KILL || it->kind == UNPLUG || it->kind == RESET || it->kind == CLOCK;
    if (own->dead || !own->came || own->ended) {
        it->over = true;
        return;
    }
    own->touched = own->touched || it->kind != CLOCK;
    if (virtual_is_told)
        fprintf(stderr, "%12.6f fault %d of device %u (other %u)\n", (double)virtual_now_ns() / 1e9,
                it->kind, it->device, it->other);
    switch (it->kind) {
    case KILL:
        own->dead = true;
        virtual_hold(it->device, true);
        network_reset(it->device, true);
        break;
    case UNPLUG:
        own->dead = true;
        virtual_hold(it->device, true);
        cut_off(it->device);
        break;
    case CLOCK:
        virtual_turn_clock(it->device, it->jump_ns);
        virtual_turn_clock(0, -it->jump_ns / 2);
        break;
    case FREEZE:
        virtual_hold(it->device, true);
        break;
    case HANG:
        virtual_hold_thread(own->thread, true);
        own->dead = it->over = it->for_good;
        break;
    case CUT:
        joiners[it->other].touched = true;
        network_link_of(it->device, it->other)->cut = true;
        break;
    default:
        for (uint32_t i = 1; i <= joiner_count; i++)
            joiners[i].touched = true; /* the other ends */
        network_reset(it->device, false);
    }
}

static void end_fault(fault *it)
{
    it->over = true;
    if (it->kind == RESTART)
        start_thread(&first_thread, VIRTUAL_AGAIN, train, (void *)RUN);
    if (it->kind == FULL || it->kind == SLOW)
        virtual_disk(false, false);
    if (joiners[it->device].dead || (it->kind == CUT && joiners[it->other].dead))
        return;
    if (it->kind == FREEZE)
        virtual_hold(it->device, false);
    if (it->kind == HANG)
        virtual_hold_thread(joiners[it->device].thread, false);
    if (it->kind == CUT)
        network_link_of(it->device, it->other)->cut = false;
}

/* In one of four worlds in which devices train together, shares are audited. */
static void draw_audit(void)
{
    static const float parts[] = {0, 0, 0, 0, 0, 0, 30, 100};
    const uint64_t drawn = virtual_draw(8);
    if (seed % STRATEGIES != 2 && !is_apart())
        audit = parts[drawn];
}

/* In one of eight worlds, a bit flips in a device's replica, once or for good, or in what it gives
 * to another; or, if all shares are audited, a device lies. Devices that train apart compare only
 * what they have together. */
static void draw_flip(void)
{
    const uint64_t form = virtual_draw(audit >= 100 ? 6 : 3);
    const uint32_t device = 1 + (uint32_t)virtual_draw(joiner_count);
    const unsigned steps = (unsigned)virtual_draw(STEPS);
    char text[32];
    if (form == 2)
        snprintf(text, sizeof text, "d%u@gift", device);
    else if (form > 2)
        snprintf(text, sizeof text, "d%u@lie/%u", device, 1 + steps % 4);
    else
        snprintf(text, sizeof text, "d%u@%u%s", device, steps, form == 1 ? "+" : "");
    flips = virtual_draw(audit >= 100 ? 2 : 8) == 0 && seed % STRATEGIES != 2 && !is_apart();
    if (!flips)
        return;
    spoils = form == 2;
    setenv("SHOAL_TEST_FLIP", text, 1);
    joiners[device].touched = true;
}

static void draw_world(void)
{
    const uint32_t scale = is_large() ? 1 : SCALE;
    network_draw_links(800000 / scale, (256 << 10) / scale);
    for (uint32_t i = 0; i < VIRTUAL_DEVICES; i++)
        grain_ns[i] = (5 + virtual_draw(80)) * VIRTUAL_MS;
    joiner_count = 1 + (uint32_t)virtual_draw(JOINERS_MAX);
    for (uint32_t i = 1; i <= joiner_count; i++) {
        joiners[i].comes_ns = virtual_draw(3000) * VIRTUAL_MS;
        snprintf(joiners[i].name, sizeof joiners[i].name, "d%u", i);
    }
    draw_audit();
    draw_flip();
    fault_count = (uint32_t)virtual_draw(FAULTS_MAX + 1);
    for (uint32_t i = 0; i < fault_count; i++) {
        faults[i] = (fault){.at_ns = virtual_draw(6000) * VIRTUAL_MS,
                            .kind = (kind)virtual_draw(KINDS),
                            .jump_ns = ((int64_t)virtual_draw(172800) - 86400) * (int64_t)SECOND,
                            .device = 1 + (uint32_t)virtual_draw(joiner_count)};
        faults[i].for_good = virtual_draw(4) == 0;
        faults[i].until_ns = faults[i].at_ns + (50 + virtual_draw(9000)) * VIRTUAL_MS;
        do
            faults[i].other = (uint32_t)virtual_draw(joiner_count + 1);
        while (faults[i].other == faults[i].device);
    }
}

/* Executes what is due. */
static void turn_world(void)
{
    const uint64_t now_ns = virtual_now_ns();
    for (uint32_t i = 1; i <= joiner_count; i++)
        if (!joiners[i].came && now_ns >= joiners[i].comes_ns && token[0] != '\0') {
            joiners[i].came = true;
            start_thread(&joiners[i].thread, i, join, &joiners[i]);
        }
    for (uint32_t i = 0; i < fault_count; i++) {
        if (!faults[i].begun && now_ns >= faults[i].at_ns)
            begin_fault(&faults[i]);
        if (faults[i].begun && !faults[i].over && now_ns >= faults[i].until_ns)
            end_fault(&faults[i]);
    }
}

/* The time until something is due, or until the end of the job should be looked for. */
static uint64_t until_turn_ns(void)
{
    const uint64_t now_ns = virtual_now_ns();
    uint64_t next_ns = now_ns + (token[0] == '\0' ? 10 : 200) * VIRTUAL_MS;
    for (uint32_t i = 1; i <= joiner_count; i++)
        if (!joiners[i].came && joiners[i].comes_ns > now_ns && joiners[i].comes_ns < next_ns)
            next_ns = joiners[i].comes_ns;
    for (uint32_t i = 0; i < fault_count; i++) {
        const uint64_t due_ns = faults[i].begun ? faults[i].until_ns : faults[i].at_ns;
        if (!faults[i].over && due_ns > now_ns && due_ns < next_ns)
            next_ns = due_ns;
    }
    return next_ns - now_ns;
}

static bool all_ended(void)
{
    bool all = first_ended;
    for (uint32_t i = 1; i <= joiner_count; i++)
        all = all && (joiners[i].ended || joiners[i].dead || !joiners[i].came);
    return all;
}

static void judge(const sh_summary *alone)
{
    if (flips && first_status != SH_OK && strstr(first_message, "no majority shows") != NULL)
        return; /* nobody can know which is right */
    if (first_full && first_status != SH_OK && strstr(first_message, strerror(ENOSPC)) != NULL)
        return; /* nothing could be saved */
    if (first_status != SH_OK)
        violated("end", "device 0: %s", first_message);
    for (uint32_t i = 1; i <= joiner_count; i++)
        if (joiners[i].came && !joiners[i].touched && joiners[i].status != SH_OK &&
            joiners[i].status != SH_NETWORK && /* it came when the job had just ended */
            !(restarted && joiners[i].status == SH_PEER_LOST)) /* or came back then */
            violated("end", "%s: %s", joiners[i].name, joiners[i].message);
    /* A replica that is spoiled just before the end is compared with no other. */
    for (uint32_t i = 1; i <= joiner_count && !spoils; i++)
        if (joiners[i].ended && joiners[i].result.took_part &&
            strcmp(joiners[i].result.weights_hash, summary.weights_hash) != 0)
            violated("hash", "%s has the weights %.16s, device 0 %.16s", joiners[i].name,
                     joiners[i].result.weights_hash, summary.weights_hash);
    if (!is_apart() && strcmp(summary.weights_hash, alone->weights_hash) != 0)
        violated("hash", "the weights are %.16s, those of one device alone %.16s",
                 summary.weights_hash, alone->weights_hash);
    if (summary.steps != alone->steps || (!restarted && summary.samples != alone->samples))
        violated("hash", "%llu steps of %llu samples, alone %llu of %llu",
                 (unsigned long long)summary.steps, (unsigned long long)summary.samples,
                 (unsigned long long)alone->steps, (unsigned long long)alone->samples);
    if (longest_ns > BOUND_S * SECOND)
        violated("bound", "%.1f s without a step", (double)longest_ns / 1e9);
}

/* What one device makes of each job. It is computed once, in virtual_begin's process, so that it
 * also makes ready what a process makes once. */
static sh_summary alone_of[JOBS];

static const sh_summary *run_alone(void)
{
    sh_summary *alone = &alone_of[job_number()];
    sh_train_options options;
    fill(&options);
    options.run = "alone";
    if (alone->weights_hash[0] == '\0' && sh_train(&options, alone) != SH_OK) {
        printf("seed %llu: alone: %s\n", (unsigned long long)seed, sh_message());
        fflush(stdout);
        _exit(1);
    }
    return alone;
}

/* Runs a seed in its own process. Writes the course's hash to `result`. */
static void run_seed(const sh_summary *alone, int result)
{
    virtual_begin(seed);
    draw_world();
    start_thread(&first_thread, 0, train, NULL);
    while (!all_ended()) {
        turn_world();
        virtual_sleep(until_turn_ns());
        if (virtual_now_ns() > END_S * SECOND)
            violated("end", "after %d s: device 0 %s, step %llu", END_S,
                     first_ended ? "has ended" : "has not ended", (unsigned long long)last_step);
    }
    judge(alone);
    const uint64_t hash = virtual_trace_hash();
    if (write(result, &hash, sizeof hash) != sizeof hash)
        abort();
    fflush(stdout);
    _exit(0);
}

static int remove_entry(const char *path, const struct stat *stat, int flag, struct FTW *at)
{
    (void)stat;
    (void)flag;
    return at->level == 0 ? 0 : remove(path);
}

static void clear_folder(void)
{
    if (nftw(".", remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
        fprintf(stderr, "device_sim: a seed's files could not be removed\n");
}

static bool fork_seed(uint64_t *hash)
{
    int ends[2], status;
    const sh_summary *alone = run_alone();
    if (pipe(ends) != 0)
        abort();
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        alarm(120);
        run_seed(alone, ends[1]);
    }
    close(ends[1]);
    *hash = 0;
    const ssize_t got = read(ends[0], hash, sizeof *hash);
    (void)got;
    close(ends[0]);
    waitpid(child, &status, 0);
    clear_folder();
    if (WIFSIGNALED(status))
        printf("seed %llu: it ended by signal %d\n", (unsigned long long)seed, WTERMSIG(status));
    else if (WEXITSTATUS(status) == 3)
        printf("seed %llu: end: deadlock\n", (unsigned long long)seed);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Goes to a new folder, in memory if possible; returns its path, owned by the caller. */
static char *enter_folder(void)
{
    char memory[] = "/dev/shm/device_sim.XXXXXX", disk[] = "/tmp/device_sim.XXXXXX";
    const char *folder = mkdtemp(memory) != NULL ? memory : mkdtemp(disk);
    if (folder == NULL || chdir(folder) != 0)
        abort();
    setenv("XDG_CACHE_HOME", folder, 1);
    return strdup(folder);
}

/* Runs every `stride`th seed; returns the number of violations. Uses one processor, because threads
 * hand over to each other faster there. */
static uint64_t run_seeds(uint64_t from, uint64_t end, uint32_t stride, bool twice,
                          bool until_wrong)
{
    uint64_t wrong = 0;
    char *folder = enter_folder();
    for (seed = from; seed < end && (wrong == 0 || !until_wrong); seed += stride) {
        uint64_t hash, again;
        if (!fork_seed(&hash)) {
            wrong++;
        } else if (twice && (!fork_seed(&again) || hash != again)) {
            printf("seed %llu: its course is not the same each time\n", (unsigned long long)seed);
            wrong++;
        }
        fflush(stdout);
    }
    if (rmdir(folder) != 0)
        fprintf(stderr, "device_sim: %s could not be removed\n", folder);
    free(folder);
    return wrong;
}

static void pin(uint32_t number)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    size_t skip = number % (size_t)CPU_COUNT(&all);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && skip-- == 0) {
            CPU_SET(cpu, &one);
            (void)sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

int main(int argc, char **argv)
{
    uint64_t first = 1, count = 1, jobs = 1, wrong = 0;
    bool twice = false, until_wrong = false;
    struct timespec began, ended;
    clock_gettime(CLOCK_REALTIME, &began);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "1";
        if (strcmp(argv[i], "--twice") == 0)
            twice = true;
        else if (strcmp(argv[i], "--until-wrong") == 0)
            until_wrong = true;
        else if (strcmp(argv[i], "--tell") == 0)
            virtual_is_told = true;
        else if (strcmp(argv[i], "--random") == 0)
            first = (uint64_t)began.tv_sec * 1000;
        else if (strcmp(argv[i], "--first") == 0)
            first = strtoull(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--seeds") == 0)
            count = strtoull(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--jobs") == 0)
            jobs = strtoull(value, NULL, 10), i++;
        else
            return fprintf(stderr,
                           "usage: device_sim [--first SEED | --random] [--seeds N] [--jobs N] "
                           "[--twice] [--until-wrong] [--tell]\n"),
                   2;
    }
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (uint32_t k = 0; k < jobs; k++)
        if (fork() == 0) {
            pin(k);
            const uint64_t found =
                run_seeds(first + k, first + count, (uint32_t)jobs, twice, until_wrong);
            _exit(found > 99 ? 99 : (int)found);
        }
    for (int status; wait(&status) > 0;)
        wrong += WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 1;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    const double seconds =
        (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) * 1e-9;
    printf("device_sim: seeds %llu to %llu, %llu wrong, %.1f a second\n", (unsigned long long)first,
           (unsigned long long)(first + count - 1), (unsigned long long)wrong,
           (double)count / seconds);
    return wrong > 0;
}
