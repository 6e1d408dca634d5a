/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as an ONNX file and its file of values: opens it, reads everything, and makes its
 * skeleton. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "onnx/onnx_file.h"
#include "onnx/skeleton.h"

#define VALUES "outside.onnx.data" /* as in test/onnx */
#define VALUES_BYTES 652

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64], model_path[128], values_path[128];

static void remove_folder(void)
{
    unlink(model_path);
    unlink(values_path);
    rmdir(folder);
}

/* The model's file is a link to memory, the other one is a file. */
static int make_folder(void)
{
    char target[32];
    snprintf(folder, sizeof folder, "/tmp/shoal-fuzz-XXXXXX");
    if (mkdtemp(folder) == NULL || atexit(remove_folder) != 0)
        abort();
    snprintf(model_path, sizeof model_path, "%s/model.onnx", folder);
    snprintf(values_path, sizeof values_path, "%s/" VALUES, folder);
    const int fd = memfd_create("file", MFD_CLOEXEC);
    snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
    FILE *values = fopen(values_path, "wb");
    if (fd < 0 || symlink(target, model_path) != 0 || values == NULL ||
        ftruncate(fileno(values), VALUES_BYTES) != 0 || fclose(values) != 0)
        abort();
    return fd;
}

/* An opened file can be read, except integers from 2^63 on and what a skeleton omits. */
static void read_tensor(const sh_onnx *model, const Sh__Onnx__TensorProto *message, size_t most)
{
    sh_onnx_tensor tensor;
    if (sh_onnx_tensor_of(&tensor, model, message) != SH_OK)
        return;
    if (!sh_onnx_has_data(model, &tensor)) {
        if (!sh_onnx_is_skeleton(model))
            abort();
        return;
    }
    if (tensor.count > most)
        abort();
    void *values = malloc(tensor.count * sizeof(int64_t) + 1);
    if (values == NULL || sh_onnx_raw(model, &tensor, values) != SH_OK)
        abort();
    const sh_status status = sh_onnx_type_is_float((int64_t)tensor.type)
                                 ? sh_onnx_floats(model, &tensor, values)
                                 : sh_onnx_integers(model, &tensor, values);
    if (status != SH_OK && (status != SH_LIMIT || tensor.type != SH_ONNX_UINT64))
        abort();
    free(values);
}

/* Checks the order of computation in another way: against all earlier nodes. */
static void check_node(const Sh__Onnx__GraphProto *graph, const Sh__Onnx__NodeProto *node,
                       size_t at)
{
    for (size_t i = 0; i < node->n_input; i++) {
        int found = node->input[i][0] == '\0';
        for (size_t k = 0; k < graph->n_input; k++)
            found |= strcmp(graph->input[k]->name, node->input[i]) == 0;
        for (size_t k = 0; k < graph->n_initializer; k++)
            found |= strcmp(graph->initializer[k]->name, node->input[i]) == 0;
        for (size_t n = 0; n < at; n++)
            for (size_t k = 0; k < graph->node[n]->n_output; k++)
                found |= strcmp(graph->node[n]->output[k], node->input[i]) == 0;
        if (!found)
            abort();
    }
}

/* A skeleton opens, and is its own skeleton. */
static void check_skeleton(const sh_onnx *model)
{
    sh_skeleton skeleton, again;
    sh_onnx *opened;
    if (sh_skeleton_make(&skeleton, model) != SH_OK)
        return;
    if (sh_onnx_open_bytes(&opened, "skeleton", skeleton.bytes, skeleton.count) != SH_OK ||
        !sh_onnx_is_skeleton(opened) || sh_skeleton_make(&again, opened) != SH_OK ||
        strcmp(skeleton.digest, again.digest) != 0)
        abort();
    sh_skeleton_release(&again);
    sh_onnx_close(opened);
    sh_skeleton_release(&skeleton);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    sh_onnx *model;
    if (fd < 0)
        fd = make_folder();
    if (size > 1 << 16 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        return 0;
    if (sh_onnx_open(&model, model_path) != SH_OK)
        return 0;
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    const size_t most = size + VALUES_BYTES;
    for (size_t i = 0; i < graph->n_initializer; i++) {
        read_tensor(model, graph->initializer[i], most);
        if (sh_onnx_initializer(model, graph->initializer[i]->name) != graph->initializer[i])
            abort();
    }
    for (size_t i = 0; i < graph->n_node; i++) {
        check_node(graph, graph->node[i], i);
        for (size_t k = 0; k < graph->node[i]->n_attribute; k++)
            if (graph->node[i]->attribute[k]->type == SH_ONNX_ATTRIBUTE_TENSOR)
                read_tensor(model, graph->node[i]->attribute[k]->t, most);
    }
    check_skeleton(model);
    sh_onnx_close(model);
    return 0;
}
