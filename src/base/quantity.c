/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantity.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Smaller figures fit into 64 bits. */
#define LARGEST 1e15

static const char *unknown(sh_quantity *quantity)
{
    snprintf(quantity->text, sizeof quantity->text, "-");
    return quantity->text;
}

const char *sh_quantity_whole(sh_quantity *quantity, uint64_t number)
{
    char digits[24];
    const size_t count = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            quantity->text[used++] = ',';
        quantity->text[used++] = digits[i];
    }
    quantity->text[used] = '\0';
    return quantity->text;
}

const char *sh_quantity_count(sh_quantity *quantity, uint64_t number, const char *noun)
{
    sh_quantity whole;
    snprintf(quantity->text, sizeof quantity->text, "%.28s %.30s%s",
             sh_quantity_whole(&whole, number), noun, number == 1 ? "" : "s");
    return quantity->text;
}

const char *sh_quantity_rate(sh_quantity *quantity, double rate)
{
    if (!isfinite(rate) || rate < 0 || rate > LARGEST)
        return unknown(quantity);
    if (rate >= 99.95)
        return sh_quantity_whole(quantity, (uint64_t)llround(rate));
    snprintf(quantity->text, sizeof quantity->text, "%.*f", rate < 9.995 ? 2 : 1, rate);
    return quantity->text;
}

const char *sh_quantity_loss(sh_quantity *quantity, double loss)
{
    if (!isfinite(loss))
        return unknown(quantity);
    snprintf(quantity->text, sizeof quantity->text, fabs(loss) < 1e5 ? "%.4f" : "%.4g", loss);
    return quantity->text;
}

const char *sh_quantity_percent(sh_quantity *quantity, double share, int decimals)
{
    if (!isfinite(share) || fabs(share) > LARGEST)
        return unknown(quantity);
    snprintf(quantity->text, sizeof quantity->text, "%.*f %%", decimals, 100 * share);
    return quantity->text;
}

/* "12:34", "1:02:03" */
static const char *clock_time(sh_quantity *quantity, uint64_t seconds)
{
    const uint64_t hours = seconds / 3600, minutes = seconds / 60 % 60;
    if (hours > 0)
        snprintf(quantity->text, sizeof quantity->text, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64,
                 hours, minutes, seconds % 60);
    else
        snprintf(quantity->text, sizeof quantity->text, "%" PRIu64 ":%02" PRIu64, minutes,
                 seconds % 60);
    return quantity->text;
}

const char *sh_quantity_duration(sh_quantity *quantity, double seconds)
{
    if (!isfinite(seconds) || seconds < 0 || seconds > LARGEST)
        return unknown(quantity);
    const uint64_t whole = (uint64_t)llround(seconds), day = 86400;
    if (seconds >= 0.995 && whole < day)
        return clock_time(quantity, whole);
    if (seconds < 0.995)
        snprintf(quantity->text, sizeof quantity->text, "%.2f s", seconds);
    else
        snprintf(quantity->text, sizeof quantity->text,
                 "%" PRIu64 " d %02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, whole / day,
                 whole / 3600 % 24, whole / 60 % 60, whole % 60);
    return quantity->text;
}

const char *sh_quantity_date(sh_quantity *quantity, double seconds)
{
    struct tm parts;
    if (!(seconds >= 0 && seconds < 1e11) ||
        localtime_r(&(time_t){(time_t)seconds}, &parts) == NULL ||
        strftime(quantity->text, sizeof quantity->text, "%Y-%m-%d %H:%M:%S", &parts) == 0)
        return unknown(quantity);
    return quantity->text;
}

const char *sh_quantity_megabytes(sh_quantity *quantity, uint64_t bytes)
{
    const uint64_t tenths = bytes / 100000 + (bytes % 100000 >= 50000);
    sh_quantity whole;
    snprintf(quantity->text, sizeof quantity->text, "%.40s.%" PRIu64,
             sh_quantity_whole(&whole, tenths / 10), tenths % 10);
    return quantity->text;
}

/* Three digits and an SI prefix. */
static void scaled(sh_quantity *quantity, double value, const char *unit)
{
    static const char *const prefixes[] = {"n", "\xc2\xb5", "m", "", "k", "M", "G", "T"};
    int place = 3;
    while (fabs(value) >= 999.5 && place < 7) {
        value /= 1000;
        place++;
    }
    while (value != 0 && fabs(value) < 0.9995 && place > 0) {
        value *= 1000;
        place--;
    }
    const int decimals = fabs(value) >= 99.95 || value == 0 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    snprintf(quantity->text, sizeof quantity->text, "%.*f %s%s", decimals, value, prefixes[place],
             unit);
}

const char *sh_quantity_of(sh_quantity *quantity, double value, sh_unit unit)
{
    sh_quantity whole;
    const size_t bytes = sizeof quantity->text;
    if (isnan(value))
        snprintf(quantity->text, bytes, "not available");
    else if (!(fabs(value) < LARGEST))
        snprintf(quantity->text, bytes, "%g", value);
    else if (unit == SH_UNIT_whole)
        snprintf(quantity->text, bytes, "%s%.40s", value <= -0.5 ? "-" : "",
                 sh_quantity_whole(&whole, (uint64_t)rint(fabs(value))));
    else if (unit == SH_UNIT_loss)
        snprintf(quantity->text, bytes, "%.4f", value);
    else if (unit == SH_UNIT_percent)
        snprintf(quantity->text, bytes, "%.2f %%", 100 * value);
    else if (unit == SH_UNIT_duration && value >= 59.95)
        clock_time(quantity, (uint64_t)llround(value));
    else if (unit == SH_UNIT_duration)
        snprintf(quantity->text, bytes, "%.1f s", value);
    else if (unit == SH_UNIT_rate && value >= 99.5)
        snprintf(quantity->text, bytes, "%.40s/s",
                 sh_quantity_whole(&whole, (uint64_t)rint(value)));
    else if (unit == SH_UNIT_rate)
        snprintf(quantity->text, bytes, "%.3g/s", value);
    else
        scaled(quantity, value, unit == SH_UNIT_bytes ? "B" : unit == SH_UNIT_seconds ? "s" : "J");
    return quantity->text;
}
