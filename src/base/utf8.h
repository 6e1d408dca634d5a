/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from outside: whether it is UTF-8 (RFC 3629), and safe to show.
 *
 *     char clean[64];
 *     printf("%s\n", sh_utf8_clean(clean, sizeof clean, name));
 *
 * Threads: any.
 */
#ifndef SHOAL_BASE_UTF8_H
#define SHOAL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the sequence at `text`, which a zero byte ends, and its code point; 0: malformed. */
size_t sh_utf8_read(const unsigned char *text, uint32_t *point);

/* Control characters could write to the terminal of whoever reads a log: C0, DEL and C1. */
static inline bool sh_utf8_is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

/* Copies what fits, with '?' for control characters and malformed bytes. Returns `out`. */
const char *sh_utf8_clean(char *out, size_t bytes, const char *text);

#endif
