/* SPDX-License-Identifier: Apache-2.0 */
#include "train/pretrained.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/snapshot.h"

#define SHOWN 4 /* items of a list that are shown */
#define LIST_BYTES 280

/* "a, b, c, d and 12 more" */
typedef struct name_list {
    char text[LIST_BYTES];
    size_t used;
    uint32_t count, shown;
} name_list;

typedef struct difference {
    name_list missing, different, extra;
    bool only_last;   /* every difference is in the last layer */
    bool frozen_last; /* a tensor of the last layer is frozen */
} difference;

static void add(name_list *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(name_list *list, const char *format, ...)
{
    char item[192];
    va_list values;
    va_start(values, format);
    vsnprintf(item, sizeof item, format, values);
    va_end(values);
    const size_t length = strlen(item);
    list->count++;
    if (list->shown == SHOWN || list->used + length + 3 > sizeof list->text)
        return;
    list->used += (size_t)snprintf(list->text + list->used, sizeof list->text - list->used, "%s%s",
                                   list->shown == 0 ? "" : ", ", item);
    list->shown++;
}

static void tell(char text[SH_MESSAGE_BYTES], const char *title, const name_list *list)
{
    const size_t used = strlen(text);
    if (list->count == 0)
        return;
    int length = snprintf(text + used, SH_MESSAGE_BYTES - used, "%s%s: %s", used == 0 ? "" : "; ",
                          title, list->text);
    if (list->count > list->shown && length > 0 && (size_t)length < SH_MESSAGE_BYTES - used)
        snprintf(text + used + length, SH_MESSAGE_BYTES - used - (size_t)length, "%s%u more",
                 list->shown == 0 ? "" : " and ", list->count - list->shown);
}

/* The length of the layer's prefix in the last tensor's name, including the dot: "fc."; else 0. */
static size_t last_layer(const sh_replica *replica, const char **name)
{
    *name = sh_replica_tensor_name(replica, replica->tensors - 1);
    const char *dot = strrchr(*name, '.');
    return dot == NULL ? 0 : (size_t)(dot - *name) + 1;
}

static bool is_of_last_layer(const sh_replica *replica, uint32_t tensor)
{
    const char *last;
    const size_t length = last_layer(replica, &last);
    return length > 0 && strncmp(sh_replica_tensor_name(replica, tensor), last, length) == 0;
}

static sh_status list_unfit(difference *d, const sh_replica *replica, const sh_safetensors *file)
{
    for (uint32_t t = 0; t < replica->tensors; t++) {
        const char *name = sh_replica_tensor_name(replica, t);
        const sh_type *wanted = sh_replica_tensor_type(replica, t);
        const bool is_last = is_of_last_layer(replica, t);
        char has[SH_SHAPE_TEXT], wants[SH_SHAPE_TEXT];
        size_t index;
        sh_type found;
        d->frozen_last = d->frozen_last || (is_last && replica->place_of[t] == SH_FROZEN);
        if (sh_safetensors_find(&index, file, name) != SH_OK) {
            add(&d->missing, "%.100s", name);
        } else {
            SH_TRY(sh_safetensors_type(&found, file, index));
            if (sh_type_equal(&found, wanted))
                continue;
            add(&d->different, "%.80s is %s %.40s, not %s %.40s", name, sh_dtype_text(found.dtype),
                sh_shape_print(&found.shape, has), sh_dtype_text(wanted->dtype),
                sh_shape_print(&wanted->shape, wants));
        }
        d->only_last = d->only_last && is_last;
    }
    return SH_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Omits batch counters and a checkpoint's state. */
static sh_status list_extra(difference *d, const sh_replica *replica, const sh_safetensors *file)
{
    static const char counter[] = "num_batches_tracked";
    const bool checkpoint = sh_snapshot_is_checkpoint(file);
    const char **names = malloc(replica->tensors * sizeof *names);
    if (names == NULL)
        return sh_fail_memory(replica->tensors * sizeof *names, "the names of weights");
    for (uint32_t t = 0; t < replica->tensors; t++)
        names[t] = sh_replica_tensor_name(replica, t);
    qsort(names, replica->tensors, sizeof *names, compare_names);
    for (size_t i = 0; i < sh_safetensors_count(file); i++) {
        const char *name = sh_safetensors_name(file, i);
        const size_t length = strlen(name), end = sizeof counter - 1;
        const bool is_counter = length >= end && strcmp(name + length - end, counter) == 0;
        const bool is_state =
            checkpoint && (strncmp(name, "optimizer.", 10) == 0 || strncmp(name, "sum.", 4) == 0);
        if (!is_counter && !is_state &&
            bsearch(&name, names, replica->tensors, sizeof *names, compare_names) == NULL)
            add(&d->extra, "%.100s", name);
    }
    free(names);
    return SH_OK;
}

sh_status sh_pretrained_load(char note[SH_MESSAGE_BYTES], sh_replica *replica,
                             const sh_safetensors *file, sh_pretrained_rule rule)
{
    char text[SH_MESSAGE_BYTES] = "";
    difference d = {.only_last = true};
    const char *last, *path = sh_safetensors_path(file);
    const size_t last_length = last_layer(replica, &last);
    SH_TRY(list_extra(&d, replica, file));
    SH_TRY(list_unfit(&d, replica, file));
    tell(text, "missing", &d.missing);
    tell(text, "of another shape", &d.different);
    const bool differs = text[0] != '\0';
    const bool last_alone = rule == SH_PRETRAINED_BUT_LAST && d.only_last;
    if (differs && (!last_alone || d.frozen_last)) {
        tell(text, "not in the model", &d.extra);
        return sh_fail(SH_MISMATCH, "%.120s: does not fit the model%s: %.840s", path,
                       last_alone ? ", whose last layer --freeze keeps untrained" : "", text);
    }
    for (uint32_t t = 0; t < replica->tensors; t++) {
        const sh_type *type = sh_replica_tensor_type(replica, t);
        if (differs && is_of_last_layer(replica, t)) /* a layer is loaded whole or not at all */
            continue;
        SH_TRY(sh_safetensors_load(file, sh_replica_tensor_name(replica, t), type,
                                   replica->parameters[t]));
        for (size_t i = 0; i < sh_shape_count(&type->shape); i++)
            if (!isfinite(replica->parameters[t][i]))
                return sh_fail(SH_CORRUPT, "%s: tensor %.128s has values that are not finite", path,
                               sh_replica_tensor_name(replica, t));
    }
    tell(text, "not used", &d.extra);
    note[0] = '\0';
    if (text[0] != '\0')
        snprintf(note, SH_MESSAGE_BYTES, "%.120s: %.750s%s%.*s", path, text,
                 differs ? "; starts untrained: the last layer, " : "",
                 differs ? (int)last_length - 1 : 0, last);
    return SH_OK;
}

/* ---- ONNX files ------------------------------------------------------------------------------ */

static bool has_shape(const sh_onnx_tensor *tensor, const sh_shape *shape)
{
    bool same = tensor->rank == shape->rank;
    for (size_t i = 0; same && i < shape->rank; i++)
        same = tensor->dim[i] == shape->dim[i];
    return same;
}

/* Skips tensors without stored values: those of a new layer, and constants computed from a node,
 * which are already initialised. With SH_PRETRAINED_WHOLE a new layer is an error. */
static sh_status load_tensor(const sh_replica *replica, uint32_t index, const sh_onnx *file,
                             sh_pretrained_rule rule)
{
    const char *name = sh_replica_tensor_name(replica, index);
    const Sh__Onnx__TensorProto *stored = sh_onnx_initializer(file, name);
    float *values = replica->parameters[index];
    sh_onnx_tensor tensor;
    if (stored != NULL)
        SH_TRY(sh_onnx_tensor_of(&tensor, file, stored));
    if (stored == NULL || !has_shape(&tensor, &sh_replica_tensor_type(replica, index)->shape)) {
        const bool fresh = replica->graph->parameters[index].initial.kind != SH_INITIAL_VALUES;
        if (fresh && rule == SH_PRETRAINED_WHOLE)
            return sh_fail(SH_MISMATCH,
                           "%.256s: its last layer does not fit the data's number of classes, "
                           "labels or numbers",
                           sh_onnx_path(file));
        return SH_OK;
    }
    SH_TRY(sh_onnx_floats(file, &tensor, values));
    for (size_t i = 0; i < tensor.count; i++)
        if (!isfinite(values[i]))
            return sh_fail(SH_CORRUPT, "%.256s: tensor %.128s has values that are not finite",
                           sh_onnx_path(file), name);
    return SH_OK;
}

sh_status sh_pretrained_load_onnx(sh_replica *replica, const sh_onnx *file, sh_pretrained_rule rule)
{
    for (uint32_t t = 0; t < replica->tensors; t++)
        SH_TRY(load_tensor(replica, t, file, rule));
    return SH_OK;
}
