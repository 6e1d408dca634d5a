/* SPDX-License-Identifier: Apache-2.0 */
#include "train/pretrained.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/snapshot.h"

#define SHOWN 4 /* items of a list that are told one by one */
#define LIST_BYTES 280

/* "a, b, c, d and 12 more" */
typedef struct name_list {
    char text[LIST_BYTES];
    size_t used;
    uint32_t count, shown;
} name_list;

/* What does not fit. */
typedef struct difference {
    name_list missing, different, extra;
    bool *fits; /* by tensor of the model */
    bool only_last;
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

/* Appends "; title: a, b and 3 more" where the list has anything. */
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

/* How much of the last tensor's name is that of its layer, the dot included: "fc." */
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

static sh_status compare_tensor(difference *d, const sh_replica *replica, uint32_t tensor,
                                const sh_safetensors *file)
{
    const char *name = sh_replica_tensor_name(replica, tensor);
    const sh_type *wanted = sh_replica_tensor_type(replica, tensor);
    char has[SH_SHAPE_TEXT], wants[SH_SHAPE_TEXT];
    size_t index;
    sh_type found;
    if (sh_safetensors_find(&index, file, name) != SH_OK) {
        add(&d->missing, "%.100s", name);
    } else {
        SH_TRY(sh_safetensors_type(&found, file, index));
        d->fits[tensor] = sh_type_equal(&found, wanted);
        if (!d->fits[tensor])
            add(&d->different, "%.80s is %s %.40s, not %s %.40s", name, sh_dtype_text(found.dtype),
                sh_shape_print(&found.shape, has), sh_dtype_text(wanted->dtype),
                sh_shape_print(&wanted->shape, wants));
    }
    if (!d->fits[tensor])
        d->only_last = d->only_last && is_of_last_layer(replica, tensor);
    return SH_OK;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), ending = strlen(end);
    return length >= ending && strcmp(text + length - ending, end) == 0;
}

/* A tensor that is no weight and says so by its name. */
static bool is_known_extra(const char *name, bool checkpoint)
{
    return ends_with(name, "num_batches_tracked") ||
           (checkpoint && (strncmp(name, "optimizer.", 10) == 0 || strncmp(name, "sum.", 4) == 0));
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void list_extra(difference *d, const sh_replica *replica, const sh_safetensors *file,
                       const char **names)
{
    const bool checkpoint = sh_snapshot_is_checkpoint(file);
    for (uint32_t t = 0; t < replica->tensors; t++)
        names[t] = sh_replica_tensor_name(replica, t);
    qsort(names, replica->tensors, sizeof *names, compare_names);
    for (size_t i = 0; i < sh_safetensors_count(file); i++) {
        const char *name = sh_safetensors_name(file, i);
        if (!is_known_extra(name, checkpoint) &&
            bsearch(&name, names, replica->tensors, sizeof *names, compare_names) == NULL)
            add(&d->extra, "%.100s", name);
    }
}

static bool is_last_frozen(const sh_replica *replica)
{
    for (uint32_t t = 0; t < replica->tensors; t++)
        if (is_of_last_layer(replica, t) && replica->place_of[t] == SH_FROZEN)
            return true;
    return false;
}

static sh_status fail_different(const difference *d, const sh_replica *replica,
                                const sh_safetensors *file, sh_pretrained_rule rule)
{
    char text[SH_MESSAGE_BYTES] = "";
    tell(text, "missing", &d->missing);
    tell(text, "of another shape", &d->different);
    tell(text, "not in the model", &d->extra);
    const bool frozen = rule == SH_PRETRAINED_BUT_LAST && d->only_last && is_last_frozen(replica);
    return sh_fail(SH_MISMATCH, "%.120s: does not fit the model%s: %.840s",
                   sh_safetensors_path(file),
                   frozen ? ", whose last layer --freeze keeps as it begins" : "", text);
}

/* Layers are loaded whole or not at all. */
static void leave_last_layer(difference *d, const sh_replica *replica)
{
    for (uint32_t t = 0; t < replica->tensors; t++)
        if (is_of_last_layer(replica, t))
            d->fits[t] = false;
}

static sh_status load_fitting(sh_replica *replica, const sh_safetensors *file, const bool *fits)
{
    for (uint32_t t = 0; t < replica->tensors; t++) {
        const char *name = sh_replica_tensor_name(replica, t);
        const sh_type *type = sh_replica_tensor_type(replica, t);
        if (!fits[t])
            continue;
        SH_TRY(sh_safetensors_load(file, name, type, replica->parameters[t]));
        for (size_t i = 0; i < sh_shape_count(&type->shape); i++)
            if (!isfinite(replica->parameters[t][i]))
                return sh_fail(SH_CORRUPT, "%s: tensor %.128s has values that are not finite",
                               sh_safetensors_path(file), name);
    }
    return SH_OK;
}

/* What the user should know of a file that was taken. */
static void write_note(char note[SH_MESSAGE_BYTES], const difference *d, const sh_replica *replica,
                       const sh_safetensors *file)
{
    char text[SH_MESSAGE_BYTES] = "";
    const char *last;
    const size_t length = last_layer(replica, &last);
    tell(text, "missing", &d->missing);
    tell(text, "of another shape", &d->different);
    const bool untrained = text[0] != '\0';
    tell(text, "not used", &d->extra);
    note[0] = '\0';
    if (text[0] != '\0')
        snprintf(note, SH_MESSAGE_BYTES, "%.120s: %.750s%s%.*s", sh_safetensors_path(file), text,
                 untrained ? "; begins untrained: the last layer, " : "",
                 untrained ? (int)length - 1 : 0, last);
}

static sh_status load(char note[SH_MESSAGE_BYTES], difference *d, sh_replica *replica,
                      const sh_safetensors *file, sh_pretrained_rule rule)
{
    for (uint32_t t = 0; t < replica->tensors; t++)
        SH_TRY(compare_tensor(d, replica, t, file));
    if (d->missing.count + d->different.count > 0) {
        if (rule == SH_PRETRAINED_WHOLE || !d->only_last || is_last_frozen(replica))
            return fail_different(d, replica, file, rule);
        leave_last_layer(d, replica);
    }
    SH_TRY(load_fitting(replica, file, d->fits));
    write_note(note, d, replica, file);
    return SH_OK;
}

sh_status sh_pretrained_load(char note[SH_MESSAGE_BYTES], sh_replica *replica,
                             const sh_safetensors *file, sh_pretrained_rule rule)
{
    difference d = {.only_last = true, .fits = calloc(replica->tensors, sizeof *d.fits)};
    const char **names = malloc(replica->tensors * sizeof *names);
    sh_status status = SH_OK;
    if (d.fits == NULL || names == NULL)
        SH_TRY_DONE(sh_fail_memory(replica->tensors * sizeof *names, "the names of weights"));
    list_extra(&d, replica, file, names);
    SH_TRY_DONE(load(note, &d, replica, file, rule));
done:
    free(names);
    free(d.fits);
    return status;
}
