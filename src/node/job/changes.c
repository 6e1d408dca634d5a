/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training that was changed and killed before its next checkpoint resumes from the previous one
 * with that checkpoint's job: the change never took effect. So a change at the checkpoint's step is
 * kept only if the checkpoint's job has it, and later changes are dropped.
 */
#include "node/job/changes.h"

#include <stdio.h>
#include <string.h>

#include "train/job_json.h"

#define STEP "step"
#define CHANGES "changes"

/* {"lr": [old, new], ...}; owned. */
static sh_status differences(json_t **found, const sh_job *before, const sh_job *now)
{
    json_t *old = NULL, *new = NULL, *value, *fresh = json_object();
    const char *key;
    sh_status status;
    int wrong = fresh == NULL;
    SH_TRY_DONE(sh_job_to_json(&old, before));
    SH_TRY_DONE(sh_job_to_json(&new, now));
    json_object_foreach(new, key, value)
    {
        json_t *was = json_object_get(old, key);
        if (!json_equal(was, value))
            wrong |= json_object_set_new(fresh, key, json_pack("[O, O]", was, value));
    }
    if (wrong != 0)
        SH_TRY_DONE(sh_fail_memory(1024, "the changes of a job"));
    *found = fresh;
    fresh = NULL;
done:
    json_decref(old);
    json_decref(new);
    json_decref(fresh);
    return status;
}

static bool is_in(const json_t *change, const json_t *job)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)change, key, value)
    {
        if (strcmp(key, STEP) != 0 &&
            !json_equal(json_array_get(value, 1), json_object_get(job, key)))
            return false;
    }
    return true;
}

static sh_status take_old(json_t *list, const char *file, const sh_job *before, uint64_t steps)
{
    json_t *job, *change;
    json_t *old = file == NULL ? NULL : json_loads(file, JSON_REJECT_DUPLICATES, NULL);
    const json_t *changes = json_object_get(old, CHANGES);
    const size_t count = json_array_size(changes);
    size_t i;
    int wrong = 0;
    const sh_status status = sh_job_to_json(&job, before);
    if (status != SH_OK) {
        json_decref(old);
        return status;
    }
    json_array_foreach((json_t *)(uintptr_t)changes, i, change)
    {
        const json_t *step = json_object_get(change, STEP);
        const json_int_t at = json_integer_value(step);
        if (!json_is_integer(step) || at < 0 || (uint64_t)at > steps || i + SH_CHANGES_MAX <= count)
            continue;
        if ((uint64_t)at < steps || is_in(change, job))
            wrong |= json_array_append(list, change);
    }
    json_decref(old);
    json_decref(job);
    return wrong == 0 ? SH_OK : sh_fail_memory(1024, "the changes of a job");
}

sh_status sh_changes_add(json_t *json, const char *file, const sh_job *before, const sh_job *now,
                         uint64_t steps)
{
    json_t *fresh = NULL, *list = json_array();
    sh_status status;
    int wrong = list == NULL;
    SH_TRY_DONE(take_old(list, file, before, steps));
    SH_TRY_DONE(differences(&fresh, before, now));
    if (json_object_size(fresh) > 0) {
        json_t *change = json_pack("{s:I}", STEP, (json_int_t)steps);
        wrong |= change == NULL || json_object_update(change, fresh) != 0;
        wrong |= json_array_append_new(list, change);
    }
    if (json_array_size(list) > 0)
        wrong |= json_object_set(json, CHANGES, list);
    if (wrong != 0)
        SH_TRY_DONE(sh_fail_memory(1024, "the changes of a job"));
done:
    json_decref(fresh);
    json_decref(list);
    return status;
}

sh_status sh_changes_print(char *text, size_t bytes, const sh_job *before, const sh_job *now)
{
    json_t *found, *value;
    const char *key;
    size_t used = 0;
    text[0] = '\0';
    SH_TRY(differences(&found, before, now));
    json_object_foreach(found, key, value)
    {
        char *old = json_dumps(json_array_get(value, 0), JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        char *new = json_dumps(json_array_get(value, 1), JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        if (old != NULL && new != NULL && used < bytes) {
            const int length = snprintf(text + used, bytes - used, "%s%s %s becomes %s",
                                        used > 0 ? ", " : "", key, old, new);
            used += length > 0 ? (size_t)length : 0;
        }
        free(old);
        free(new);
    }
    json_decref(found);
    return SH_OK;
}
