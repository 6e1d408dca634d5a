/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes checkpoints of a training's replica, normally on the step's thread; on another one if the
 * step's thread is stuck.
 *
 *     sh_saves_init(&saves);
 *     saves.bench = bench;
 *     saves.folder = sh_run_checkpoints(run);
 *     SH_TRY(sh_saves_write(&saves, false));
 *     ... on another thread: sh_saves_rescue(&saves, agent, &rescue) ...
 *     sh_saves_release(&saves);
 *
 * Threads: any, as stated; writers wait for each other.
 */
#ifndef SHOAL_NODE_JOB_SAVES_H
#define SHOAL_NODE_JOB_SAVES_H

#include <pthread.h>

#include "node/job/vigil.h"
#include "node/member/agent.h"

typedef struct sh_saves {
    const sh_workbench *bench; /* both borrowed, and set before the first call */
    const char *folder;        /* of the checkpoints; NULL: writes none, as with --lr-find */
    pthread_mutex_t lock;      /* held while writing; guards the next two */
    bool is_saved;
    sh_position saved; /* position of the checkpoint */
} sh_saves;

void sh_saves_init(sh_saves *saves);
void sh_saves_release(sh_saves *saves);

/* Writes the replica's current state; with `in_haste`, only if the last checkpoint has another
 * position. Any thread that may read the replica. */
sh_status sh_saves_write(sh_saves *saves, bool in_haste) SHOAL_CHECKED;

/* Likewise for a process that may be killed before its step ends; logs it. Any thread. */
void sh_saves_write_now(sh_saves *saves);

/*
 * Likewise if the step's thread hangs, possibly while it holds or changes the replica or writes a
 * checkpoint. `agent` knows whether the replica is whole; NULL: it is. Any thread; waits briefly
 * for the replica, and without limit for the disk.
 */
void sh_saves_rescue(sh_saves *saves, sh_agent *agent, sh_rescue *rescue);

#endif
