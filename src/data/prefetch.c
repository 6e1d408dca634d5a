/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread reads records only into the system's page cache, which shrinks when memory is short;
 * lanes decode them. It reads because some file systems (FUSE, network) ignore
 * posix_fadvise(WILLNEED). A *wish* is a range of an order that will be read soon.
 *
 * A cached record costs a system call of 0.5 to 2 us, but waking the thread takes a core from a
 * lane, and the other lanes wait for that one. So after SURE cached wishes in a row it skips one,
 * then two, four ... REST_MOST before it checks again.
 *
 * A wish was cached if the thread made no voluntary context switch (ru_nvcsw). That needs no clock
 * and ignores preemption.
 *
 * One slot suffices: when the next wish arrives, the lanes have reached the previous one. The lock
 * guards the wish and is never held while reading.
 */
#include "data/prefetch.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/thread.h"

#define THIS_THREAD 1 /* Linux's RUSAGE_THREAD, which needs _GNU_SOURCE */
#define SURE 16       /* cached wishes in a row before any are skipped */
#define REST_MOST 32  /* wishes skipped at once */

typedef struct wish {
    sh_split split;
    bool ordered;
    sh_order order; /* if `ordered` */
    uint32_t first, count;
    bool begun;
} wish;

typedef struct habit {
    uint32_t found; /* cached wishes in a row */
    uint32_t rest;  /* wishes to skip */
} habit;

struct sh_prefetch {
    const sh_dataset *dataset;
    const sh_pipeline *mixing; /* or NULL */
    bool runs;                 /* has a thread */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the three below */
    wish left;            /* rest of the newest wish */
    habit habits[SH_SPLITS];
    bool ending;
    pthread_cond_t wake;
};

static long count_waits(void)
{
    struct rusage used = {0};
    (void)getrusage(THIS_THREAD, &used);
    return used.ru_nvcsw;
}

/* Reads a wish's first record and its partner. False: no effect or failed; the lane reports why. */
static bool bring(const sh_prefetch *prefetch, const wish *one)
{
    const uint32_t index = one->ordered ? sh_order_at(&one->order, one->first) : one->first;
    const bool came = sh_dataset_touch(prefetch->dataset, one->split, index);
    if (prefetch->mixing == NULL || one->split != SH_SPLIT_TRAIN || !one->ordered)
        return came;
    const uint32_t partner = sh_pipeline_partner(prefetch->mixing, &one->order, one->first);
    return (partner == index || sh_dataset_touch(prefetch->dataset, one->split, partner)) && came;
}

static void *prefetch_main(void *argument)
{
    sh_prefetch *prefetch = argument;
    long waits = 0;
    bool all = true;
    pthread_mutex_lock(&prefetch->lock);
    for (;;) {
        while (prefetch->left.count == 0 && !prefetch->ending)
            pthread_cond_wait(&prefetch->wake, &prefetch->lock);
        if (prefetch->ending)
            break;
        const wish one = prefetch->left;
        prefetch->left.first++;
        prefetch->left.count--;
        prefetch->left.begun = true;
        pthread_mutex_unlock(&prefetch->lock);

        if (!one.begun) {
            waits = count_waits();
            all = true;
        }
        all = bring(prefetch, &one) && all;
        const bool was_last = one.count == 1;
        const bool was_there = was_last && all && count_waits() == waits;

        pthread_mutex_lock(&prefetch->lock);
        habit *of = &prefetch->habits[one.split];
        if (was_last) {
            of->found = was_there ? of->found + 1 : 0;
            of->rest = of->found < SURE ? 0 : 1;
            for (uint32_t i = SURE; i < of->found && of->rest < REST_MOST; i++)
                of->rest *= 2;
        }
    }
    pthread_mutex_unlock(&prefetch->lock);
    return NULL;
}

sh_status sh_prefetch_start(sh_prefetch **prefetch, const sh_dataset *dataset,
                            const sh_pipeline *mixing)
{
    sh_prefetch *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the reader of coming samples");
    fresh->dataset = dataset;
    fresh->mixing = mixing;
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_cond_init(&fresh->wake, NULL);
    if (sh_dataset_touches(dataset)) {
        const int error = sh_thread_start(&fresh->thread, prefetch_main, fresh);
        if (error != 0) {
            sh_prefetch_stop(fresh);
            return sh_fail_errno(error, "starting a thread");
        }
        fresh->runs = true;
    }
    *prefetch = fresh;
    return SH_OK;
}

void sh_prefetch_want(sh_prefetch *prefetch, sh_split split, const sh_order *order, uint32_t first,
                      uint32_t count)
{
    if (!prefetch->runs)
        return;
    wish fresh = {.split = split, .ordered = order != NULL, .first = first, .count = count};
    if (order != NULL)
        fresh.order = *order;
    pthread_mutex_lock(&prefetch->lock);
    habit *of = &prefetch->habits[split];
    if (of->rest > 0) {
        of->rest--;
    } else {
        prefetch->left = fresh;
        pthread_cond_signal(&prefetch->wake);
    }
    pthread_mutex_unlock(&prefetch->lock);
}

bool sh_prefetch_will_skip(sh_prefetch *prefetch, sh_split split)
{
    pthread_mutex_lock(&prefetch->lock);
    const bool rests = prefetch->habits[split].rest > 0;
    pthread_mutex_unlock(&prefetch->lock);
    return rests;
}

void sh_prefetch_stop(sh_prefetch *prefetch)
{
    if (prefetch == NULL)
        return;
    if (prefetch->runs) {
        pthread_mutex_lock(&prefetch->lock);
        prefetch->ending = true;
        pthread_cond_signal(&prefetch->wake);
        pthread_mutex_unlock(&prefetch->lock);
        pthread_join(prefetch->thread, NULL);
    }
    pthread_cond_destroy(&prefetch->wake);
    pthread_mutex_destroy(&prefetch->lock);
    free(prefetch);
}
