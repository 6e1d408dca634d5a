/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a model is trained whose owner leaves the model to us ("auto"): batch size, epochs,
 * optimiser, learning rate, augmentation. A first guess by how many samples there are and what they
 * are, so that a small folder learns too; with the defaults it would be given a handful of steps.
 *
 *     sh_recipe recipe;
 *     SH_TRY(sh_recipe_choose(&recipe, &job, NULL, sh_dataset_about(dataset)));
 *     puts(recipe.text); // "48 epochs, 16 samples a step, adamw with --lr 0.002 in one cycle"
 *
 * Threads: any. The same on every device, whatever it is.
 */
#ifndef SHOAL_TRAIN_RECIPE_H
#define SHOAL_TRAIN_RECIPE_H

#include "base/fail.h"
#include "data/dataset.h"
#include "shoal/job.h"

typedef struct sh_recipe {
    char text[160]; /* what was chosen, one line for people; "": nothing */
} sh_recipe;

/*
 * Fills what `job` (complete) leaves at its defaults, and completes it again. What is set in
 * `given` (NULL: nothing is) stays as it is, and so does what differs from its default. Optimiser,
 * rate and schedule go together: where one of them is set the others stay. Fails as sh_job_complete
 * does.
 */
sh_status sh_recipe_choose(sh_recipe *recipe, sh_job *job, const sh_job_given *given,
                           const sh_dataset_info *info) SHOAL_CHECKED;

#endif
