/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A team of threads that run one task together and then wait for the next.
 *
 *     sh_team *team;
 *     SH_TRY(sh_team_start(&team, lanes));
 *     sh_team_run(team, compute_share, &step);   // compute_share(&step, 0 .. lanes - 1)
 *     sh_team_stop(team);
 *
 * Threads: one caller at a time. The caller is worker 0, so a team of one starts no thread.
 */
#ifndef SHOAL_BASE_TEAM_H
#define SHOAL_BASE_TEAM_H

#include <stdint.h>

#include "base/fail.h"

typedef struct sh_team sh_team;

/* `worker` is 0 .. size - 1 and always means the same thread. */
typedef void sh_team_task(void *context, uint32_t worker);

sh_status sh_team_start(sh_team **team, uint32_t size) SHOAL_CHECKED;

/* Returns when the last worker has finished. Their writes are visible then. */
void sh_team_run(sh_team *team, sh_team_task *task, void *context);

uint32_t sh_team_size(const sh_team *team);

/* NULL is fine. */
void sh_team_stop(sh_team *team);

#endif
