/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in model for data whose owner names none ("auto"): by their shape, their kind and how
 * many there are. It is a first guess that trains everywhere, not a search.
 *
 *     sh_model_choice choice;
 *     sh_model_choose(&choice, &problem, info->name, info->count[SH_SPLIT_TRAIN]);
 *     puts(choice.why); // "mlp:h32 for 142 samples of 13 numbers"
 *
 * Threads: any. The same on every device, whatever it is.
 */
#ifndef SHOAL_MODEL_CHOICE_H
#define SHOAL_MODEL_CHOICE_H

#include "model/model.h"

#define SH_MODEL_AUTO "auto" /* what stands for the model in a job until it is chosen */

typedef struct sh_model_choice {
    char spec[64]; /* "resnet:20" */
    char why[256]; /* one line for people, without a final stop */
} sh_model_choice;

/*
 * Never fails: the model fits the problem. `kind` is the name of the data's format ("table",
 * "series", "audio", "photos"), which tells apart what has the same shape; one that is not known
 * counts as images or, of one row, as a table or a series. `samples` are those of the training
 * split.
 */
void sh_model_choose(sh_model_choice *choice, const sh_problem *problem, const char *kind,
                     uint32_t samples);

#endif
