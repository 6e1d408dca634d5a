/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real devices in virtual time: device 0 runs sh_train, the others sh_join, each with its threads,
 * on a simulated network. The seed determines devices, speeds, faults, and thread switches. In half
 * of the worlds device 0 may fail too, and others may replace it. Invariants:
 *
 *     end        the job is completed in time, if device 0 or one that could replace it is left
 *     hash       weights, samples and steps equal those of one device
 *     once       a device that coordinates reports each step once, in order
 *     bound      at most BOUND_S without a new step
 *     healthy    no device without a fault of its own or its links is expelled
 *     closed     a device that ends has closed all its channels
 *
 *     device_sim --first SEED --seeds N        one process per seed; prints violations
 *     device_sim --random --seeds N --jobs 2   begins with a random seed; two processes
 *     device_sim --first SEED --twice          runs each seed twice; courses must be equal
 *     device_sim --seeds N --until-wrong       ends at the first violation
 *     device_sim --first SEED --tell           prints thread switches
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

typedef struct machine {
    pthread_t thread;
    uint32_t device;
    uint64_t comes_ns;
    char name[SH_NAME_BYTES], run[32];
    sh_status status;
    sh_join_result result; /* not of device 0, which has `summary` */
    char message[256];
    uint64_t last_step, started_ns; /* started_ns: 0: it has not taken part */
    bool came, ended, touched, dead, leads, has_led;
} machine;

static uint64_t seed;
static float audit; /* per cent of the steps */
static uint64_t grain_ns[VIRTUAL_DEVICES];
static machine machines[JOINERS_MAX + 1];
static machine *const first = &machines[0];
static uint32_t joiner_count;
static char token[512], last_token[512];
static bool succeeds /* device 0 may fail */, first_full, restarted, down /* until it restarts */;
static uint64_t first_touched_ns; /* 0: never */
static sh_summary summary;
static uint64_t last_step, last_step_ns, longest_ns, led_ns; /* led_ns: a device began to lead */

/* ---- violations ------------------------------------------------------------------------------ */

void violated(const char *invariant, const char *format, ...)
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

/* Computing takes virtual time. */
sh_status __real_sh_execution_run(sh_execution *execution, sh_gradient_sink *sink, void *context);
sh_status __wrap_sh_execution_run(sh_execution *execution, sh_gradient_sink *sink, void *context);
sh_status __wrap_sh_execution_run(sh_execution *execution, sh_gradient_sink *sink, void *context)
{
    if (grain_ns[virtual_this_device()] > 0)
        virtual_sleep(grain_ns[virtual_this_device()]);
    return __real_sh_execution_run(execution, sink, context);
}

/* A device with a fault of its own may be wrong about others. */
static void note_loss(const machine *own, const char *text)
{
    for (uint32_t i = 1; i <= joiner_count && !(succeeds && own->touched); i++) {
        char words[128];
        snprintf(words, sizeof words, "device %s was lost", machines[i].name);
        if (strncmp(text, words, strlen(words)) == 0 && !machines[i].touched)
            violated("healthy", "%s says: %s", own->name, text);
    }
}

static void note_step(machine *own, uint64_t step)
{
    if (virtual_is_told)
        fprintf(stderr, "%12.6f %s has step %llu\n", (double)virtual_now_ns() / 1e9, own->name,
                (unsigned long long)step);
    if (step <= own->last_step && own->leads) /* others may go back to a common step */
        violated("once", "%s told step %llu after step %llu", own->name, (unsigned long long)step,
                 (unsigned long long)own->last_step);
    own->last_step = step;
    if (step <= last_step)
        return;
    if (last_step > 0 && virtual_now_ns() - last_step_ns > longest_ns)
        longest_ns = virtual_now_ns() - last_step_ns;
    last_step = step;
    last_step_ns = virtual_now_ns();
}

static void observe(void *context, const sh_event *event)
{
    machine *own = context;
    if (virtual_is_told && event->text != NULL)
        fprintf(stderr, "%12.6f %s: %s\n", (double)virtual_now_ns() / 1e9, own->name, event->text);
    switch (event->kind) {
    case SH_EVENT_TOKEN:
        snprintf(own == first && token[0] == '\0' ? token : last_token, sizeof token, "%s",
                 event->text);
        break;
    case SH_EVENT_STARTED:
        if (own->started_ns == 0)
            own->started_ns = virtual_now_ns();
        break;
    case SH_EVENT_NOTE:
        if (strstr(event->text, "this device replaces it") != NULL) {
            own->leads = own->has_led = true;
            led_ns = virtual_now_ns();
            own->last_step = 0; /* it may have made the next step before all halted */
        } else if (strstr(event->text, "trying to rejoin") != NULL) {
            own->leads = false;
        }
        note_loss(own, event->text);
        break;
    case SH_EVENT_STEP:
        note_step(own, event->total_step);
        break;
    default:
        break;
    }
}

/* Jobs by seed. All sizes and rates of a small one are a fortieth of a large one's, so that both
 * take the same virtual time. */
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
    options.context = first;
    first->status = sh_train(&options, &summary);
    snprintf(first->message, sizeof first->message, "%s",
             first->status == SH_OK ? "" : sh_message());
    first_full = virtual_disk_was_full();
    first->ended = true;
    return NULL;
}

static void *join(void *context)
{
    machine *own = context;
    own->status = sh_join(&(sh_join_options){.token = last_token[0] != '\0' && own->device % 2 == 0
                                                          ? last_token
                                                          : token,
                                             .lanes = "1",
                                             .name = own->name,
                                             .run = own->run,
                                             .reconnect_s = 60,
                                             .never_lead = !succeeds,
                                             .observer = observe,
                                             .context = own},
                          &own->result);
    snprintf(own->message, sizeof own->message, "%s", own->status == SH_OK ? "" : sh_message());
    own->ended = true;
    return NULL;
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* UNPLUG: no packet leaves or reaches the device. HANG: its step's thread, in one of four for good.
 * FULL and SLOW: device 0's disk takes nothing, or hangs. RESTART: device 0 is killed, and resumes
 * its run. */
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
    int64_t jump_ns;
    kind kind;
    uint32_t device, other;
    pthread_t thread;
    uint32_t held;
    network_link *link;
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

static network_link *link_between(uint32_t from, uint32_t to)
{
    return network_link_of(machines[from].device, machines[to].device);
}

static void start_thread(machine *own, void *(*main)(void *), void *argument)
{
    virtual_device(own->device);
    if (pthread_create(&own->thread, NULL, main, argument) != 0)
        abort();
    virtual_device(WORLD);
}

static void touch(machine *own)
{
    own->touched = true;
    if (own == first && first_touched_ns == 0)
        first_touched_ns = virtual_now_ns();
}

static void touch_all(void)
{
    for (uint32_t i = succeeds ? 0 : 1; i <= joiner_count; i++)
        touch(&machines[i]);
}

static void kill_first(void)
{
    restarted = down = true;
    touch(first);
    virtual_hold(first->device, true);
    network_reset(first->device, true);
    first->last_step = 0;
    last_step = succeeds ? last_step : 0;
    network_take_over(VIRTUAL_AGAIN, 0);
    first->device = VIRTUAL_AGAIN;
}

static void begin_fault(fault *it)
{
    machine *own = &machines[it->device];
    const bool can_restart = !first->ended && !first->dead && !restarted;
    it->begun = true;
    if (it->kind == FULL || it->kind == SLOW) {
        if (it->kind == SLOW) /* device 0 takes nothing from the others meanwhile */
            touch_all();
        virtual_disk(it->kind == FULL, it->kind == SLOW);
        return;
    }
    if (it->kind == RESTART) {
        it->over = !can_restart || access(RUN "/checkpoints/last.safetensors", F_OK) != 0;
        if (!it->over)
            kill_first();
        return;
    }
    it->over = it->kind == KILL || it->kind == UNPLUG || it->kind == RESET || it->kind == CLOCK;
    if (own->dead || !own->came || own->ended || (down && (own == first || it->other == 0))) {
        it->over = true;
        return;
    }
    if (it->kind != CLOCK)
        touch(own);
    if (virtual_is_told)
        fprintf(stderr, "%12.6f fault %d of device %u (other %u)\n", (double)virtual_now_ns() / 1e9,
                it->kind, it->device, it->other);
    switch (it->kind) {
    case KILL:
        own->dead = true;
        virtual_hold(own->device, true);
        network_reset(own->device, true);
        break;
    case UNPLUG:
        own->dead = true;
        virtual_hold(own->device, true);
        cut_off(own->device);
        break;
    case CLOCK:
        virtual_turn_clock(own->device, it->jump_ns);
        virtual_turn_clock(first->device, -it->jump_ns / 2);
        break;
    case FREEZE:
        it->held = own->device;
        virtual_hold(it->held, true);
        break;
    case HANG:
        it->thread = own->thread;
        virtual_hold_thread(own->thread, true);
        own->dead = it->over = it->for_good;
        break;
    case CUT:
        if (it->other != 0 || succeeds)
            touch(&machines[it->other]);
        it->link = link_between(it->device, it->other);
        it->link->cut = true;
        break;
    default:
        touch_all();
        network_reset(own->device, false);
    }
}

static void end_fault(fault *it)
{
    machine *own = &machines[it->device];
    it->over = true;
    if (it->kind == RESTART) {
        down = false;
        start_thread(first, train, (void *)RUN);
    }
    if (it->kind == FULL || it->kind == SLOW)
        virtual_disk(false, false);
    if (own->dead || (it->kind == CUT && machines[it->other].dead))
        return;
    if (it->kind == FREEZE && it->held == own->device) /* else that process was killed */
        virtual_hold(it->held, false);
    if (it->kind == HANG)
        virtual_hold_thread(it->thread, false);
    if (it->kind == CUT)
        it->link->cut = false;
}

static void draw_audit(void)
{
    static const float parts[] = {0, 0, 0, 0, 0, 0, 30, 100};
    const uint64_t drawn = virtual_draw(8);
    if (seed % STRATEGIES != 2 && !is_apart())
        audit = parts[drawn];
}

/* In one of eight worlds, a bit flips in a device's replica, once or for good, or in what it gives
 * to another; or, if all steps are audited, a device lies. Where device 0 may fail nothing flips:
 * a device with wrong weights could replace it before they are restored. */
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
    flips = virtual_draw(audit >= 100 ? 2 : 8) == 0 && seed % STRATEGIES != 2 && !is_apart() &&
            !succeeds;
    if (!flips)
        return;
    spoils = form == 2;
    setenv("SHOAL_TEST_FLIP", text, 1);
    machines[device].touched = true;
}

static void draw_world(void)
{
    const uint32_t scale = is_large() ? 1 : SCALE;
    network_draw_links(800000 / scale, (256 << 10) / scale);
    for (uint32_t i = 0; i < VIRTUAL_DEVICES; i++)
        grain_ns[i] = (5 + virtual_draw(80)) * VIRTUAL_MS;
    joiner_count = 1 + (uint32_t)virtual_draw(JOINERS_MAX);
    for (uint32_t i = 0; i <= joiner_count; i++) {
        machine *own = &machines[i];
        own->device = i;
        own->comes_ns = i == 0 ? 0 : virtual_draw(3000) * VIRTUAL_MS;
        snprintf(own->name, sizeof own->name, "d%u", i);
        snprintf(own->run, sizeof own->run, "run-d%u", i);
    }
    succeeds = seed / STRATEGIES / 3 % 2 == 1;
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
        if (succeeds && virtual_draw(2) == 0)
            faults[i].device = 0;
        do
            faults[i].other = (uint32_t)virtual_draw(joiner_count + 1);
        while (faults[i].other == faults[i].device);
    }
}

static void turn_world(void)
{
    const uint64_t now_ns = virtual_now_ns();
    for (uint32_t i = 1; i <= joiner_count; i++)
        if (!machines[i].came && now_ns >= machines[i].comes_ns && token[0] != '\0') {
            machines[i].came = true;
            start_thread(&machines[i], join, &machines[i]);
        }
    for (uint32_t i = 0; i < fault_count; i++) {
        if (!faults[i].begun && now_ns >= faults[i].at_ns)
            begin_fault(&faults[i]);
        if (faults[i].begun && !faults[i].over && now_ns >= faults[i].until_ns)
            end_fault(&faults[i]);
    }
}

static uint64_t until_turn_ns(void)
{
    const uint64_t now_ns = virtual_now_ns();
    uint64_t next_ns = now_ns + (token[0] == '\0' ? 10 : 200) * VIRTUAL_MS;
    for (uint32_t i = 1; i <= joiner_count; i++)
        if (!machines[i].came && machines[i].comes_ns > now_ns && machines[i].comes_ns < next_ns)
            next_ns = machines[i].comes_ns;
    for (uint32_t i = 0; i < fault_count; i++) {
        const uint64_t due_ns = faults[i].begun ? faults[i].until_ns : faults[i].at_ns;
        if (!faults[i].over && due_ns > now_ns && due_ns < next_ns)
            next_ns = due_ns;
    }
    return next_ns - now_ns;
}

static bool all_ended(void)
{
    bool all = true;
    for (uint32_t i = 0; i <= joiner_count; i++)
        all = all && (machines[i].ended || machines[i].dead || !machines[i].came);
    return all;
}

/* ---- judgement ------------------------------------------------------------------------------- */

#define KNOWN_NS (2 * SECOND) /* until a device is known to be able to replace device 0 */

/* NULL: the device does not have all steps. */
static const char *final_hash(const machine *own)
{
    if (!own->ended)
        return NULL;
    if (own == first && is_apart() && succeeds && own->touched)
        return NULL; /* others may have completed the job before, unknown to it */
    if (own == first)
        return own->status == SH_OK && summary.weights_hash[0] != '\0' ? summary.weights_hash
                                                                       : NULL;
    return own->result.took_part && (own->result.complete || !succeeds) ? own->result.weights_hash
                                                                        : NULL;
}

static bool any_said(const char *text)
{
    bool said = false;
    for (uint32_t i = 0; i <= joiner_count; i++)
        said = said || (machines[i].ended && strstr(machines[i].message, text) != NULL);
    return said;
}

/* Whether a device without faults has taken part long enough to replace device 0. */
static bool has_replacement(void)
{
    bool has = false;
    for (uint32_t i = 1; i <= joiner_count && !is_apart(); i++)
        has = has || (!machines[i].touched && machines[i].started_ns > 0 &&
                      machines[i].started_ns + KNOWN_NS < first_touched_ns);
    return has;
}

/* Whether the job had just ended, or nobody coordinated it. */
static bool may_find_no_job(const machine *own)
{
    const bool lost = own->status == SH_PEER_LOST;
    /* A successor has failed too, or completed the job before it was found. */
    bool successor = led_ns > 0 && last_step_ns - led_ns < KNOWN_NS;
    for (uint32_t i = 1; i <= joiner_count; i++)
        successor = successor || (machines[i].has_led && machines[i].touched);
    return own->status == SH_NETWORK || (restarted && lost) ||
           (succeeds && first->touched && (own->started_ns == 0 || (successor && lost)));
}

static void judge(const sh_summary *alone)
{
    const char *hash = NULL;
    if (flips && any_said("no majority shows"))
        return; /* nobody can know which is right */
    if (first_full && first->status != SH_OK && strstr(first->message, strerror(ENOSPC)) != NULL)
        return; /* nothing could be saved */
    if (first->status != SH_OK && !(succeeds && first->touched))
        violated("end", "device 0: %s", first->message);
    for (uint32_t i = 0; i <= joiner_count && hash == NULL; i++)
        hash = final_hash(&machines[i]);
    if (hash == NULL && !has_replacement())
        return;
    if (hash == NULL)
        violated("end", "no device has completed the job: device 0: %s", first->message);
    for (uint32_t i = 1; i <= joiner_count; i++)
        if (machines[i].came && !machines[i].touched && machines[i].status != SH_OK &&
            !may_find_no_job(&machines[i]))
            violated("end", "%s: %s", machines[i].name, machines[i].message);
    /* A replica that is spoiled just before the end is compared with no other. Devices that train
     * apart may have continued in two halves. */
    const bool halves = is_apart() && succeeds && first->touched;
    for (uint32_t i = 1; i <= joiner_count && !spoils && !halves; i++)
        if (final_hash(&machines[i]) != NULL && strcmp(final_hash(&machines[i]), hash) != 0)
            violated("hash", "%s has the weights %.16s, another device %.16s", machines[i].name,
                     final_hash(&machines[i]), hash);
    if (!is_apart() && strcmp(hash, alone->weights_hash) != 0)
        violated("hash", "the weights are %.16s, those of one device alone %.16s", hash,
                 alone->weights_hash);
    if (final_hash(first) != NULL && summary.steps != alone->steps)
        violated("hash", "%llu steps, alone %llu", (unsigned long long)summary.steps,
                 (unsigned long long)alone->steps);
    if (!restarted && !(succeeds && first->touched) && summary.samples != alone->samples)
        violated("hash", "%llu samples, alone %llu", (unsigned long long)summary.samples,
                 (unsigned long long)alone->samples);
    if (longest_ns > BOUND_S * SECOND)
        violated("bound", "%.1f s without a step", (double)longest_ns / 1e9);
}

/* The results of one device alone, by job. The parent process computes them before it forks, so
 * that its children also inherit what a process initialises once. */
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

/* Ends the process. Writes the course's hash to the file `result`. */
static void run_seed(const sh_summary *alone, int result)
{
    virtual_begin(seed);
    draw_world();
    first->came = first->leads = true;
    start_thread(first, train, NULL);
    while (!all_ended()) {
        turn_world();
        virtual_sleep(until_turn_ns());
        if (virtual_now_ns() > END_S * SECOND && succeeds && first->touched && !has_replacement())
            break; /* all wait for a device whose thread hangs */
        if (virtual_now_ns() > END_S * SECOND)
            violated("end", "after %d s: device 0 %s, step %llu", END_S,
                     first->ended ? "has ended" : "has not ended", (unsigned long long)last_step);
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

/* The folder is in memory if possible. The path is owned. */
static char *enter_folder(void)
{
    char memory[] = "/dev/shm/device_sim.XXXXXX", disk[] = "/tmp/device_sim.XXXXXX";
    const char *folder = mkdtemp(memory) != NULL ? memory : mkdtemp(disk);
    if (folder == NULL || chdir(folder) != 0)
        abort();
    setenv("XDG_CACHE_HOME", folder, 1);
    return strdup(folder);
}

/* Uses one processor, because threads hand over to each other faster there. */
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
    uint64_t from = 1, count = 1, jobs = 1, wrong = 0;
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
            from = (uint64_t)began.tv_sec * 1000;
        else if (strcmp(argv[i], "--first") == 0)
            from = strtoull(value, NULL, 10), i++;
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
                run_seeds(from + k, from + count, (uint32_t)jobs, twice, until_wrong);
            _exit(found > 99 ? 99 : (int)found);
        }
    for (int status; wait(&status) > 0;)
        wrong += WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 1;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    const double seconds =
        (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) * 1e-9;
    printf("device_sim: seeds %llu to %llu, %llu wrong, %.1f a second\n", (unsigned long long)from,
           (unsigned long long)(from + count - 1), (unsigned long long)wrong,
           (double)count / seconds);
    return wrong > 0;
}
