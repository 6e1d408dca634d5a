/* SPDX-License-Identifier: Apache-2.0 */
#include "report/gallery.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "report/json_member.h"
#include "report/sheet.h"

#define SIDE_MOST 1024      /* pixels */
#define PNG_MOST (1u << 18) /* characters */
#define TEXT_BYTES 512      /* of a text picture */
#define LINE_WIDTH 400      /* of a drawing, LINE_HEIGHT high */
#define LINE_HEIGHT 200
#define LINES_MOST 5 /* distinguished by colour and dashes (page.css) */
#define POINTS_MOST 1024
#define ROWS_MOST 64

static void put_text(FILE *file, const char *text)
{
    char clean[TEXT_BYTES];
    if (text != NULL)
        sh_escape(file, SH_REPORT_html, sh_utf8_clean(clean, sizeof clean, text));
}

static bool is_base64(const char *text)
{
    const size_t letters =
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
    return letters > 0 && letters <= PNG_MOST &&
           letters + strspn(text + letters, "=") == strlen(text);
}

/* Magnifies small images. */
static bool write_image(FILE *file, const json_t *picture, const char *kind)
{
    const char *png = sh_member_text(picture, "png");
    const json_int_t width = json_integer_value(json_object_get(picture, "width"));
    const json_int_t height = json_integer_value(json_object_get(picture, "height"));
    if (!is_base64(png) || width < 1 || height < 1 || width > SIDE_MOST || height > SIDE_MOST)
        return false;
    const json_int_t longest = width > height ? width : height;
    const json_int_t times = longest >= 128 ? 1 : 128 / longest;
    fprintf(file, "<img class=\"%s\" width=\"%d\" height=\"%d\" alt=\"\" src=\"data:image/png;",
            kind, (int)(width * times), (int)(height * times));
    fprintf(file, "base64,%s\">", png);
    return true;
}

static void write_line(FILE *file, const json_t *line, size_t number)
{
    const size_t count = json_array_size(line) < POINTS_MOST ? json_array_size(line) : POINTS_MOST;
    fprintf(file, "<polyline class=\"line%zu\" points=\"", number);
    for (size_t i = 0; i < count; i++) {
        const double height = json_number_value(json_array_get(line, i));
        const double y = height >= 0 && height <= LINE_HEIGHT ? LINE_HEIGHT - height : LINE_HEIGHT;
        fprintf(file, "%s%d,%d", i > 0 ? " " : "",
                (int)(count > 1 ? i * LINE_WIDTH / (count - 1) : 0), (int)y);
    }
    fputs("\"/>", file);
}

static bool write_lines(FILE *file, const json_t *picture)
{
    const json_t *lines = json_object_get(picture, "lines"),
                 *names = json_object_get(picture, "names");
    const size_t all = json_array_size(lines), count = all < LINES_MOST ? all : LINES_MOST;
    if (count == 0)
        return false;
    fprintf(file, "<svg viewBox=\"-4 -4 %d %d\" role=\"img\">", LINE_WIDTH + 8, LINE_HEIGHT + 8);
    for (size_t i = 0; i < count; i++)
        write_line(file, json_array_get(lines, i), i);
    fprintf(file, "</svg><small>%.4g to %.4g", json_number_value(json_object_get(picture, "least")),
            json_number_value(json_object_get(picture, "most")));
    for (size_t i = 0; i < count; i++) {
        fprintf(file, "%s <span class=\"line%zu\">", i > 0 ? "," : ":", i);
        put_text(file, json_string_value(json_array_get(names, i)));
        fputs("</span>", file);
    }
    fputs("</small>", file);
    return true;
}

static bool write_values(FILE *file, const json_t *picture)
{
    const json_t *names = json_object_get(picture, "names");
    const json_t *values = json_object_get(picture, "values");
    const json_int_t more = json_integer_value(json_object_get(picture, "more"));
    if (json_array_size(values) == 0)
        return false;
    fputs("<table>", file);
    for (size_t i = 0; i < json_array_size(values) && i < ROWS_MOST; i++) {
        fputs("<tr><th scope=\"row\">", file);
        put_text(file, json_string_value(json_array_get(names, i)));
        fputs("</th><td class=\"n\">", file);
        put_text(file, json_string_value(json_array_get(values, i)));
        fputs("</td></tr>", file);
    }
    fputs("</table>", file);
    if (more > 0)
        fprintf(file, "<small>and %lld more</small>", (long long)more);
    return true;
}

static bool write_text(FILE *file, const json_t *picture)
{
    const char *text = sh_member_text(picture, "text");
    if (text[0] == '\0')
        return false;
    fputs("<pre>", file);
    put_text(file, text);
    fputs("</pre>", file);
    return true;
}

void sh_pictures_begin(FILE *file)
{
    fputs("<div class=\"samples\">\n", file);
}

void sh_picture_write(FILE *file, const json_t *picture, const char *title, const char *text)
{
    const char *kind = sh_member_text(picture, "kind");
    bool shown = false;
    fputs("<figure>", file);
    if (strcmp(kind, "image") == 0 || strcmp(kind, "heat") == 0)
        shown = write_image(file, picture, kind);
    else if (strcmp(kind, "lines") == 0)
        shown = write_lines(file, picture);
    else if (strcmp(kind, "values") == 0)
        shown = write_values(file, picture);
    else if (strcmp(kind, "text") == 0)
        shown = write_text(file, picture);
    if (!shown)
        fputs("<p>no picture</p>", file);
    fputs("<figcaption>", file);
    put_text(file, title);
    fputs(" <small>", file);
    put_text(file, text);
    fputs("</small></figcaption></figure>\n", file);
}

void sh_pictures_end(FILE *file)
{
    fputs("</div>\n", file);
}
