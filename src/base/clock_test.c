/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <poll.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/test.h"

static uint64_t tick(void *context)
{
    return *(uint64_t *)context += 5;
}

static void time_is_handed_in(void **state)
{
    (void)state;
    uint64_t now = 100;
    const sh_clock clock = {.now_ns = tick, .context = &now};
    assert_int_equal(sh_clock_now_ns(&clock), 105);
    assert_int_equal(sh_clock_now_ns(&clock), 110);
}

static void system_time_goes_on_and_never_back(void **state)
{
    (void)state;
    const sh_clock *clock = sh_clock_system();
    assert_ptr_equal(clock, sh_clock_system());
    const uint64_t start = sh_clock_now_ns(clock);
    uint64_t before = start, now = start;
    while (now - start < 200000) { /* 0.2 ms */
        now = sh_clock_now_ns(clock);
        assert_true(now >= before);
        before = now;
    }
}

static double seconds_now(void)
{
    return (double)sh_clock_now_ns(sh_clock_system()) * 1e-9;
}

static void processor_time_is_what_work_took(void **state)
{
    (void)state;
    double start = seconds_now(), used_before = sh_process_cpu_seconds(), used = 0;
    volatile uint32_t sum = 0;
    while (used < 1e-3) {
        for (uint32_t i = 0; i < 10000; i++)
            sum = sum + i;
        used = sh_process_cpu_seconds() - used_before;
        assert_true(used >= 0);
    }
    assert_true(used <= seconds_now() - start + 1e-3);

    start = seconds_now();
    used_before = sh_process_cpu_seconds();
    poll(NULL, 0, 5);
    assert_true(seconds_now() - start >= 5e-3);
    assert_true(sh_process_cpu_seconds() - used_before < 4e-3);
}

static void peak_memory_sees_what_was_touched(void **state)
{
    (void)state;
    const size_t bytes = 48u << 20;
    const uint64_t before = sh_process_peak_rss_bytes();
    void *block = NULL;
    assert_in_range(before, 100000, UINT64_MAX / 2); /* bytes, not kibibytes */
    assert_ok(sh_block_new(&block, bytes, "a test"));
    memset(block, 1, bytes);
    const uint64_t with = sh_process_peak_rss_bytes();
    free(block);
    assert_true(with >= bytes);
    /* Linux counts in steps of some pages per processor. */
    assert_true(sh_process_peak_rss_bytes() + ((uint64_t)1 << 20) >= with);
}

static void memory_is_counted_when_it_is_touched(void **state)
{
    (void)state;
    const size_t bytes = 32u << 20, most_noise = 4u << 20;
    void *pages = NULL;
    const uint64_t before = sh_process_rss_bytes();
    assert_ok(sh_pages_new(&pages, bytes, "a test"));
    assert_true(sh_process_rss_bytes() < before + most_noise);
    memset(pages, 1, bytes);
    assert_true(sh_process_rss_bytes() > before + bytes - most_noise);
    sh_pages_free(pages, bytes);
    assert_true(sh_process_rss_bytes() < before + most_noise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_handed_in),
        cmocka_unit_test(system_time_goes_on_and_never_back),
        cmocka_unit_test(processor_time_is_what_work_took),
        cmocka_unit_test(memory_is_counted_when_it_is_touched),
        cmocka_unit_test(peak_memory_sees_what_was_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
