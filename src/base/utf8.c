/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

size_t sh_utf8_read(const unsigned char *text, uint32_t *point)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least; /* code point of this length */
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t more = 0; more < 4; more++) {
        if ((text[0] & forms[more].mask) != forms[more].lead)
            continue;
        *point = text[0] & (unsigned char)~forms[more].mask;
        for (size_t i = 1; i <= more; i++) {
            if ((text[i] & 0xc0) != 0x80) /* true of the terminating zero, too */
                return 0;
            *point = *point << 6 | (text[i] & 0x3f);
        }
        const bool surrogate = *point >= 0xd800 && *point <= 0xdfff;
        return *point < forms[more].least || *point > 0x10ffff || surrogate ? 0 : more + 1;
    }
    return 0;
}

const char *sh_utf8_clean(char *out, size_t bytes, const char *text)
{
    size_t used = 0;
    while (*text != '\0') {
        uint32_t point;
        const size_t length = sh_utf8_read((const unsigned char *)text, &point);
        const bool shown = length > 0 && !sh_utf8_is_control(point);
        const size_t taken = length > 0 ? length : 1;
        if (used + taken >= bytes)
            break;
        memcpy(out + used, shown ? text : "?", shown ? taken : 1);
        used += shown ? taken : 1;
        text += taken;
    }
    out[used] = '\0';
    return out;
}
