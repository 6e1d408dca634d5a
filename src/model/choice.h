/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses a built-in model ("auto") by shape, kind and amount of the data. The choice is a first
 * guess that trains on any device, not the result of a search.
 *
 *     sh_model_choice choice;
 *     sh_model_choose(&choice, &problem, info->name, info->count[SH_SPLIT_TRAIN]);
 *     puts(choice.why); // "mlp:h32 for 142 samples of 13 numbers"
 *
 * Threads: any. The choice does not depend on the device.
 */
#ifndef SHOAL_MODEL_CHOICE_H
#define SHOAL_MODEL_CHOICE_H

#include "model/model.h"

#define SH_MODEL_AUTO "auto" /* the model of a job until one is chosen */

typedef struct sh_model_choice {
    char spec[64]; /* "resnet:20" */
    char why[256]; /* one line, without a full stop */
} sh_model_choice;

/*
 * Cannot fail; the model fits the problem. `kind` is the name of the data's format: "table",
 * "series", "audio" or "photos". Others count as images or, with one row, as a table or a series.
 * `samples` is the size of the training split. Arguments are borrowed.
 */
void sh_model_choose(sh_model_choice *choice, const sh_problem *problem, const char *kind,
                     uint32_t samples);

#endif
