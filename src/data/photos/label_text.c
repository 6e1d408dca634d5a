/* SPDX-License-Identifier: Apache-2.0 */
#include "data/photos/label_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"

#define DIGITS_MOST 18     /* every number of 18 digits fits into 64 bits */
#define EXPONENT_MOST 5000 /* numbers with a larger exponent are 0 or infinite */
#define EXACT_MOST 22      /* 10^22 is the largest power of ten exact as a double */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* --- numbers --- */

/* Returns number * 10^exponent. */
static double scale(double number, int exponent)
{
    for (; exponent > 0 && number != 0 && isfinite(number);
         exponent -= exponent > EXACT_MOST ? EXACT_MOST : exponent)
        number *= sh_real_power(10, (uint64_t)(exponent > EXACT_MOST ? EXACT_MOST : exponent));
    for (; exponent < 0 && number != 0; exponent += exponent < -EXACT_MOST ? EXACT_MOST : -exponent)
        number /= sh_real_power(10, (uint64_t)(exponent < -EXACT_MOST ? EXACT_MOST : -exponent));
    return number;
}

/* Reads digits with at most one point. The first DIGITS_MOST count. False if there are none. */
static bool read_digits(const char **text, uint64_t *digits, int *exponent)
{
    const char *at = *text;
    bool point = false, any = false;
    int taken = 0;
    for (; is_digit(*at) || (*at == '.' && !point); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        any = true;
        const bool counts = taken < DIGITS_MOST;
        if (counts)
            *digits = *digits * 10 + (uint64_t)(*at - '0');
        taken += counts && *digits > 0;
        *exponent += (counts ? 0 : 1) - (point ? 1 : 0);
        if (*exponent > EXPONENT_MOST || *exponent < -EXPONENT_MOST)
            return false;
    }
    *text = at;
    return any;
}

bool sh_label_number(double *number, const char *text)
{
    uint64_t digits = 0;
    int exponent = 0, power = 0;
    const bool negative = *text == '-';
    text += *text == '-' || *text == '+';
    if (!read_digits(&text, &digits, &exponent))
        return false;
    if (*text == 'e' || *text == 'E') {
        const bool down = text[1] == '-';
        text += 1 + (text[1] == '-' || text[1] == '+');
        if (!is_digit(*text))
            return false;
        for (; is_digit(*text) && power < EXPONENT_MOST; text++)
            power = power * 10 + (*text - '0');
        exponent += down ? -power : power;
    }
    const double value = scale((double)digits, exponent);
    if (*text != '\0' || !isfinite(value))
        return false;
    *number = negative ? -value : value;
    return true;
}

sh_label_kind sh_label_kind_of(const char *text)
{
    double number;
    const size_t digits = strspn(text, "0123456789");
    if (text[0] == '\0')
        return SH_LABEL_EMPTY;
    if (strcmp(text, "0") == 0 || strcmp(text, "1") == 0)
        return SH_LABEL_BIT;
    if (text[digits] == '\0' && digits <= DIGITS_MOST)
        return SH_LABEL_WHOLE;
    if (sh_label_number(&number, text))
        return SH_LABEL_NUMBER;
    return strchr(text, '|') != NULL ? SH_LABEL_LIST : SH_LABEL_WORD;
}

/* --- words --- */

bool sh_label_next(const char **at, size_t *length)
{
    const char *word = *at + strspn(*at, "| \t");
    size_t bytes = strcspn(word, "|");
    while (bytes > 0 && (word[bytes - 1] == ' ' || word[bytes - 1] == '\t'))
        bytes--;
    *at = word;
    *length = bytes;
    return bytes > 0;
}

void sh_label_names_init(sh_label_names *names)
{
    *names = (sh_label_names){0};
    sh_arena_init(&names->arena);
}

void sh_label_names_release(sh_label_names *names)
{
    free(names->texts);
    sh_arena_release(&names->arena);
    *names = (sh_label_names){0};
}

static int compare(const char *text, size_t length, const char *other, bool by_number)
{
    const size_t other_length = strlen(other);
    const size_t shared = length < other_length ? length : other_length;
    const int order = shared == 0 ? 0 : memcmp(text, other, shared);
    const int lengths = (length > other_length) - (length < other_length);
    if (by_number) {
        const uint64_t x = strtoull(text, NULL, 10), y = strtoull(other, NULL, 10);
        if (x != y)
            return x < y ? -1 : 1;
        return lengths; /* "7" before "07": they are different texts */
    }
    return order != 0 ? order : lengths;
}

/* Returns the index of the text, or where to insert it. */
static size_t place_of(const sh_label_names *names, const char *text, size_t length, bool *found)
{
    size_t low = 0, high = names->count;
    *found = false;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare(text, length, names->texts[middle], names->by_number);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

sh_status sh_label_names_add(sh_label_names *names, const char *text, size_t length)
{
    bool found;
    const size_t place = place_of(names, text, length, &found);
    if (found)
        return SH_OK;
    if (names->count == SH_LABEL_NAMES_MOST)
        return sh_fail(SH_LIMIT, "there are more than %d different labels", SH_LABEL_NAMES_MOST);
    SH_TRY(sh_array_grow((void **)&names->texts, &names->capacity, names->count + 1,
                         sizeof *names->texts));
    char *copy = sh_arena_take(&names->arena, length + 1, 1);
    if (copy == NULL)
        return sh_fail_memory(length + 1, "the names of labels");
    memcpy(copy, text, length);
    memmove(names->texts + place + 1, names->texts + place,
            (names->count - place) * sizeof *names->texts);
    names->texts[place] = copy;
    names->count++;
    return SH_OK;
}

static int by_number(const void *a, const void *b)
{
    const char *x = *(const char *const *)a;
    return compare(x, strlen(x), *(const char *const *)b, true);
}

void sh_label_names_sort(sh_label_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        if (sh_label_kind_of(names->texts[i]) > SH_LABEL_WHOLE)
            return;
    names->by_number = true;
    if (names->count > 0)
        qsort(names->texts, names->count, sizeof *names->texts, by_number);
}

uint32_t sh_label_names_find(const sh_label_names *names, const char *text, size_t length)
{
    bool found;
    return (uint32_t)place_of(names, text, length, &found);
}
