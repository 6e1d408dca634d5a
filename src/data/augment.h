/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Augmentation: each epoch shows a training sample from another side. This is the list that a user
 * writes, and the random numbers that decide what is done.
 *
 *     sh_augment augment;
 *     SH_TRY(sh_augment_parse(&augment, "crop,flip"));
 *     const sh_view view = sh_augment_draw(&augment, seed, epoch, index);
 *
 * What is done is a function of (seed, epoch, sample index), so it does not depend on who reads the
 * sample. Each part has a sequence of random numbers of its own, so one part never changes another.
 *
 * Threads: any; values.
 */
#ifndef SHOAL_DATA_AUGMENT_H
#define SHOAL_DATA_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/random.h"

#define SH_AUGMENT_CROP_MOST 64
#define SH_AUGMENT_CROP_DEFAULT 4 /* K. He et al.: "Deep residual learning", 2015, section 4.2 */

/* Zero: not asked for. */
typedef struct sh_augment {
    uint32_t crop;       /* pixels of black around the image that a crop may reach */
    bool flip;           /* every second view is mirrored */
    double resized_crop; /* the least part of the image's area that is seen */
    bool vflip;          /* every second view is upside down */
    double rotate;       /* degrees each way */
    double jitter[4];    /* brightness, contrast, saturation, hue */
    double erase;        /* the probability */
    bool trivial;        /* TrivialAugment */
    uint32_t shift[2];   /* of numbers: times and frequencies each way */
    double scale;        /* the range of a factor, each way */
    double noise;        /* a standard deviation */
    uint32_t mask[2];    /* the most frequencies and times */
    double mixup;        /* A of Beta(A, A) */
    double cutmix;       /* likewise */
} sh_augment;

/* The parts that draw, each its own sequence. Part of the course: never renumber, only append. */
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

/* Which part of the image, padded with black without end, is seen: as large as the image itself. */
typedef struct sh_view {
    int32_t left, top; /* its first pixel; -crop .. crop */
    bool mirrored;     /* left and right, after that */
} sh_view;

/*
 * Parses a list: names with a comma between, in any order, each at most once; "" is none. The order
 * in which they are applied is always the same; it is that of this table. Images:
 *
 *     resized-crop[:MIN]   a random part of the image, enlarged to its size: MIN (0.08) to 1 of its
 *                          area, 3/4 to 4/3 as wide as high (torchvision's RandomResizedCrop)
 *     vflip                upside down with probability 1/2
 *     rotate:DEGREES       turned about the middle by -DEGREES to DEGREES; black outside
 *     trivial              one of 14 changes of place or colour, of random magnitude (torchvision's
 *                          TrivialAugmentWide)
 *     jitter:B[/C/S/H]     brightness, contrast and saturation times 1 - B to 1 + B, 1 - C to 1 + C
 *                          and 1 - S to 1 + S, hue turned by -H to H of the circle, in a random
 *                          order; 0 where not given (torchvision's ColorJitter)
 *     erase[:P]            with probability P (0.5) a box is the mean colour of the training
 * images: 0.02 to 0.33 of the area, 0.3 to 3.3 as high as wide (torchvision's RandomErasing)
 *     crop[:N]             a random crop out of the image with N (4) pixels of black on each side
 *     flip                 mirrored left to right with probability 1/2
 *
 * Series and recordings, which are numbers (augment/distort.h):
 *
 *     shift:N[/F]          by -N to N steps of time, and by -F to F frequencies
 *     scale:S              each channel times 1 - S to 1 + S
 *     noise:S              plus normal noise of standard deviation S
 *     mask:F/T             a band of 0 to F frequencies and one of 0 to T times become 0 (as
 *                          SpecAugment does)
 *
 * All, last (augment/mixing.h):
 *
 *     mixup:A, cutmix:A    mixed with another sample, and so the targets; the weight is from
 *                          Beta(A, A)
 *
 * Fails with SH_INVALID, saying what there is.
 */
sh_status sh_augment_parse(sh_augment *augment, const char *list) SHOAL_CHECKED;

/* Whether it has crop or flip, jitter, anything but crop and flip that changes images, what changes
 * numbers, and mixup or cutmix. */
bool sh_augment_moves(const sh_augment *augment);
bool sh_augment_jitters(const sh_augment *augment);
bool sh_augment_retouches(const sh_augment *augment);
bool sh_augment_distorts(const sh_augment *augment);
bool sh_augment_mixes(const sh_augment *augment);

/* How crop and flip show sample `index` of the training split in an epoch. */
sh_view sh_augment_draw(const sh_augment *augment, uint64_t seed, uint32_t epoch, uint32_t index);

/* The random numbers of a part for a sample in an epoch. */
sh_random sh_augment_random(sh_augment_part part, uint64_t seed, uint32_t epoch, uint32_t index);

#endif
