/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/lr_finder.h"

#include <math.h>
#include <string.h>

#include "cli/json_file.h"

#define KEPT 0.98
#define DIVERGED 4 /* times the minimum */
#define SKIPPED 10 /* first points, of few losses */
#define ROWS 12
#define WIDTH_LEAST 20
#define WIDTH_MOST 72

bool sh_lr_finder_add(sh_lr_finder *finder, double lr, double loss)
{
    if (finder->diverged || finder->count == SH_LR_POINTS)
        return finder->diverged;
    finder->average = KEPT * finder->average + (1 - KEPT) * loss;
    finder->count++;
    const double smoothed = finder->average / (1 - pow(KEPT, finder->count));
    finder->points[finder->count - 1] = (sh_lr_point){lr, loss, smoothed};
    if (finder->count == 1 || smoothed < finder->least)
        finder->least = smoothed;
    finder->diverged = !isfinite(smoothed) || smoothed > DIVERGED * finder->least;
    return finder->diverged;
}

static uint32_t finite_points(const sh_lr_finder *finder)
{
    uint32_t count = finder->count;
    while (count > 0 && !isfinite(finder->points[count - 1].smoothed))
        count--;
    return count;
}

static uint32_t minimum(const sh_lr_finder *finder, uint32_t count)
{
    uint32_t least = 0;
    for (uint32_t i = 1; i < count; i++)
        if (finder->points[i].smoothed < finder->points[least].smoothed)
            least = i;
    return least;
}

bool sh_lr_finder_suggest(double *lr, const sh_lr_finder *finder)
{
    const uint32_t count = finite_points(finder), end = minimum(finder, count);
    double steepest = 0;
    bool found = false;
    for (uint32_t i = SKIPPED; i < end; i++) {
        const sh_lr_point *before = &finder->points[i - 1], *after = &finder->points[i + 1];
        const double decades = log10(after->lr) - log10(before->lr);
        const double slope = decades > 0 ? (after->smoothed - before->smoothed) / decades : 0;
        if (slope < steepest) {
            steepest = slope;
            *lr = finder->points[i].lr;
            found = true;
        }
    }
    return found;
}

/* Maps [low, high] to a row or column. */
static unsigned place(double value, double low, double high, unsigned places)
{
    const double part = high > low ? (value - low) / (high - low) : 0;
    const double at = part * (places - 1) + 0.5;
    return at < 0 ? 0 : at >= places ? places - 1 : (unsigned)at;
}

static void print_curve(const sh_lr_finder *finder, uint32_t count, unsigned width, FILE *out)
{
    char rows[ROWS][WIDTH_MOST + 1];
    const sh_lr_point *points = finder->points;
    const double first = log10(points[0].lr), last = log10(points[count - 1].lr);
    const double low = points[minimum(finder, count)].smoothed;
    double high = low, suggested;
    for (uint32_t i = 0; i < count; i++) /* cut off the divergence */
        if (points[i].smoothed > high)
            high = points[i].smoothed < 2 * points[0].smoothed ? points[i].smoothed
                                                               : 2 * points[0].smoothed;
    for (unsigned row = 0; row < ROWS; row++) {
        memset(rows[row], ' ', width);
        rows[row][width] = '\0';
    }
    if (sh_lr_finder_suggest(&suggested, finder))
        for (unsigned row = 0; row < ROWS; row++)
            rows[row][place(log10(suggested), first, last, width)] = ':';
    for (uint32_t i = 0; i < count; i++)
        rows[ROWS - 1 - place(points[i].smoothed, low, high, ROWS)]
            [place(log10(points[i].lr), first, last, width)] = '*';
    for (unsigned row = 0; row < ROWS; row++)
        if (row == 0 || row == ROWS - 1)
            fprintf(out, "%8.4g |%s\n", row == 0 ? high : low, rows[row]);
        else
            fprintf(out, "         |%s\n", rows[row]);
    fprintf(out, "    loss  learning rate, %.2g to %.2g\n", points[0].lr, points[count - 1].lr);
}

void sh_lr_finder_print(const sh_lr_finder *finder, unsigned width, FILE *out)
{
    const uint32_t count = finite_points(finder);
    double lr;
    if (count > 0)
        print_curve(finder, count,
                    width < WIDTH_LEAST  ? WIDTH_LEAST
                    : width < WIDTH_MOST ? width
                                         : WIDTH_MOST,
                    out);
    if (finder->diverged)
        fprintf(out, "diverged    at %.2g\n", finder->points[finder->count - 1].lr);
    else
        fprintf(out, "diverged    not up to %.2g\n",
                finder->count > 0 ? finder->points[finder->count - 1].lr : 0);
    if (sh_lr_finder_suggest(&lr, finder))
        fprintf(out, "suggested   --lr %.2g, where the loss falls most steeply\n", lr);
    else
        fprintf(out, "suggested   nothing: the loss does not fall; check the data and the model\n");
}

json_t *sh_lr_finder_json(const sh_lr_finder *finder)
{
    double lr;
    json_t *points = json_array(), *all = json_object();
    for (uint32_t i = 0; i < finder->count; i++) {
        json_t *point = json_object();
        sh_json_set(&point, "lr", sh_json_number(finder->points[i].lr));
        sh_json_set(&point, "loss", sh_json_number(finder->points[i].loss));
        sh_json_set(&point, "smoothed", sh_json_number(finder->points[i].smoothed));
        sh_json_append(&points, point);
    }
    const bool found = sh_lr_finder_suggest(&lr, finder);
    sh_json_set(&all, "suggested_lr", found ? sh_json_number(lr) : json_null());
    sh_json_set(&all, "diverged_lr",
                finder->diverged ? sh_json_number(finder->points[finder->count - 1].lr)
                                 : json_null());
    sh_json_set(&all, "points", points);
    return all;
}
