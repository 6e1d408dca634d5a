/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "onnx/builder_parts.h"
#include "onnx/onnx_types.h"

#define LISTED_MOST 256 /* inputs of a node */
#define NAME_BYTES 160

static size_t or_one(size_t number)
{
    return number == 0 ? 1 : number;
}

/* ---- any operator -----------------------------------------------------------------------------
 */

sh_layer sh_build_node(sh_builder *builder, const char *op, const sh_layer *inputs, size_t count,
                       const char *settings)
{
    char *names[LISTED_MOST];
    sh_layer y;
    if (count > LISTED_MOST)
        return sh_builder_failed(builder,
                                 sh_fail(SH_LIMIT, "%.64s: at most %d inputs", op, LISTED_MOST));
    for (size_t i = 0; i < count; i++)
        names[i] = inputs[i] == SH_NO_LAYER && builder->status == SH_OK
                       ? sh_emit_text(&builder->e, "")
                       : sh_builder_name(builder, inputs[i]);
    sh_emitted *node = sh_builder_node(builder, &y, op, count, names, NULL);
    sh_builder_set(builder, node, settings);
    return y;
}

sh_layer sh_build_apply(sh_builder *builder, const char *op, sh_layer x)
{
    char *name = sh_builder_name(builder, x);
    sh_layer y;
    (void)sh_builder_node(builder, &y, op, 1, &name, NULL);
    return y;
}

sh_layer sh_build_pair(sh_builder *builder, const char *op, sh_layer a, sh_layer b)
{
    char *names[] = {sh_builder_name(builder, a), sh_builder_name(builder, b)};
    sh_layer y;
    (void)sh_builder_node(builder, &y, op, 2, names, NULL);
    return y;
}

/* ---- tensors ----------------------------------------------------------------------------------
 */

sh_layer sh_build_integers(sh_builder *builder, const int64_t *values, size_t count)
{
    return sh_builder_goes_on(builder)
               ? sh_builder_give(builder, sh_emit_integers(&builder->e, values, count))
               : SH_NO_LAYER;
}

static bool read_shape(sh_shape *to, sh_builder *builder, const size_t *shape, size_t rank)
{
    if (rank > SH_MAX_RANK) {
        (void)sh_builder_failed(builder,
                                sh_fail(SH_LIMIT, "%zu dimensions: at most %d", rank, SH_MAX_RANK));
        return false;
    }
    *to = sh_shape_of(rank, shape);
    const sh_status status = sh_shape_check(to);
    (void)sh_builder_failed(builder, status);
    return status == SH_OK;
}

sh_layer sh_build_numbers(sh_builder *builder, const float *values, const size_t *shape,
                          size_t rank)
{
    sh_shape of;
    if (!sh_builder_goes_on(builder) || !read_shape(&of, builder, shape, rank))
        return SH_NO_LAYER;
    char *name = sh_emit_fresh(&builder->e);
    float *copy = sh_emit_take(&builder->e, sh_shape_count(&of), sizeof *copy);
    if (copy != NULL)
        memcpy(copy, values, sh_shape_count(&of) * sizeof *copy);
    sh_emit_tensor(&builder->e, name, &of, copy);
    return sh_builder_give(builder, name);
}

sh_layer sh_build_weight(sh_builder *builder, const char *name, const size_t *shape, size_t rank)
{
    sh_shape of;
    if (!sh_builder_goes_on(builder) || !read_shape(&of, builder, shape, rank))
        return SH_NO_LAYER;
    return sh_builder_give(builder, sh_builder_weight(builder, name, "", &of));
}

static char *vector(sh_builder *builder, const char *name, const char *part, size_t count)
{
    const sh_shape shape = sh_shape_of(1, &count);
    return sh_builder_weight(builder, name, part, &shape);
}

static char *matrix(sh_builder *builder, const char *name, const char *part, size_t rows,
                    size_t columns)
{
    const sh_shape shape = sh_shape_of(2, (size_t[]){rows, columns});
    return sh_builder_weight(builder, name, part, &shape);
}

/* ---- layers with weights ----------------------------------------------------------------------
 */

static void set_sides(sh_builder *builder, sh_emitted *node, const char *name, size_t sides,
                      size_t rows, size_t columns)
{
    const int64_t values[] = {(int64_t)rows, (int64_t)columns};
    sh_emit_ints(&builder->e, node, name, values + 2 - sides, sides);
}

/* Pads both ends alike. */
static void set_pads(sh_builder *builder, sh_emitted *node, size_t sides, size_t rows,
                     size_t columns)
{
    const int64_t of_image[] = {(int64_t)rows, (int64_t)columns, (int64_t)rows, (int64_t)columns};
    const int64_t of_line[] = {(int64_t)columns, (int64_t)columns};
    sh_emit_ints(&builder->e, node, "pads", sides == 2 ? of_image : of_line, 2 * sides);
}

sh_layer sh_build_conv(sh_builder *builder, sh_layer x, const char *name, const sh_conv_layer *of)
{
    const sh_shape *in = sh_builder_shape(builder, x, name, 3);
    sh_layer y;
    if (in == NULL)
        return SH_NO_LAYER;
    const size_t groups = or_one(of->groups), inputs = in->dim[1], sides = in->rank - 2;
    const size_t width = of->kernel_width == 0 ? of->kernel : of->kernel_width;
    const size_t stride = or_one(of->stride);
    const size_t wide = of->padding_width == 0 ? of->padding : of->padding_width;
    if (sides > 2 || of->kernel == 0 || of->channels == 0 || inputs % groups != 0 ||
        of->channels % groups != 0)
        return sh_builder_failed(
            builder, sh_fail(SH_INVALID,
                             "layer %.64s: a kernel of %zu, %zu channels from %zu in %zu groups; "
                             "expected images or lines, and channels that groups divide",
                             name, of->kernel, of->channels, inputs, groups));
    sh_shape weight = sh_shape_of(4, (size_t[]){of->channels, inputs / groups, of->kernel, width});
    if (of->transposed) {
        weight.dim[0] = inputs;
        weight.dim[1] = of->channels / groups;
    }
    if (sides == 1)
        weight = sh_shape_of(3, (size_t[]){weight.dim[0], weight.dim[1], width});
    char *names[] = {sh_builder_name(builder, x),
                     sh_builder_weight(builder, name, "weight", &weight),
                     of->no_bias ? NULL : vector(builder, name, "bias", of->channels)};
    sh_emitted *node = sh_builder_node(builder, &y, of->transposed ? "ConvTranspose" : "Conv",
                                       of->no_bias ? 2 : 3, names, name);
    set_sides(builder, node, "strides", sides, stride,
              of->stride_width == 0 ? stride : of->stride_width);
    set_sides(builder, node, "dilations", sides, or_one(of->dilation), or_one(of->dilation));
    set_sides(builder, node, "kernel_shape", sides, of->kernel, width);
    set_pads(builder, node, sides, of->padding, wide);
    sh_emit_int(&builder->e, node, "group", (int64_t)groups);
    if (of->transposed)
        set_sides(builder, node, "output_padding", sides, of->output_padding, of->output_padding);
    return y;
}

sh_layer sh_build_dense(sh_builder *builder, sh_layer x, const char *name, size_t outputs)
{
    const sh_shape *in = sh_builder_shape(builder, x, name, 2);
    sh_layer y, product;
    if (in == NULL)
        return SH_NO_LAYER;
    const size_t inputs = in->dim[in->rank - 1];
    const bool rows = in->rank == 2;
    char *names[] = {sh_builder_name(builder, x),
                     rows ? matrix(builder, name, "weight", outputs, inputs)
                          : matrix(builder, name, "weight", inputs, outputs),
                     vector(builder, name, "bias", outputs)};
    if (rows) {
        sh_emit_int(&builder->e, sh_builder_node(builder, &y, "Gemm", 3, names, name), "transB", 1);
        return y;
    }
    (void)sh_builder_node(builder, &product, "MatMul", 2, names, NULL);
    char *sum[] = {sh_builder_name(builder, product), names[2]};
    (void)sh_builder_node(builder, &y, "Add", 2, sum, name);
    return y;
}

sh_layer sh_build_batch_norm(sh_builder *builder, sh_layer x, const char *name)
{
    const sh_shape *in = sh_builder_shape(builder, x, name, 2);
    sh_layer y;
    if (in == NULL)
        return SH_NO_LAYER;
    const size_t channels = in->dim[1];
    char *names[] = {sh_builder_name(builder, x), vector(builder, name, "weight", channels),
                     vector(builder, name, "bias", channels),
                     vector(builder, name, "running_mean", channels),
                     vector(builder, name, "running_var", channels)};
    (void)sh_builder_node(builder, &y, "BatchNormalization", 5, names, name);
    return y;
}

sh_layer sh_build_layer_norm(sh_builder *builder, sh_layer x, const char *name)
{
    const sh_shape *in = sh_builder_shape(builder, x, name, 2);
    sh_layer y;
    if (in == NULL)
        return SH_NO_LAYER;
    const size_t width = in->dim[in->rank - 1];
    char *names[] = {sh_builder_name(builder, x), vector(builder, name, "weight", width),
                     vector(builder, name, "bias", width)};
    sh_emitted *node = sh_builder_node(builder, &y, "LayerNormalization", 3, names, name);
    sh_emit_int(&builder->e, node, "axis", -1);
    return y;
}

sh_layer sh_build_embedding(sh_builder *builder, sh_layer x, const char *name, size_t entries,
                            size_t width)
{
    char *in = sh_builder_name(builder, x);
    sh_layer whole, y;
    sh_emitted *node = sh_builder_node(builder, &whole, "Cast", 1, &in, NULL);
    sh_emit_int(&builder->e, node, "to", SH_ONNX_INT64);
    char *names[] = {matrix(builder, name, "weight", entries, width),
                     sh_builder_name(builder, whole)};
    (void)sh_builder_node(builder, &y, "Gather", 2, names, name);
    return y;
}

/* Splits a dense layer on x into [N, heads, T, F / heads], or [N, heads, F / heads, T] if
 * `turned`. */
static sh_layer heads_of(sh_builder *builder, sh_layer x, const char *name, const char *part,
                         size_t heads, bool turned)
{
    const sh_shape *in = sh_builder_shape(builder, x, name, 3);
    char own[NAME_BYTES];
    if (in == NULL)
        return SH_NO_LAYER;
    snprintf(own, sizeof own, "%.128s.%s", name, part);
    const size_t width = in->dim[2];
    const int64_t shape[] = {0, 0, (int64_t)heads, -1};
    const size_t straight[] = {0, 2, 1, 3}, across[] = {0, 2, 3, 1};
    sh_layer y = sh_build_dense(builder, x, own, width);
    y = sh_build_reshape(builder, y, shape, 4);
    return sh_build_transpose(builder, y, turned ? across : straight);
}

sh_layer sh_build_attention(sh_builder *builder, sh_layer x, const char *name, size_t heads)
{
    const sh_shape *in = sh_builder_shape(builder, x, name, 3);
    if (in == NULL)
        return SH_NO_LAYER;
    const size_t width = in->dim[2];
    if (in->rank != 3 || heads == 0 || width % heads != 0)
        return sh_builder_failed(
            builder,
            sh_fail(
                SH_INVALID,
                "layer %.64s: %zu heads for %zu features, expected [N, T, F] and a divisor of F",
                name, heads, width));
    const size_t of_a_head = width / heads;
    const float root = sqrtf((float)of_a_head);
    const sh_layer query = heads_of(builder, x, name, "query", heads, false);
    const sh_layer key = heads_of(builder, x, name, "key", heads, true);
    const sh_layer value = heads_of(builder, x, name, "value", heads, false);
    const size_t back[] = {0, 2, 1, 3};
    const int64_t shape[] = {0, 0, (int64_t)width};
    char own[NAME_BYTES];
    sh_layer y = sh_build_pair(builder, "MatMul", query, key);
    y = sh_build_pair(builder, "Div", y, sh_build_numbers(builder, &root, NULL, 0));
    y = sh_build_pair(builder, "MatMul", sh_build_softmax(builder, y), value);
    y = sh_build_reshape(builder, sh_build_transpose(builder, y, back), shape, 3);
    snprintf(own, sizeof own, "%.128s.out", name);
    return sh_build_dense(builder, y, own, width);
}

sh_layer sh_build_recurrent(sh_builder *builder, sh_layer x, const char *name, const char *cell,
                            size_t units, bool both)
{
    const sh_shape *in = sh_builder_shape(builder, x, name, 3);
    sh_layer y;
    if (in == NULL)
        return SH_NO_LAYER;
    const size_t gates = strcmp(cell, "LSTM") == 0  ? 4
                         : strcmp(cell, "GRU") == 0 ? 3
                         : strcmp(cell, "RNN") == 0 ? 1
                                                    : 0;
    if (gates == 0 || in->rank != 3)
        return sh_builder_failed(
            builder, sh_fail(SH_INVALID,
                             "layer %.64s: the cell must be LSTM, GRU or RNN, of [N, T, F]", name));
    const size_t directions = both ? 2 : 1, features = in->dim[2];
    const sh_shape of_x = sh_shape_of(3, (size_t[]){directions, gates * units, features});
    const sh_shape of_h = sh_shape_of(3, (size_t[]){directions, gates * units, units});
    const size_t first[] = {1, 0, 2}, back[] = {2, 0, 1, 3};
    const int64_t shape[] = {0, 0, (int64_t)(directions * units)};
    char *names[] = {sh_builder_name(builder, sh_build_transpose(builder, x, first)),
                     sh_builder_weight(builder, name, "weight_x", &of_x),
                     sh_builder_weight(builder, name, "weight_h", &of_h),
                     matrix(builder, name, "bias", directions, 2 * gates * units)};
    sh_emitted *node = sh_builder_node(builder, &y, cell, 4, names, name);
    sh_emit_int(&builder->e, node, "hidden_size", (int64_t)units);
    sh_builder_word(builder, node, "direction", both ? "bidirectional" : "forward");
    if (gates == 3) /* as in PyTorch */
        sh_emit_int(&builder->e, node, "linear_before_reset", 1);
    /* y is [T, D, N, H] */
    return sh_build_reshape(builder, sh_build_transpose(builder, y, back), shape, 3);
}

/* ---- layers without weights -------------------------------------------------------------------
 */

static sh_layer pool(sh_builder *builder, const char *op, sh_layer x, size_t kernel, size_t stride,
                     size_t padding)
{
    const sh_shape *in = sh_builder_shape(builder, x, op, 3);
    sh_layer y;
    if (in == NULL)
        return SH_NO_LAYER;
    const size_t sides = in->rank - 2, step = stride == 0 ? kernel : stride;
    char *name = sh_builder_name(builder, x);
    if (sides > 2)
        return sh_builder_failed(builder, sh_fail(SH_INVALID, "%s: expected images or lines", op));
    sh_emitted *node = sh_builder_node(builder, &y, op, 1, &name, NULL);
    set_sides(builder, node, "kernel_shape", sides, kernel, kernel);
    set_sides(builder, node, "strides", sides, step, step);
    set_pads(builder, node, sides, padding, padding);
    return y;
}

sh_layer sh_build_max_pool(sh_builder *builder, sh_layer x, size_t kernel, size_t stride,
                           size_t padding)
{
    return pool(builder, "MaxPool", x, kernel, stride, padding);
}

sh_layer sh_build_avg_pool(sh_builder *builder, sh_layer x, size_t kernel, size_t stride,
                           size_t padding)
{
    return pool(builder, "AveragePool", x, kernel, stride, padding);
}

sh_layer sh_build_global_pool(sh_builder *builder, sh_layer x)
{
    return sh_build_flatten(builder, sh_build_apply(builder, "GlobalAveragePool", x));
}

sh_layer sh_build_dropout(sh_builder *builder, sh_layer x, float p)
{
    char *names[] = {sh_builder_name(builder, x),
                     builder->status == SH_OK ? sh_emit_number(&builder->e, p) : NULL};
    sh_layer y;
    (void)sh_builder_node(builder, &y, "Dropout", 2, names, NULL);
    return y;
}

sh_layer sh_build_softmax(sh_builder *builder, sh_layer x)
{
    return sh_build_node(builder, "Softmax", &x, 1, "axis = -1");
}

sh_layer sh_build_flatten(sh_builder *builder, sh_layer x)
{
    return sh_build_node(builder, "Flatten", &x, 1, "axis = 1");
}

sh_layer sh_build_reshape(sh_builder *builder, sh_layer x, const int64_t *shape, size_t rank)
{
    return sh_build_pair(builder, "Reshape", x, sh_build_integers(builder, shape, rank));
}

sh_layer sh_build_transpose(sh_builder *builder, sh_layer x, const size_t *order)
{
    const sh_shape *in = sh_builder_shape(builder, x, "of a transposition", 1);
    const size_t rank = in == NULL ? 0 : in->rank;
    char *name = sh_builder_name(builder, x);
    int64_t axes[SH_MAX_RANK];
    sh_layer y;
    for (size_t i = 0; i < rank; i++)
        axes[i] = (int64_t)order[i];
    sh_emitted *node = sh_builder_node(builder, &y, "Transpose", 1, &name, NULL);
    sh_emit_ints(&builder->e, node, "perm", axes, rank);
    return y;
}

sh_layer sh_build_concat(sh_builder *builder, const sh_layer *x, size_t count, size_t axis)
{
    char settings[32];
    snprintf(settings, sizeof settings, "axis = %zu", axis);
    for (size_t i = 0; i < count; i++) /* SH_NO_LAYER is refused here */
        if (sh_builder_name(builder, x[i]) == NULL)
            return SH_NO_LAYER;
    return sh_build_node(builder, "Concat", x, count, settings);
}
