/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cases of op_cases.h as graphs with random inputs. Only for tests.
 *
 *     subject s = build(&op_cases[i]);
 *     fill_input(&s, 0, 0, place);
 */
#ifndef SHOAL_BACKEND_OP_SUBJECT_H
#define SHOAL_BACKEND_OP_SUBJECT_H

#include "backend/op_cases.h"
#include "base/random.h"
#include "graph/graph.h"

#define STEP 0x1p-6f /* of finite differences */

/* The graph of a case. Inputs: the case's, then a seed for output 0 if it has gradients. */
typedef struct subject {
    const op_case *which;
    const sh_op_entry *about;
    sh_graph *graph;
    uint32_t inputs;
    sh_value_id in[SH_MAX_INPUTS];
    sh_value_id gradient[SH_MAX_INPUTS];
    uint32_t gradient_output[SH_MAX_INPUTS];
    bool has_seed;
} subject;

/* Optional inputs that a case leaves out have rank 0. */
static inline uint32_t inputs_of(const op_case *which)
{
    const sh_op_entry *about = sh_op_about(which->op);
    uint32_t inputs = about->input_count;
    while (inputs > about->input_count - about->def->optional &&
           which->in[inputs - 1].shape.rank == 0)
        inputs--;
    return inputs;
}

/* A pooling of size 1, which only changes the layout. */
static inline sh_value_id lay_channels_last(sh_graph *graph, const sh_type *type, sh_value_id x)
{
    const sh_attributes one = {.kernel = {1, 1}, .stride = {1, 1}};
    if (type->dtype != SH_F32 || type->shape.rank != 4)
        return x;
    return sh_graph_add(graph, SH_OP_avg_pool, &one, &x, NULL);
}

typedef enum variation { AS_IT_IS, ACTIVATION_BEHIND, CHANNELS_LAST } variation;

static inline subject build_graph(const op_case *which, variation how)
{
    const bool behind = how == ACTIVATION_BEHIND;
    subject s = {.which = which, .about = sh_op_about(which->op)};
    sh_value_id node_in[SH_MAX_INPUTS], out[SH_MAX_OUTPUTS];
    sh_attributes attributes = which->attributes;
    assert_ok(sh_graph_new(&s.graph));
    s.inputs = inputs_of(which);
    for (uint32_t i = 0; i < SH_MAX_INPUTS; i++)
        s.in[i] = i < s.inputs ? sh_graph_input(s.graph, which->in[i]) : SH_NO_VALUE;
    for (uint32_t i = 0; i < SH_MAX_INPUTS; i++)
        node_in[i] = i < s.inputs && how == CHANNELS_LAST
                         ? lay_channels_last(s.graph, &which->in[i], s.in[i])
                         : s.in[i];
    if (which->op == SH_OP_batch_norm && attributes.training) /* the moments must be of x itself */
        sh_graph_add(s.graph, SH_OP_moments, NULL, s.in, &node_in[1]);
    if (behind)
        attributes.activation = SH_ACTIVATION_NONE;
    sh_graph_add(s.graph, which->op, &attributes, node_in, out);
    if (behind)
        sh_graph_add(s.graph,
                     which->attributes.activation == SH_ACTIVATION_RELU ? SH_OP_relu : SH_OP_relu6,
                     NULL, (sh_value_id[]){out[0]}, out);
    assert_ok(sh_graph_status(s.graph));
    for (uint32_t i = 0; i < sh_op_outputs(which->op, &which->attributes); i++)
        if (sh_graph_type(s.graph, out[i])->dtype != SH_U8) /* choices: the backend's layout */
            sh_graph_output(s.graph, out[i]);
    s.has_seed = s.about->def->grad != NULL;
    const sh_value_id seed =
        s.has_seed ? sh_graph_input(s.graph, *sh_graph_type(s.graph, out[0])) : SH_NO_VALUE;
    for (uint32_t i = 0; i < s.inputs; i++) {
        s.gradient[i] = SH_NO_VALUE;
        if (!s.has_seed || which->in[i].dtype != SH_F32 || (which->held >> i & 1) != 0)
            continue;
        s.gradient[i] = sh_graph_gradient_of(s.graph, out[0], seed, s.in[i]);
        s.gradient_output[i] = (uint32_t)s.graph->output_count;
        assert_int_not_equal(s.gradient[i], SH_NO_VALUE);
        sh_graph_output(s.graph, s.gradient[i]);
    }
    assert_ok(sh_graph_verify(s.graph));
    return s;
}

static inline subject build(const op_case *which)
{
    return build_graph(which, AS_IT_IS);
}

/*
 * Random values in [-1, 1). With `kinked`, in random order values at least 4 steps from each other
 * and from zero, so that finite differences do not step across a kink.
 */
static inline void fill(float *data, size_t count, uint32_t which, bool kinked)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, which, 0);
    for (size_t i = 0; i < count; i++)
        data[i] = kinked ? ((float)i - (float)(count / 2) + 0.5f) * (8 * STEP)
                         : 2.0f * sh_random_unit(&random) - 1.0f;
    for (size_t i = count; i > 1 && kinked; i--) {
        const size_t j = sh_random_below(&random, (uint32_t)i);
        const float held = data[i - 1];
        data[i - 1] = data[j];
        data[j] = held;
    }
}

static inline void fill_input(const subject *s, size_t index, uint32_t grain, void *data)
{
    const sh_type *type = sh_graph_type(s->graph, s->graph->inputs[index]);
    const size_t count = sh_shape_count(&type->shape);
    float *const values = data;
    if (type->dtype == SH_F32)
        fill(values, count, (uint32_t)index + 16 * grain, s->which->kinked);
    for (size_t j = 0; j < count && (s->which->positive >> index & 1) != 0; j++)
        values[j] = fabsf(values[j]) + 0.5f;
    if (type->dtype != SH_F32)
        for (size_t j = 0; j < count; j++)
            ((int32_t *)data)[j] = (int32_t)((j * 7 + grain) % 10);
}

#endif
