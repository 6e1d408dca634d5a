/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the next checkpoint within an epoch is due: --checkpoint-every. The caller restarts it at
 * the start and at each checkpoint.
 *
 *     SH_TRY(sh_checkpoint_interval_parse(&interval, "60s"));
 *     sh_checkpoint_interval_restart(&interval, now_ns, steps);      // at the start, and with each
 *
 * Threads: values; caller locks.
 */
#ifndef SHOAL_NODE_CHECKPOINT_INTERVAL_H
#define SHOAL_NODE_CHECKPOINT_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_checkpoint_interval {
    uint64_t every_ns, every_steps; /* both 0: never */
    uint64_t last_ns, last_steps;   /* of the last checkpoint */
} sh_checkpoint_interval;

/* "60s", "100steps", or "0" for never; NULL: 60s. SH_INVALID: the message has the valid forms. */
sh_status sh_checkpoint_interval_parse(sh_checkpoint_interval *interval,
                                       const char *text) SHOAL_CHECKED;

void sh_checkpoint_interval_restart(sh_checkpoint_interval *interval, uint64_t now_ns,
                                    uint64_t steps);

bool sh_checkpoint_interval_is_due(const sh_checkpoint_interval *interval, uint64_t now_ns,
                                   uint64_t steps);

#endif
