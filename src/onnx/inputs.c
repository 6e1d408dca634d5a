/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/inputs.h"

#include <stdio.h>

/* -1 stands for dynamic dimensions. */
typedef struct declared {
    size_t rank; /* 0: not declared */
    int64_t dim[SH_ONNX_RANK_MOST];
    bool whole; /* takes integers */
} declared;

static bool fits(int64_t has, size_t wanted)
{
    return has < 0 || (uint64_t)has == wanted;
}

/* Files often list initialisers as inputs too. */
static sh_status find_input(const Sh__Onnx__ValueInfoProto **found,
                            const sh_onnx_importer *importer)
{
    size_t count = 0;
    for (size_t i = 0; i < importer->graph->n_input; i++) {
        const Sh__Onnx__ValueInfoProto *input = importer->graph->input[i];
        const sh_onnx_entry *entry = sh_import_find(importer, input->name);
        if (entry == NULL || entry->kind == SH_ENTRY_STORED || entry->readers == 0)
            continue;
        *found = input;
        count++;
    }
    if (count == 0)
        return sh_fail(SH_INVALID, "its result depends on no input");
    if (count > 1)
        return sh_fail(SH_UNSUPPORTED,
                       "it has %zu inputs, including '%.64s'; export a model with one", count,
                       (*found)->name);
    return SH_OK;
}

static sh_status read_dims(declared *has, const Sh__Onnx__ValueInfoProto *input)
{
    *has = (declared){0};
    if (input->type == NULL || input->type->tensor_type == NULL)
        return SH_OK;
    const Sh__Onnx__TypeProto__Tensor *type = input->type->tensor_type;
    const int32_t element = type->has_elem_type ? type->elem_type : 0;
    /* Integers are whole numbers in float32 here. */
    if (element != 0 && element != SH_ONNX_INT32 && element != SH_ONNX_INT64 &&
        !sh_onnx_type_is_float(element))
        return sh_fail(SH_UNSUPPORTED,
                       "input '%.64s' takes elements of type %d; export the model for float32 or "
                       "int64",
                       input->name, (int)element);
    has->whole = element != 0 && !sh_onnx_type_is_float(element);
    if (type->shape == NULL)
        return SH_OK;
    if (type->shape->n_dim > SH_ONNX_RANK_MOST)
        return sh_fail(SH_UNSUPPORTED, "input '%.64s' has %zu dimensions", input->name,
                       type->shape->n_dim);
    has->rank = type->shape->n_dim;
    for (size_t i = 0; i < has->rank; i++) {
        const Sh__Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[i];
        has->dim[i] = dim->has_dim_value && dim->dim_value > 0 ? dim->dim_value : -1;
    }
    return SH_OK;
}

static void print_dims(char *text, size_t bytes, const declared *has)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < has->rank && used < bytes; i++) {
        const char *between = i == 0 ? "" : "x";
        const int wrote = has->dim[i] < 0 ? snprintf(text + used, bytes - used, "%s?", between)
                                          : snprintf(text + used, bytes - used, "%s%lld", between,
                                                     (long long)has->dim[i]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

/* How samples [N, C, H, W] become the input. */
typedef struct arrangement {
    bool turned; /* channels last */
    sh_shape shape;
} arrangement;

/* Accepts [N, C, L] or [N, L, C], from data of one row or images of one channel. */
static bool arrange_line(arrangement *to, const declared *has, const size_t *x)
{
    const bool row = x[2] == 1;
    const size_t channels = row ? x[1] : x[2], length = x[3];
    if (!row && x[1] != 1)
        return false;
    to->turned = !(fits(has->dim[1], channels) && fits(has->dim[2], length));
    if (to->turned && !(fits(has->dim[1], length) && fits(has->dim[2], channels)))
        return false;
    to->shape = to->turned ? sh_shape_of(3, (size_t[]){x[0], length, channels})
                           : sh_shape_of(3, (size_t[]){x[0], channels, length});
    return true;
}

/* Sides may differ from the file, as convolutions allow. */
static bool arrange_image(arrangement *to, const declared *has, const size_t *x)
{
    const size_t last[] = {x[0], x[2], x[3], x[1]};
    const bool first = fits(has->dim[1], x[1]),
               whole = fits(has->dim[2], x[2]) && fits(has->dim[3], x[3]);
    const bool last_fits = fits(has->dim[3], x[1]);
    to->turned = !(first && whole) && last_fits &&
                 (!first || (fits(has->dim[1], x[2]) && fits(has->dim[2], x[3])));
    to->shape = to->turned ? sh_shape_of(4, last) : sh_shape_of(4, x);
    return first || last_fits;
}

static bool arrange(arrangement *to, const declared *has, const size_t *x)
{
    const size_t each = x[1] * x[2] * x[3];
    *to = (arrangement){.shape = sh_shape_of(4, x)};
    switch (has->rank) {
    case 0:
        return true;
    case 2:
        to->shape = sh_shape_of(2, (size_t[]){x[0], each});
        return fits(has->dim[1], each);
    case 3:
        return arrange_line(to, has, x);
    case 4:
        return arrange_image(to, has, x);
    default:
        return false;
    }
}

static sh_status add(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, const arrangement *to)
{
    const sh_shape shape = *sh_import_shape(use, x);
    const size_t *dim = shape.dim;
    if (!to->turned)
        return sh_import_reshape(y, use, x, &to->shape);
    if (to->shape.rank == 4) {
        const sh_attributes last = {.order = {0, 2, 3, 1}};
        return sh_import_emit(y, use, SH_OP_transpose, &last, &x);
    }
    const sh_attributes turned = {.order = {0, 2, 1}};
    const sh_shape line = sh_shape_of(3, (size_t[]){dim[0], to->shape.dim[2], to->shape.dim[1]});
    SH_TRY(sh_import_reshape(&x, use, x, &line));
    return sh_import_emit(y, use, SH_OP_transpose, &turned, &x);
}

static sh_status bind(sh_onnx_importer *importer, sh_value_id samples)
{
    const sh_onnx_use use = {.importer = importer};
    const Sh__Onnx__ValueInfoProto *input = NULL;
    const sh_shape shape = *sh_import_shape(&use, samples);
    declared has;
    arrangement to;
    char text[SH_SHAPE_TEXT], declared_text[SH_SHAPE_TEXT];
    SH_TRY(find_input(&input, importer));
    SH_TRY(read_dims(&has, input));
    sh_onnx_entry *entry = sh_import_find(importer, input->name);
    if (shape.rank != 4 || entry == NULL)
        return sh_fail(SH_INTERNAL, "samples are images");
    print_dims(declared_text, sizeof declared_text, &has);
    const sh_shape each = sh_shape_of(3, shape.dim + 1);
    if (!arrange(&to, &has, shape.dim))
        return sh_fail(SH_INVALID,
                       "input '%.64s' is %s, the data's samples are %s (channels, rows, columns)",
                       input->name, declared_text, sh_shape_print(&each, text));
    if (to.turned)
        sh_import_note(importer, "input '%s' has its channels last (%s): the samples are turned",
                       input->name, declared_text);
    for (size_t i = 1; i < has.rank; i++)
        if (!fits(has.dim[i], to.shape.dim[i])) {
            sh_import_note(importer, "input '%s' is %s in the file, the data's samples are %s",
                           input->name, declared_text, sh_shape_print(&each, text));
            break;
        }
    if (has.whole)
        sh_import_note(importer,
                       "input '%s' takes integers: it gets the data's numbers, which --normalize "
                       "none does not change",
                       input->name);
    importer->samples = shape.dim[0];
    importer->baked = has.rank > 0 && has.dim[0] > 0 ? (size_t)has.dim[0] : 1;
    SH_TRY(add(&entry->value, &use, samples, &to));
    if (importer->wish->trace != NULL) {
        importer->wish->trace->input = input->name;
        importer->wish->trace->in = *sh_import_shape(&use, entry->value);
        importer->wish->trace->turned = to.turned;
    }
    entry->kind = SH_ENTRY_VALUE;
    entry->batch = 0;
    return SH_OK;
}

sh_status sh_onnx_inputs_bind(sh_onnx_importer *importer, sh_value_id samples)
{
    return sh_fail_in(bind(importer, samples), "%.256s", importer->path);
}
