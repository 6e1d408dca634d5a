/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* More than that is not a figure that anyone reads, and fits into 64 bits. */
#define LARGEST 1e15

static const char *unknown(sh_figure *figure)
{
    snprintf(figure->text, sizeof figure->text, "-");
    return figure->text;
}

const char *sh_figure_whole(sh_figure *figure, uint64_t number)
{
    char digits[24];
    const size_t count = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            figure->text[used++] = ',';
        figure->text[used++] = digits[i];
    }
    figure->text[used] = '\0';
    return figure->text;
}

const char *sh_figure_count(sh_figure *figure, uint64_t number, const char *noun)
{
    sh_figure whole;
    snprintf(figure->text, sizeof figure->text, "%.28s %.30s%s", sh_figure_whole(&whole, number),
             noun, number == 1 ? "" : "s");
    return figure->text;
}

const char *sh_figure_rate(sh_figure *figure, double rate)
{
    if (!isfinite(rate) || rate < 0 || rate > LARGEST)
        return unknown(figure);
    if (rate >= 99.95)
        return sh_figure_whole(figure, (uint64_t)llround(rate));
    snprintf(figure->text, sizeof figure->text, "%.*f", rate < 9.995 ? 2 : 1, rate);
    return figure->text;
}

const char *sh_figure_loss(sh_figure *figure, double loss)
{
    if (!isfinite(loss))
        return unknown(figure);
    snprintf(figure->text, sizeof figure->text, fabs(loss) < 1e5 ? "%.4f" : "%.4g", loss);
    return figure->text;
}

const char *sh_figure_percent(sh_figure *figure, double share, int decimals)
{
    if (!isfinite(share) || fabs(share) > LARGEST)
        return unknown(figure);
    snprintf(figure->text, sizeof figure->text, "%.*f %%", decimals, 100 * share);
    return figure->text;
}

const char *sh_figure_duration(sh_figure *figure, double seconds)
{
    if (!isfinite(seconds) || seconds < 0 || seconds > LARGEST)
        return unknown(figure);
    if (seconds < 0.995) {
        snprintf(figure->text, sizeof figure->text, "%.2f s", seconds);
        return figure->text;
    }
    const uint64_t whole = (uint64_t)llround(seconds);
    const uint64_t days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
    if (days > 0)
        snprintf(figure->text, sizeof figure->text,
                 "%" PRIu64 " d %02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, days, hours, minutes,
                 whole % 60);
    else if (hours > 0)
        snprintf(figure->text, sizeof figure->text, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, hours,
                 minutes, whole % 60);
    else
        snprintf(figure->text, sizeof figure->text, "%" PRIu64 ":%02" PRIu64, minutes, whole % 60);
    return figure->text;
}

const char *sh_figure_date(sh_figure *figure, double seconds)
{
    struct tm parts;
    if (!(seconds >= 0 && seconds < 1e11) ||
        localtime_r(&(time_t){(time_t)seconds}, &parts) == NULL ||
        strftime(figure->text, sizeof figure->text, "%Y-%m-%d %H:%M:%S", &parts) == 0)
        return unknown(figure);
    return figure->text;
}

const char *sh_figure_megabytes(sh_figure *figure, uint64_t bytes)
{
    const uint64_t tenths = bytes / 100000 + (bytes % 100000 >= 50000);
    sh_figure whole;
    snprintf(figure->text, sizeof figure->text, "%.40s.%" PRIu64,
             sh_figure_whole(&whole, tenths / 10), tenths % 10);
    return figure->text;
}
