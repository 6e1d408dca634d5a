/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that train apart, with ps-async and ps-bounded:K: a stage is a *lap* of at most
 * SH_LAP_UPDATES steps, and each step is an *update*, a batch that one device computes by itself.
 *
 *     SH_TRY(sh_updates_new(&updates, replica, bound));       // once a device
 *     ... programs compute with sh_updates_parameters(updates) ...
 *     SH_TRY(sh_updates_lap(trainer, &part, &result));        // the replica is a lap ahead
 *
 * From where all replicas are equal, updates are dealt to whoever asks for one: every sample counts
 * once an epoch, whoever computes it. A lap ends with its epoch and with the job.
 *
 *     weights     a device computes an update with the newest ones, which it asks for when it
 *                 begins: all its own updates are in them. Meanwhile others change them
 *     gradient    of the update's mean loss, summed over its grains as in sync: integers of the
 *                 job's --wire, with exponents of the device's own. What outgrows them is computed
 *                 again here, before anybody hears of it
 *     servers     apply each update to their shard as it comes, with the job's optimizer. Momentum
 *                 and other state live there; n of bias corrections counts the shard's updates
 *     rate        that of the update's number, as in sync; clipping by its own gradient's norm
 *     statistics  of batch normalisation follow each update's as it comes
 *     bound       with ps-bounded:K a device begins its update c of the lap only where every one
 *                 has finished c - K of its own, so 1 is lock step (Ho et al. 2013)
 *
 * At the lap's end every device has the servers' weights, state and the exponents of one of them,
 * so that all replicas are equal. Until then the replica is as it was: what breaks off is made
 * anew, by whoever is left, and nothing counts twice. Weights depend on who was faster, and differ
 * from run to run. A device alone does the steps of sync, one by one.
 *
 * Threads: as train/trainer.h.
 */
#ifndef SHOAL_TRAIN_UPDATES_H
#define SHOAL_TRAIN_UPDATES_H

#include "train/trainer.h"

#define SH_LAP_UPDATES 64u

typedef struct sh_updates sh_updates;

/* Bytes that it holds, with what comes from others where all devices serve. */
uint64_t sh_updates_bytes(const sh_replica *replica);

/* `replica` is borrowed until sh_updates_free; `bound` is K, 0 without one. */
sh_status sh_updates_new(sh_updates **updates, const sh_replica *replica,
                         uint32_t bound) SHOAL_CHECKED;
void sh_updates_free(sh_updates *updates); /* NULL is fine */

/* By tensor, what programs compute with; borrowed until sh_updates_free. */
float *const *sh_updates_parameters(const sh_updates *updates);

/* Outside of laps programs compute with the replica's weights as they are now. */
void sh_updates_follow(sh_updates *updates);

/* One lap with other devices; failures as sh_trainer_step, and nothing is held. */
sh_status sh_updates_lap(sh_trainer *trainer, const sh_part *part,
                         sh_step_result *result) SHOAL_CHECKED;

#endif
