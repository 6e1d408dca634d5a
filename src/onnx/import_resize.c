/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "graph/general_layers.h"
#include "onnx/importer.h"

typedef struct named_choice {
    const char *text;
    uint32_t value;
} named_choice;

/* Without the attribute the first choice applies. */
static sh_status choose(uint32_t *value, sh_onnx_use *use, const char *attribute,
                        const named_choice *choices, size_t count)
{
    *value = choices[0].value;
    if (!sh_onnx_node_has(&use->node, attribute))
        return SH_OK;
    for (size_t i = 0; i < count; i++)
        if (sh_onnx_node_says(&use->node, attribute, choices[i].text)) {
            *value = choices[i].value;
            return SH_OK;
        }
    return sh_fail(SH_UNSUPPORTED, "its %s is not supported; export it with '%s'", attribute,
                   choices[0].text);
}

static sh_status read_method(sh_resize *of, sh_onnx_use *use)
{
    enum { NEAREST, LINEAR, CUBIC };
    static const named_choice modes[] = {
        {"nearest", NEAREST}, {"linear", LINEAR}, {"bilinear", LINEAR}, {"cubic", CUBIC}};
    static const named_choice rounding[] = {{"round_prefer_floor", SH_RESIZE_ROUND_DOWN},
                                            {"round_prefer_ceil", SH_RESIZE_ROUND_UP},
                                            {"floor", SH_RESIZE_FLOOR},
                                            {"ceil", SH_RESIZE_CEIL}};
    static const named_choice positions[] = {
        {"half_pixel", SH_RESIZE_HALF_PIXEL},
        {"half_pixel_symmetric", SH_RESIZE_HALF_PIXEL_SYMMETRIC},
        {"pytorch_half_pixel", SH_RESIZE_PYTORCH_HALF_PIXEL},
        {"asymmetric", SH_RESIZE_ASYMMETRIC},
        {"align_corners", SH_RESIZE_ALIGN_CORNERS}};
    const bool old = use->node.opset < 11; /* Upsample, and the first version of Resize */
    uint32_t mode, nearest = SH_RESIZE_FLOOR, position = SH_RESIZE_ASYMMETRIC;
    SH_TRY(choose(&mode, use, "mode", modes, 4));
    if (!old) {
        SH_TRY(choose(&nearest, use, "nearest_mode", rounding, 4));
        SH_TRY(choose(&position, use, "coordinate_transformation_mode", positions, 5));
    }
    of->method = mode == NEAREST  ? (sh_resize_method)nearest
                 : mode == LINEAR ? SH_RESIZE_LINEAR
                                  : SH_RESIZE_CUBIC;
    of->position = (sh_resize_position)position;
    of->coefficient =
        mode == CUBIC ? sh_onnx_node_number(&use->node, "cubic_coeff_a", SH_RESIZE_COEFFICIENT) : 0;
    if (mode == CUBIC && of->coefficient == 0)
        return sh_fail(SH_UNSUPPORTED, "its cubic_coeff_a is 0; export it with -0.75");
    of->inside = mode == CUBIC && sh_onnx_node_integer(&use->node, "exclude_outside", 0) != 0;
    if (mode == LINEAR && sh_onnx_node_integer(&use->node, "exclude_outside", 0) != 0)
        return sh_fail(SH_UNSUPPORTED, "exclude_outside is not supported; export it without");
    return SH_OK;
}

/* Reads all dimensions, or those in `axes`. */
static sh_status read_axes(size_t *axes, size_t count, sh_onnx_use *use, size_t rank)
{
    const int64_t *given;
    const size_t listed = sh_onnx_node_integers(&use->node, "axes", &given);
    if (count != (listed > 0 ? listed : rank))
        return sh_fail(SH_INVALID, "%zu scales or sizes for %zu dimensions", count,
                       listed > 0 ? listed : rank);
    for (size_t i = 0; i < count; i++) {
        axes[i] = i;
        if (listed > 0)
            SH_TRY(sh_onnx_axis(&axes[i], given[i], rank));
    }
    return SH_OK;
}

/* The target is `size` elements, or `scale` times as many as x has. 0: use the other one. */
static sh_status set_side(sh_resize *of, const sh_onnx_use *use, const sh_shape *x, size_t axis,
                          int64_t size, double scale)
{
    const size_t sides = x->rank - 2;
    if (axis >= 2) {
        if (size < 0 || size > 1 << 20 || (size == 0 && !(scale > 0)))
            return sh_fail(SH_INVALID, "dimension %zu becomes %lld or %g times as long", axis,
                           (long long)size, scale);
        of->size[2 - sides + axis - 2] = (size_t)size;
        of->scale[2 - sides + axis - 2] = (float)scale;
    } else if (scale != 0 ? scale != 1 : axis != use->in[0]->batch && size != (int64_t)x->dim[axis])
        return sh_fail(SH_UNSUPPORTED, "it resizes dimension %zu; only sides can be resized", axis);
    return SH_OK;
}

/* For keep_aspect_ratio_policy: sides become at most, or at least, as long as `sizes`. 0: each side
 * has its own scale. */
static sh_status read_ratio(double *scale, sh_onnx_use *use, const sh_shape *x,
                            const sh_onnx_constant *sizes, const size_t *axes)
{
    static const named_choice policies[] = {{"stretch", 0}, {"not_larger", 1}, {"not_smaller", 2}};
    uint32_t policy;
    *scale = 0;
    SH_TRY(choose(&policy, use, "keep_aspect_ratio_policy", policies, 3));
    for (size_t i = 0; i < sizes->count && policy != 0 && !sizes->real; i++) {
        const double own = (double)sizes->cells[i].whole / (double)x->dim[axes[i]];
        if (axes[i] >= 2 && (*scale == 0 || (policy == 1 ? own < *scale : own > *scale)))
            *scale = own;
    }
    return SH_OK;
}

/* Scales are numbers, sizes are integers. */
static sh_status read_sides(sh_resize *of, sh_onnx_use *use, const sh_shape *x,
                            const sh_onnx_constant *sides)
{
    size_t axes[SH_MAX_RANK];
    double ratio;
    if (sides->rank != 1 || sides->count > SH_MAX_RANK)
        return sh_fail(SH_INVALID, "its scales or sizes are not a list");
    SH_TRY(read_axes(axes, sides->count, use, x->rank));
    SH_TRY(read_ratio(&ratio, use, x, sides, axes));
    for (size_t i = 0; i < 2; i++) /* sides without an entry keep their size */
        of->scale[i] = 1;
    for (size_t i = 0; i < sides->count; i++) {
        int64_t size = sides->real ? 0 : sides->cells[i].whole;
        if (ratio > 0 && axes[i] >= 2) /* fmin avoids an overflow */
            size = (int64_t)floor(fmin(ratio * (double)x->dim[axes[i]], 0x1p40) + 0.5);
        SH_TRY(set_side(of, use, x, axes[i], size,
                        sides->real    ? sides->cells[i].real
                        : axes[i] >= 2 ? ratio
                                       : 0));
    }
    const bool resizes = of->scale[0] != 1 || of->scale[1] != 1;
    if (resizes && sh_onnx_node_integer(&use->node, "antialias", 0) != 0)
        return sh_fail(SH_UNSUPPORTED, "antialias is not supported; export it without");
    return SH_OK;
}

static sh_status resize(sh_onnx_use *use, sh_value_id x, const sh_onnx_constant *sides)
{
    sh_resize of = {0};
    sh_value_id y;
    const sh_shape shape = *sh_import_shape(use, x);
    if (shape.rank != 3 && shape.rank != 4)
        return sh_fail(SH_UNSUPPORTED,
                       "its input has %zu dimensions, images [N, C, H, W] and lines [N, C, L] are "
                       "supported",
                       shape.rank);
    SH_TRY(read_method(&of, use));
    SH_TRY(read_sides(&of, use, &shape, sides));
    SH_TRY(sh_import_made(&y, use, sh_net_resize(use->importer->net, x, &of)));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

/* An empty list of sizes counts as not given. */
sh_status sh_import_resize(sh_onnx_use *use)
{
    const sh_onnx_constant *scales, *sizes;
    const bool old = use->node.opset < 11;
    sh_value_id x;
    SH_TRY(sh_import_arity(use, 1, old ? 2 : 4));
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_constant(&scales, use, old ? 1 : 2));
    SH_TRY(sh_import_constant(&sizes, use, old ? SIZE_MAX : 3));
    if (sizes != NULL && sizes->count > 0 && !sizes->real)
        return resize(use, x, sizes);
    if (scales != NULL && scales->count > 0 && scales->real)
        return resize(use, x, scales);
    return sh_fail(SH_INVALID, "it has no scales and no sizes");
}

/* In operator set 7 the scales are an attribute. */
sh_status sh_import_upsample(sh_onnx_use *use)
{
    const sh_onnx_constant *scales;
    const float *listed;
    sh_onnx_constant made;
    sh_value_id x;
    SH_TRY(sh_import_arity(use, 1, 2));
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_constant(&scales, use, 1));
    if (scales != NULL && scales->real)
        return resize(use, x, scales);
    const size_t count = sh_onnx_node_numbers(&use->node, "scales", &listed);
    SH_TRY(sh_onnx_constant_new(&made, &use->importer->store, true, 1, &count));
    for (size_t i = 0; i < count; i++)
        made.cells[i].real = (double)listed[i];
    return resize(use, x, &made);
}

static sh_status read_block(size_t *block, sh_onnx_use *use)
{
    const int64_t given = sh_onnx_node_integer(&use->node, "blocksize", 0);
    SH_TRY(sh_import_arity(use, 1, 1));
    if (given < 1 || given > SH_RESIZE_MAX)
        return sh_fail(SH_INVALID, "its blocksize is %lld", (long long)given);
    *block = (size_t)given;
    return SH_OK;
}

sh_status sh_import_depth_to_space(sh_onnx_use *use)
{
    static const named_choice modes[] = {{"DCR", 0}, {"CRD", 1}};
    sh_value_id x, y;
    size_t block;
    uint32_t crd;
    SH_TRY(read_block(&block, use));
    SH_TRY(choose(&crd, use, "mode", modes, 2));
    SH_TRY(sh_import_value(&x, use, 0));
    y = sh_net_depth_to_space(use->importer->net, x, block, crd != 0);
    SH_TRY(sh_import_made(&y, use, y));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

sh_status sh_import_space_to_depth(sh_onnx_use *use)
{
    sh_value_id x, y;
    size_t block;
    SH_TRY(read_block(&block, use));
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_made(&y, use, sh_net_space_to_depth(use->importer->net, x, block)));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}
