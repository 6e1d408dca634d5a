/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening checks everything that readers rely on, including that each tensor has as many values as
 * its shape requires. `place` in the message of a tensor is the index, plus 1, of an entry in
 * `places`, which locates the values in the model's file or in another one. Other files are opened
 * for each read, because some models have one for each tensor.
 */
#include "onnx/onnx_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "onnx/blob.h"
#include "onnx/file_kind.h"
#include "onnx/graph_check.h"
#include "onnx/node_name.h"
#include "onnx/onnx_values.h"
#include "onnx/untie.h"
#include "onnx/wire.h"

#define OUTER_MOST ((uint64_t)1 << 40) /* bytes of a file that has only values */

typedef struct tensor_place {
    sh_wire_place where;
    const char *file; /* NULL: the model's own file */
} tensor_place;

typedef struct named_tensor {
    const char *name;
    size_t index; /* in the graph's list */
} named_tensor;

struct sh_onnx {
    char *path;
    sh_blob blob;
    int folder; /* -1 in memory */
    sh_arena arena;
    Sh__Onnx__ModelProto *proto;
    int64_t opset;
    bool is_skeleton;
    tensor_place *places;
    size_t place_count;
    named_tensor *by_name; /* the initialisers, sorted */
    uint8_t *owned;        /* the bytes of the model if it owns them */
};

static int compare_tensors(const void *a, const void *b)
{
    return strcmp(((const named_tensor *)a)->name, ((const named_tensor *)b)->name);
}

static sh_status open_folder(sh_onnx *model)
{
    const char *slash = strrchr(model->path, '/');
    const size_t length = slash == NULL          ? 0
                          : slash == model->path ? 1
                                                 : (size_t)(slash - model->path);
    char *folder = slash == NULL ? strdup(".") : strndup(model->path, length);
    if (folder == NULL)
        return sh_fail_memory(length, "the path of a folder");
    model->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int error = errno;
    free(folder);
    return model->folder >= 0 ? SH_OK : sh_fail_errno(error, "cannot open its folder");
}

static bool parse_number(const char *text, uint64_t *number)
{
    *number = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(*number, (uint64_t)10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*text - '0'), number))
            return false;
    return true;
}

/* Release the blob with close_place. */
static sh_status open_place(sh_blob *opened, const sh_onnx *model, const tensor_place *place)
{
    char name[SH_ONNX_NAME_TEXT];
    if (place->file == NULL) {
        *opened = model->blob;
        return SH_OK;
    }
    if (model->folder < 0)
        return sh_fail(SH_UNSUPPORTED,
                       "its values are in another file, '%s', not possible for a model in memory",
                       sh_onnx_name(name, place->file));
    return sh_fail_in(sh_blob_open_within(opened, model->folder, place->file, OUTER_MOST),
                      "its values are in another file: '%s'", sh_onnx_name(name, place->file));
}

static void close_place(sh_blob *opened, const tensor_place *place)
{
    if (place->file != NULL)
        sh_blob_close(opened);
}

static sh_status find_outside(tensor_place *place, const Sh__Onnx__TensorProto *tensor,
                              uint64_t bytes)
{
    uint64_t offset = 0, length = bytes;
    const char *file = NULL;
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const Sh__Onnx__StringStringEntryProto *entry = tensor->external_data[i];
        bool fine = true;
        if (strcmp(entry->key, "location") == 0)
            file = entry->value;
        else if (strcmp(entry->key, "offset") == 0)
            fine = parse_number(entry->value, &offset);
        else if (strcmp(entry->key, "length") == 0)
            fine = parse_number(entry->value, &length);
        if (!fine)
            return sh_fail(SH_FORMAT, "the %s of its values in another file is not a number",
                           entry->key);
    }
    if (file == NULL)
        return sh_fail(SH_FORMAT, "its values are in another file, whose name is missing");
    if (length != bytes)
        return sh_fail(SH_FORMAT, "its values need %" PRIu64 " bytes, but have %" PRIu64 " in '%s'",
                       bytes, length, file);
    *place = (tensor_place){{offset, bytes, SH_WIRE_RAW}, file};
    return SH_OK;
}

/* The tensor has a readable type and at least one element. */
static sh_status check_values(sh_onnx *model, const sh_onnx_tensor *tensor,
                              Sh__Onnx__TensorProto *message)
{
    if (message->data_location == 1 && message->place != 0)
        return sh_fail(SH_FORMAT, "its values are in this file and in another");
    if (message->data_location == 1) {
        tensor_place *fresh = &model->places[model->place_count];
        SH_TRY(find_outside(fresh, message, tensor->count * sh_onnx_type_bytes(tensor->type)));
        message->place = (uint32_t)++model->place_count;
        message->has_place = 1;
    }
    if (message->place == 0)
        return model->is_skeleton
                   ? SH_OK
                   : sh_fail(SH_FORMAT, "it has no values; export the model with its weights");
    const tensor_place *place = &model->places[message->place - 1];
    sh_blob blob;
    SH_TRY(open_place(&blob, model, place));
    sh_status status = sh_values_check(&place->where, tensor->type, tensor->count, &blob);
    if (status == SH_OK &&
        (place->where.bytes > blob.count || place->where.offset > blob.count - place->where.bytes))
        status = sh_fail(SH_CORRUPT,
                         "its %" PRIu64 " bytes of values begin at byte %" PRIu64
                         " of '%s', which has only %" PRIu64
                         ": the file is cut short or belongs to another model",
                         place->where.bytes, place->where.offset, place->file, blob.count);
    close_place(&blob, place);
    return status;
}

static sh_status check_tensor(sh_onnx *model, Sh__Onnx__TensorProto *message)
{
    sh_onnx_tensor tensor;
    const sh_status status = sh_onnx_tensor_of(&tensor, model, message);
    if (status == SH_UNSUPPORTED)
        return SH_OK; /* only readers of this tensor fail */
    SH_TRY(status);
    if (tensor.count > 0)
        return check_values(model, &tensor, message);
    message->place = 0;
    return SH_OK;
}

static sh_status check_tensors(sh_onnx *model)
{
    const Sh__Onnx__GraphProto *graph = model->proto->graph;
    char text[SH_ONNX_NODE_TEXT];
    for (size_t i = 0; i < graph->n_initializer; i++)
        SH_TRY(sh_fail_in(check_tensor(model, graph->initializer[i]), "tensor '%s'",
                          sh_onnx_name(text, graph->initializer[i]->name)));
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_attribute; k++)
            if (graph->node[i]->attribute[k]->t != NULL)
                SH_TRY(sh_fail_in(check_tensor(model, graph->node[i]->attribute[k]->t), "%s",
                                  sh_onnx_node_name(text, graph, i)));
    return SH_OK;
}

/* Leaves room for one more place for each tensor. */
static sh_status list_places(sh_onnx *model, const sh_wire *wire)
{
    const Sh__Onnx__GraphProto *graph = wire->model->graph;
    size_t most = wire->place_count + graph->n_initializer;
    for (size_t i = 0; i < graph->n_node; i++)
        most += graph->node[i]->n_attribute;
    model->places = sh_arena_take(&model->arena, most + 1, sizeof *model->places);
    if (model->places == NULL)
        return sh_fail_memory(most * sizeof *model->places, "places of tensors");
    for (size_t i = 0; i < wire->place_count; i++)
        model->places[i].where = wire->places[i];
    model->place_count = wire->place_count;
    return SH_OK;
}

static sh_status sort_initializers(sh_onnx *model)
{
    const Sh__Onnx__GraphProto *graph = model->proto->graph;
    model->by_name = sh_arena_take(&model->arena, graph->n_initializer + 1, sizeof *model->by_name);
    if (model->by_name == NULL)
        return sh_fail_memory(graph->n_initializer * sizeof *model->by_name, "names of tensors");
    for (size_t i = 0; i < graph->n_initializer; i++)
        model->by_name[i] = (named_tensor){graph->initializer[i]->name, i};
    qsort(model->by_name, graph->n_initializer, sizeof *model->by_name, compare_tensors);
    return SH_OK;
}

static sh_status check_opset(sh_onnx *model)
{
    bool is_given = false;
    for (size_t i = 0; i < model->proto->n_opset_import; i++) {
        const Sh__Onnx__OperatorSetIdProto none = SH__ONNX__OPERATOR_SET_ID_PROTO__INIT;
        Sh__Onnx__OperatorSetIdProto *set = model->proto->opset_import[i];
        if (strcmp(set->domain, "ai.onnx") == 0)
            set->domain = none.domain;
        if (set->domain[0] != '\0')
            continue;
        if (is_given && set->version != model->opset)
            return sh_fail(SH_FORMAT, "it names two operator sets, %" PRId64 " and %" PRId64,
                           model->opset, set->version);
        is_given = true;
        model->opset = set->version;
    }
    if (!is_given)
        return sh_fail(SH_VERSION, "it does not say which operator set it uses");
    if (model->opset < SH_ONNX_OPSET_FIRST || model->opset > SH_ONNX_OPSET_LAST)
        return sh_fail(SH_VERSION,
                       "it uses operator set %" PRId64 ", and %d to %d are known: export it with "
                       "opset_version=17, or convert it with onnx.version_converter",
                       model->opset, SH_ONNX_OPSET_FIRST, SH_ONNX_OPSET_LAST);
    return SH_OK;
}

static sh_status read_model(sh_onnx *model)
{
    sh_wire wire;
    SH_TRY(sh_wire_read(&wire, &model->blob, &model->arena));
    model->proto = wire.model;
    if (wire.model->graph == NULL || !wire.model->has_ir_version)
        return sh_fail(SH_FORMAT, "it has no graph");
    for (size_t i = 0; i < wire.model->n_metadata_props; i++)
        if (strcmp(wire.model->metadata_props[i]->key, SH_ONNX_SKELETON) == 0)
            model->is_skeleton = true;
    SH_TRY(check_opset(model));
    SH_TRY(sh_onnx_graph_check(wire.model->graph, &model->arena));
    SH_TRY(sh_onnx_untie(wire.model->graph, &model->arena));
    SH_TRY(list_places(model, &wire));
    SH_TRY(sort_initializers(model));
    return check_tensors(model);
}

/* If the file is not an ONNX file, says what it looks like. */
static sh_status explain(const sh_onnx *model, sh_status status)
{
    uint8_t begin[SH_FILE_KIND_BYTES];
    const size_t count =
        model->blob.count < sizeof begin ? (size_t)model->blob.count : sizeof begin;
    const char *kind = NULL;
    if (model->proto != NULL && model->proto->graph != NULL)
        return sh_fail_in(status, "%s", model->path);
    if (status == SH_UNSUPPORTED || status == SH_LIMIT || status == SH_NO_MEMORY)
        return sh_fail_in(status, "%s", model->path);
    char reason[SH_MESSAGE_BYTES];
    memcpy(reason, sh_message(), sizeof reason);
    if (sh_blob_read(&model->blob, begin, count, 0) == SH_OK)
        kind = sh_file_kind(begin, count);
    if (kind != NULL)
        return sh_fail(SH_FORMAT, "%s: is not an ONNX file but looks like %s", model->path, kind);
    return sh_fail(status, "%s: is not an ONNX file, or damaged: %s", model->path, reason);
}

/* Closes `fresh` on failure. */
static sh_status open_model(sh_onnx **model, sh_onnx *fresh)
{
    sh_status status = read_model(fresh);
    if (status != SH_OK) {
        status = explain(fresh, status);
        sh_onnx_close(fresh);
        return status;
    }
    *model = fresh;
    return SH_OK;
}

static sh_onnx *model_new(const char *path)
{
    sh_onnx *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return NULL;
    sh_arena_init(&fresh->arena);
    fresh->blob = sh_blob_of(NULL, 0);
    fresh->folder = -1;
    fresh->path = strdup(path);
    if (fresh->path != NULL)
        return fresh;
    free(fresh);
    return NULL;
}

sh_status sh_onnx_open(sh_onnx **model, const char *path)
{
    sh_onnx *fresh = model_new(path);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a model");
    sh_status status = sh_blob_open(&fresh->blob, path, SH_WIRE_FILE_MOST);
    if (status == SH_OK)
        status = open_folder(fresh);
    if (status == SH_OK)
        return open_model(model, fresh);
    status = sh_fail_in(status, "%s", path);
    sh_onnx_close(fresh);
    return status;
}

sh_status sh_onnx_open_bytes(sh_onnx **model, const char *label, const void *bytes, size_t count)
{
    sh_onnx *fresh = model_new(label);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a model");
    fresh->blob = sh_blob_of(bytes, count);
    return open_model(model, fresh);
}

sh_status sh_onnx_open_owned(sh_onnx **model, const char *label, uint8_t *bytes, size_t count)
{
    sh_onnx *fresh = model_new(label);
    if (fresh == NULL) {
        free(bytes);
        return sh_fail_memory(sizeof *fresh, "a model");
    }
    fresh->owned = bytes;
    fresh->blob = sh_blob_of(bytes, count);
    return open_model(model, fresh);
}

void sh_onnx_close(sh_onnx *model)
{
    if (model == NULL)
        return;
    sh_blob_close(&model->blob);
    if (model->folder >= 0)
        close(model->folder);
    sh_arena_release(&model->arena);
    free(model->owned);
    free(model->path);
    free(model);
}

const char *sh_onnx_path(const sh_onnx *model)
{
    return model->path;
}

const Sh__Onnx__ModelProto *sh_onnx_model(const sh_onnx *model)
{
    return model->proto;
}

const Sh__Onnx__GraphProto *sh_onnx_graph(const sh_onnx *model)
{
    return model->proto->graph;
}

int64_t sh_onnx_opset(const sh_onnx *model)
{
    return model->opset;
}

bool sh_onnx_is_skeleton(const sh_onnx *model)
{
    return model->is_skeleton;
}

size_t sh_onnx_initializer_index(const sh_onnx *model, const char *name)
{
    const named_tensor key = {.name = name};
    const named_tensor *found = bsearch(&key, model->by_name, model->proto->graph->n_initializer,
                                        sizeof *model->by_name, compare_tensors);
    return found == NULL ? SIZE_MAX : found->index;
}

const Sh__Onnx__TensorProto *sh_onnx_initializer(const sh_onnx *model, const char *name)
{
    const size_t index = sh_onnx_initializer_index(model, name);
    return index == SIZE_MAX ? NULL : model->proto->graph->initializer[index];
}

sh_status sh_onnx_tensor_of(sh_onnx_tensor *tensor, const sh_onnx *model,
                            const Sh__Onnx__TensorProto *message)
{
    (void)model;
    sh_onnx_tensor fresh = {.name = message->name,
                            .type = (sh_onnx_type)message->data_type,
                            .rank = message->n_dims,
                            .count = 1,
                            .message = message};
    const size_t each = sh_onnx_type_bytes(message->data_type);
    char name[SH_ONNX_NAME_TEXT];
    sh_onnx_name(name, fresh.name);
    if (each == 0)
        return sh_fail(SH_UNSUPPORTED,
                       "tensor '%s' has elements of type %" PRId32
                       ", which are not supported: convert it to float32 or int64",
                       name, message->data_type);
    if (fresh.rank > SH_ONNX_RANK_MOST)
        return sh_fail(SH_UNSUPPORTED, "tensor '%s' has %zu dimensions, more than %d", name,
                       fresh.rank, SH_ONNX_RANK_MOST);
    bool is_empty = false, is_vast = false;
    size_t bytes = each;
    for (size_t i = 0; i < fresh.rank; i++) {
        const int64_t dim = message->dims[i];
        if (dim < 0)
            return sh_fail(SH_FORMAT, "tensor '%s' has a dimension of %" PRId64, name, dim);
        is_vast = is_vast || (uint64_t)dim > SIZE_MAX / 16 ||
                  __builtin_mul_overflow(bytes, (size_t)dim, &bytes) || bytes > SIZE_MAX / 16;
        is_empty = is_empty || dim == 0;
        fresh.dim[i] = (size_t)dim;
    }
    if (is_vast)
        return sh_fail(SH_LIMIT, "tensor '%s' has more elements than fit into memory", name);
    fresh.count = is_empty ? 0 : bytes / each;
    *tensor = fresh;
    return SH_OK;
}

bool sh_onnx_has_data(const sh_onnx *model, const sh_onnx_tensor *tensor)
{
    (void)model;
    return tensor->count == 0 || tensor->message->place != 0;
}

static sh_status begin_values(sh_blob *blob, const tensor_place **where, const sh_onnx *model,
                              const sh_onnx_tensor *tensor)
{
    if (!sh_onnx_has_data(model, tensor))
        return sh_fail(SH_NOT_FOUND, "its values are not in this file, which has only the network");
    *where = &model->places[tensor->message->place - 1];
    return open_place(blob, model, *where);
}

static sh_status fail_at(sh_status status, const sh_onnx *model, const sh_onnx_tensor *tensor)
{
    char name[SH_ONNX_NAME_TEXT];
    return sh_fail_in(status, "%s: tensor '%s'", model->path, sh_onnx_name(name, tensor->name));
}

sh_status sh_onnx_floats(const sh_onnx *model, const sh_onnx_tensor *tensor, float *values)
{
    sh_blob blob;
    const tensor_place *place;
    if (!sh_onnx_type_is_float((int64_t)tensor->type))
        return fail_at(sh_fail(SH_INVALID, "has no floating-point numbers"), model, tensor);
    if (tensor->count == 0)
        return SH_OK;
    sh_status status = begin_values(&blob, &place, model, tensor);
    if (status == SH_OK) {
        status = sh_values_floats(values, &place->where, tensor->type, tensor->count, &blob);
        close_place(&blob, place);
    }
    return fail_at(status, model, tensor);
}

sh_status sh_onnx_integers(const sh_onnx *model, const sh_onnx_tensor *tensor, int64_t *values)
{
    sh_blob blob;
    const tensor_place *place;
    if (sh_onnx_type_is_float((int64_t)tensor->type))
        return fail_at(sh_fail(SH_INVALID, "has no integers"), model, tensor);
    if (tensor->count == 0)
        return SH_OK;
    sh_status status = begin_values(&blob, &place, model, tensor);
    if (status == SH_OK) {
        status = sh_values_integers(values, &place->where, tensor->type, tensor->count, &blob);
        close_place(&blob, place);
    }
    return fail_at(status, model, tensor);
}

sh_status sh_onnx_raw(const sh_onnx *model, const sh_onnx_tensor *tensor, uint8_t *bytes)
{
    sh_blob blob;
    const tensor_place *place;
    if (tensor->count == 0)
        return SH_OK;
    sh_status status = begin_values(&blob, &place, model, tensor);
    if (status == SH_OK) {
        status = sh_values_raw(bytes, &place->where, tensor->type, tensor->count, &blob);
        close_place(&blob, place);
    }
    return fail_at(status, model, tensor);
}
