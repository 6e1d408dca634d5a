/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of the operators; gpu_products.c has products and images. */
#include <string.h>

#include "backend/dropout_mask.h"
#include "backend/gpu/gpu_products.h"

#define NORM_ITEMS 64 /* as in norms.cl */
#define SUMS_ITEMS 128

/* ---- element by element ---------------------------------------------------------------------- */

static sh_status each(const sh_gpu_call *call)
{
    const sh_gpu_work work = sh_gpu_work_of(call);
    return sh_gpu_append_each(call, sh_op_about(call->node->op)->name, &work,
                              call->node->input_count);
}

static sh_status scale(const sh_gpu_call *call)
{
    sh_gpu_work work = sh_gpu_work_of(call);
    work.inner = elements(&call->in[0]) / elements(&call->in[1]);
    return sh_gpu_append_each(call, "scale", &work, 2);
}

static sh_status scale_grad(const sh_gpu_call *call)
{
    sh_gpu_work work = sh_gpu_work_of(call);
    work.inner = elements(&call->in[0]) / elements(&call->out[0]);
    return sh_gpu_append_each(call, "scale_grad", &work, 2);
}

static sh_status statistic(const sh_gpu_call *call)
{
    sh_gpu_work work = sh_gpu_work_of(call);
    work.samples = elements(&call->in[1]);
    return sh_gpu_append_each(call, "statistic", &work, 2);
}

static sh_status dropout(const sh_gpu_call *call)
{
    const sh_dropout drop = sh_dropout_of(attributes_of(call));
    const sh_dropout_extent extent = sh_dropout_extent_of(&call->in[0].shape, false);
    sh_gpu_work work = sh_gpu_work_of(call);
    work.channels = (uint32_t)extent.channels;
    work.inner = (uint32_t)extent.positions;
    work.layer = drop.layer;
    work.threshold = drop.threshold;
    work.numbers[0] = drop.scale;
    return sh_gpu_append_each(call, "dropout", &work, 2);
}

static sh_gpu_work walk_of(const sh_gpu_call *call, const sh_shape *shape, const size_t *steps)
{
    sh_gpu_work work = sh_gpu_work_of(call);
    work.rank = (uint32_t)shape->rank;
    for (size_t d = 0; d < shape->rank; d++) {
        work.dim[d] = (uint32_t)shape->dim[shape->rank - 1 - d];
        work.a_step[d] = (uint32_t)steps[shape->rank - 1 - d];
    }
    return work;
}

static void strides_of(size_t strides[SH_MAX_RANK], const sh_shape *shape)
{
    size_t stride = 1;
    for (size_t d = shape->rank; d-- > 0; stride *= shape->dim[d])
        strides[d] = stride;
}

static sh_status transpose(const sh_gpu_call *call)
{
    size_t strides[SH_MAX_RANK], steps[SH_MAX_RANK];
    strides_of(strides, &call->in[0].shape);
    for (size_t d = 0; d < call->out[0].shape.rank; d++)
        steps[d] = strides[attributes_of(call)->order[d]];
    const sh_gpu_work work = walk_of(call, &call->out[0].shape, steps);
    return sh_gpu_append_each(call, "move", &work, 1);
}

static sh_status slice(const sh_gpu_call *call)
{
    size_t strides[SH_MAX_RANK];
    strides_of(strides, &call->in[0].shape);
    sh_gpu_work work = walk_of(call, &call->out[0].shape, strides);
    for (size_t d = 0; d < call->in[0].shape.rank; d++)
        work.offset += (uint32_t)(attributes_of(call)->before[d] * strides[d]);
    return sh_gpu_append_each(call, "move", &work, 1);
}

static sh_status pad(const sh_gpu_call *call)
{
    const sh_shape *x = &call->in[0].shape;
    size_t strides[SH_MAX_RANK];
    strides_of(strides, x);
    sh_gpu_work work = walk_of(call, &call->out[0].shape, strides);
    for (size_t d = 0; d < x->rank; d++) {
        work.before[x->rank - 1 - d] = (uint32_t)attributes_of(call)->before[d];
        work.extent[x->rank - 1 - d] = (uint32_t)x->dim[d];
    }
    return sh_gpu_append_each(call, "pad", &work, 1);
}

static sh_status concat(const sh_gpu_call *call)
{
    const size_t axis = attributes_of(call)->axis;
    uint32_t before = 0;
    for (uint32_t i = 0; i < call->node->input_count; i++) {
        const sh_shape *x = &call->in[i].shape;
        sh_gpu_work work = sh_gpu_work_of(call);
        work.outer = work.inner = 1;
        for (size_t d = 0; d < x->rank; d++)
            *(d < axis ? &work.outer : d > axis ? &work.inner : &work.K) *= (uint32_t)x->dim[d];
        work.middle = (uint32_t)call->out[0].shape.dim[axis];
        work.offset = before;
        work.K = (uint32_t)x->dim[axis] * work.inner;
        work.count = elements(&call->in[i]);
        work.total = work.count * work.grains;
        work.step[0] = call->step[i];
        before += (uint32_t)x->dim[axis];
        SH_TRY(sh_gpu_append(call, "join", &work,
                             (uint32_t[]){tiles(work.total, SH_GPU_ITEMS), 1, 1}, SH_GPU_ITEMS,
                             (sh_value_id[]){call->node->in[i], call->node->out[0]}, 2));
    }
    return SH_OK;
}

/* ---- batch normalisation --------------------------------------------------------------------- */

static sh_gpu_work norm_work(const sh_gpu_call *call, const sh_shape *x)
{
    sh_gpu_work work = sh_gpu_work_of(call);
    work.samples = (uint32_t)x->dim[0];
    work.channels = (uint32_t)x->dim[1];
    work.inner = (uint32_t)(sh_shape_count(x) / (x->dim[0] * x->dim[1]));
    work.chains = work.channels > 512 ? 1 : 512 / work.channels;
    if (work.chains > 16)
        work.chains -= work.chains % 16;
    return work;
}

/* Returns how many channels share a group; each has an item per chain, or all items. */
static uint32_t channels_together(uint32_t items, uint32_t chains)
{
    uint32_t together = 1;
    while (together * 2 <= items && items / (together * 2) >= chains)
        together *= 2;
    return together;
}

static sh_status moments(const sh_gpu_call *call)
{
    sh_gpu_work work = norm_work(call, &call->in[0].shape);
    work.together = channels_together(NORM_ITEMS, work.chains);
    return sh_gpu_append(
        call, "moments", &work,
        (uint32_t[]){tiles((size_t)work.channels * work.grains, work.together), 1, 1}, NORM_ITEMS,
        (sh_value_id[]){call->node->in[0], call->node->out[0], call->node->out[1]}, 3);
}

/* Items make four elements each if the four are in one channel. */
static sh_gpu_work norm_work_by_four(const sh_gpu_call *call)
{
    sh_gpu_work work = norm_work(call, &call->in[0].shape);
    work.each = work.inner % 4 == 0 ? 4 : 1;
    work.count /= work.each;
    work.total /= work.each;
    return work;
}

static sh_status batch_norm(const sh_gpu_call *call)
{
    const sh_value_id *in = call->node->in;
    sh_gpu_work work = norm_work_by_four(call);
    work.has_bias = call->node->input_count > 5;
    const sh_value_id values[7] = {
        in[0], in[1], in[2], in[3], in[4], work.has_bias ? in[5] : SH_NO_VALUE, call->node->out[0]};
    return sh_gpu_append(call, "batch_norm", &work,
                         (uint32_t[]){tiles(work.total, SH_GPU_ITEMS), 1, 1}, SH_GPU_ITEMS, values,
                         7);
}

static sh_status batch_norm_sums(const sh_gpu_call *call)
{
    const sh_value_id *in = call->node->in, *out = call->node->out;
    sh_gpu_work work = norm_work(call, &call->in[0].shape);
    const uint32_t rows = work.samples * work.inner, block = 32 * work.chains;
    work.together = channels_together(SUMS_ITEMS, tiles(rows, block) * work.chains);
    return sh_gpu_append(
        call, "batch_norm_sums", &work,
        (uint32_t[]){tiles((size_t)work.channels * work.grains, work.together), 1, 1}, SUMS_ITEMS,
        (sh_value_id[]){in[0], in[1], in[2], in[3], in[4], in[5], out[0], out[1], out[2]}, 9);
}

static sh_status batch_norm_grad(const sh_gpu_call *call)
{
    const sh_gpu_work work = norm_work_by_four(call);
    return sh_gpu_append_each(call, "batch_norm_grad", &work, 7);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static sh_status loss(const sh_gpu_call *call)
{
    sh_gpu_work work = sh_gpu_work_of(call);
    work.count = (uint32_t)call->in[0].shape.dim[0];
    work.total = work.count * work.grains;
    work.middle = (uint32_t)call->in[0].shape.dim[1];
    return sh_gpu_append_each(call, sh_op_about(call->node->op)->name, &work,
                              call->node->input_count);
}

static sh_status loss_of_all(const sh_gpu_call *call)
{
    sh_gpu_work work = sh_gpu_work_of(call);
    work.middle = elements(&call->in[0]) / (uint32_t)call->in[0].shape.dim[0];
    return sh_gpu_append_each(call, sh_op_about(call->node->op)->name, &work,
                              call->node->input_count);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static sh_status softmax(const sh_gpu_call *call)
{
    const sh_shape *x = &call->in[0].shape;
    const size_t axis = attributes_of(call)->axis;
    sh_gpu_work work = sh_gpu_work_of(call);
    work.outer = work.middle = work.inner = 1;
    for (size_t d = 0; d < x->rank; d++)
        *(d < axis ? &work.outer : d > axis ? &work.inner : &work.middle) *= (uint32_t)x->dim[d];
    work.count = work.outer * work.inner;
    work.total = work.count * work.grains;
    return sh_gpu_append_each(call, sh_op_about(call->node->op)->name, &work,
                              call->node->input_count);
}

/* A layer norm has one group, whose weights scale one element each. */
static sh_gpu_work row_norm_work(const sh_gpu_call *call, const sh_shape *x, bool layer)
{
    sh_gpu_work work = sh_gpu_work_of(call);
    const uint32_t all = (uint32_t)sh_shape_count(x);
    work.groups = layer ? 1 : (uint32_t)attributes_of(call)->groups;
    work.middle = (uint32_t)(layer ? x->dim[x->rank - 1] : x->dim[1]) / work.groups;
    work.outer = layer ? all / work.middle : (uint32_t)x->dim[0];
    work.inner = all / (work.outer * work.groups * work.middle);
    work.count = work.outer * work.groups;
    work.total = work.count * work.grains;
    return work;
}

static sh_status row_norm(const sh_gpu_call *call)
{
    const bool layer = call->node->op == SH_OP_layer_norm;
    const sh_gpu_work work = row_norm_work(call, &call->in[0].shape, layer);
    return sh_gpu_append_each(call, "group_norm", &work, 3);
}

static sh_status row_norm_grad(const sh_gpu_call *call)
{
    const sh_node *node = call->node;
    const bool layer = node->op == SH_OP_layer_norm_grad;
    sh_gpu_work work = row_norm_work(call, &call->in[1].shape, layer);
    SH_TRY(sh_gpu_append_each(call, "group_norm_grad", &work, 3));
    work.count = work.groups * work.middle;
    work.total = work.count * work.grains;
    return sh_gpu_append(call, "group_norm_weights", &work,
                         (uint32_t[]){tiles(work.total, SH_GPU_ITEMS), 1, 1}, SH_GPU_ITEMS,
                         (sh_value_id[]){node->in[0], node->in[1], node->out[1], node->out[2]}, 4);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Returns steps by dimension of `whole`, whose last dimensions are those of `shape`; 0 repeats an
 * element. */
static void repeated_steps(size_t steps[SH_MAX_RANK], const sh_shape *shape, const sh_shape *whole)
{
    size_t strides[SH_MAX_RANK];
    strides_of(strides, shape);
    for (size_t d = 0; d < whole->rank; d++) {
        const size_t beside = whole->rank - shape->rank;
        steps[d] = d < beside || shape->dim[d - beside] == 1 ? 0 : strides[d - beside];
    }
}

static sh_status broadcast(const sh_gpu_call *call)
{
    const sh_shape *y = &call->out[0].shape;
    size_t steps[SH_MAX_RANK];
    repeated_steps(steps, &call->in[0].shape, y);
    sh_gpu_work work = walk_of(call, y, steps);
    repeated_steps(steps, &call->in[1].shape, y);
    for (size_t d = 0; d < y->rank; d++)
        work.b_step[d] = (uint32_t)steps[y->rank - 1 - d];
    return sh_gpu_append_each(call, "broadcast", &work, 2);
}

static sh_status expand(const sh_gpu_call *call)
{
    size_t steps[SH_MAX_RANK];
    repeated_steps(steps, &call->in[0].shape, &call->out[0].shape);
    sh_gpu_work work = walk_of(call, &call->out[0].shape, steps);
    work.middle = elements(&call->out[0]) / elements(&call->in[0]);
    return sh_gpu_append_each(call, "expand", &work, 1);
}

/* Splits the dimensions of x: those that y keeps, innermost reduced ones as a run of `middle`, and
 * the other reduced ones as `outer` runs. */
static sh_gpu_work reduce_work(const sh_gpu_call *call, const sh_shape *x, const sh_shape *y)
{
    sh_gpu_work work = sh_gpu_work_of(call);
    size_t kept[SH_MAX_RANK], strides[SH_MAX_RANK];
    bool at_end = true;
    uint32_t others = 0;
    repeated_steps(kept, y, x);
    strides_of(strides, x);
    work.outer = work.middle = 1;
    for (uint32_t d = 0; d < SH_GPU_RANK; d++)
        work.extent[d] = 1;
    for (size_t d = x->rank; d-- > 0;) {
        const uint32_t dim = (uint32_t)x->dim[d];
        if (dim == 1)
            continue;
        if (kept[d] > 0) {
            at_end = false;
            work.dim[work.rank] = dim;
            work.a_step[work.rank++] = (uint32_t)strides[d];
        } else if (at_end) {
            work.middle *= dim;
        } else {
            work.outer *= dim;
            work.extent[others] = dim;
            work.before[others++] = (uint32_t)strides[d];
        }
    }
    work.inner = (uint32_t)sh_shape_count(x);
    work.count = (uint32_t)sh_shape_count(y);
    work.total = work.count * work.grains;
    return work;
}

static sh_status reduce(const sh_gpu_call *call)
{
    const sh_gpu_work work = reduce_work(call, &call->in[0].shape, &call->out[0].shape);
    return sh_gpu_append_each(call, "reduce", &work, 1);
}

static sh_status reduce_grad(const sh_gpu_call *call)
{
    const sh_gpu_work work = reduce_work(call, &call->in[1].shape, &call->in[2].shape);
    return sh_gpu_append_each(call, "reduce_grad", &work, 3);
}

/* x is [outer, middle, inner] around the indexed dimension. */
static sh_status gather_of(const sh_gpu_call *call, const sh_shape *x)
{
    const size_t axis = attributes_of(call)->axis;
    sh_gpu_work work = sh_gpu_work_of(call);
    work.outer = work.middle = work.inner = 1;
    for (size_t d = 0; d < x->rank; d++)
        *(d < axis ? &work.outer : d > axis ? &work.inner : &work.middle) *= (uint32_t)x->dim[d];
    work.N = elements(&call->in[1]);
    work.function = call->in[1].dtype == SH_F32;
    return sh_gpu_append_each(call, sh_op_about(call->node->op)->name, &work, 2);
}

static sh_status gather(const sh_gpu_call *call)
{
    return gather_of(call, &call->in[0].shape);
}

static sh_status gather_grad(const sh_gpu_call *call)
{
    return gather_of(call, &call->out[0].shape);
}

/* ---- the list -------------------------------------------------------------------------------- */

typedef sh_status lowering(const sh_gpu_call *call);

static lowering *const lowerings[SH_OP_COUNT] = {
    [SH_OP_relu] = each,
    [SH_OP_relu6] = each,
    [SH_OP_relu_grad] = each,
    [SH_OP_relu6_grad] = each,
    [SH_OP_relu_sum_grad] = each,
    [SH_OP_leaky_relu] = each,
    [SH_OP_leaky_relu_grad] = each,
    [SH_OP_sigmoid] = each,
    [SH_OP_sigmoid_grad] = each,
    [SH_OP_tanh] = each,
    [SH_OP_tanh_grad] = each,
    [SH_OP_silu] = each,
    [SH_OP_silu_grad] = each,
    [SH_OP_gelu] = each,
    [SH_OP_gelu_grad] = each,
    [SH_OP_hard_sigmoid] = each,
    [SH_OP_hard_sigmoid_grad] = each,
    [SH_OP_hard_swish] = each,
    [SH_OP_hard_swish_grad] = each,
    [SH_OP_add] = each,
    [SH_OP_subtract] = each,
    [SH_OP_negate] = each,
    [SH_OP_multiply] = each,
    [SH_OP_scale] = scale,
    [SH_OP_statistic] = statistic,
    [SH_OP_transpose] = transpose,
    [SH_OP_slice] = slice,
    [SH_OP_dropout] = dropout,
    [SH_OP_pad] = pad,
    [SH_OP_concat] = concat,
    [SH_OP_linear] = sh_gpu_lower_linear,
    [SH_OP_linear_grad_input] = sh_gpu_lower_linear_grad_input,
    [SH_OP_linear_grad_weight] = sh_gpu_lower_linear_grad_weight,
    [SH_OP_matmul] = sh_gpu_lower_matmul,
    [SH_OP_bias_grad] = sh_gpu_lower_bias_grad,
    [SH_OP_conv2d] = sh_gpu_lower_conv2d,
    [SH_OP_conv2d_grad_input] = sh_gpu_lower_conv2d_grad_input,
    [SH_OP_conv2d_grad_weight] = sh_gpu_lower_conv2d_grad_weight,
    [SH_OP_max_pool] = sh_gpu_lower_max_pool,
    [SH_OP_max_pool_grad] = sh_gpu_lower_pool_grad,
    [SH_OP_avg_pool] = sh_gpu_lower_pool,
    [SH_OP_avg_pool_grad] = sh_gpu_lower_pool_grad,
    [SH_OP_resize] = sh_gpu_lower_resize,
    [SH_OP_resize_grad] = sh_gpu_lower_resize_grad,
    [SH_OP_mean] = sh_gpu_lower_mean,
    [SH_OP_mean_grad] = sh_gpu_lower_mean_grad,
    [SH_OP_moments] = moments,
    [SH_OP_batch_norm] = batch_norm,
    [SH_OP_batch_norm_sums] = batch_norm_sums,
    [SH_OP_batch_norm_grad] = batch_norm_grad,
    [SH_OP_cross_entropy] = loss,
    [SH_OP_cross_entropy_grad] = loss,
    [SH_OP_argmax] = loss,
    [SH_OP_unary] = each,
    [SH_OP_unary_grad] = each,
    [SH_OP_binary_cross_entropy] = loss_of_all,
    [SH_OP_binary_cross_entropy_grad] = loss_of_all,
    [SH_OP_mse] = loss_of_all,
    [SH_OP_mse_grad] = loss_of_all,
    [SH_OP_scale_grad] = scale_grad,
    [SH_OP_softmax] = softmax,
    [SH_OP_softmax_grad] = softmax,
    [SH_OP_log_softmax] = softmax,
    [SH_OP_log_softmax_grad] = softmax,
    [SH_OP_layer_norm] = row_norm,
    [SH_OP_layer_norm_grad] = row_norm_grad,
    [SH_OP_group_norm] = row_norm,
    [SH_OP_group_norm_grad] = row_norm_grad,
    [SH_OP_broadcast] = broadcast,
    [SH_OP_expand] = expand,
    [SH_OP_reduce] = reduce,
    [SH_OP_reduce_grad] = reduce_grad,
    [SH_OP_gather] = gather,
    [SH_OP_gather_grad] = gather_grad,
};

sh_status sh_gpu_lower(const sh_gpu_call *call)
{
    if (lowerings[call->node->op] == NULL)
        return sh_fail(SH_UNSUPPORTED, "the operator %s cannot be computed by a GPU yet",
                       sh_op_about(call->node->op)->name);
    return lowerings[call->node->op](call);
}
