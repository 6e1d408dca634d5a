/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/device_list.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/shares.h"
#include "store/file.h"

#define FORMAT "shoal.devices"
#define VERSION 1
#define LARGEST 1e18 /* of any number */

static const struct number {
    const char *name;
    size_t offset; /* of a double in sh_device_info */
} numbers[] = {
#define NUMBER(member) {#member, offsetof(sh_device_info, member)},
    SH_DEVICE_NUMBERS(NUMBER)
#undef NUMBER
};
#define NUMBERS (sizeof numbers / sizeof *numbers)

static const char *const states[SH_DEVICE_STATES] = {
    [SH_DEVICE_IDLE] = "idle",
    [SH_DEVICE_PREPARES] = "prepares",
    [SH_DEVICE_STANDBY] = "standby",
    [SH_DEVICE_COMPUTES] = "computes",
};

const char *sh_device_state_text(sh_device_state state)
{
    return states[state];
}

static double *number_of(sh_device_info *info, const struct number *number)
{
    return (double *)(void *)((char *)info + number->offset);
}

void sh_device_info_clear(sh_device_info *info)
{
    *info = (sh_device_info){.state = SH_DEVICE_IDLE};
    for (const struct number *each = numbers; each < numbers + NUMBERS; each++)
        *number_of(info, each) = (double)NAN;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The text may be missing. False: something else, or too long. */
static bool read_text(const json_t *from, const char *name, char *text, size_t bytes)
{
    const json_t *value = json_object_get(from, name);
    if (value == NULL)
        return true;
    const char *found = json_string_value(value);
    if (found == NULL || strlen(found) != json_string_length(value) || strlen(found) >= bytes)
        return false;
    memcpy(text, found, strlen(found) + 1);
    return true;
}

static bool read_count(const json_t *from, const char *name, uint32_t *count)
{
    const json_t *value = json_object_get(from, name);
    if (value == NULL)
        return true;
    const json_int_t found = json_integer_value(value);
    if (!json_is_integer(value) || found < 0 || found > UINT32_MAX)
        return false;
    *count = (uint32_t)found;
    return true;
}

/* NaN if it is missing or null. */
static bool read_number(const json_t *from, const struct number *which, sh_device_info *info)
{
    const json_t *value = json_object_get(from, which->name);
    if (value == NULL || json_is_null(value))
        return true;
    const double found = json_number_value(value);
    if (!json_is_number(value) || !isfinite(found) || fabs(found) > LARGEST ||
        (found < 0 && strcmp(which->name, "temperature_celsius") != 0))
        return false;
    *number_of(info, which) = found;
    return true;
}

static sh_status fail_at(size_t index, const char *member, const char *expected)
{
    return sh_fail(SH_FORMAT, "device %zu of the list: \"%s\": expected %s", index + 1, member,
                   expected);
}

static sh_status read_device(sh_device_info *info, const json_t *from, size_t index)
{
    char state[16] = "idle";
    sh_device_info_clear(info);
    if (!json_is_object(from))
        return sh_fail(SH_FORMAT, "device %zu of the list is not an object", index + 1);
    if (!read_text(from, "name", info->name, sizeof info->name) || info->name[0] == '\0')
        return fail_at(index, "name", "a text of 1 to 63 bytes");
    if (!read_text(from, "why", info->why, sizeof info->why))
        return fail_at(index, "why", "a text of at most 255 bytes");
    if (!read_text(from, "state", state, sizeof state))
        return fail_at(index, "state", "idle, prepares, standby or computes");
    info->state = SH_DEVICE_STATES;
    for (int i = 0; i < SH_DEVICE_STATES; i++)
        if (strcmp(states[i], state) == 0)
            info->state = (sh_device_state)i;
    if (info->state == SH_DEVICE_STATES)
        return fail_at(index, "state", "idle, prepares, standby or computes");
    if (!read_count(from, "lanes", &info->lanes))
        return fail_at(index, "lanes", "a whole number");
    if (!read_count(from, "grains", &info->grains))
        return fail_at(index, "grains", "a whole number");
    for (const struct number *each = numbers; each < numbers + NUMBERS; each++)
        if (!read_number(from, each, info))
            return fail_at(index, each->name, "a number that is not negative, or null");
    return SH_OK;
}

static sh_status read_list(sh_device_list *list, const json_t *root)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    const json_t *devices = json_object_get(root, "devices");
    const size_t count = json_array_size(devices);
    if (format == NULL || strcmp(format, FORMAT) != 0)
        return sh_fail(SH_FORMAT, "not a list of devices: shoal devices --json FILE writes one");
    if (json_integer_value(json_object_get(root, "version")) != VERSION)
        return sh_fail(SH_VERSION,
                       "a list of devices of another version than %d: write it again "
                       "with shoal devices --json FILE",
                       VERSION);
    if (count == 0)
        return sh_fail(SH_FORMAT, "\"devices\": expected a list of at least one device");
    if (count > SH_DEVICES_MAX)
        return sh_fail(SH_LIMIT, "%zu devices: at most %d", count, SH_DEVICES_MAX);
    list->devices = calloc(count, sizeof *list->devices);
    if (list->devices == NULL)
        return sh_fail_memory(count * sizeof *list->devices, "the list of devices");
    for (; list->count < count; list->count++)
        SH_TRY(read_device(&list->devices[list->count], json_array_get(devices, list->count),
                           list->count));
    return SH_OK;
}

sh_status sh_device_list_parse(sh_device_list *list, const char *text, size_t bytes)
{
    json_error_t error;
    sh_device_list fresh = {.count = 0};
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        return sh_fail(SH_FORMAT, "line %d: %s", error.line, error.text);
    const sh_status status = read_list(&fresh, root);
    json_decref(root);
    if (status != SH_OK) {
        sh_device_list_release(&fresh);
        return status;
    }
    *list = fresh;
    return SH_OK;
}

sh_status sh_devices_read(sh_device_list *list, const char *path)
{
    char *text;
    size_t bytes;
    SH_TRY(sh_file_read(&text, &bytes, path, SH_DEVICE_LIST_MOST_BYTES));
    const sh_status status = sh_fail_in(sh_device_list_parse(list, text, bytes), "%s", path);
    free(text);
    return status;
}

void sh_device_list_release(sh_device_list *list)
{
    free(list->devices);
    free(list->gpus);
    list->devices = NULL;
    list->gpus = NULL;
    list->count = list->gpu_count = 0;
}
