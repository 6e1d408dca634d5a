/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture of bytes and the geometric operations that augmentation applies to it in place.
 *
 * Pixel arithmetic is on integers: weights are multiples of 1/2048, results are rounded to the
 * nearest.
 *
 *     sh_picture picture = {.bytes = a, .spare = b, .channels = 3, .height = 224, .width = 224};
 *     sh_picture_enlarge(&picture, (sh_box){.top = 10, .left = 0, .height = 112, .width = 100});
 *     show(picture.bytes); // now a or b
 *
 * Threads: any, each with its own picture.
 */
#ifndef SHOAL_DATA_AUGMENT_PICTURE_H
#define SHOAL_DATA_AUGMENT_PICTURE_H

#include <stdint.h>

#define SH_PICTURE_SIDE_MOST 1024 /* pixels of height or width */

#define SH_PICTURE_STACK_BYTES 36864 /* most stack of an operation with its callees */

typedef struct sh_picture {
    uint8_t *bytes; /* [C][H][W]; borrowed */
    uint8_t *spare; /* same size, undefined; may be swapped with `bytes`; borrowed */
    uint32_t channels, height, width; /* at least 1 */
} sh_picture;

/* A rectangle of at least one pixel within a picture. */
typedef struct sh_box {
    uint32_t top, left, height, width;
} sh_box;

void sh_picture_swap(sh_picture *picture);

/* Enlarges the box to the whole picture: bilinear, with pixels as areas, as PyTorch's
 * interpolate(mode="bilinear", align_corners=False). */
void sh_picture_enlarge(sh_picture *picture, sh_box box);

/* `colour`: one byte for each channel. */
void sh_picture_erase(sh_picture *picture, sh_box box, const uint8_t *colour);

/* Flips it vertically. */
void sh_picture_turn_over(sh_picture *picture);

/*
 * An affine map of positions, relative to the centre: the new pixel at (x, y) is the old one at
 * (xx x + xy y + x0, yx x + yy y + y0) / SH_PICTURE_UNIT.
 */
#define SH_PICTURE_UNIT 65536
typedef struct sh_affine {
    int32_t xx, xy, x0, yx, yy, y0; /* magnitudes at most 2^27 */
} sh_affine;

/* Interpolates bilinearly; black outside of the picture. */
void sh_picture_map(sh_picture *picture, sh_affine map);

/* Rotates counterclockwise by -180 to 180 degrees. */
sh_affine sh_affine_turn(double degrees);

#endif
