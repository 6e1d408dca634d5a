/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the trainer: a data set that checks whether its samples were prefetched. */
#ifndef SHOAL_TRAIN_WATCHED_FIXTURE_H
#define SHOAL_TRAIN_WATCHED_FIXTURE_H

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "data/dataset_impl.h"
#include "data/order.h"
#include "train/schedule.h"

#define WATCHED 50 /* samples of a split */

/* A data set that records which samples were prefetched. A read in step n waits until the samples
 * of step n + 1 are prefetched, so a test can tell whether each sample was prefetched in time. */
typedef struct watched_set {
    sh_dataset base;
    pthread_mutex_t lock; /* guards `there` */
    pthread_cond_t news;
    bool there[SH_SPLITS][WATCHED];
    sh_schedule schedule;
    uint64_t seed, step; /* `step` is being computed */
    uint32_t missed;     /* samples not prefetched in time; guarded by `lock` */
} watched_set;

static inline uint32_t watched_sample(const watched_set *set, uint64_t step, uint32_t position)
{
    sh_order order;
    const sh_batch batch = sh_schedule_batch(&set->schedule, step);
    sh_order_init(&order, set->seed, batch.epoch, set->schedule.samples);
    return sh_order_at(&order, batch.samples.first + position);
}

static inline void set_there(watched_set *set, sh_split split, uint32_t index, bool there)
{
    pthread_mutex_lock(&set->lock);
    set->there[split][index] = there;
    pthread_cond_broadcast(&set->news);
    pthread_mutex_unlock(&set->lock);
}

static inline void watch_disk(watched_set *set)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&set->lock, NULL);
    pthread_cond_init(&set->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Counts the sample as missed after 30 seconds. */
static inline void wait_there(watched_set *set, sh_split split, uint32_t index)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 30;
    pthread_mutex_lock(&set->lock);
    while (!set->there[split][index] && set->missed == 0)
        if (pthread_cond_timedwait(&set->news, &set->lock, &deadline) != 0)
            set->missed++;
    pthread_mutex_unlock(&set->lock);
}

/* Marks a used sample as not prefetched, unless the next step needs it too. */
static inline void forget(watched_set *set, uint32_t index)
{
    const uint64_t next = set->step + 1;
    for (uint32_t i = 0; i < sh_schedule_batch(&set->schedule, next).samples.count; i++)
        if (watched_sample(set, next, i) == index)
            return;
    set_there(set, SH_SPLIT_TRAIN, index, false);
}

static inline bool watched_touch(const sh_dataset *dataset, sh_split split, uint32_t index)
{
    set_there((watched_set *)(uintptr_t)dataset, split, index, true);
    return true;
}

static inline sh_status watched_read(const sh_dataset *dataset, sh_split split, uint32_t index,
                                     void *sample, void *target)
{
    watched_set *set = (watched_set *)(uintptr_t)dataset;
    const uint64_t next = set->step + 1;
    memset(sample, (int)(10 * index), 64);
    *(int32_t *)target = (int32_t)index % 10;
    if (split == SH_SPLIT_VALIDATION) {
        wait_there(set, split, index);
        return SH_OK;
    }
    pthread_mutex_lock(&set->lock);
    set->missed += set->step > 0 && !set->there[split][index];
    pthread_mutex_unlock(&set->lock);
    if (next < set->schedule.total_steps)
        for (uint32_t i = 0; i < sh_schedule_batch(&set->schedule, next).samples.count; i++)
            wait_there(set, split, watched_sample(set, next, i));
    return SH_OK;
}

static inline void watched_close(sh_dataset *dataset)
{
    (void)dataset;
}

#endif
