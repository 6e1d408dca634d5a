/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads only the survey's JSON (data/survey.h, data/examples.h), which is untrusted: omits members
 * of another type.
 */
#include "shoal/data.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/gallery.h"
#include "report/json_member.h"
#include "report/page.h"

#define CLASSES_MOST 1000 /* rows */
#define BAR_WIDTH 200     /* pixels at most */
#define TEXT_BYTES 512
#define TITLE_BYTES 2048

typedef struct data_page {
    const json_t *found;
    const char *title;
} data_page;

static void put_text(FILE *file, const char *text)
{
    char clean[TEXT_BYTES];
    sh_escape(file, SH_REPORT_html, sh_utf8_clean(clean, sizeof clean, text));
}

static const char *whole(sh_quantity *quantity, double count)
{
    return sh_quantity_of(quantity, count, SH_UNIT_whole);
}

static sh_status write_title(FILE *file, const void *context)
{
    const data_page *page = context;
    char clean[TITLE_BYTES];
    sh_escape(file, SH_REPORT_html, sh_utf8_clean(clean, sizeof clean, page->title));
    return SH_OK;
}

/* ---- the survey ------------------------------------------------------------------------------ */

static void add_row(sh_sheet *sheet, const char *name, const char *text)
{
    char clean[TEXT_BYTES];
    sh_sheet_cell(sheet, name);
    sh_sheet_cell(sheet, sh_utf8_clean(clean, sizeof clean, text));
}

static void add_facts(sh_sheet *sheet, const json_t *found)
{
    static const char *const heads[] = {"what", "found"};
    const json_t *sample = json_object_get(found, "sample");
    const json_t *same = json_object_get(found, "duplicates");
    sh_quantity a, b, c;
    char text[TEXT_BYTES];
    sh_sheet_table(sheet, "All samples", "<<", heads);
    add_row(sheet, "kind", sh_member_text(found, "kind"));
    snprintf(text, sizeof text, "%s, %s outputs", sh_member_text(found, "task"),
             whole(&a, sh_member_number(found, "outputs")));
    add_row(sheet, "task", text);
    snprintf(text, sizeof text, "%s to train with, %s to validate with",
             whole(&a, sh_member_number(found, "training")),
             whole(&b, sh_member_number(found, "validation")));
    add_row(sheet, "samples", text);
    snprintf(text, sizeof text, "%s x %s x %s (channels, height, width) %ss, %.5g to %.5g",
             whole(&a, json_number_value(json_array_get(sample, 0))),
             whole(&b, json_number_value(json_array_get(sample, 1))),
             whole(&c, json_number_value(json_array_get(sample, 2))),
             sh_member_text(found, "element"), sh_member_number(found, "least"),
             sh_member_number(found, "most"));
    add_row(sheet, "a sample", text);
    snprintf(text, sizeof text, "%s of its values never change in training",
             whole(&a, sh_member_number(json_object_get(found, "constant_inputs"), "count")));
    add_row(sheet, "constant", text);
    snprintf(text, sizeof text, "%s samples have one value everywhere",
             whole(&a, sh_member_number(json_object_get(found, "blank_samples"), "count")));
    add_row(sheet, "blank", text);
    snprintf(text, sizeof text,
             "%s; %s validation samples are also trained with, and %s differ in target from an "
             "equal sample",
             whole(&a, sh_member_number(same, "samples")),
             whole(&b, sh_member_number(same, "validation")),
             whole(&c, sh_member_number(same, "contradicting")));
    add_row(sheet, "duplicates", text);
    if (sh_member_number(found, "imbalance") >= 1) {
        snprintf(text, sizeof text,
                 "the largest class has %.3g times as many training samples as the smallest",
                 sh_member_number(found, "imbalance"));
        add_row(sheet, "imbalance", text);
    }
    add_row(sheet, "fingerprint", sh_member_text(found, "fingerprint"));
    sh_sheet_end(sheet);
}

static void add_lines(sh_sheet *sheet, const char *title, const json_t *lines)
{
    if (json_array_size(lines) == 0)
        return;
    sh_sheet_heading(sheet, 2, title);
    fputs("<ul>\n", sheet->file);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const char *line = json_string_value(json_array_get(lines, i));
        fputs("<li>", sheet->file);
        put_text(sheet->file, line == NULL ? "" : line);
        fputs("</li>\n", sheet->file);
    }
    fputs("</ul>\n", sheet->file);
}

static double most_samples(const json_t *classes)
{
    double most = 1;
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const json_t *one = json_array_get(classes, i);
        most = fmax(most,
                    fmax(sh_member_number(one, "training"), sh_member_number(one, "validation")));
    }
    return most;
}

static void put_bar(FILE *file, double count, double most)
{
    sh_quantity a;
    fprintf(file, "<td class=\"n\">%s</td><td>", whole(&a, count));
    if (count > 0)
        fprintf(file, "<span class=\"bar\" style=\"width:%dpx\"></span>",
                (int)(count / most * BAR_WIDTH));
    fputs("</td>", file);
}

static void add_classes(sh_sheet *sheet, const json_t *classes)
{
    FILE *file = sheet->file;
    const size_t count = json_array_size(classes);
    const double most = most_samples(classes);
    if (count == 0)
        return;
    sh_sheet_heading(sheet, 2, "Classes");
    fputs("<div class=\"box\" tabindex=\"0\"><table><caption>Samples of each class</caption>\n"
          "<tr><th scope=\"col\">class</th><th scope=\"col\" colspan=\"2\">training</th>"
          "<th scope=\"col\" colspan=\"2\">validation</th></tr>\n",
          file);
    for (size_t i = 0; i < count && i < CLASSES_MOST; i++) {
        const json_t *one = json_array_get(classes, i);
        fputs("<tr><th scope=\"row\">", file);
        put_text(file, sh_member_text(one, "name"));
        fputs("</th>", file);
        put_bar(file, sh_member_number(one, "training"), most);
        put_bar(file, sh_member_number(one, "validation"), most);
        fputs("</tr>\n", file);
    }
    fputs("</table></div>\n", file);
    if (count > CLASSES_MOST)
        fprintf(file, "<p>and %zu more</p>\n", count - CLASSES_MOST);
}

static void add_targets(sh_sheet *sheet, const json_t *targets)
{
    static const char *const heads[] = {"target", "least", "most", "mean", "deviation"};
    char text[TEXT_BYTES];
    if (json_array_size(targets) == 0)
        return;
    sh_sheet_heading(sheet, 2, "Targets");
    sh_sheet_table(sheet, "Targets, over the training samples", "<>>>>", heads);
    for (size_t i = 0; i < json_array_size(targets) && i < CLASSES_MOST; i++) {
        const json_t *one = json_array_get(targets, i);
        sh_sheet_cell(sheet, sh_utf8_clean(text, sizeof text, sh_member_text(one, "name")));
        for (int k = 1; k < 5; k++) {
            snprintf(text, sizeof text, "%.5g", sh_member_number(one, heads[k]));
            sh_sheet_cell(sheet, text);
        }
    }
    sh_sheet_end(sheet);
}

static void add_duplicates(sh_sheet *sheet, const json_t *pairs)
{
    static const char *const heads[] = {"sample", "is repeated as"};
    if (json_array_size(pairs) == 0)
        return;
    sh_sheet_heading(sheet, 2, "Duplicates");
    sh_sheet_table(sheet, "The first duplicate samples, those in both splits first", "<<", heads);
    for (size_t i = 0; i < json_array_size(pairs); i++)
        for (size_t k = 0; k < 2; k++) {
            const char *place = json_string_value(json_array_get(json_array_get(pairs, i), k));
            sh_sheet_cell(sheet, place == NULL ? "" : place);
        }
    sh_sheet_end(sheet);
}

static void add_training(sh_sheet *sheet, const json_t *training)
{
    char text[4 * TEXT_BYTES];
    sh_quantity a, b, c;
    if (!json_is_object(training))
        return;
    sh_sheet_heading(sheet, 2, "Training");
    snprintf(text, sizeof text,
             "shoal train auto would train %s. The network is given %s. The loss is %s; an epoch "
             "is %s steps of %s samples, and %s epochs are the default of --epochs.",
             sh_member_text(training, "why"), sh_member_text(training, "inputs"),
             sh_member_text(training, "loss"), whole(&a, sh_member_number(training, "epoch_steps")),
             whole(&b, sh_member_number(training, "batch_size")),
             whole(&c, sh_member_number(training, "epochs")));
    sh_sheet_paragraph(sheet, text);
}

static sh_status write_found(FILE *file, const void *context)
{
    const json_t *found = ((const data_page *)context)->found;
    sh_sheet sheet = {.file = file, .format = SH_REPORT_html};
    add_lines(&sheet, "Warnings", json_object_get(found, "warnings"));
    sh_sheet_heading(&sheet, 2, "Summary");
    add_facts(&sheet, found);
    add_training(&sheet, json_object_get(found, "training_defaults"));
    add_lines(&sheet, "Notes", json_object_get(found, "notes"));
    add_classes(&sheet, json_object_get(found, "classes"));
    add_targets(&sheet, json_object_get(found, "targets"));
    add_duplicates(&sheet, json_object_get(json_object_get(found, "duplicates"), "first"));
    return SH_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void add_examples(sh_sheet *sheet, const char *title, const json_t *list)
{
    char text[TEXT_BYTES];
    sh_sheet_heading(sheet, 3, title);
    sh_pictures_begin(sheet->file);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *target = sh_member_text(one, "target");
        snprintf(text, sizeof text, "%.300s%sdistance %.3g", target, target[0] != '\0' ? ", " : "",
                 sh_member_number(one, "distance"));
        sh_picture_write(sheet->file, json_object_get(one, "picture"), sh_member_text(one, "place"),
                         text);
    }
    sh_pictures_end(sheet->file);
}

static sh_status write_samples(FILE *file, const void *context)
{
    const json_t *examples = json_object_get(((const data_page *)context)->found, "examples");
    sh_sheet sheet = {.file = file, .format = SH_REPORT_html};
    if (!json_is_object(examples))
        return SH_OK;
    sh_sheet_heading(&sheet, 2, "Samples");
    sh_sheet_paragraph(
        &sheet, "How typical a sample is: its values are averaged over a grid of at most 256 cells "
                "(images: 8 x 8 of each channel). The mean of the training samples of its class, "
                "or of all if targets are not classes, is subtracted, and each cell is divided by "
                "its standard deviation over the training samples. The distance is the root mean "
                "square of these. Typical samples have the smallest distance, with an equal part "
                "of each class; odd ones have the largest.");
    add_examples(&sheet, "Typical", json_object_get(examples, "typical"));
    add_examples(&sheet, "Odd", json_object_get(examples, "odd"));
    return SH_OK;
}

sh_status sh_data_page(char **html, const char *json, const char *title)
{
    static const sh_page_part parts[] = {
        {"title", write_title}, {"found", write_found}, {"samples", write_samples}, {NULL, NULL}};
    json_t *found = json_loads(json, 0, NULL);
    if (!json_is_object(found)) {
        json_decref(found);
        return sh_fail(SH_FORMAT, "the findings on the data are not a JSON object");
    }
    const sh_status status = sh_page_text(html, "data.html", parts, &(data_page){found, title});
    json_decref(found);
    return status;
}
