/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which devices of a job compute, and which stand by: those with which plan/lineup expects the
 * shortest steps. What is measured corrects what is expected, and a change has to be worth it.
 *
 *     sh_standby_init(&standby, &job, SH_STANDBY_AUTO);
 *     if (sh_standby_assess(&standby, devices, fresh, used, count, &seen))
 *         ... `used` has changed ...
 *     sh_standby_explain(&standby, devices, used, count, which, text, sizeof text);
 *     if (sh_standby_compare(&standby, devices_of_the_view, &seen, text, sizeof text))
 *         ... `text` has what was expected of the last change, and what came ...
 *
 * The weights do not depend on it. What is lost by the present devices is added up, and they change
 * once it exceeds the price of a change, as cluster/balance does with shares; a price that rises
 * when changes follow each other soon.
 *
 * There is no clock in it. Threads: caller locks; a value.
 */
#ifndef SHOAL_CLUSTER_STANDBY_H
#define SHOAL_CLUSTER_STANDBY_H

#include <stddef.h>

#include "base/fail.h"
#include "plan/lineup.h"

#define SH_STANDBY_ALL 0           /* all devices compute */
#define SH_STANDBY_AUTO UINT32_MAX /* those that make it faster */
#define SH_STANDBY_STEPS 8         /* of a view before its steps are believed */
#define SH_STANDBY_COMPARED 32 /* steps of a view before it is compared with what was expected */
#define SH_STANDBY_GAIN 0.02   /* of a step: less is not looked at */
#define SH_STANDBY_SWAP 0.1    /* likewise, where some go and others come: they may be alike */
#define SH_STANDBY_PRICE_S 0.3 /* that have to be lost before a change */
#define SH_STANDBY_PRICE_MAX_S 64.0
#define SH_STANDBY_CALM_MS 30000         /* without a change that halve the price */
#define SH_STANDBY_MEMORY_MS 120000      /* that halve what was measured of several devices */
#define SH_STANDBY_MEMORY_MAX_MS 3840000 /* likewise, after trials that did not pay */

typedef struct sh_standby_seen {
    double step_s;   /* of a step of late; 0: not known */
    uint32_t view;   /* in which the devices compute that are used */
    uint64_t steps;  /* of it */
    uint64_t now_ms; /* of a clock that does not go back */
} sh_standby_seen;

/* Transparent for reading. */
typedef struct sh_standby {
    uint32_t most;     /* devices; or one of the two above */
    sh_lineup_job job; /* base_s and stretch as they are known by now */
    bool stretched;    /* the stretch was measured */
    double alone_rate; /* of the fixed device when it was alone last; 0: it was not */
    double lost_s, price_s, memory_ms;
    uint64_t assessed_ms, changed_ms; /* when last; 0: never */
    /* What steps are measured of: the view, and its exchange if links alone counted. */
    uint32_t view;
    double links_s;
    uint64_t links_steps, begun_ms; /* since then */
    uint64_t steps, stepped_ms;     /* of the view so far; when the last one ended */
    /* What was found last: the exchange of the devices at hand, 0 where it is not known; and that a
     * step takes longer by far than expected. */
    double exchange_s;
    bool slow;
    sh_lineup_time expected; /* of a step with the devices that are used */
    /* What was expected of the last change, until it is compared; 0 devices: nothing. */
    uint32_t promised_devices;
    double promised_s;
} sh_standby;

/* "auto", "all", or a number of devices from 1 on. SH_INVALID says what may be written. */
sh_status sh_standby_parse(uint32_t *most, const char *text) SHOAL_CHECKED;

/* As it is written. */
#define SH_STANDBY_TEXT 16
void sh_standby_print(uint32_t most, char text[SH_STANDBY_TEXT]);

/* `job` as plan/lineup has it; base and stretch are not read. */
void sh_standby_init(sh_standby *standby, const sh_lineup_job *job, uint32_t most);

/*
 * Finds whether other devices should compute; assess it about ten times a second. The rate of the
 * fixed devices is known. `used` (in and out): who computes now, and then who should. Devices that
 * are `fresh` are new, or may take the place of one that was lost: they need not wait until
 * something is lost. True: `used` has changed.
 */
bool sh_standby_assess(sh_standby *standby, const sh_lineup_device *devices, const bool *fresh,
                       bool *used, uint32_t count, const sh_standby_seen *seen);

/* Why device `which`, which is not used, is not: what a step would take with it, and what would
 * take so long. */
void sh_standby_explain(const sh_standby *standby, const sh_lineup_device *devices,
                        const bool *used, uint32_t count, uint32_t which, char *text,
                        size_t text_bytes);

/* Once for each change, when the view of `devices` devices that it led to has made enough steps:
 * what was expected of a step, and what it takes. False: nothing is to be compared now. */
bool sh_standby_compare(sh_standby *standby, uint32_t devices, const sh_standby_seen *seen,
                        char *text, size_t text_bytes);

#endif
