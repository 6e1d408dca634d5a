/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/trial_result.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "store/file.h"
#include "sweep/trial_command.h"

#define LOG_BYTES_MAX (1u << 24)

/* The other figures come from the summary's devices. */
static const struct {
    sh_trial_figure figure;
    const char *key;
} whole[] = {
    {SH_TRIAL_FIGURE_seconds, "train_seconds"},
    {SH_TRIAL_FIGURE_samples_per_second, "samples_per_second"},
    {SH_TRIAL_FIGURE_samples, "samples"},
    {SH_TRIAL_FIGURE_steps, "steps"},
    {SH_TRIAL_FIGURE_epochs, "epochs"},
    {SH_TRIAL_FIGURE_redone, "redone_steps"},
    {SH_TRIAL_FIGURE_parameters, "parameters"},
    {SH_TRIAL_FIGURE_train_loss, "train_loss"},
    {SH_TRIAL_FIGURE_val_loss, "val_loss"},
    {SH_TRIAL_FIGURE_val_accuracy, "val_accuracy"},
};

static const struct {
    const char *key;
    sh_trial_figure mean;
    int most; /* -1: not recorded */
} each[] = {
    {"cpu_seconds", SH_TRIAL_FIGURE_cpu_seconds, -1},
    {"peak_rss_bytes", SH_TRIAL_FIGURE_memory_mean, SH_TRIAL_FIGURE_memory_max},
    {"bytes_received", SH_TRIAL_FIGURE_received_mean, SH_TRIAL_FIGURE_received_max},
    {"bytes_sent", SH_TRIAL_FIGURE_sent_mean, SH_TRIAL_FIGURE_sent_max},
};

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The message is the log's last non-empty line, without the program's name. */
static void take_last_words(sh_trial *trial, const char *folder, int exit_status)
{
    char path[SH_PATH_BYTES], *text = NULL, *rest;
    const char *words = "it printed nothing";
    if (sh_path_join(path, folder, SH_TRIAL_LOG) == SH_OK &&
        sh_file_read(&text, NULL, path, LOG_BYTES_MAX) == SH_OK)
        for (const char *line = strtok_r(text, "\r\n", &rest); line != NULL;
             line = strtok_r(NULL, "\r\n", &rest))
            if (line[strspn(line, " \t")] != '\0' && strncmp(line, "try: shoal help", 15) != 0)
                words = strncmp(line, "shoal: ", 7) == 0 ? line + 7 : line;
    snprintf(trial->message, sizeof trial->message, "exit status %d: %.400s", exit_status, words);
    free(text);
}

void sh_trial_result_read(sh_trial *trial, const char *folder, int exit_status)
{
    char path[SH_PATH_BYTES];
    trial->message[0] = '\0';
    trial->state = SH_TRIAL_FAILED;
    if (exit_status != 0) {
        take_last_words(trial, folder, exit_status);
        return;
    }
    if (sh_path_join(path, folder, SH_TRIAL_SUMMARY) != SH_OK) {
        snprintf(trial->message, sizeof trial->message, "%.400s", sh_message());
        return;
    }
    json_t *summary = json_load_file(path, 0, NULL);
    const char *status = json_string_value(json_object_get(summary, "status"));
    const char *hash = json_string_value(json_object_get(summary, "weights_hash"));
    if (status == NULL || strcmp(status, "complete") != 0 || hash == NULL) {
        snprintf(trial->message, sizeof trial->message, "the training ended: %.100s",
                 status == NULL ? "no summary" : status);
        json_decref(summary);
        return;
    }
    trial->state = SH_TRIAL_DONE;
    snprintf(trial->weights_hash, sizeof trial->weights_hash, "%s", hash);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        trial->figures[whole[i].figure] = number_of(summary, whole[i].key);
    const json_t *devices = json_object_get(summary, "devices");
    const size_t count = json_array_size(devices);
    for (size_t i = 0; count > 0 && i < sizeof each / sizeof *each; i++) {
        double sum = 0, most = 0; /* NaN if a device lacks the value */
        for (size_t d = 0; d < count; d++) {
            const double value = number_of(json_array_get(devices, d), each[i].key);
            sum += value;
            most = isnan(value) || value > most ? value : most;
        }
        trial->figures[each[i].mean] = sum / (double)count;
        if (each[i].most >= 0)
            trial->figures[each[i].most] = isnan(sum) ? NAN : most;
    }
    json_decref(summary);
}
