/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/table/cell.h"

#define SLOTS_LEAST 16

static uint64_t hash(const char *text)
{
    uint64_t value = 0xcbf29ce484222325; /* FNV-1a */
    for (; *text != '\0'; text++)
        value = (value ^ (unsigned char)*text) * 0x100000001b3;
    return value ^ value >> 32;
}

/* The slot of a text, or an empty one for it. One slot is always empty. */
static size_t slot_of(const sh_vocabulary *words, const char *text)
{
    size_t at = (size_t)hash(text) & (words->slot_count - 1);
    while (words->slots[at] != 0 && strcmp(words->texts[words->slots[at] - 1], text) != 0)
        at = (at + 1) & (words->slot_count - 1);
    return at;
}

static void fill_slots(sh_vocabulary *words)
{
    memset(words->slots, 0, words->slot_count * sizeof *words->slots);
    for (uint32_t i = 0; i < words->count; i++)
        words->slots[slot_of(words, words->texts[i])] = i + 1;
}

static sh_status make_room(sh_vocabulary *words)
{
    SH_TRY(sh_array_grow((void **)&words->texts, &words->capacity, (size_t)words->count + 1,
                         sizeof *words->texts));
    if (2 * ((size_t)words->count + 1) <= words->slot_count)
        return SH_OK;
    const size_t slots = words->slot_count == 0 ? SLOTS_LEAST : 2 * words->slot_count;
    uint32_t *fresh = malloc(slots * sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(slots * sizeof *fresh, "the different values of a column");
    free(words->slots);
    words->slots = fresh;
    words->slot_count = slots;
    fill_slots(words);
    return SH_OK;
}

sh_status sh_vocabulary_add(sh_vocabulary *words, uint32_t *number, const char *text)
{
    SH_TRY(make_room(words));
    const size_t slot = slot_of(words, text);
    if (words->slots[slot] == 0) {
        char *copy = strdup(text);
        if (copy == NULL)
            return sh_fail_memory(strlen(text) + 1, "the different values of a column");
        words->texts[words->count++] = copy;
        words->slots[slot] = words->count;
    }
    *number = words->slots[slot] - 1;
    return SH_OK;
}

bool sh_vocabulary_find(const sh_vocabulary *words, uint32_t *number, const char *text)
{
    const size_t slot = words->count == 0 ? 0 : slot_of(words, text);
    if (words->count == 0 || words->slots[slot] == 0)
        return false;
    *number = words->slots[slot] - 1;
    return true;
}

typedef struct entry {
    char *text;
    double value;
} entry;

static int by_text(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->text, ((const entry *)b)->text);
}

static int by_value(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    const int order = (x->value > y->value) - (x->value < y->value);
    return order != 0 ? order : strcmp(x->text, y->text);
}

sh_status sh_vocabulary_sort(sh_vocabulary *words)
{
    if (words->count == 0)
        return SH_OK;
    bool numbers = true;
    entry *entries = malloc(words->count * sizeof *entries);
    if (entries == NULL)
        return sh_fail_memory(words->count * sizeof *entries, "the different values of a column");
    for (uint32_t i = 0; i < words->count; i++) {
        entries[i].text = words->texts[i];
        numbers &= sh_cell_read(&entries[i].value, words->texts[i]) == SH_CELL_NUMBER;
    }
    qsort(entries, words->count, sizeof *entries, numbers ? by_value : by_text);
    for (uint32_t i = 0; i < words->count; i++)
        words->texts[i] = entries[i].text;
    free(entries);
    fill_slots(words);
    return SH_OK;
}

void sh_vocabulary_release(sh_vocabulary *words)
{
    for (uint32_t i = 0; i < words->count; i++)
        free(words->texts[i]);
    free(words->texts);
    free(words->slots);
    *words = (sh_vocabulary){0};
}
