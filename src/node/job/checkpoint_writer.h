/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes checkpoints of a training's replica, normally on the step's thread; on another one if the
 * step's thread is stuck.
 *
 *     sh_checkpoint_writer_init(&writer);
 *     writer.session = session;
 *     writer.folder = sh_run_checkpoints(run);
 *     SH_TRY(sh_checkpoint_writer_write(&writer, false));
 *     ... on another thread: sh_checkpoint_writer_rescue(&writer, agent, &rescue) ...
 *     sh_checkpoint_writer_release(&writer);
 *
 * Threads: any, as stated; writers wait for each other.
 */
#ifndef SHOAL_NODE_JOB_CHECKPOINT_WRITER_H
#define SHOAL_NODE_JOB_CHECKPOINT_WRITER_H

#include <pthread.h>

#include "node/job/hang_guard.h"
#include "node/member/agent.h"

typedef struct sh_checkpoint_writer {
    const sh_session *session; /* both borrowed, and set before the first call */
    const char *folder;        /* NULL: writes none, as with --lr-find */
    pthread_mutex_t lock;      /* held while writing; guards the next two */
    bool is_saved;
    sh_position saved;
} sh_checkpoint_writer;

void sh_checkpoint_writer_init(sh_checkpoint_writer *writer);
void sh_checkpoint_writer_release(sh_checkpoint_writer *writer);

/* Writes the replica's state; with `in_haste`, only if the last checkpoint has another position.
 * Any thread that may read the replica. */
sh_status sh_checkpoint_writer_write(sh_checkpoint_writer *writer, bool in_haste) SHOAL_CHECKED;

/* Writes in haste, for a process that may be killed before its step ends; locks the replica and
 * logs the result. Any thread. */
void sh_checkpoint_writer_write_now(sh_checkpoint_writer *writer);

/*
 * Writes in haste if the step's thread hangs, possibly while it holds or changes the replica or
 * writes a checkpoint. `agent` knows whether the replica is whole; NULL: it is. Any thread; waits
 * briefly for the replica, and without limit for the disk.
 */
void sh_checkpoint_writer_rescue(sh_checkpoint_writer *writer, sh_agent *agent, sh_rescue *rescue);

#endif
