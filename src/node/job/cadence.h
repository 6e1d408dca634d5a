/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the next checkpoint within an epoch is due: --checkpoint-every.
 *
 *     SH_TRY(sh_cadence_parse(&cadence, "60s"));
 *     sh_cadence_restart(&cadence, now_ns, steps);      // at the start, and with each checkpoint
 *     if (sh_cadence_is_due(&cadence, now_ns, steps))   // after a step
 *         ... write one ...
 *
 * Threads: values; caller locks.
 */
#ifndef SHOAL_NODE_CADENCE_H
#define SHOAL_NODE_CADENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_cadence {
    uint64_t every_ns, every_steps; /* both 0: never */
    uint64_t last_ns, last_steps;   /* of the last checkpoint */
} sh_cadence;

/* "60s", "100steps", or "0" for never; NULL: 60s. SH_INVALID: the message has the valid forms. */
sh_status sh_cadence_parse(sh_cadence *cadence, const char *text) SHOAL_CHECKED;

void sh_cadence_restart(sh_cadence *cadence, uint64_t now_ns, uint64_t steps);

bool sh_cadence_is_due(const sh_cadence *cadence, uint64_t now_ns, uint64_t steps);

#endif
