/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes checkpoints of a training's replica: the step's thread as a matter of course, and another
 * one where the step's thread will not come to it.
 *
 *     sh_saves_init(&saves);
 *     saves.bench = bench;
 *     saves.folder = sh_run_checkpoints(run);
 *     SH_TRY(sh_saves_write(&saves, false));
 *     ... on another thread: sh_saves_rescue(&saves, agent, &rescue) ...
 *     sh_saves_release(&saves);
 *
 * Threads: any, where said; one writes at a time, and others wait for it.
 */
#ifndef SHOAL_NODE_JOB_SAVES_H
#define SHOAL_NODE_JOB_SAVES_H

#include <pthread.h>

#include "node/job/vigil.h"
#include "node/member/agent.h"

typedef struct sh_saves {
    const sh_workbench *bench; /* these two are borrowed, and set before the first call */
    const char *folder;        /* of the checkpoints; NULL: none are written, as with --lr-find */
    pthread_mutex_t lock;      /* held to write; guards the next two */
    bool is_saved;
    sh_position saved; /* where the checkpoint stands */
} sh_saves;

void sh_saves_init(sh_saves *saves);
void sh_saves_release(sh_saves *saves);

/* Writes the replica as it stands; `in_haste`, not where the last one stands there. Any thread that
 * may read the replica. */
sh_status sh_saves_write(sh_saves *saves, bool in_haste) SHOAL_CHECKED;

/* The same for a process that may be killed before the step or the process itself comes to its end;
 * tells the log. Any thread. */
void sh_saves_write_now(sh_saves *saves);

/*
 * The same where the step's thread hangs: it may hold the replica, and be in the midst of changing
 * it, or hang in a checkpoint. `agent` says whether the replica is whole; NULL: it is. Any
 * thread; waits a moment for the replica, and for the disk without a limit.
 */
void sh_saves_rescue(sh_saves *saves, sh_agent *agent, sh_rescue *rescue);

#endif
