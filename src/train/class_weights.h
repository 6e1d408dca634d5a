/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights of classes in the loss: a sample of class k counts weights[k] times, so that classes of
 * few samples are not drowned (PyTorch: CrossEntropyLoss(weight=...), but divided by the samples of
 * the batch, not by their weights, so that a grain needs to know no other).
 *
 *     char text[SH_CLASS_WEIGHTS_BYTES];
 *     SH_TRY(sh_class_weights_balance(text, dataset));           // "1.250000,0.833333"
 *     SH_TRY(sh_class_weights_parse(&weights, text, classes));
 *
 * A job has them as text, so every device reads the same numbers. Validation does not weight.
 *
 * Threads: any.
 */
#ifndef SHOAL_TRAIN_CLASS_WEIGHTS_H
#define SHOAL_TRAIN_CLASS_WEIGHTS_H

#include "data/dataset.h"
#include "shoal/job.h"

#define SH_CLASS_WEIGHTS_BALANCED "balanced" /* before they are known */

/*
 * The weights of a text: numbers with commas between, each of digits with at most one point, above
 * 0. `*weights` (owned, free it) has `classes` of them, or is NULL where the text is empty or
 * "balanced". Fails with SH_INVALID: no such number, another count.
 */
sh_status sh_class_weights_parse(float **weights, const char *text, uint32_t classes) SHOAL_CHECKED;

/* Whether a text is well-formed, whatever the classes. */
sh_status sh_class_weights_check(const char *text) SHOAL_CHECKED;

/*
 * The weights with which all classes count alike: n / (classes * n of the class), rounded to six
 * decimals, n being training samples. Blocking: reads them all. Fails with SH_INVALID (the targets
 * are no classes, or a class has no training sample), SH_LIMIT (more classes than the text holds),
 * and as reading does.
 */
sh_status sh_class_weights_balance(char text[SH_CLASS_WEIGHTS_BYTES],
                                   const sh_dataset *dataset) SHOAL_CHECKED;

#endif
