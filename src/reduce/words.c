/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/words.h"

size_t sh_words_bytes(sh_word word)
{
    switch (word) {
    case SH_WORD_I8:
        return sizeof(uint8_t);
    case SH_WORD_I16:
        return sizeof(uint16_t);
    case SH_WORD_I32:
        return sizeof(uint32_t);
    case SH_WORD_U64:
        break;
    }
    return sizeof(uint64_t);
}

/* Rounded up, so that part 0 has the first word. */
static size_t first_word(size_t count, uint32_t index, uint32_t parts)
{
    return (count * index + parts - 1) / parts;
}

sh_stretch sh_words_part(const sh_span *span, uint32_t index, uint32_t parts)
{
    const size_t first = first_word(span->count, index, parts);
    const size_t end = first_word(span->count, index + 1, parts);
    const size_t word_bytes = sh_words_bytes(span->word);
    return (sh_stretch){
        .own = (const unsigned char *)span->own + first * word_bytes,
        .total = (unsigned char *)span->total + first * word_bytes,
        .bytes = (end - first) * word_bytes,
    };
}

sh_sink sh_words_store(const sh_stretch *part)
{
    return (sh_sink){.data = part->total, .bytes = part->bytes};
}

sh_sink sh_words_add(const sh_stretch *part, sh_word word, const void *base)
{
    return (sh_sink){
        .adds = sh_words_bytes(word),
        .data = part->total,
        .bytes = part->bytes,
        .base = base == part->total ? NULL : base,
    };
}
