/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what slows a job, by comparing each device's means with its peers. With balancing, a slow
 * device computes fewer grains, so it is slow per grain, but not per step; both are reported. Under
 * processor quotas, all devices are throttled, so only the difference from the peers counts.
 * Devices that took part in few steps are ignored.
 *
 *     sh_bottleneck bottleneck;
 *     sh_bottleneck_find(&bottleneck, devices, count);
 *     puts(bottleneck.text);                                 // "Balanced: ..." or the worst
 *
 * Threads: any; pure.
 */
#ifndef SHOAL_REPORT_BOTTLENECK_H
#define SHOAL_REPORT_BOTTLENECK_H

#include <stddef.h>

#define SH_CAUSE_MAP(X)                                                                            \
    X(compute, "it computes longer than its peers, without throttling")                            \
    X(throttled, "a quota, heat or low voltage throttles its processor")                           \
    X(memory, "its memory is short")                                                               \
    X(network, "sums wait for a link")                                                             \
    X(wait, "it waits for the others: its share is too small")                                     \
    X(idle, "it computes nothing, and forwards what the others exchange")

typedef enum sh_cause {
#define SH_CAUSE_ENUM(name, what) SH_CAUSE_##name,
    SH_CAUSE_MAP(SH_CAUSE_ENUM)
#undef SH_CAUSE_ENUM
        SH_CAUSE_COUNT
} sh_cause;

#define SH_VERDICT_FINDINGS 16
#define SH_VERDICT_TEXT_BYTES 512

/* Devices are in ring order. NaN: not available. */
typedef struct sh_bottleneck_device {
    const char *name; /* borrowed for the call */
    double steps;
    double grains;                                           /* per step */
    double step_seconds;                                     /* mean */
    double computing_seconds, wait_seconds, network_seconds; /* of a step */
    double grain_seconds, grain_early, grain_late;           /* in the first and last third */
    double denied, denied_early,
        denied_late;        /* fraction of wanted processor time that a quota denied */
    double held_back;       /* fraction of time that firmware throttled it */
    double frequency_ratio; /* mean / maximum */
    double celsius;         /* maximum */
    double available_bytes; /* minimum */
    double swap_bytes;      /* maximum minus minimum */
    double link_rate;       /* bytes/s to the next device, while data waited */
} sh_bottleneck_device;

typedef struct sh_finding {
    sh_cause cause;
    int device;  /* -1: no single device */
    double cost; /* rough fraction of a step's time that the job would gain */
    char text[SH_VERDICT_TEXT_BYTES];
} sh_finding;

typedef struct sh_bottleneck {
    char text[SH_VERDICT_TEXT_BYTES];         /* one or two sentences */
    sh_finding findings[SH_VERDICT_FINDINGS]; /* highest cost first */
    size_t finding_count;
} sh_bottleneck;

void sh_bottleneck_find(sh_bottleneck *bottleneck, const sh_bottleneck_device *devices,
                        size_t count);

/* Static. */
const char *sh_cause_name(sh_cause cause);

#endif
