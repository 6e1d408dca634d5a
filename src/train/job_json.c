/* SPDX-License-Identifier: Apache-2.0 */
#include "train/job_json.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "train/job_options.h"

/* Highest position in the file. Options without a position (json_at 0) share it. */
#define PLACES 31

static json_t *value_to_json(const sh_option *option, const sh_job *job)
{
    if (option->kind == SH_OPTION_NAME)
        return json_string((const char *)job + option->offset);
    if (option->kind == SH_OPTION_FLOAT)
        return json_real((double)sh_option_float(option, job));
    return json_integer((json_int_t)sh_option_whole(option, job));
}

sh_status sh_job_to_json(json_t **json, const sh_job *job)
{
    json_t *fresh = json_object();
    int wrong = fresh == NULL;
    for (unsigned place = 1; place <= PLACES; place++)
        for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
            if (each->owner == SH_OPTION_OF_JOB &&
                (each->json_at != 0 ? each->json_at : PLACES) == place)
                wrong |= json_object_set_new(fresh, each->member, value_to_json(each, job));
    if (wrong != 0) {
        json_decref(fresh);
        return sh_fail(SH_INVALID, "the job's texts are not UTF-8, or memory ran out");
    }
    *json = fresh;
    return SH_OK;
}

static sh_status read_value(sh_job *job, const sh_option *option, const json_t *field)
{
    char *at = (char *)job + option->offset;
    const char *name = option->member;
    if (option->kind == SH_OPTION_NAME) {
        const size_t most = (size_t)option->max;
        if (!json_is_string(field))
            return sh_fail(SH_FORMAT, "the job's %s is not a text", name);
        if (json_string_length(field) > most || strlen(json_string_value(field)) > most)
            return sh_fail(SH_FORMAT, "the job's %s is longer than %zu characters", name, most);
        snprintf(at, most + 1, "%s", json_string_value(field));
        return SH_OK;
    }
    if (option->kind == SH_OPTION_FLOAT) {
        if (!json_is_number(field))
            return sh_fail(SH_FORMAT, "the job's %s is not a number", name);
        const double value = json_number_value(field);
        if (!(fabs(value) <= (double)FLT_MAX))
            return sh_fail(SH_FORMAT, "the job's %s is out of range", name);
        const float number = (float)value;
        memcpy(at, &number, sizeof number);
        return SH_OK;
    }
    if (!json_is_integer(field))
        return sh_fail(SH_FORMAT, "the job's %s is not a whole number", name);
    const uint64_t wide = (uint64_t)json_integer_value(field);
    const uint32_t narrow = (uint32_t)wide;
    if (option->kind == SH_OPTION_U64)
        memcpy(at, &wide, sizeof wide);
    else if (narrow == wide)
        memcpy(at, &narrow, sizeof narrow);
    else
        return sh_fail(SH_FORMAT, "the job's %s is out of range", name);
    return SH_OK;
}

/* `complete`: no option may be missing. */
static sh_status read_object(sh_job *job, const json_t *json, bool complete)
{
    sh_job fresh;
    size_t known = 0;
    sh_job_init(&fresh);
    if (!json_is_object(json))
        return sh_fail(SH_FORMAT, "the job is not a JSON object");
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++) {
        if (each->owner != SH_OPTION_OF_JOB)
            continue;
        const json_t *field = json_object_get(json, each->member);
        known += field != NULL;
        if (field != NULL)
            SH_TRY(read_value(&fresh, each, field));
        else if (complete || each->json_at != 0)
            return sh_fail(SH_FORMAT, "the job has no '%s'", each->member);
    }
    if (known == json_object_size(json)) {
        *job = fresh;
        return SH_OK;
    }
    const char *key = "";
    json_t *field;
    json_object_foreach((json_t *)(uintptr_t)json, key, field)
    {
        const sh_option *each = sh_options();
        while (each->kind != SH_OPTION_END &&
               (each->owner != SH_OPTION_OF_JOB || strcmp(each->member, key) != 0))
            each++;
        if (each->kind == SH_OPTION_END)
            break;
    }
    return sh_fail(SH_VERSION,
                   "the job has '%.64s', which this version of shoal does not know: use the "
                   "version that made it",
                   key);
}

sh_status sh_job_from_json(sh_job *job, const json_t *json)
{
    return read_object(job, json, false);
}

sh_status sh_job_to_text(char **text, const sh_job *job)
{
    json_t *json;
    SH_TRY(sh_job_to_json(&json, job));
    *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    return *text == NULL ? sh_fail_memory(SH_JOB_TEXT_MAX, "a job as text") : SH_OK;
}

sh_status sh_job_from_text(sh_job *job, const char *text)
{
    sh_job fresh;
    json_error_t error;
    const size_t bytes = strnlen(text, SH_JOB_TEXT_MAX + 1);
    if (bytes > SH_JOB_TEXT_MAX)
        return sh_fail(SH_FORMAT, "a job of more than %d bytes", SH_JOB_TEXT_MAX);
    json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        return sh_fail(SH_FORMAT, "the job is not JSON: %s", error.text);
    sh_status status;
    SH_TRY_DONE(read_object(&fresh, json, true));
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++) {
        const unsigned char *at = (const unsigned char *)&fresh + each->offset;
        if (each->owner != SH_OPTION_OF_JOB || each->kind != SH_OPTION_NAME)
            continue;
        for (size_t length; *at != '\0'; at += length) {
            uint32_t point;
            length = sh_utf8_read(at, &point); /* JSON is UTF-8, so it is not 0 */
            if (length == 0 || sh_utf8_is_control(point))
                SH_TRY_DONE(
                    sh_fail(SH_FORMAT, "the job's %s has control characters", each->member));
        }
    }
    *job = fresh;
done:
    json_decref(json);
    return status;
}
