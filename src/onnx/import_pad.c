/* SPDX-License-Identifier: Apache-2.0 */
/* For a constant other than 0, zeros are padded first. Then a tensor is added that holds the
 * constant in the padding and 0 elsewhere. All other modes gather elements of x. */
#include <stdlib.h>

#include "graph/array_layers.h"
#include "onnx/import_constants.h"
#include "onnx/padding.h"

/* Removes elements for negative pads first. */
static sh_status add_zeros(sh_value_id *y, const sh_onnx_use *use, sh_value_id x,
                           const sh_onnx_padding *padding)
{
    sh_attributes less = {0}, more = {0};
    bool any_less = false, any_more = false;
    const size_t rank = sh_import_shape(use, x)->rank;
    for (size_t axis = 0; axis < rank; axis++) {
        const int64_t before = padding->before[axis], after = padding->after[axis];
        (before < 0 ? &less : &more)->before[axis] = (size_t)(before < 0 ? -before : before);
        (after < 0 ? &less : &more)->after[axis] = (size_t)(after < 0 ? -after : after);
        any_less |= before < 0 || after < 0;
        any_more |= before > 0 || after > 0;
    }
    if (any_less)
        SH_TRY(sh_import_emit(&x, use, SH_OP_slice, &less, &x));
    if (any_more)
        SH_TRY(sh_import_emit(&x, use, SH_OP_pad, &more, &x));
    *y = x;
    return SH_OK;
}

/* `x` is the shape before padding. */
static sh_status fill(sh_value_id *y, const sh_onnx_use *use, const sh_onnx_padding *padding,
                      const sh_shape *x, float number)
{
    const sh_shape of_y = *sh_import_shape(use, *y);
    sh_shape shape = of_y;
    sh_value_id around;
    bool padded[SH_MAX_RANK];
    for (size_t i = 0; i < shape.rank; i++) { /* other dimensions are uniform */
        padded[i] = padding->before[i] > 0 || padding->after[i] > 0;
        shape.dim[i] = padded[i] ? of_y.dim[i] : 1;
    }
    const size_t count = sh_shape_count(&shape);
    float *values = calloc(count, sizeof *values);
    if (values == NULL)
        return sh_fail_memory(count * sizeof *values, "a padding");
    for (size_t i = 0; i < count; i++) {
        bool inside = true;
        for (size_t axis = shape.rank, rest = i; axis-- > 0; rest /= shape.dim[axis]) {
            size_t place;
            inside &= !padded[axis] || sh_onnx_padding_place(&place, padding, axis,
                                                             rest % shape.dim[axis], x->dim[axis]);
        }
        values[i] = inside ? 0 : number;
    }
    const sh_status status = sh_import_frozen(&around, use, "padding", shape, values);
    free(values);
    SH_TRY(status);
    return sh_import_made(y, use, sh_layer_pair(use->importer->net, SH_PAIR_ADD, *y, around));
}

static sh_status repeat_places(sh_value_id *x, const sh_onnx_use *use,
                               const sh_onnx_padding *padding, size_t axis, size_t size)
{
    const size_t dim = sh_import_shape(use, *x)->dim[axis];
    size_t *places = malloc((size + 1) * sizeof *places);
    if (places == NULL)
        return sh_fail_memory(size * sizeof *places, "a padding");
    for (size_t i = 0; i < size; i++)
        sh_onnx_padding_place(&places[i], padding, axis, i, dim);
    const sh_status status = sh_import_places(x, use, *x, axis, places, size);
    free(places);
    return status;
}

sh_status sh_import_pad(sh_onnx_use *use)
{
    const sh_onnx_constant *pads, *value, *axes;
    sh_onnx_padding padding;
    sh_value_id x;
    SH_TRY(sh_import_arity(use, 1, 4));
    SH_TRY(sh_import_number(&x, use, 0));
    SH_TRY(sh_import_constant(&pads, use, 1));
    SH_TRY(sh_import_constant(&value, use, 2));
    SH_TRY(sh_import_constant(&axes, use, 3));
    const sh_shape shape = *sh_import_shape(use, x);
    SH_TRY(sh_onnx_padding_of(&padding, &use->node, shape.rank, pads, axes));
    double number = (double)sh_onnx_node_number(&use->node, "value", 0);
    if (value != NULL && value->count == 1)
        number = value->real ? value->cells->real : (double)value->cells->whole;
    size_t size[SH_MAX_RANK];
    for (size_t i = 0; i < shape.rank; i++) {
        SH_TRY(sh_onnx_padding_size(&size[i], &padding, i, shape.dim[i]));
        if (i == use->in[0]->batch && (padding.before[i] != 0 || padding.after[i] != 0))
            return sh_fail(SH_UNSUPPORTED, "it adds samples");
        if (size[i] == 0)
            return sh_fail(SH_UNSUPPORTED, "nothing is left of dimension %zu", i);
    }
    if (padding.mode == SH_ONNX_PAD_CONSTANT) {
        SH_TRY(add_zeros(&x, use, x, &padding));
        if (number != 0)
            SH_TRY(fill(&x, use, &padding, &shape, (float)number));
    }
    for (size_t i = 0; i < shape.rank && padding.mode != SH_ONNX_PAD_CONSTANT; i++)
        if (padding.before[i] != 0 || padding.after[i] != 0)
            SH_TRY(repeat_places(&x, use, &padding, i, size[i]));
    sh_import_give(use, 0, x, use->in[0]->batch);
    return SH_OK;
}
