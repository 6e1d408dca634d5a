/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes photos as PNG to a temporary folder for tests.
 *
 *     fixture s;
 *     fixture_new(&s);
 *     photo_put(&s, "roses/1.png", 3);          // creates its folders; 3 determines its pixels
 *     photo_text(&s, "labels.csv", "file_name,label\n...");
 *     fixture_remove(&s);
 *
 * All are in the folder `photos`.
 *
 * Threads: one.
 */
#ifndef SHOAL_DATA_PHOTOS_PHOTO_FIXTURE_H
#define SHOAL_DATA_PHOTOS_PHOTO_FIXTURE_H

#include "base/test.h"
#include "data/fixture.h"

enum { PHOTO_SIDE = 12, PHOTO_PNG_BYTES = 4096 };

static inline uint8_t photo_pixel(uint32_t number, uint32_t i)
{
    return (uint8_t)(number * 31 + i * 7 + i / PHOTO_SIDE * (number + 5));
}

static inline size_t photo_chunk(uint8_t *at, const char *kind, const uint8_t *body, size_t bytes)
{
    const size_t length = bytes + 4;
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(bytes >> (24 - 8 * i));
    memcpy(at + 4, kind, 4);
    if (bytes > 0)
        memcpy(at + 8, body, bytes);
    const uLong sum = crc32(0, at + 4, (uInt)length);
    for (int i = 0; i < 4; i++)
        at[8 + bytes + (size_t)i] = (uint8_t)(sum >> (24 - 8 * i));
    return bytes + 12;
}

/* 8-bit grey (colour 0) or RGB (2). The header says side x side, but the pixels are PHOTO_SIDE x
 * PHOTO_SIDE. */
static inline size_t photo_png(uint8_t *png, uint32_t side, uint8_t colour, uint32_t number)
{
    const uint32_t channels = colour == 0 ? 1 : 3;
    uint8_t head[13] = {0}, rows[PHOTO_SIDE * (1 + 3 * PHOTO_SIDE)] = {0}, packed[2048];
    for (size_t i = 0; i < 4; i++)
        head[i] = head[4 + i] = (uint8_t)(side >> (24 - 8 * i));
    head[8] = 8;
    head[9] = colour;
    size_t used = 0;
    for (uint32_t i = 0; i < PHOTO_SIDE * PHOTO_SIDE; i++) {
        used += i % PHOTO_SIDE == 0; /* filter 0: none */
        for (uint32_t c = 0; c < channels; c++)
            rows[used++] = (uint8_t)(photo_pixel(number, i) + 40 * c);
    }
    uLongf bytes = sizeof packed;
    assert_int_equal(compress(packed, &bytes, rows, used), Z_OK);
    memcpy(png, "\x89PNG\r\n\x1a\n", 8);
    size_t at = 8;
    at += photo_chunk(png + at, "IHDR", head, sizeof head);
    at += photo_chunk(png + at, "IDAT", packed, bytes);
    return at + photo_chunk(png + at, "IEND", NULL, 0);
}

/* Creates the path's folders. Borrowed until the next call. */
static inline const char *photo_path(fixture *s, const char *name)
{
    char inner[512];
    const int length = snprintf(inner, sizeof inner, "photos/%s", name);
    assert_in_range(length, 1, sizeof inner - 1);
    for (size_t i = 0; inner[i] != '\0'; i++)
        if (inner[i] == '/') {
            inner[i] = '\0';
            (void)mkdir(fixture_path(s, inner), 0700);
            inner[i] = '/';
        }
    return fixture_path(s, inner);
}

static inline void photo_write(fixture *s, const char *name, const void *bytes, size_t count)
{
    scratch_write(photo_path(s, name), bytes, count);
}

static inline void photo_text(fixture *s, const char *name, const char *text)
{
    photo_write(s, name, text, strlen(text));
}

/* `number` determines the pixels. */
static inline void photo_put(fixture *s, const char *name, uint32_t number)
{
    uint8_t png[PHOTO_PNG_BYTES];
    photo_write(s, name, png, photo_png(png, PHOTO_SIDE, 0, number));
}

#endif
