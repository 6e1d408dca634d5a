/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The skeletons of the built-in digits: how a pen moves, in the ways that people write them.
 *
 *     const sh_glyph *glyph = sh_glyph_pick(7, variant_number);
 *     for (uint32_t i = 0; i < glyph->points; i++)
 *         if (glyph->path[i].x == SH_GLYPH_LIFT) ...   // the pen goes up
 *
 * Threads: any; constant data.
 */
#ifndef SHOAL_DATA_GLYPH_H
#define SHOAL_DATA_GLYPH_H

#include <stdint.h>

#define SH_GLYPH_POINTS 24 /* most points of one glyph, lifts included */
#define SH_GLYPH_LIFT (-1)

/*
 * A path of control points of smooth curves. x and y run from 0 (left, top) to 100 (right,
 * bottom); a point given twice is a corner; x == SH_GLYPH_LIFT ends a stroke.
 */
typedef struct sh_glyph {
    uint8_t digit;
    uint8_t points;
    struct {
        int8_t x, y;
    } path[SH_GLYPH_POINTS];
} sh_glyph;

/* One of the ways to write `digit` (0 .. 9), chosen by `number` modulo how many there are. */
const sh_glyph *sh_glyph_pick(uint32_t digit, uint32_t number);

#endif
