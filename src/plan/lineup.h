/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a step with a set of devices, and the set with the shortest step. More devices finish
 * computing sooner and exchange more. A step takes
 *
 *     base + compute + stretch * exchange
 *
 *     base      time of one device apart from its grains, such as the update
 *     compute   the longest share; whole grains, dealt by rate (plan/shares.h)
 *     exchange  the bytes that each device sends over the rate of the slowest link, plus the delay
 *               of each hop of the engine; 0 for one device
 *     stretch   measured exchange relative to the links' time: computing hides a part, encryption
 *               and additions add to it
 *
 * In a ring of n, each device sends 2 (n - 1) / n of the summed bytes (Patarasuk and Yuan,
 * "Bandwidth optimal all-reduce algorithms", 2009), and (n - 1) / n of the gathered bytes.
 *
 * Threads: any; pure. Times are seconds.
 */
#ifndef SHOAL_PLAN_LINEUP_H
#define SHOAL_PLAN_LINEUP_H

#include "plan/shares.h"

/* 0: unknown. An unknown rate counts as the mean of the known ones, an unknown link as infinitely
 * fast. */
typedef struct sh_lineup_device {
    double rate;    /* grains/s */
    double out, in; /* bytes/s */
    double delay_s; /* round trip */
    bool fixed;     /* always takes part */
} sh_lineup_device;

typedef struct sh_lineup_job {
    uint32_t grains; /* per step */
    double summed;   /* bytes per step */
    double gathered; /* likewise, gathered by all devices (train/factors.h) */
    bool servers;    /* all devices are servers; no ring */
    double base_s;
    double stretch;
} sh_lineup_job;

/* The stretch before a measurement: computing hides a part of the exchange, and links are seldom
 * slower than measured. */
#define SH_LINEUP_STRETCH 0.75

typedef struct sh_lineup_time {
    double seconds;
    double compute_s, exchange_s;
    uint32_t slowest; /* device with the slowest link, if there are several */
} sh_lineup_time;

typedef struct sh_lineup {
    bool used[SH_DEVICES_MAX];
    uint32_t count;
    sh_lineup_time time;
} sh_lineup;

/* Bytes that each of n devices sends in a step. */
double sh_lineup_bytes(const sh_lineup_job *job, uint32_t n);

/* Bytes/s of the slower direction; infinity if unknown. */
double sh_lineup_speed(const sh_lineup_device *device);

/* `used` has between one and SH_DEVICES_MAX devices. A device gets no grain if the step is shorter
 * without it. `shares` (optional) receives the share of each used device, in order. */
sh_lineup_time sh_lineup_time_of(const sh_lineup_job *job, const sh_lineup_device *devices,
                                 const bool *used, uint32_t count, sh_range *shares);

/*
 * Chooses the devices with the shortest step: the fixed ones (at least one) and others, at most
 * `most` in all. For each link speed it tries the fastest devices with such links. Whole grains may
 * suit slower devices better, and with more than SH_LINEUP_LINKS different links, or dozens of
 * devices, it does not try every number; it misses little. Each chosen device that is not fixed has
 * a grain. Of equally fast sets it takes the smallest.
 */
void sh_lineup_choose(sh_lineup *lineup, const sh_lineup_job *job, const sh_lineup_device *devices,
                      uint32_t count, uint32_t most);

#define SH_LINEUP_LINKS 24

#endif
