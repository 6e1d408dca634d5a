/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a step takes with some of the devices, and with which of them it is the shortest. More
 * devices compute a share sooner, and have more to exchange.
 *
 *     const sh_lineup_job job = {.grains = 8, .summed = 1.7e6, .stretch = 1};
 *     sh_lineup_choose(&lineup, &job, devices, count, count);
 *     if (lineup.used[3]) ... lineup.time.seconds ...
 *
 * A step takes
 *
 *     base + compute + stretch * exchange
 *
 *     base      what a device alone needs beyond its grains, as for the update
 *     compute   the longest share; whole grains, dealt by rate (plan/shares.h)
 *     exchange  bytes that each device sends, over the slowest link, and the way from device to
 *               device as often as the engine needs it; 0 for one device
 *     stretch   what is measured of the exchange, over what links alone explain: computing hides
 *               some of it, encryption and additions take some of the processor
 *
 * Around a ring of n each device sends 2 (n - 1) / n of the summed bytes (Patarasuk and Yuan,
 * "Bandwidth optimal all-reduce algorithms", 2009), and (n - 1) / n of those that all gather.
 *
 * Threads: any; pure functions. Times are seconds.
 */
#ifndef SHOAL_PLAN_LINEUP_H
#define SHOAL_PLAN_LINEUP_H

#include "plan/shares.h"

/* Zero says not known, in each: such a rate counts as the mean of the known ones, such a link as
 * one that takes no time. */
typedef struct sh_lineup_device {
    double rate;    /* grains/s */
    double out, in; /* bytes/s that its link carries */
    double delay_s; /* there and back */
    bool fixed;     /* takes part in any case */
} sh_lineup_device;

typedef struct sh_lineup_job {
    uint32_t grains; /* of a step */
    double summed;   /* bytes of a step that are added up */
    double gathered; /* likewise, that all devices gather (train/factors.h) */
    bool servers;    /* all devices serve, and nothing goes around a ring */
    double base_s;   /* as above, as the next one */
    double stretch;
} sh_lineup_job;

/* The stretch before it is measured: computing hides some of the exchange, and a link is seldom
 * worse than it seems. */
#define SH_LINEUP_STRETCH 0.75

typedef struct sh_lineup_time {
    double seconds;
    double compute_s, exchange_s;
    uint32_t slowest; /* the device whose link takes the longest; of several devices */
} sh_lineup_time;

typedef struct sh_lineup {
    bool used[SH_DEVICES_MAX];
    uint32_t count;
    sh_lineup_time time;
} sh_lineup;

/* Bytes that each of n devices sends in a step. */
double sh_lineup_bytes(const sh_lineup_job *job, uint32_t n);

/* Bytes/s of a device's slower direction; infinity where it is not known. */
double sh_lineup_speed(const sh_lineup_device *device);

/* Of the devices that are used: at least one, of at most SH_DEVICES_MAX. A device gets no grain
 * where the step is shorter without it. `shares` (optional) gets what each gets, in their order. */
sh_lineup_time sh_lineup_time_of(const sh_lineup_job *job, const sh_lineup_device *devices,
                                 const bool *used, uint32_t count, sh_range *shares);

/*
 * The devices with which a step is the shortest: the fixed ones, at least one, and some of the
 * others, `most` in all. For each speed of links the fastest devices of those with such links are
 * tried. What that misses is small: whole grains may fall better on slower devices, and of more
 * than SH_LINEUP_LINKS different links, or some dozens of devices, not each number is tried. Each
 * device that is not fixed has a grain. Of sets that are as fast, the smallest.
 */
void sh_lineup_choose(sh_lineup *lineup, const sh_lineup_job *job, const sh_lineup_device *devices,
                      uint32_t count, uint32_t most);

#define SH_LINEUP_LINKS 24

#endif
