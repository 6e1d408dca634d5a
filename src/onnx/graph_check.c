/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All values of the graph are in one list, sorted by name, with their makers. Equal neighbours are
 * a name that is used twice. The maker of an input must come before the node, so there are no
 * cycles.
 */
#include "onnx/graph_check.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/node_name.h"
#include "onnx/onnx_types.h"

#define ATTRIBUTES_MOST 64u /* of a node */

typedef struct made {
    const char *name;
    enum maker { MAKER_INPUT, MAKER_INITIALIZER, MAKER_NODE } maker;
    size_t index; /* in its list: of the node, input or initialiser */
} made;

static int compare_names(const void *a, const void *b)
{
    const made *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    if (order != 0)
        return order;
    return x->maker != y->maker   ? (x->maker < y->maker ? -1 : 1)
           : x->index != y->index ? (x->index < y->index ? -1 : 1)
                                  : 0;
}

static int compare_name(const void *name, const void *value)
{
    return strcmp(name, ((const made *)value)->name);
}

static const char *maker_text(char text[SH_ONNX_NODE_TEXT], const Sh__Onnx__GraphProto *graph,
                              const made *value)
{
    if (value->maker == MAKER_NODE)
        return sh_onnx_node_name(text, graph, value->index);
    return value->maker == MAKER_INPUT ? "the graph's inputs" : "the graph's initialisers";
}

static sh_status check_twice(const Sh__Onnx__GraphProto *graph, const made *values, size_t count)
{
    char name[SH_ONNX_NAME_TEXT], first[SH_ONNX_NODE_TEXT], second[SH_ONNX_NODE_TEXT];
    for (size_t i = 1; i < count; i++) {
        const made *a = &values[i - 1], *b = &values[i];
        /* Before version 4 of the format, initialisers are also inputs. */
        if (strcmp(a->name, b->name) != 0 ||
            (a->maker == MAKER_INPUT && b->maker == MAKER_INITIALIZER))
            continue;
        return sh_fail(SH_FORMAT, "the value '%s' is made twice, by %s and by %s",
                       sh_onnx_name(name, a->name), maker_text(first, graph, a),
                       maker_text(second, graph, b));
    }
    return SH_OK;
}

static sh_status list_values(made **values, size_t *count, const Sh__Onnx__GraphProto *graph,
                             sh_arena *arena)
{
    size_t most = graph->n_input + graph->n_initializer;
    for (size_t i = 0; i < graph->n_node; i++)
        most += graph->node[i]->n_output;
    made *fresh = sh_arena_take(arena, most + 1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(most * sizeof *fresh, "the values of a graph");
    size_t used = 0;
    for (size_t i = 0; i < graph->n_input; i++)
        fresh[used++] = (made){graph->input[i]->name, MAKER_INPUT, i};
    for (size_t i = 0; i < graph->n_initializer; i++)
        fresh[used++] = (made){graph->initializer[i]->name, MAKER_INITIALIZER, i};
    for (size_t i = 0; i < used; i++)
        if (fresh[i].name[0] == '\0')
            return sh_fail(SH_FORMAT, "one of %s has no name",
                           fresh[i].maker == MAKER_INPUT ? "the graph's inputs"
                                                         : "the graph's initialisers");
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            if (graph->node[i]->output[k][0] != '\0')
                fresh[used++] = (made){graph->node[i]->output[k], MAKER_NODE, i};
    qsort(fresh, used, sizeof *fresh, compare_names);
    *values = fresh;
    *count = used;
    return check_twice(graph, fresh, used);
}

static sh_status check_inputs(const Sh__Onnx__GraphProto *graph, size_t index, const made *values,
                              size_t count)
{
    const Sh__Onnx__NodeProto *node = graph->node[index];
    char name[SH_ONNX_NAME_TEXT], text[SH_ONNX_NODE_TEXT], maker[SH_ONNX_NODE_TEXT];
    for (size_t i = 0; i < node->n_input; i++) {
        if (node->input[i][0] == '\0')
            continue;
        const made *value = bsearch(node->input[i], values, count, sizeof *values, compare_name);
        if (value == NULL)
            return sh_fail(SH_FORMAT,
                           "%s takes '%s', which is not an input, an initialiser or an output of a "
                           "node; export the model again",
                           sh_onnx_node_name(text, graph, index),
                           sh_onnx_name(name, node->input[i]));
        if (value->maker == MAKER_NODE && value->index >= index)
            return sh_fail(SH_FORMAT,
                           "%s takes '%s', made by %s, %s: the nodes form a cycle or are not in "
                           "order of computation; export the model again",
                           sh_onnx_node_name(text, graph, index),
                           sh_onnx_name(name, node->input[i]), maker_text(maker, graph, value),
                           value->index == index ? "the node itself" : "a later node");
    }
    return SH_OK;
}

static sh_status check_attribute(Sh__Onnx__AttributeProto *attribute)
{
    char name[SH_ONNX_NAME_TEXT];
    sh_onnx_name(name, attribute->name);
    if (attribute->name[0] == '\0')
        return sh_fail(SH_FORMAT, "an attribute has no name");
    if (attribute->ref_attr_name[0] != '\0')
        return sh_fail(SH_FORMAT,
                       "its attribute '%s' refers to a function's attribute, but the node is not "
                       "in a function",
                       name);
    switch (attribute->type) {
    case SH_ONNX_ATTRIBUTE_FLOAT:
        attribute->has_f = 1; /* protobuf 3 omits zeros */
        return SH_OK;
    case SH_ONNX_ATTRIBUTE_INT:
        attribute->has_i = 1;
        return SH_OK;
    case SH_ONNX_ATTRIBUTE_STRING:
        attribute->has_s = 1;
        return SH_OK;
    case SH_ONNX_ATTRIBUTE_TENSOR:
        if (attribute->t == NULL)
            return sh_fail(SH_FORMAT, "its attribute '%s' has no tensor", name);
        return SH_OK;
    case SH_ONNX_ATTRIBUTE_FLOATS:
    case SH_ONNX_ATTRIBUTE_INTS:
    case SH_ONNX_ATTRIBUTE_STRINGS:
        return SH_OK;
    case 0:
        return sh_fail(SH_FORMAT, "its attribute '%s' has no type", name);
    case 5:
    case 10:
        return sh_fail(SH_UNSUPPORTED,
                       "its attribute '%s' is a graph: networks with control flow cannot be "
                       "trained; export it without If, Loop and Scan",
                       name);
    default:
        return sh_fail(SH_UNSUPPORTED,
                       "its attribute '%s' is of type %" PRId32 ", which is not supported", name,
                       attribute->type);
    }
}

static sh_status check_node(Sh__Onnx__NodeProto *node)
{
    if (node->op_type[0] == '\0')
        return sh_fail(SH_FORMAT, "it names no operator");
    if (node->n_attribute > ATTRIBUTES_MOST)
        return sh_fail(SH_LIMIT, "it has %zu attributes, more than %u", node->n_attribute,
                       ATTRIBUTES_MOST);
    const Sh__Onnx__NodeProto none = SH__ONNX__NODE_PROTO__INIT;
    if (strcmp(node->domain, "ai.onnx") == 0)
        node->domain = none.domain; /* the shared empty string, which is not written */
    for (size_t i = 0; i < node->n_attribute; i++) {
        SH_TRY(check_attribute(node->attribute[i]));
        for (size_t k = 0; k < i; k++)
            if (strcmp(node->attribute[i]->name, node->attribute[k]->name) == 0) {
                char name[SH_ONNX_NAME_TEXT];
                return sh_fail(SH_FORMAT, "it has two attributes '%s'",
                               sh_onnx_name(name, node->attribute[i]->name));
            }
    }
    return SH_OK;
}

/* Some exporters write -1 or 0 for an unknown dimension. */
static sh_status check_type(const Sh__Onnx__ValueInfoProto *value, bool needs_type)
{
    char name[SH_ONNX_NAME_TEXT];
    const Sh__Onnx__TypeProto__Tensor *tensor =
        value->type == NULL ? NULL : value->type->tensor_type;
    if (tensor == NULL || !tensor->has_elem_type) {
        if (!needs_type)
            return SH_OK;
        return sh_fail(SH_UNSUPPORTED, "its input '%s' is not a tensor, or lacks a type",
                       sh_onnx_name(name, value->name));
    }
    if (tensor->shape == NULL)
        return SH_OK;
    if (tensor->shape->n_dim > SH_ONNX_RANK_MOST)
        return sh_fail(SH_UNSUPPORTED, "'%s' has %zu dimensions, more than %d",
                       sh_onnx_name(name, value->name), tensor->shape->n_dim, SH_ONNX_RANK_MOST);
    for (size_t i = 0; i < tensor->shape->n_dim; i++) {
        Sh__Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
        if (dim->has_dim_value && dim->dim_value <= 0)
            dim->has_dim_value = 0;
        if (dim->has_dim_value && dim->dim_value > INT32_MAX)
            return sh_fail(SH_LIMIT, "'%s' has a dimension of %" PRId64,
                           sh_onnx_name(name, value->name), dim->dim_value);
    }
    return SH_OK;
}

sh_status sh_onnx_graph_check(Sh__Onnx__GraphProto *graph, sh_arena *arena)
{
    made *values;
    size_t count;
    char text[SH_ONNX_NODE_TEXT];
    if (graph->n_node == 0)
        return sh_fail(SH_FORMAT, "its graph has no nodes");
    for (size_t i = 0; i < graph->n_node; i++)
        SH_TRY(sh_fail_in(check_node(graph->node[i]), "%s", sh_onnx_node_name(text, graph, i)));
    SH_TRY(list_values(&values, &count, graph, arena));
    for (size_t i = 0; i < graph->n_node; i++)
        SH_TRY(check_inputs(graph, i, values, count));
    for (size_t i = 0; i < graph->n_input; i++)
        SH_TRY(check_type(graph->input[i], true));
    if (graph->n_output == 0)
        return sh_fail(SH_FORMAT, "its graph has no outputs");
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = graph->output[i]->name;
        if (bsearch(name, values, count, sizeof *values, compare_name) == NULL)
            return sh_fail(SH_FORMAT, "nothing makes its output '%s'; export the model again",
                           sh_onnx_name(text, name));
        SH_TRY(check_type(graph->output[i], false));
    }
    return SH_OK;
}
