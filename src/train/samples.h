/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the inputs of a program with samples: values, targets and, in training, each sample's
 * weight in the loss and the keys of its random numbers.
 *
 * Mixed samples (mixup, cutmix) have two targets with shares that add up to 1:
 *
 *     classes   the loss is the sum of both losses times their shares. The class with the larger
 *               share is the target of the training accuracy. Class weights scale both losses, as
 *               in PyTorch's CrossEntropyLoss(weight=...) with probabilities
 *     labels    the target is the mean of both targets, weighted by their shares, and so is the
 *               loss: binary cross entropy is linear in the target. The accuracy counts a label as
 *               set if it is above one half
 *     numbers   likewise. The gradient of the squared error is that of the mean of both losses
 *     samples   the target is the mixed sample itself
 *
 *     SH_TRY(sh_samples_prepare(stage));
 *     SH_TRY(sh_samples_read(stage, lane, execution, range, 1.0f / (float)batch));
 *
 * Threads: a lane reads into its own execution; several lanes read at once.
 */
#ifndef SHOAL_TRAIN_SAMPLES_H
#define SHOAL_TRAIN_SAMPLES_H

#include "train/stage.h"

/* `class` has the larger share. */
typedef struct sh_class_mix {
    int32_t class, other;
    float share, other_share; /* of the loss */
    float weight;             /* factor on the sample's weight in the batch's loss */
} sh_class_mix;

/* `weight` is the share of `class`, from 0 to 1. `class_weights` is indexed by class, or NULL. */
sh_class_mix sh_samples_mix_classes(int32_t class, int32_t other, float weight,
                                    const float *class_weights);

/* Sets target[i] to weight target[i] + (1 - weight) other[i], for i < count. */
void sh_samples_mix_numbers(float *target, const float *other, uint32_t count, float weight);

/* Bytes per lane that reading needs besides the program's inputs. */
size_t sh_samples_spare_bytes(const sh_pipeline *pipeline);

/* Allocates memory for mixes, if the job mixes samples; sh_stage_release frees it. */
sh_status sh_samples_prepare(sh_stage *stage) SHOAL_CHECKED;

/* Reads the samples at these positions of the epoch. In training, also sets their random keys and
 * loss weights; `weight` is 1 / the number of samples in the batch. */
sh_status sh_samples_read(const sh_stage *stage, uint32_t lane, sh_execution *execution,
                          sh_range range, float weight) SHOAL_CHECKED;

#endif
