/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Augmentation: each epoch changes a training sample differently.
 *
 * A change is a function of (seed, epoch, sample index).
 *
 *     sh_augment augment;
 *     SH_TRY(sh_augment_parse(&augment, "crop,flip"));
 *     const sh_view view = sh_augment_draw(&augment, seed, epoch, index);
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_AUGMENT_H
#define SHOAL_DATA_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/random.h"

#define SH_AUGMENT_CROP_MOST 64
#define SH_AUGMENT_CROP_DEFAULT 4 /* K. He et al.: "Deep residual learning", 2015, section 4.2 */

/* The numbers of sh_augment_parse; zero is off. */
typedef struct sh_augment {
    uint32_t crop; /* pixels */
    bool flip;
    double resized_crop; /* least part of the area */
    bool vflip;
    double rotate;    /* degrees */
    double jitter[4]; /* brightness, contrast, saturation, hue */
    double erase;
    bool trivial;
    uint32_t shift[2]; /* times, frequencies */
    double scale;
    double noise;
    uint32_t mask[2]; /* frequencies, times */
    double mixup;
    double cutmix;
} sh_augment;

/* Each part has its own random sequence, so none affects another. The numbers determine every run:
 * never renumber. */
typedef enum sh_augment_part {
    SH_AUGMENT_VIEW = 0, /* crop and flip */
    SH_AUGMENT_RESIZED_CROP = 1,
    SH_AUGMENT_VFLIP = 2,
    SH_AUGMENT_ROTATE = 3,
    SH_AUGMENT_JITTER = 4,
    SH_AUGMENT_ERASE = 5,
    SH_AUGMENT_TRIVIAL = 6,
    SH_AUGMENT_SHIFT = 7,
    SH_AUGMENT_SCALE = 8,
    SH_AUGMENT_NOISE = 9,
    SH_AUGMENT_MASK = 10,
    SH_AUGMENT_MIXING = 11,
} sh_augment_part;

/* A window as large as the image; black surrounds the image. */
typedef struct sh_view {
    int32_t left, top; /* first pixel, -crop to crop */
    bool mirrored;     /* after the crop */
} sh_view;

/*
 * Parses comma-separated names in any order, each at most once; "" means none. They are applied
 * in the order of this table. Images:
 *
 *     resized-crop[:MIN]   a random part, enlarged to the image's size: MIN (0.08) to 1 of its
 *                          area, width/height 3/4 to 4/3 (torchvision's RandomResizedCrop)
 *     vflip                upside down with probability 1/2
 *     rotate:DEGREES       rotated about the centre by -DEGREES to DEGREES; black outside
 *     trivial              one of 14 geometric or colour changes of random magnitude
 *                          (torchvision's TrivialAugmentWide)
 *     jitter:B[/C/S/H]     brightness, contrast and saturation times 1 - B to 1 + B, 1 - C to
 *                          1 + C and 1 - S to 1 + S, hue turned by -H to H of the circle, in
 *                          random order; default 0 (torchvision's ColorJitter)
 *     erase[:P]            with probability P (0.5) fills a box with the training images' mean
 *                          colour: 0.02 to 0.33 of the area, height/width 0.3 to 3.3
 *                          (torchvision's RandomErasing)
 *     crop[:N]             a random crop of the image padded with N (4) black pixels
 *     flip                 mirrored left to right with probability 1/2
 *
 * Series and recordings (augment/distort.h):
 *
 *     shift:N[/F]          by -N to N time steps and -F to F frequencies
 *     scale:S              each channel times 1 - S to 1 + S
 *     noise:S              adds normal noise of standard deviation S
 *     mask:F/T             zeroes 0 to F frequencies and 0 to T times (SpecAugment)
 *
 * All, last (augment/mixing.h):
 *
 *     mixup:A, cutmix:A    mixes in another sample and its target, weighted by Beta(A, A)
 *
 * SH_INVALID: the message lists the names.
 */
sh_status sh_augment_parse(sh_augment *augment, const char *list) SHOAL_CHECKED;

/* Whether the list has crop or flip; jitter; other image changes; changes of numbers; mixup or
 * cutmix. */
bool sh_augment_moves(const sh_augment *augment);
bool sh_augment_jitters(const sh_augment *augment);
bool sh_augment_retouches(const sh_augment *augment);
bool sh_augment_distorts(const sh_augment *augment);
bool sh_augment_mixes(const sh_augment *augment);

/* The crop and flip of training sample `index`. */
sh_view sh_augment_draw(const sh_augment *augment, uint64_t seed, uint32_t epoch, uint32_t index);

sh_random sh_augment_random(sh_augment_part part, uint64_t seed, uint32_t epoch, uint32_t index);

#endif
