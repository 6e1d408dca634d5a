/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products, convolutions and what else goes over images, as launches of kernels. Products and
 * convolutions are merged over grains where these share their weights: then all samples are those
 * of one grain. Gradients of weights, which go by grain, never are.
 */
#include "backend/gpu/gpu_products.h"

#define PRODUCT_ITEMS 256 /* as in product.cl and convolution.cl */
#define SUM_ITEMS 64      /* of bias_grad */
#define DEPTHWISE_MAX                                                                              \
    64 /* taps each way: beyond, weights' gradients are as of other convolutions */

/* ---- products -------------------------------------------------------------------------------- */

/* A tile of a product, and what an element of each of its chains takes it, about, in cycles. */
typedef struct product_tile {
    const char *product, *grad_weight; /* kernels */
    uint32_t side, cycles;
} product_tile;

/* The tiles of which all are done soonest: one after the other on each unit. */
static const product_tile *product_tile_for(const sh_gpu_call *call, const sh_gpu_work *work,
                                            uint32_t products)
{
    static const product_tile all[] = {
        {"product_64", "conv2d_grad_weight_64", 64, 50},
        {"product_32", "conv2d_grad_weight_32", 32, 14},
        {"product_16", "conv2d_grad_weight_16", 16, 6},
    };
    const product_tile *best = all;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const uint64_t count =
            (uint64_t)tiles(work->N, all[i].side) * tiles(work->M, all[i].side) * products;
        const uint64_t cycles = (count + call->units - 1) / call->units * all[i].cycles;
        if (cycles < least) {
            least = cycles;
            best = &all[i];
        }
    }
    return best;
}

/* values: a, b, bias, c. */
static sh_status product(const sh_gpu_call *call, sh_gpu_work *work, const sh_value_id values[4])
{
    work->has_bias = values[2] != SH_NO_VALUE;
    const uint32_t batches = work->grains * work->batch;
    const product_tile *const tile = product_tile_for(call, work, batches);
    const uint32_t grid[3] = {tiles(work->N, tile->side), tiles(work->M, tile->side), batches};
    return sh_gpu_append(call, tile->product, work, grid, PRODUCT_ITEMS, values, 4);
}

/* Takes all samples for those of one grain where only input 0 is not shared. */
static void merge(sh_gpu_work *work, uint32_t *samples)
{
    if (work->step[0] == 0 || work->step[1] != 0 || work->step[2] != 0)
        return;
    *samples *= work->grains;
    work->grains = 1;
    work->step[0] = 0;
}

/* y [n, o] of x [n, k] and w [o, k]. */
sh_status sh_gpu_lower_linear(const sh_gpu_call *call)
{
    const sh_node *node = call->node;
    sh_gpu_work work = sh_gpu_work_of(call);
    work.M = (uint32_t)call->in[0].shape.dim[0];
    work.N = (uint32_t)call->in[1].shape.dim[0];
    work.K = work.a_row = work.b_column = (uint32_t)call->in[0].shape.dim[1];
    work.a_column = work.b_row = work.batch = 1;
    merge(&work, &work.M);
    return product(call, &work,
                   (sh_value_id[]){node->in[0], node->in[1],
                                   node->input_count > 2 ? node->in[2] : SH_NO_VALUE,
                                   node->out[0]});
}

/* dx [n, k] of dy [n, o] and w [o, k]. */
sh_status sh_gpu_lower_linear_grad_input(const sh_gpu_call *call)
{
    const sh_node *node = call->node;
    sh_gpu_work work = sh_gpu_work_of(call);
    work.M = (uint32_t)call->in[0].shape.dim[0];
    work.N = work.b_row = (uint32_t)call->in[1].shape.dim[1];
    work.K = work.a_row = (uint32_t)call->in[0].shape.dim[1];
    work.a_column = work.b_column = work.batch = 1;
    merge(&work, &work.M);
    return product(call, &work,
                   (sh_value_id[]){node->in[0], node->in[1], SH_NO_VALUE, node->out[0]});
}

/* The sum of each channel of dy [samples, channels, inner], which is input `input`, into `out`. */
static sh_status sum_channels(const sh_gpu_call *call, uint32_t input, sh_value_id out)
{
    const sh_shape *dy = &call->in[input].shape;
    sh_gpu_work work = sh_gpu_work_of(call);
    work.count = (uint32_t)dy->dim[1];
    work.samples = (uint32_t)dy->dim[0];
    work.inner = elements(&call->in[input]) / (work.samples * work.count);
    work.chains = work.count > 256 ? 1 : 256 / work.count;
    work.step[0] = work.step[input];
    return sh_gpu_append(call, "bias_grad", &work, (uint32_t[]){work.count * work.grains, 1, 1},
                         SUM_ITEMS, (sh_value_id[]){call->node->in[input], out}, 2);
}

sh_status sh_gpu_lower_bias_grad(const sh_gpu_call *call)
{
    return sum_channels(call, 0, call->node->out[0]);
}

/* dw [o, k] of dy [n, o] and x [n, k]. */
sh_status sh_gpu_lower_linear_grad_weight(const sh_gpu_call *call)
{
    const sh_node *node = call->node;
    sh_gpu_work work = sh_gpu_work_of(call);
    work.M = work.a_column = (uint32_t)call->in[1].shape.dim[1];
    work.N = work.b_row = (uint32_t)call->in[0].shape.dim[1];
    work.K = (uint32_t)call->in[0].shape.dim[0];
    work.a_row = work.b_column = work.batch = 1;
    work.step[0] = call->step[1];
    work.step[1] = call->step[0];
    SH_TRY(
        product(call, &work, (sh_value_id[]){node->in[1], node->in[0], SH_NO_VALUE, node->out[0]}));
    return attributes_of(call)->no_bias ? SH_OK : sum_channels(call, 1, node->out[1]);
}

/* a [batch, m, k] b [batch, k, n], either of them transposed. */
sh_status sh_gpu_lower_matmul(const sh_gpu_call *call)
{
    const sh_node *node = call->node;
    const sh_shape *a = &call->in[0].shape, *y = &call->out[0].shape;
    const bool *transposed = attributes_of(call)->transposed;
    sh_gpu_work work = sh_gpu_work_of(call);
    work.batch = y->rank == 3 ? (uint32_t)y->dim[0] : 1;
    work.M = (uint32_t)y->dim[y->rank - 2];
    work.N = (uint32_t)y->dim[y->rank - 1];
    work.K = (uint32_t)a->dim[transposed[0] ? y->rank - 2 : y->rank - 1];
    work.a_row = transposed[0] ? 1 : work.K;
    work.a_column = transposed[0] ? work.M : 1;
    work.b_row = transposed[1] ? 1 : work.N;
    work.b_column = transposed[1] ? work.K : 1;
    return product(call, &work,
                   (sh_value_id[]){node->in[0], node->in[1], SH_NO_VALUE, node->out[0]});
}

/* ---- images ---------------------------------------------------------------------------------- */

/* x and y are the images before and behind the windows, taps the extent of a window. */
static sh_gpu_work image_work(const sh_gpu_call *call, const sh_type *x, const sh_type *y,
                              const size_t *taps)
{
    const sh_attributes *a = attributes_of(call);
    sh_gpu_work work = sh_gpu_work_of(call);
    work.samples = (uint32_t)x->shape.dim[0];
    work.channels = (uint32_t)x->shape.dim[1];
    work.outputs = (uint32_t)y->shape.dim[1];
    work.groups = (uint32_t)a->groups;
    work.inside = a->inside;
    work.padded = a->padding[0] > 0 || a->end_padding[0] > 0;
    for (int i = 0; i < 2; i++) {
        work.image[i] = (uint32_t)x->shape.dim[2 + i];
        work.windows[i] = (uint32_t)y->shape.dim[2 + i];
        work.taps[i] = (uint32_t)taps[i];
        work.stride[i] = (uint32_t)a->stride[i];
        work.padding[i] = (uint32_t)a->padding[i];
        work.end_padding[i] = (uint32_t)a->end_padding[i];
        work.dilation[i] = (uint32_t)a->dilation[i];
    }
    return work;
}

/* As the processor's kernels choose it (backend/lower/conv2d.c): it decides what lies outside of
 * the image. */
static bool is_depthwise(const sh_gpu_work *work)
{
    return work->groups > 1 && work->channels == work->groups && work->outputs == work->groups &&
           work->taps[0] <= DEPTHWISE_MAX && work->taps[1] <= DEPTHWISE_MAX;
}

typedef struct convolution_tile {
    const char *forward, *backward; /* kernels */
    uint32_t channels, positions;
} convolution_tile;

/* The tile that has few channels too many, or, where there is little to do, the smallest. */
static const convolution_tile *convolution_tile_for(const sh_gpu_call *call,
                                                    const sh_gpu_work *work)
{
    static const convolution_tile all[] = {
        {"conv2d_16x256", "conv2d_grad_input_16x256", 16, 256},
        {"conv2d_32x256", "conv2d_grad_input_32x256", 32, 256},
        {"conv2d_64x256", "conv2d_grad_input_64x256", 64, 256},
        {"conv2d_128x128", "conv2d_grad_input_128x128", 128, 128},
    };
    static const convolution_tile small = {"conv2d_64x64", "conv2d_grad_input_64x64", 64, 64};
    const convolution_tile *best = all;
    for (size_t i = 1; i < sizeof all / sizeof *all; i++)
        if (tiles(work->M, all[i].channels) * all[i].channels <=
            tiles(work->M, best->channels) * best->channels)
            best = &all[i];
    const uint64_t count = (uint64_t)tiles(work->N, best->positions) *
                           tiles(work->M, best->channels) * work->grains * work->groups;
    return best->channels >= 64 && count < 2 * (uint64_t)call->units ? &small : best;
}

/* M channels are made of K in each group, at `positions` of each sample. */
static sh_status convolve(const sh_gpu_call *call, bool backward, sh_gpu_work *work)
{
    const sh_node *node = call->node;
    const uint32_t places = work->taps[0] * work->taps[1], in = work->channels / work->groups;
    const sh_value_id values[4] = {node->in[0], node->in[1],
                                   node->input_count > 2 ? node->in[2] : SH_NO_VALUE, node->out[0]};
    work->has_bias = values[2] != SH_NO_VALUE;
    if (is_depthwise(work))
        return sh_gpu_append(call, backward ? "depthwise_grad_input" : "depthwise", work,
                             (uint32_t[]){tiles(work->total, SH_GPU_ITEMS), 1, 1}, SH_GPU_ITEMS,
                             values, 4);
    work->w_place = 1;
    work->w_in = places;
    work->w_out = places * in;
    work->M = backward ? in : work->outputs / work->groups;
    work->K = backward ? work->outputs / work->groups : in;
    merge(work, &work->samples);
    work->N = work->samples *
              (backward ? work->image[0] * work->image[1] : work->windows[0] * work->windows[1]);
    const convolution_tile *const tile = convolution_tile_for(call, work);
    const uint32_t grid[3] = {tiles(work->N, tile->positions), tiles(work->M, tile->channels),
                              work->grains * work->groups};
    return sh_gpu_append(call, backward ? tile->backward : tile->forward, work, grid, PRODUCT_ITEMS,
                         values, 4);
}

sh_status sh_gpu_lower_conv2d(const sh_gpu_call *call)
{
    sh_gpu_work work = image_work(call, &call->in[0], &call->out[0], &call->in[1].shape.dim[2]);
    return convolve(call, false, &work);
}

sh_status sh_gpu_lower_conv2d_grad_input(const sh_gpu_call *call)
{
    sh_gpu_work work = image_work(call, &call->out[0], &call->in[0], &call->in[1].shape.dim[2]);
    return convolve(call, true, &work);
}

sh_status sh_gpu_lower_conv2d_grad_weight(const sh_gpu_call *call)
{
    const sh_node *node = call->node;
    sh_gpu_work work = image_work(call, &call->in[0], &call->in[1], &call->out[0].shape.dim[2]);
    const sh_value_id values[3] = {node->in[0], node->in[1], node->out[0]};
    work.M = work.outputs / work.groups;
    work.N = work.channels / work.groups * work.taps[0] * work.taps[1];
    work.K = work.samples * work.windows[0] * work.windows[1];
    const product_tile *const tile = product_tile_for(call, &work, work.grains * work.groups);
    const uint32_t grid[3] = {tiles(work.N, tile->side), tiles(work.M, tile->side),
                              work.grains * work.groups};
    if (is_depthwise(&work))
        SH_TRY(sh_gpu_append_each(call, "depthwise_grad_weight", &work, 2));
    else
        SH_TRY(sh_gpu_append(call, tile->grad_weight, &work, grid, PRODUCT_ITEMS, values, 3));
    return attributes_of(call)->no_bias ? SH_OK : sum_channels(call, 1, node->out[1]);
}

sh_status sh_gpu_lower_max_pool(const sh_gpu_call *call)
{
    const sh_gpu_work work =
        image_work(call, &call->in[0], &call->out[0], attributes_of(call)->kernel);
    return sh_gpu_append(
        call, "max_pool", &work, (uint32_t[]){tiles(work.total, SH_GPU_ITEMS), 1, 1}, SH_GPU_ITEMS,
        (sh_value_id[]){call->node->in[0], call->node->out[0], call->node->out[1]}, 3);
}

sh_status sh_gpu_lower_pool(const sh_gpu_call *call)
{
    const sh_gpu_work work =
        image_work(call, &call->in[0], &call->out[0], attributes_of(call)->kernel);
    return sh_gpu_append_each(call, "avg_pool", &work, 1);
}

sh_status sh_gpu_lower_pool_grad(const sh_gpu_call *call)
{
    const sh_gpu_work work =
        image_work(call, &call->out[0], &call->in[0], attributes_of(call)->kernel);
    return sh_gpu_append_each(call, sh_op_about(call->node->op)->name, &work,
                              call->node->input_count);
}

_Static_assert(RESIZE_HALF_PIXEL_SYMMETRIC == (int)SH_RESIZE_HALF_PIXEL_SYMMETRIC &&
                   RESIZE_CUBIC == (int)SH_RESIZE_CUBIC,
               "work.h counts as graph/attributes.h");

static sh_status resize_of(const sh_gpu_call *call, const sh_type *x, const sh_type *y)
{
    const sh_attributes *a = attributes_of(call);
    sh_gpu_work work = image_work(call, x, y, a->kernel);
    work.position = a->position;
    work.method = a->method;
    work.scale[0] = a->scale[0];
    work.scale[1] = a->scale[1];
    work.number = a->number == 0 ? SH_RESIZE_COEFFICIENT : a->number;
    return sh_gpu_append_each(call, sh_op_about(call->node->op)->name, &work, 1);
}

sh_status sh_gpu_lower_resize(const sh_gpu_call *call)
{
    return resize_of(call, &call->in[0], &call->out[0]);
}

sh_status sh_gpu_lower_resize_grad(const sh_gpu_call *call)
{
    return resize_of(call, &call->out[0], &call->in[0]);
}

/* x is [outer, middle, inner] around what the mean is over. */
static sh_status mean_of(const sh_gpu_call *call, const sh_shape *x)
{
    const sh_attributes *a = attributes_of(call);
    sh_gpu_work work = sh_gpu_work_of(call);
    work.outer = work.middle = work.inner = 1;
    for (size_t i = 0; i < x->rank; i++)
        *(i < a->axis             ? &work.outer
          : i < a->axis + a->axes ? &work.middle
                                  : &work.inner) *= (uint32_t)x->dim[i];
    const bool image = x->rank == 4 && a->axis == 2 && a->axes == 2;
    work.function = work.inner > 1 || image; /* in order; else in 16 parts */
    return sh_gpu_append_each(call, sh_op_about(call->node->op)->name, &work, 1);
}

sh_status sh_gpu_lower_mean(const sh_gpu_call *call)
{
    return mean_of(call, &call->in[0].shape);
}

sh_status sh_gpu_lower_mean_grad(const sh_gpu_call *call)
{
    return mean_of(call, &call->out[0].shape);
}
