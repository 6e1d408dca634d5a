/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment.h"

#include <string.h>

#include "base/random.h"

#define NAME_MOST 32 /* characters of a name that a message shows */

/* The text of one name of the list. */
typedef struct item {
    const char *text;
    size_t length;
} item;

static bool is(item name, const char *text)
{
    return name.length == strlen(text) && memcmp(name.text, text, name.length) == 0;
}

static sh_status parse_crop(uint32_t *crop, const char *list, item padding)
{
    uint32_t value = 0;
    bool good = padding.length > 0;
    for (size_t i = 0; i < padding.length && good; i++) {
        good = padding.text[i] >= '0' && padding.text[i] <= '9';
        if (good)
            value = value * 10 + (uint32_t)(padding.text[i] - '0');
        good = good && value <= SH_AUGMENT_CROP_MOST;
    }
    if (!good || value == 0)
        return sh_fail(
            SH_INVALID,
            "--augment %s: write crop or crop:N, N being 1 to %d pixels around the image", list,
            SH_AUGMENT_CROP_MOST);
    *crop = value;
    return SH_OK;
}

static sh_status parse_item(sh_augment *augment, const char *list, item name)
{
    static const char crop[] = "crop:";
    const size_t prefix = sizeof crop - 1;
    const bool padded = name.length >= prefix && memcmp(name.text, crop, prefix) == 0;
    const bool flips = is(name, "flip"), crops = padded || is(name, "crop");
    if ((flips && augment->flip) || (crops && augment->crop > 0))
        return sh_fail(SH_INVALID, "--augment %s: '%s' is there twice", list,
                       flips ? "flip" : "crop");
    if (flips) {
        augment->flip = true;
        return SH_OK;
    }
    if (crops) {
        augment->crop = SH_AUGMENT_CROP_DEFAULT;
        const item padding = {name.text + prefix, name.length - prefix};
        return padded ? parse_crop(&augment->crop, list, padding) : SH_OK;
    }
    return sh_fail(SH_INVALID,
                   "--augment %s: unknown '%.*s'; there is: crop, crop:N, flip, for example "
                   "crop:4,flip",
                   list, (int)(name.length < NAME_MOST ? name.length : NAME_MOST), name.text);
}

sh_status sh_augment_parse(sh_augment *augment, const char *list)
{
    sh_augment fresh = {0};
    const char *at = list;
    while (list[0] != '\0') {
        const item name = {at, strcspn(at, ",")};
        SH_TRY(parse_item(&fresh, list, name));
        at += name.length;
        if (*at == '\0')
            break;
        at++;
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
