/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_rows.h"

#include "cli/json_file.h"

json_t *sh_run_about_json(const sh_run_about *about)
{
    return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}",
                     "folder", sh_json_text(about->folder), "name", sh_json_text(about->name),
                     "state", sh_run_state_text(about->state), "reason",
                     sh_json_text(about->reason), "model", sh_json_text(about->model), "data",
                     sh_json_text(about->data), "devices", (json_int_t)about->devices, "step",
                     (json_int_t)about->step, "steps", (json_int_t)about->steps, "epoch",
                     (json_int_t)about->epoch, "epochs", (json_int_t)about->epochs, "val_loss",
                     sh_json_number(about->val_loss), "val_accuracy",
                     sh_json_number(about->val_accuracy), "started", sh_json_number(about->started),
                     "seconds", sh_json_number(about->seconds));
}

static json_t *device_json(const sh_run_device *device)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"share", device->share},
        {"samples_per_second", device->samples_per_second},
        {"compute", device->compute},
        {"lanes", device->lanes},
        {"wait", device->wait},
        {"network", device->network},
        {"optimizer", device->optimizer},
        {"cpu", device->cpu},
        {"memory_bytes", device->memory_bytes},
        {"sent_bytes_per_second", device->sent_bytes_per_second},
        {"received_bytes_per_second", device->received_bytes_per_second},
        {"temperature_celsius", device->temperature_celsius},
        {"throttled", device->throttled},
        {"held_back", device->held_back},
    };
    json_t *json = json_pack("{s:I, s:o, s:b, s:o}", "device", (json_int_t)device->device, "name",
                             sh_json_text(device->name), "is_gone", device->is_gone, "reason",
                             sh_json_text(device->reason));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sh_json_set(&json, numbers[i].name, sh_json_number(numbers[i].value));
    return json;
}

json_t *sh_run_snapshot_json(const sh_run_snapshot *s)
{
    json_t *devices = json_array(), *news = json_array();
    for (size_t i = 0; i < s->device_count; i++)
        sh_json_append(&devices, device_json(&s->devices[i]));
    for (size_t i = 0; i < s->news_count; i++) {
        const sh_run_news *each = &s->news[i];
        json_t *device = each->device < 0 ? json_null() : json_integer(each->device);
        sh_json_append(&news, json_pack("{s:o, s:o, s:o, s:o}", "at", sh_json_number(each->at),
                                        "device", device, "kind", sh_json_text(each->kind), "text",
                                        sh_json_text(each->text)));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "run",
                     sh_run_about_json(&s->about), "at", sh_json_number(s->at), "loss",
                     sh_json_number(s->loss), "accuracy", sh_json_number(s->accuracy),
                     "samples_per_second", sh_json_number(s->samples_per_second),
                     "steps_per_second", sh_json_number(s->steps_per_second), "eta_seconds",
                     sh_json_number(s->eta_seconds), "devices", devices, "news", news);
}
