/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/retention.h"

#include <math.h>
#include <stdio.h>

#include "base/scratch.h"
#include "store/checkpoint.h"
#include "train/job_fixture.h"
#include "train/snapshot.h"

static char folder[SH_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static sh_replica *new_replica(sh_job *job)
{
    static const sh_problem problem = {1, 28, 28, 10, SH_TARGET_CLASS};
    sh_replica *replica;
    sh_job_init(job);
    snprintf(job->model, sizeof job->model, "mlp:784-4-10");
    snprintf(job->data, sizeof job->data, "digits");
    assert_ok(sh_job_complete(job));
    assert_ok(sh_replica_new(&replica, job, &problem));
    return replica;
}

static void validate(sh_retention *retention, sh_replica *replica, const sh_job *job, double figure)
{
    replica->steps += 10;
    sh_best_settle(&replica->best, job);
    sh_best_note(&replica->best, figure, replica->steps);
    assert_ok(sh_snapshot_save(folder, job, &(sh_snapshot_data){"f", NULL}, replica));
    const sh_best now = sh_best_now(&replica->best, job);
    assert_ok(sh_retention_validated(retention, &now, replica->steps));
    assert_ok(sh_retention_epoch(retention, (uint32_t)replica->steps / 10));
}

static uint64_t steps_of(const char *name)
{
    char path[SH_PATH_BYTES], used[SH_PATH_BYTES];
    sh_safetensors *file;
    uint64_t steps;
    assert_ok(sh_path_join(path, folder, name));
    if (sh_checkpoint_open(&file, used, path) != SH_OK)
        return 0;
    assert_ok(sh_snapshot_read_steps(&steps, file));
    sh_safetensors_close(file);
    return steps;
}

static void the_best_stays(void **state)
{
    (void)state;
    static const double figures[] = {3, 2, 2, 5, 1.5, INFINITY};
    static const uint64_t best[] = {10, 20, 20, 20, 50, 50};
    sh_job job;
    sh_retention retention, again;
    sh_replica *replica = new_replica(&job);
    sh_retention_open(&retention, folder, 2);
    assert_int_equal(retention.best_steps, 0);
    for (int i = 0; i < 6; i++) {
        validate(&retention, replica, &job, figures[i]);
        assert_int_equal(retention.best_steps, best[i]);
        assert_int_equal(steps_of(SH_CHECKPOINT_BEST), best[i]);
        assert_int_equal(steps_of(SH_CHECKPOINT_LAST), replica->steps);
        assert_int_equal(scratch_count(folder),
                         i == 0 ? 3 : 5); /* last, previous, best, two epochs */
        sh_retention_open(&again, folder, 2);
        assert_int_equal(again.best_steps, best[i]);
    }
    assert_int_equal(steps_of("epoch-6.safetensors"), 60);
    assert_int_equal(steps_of("epoch-5.safetensors"), 50);
    retention.most = 0; /* existing ones remain */
    assert_ok(sh_retention_epoch(&retention, 7));
    assert_int_equal(scratch_count(folder), 5);
    sh_replica_free(replica);
}

/* Killed between the checkpoint and its second name; or the file is not a checkpoint. */
static void what_is_lacking_is_known(void **state)
{
    (void)state;
    char path[SH_PATH_BYTES];
    sh_job job;
    sh_retention retention;
    sh_replica *replica = new_replica(&job);
    sh_retention_open(&retention, folder, 2);
    validate(&retention, replica, &job, 3);
    validate(&retention, replica, &job, 2);
    sh_best now = sh_best_now(&replica->best, &job);
    assert_false(sh_retention_lacks(&retention, &now, 20));
    retention.best_steps = 10;
    assert_true(sh_retention_lacks(&retention, &now, 20));
    assert_false(sh_retention_lacks(&retention, &now, 30));
    assert_false(sh_retention_lacks(&retention, &(sh_best){0}, 0));
    assert_ok(sh_path_join(path, folder, SH_CHECKPOINT_BEST));
    scratch_write(path, "x", 1);
    sh_retention_open(&retention, folder, 2);
    assert_int_equal(retention.best_steps, 0);
    assert_true(sh_retention_lacks(&retention, &now, 20));
    sh_replica_free(replica);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_best_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_lacking_is_known, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
