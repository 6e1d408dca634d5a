/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orientation in a photo's EXIF data (Exif 2.32, JEITA CP-3451): how the camera was held.
 *
 *     const int orientation = sh_exif_orientation(bytes, count);   // 6: row 0 is the right side
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_PHOTOS_EXIF_H
#define SHOAL_DATA_PHOTOS_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* `bytes` begin with the TIFF header, "II" or "MM". 1 to 8; 1, which is upright, where nothing
 * valid is said. */
int sh_exif_orientation(const uint8_t *bytes, size_t count);

#endif
