/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary bytes to the decoders of photos: JPEG, PNG, PPM, BMP and WebP, with EXIF data in
 * them. The first byte chooses the square into which they are fitted. Also feeds the reader of
 * EXIF.
 */
#include <stdlib.h>

#include "data/photos/exif.h"
#include "data/photos/photo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIDE_MOST 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t sample[3 * SIDE_MOST * SIDE_MOST];
    if (size == 0)
        return 0;
    const sh_photo_form form = {.side = 1 + data[0] % SIDE_MOST,
                                .channels = 3,
                                .fit = (sh_fit_kind)(data[0] / SIDE_MOST % 3)};
    const int orientation = sh_exif_orientation(data + 1, size - 1);
    if (orientation < 1 || orientation > 8)
        abort();
    (void)sh_photo_is_grey(data + 1, size - 1);
    if (sh_photo_decode(sample, &form, data + 1, size - 1) != SH_OK)
        return 0;
    return 0;
}
