/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that ranks tell each other beside the stages goes by the engine too, which can only add: a
 * block has a place for each rank, of which each fills its own and leaves zeros in the others', so
 * the sum has what all have said.
 */
#include "node/ranks.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/mpi.h"
#include "shoal/launch.h"
#include "train/snapshot.h"
#include "train/strategy.h"

#define NAMED_MOST 8    /* ranks in a message */
#define FAREWELL_MS 200 /* of the first rank, where it is going to be ended by force */

struct sh_ranks {
    sh_engine *engine;
    sh_launch launch;
    uint32_t rank;
    atomic_bool parted;
};

/* ---- what is asked for ----------------------------------------------------------------------- */

bool sh_ranks_are_wanted(const sh_train_options *options)
{
    return options->engine != NULL && strcmp(options->engine, "mpi") == 0;
}

uint32_t sh_ranks_expected(void)
{
    sh_launch launch;
    return sh_launch_read(&launch) ? launch.ranks : 1;
}

static sh_status check_alone(void)
{
    sh_launch launch;
    if (!sh_launch_read(&launch) || launch.ranks == 1)
        return SH_OK;
    return sh_fail(SH_INVALID,
                   "%s has started %u of this, and each would train by itself: give --engine mpi, "
                   "or start one without %s",
                   launch.launcher, launch.ranks, launch.launcher);
}

static sh_status check_together(const sh_train_options *options)
{
    sh_strategy strategy;
    SH_TRY(sh_strategy_parse(&strategy, options->job.strategy));
    const struct {
        bool given;
        const char *option, *reason;
    } strangers[] = {
        {options->listen != NULL, "--listen", "nobody can join ranks"},
        {options->devices != 0, "--devices", "mpirun -n starts the devices"},
        {options->min_devices != 0, "--min-devices", "mpirun -n starts the devices"},
        {options->mixed, "--mixed", "all ranks have to compute the same bits"},
        {strategy.kind == SH_STRATEGY_PS_SYNC, "--strategy ps-sync",
         "its collectives need no server"},
        {sh_strategy_laps(&strategy), "--strategy ps-async or ps-bounded",
         "in its collectives all take part alike"},
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

sh_status sh_ranks_check(const sh_train_options *options)
{
    if (sh_ranks_are_wanted(options))
        return check_together(options);
    if (options->engine != NULL && strcmp(options->engine, "ring") != 0)
        return sh_fail(SH_INVALID, "--engine %.160s: must be ring or mpi", options->engine);
    return check_alone();
}

/* ---- the ranks ------------------------------------------------------------------------------- */

static sh_status check_met(const sh_ranks *ranks)
{
    const sh_launch *launch = &ranks->launch;
    if (ranks->engine->devices == launch->ranks && ranks->rank == launch->rank)
        return SH_OK;
    return sh_fail(SH_MISMATCH,
                   "--engine mpi: %s says that this is rank %u of %u, and MPI that it is rank %u "
                   "of %u; start it with Open MPI's mpirun, or with srun --mpi=pmix",
                   launch->launcher, launch->rank, launch->ranks, ranks->rank,
                   ranks->engine->devices);
}

sh_status sh_ranks_open(sh_ranks **ranks)
{
    sh_ranks *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the ranks");
    if (!sh_launch_read(&fresh->launch))
        fresh->launch = (sh_launch){.ranks = 1, .here = 1, .launcher = "nobody"};
    sh_status status = sh_mpi_open(&fresh->engine, &fresh->rank);
    if (status == SH_OK)
        status = check_met(fresh);
    if (status != SH_OK) {
        sh_ranks_close(fresh, true);
        return status;
    }
    *ranks = fresh;
    return SH_OK;
}

uint32_t sh_ranks_own(const sh_ranks *ranks)
{
    return ranks->rank;
}

sh_engine *sh_ranks_engine(const sh_ranks *ranks)
{
    return ranks->engine;
}

uint32_t sh_ranks_here(const sh_ranks *ranks)
{
    return ranks->launch.here;
}

sh_range sh_ranks_share(const sh_ranks *ranks, uint32_t grains)
{
    const uint64_t devices = ranks->engine->devices;
    const uint32_t first = (uint32_t)(grains * (uint64_t)ranks->rank / devices);
    const uint32_t end = (uint32_t)(grains * (ranks->rank + (uint64_t)1) / devices);
    return (sh_range){first, end - first};
}

void sh_ranks_part(sh_ranks *ranks, sh_status status, const char *reason)
{
    atomic_store(&ranks->parted, true);
    sh_mpi_abort(ranks->engine, status, reason);
}

bool sh_ranks_parted(const sh_ranks *ranks)
{
    return atomic_load(&ranks->parted);
}

void sh_ranks_close(sh_ranks *ranks, bool in_haste)
{
    if (ranks == NULL)
        return;
    if (ranks->engine != NULL && (in_haste || sh_ranks_parted(ranks)))
        sh_mpi_close_within(ranks->engine, ranks->rank == 0 ? FAREWELL_MS : SH_RANKS_LINGER_MS);
    else
        sh_engine_close(ranks->engine);
    free(ranks);
}

/* ---- what they tell each other --------------------------------------------------------------- */

static sh_status add_up(sh_ranks *ranks, const sh_span *span)
{
    sh_status status = sh_engine_begin(ranks->engine, span, 1);
    if (status == SH_OK) {
        sh_engine_ready(ranks->engine, 0);
        status = sh_engine_wait(ranks->engine);
    }
    if (status != SH_OK)
        sh_ranks_part(ranks, status, sh_message());
    return status;
}

/* Puts what each rank says into `all`, by rank; `bytes` a rank, a multiple of 8. */
static sh_status gather(sh_ranks *ranks, void *all, const void *mine, size_t bytes)
{
    const uint32_t devices = ranks->engine->devices;
    const size_t total = bytes * devices;
    unsigned char *own = devices == 1 ? all : calloc(1, total);
    if (own == NULL)
        return sh_fail_memory(total, "what the ranks say");
    memcpy(own + ranks->rank * bytes, mine, bytes);
    const sh_span span = {
        .own = own, .total = all, .count = total / sizeof(uint64_t), .word = SH_WORD_U64};
    const sh_status status = add_up(ranks, &span);
    if (own != all)
        free(own);
    return status;
}

/* As `gather`, into a fresh block. */
static sh_status gather_new(sh_ranks *ranks, void **all, const void *mine, size_t bytes)
{
    const size_t total = bytes * ranks->engine->devices;
    void *fresh = calloc(1, total);
    if (fresh == NULL)
        return sh_fail_memory(total, "what the ranks say");
    const sh_status status = gather(ranks, fresh, mine, bytes);
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

sh_status sh_ranks_unite(sh_ranks *ranks, sh_status status)
{
    verdict mine = {.status = (uint64_t)status}, *all;
    if (ranks == NULL)
        return status;
    if (status != SH_OK)
        snprintf(mine.message, sizeof mine.message, "%s", sh_message());
    SH_TRY(gather_new(ranks, (void **)&all, &mine, sizeof mine));
    sh_status united = SH_OK;
    for (uint32_t r = 0; r < ranks->engine->devices && united == SH_OK; r++) {
        if (all[r].status == SH_OK)
            continue;
        united = sh_fail((sh_status)all[r].status, "%.*s", SH_MESSAGE_BYTES - 1, all[r].message);
        if (r > 0)
            united = sh_fail_in(united, "rank %u", r);
    }
    free(all);
    return united;
}

/* What has to be equal, with the words for where it is not. */
enum { PROGRAM, JOB, DATA, FAMILY, REPLICA, ASPECTS };
static const struct {
    const char *other, *remedy;
} aspects[ASPECTS] = {
    {"another version of shoal", "install the same on all machines"},
    {"another job", "give all ranks the same model and options"},
    {"other data", "all ranks have to read the same files"},
    {"other arithmetic (processor or library)",
     "SHOAL_BACKEND=portable on all ranks may make them equal"},
    {"other weights", "all ranks have to begin with the same checkpoint or file"},
};

typedef struct identity {
    char aspects[ASPECTS][72]; /* digests as text, and zeros behind them */
} identity;

/* Of the job without the place of its data, which may be elsewhere on another machine. */
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

static sh_status identify(identity *own, const sh_workbench *bench)
{
    const sh_position position = sh_replica_position(bench->replica);
    char hash[SH_DIGEST_TEXT];
    snprintf(own->aspects[PROGRAM], sizeof own->aspects[PROGRAM], "%s", SHOAL_VERSION);
    SH_TRY(hash_job(own->aspects[JOB], &bench->job));
    memcpy(own->aspects[DATA], sh_pipeline_about(bench->pipeline)->fingerprint, SH_DIGEST_TEXT);
    SH_TRY(sh_trainer_family(bench->trainer, own->aspects[FAMILY]));
    SH_TRY(sh_replica_hash(bench->replica, hash));
    snprintf(own->aspects[REPLICA], sizeof own->aspects[REPLICA], "%.32s %llu %u", hash,
             (unsigned long long)position.steps, position.phase);
    return SH_OK;
}

/* "rank 1 has", "ranks 1, 2 and more have": whose aspect is not rank 0's; false: all are equal. */
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

sh_status sh_ranks_compare(sh_ranks *ranks, const sh_workbench *bench)
{
    char names[NAMED_MOST * 12 + 24];
    identity own = {0}, *all;
    SH_TRY(sh_ranks_unite(ranks, identify(&own, bench)));
    SH_TRY(gather_new(ranks, (void **)&all, &own, sizeof own));
    sh_status status = SH_OK;
    for (int aspect = 0; aspect < ASPECTS && status == SH_OK; aspect++)
        if (name_others(names, sizeof names, all, ranks->engine->devices, aspect))
            status = sh_fail(SH_MISMATCH, "%s %s than rank 0: %s", names, aspects[aspect].other,
                             aspects[aspect].remedy);
    free(all);
    return status;
}

sh_status sh_ranks_reports(sh_ranks *ranks, const sh_device_report *own, sh_device_report **reports,
                           size_t *count)
{
    _Static_assert(sizeof *own % sizeof(uint64_t) == 0, "reports are gathered as words");
    SH_TRY(gather_new(ranks, (void **)reports, own, sizeof *own));
    *count = ranks->engine->devices;
    return SH_OK;
}
