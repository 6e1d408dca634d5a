/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three chunks, each between its length and its CRC:
 *
 *     signature | IHDR: size, 8 bits, kind | IDAT: rows, by zlib | IEND
 *
 * Rows begin with their filter, 0 (none).
 */
#include "data/png.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define SIGNATURE_BYTES 8
#define HEAD_BYTES 13
#define CHUNK_BYTES 12                                          /* a chunk without its data */
#define BEFORE (SIGNATURE_BYTES + CHUNK_BYTES + HEAD_BYTES + 8) /* before IDAT's data */

static void put_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Returns the end of the chunk. */
static uint8_t *end_chunk(uint8_t *chunk, const char *kind, uint32_t count)
{
    put_u32(chunk, count);
    memcpy(chunk + 4, kind, 4);
    put_u32(chunk + 8 + count, (uint32_t)crc32(0, chunk + 4, count + 4));
    return chunk + CHUNK_BYTES + count;
}

static void copy_rows(uint8_t *to, const sh_png *png)
{
    const size_t bytes = (size_t)png->width * png->channels;
    for (uint32_t y = 0; y < png->height; y++, to += bytes + 1) {
        to[0] = 0;
        memcpy(to + 1, png->pixels + y * bytes, bytes);
    }
}

static char *base64(const uint8_t *bytes, size_t count)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((count + 2) / 3 * 4 + 1), *to = text;
    for (size_t i = 0; text != NULL && i < count; i += 3) {
        const size_t left = count - i;
        const uint32_t three = (uint32_t)bytes[i] << 16 |
                               (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                               (left > 2 ? bytes[i + 2] : 0);
        for (uint32_t k = 0; k < 4; k++)
            *to++ = k <= left ? letters[three >> (18 - 6 * k) & 63] : '=';
    }
    if (text != NULL)
        *to = '\0';
    return text;
}

sh_status sh_png_base64(char **text, const sh_png *png)
{
    static const uint8_t signature[SIGNATURE_BYTES] = {137, 'P', 'N', 'G', 13, 10, 26, 10};
    assert(png->width >= 1 && png->width <= SH_PNG_SIDE_MOST);
    assert(png->height >= 1 && png->height <= SH_PNG_SIDE_MOST);
    assert(png->channels == 1 || png->channels == 3);
    const size_t count = png->height * ((size_t)png->width * png->channels + 1);
    uLongf packed = compressBound((uLong)count);
    uint8_t *rows = malloc(count), *file = malloc(BEFORE + packed + 4 + CHUNK_BYTES);
    char *fresh = NULL;
    if (rows != NULL && file != NULL) {
        uint8_t *head = file + SIGNATURE_BYTES;
        copy_rows(rows, png);
        memcpy(file, signature, sizeof signature);
        put_u32(head + 8, png->width);
        put_u32(head + 12, png->height);
        memcpy(head + 16, (const uint8_t[]){8, png->channels == 3 ? 2 : 0, 0, 0, 0}, 5);
        uint8_t *at = end_chunk(head, "IHDR", HEAD_BYTES);
        if (compress2(at + 8, &packed, rows, (uLong)count, Z_BEST_COMPRESSION) == Z_OK) {
            at = end_chunk(end_chunk(at, "IDAT", (uint32_t)packed), "IEND", 0);
            fresh = base64(file, (size_t)(at - file));
        }
    }
    free(rows);
    free(file);
    if (fresh == NULL)
        return sh_fail_memory(count, "a picture");
    *text = fresh;
    return SH_OK;
}
