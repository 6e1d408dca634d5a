/* SPDX-License-Identifier: Apache-2.0 */
#include "train/snapshot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/checkpoint.h"
#include "train/job_json.h"

#define KEY_JOB "shoal.job"
#define KEY_POSITION "shoal.position"
#define KEY_DATA "shoal.data"
#define KEY_TRAINED "shoal.trained"
#define NAME_BYTES 256

typedef struct tensor_list {
    sh_stored_tensor *items;
    void **data;
    char (*names)[NAME_BYTES]; /* names that the replica lacks */
    float *envelopes;
    int32_t *exponents;
    size_t count;
} tensor_list;

static void append(tensor_list *list, const char *name, sh_type type, void *data)
{
    list->data[list->count] = data;
    list->items[list->count++] = (sh_stored_tensor){name, type, data};
}

static sh_status list_tensors(tensor_list *list, const sh_replica *replica)
{
    const size_t most = (size_t)replica->tensors * (1 + replica->slot_count) + 2;
    *list = (tensor_list){
        .items = calloc(most, sizeof *list->items),
        .data = calloc(most, sizeof *list->data),
        .names = calloc(most, sizeof *list->names),
        .envelopes = calloc(replica->summed, sizeof *list->envelopes),
        .exponents = calloc(replica->summed, sizeof *list->exponents),
    };
    if (list->items == NULL || list->data == NULL || list->names == NULL ||
        list->envelopes == NULL || list->exponents == NULL)
        return sh_fail_memory(most * NAME_BYTES, "a checkpoint");
    for (uint32_t t = 0; t < replica->tensors; t++)
        append(list, sh_replica_tensor_name(replica, t), *sh_replica_tensor_type(replica, t),
               replica->parameters[t]);
    for (uint32_t s = 0; s < replica->slot_count; s++)
        for (uint32_t i = 0; i < replica->summed; i++) {
            char *name = list->names[list->count];
            const uint32_t t = replica->tensor_of[i];
            snprintf(name, NAME_BYTES, "optimizer.%u.%s", s, sh_replica_tensor_name(replica, t));
            append(list, name, *sh_replica_tensor_type(replica, t),
                   replica->slots[s] + sh_sum_first_element(replica->sum, i));
        }
    const sh_shape each = sh_shape_of(1, (size_t[]){replica->summed});
    append(list, "sum.envelopes", (sh_type){SH_F32, each}, list->envelopes);
    append(list, "sum.exponents", (sh_type){SH_I32, each}, list->exponents);
    return SH_OK;
}

static void free_tensors(tensor_list *list)
{
    free(list->items);
    free(list->data);
    free(list->names);
    free(list->envelopes);
    free(list->exponents);
}

/* Files without "validation_due" have none due. */
static sh_status print_position(char **text, const sh_replica *replica)
{
    const sh_best *best = &replica->best;
    json_t *last = isfinite(best->last) ? json_real(best->last) : json_null();
    json_t *position = json_pack(
        "{s:I, s:f, s:I, s:I, s:b, s:{s:f, s:I, s:f, s:I, s:o, s:I}}", "steps",
        (json_int_t)replica->steps, "epoch_loss", replica->epoch.loss, "epoch_samples",
        (json_int_t)replica->epoch.samples, "epoch_correct", (json_int_t)replica->epoch.score,
        "validation_due", replica->phase == SH_PHASE_VALIDATION, "best", "value", best->value,
        "steps", (json_int_t)best->steps, "reference", best->reference, "stale",
        (json_int_t)best->stale, "last", last, "at", (json_int_t)best->at);
    *text = position == NULL ? NULL : json_dumps(position, JSON_COMPACT);
    json_decref(position);
    return *text != NULL ? SH_OK : sh_fail_memory(1024, "a checkpoint's metadata");
}

sh_status sh_snapshot_save(const char *folder, const sh_job *job, const sh_snapshot_data *data,
                           const sh_replica *replica)
{
    tensor_list list = {0};
    char *job_text = NULL, *position_text = NULL;
    sh_status status;
    SH_TRY_DONE(list_tensors(&list, replica));
    sh_sum_state_get(replica->sum, list.envelopes, list.exponents);
    SH_TRY_DONE(sh_job_to_text(&job_text, job));
    SH_TRY_DONE(print_position(&position_text, replica));
    const sh_metadata pairs[] = {{KEY_JOB, job_text},
                                 {KEY_POSITION, position_text},
                                 {KEY_DATA, data->fingerprint},
                                 {KEY_TRAINED, data->trained}};
    status =
        sh_checkpoint_save(folder, list.items, list.count, pairs, data->trained == NULL ? 3 : 4);
done:
    free(job_text);
    free(position_text);
    free_tensors(&list);
    return status;
}

static sh_status read_text(const char **text, const sh_safetensors *file, const char *key)
{
    const char *found = sh_safetensors_metadata(file, key);
    if (found == NULL)
        return sh_fail(SH_MISMATCH, "%s: has no %s, so it is not a checkpoint of shoal",
                       sh_safetensors_path(file), key);
    *text = found;
    return SH_OK;
}

sh_status sh_snapshot_read_fingerprint(const char **fingerprint, const sh_safetensors *file)
{
    return read_text(fingerprint, file, KEY_DATA);
}

const char *sh_snapshot_trained(const sh_safetensors *file)
{
    return sh_safetensors_metadata(file, KEY_TRAINED);
}

/* Owned by the caller. */
static sh_status read_metadata(json_t **json, const sh_safetensors *file, const char *key)
{
    const char *text;
    json_error_t error;
    SH_TRY(read_text(&text, file, key));
    json_t *fresh = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (fresh == NULL)
        return sh_fail(SH_FORMAT, "%s: %s: %s", sh_safetensors_path(file), key, error.text);
    *json = fresh;
    return SH_OK;
}

sh_status sh_snapshot_read_job(sh_job *job, const sh_safetensors *file)
{
    json_t *json;
    SH_TRY(read_metadata(&json, file, KEY_JOB));
    const sh_status status = sh_job_from_json(job, json);
    json_decref(json);
    return sh_fail_in(status, "%s", sh_safetensors_path(file));
}

bool sh_snapshot_is_checkpoint(const sh_safetensors *file)
{
    return sh_safetensors_metadata(file, KEY_JOB) != NULL;
}

static sh_status read_best(sh_best *best, json_t *json, uint64_t steps)
{
    json_error_t error;
    json_int_t at_best, stale, at;
    json_t *last;
    sh_best found;
    if (json_unpack_ex(json, &error, 0, "{s:F, s:I, s:F, s:I, s:o, s:I}", "value", &found.value,
                       "steps", &at_best, "reference", &found.reference, "stale", &stale, "last",
                       &last, "at", &at) != 0)
        return sh_fail(SH_FORMAT, "best: %s", error.text);
    if (!json_is_number(last) && !json_is_null(last))
        return sh_fail(SH_FORMAT, "best: last is not a number");
    found.last = json_is_null(last) ? INFINITY : json_number_value(last);
    found.steps = (uint64_t)at_best;
    found.stale = (uint64_t)stale;
    found.at = (uint64_t)at;
    if (at_best < 0 || stale < 0 || at < 0 || !sh_best_is_possible(&found, steps))
        return sh_fail(SH_CORRUPT, "a best validation that cannot be at step %llu",
                       (unsigned long long)steps);
    *best = found;
    return SH_OK;
}

sh_status sh_snapshot_read_steps(uint64_t *steps, const sh_safetensors *file)
{
    json_t *json;
    json_int_t found;
    SH_TRY(read_metadata(&json, file, KEY_POSITION));
    const int failed = json_unpack(json, "{s:I}", "steps", &found);
    json_decref(json);
    if (failed != 0 || found < 0)
        return sh_fail(SH_FORMAT, "%s: %s has no steps", sh_safetensors_path(file), KEY_POSITION);
    *steps = (uint64_t)found;
    return SH_OK;
}

static sh_status load_position(sh_replica *replica, const sh_safetensors *file)
{
    json_t *json;
    json_error_t error;
    json_int_t steps, samples, correct;
    json_t *best = NULL;
    double loss;
    int due = 0;
    sh_best found = {0};
    sh_status status = SH_OK;
    SH_TRY(read_metadata(&json, file, KEY_POSITION));
    const int failed =
        json_unpack_ex(json, &error, 0, "{s:I, s:F, s:I, s:I, s?b, s?o}", "steps", &steps,
                       "epoch_loss", &loss, "epoch_samples", &samples, "epoch_correct", &correct,
                       "validation_due", &due, "best", &best);
    if (failed != 0 || steps < 0 || samples < 0 || correct < 0)
        SH_TRY_DONE(sh_fail(SH_FORMAT, "%s: %s: %s", sh_safetensors_path(file), KEY_POSITION,
                            failed != 0 ? error.text : "a negative number"));
    if (best != NULL)
        SH_TRY_DONE(sh_fail_in(read_best(&found, best, (uint64_t)steps), "%s: %s",
                               sh_safetensors_path(file), KEY_POSITION));
    replica->steps = (uint64_t)steps;
    replica->phase = due && steps > 0 ? SH_PHASE_VALIDATION : SH_PHASE_FIRST;
    replica->epoch = (sh_epoch_totals){loss, (uint64_t)samples, (uint64_t)correct};
    replica->best = found;
done:
    json_decref(json);
    return status;
}

sh_status sh_snapshot_load(sh_replica *replica, const sh_safetensors *file)
{
    tensor_list list;
    sh_status status;
    SH_TRY_DONE(list_tensors(&list, replica));
    for (size_t i = 0; i < list.count; i++) {
        const sh_stored_tensor *item = &list.items[i];
        status = sh_safetensors_load(file, item->name, &item->type, list.data[i]);
        if (status == SH_NOT_FOUND && i < replica->tensors)
            status = sh_fail(SH_MISMATCH, "%s: has no tensor %s, so it belongs to another model",
                             sh_safetensors_path(file), item->name);
        if (status != SH_OK)
            goto done;
    }
    SH_TRY_DONE(sh_fail_in(sh_sum_state_set(replica->sum, list.envelopes, list.exponents), "%s",
                           sh_safetensors_path(file)));
    status = load_position(replica, file);
done:
    free_tensors(&list);
    return status;
}
