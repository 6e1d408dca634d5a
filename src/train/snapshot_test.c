/* SPDX-License-Identifier: Apache-2.0 */
#include "train/snapshot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/scratch.h"
#include "base/test.h"
#include "store/checkpoint.h"

static const sh_problem problem = {1, 28, 28, 10, SH_TARGET_CLASS};

static sh_job job_with(const char *model, const char *freeze)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.freeze, sizeof job.freeze, "%s", freeze);
    snprintf(job.model, sizeof job.model, "%s", model);
    snprintf(job.data, sizeof job.data, "digits");
    job.seed = UINT64_MAX - 1;
    job.lr = 0.1f; /* not exactly representable */
    assert_ok(sh_job_complete(&job));
    return job;
}

static sh_job job_of(const char *model)
{
    return job_with(model, "");
}

/* Has values in all of its state, as after training. */
static sh_replica *used_replica(const sh_job *job)
{
    sh_replica *replica;
    float envelopes[8];
    int32_t exponents[8];
    assert_ok(sh_replica_new(&replica, job, &problem));
    for (size_t i = 0; i < replica->summed_count; i++)
        replica->slots[0][i] = (float)i * 0.5f;
    for (size_t i = 0; i < replica->weight_count; i++)
        replica->weights[i] += (float)i;
    for (int i = 0; i < 8; i++) {
        envelopes[i] = 0.25f + (float)i;
        exponents[i] = 20 + i;
    }
    assert_ok(sh_sum_state_set(replica->sum, envelopes, exponents));
    replica->steps = 1234567;
    replica->epoch = (sh_epoch_totals){1.0 / 3, 640, 600};
    replica->best = (sh_best){1.0 / 3, 1000, 1.0 / 7, 4, INFINITY, 1234567};
    return replica;
}

static void assert_same(const sh_replica *a, const sh_replica *b)
{
    float ea[8], eb[8];
    int32_t xa[8], xb[8];
    const size_t bytes = a->weight_count * sizeof(float);
    assert_memory_equal(a->weights, b->weights, bytes);
    assert_memory_equal(a->slots[0], b->slots[0], a->summed_count * sizeof(float));
    sh_sum_state_get(a->sum, ea, xa);
    sh_sum_state_get(b->sum, eb, xb);
    assert_memory_equal(ea, eb, a->summed * sizeof *ea);
    assert_memory_equal(xa, xb, a->summed * sizeof *xa);
    assert_true(a->steps == b->steps && a->epoch.loss == b->epoch.loss);
    assert_true(a->phase == b->phase && sh_best_same(&a->best, &b->best));
    assert_true(a->epoch.samples == b->epoch.samples && a->epoch.score == b->epoch.score);
}

static void bring_back(const char *freeze)
{
    char folder[SCRATCH_BYTES], path[SH_PATH_BYTES];
    const sh_job job = job_with("lenet", freeze);
    sh_replica *before = used_replica(&job), *after;
    const char *fingerprint;
    sh_safetensors *file;
    sh_job read;
    scratch_make(folder);
    assert_ok(sh_snapshot_save(folder, &job, &(sh_snapshot_data){"f1", NULL}, before));
    assert_ok(sh_checkpoint_open(&file, path, folder));
    assert_true(sh_snapshot_is_checkpoint(file));
    assert_ok(sh_snapshot_read_job(&read, file));
    assert_ok(sh_snapshot_read_fingerprint(&fingerprint, file));
    assert_string_equal(fingerprint, "f1");
    assert_string_equal(read.model, job.model);
    assert_string_equal(read.data, job.data);
    assert_true(read.seed == job.seed && read.lr == job.lr && read.grain == job.grain);
    assert_ok(sh_replica_new(&after, &read, &problem));
    assert_ok(sh_snapshot_load(after, file));
    assert_same(before, after);
    sh_safetensors_close(file);

    sh_replica *other;
    const sh_job narrow = job_of("mlp:784-16-10");
    assert_ok(sh_checkpoint_open(&file, path, folder));
    assert_ok(sh_replica_new(&other, &narrow, &problem));
    assert_fails(sh_snapshot_load(other, file), SH_MISMATCH, "fc1.weight");
    sh_safetensors_close(file);
    sh_replica_free(other);
    sh_replica_free(after);
    sh_replica_free(before);
    scratch_remove(folder);
}

static void a_checkpoint_brings_everything_back(void **state)
{
    (void)state;
    bring_back("");
    bring_back("conv1.*,fc1.bias");
}

static void foreign_files_are_refused(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], path[SCRATCH_BYTES + 16];
    const sh_job job = job_of("mlp:784-16-10");
    sh_replica *replica = used_replica(&job);
    const sh_stored_tensor one = {
        "other.weight", {SH_F32, sh_shape_of(1, (size_t[]){3})}, (float[]){1, 2, 3}};
    const char *fingerprint;
    sh_safetensors *file;
    sh_job read;
    scratch_make(folder);
    snprintf(path, sizeof path, "%s/x.safetensors", folder);
    assert_ok(sh_safetensors_write(path, &one, 1, NULL, 0));
    assert_ok(sh_safetensors_open(&file, path));
    assert_false(sh_snapshot_is_checkpoint(file));
    assert_fails(sh_snapshot_read_job(&read, file), SH_MISMATCH, "not a checkpoint of shoal");
    assert_fails(sh_snapshot_read_fingerprint(&fingerprint, file), SH_MISMATCH,
                 "has no shoal.data");
    assert_fails(sh_snapshot_load(replica, file), SH_MISMATCH, "has no tensor fc1.weight");
    sh_safetensors_close(file);
    sh_replica_free(replica);
    scratch_remove(folder);
}

static sh_safetensors *with_position(const char *folder, const char *text)
{
    char path[SCRATCH_BYTES + 16];
    sh_safetensors *file;
    const sh_stored_tensor one = {
        "other.weight", {SH_F32, sh_shape_of(1, (size_t[]){3})}, (float[]){1, 2, 3}};
    const sh_metadata pair = {"shoal.position", text};
    snprintf(path, sizeof path, "%s/x.safetensors", folder);
    assert_ok(sh_safetensors_write(path, &one, 1, &pair, 1));
    assert_ok(sh_safetensors_open(&file, path));
    return file;
}

/* Missing validation results are as before the first validation. */
static void positions_of_older_files_are_read(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES];
    uint64_t steps = 7;
    scratch_make(folder);
    sh_safetensors *file = with_position(folder, "{\"steps\": 640}");
    assert_ok(sh_snapshot_read_steps(&steps, file));
    assert_int_equal(steps, 640);
    sh_safetensors_close(file);
    file = with_position(folder, "{\"steps\": -1}");
    assert_fails(sh_snapshot_read_steps(&steps, file), SH_FORMAT, "shoal.position has no steps");
    sh_safetensors_close(file);
    scratch_remove(folder);
}

static void a_validation_stays_due(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], path[SH_PATH_BYTES];
    const sh_job job = job_of("mlp:784-16-10");
    sh_replica *replica = used_replica(&job);
    sh_safetensors *file;
    replica->phase = SH_PHASE_VALIDATION;
    replica->best = (sh_best){-0.75, 1000, -0.5, 1, 0, 0};
    scratch_make(folder);
    assert_ok(sh_snapshot_save(folder, &job, &(sh_snapshot_data){"f1", NULL}, replica));
    replica->phase = SH_PHASE_FIRST;
    assert_ok(sh_checkpoint_open(&file, path, folder));
    assert_ok(sh_snapshot_load(replica, file));
    assert_int_equal(replica->phase, SH_PHASE_VALIDATION);
    assert_true(replica->best.value == -0.75 && replica->best.at == 0);
    sh_safetensors_close(file);

    replica->best.steps = replica->steps + 1;
    assert_ok(sh_snapshot_save(folder, &job, &(sh_snapshot_data){"f1", NULL}, replica));
    assert_ok(sh_checkpoint_open(&file, path, folder));
    assert_fails(sh_snapshot_load(replica, file), SH_CORRUPT,
                 "shoal.position: a best validation that cannot be at step 1234567");
    sh_safetensors_close(file);
    sh_replica_free(replica);
    scratch_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_brings_everything_back),
        cmocka_unit_test(foreign_files_are_refused),
        cmocka_unit_test(positions_of_older_files_are_read),
        cmocka_unit_test(a_validation_stays_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
