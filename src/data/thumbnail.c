/* SPDX-License-Identifier: Apache-2.0 */
#include "data/thumbnail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/description.h"
#include "data/png.h"

#define ROW_LONGEST 64 /* longer rows become a line */

/* `failed`: out of memory. */
typedef struct maker {
    const sh_dataset_info *info;
    const json_t *inputs; /* may be NULL */
    const void *sample;
    json_t *root;
    bool failed;
} maker;

static void set(maker *m, const char *name, json_t *value)
{
    if (json_object_set_new(m->root, name, value) != 0)
        m->failed = true;
}

static void append(maker *m, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        m->failed = true;
}

static double value_at(const maker *m, size_t index)
{
    return m->info->element == SH_ELEMENT_FLOAT ? (double)((const float *)m->sample)[index]
                                                : ((const uint8_t *)m->sample)[index];
}

/* ---- images ---------------------------------------------------------------------------------- */

typedef struct plane {
    size_t width, height;
    double pixels[SH_THUMBNAIL_SIDE * SH_THUMBNAIL_SIDE];
} plane;

static double mean_over(const maker *m, size_t channel, const size_t y[2], const size_t x[2])
{
    const sh_dataset_info *info = m->info;
    double sum = 0;
    for (size_t row = y[0]; row < y[1]; row++)
        for (size_t column = x[0]; column < x[1]; column++)
            sum += value_at(m, (channel * info->height + row) * info->width + column);
    return sum / (double)((y[1] - y[0]) * (x[1] - x[0]));
}

static void shrink(plane *small, const maker *m, size_t channel)
{
    const size_t wide = m->info->width, high = m->info->height, side = SH_THUMBNAIL_SIDE;
    const size_t longest = wide > high ? wide : high;
    small->width = longest <= side ? wide : wide * side / longest;
    small->height = longest <= side ? high : high * side / longest;
    small->width += small->width == 0;
    small->height += small->height == 0;
    for (size_t i = 0; i < small->height; i++)
        for (size_t k = 0; k < small->width; k++) {
            const size_t y[2] = {i * high / small->height, (i + 1) * high / small->height};
            const size_t x[2] = {k * wide / small->width, (k + 1) * wide / small->width};
            small->pixels[i * small->width + k] = mean_over(m, channel, y, x);
        }
}

/* To 0..255; constant becomes grey. */
static void stretch(plane *p)
{
    double least = INFINITY, most = -INFINITY;
    const size_t count = p->width * p->height;
    for (size_t i = 0; i < count; i++) {
        least = p->pixels[i] < least ? p->pixels[i] : least;
        most = p->pixels[i] > most ? p->pixels[i] : most;
    }
    for (size_t i = 0; i < count; i++)
        p->pixels[i] = most > least ? (p->pixels[i] - least) / (most - least) * 255 : 128;
}

static sh_status set_png(maker *m, const sh_png *png)
{
    char *text;
    SH_TRY(sh_png_base64(&text, png));
    set(m, "width", json_integer(png->width));
    set(m, "height", json_integer(png->height));
    set(m, "png", json_string(text));
    free(text);
    return SH_OK;
}

static sh_status make_image(maker *m)
{
    const bool colour = m->info->channels == 3;
    const uint32_t channels = colour ? 3 : 1;
    uint8_t bytes[SH_THUMBNAIL_SIDE * SH_THUMBNAIL_SIDE * 3];
    plane small = {.width = 0};
    for (uint32_t c = 0; c < channels; c++) {
        shrink(&small, m, c);
        if (m->info->element == SH_ELEMENT_FLOAT)
            stretch(&small);
        for (size_t i = 0; i < small.width * small.height; i++)
            bytes[i * channels + c] = (uint8_t)(small.pixels[i] + 0.5);
    }
    set(m, "kind", json_string("image"));
    return set_png(m, &(sh_png){bytes, (uint32_t)small.width, (uint32_t)small.height, channels});
}

/* viridis (van der Walt and Smith 2015) at five places, interpolated. */
static void colour_of(uint8_t colour[3], double value)
{
    static const uint8_t anchors[][3] = {{68, 1, 84},   {59, 82, 139},  {33, 145, 140},
                                         {94, 201, 98}, {253, 231, 37}, {253, 231, 37}};
    const double place = value / 255 * 4;
    const int at = (int)place;
    for (int c = 0; c < 3; c++)
        colour[c] =
            (uint8_t)(anchors[at][c] + (place - at) * (anchors[at + 1][c] - anchors[at][c]) + 0.5);
}

/* Stored frame by frame, low bands first. */
static sh_status make_heat(maker *m)
{
    uint8_t bytes[SH_THUMBNAIL_SIDE * SH_THUMBNAIL_SIDE * 3];
    plane small;
    shrink(&small, m, 0);
    stretch(&small);
    for (size_t frame = 0; frame < small.height; frame++)
        for (size_t band = 0; band < small.width; band++) {
            const size_t row = small.width - 1 - band;
            colour_of(bytes + (row * small.height + frame) * 3,
                      small.pixels[frame * small.width + band]);
        }
    set(m, "kind", json_string("heat"));
    return set_png(m, &(sh_png){bytes, (uint32_t)small.height, (uint32_t)small.width, 3});
}

/* ---- series ---------------------------------------------------------------------------------- */

static json_t *column_name(const maker *m, size_t index)
{
    const json_t *column = json_array_get(json_object_get(m->inputs, "columns"), index);
    const char *name = json_string_value(json_object_get(column, "name"));
    char number[24];
    snprintf(number, sizeof number, "%zu", index + 1);
    return json_string(name != NULL ? name : number);
}

static double point_at(const maker *m, size_t channel, size_t point, size_t points)
{
    const size_t wide = m->info->width;
    const size_t y[2] = {0, 1}, x[2] = {point * wide / points, (point + 1) * wide / points};
    return mean_over(m, channel, y, x);
}

static void make_lines(maker *m)
{
    const size_t wide = m->info->width, channels = m->info->channels;
    const size_t points = wide < SH_THUMBNAIL_POINTS ? wide : SH_THUMBNAIL_POINTS;
    const size_t count = channels < SH_THUMBNAIL_LINES ? channels : SH_THUMBNAIL_LINES;
    json_t *names = json_array(), *lines = json_array();
    double least = INFINITY, most = -INFINITY;
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < points; i++) {
            const double value = point_at(m, c, i, points);
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
    const double unit = most > least ? SH_THUMBNAIL_HEIGHT / (most - least) : 0;
    for (size_t c = 0; c < count; c++) {
        json_t *line = json_array();
        for (size_t i = 0; i < points; i++)
            append(m, line,
                   json_integer((json_int_t)((point_at(m, c, i, points) - least) * unit + 0.5)));
        append(m, lines, line);
        append(m, names, column_name(m, c));
    }
    set(m, "kind", json_string("lines"));
    set(m, "least", json_real(least));
    set(m, "most", json_real(most));
    set(m, "names", names);
    set(m, "lines", lines);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Some locales write a comma. */
static json_t *number_text(double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.5g", value);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == ',' ? '.' : *c;
    return json_string(text);
}

/* Starts from the inputs at `at`; returns how many the column has. */
static size_t column_text(json_t **text, const maker *m, const json_t *column, size_t at)
{
    const json_t *words = json_object_get(column, "categories");
    const size_t left = sh_dataset_elements(m->info) - at, count = json_array_size(words);
    if (count > 0) {
        size_t found = 0;
        while (found < count && found < left && value_at(m, at + found) < 0.5)
            found++;
        const json_t *word = found < left ? json_array_get(words, found) : NULL;
        *text = word == NULL ? json_string("none of its categories") : json_deep_copy(word);
        return count;
    }
    const double deviation = json_number_value(json_object_get(column, "deviation"));
    const double mean = json_number_value(json_object_get(column, "mean"));
    const bool indicates = json_is_true(json_object_get(column, "missing"));
    const size_t numbers = deviation > 0 ? 1 : 0;
    const json_t *order = json_object_get(column, "order");
    const double value = numbers > 0 ? value_at(m, at) * deviation + mean : mean;
    const json_t *word = value > -0.5 && value < (double)json_array_size(order)
                             ? json_array_get(order, (size_t)(value + 0.5))
                             : NULL;
    if (indicates && numbers < left && value_at(m, at + numbers) > 0.5)
        *text = json_string("missing");
    else
        *text = word != NULL ? json_deep_copy(word) : number_text(value);
    return numbers + indicates;
}

static void make_row(maker *m)
{
    const size_t elements = sh_dataset_elements(m->info);
    const bool table = json_array_size(m->inputs) > 0;
    const size_t columns = table ? json_array_size(m->inputs) : elements;
    json_t *names = json_array(), *values = json_array();
    size_t at = 0, shown = 0;
    for (; shown < columns && shown < SH_THUMBNAIL_VALUES && at < elements; shown++) {
        const json_t *column = json_array_get(m->inputs, shown);
        json_t *text = NULL;
        at += table ? column_text(&text, m, column, at) : 1;
        append(m, values, table ? text : number_text(value_at(m, shown)));
        const char *name = json_string_value(json_object_get(column, "name"));
        append(m, names, name != NULL ? json_string(name) : column_name(m, shown));
    }
    set(m, "kind", json_string("values"));
    set(m, "names", names);
    set(m, "values", values);
    set(m, "more", json_integer((json_int_t)(columns - shown)));
}

static void make_text(maker *m)
{
    char text[SH_THUMBNAIL_TEXT];
    const size_t bytes = sh_dataset_elements(m->info);
    size_t count = 0;
    for (; count < bytes && count < sizeof text; count++) {
        const double value = value_at(m, count);
        const bool space = value == '\n' || value == '\t';
        text[count] = value >= ' ' && value < 127 ? (char)value : space ? ' ' : '?';
    }
    set(m, "kind", json_string("text"));
    set(m, "text", json_stringn(text, count));
}

/* ---- all ------------------------------------------------------------------------------------- */

sh_status sh_thumbnail_json(json_t **json, const sh_dataset_info *info, const json_t *description,
                            const void *sample)
{
    const json_t *inputs = json_object_get(description, "inputs");
    const char *kind = json_string_value(json_object_get(inputs, "kind"));
    const bool row = info->channels * info->width <= ROW_LONGEST;
    maker m = {.info = info, .inputs = inputs, .sample = sample, .root = json_object()};
    sh_status status = SH_OK;
    if (kind != NULL && strcmp(kind, "text") == 0)
        make_text(&m);
    else if (kind != NULL && strcmp(kind, "audio") == 0)
        status = make_heat(&m);
    else if (info->height > 1)
        status = make_image(&m);
    else if (json_is_array(inputs) || (row && (kind == NULL || strcmp(kind, "series") != 0)))
        make_row(&m);
    else
        make_lines(&m);
    if (status == SH_OK && m.failed)
        status = sh_fail_memory(sizeof(json_t), "a picture of a sample");
    if (status == SH_OK)
        *json = m.root;
    else
        json_decref(m.root);
    return status;
}
