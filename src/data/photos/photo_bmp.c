/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uncompressed Windows bitmaps (Microsoft: "Bitmap Storage") of 8 bits with a palette, 24 and 32
 * bits, whose fourth byte is ignored. Little-endian:
 *
 *     0    "BM", u32 bytes, u32 unused, u32 offset of the pixels
 *     14   u32 bytes of the second header: 12 (u16 width, height, planes, bits), or at least 40:
 *          i32 width, i32 height (negative: the top row comes first), u16 planes, u16 bits,
 *          u32 compression, u32 bytes, 2 x i32 resolution, u32 colours of the palette, ...
 *     then the palette: blue, green, red and, after a long header, an unused byte each
 *
 * Rows are padded to a multiple of 4 bytes. Pixels are blue, green, red.
 */
#include <stdlib.h>
#include <string.h>

#include "data/photos/photo_codec.h"

#define FIRST_HEAD 14
#define SHORT_HEAD 12
#define LONG_HEAD 40
#define MASKS_AT 54 /* masks of red, green, blue if the compression is MASKS */
#define MASKS 3
#define PALETTE 256

typedef struct bmp {
    const uint8_t *bytes;
    size_t count;
    uint32_t width, height, bits;
    bool down; /* the top row comes first */
    size_t pixels_at, stride;
    uint8_t palette[PALETTE][3]; /* red, green, blue */
} bmp;

static uint32_t number_at(const uint8_t *bytes, int width)
{
    uint32_t number = 0;
    for (int i = 0; i < width; i++)
        number |= (uint32_t)bytes[i] << 8 * i;
    return number;
}

static bool bmp_is(const uint8_t *bytes, size_t count)
{
    return count >= FIRST_HEAD + 4 && memcmp(bytes, "BM", 2) == 0 &&
           number_at(bytes + FIRST_HEAD, 4) <= 256;
}

/* A grey palette is not detected. */
static bool bmp_is_grey(const uint8_t *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    return false;
}

static sh_status fail_cut(void)
{
    return sh_fail(SH_CORRUPT, "is a damaged BMP: it is cut off");
}

/* True if the masks are those of the bytes blue, green, red, unused. */
static bool are_usual(const uint8_t *masks)
{
    return number_at(masks, 4) == 0xff0000 && number_at(masks + 4, 4) == 0xff00 &&
           number_at(masks + 8, 4) == 0xff;
}

static void read_palette(bmp *b, size_t at, size_t entry, uint32_t colours)
{
    if (colours == 0 || colours > PALETTE)
        colours = PALETTE;
    for (uint32_t i = 0; i < colours && at + 3 <= b->pixels_at; i++, at += entry)
        for (int c = 0; c < 3; c++)
            b->palette[i][c] = b->bytes[at + 2 - (size_t)c];
}

static sh_status read_head(bmp *b, const uint8_t *bytes, size_t count)
{
    *b = (bmp){.bytes = bytes, .count = count};
    const uint32_t head = number_at(bytes + FIRST_HEAD, 4);
    if (head != SHORT_HEAD && head < LONG_HEAD)
        return sh_fail(SH_CORRUPT, "is a damaged BMP: its header cannot have %u bytes", head);
    if (count < FIRST_HEAD + head)
        return fail_cut();
    const bool is_short = head == SHORT_HEAD;
    const uint8_t *second = bytes + FIRST_HEAD;
    const int32_t height =
        is_short ? (int32_t)number_at(second + 6, 2) : (int32_t)number_at(second + 8, 4);
    const uint32_t packing = is_short ? 0 : number_at(second + 16, 4);
    b->width = number_at(second + 4, is_short ? 2 : 4);
    b->height = height < 0 ? 0u - (uint32_t)height : (uint32_t)height;
    b->down = height < 0;
    b->bits = number_at(second + (is_short ? 10 : 14), 2);
    b->pixels_at = number_at(bytes + 10, 4);
    SH_TRY(sh_photo_check(b->width, b->height, SH_PHOTO_PIXELS_MOST));
    const bool masked =
        packing == MASKS && b->bits == 32 && count >= MASKS_AT + 12 && are_usual(bytes + MASKS_AT);
    if ((b->bits != 8 && b->bits != 24 && b->bits != 32) || (packing != 0 && !masked))
        return sh_fail(SH_FORMAT,
                       "is a BMP of %u bits with compression %u; 8, 24 and 32 bits without "
                       "compression are read: convert it to PNG",
                       b->bits, packing);
    b->stride = ((size_t)b->width * b->bits / 8 + 3) / 4 * 4;
    if (b->pixels_at > count || (count - b->pixels_at) / b->stride < b->height)
        return fail_cut();
    if (b->bits != 8)
        return SH_OK;
    read_palette(b, FIRST_HEAD + head, is_short ? 3 : 4, is_short ? 0 : number_at(second + 32, 4));
    return SH_OK;
}

static void read_row(uint8_t *row, const bmp *b, const uint8_t *stored)
{
    const size_t step = b->bits / 8;
    for (uint32_t x = 0; x < b->width; x++, stored += step, row += 3) {
        if (step == 1) {
            memcpy(row, b->palette[*stored], 3);
            continue;
        }
        for (size_t c = 0; c < 3; c++)
            row[c] = stored[2 - c];
    }
}

static sh_status bmp_decode(sh_photo_sink *sink, const uint8_t *bytes, size_t count)
{
    bmp b;
    SH_TRY(read_head(&b, bytes, count));
    SH_TRY(sink->begin(sink, &(sh_photo_head){b.width, b.height, 3, 1}));
    uint8_t *row = malloc((size_t)b.width * 3);
    if (row == NULL)
        return sh_fail_memory((size_t)b.width * 3, "a row of a photo");
    for (uint32_t y = 0; y < b.height; y++) {
        const size_t stored = b.down ? y : b.height - 1 - y;
        read_row(row, &b, bytes + b.pixels_at + stored * b.stride);
        sink->row(sink, row);
    }
    free(row);
    return SH_OK;
}

const sh_photo_codec sh_photo_bmp = {
    .name = "BMP", .is = bmp_is, .is_grey = bmp_is_grey, .decode = bmp_decode};
