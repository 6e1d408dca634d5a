/* SPDX-License-Identifier: Apache-2.0 */
#include "report/quality.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/json_member.h"
#include "store/file.h"

#define FILE_MOST ((size_t)64 << 20)
#define CLASSES_MOST 200 /* rows */
#define MATRIX_MOST 30

sh_status sh_quality_read(json_t **quality, const char *folder)
{
    return sh_quality_file(quality, folder, SH_QUALITY_FILE);
}

sh_status sh_quality_file(json_t **quality, const char *folder, const char *name)
{
    char path[SH_PATH_BYTES], *text;
    size_t bytes;
    *quality = NULL;
    if (!sh_folder_exists(folder))
        return SH_OK;
    SH_TRY(sh_path_join(path, folder, name));
    const sh_status status = sh_file_read_own(&text, &bytes, path, FILE_MOST);
    if (status == SH_NOT_FOUND)
        return SH_OK;
    SH_TRY(status);
    *quality = json_loadb(text, bytes, 0, NULL);
    free(text);
    return *quality != NULL
               ? SH_OK
               : sh_fail(SH_FORMAT, "%.200s: is not JSON; remove it for a report without it", path);
}

static void add_name(sh_sheet *sheet, const json_t *one)
{
    sh_sheet_cell(sheet, sh_member_text(one, "name"));
}

static void add_classes(sh_sheet *sheet, const json_t *classes)
{
    static const char *const heads[] = {"class", "samples", "answers", "precision", "recall", "F1"};
    const size_t count = json_array_size(classes);
    sh_sheet_table(sheet,
                   count > CLASSES_MOST ? "Validation samples of each class (the first ones)"
                                        : "Validation samples of each class",
                   "<>>>>>", heads);
    for (size_t i = 0; i < count && i < CLASSES_MOST; i++) {
        const json_t *one = json_array_get(classes, i);
        add_name(sheet, one);
        sh_sheet_number(sheet, sh_member_number(one, "samples"), SH_UNIT_whole);
        sh_sheet_number(sheet, sh_member_number(one, "answers"), SH_UNIT_whole);
        sh_sheet_number(sheet, sh_member_number(one, "precision"), SH_UNIT_percent);
        sh_sheet_number(sheet, sh_member_number(one, "recall"), SH_UNIT_percent);
        sh_sheet_number(sheet, sh_member_number(one, "f1"), SH_UNIT_percent);
    }
    sh_sheet_end(sheet);
}

static void add_matrix(sh_sheet *sheet, const json_t *classes, const json_t *matrix)
{
    const size_t count = json_array_size(matrix);
    const char *heads[MATRIX_MOST + 1] = {"class"};
    char columns[MATRIX_MOST + 2] = "<";
    for (size_t k = 0; k < count; k++) {
        heads[k + 1] = sh_member_text(json_array_get(classes, k), "name");
        columns[k + 1] = '>';
    }
    sh_sheet_table(sheet, "Samples of each class (rows) by the model's answer (columns)", columns,
                   heads);
    for (size_t target = 0; target < count; target++) {
        const json_t *row = json_array_get(matrix, target);
        sh_sheet_cell(sheet, heads[target + 1]);
        for (size_t answer = 0; answer < count; answer++)
            sh_sheet_number(sheet, json_number_value(json_array_get(row, answer)), SH_UNIT_whole);
    }
    sh_sheet_end(sheet);
}

/* The units are unknown. */
static void add_targets(sh_sheet *sheet, const json_t *targets)
{
    static const char *const heads[] = {"target", "MAE", "RMSE", "R2"};
    static const char *const keys[] = {"mae", "rmse", "r2"};
    sh_sheet_table(sheet, "Errors of validation samples", "<>>>", heads);
    for (size_t i = 0; i < json_array_size(targets) && i < CLASSES_MOST; i++) {
        const json_t *one = json_array_get(targets, i);
        add_name(sheet, one);
        for (int k = 0; k < 3; k++) {
            char text[32] = "not available";
            const double value = sh_member_number(one, keys[k]);
            if (!isnan(value))
                snprintf(text, sizeof text, "%.5g", value);
            sh_sheet_cell(sheet, text);
        }
    }
    sh_sheet_end(sheet);
}

void sh_quality_write(sh_sheet *sheet, const json_t *quality)
{
    const json_t *classes = json_object_get(quality, "classes");
    const json_t *matrix = json_object_get(quality, "confusion");
    const json_t *targets = json_object_get(quality, "targets");
    if (json_array_size(classes) > 0)
        add_classes(sheet, classes);
    if (json_array_size(matrix) > 0 && json_array_size(matrix) <= MATRIX_MOST)
        add_matrix(sheet, classes, matrix);
    if (json_array_size(targets) > 0)
        add_targets(sheet, targets);
}
