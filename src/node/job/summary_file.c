/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/summary_file.h"

#include <math.h>
#include <stdlib.h>

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *best_json(const sh_summary *s)
{
    if (s->best_epoch == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:s, s:o, s:o}", "epoch", (json_int_t)s->best_epoch, "step",
                     (json_int_t)s->best_steps, "monitor", s->monitor, "value",
                     number(s->best_value), "file",
                     s->best_file[0] != '\0' ? json_string(s->best_file) : json_null());
}

sh_status sh_summary_file_write(const sh_run *run, const sh_summary *s, const char *ending)
{
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:o, s:o, s:s, s:I, s:I, s:o, "
        "s:b}",
        "model", s->model, "data", s->data, "ending", ending, "parameters",
        (json_int_t)s->parameters, "epochs", (json_int_t)s->epochs, "steps", (json_int_t)s->steps,
        "samples", (json_int_t)s->samples, "train_seconds", s->train_seconds, "samples_per_second",
        s->samples_per_second, "train_loss", number(s->train_loss), "val_loss", number(s->val_loss),
        "val_accuracy", number(s->val_accuracy), "val_mae", number(s->val_mae), "weights_hash",
        s->weights_hash, "redone_steps", (json_int_t)s->redone_steps, "devices",
        (json_int_t)s->device_count, "best", best_json(s), "stopped_early", s->stopped_early);
    if (json == NULL)
        return sh_fail_memory(1024, "the summary");
    const sh_status status = sh_run_write_json(run, SH_RUN_SUMMARY, json);
    json_decref(json);
    return status;
}

sh_status sh_summary_epoch(char **line, const sh_event *event)
{
    json_t *json =
        json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "epoch",
                  (json_int_t)event->epoch, "step", (json_int_t)event->total_step, "seconds",
                  number(round(event->seconds * 1e3) * 1e-3), "samples_per_second",
                  number(round(event->samples_per_second * 10) * 0.1), "loss", number(event->loss),
                  "accuracy", number(event->accuracy), "val_loss", number(event->val_loss),
                  "val_accuracy", number(event->val_accuracy), "val_mae", number(event->val_mae));
    char *text = json == NULL ? NULL : json_dumps(json, JSON_REAL_PRECISION(9));
    json_decref(json);
    if (text == NULL)
        return sh_fail_memory(512, "a line of metrics");
    *line = text;
    return SH_OK;
}

void sh_summary_release(sh_summary *summary)
{
    free(summary->devices);
    free(summary->metrics);
    summary->devices = NULL;
    summary->metrics = NULL;
    summary->device_count = 0;
    sh_profile_release(&summary->profile);
}
