/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decimal number D * 10^e with an integer D is rounded to the nearest double in the first of
 * these ways that applies:
 *
 *     exact     D and 10^|e| are doubles: one multiplication or division, which rounds once
 *     short     D fits into 64 bits and -27 <= e < 0: D / 5^-e to 64 bits, bit by bit
 *     long      all others: the same with multi-word integers
 *
 * The last two compute a *quotient* of 64 bits, a power of two, and whether there is a remainder.
 */
#include "data/table/cell.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/real.h"
#include "base/utf8.h"

#define DIGITS_MOST 40      /* significant digits used; of the rest only whether one is not 0 */
#define EXACT_POWER 22      /* 10^22 is exact as a double */
#define SHORT_POWER 27      /* 5^27 < 2^63 */
#define EXPONENT_MOST 10000 /* no double has a larger exponent */
#define WORDS 44            /* 32 bits each: enough for 10^370 * 2^64 */

typedef struct decimal {
    uint8_t digits[DIGITS_MOST + 1];
    int count;    /* without leading and trailing zeros */
    int exponent; /* power of ten of the last digit */
    bool negative;
} decimal;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* --- rounding to the nearest double --- */

static int bits_of(uint64_t number)
{
    int bits = 0;
    for (; number != 0; number >>= 1)
        bits++;
    return bits;
}

/* Rounds quotient * 2^power to a double. `more`: the exact value is slightly larger. */
static double round_quotient(uint64_t quotient, int power, bool more)
{
    int drop = bits_of(quotient) - 53;
    if (drop + power < -1074) /* subnormal: fewer bits remain */
        drop = -1074 - power;
    if (drop <= 0)
        return ldexp((double)quotient, power);
    if (drop > 64)
        return 0;
    const uint64_t kept = drop == 64 ? 0 : quotient >> drop;
    const uint64_t half = (uint64_t)1 << (drop - 1), rest = quotient & (half - 1 + half);
    const bool up = rest > half || (rest == half && (more || (kept & 1) != 0));
    return ldexp((double)(kept + up), power + drop);
}

static double divide_short(uint64_t number, int power)
{
    uint64_t divisor = 1;
    for (int i = 0; i < power; i++)
        divisor *= 5;
    uint64_t quotient = number / divisor, rest = number % divisor;
    int shift = 0;
    for (; quotient >> 63 == 0; shift++) {
        rest *= 2; /* cannot overflow: the divisor is below 2^63 */
        const bool bit = rest >= divisor;
        rest -= bit ? divisor : 0;
        quotient = quotient * 2 + bit;
    }
    return round_quotient(quotient, -power - shift, rest != 0);
}

typedef struct whole {
    uint32_t words[WORDS]; /* least significant first */
} whole;

static void whole_multiply(whole *number, uint32_t factor, uint32_t add)
{
    uint64_t carry = add;
    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)number->words[i] * factor;
        number->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static int whole_bits(const whole *number)
{
    int i = WORDS - 1;
    while (i > 0 && number->words[i] == 0)
        i--;
    return 32 * i + bits_of(number->words[i]);
}

static void whole_shift_left(whole *number, int bits)
{
    for (; bits >= 31; bits -= 31)
        whole_multiply(number, 1u << 31, 0);
    whole_multiply(number, 1u << bits, 0);
}

static void whole_halve(whole *number)
{
    for (int i = 0; i < WORDS; i++)
        number->words[i] = number->words[i] >> 1 | (i + 1 < WORDS ? number->words[i + 1] << 31 : 0);
}

static bool whole_is_below(const whole *a, const whole *b)
{
    for (int i = WORDS - 1; i >= 0; i--)
        if (a->words[i] != b->words[i])
            return a->words[i] < b->words[i];
    return false;
}

static void whole_subtract(whole *from, const whole *number)
{
    uint64_t borrow = 0;
    for (int i = 0; i < WORDS; i++) {
        const uint64_t word = (uint64_t)from->words[i] - number->words[i] - borrow;
        from->words[i] = (uint32_t)word;
        borrow = word >> 63;
    }
}

static double divide_long(const decimal *d)
{
    whole number = {{0}}, divisor = {{1}};
    for (int i = 0; i < d->count; i++)
        whole_multiply(&number, 10, d->digits[i]);
    for (int i = 0; i < d->exponent; i++)
        whole_multiply(&number, 10, 0);
    for (int i = 0; i > d->exponent; i--)
        whole_multiply(&divisor, 10, 0);
    /* Scale so that the quotient has 63 or 64 bits. */
    const int apart = whole_bits(&number) - whole_bits(&divisor) - 63;
    if (apart < 0)
        whole_shift_left(&number, -apart);
    else
        whole_shift_left(&divisor, apart);
    whole_shift_left(&divisor, 63);
    uint64_t quotient = 0;
    for (int bit = 63; bit >= 0; bit--) {
        if (!whole_is_below(&number, &divisor)) {
            whole_subtract(&number, &divisor);
            quotient |= (uint64_t)1 << bit;
        }
        whole_halve(&divisor);
    }
    static const whole none;
    return round_quotient(quotient, apart, whole_is_below(&none, &number));
}

static double nearest(const decimal *d)
{
    if (d->count == 0 || d->count + d->exponent < -330)
        return 0;
    if (d->count + d->exponent > 310)
        return INFINITY;
    const int power = d->exponent < 0 ? -d->exponent : d->exponent;
    uint64_t number = 0;
    for (int i = 0; i < d->count && i < 19; i++)
        number = number * 10 + d->digits[i];
    if (d->count <= 15 && power <= EXACT_POWER) {
        const double factor = sh_real_power(10, (uint64_t)power);
        return d->exponent < 0 ? (double)number / factor : (double)number * factor;
    }
    if (d->count <= 19 && d->exponent < 0 && power <= SHORT_POWER)
        return divide_short(number, power);
    return divide_long(d);
}

/* --- reading --- */

/* `behind`: it follows the decimal point. */
static void add_digit(decimal *d, uint8_t digit, bool behind)
{
    if (d->count == 0 && digit == 0) {
        d->exponent -= behind;
    } else if (d->count < DIGITS_MOST) {
        d->digits[d->count++] = digit;
        d->exponent -= behind;
    } else {
        d->exponent += !behind;
        if (digit != 0) /* remember that a digit beyond DIGITS_MOST is not 0 */
            d->digits[DIGITS_MOST] = 1;
    }
}

/* Returns the end of the number, or NULL if there is none. */
static const char *read_decimal(decimal *d, const char *text)
{
    bool point = false, any = false;
    *d = (decimal){.negative = *text == '-'};
    text += *text == '-' || *text == '+';
    for (; is_digit(*text) || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        any = true;
        add_digit(d, (uint8_t)(*text - '0'), point);
    }
    if (!any)
        return NULL;
    if (*text == 'e' || *text == 'E') {
        int exponent = 0;
        const bool negative = *++text == '-';
        text += *text == '-' || *text == '+';
        if (!is_digit(*text))
            return NULL;
        for (; is_digit(*text); text++)
            if (exponent < 100 * EXPONENT_MOST)
                exponent = exponent * 10 + (*text - '0');
        d->exponent += negative ? -exponent : exponent;
    }
    if (d->digits[DIGITS_MOST] != 0) { /* stands for all further digits */
        d->count++;
        d->exponent--;
    }
    while (d->count > 0 && d->digits[d->count - 1] == 0) {
        d->count--;
        d->exponent++;
    }
    return text;
}

/* Parses `digits` digits, within least .. most, then `behind` unless it is 0. */
static bool read_part(int *part, const char **text, int digits, char behind, int least, int most)
{
    *part = 0;
    for (int i = 0; i < digits; i++, ++*text) {
        if (!is_digit(**text))
            return false;
        *part = *part * 10 + (**text - '0');
    }
    if (behind != '\0' && *(*text)++ != behind)
        return false;
    return *part >= least && *part <= most;
}

static int days_until(int year, int month, int day)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    const int last = month > 2 ? year : year - 1; /* the last year whose leap day counts */
    const int leap_days = last / 4 - last / 100 + last / 400;
    return 365 * year + leap_days + before[month - 1] + day - 1 - 719527;
}

static bool read_time(double *seconds, const char **text)
{
    int hour, minute, second = 0;
    decimal fraction = {0};
    if (!read_part(&hour, text, 2, ':', 0, 23) || !read_part(&minute, text, 2, '\0', 0, 59))
        return false;
    if (**text == ':') {
        ++*text;
        if (!read_part(&second, text, 2, '\0', 0, 60))
            return false;
        if (**text == '.' && is_digit((*text)[1]))
            for (++*text; is_digit(**text); ++*text)
                add_digit(&fraction, (uint8_t)(**text - '0'), true);
    }
    int zone = 0;
    if (**text == 'Z') {
        ++*text;
    } else if (**text == '+' || **text == '-') {
        int hours, minutes;
        const int sign = *(*text)++ == '-' ? -1 : 1;
        if (!read_part(&hours, text, 2, ':', 0, 23) || !read_part(&minutes, text, 2, '\0', 0, 59))
            return false;
        zone = sign * (60 * hours + minutes);
    }
    *seconds = 3600.0 * hour + 60.0 * (minute - zone) + second + nearest(&fraction);
    return true;
}

static const char *read_date(double *days, const char *text)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;
    double seconds = 0;
    if (!read_part(&year, &text, 4, '-', 1, 9999) || !read_part(&month, &text, 2, '-', 1, 12) ||
        !read_part(&day, &text, 2, '\0', 1, 31))
        return NULL;
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (day > lengths[month - 1] + (month == 2 && leap))
        return NULL;
    if (*text == 'T' || (*text == ' ' && is_digit(text[1]))) {
        text++;
        if (!read_time(&seconds, &text))
            return NULL;
    }
    *days = days_until(year, month, day) + seconds / 86400;
    return text;
}

/* True for one of the names in upper or lower case, followed by blanks only. */
static bool is_one(const char *text, const char *const *names)
{
    for (; *names != NULL; names++) {
        size_t i = 0;
        for (; (*names)[i] != '\0'; i++) {
            const char c = text[i];
            if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != (*names)[i])
                break;
        }
        if ((*names)[i] == '\0' && text[i + strspn(text + i, " \t")] == '\0')
            return true;
    }
    return false;
}

sh_cell sh_cell_read(double *value, const char *text)
{
    static const char *const missing[] = {"", "?", "na", "n/a", "nan", "null", NULL};
    static const char *const infinite[] = {"inf", "infinity", NULL};
    decimal d;
    *value = 0;
    text += strspn(text, " \t");
    const char *end = read_decimal(&d, text);
    if (end != NULL && end[strspn(end, " \t")] == '\0') {
        const double size = nearest(&d);
        if (isinf(size))
            return SH_CELL_INFINITE;
        *value = d.negative && size != 0 ? -size : size;
        return SH_CELL_NUMBER;
    }
    double days;
    end = read_date(&days, text);
    if (end != NULL && end[strspn(end, " \t")] == '\0') {
        *value = days;
        return SH_CELL_DATE;
    }
    if (is_one(text, missing))
        return SH_CELL_MISSING;
    return is_one(text + (*text == '-' || *text == '+'), infinite) ? SH_CELL_INFINITE
                                                                   : SH_CELL_WORD;
}

const char *sh_cell_name(char name[SH_CELL_NAME_BYTES], const char *text)
{
    double value;
    if (sh_cell_read(&value, text) == SH_CELL_NUMBER && value == floor(value) &&
        fabs(value) < 1e15) {
        snprintf(name, SH_CELL_NAME_BYTES, "%lld", (long long)value);
        return name;
    }
    sh_utf8_clean(name, SH_CELL_NAME_BYTES, text + strspn(text, " \t"));
    size_t length = strlen(name);
    while (length > 0 && name[length - 1] == ' ')
        name[--length] = '\0';
    return name;
}
