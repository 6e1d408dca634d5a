/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's part in the audit of a step (cluster/membership_audit.h). sh_trainer_step returns a
 * result with `audit`: the step is summed, but not applied.
 *
 *     sh_trainer_commit(trainer, &own, &total);
 *     SH_TRY(sh_trainer_recompute(trainer, &grains, &check));  // as often as the coordinator asks
 *     part.resume = true;
 *     SH_TRY(sh_trainer_step(trainer, &part, &result));        // applies the step
 *
 * Any other step drops the summed one, as does sh_trainer_forget.
 *
 * Threads: as train/trainer.h.
 */
#ifndef SHOAL_TRAIN_AUDITED_STEP_H
#define SHOAL_TRAIN_AUDITED_STEP_H

#include "train/sum_check.h"
#include "train/trainer.h"

/* The grains that this device added (borrowed until the next call), and the checks of its own part
 * and of the total. Before sh_trainer_recompute, which overwrites the own part. */
const sh_ranges *sh_trainer_commit(const sh_trainer *trainer, sh_sum_check *own,
                                   sh_sum_check *total);

/* Computes grains that other devices added, and returns their check. No grain is held afterwards.
 * SH_INVALID: they are not in the batch, or no step waits for its audit. Otherwise it fails as
 * computing does. */
sh_status sh_trainer_recompute(sh_trainer *trainer, const sh_ranges *grains,
                               sh_sum_check *check) SHOAL_CHECKED;

#endif
