/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define NAME_MOST 32 /* characters of a name that a message shows */

/* Takes the name of `length` characters at `name` in the list. */
static sh_status parse_name(sh_augment *augment, const char *list, const char *name, size_t length)
{
    static const char crop[] = "crop:";
    const size_t prefix = sizeof crop - 1;
    const bool padded = length >= prefix && memcmp(name, crop, prefix) == 0;
    const bool crops = padded || (length == prefix - 1 && memcmp(name, crop, length) == 0);
    const bool flips = length == 4 && memcmp(name, "flip", 4) == 0;
    if (!crops && !flips)
        return sh_fail(SH_INVALID,
                       "--augment %s: unknown '%.*s'; there is: crop, crop:N, flip, for example "
                       "crop:4,flip",
                       list, (int)(length < NAME_MOST ? length : NAME_MOST), name);
    if ((flips && augment->flip) || (crops && augment->crop > 0))
        return sh_fail(SH_INVALID, "--augment %s: '%s' is there twice", list,
                       flips ? "flip" : "crop");
    augment->flip |= flips;
    if (crops)
        augment->crop = SH_AUGMENT_CROP_DEFAULT;
    if (!padded)
        return SH_OK;
    const bool is_number = strspn(name + prefix, "0123456789") == length - prefix;
    const unsigned long pixels = is_number ? strtoul(name + prefix, NULL, 10) : 0;
    if (pixels == 0 || pixels > SH_AUGMENT_CROP_MOST)
        return sh_fail(
            SH_INVALID,
            "--augment %s: write crop or crop:N, N being 1 to %d pixels around the image", list,
            SH_AUGMENT_CROP_MOST);
    augment->crop = (uint32_t)pixels;
    return SH_OK;
}

sh_status sh_augment_parse(sh_augment *augment, const char *list)
{
    sh_augment fresh = {0};
    for (const char *at = list; list[0] != '\0'; at++) {
        const size_t length = strcspn(at, ",");
        SH_TRY(parse_name(&fresh, list, at, length));
        at += length;
        if (*at == '\0')
            break;
    }
    *augment = fresh;
    return SH_OK;
}

sh_view sh_augment_draw(const sh_augment *augment, uint64_t seed, uint32_t epoch, uint32_t index)
{
    sh_view view = {0};
    if (augment->crop == 0 && !augment->flip)
        return view;
    sh_random random = sh_random_for(seed, SH_RANDOM_AUGMENT, epoch, index);
    /* Drawn even where it is not used: with and without flip, the crops are the same. */
    const bool mirrored = sh_random_next(&random) >> 31 != 0;
    view.mirrored = augment->flip && mirrored;
    if (augment->crop > 0) {
        const uint32_t places = 2 * augment->crop + 1;
        view.top = (int32_t)sh_random_below(&random, places) - (int32_t)augment->crop;
        view.left = (int32_t)sh_random_below(&random, places) - (int32_t)augment->crop;
    }
    return view;
}
