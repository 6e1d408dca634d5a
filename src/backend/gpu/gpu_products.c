/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If grains share weights, products and convolutions treat all samples as those of one grain.
 * Gradients of weights are by grain.
 */
#include "backend/gpu/gpu_products.h"

#define PRODUCT_ITEMS 256 /* as in product.cl and convolution.cl */
#define SUM_ITEMS 64      /* of bias_grad, as in convolution.cl */
#define LONG_ITEMS 128    /* LONG_BLOCK of convolution.cl */
#define LONG_TAPS 16      /* as in convolution.cl */
#define LONG_CHAIN 512
#define FEW_ITEMS 128    /* per unit of the GPU */
#define DEPTHWISE_MAX 64 /* taps on each axis */

/* ---- products -------------------------------------------------------------------------------- */

/*
 * `alone`, `busy`: approximate cycles of a multiprocessor per element of a tile's chains without
 * other tiles there, and with others. Measured on an NVIDIA H200.
 */
typedef struct gpu_tile {
    const char *kernel, *backward;
    uint32_t rows, columns, items, alone, busy;
} gpu_tile;

/* Returns the tile that completes `products` products first, or the one that a test forces. */
static const gpu_tile *tile_for(const sh_gpu_call *call, const gpu_tile *all, size_t count,
                                const sh_gpu_work *work, uint32_t products)
{
    const gpu_tile *best = all;
    uint64_t least = UINT64_MAX;
    if (call->tile < count)
        return &all[call->tile];
    for (size_t i = 0; i < count; i++) {
        const uint64_t there =
            (uint64_t)tiles(work->M, all[i].rows) * tiles(work->N, all[i].columns) * products;
        const uint64_t busy = (there + call->units - 1) / call->units * all[i].busy;
        const uint64_t cycles = busy > all[i].alone ? busy : all[i].alone;
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
    static const gpu_tile all[] = {
        {"product_64", NULL, 64, 64, PRODUCT_ITEMS, 90, 80},
        {"product_32", NULL, 32, 32, PRODUCT_ITEMS, 45, 36},
        {"product_16", NULL, 16, 16, PRODUCT_ITEMS, 25, 17},
    };
    const gpu_tile *const tile = tile_for(call, all, sizeof all / sizeof *all, work, batches);
    const uint32_t grid[3] = {tiles(work->N, tile->columns), tiles(work->M, tile->rows), batches};
    return sh_gpu_append(call, tile->kernel, work, grid, tile->items, values, 4);
}

/* Treats all samples as those of one grain if only input 0 differs between grains. */
static void merge(sh_gpu_work *work, uint32_t *samples)
{
    if (work->step[0] == 0 || work->step[1] != 0 || work->step[2] != 0)
        return;
    *samples *= work->grains;
    work->grains = 1;
    work->step[0] = 0;
}

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

/* Sums each channel of dy [samples, channels, inner], input `input`, into `out`. */
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

/* a [batch, m, k], b [batch, k, n]; either may be transposed. */
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

/* The same choice as in backend/lower/conv2d.c, because it decides which places are outside. */
static bool is_depthwise(const sh_gpu_work *work)
{
    return work->groups > 1 && work->channels == work->groups && work->outputs == work->groups &&
           work->taps[0] <= DEPTHWISE_MAX && work->taps[1] <= DEPTHWISE_MAX;
}

static const gpu_tile convolution_tiles[] = {
    {"conv2d_16x128", "conv2d_16x128", 16, 128, 128, 117, 62},
    {"conv2d_32x256", "conv2d_32x256", 32, 256, 256, 213, 182},
    {"conv2d_32x64", "conv2d_32x64", 32, 64, 128, 127, 55},
    {"conv2d_64x256", "conv2d_grad_input_64x256", 64, 256, 256, 306, 250},
    {"conv2d_64x64", "conv2d_64x64", 64, 64, 256, 155, 85},
};

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
    work->function = backward;
    work->K = backward ? work->outputs / work->groups : in;
    merge(work, &work->samples);
    work->N = work->samples *
              (backward ? work->image[0] * work->image[1] : work->windows[0] * work->windows[1]);
    const uint32_t products = work->grains * work->groups;
    const gpu_tile *const tile =
        tile_for(call, convolution_tiles, sizeof convolution_tiles / sizeof *convolution_tiles,
                 work, products);
    const uint32_t grid[3] = {tiles(work->N, tile->columns), tiles(work->M, tile->rows), products};
    return sh_gpu_append(call, backward ? tile->backward : tile->kernel, work, grid, tile->items,
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

/* An item for each weight, or if these are too few for the GPU and chains are long, a group for
 * each channel. */
static sh_status depthwise_grad_weight(const sh_gpu_call *call, const sh_gpu_work *work)
{
    const uint32_t grid[3] = {work->channels * work->grains,
                              tiles(work->taps[0] * work->taps[1], LONG_TAPS), 1};
    if (work->K < LONG_CHAIN || work->total >= FEW_ITEMS * call->units)
        return sh_gpu_append_each(call, "depthwise_grad_weight", work, 2);
    return sh_gpu_append(call, "depthwise_grad_weight_long", work, grid, LONG_ITEMS,
                         (sh_value_id[]){call->node->in[0], call->node->in[1], call->node->out[0]},
                         3);
}

sh_status sh_gpu_lower_conv2d_grad_weight(const sh_gpu_call *call)
{
    const sh_node *node = call->node;
    sh_gpu_work work = image_work(call, &call->in[0], &call->in[1], &call->out[0].shape.dim[2]);
    const sh_value_id values[3] = {node->in[0], node->in[1], node->out[0]};
    work.M = work.outputs / work.groups;
    work.N = work.channels / work.groups * work.taps[0] * work.taps[1];
    work.K = work.samples * work.windows[0] * work.windows[1];
    static const gpu_tile all[] = {
        {"conv2d_grad_weight_128", NULL, 128, 128, 256, 269, 249},
        {"conv2d_grad_weight_64", NULL, 64, 64, 128, 96, 70},
        {"conv2d_grad_weight_32", NULL, 32, 32, PRODUCT_ITEMS, 48, 36},
        {"conv2d_grad_weight_16", NULL, 16, 16, PRODUCT_ITEMS, 26, 17},
    };
    const uint32_t products = work.grains * work.groups;
    const gpu_tile *const tile = tile_for(call, all, sizeof all / sizeof *all, &work, products);
    const uint32_t grid[3] = {tiles(work.N, tile->columns), tiles(work.M, tile->rows), products};
    if (is_depthwise(&work))
        SH_TRY(depthwise_grad_weight(call, &work));
    else
        SH_TRY(sh_gpu_append(call, tile->kernel, &work, grid, tile->items, values, 3));
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

/* x is [outer, middle, inner] around the dimensions of the mean. */
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
