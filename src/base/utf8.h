/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from outside: whether it is UTF-8 (RFC 3629) and safe to show.
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

/* The length of the sequence at `text` (zero-terminated); 0: malformed. */
size_t sh_utf8_read(const unsigned char *text, uint32_t *point);

/* Characters that change the direction of text (Unicode's Bidi_Control) or end a line could
 * disguise a name or turn one line into two. */
static inline bool sh_utf8_is_turn(uint32_t point)
{
    return point == 0x61c || point == 0x200e || point == 0x200f ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x206f);
}

/* Includes C0, DEL and C1, which could control a terminal. */
static inline bool sh_utf8_is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || sh_utf8_is_turn(point);
}

/* Whether a spreadsheet would compute this CSV field; a ' before it makes it text. */
static inline bool sh_utf8_is_formula(const char *text)
{
    return *text == '=' || *text == '+' || *text == '-' || *text == '@';
}

/* Copies what fits, with '?' for each control character and malformed byte. */
const char *sh_utf8_clean(char *out, size_t bytes, const char *text);

#endif
