/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constants come from experiments on flowers, wine, breast cancer, Titanic, diabetes, digits,
 * spoken digits and MNIST. AdamW with a rate of 0.002 in one cycle was near the best on all data
 * sets; no rate of SGD was. Small data sets need small batches and about a thousand steps.
 */
#include "train/recipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data/pipeline.h"
#include "train/job_options.h"

#define FEW 1000   /* with fewer samples, a batch is LEAST_BATCH */
#define SOME 10000 /* with fewer samples, a batch is twice that; else the default */
#define LEAST_BATCH 16
#define LEAST_GRAIN 8 /* for the statistics of batch normalization; 4 is worse */
#define STEPS 1000
#define EPOCHS_LEAST 10
#define EPOCHS_MOST 100
#define RATE 0.002F
#define DECAY 0.01F
#define CROP_SIDE 32 /* pixels; smaller photos are not augmented */
#define CROP_PART 8  /* photos are shifted by up to this part of the side */

typedef struct wishes {
    const sh_job *job;
    const sh_job_given *given;
    sh_job usual;
} wishes;

/* The names end with NULL. */
static bool is_any_set(const wishes *w, const char *const *names)
{
    for (; *names != NULL; names++)
        for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
            if (each->owner == SH_OPTION_OF_JOB && strcmp(each->name, *names) == 0 &&
                ((w->given != NULL && sh_option_is_given(each, w->given)) ||
                 !sh_option_same(each, w->job, &w->usual)))
                return true;
    return false;
}

static bool is_set(const wishes *w, const char *name)
{
    return is_any_set(w, (const char *const[]){name, NULL});
}

static bool is_usual_grain(const wishes *w)
{
    sh_job job = *w->job;
    job.grain = 0;
    return (w->given == NULL || !w->given->grain) && sh_job_complete(&job) == SH_OK &&
           job.grain == w->job->grain;
}

/* Truncates the text if it is too long. */
static void say(sh_recipe *recipe, const char *words)
{
    const size_t used = strlen(recipe->text);
    snprintf(recipe->text + used, sizeof recipe->text - used, "%s%s", used == 0 ? "" : ", ", words);
}

static void choose_length(sh_recipe *recipe, sh_job *job, const wishes *w, uint32_t samples)
{
    char words[64];
    if (!is_set(w, "batch-size")) {
        job->batch_size = samples < FEW    ? LEAST_BATCH
                          : samples < SOME ? 2 * LEAST_BATCH
                                           : job->batch_size;
        if (is_usual_grain(w))
            job->grain = job->workers == 0 && job->batch_size == LEAST_BATCH ? LEAST_GRAIN : 0;
        snprintf(words, sizeof words, "%" PRIu32 " samples a step", job->batch_size);
        say(recipe, words);
    }
    if (!is_any_set(w, (const char *const[]){"epochs", "steps", NULL})) {
        const uint32_t steps = (samples - 1) / job->batch_size + 1;
        const uint32_t epochs = (STEPS - 1) / steps + 1;
        job->epochs = epochs < EPOCHS_LEAST  ? EPOCHS_LEAST
                      : epochs > EPOCHS_MOST ? EPOCHS_MOST
                                             : epochs;
        snprintf(words, sizeof words, "%" PRIu32 " epochs", job->epochs);
        say(recipe, words);
    }
}

static void choose_optimizer(sh_recipe *recipe, sh_job *job, const wishes *w)
{
    static const char *const together[] = {"optimizer", "lr",           "schedule", "momentum",
                                           "nesterov",  "weight-decay", "warmup",   NULL};
    if (is_any_set(w, together))
        return;
    snprintf(job->optimizer, sizeof job->optimizer, "adamw");
    snprintf(job->schedule, sizeof job->schedule, "one-cycle");
    job->lr = RATE;
    job->weight_decay = DECAY;
    say(recipe, "adamw with --lr 0.002, one-cycle");
}

/* Only for photos: a mirrored digit or recording has another meaning. */
static void choose_augmentation(sh_recipe *recipe, sh_job *job, const wishes *w,
                                const sh_dataset_info *info)
{
    const uint32_t side = (uint32_t)(info->height < info->width ? info->height : info->width);
    if (strcmp(info->name, "photos") != 0 || side < CROP_SIDE || is_set(w, "augment") ||
        sh_dataset_bytes(info) > SH_PIPELINE_BYTES_MOST)
        return;
    snprintf(job->augment, sizeof job->augment, "crop:%" PRIu32 ",flip", side / CROP_PART);
    say(recipe, job->augment);
}

sh_status sh_recipe_choose(sh_recipe *recipe, sh_job *job, const sh_job_given *given,
                           const sh_dataset_info *info)
{
    const sh_job asked = *job;
    wishes w = {.job = &asked, .given = given};
    sh_job_init(&w.usual);
    recipe->text[0] = '\0';
    choose_length(recipe, job, &w, info->count[SH_SPLIT_TRAIN]);
    choose_optimizer(recipe, job, &w);
    choose_augmentation(recipe, job, &w, info);
    return sh_job_complete(job);
}
