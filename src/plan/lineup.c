/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set's exchange depends on its size and its slowest link, its computation on its rates, so the
 * best set of n devices with at least some link speed has the n highest rates. A device without a
 * grain makes no set faster, and the set without it is tried first.
 */
#include "plan/lineup.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define AS_FAST 1e-3 /* of a step's time: no gain */
#define EACH 24      /* up to here all numbers of devices are tried */

double sh_lineup_bytes(const sh_lineup_job *job, uint32_t n)
{
    return (2 * job->summed + job->gathered) * (n - 1) / n;
}

double sh_lineup_speed(const sh_lineup_device *device)
{
    const double out = device->out > 0 ? device->out : INFINITY;
    const double in = device->in > 0 ? device->in : INFINITY;
    return fmin(out, in);
}

/* The exchange of n devices if all links are like this one. */
static double link_s(const sh_lineup_job *job, const sh_lineup_device *device, uint32_t n)
{
    const double hops = job->servers ? 2 : 2.0 * (n - 1);
    return sh_lineup_bytes(job, n) / sh_lineup_speed(device) + hops * device->delay_s / 2;
}

static void fill_rates(double *filled, const sh_lineup_device *devices, uint32_t count)
{
    float rates[SH_DEVICES_MAX];
    for (uint32_t i = 0; i < count; i++)
        rates[i] = (float)devices[i].rate;
    sh_shares_fill_rates(filled, rates, count);
}

sh_lineup_time sh_lineup_time_of(const sh_lineup_job *job, const sh_lineup_device *devices,
                                 const bool *used, uint32_t count, sh_range *shares)
{
    sh_lineup_time time = {.exchange_s = 0};
    float rates[SH_DEVICES_MAX];
    double filled[SH_DEVICES_MAX];
    uint32_t seats[SH_DEVICES_MAX], n = 0;
    sh_range dealt[SH_DEVICES_MAX];
    assert(count <= SH_DEVICES_MAX);
    fill_rates(filled, devices, count);
    for (uint32_t i = 0; i < count; i++)
        if (used[i]) {
            rates[n] = (float)filled[i];
            seats[n++] = i;
        }
    assert(n > 0);
    sh_shares_deal(dealt, rates, n, job->grains, true);
    time.compute_s = sh_shares_longest(dealt, rates, n, NULL);
    time.slowest = seats[0];
    for (uint32_t i = 0; i < n && n > 1; i++) {
        const double seconds = job->stretch * link_s(job, &devices[seats[i]], n);
        if (seconds > time.exchange_s) {
            time.exchange_s = seconds;
            time.slowest = seats[i];
        }
    }
    time.seconds = job->base_s + time.compute_s + time.exchange_s;
    for (uint32_t i = 0; i < n && shares != NULL; i++)
        shares[i] = dealt[i];
    return time;
}

/* Devices that are not fixed, the fastest first. */
typedef struct others {
    uint32_t count;
    uint32_t items[SH_DEVICES_MAX];
    double links[SH_DEVICES_MAX]; /* seconds of an exchange of two over the link of the item */
} others;

static void find_others(others *found, const sh_lineup_job *job, const sh_lineup_device *devices,
                        uint32_t count)
{
    double filled[SH_DEVICES_MAX];
    found->count = 0;
    fill_rates(filled, devices, count);
    for (uint32_t i = 0; i < count; i++) {
        if (devices[i].fixed)
            continue;
        uint32_t at = found->count++;
        for (; at > 0 && filled[found->items[at - 1]] < filled[i]; at--) {
            found->items[at] = found->items[at - 1];
            found->links[at] = found->links[at - 1];
        }
        found->items[at] = i;
        found->links[at] = link_s(job, &devices[i], 2);
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The different link speeds, at most SH_LINEUP_LINKS, including the slowest. */
static uint32_t list_links(double *links, const others *from)
{
    double sorted[SH_DEVICES_MAX];
    uint32_t different = 0, count = 0;
    for (uint32_t i = 0; i < from->count; i++)
        sorted[i] = from->links[i];
    qsort(sorted, from->count, sizeof *sorted, compare);
    for (uint32_t i = 0; i < from->count; i++)
        if (different == 0 || sorted[i] > sorted[different - 1])
            sorted[different++] = sorted[i];
    for (uint32_t i = 0; i < different; i++)
        if (different <= SH_LINEUP_LINKS ||
            i * SH_LINEUP_LINKS / different != (i + 1) * SH_LINEUP_LINKS / different)
            links[count++] = sorted[i];
    return count;
}

void sh_lineup_choose(sh_lineup *lineup, const sh_lineup_job *job, const sh_lineup_device *devices,
                      uint32_t count, uint32_t most)
{
    others from;
    sh_lineup tried = {.count = 0};
    double links[SH_LINEUP_LINKS + 1];
    find_others(&from, job, devices, count);
    for (uint32_t i = 0; i < count; i++) {
        tried.used[i] = devices[i].fixed;
        tried.count += devices[i].fixed;
    }
    tried.time = sh_lineup_time_of(job, devices, tried.used, count, NULL);
    *lineup = tried;
    const sh_lineup fixed = tried;
    const uint32_t link_count = list_links(links, &from);
    for (uint32_t l = 0; l < link_count; l++) {
        uint32_t next = 0; /* the next number of devices to try */
        tried = fixed;
        for (uint32_t i = 0; i < from.count && tried.count < most; i++) {
            if (from.links[i] > links[l])
                continue;
            tried.used[from.items[i]] = true;
            tried.count++;
            if (tried.count < next)
                continue;
            next = tried.count + 1 + tried.count / EACH;
            tried.time = sh_lineup_time_of(job, devices, tried.used, count, NULL);
            const double need = lineup->time.seconds * (tried.count > lineup->count ? AS_FAST : 0);
            if (tried.time.seconds < lineup->time.seconds - need)
                *lineup = tried;
        }
    }
}
