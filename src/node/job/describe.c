/* SPDX-License-Identifier: Apache-2.0 */
/* Describes an imported network node by node, in the order of the import, and a built-in one
 * operator by operator from its graph; both for one sample, in evaluation. */
#include "shoal/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/program.h"
#include "node/job/model_memory.h"
#include "onnx/folded.h"
#include "onnx/import.h"
#include "onnx/model_cache.h"
#include "onnx/node_name.h"
#include "train/lanes.h"

#define OPEN_CHANNELS 3
#define OPEN_SIDE 224

typedef struct describer {
    sh_model_description *about;
    size_t layer_capacity, problem_capacity, note_capacity;
    const sh_graph *graph;
    const sh_onnx *model;
    sh_status status; /* SH_NO_MEMORY or SH_OK */
} describer;

static void copy(char *to, size_t bytes, const char *text)
{
    snprintf(to, bytes, "%.*s", (int)bytes - 1, text);
}

/* ---- the description ------------------------------------------------------------------------- */

static void add_note(void *context, const char *text)
{
    describer *d = context;
    sh_model_description *about = d->about;
    if (d->status != SH_OK)
        return;
    d->status = sh_array_grow((void **)&about->notes, &d->note_capacity, about->note_count + 1,
                              sizeof *about->notes);
    if (d->status == SH_OK)
        copy(about->notes[about->note_count++].text, sizeof about->notes->text, text);
}

static void add_problem(describer *d, const char *name, const char *operation, const char *reason)
{
    sh_model_description *about = d->about;
    if (d->status != SH_OK)
        return;
    d->status = sh_array_grow((void **)&about->problems, &d->problem_capacity,
                              about->problem_count + 1, sizeof *about->problems);
    if (d->status != SH_OK)
        return;
    sh_described_problem *problem = &about->problems[about->problem_count++];
    copy(problem->name, sizeof problem->name, name);
    copy(problem->operation, sizeof problem->operation, operation);
    copy(problem->reason, sizeof problem->reason, reason);
}

static sh_described_layer *add_layer(describer *d, const char *name, const char *operation)
{
    sh_model_description *about = d->about;
    if (d->status == SH_OK)
        d->status = sh_array_grow((void **)&about->layers, &d->layer_capacity,
                                  about->layer_count + 1, sizeof *about->layers);
    if (d->status != SH_OK)
        return NULL;
    sh_described_layer *layer = &about->layers[about->layer_count++];
    *layer = (sh_described_layer){0};
    copy(layer->name, sizeof layer->name, name);
    copy(layer->operation, sizeof layer->operation, operation);
    return layer;
}

/* "16x32x32" for [1, 16, 32, 32]. */
static void print_shape(sh_described_layer *layer, const sh_shape *shape)
{
    char text[SH_SHAPE_TEXT];
    const size_t skipped = shape->rank > 1 ? 1 : 0;
    const sh_shape one = sh_shape_of(shape->rank - skipped, shape->dim + skipped);
    copy(layer->shape, sizeof layer->shape, one.rank == 0 ? "1" : sh_shape_print(&one, text));
}

/* Counts as in the literature, without element-wise work. */
static uint64_t multiply_adds(const sh_graph *graph, size_t from, size_t to)
{
    double flops = 0;
    for (size_t i = from; i < to; i++) {
        const sh_node *node = &graph->nodes[i];
        if (node->op == SH_OP_conv2d || node->op == SH_OP_linear || node->op == SH_OP_matmul ||
            node->op == SH_OP_conv2d_grad_input)
            flops += sh_graph_cost(graph, node).flops;
    }
    return (uint64_t)(flops / 2);
}

static uint64_t elements(const sh_graph *graph, size_t parameter)
{
    return sh_shape_count(&sh_graph_type(graph, graph->parameters[parameter].value)->shape);
}

static void add_totals(sh_model_description *about, const sh_graph *graph)
{
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const sh_parameter *parameter = &graph->parameters[i];
        uint64_t *of = parameter->statistic                ? &about->statistics
                       : parameter->role == SH_ROLE_FROZEN ? &about->constants
                                                           : &about->parameters;
        *of += elements(graph, i);
    }
    for (size_t i = 0; i < about->layer_count; i++)
        about->multiply_adds += about->layers[i].multiply_adds;
}

/* ---- imported networks ----------------------------------------------------------------------- */

static void take_step(void *context, const sh_onnx_step *step)
{
    describer *d = context;
    const Sh__Onnx__NodeProto *node = sh_onnx_graph(d->model)->node[step->index];
    const char *name = node->name[0] != '\0' || node->n_output == 0 ? node->name : node->output[0];
    if (step->refused != NULL) {
        add_problem(d, name, node->op_type, step->refused);
        return;
    }
    if (step->given == SH_NO_VALUE) {
        d->about->known++;
        return;
    }
    sh_described_layer *layer = add_layer(d, name, node->op_type);
    if (layer == NULL)
        return;
    print_shape(layer, &sh_graph_type(d->graph, step->given)->shape);
    layer->multiply_adds = multiply_adds(d->graph, step->nodes, d->graph->node_count);
    for (size_t i = step->parameters; i < d->graph->parameter_count; i++)
        if (d->graph->parameters[i].role == SH_ROLE_TRAINED)
            layer->parameters += elements(d->graph, i);
}

static const Sh__Onnx__ValueInfoProto *find_input(const sh_onnx *model)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    for (size_t i = 0; i < graph->n_input; i++)
        if (sh_onnx_initializer(model, graph->input[i]->name) == NULL)
            return graph->input[i];
    return NULL;
}

/* The input's dimensions (0: open) and their number. */
static size_t read_dims(uint64_t dim[SH_ONNX_RANK_MOST], sh_model_description *about,
                        const Sh__Onnx__ValueInfoProto *input)
{
    size_t rank = 0, used = 0;
    const size_t bytes = sizeof about->input_shape;
    const Sh__Onnx__TypeProto__Tensor *type =
        input == NULL || input->type == NULL ? NULL : input->type->tensor_type;
    if (type == NULL || type->shape == NULL)
        return 0;
    for (; rank < type->shape->n_dim && rank < SH_ONNX_RANK_MOST; rank++) {
        const Sh__Onnx__TensorShapeProto__Dimension *has = type->shape->dim[rank];
        char number[24] = "?", text[SH_ONNX_NAME_TEXT];
        dim[rank] = has->has_dim_value && has->dim_value > 0 ? (uint64_t)has->dim_value : 0;
        if (dim[rank] > 0)
            snprintf(number, sizeof number, "%" PRIu64, dim[rank]);
        const char *shown = dim[rank] == 0 && has->dim_param != NULL && has->dim_param[0] != '\0'
                                ? sh_onnx_name(text, has->dim_param)
                                : number;
        if (used < bytes)
            used += (size_t)snprintf(about->input_shape + used, bytes - used, "%s%s",
                                     rank == 0 ? "" : "x", shown);
    }
    return rank;
}

static size_t or_else(uint64_t declared, size_t usual)
{
    return declared > 0 && declared <= SIZE_MAX ? (size_t)declared : usual;
}

/* As in TensorFlow: channels are last. */
static bool is_turned(const uint64_t dim[SH_ONNX_RANK_MOST])
{
    return dim[3] > 0 && dim[3] <= 4 && (dim[1] == 0 || dim[1] > 4);
}

/* Takes the samples' shape from the input, unless the options state it. */
static void choose_samples(sh_model_description *about, const sh_describe_options *options,
                           const uint64_t dim[SH_ONNX_RANK_MOST], size_t rank)
{
    const bool turned = rank == 4 && is_turned(dim);
    about->channels = about->height = 1;
    about->baked = rank > 0 ? dim[0] : 0;
    if (rank == 4 || rank == 0) {
        const uint64_t none[SH_ONNX_RANK_MOST] = {0};
        const uint64_t *of = rank == 0 ? none : dim;
        about->channels = or_else(of[turned ? 3 : 1], OPEN_CHANNELS);
        about->height = or_else(of[turned ? 1 : 2], OPEN_SIDE);
        about->width = or_else(of[turned ? 2 : 3], OPEN_SIDE);
    } else if (rank == 3) {
        about->channels = or_else(dim[1], OPEN_CHANNELS);
        about->width = or_else(dim[2], OPEN_SIDE);
    } else {
        about->width = or_else(rank > 1 ? dim[1] : 0, OPEN_SIDE);
    }
    about->channels = options->channels > 0 ? options->channels : about->channels;
    about->height = options->height > 0 ? options->height : about->height;
    about->width = options->width > 0 ? options->width : about->width;
}

static void read_file(describer *d, const sh_describe_options *options)
{
    sh_model_description *about = d->about;
    const Sh__Onnx__ModelProto *file = sh_onnx_model(d->model);
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(d->model);
    const Sh__Onnx__ValueInfoProto *input = find_input(d->model);
    const sh_onnx_folded folded = sh_onnx_find_folded(d->model);
    uint64_t dim[SH_ONNX_RANK_MOST] = {0};
    char name[SH_ONNX_NAME_TEXT], version[SH_ONNX_NAME_TEXT];
    const char *producer = file->producer_name == NULL ? "" : file->producer_name;
    const char *release = file->producer_version == NULL ? "" : file->producer_version;
    snprintf(about->producer, sizeof about->producer, "%.60s%s%.30s", sh_onnx_name(name, producer),
             release[0] == '\0' ? "" : " ", sh_onnx_name(version, release));
    about->opset = sh_onnx_opset(d->model);
    about->ir = file->ir_version;
    copy(about->input, sizeof about->input, input == NULL ? "" : input->name);
    copy(about->output, sizeof about->output, graph->n_output == 0 ? "" : graph->output[0]->name);
    about->norms = folded.norms;
    about->folded = folded.certain;
    about->nodes = graph->n_node;
    choose_samples(about, options, dim, read_dims(dim, about, input));
}

static sh_problem problem_of(const sh_model_description *about)
{
    return (sh_problem){.channels = about->channels,
                        .height = about->height,
                        .width = about->width,
                        .outputs = (size_t)about->outputs,
                        .target = about->outputs == 1 ? SH_TARGET_NUMBERS : SH_TARGET_CLASS};
}

static sh_status find_memory(describer *d, const sh_model_options *options)
{
    const sh_status status = sh_model_memory_find(&d->about->memory, options);
    if (status != SH_OK)
        add_problem(d, "", "", sh_message());
    return d->status;
}

static sh_status import(describer *d, sh_graph *graph)
{
    sh_model_description *about = d->about;
    const sh_shape samples =
        sh_shape_of(4, (size_t[]){1, about->channels, about->height, about->width});
    const sh_onnx_wish wish = {
        .target = SH_TARGET_CLASS, .note = add_note, .step = take_step, .context = d};
    sh_net net = {.graph = graph};
    d->graph = graph;
    const sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, samples});
    const sh_value_id given = sh_onnx_build(&net, x, d->model, &wish);
    SH_TRY(d->status);
    if (graph->status == SH_NO_MEMORY || graph->status == SH_IO)
        return sh_graph_status(graph);
    if (sh_graph_status(graph) != SH_OK && about->problem_count == 0)
        add_problem(d, "", "", sh_message());
    if (given != SH_NO_VALUE)
        about->outputs = sh_graph_type(graph, given)->shape.dim[1];
    add_totals(about, graph);
    return d->status;
}

static sh_status describe_imported(describer *d, const sh_describe_options *options)
{
    sh_network *network = NULL;
    sh_graph *graph = NULL;
    sh_status status;
    read_file(d, options);
    SH_TRY_DONE(sh_graph_new(&graph));
    SH_TRY_DONE(import(d, graph));
    if (d->about->problem_count == 0) {
        SH_TRY_DONE(sh_network_of_model(&network, d->model, options->model));
        const sh_model_options build = {
            .spec = network->spec, .network = network, .problem = problem_of(d->about)};
        SH_TRY_DONE(find_memory(d, &build));
    }
done:
    sh_network_unref(network);
    sh_graph_free(graph);
    return status;
}

/* ---- built-in models ------------------------------------------------------------------------- */

/* The layer's name, "layer1.0.conv1" for "layer1.0.conv1.weight", from the first parameter that no
 * earlier node reads; and the number of elements of all such parameters. */
static void take_node(describer *d, const sh_graph *graph, size_t index, bool *seen)
{
    const sh_node *node = &graph->nodes[index];
    char name[SH_DESCRIBE_NAME_BYTES] = "";
    uint64_t parameters = 0;
    for (size_t p = 0; p < graph->parameter_count; p++)
        for (uint32_t k = 0; k < node->input_count; k++) {
            if (node->in[k] != graph->parameters[p].value)
                continue;
            if (name[0] == '\0') {
                copy(name, sizeof name, graph->parameters[p].name);
                char *dot = strrchr(name, '.');
                if (dot != NULL)
                    *dot = '\0';
            }
            if (!seen[p] && graph->parameters[p].role == SH_ROLE_TRAINED)
                parameters += elements(graph, p);
            seen[p] = true;
        }
    sh_described_layer *layer = add_layer(d, name, sh_op_about(node->op)->name);
    if (layer == NULL)
        return;
    print_shape(layer, &sh_graph_type(graph, node->out[0])->shape);
    layer->parameters = parameters;
    layer->multiply_adds = multiply_adds(graph, index, index + 1);
}

static sh_status describe_built_in(describer *d, const sh_describe_options *options)
{
    const sh_model_def *def;
    sh_model_description *about = d->about;
    sh_graph *graph;
    SH_TRY(sh_model_find(&def, options->model));
    sh_model_options build = {.spec = options->model, .problem = def->example_problem};
    sh_problem *problem = &build.problem;
    problem->channels = options->channels > 0 ? options->channels : problem->channels;
    problem->height = options->height > 0 ? options->height : problem->height;
    problem->width = options->width > 0 ? options->width : problem->width;
    SH_TRY(sh_model_build(&graph, &build, 1, SH_MODEL_EVALUATE));
    about->channels = problem->channels;
    about->height = problem->height;
    about->width = problem->width;
    about->outputs = problem->outputs;
    bool *seen = calloc(graph->parameter_count + 1, sizeof *seen);
    if (seen == NULL)
        d->status = sh_fail_memory(graph->parameter_count, "the layers of a model");
    /* Output 3 is the answer; the loss and its target are not layers. */
    for (size_t i = 0; i < graph->node_count && d->status == SH_OK; i++) {
        take_node(d, graph, i, seen);
        if (graph->nodes[i].out[0] == graph->outputs[3])
            break;
    }
    add_totals(about, graph);
    free(seen);
    sh_graph_free(graph);
    SH_TRY(d->status);
    return find_memory(d, &build);
}

/* ---- all ------------------------------------------------------------------------------------- */

static sh_status describe(describer *d, const sh_describe_options *options)
{
    sh_network *network;
    sh_onnx *file;
    SH_TRY(sh_model_cache_open(&network, &file, options->model));
    if (network == NULL)
        return describe_built_in(d, options);
    d->model = file != NULL ? file : network->model;
    const sh_status status = describe_imported(d, options);
    sh_onnx_close(file);
    sh_network_unref(network);
    return status;
}

sh_status sh_model_describe(sh_model_description **description, const sh_describe_options *options)
{
    describer d = {.about = calloc(1, sizeof *d.about)};
    if (d.about == NULL)
        return sh_fail_memory(sizeof *d.about, "the description of a model");
    const sh_status status = describe(&d, options);
    if (status == SH_OK)
        *description = d.about;
    else
        sh_model_description_free(d.about);
    return status;
}

void sh_model_description_free(sh_model_description *description)
{
    if (description == NULL)
        return;
    free(description->layers);
    free(description->problems);
    free(description->notes);
    free(description);
}
