/* SPDX-License-Identifier: Apache-2.0 */
#include "shoal/about.h"
#include "shoal/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "report/json_member.h"
#include "shoal/train.h"

#define CLASSES_MOST 100 /* printed; --json has all */
#define CLEAN_BYTES 1024
#define EXAMPLES 5 /* typical ones in a page, and as many unusual ones */

typedef struct data_values {
    sh_train_options options; /* first, because of SH_READS */
    const char *json, *output;
    bool quiet;
} data_values;

#define FIELD(member) offsetof(data_values, member)

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "output", .letter = 'o', .value = "FILE",
     .help = "write all results to FILE as a page, with pictures of samples", .help_at = 50,
     .offset = FIELD(output)},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write all results to FILE ('-': standard output)", .help_at = 50,
     .offset = FIELD(json)},
    {SH_OPTION_FLAG, .name = "quiet", .help = "print nothing but errors", .help_at = 50,
     .offset = FIELD(quiet)},
    {.kind = SH_OPTION_END},
};

static json_int_t count_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *whole(sh_quantity *quantity, json_int_t count)
{
    return sh_quantity_whole(quantity, (uint64_t)count);
}

static void print_head(const json_t *found, const char *data)
{
    sh_quantity a, b;
    char clean[CLEAN_BYTES];
    const json_t *sample = json_object_get(found, "sample");
    const json_t *same = json_object_get(found, "duplicates");
    const json_t *constant = json_object_get(found, "constant_inputs");
    const json_int_t outputs = count_of(found, "outputs");
    const char *task = sh_member_text(found, "task");
    printf("data        %s\n", sh_utf8_clean(clean, sizeof clean, data));
    printf("task        %s", task);
    if (strcmp(task, "classification") == 0)
        printf(", %s classes", whole(&a, outputs));
    else if (strcmp(task, "multi-label") == 0)
        printf(", %s labels", whole(&a, outputs));
    else if (strcmp(task, "regression") == 0)
        printf(", %s", sh_quantity_count(&a, (uint64_t)outputs, "number"));
    printf("\nsamples     %s to train with, %s to validate with\n",
           whole(&a, count_of(found, "training")), whole(&b, count_of(found, "validation")));
    printf("sample      %lld x %lld x %lld %ss, %.5g to %.5g\n",
           (long long)json_integer_value(json_array_get(sample, 0)),
           (long long)json_integer_value(json_array_get(sample, 1)),
           (long long)json_integer_value(json_array_get(sample, 2)),
           sh_member_text(found, "element"), sh_member_number(found, "least"),
           sh_member_number(found, "most"));
    printf("constant    %s of a sample's values never change\n",
           whole(&a, count_of(constant, "count")));
    printf("duplicates  %s; %s validation samples are also trained with\n",
           whole(&a, count_of(same, "samples")), whole(&b, count_of(same, "validation")));
    if (sh_member_number(found, "imbalance") > 1) /* NaN: null */
        printf("imbalance   the largest class has %.3g times as many samples as the smallest\n",
               sh_member_number(found, "imbalance"));
}

static void print_classes(const json_t *classes)
{
    static const char *const heads[] = {"class", "training", "validation"};
    const size_t count = json_array_size(classes);
    sh_quantity a;
    if (count == 0)
        return;
    sh_table *table = sh_table_new("<>>", heads);
    for (size_t i = 0; i < count && i < CLASSES_MOST; i++) {
        const json_t *one = json_array_get(classes, i);
        sh_table_add(table, sh_member_text(one, "name"));
        sh_table_add(table, whole(&a, count_of(one, "training")));
        sh_table_add(table, whole(&a, count_of(one, "validation")));
    }
    putchar('\n');
    sh_table_print(table, stdout, "");
    if (count > CLASSES_MOST)
        printf("and %zu more; --json has all\n", count - CLASSES_MOST);
}

static void print_targets(const json_t *targets)
{
    static const char *const heads[] = {"target", "least", "most", "mean", "deviation"};
    const size_t count = json_array_size(targets);
    if (count == 0)
        return;
    sh_table *table = sh_table_new("<>>>>", heads);
    for (size_t i = 0; i < count && i < CLASSES_MOST; i++) {
        const json_t *one = json_array_get(targets, i);
        sh_table_add(table, sh_member_text(one, "name"));
        for (int k = 1; k < 5; k++)
            sh_table_format(table, "%.5g", sh_member_number(one, heads[k]));
    }
    putchar('\n');
    sh_table_print(table, stdout, "");
}

static void print_lines(const json_t *lines, const char *before)
{
    char clean[CLEAN_BYTES];
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const char *line = json_string_value(json_array_get(lines, i));
        if (line != NULL)
            printf("%s%s%s\n", i == 0 ? "\n" : "", before,
                   sh_utf8_clean(clean, sizeof clean, line));
    }
}

static void print_training(const json_t *training)
{
    printf("training    shoal train auto would train %s\n", sh_member_text(training, "why"));
}

static sh_status write_page(const char *path, const char *text, const char *data)
{
    char *html;
    sh_status status = sh_data_page(&html, text, data);
    if (status != SH_OK)
        return status;
    status = sh_result_file_write("--output", path, html);
    free(html);
    return status;
}

static int run(const sh_arguments *arguments, void *values)
{
    data_values *given = values;
    const char *data = arguments->positionals[0];
    sh_job *job = &given->options.job;
    char *text;
    if (strlen(data) >= sizeof job->data)
        return sh_console_misuse("data", "data: DATA is too long");
    if (sh_names_check(NULL, data) != SH_OK)
        return sh_console_misuse("data", "%s", sh_message());
    snprintf(job->data, sizeof job->data, "%s", data);
    if (given->json != NULL && sh_json_file_check(given->json) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (given->output != NULL && !sh_json_is_output(given->output) &&
        sh_result_file_check("--output", given->output) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (sh_json_is_output(given->json) && sh_json_is_output(given->output))
        return sh_console_misuse("data", "data: --json and --output cannot both be '-'");
    if (sh_data_survey(&text, job, given->output != NULL ? EXAMPLES : 0) != SH_OK)
        return sh_console_fail("%s", sh_message());
    json_t *found = json_loads(text, 0, NULL);
    const sh_status page = given->output == NULL ? SH_OK : write_page(given->output, text, data);
    free(text);
    if (page != SH_OK) {
        json_decref(found);
        return sh_console_fail("%s", sh_message());
    }
    if (found == NULL)
        return sh_console_fail("not enough memory");
    if (!given->quiet && !sh_json_is_output(given->json) && !sh_json_is_output(given->output)) {
        print_head(found, data);
        print_training(json_object_get(found, "training_defaults"));
        print_classes(json_object_get(found, "classes"));
        print_targets(json_object_get(found, "targets"));
        print_lines(json_object_get(found, "notes"), "");
        print_lines(json_object_get(found, "warnings"), "warning: ");
    }
    sh_json_set(&found, "data", sh_json_text(data));
    return sh_command_write_json(given->json, found, SH_EXIT_DONE);
}

const sh_command sh_data_command = {
    .name = "data",
    .usage = "DATA [options]",
    .summary = "describes a data set",
    .details = "Reads every sample once and reports the classes with their numbers of samples, the "
               "ranges, inputs\n"
               "that never change, samples that occur twice or in both splits, and what the reader "
               "noticed. The\n"
               "options are those of a training that affect reading. A training uses the data as "
               "packed here.\n"
               "\n"
               "examples:\n"
               "  shoal data mnist:DIR\n"
               "  shoal data photos:DIR -o page.html\n"
               "  shoal data cifar10:DIR --json survey.json\n",
    .options = options,
    .values_bytes = sizeof(data_values),
    .trains = SH_READS,
    .positionals_least = 1,
    .positionals_most = 1,
    .run = run,
};
