/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netpbm's PGM and PPM (P2, P3, P5, P6; netpbm.sourceforge.net/doc/pgm.html). The header is decimal
 * numbers, separated by white space and comments that begin with #. Then follow the levels, in
 * decimal or in one or two bytes each, from 0 to the highest level, which is white.
 */
#include <stdlib.h>

#include "data/photos/photo_codec.h"

typedef struct netpbm {
    const uint8_t *at, *end;
    uint32_t width, height, channels, highest;
    bool text; /* levels are decimal numbers */
} netpbm;

static bool netpbm_is(const uint8_t *bytes, size_t count)
{
    return count >= 3 && bytes[0] == 'P' &&
           (bytes[1] == '2' || bytes[1] == '3' || bytes[1] == '5' || bytes[1] == '6') &&
           (bytes[2] == '#' || bytes[2] <= ' ');
}

static bool netpbm_is_grey(const uint8_t *bytes, size_t count)
{
    return count >= 2 && (bytes[1] == '2' || bytes[1] == '5');
}

static bool is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* False if there is none or it exceeds `most`. */
static bool read_number(netpbm *n, uint32_t *number, uint32_t most)
{
    while (n->at < n->end && (is_space(*n->at) || *n->at == '#'))
        if (*n->at++ == '#')
            while (n->at < n->end && *n->at != '\n')
                n->at++;
    const uint8_t *first = n->at;
    uint32_t value = 0;
    for (; n->at < n->end && *n->at >= '0' && *n->at <= '9'; n->at++) {
        value = value * 10 + (uint32_t)(*n->at - '0');
        if (value > most)
            return false;
    }
    *number = value;
    return n->at > first;
}

static sh_status read_head(netpbm *n, const uint8_t *bytes, size_t count)
{
    *n = (netpbm){.at = bytes + 2, .end = bytes + count};
    n->text = bytes[1] == '2' || bytes[1] == '3';
    n->channels = netpbm_is_grey(bytes, count) ? 1 : 3;
    if (!read_number(n, &n->width, 1u << 24) || !read_number(n, &n->height, 1u << 24))
        return sh_fail(SH_CORRUPT, "is a damaged %s: its header gives no width and height",
                       n->channels == 1 ? "PGM" : "PPM");
    if (!read_number(n, &n->highest, 65535) || n->highest == 0)
        return sh_fail(SH_CORRUPT,
                       "is a damaged %s: its header gives no highest level of 1 to 65535",
                       n->channels == 1 ? "PGM" : "PPM");
    if (!n->text && n->at < n->end)
        n->at++; /* exactly one white space */
    return sh_photo_check(n->width, n->height, SH_PHOTO_PIXELS_MOST);
}

static bool read_level(netpbm *n, uint32_t *level)
{
    if (n->text)
        return read_number(n, level, n->highest);
    const size_t bytes = n->highest > 255 ? 2 : 1;
    if ((size_t)(n->end - n->at) < bytes)
        return false;
    *level = *n->at++;
    if (bytes == 2)
        *level = *level << 8 | *n->at++;
    return *level <= n->highest;
}

static sh_status netpbm_decode(sh_photo_sink *sink, const uint8_t *bytes, size_t count)
{
    netpbm n;
    SH_TRY(read_head(&n, bytes, count));
    const size_t line = (size_t)n.width * n.channels;
    const size_t least = n.text ? 1 : n.highest > 255 ? 2 : 1;
    if ((size_t)(n.end - n.at) / least < line * n.height)
        return sh_fail(SH_CORRUPT, "is cut off: it has %zu of at least %zu bytes of levels",
                       (size_t)(n.end - n.at), line * n.height * least);
    SH_TRY(sink->begin(sink, &(sh_photo_head){n.width, n.height, n.channels, 1}));
    uint8_t *row = malloc(line);
    if (row == NULL)
        return sh_fail_memory(line, "a row of a photo");
    sh_status status = SH_OK;
    for (uint32_t y = 0; y < n.height && status == SH_OK; y++) {
        for (size_t i = 0; i < line && status == SH_OK; i++) {
            uint32_t level = 0;
            if (!read_level(&n, &level))
                status = sh_fail(SH_CORRUPT, "is damaged: row %u has no level of 0 to %u", y + 1,
                                 n.highest);
            row[i] = (uint8_t)((level * 255 + n.highest / 2) / n.highest);
        }
        if (status == SH_OK)
            sink->row(sink, row);
    }
    free(row);
    return status;
}

const sh_photo_codec sh_photo_netpbm = {
    .name = "PPM", .is = netpbm_is, .is_grey = netpbm_is_grey, .decode = netpbm_decode};
