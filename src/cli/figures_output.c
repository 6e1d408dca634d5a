/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/figures_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/command.h"
#include "cli/console.h"
#include "report/json_member.h"

#define MATRIX_MOST 20 /* classes in a matrix that fits a terminal */
#define PAIRS_MOST 20

static void add_percent(sh_table *table, double share)
{
    sh_quantity a;
    sh_table_add(table, sh_quantity_percent(&a, share, 2));
}

static void add_number(sh_table *table, double number)
{
    if (isfinite(number))
        sh_table_format(table, "%.5g", number);
    else
        sh_table_add(table, "-");
}

const sh_figure_name sh_figure_names[SH_FIGURE_COUNT] = {
    {"accuracy", "accuracy", true},
    {"top5", "top 5", true},
    {"balanced_accuracy", "balanced", true},
    {"f1", "mean F1", true},
    {"auc", "ROC AUC", false},
    {"average_precision", "mean AP", true},
    {"mae", "MAE", false},
    {"rmse", "RMSE", false},
    {"r2", "R2", false},
    {"error95", "error 95 %", false},
    {"error99", "error 99 %", false},
};

void sh_figures_print(const json_t *figures)
{
    for (size_t i = 0; i < SH_FIGURE_COUNT; i++) {
        sh_quantity a;
        const double value = sh_member_number(figures, sh_figure_names[i].key);
        if (isfinite(value) && sh_figure_names[i].percent)
            printf("%-11s %s\n", sh_figure_names[i].title, sh_quantity_percent(&a, value, 2));
        else if (isfinite(value))
            printf("%-11s %.5g\n", sh_figure_names[i].title, value);
    }
    const json_t *targets = json_object_get(figures, "targets");
    if (json_array_size(targets) < 2)
        return;
    static const char *const heads[] = {"target", "MAE", "RMSE", "R2"};
    sh_table *table = sh_table_new("<>>>", heads);
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const json_t *one = json_array_get(targets, i);
        sh_table_add(table, sh_member_text(one, "name"));
        add_number(table, sh_member_number(one, "mae"));
        add_number(table, sh_member_number(one, "rmse"));
        add_number(table, sh_member_number(one, "r2"));
    }
    sh_table_print(table, stdout, "  ");
}

static bool are_labels(const json_t *figures)
{
    const char *task = json_string_value(json_object_get(figures, "task"));
    return task != NULL && strcmp(task, "multi-label") == 0;
}

static int print_table(const json_t *classes, bool labels)
{
    static const char *const heads[] = {"class",  "samples", "answers", "precision",
                                        "recall", "F1",      "ROC AUC", "AP"};
    sh_quantity a;
    sh_table *table = sh_table_new(labels ? "<>>>>>>>" : "<>>>>>", heads);
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const json_t *one = json_array_get(classes, i);
        sh_table_add(table, sh_member_text(one, "name"));
        sh_table_add(table, sh_quantity_whole(&a, (uint64_t)sh_member_number(one, "samples")));
        sh_table_add(table, sh_quantity_whole(&a, (uint64_t)sh_member_number(one, "answers")));
        add_percent(table, sh_member_number(one, "precision"));
        add_percent(table, sh_member_number(one, "recall"));
        add_percent(table, sh_member_number(one, "f1"));
        if (!labels)
            continue;
        sh_table_number(table, sh_member_number(one, "auc"), 4);
        add_percent(table, sh_member_number(one, "average_precision"));
    }
    putchar('\n');
    return sh_command_print_table(table, "");
}

static json_int_t count_at(const json_t *matrix, size_t target, size_t answer)
{
    return json_integer_value(json_array_get(json_array_get(matrix, target), answer));
}

static int print_matrix(const json_t *classes, const json_t *matrix)
{
    const size_t count = json_array_size(matrix);
    char columns[MATRIX_MOST + 3] = "><", numbers[MATRIX_MOST][24];
    const char *heads[MATRIX_MOST + 2] = {"", ""};
    for (size_t k = 0; k < count; k++) {
        columns[k + 2] = '>';
        snprintf(numbers[k], sizeof numbers[k], "%zu", k);
        heads[k + 2] = numbers[k];
    }
    sh_table *table = sh_table_new(columns, heads);
    for (size_t target = 0; target < count; target++) {
        sh_table_format(table, "%zu", target);
        sh_table_add(table, sh_member_text(json_array_get(classes, target), "name"));
        for (size_t answer = 0; answer < count; answer++)
            sh_table_format(table, "%lld", (long long)count_at(matrix, target, answer));
    }
    printf("\nsamples of each class (rows) by the model's answer (columns)\n");
    return sh_command_print_table(table, "");
}

typedef struct pair {
    json_int_t samples;
    size_t target, answer;
} pair;

static int print_pairs(const json_t *classes, const json_t *matrix)
{
    static const char *const heads[] = {"class", "taken for", "samples"};
    const size_t classes_count = json_array_size(matrix);
    pair most[PAIRS_MOST] = {{0, 0, 0}};
    size_t count = 0;
    for (size_t target = 0; target < classes_count; target++)
        for (size_t answer = 0; answer < classes_count; answer++) {
            const json_int_t samples = target == answer ? 0 : count_at(matrix, target, answer);
            if (samples == 0 || (count == PAIRS_MOST && samples <= most[PAIRS_MOST - 1].samples))
                continue;
            size_t place = count < PAIRS_MOST ? count++ : PAIRS_MOST - 1;
            for (; place > 0 && samples > most[place - 1].samples; place--)
                most[place] = most[place - 1];
            most[place] = (pair){samples, target, answer};
        }
    sh_table *table = sh_table_new("<<>", heads);
    for (size_t i = 0; i < count; i++) {
        sh_table_add(table, sh_member_text(json_array_get(classes, most[i].target), "name"));
        sh_table_add(table, sh_member_text(json_array_get(classes, most[i].answer), "name"));
        sh_table_format(table, "%lld", (long long)most[i].samples);
    }
    printf("\nmost confused classes\n");
    return sh_command_print_table(table, "");
}

int sh_figures_print_classes(const json_t *figures)
{
    const json_t *classes = json_object_get(figures, "classes");
    const json_t *matrix = json_object_get(figures, "confusion");
    if (json_array_size(classes) == 0)
        return SH_EXIT_DONE;
    const int code = print_table(classes, are_labels(figures));
    if (matrix == NULL || code != SH_EXIT_DONE)
        return code;
    return json_array_size(matrix) <= MATRIX_MOST ? print_matrix(classes, matrix)
                                                  : print_pairs(classes, matrix);
}
