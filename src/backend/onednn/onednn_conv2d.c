/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution and its gradients.
 *
 * Activations are channels-last (N, H, W, C) wherever the library has a generated kernel for that,
 * and in the layout of its own choice (channels in blocks of a vector) elsewhere. Blocks waste work
 * and memory where the channels do not fill them: LeNet's 20 and 50 would count as 32 and 64.
 * Measured with AVX-512 at 16 images, in ms, forward / input gradient / weight gradient:
 *
 *                    channels-last        blocks               matrix products (im2col)
 *     20 -> 50, 5x5  0.25 / 0.34 / 0.26   0.43 / 0.44 / 0.48   0.39 / 0.50 / 0.42
 *     16 -> 16, 3x3  0.32 / 0.29 / 0.30   0.39 / 0.30 / 0.30   0.99 / 1.39 / 2.1
 *     64 -> 64, 3x3  0.23 / 0.26 / 0.24   0.27 / 0.26 / 0.29   0.50 / 0.59 / 0.50
 *
 * and with AVX2 the two layouts are equal where channels fill the blocks. Only with three input
 * channels or fewer are blocks faster, and only with AVX-512 (1 -> 20: 0.09 / - / 0.13 against
 * 0.07 / - / 0.07; with AVX2 0.09 / - / 0.18 against 0.09 / - / 0.79); onednn_grey.c has loops for
 * the case with one. Channels-last also has no gaps, so elementwise operators do no work in vain.
 *
 * Weights are in the library's layout, which is made from the plain one once a step. Those of
 * grouped convolutions have one dimension more there, [G, O/G, C/G, R, S], over the same elements.
 */
#include "backend/onednn/primitive.h"

typedef struct problem {
    dnnl_memory_desc_t x, w, b, y; /* b: of no dimensions where there is none */
    bool channels_last;
    dnnl_dims_t stride, dilation, padding;
} problem;

/* The types of x, w and y, whichever of the three operators this is. */
typedef struct operand_types {
    const sh_type *x, *w, *y;
    bool has_bias;
} operand_types;

static operand_types types_of(const sh_graph *graph, const sh_node *node)
{
    const sh_type *first = sh_graph_type(graph, node->in[0]);
    const sh_type *second = sh_graph_type(graph, node->in[1]);
    const sh_type *result = sh_graph_type(graph, node->out[0]);
    switch (node->op) {
    case SH_OP_conv2d_grad_input:
        return (operand_types){.x = result, .w = second, .y = first, .has_bias = false};
    case SH_OP_conv2d_grad_weight:
        return (operand_types){
            .x = first, .w = result, .y = second, .has_bias = node->output_count > 1};
    default:
        return (operand_types){
            .x = first, .w = second, .y = result, .has_bias = node->input_count > 2};
    }
}

/* False where the library is not to be asked. */
static bool describe(problem *p, const sh_attributes *a, const operand_types *types,
                     dnnl_format_tag_t activations)
{
    const size_t *w = types->w->shape.dim, groups = a->groups;
    const sh_type grouped = {SH_F32,
                             sh_shape_of(5, (size_t[]){groups, w[0] / groups, w[1], w[2], w[3]})};
    const sh_type bias = {SH_F32, sh_shape_of(1, w)};
    p->channels_last = activations == dnnl_nhwc;
    p->b = (dnnl_memory_desc_t){.ndims = 0};
    for (int i = 0; i < 2; i++) {
        p->stride[i] = (dnnl_dim_t)a->stride[i];
        p->dilation[i] = (dnnl_dim_t)a->dilation[i] - 1; /* the library counts the gaps */
        p->padding[i] = (dnnl_dim_t)a->padding[i];
        /* Windows that see nothing but padding: of no use, and not what kernels are made for. */
        if (a->padding[i] > a->dilation[i] * (w[2 + i] - 1))
            return false;
    }
    return sh_onednn_md(&p->x, types->x, activations) &&
           sh_onednn_md(&p->w, groups == 1 ? types->w : &grouped, dnnl_format_tag_any) &&
           (!types->has_bias || sh_onednn_md(&p->b, &bias, dnnl_a)) &&
           sh_onednn_md(&p->y, types->y, activations);
}

static sh_status choose_forward(dnnl_primitive_desc_t *chosen, const problem *p)
{
    dnnl_convolution_desc_t operation;
    const dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
        &operation, dnnl_forward_training, dnnl_convolution_direct, &p->x, &p->w, &p->b, &p->y,
        p->stride, p->dilation, p->padding, p->padding);
    *chosen = NULL;
    if (sh_onednn_lacks(status))
        return SH_OK;
    SH_TRY(sh_onednn_check(status, "describing conv2d"));
    return sh_onednn_choose(chosen, &operation, NULL);
}

static sh_status choose_backward(dnnl_primitive_desc_t *chosen, const problem *p, sh_op op,
                                 const_dnnl_primitive_desc_t forward)
{
    dnnl_convolution_desc_t operation;
    const dnnl_status_t status = op == SH_OP_conv2d_grad_input
                                     ? dnnl_dilated_convolution_backward_data_desc_init(
                                           &operation, dnnl_convolution_direct, &p->x, &p->w, &p->y,
                                           p->stride, p->dilation, p->padding, p->padding)
                                     : dnnl_dilated_convolution_backward_weights_desc_init(
                                           &operation, dnnl_convolution_direct, &p->x, &p->w,
                                           p->channels_last || p->b.ndims == 0 ? NULL : &p->b,
                                           &p->y, p->stride, p->dilation, p->padding, p->padding);
    *chosen = NULL;
    if (sh_onednn_lacks(status))
        return SH_OK;
    SH_TRY(sh_onednn_check(status, "describing a gradient of conv2d"));
    return sh_onednn_choose(chosen, &operation, forward);
}

static sh_status choose_in_layout(dnnl_primitive_desc_t *chosen, const problem *p, sh_op op)
{
    SH_TRY(choose_forward(chosen, p));
    if (*chosen == NULL || op == SH_OP_conv2d)
        return SH_OK;
    dnnl_primitive_desc_t forward = *chosen;
    const sh_status status = choose_backward(chosen, p, op, forward);
    if (status != SH_OK)
        *chosen = NULL;
    sh_onednn_drop(&forward);
    return status;
}

/*
 * NULL where the library has no generated kernel: its matrix products are no better than ours. Sets
 * *channels_last to how activations lie.
 */
static sh_status choose(dnnl_primitive_desc_t *chosen, bool *channels_last, const sh_graph *graph,
                        const sh_node *node)
{
    static const dnnl_format_tag_t layouts[] = {dnnl_nhwc, dnnl_format_tag_any};
    const operand_types types = types_of(graph, node);
    problem p;
    *chosen = NULL;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (!describe(&p, &node->attributes, &types, layouts[i]))
            return SH_OK;
        SH_TRY(choose_in_layout(chosen, &p, node->op));
        *channels_last = p.channels_last;
        if (*chosen != NULL && !sh_onednn_is(*chosen, "ref") && !sh_onednn_is(*chosen, "gemm"))
            return SH_OK;
        sh_onednn_drop(chosen);
    }
    return SH_OK;
}

sh_status sh_onednn_conv2d(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    const sh_graph *graph = sh_compiler_graph(compiler);
    dnnl_primitive_desc_t chosen;
    bool channels_last = false;
    SH_TRY(sh_onednn_pointwise(compiler, node, taken));
    if (!*taken)
        SH_TRY(sh_onednn_grey(compiler, node, taken));
    if (*taken)
        return SH_OK;
    SH_TRY(choose(&chosen, &channels_last, graph, node));
    if (node->op == SH_OP_conv2d_grad_weight && (chosen == NULL || !sh_onednn_is(chosen, "_dw"))) {
        const sh_status status = sh_onednn_depthwise_grad_weight(compiler, node, taken);
        if (status != SH_OK || *taken)
            sh_onednn_drop(&chosen);
        if (status != SH_OK)
            return status;
    }
    if (chosen == NULL)
        return SH_OK;
    *taken = true;
    SH_TRY(sh_onednn_emit(compiler, node, chosen));
    if (node->op != SH_OP_conv2d_grad_weight || !channels_last || node->output_count < 2)
        return SH_OK;
    dnnl_memory_desc_t md;
    sh_layout layout;
    if (!sh_onednn_md(&md, sh_graph_type(graph, node->in[1]), dnnl_nhwc))
        return sh_fail(SH_INTERNAL, "oneDNN: a gradient that was described cannot be");
    SH_TRY(sh_onednn_layout(compiler, &layout, &md));
    return sh_onednn_emit_bias_gradient(compiler, node, &layout);
}
