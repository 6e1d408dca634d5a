/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures a device's link with messages that the device answers: a small one measures the round
 * trip, larger ones the rate in each direction. Sizes grow until one message takes 10 ms, so that a
 * slow link is never busy for long. Later small ones check for changes; a changed link is measured
 * thoroughly again.
 *
 *     while (sh_gauge_next(&gauge, now_ns, &probe))
 *         ... send a message of probe.bytes; the answer has probe.wanted ...
 *     sh_gauge_answer(&gauge, number, now_ns);       // then ask for the next one
 *
 * The caller provides the time.
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_CLUSTER_GAUGE_H
#define SHOAL_CLUSTER_GAUGE_H

#include <stdbool.h>
#include <stdint.h>

#define SH_GAUGE_BYTES_MAX 65536  /* of a probe or its answer, without overhead */
#define SH_GAUGE_LOOK_BYTES 16384 /* likewise, of a check for changes */
#define SH_GAUGE_LOOK_MS 3000     /* between two checks */
#define SH_GAUGE_OVERDUE_MS 300

/* A device's link, from its viewpoint. Zero: unknown. */
typedef struct sh_link_speed {
    double out, in; /* bytes/s to and from the coordinator */
    double delay_s; /* round trip */
} sh_link_speed;

typedef struct sh_probe {
    uint32_t number; /* from 1 on */
    uint32_t bytes;  /* to send */
    uint32_t wanted; /* bytes of the answer */
} sh_probe;

typedef struct sh_gauging {
    uint32_t part; /* delays, in, out or none: see gauge.c */
    uint32_t bytes;
    uint32_t most;
    uint32_t tries;    /* of this size */
    double shortest_s; /* of these */
    sh_link_speed found;
} sh_gauging;

/* All zero at first; one per connection. */
typedef struct sh_gauge {
    uint32_t last; /* the number of the last probe */
    bool waits;    /* for its answer */
    uint64_t sent_ns;
    uint64_t due_ns; /* the next measurement; 0: at once */
    sh_gauging now;
    uint32_t thorough;       /* measurements since the link last changed */
    uint32_t measured, told; /* thorough ones ever, and at the last sh_gauge_news */
    bool told_overdue;       /* likewise: an answer was overdue */
    sh_link_speed known[2];
} sh_gauge;

/* The probe to send now, if any. */
bool sh_gauge_next(sh_gauge *gauge, uint64_t now_ns, sh_probe *probe);

/* Ignores unexpected answers. */
void sh_gauge_answer(sh_gauge *gauge, uint32_t number, uint64_t now_ns);

/* Abandons the running probe, which other traffic would distort. */
void sh_gauge_stop(sh_gauge *gauge);

/* The better of the last two measurements, because other traffic may have slowed one. While an
 * answer is overdue, the delay is at least the time waited so far. */
sh_link_speed sh_gauge_speed(const sh_gauge *gauge, uint64_t now_ns);

/* Returns the same and, if it changed since the last call, true. */
bool sh_gauge_news(sh_gauge *gauge, uint64_t now_ns, sh_link_speed *speed);

#endif
