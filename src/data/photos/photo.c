/* SPDX-License-Identifier: Apache-2.0 */
#include "data/photos/photo.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "data/photos/photo_codec.h"

#define REDUCED_LEAST 2 /* sides of a reduced photo, in sides of the sample */

static const sh_photo_codec *const codecs[] = {&sh_photo_jpeg, &sh_photo_png, &sh_photo_netpbm,
                                               &sh_photo_bmp, &sh_photo_webp};

#define CODECS (sizeof codecs / sizeof *codecs)

static const sh_photo_codec *find_codec(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < CODECS; i++)
        if (codecs[i]->is(bytes, count))
            return codecs[i];
    return NULL;
}

bool sh_photo_is_grey(const uint8_t *bytes, size_t count)
{
    const sh_photo_codec *codec = find_codec(bytes, count);
    return codec != NULL && codec->is_grey(bytes, count);
}

bool sh_photo_is_named(const char *name)
{
    static const char *const ends[] = {".jpg", ".jpeg", ".png", ".ppm", ".pgm", ".bmp", ".webp"};
    const char *end = strrchr(name, '.');
    for (size_t i = 0; end != NULL && i < sizeof ends / sizeof *ends; i++)
        if (strcasecmp(end, ends[i]) == 0)
            return true;
    return false;
}

sh_status sh_photo_check(uint64_t width, uint64_t height, uint64_t most)
{
    if (width == 0 || height == 0)
        return sh_fail(SH_CORRUPT, "is damaged: it claims %" PRIu64 " x %" PRIu64 " pixels", width,
                       height);
    if (width > SH_FIT_PHOTO_SIDE_MOST || height > SH_FIT_PHOTO_SIDE_MOST || width * height > most)
        return sh_fail(SH_CORRUPT,
                       "is too large: %" PRIu64 " x %" PRIu64
                       " pixels; at most %d each way and %" PRIu64 " in all can be read",
                       width, height, SH_FIT_PHOTO_SIDE_MOST, most);
    return SH_OK;
}

/* --- decoding --- */

typedef struct fitting {
    sh_photo_sink sink;
    const sh_photo_form *form;
    sh_fit *fit; /* owned */
    uint32_t height;
} fitting;

static sh_status begin(sh_photo_sink *sink, const sh_photo_head *head)
{
    fitting *f = (fitting *)sink;
    if (head->channels > f->form->channels)
        return sh_fail(SH_CORRUPT, "is in colour, but the samples are grey; make it grey");
    f->height = head->height;
    return sh_fit_new(&f->fit, f->form->fit, f->form->side,
                      f->form->no_exif ? 1 : head->orientation, head->width, head->height,
                      head->channels);
}

static void row(sh_photo_sink *sink, const uint8_t *bytes)
{
    sh_fit_row(((fitting *)sink)->fit, bytes);
}

static sh_status fail_unknown(const uint8_t *bytes, size_t count)
{
    static const struct {
        size_t at;
        const char *magic, *name;
    } others[] = {{0, "GIF8", "a GIF"},      {0, "II*", "a TIFF"},      {0, "MM", "a TIFF"},
                  {4, "ftypheic", "a HEIC"}, {4, "ftypmif1", "a HEIC"}, {4, "ftypavif", "an AVIF"},
                  {0, "%PDF", "a PDF file"}};
    if (count == 0)
        return sh_fail(SH_CORRUPT, "is empty");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t length = strlen(others[i].magic);
        if (count >= others[i].at + length &&
            memcmp(bytes + others[i].at, others[i].magic, length) == 0)
            return sh_fail(SH_FORMAT, "is %s, which is not supported; convert it to JPEG or PNG",
                           others[i].name);
    }
    return sh_fail(SH_FORMAT, "is not a supported image: JPEG, PNG, PPM, PGM, BMP or WebP");
}

sh_status sh_photo_decode(uint8_t *sample, const sh_photo_form *form, const uint8_t *bytes,
                          size_t count)
{
    const sh_photo_codec *codec = find_codec(bytes, count);
    if (codec == NULL)
        return fail_unknown(bytes, count);
    fitting f = {.sink = {.least = REDUCED_LEAST * form->side, .begin = begin, .row = row},
                 .form = form};
    sh_status status = codec->decode(&f.sink, bytes, count);
    if (status == SH_OK && (f.fit == NULL || sh_fit_rows(f.fit) != f.height))
        status = sh_fail(SH_CORRUPT, "is cut off"); /* codecs normally report this */
    if (status == SH_OK)
        sh_fit_finish(f.fit, sample, form->channels);
    sh_fit_free(f.fit);
    return status;
}
