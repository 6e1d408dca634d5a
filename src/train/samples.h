/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the inputs of a program with samples: pixels, targets, and in training each sample's part
 * of the loss and the keys of its random numbers.
 *
 *     SH_TRY(sh_samples_prepare(stage));
 *     SH_TRY(sh_samples_read(stage, lane, execution, range, 1.0f / (float)batch));
 *
 * Mixed samples (mixup, cutmix) have two targets with shares that add up to 1:
 *
 *     classes   the graph adds up both losses by the shares. The class with the larger share is the
 *               target that the training accuracy counts; weights of classes scale both losses, as
 *               in PyTorch's CrossEntropyLoss(weight=...) with probabilities
 *     labels    the target is the mean of both by their shares. Binary cross entropy is linear in
 *               the target, so this is the mean of both losses; the accuracy counts labels above
 *               one half
 *     numbers   likewise; the gradient of the squared error is that of the mean of both losses
 *     samples   the target is the mixed sample itself
 *
 * Threads: a lane reads into its own execution; several lanes read at once.
 */
#ifndef SHOAL_TRAIN_SAMPLES_H
#define SHOAL_TRAIN_SAMPLES_H

#include "train/stage.h"

/* A sample of two classes, the one with the larger share first. */
typedef struct sh_class_mix {
    int32_t class, other;
    float share, other_share; /* of the loss */
    float weight;             /* times the sample's part of the batch's loss */
} sh_class_mix;

/* `weight`, 0 to 1, is the share of `class`. `class_weights` by class, or NULL. */
sh_class_mix sh_samples_mix_classes(int32_t class, int32_t other, float weight,
                                    const float *class_weights);

/* `target` becomes `weight` of itself and the rest of `other`, each of `count` numbers. */
void sh_samples_mix_numbers(float *target, const float *other, uint32_t count, float weight);

/* Bytes that reading takes beside the program's own inputs, of each lane. */
size_t sh_samples_spare_bytes(const sh_pipeline *pipeline);

/* Room for the samples that others are mixed with, if any are. Owned by the stage:
 * sh_stage_release frees it. */
sh_status sh_samples_prepare(sh_stage *stage) SHOAL_CHECKED;

/* Reads the samples at these positions of the epoch, in training also their random keys and the
 * `weight` of each sample's loss: 1 / the samples of its batch. */
sh_status sh_samples_read(const sh_stage *stage, uint32_t lane, sh_execution *execution,
                          sh_range range, float weight) SHOAL_CHECKED;

#endif
