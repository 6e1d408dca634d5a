/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table per channel converts bytes to normalised floats; black is level 0. Resizing follows, in
 * floats; it commutes with normalisation up to rounding, because its weights sum to one.
 *
 *     original bytes  ->  (retouched)  ->  rows: view and levels
 *                     ->  (two rows held  ->  resized row)  ->  pixels
 *
 * Resizing is separable: each source row is resized once per channel and held while it neighbours a
 * new row; even and odd rows have a slot each. Positions are exact fractions of integers; only the
 * sums round, as in IEEE 754.
 *
 * Scratch is on the stack: twice SH_PIPELINE_BYTES_MOST for retouched images, once if only moved or
 * resized, and some rows. Otherwise bytes are read into the end of the caller's floats and expanded
 * from the front.
 */
#include "data/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "data/augment.h"
#include "data/augment/distort.h"
#include "data/augment/mixing.h"
#include "data/augment/retouch.h"
#include "data/trained.h"

#define LEVELS 256
#define SIDE_MOST SH_PIPELINE_SIDE_MOST

_Static_assert(SIDE_MOST <= SH_PICTURE_SIDE_MOST, "images that are retouched are pictures");

/* A new pixel or row: (1 - weight) * low + weight * high. */
typedef struct tap {
    uint32_t low, high;
    float weight;
} tap;

struct sh_pipeline {
    sh_dataset *dataset;
    const sh_dataset_info *source;
    sh_dataset_info info;
    sh_augment augment;
    uint64_t seed;
    uint8_t colour[SH_DATASET_CHANNELS_MOST]; /* mean of the training images */
    float levels[SH_DATASET_CHANNELS_MOST][LEVELS];
    bool resizes, moves, retouches, distorts; /* the last three: training samples only */
    tap columns[SIDE_MOST], rows[SIDE_MOST];  /* if `resizes` */
};

typedef enum normalization {
    BY_DATASET,
    BY_IMAGENET,
    BY_NOTHING,
} normalization;

static sh_status parse(sh_augment *augment, normalization *by, const sh_pipeline_options *options)
{
    static const char *const names[] = {"dataset", "imagenet", "none"};
    const char *name = options->normalize;
    SH_TRY(sh_augment_parse(augment, options->augment == NULL ? "" : options->augment));
    if (options->resize != 0 &&
        (options->resize < SH_PIPELINE_SIDE_LEAST || options->resize > SIDE_MOST))
        return sh_fail(SH_INVALID, "--resize %u: must be %d to %d pixels", options->resize,
                       SH_PIPELINE_SIDE_LEAST, SIDE_MOST);
    if (name == NULL || name[0] == '\0')
        name = names[BY_DATASET];
    for (*by = BY_DATASET; *by <= BY_NOTHING; ++*by)
        if (strcmp(name, names[*by]) == 0)
            return SH_OK;
    return sh_fail(SH_INVALID, "--normalize %s: unknown; use dataset, imagenet or none", name);
}

static sh_status fail_task(const char *task)
{
    return sh_fail(SH_INVALID,
                   "--task %s: unknown; use classification, multi-label, regression or "
                   "reconstruction",
                   task);
}

static sh_status check_reading(const sh_read_options *read)
{
    sh_target target;
    const char *task = read->task, *fit = read->fit;
    if (task != NULL && task[0] != '\0' && !sh_target_find(&target, task))
        return fail_task(task);
    if (fit != NULL && fit[0] != '\0' && strcmp(fit, "crop") != 0 && strcmp(fit, "pad") != 0 &&
        strcmp(fit, "stretch") != 0)
        return sh_fail(SH_INVALID, "--fit %s: unknown; use crop, pad or stretch", fit);
    return SH_OK;
}

sh_status sh_pipeline_check(const sh_pipeline_options *options)
{
    sh_augment augment;
    normalization by;
    SH_TRY(parse(&augment, &by, options));
    return check_reading(&options->read);
}

/*
 * Centres are at (i + 1/2) * from / to and k + 1/2 in old pixels, so new pixel i is at (from (2 i
 * + 1) - to) / (2 to), clamped to the first; beyond the last, both neighbours are the last.
 */
static void find_taps(tap *taps, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < to; i++) {
        const int64_t scaled = (int64_t)(2 * i + 1) * from - to;
        const uint32_t place = scaled > 0 ? (uint32_t)scaled : 0;
        const uint32_t low = place / (2 * to);
        taps[i] =
            (tap){low, low + 1 < from ? low + 1 : low, (float)(place % (2 * to)) / (float)(2 * to)};
    }
}

static sh_status set_target(sh_dataset_info *info, const char *task)
{
    sh_target wanted;
    if (task == NULL || task[0] == '\0')
        return SH_OK;
    if (!sh_target_find(&wanted, task))
        return fail_task(task);
    if (wanted == SH_TARGET_SAMPLE && info->target == SH_TARGET_CLASS) {
        info->target = SH_TARGET_SAMPLE;
        info->outputs = (uint32_t)sh_dataset_elements(info);
    }
    if (info->target != wanted)
        return sh_fail(SH_INVALID, "--task %s: %s has targets for %s", task, info->name,
                       sh_target_name(info->target));
    return SH_OK;
}

/* The reader has normalised them. */
static sh_status prepare_floats(sh_pipeline *p, normalization by)
{
    if (sh_augment_moves(&p->augment) || sh_augment_retouches(&p->augment))
        return sh_fail(SH_INVALID,
                       "--augment: %s has numbers, which can use only shift, scale, noise and mask",
                       p->info.name);
    if (by == BY_IMAGENET)
        return sh_fail(SH_INVALID, "--normalize imagenet: is for images; %s has numbers",
                       p->info.name);
    if (p->augment.cutmix > 0 && p->info.height * p->info.width == 1)
        return sh_fail(SH_INVALID,
                       "--augment cutmix: cuts in time or space; %s has single numbers, use mixup",
                       p->info.name);
    p->distorts = sh_augment_distorts(&p->augment);
    return sh_distort_check(&p->augment, p->info.name, p->info.height, p->info.width);
}

/* `part` is in 0..1, but may come from a file. */
static uint8_t nearest_level(float part)
{
    const float level = part * (LEVELS - 1) + 0.5f;
    return (uint8_t)(level >= 0 && level < LEVELS ? level : 0);
}

static sh_status fail_imagenet(const sh_dataset_info *info)
{
    return sh_fail(SH_INVALID,
                   "--normalize imagenet: is for images of 3 channels, %s has %zu; use dataset or "
                   "none",
                   info->name, info->channels);
}

/* Sets the normalisation unless it is the training split's. */
static void set_figures(sh_dataset_info *info, normalization by)
{
    /* torchvision's for ImageNet models, RGB. */
    static const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};
    for (size_t c = 0; c < info->channels && by != BY_DATASET; c++) {
        info->mean[c] = by == BY_IMAGENET ? mean[c] : 0.0f;
        info->deviation[c] = by == BY_IMAGENET ? deviation[c] : 1.0f;
    }
}

sh_status sh_pipeline_foresee(sh_dataset_info *info, const sh_pipeline_options *options)
{
    sh_augment augment;
    normalization by;
    sh_dataset_info seen = *info;
    SH_TRY(parse(&augment, &by, options));
    SH_TRY(set_target(&seen, options->read.task));
    if (info->element == SH_ELEMENT_BYTE) {
        if (by == BY_IMAGENET && info->channels != 3)
            return fail_imagenet(info);
        set_figures(&seen, by);
        if (options->resize > 0)
            seen.height = seen.width = options->resize;
    }
    if (seen.target == SH_TARGET_SAMPLE)
        seen.outputs = (uint32_t)sh_dataset_elements(&seen);
    *info = seen;
    return SH_OK;
}

static sh_status prepare(sh_pipeline *p, const sh_pipeline_options *options)
{
    sh_dataset_info *info = &p->info;
    const sh_dataset_info *source = p->source;
    normalization by;
    SH_TRY(parse(&p->augment, &by, options));
    /* Before the task changes the target: `trained` describes data. */
    if (options->read.trained != NULL)
        SH_TRY(sh_trained_check(options->read.trained, info, sh_dataset_description(p->dataset)));
    SH_TRY(set_target(info, options->read.task));
    p->seed = options->seed;
    if (info->element == SH_ELEMENT_FLOAT)
        return prepare_floats(p, by);
    if (by == BY_IMAGENET && info->channels != 3)
        return fail_imagenet(info);
    if (sh_augment_distorts(&p->augment))
        return sh_fail(SH_INVALID,
                       "--augment: shift, scale, noise and mask are for numbers; %s has images",
                       info->name);
    set_figures(info, by);
    for (size_t c = 0; c < info->channels; c++) {
        p->colour[c] = nearest_level(source->mean[c]);
        if (by == BY_DATASET && options->read.trained != NULL) {
            info->mean[c] = options->read.trained->info.mean[c];
            info->deviation[c] = options->read.trained->info.deviation[c];
        }
        for (int i = 0; i < LEVELS; i++)
            p->levels[c][i] = ((float)i / 255.0f - info->mean[c]) / info->deviation[c];
    }
    p->resizes = options->resize > 0 &&
                 (options->resize != source->height || options->resize != source->width);
    p->moves = sh_augment_moves(&p->augment);
    p->retouches = sh_augment_retouches(&p->augment);
    if (!p->resizes && !p->moves && !p->retouches)
        return SH_OK;

    if (sh_dataset_bytes(source) > SH_PIPELINE_BYTES_MOST || source->height > SIDE_MOST ||
        source->width > SIDE_MOST)
        return sh_fail(
            SH_INVALID,
            "images of %zu x %zu x %zu are too large for --augment and --resize: at most "
            "%d bytes, and %d pixels each way",
            source->channels, source->height, source->width, SH_PIPELINE_BYTES_MOST, SIDE_MOST);
    if (p->augment.crop >= source->height || p->augment.crop >= source->width)
        return sh_fail(SH_INVALID,
                       "--augment crop:%u: must be smaller than the images, which have %zu x %zu "
                       "pixels",
                       p->augment.crop, source->height, source->width);
    if (p->augment.jitter[2] + p->augment.jitter[3] > 0 && source->channels != 3)
        return sh_fail(SH_INVALID,
                       "--augment jitter: saturation and hue are for images of 3 channels, %s has "
                       "%zu; write jitter:B/C",
                       info->name, source->channels);
    if (p->resizes) {
        info->height = info->width = options->resize;
        find_taps(p->rows, (uint32_t)source->height, options->resize);
        find_taps(p->columns, (uint32_t)source->width, options->resize);
    }
    if (info->target == SH_TARGET_SAMPLE)
        info->outputs = (uint32_t)sh_dataset_elements(info);
    return SH_OK;
}

sh_status sh_pipeline_adopt(sh_pipeline **pipeline, sh_dataset *dataset,
                            const sh_pipeline_options *options)
{
    sh_pipeline *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        sh_dataset_close(dataset);
        return sh_fail_memory(sizeof *fresh, "the data's pipeline");
    }
    fresh->dataset = dataset;
    fresh->source = sh_dataset_about(dataset);
    fresh->info = *fresh->source;
    const sh_status status = prepare(fresh, options);
    if (status != SH_OK) {
        sh_pipeline_close(fresh);
        return status;
    }
    *pipeline = fresh;
    return SH_OK;
}

sh_status sh_pipeline_open(sh_pipeline **pipeline, const char *spec,
                           const sh_pipeline_options *options)
{
    sh_dataset *dataset;
    SH_TRY(sh_pipeline_check(options)); /* before accessing files */
    SH_TRY(sh_dataset_open(&dataset, spec, &options->read));
    return sh_pipeline_adopt(pipeline, dataset, options);
}

const sh_dataset_info *sh_pipeline_about(const sh_pipeline *pipeline)
{
    return &pipeline->info;
}

const sh_dataset *sh_pipeline_dataset(const sh_pipeline *pipeline)
{
    return pipeline->dataset;
}

size_t sh_pipeline_stack_bytes(const sh_pipeline *pipeline)
{
    const size_t image = sh_dataset_bytes(pipeline->source);
    const size_t rows = 3 * SIDE_MOST * sizeof(float);
    const size_t resizing = pipeline->resizes ? rows : 0;
    if (pipeline->retouches)
        return 2 * image + resizing + SH_PICTURE_STACK_BYTES;
    return pipeline->moves || pipeline->resizes ? image + resizing : 0;
}

void sh_pipeline_close(sh_pipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    sh_dataset_close(pipeline->dataset);
    free(pipeline);
}

/* --- reading --- */

typedef struct plane {
    const uint8_t *bytes;
    const float *levels;
    uint32_t height, width;
    sh_view view;
} plane;

static void fill(float *values, uint32_t count, float value)
{
    for (uint32_t i = 0; i < count; i++)
        values[i] = value;
}

/* Writes p->width levels. */
static void see_row(float *row, const plane *p, uint32_t y)
{
    const int64_t from = (int64_t)y + p->view.top;
    const float *levels = p->levels;
    if (from < 0 || from >= p->height) {
        fill(row, p->width, levels[0]);
        return;
    }
    const uint8_t *bytes = p->bytes + from * p->width;
    const int32_t left = p->view.left;
    const uint32_t beside = (uint32_t)(left < 0 ? -left : left), seen = p->width - beside;
    bytes += left > 0 ? left : 0;
    /* On the side where the view exceeds the image; mirroring swaps sides. */
    const bool black_first = (left < 0) != p->view.mirrored;
    float *image = row + (black_first ? beside : 0);
    fill(black_first ? row : row + seen, beside, levels[0]);
    if (p->view.mirrored)
        for (uint32_t i = 0; i < seen; i++)
            image[i] = levels[bytes[seen - 1 - i]];
    else
        for (uint32_t i = 0; i < seen; i++)
            image[i] = levels[bytes[i]];
}

static void resize_plane(float *pixels, const plane *p, const sh_pipeline *pipeline)
{
    const uint32_t side = (uint32_t)pipeline->info.width;
    float row[SIDE_MOST], held[2][SIDE_MOST];
    uint32_t number[2] = {UINT32_MAX, UINT32_MAX}; /* the row in each slot */
    for (uint32_t y = 0; y < side; y++) {
        const tap *t = &pipeline->rows[y];
        const uint32_t needed[] = {t->low, t->high};
        for (int i = 0; i < 2; i++) {
            const uint32_t place = needed[i] % 2;
            if (number[place] == needed[i])
                continue;
            see_row(row, p, needed[i]);
            for (uint32_t x = 0; x < side; x++) {
                const tap *c = &pipeline->columns[x];
                held[place][x] = (1.0f - c->weight) * row[c->low] + c->weight * row[c->high];
            }
            number[place] = needed[i];
        }
        const float *low = held[t->low % 2], *high = held[t->high % 2];
        const float rest = 1.0f - t->weight;
        for (uint32_t x = 0; x < side; x++)
            pixels[y * (size_t)side + x] = rest * low[x] + t->weight * high[x];
    }
}

static sh_status read_plain(const sh_pipeline *p, sh_split split, uint32_t index, float *pixels,
                            void *target)
{
    const size_t size = p->info.height * p->info.width, count = p->info.channels * size;
    /* Float i ends before byte 4 i + 4; byte i + 1, not yet used, is at 3 count + i + 1 or
     * later. */
    const uint8_t *bytes = (uint8_t *)pixels + (sizeof *pixels - 1) * count;
    SH_TRY(sh_dataset_read(p->dataset, split, index, (uint8_t *)bytes, target));
    for (size_t c = 0; c < p->info.channels; c++)
        for (size_t i = c * size; i < (c + 1) * size; i++)
            pixels[i] = p->levels[c][bytes[i]];
    return SH_OK;
}

static void show(float *pixels, const sh_pipeline *p, const uint8_t *bytes, sh_view view)
{
    const size_t source_size = p->source->height * p->source->width;
    const size_t size = p->info.height * p->info.width;
    for (size_t c = 0; c < p->info.channels; c++) {
        const plane channel = {bytes + c * source_size, p->levels[c], (uint32_t)p->source->height,
                               (uint32_t)p->source->width, view};
        if (p->resizes)
            resize_plane(pixels + c * size, &channel, p);
        else
            for (uint32_t y = 0; y < channel.height; y++)
                see_row(pixels + c * size + (size_t)y * channel.width, &channel, y);
    }
}

static sh_status read_moved(const sh_pipeline *p, sh_split split, uint32_t index, sh_view view,
                            float *pixels, void *target)
{
    uint8_t bytes[SH_PIPELINE_BYTES_MOST];
    SH_TRY(sh_dataset_read(p->dataset, split, index, bytes, target));
    show(pixels, p, bytes, view);
    return SH_OK;
}

typedef struct request {
    sh_split split;
    uint32_t epoch, index;
    uint32_t key; /* of the random numbers: order.h */
} request;

static sh_status read_retouched(const sh_pipeline *p, const request *r, sh_view view, float *pixels,
                                void *target)
{
    uint8_t bytes[SH_PIPELINE_BYTES_MOST], spare[SH_PIPELINE_BYTES_MOST];
    SH_TRY(sh_dataset_read(p->dataset, SH_SPLIT_TRAIN, r->index, bytes, target));
    sh_picture picture = {
        .bytes = bytes,
        .spare = spare,
        .channels = (uint32_t)p->source->channels,
        .height = (uint32_t)p->source->height,
        .width = (uint32_t)p->source->width,
    };
    sh_retouch(&picture, &p->augment, p->colour, p->seed, r->epoch, r->key);
    show(pixels, p, picture.bytes, view);
    return SH_OK;
}

static sh_status read_floats(const sh_pipeline *p, const request *r, float *values, void *target)
{
    SH_TRY(sh_dataset_read(p->dataset, r->split, r->index, values, target));
    const sh_recording recording = {values, (uint32_t)p->info.channels, (uint32_t)p->info.height,
                                    (uint32_t)p->info.width};
    if (r->split == SH_SPLIT_TRAIN && p->distorts)
        sh_distort(&recording, &p->augment, p->seed, r->epoch, r->key);
    return SH_OK;
}

static sh_status read_request(const sh_pipeline *p, const request *r, float *values, void *target)
{
    if (p->info.element == SH_ELEMENT_FLOAT)
        return read_floats(p, r, values, target);
    sh_view view = {0};
    const bool training = r->split == SH_SPLIT_TRAIN;
    if (training && p->moves)
        view = sh_augment_draw(&p->augment, p->seed, r->epoch, r->key);
    if (training && p->retouches)
        return read_retouched(p, r, view, values, target);
    if (p->resizes || (training && p->moves))
        return read_moved(p, r->split, r->index, view, values, target);
    return read_plain(p, r->split, r->index, values, target);
}

sh_status sh_pipeline_read(const sh_pipeline *pipeline, sh_split split, uint32_t epoch,
                           uint32_t index, float *values, void *target)
{
    return read_request(pipeline, &(request){split, epoch, index, index}, values, target);
}

static sh_status read_key(const sh_pipeline *p, const sh_order *order, uint32_t key, float *values,
                          void *target)
{
    return read_request(p,
                        &(request){SH_SPLIT_TRAIN, order->epoch, sh_order_of_key(order, key), key},
                        values, target);
}

sh_status sh_pipeline_read_at(const sh_pipeline *pipeline, const sh_order *order, uint32_t position,
                              float *values, void *target)
{
    return read_key(pipeline, order, sh_order_key(order, position), values, target);
}

static sh_mix_shape shape_of(const sh_dataset_info *info)
{
    return (sh_mix_shape){(uint32_t)info->channels, (uint32_t)info->height, (uint32_t)info->width};
}

bool sh_pipeline_mixes(const sh_pipeline *pipeline)
{
    return sh_augment_mixes(&pipeline->augment);
}

/* Requires mixup or cutmix. The partner is a key. */
static sh_mix draw_mix(const sh_pipeline *pipeline, const sh_order *order, uint32_t key)
{
    return sh_mixing_draw(&pipeline->augment, shape_of(&pipeline->info), order->count,
                          pipeline->seed, order->epoch, key);
}

uint32_t sh_pipeline_partner(const sh_pipeline *pipeline, const sh_order *order, uint32_t position)
{
    if (!sh_pipeline_mixes(pipeline))
        return sh_order_at(order, position);
    const sh_mix mix = draw_mix(pipeline, order, sh_order_key(order, position));
    return sh_order_of_key(order, mix.partner);
}

sh_status sh_pipeline_read_mixed(const sh_pipeline *pipeline, const sh_order *order,
                                 uint32_t position, float *values, float *spare, void *target,
                                 void *other_target, float *weight)
{
    const sh_dataset_info *info = &pipeline->info;
    const uint32_t key = sh_order_key(order, position);
    SH_TRY(read_key(pipeline, order, key, values, target));
    if (!sh_pipeline_mixes(pipeline)) {
        const size_t bytes = sh_target_bytes(info->target, info->outputs);
        if (bytes > 0)
            memcpy(other_target, target, bytes);
        *weight = 1;
        return SH_OK;
    }
    const sh_mix mix = draw_mix(pipeline, order, key);
    SH_TRY(read_key(pipeline, order, mix.partner, spare, other_target));
    sh_mixing_apply(&mix, values, spare, shape_of(info));
    *weight = mix.weight;
    return SH_OK;
}
