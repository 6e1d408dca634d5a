/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks that mpirun or srun started all do the same in the same order, without a coordinator.
 * Only rank 0 has the run's folder and reports. A rank with a failure that the others do not see
 * *parts*; when its process ends, the launcher ends the others.
 *
 * To exchange texts through the engine, which can only add, each rank fills its own place in a
 * block, and the others are zero.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/job/device_group.h"
#include "node/job/watchdog.h"
#include "reduce/mpi.h"
#include "shoal/launch.h"
#include "train/job_json.h"
#include "train/strategy.h"

#define NAMED_MOST 8
/* A launcher kills a rank soon after it asks it to end: mpirun of Open MPI 4 after 1 s, of Open MPI
 * 5 (PRTE) after 250 ms, and then it does not answer MPI's farewell. These are the times for the
 * step's end and for the farewell; the rest is for the checkpoint. */
#define PATIENCE_MS 300
#define FAREWELL_MS 200
#define PRTE_PATIENCE_MS 120
#define PRTE_FAREWELL_MS 20
/* The wait of other ranks after a request to end: mpirun ends all ranks when one ends, but rank 0
 * must save and report. */
#define LINGER_MS 5000

typedef struct sh_ranks {
    sh_device_group group;
    bool began;
    sh_status ended;
    atomic_bool parted; /* this rank parted, or the others were lost */
} sh_ranks;

/* ---- options --------------------------------------------------------------------------------- */

static bool fits(const sh_train_options *options)
{
    return options->engine != NULL && strcmp(options->engine, "mpi") == 0;
}

static uint32_t count_devices(const sh_train_options *options)
{
    sh_launch launch;
    (void)options;
    return sh_launch_read(&launch) ? launch.ranks : 1;
}

static sh_status check(const sh_train_options *options)
{
    sh_strategy strategy;
    SH_TRY(sh_strategy_parse(&strategy, options->job.strategy));
    const struct {
        bool given;
        const char *option, *reason;
    } strangers[] = {
        {options->listen != NULL, "--listen", "ranks cannot be joined"},
        {options->devices != 0, "--devices", "mpirun -n starts the devices"},
        {options->min_devices != 0, "--min-devices", "mpirun -n starts the devices"},
        {options->devices_used != NULL, "--devices-used", "all ranks compute"},
        {options->audit > 0, "--audit", "there is no coordinator that compares"},
        {strategy.row->mpi_reason != NULL, strategy.row->mpi_option, strategy.row->mpi_reason},
        {options->servers != NULL, "--servers", "its collectives need no server"},
    };
    sh_launch launch;
    if (!sh_mpi_is_built())
        return sh_fail(SH_UNSUPPORTED, "--engine mpi: this build has no MPI; install Open MPI "
                                       "(libopenmpi-dev, openmpi-bin) and build again");
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (strangers[i].given)
            return sh_fail(SH_INVALID,
                           "--engine mpi with %s: %s; leave %s out, or use --engine "
                           "ring",
                           strangers[i].option, strangers[i].reason, strangers[i].option);
    if (!sh_launch_read(&launch))
        return sh_fail(SH_INVALID, "--engine mpi: no launcher has started this; write mpirun -n N "
                                   "shoal train ..., or leave --engine out");
    return SH_OK;
}

/* ---- exchange between ranks ------------------------------------------------------------------ */

/* Parts with this failure. Any thread. */
static void part(sh_ranks *ranks, sh_status status, const char *reason)
{
    atomic_store(&ranks->parted, true);
    sh_engine_abort(ranks->group.engine, status, reason);
}

/* Collects `bytes` (a multiple of 8) of each rank. `*all` is owned, by rank. */
static sh_status gather(sh_ranks *ranks, void **all, const void *mine, size_t bytes)
{
    sh_engine *engine = ranks->group.engine;
    const uint32_t devices = engine->devices;
    const size_t total = bytes * devices;
    sh_status status;
    unsigned char *fresh = calloc(1, total);
    unsigned char *own = devices == 1 ? fresh : calloc(1, total);
    if (fresh == NULL || own == NULL)
        SH_TRY_DONE(sh_fail_memory(total, "the ranks' reports"));
    memcpy(own + ranks->group.rank * bytes, mine, bytes);
    const sh_span span = {
        .own = own, .total = fresh, .count = total / sizeof(uint64_t), .word = SH_WORD_U64};
    status = sh_engine_begin(engine, &span, 1);
    if (status == SH_OK) {
        sh_engine_ready(engine, 0);
        status = sh_engine_wait(engine);
    }
    if (status != SH_OK)
        part(ranks, status, sh_message());
done:
    if (own != fresh)
        free(own);
    if (status != SH_OK) {
        free(fresh);
        return status;
    }
    *all = fresh;
    return SH_OK;
}

typedef struct verdict {
    uint64_t status;
    char message[SH_MESSAGE_BYTES];
} verdict;

static sh_status agree(sh_device_group *group, sh_status status)
{
    sh_ranks *ranks = (sh_ranks *)group;
    verdict mine = {.status = (uint64_t)status}, *all;
    if (status != SH_OK)
        snprintf(mine.message, sizeof mine.message, "%s", sh_message());
    SH_TRY(gather(ranks, (void **)&all, &mine, sizeof mine));
    sh_status united = SH_OK;
    for (uint32_t r = 0; r < ranks->group.engine->devices && united == SH_OK; r++) {
        if (all[r].status == SH_OK)
            continue;
        united = sh_fail((sh_status)all[r].status, "%.*s", SH_MESSAGE_BYTES - 1, all[r].message);
        if (r > 0)
            united = sh_fail_in(united, "rank %u", r);
    }
    free(all);
    return united;
}

enum { PROGRAM, JOB, DATA, FIRST_GRAIN, REPLICA, ASPECTS };
static const struct {
    const char *other, *remedy;
} aspects[ASPECTS] = {
    {"another version of shoal", "install the same version on all machines"},
    {"another job", "give all ranks the same model and options"},
    {"other data", "all ranks must read the same files"},
    {"other gradients for the job's first grain",
     "a processor, its memory or a build of shoal has a defect; use another machine, and please "
     "report it with its output of shoal version and lscpu"},
    {"other weights", "all ranks must start from the same checkpoint or file"},
};

typedef struct identity {
    char aspects[ASPECTS][72]; /* digests as text, padded with zeros */
} identity;

/* Omits the path of the data, which may differ between machines. */
static sh_status hash_job(char hex[SH_DIGEST_TEXT], const sh_job *job)
{
    sh_job bare = *job;
    json_t *json;
    sh_digest *digest;
    memset(bare.data, 0, sizeof bare.data);
    SH_TRY(sh_job_to_json(&json, &bare));
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    if (text == NULL)
        return sh_fail_memory(sizeof bare, "the job's hash");
    const sh_status status = sh_digest_new(&digest);
    if (status == SH_OK)
        sh_digest_add(digest, text, strlen(text));
    free(text);
    return status == SH_OK ? sh_digest_finish(digest, hex) : status;
}

static sh_status identify(identity *own, const sh_session *session)
{
    const sh_position position = sh_replica_position(session->replica);
    char hash[SH_DIGEST_TEXT];
    snprintf(own->aspects[PROGRAM], sizeof own->aspects[PROGRAM], "%s", SHOAL_VERSION);
    SH_TRY(hash_job(own->aspects[JOB], &session->job));
    memcpy(own->aspects[DATA], sh_pipeline_about(session->pipeline)->fingerprint, SH_DIGEST_TEXT);
    SH_TRY(sh_trainer_first_grain(session->trainer, own->aspects[FIRST_GRAIN]));
    SH_TRY(sh_replica_hash(session->replica, hash));
    snprintf(own->aspects[REPLICA], sizeof own->aspects[REPLICA], "%.32s %llu %u", hash,
             (unsigned long long)position.steps, position.phase);
    return SH_OK;
}

/* Writes "rank 1 has" or "ranks 1, 2 and more have"; false: none. */
static bool name_others(char *text, size_t bytes, const identity *all, uint32_t count, int aspect)
{
    uint32_t others = 0;
    char list[NAMED_MOST * 12] = "";
    for (uint32_t r = 1; r < count; r++) {
        const size_t used = strlen(list);
        if (memcmp(all[r].aspects[aspect], all[0].aspects[aspect], sizeof all[0].aspects[0]) == 0)
            continue;
        if (others++ < NAMED_MOST)
            snprintf(list + used, sizeof list - used, "%s%u", used > 0 ? ", " : "", r);
    }
    snprintf(text, bytes, "%s %s%s %s", others > 1 ? "ranks" : "rank", list,
             others > NAMED_MOST ? " and more" : "", others > 1 ? "have" : "has");
    return others > 0;
}

static sh_status compare(sh_device_group *group)
{
    sh_ranks *ranks = (sh_ranks *)group;
    char names[NAMED_MOST * 12 + 24];
    identity own = {0}, *all;
    SH_TRY(agree(group, identify(&own, group->session)));
    SH_TRY(gather(ranks, (void **)&all, &own, sizeof own));
    sh_status status = SH_OK;
    for (int aspect = 0; aspect < ASPECTS && status == SH_OK; aspect++)
        if (name_others(names, sizeof names, all, ranks->group.engine->devices, aspect))
            status = sh_fail(SH_MISMATCH, "%s %s than rank 0: %s", names, aspects[aspect].other,
                             aspects[aspect].remedy);
    free(all);
    return status;
}

/* ---- life ------------------------------------------------------------------------------------ */

static sh_status open_ranks(sh_device_group *group)
{
    sh_launch launch;
    uint32_t rank;
    if (!sh_launch_read(&launch))
        launch = (sh_launch){.ranks = 1, .here = 1, .launcher = "nobody"};
    SH_TRY(sh_mpi_open(&group->engine, &rank));
    if (group->engine->devices != launch.ranks || rank != launch.rank)
        return sh_fail(SH_MISMATCH,
                       "--engine mpi: %s says that this is rank %u of %u, but MPI says rank %u of "
                       "%u; start it with Open MPI's mpirun, or with srun --mpi=pmix",
                       launch.launcher, launch.rank, launch.ranks, rank, group->engine->devices);
    if (rank != 0) {
        char host[SH_NAME_BYTES];
        memcpy(host, group->name, sizeof host);
        snprintf(group->name, sizeof group->name, "%.*s/%u", SH_NAME_BYTES - 12, host, rank + 1);
    }
    group->rank = rank;
    group->here = launch.here;
    group->may_share = launch.ranks > 1;
    group->may_be_killed = true;
    return SH_OK;
}

static bool is_by_prte(void)
{
    return getenv("PRTE_LAUNCHED") != NULL;
}

static void close_ranks(sh_device_group *group, bool in_haste)
{
    const sh_ranks *ranks = (sh_ranks *)group;
    const int farewell_ms = is_by_prte() ? PRTE_FAREWELL_MS : FAREWELL_MS;
    if (group->engine != NULL && (in_haste || atomic_load(&ranks->parted)))
        sh_mpi_close_within(group->engine, group->rank == 0 ? farewell_ms : LINGER_MS);
    else
        sh_engine_close(group->engine); /* waits for the others */
}

/* No step ends after another rank is lost: saves the replica after the last complete step. */
static void on_overdue(void *context)
{
    sh_device_group *group = context;
    if (group->rank == 0)
        group->save_now(group->context);
    part((sh_ranks *)group, SH_STOPPED, "stopped on request, before the step was complete");
}

static sh_status run(sh_device_group *group, sh_training_loop *training_loop, sh_outcome *outcome)
{
    sh_ranks *ranks = (sh_ranks *)group;
    sh_watchdog *watchdog = NULL;
    const int patience_ms = is_by_prte() ? PRTE_PATIENCE_MS : PATIENCE_MS;
    sh_status status =
        sh_watchdog_start(&watchdog, &(sh_watchdog_options){
                                         .stop = group->options->stop,
                                         .patience_ms = group->rank == 0 ? patience_ms : LINGER_MS,
                                         .on_overdue = on_overdue,
                                         .context = group,
                                     });
    if (status == SH_OK)
        status = sh_training_loop_run(training_loop, outcome);
    sh_watchdog_stop(watchdog);
    /* All ranks see SH_NUMERIC and SH_DIVERGED; only this rank sees other failures. */
    if (status != SH_OK && status != SH_NUMERIC && status != SH_DIVERGED)
        part(ranks, status, sh_message());
    ranks->began = true;
    ranks->ended = status;
    return status;
}

static sh_status report(sh_device_group *group, const sh_device_report *own,
                        sh_device_report **reports, size_t *count)
{
    _Static_assert(sizeof *own % sizeof(uint64_t) == 0, "reports are gathered as words");
    sh_ranks *ranks = (sh_ranks *)group;
    sh_device_report mine = *own;
    mine.bytes_sent = mine.bytes_received = SH_BYTES_UNKNOWN;
    if (atomic_load(&ranks->parted))
        return sh_device_group_report_own(&mine, reports, count);
    SH_TRY(gather(ranks, (void **)reports, &mine, sizeof mine));
    *count = group->engine->devices;
    return SH_OK;
}

static sh_status dismiss(sh_device_group *group, sh_status status, const char *message)
{
    sh_ranks *ranks = (sh_ranks *)group;
    if (ranks->began && ranks->ended == SH_OK && status != SH_OK && status != SH_STOPPED)
        part(ranks, status, message); /* it failed alone */
    if (group->rank == 0 && status != SH_OK)
        return sh_fail(status, "%s", message);
    if (status != SH_OK && atomic_load(&ranks->parted))
        return sh_fail(status, "rank %u: %.1000s", group->rank, message);
    return SH_OK; /* rank 0 reports common failures */
}

const sh_device_group_ops sh_device_group_ranks = {
    .purpose = "the ranks",
    .bytes = sizeof(sh_ranks),
    .fits = fits,
    .check = check,
    .devices = count_devices,
    .open = open_ranks,
    .agree = agree,
    .compare = compare,
    .run = run,
    .reports = report,
    .dismiss = dismiss,
    .close = close_ranks,
};
