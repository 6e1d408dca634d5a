/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG by libjpeg-turbo, which reports damage as warnings and continues with grey pixels. Here the
 * first warning of missing or wrong data stops the decoding. Errors leave the library by longjmp,
 * so one struct holds all that must be freed.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/library.h"
#include "data/photos/exif.h"
#include "data/photos/photo_codec.h"

#define SCANS_MOST 500           /* of a progressive JPEG; more would take hours */
#define MEMORY_MOST (512L << 20) /* of libjpeg; progressive JPEGs need the most */
#define REDUCTIONS                                                                                 \
    {                                                                                              \
        8, 4, 2                                                                                    \
    }

typedef struct jpeg_calls {
    SH_LIBRARY_CALL(jpeg_std_error);
    SH_LIBRARY_CALL(jpeg_CreateDecompress);
    SH_LIBRARY_CALL(jpeg_mem_src);
    SH_LIBRARY_CALL(jpeg_read_header);
    SH_LIBRARY_CALL(jpeg_start_decompress);
    SH_LIBRARY_CALL(jpeg_read_scanlines);
    SH_LIBRARY_CALL(jpeg_finish_decompress);
    SH_LIBRARY_CALL(jpeg_destroy_decompress);
} jpeg_calls;

#define NAME(call) SH_LIBRARY_NAME(jpeg_calls, call)
static const sh_library_name names[] = {
    NAME(jpeg_std_error),         NAME(jpeg_CreateDecompress),  NAME(jpeg_mem_src),
    NAME(jpeg_read_header),       NAME(jpeg_start_decompress),  NAME(jpeg_read_scanlines),
    NAME(jpeg_finish_decompress), NAME(jpeg_destroy_decompress)};
#undef NAME

static sh_library library = SH_LIBRARY("libjpeg.so.62", "libjpeg62-turbo", names);

typedef struct decoding {
    struct jpeg_decompress_struct info; /* first: callbacks get its address */
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf stop;
    jpeg_calls calls;
    char message[JMSG_LENGTH_MAX];
    sh_status failure; /* of the sink or a check; libjpeg's are in `message` */
    uint8_t *row;      /* owned, as is `colour` */
    uint8_t *colour;   /* a row of CMYK, converted */
} decoding;

/* --- the head --- */

typedef struct markers {
    uint32_t components; /* 0: no frame header in these bytes */
    const uint8_t *exif; /* borrowed */
    size_t exif_bytes;
} markers;

static markers scan(const uint8_t *bytes, size_t count)
{
    markers found = {0};
    for (size_t at = 2; at + 4 <= count;) {
        if (bytes[at] != 0xff)
            break;
        const uint8_t marker = bytes[at + 1];
        if (marker == 0xff) { /* fill byte */
            at++;
            continue;
        }
        if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) { /* markers without a length */
            at += 2;
            continue;
        }
        const size_t length = (size_t)bytes[at + 2] << 8 | bytes[at + 3]; /* with itself */
        const bool is_frame =
            marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
        if (length < 2 || marker == 0xd9 || marker == 0xda)
            break;
        if (is_frame && length >= 8 && at + 10 <= count) {
            found.components = bytes[at + 9];
            break;
        }
        if (marker == 0xe1 && found.exif == NULL && length >= 16 && at + 2 + length <= count &&
            memcmp(bytes + at + 4, "Exif\0\0", 6) == 0) {
            found.exif = bytes + at + 10;
            found.exif_bytes = length - 8;
        }
        at += 2 + length;
    }
    return found;
}

static bool jpeg_is(const uint8_t *bytes, size_t count)
{
    return count >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

static bool jpeg_is_grey(const uint8_t *bytes, size_t count)
{
    return scan(bytes, count).components == 1;
}

/* --- callbacks of libjpeg --- */

static void stop_with_message(j_common_ptr info)
{
    decoding *d = (decoding *)info;
    info->err->format_message(info, d->message);
    longjmp(d->stop, 1);
}

/* Level -1 is a warning. Warnings that do not affect pixels are ignored. */
static void take_message(j_common_ptr info, int level)
{
    switch (info->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_BOGUS_PROGRESSION:
        if (level < 0)
            stop_with_message(info);
        break;
    default:
        break;
    }
}

static void print_nothing(j_common_ptr info)
{
    (void)info;
}

static void count_scans(j_common_ptr info)
{
    decoding *d = (decoding *)info;
    if (d->info.input_scan_number <= SCANS_MOST)
        return;
    snprintf(d->message, sizeof d->message, "more than %d scans", SCANS_MOST);
    longjmp(d->stop, 1);
}

/* --- decoding --- */

/* Returns the largest reduction that keeps both sides at least `least` pixels long. */
static unsigned reduction(const struct jpeg_decompress_struct *info, uint32_t least)
{
    static const unsigned reductions[] = REDUCTIONS;
    const unsigned side =
        info->image_width < info->image_height ? info->image_width : info->image_height;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (side / reductions[i] >= least)
            return reductions[i];
    return 1;
}

/* Adobe's programs store inverted inks: 255 is no ink. */
static void ink_to_light(uint8_t *colour, const uint8_t *ink, size_t pixels, bool inverted)
{
    for (size_t i = 0; i < pixels; i++, ink += 4)
        for (size_t c = 0; c < 3; c++) {
            const unsigned light = inverted ? ink[c] : 255u - ink[c];
            const unsigned white = inverted ? ink[3] : 255u - ink[3];
            *colour++ = (uint8_t)((light * white + 127) / 255);
        }
}

static sh_status prepare(decoding *d, sh_photo_sink *sink, int orientation)
{
    struct jpeg_decompress_struct *info = &d->info;
    SH_TRY(sh_photo_check(info->image_width, info->image_height, SH_PHOTO_PIXELS_MOST));
    info->scale_num = 1;
    info->scale_denom = reduction(info, sink->least);
    info->dct_method = JDCT_ISLOW;
    const bool ink = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    info->out_color_space = info->num_components == 1 ? JCS_GRAYSCALE : ink ? JCS_CMYK : JCS_RGB;
    d->calls.jpeg_start_decompress(info);
    const sh_photo_head head = {.width = info->output_width,
                                .height = info->output_height,
                                .channels = info->num_components == 1 ? 1 : 3,
                                .orientation = orientation};
    SH_TRY(sink->begin(sink, &head));
    d->row = malloc((size_t)head.width * 4);
    d->colour = ink ? malloc((size_t)head.width * 3) : NULL;
    if (d->row == NULL || (ink && d->colour == NULL))
        return sh_fail_memory((size_t)head.width * 4, "a row of a photo");
    return SH_OK;
}

static void decode(decoding *d, sh_photo_sink *sink, const uint8_t *bytes, size_t count)
{
    struct jpeg_decompress_struct *info = &d->info;
    if (setjmp(d->stop) != 0)
        return;
    d->calls.jpeg_CreateDecompress(info, JPEG_LIB_VERSION, sizeof *info);
    info->mem->max_memory_to_use = MEMORY_MOST;
    info->progress = &d->progress;
    d->calls.jpeg_mem_src(info, bytes, (unsigned long)count);
    d->calls.jpeg_read_header(info, TRUE);
    const markers found = scan(bytes, count);
    d->failure = prepare(d, sink, sh_exif_orientation(found.exif, found.exif_bytes));
    if (d->failure != SH_OK)
        return;
    JSAMPROW rows[] = {d->row};
    while (info->output_scanline < info->output_height) {
        d->calls.jpeg_read_scanlines(info, rows, 1);
        if (d->colour != NULL)
            ink_to_light(d->colour, d->row, info->output_width, info->saw_Adobe_marker);
        sink->row(sink, d->colour != NULL ? d->colour : d->row);
    }
    d->calls.jpeg_finish_decompress(info);
}

static sh_status jpeg_decode(sh_photo_sink *sink, const uint8_t *bytes, size_t count)
{
    jpeg_calls calls;
    SH_TRY(sh_library_load(&calls, &library));
    decoding *d = calloc(1, sizeof *d);
    if (d == NULL)
        return sh_fail_memory(sizeof *d, "the decoder of a photo");
    d->calls = calls;
    d->failure = SH_OK;
    d->info.err = calls.jpeg_std_error(&d->errors);
    d->errors.error_exit = stop_with_message;
    d->errors.emit_message = take_message;
    d->errors.output_message = print_nothing;
    d->progress.progress_monitor = count_scans;
    decode(d, sink, bytes, count);
    calls.jpeg_destroy_decompress(&d->info);
    sh_status status = d->failure;
    if (status == SH_OK && d->message[0] != '\0')
        status = sh_fail(SH_CORRUPT, "is a damaged JPEG: %s", d->message);
    free(d->row);
    free(d->colour);
    free(d);
    return status;
}

const sh_photo_codec sh_photo_jpeg = {
    .name = "JPEG", .is = jpeg_is, .is_grey = jpeg_is_grey, .decode = jpeg_decode};
