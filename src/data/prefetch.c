/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread reads each record and throws it away: what it is after is the copy that the system
 * keeps. Decoding stays with the lanes. Why so:
 *
 * - A queue of decoded samples would be memory that a small device does not have, and would have
 *   to be handed from thread to thread; the page cache is there anyway, is given back when memory
 *   is short, and what was brought in vain costs nothing.
 * - posix_fadvise(WILLNEED) is a hint that some file systems (FUSE, some over a network) do not
 *   take; a read is understood everywhere, and waits here instead of in a lane.
 * - A record that is in the cache already costs one system call of half a microsecond to two. But
 *   the thread has no core of its own: waking it for nothing takes a core from a lane, and the
 *   other lanes wait for that one. So once SURE wishes in a row were there before they were asked
 *   for, it passes over one, then two, four ... REST_MOST of them before it looks again. In LeNet's
 *   steps of 4 ms the thread took 2 % of both cores, and waking it 45 us between the turns.
 *
 * A wish was there already where the thread did not have to wait for any of its records: it gave
 * up the processor by itself (ru_nvcsw) not once. That needs no clock, and is true of every file
 * system; whoever takes the processor away from it is not counted.
 *
 * A wish is a range of positions in an order, so it has a constant size, and one place is queue
 * enough: when the next wish comes, the lanes are already at the samples of the one before. The
 * lock guards the wish alone and is never held while a record is read.
 */
#include "data/prefetch.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/thread.h"

#define THIS_THREAD 1 /* Linux's RUSAGE_THREAD, which its headers show to GNU sources alone */
#define SURE 16       /* wishes in a row that were there, before some are passed over */
#define REST_MOST 32  /* wishes that are passed over at once */

typedef struct wish {
    sh_split split;
    bool ordered;
    sh_order order; /* where it is ordered */
    uint32_t first, count;
    bool begun;
} wish;

/* Of one split: whether its wishes have to be brought at all. */
typedef struct habit {
    uint32_t found; /* wishes in a row that were there */
    uint32_t rest;  /* wishes to pass over */
} habit;

struct sh_prefetch {
    const sh_dataset *dataset;
    const sh_pipeline *mixing; /* or NULL */
    bool runs;                 /* has a thread */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the three below */
    wish left;            /* what is left of the newest */
    habit habits[SH_SPLITS];
    bool ending;
    pthread_cond_t wake; /* a wish, or the end */
};

/* How often this thread has waited for something so far. */
static long count_waits(void)
{
    struct rusage used = {0};
    (void)getrusage(THIS_THREAD, &used);
    return used.ru_nvcsw;
}

/* Brings the first record of a wish and the sample that it is mixed with. False if touching does
 * nothing, or failed: the lane that needs the record will say why. */
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
        const wish one = prefetch->left; /* its first record is the next to bring */
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

bool sh_prefetch_rests(sh_prefetch *prefetch, sh_split split)
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
