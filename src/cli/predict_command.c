/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "shoal/about.h"
#include "shoal/predict.h"

#define TOP 5
#define NAME_BYTES 1024

typedef struct predict_values {
    sh_predict_options options;
    const char *json;
    uint32_t top;
    float threshold;
    bool quiet, verbose;
} predict_values;

#define FIELD(member) offsetof(predict_values, member)

static const sh_option options[] = {
    {SH_OPTION_U32, .name = "top", .value = "N",
     .help = "number of classes to print, the likeliest first (default 5)", .offset = FIELD(top),
     .min = 1},
    {SH_OPTION_FLOAT, .name = "threshold", .value = "X",
     .help = "an anomaly has a larger reconstruction error (default: the run's error 95 %)",
     .offset = FIELD(threshold), .above = true},
    {SH_OPTION_TEXT, .name = "normalize", .value = "NAME", .words = "imagenet|none",
     .suggests = true,
     .help = "imagenet or none (default), for an ONNX file without that information",
     .offset = FIELD(options.normalize)},
    {SH_OPTION_FLAG, .name = "last", .help = "use the last weights, not the best",
     .offset = FIELD(options.last)},
    {SH_OPTION_U32, .name = "lanes", .value = "N", .help = "cores to compute on (default: all)",
     .offset = FIELD(options.lanes), .min = 1, .max = 4096},
    {SH_OPTION_BYTES, .name = "memory", .value = "BYTES",
     .help = "memory limit, such as 96M (default: none)", .offset = FIELD(options.memory),
     .min = 1},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write all figures to FILE as a list ('-': standard output)", .offset = FIELD(json)},
    {SH_OPTION_FLAG, .name = "quiet", .help = "print nothing but errors", .offset = FIELD(quiet)},
    {SH_OPTION_FLAG, .name = "verbose", .help = "print log lines on standard error",
     .offset = FIELD(verbose)},
    {.kind = SH_OPTION_END},
};

typedef struct teller {
    sh_predictor *predictor;
    const sh_predictor_info *about;
    const predict_values *given;
    sh_json_list *list; /* NULL: not requested */
    double threshold;   /* NaN: unknown */
    bool prints, flushes, failed;
} teller;

static bool is_task(const teller *t, const char *task)
{
    return strcmp(t->about->task, task) == 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const char *clean_output(const teller *t, uint32_t index, char clean[NAME_BYTES])
{
    return sh_utf8_clean(clean, NAME_BYTES, sh_predictor_output(t->predictor, index));
}

/* Prints the likeliest classes, without those below 0.00 % after the first. */
static void print_classes(const teller *t, const sh_prediction *p)
{
    char clean[NAME_BYTES];
    sh_quantity share;
    for (uint32_t i = 0; i < t->about->outputs && i < t->given->top; i++) {
        const double value = p->values[p->order[i]];
        if (i > 0 && value < 0.00005)
            break;
        printf("  %s %s", clean_output(t, p->order[i], clean),
               sh_quantity_percent(&share, value, 2));
    }
}

static void print_labels(const teller *t, const sh_prediction *p)
{
    char clean[NAME_BYTES];
    sh_quantity share;
    uint32_t i = 0;
    for (; i < t->about->outputs && p->values[p->order[i]] > 0.5; i++)
        printf("  %s %s", clean_output(t, p->order[i], clean),
               sh_quantity_percent(&share, p->values[p->order[i]], 2));
    if (i == 0)
        printf("  none");
}

static void print_numbers(const teller *t, const sh_prediction *p)
{
    char clean[NAME_BYTES];
    for (uint32_t i = 0; i < t->about->outputs; i++)
        printf("  %s %.6g", clean_output(t, i, clean), p->values[i]);
}

static void print_line(const teller *t, const sh_prediction *p)
{
    char clean[NAME_BYTES];
    fputs(sh_utf8_clean(clean, sizeof clean, p->name), stdout);
    if (is_task(t, "classification"))
        print_classes(t, p);
    else if (is_task(t, "multi-label"))
        print_labels(t, p);
    else if (is_task(t, "regression"))
        print_numbers(t, p);
    else
        printf("  error %.6g%s", p->error,
               isnan(t->threshold)       ? ""
               : p->error > t->threshold ? "  above the threshold"
                                         : "  below the threshold");
    if (p->target[0] != '\0')
        printf("  (%s)", sh_utf8_clean(clean, sizeof clean, p->target));
    putchar('\n');
    if (t->flushes)
        fflush(stdout);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *outputs_json(const teller *t, const sh_prediction *p, const char *figure)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < t->about->outputs && list != NULL; i++) {
        const uint32_t k = p->order != NULL ? p->order[i] : i;
        json_t *one = json_object();
        sh_json_set(&one, "name", sh_json_text(sh_predictor_output(t->predictor, k)));
        sh_json_set(&one, figure, sh_json_number(p->values[k]));
        sh_json_append(&list, one);
    }
    return list;
}

static json_t *prediction_json(const teller *t, const sh_prediction *p)
{
    json_t *root = json_object();
    sh_json_set(&root, "name", sh_json_text(p->name));
    if (p->target[0] != '\0')
        sh_json_set(&root, "target", sh_json_text(p->target));
    if (is_task(t, "classification")) {
        sh_json_set(&root, "class", sh_json_text(sh_predictor_output(t->predictor, p->order[0])));
        sh_json_set(&root, "probability", sh_json_number(p->values[p->order[0]]));
        sh_json_set(&root, "classes", outputs_json(t, p, "probability"));
    } else if (is_task(t, "multi-label")) {
        json_t *labels = json_array();
        for (uint32_t i = 0; i < t->about->outputs && p->values[p->order[i]] > 0.5; i++)
            sh_json_append(&labels, sh_json_text(sh_predictor_output(t->predictor, p->order[i])));
        sh_json_set(&root, "labels", labels);
        sh_json_set(&root, "classes", outputs_json(t, p, "probability"));
    } else if (is_task(t, "regression")) {
        sh_json_set(&root, "numbers", outputs_json(t, p, "value"));
    } else {
        sh_json_set(&root, "error", sh_json_number(p->error));
        sh_json_set(&root, "threshold", sh_json_number(t->threshold));
        sh_json_set(&root, "above",
                    isnan(t->threshold) ? json_null() : json_boolean(p->error > t->threshold));
    }
    return root;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void on_prediction(void *context, const sh_prediction *prediction)
{
    const teller *t = context;
    if (t->prints)
        print_line(t, prediction);
    if (t->list != NULL)
        sh_json_list_add(t->list, prediction_json(t, prediction));
}

static void on_failure(void *context, const char *message)
{
    teller *t = context;
    t->failed = true;
    (void)sh_console_fail("%s", message);
}

static int predict(teller *t, const char *const *paths, size_t count)
{
    const sh_predict_calls calls = {on_prediction, on_failure, t};
    const bool streams = count == 1 && strcmp(paths[0], "-") == 0;
    if (t->given->json != NULL && sh_json_list_open(&t->list, t->given->json) != SH_OK)
        return sh_console_fail("%s", sh_message());
    t->flushes = streams;
    const sh_status status = streams ? sh_predict_stream(t->predictor, STDIN_FILENO, &calls)
                                     : sh_predict_files(t->predictor, paths, count, &calls);
    if (status != SH_OK) {
        const int code = sh_console_fail("%s", sh_message());
        sh_json_list_discard(t->list);
        return code;
    }
    if (t->list != NULL && sh_json_list_close(t->list) != SH_OK)
        return sh_console_fail("%s", sh_message());
    return t->failed ? SH_EXIT_FAILURE : SH_EXIT_DONE;
}

static int run(const sh_arguments *arguments, void *values)
{
    predict_values *given = values;
    const char *const *files = arguments->positionals + 1;
    const size_t count = arguments->positional_count - 1;
    teller t = {.given = given};
    for (size_t i = 0; i < count && count > 1; i++)
        if (strcmp(files[i], "-") == 0)
            return sh_console_misuse("predict",
                                     "predict: '-', standard input, must be the only file");
    given->options.run = arguments->positionals[0];
    if (access(given->options.run, F_OK) != 0)
        return sh_console_misuse("predict", "predict: no run or file %.160s", given->options.run);
    if (given->json != NULL && sh_json_file_check(given->json) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (given->verbose)
        sh_log_set(0, sh_console_log, NULL);
    if (sh_predictor_open(&t.predictor, &given->options) != SH_OK)
        return sh_console_fail("%s", sh_message());
    t.about = sh_predictor_about(t.predictor);
    t.threshold = given->threshold > 0 ? (double)given->threshold : t.about->threshold;
    t.prints = !given->quiet && !sh_json_is_output(given->json);
    if (t.about->note[0] != '\0' && !given->quiet)
        sh_console_note("%s", t.about->note);
    const int code = predict(&t, files, count);
    sh_predictor_close(t.predictor);
    return code;
}

static void init(void *values)
{
    ((predict_values *)values)->top = TOP;
}

const sh_command sh_predict_command = {
    .name = "predict",
    .usage = "RUN FILES... [options]",
    .summary = "predicts new files with a trained model",
    .details = "RUN is the folder of a training, a checkpoint, or an ONNX file. From a folder the "
               "best weights are\n"
               "used if it has them, or else the last. An ONNX file of shoal export is used like "
               "its run. Any other\n"
               "gets photos of its input's size, with bytes divided by 255. FILES are of the kind "
               "that the model was\n"
               "trained with, and are read in the same way: photos, recordings, tables (one line a "
               "row), arrays\n"
               "(NAME.npy, or x in NAME.npz; one line a sample), series (one line a window), and "
               "folders of these.\n"
               "'-' reads the rows of a table from standard input and answers each at once.\n"
               "\n"
               "Columns of a table are matched by the names in its header. Without a header their "
               "order is that of\n"
               "the training. A target column may be missing; its value is printed in brackets. A "
               "file or row that\n"
               "cannot be read is named on standard error. The others are predicted, and the exit "
               "code is 1.\n"
               "\n"
               "The output depends on the task. Classification: the likeliest classes. "
               "Multi-label: labels with a\n"
               "probability above one half. Regression: numbers in the target's units. "
               "Reconstruction: the mean\n"
               "squared error, and whether it is above the threshold.\n"
               "\n"
               "examples:\n"
               "  shoal predict runs/RUN new.jpg more/\n"
               "  shoal predict runs/RUN rows.csv --json answers.json\n"
               "  shoal predict model.onnx new.jpg\n"
               "  tail -f sensor.csv | shoal predict runs/RUN -\n",
    .options = options,
    .values_bytes = sizeof(predict_values),
    .init = init,
    .positionals_least = 2,
    .positionals_most = SH_POSITIONALS_MAX,
    .run = run,
};
