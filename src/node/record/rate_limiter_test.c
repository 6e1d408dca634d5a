/* SPDX-License-Identifier: Apache-2.0 */
#include "node/record/rate_limiter.h"

#include "base/test.h"

#define SECOND UINT64_C(1000000000)

typedef struct outcome {
    uint64_t records, dropped, reports;
} outcome;

/* Delivers within a second from `*now_ns`. */
static outcome deliver(sh_rate_limiter *limiter, uint64_t *now_ns, uint32_t count, uint32_t samples,
                       uint32_t steps, uint32_t dropped)
{
    outcome out = {0};
    static sh_telemetry_batch batch;
    for (uint32_t i = 0; i < count; i++) {
        *now_ns += SECOND / count;
        batch.sample_count = samples;
        batch.step_count = steps;
        batch.dropped = dropped;
        sh_rate_limiter_apply(limiter, &batch, *now_ns);
        assert_true(batch.sample_count <= samples && batch.step_count <= steps);
        out.records += batch.sample_count + batch.step_count;
        out.dropped += batch.dropped;
        out.reports += batch.dropped > 0;
    }
    return out;
}

static void what_devices_send_comes_through(void **state)
{
    (void)state;
    sh_rate_limiter limiter = {0};
    uint64_t now_ns = 5 * SECOND;
    for (int second = 0; second < 60; second++) { /* 3000 steps per second */
        const outcome out = deliver(&limiter, &now_ns, 50, 1, 60, 0);
        assert_int_equal(out.records, 50 * 61);
        assert_int_equal(out.dropped, 0);
    }
    assert_int_equal(deliver(&limiter, &now_ns, 1, 10, 500, 7).dropped, 7);
}

static void a_flood_is_cut_and_counted(void **state)
{
    (void)state;
    sh_rate_limiter limiter = {0};
    uint64_t now_ns = 5 * SECOND, records = 0, dropped = 0, reports = 0;
    for (int second = 0; second < 10; second++) {
        const outcome out =
            deliver(&limiter, &now_ns, 1000, SH_TELEMETRY_SAMPLES, SH_TELEMETRY_STEPS, 1);
        records += out.records;
        dropped += out.dropped;
        reports += out.reports;
    }
    assert_in_range(records, 10 * SH_RATE_LIMITER_RECORDS, 11 * SH_RATE_LIMITER_RECORDS);
    assert_in_range(reports, 10, 11); /* each is an event in the journal */
    const uint64_t sent = UINT64_C(10000) * (SH_TELEMETRY_SAMPLES + SH_TELEMETRY_STEPS + 1);
    assert_int_equal(records + dropped + limiter.untold, sent);

    now_ns += SECOND;
    (void)deliver(&limiter, &now_ns, 1, 0, 0, 0);
    assert_int_equal(deliver(&limiter, &now_ns, 10, 1, 100, 0).records, 1010);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_devices_send_comes_through),
        cmocka_unit_test(a_flood_is_cut_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
