/* SPDX-License-Identifier: Apache-2.0 */
#include "train/job_options.h"

#include <math.h>
#include <stdio.h>

#include "shoal/train.h"
#include "train/exact_sum.h"
#include "train/job_fixture.h"
#include "train/schedule.h"

/* Each row fits its option's kind; no two rows share a name or a position. */
static void rows_are_whole(void **state)
{
    (void)state;
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++) {
        const bool is_job = each->owner == SH_OPTION_OF_JOB;
        const bool takes_value = each->kind != SH_OPTION_FLAG && each->kind != SH_OPTION_SWITCH;
        const bool typed = !each->argument && !each->derived;
        assert_non_null(each->help);
        assert_true(strlen(each->name) + 3 <= SH_OPTION_LABEL_BYTES);
        assert_true(!typed || (each->help_at != 0 && takes_value == (each->value != NULL)));
        assert_true(each->offset < (is_job ? sizeof(sh_job) : sizeof(sh_train_options)));
        assert_true(is_job || (each->json_at == 0 && !each->resume));
        for (const sh_option *other = sh_options(); other != each; other++) {
            assert_true(strcmp(other->name, each->name) != 0 || other->derived || each->derived);
            assert_true(other->json_at != each->json_at || each->json_at == 0);
        }
    }
}

static void values_are_compared_copied_and_shown(void **state)
{
    (void)state;
    static const struct {
        const char *name, *label, *text;
    } cases[] = {{"model", "model", "mlp:4-2"}, {"seed", "--seed", "18446744073709551615"},
                 {"lr", "--lr", "0.25"},        {"nesterov", "--nesterov", "1"},
                 {"wire", "--wire", "8"},       {"strategy", "--strategy", "local:2"}};
    sh_job usual = some_job(), other = local_job("local:2");
    snprintf(other.model, sizeof other.model, "mlp:4-2");
    other.seed = UINT64_MAX;
    other.lr = 0.25f;
    other.nesterov = 1;
    other.wire = 8;
    size_t differing = 0;
    assert_false(sh_job_same(&usual, &other));
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++) {
        char label[SH_OPTION_LABEL_BYTES], text[SH_OPTION_TEXT_BYTES];
        if (each->owner != SH_OPTION_OF_JOB || sh_option_same(each, &usual, &other))
            continue;
        differing++;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (strcmp(cases[i].name, each->name) == 0) {
                assert_string_equal(sh_option_label(label, each), cases[i].label);
                assert_string_equal(sh_option_print(text, each, &other), cases[i].text);
            }
        sh_option_copy(each, &usual, &other);
        assert_true(sh_option_same(each, &usual, &other));
    }
    assert_int_equal(differing, sizeof cases / sizeof *cases);
    assert_true(sh_job_same(&usual, &other));
}

static void other_ranges_are_told(void **state)
{
    (void)state;
    static const struct {
        sh_option option;
        float value;
        const char *message;
    } cases[] = {
        {{.max = 1}, 1.5f, "--x 1.5: must be at least 0 and at most 1"},
        {{.min = -1, .max = 1, .above = true, .below = true}, -1, "must be above -1 and below 1"},
        {{.min = 0.5}, 0.25f, "--x 0.25: must be a number of at least 0.5"},
        {{.min = 1, .zero = "is none"}, 0.5f, "must be a number of at least 1; 0 is none"},
        {{.max = 1}, 1, NULL},
        {{.min = 1, .zero = "is none"}, 0, NULL},
    };
    sh_job job = some_job();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_option option = cases[i].option;
        option.kind = SH_OPTION_FLOAT;
        option.name = "x";
        option.offset = offsetof(sh_job, lr);
        job.lr = cases[i].value;
        if (cases[i].message == NULL)
            assert_ok(sh_option_check(&option, &job));
        else
            assert_fails(sh_option_check(&option, &job), SH_INVALID, cases[i].message);
    }
    const sh_option word = {.kind = SH_OPTION_NAME,
                            .name = "x",
                            .words = "a|b|cd",
                            .offset = offsetof(sh_job, optimizer),
                            .max = SH_OPTIMIZER_BYTES - 1};
    assert_fails(sh_option_check(&word, &job), SH_INVALID, "--x sgd: must be a, b or cd");
    snprintf(job.optimizer, sizeof job.optimizer, "cd");
    assert_ok(sh_option_check(&word, &job));
    snprintf(job.optimizer, sizeof job.optimizer, "c");
    assert_fails(sh_option_check(&word, &job), SH_INVALID, "--x c: must be");
    memset(job.optimizer, 'x', sizeof job.optimizer);
    assert_fails(sh_option_check(&word, &job), SH_INVALID, "--x is longer than 15 characters");
}

static void bad_fields_are_refused(void **state)
{
    (void)state;
#define REFUSED(field, value, code, part)                                                          \
    do {                                                                                           \
        sh_job job = some_job();                                                                   \
        job.field = value;                                                                         \
        assert_fails(sh_job_complete(&job), code, part);                                           \
    } while (0)
    REFUSED(batch_size, 0, SH_INVALID, "--batch-size 0: must be 1");
    REFUSED(batch_size, 1u << 30, SH_INVALID, "--batch-size 1073741824");
    REFUSED(grain, 65, SH_INVALID, "--grain 65: larger than the batch of 64");
    REFUSED(lr, -0.1f, SH_INVALID, "--lr -0.1: must be a number of at least 0");
    REFUSED(lr, NAN, SH_INVALID, "--lr nan");
    REFUSED(lr, INFINITY, SH_INVALID, "--lr inf");
    REFUSED(momentum, 1.0f, SH_INVALID, "--momentum 1");
    REFUSED(weight_decay, -1.0f, SH_INVALID, "--weight-decay -1");
    REFUSED(nesterov, 2, SH_INVALID, "--nesterov: must be 1 or 0, not 2");
    REFUSED(optimizer[0], 'x', SH_NOT_FOUND, "--optimizer xgd: no such optimizer");
    REFUSED(schedule[0], 'x', SH_NOT_FOUND, "--schedule xonstant: no such schedule");
    REFUSED(strategy[0], 'x', SH_NOT_FOUND, "--strategy xync: must be sync");
    REFUSED(warmup, -1.0f, SH_INVALID, "--warmup -1: must be a number of epochs");
    REFUSED(clip_norm, -1.0f, SH_INVALID, "--clip-norm -1: must be a number above 0; 0 does not");
    REFUSED(clip_norm, NAN, SH_INVALID, "--clip-norm nan");
    REFUSED(clip_norm, INFINITY, SH_INVALID, "--clip-norm inf");
    REFUSED(epochs, 0, SH_INVALID, "--epochs 0");
    REFUSED(wire, 12, SH_INVALID, "--wire 12: must be 32, 16 or 8 bits");
    REFUSED(wire, 0, SH_INVALID, "--wire 0: must be 32, 16 or 8 bits");
    REFUSED(model[0], '\0', SH_INVALID, "the model is missing");
    REFUSED(data[0], '\0', SH_INVALID, "the data is missing");
    REFUSED(workers, 4, SH_INVALID, "--workers: is only for --strategy local:H");
    REFUSED(outer_lr, 0.5f, SH_INVALID, "--outer-lr: is only for --strategy local:H");
    REFUSED(outer_momentum, 0.5f, SH_INVALID, "--outer-momentum: is only for --strategy local:H");
#undef REFUSED
}

static void grain_is_chosen_from_the_batch_alone(void **state)
{
    (void)state;
    static const uint32_t known[][2] = {{1, 1}, {2, 1}, {7, 2}, {64, 16}, {65, 16}, {4096, 16}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sh_job job = some_job();
        job.batch_size = known[i][0];
        assert_ok(sh_job_complete(&job));
        assert_int_equal(job.grain, known[i][1]);
    }
}

static void bad_workers_are_refused(void **state)
{
    (void)state;
#define REFUSED(field, value, code, part)                                                          \
    do {                                                                                           \
        sh_job job = local_job("local:8");                                                         \
        job.field = value;                                                                         \
        assert_fails(sh_job_complete(&job), code, part);                                           \
    } while (0)
    REFUSED(workers, 5, SH_INVALID,
            "--workers 5: a batch of 64 cannot be divided into equal parts; give a --batch-size "
            "that can");
    REFUSED(workers, 128, SH_INVALID, "--workers 128: a batch of 64 cannot be divided");
    REFUSED(workers, UINT32_MAX, SH_INVALID, "--workers 4294967295: must be 1 to 1048576");
    REFUSED(batch_size, 50, SH_INVALID, "--workers 4: a batch of 50 cannot be divided");
    REFUSED(grain, 17, SH_INVALID, "--grain 17: larger than a worker's 16 samples of a local step");
    REFUSED(outer_lr, 0, SH_INVALID, "--outer-lr 0: must be a number above 0");
    REFUSED(outer_lr, INFINITY, SH_INVALID, "--outer-lr inf: must be");
    REFUSED(outer_lr, NAN, SH_INVALID, "--outer-lr nan: must be");
    REFUSED(outer_momentum, 1, SH_INVALID, "--outer-momentum 1: must be at least 0 and below 1");
    REFUSED(outer_momentum, NAN, SH_INVALID, "--outer-momentum nan: must be");
#undef REFUSED
    sh_job job = local_job("local:0");
    assert_fails(sh_job_complete(&job), SH_INVALID, "--strategy local:0: H must be a whole number");
}

static void workers_are_chosen(void **state)
{
    (void)state;
    static const uint32_t known[][4] = {/* batch, workers, grain; parts of a step */
                                        {64, 0, 16, 4},
                                        {512, 0, 16, 4},
                                        {12, 3, 4, 3},
                                        {8, 8, 1, 8}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sh_job job = local_job("local:3");
        job.batch_size = known[i][0];
        job.workers = known[i][1];
        assert_ok(sh_job_complete(&job));
        assert_int_equal(job.grain, known[i][2]);
        assert_int_equal(job.workers, known[i][3]);
        assert_int_equal(sh_job_grains(&job), known[i][3]);
        assert_int_equal(sh_job_local_steps(&job), 3);
        assert_ok(sh_job_complete(&job)); /* twice changes nothing */
    }
    sh_job sync = some_job();
    assert_ok(sh_job_complete(&sync));
    assert_int_equal(sh_job_local_steps(&sync), 0);
    assert_int_equal(sync.workers, 0);
    assert_int_equal(sh_job_grains(&sync), 4);
}

static void as_many_workers_as_a_sum_takes(void **state)
{
    (void)state;
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
        if (strcmp(each->name, "workers") == 0)
            assert_int_equal((uint32_t)each->max, SH_SUM_MAX_GRAINS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(values_are_compared_copied_and_shown),
        cmocka_unit_test(other_ranges_are_told),
        cmocka_unit_test(bad_fields_are_refused),
        cmocka_unit_test(grain_is_chosen_from_the_batch_alone),
        cmocka_unit_test(bad_workers_are_refused),
        cmocka_unit_test(workers_are_chosen),
        cmocka_unit_test(as_many_workers_as_a_sum_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
