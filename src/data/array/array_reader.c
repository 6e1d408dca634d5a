/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads new samples from arrays: NAME.npy, or x in NAME.npz. An array of a sample's shape is one
 * sample. One with an extra leading dimension [N] holds N samples.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/array/array_sample.h"
#include "data/file_reader.h"

typedef struct array_reader {
    sh_file_reader base;
    bool bytes;    /* otherwise floats */
    uint32_t rank; /* of one sample */
    uint64_t shape[SH_NPY_RANK_MOST];
    sh_array_form form;
    double *mean, *deviation; /* owned */
    sh_array x;               /* of the open file */
    uint32_t next, count;     /* samples in it */
    bool alone;               /* x is a single sample */
} array_reader;

static bool ends_in(const char *name, const char *ending)
{
    const size_t length = strlen(name), bytes = strlen(ending);
    return length > bytes && strcmp(name + length - bytes, ending) == 0;
}

static bool array_is_named(const char *name)
{
    return ends_in(name, ".npy") || ends_in(name, ".npz");
}

/* Opens NAME.npy, or x (else X) of NAME.npz. */
static sh_status open_array(sh_array *x, const char *path)
{
    if (ends_in(path, ".npy"))
        return sh_array_open_file(x, path);
    if (!ends_in(path, ".npz"))
        return sh_fail(SH_FORMAT,
                       "%s: is not named like an array; the run was trained with arrays: NAME.npy, "
                       "or x in NAME.npz",
                       path);
    sh_status status = sh_array_open(x, path, "x");
    if (status == SH_NOT_FOUND)
        status = sh_array_open(x, path, "X");
    return status;
}

static void shape_text(char *text, size_t bytes, const uint64_t *shape, uint32_t rank)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < rank && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "[%" PRIu64 "]", shape[i]);
}

static sh_status check_array(array_reader *a)
{
    const sh_npy_header *h = &a->x.header;
    char found[160], wanted[160];
    a->alone = h->rank == a->rank;
    const uint64_t *shape = h->shape + (a->alone ? 0 : 1);
    bool fits = h->rank == a->rank || h->rank == a->rank + 1;
    for (uint32_t i = 0; i < a->rank && fits; i++)
        fits = shape[i] == a->shape[i];
    shape_text(found, sizeof found, h->shape, h->rank);
    shape_text(wanted, sizeof wanted, a->shape, a->rank);
    if (!fits)
        return sh_fail(SH_MISMATCH,
                       "is %s, but the run was trained with samples of %s; save [N]%s, or one "
                       "sample",
                       found[0] != '\0' ? found : "a single number", wanted, wanted);
    if (a->bytes && (h->kind != SH_NPY_UNSIGNED || h->item_bytes != 1))
        return sh_fail(SH_MISMATCH,
                       "holds no bytes, but the run was trained with them; save it as uint8");
    if (!a->alone && h->shape[0] > UINT32_MAX / 2)
        return sh_fail(SH_LIMIT, "has %" PRIu64 " samples; at most %u can be read", h->shape[0],
                       UINT32_MAX / 2);
    a->next = 0;
    a->count = a->alone ? 1 : (uint32_t)h->shape[0];
    return SH_OK;
}

static sh_status array_begin(sh_file_reader *reader, const char *path, int fd)
{
    array_reader *a = (array_reader *)(void *)reader;
    (void)fd;
    SH_TRY(open_array(&a->x, path));
    const sh_status status = check_array(a);
    if (status == SH_OK)
        return SH_OK;
    sh_array_close(&a->x);
    return sh_fail_in(status, "%s", path);
}

static sh_status array_next(sh_file_reader *reader, void *sample, sh_file_reader_place *place,
                            bool *more)
{
    array_reader *a = (array_reader *)(void *)reader;
    *more = a->next < a->count;
    if (!*more)
        return SH_OK;
    const uint32_t row = a->next++;
    if (!a->alone)
        snprintf(place->where, sizeof place->where, "sample %u", row);
    return a->bytes ? sh_array_sample_bytes(&a->form, &a->x, row, sample)
                    : sh_array_sample_floats(&a->form, &a->x, row, sample);
}

static void array_end(sh_file_reader *reader)
{
    sh_array_close(&((array_reader *)(void *)reader)->x);
}

static void array_free(sh_file_reader *reader)
{
    array_reader *a = (array_reader *)(void *)reader;
    free(a->mean);
    free(a->deviation);
    free(a);
}

static sh_status take_shape(array_reader *a, const sh_dataset_info *info, const json_t *inputs)
{
    const json_t *shape = json_object_get(inputs, "shape");
    const bool last = json_is_true(json_object_get(inputs, "channels_last"));
    const size_t rank = json_array_size(shape), plane = info->height * info->width;
    if (rank < 1 || rank > 3)
        return sh_file_reader_malformed();
    a->rank = (uint32_t)rank;
    uint64_t product = 1;
    for (size_t i = 0; i < rank; i++) {
        const json_int_t size = json_integer_value(json_array_get(shape, i));
        if (size < 1 || size > UINT16_MAX + 1)
            return sh_file_reader_malformed();
        a->shape[i] = (uint64_t)size;
        product *= a->shape[i];
    }
    a->form.outer = last ? plane : 1;
    a->form.figures = rank == 1 ? info->width : info->channels;
    a->form.inner = rank == 1 || last ? 1 : plane;
    return product == sh_dataset_elements(info) && sh_array_form_elements(&a->form) == product
               ? SH_OK
               : sh_file_reader_malformed();
}

static sh_status take_figures(array_reader *a, const json_t *inputs)
{
    const json_t *mean = json_object_get(inputs, "mean");
    const json_t *deviation = json_object_get(inputs, "deviation");
    const size_t count = a->form.figures;
    if (json_array_size(mean) != count || json_array_size(deviation) != count)
        return sh_file_reader_malformed();
    a->mean = malloc(count * sizeof *a->mean);
    a->deviation = malloc(count * sizeof *a->deviation);
    if (a->mean == NULL || a->deviation == NULL)
        return sh_fail_memory(count * sizeof *a->mean, "figures of samples");
    for (size_t i = 0; i < count; i++) {
        a->mean[i] = json_number_value(json_array_get(mean, i));
        a->deviation[i] = json_number_value(json_array_get(deviation, i));
        if (!(a->deviation[i] > 0))
            return sh_file_reader_malformed();
    }
    a->form.mean = a->mean;
    a->form.deviation = a->deviation;
    return SH_OK;
}

sh_status sh_array_reader(sh_file_reader **reader, const sh_trained *trained,
                          const sh_read_options *options)
{
    static const sh_file_reader_ops ops = {.files = "arrays",
                                           .is_named = array_is_named,
                                           .begin = array_begin,
                                           .next = array_next,
                                           .end = array_end,
                                           .free = array_free};
    const json_t *inputs = sh_file_reader_inputs(trained, "array");
    sh_status status;
    (void)options;
    if (inputs == NULL)
        return sh_file_reader_malformed();
    array_reader *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a reader of arrays");
    fresh->base.ops = &ops;
    fresh->bytes = trained->info.element == SH_ELEMENT_BYTE;
    SH_TRY_DONE(take_shape(fresh, &trained->info, inputs));
    if (!fresh->bytes)
        SH_TRY_DONE(take_figures(fresh, inputs));
    *reader = &fresh->base;
    return SH_OK;
done:
    array_free(&fresh->base);
    return status;
}
