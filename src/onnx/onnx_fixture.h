/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: the models of test/onnx, as bytes, as messages to change, and packed again.
 *
 * fixture_release, the tear-down of a test, frees all of its memory.
 *
 *     Sh__Onnx__ModelProto *model = fixture_unpack("mlp.onnx");
 *     model->graph->node[0]->input[0] = "nothing";
 *     assert_fails(fixture_open(&opened, model), SH_FORMAT, "nothing makes");
 *
 * Threads: one. Failures fail the test.
 */
#ifndef SHOAL_ONNX_ONNX_FIXTURE_H
#define SHOAL_ONNX_ONNX_FIXTURE_H

#include "base/memory.h"
#include "base/test.h"
#include "onnx/onnx.pb-c.h"
#include "onnx/onnx_file.h"

static sh_arena fixture_arena;

static inline void *fixture_alloc(void *context, size_t bytes)
{
    (void)context;
    void *block = sh_arena_take(&fixture_arena, bytes + 1, 1);
    assert_non_null(block);
    return block;
}

static inline void fixture_free(void *context, void *block)
{
    (void)context;
    (void)block;
}

static inline int fixture_release(void **state)
{
    (void)state;
    sh_arena_release(&fixture_arena);
    return 0;
}

/* Finds test/onnx from __FILE__: CTest and the compiler run in the same folder. */
static inline const char *fixture_path(const char *name)
{
    static const char here[] = __FILE__, inner[] = "src/onnx/onnx_fixture.h";
    char *path = fixture_alloc(NULL, 4096);
    snprintf(path, 4096, "%.*stest/onnx/%s", (int)(sizeof here - sizeof inner), here, name);
    return path;
}

static inline const uint8_t *fixture_bytes(const char *name, size_t *count)
{
    FILE *file = fopen(fixture_path(name), "rb");
    if (file == NULL)
        fail_msg("%s is not there", fixture_path(name));
    uint8_t *bytes = fixture_alloc(NULL, 1 << 16);
    *count = fread(bytes, 1, 1 << 16, file);
    fclose(file);
    assert_in_range(*count, 1, (1 << 16) - 1);
    return bytes;
}

/* Unpacks a model whose tensors have raw_data. Other encodings of values are dropped. */
static inline Sh__Onnx__ModelProto *fixture_unpack(const char *name)
{
    size_t count;
    const uint8_t *bytes = fixture_bytes(name, &count);
    ProtobufCAllocator allocator = {fixture_alloc, fixture_free, NULL};
    Sh__Onnx__ModelProto *model = sh__onnx__model_proto__unpack(&allocator, count, bytes);
    assert_non_null(model);
    return model;
}

static inline const uint8_t *fixture_pack(const Sh__Onnx__ModelProto *model, size_t *count)
{
    uint8_t *bytes = fixture_alloc(NULL, sh__onnx__model_proto__get_packed_size(model));
    *count = sh__onnx__model_proto__pack(model, bytes);
    return bytes;
}

static inline sh_status fixture_open(sh_onnx **opened, const Sh__Onnx__ModelProto *model)
{
    size_t count;
    const uint8_t *bytes = fixture_pack(model, &count);
    return sh_onnx_open_bytes(opened, "changed.onnx", bytes, count);
}

static inline char *fixture_text(const char *text)
{
    char *copy = fixture_alloc(NULL, strlen(text));
    memcpy(copy, text, strlen(text) + 1);
    return copy;
}

/* Makes a graph of these nodes, each "operator inputs -> output". An input "w..." is an
 * initialiser: "ws" a scalar, "w1" a single number, "wi" integers, else a float matrix. */
static inline Sh__Onnx__ModelProto *fixture_graph(const char *const *nodes, size_t count)
{
    Sh__Onnx__ModelProto *model = fixture_unpack("mlp.onnx");
    Sh__Onnx__GraphProto *graph = model->graph;
    const Sh__Onnx__TensorProto *example = graph->initializer[0];
    graph->node = fixture_alloc(NULL, count * sizeof *graph->node);
    graph->initializer = fixture_alloc(NULL, 8 * count * sizeof *graph->initializer);
    graph->n_node = count;
    graph->n_initializer = 0;
    graph->input[0]->name = fixture_text("x");
    for (size_t i = 0; i < count; i++) {
        Sh__Onnx__NodeProto *node = fixture_alloc(NULL, sizeof *node);
        char *save, *text = fixture_text(nodes[i]);
        sh__onnx__node_proto__init(node);
        node->input = fixture_alloc(NULL, 16 * sizeof *node->input);
        node->output = fixture_alloc(NULL, sizeof *node->output);
        node->op_type = strtok_r(text, " ", &save);
        for (char *word; (word = strtok_r(NULL, " ", &save)) != NULL;) {
            if (strcmp(word, "->") == 0)
                break;
            const char *name = strcmp(word, "-") == 0 ? "" : word;
            node->input[node->n_input++] = fixture_text(name);
            bool is_known = name[0] != 'w';
            for (size_t k = 0; k < graph->n_initializer; k++)
                is_known = is_known || strcmp(graph->initializer[k]->name, name) == 0;
            if (is_known)
                continue;
            Sh__Onnx__TensorProto *tensor = fixture_alloc(NULL, sizeof *tensor);
            static int64_t one[1] = {1};
            *tensor = *example;
            tensor->name = fixture_text(name);
            if (name[1] == 's' || name[1] == '1') {
                tensor->n_dims = name[1] == '1';
                tensor->dims = one;
                tensor->raw_data.len = 4;
            }
            if (name[1] == 'i')
                tensor->data_type = SH_ONNX_INT32;
            graph->initializer[graph->n_initializer++] = tensor;
        }
        node->output[0] = strtok_r(NULL, " ", &save);
        node->n_output = 1;
        graph->output[0]->name = node->output[0];
        graph->node[i] = node;
    }
    return model;
}

#endif
