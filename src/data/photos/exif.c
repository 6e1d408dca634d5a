/* SPDX-License-Identifier: Apache-2.0 */
/* EXIF data are a TIFF file: byte order, the number 42, and the offset of the first directory,
 * which is a count and entries of 12 bytes each: tag, type, count, value. */
#include "data/photos/exif.h"

#include <stdbool.h>
#include <string.h>

#define ORIENTATION 0x0112
#define SHORT 3
#define ENTRY_BYTES 12

typedef struct tiff {
    const uint8_t *bytes;
    size_t count;
    bool big; /* big-endian */
} tiff;

/* 0 if it is not within the data. */
static uint32_t number_at(const tiff *t, uint64_t at, uint32_t width)
{
    uint32_t number = 0;
    if (at > t->count || t->count - at < width)
        return 0;
    for (uint32_t i = 0; i < width; i++)
        number |= (uint32_t)t->bytes[at + i] << 8 * (t->big ? width - 1 - i : i);
    return number;
}

int sh_exif_orientation(const uint8_t *bytes, size_t count)
{
    if (count < 8 || (memcmp(bytes, "II", 2) != 0 && memcmp(bytes, "MM", 2) != 0))
        return 1;
    const tiff t = {bytes, count, bytes[0] == 'M'};
    const uint64_t directory = number_at(&t, 4, 4);
    const uint32_t entries = number_at(&t, directory, 2);
    if (number_at(&t, 2, 2) != 42)
        return 1;
    for (uint32_t i = 0; i < entries; i++) {
        const uint64_t entry = directory + 2 + (uint64_t)i * ENTRY_BYTES;
        if (entry + ENTRY_BYTES > count)
            return 1;
        if (number_at(&t, entry, 2) != ORIENTATION)
            continue;
        const uint32_t value = number_at(&t, entry + 8, 2);
        const bool valid = number_at(&t, entry + 2, 2) == SHORT &&
                           number_at(&t, entry + 4, 4) == 1 && value >= 1 && value <= 8;
        return valid ? (int)value : 1;
    }
    return 1;
}
