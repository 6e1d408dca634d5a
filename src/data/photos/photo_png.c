/* SPDX-License-Identifier: Apache-2.0 */
/* PNG by libspng, row by row; interlaced files are decoded as a whole, since their rows come in
 * seven passes. Everything but grey and colour of 8 bits is decoded as RGBA of 8 bits and composed
 * over white. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <spng.h>

#include "base/library.h"
#include "data/photos/exif.h"
#include "data/photos/photo_codec.h"

#define CHUNK_MOST (16u << 20) /* limits of one ancillary chunk, and of all that are kept */
#define CHUNKS_MOST (64u << 20)
#define DEFLATE_MOST 1032 /* largest expansion of a byte (RFC 1951: 258 bytes from 2 bits) */

typedef struct png_calls {
    SH_LIBRARY_CALL(spng_ctx_new);
    SH_LIBRARY_CALL(spng_ctx_free);
    SH_LIBRARY_CALL(spng_set_png_buffer);
    SH_LIBRARY_CALL(spng_set_chunk_limits);
    SH_LIBRARY_CALL(spng_get_ihdr);
    SH_LIBRARY_CALL(spng_get_trns);
    SH_LIBRARY_CALL(spng_get_exif);
    SH_LIBRARY_CALL(spng_decode_image);
    SH_LIBRARY_CALL(spng_decode_row);
    SH_LIBRARY_CALL(spng_strerror);
} png_calls;

#define NAME(call) SH_LIBRARY_NAME(png_calls, call)
static const sh_library_name names[] = {NAME(spng_ctx_new),        NAME(spng_ctx_free),
                                        NAME(spng_set_png_buffer), NAME(spng_set_chunk_limits),
                                        NAME(spng_get_ihdr),       NAME(spng_get_trns),
                                        NAME(spng_get_exif),       NAME(spng_decode_image),
                                        NAME(spng_decode_row),     NAME(spng_strerror)};
#undef NAME

static sh_library library = SH_LIBRARY("libspng.so.0", "libspng0", names);

typedef struct decoding {
    png_calls calls;
    spng_ctx *context;
    struct spng_ihdr ihdr;
    int format;
    uint32_t stored, channels; /* bytes of a pixel: from libspng, to the sink */
    uint8_t *room;             /* one row, or all; owned */
} decoding;

static bool png_is(const uint8_t *bytes, size_t count)
{
    return count >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0;
}

/* The colour type is byte 9 of the first chunk. */
static bool png_is_grey(const uint8_t *bytes, size_t count)
{
    return count >= 26 &&
           (bytes[25] == SPNG_COLOR_TYPE_GRAYSCALE || bytes[25] == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA);
}

static sh_status fail_png(const decoding *d, int error)
{
    if (error == SPNG_EMEM)
        return sh_fail_memory(0, "the decoder of a PNG");
    return sh_fail(SH_CORRUPT, "is a damaged PNG: %s", d->calls.spng_strerror(error));
}

/* Composes over white, in place: pixels only become shorter. */
static const uint8_t *compose(const decoding *d, uint8_t *row)
{
    uint8_t *out = row;
    const uint8_t *in = row;
    if (d->stored == d->channels)
        return row;
    for (uint32_t x = 0; x < d->ihdr.width; x++, in += d->stored) {
        const unsigned alpha = in[3];
        for (uint32_t c = 0; c < d->channels; c++)
            *out++ = (uint8_t)((in[c] * alpha + 255 * (255 - alpha) + 127) / 255);
    }
    return row;
}

static void choose_format(decoding *d)
{
    const struct spng_ihdr *ihdr = &d->ihdr;
    struct spng_trns trns;
    const bool plain = ihdr->bit_depth <= 8 && d->calls.spng_get_trns(d->context, &trns) != 0;
    const bool is_grey = ihdr->color_type == SPNG_COLOR_TYPE_GRAYSCALE ||
                         ihdr->color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
    d->channels = is_grey ? 1 : 3;
    d->format = SPNG_FMT_RGBA8;
    d->stored = 4;
    if (plain && ihdr->color_type == SPNG_COLOR_TYPE_GRAYSCALE) {
        d->format = SPNG_FMT_G8;
        d->stored = 1;
    } else if (plain && (ihdr->color_type == SPNG_COLOR_TYPE_TRUECOLOR ||
                         ihdr->color_type == SPNG_COLOR_TYPE_INDEXED)) {
        d->format = SPNG_FMT_RGB8;
        d->stored = 3;
    }
}

/* Fails if the file is too short for its picture, even at the best compression. */
static sh_status check_size(const struct spng_ihdr *ihdr, size_t count)
{
    const bool whole = ihdr->interlace_method != SPNG_INTERLACE_NONE;
    SH_TRY(sh_photo_check(ihdr->width, ihdr->height,
                          whole ? SH_PHOTO_WHOLE_MOST : SH_PHOTO_PIXELS_MOST));
    const uint64_t bits = (uint64_t)ihdr->width * ihdr->height * ihdr->bit_depth;
    if (bits / 8 / DEFLATE_MOST > count)
        return sh_fail(SH_CORRUPT,
                       "is a damaged PNG: its %zu bytes cannot hold the %" PRIu32 " x %" PRIu32
                       " pixels that it promises",
                       count, ihdr->width, ihdr->height);
    return SH_OK;
}

static sh_status decode_rows(decoding *d, sh_photo_sink *sink)
{
    const size_t line = (size_t)d->ihdr.width * d->stored;
    const bool whole = d->ihdr.interlace_method != SPNG_INTERLACE_NONE;
    const size_t bytes = whole ? line * d->ihdr.height : line;
    d->room = malloc(bytes);
    if (d->room == NULL)
        return sh_fail_memory(bytes, "the pixels of a PNG");
    const int flags = SPNG_DECODE_TRNS | (whole ? 0 : SPNG_DECODE_PROGRESSIVE);
    int error = d->calls.spng_decode_image(d->context, whole ? d->room : NULL, whole ? bytes : 0,
                                           d->format, flags);
    if (error != 0)
        return fail_png(d, error);
    for (uint32_t y = 0; y < d->ihdr.height; y++) {
        uint8_t *row = whole ? d->room + y * line : d->room;
        error = whole ? 0 : d->calls.spng_decode_row(d->context, row, line);
        if (error != 0 && !(error == SPNG_EOI && y + 1 == d->ihdr.height))
            return fail_png(d, error);
        sink->row(sink, compose(d, row));
    }
    return SH_OK;
}

static sh_status decode(decoding *d, sh_photo_sink *sink, const uint8_t *bytes, size_t count)
{
    struct spng_exif exif;
    int error = d->calls.spng_set_chunk_limits(d->context, CHUNK_MOST, CHUNKS_MOST);
    if (error == 0)
        error = d->calls.spng_set_png_buffer(d->context, bytes, count);
    if (error == 0)
        error = d->calls.spng_get_ihdr(d->context, &d->ihdr);
    if (error != 0)
        return fail_png(d, error);
    SH_TRY(check_size(&d->ihdr, count));
    choose_format(d);
    sh_photo_head head = {.width = d->ihdr.width,
                          .height = d->ihdr.height,
                          .channels = d->channels,
                          .orientation = 1};
    if (d->calls.spng_get_exif(d->context, &exif) == 0)
        head.orientation = sh_exif_orientation((const uint8_t *)exif.data, exif.length);
    SH_TRY(sink->begin(sink, &head));
    return decode_rows(d, sink);
}

static sh_status png_decode(sh_photo_sink *sink, const uint8_t *bytes, size_t count)
{
    decoding d = {0};
    SH_TRY(sh_library_load(&d.calls, &library));
    d.context = d.calls.spng_ctx_new(0);
    if (d.context == NULL)
        return sh_fail_memory(0, "the decoder of a PNG");
    const sh_status status = decode(&d, sink, bytes, count);
    d.calls.spng_ctx_free(d.context);
    free(d.room);
    return status;
}

const sh_photo_codec sh_photo_png = {
    .name = "PNG", .is = png_is, .is_grey = png_is_grey, .decode = png_decode};
