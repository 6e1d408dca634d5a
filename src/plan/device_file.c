/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/device_file.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"

#define FORMAT "shoal.device"
#define VERSION 2
#define LARGEST 1e18 /* of any number */
#define AGAIN "; run shoal bench again"

static const struct {
    const char *name;
    size_t offset;
} rates[] = {
    {"matrix", offsetof(sh_measurements, matrix)},
    {"convolution", offsetof(sh_measurements, convolution)},
    {"copy", offsetof(sh_measurements, copy)},
    {"triad", offsetof(sh_measurements, triad)},
};

sh_status sh_device_file_path(char path[SH_PATH_BYTES])
{
    char folder[SH_CACHE_PATH];
    SH_TRY(sh_cache_path(folder));
    return sh_path_join(path, folder, "device.json");
}

static json_t *to_json(const sh_measurements *known)
{
    json_t *operations = json_array(), *all = json_object();
    for (size_t i = 0; i < known->count; i++) {
        const sh_measurement *item = &known->items[i];
        char class[17];
        snprintf(class, sizeof class, "%016" PRIx64, item->class);
        json_t *operation =
            json_pack("[s, s, f, f, f, f, I]", item->name, class, item->size, item->flops,
                      item->bytes, item->seconds, (json_int_t)item->count);
        if (json_array_append_new(operations, operation) != 0) {
            json_decref(operations);
            operations = NULL;
        }
    }
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const sh_rate *rate =
            (const sh_rate *)(const void *)((const char *)known + rates[i].offset);
        (void)json_object_set_new(all, rates[i].name, json_pack("[f, f]", rate->one, rate->all));
    }
    return json_pack("{s:s, s:i, s:s, s:I, s:o, s:o}", "format", FORMAT, "version", VERSION,
                     "variant", known->variant, "lanes", (json_int_t)known->lanes, "rates", all,
                     "operations", operations);
}

/* Makes the folders above the file `path`; the last one is private to the user. */
static sh_status make_folder(const char *path)
{
    char folder[SH_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    char *end = strrchr(folder, '/');
    if (end == NULL || end == folder)
        return SH_OK;
    *end = '\0';
    if (mkdir(folder, 0700) == 0 || errno == EEXIST)
        return SH_OK;
    end = strrchr(folder, '/');
    if (end == NULL || end == folder)
        return SH_OK;
    *end = '\0';
    SH_TRY(sh_folder_make(folder));
    *end = '/';
    return mkdir(folder, 0700) == 0 || errno == EEXIST
               ? SH_OK
               : sh_fail_errno(errno, "%s: cannot make this folder", folder);
}

sh_status sh_device_file_write(const char *path, const sh_measurements *known)
{
    json_t *json = to_json(known);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(json);
    if (text == NULL)
        return sh_fail_memory(known->count * 100, "the device's figures");
    sh_status status = make_folder(path);
    if (status == SH_OK)
        status = sh_file_replace(path, text, strlen(text));
    free(text);
    return status;
}

static bool read_number(const json_t *value, double least, double *number)
{
    if (!json_is_number(value))
        return false;
    *number = json_number_value(value);
    return isfinite(*number) && *number >= least && *number <= LARGEST;
}

static bool read_name(const json_t *value, char *name, size_t bytes)
{
    const char *text = json_string_value(value);
    if (text == NULL || text[0] == '\0' || strlen(text) != json_string_length(value) ||
        strlen(text) >= bytes)
        return false;
    if (text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_ ")] != '\0')
        return false;
    snprintf(name, bytes, "%s", text);
    return true;
}

static bool read_operation(const json_t *value, sh_measurement *item)
{
    double count;
    const char *class = json_string_value(json_array_get(value, 1));
    *item = (sh_measurement){0};
    if (!json_is_array(value) || json_array_size(value) != 7 ||
        !read_name(json_array_get(value, 0), item->name, sizeof item->name) || class == NULL ||
        strlen(class) != 16 || strspn(class, "0123456789abcdef") != 16 ||
        !read_number(json_array_get(value, 2), 0, &item->size) ||
        !read_number(json_array_get(value, 3), 0, &item->flops) ||
        !read_number(json_array_get(value, 4), 0, &item->bytes) ||
        !read_number(json_array_get(value, 5), 0, &item->seconds) ||
        !read_number(json_array_get(value, 6), 1, &count) || count > SH_MEASUREMENT_COUNT_MOST ||
        count != floor(count))
        return false;
    item->class = strtoull(class, NULL, 16);
    item->count = (uint32_t)count;
    return true;
}

static sh_status from_json(sh_measurements *known, const json_t *json)
{
    double lanes;
    const char *format = json_string_value(json_object_get(json, "format"));
    if (format == NULL || strcmp(format, FORMAT) != 0)
        return sh_fail(SH_CORRUPT, "is not a file of a device's figures");
    const json_t *version = json_object_get(json, "version");
    if (!json_is_integer(version) || json_integer_value(version) != VERSION)
        return sh_fail(SH_VERSION, "was written by another version of shoal");
    if (json_object_size(json) != 6)
        return sh_fail(SH_CORRUPT, "has unexpected parts");
    if (!read_name(json_object_get(json, "variant"), known->variant, sizeof known->variant))
        return sh_fail(SH_CORRUPT, "\"variant\" is not a name");
    if (!read_number(json_object_get(json, "lanes"), 1, &lanes) || lanes > 4096 ||
        lanes != floor(lanes))
        return sh_fail(SH_CORRUPT, "\"lanes\" is not a number of lanes");
    known->lanes = (uint32_t)lanes;

    const json_t *all = json_object_get(json, "rates");
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const json_t *pair = json_object_get(all, rates[i].name);
        sh_rate *rate = (sh_rate *)(void *)((char *)known + rates[i].offset);
        if (!json_is_array(pair) || json_array_size(pair) != 2 ||
            !read_number(json_array_get(pair, 0), 1, &rate->one) ||
            !read_number(json_array_get(pair, 1), 1, &rate->all))
            return sh_fail(SH_CORRUPT, "\"rates\" has no valid \"%s\"", rates[i].name);
    }
    if (json_object_size(all) != sizeof rates / sizeof *rates)
        return sh_fail(SH_CORRUPT, "\"rates\" has unexpected members");

    const json_t *operations = json_object_get(json, "operations");
    if (!json_is_array(operations))
        return sh_fail(SH_CORRUPT, "\"operations\" is not a list");
    if (json_array_size(operations) > SH_MEASUREMENTS_MAX)
        return sh_fail(SH_CORRUPT, "\"operations\" has more than %d entries", SH_MEASUREMENTS_MAX);
    for (size_t i = 0; i < json_array_size(operations); i++) {
        sh_measurement item;
        const size_t before = known->count;
        if (!read_operation(json_array_get(operations, i), &item))
            return sh_fail(SH_CORRUPT, "operation %zu is malformed", i);
        SH_TRY(sh_measurements_add(known, &item));
        if (known->count == before)
            return sh_fail(SH_CORRUPT, "operation %zu is given twice", i);
    }
    return SH_OK;
}

sh_status sh_device_file_parse(sh_measurements *known, const char *text, size_t bytes)
{
    json_error_t error;
    sh_measurements fresh = {0};
    json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        return sh_fail(SH_CORRUPT, "is damaged at byte %d", error.position);
    const sh_status status = from_json(&fresh, json);
    json_decref(json);
    if (status != SH_OK) {
        sh_measurements_release(&fresh);
        return status;
    }
    *known = fresh;
    return SH_OK;
}

sh_status sh_device_file_read(sh_measurements *known, const char *path)
{
    char *text, message[SH_MESSAGE_BYTES];
    size_t bytes;
    struct stat about;
    if (stat(path, &about) != 0 && errno == ENOENT)
        return sh_fail(SH_NOT_FOUND, "this device has not been measured; run shoal bench");
    SH_TRY(sh_file_read(&text, &bytes, path, SH_DEVICE_FILE_MOST_BYTES));
    const sh_status status = sh_device_file_parse(known, text, bytes);
    free(text);
    if (status == SH_OK)
        return SH_OK;
    snprintf(message, sizeof message, "%s", sh_message());
    return sh_fail(status, "%.500s: %.300s" AGAIN, path, message);
}
