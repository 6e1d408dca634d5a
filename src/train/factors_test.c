/* SPDX-License-Identifier: Apache-2.0 */
#include "train/factors.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "shoal/job.h"

static void what_pays_is_a_function_of_sizes(void **state)
{
    (void)state;
    static const struct {
        size_t O, K;
        uint32_t samples, wire;
        bool pays;
    } cases[] = {
        {500, 800, 64, 32, true}, /* fc1 of LeNet */
        {500, 800, 64, 16, true},    {500, 800, 64, 8, true},  {500, 800, 256, 32, true},
        {500, 800, 256, 8, false}, /* more bytes than it saves */
        {500, 800, 1024, 32, false}, {10, 500, 64, 32, false}, {10, 10, 4, 32, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (sh_factors_are_faster(cases[i].O, cases[i].K, cases[i].samples, cases[i].wire) !=
            cases[i].pays)
            fail_msg("case %zu", i);
}

#define GRAIN 4
#define SAMPLES 10 /* grains of 4, 4 and 2 */

static sh_replica *new_replica(const char *model)
{
    sh_job job;
    sh_replica *replica;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "%s", model);
    snprintf(job.data, sizeof job.data, "digits:100/50");
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_replica_new(&replica, &job, &(sh_problem){1, 28, 28, 10, SH_TARGET_CLASS}));
    return replica;
}

static void only_large_layers_that_begin_a_bucket_are_taken(void **state)
{
    (void)state;
    sh_factors *factors;
    sh_replica *replica = new_replica("lenet");
    assert_ok(sh_factors_new(&factors, replica, 64, 8));
    uint32_t taken = 0;
    for (uint32_t p = 0; p < replica->summed; p++) {
        taken += sh_factors_has(factors, p);
        if (sh_factors_has(factors, p))
            assert_int_equal(sh_sum_elements(replica->sum, p), 400000);
    }
    assert_int_equal(taken, 1);
    assert_int_equal(sh_factors_bytes(factors), 2 * (64 * 1300 + 8) * 4 + 8 * (sizeof(void *) + 1));
    sh_factors_free(factors);
    assert_ok(sh_factors_new(&factors, replica, 4096, 8));
    assert_null(factors);
    assert_int_equal(sh_factors_bytes(NULL), 0);
    assert_false(sh_factors_has(NULL, 0));
    assert_ok(sh_factors_share(NULL));
    sh_replica_free(replica);
}

static void records_are_of_the_grains_that_are_missing(void **state)
{
    (void)state;
    static const struct {
        uint32_t first, second;
        bool fine;
    } cases[] = {{1, 2, true},  {2, 1, true},  {1, 1, false},         {0, 2, false},
                 {1, 0, false}, {3, 2, false}, {UINT32_MAX, 2, false}};
    sh_factors *factors;
    sh_replica *replica = new_replica("lenet");
    assert_ok(sh_factors_new(&factors, replica, SAMPLES, GRAIN));
    assert_ok(sh_factors_share(factors));
    const sh_batch batch = sh_batch_of_all(SAMPLES, GRAIN);
    sh_ranges held = {0}, none = {0};
    assert_true(sh_ranges_add(&held, (sh_range){0, 1}));
    const sh_span before = sh_factors_begin(factors, &batch, &held); /* grains to compute */
    assert_int_equal(sh_factors_open(factors, 0, GRAIN), 0);
    const sh_span span = sh_factors_begin(factors, &batch, &none);
    assert_true(span.gathered && before.gathered);
    assert_int_equal(before.count, 1 + 4 * 1300);
    assert_int_equal(span.count, before.count);
    assert_int_equal(span.room, 2 + 6 * 1300);
    assert_int_equal(before.room, span.room);
    uint32_t *others = span.total, count;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(others, 0, span.room * sizeof *others);
        others[0] = cases[i].first;
        others[1 + (cases[i].first == 2 ? 2 : 4) * 1300] = cases[i].second;
        assert_int_equal(sh_factors_begin(factors, &batch, &none).room, span.room);
        if (!cases[i].fine) {
            assert_fails(sh_factors_read(factors, &batch, &held, span.room, &count), SH_FORMAT,
                         "factors");
            continue;
        }
        const size_t first = 1 + (cases[i].first == 2 ? 2 : 4) * 1300;
        assert_ok(sh_factors_read(factors, &batch, &held, first, &count)); /* one record */
        assert_int_equal(count, 1);
        assert_ok(sh_factors_read(factors, &batch, &held, span.room, &count));
        assert_int_equal(count, 2);
        assert_int_equal(sh_factors_samples(factors, &batch, 0), cases[i].first == 2 ? 2 : 4);
        assert_int_equal(sh_factors_samples(factors, &batch, 1), cases[i].first == 2 ? 4 : 2);
    }
    assert_int_equal(sh_factors_begin(factors, &batch, &none).room, span.room);
    others[0] = 1;
    assert_fails(sh_factors_read(factors, &batch, &held, 4 * 1300, &count), SH_FORMAT, "grain 1");
    sh_factors_free(factors);
    sh_replica_free(replica);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_pays_is_a_function_of_sizes),
        cmocka_unit_test(only_large_layers_that_begin_a_bucket_are_taken),
        cmocka_unit_test(records_are_of_the_grains_that_are_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
