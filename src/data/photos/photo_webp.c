/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebP by libwebp, decoded as a whole. The file is a RIFF
 * (developers.google.com/speed/webp/docs/riff_container): "RIFF", u32, "WEBP", then chunks: a name
 * of 4 bytes, u32 length, and the content, padded to an even length. An EXIF chunk has the
 * orientation.
 */
#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>

#include "base/library.h"
#include "data/photos/exif.h"
#include "data/photos/photo_codec.h"

typedef struct webp_calls {
    SH_LIBRARY_CALL(WebPGetFeaturesInternal);
    SH_LIBRARY_CALL(WebPDecodeRGBAInto);
    SH_LIBRARY_CALL(WebPDecodeRGBInto);
} webp_calls;

#define NAME(call) SH_LIBRARY_NAME(webp_calls, call)
static const sh_library_name names[] = {NAME(WebPGetFeaturesInternal), NAME(WebPDecodeRGBAInto),
                                        NAME(WebPDecodeRGBInto)};
#undef NAME

static sh_library library = SH_LIBRARY("libwebp.so.7", "libwebp7", names);

static bool webp_is(const uint8_t *bytes, size_t count)
{
    return count >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0;
}

static bool webp_is_grey(const uint8_t *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    return false; /* WebP has no grey format */
}

static int orientation_of(const uint8_t *bytes, size_t count)
{
    for (size_t at = 12; count - at >= 8;) {
        const uint8_t *chunk = bytes + at;
        const size_t length = (size_t)chunk[4] | (size_t)chunk[5] << 8 | (size_t)chunk[6] << 16 |
                              (size_t)chunk[7] << 24;
        if (length > count - at - 8)
            break;
        if (memcmp(chunk, "EXIF", 4) == 0) {
            const bool named = length >= 6 && memcmp(chunk + 8, "Exif\0\0", 6) == 0;
            return sh_exif_orientation(chunk + 8 + (named ? 6 : 0), length - (named ? 6 : 0));
        }
        at += 8 + length;
        if (length % 2 == 1 && at < count)
            at++;
    }
    return 1;
}

/* Composes over white, in place. */
static void compose(uint8_t *row, size_t pixels)
{
    const uint8_t *in = row;
    for (uint8_t *out = row; pixels > 0; pixels--, in += 4) {
        const unsigned alpha = in[3];
        for (size_t c = 0; c < 3; c++)
            *out++ = (uint8_t)((in[c] * alpha + 255 * (255 - alpha) + 127) / 255);
    }
}

static sh_status webp_decode(sh_photo_sink *sink, const uint8_t *bytes, size_t count)
{
    webp_calls calls;
    WebPBitstreamFeatures about;
    SH_TRY(sh_library_load(&calls, &library));
    if (calls.WebPGetFeaturesInternal(bytes, count, &about, WEBP_DECODER_ABI_VERSION) !=
        VP8_STATUS_OK)
        return sh_fail(SH_CORRUPT, "is a damaged WebP: its header is invalid");
    if (about.has_animation)
        return sh_fail(SH_FORMAT,
                       "is an animated WebP, which is not supported; keep one picture of it");
    SH_TRY(sh_photo_check((uint64_t)about.width, (uint64_t)about.height, SH_PHOTO_WHOLE_MOST));
    const uint32_t width = (uint32_t)about.width, height = (uint32_t)about.height;
    const size_t line = (size_t)width * (about.has_alpha ? 4 : 3), size = line * height;
    uint8_t *pixels = malloc(size);
    if (pixels == NULL)
        return sh_fail_memory(size, "the pixels of a WebP");
    sh_status status = SH_OK;
    const uint8_t *got = about.has_alpha
                             ? calls.WebPDecodeRGBAInto(bytes, count, pixels, size, (int)line)
                             : calls.WebPDecodeRGBInto(bytes, count, pixels, size, (int)line);
    if (got == NULL)
        SH_TRY_DONE(sh_fail(SH_CORRUPT, "is a damaged WebP: its pixels cannot be decoded"));
    SH_TRY_DONE(
        sink->begin(sink, &(sh_photo_head){width, height, 3, orientation_of(bytes, count)}));
    for (uint32_t y = 0; y < height; y++) {
        if (about.has_alpha)
            compose(pixels + y * line, width);
        sink->row(sink, pixels + y * line);
    }
done:
    free(pixels);
    return status;
}

const sh_photo_codec sh_photo_webp = {
    .name = "WebP", .is = webp_is, .is_grey = webp_is_grey, .decode = webp_decode};
