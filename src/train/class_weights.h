/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Class weights in the loss: a sample of class k counts weights[k] times, so that classes with few
 * samples are not neglected. Similar to PyTorch's CrossEntropyLoss(weight=...), but the loss is
 * divided by the number of samples in the batch instead of the sum of their weights, so that a
 * grain does not depend on other grains.
 *
 * A job has the weights as text, so every device reads the same numbers. Validation ignores them.
 *
 *     char text[SH_CLASS_WEIGHTS_BYTES];
 *     SH_TRY(sh_class_weights_balance(text, dataset));           // "1.250000,0.833333"
 *     SH_TRY(sh_class_weights_parse(&weights, text, classes));
 *
 * Threads: any.
 */
#ifndef SHOAL_TRAIN_CLASS_WEIGHTS_H
#define SHOAL_TRAIN_CLASS_WEIGHTS_H

#include "data/dataset.h"
#include "shoal/job.h"

#define SH_CLASS_WEIGHTS_BALANCED "balanced" /* placeholder until the weights are computed */

/*
 * Parses positive decimal numbers separated by commas; each consists of digits and at most one
 * point. `*weights` (owned; free()) has `classes` elements, or is NULL if the text is empty or
 * "balanced". SH_INVALID if the text has another form or another number of weights.
 */
sh_status sh_class_weights_parse(float **weights, const char *text, uint32_t classes) SHOAL_CHECKED;

/* SH_INVALID if malformed. Does not check the number of weights. */
sh_status sh_class_weights_check(const char *text) SHOAL_CHECKED;

/*
 * The weights that give all classes the same influence: n / (classes * n of the class), where n
 * counts training samples, rounded to six decimals. Blocking: reads the targets of all training
 * samples. SH_INVALID: the targets are not classes or a class has no training sample. SH_LIMIT: the
 * text is too small. Fails as reading the data set does.
 */
sh_status sh_class_weights_balance(char text[SH_CLASS_WEIGHTS_BYTES],
                                   const sh_dataset *dataset) SHOAL_CHECKED;

#endif
