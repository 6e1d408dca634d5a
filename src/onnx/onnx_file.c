/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/onnx_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sh_onnx {
    char *path;
    Sh__Onnx__ModelProto *proto;
    int64_t opset;
};

static sh_status refuse_strange(const sh_onnx *model)
{
    if (model->proto->graph == NULL)
        return sh_fail(SH_FORMAT, "%s: has no graph", model->path);
    if (model->opset < SH_ONNX_OPSET_FIRST || model->opset > SH_ONNX_OPSET_LAST)
        return sh_fail(SH_VERSION, "%s: uses operator set %" PRId64 ", where %d to %d are known",
                       model->path, model->opset, SH_ONNX_OPSET_FIRST, SH_ONNX_OPSET_LAST);
    return SH_OK;
}

sh_status sh_onnx_open_bytes(sh_onnx **model, const char *label, const void *bytes, size_t count)
{
    sh_status status = SH_OK;
    sh_onnx *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL || (fresh->path = strdup(label)) == NULL)
        SH_TRY_DONE(sh_fail_memory(sizeof *fresh, "a model"));
    fresh->proto = sh__onnx__model_proto__unpack(NULL, count, bytes);
    if (fresh->proto == NULL)
        SH_TRY_DONE(sh_fail(SH_FORMAT, "%s: is no ONNX file, or damaged", label));
    for (size_t i = 0; i < fresh->proto->n_opset_import; i++) {
        const Sh__Onnx__OperatorSetIdProto *set = fresh->proto->opset_import[i];
        if (set->domain == NULL || *set->domain == '\0' || strcmp(set->domain, "ai.onnx") == 0)
            fresh->opset = set->version;
    }
    SH_TRY_DONE(refuse_strange(fresh));
    *model = fresh;
    return SH_OK;
done:
    sh_onnx_close(fresh);
    return status;
}

sh_status sh_onnx_open(sh_onnx **model, const char *path)
{
    sh_status status = SH_OK;
    char *bytes = NULL;
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0)
        SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot be opened", path));
    if (!S_ISREG(about.st_mode) || (uint64_t)about.st_size > INT32_MAX)
        SH_TRY_DONE(sh_fail(SH_INVALID, "%s: is no file, or too large", path));
    bytes = malloc((size_t)about.st_size + 1);
    if (bytes == NULL)
        SH_TRY_DONE(sh_fail_memory((size_t)about.st_size, "a model"));
    if (pread(fd, bytes, (size_t)about.st_size, 0) != (ssize_t)about.st_size)
        SH_TRY_DONE(sh_fail(SH_IO, "%s: cannot be read", path));
    status = sh_onnx_open_bytes(model, path, bytes, (size_t)about.st_size);
done:
    free(bytes);
    if (fd >= 0)
        close(fd);
    return status;
}

void sh_onnx_close(sh_onnx *model)
{
    if (model == NULL)
        return;
    if (model->proto != NULL)
        sh__onnx__model_proto__free_unpacked(model->proto, NULL);
    free(model->path);
    free(model);
}

const char *sh_onnx_path(const sh_onnx *model)
{
    return model->path;
}

const Sh__Onnx__GraphProto *sh_onnx_graph(const sh_onnx *model)
{
    return model->proto->graph;
}

int64_t sh_onnx_opset(const sh_onnx *model)
{
    return model->opset;
}

const Sh__Onnx__TensorProto *sh_onnx_initializer(const sh_onnx *model, const char *name)
{
    const Sh__Onnx__GraphProto *graph = model->proto->graph;
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (graph->initializer[i]->name != NULL && strcmp(graph->initializer[i]->name, name) == 0)
            return graph->initializer[i];
    return NULL;
}

static size_t type_bytes(int32_t type)
{
    switch (type) {
#define TYPE_CASE(name, number, bytes)                                                             \
    case number:                                                                                   \
        return bytes;
        SH_ONNX_TYPE_MAP(TYPE_CASE)
#undef TYPE_CASE
    default:
        return 0;
    }
}

sh_status sh_onnx_tensor_of(sh_onnx_tensor *tensor, const sh_onnx *model,
                            const Sh__Onnx__TensorProto *message)
{
    sh_onnx_tensor fresh = {.name = message->name == NULL ? "" : message->name,
                            .type = (sh_onnx_type)message->data_type,
                            .rank = message->n_dims,
                            .count = 1,
                            .message = message};
    if (fresh.rank > SH_ONNX_RANK_MOST || type_bytes(message->data_type) == 0)
        return sh_fail(SH_UNSUPPORTED, "%s: tensor '%s' cannot be read", model->path, fresh.name);
    for (size_t i = 0; i < fresh.rank; i++) {
        if (message->dims[i] < 0 || (uint64_t)message->dims[i] > SIZE_MAX ||
            __builtin_mul_overflow(fresh.count, (size_t)message->dims[i], &fresh.count))
            return sh_fail(SH_LIMIT, "%s: tensor '%s' is too large", model->path, fresh.name);
        fresh.dim[i] = (size_t)message->dims[i];
    }
    *tensor = fresh;
    return SH_OK;
}

bool sh_onnx_has_data(const sh_onnx *model, const sh_onnx_tensor *tensor)
{
    (void)model;
    return tensor->count == 0 || tensor->message->has_raw_data;
}

/* The values as they lie in the file. */
static sh_status raw_values(const void **bytes, const sh_onnx *model, const sh_onnx_tensor *tensor)
{
    size_t need;
    if (__builtin_mul_overflow(tensor->count, type_bytes((int32_t)tensor->type), &need) ||
        tensor->message->raw_data.len != need)
        return sh_fail(SH_FORMAT, "%s: tensor '%s' does not have as many bytes as its shape needs",
                       model->path, tensor->name);
    *bytes = tensor->message->raw_data.data;
    return SH_OK;
}

sh_status sh_onnx_floats(const sh_onnx *model, const sh_onnx_tensor *tensor, float *values)
{
    const void *bytes;
    SH_TRY(raw_values(&bytes, model, tensor));
    if (tensor->type != SH_ONNX_FLOAT)
        return sh_fail(SH_INVALID, "%s: tensor '%s' is not float32", model->path, tensor->name);
    if (tensor->count > 0)
        memcpy(values, bytes, tensor->count * sizeof *values);
    return SH_OK;
}

sh_status sh_onnx_integers(const sh_onnx *model, const sh_onnx_tensor *tensor, int64_t *values)
{
    const void *bytes;
    SH_TRY(raw_values(&bytes, model, tensor));
    if (tensor->type != SH_ONNX_INT64)
        return sh_fail(SH_INVALID, "%s: tensor '%s' is not int64", model->path, tensor->name);
    if (tensor->count > 0)
        memcpy(values, bytes, tensor->count * sizeof *values);
    return SH_OK;
}
