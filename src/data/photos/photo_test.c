/* SPDX-License-Identifier: Apache-2.0 */
#include "data/photos/photo.h"

#include "base/test.h"
#include "data/photos/photo_golden.h"

enum { PIXELS = GOLDEN_SIDE * GOLDEN_SIDE };

static const struct golden_photo *golden(const char *name)
{
    for (size_t i = 0; i < sizeof golden_photos / sizeof *golden_photos; i++)
        if (strcmp(golden_photos[i].name, name) == 0)
            return &golden_photos[i];
    fail_msg("no %s", name);
    return NULL;
}

static sh_photo_form form_of(uint32_t side, uint32_t channels)
{
    return (sh_photo_form){.side = side, .channels = channels, .fit = SH_FIT_CROP};
}

static void every_kind_is_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden_photos / sizeof *golden_photos; i++) {
        const struct golden_photo *g = &golden_photos[i];
        uint8_t sample[3 * PIXELS];
        const sh_photo_form form = form_of(GOLDEN_SIDE, g->channels);
        if (sh_photo_decode(sample, &form, g->file, g->bytes) != SH_OK)
            fail_msg("%s: %s", g->name, sh_message());
        for (uint32_t k = 0; k < g->channels * PIXELS; k++)
            if (abs(sample[k] - g->pixels[k]) > g->off)
                fail_msg("%s: level %u is %u, expected %u", g->name, k, sample[k], g->pixels[k]);
    }
}

/* WebP has no grey format; a BMP's palette is not examined. */
static void grey_is_told_by_the_head(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden_photos / sizeof *golden_photos; i++) {
        const struct golden_photo *g = &golden_photos[i];
        if (sh_photo_is_grey(g->file, g->bytes) != (g->channels == 1))
            fail_msg("%s is taken for grey, or is not", g->name);
    }
    assert_false(sh_photo_is_grey(NULL, 0));
}

static void grey_fits_into_colour_alone(void **state)
{
    (void)state;
    uint8_t sample[3 * PIXELS];
    const struct golden_photo *grey = golden("png_grey"), *colour = golden("png");
    const sh_photo_form three = form_of(GOLDEN_SIDE, 3), one = form_of(GOLDEN_SIDE, 1);
    assert_ok(sh_photo_decode(sample, &three, grey->file, grey->bytes));
    for (size_t c = 0; c < 3; c++)
        assert_memory_equal(sample + c * PIXELS, grey->pixels, PIXELS);
    assert_fails(sh_photo_decode(sample, &one, colour->file, colour->bytes), SH_CORRUPT,
                 "is in colour, but the samples are grey");
}

static void orientation_is_left_where_that_is_asked_for(void **state)
{
    (void)state;
    uint8_t sample[3 * PIXELS];
    const struct golden_photo *turned = golden("png_turned");
    sh_photo_form form = form_of(GOLDEN_SIDE, 3);
    form.no_exif = true;
    assert_ok(sh_photo_decode(sample, &form, turned->file, turned->bytes));
    assert_memory_equal(sample, golden("png")->pixels, sizeof sample);
}

/* Each piece ends an allocation, for the address sanitizer. */
static void what_is_cut_off_is_damaged(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t spare; /* after the last pixel */
    } cases[] = {{"jpeg", 2},
                 {"jpeg_progressive", 2},
                 {"jpeg_grey", 2},
                 {"png", 16},
                 {"png_interlaced", 16},
                 {"png_palette", 16},
                 {"ppm", 0},
                 {"pgm_text", 1},
                 {"bmp", 0},
                 {"bmp_palette", 0},
                 {"webp", 1},
                 {"webp_lossy", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct golden_photo *g = golden(cases[i].name);
        const sh_photo_form form = form_of(GOLDEN_SIDE, g->channels);
        for (size_t cut = 0; cut + cases[i].spare < g->bytes; cut += 1 + cut / 40) {
            uint8_t sample[3 * PIXELS], *part = malloc(cut + 1);
            assert_non_null(part);
            memcpy(part + 1, g->file, cut);
            const sh_status status = sh_photo_decode(sample, &form, part + 1, cut);
            if (status != SH_CORRUPT && status != SH_FORMAT)
                fail_msg("%s cut to %zu of %zu bytes: %s", g->name, cut, g->bytes,
                         sh_status_text(status));
            free(part);
        }
    }
}

static void bad_files_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t at;
        const char *bytes;
        size_t count;
        sh_status code;
        const char *part;
    } cases[] = {
        {"png", 16, "\0\0\xff\xff\0\0\x0f\xff", 8, SH_CORRUPT, "is a damaged PNG: "}, /* its CRC */
        {"png", 60, "\x55", 1, SH_CORRUPT, "is a damaged PNG: "},
        {"jpeg", 400, "\xff\xff\xff\xff", 4, SH_CORRUPT, "is a damaged JPEG: "},
        {"bmp", 18, "\xff\xff\xff\x7f", 4, SH_CORRUPT, "is too large: 2147483647 x 8 pixels"},
        {"bmp", 22, "\0\0\0\x80", 4, SH_CORRUPT, "is too large: 8 x 2147483648 pixels"},
        {"bmp", 18, "\0\0\0\0", 4, SH_CORRUPT, "it claims 0 x 8 pixels"},
        {"bmp", 30, "\1\0\0\0", 4, SH_FORMAT, "is a BMP of 24 bits with compression 1"},
        {"bmp", 28, "\x10\0", 2, SH_FORMAT, "is a BMP of 16 bits"},
        {"bmp", 14, "\x20\0\0\0", 4, SH_CORRUPT, "its header cannot have 32 bytes"},
        {"bmp", 10, "\xff\xff\xff\xff", 4, SH_CORRUPT, "is a damaged BMP: it is cut off"},
        {"ppm", 3, "-", 1, SH_CORRUPT, "its header gives no width and height"},
        {"ppm", 3, "99999 1 9 ", 10, SH_CORRUPT, "is too large: 99999 x 1 pixels"},
        {"ppm", 7, "0  ", 3, SH_CORRUPT, "no highest level of 1 to 65535"},
        {"pgm_text", 24, "101 ", 4, SH_CORRUPT, "row 1 has no level of 0 to 100"},
        {"webp", 12, "VP9 ", 4, SH_CORRUPT, "is a damaged WebP"},
        {"webp", 40, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10, SH_CORRUPT, "damaged WebP"},
        {"bmp", 0, "GIF89a", 6, SH_FORMAT, "is a GIF, which is not supported; convert it"},
        {"bmp", 0, "II*\0", 4, SH_FORMAT, "is a TIFF, which"},
        {"bmp", 4, "ftypheic", 8, SH_FORMAT, "is a HEIC, which"},
        {"bmp", 0, "Hello, World", 12, SH_FORMAT, "is not a supported image: JPEG"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct golden_photo *g = golden(cases[i].name);
        const sh_photo_form form = form_of(GOLDEN_SIDE, 3);
        uint8_t sample[3 * PIXELS], *bytes = malloc(g->bytes);
        assert_non_null(bytes);
        memcpy(bytes, g->file, g->bytes);
        if (cases[i].at == 4)
            memset(bytes, 0, 4);
        memcpy(bytes + cases[i].at, cases[i].bytes, cases[i].count);
        assert_fails(sh_photo_decode(sample, &form, bytes, g->bytes), cases[i].code, cases[i].part);
        free(bytes);
    }
    uint8_t sample[3 * PIXELS];
    const sh_photo_form form = form_of(GOLDEN_SIDE, 3);
    assert_fails(sh_photo_decode(sample, &form, (const uint8_t *)"", 0), SH_CORRUPT, "is empty");
}

static void photos_are_known_by_name(void **state)
{
    (void)state;
    static const char *const photos[] = {"a.jpg", "a.JPEG", "b.c.png", "x.Ppm",
                                         "x.pgm", "x.bmp",  "x.WEBP",  ".jpg"};
    static const char *const others[] = {"", "jpg", "a.jpg.txt", "a.gif", "a.tiff", "a.jpg "};
    for (size_t i = 0; i < sizeof photos / sizeof *photos; i++)
        assert_true(sh_photo_is_named(photos[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(sh_photo_is_named(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_decoded),
        cmocka_unit_test(grey_is_told_by_the_head),
        cmocka_unit_test(grey_fits_into_colour_alone),
        cmocka_unit_test(orientation_is_left_where_that_is_asked_for),
        cmocka_unit_test(what_is_cut_off_is_damaged),
        cmocka_unit_test(bad_files_are_told),
        cmocka_unit_test(photos_are_known_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
