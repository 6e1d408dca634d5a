/* SPDX-License-Identifier: Apache-2.0 */
#include "report/quantity.h"

#include <math.h>
#include <stdio.h>

static void whole(char *out, double value)
{
    char digits[20];
    const int count = snprintf(digits, sizeof digits, "%.0f", fabs(value));
    if (value <= -0.5)
        *out++ = '-';
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
}

/* Three digits and the prefix of a power of 1000 between nano and tera. */
static void scaled(char out[SH_QUANTITY_BYTES], double value, const char *unit)
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
    snprintf(out, SH_QUANTITY_BYTES, "%.*f %s%s", decimals, value, prefixes[place], unit);
}

static void duration(char out[SH_QUANTITY_BYTES], double value)
{
    const long long seconds = llround(value);
    if (value < 59.95)
        snprintf(out, SH_QUANTITY_BYTES, "%.1f s", value);
    else if (seconds < 3600)
        snprintf(out, SH_QUANTITY_BYTES, "%lld:%02lld", seconds / 60, seconds % 60);
    else
        snprintf(out, SH_QUANTITY_BYTES, "%lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60,
                 seconds % 60);
}

const char *sh_quantity(char out[SH_QUANTITY_BYTES], double value, sh_unit unit)
{
    if (isnan(value))
        snprintf(out, SH_QUANTITY_BYTES, "not available");
    else if (!(fabs(value) < 1e15))
        snprintf(out, SH_QUANTITY_BYTES, "%g", value);
    else if (unit == SH_UNIT_whole)
        whole(out, value);
    else if (unit == SH_UNIT_loss)
        snprintf(out, SH_QUANTITY_BYTES, "%.4f", value);
    else if (unit == SH_UNIT_percent)
        snprintf(out, SH_QUANTITY_BYTES, "%.2f %%", 100 * value);
    else if (unit == SH_UNIT_duration)
        duration(out, value);
    else if (unit == SH_UNIT_rate && value >= 99.5) {
        char digits[24];
        whole(digits, value);
        snprintf(out, SH_QUANTITY_BYTES, "%s/s", digits);
    } else if (unit == SH_UNIT_rate)
        snprintf(out, SH_QUANTITY_BYTES, "%.3g/s", value);
    else
        scaled(out, value, unit == SH_UNIT_bytes ? "B" : unit == SH_UNIT_seconds ? "s" : "J");
    return out;
}
