/* SPDX-License-Identifier: Apache-2.0 */
#include "train/job_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shoal/train.h"
#include "train/class_weights.h"
#include "train/exact_sum.h"
#include "train/optimizer.h"
#include "train/rate.h"
#include "train/strategy.h"

/*
 * The default grain is a quarter of the batch, up to a size above which larger grains are not
 * faster. With batches of 128, grains of 16 were faster than grains of 32 by a factor of 1.04
 * (LeNet), 1.06 (ResNet-20) and 1.11 (MobileNetV2 at 64x64), and no slower than grains of 8.
 */
#define USUAL_GRAINS 4
#define MAX_USUAL_GRAIN 16
#define USUAL_WORKERS 4

/* ---- the list -------------------------------------------------------------------------------- */

static const sh_option options[] = {
#define SH_JOB_TEXT(part, bytes, typed, usual, study, ...)                                         \
    {.kind = SH_OPTION_NAME,                                                                       \
     .owner = SH_OPTION_OF_JOB,                                                                    \
     .member = #part,                                                                              \
     .name = (typed),                                                                              \
     .offset = offsetof(sh_job, part),                                                             \
     .given = offsetof(sh_job_given, part),                                                        \
     .max = (bytes)-1,                                                                             \
     __VA_ARGS__},
#define SH_JOB_NUMBER(type, part, typed, usual, study, ...)                                        \
    {.kind = SH_OPTION_##type,                                                                     \
     .owner = SH_OPTION_OF_JOB,                                                                    \
     .member = #part,                                                                              \
     .name = (typed),                                                                              \
     .offset = offsetof(sh_job, part),                                                             \
     .given = offsetof(sh_job_given, part),                                                        \
     __VA_ARGS__},
#define SH_DEVICE_OPTION(type, part, typed, study, ...)                                            \
    {.kind = SH_OPTION_##type,                                                                     \
     .owner = SH_OPTION_OF_DEVICE,                                                                 \
     .member = #part,                                                                              \
     .name = (typed),                                                                              \
     .offset = offsetof(sh_train_options, part),                                                   \
     __VA_ARGS__},
#include "shoal/options.def"
    {.kind = SH_OPTION_END},
};

const sh_option *sh_options(void)
{
    return options;
}

/* The rows of these options are contiguous. */
bool sh_option_reads(const sh_option *option)
{
    return option->owner == SH_OPTION_OF_JOB && option->offset >= offsetof(sh_job, resize) &&
           option->offset < offsetof(sh_job, strategy);
}

void sh_job_init(sh_job *job)
{
    *job = (sh_job){
#define SH_JOB_TEXT(part, bytes, typed, usual, study, ...) .part = usual,
#define SH_JOB_NUMBER(type, part, typed, usual, study, ...) .part = usual,
#include "shoal/options.def"
    };
}

/* ---- values ---------------------------------------------------------------------------------- */

static const void *value_of(const sh_option *option, const sh_job *job)
{
    return (const char *)job + option->offset;
}

static size_t bytes_of(const sh_option *option)
{
    switch (option->kind) {
    case SH_OPTION_NAME:
        return (size_t)option->max + 1;
    case SH_OPTION_U64:
    case SH_OPTION_BYTES:
        return sizeof(uint64_t);
    default:
        return sizeof(uint32_t); /* also for float */
    }
}

float sh_option_float(const sh_option *option, const sh_job *job)
{
    float value;
    memcpy(&value, value_of(option, job), sizeof value);
    return value;
}

uint64_t sh_option_whole(const sh_option *option, const sh_job *job)
{
    uint64_t wide;
    uint32_t narrow;
    memcpy(&narrow, value_of(option, job), sizeof narrow);
    if (bytes_of(option) == sizeof narrow)
        return narrow;
    memcpy(&wide, value_of(option, job), sizeof wide);
    return wide;
}

const char *sh_option_label(char label[SH_OPTION_LABEL_BYTES], const sh_option *option)
{
    snprintf(label, SH_OPTION_LABEL_BYTES, "%s%s", option->argument ? "" : "--", option->name);
    return label;
}

const char *sh_option_print(char text[SH_OPTION_TEXT_BYTES], const sh_option *option,
                            const sh_job *job)
{
    if (option->kind == SH_OPTION_NAME)
        snprintf(text, SH_OPTION_TEXT_BYTES, "%.128s", (const char *)value_of(option, job));
    else if (option->kind == SH_OPTION_FLOAT)
        snprintf(text, SH_OPTION_TEXT_BYTES, "%g", (double)sh_option_float(option, job));
    else
        snprintf(text, SH_OPTION_TEXT_BYTES, "%llu",
                 (unsigned long long)sh_option_whole(option, job));
    return text;
}

bool sh_option_is_given(const sh_option *option, const sh_job_given *given)
{
    return *(const bool *)((const char *)given + option->given);
}

bool sh_option_same(const sh_option *option, const sh_job *a, const sh_job *b)
{
    if (option->kind == SH_OPTION_NAME)
        return strcmp(value_of(option, a), value_of(option, b)) == 0;
    if (option->kind == SH_OPTION_FLOAT)
        return sh_option_float(option, a) == sh_option_float(option, b);
    return sh_option_whole(option, a) == sh_option_whole(option, b);
}

void sh_option_copy(const sh_option *option, sh_job *to, const sh_job *from)
{
    memcpy((char *)to + option->offset, value_of(option, from), bytes_of(option));
}

bool sh_job_same(const sh_job *a, const sh_job *b)
{
    for (const sh_option *each = options; each->kind != SH_OPTION_END; each++)
        if (each->owner == SH_OPTION_OF_JOB && !sh_option_same(each, a, b))
            return false;
    return true;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* For "32|16|8", the message lists "32, 16 or 8 bits". */
static sh_status check_words(const sh_option *option, const char *label, const char *value)
{
    char list[128] = "";
    const char *word = option->words;
    while (*word != '\0') {
        const size_t length = strcspn(word, "|"), used = strlen(list);
        if (strlen(value) == length && memcmp(value, word, length) == 0)
            return SH_OK;
        const bool last = word[length] == '\0';
        snprintf(list + used, sizeof list - used, "%s%.*s",
                 used == 0 ? ""
                 : last    ? " or "
                           : ", ",
                 (int)length, word);
        word += length + !last;
    }
    return sh_fail(SH_INVALID, "%s %s: must be %s%s%s", label, value, list,
                   option->unit != NULL ? " " : "", option->unit != NULL ? option->unit : "");
}

static sh_status check_float(const sh_option *option, const char *label, double value)
{
    char range[96];
    const double min = option->min, max = option->max;
    const bool is_high = option->above ? value > min : value >= min;
    const bool is_low = max == 0 || (option->below ? value < max : value <= max);
    if (isfinite(value) && ((is_high && is_low) || (value == 0 && option->zero != NULL)))
        return SH_OK;
    if (max != 0)
        snprintf(range, sizeof range, "%s %g and %s %g", option->above ? "above" : "at least", min,
                 option->below ? "below" : "at most", max);
    else if (option->above)
        snprintf(range, sizeof range, "a number above %g", min);
    else if (option->unit != NULL)
        snprintf(range, sizeof range, "a number of %s, at least %g", option->unit, min);
    else
        snprintf(range, sizeof range, "a number of at least %g", min);
    return sh_fail(SH_INVALID, "%s %g: must be %s%s%s", label, value, range,
                   option->zero != NULL ? "; 0 " : "", option->zero != NULL ? option->zero : "");
}

sh_status sh_option_check(const sh_option *option, const sh_job *job)
{
    char label[SH_OPTION_LABEL_BYTES], text[SH_OPTION_TEXT_BYTES];
    sh_option_label(label, option);
    if (option->kind == SH_OPTION_NAME &&
        memchr(value_of(option, job), '\0', bytes_of(option)) == NULL)
        return sh_fail(SH_INVALID, "%s is longer than %zu characters", label, bytes_of(option) - 1);
    sh_option_print(text, option, job);
    if (option->argument && text[0] == '\0')
        return sh_fail(SH_INVALID, "the %s is missing", option->name);
    if (option->words != NULL && !option->suggests)
        return check_words(option, label, text);
    if (option->kind == SH_OPTION_NAME)
        return SH_OK;
    if (option->kind == SH_OPTION_FLOAT)
        return check_float(option, label, (double)sh_option_float(option, job));
    const uint64_t value = sh_option_whole(option, job);
    if (option->kind == SH_OPTION_SWITCH && value > 1)
        return sh_fail(SH_INVALID, "%s: must be 1 or 0, not %s", label, text);
    if ((value >= (uint64_t)option->min && (option->max == 0 || value <= (uint64_t)option->max)) ||
        (value == 0 && option->zero != NULL))
        return SH_OK;
    if (option->max != 0)
        return sh_fail(SH_INVALID, "%s %s: must be %.0f to %.0f", label, text, option->min,
                       option->max);
    return sh_fail(SH_INVALID, "%s %s: must be at least %.0f", label, text, option->min);
}

sh_status sh_job_complete(sh_job *job)
{
    sh_strategy strategy;
    const sh_optimizer *optimizer;
    sh_rate rate;
    for (const sh_option *each = options; each->kind != SH_OPTION_END; each++)
        if (each->owner == SH_OPTION_OF_JOB)
            SH_TRY(sh_option_check(each, job));
    SH_TRY(sh_strategy_parse(&strategy, job->strategy));

    const bool local = strategy.row->local;
    const char *of_workers = job->workers != 0          ? "--workers"
                             : job->outer_lr != 1       ? "--outer-lr"
                             : job->outer_momentum != 0 ? "--outer-momentum"
                                                        : NULL;
    if (!local && of_workers != NULL)
        return sh_fail(SH_INVALID, "%s: is only for --strategy local:H", of_workers);
    if (local && job->workers == 0)
        job->workers = USUAL_WORKERS;
    if (local && job->batch_size % job->workers != 0)
        return sh_fail(SH_INVALID,
                       "--workers %u: a batch of %u cannot be divided into equal parts; give a "
                       "--batch-size that can",
                       job->workers, job->batch_size);

    /* A grain is a part of the samples that are computed with the same weights. */
    const uint32_t most = local ? job->batch_size / job->workers : job->batch_size;
    if (job->grain > most && local)
        return sh_fail(SH_INVALID,
                       "--grain %u: larger than a worker's %u samples of a local step; a grain is "
                       "a part of them",
                       job->grain, most);
    if (job->grain > most)
        return sh_fail(SH_INVALID,
                       "--grain %u: larger than the batch of %u; a grain is a part of the batch",
                       job->grain, job->batch_size);
    if (job->grain == 0) {
        const uint32_t parts = local ? 1 : USUAL_GRAINS;
        const uint32_t part = most / parts + (most % parts != 0);
        job->grain = part < MAX_USUAL_GRAIN ? part : MAX_USUAL_GRAIN;
    }
    if (sh_job_grains(job) > SH_SUM_MAX_GRAINS)
        return sh_fail(SH_LIMIT, "--grain %u: a batch of %u has more than %u grains; raise it",
                       job->grain, job->batch_size, SH_SUM_MAX_GRAINS);

    if (job->epochs == 0 && job->steps == 0)
        return sh_fail(SH_INVALID, "--epochs 0: give at least one epoch, or --steps");
    SH_TRY(sh_optimizer_find(&optimizer, job->optimizer));
    const sh_optimizer_settings settings = sh_optimizer_settings_of(job);
    SH_TRY(sh_optimizer_check(optimizer, &settings));
    SH_TRY(sh_rate_parse(&rate, job->schedule, (double)job->warmup));
    SH_TRY(sh_class_weights_check(job->class_weights));
    const sh_pipeline_options pipeline = sh_job_pipeline(job);
    return sh_pipeline_check(&pipeline);
}
