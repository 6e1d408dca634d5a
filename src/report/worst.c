/* SPDX-License-Identifier: Apache-2.0 */
#include "report/worst.h"

#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "report/gallery.h"
#include "report/json_member.h"
#include "report/page.h"
#include "report/quality.h"
#include "shoal/eval.h"
#include "store/run.h"

#define SHOWN_MOST 100 /* samples */
#define TEXT_BYTES 512
#define NAME_BYTES 160 /* truncated */
#define TITLE_BYTES 2048

sh_status sh_worst_read(json_t **worst, const char *folder)
{
    return sh_quality_file(worst, folder, SH_RUN_PICTURES);
}

/* "rose, taken for tulip (93.00 %), loss 4.1" */
static void describe(char text[TEXT_BYTES], const json_t *one)
{
    char target[NAME_BYTES], answer[NAME_BYTES];
    sh_quantity a, b;
    const double probability = sh_member_number(one, "probability");
    const char *loss = sh_quantity_of(&a, sh_member_number(one, "loss"), SH_UNIT_loss);
    sh_utf8_clean(target, sizeof target, sh_member_text(one, "target"));
    sh_utf8_clean(answer, sizeof answer, sh_member_text(one, "answer"));
    if (!json_is_string(json_object_get(one, "answer")))
        snprintf(text, TEXT_BYTES, "loss %s", loss);
    else if (isnan(probability))
        snprintf(text, TEXT_BYTES, "is %s, answer %s, loss %s", target, answer, loss);
    else
        snprintf(text, TEXT_BYTES, "is %s, answer %s with %s, loss %s", target, answer,
                 sh_quantity_of(&b, probability, SH_UNIT_percent), loss);
}

static void write_pictures(sh_sheet *sheet, const json_t *worst)
{
    const json_t *samples = json_object_get(worst, "samples");
    char place[64], text[TEXT_BYTES];
    sh_pictures_begin(sheet->file);
    for (size_t i = 0; i < json_array_size(samples) && i < SHOWN_MOST; i++) {
        const json_t *one = json_array_get(samples, i);
        snprintf(place, sizeof place, "%.20s %.0f", sh_member_text(worst, "split"),
                 sh_member_number(one, "index"));
        describe(text, one);
        sh_picture_write(sheet->file, json_object_get(one, "picture"), place, text);
    }
    sh_pictures_end(sheet->file);
}

static void write_table(sh_sheet *sheet, const json_t *samples)
{
    static const char *const heads[] = {"sample", "is", "answer", "probability", "loss"};
    char text[TEXT_BYTES];
    sh_sheet_table(sheet, "Validation samples with the largest losses", "><<>>", heads);
    for (size_t i = 0; i < json_array_size(samples) && i < SHOWN_MOST; i++) {
        const json_t *one = json_array_get(samples, i);
        sh_sheet_number(sheet, sh_member_number(one, "index"), SH_UNIT_whole);
        sh_sheet_cell(sheet, sh_utf8_clean(text, NAME_BYTES, sh_member_text(one, "target")));
        sh_sheet_cell(sheet, sh_utf8_clean(text, NAME_BYTES, sh_member_text(one, "answer")));
        sh_sheet_number(sheet, sh_member_number(one, "probability"), SH_UNIT_percent);
        sh_sheet_number(sheet, sh_member_number(one, "loss"), SH_UNIT_loss);
    }
    sh_sheet_end(sheet);
}

void sh_worst_write(sh_sheet *sheet, const json_t *worst)
{
    const json_t *samples = json_object_get(worst, "samples");
    const bool page = sheet->format == SH_REPORT_html;
    if (json_array_size(samples) == 0) {
        if (page)
            sh_sheet_paragraph(sheet, "No worst samples to show: this run has no " SH_RUN_PICTURES
                                      ", which a training writes at its end");
        return;
    }
    if (!page) {
        write_table(sheet, samples);
        return;
    }
    sh_sheet_heading(sheet, 3, "Validation samples with the largest losses");
    write_pictures(sheet, worst);
}

/* ---- a page of them -------------------------------------------------------------------------- */

typedef struct worst_page {
    const json_t *worst;
    const char *title;
} worst_page;

static sh_status write_title(FILE *file, const void *context)
{
    const worst_page *page = context;
    char clean[TITLE_BYTES];
    sh_escape(file, SH_REPORT_html, sh_utf8_clean(clean, sizeof clean, page->title));
    return SH_OK;
}

static sh_status write_samples(FILE *file, const void *context)
{
    const worst_page *page = context;
    sh_worst_write(&(sh_sheet){.file = file, .format = SH_REPORT_html}, page->worst);
    return SH_OK;
}

sh_status sh_eval_page(char **html, const char *pictures, const char *title)
{
    static const sh_page_part parts[] = {
        {"title", write_title}, {"samples", write_samples}, {"found", NULL}, {NULL, NULL}};
    json_t *worst = json_loads(pictures, 0, NULL);
    if (!json_is_object(worst)) {
        json_decref(worst);
        return sh_fail(SH_FORMAT, "the findings on the worst samples are not a JSON object");
    }
    const sh_status status = sh_page_text(html, "data.html", parts, &(worst_page){worst, title});
    json_decref(worst);
    return status;
}
