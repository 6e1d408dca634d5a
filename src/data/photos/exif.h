/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the orientation from a photo's EXIF data (Exif 2.32, JEITA CP-3451).
 *
 *     const int orientation = sh_exif_orientation(bytes, count);   // 6: row 0 is the right side
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_PHOTOS_EXIF_H
#define SHOAL_DATA_PHOTOS_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* `bytes` begin with the TIFF header, "II" or "MM". Returns 1 to 8; 1 (upright) if there is no
 * valid orientation. */
int sh_exif_orientation(const uint8_t *bytes, size_t count);

#endif
