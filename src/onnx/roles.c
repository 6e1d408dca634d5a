/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes are visited from the last to the first, so users come before makers. `passed` lists, sorted
 * by name, the outputs of nodes that pass their input on, with what users want of them. This then
 * applies to the node's input.
 */
#include "onnx/roles.h"

#include <stdlib.h>
#include <string.h>

/* The highest wish of several users counts. */
typedef enum operand_wish {
    WISH_NOTHING,
    WISH_MANY, /* trained if it has more than one element */
    WISH_STATISTIC,
    WISH_TRAINED,
} operand_wish;

#define INPUT(index) (1u << (index))

static const struct operator_row {
    const char *name;
    unsigned trained, statistic, many; /* sets of inputs */
} operators[] = {
    {"Conv", INPUT(1) | INPUT(2), 0, 0},
    {"ConvTranspose", INPUT(1) | INPUT(2), 0, 0},
    {"Gemm", INPUT(0) | INPUT(1) | INPUT(2), 0, 0},
    {"MatMul", INPUT(0) | INPUT(1), 0, 0},
    {"BatchNormalization", INPUT(1) | INPUT(2), INPUT(3) | INPUT(4), 0},
    {"LayerNormalization", INPUT(1) | INPUT(2), 0, 0},
    {"InstanceNormalization", INPUT(1) | INPUT(2), 0, 0},
    {"GroupNormalization", INPUT(1) | INPUT(2), 0, 0},
    {"RMSNormalization", INPUT(1), 0, 0},
    {"Einsum", INPUT(0) | INPUT(1), 0, 0},
    {"PRelu", INPUT(1), 0, 0},
    {"LSTM", INPUT(1) | INPUT(2) | INPUT(3) | INPUT(7), 0, 0}, /* without the initial states */
    {"GRU", INPUT(1) | INPUT(2) | INPUT(3), 0, 0},
    {"RNN", INPUT(1) | INPUT(2) | INPUT(3), 0, 0},
    {"Gather", INPUT(0), 0, 0},
    {"Add", 0, 0, INPUT(0) | INPUT(1)},
    {"Sub", 0, 0, INPUT(0) | INPUT(1)},
    {"Mul", 0, 0, INPUT(0) | INPUT(1)},
    {"Div", 0, 0, INPUT(0) | INPUT(1)},
    {"Sum", 0, 0, 0xff},
};

/* These pass on their first input; Concat passes on all. PyTorch's exporter splits and joins the
 * weights of recurrent layers, and repeats a class token for each sample. */
static const char *const passing[] = {"Identity", "Cast",      "Transpose", "Reshape", "Flatten",
                                      "Squeeze",  "Unsqueeze", "Slice",     "Expand",  "Concat"};

#define RAW_MOST 8       /* values between the samples and the first layer */
#define EARLY_NODES 256u /* that layer is among these first nodes */

typedef struct raw_values {
    const char *names[RAW_MOST];
    size_t count;
} raw_values;

typedef struct passed_value {
    const char *name;
    operand_wish wish;
} passed_value;

static bool passes(const Sh__Onnx__NodeProto *node)
{
    if (node->domain[0] != '\0' || node->n_output != 1 || node->n_input == 0)
        return false;
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (strcmp(node->op_type, passing[i]) == 0)
            return true;
    return false;
}

static int compare_passed(const void *a, const void *b)
{
    return strcmp(((const passed_value *)a)->name, ((const passed_value *)b)->name);
}

static passed_value *find_passed(passed_value *passed, size_t count, const char *name)
{
    const passed_value key = {.name = name};
    return count == 0 ? NULL : bsearch(&key, passed, count, sizeof *passed, compare_passed);
}

static sh_onnx_role role_of(const sh_onnx *model, size_t index, operand_wish wish)
{
    sh_onnx_tensor tensor;
    if (wish == WISH_NOTHING ||
        sh_onnx_tensor_of(&tensor, model, sh_onnx_graph(model)->initializer[index]) != SH_OK ||
        !sh_onnx_type_is_float((int64_t)tensor.type) ||
        (wish == WISH_MANY && (tensor.rank == 0 || tensor.count <= 1)))
        return SH_ONNX_CONSTANT;
    return wish == WISH_STATISTIC ? SH_ONNX_STATISTIC : SH_ONNX_TRAINED;
}

static const struct operator_row *find_operator(const Sh__Onnx__NodeProto *node)
{
    if (node->domain[0] == '\0')
        for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
            if (strcmp(node->op_type, operators[i].name) == 0)
                return &operators[i];
    return NULL;
}

static operand_wish wish_of(const struct operator_row *row, size_t index)
{
    if (row == NULL || index >= 8)
        return WISH_NOTHING;
    if ((row->trained & INPUT(index)) != 0)
        return WISH_TRAINED;
    if ((row->statistic & INPUT(index)) != 0)
        return WISH_STATISTIC;
    return (row->many & INPUT(index)) != 0 ? WISH_MANY : WISH_NOTHING;
}

/* True if the value is an input, or was made from it by preprocessing. */
static bool is_raw(const sh_onnx *model, const raw_values *raw, const char *name)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    for (size_t i = 0; i < graph->n_input && i < RAW_MOST; i++)
        if (strcmp(graph->input[i]->name, name) == 0)
            return sh_onnx_initializer_index(model, name) == SIZE_MAX;
    for (size_t i = 0; i < raw->count; i++)
        if (strcmp(raw->names[i], name) == 0)
            return true;
    return false;
}

bool sh_onnx_normalises_input(const sh_onnx *model, size_t index)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    raw_values raw = {.count = 0};
    if (index >= EARLY_NODES)
        return false;
    for (size_t i = 0; i <= index && raw.count < RAW_MOST; i++) {
        const Sh__Onnx__NodeProto *node = graph->node[i];
        const bool normalises =
            node->domain[0] == '\0' && node->n_input == 2 && node->n_output == 1 &&
            (strcmp(node->op_type, "Sub") == 0 || strcmp(node->op_type, "Div") == 0);
        if ((!normalises && !passes(node)) || node->n_input == 0 ||
            !is_raw(model, &raw, node->input[0]))
            continue;
        if (i == index)
            return normalises;
        raw.names[raw.count++] = node->output[0];
    }
    return false;
}

sh_status sh_onnx_roles(sh_onnx_role *roles, const sh_onnx *model)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    passed_value *passed = calloc(graph->n_node + 1, sizeof *passed);
    size_t count = 0;
    if (passed == NULL)
        return sh_fail_memory(graph->n_node * sizeof *passed, "the roles of tensors");
    for (size_t i = 0; i < graph->n_node; i++)
        if (passes(graph->node[i]))
            passed[count++].name = graph->node[i]->output[0];
    qsort(passed, count, sizeof *passed, compare_passed);
    for (size_t i = 0; i < graph->n_initializer; i++)
        roles[i] = SH_ONNX_CONSTANT;
    for (size_t i = graph->n_node; i-- > 0;) {
        const Sh__Onnx__NodeProto *node = graph->node[i];
        const struct operator_row *row =
            sh_onnx_normalises_input(model, i) ? NULL : find_operator(node);
        const passed_value *own = passes(node) ? find_passed(passed, count, node->output[0]) : NULL;
        const bool joins = strcmp(node->op_type, "Concat") == 0;
        for (size_t k = 0; k < node->n_input; k++) {
            const operand_wish wish =
                own != NULL && (k == 0 || joins) ? own->wish : wish_of(row, k);
            const size_t index = sh_onnx_initializer_index(model, node->input[k]);
            passed_value *value = find_passed(passed, count, node->input[k]);
            if (index != SIZE_MAX) {
                const sh_onnx_role role = role_of(model, index, wish);
                roles[index] = role > roles[index] ? role : roles[index];
            } else if (value != NULL && wish > value->wish) {
                value->wish = wish;
            }
        }
    }
    free(passed);
    return SH_OK;
}
