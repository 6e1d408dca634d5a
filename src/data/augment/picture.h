/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture of bytes that augmentation changes in place.
 *
 *     sh_picture picture = {.bytes = a, .spare = b, .channels = 3, .height = 224, .width = 224};
 *     sh_picture_enlarge(&picture, (sh_box){.top = 10, .left = 0, .height = 112, .width = 100});
 *     show(picture.bytes); // which may be b now
 *
 * All arithmetic is on integers: weights are parts of 2048, and sums are rounded to the nearest
 * byte.
 *
 * Threads: any; a picture belongs to its caller.
 */
#ifndef SHOAL_DATA_AUGMENT_PICTURE_H
#define SHOAL_DATA_AUGMENT_PICTURE_H

#include <stdint.h>

#define SH_PICTURE_SIDE_MOST 1024 /* pixels of height and width */

#define SH_PICTURE_STACK_BYTES 36864 /* at most, of each operation and what calls it */

typedef struct sh_picture {
    uint8_t *bytes;                   /* [C][H][W]; borrowed */
    uint8_t *spare;                   /* as many, undefined; operations may exchange the two */
    uint32_t channels, height, width; /* at least 1 */
} sh_picture;

/* Pixels of a picture, at least one, all within it. */
typedef struct sh_box {
    uint32_t top, left, height, width;
} sh_box;

/* Exchanges the two. */
void sh_picture_swap(sh_picture *picture);

/* The picture becomes what is in the box, enlarged to its own size: bilinear, pixels being areas,
 * as PyTorch's interpolate(mode="bilinear", align_corners=False). */
void sh_picture_enlarge(sh_picture *picture, sh_box box);

/* What is in the box becomes one colour: a byte for each channel. */
void sh_picture_erase(sh_picture *picture, sh_box box, const uint8_t *colour);

/* Upside down. */
void sh_picture_turn_over(sh_picture *picture);

/*
 * Where the picture is seen through an affine map: what is at (x, y) from its middle is what was at
 * (xx x + xy y + x0, yx x + yy y + y0). Parts of SH_PICTURE_UNIT.
 */
#define SH_PICTURE_UNIT 65536
typedef struct sh_affine {
    int32_t xx, xy, x0, yx, yy, y0; /* within 2^27 */
} sh_affine;

/* Bilinear; black outside. */
void sh_picture_map(sh_picture *picture, sh_affine map);

/* The map that turns a picture by this many degrees, -180 to 180, counterclockwise. */
sh_affine sh_affine_turn(double degrees);

#endif
