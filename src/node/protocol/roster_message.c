/* SPDX-License-Identifier: Apache-2.0 */
#include "node/protocol/roster_message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/protocol/sample_message.h"
#include "plan/device_list.h"

struct sh_roster_entry_message {
    Shoal__RosterDevice body;
    Shoal__Sample figures;
    double values[SH_FIGURE_COUNT];
};

/* Numbers of the struct and of the message, where 0 is unknown. */
#define RATES(X)                                                                                   \
    X(samples_per_second, samples)                                                                 \
    X(flops_per_second, flops)                                                                     \
    X(in_bytes_per_second, in_rate)                                                                \
    X(out_bytes_per_second, out_rate)                                                              \
    X(delay_seconds, delay_s)

#define FIGURES(X)                                                                                 \
    X(memory_available_bytes)                                                                      \
    X(temperature_celsius)                                                                         \
    X(power_watts)                                                                                 \
    X(battery_ratio)                                                                               \
    X(throttled_ratio)

static void write_device(struct sh_roster_entry_message *to, const sh_device_info *from,
                         const sh_sample *sample)
{
    Shoal__RosterDevice *body = &to->body;
    shoal__roster_device__init(body);
    body->name = (char *)(uintptr_t)from->name;
    body->why = (char *)(uintptr_t)from->why;
    body->state = (uint32_t)from->state;
    body->lanes = from->lanes;
    body->grains = from->grains;
#define WRITE(field, member) body->member = isfinite(from->field) ? from->field : 0;
    RATES(WRITE)
#undef WRITE
    shoal__sample__init(&to->figures);
    if (sample != NULL)
        sh_sample_message_write(&to->figures, to->values, sample);
    body->figures = &to->figures;
}

sh_status sh_roster_message_new(sh_roster_message **message, const sh_device_list *list,
                                const sh_sample *const *samples)
{
    const size_t bytes =
        sizeof(sh_roster_message) +
        list->count * (sizeof(struct sh_roster_entry_message) + sizeof(Shoal__RosterDevice *));
    sh_roster_message *fresh = calloc(1, bytes);
    if (fresh == NULL)
        return sh_fail_memory(bytes, "the list of devices");
    fresh->entries = (struct sh_roster_entry_message *)(void *)(fresh + 1);
    Shoal__RosterDevice **pointers = (Shoal__RosterDevice **)(void *)(fresh->entries + list->count);
    Shoal__Roster *body = &fresh->body;
    shoal__roster__init(body);
    body->model = (char *)(uintptr_t)list->model;
    body->data = (char *)(uintptr_t)list->data;
    body->batch_size = list->batch_size;
    body->grain = list->grain;
    body->steps = list->steps;
    for (size_t i = 0; i < list->count; i++) {
        write_device(&fresh->entries[i], &list->devices[i], samples[i]);
        pointers[i] = &fresh->entries[i].body;
    }
    body->n_devices = list->count;
    body->devices = pointers;
    *message = fresh;
    return SH_OK;
}

static sh_status read_device(sh_device_info *to, const Shoal__RosterDevice *from)
{
    sh_sample sample;
    sh_device_info_clear(to);
    if (from->name[0] == '\0' || strlen(from->name) >= sizeof to->name ||
        strlen(from->why) >= sizeof to->why || from->state >= SH_DEVICE_STATES)
        return sh_fail(SH_FORMAT, "a list with a malformed device");
    snprintf(to->name, sizeof to->name, "%s", from->name);
    snprintf(to->why, sizeof to->why, "%s", from->why);
    to->state = (sh_device_state)from->state;
    to->lanes = from->lanes;
    to->grains = from->grains;
#define READ(field, member)                                                                        \
    if (from->member < 0)                                                                          \
        return sh_fail(SH_FORMAT, "a list with a negative rate");                                  \
    to->field = from->member > 0 ? from->member : (double)NAN;
    RATES(READ)
#undef READ
    SH_TRY(sh_sample_message_read(&sample, from->figures));
#define COPY(field) to->field = sample.figures[SH_FIGURE_##field];
    FIGURES(COPY)
#undef COPY
    return SH_OK;
}

sh_status sh_roster_read(sh_device_list *list, const Shoal__Roster *body)
{
    sh_device_list fresh = {.batch_size = body->batch_size,
                            .grain = body->grain,
                            .steps = body->steps,
                            .count = body->n_devices};
    sh_status status = SH_OK;
    if (body->n_devices == 0 || strlen(body->model) >= sizeof fresh.model ||
        strlen(body->data) >= sizeof fresh.data)
        return sh_fail(SH_FORMAT, "a malformed list of devices");
    snprintf(fresh.model, sizeof fresh.model, "%s", body->model);
    snprintf(fresh.data, sizeof fresh.data, "%s", body->data);
    fresh.devices = calloc(fresh.count, sizeof *fresh.devices);
    if (fresh.devices == NULL)
        return sh_fail_memory(fresh.count * sizeof *fresh.devices, "the list of devices");
    for (size_t i = 0; i < fresh.count && status == SH_OK; i++)
        status = read_device(&fresh.devices[i], body->devices[i]);
    if (status != SH_OK) {
        sh_device_list_release(&fresh);
        return status;
    }
    *list = fresh;
    return SH_OK;
}
