/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses batch size, epochs, optimizer, learning rate and augmentation for a job whose model is
 * chosen automatically ("auto"). The choice depends on the number and the kind of the samples.
 *
 *     sh_recipe recipe;
 *     SH_TRY(sh_recipe_choose(&recipe, &job, NULL, sh_dataset_about(dataset)));
 *     puts(recipe.text); // "48 epochs, 16 samples a step, adamw with --lr 0.002 in one cycle"
 *
 * Threads: any. The result is the same on every device.
 */
#ifndef SHOAL_TRAIN_RECIPE_H
#define SHOAL_TRAIN_RECIPE_H

#include "base/fail.h"
#include "data/dataset.h"
#include "shoal/job.h"

typedef struct sh_recipe {
    char text[160]; /* one line for the user, such as "48 epochs, 16 samples a step"; "": no
                       choices */
} sh_recipe;

/*
 * Sets options of `job` (complete) and completes it again. Options that are set in `given` (NULL:
 * none) or that differ from their defaults are kept. Optimizer, learning rate and schedule are set
 * together, only if none of them is set. Fails like sh_job_complete.
 */
sh_status sh_recipe_choose(sh_recipe *recipe, sh_job *job, const sh_job_given *given,
                           const sh_dataset_info *info) SHOAL_CHECKED;

#endif
