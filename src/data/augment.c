/* SPDX-License-Identifier: Apache-2.0 */
/* A number is parsed as an integer divided by a power of ten, both exact in double: the result is
 * the same everywhere, whatever the locale. */
#include "data/augment.h"

#include <stdio.h>
#include <string.h>

#define NAME_MOST 32   /* shown in a message */
#define NUMBERS_MOST 4 /* per name */
#define DIGITS_MOST 9
#define BLOCKS_SHIFT 24 /* a sequence has 2^24 blocks of four numbers */

typedef enum kind {
    RESIZED_CROP,
    VFLIP,
    ROTATE,
    TRIVIAL,
    JITTER,
    ERASE,
    CROP,
    FLIP,
    SHIFT,
    SCALE,
    NOISE,
    MASK,
    MIXUP,
    CUTMIX,
    KINDS,
} kind;

typedef struct form {
    const char *name;
    const char *shown;
    const char *usage; /* after "write" */
    int required, allowed;
    bool whole;
    double least, most[NUMBERS_MOST];
} form;

static const form forms[KINDS] = {
    [RESIZED_CROP] = {"resized-crop",
                      "resized-crop[:MIN]",
                      "resized-crop or resized-crop:MIN, where MIN is 0.01 to 1, the least visible "
                      "part of the area",
                      0,
                      1,
                      false,
                      0.01,
                      {1}},
    [VFLIP] = {.name = "vflip", .shown = "vflip", .usage = "vflip"},
    [ROTATE] = {"rotate",
                "rotate:DEGREES",
                "rotate:DEGREES, where DEGREES is 0.1 to 180 each way",
                1,
                1,
                false,
                0.1,
                {180}},
    [TRIVIAL] = {.name = "trivial", .shown = "trivial", .usage = "trivial"},
    [JITTER] = {"jitter",
                "jitter:B[/C/S/H]",
                "jitter:B, jitter:B/C, jitter:B/C/S or jitter:B/C/S/H, where brightness, contrast "
                "and saturation are 0 to 1, hue 0 to 0.5",
                1,
                4,
                false,
                0,
                {1, 1, 1, 0.5}},
    [ERASE] = {"erase",
               "erase[:P]",
               "erase or erase:P, where P is 0.01 to 1, the probability",
               0,
               1,
               false,
               0.01,
               {1}},
    [CROP] = {"crop",
              "crop[:N]",
              "crop or crop:N, where N is 1 to 64 pixels around the image",
              0,
              1,
              true,
              1,
              {SH_AUGMENT_CROP_MOST}},
    [FLIP] = {.name = "flip", .shown = "flip", .usage = "flip"},
    [SHIFT] = {"shift",
               "shift:N[/F]",
               "shift:N or shift:N/F, the most steps of time and frequencies each way, 0 to 65535",
               1,
               2,
               true,
               0,
               {65535, 65535}},
    [SCALE] = {"scale",
               "scale:S",
               "scale:S, where S is 0.001 to 1, the range of the factor each way",
               1,
               1,
               false,
               0.001,
               {1}},
    [NOISE] = {"noise",
               "noise:S",
               "noise:S, where S is 0.0001 to 100, a standard deviation",
               1,
               1,
               false,
               0.0001,
               {100}},
    [MASK] = {"mask",
              "mask:F/T",
              "mask:F/T, the most frequencies and times, 0 to 65535",
              2,
              2,
              true,
              0,
              {65535, 65535}},
    [MIXUP] = {"mixup", "mixup:A", "mixup:A, A being 0.05 to 10", 1, 1, false, 0.05, {10}},
    [CUTMIX] = {"cutmix", "cutmix:A", "cutmix:A, A being 0.05 to 10", 1, 1, false, 0.05, {10}},
};

static void take(sh_augment *augment, kind which, const double *number, int count)
{
    switch (which) {
    case RESIZED_CROP:
        augment->resized_crop = count > 0 ? number[0] : 0.08;
        break;
    case VFLIP:
        augment->vflip = true;
        break;
    case ROTATE:
        augment->rotate = number[0];
        break;
    case TRIVIAL:
        augment->trivial = true;
        break;
    case JITTER:
        memcpy(augment->jitter, number, sizeof augment->jitter);
        break;
    case ERASE:
        augment->erase = count > 0 ? number[0] : 0.5;
        break;
    case CROP:
        augment->crop = count > 0 ? (uint32_t)number[0] : SH_AUGMENT_CROP_DEFAULT;
        break;
    case FLIP:
        augment->flip = true;
        break;
    case SHIFT:
        augment->shift[0] = (uint32_t)number[0];
        augment->shift[1] = (uint32_t)number[1];
        break;
    case SCALE:
        augment->scale = number[0];
        break;
    case NOISE:
        augment->noise = number[0];
        break;
    case MASK:
        augment->mask[0] = (uint32_t)number[0];
        augment->mask[1] = (uint32_t)number[1];
        break;
    case MIXUP:
        augment->mixup = number[0];
        break;
    case CUTMIX:
        augment->cutmix = number[0];
        break;
    case KINDS:
        break;
    }
}

/* Parses digits with at most one decimal point, none if `whole`. */
static bool read_number(double *number, const char *text, size_t length, bool whole)
{
    uint32_t digits = 0, value = 0, scale = 1;
    bool point = false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.' && !point && !whole) {
            point = true;
            continue;
        }
        if (text[i] < '0' || text[i] > '9' || ++digits > DIGITS_MOST)
            return false;
        value = value * 10 + (uint32_t)(text[i] - '0');
        scale *= point ? 10 : 1;
    }
    *number = (double)value / (double)scale;
    return digits > 0;
}

static bool read_numbers(double number[NUMBERS_MOST], int *count, const form *f, const char *text,
                         size_t length)
{
    for (*count = 0; *count < f->allowed; ++*count) {
        const char *slash = memchr(text, '/', length);
        const size_t own = slash == NULL ? length : (size_t)(slash - text);
        double *value = &number[*count];
        if (!read_number(value, text, own, f->whole) || !(*value >= f->least) ||
            !(*value <= f->most[*count]))
            return false;
        if (slash == NULL) {
            ++*count;
            return *count >= f->required;
        }
        text += own + 1;
        length -= own + 1;
    }
    return false;
}

static sh_status fail_unknown(const char *list, const char *name, size_t length)
{
    char all[384];
    size_t used = 0;
    for (int i = 0; i < KINDS && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s, ", forms[i].shown);
    return sh_fail(SH_INVALID, "--augment %s: unknown '%.*s'; known are: %sfor example crop:4,flip",
                   list, (int)(length < NAME_MOST ? length : NAME_MOST), name, all);
}

static sh_status parse_part(sh_augment *augment, uint32_t *taken, const char *list,
                            const char *text, size_t length)
{
    const char *colon = memchr(text, ':', length);
    const size_t name = colon == NULL ? length : (size_t)(colon - text);
    int i = 0;
    while (i < KINDS && (strlen(forms[i].name) != name || memcmp(forms[i].name, text, name) != 0))
        i++;
    if (i == KINDS)
        return fail_unknown(list, text, length);
    const form *f = &forms[i];
    if (*taken >> i & 1)
        return sh_fail(SH_INVALID, "--augment %s: '%s' is given twice", list, f->name);
    *taken |= 1u << i;
    double number[NUMBERS_MOST] = {0};
    int count = 0;
    const bool fine = colon == NULL ? f->required == 0
                                    : read_numbers(number, &count, f, colon + 1, length - name - 1);
    if (!fine)
        return sh_fail(SH_INVALID, "--augment %s: write %s", list, f->usage);
    take(augment, (kind)i, number, count);
    return SH_OK;
}

sh_status sh_augment_parse(sh_augment *augment, const char *list)
{
    sh_augment fresh = {0};
    uint32_t taken = 0;
    for (const char *at = list; list[0] != '\0'; at++) {
        const size_t length = strcspn(at, ",");
        SH_TRY(parse_part(&fresh, &taken, list, at, length));
        at += length;
        if (*at == '\0')
            break;
    }
    *augment = fresh;
    return SH_OK;
}

bool sh_augment_moves(const sh_augment *augment)
{
    return augment->crop > 0 || augment->flip;
}

bool sh_augment_jitters(const sh_augment *augment)
{
    for (int i = 0; i < 4; i++)
        if (augment->jitter[i] > 0)
            return true;
    return false;
}

bool sh_augment_retouches(const sh_augment *augment)
{
    return augment->resized_crop > 0 || augment->vflip || augment->rotate > 0 || augment->trivial ||
           sh_augment_jitters(augment) || augment->erase > 0;
}

bool sh_augment_distorts(const sh_augment *augment)
{
    return augment->shift[0] > 0 || augment->shift[1] > 0 || augment->scale > 0 ||
           augment->noise > 0 || augment->mask[0] > 0 || augment->mask[1] > 0;
}

bool sh_augment_mixes(const sh_augment *augment)
{
    return augment->mixup > 0 || augment->cutmix > 0;
}

sh_random sh_augment_random(sh_augment_part part, uint64_t seed, uint32_t epoch, uint32_t index)
{
    sh_random random = sh_random_for(seed, SH_RANDOM_AUGMENT, epoch, index);
    random.counter[0] = (uint32_t)part << BLOCKS_SHIFT;
    return random;
}

sh_view sh_augment_draw(const sh_augment *augment, uint64_t seed, uint32_t epoch, uint32_t index)
{
    sh_view view = {0};
    if (!sh_augment_moves(augment))
        return view;
    sh_random random = sh_augment_random(SH_AUGMENT_VIEW, seed, epoch, index);
    /* Drawn even without flip, so that it does not affect the crops. */
    const bool mirrored = sh_random_next(&random) >> 31 != 0;
    view.mirrored = augment->flip && mirrored;
    if (augment->crop > 0) {
        const uint32_t places = 2 * augment->crop + 1;
        view.top = (int32_t)sh_random_below(&random, places) - (int32_t)augment->crop;
        view.left = (int32_t)sh_random_below(&random, places) - (int32_t)augment->crop;
    }
    return view;
}
