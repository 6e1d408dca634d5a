/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds a job up, and why: judged from means, each device beside its peers.
 *
 *     sh_verdict verdict;
 *     sh_verdict_make(&verdict, devices, count);
 *     puts(verdict.text);                                 // "Balanced: ..." or the worst finding
 *     for (size_t i = 0; i < verdict.finding_count; i++)
 *         printf("%s: %s\n", sh_cause_name(verdict.findings[i].cause), verdict.findings[i].text);
 *
 * With balancing on a slow device computes fewer grains, so slowness shows in the time of a grain
 * and not in that of a step; both are said. Devices under a quota of the processor are throttled
 * all the time: it counts by how much one is more than its peers. Of devices that were hardly there
 * nothing is said, and one that computed nothing holds nobody up by computing.
 *
 * Threads: any; pure.
 */
#ifndef SHOAL_REPORT_VERDICT_H
#define SHOAL_REPORT_VERDICT_H

#include <stddef.h>

/* One list: name, what it means. */
#define SH_CAUSE_MAP(X)                                                                            \
    X(compute, "it computes longer than its peers, and nothing holds it back")                     \
    X(throttled, "a quota, heat or low voltage holds its processor back")                          \
    X(memory, "its memory is short")                                                               \
    X(network, "sums wait for a link")                                                             \
    X(wait, "it waits for the others: its share is too small")                                     \
    X(idle, "it computes nothing, and passes on what the others exchange")

typedef enum sh_cause {
#define SH_CAUSE_ENUM(name, what) SH_CAUSE_##name,
    SH_CAUSE_MAP(SH_CAUSE_ENUM)
#undef SH_CAUSE_ENUM
        SH_CAUSE_COUNT
} sh_cause;

#define SH_VERDICT_FINDINGS 16
#define SH_VERDICT_TEXT_BYTES 512

/* What is known of a device; in the order of the ring. NaN is not available. */
typedef struct sh_verdict_device {
    const char *name;                                        /* borrowed during the call */
    double steps;                                            /* that it had a part in */
    double grains;                                           /* a step */
    double step_seconds;                                     /* mean */
    double computing_seconds, wait_seconds, network_seconds; /* of a step */
    double grain_seconds, grain_early, grain_late; /* computing one; in the first and last third */
    double denied, denied_early, denied_late; /* share of the processor time it wanted that a quota
                                                 kept from it */
    double held_back;                         /* share of the time that firmware held it back */
    double frequency_ratio;                   /* mean over highest */
    double celsius;                           /* highest */
    double available_bytes;                   /* least */
    double swap_bytes;                        /* most minus least in use */
    double link_rate; /* bytes a second to the next device, while there was something to send */
} sh_verdict_device;

typedef struct sh_finding {
    sh_cause cause;
    int device;  /* index; -1: no single one */
    double cost; /* share of a step's time that the job would gain without it, roughly */
    char text[SH_VERDICT_TEXT_BYTES];
} sh_finding;

typedef struct sh_verdict {
    char text[SH_VERDICT_TEXT_BYTES];         /* one sentence or two */
    sh_finding findings[SH_VERDICT_FINDINGS]; /* the costliest first */
    size_t finding_count;
} sh_verdict;

void sh_verdict_make(sh_verdict *verdict, const sh_verdict_device *devices, size_t count);

/* Static storage. */
const char *sh_cause_name(sh_cause cause);

#endif
