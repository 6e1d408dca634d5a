/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/monitor.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/test.h"

#define HOUR_MS 3600000u

typedef struct keeper {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t count;
    uint64_t at_ns[64]; /* of the samples */
    bool held;          /* the sink blocks */
} keeper;

#define KEEPER                                                                                     \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

static void keep(void *context, const sh_sample *sample)
{
    keeper *k = context;
    pthread_mutex_lock(&k->lock);
    if (k->count < sizeof k->at_ns / sizeof *k->at_ns)
        k->at_ns[k->count] = sample->at_ns;
    k->count++;
    pthread_cond_signal(&k->changed);
    while (k->held)
        pthread_cond_wait(&k->changed, &k->lock);
    pthread_mutex_unlock(&k->lock);
}

static void wait_for(keeper *k, size_t count)
{
    pthread_mutex_lock(&k->lock);
    while (k->count < count)
        pthread_cond_wait(&k->changed, &k->lock);
    pthread_mutex_unlock(&k->lock);
}

static sh_monitor *start(keeper *k, uint32_t period_ms)
{
    sh_monitor *monitor;
    assert_ok(sh_monitor_start(
        &monitor, &(sh_monitor_options){.period_ms = period_ms, .sink = keep, .context = k}));
    return monitor;
}

static uint64_t now_ns(void)
{
    return sh_clock_now_ns(sh_clock_system());
}

/* It does not wait for the period of an hour. */
static void stops_promptly_with_a_last_sample(void **state)
{
    (void)state;
    keeper k = KEEPER;
    sh_monitor *monitor = start(&k, HOUR_MS);
    wait_for(&k, 1);
    const uint64_t stop_ns = now_ns();
    sh_monitor_stop(monitor);
    assert_int_equal(k.count, 2);
    assert_true(k.at_ns[1] >= stop_ns);
    if (now_ns() - stop_ns > 1000000000u)
        fail_msg("stopping took %.3f s", 1e-9 * (double)(now_ns() - stop_ns));
}

static void stops_before_it_has_begun(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        keeper k = KEEPER;
        sh_monitor_stop(start(&k, HOUR_MS));
        assert_int_equal(k.count, 2);
    }
    sh_monitor_stop(NULL);
}

/* Sample n is due n periods after the start. */
static void samples_come_at_the_period(void **state)
{
    (void)state;
    keeper k = KEEPER;
    const uint64_t start_ns = now_ns();
    sh_monitor *monitor = start(&k, 5);
    wait_for(&k, 6);
    sh_monitor_stop(monitor);
    for (size_t i = 0; i < 6; i++)
        assert_true(k.at_ns[i] - start_ns >= i * 5000000u);
}

static void a_slow_sink_gets_no_backlog(void **state)
{
    (void)state;
    keeper k = KEEPER;
    k.held = true;
    sh_monitor *monitor = start(&k, 5);
    wait_for(&k, 1);
    const uint64_t until_ns = now_ns() + 50000000u;
    while (now_ns() < until_ns)
        ;
    pthread_mutex_lock(&k.lock);
    k.held = false;
    pthread_cond_broadcast(&k.changed);
    pthread_mutex_unlock(&k.lock);
    wait_for(&k, 4);
    sh_monitor_stop(monitor);
    assert_true(k.at_ns[1] >= until_ns);
    assert_true(k.at_ns[3] - until_ns >= 2 * 5000000u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_promptly_with_a_last_sample),
        cmocka_unit_test(stops_before_it_has_begun),
        cmocka_unit_test(samples_come_at_the_period),
        cmocka_unit_test(a_slow_sink_gets_no_backlog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
