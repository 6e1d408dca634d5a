/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which devices of a job compute and which are on standby: those with which plan/lineup expects the
 * shortest steps. Measurements correct the expectation. As in cluster/balance, the loss of the
 * current devices accumulates until it exceeds the price of a change, which rises if changes follow
 * each other soon.
 *
 *     sh_standby_init(&standby, &job, SH_STANDBY_AUTO);
 *     if (sh_standby_assess(&standby, devices, fresh, used, count, &seen))
 *         ... `used` has changed ...
 *     sh_standby_explain(&standby, devices, used, count, which, text, sizeof text);
 *     if (sh_standby_compare(&standby, devices_of_the_view, &seen, text, sizeof text))
 *         ... `text` compares the last change's expected step with the measured one ...
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_CLUSTER_STANDBY_H
#define SHOAL_CLUSTER_STANDBY_H

#include <stddef.h>

#include "base/fail.h"
#include "plan/lineup.h"

#define SH_STANDBY_ALL 0           /* all devices compute */
#define SH_STANDBY_AUTO UINT32_MAX /* those that make steps shorter */
#define SH_STANDBY_STEPS 8         /* before measurements of a view are believed */
#define SH_STANDBY_COMPARED 32     /* before they are compared with the expectation */
#define SH_STANDBY_GAIN 0.02       /* of a step: smaller gains are ignored */
#define SH_STANDBY_SWAP 0.1        /* likewise, to replace devices */
#define SH_STANDBY_PRICE_S 0.3     /* seconds that must be lost before a change */
#define SH_STANDBY_PRICE_MAX_S 64.0
#define SH_STANDBY_CALM_MS 30000         /* without a change, after which the price halves */
#define SH_STANDBY_MEMORY_MS 120000      /* half-life of measurements of several devices */
#define SH_STANDBY_MEMORY_MAX_MS 3840000 /* likewise, after unsuccessful trials */

typedef struct sh_standby_seen {
    double step_s; /* of a recent step; 0: unknown */
    uint32_t view; /* of the used devices */
    uint64_t steps;
    uint64_t now_ms; /* of a monotonic clock */
} sh_standby_seen;

typedef struct sh_standby {
    uint32_t most;     /* devices; or one of the two above */
    sh_lineup_job job; /* base_s and stretch as known so far */
    bool stretched;    /* the stretch was measured */
    double alone_rate; /* of the fixed device when last alone; 0: never alone */
    double lost_s, price_s, memory_ms;
    uint64_t assessed_ms, changed_ms; /* when last; 0: never */
    /* The view whose steps are measured, and its exchange by links alone. */
    uint32_t view;
    double links_s;
    uint64_t links_steps, begun_ms; /* since then */
    uint64_t steps, stepped_ms;     /* of the view so far; end of the last one */
    /* The current devices' exchange; 0: unknown. */
    double exchange_s;
    bool slow; /* a step takes much longer than expected */
    sh_lineup_time expected;
    /* The last change's expectation; 0 devices: none. */
    uint32_t promised_devices;
    double promised_s;
} sh_standby;

/* Parses "auto", "all", or a number of devices from 1. SH_INVALID: another form. */
sh_status sh_standby_parse(uint32_t *most, const char *text) SHOAL_CHECKED;

#define SH_STANDBY_TEXT 16
void sh_standby_print(uint32_t most, char text[SH_STANDBY_TEXT]);

/* `job`: see plan/lineup; its base and stretch are ignored. */
void sh_standby_init(sh_standby *standby, const sh_lineup_job *job, uint32_t most);

/*
 * Decides whether other devices should compute; call it about ten times a second. The rates of the
 * fixed devices must be known. `used` (in and out): which devices compute now, then which should.
 * `fresh` devices are new, or may replace a lost one: they do not wait until the price is lost.
 * True: `used` has changed.
 */
bool sh_standby_assess(sh_standby *standby, const sh_lineup_device *devices, const bool *fresh,
                       bool *used, uint32_t count, const sh_standby_seen *seen);

/* Why device `which` is not used: the time of a step with it, and its cause. */
void sh_standby_explain(const sh_standby *standby, const sh_lineup_device *devices,
                        const bool *used, uint32_t count, uint32_t which, char *text,
                        size_t text_bytes);

/* Once per change, after enough steps of the resulting view of `devices` devices: compares the
 * expected step with the measured one. False: nothing to compare. */
bool sh_standby_compare(sh_standby *standby, uint32_t devices, const sh_standby_seen *seen,
                        char *text, size_t text_bytes);

#endif
