/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a device's link is, from messages that the device answers: one that is small tells the
 * way there and back, larger ones, each way, what the link carries. Their size grows until one
 * takes 10 ms, so a slow link is never busy for long.
 *
 *     while (sh_gauge_next(&gauge, now_ns, &probe))
 *         ... send a message of probe.bytes; the answer has probe.wanted ...
 *     sh_gauge_answer(&gauge, number, now_ns);       // and ask for the next one
 *     const sh_link_speed speed = sh_gauge_speed(&gauge, now_ns);
 *
 * The first measurements are thorough. Then a small one looks from time to time whether the link is
 * as it was; one that is not is measured thoroughly again.
 *
 * There is no clock in it: the caller says the time. Threads: caller locks; a value.
 */
#ifndef SHOAL_CLUSTER_GAUGE_H
#define SHOAL_CLUSTER_GAUGE_H

#include <stdbool.h>
#include <stdint.h>

#define SH_GAUGE_BYTES_MAX 65536  /* of a probe or its answer, beside the message's own */
#define SH_GAUGE_LOOK_BYTES 16384 /* likewise, of one that looks whether all is as it was */
#define SH_GAUGE_LOOK_MS 3000     /* from one look to the next */
#define SH_GAUGE_OVERDUE_MS 300   /* beyond what a probe takes as a rule */

/* Of a device, as it sees it. Zero: not known. */
typedef struct sh_link_speed {
    double out, in; /* bytes/s to the coordinator, and from there */
    double delay_s; /* there and back */
} sh_link_speed;

typedef struct sh_probe {
    uint32_t number; /* from 1 on */
    uint32_t bytes;  /* to send */
    uint32_t wanted; /* bytes of the answer */
} sh_probe;

/* What a measurement has found so far. */
typedef struct sh_gauging {
    uint32_t part;  /* delays, in, out, or none: see gauge.c */
    uint32_t bytes; /* of the probe under way, or the next one */
    uint32_t most;
    uint32_t tries;    /* of this size */
    double shortest_s; /* of these */
    sh_link_speed found;
} sh_gauging;

/* Zeroed to begin with; lives as long as the connection. */
typedef struct sh_gauge {
    uint32_t last;    /* the number of the last probe */
    bool waits;       /* for its answer */
    uint64_t sent_ns; /* then */
    uint64_t due_ns;  /* the next measurement; 0: at once */
    sh_gauging now;
    uint32_t thorough;       /* measurements since the link was found to be another one */
    uint32_t measured, told; /* thorough ones ever, and by when news were asked for */
    bool told_overdue;       /* likewise: an answer was overdue */
    sh_link_speed known[2];  /* of the last two of them */
} sh_gauge;

/* The probe to send now; false: none. */
bool sh_gauge_next(sh_gauge *gauge, uint64_t now_ns, sh_probe *probe);

/* The answer to a probe is here; one that was not asked for is ignored. */
void sh_gauge_answer(sh_gauge *gauge, uint32_t number, uint64_t now_ns);

/* What is under way is given up: other traffic would be measured too. */
void sh_gauge_stop(sh_gauge *gauge);

/* The better of the last two measurements: what makes one slow, a busy processor or other traffic,
 * need not be the link. While an answer is overdue, the way takes at least as long as that. */
sh_link_speed sh_gauge_speed(const sh_gauge *gauge, uint64_t now_ns);

/* Gives the same, and says whether it is news since this was called last. */
bool sh_gauge_news(sh_gauge *gauge, uint64_t now_ns, sh_link_speed *speed);

#endif
