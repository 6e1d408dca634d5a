/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is imported again into a graph that is discarded, to record changes
 * (onnx/import_trace.h). Then its nodes are copied with these changes, and the tensors that they
 * read.
 */
#include "onnx/from_file.h"

#include <stdlib.h>
#include <string.h>

#include "onnx/emitter.h"
#include "onnx/import.h"
#include "onnx/node_name.h"
#include "onnx/onnx_node.h"
#include "onnx/skeleton.h"

#define BATCH 7       /* of the import: unlikely to occur in shapes */
#define IR_LEAST 4    /* the first version whose initialisers need not be inputs */
#define CHANGE_MOST 4 /* nodes and tensors that a change adds */
#define BAKE_MOST 3   /* nodes and tensors that normalise pixels */

typedef struct rewriting {
    const sh_from_file *of;
    sh_emitter *e;
    sh_onnx_trace trace;
    Sh__Onnx__GraphProto source;
    char *normal; /* name of the normalised input; NULL without normalisation */
} rewriting;

/* ---- reading the file again -------------------------------------------------------------------
 */

static sh_status read_again(rewriting *r)
{
    const sh_from_file *of = r->of;
    const size_t *dim = of->sample.dim;
    const sh_onnx_wish wish = {.outputs = of->outputs, .target = of->target, .trace = &r->trace};
    sh_net net = {0};
    SH_TRY(sh_graph_new(&net.graph));
    const sh_shape shape = sh_shape_of(4, (size_t[]){BATCH, dim[0], dim[1], dim[2]});
    const sh_value_id x = sh_graph_input(net.graph, (sh_type){SH_F32, shape});
    sh_onnx_build(&net, x, of->file, &wish);
    const sh_status status = sh_graph_status(net.graph);
    sh_graph_free(net.graph);
    return status;
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static char *emit_one(sh_emitter *e, const char *op, size_t count, char *const *in)
{
    char *out = sh_emit_fresh(e);
    sh_emit(e, op, count, in, out);
    return out;
}

/* Converts pixels from 0 to 255 to the input of the network. */
static sh_status emit_normalisation(rewriting *r)
{
    sh_emitter *e = r->e;
    const sh_shape *in = &r->trace.in;
    const size_t channels = r->of->sample.dim[0];
    char *x = sh_emit_text(e, r->trace.input), *mean = sh_emit_fresh(e),
         *deviation = sh_emit_fresh(e);
    sh_shape shape = {0};
    if (channels > 1 && in->rank != 4)
        return sh_fail(SH_UNSUPPORTED, "--bake: the network takes %zu numbers, not an image",
                       sh_shape_count(in) / BATCH);
    if (channels > 1)
        shape = r->trace.turned ? sh_shape_of(4, (size_t[]){1, 1, 1, channels})
                                : sh_shape_of(4, (size_t[]){1, channels, 1, 1});
    sh_emit_tensor(e, mean, &shape, r->of->mean);
    sh_emit_tensor(e, deviation, &shape, r->of->deviation);
    char *part = emit_one(e, "Div", 2, (char *[]){x, sh_emit_number(e, 255)});
    char *centred = emit_one(e, "Sub", 2, (char *[]){part, mean});
    r->normal = emit_one(e, "Div", 2, (char *[]){centred, deviation});
    return e->status;
}

static char *emit_ones(sh_emitter *e, size_t count)
{
    int64_t ones[SH_MAX_RANK];
    for (size_t i = 0; i < SH_MAX_RANK; i++)
        ones[i] = 1;
    return sh_emit_integers(e, ones, count);
}

/* Repeats an input for each sample. */
static char *emit_repeated(sh_emitter *e, const sh_onnx_change *change, char *const *inputs)
{
    const int64_t axis = (int64_t)change->axis;
    char *shape = emit_one(e, "Shape", 1, (char *[]){inputs[change->like]});
    char *samples = emit_one(e, "Gather", 2, (char *[]){shape, sh_emit_integers(e, &axis, 1)});
    char *to = sh_emit_fresh(e),
         *ones[] = {emit_ones(e, change->axis), emit_ones(e, change->count - change->axis - 1)};
    sh_emit_int(e, sh_emit(e, "Concat", 3, (char *[]){ones[0], samples, ones[1]}, to), "axis", 0);
    return emit_one(e, "Expand", 2, (char *[]){inputs[change->input], to});
}

static bool is_changed(const rewriting *r, size_t node)
{
    for (const sh_onnx_change *change = r->trace.changes; change != NULL; change = change->next)
        if (change->node == node)
            return true;
    return false;
}

static void change_inputs(rewriting *r, sh_emitted *copy, size_t node)
{
    for (const sh_onnx_change *change = r->trace.changes; change != NULL; change = change->next) {
        if (change->node != node || change->input >= copy->n_input)
            continue;
        copy->input[change->input] = change->repeats
                                         ? emit_repeated(r->e, change, copy->input)
                                         : sh_emit_integers(r->e, change->integers, change->count);
        if (change->reshapes) {
            copy->op_type = sh_emit_text(r->e, "Reshape");
            copy->n_attribute = 0;
        }
    }
}

static void set_evaluation(sh_emitted *copy)
{
    const bool norm = strcmp(copy->op_type, "BatchNormalization") == 0;
    if (!norm && strcmp(copy->op_type, "Dropout") != 0)
        return;
    copy->n_output = 1;
    copy->n_input = !norm && copy->n_input > 2 ? 2 : copy->n_input;
    for (size_t i = 0; i < copy->n_attribute; i++)
        if (strcmp(copy->attribute[i]->name, "training_mode") == 0)
            copy->attribute[i--] = copy->attribute[--copy->n_attribute];
}

static void copy_node(rewriting *r, size_t node)
{
    sh_emitter *e = r->e;
    const Sh__Onnx__NodeProto *proto = r->source.node[node];
    sh_emitted *copy = sh_emit_take(e, 1, sizeof *copy);
    char **inputs = sh_emit_take(e, proto->n_input, sizeof *inputs);
    Sh__Onnx__AttributeProto **attributes = sh_emit_take(e, proto->n_attribute, sizeof *attributes);
    if (copy == NULL || inputs == NULL || attributes == NULL)
        return;
    *copy = *proto;
    copy->input = inputs;
    copy->attribute = attributes;
    for (size_t i = 0; i < proto->n_attribute; i++)
        attributes[i] = proto->attribute[i];
    for (size_t i = 0; i < proto->n_input; i++)
        inputs[i] = r->normal != NULL && strcmp(proto->input[i], r->trace.input) == 0
                        ? r->normal
                        : proto->input[i];
    set_evaluation(copy);
    change_inputs(r, copy, node);
    e->made->node[e->made->n_node++] = copy;
}

static sh_status copy_nodes(rewriting *r)
{
    size_t changes = 0;
    sh_emitter *e = r->e;
    for (size_t i = 0; i < r->source.n_node; i++)
        changes += is_changed(r, i) ? r->source.node[i]->n_input : 0;
    const size_t more = changes * CHANGE_MOST + BAKE_MOST;
    e->made->node = sh_emit_take(e, r->source.n_node + more, sizeof *e->made->node);
    e->made->initializer =
        sh_emit_take(e, r->source.n_initializer + more, sizeof *e->made->initializer);
    SH_TRY(e->status);
    if (r->of->mean != NULL)
        SH_TRY(emit_normalisation(r));
    for (size_t i = 0; i < r->source.n_node; i++)
        if (r->trace.needed[i])
            copy_node(r, i);
    return e->status;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **find_read(sh_emitter *e, size_t *count)
{
    size_t most = 0;
    for (size_t i = 0; i < e->made->n_node; i++)
        most += e->made->node[i]->n_input;
    char **read = sh_emit_take(e, most + 1, sizeof *read);
    *count = 0;
    for (size_t i = 0; i < e->made->n_node && read != NULL; i++)
        for (size_t k = 0; k < e->made->node[i]->n_input; k++)
            read[(*count)++] = e->made->node[i]->input[k];
    if (read != NULL)
        qsort(read, *count, sizeof *read, by_text);
    return read;
}

/* Removes nodes whose outputs are not read. False if there are none. */
static bool drop_once(rewriting *r, char *const *read, size_t count)
{
    Sh__Onnx__GraphProto *made = r->e->made;
    const size_t before = made->n_node;
    made->n_node = 0;
    for (size_t i = 0; i < before; i++) {
        sh_emitted *node = made->node[i];
        bool is_read = false;
        for (size_t k = 0; k < node->n_output; k++)
            is_read |= strcmp(node->output[k], r->source.output[0]->name) == 0 ||
                       bsearch(&node->output[k], read, count, sizeof *read, by_text) != NULL;
        if (is_read)
            made->node[made->n_node++] = node;
    }
    return made->n_node < before;
}

/* Removes nodes that are not read, such as those that computed a shape that was replaced. */
static sh_status drop_unread(rewriting *r)
{
    char **read;
    size_t count;
    do {
        read = find_read(r->e, &count);
        SH_TRY(r->e->status);
    } while (drop_once(r, read, count));
    return SH_OK;
}

/* ---- tensors ----------------------------------------------------------------------------------
 */

/* SIZE_MAX if there is none. */
static size_t parameter_of(const sh_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->parameter_count; i++)
        if (strcmp(graph->parameters[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

static sh_status copy_tensor(rewriting *r, const Sh__Onnx__TensorProto *stored)
{
    const sh_from_file *of = r->of;
    char name[SH_ONNX_NAME_TEXT];
    sh_emitter *e = r->e;
    if (stored->has_raw_data) {
        Sh__Onnx__TensorProto *copy = sh_emit_take(e, 1, sizeof *copy);
        SH_TRY(e->status);
        *copy = *stored;
        e->made->initializer[e->made->n_initializer++] = copy;
        return SH_OK;
    }
    const size_t index = parameter_of(of->graph, stored->name);
    if (index == SIZE_MAX)
        return sh_fail(SH_NOT_FOUND, "there are no values for the tensor '%s'",
                       sh_onnx_name(name, stored->name));
    if (stored->data_type != SH_ONNX_FLOAT)
        return sh_fail(SH_UNSUPPORTED,
                       "tensor '%s' is trained but not float32: convert the model to float32 first",
                       sh_onnx_name(name, stored->name));
    sh_emit_tensor(e, stored->name,
                   &sh_graph_type(of->graph, of->graph->parameters[index].value)->shape,
                   of->weights[index]);
    return e->status;
}

static sh_status copy_tensors(rewriting *r)
{
    size_t count;
    char **read = find_read(r->e, &count);
    SH_TRY(r->e->status);
    for (size_t i = 0; i < r->source.n_initializer; i++) {
        const Sh__Onnx__TensorProto *stored = r->source.initializer[i];
        if (bsearch(&stored->name, read, count, sizeof *read, by_text) != NULL)
            SH_TRY(copy_tensor(r, stored));
    }
    return SH_OK;
}

/* ---- model ------------------------------------------------------------------------------------
 */

static sh_status rewrite(rewriting *r, Sh__Onnx__ModelProto *model)
{
    sh_emitter *e = r->e;
    SH_TRY(read_again(r));
    SH_TRY(sh_skeleton_graph(&r->source, e->arena, r->of->file));
    sh_emit_avoid(e, &r->source);
    SH_TRY(copy_nodes(r));
    SH_TRY(drop_unread(r));
    SH_TRY(copy_tensors(r));
    Sh__Onnx__ValueInfoProto **ends = sh_emit_take(e, 2, sizeof *ends);
    SH_TRY(e->status);
    ends[0] = sh_emit_value_info(e, r->trace.input, &r->trace.in, 0);
    ends[1] = sh_emit_value_info(e, r->source.output[0]->name, &r->trace.out, r->trace.out_batch);
    e->made->name = r->source.name;
    e->made->input = &ends[0];
    e->made->n_input = 1;
    e->made->output = &ends[1];
    e->made->n_output = 1;
    const int64_t ir = sh_onnx_model(r->of->file)->ir_version;
    sh_emit_frame(e, model, sh_onnx_opset(r->of->file), ir < IR_LEAST ? IR_LEAST : ir);
    return e->status;
}

sh_status sh_onnx_from_file(Sh__Onnx__ModelProto **model, const sh_from_file *of, sh_arena *arena)
{
    sh_emitter e = {.arena = arena, .properties = &of->properties};
    Sh__Onnx__ModelProto *fresh = sh_emit_take(&e, 1, sizeof *fresh);
    rewriting r = {.of = of, .e = &e, .trace = {.arena = arena}};
    e.made = sh_emit_take(&e, 1, sizeof *e.made);
    SH_TRY(e.status);
    sh__onnx__model_proto__init(fresh);
    sh__onnx__graph_proto__init(e.made);
    SH_TRY(sh_fail_in(rewrite(&r, fresh), "%.256s", sh_onnx_path(of->file)));
    *model = fresh;
    return SH_OK;
}
