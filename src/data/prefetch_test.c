/* SPDX-License-Identifier: Apache-2.0 */
#include "data/prefetch.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/test.h"
#include "data/dataset_impl.h"

enum { SAMPLES = 200 };

/* Reading a record waits until the gate is open. */
typedef struct slow_set {
    sh_dataset base;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t news;
    bool open;
    _Atomic uint32_t begun; /* records requested */
    uint32_t done;          /* records read */
    bool fails;
    bool touched[SH_SPLITS][SAMPLES];
    uint32_t last; /* requested last */
    long reader;
} slow_set;

static sh_status slow_read(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                           void *target)
{
    slow_set *set = (slow_set *)(uintptr_t)dataset;
    pthread_mutex_lock(&set->lock);
    *(int32_t *)target = set->touched[split][index]; /* reading would not wait */
    pthread_mutex_unlock(&set->lock);
    *(uint8_t *)sample = (uint8_t)index;
    return SH_OK;
}

static bool slow_touch(const sh_dataset *dataset, sh_split split, uint32_t index)
{
    slow_set *set = (slow_set *)(uintptr_t)dataset;
    pthread_mutex_lock(&set->lock);
    set->begun++;
    set->last = index;
    set->reader = syscall(SYS_gettid);
    pthread_cond_broadcast(&set->news);
    while (!set->open)
        pthread_cond_wait(&set->news, &set->lock);
    if (index < SAMPLES)
        set->touched[split][index] = true;
    set->done++;
    pthread_cond_broadcast(&set->news);
    pthread_mutex_unlock(&set->lock);
    return !set->fails;
}

static const sh_dataset_ops slow_ops = {.read = slow_read, .touch = slow_touch};

static void slow_init(slow_set *set, bool open)
{
    *set = (slow_set){.base = {.ops = &slow_ops,
                               .info = {.name = "slow",
                                        .channels = 1,
                                        .height = 1,
                                        .width = 1,
                                        .outputs = 2,
                                        .count = {SAMPLES, SAMPLES}}},
                      .open = open};
    pthread_mutex_init(&set->lock, NULL);
    pthread_cond_init(&set->news, NULL);
}

static void slow_release(slow_set *set)
{
    pthread_cond_destroy(&set->news);
    pthread_mutex_destroy(&set->lock);
}

/* Waits until `done` records are read. */
static void let_through(slow_set *set, uint32_t done)
{
    pthread_mutex_lock(&set->lock);
    set->open = true;
    pthread_cond_broadcast(&set->news);
    while (set->done < done)
        pthread_cond_wait(&set->news, &set->lock);
    pthread_mutex_unlock(&set->lock);
}

static void wait_begun(slow_set *set, uint32_t begun)
{
    pthread_mutex_lock(&set->lock);
    while (set->begun < begun)
        pthread_cond_wait(&set->news, &set->lock);
    pthread_mutex_unlock(&set->lock);
}

/* The system has then counted a voluntary switch. */
static bool sleeps(long thread)
{
    char path[64];
    char state = '?';
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
    fclose(file);
    return state == 'S';
}

/* If the gate was opened earlier, the thread would not sleep. */
static void wait_asleep(slow_set *set, uint32_t begun)
{
    wait_begun(set, begun);
    while (!sleeps(set->reader))
        sched_yield();
}

static bool is_there(const slow_set *set, sh_split split, uint32_t index)
{
    uint8_t byte;
    int32_t label = -1;
    assert_ok(sh_dataset_read(&set->base, split, index, &byte, &label));
    assert_int_equal(byte, (uint8_t)index);
    return label == 1;
}

static void what_was_wanted_is_there_when_it_is_read(void **state)
{
    (void)state;
    slow_set set;
    sh_prefetch *prefetch;
    sh_order order;
    slow_init(&set, true);
    sh_order_init(&order, 1, 0, SAMPLES);
    assert_ok(sh_prefetch_start(&prefetch, &set.base, NULL));
    sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, &order, 30, 20);
    let_through(&set, 20);
    sh_prefetch_want(prefetch, SH_SPLIT_VALIDATION, NULL, 7, 3);
    let_through(&set, 23);
    sh_prefetch_want(prefetch, SH_SPLIT_VALIDATION, NULL, 9, 0);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const bool wanted = i >= 30 && i < 50;
        assert_int_equal(is_there(&set, SH_SPLIT_TRAIN, sh_order_at(&order, i)), wanted);
        assert_int_equal(is_there(&set, SH_SPLIT_VALIDATION, i), i >= 7 && i < 10);
    }
    sh_prefetch_stop(prefetch);
    assert_int_equal(set.done, 23);
    slow_release(&set);
}

static void what_samples_are_mixed_with_is_brought_too(void **state)
{
    (void)state;
    slow_set set;
    sh_prefetch *prefetch;
    sh_pipeline *pipeline;
    sh_order order;
    slow_init(&set, true);
    sh_dataset *same = malloc(sizeof *same); /* the pipeline takes ownership */
    assert_non_null(same);
    *same = set.base;
    same->info.deviation[0] = 1;
    assert_ok(sh_pipeline_adopt(&pipeline, same,
                                &(sh_pipeline_options){.augment = "mixup:1", .seed = 1}));
    sh_order_init(&order, 1, 3, SAMPLES);
    assert_ok(sh_prefetch_start(&prefetch, &set.base, pipeline));
    sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, &order, 30, 20);
    let_through(&set, 40);
    for (uint32_t i = 30; i < 50; i++) {
        const uint32_t index = sh_order_at(&order, i);
        const uint32_t partner = sh_pipeline_partner(pipeline, &order, i);
        assert_int_not_equal(partner, index);
        assert_true(is_there(&set, SH_SPLIT_TRAIN, index));
        assert_true(is_there(&set, SH_SPLIT_TRAIN, partner));
    }
    sh_prefetch_want(prefetch, SH_SPLIT_VALIDATION, NULL, 7, 3);
    let_through(&set, 43);
    sh_prefetch_stop(prefetch);
    assert_int_equal(set.done, 43);
    sh_pipeline_close(pipeline);
    slow_release(&set);
}

static void the_newest_wish_wins_and_none_waits(void **state)
{
    (void)state;
    slow_set set;
    sh_prefetch *prefetch;
    slow_init(&set, false);
    assert_ok(sh_prefetch_start(&prefetch, &set.base, NULL));
    sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, NULL, 0, 50);
    wait_begun(&set, 1);
    for (uint32_t i = 0; i < 1000; i++)
        sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, NULL, 60, 50);
    sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, NULL, 120, 5);
    assert_false(is_there(&set, SH_SPLIT_TRAIN, 0));
    let_through(&set, 6);
    sh_prefetch_stop(prefetch);
    for (uint32_t i = 0; i < SAMPLES; i++)
        assert_int_equal(set.touched[SH_SPLIT_TRAIN][i], i == 0 || (i >= 120 && i < 125));
    assert_int_equal(set.begun, 6);
    slow_release(&set);
}

static void wishes_that_are_always_there_are_passed_over(void **state)
{
    (void)state;
    enum { WISHES = 3000 };
    slow_set set;
    sh_prefetch *prefetch;
    slow_init(&set, true);
    assert_ok(sh_prefetch_start(&prefetch, &set.base, NULL));
    while (!sh_prefetch_will_skip(prefetch, SH_SPLIT_TRAIN)) {
        const uint32_t goal = set.begun + 2;
        sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, NULL, 0, 2);
        /* Wait for both records, since a replaced request proves nothing. Take a lock seldom: if
         * the thread waits for it, the records do not count as cached. */
        for (uint32_t looks = 1; set.begun < goal; looks++) {
            sched_yield();
            if (looks % 1024 == 0 && sh_prefetch_will_skip(prefetch, SH_SPLIT_TRAIN))
                break;
        }
    }
    assert_false(sh_prefetch_will_skip(prefetch, SH_SPLIT_VALIDATION));
    const uint32_t before = set.begun;
    for (uint32_t i = 0; i < WISHES; i++) {
        sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, NULL, 0, 1);
        sched_yield();
    }
    assert_in_range(set.begun, before, before + WISHES / 8);
    sh_prefetch_want(prefetch, SH_SPLIT_VALIDATION, NULL, 5, 1);
    while (!is_there(&set, SH_SPLIT_VALIDATION, 5))
        sched_yield();
    sh_prefetch_stop(prefetch);
    slow_release(&set);
}

static void none_is_while_some_are_waited_for_or_fail(void **state)
{
    (void)state;
    slow_set set;
    sh_prefetch *prefetch;
    for (int fails = 0; fails < 2; fails++) {
        slow_init(&set, false);
        set.fails = fails == 1;
        assert_ok(sh_prefetch_start(&prefetch, &set.base, NULL));
        for (uint32_t i = 0; i < 100; i++) {
            pthread_mutex_lock(&set.lock);
            set.open = set.fails;
            pthread_mutex_unlock(&set.lock);
            sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, NULL, i, 1);
            if (set.fails)
                wait_begun(&set, i + 1);
            else
                wait_asleep(&set, i + 1);
            let_through(&set, i + 1);
        }
        assert_false(sh_prefetch_will_skip(prefetch, SH_SPLIT_TRAIN));
        sh_prefetch_stop(prefetch);
        slow_release(&set);
    }
}

static void it_stops_in_the_middle(void **state)
{
    (void)state;
    slow_set set;
    sh_prefetch *prefetch;
    slow_init(&set, true);
    assert_ok(sh_prefetch_start(&prefetch, &set.base, NULL));
    sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, NULL, 0, UINT32_MAX);
    let_through(&set, 3);
    sh_prefetch_stop(prefetch);
    assert_in_range(set.done, 3, UINT32_MAX - 1);
    assert_int_equal(set.begun, set.done);
    assert_int_equal(set.last, set.done - 1);

    assert_ok(sh_prefetch_start(&prefetch, &set.base, NULL));
    sh_prefetch_stop(prefetch);
    sh_prefetch_stop(NULL);
    slow_release(&set);
}

static void data_on_no_disk_need_nothing(void **state)
{
    (void)state;
    sh_dataset *digits;
    sh_prefetch *prefetch;
    assert_ok(sh_dataset_open(&digits, "digits:5/5", NULL));
    assert_false(sh_dataset_touches(digits));
    assert_false(sh_dataset_touch(digits, SH_SPLIT_TRAIN, 0));
    assert_ok(sh_prefetch_start(&prefetch, digits, NULL));
    sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, NULL, 0, 5);
    sh_prefetch_stop(prefetch);
    sh_dataset_close(digits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_wanted_is_there_when_it_is_read),
        cmocka_unit_test(what_samples_are_mixed_with_is_brought_too),
        cmocka_unit_test(the_newest_wish_wins_and_none_waits),
        cmocka_unit_test(wishes_that_are_always_there_are_passed_over),
        cmocka_unit_test(none_is_while_some_are_waited_for_or_fail),
        cmocka_unit_test(it_stops_in_the_middle),
        cmocka_unit_test(data_on_no_disk_need_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
