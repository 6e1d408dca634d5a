/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each name of the file has an *entry*: an initialiser, a constant, or a value of the graph. Nodes
 * are processed in order. A node with constant inputs is evaluated (fold.h); the function of its
 * operator (operators.def) turns any other into nodes of the graph. The outputs of a refused node
 * stay unknown, and nodes that read them are skipped. So each complaint has its own cause.
 *
 * Nodes that the result does not depend on, such as an auxiliary classifier, are not imported.
 */
#include "onnx/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "onnx/folded.h"
#include "onnx/head.h"
#include "onnx/importer.h"
#include "onnx/inputs.h"
#include "onnx/node_name.h"

#define NOTE_BYTES 512

void sh_import_note(const sh_onnx_importer *importer, const char *format, ...)
{
    char text[NOTE_BYTES];
    if (importer->wish->note == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    importer->wish->note(importer->wish->context, text);
}

/* ---- entries ----------------------------------------------------------------------------------
 */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const sh_onnx_entry *)a)->name, ((const sh_onnx_entry *)b)->name);
}

static int against_name(const void *name, const void *entry)
{
    return strcmp(name, ((const sh_onnx_entry *)entry)->name);
}

sh_onnx_entry *sh_import_find(const sh_onnx_importer *importer, const char *name)
{
    return bsearch(name, importer->entries, importer->entry_count, sizeof *importer->entries,
                   against_name);
}

static void append_entry(sh_onnx_importer *importer, const char *name, size_t maker)
{
    if (name[0] != '\0')
        importer->entries[importer->entry_count++] = (sh_onnx_entry){
            .name = name,
            .value = SH_NO_VALUE,
            .batch = SH_NO_AXIS,
            .outer = 1,
            .maker = maker,
            .new_axis = SH_NO_AXIS,
        };
}

static sh_status read_roles(sh_onnx_importer *importer)
{
    const Sh__Onnx__GraphProto *graph = importer->graph;
    sh_onnx_role *roles =
        sh_arena_take(&importer->store.arena, graph->n_initializer + 1, sizeof *roles);
    if (roles == NULL)
        return sh_fail_memory(graph->n_initializer * sizeof *roles, "the weights of a model");
    SH_TRY(sh_onnx_roles(roles, importer->model));
    for (size_t i = 0; i < graph->n_initializer; i++) {
        sh_onnx_entry *entry = sh_import_find(importer, graph->initializer[i]->name);
        if (entry == NULL)
            continue;
        entry->kind = SH_ENTRY_STORED;
        entry->stored = graph->initializer[i];
        entry->role = roles[i];
    }
    return SH_OK;
}

static sh_status make_entries(sh_onnx_importer *importer)
{
    const Sh__Onnx__GraphProto *graph = importer->graph;
    size_t most = graph->n_initializer + graph->n_input, kept = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        most += graph->node[i]->n_output;
    importer->entries = calloc(most + 1, sizeof *importer->entries);
    importer->needed = calloc(graph->n_node + 1, sizeof *importer->needed);
    importer->done = calloc(graph->n_node + 1, sizeof *importer->done);
    if (importer->entries == NULL || importer->needed == NULL || importer->done == NULL)
        return sh_fail_memory(most * sizeof *importer->entries, "the names of a model");
    for (size_t i = 0; i < graph->n_initializer; i++)
        append_entry(importer, graph->initializer[i]->name, SIZE_MAX);
    for (size_t i = 0; i < graph->n_input; i++)
        append_entry(importer, graph->input[i]->name, SIZE_MAX);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t j = 0; j < graph->node[i]->n_output; j++)
            append_entry(importer, graph->node[i]->output[j], i);
    sh_onnx_entry *entries = importer->entries;
    qsort(entries, importer->entry_count, sizeof *entries, by_name);
    for (size_t i = 0; i < importer->entry_count; i++)
        if (kept == 0 || strcmp(entries[i].name, entries[kept - 1].name) != 0)
            entries[kept++] = entries[i];
    importer->entry_count = kept;
    return read_roles(importer);
}

static void need(sh_onnx_importer *importer, const sh_onnx_entry *result)
{
    if (result->maker != SIZE_MAX)
        importer->needed[result->maker] = true;
}

static void find_needed(sh_onnx_importer *importer)
{
    const Sh__Onnx__GraphProto *graph = importer->graph;
    for (size_t i = graph->n_node; i-- > 0;)
        for (size_t j = 0; j < graph->node[i]->n_input && importer->needed[i]; j++) {
            sh_onnx_entry *entry = sh_import_find(importer, graph->node[i]->input[j]);
            if (entry == NULL)
                continue;
            if (entry->readers++ == 0)
                entry->last_reader = i;
            if (entry->maker != SIZE_MAX)
                importer->needed[entry->maker] = true;
        }
}

/* Traces the needed nodes and those between the result and the file's first output. */
static sh_status trace_needed(const sh_onnx_importer *importer, const sh_onnx_entry *result)
{
    const Sh__Onnx__GraphProto *graph = importer->graph;
    sh_onnx_trace *trace = importer->wish->trace;
    if (trace == NULL)
        return SH_OK;
    trace->needed = sh_arena_take(trace->arena, graph->n_node + 1, sizeof *trace->needed);
    if (trace->needed == NULL)
        return sh_fail_memory(graph->n_node, "a model");
    memcpy(trace->needed, importer->needed, graph->n_node * sizeof *trace->needed);
    const sh_onnx_entry *entry = sh_import_find(importer, graph->output[0]->name);
    while (entry != NULL && entry != result && entry->maker != SIZE_MAX) {
        trace->needed[entry->maker] = true;
        entry = sh_import_find(importer, graph->node[entry->maker]->input[0]);
    }
    return SH_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

typedef sh_status importing(sh_onnx_use *use);

static importing *find_operator(const char *op, int64_t opset)
{
    static const struct {
        const char *op;
        int64_t since;
        importing *import;
    } all[] = {
#define SH_ONNX_OPERATOR(op, since, name) {op, since, sh_import_##name},
#include "onnx/operators.def"
#undef SH_ONNX_OPERATOR
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].op, op) == 0 && opset >= all[i].since)
            return all[i].import;
    return NULL;
}

/* The arrays are borrowed from the store. */
static sh_status find_entries(sh_onnx_use *use)
{
    sh_onnx_importer *importer = use->importer;
    const Sh__Onnx__NodeProto *proto = use->node.proto;
    use->in_count = proto->n_input;
    use->out_count = proto->n_output;
    sh_onnx_entry **all =
        sh_arena_take(&importer->store.arena, use->in_count + use->out_count + 1, sizeof(void *));
    if (all == NULL)
        return sh_fail_memory(use->in_count * sizeof(void *), "a node of a model");
    use->in = all;
    use->out = all + use->in_count;
    for (size_t i = 0; i < use->in_count; i++) {
        sh_onnx_entry *entry = sh_import_find(importer, proto->input[i]);
        while (entry != NULL && entry->same != NULL)
            entry = entry->same;
        use->in[i] = entry;
    }
    for (size_t i = 0; i < use->out_count; i++)
        use->out[i] = sh_import_find(importer, proto->output[i]);
    return SH_OK;
}

static bool is_known(const sh_onnx_entry *entry)
{
    return entry->kind == SH_ENTRY_CONSTANT ||
           (entry->kind == SH_ENTRY_STORED && entry->role == SH_ONNX_CONSTANT);
}

static bool is_uniform(const sh_onnx_entry *entry)
{
    if (entry->kind == SH_ENTRY_STORED) {
        for (size_t i = 0; i < entry->stored->n_dims; i++)
            if (entry->stored->dims[i] != 1)
                return false;
        return true;
    }
    const sh_onnx_constant *constant = &entry->constant;
    for (size_t i = 1; i < constant->count; i++)
        if (constant->cells[i].real != constant->cells[0].real)
            return false;
    return true;
}

/* True if the node repeats a tensor of different numbers for each sample. As a constant the result
 * would contain a fixed number of samples. Initial states and masks of one number stay
 * constants. */
static bool repeats_samples(const sh_onnx_use *use)
{
    const sh_onnx_entry *const *in = (const sh_onnx_entry *const *)use->in;
    if (strcmp(use->node.op, "Expand") != 0 || use->in_count != 2 || in[0] == NULL ||
        in[1] == NULL || in[1]->kind != SH_ENTRY_CONSTANT || !in[1]->constant.derived)
        return false;
    const bool real = in[0]->kind == SH_ENTRY_STORED
                          ? sh_onnx_type_is_float(in[0]->stored->data_type)
                          : in[0]->constant.real;
    return real && !is_uniform(in[0]);
}

static bool is_constant(const sh_onnx_use *use)
{
    if (!sh_onnx_folds(use->node.op) || use->out_count != 1 || repeats_samples(use))
        return false;
    for (size_t i = 0; i < use->in_count; i++)
        if (use->in[i] != NULL && !is_known(use->in[i]))
            return false;
    return true;
}

static sh_status evaluate(sh_onnx_use *use)
{
    sh_onnx_importer *importer = use->importer;
    const sh_onnx_constant **in =
        sh_arena_take(&importer->store.arena, use->in_count + 1, sizeof *in);
    sh_onnx_constant made;
    if (in == NULL)
        return sh_fail_memory(use->in_count * sizeof *in, "a node of a model");
    for (size_t i = 0; i < use->in_count; i++)
        SH_TRY(sh_import_constant(&in[i], use, i));
    SH_TRY(
        sh_onnx_fold(&made, 1, &use->node, in, use->in_count, importer->model, &importer->store));
    if (use->out[0] != NULL) {
        use->out[0]->kind = SH_ENTRY_CONSTANT;
        use->out[0]->constant = made;
    }
    return SH_OK;
}

/* Shape and Size are known for every value. */
static sh_status measure(sh_onnx_use *use)
{
    const bool size = strcmp(use->node.op, "Size") == 0;
    const sh_onnx_entry *x = use->in[0];
    size_t rank = x->constant.rank, dim[SH_ONNX_RANK_MOST], from = 0, to, total = 1;
    sh_onnx_constant made;
    memcpy(dim, x->constant.dim, sizeof dim);
    if (x->kind == SH_ENTRY_STORED) {
        sh_onnx_tensor tensor;
        SH_TRY(sh_onnx_tensor_of(&tensor, use->importer->model, x->stored));
        rank = tensor.rank;
        memcpy(dim, tensor.dim, sizeof dim);
    } else if (x->kind == SH_ENTRY_VALUE) {
        const sh_shape *shape = sh_import_shape(use, x->value);
        rank = shape->rank;
        memcpy(dim, shape->dim, rank * sizeof *dim);
    }
    int64_t start = sh_onnx_node_integer(&use->node, "start", 0);
    int64_t end = sh_onnx_node_integer(&use->node, "end", (int64_t)rank);
    start = start < 0 ? start + (int64_t)rank : start;
    end = end < 0 ? end + (int64_t)rank : end;
    from = start < 0 ? 0 : start > (int64_t)rank ? rank : (size_t)start;
    to = end < (int64_t)from ? from : end > (int64_t)rank ? rank : (size_t)end;
    const size_t count = to - from;
    SH_TRY(sh_onnx_constant_new(&made, &use->importer->store, false, size ? 0 : 1, &count));
    for (size_t i = 0; i < rank; i++)
        total *= dim[i];
    for (size_t i = 0; i < count && !size; i++)
        made.cells[i].whole = (int64_t)dim[from + i];
    if (size)
        made.cells[0].whole = (int64_t)total;
    made.derived = x->batch != SH_NO_AXIS;
    if (use->out[0] != NULL) {
        use->out[0]->kind = SH_ENTRY_CONSTANT;
        use->out[0]->constant = made;
    }
    return SH_OK;
}

/* True for operators that process each element of dimension 0 separately and mix elements of other
 * dimensions. */
static bool takes_samples_first(const char *op)
{
    static const char *const all[] = {
        "Conv",
        "ConvTranspose",
        "MaxPool",
        "AveragePool",
        "LpPool",
        "BatchNormalization",
        "GlobalMaxPool",
        "GlobalAveragePool",
        "GridSample",
        "InstanceNormalization",
        "GroupNormalization",
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(op, all[i]) == 0)
            return true;
    return false;
}

/* Samples must stay independent and be in the same order in all inputs. */
static sh_status check_samples(const sh_onnx_use *use)
{
    const sh_onnx_entry *first = NULL;
    for (size_t i = 0; i < use->in_count; i++) {
        const sh_onnx_entry *entry = use->in[i];
        if (entry == NULL || entry->batch == SH_NO_AXIS)
            continue;
        if (first != NULL && first->outer != entry->outer)
            return sh_fail(SH_UNSUPPORTED, "its inputs order the samples differently");
        first = entry;
        if (i == 0 && entry->batch != 0 && takes_samples_first(use->node.op))
            return sh_fail(SH_UNSUPPORTED, "it expects the samples in dimension 0, not in %zu",
                           entry->batch);
    }
    return SH_OK;
}

static bool is_quantised(const char *op)
{
    return strcmp(op, "QuantizeLinear") == 0 || strcmp(op, "DequantizeLinear") == 0 ||
           strcmp(op, "DynamicQuantizeLinear") == 0 || strncmp(op, "QLinear", 7) == 0 ||
           strcmp(op, "ConvInteger") == 0 || strcmp(op, "MatMulInteger") == 0;
}

static sh_status import_node(sh_onnx_use *use)
{
    const char *op = use->node.op, *domain = use->node.proto->domain;
    importing *import = find_operator(op, use->node.opset);
    const bool measures = strcmp(op, "Shape") == 0 || strcmp(op, "Size") == 0;
    if (domain[0] != '\0')
        return sh_fail(SH_UNSUPPORTED,
                       "operators of '%.64s' are not supported; export with ONNX's own", domain);
    for (size_t i = 0; i < use->in_count; i++)
        if (use->in[i] != NULL && use->in[i]->kind == SH_ENTRY_UNKNOWN &&
            (import != NULL || measures || sh_onnx_folds(op)))
            return SH_OK; /* the cause was reported before */
    if (strcmp(op, "Identity") == 0 && use->in_count == 1 && use->in[0] != NULL) {
        sh_import_pass(use);
        return SH_OK;
    }
    if (measures && use->in_count == 1 && use->in[0] != NULL && use->out_count == 1)
        return measure(use);
    if (is_constant(use))
        return evaluate(use);
    if (import == NULL)
        return sh_fail(SH_UNSUPPORTED, is_quantised(op)
                                           ? "the model is quantised; use the float32 model that "
                                             "it was made from"
                                       : sh_onnx_folds(op) || measures
                                           ? "it can only be computed from constants"
                                           : "this operator cannot be trained through; leave it "
                                             "out of the export");
    SH_TRY(check_samples(use));
    SH_TRY(import(use));
    return sh_onnx_node_status(&use->node);
}

/* These failures do not come from the file and end the import at once. */
static bool is_ours(sh_status status)
{
    return status == SH_NO_MEMORY || status == SH_INTERNAL || status == SH_IO;
}

static void report(const sh_onnx_use *use, const sh_onnx_step *before, const char *refused)
{
    const sh_onnx_wish *wish = use->importer->wish;
    sh_onnx_step step = *before;
    const sh_onnx_entry *made = use->out_count > 0 ? use->out[0] : NULL;
    if (wish->step == NULL)
        return;
    step.refused = refused;
    if (refused == NULL && made != NULL && made->kind == SH_ENTRY_VALUE)
        step.given = made->value;
    wish->step(wish->context, &step);
}

static void complain(sh_onnx_importer *importer, size_t index)
{
    char name[SH_ONNX_NODE_TEXT];
    sh_diagnostics_add(&importer->diagnostics, "%s: %s",
                       sh_onnx_node_name(name, importer->graph, index), sh_message());
}

static sh_status import_nodes(sh_onnx_importer *importer)
{
    for (size_t i = 0; i < importer->graph->n_node; i++) {
        sh_onnx_use use = {.importer = importer, .index = i};
        if (!importer->needed[i])
            continue;
        use.node = sh_onnx_node_of(importer->graph->node[i], sh_onnx_opset(importer->model));
        SH_TRY(find_entries(&use));
        const sh_onnx_step before = {.index = i,
                                     .nodes = importer->net->graph->node_count,
                                     .parameters = importer->net->graph->parameter_count,
                                     .given = SH_NO_VALUE};
        const sh_status status = importer->done[i] ? SH_OK : import_node(&use);
        if (is_ours(status))
            return status;
        report(&use, &before, status == SH_OK ? NULL : sh_message());
        if (status != SH_OK)
            complain(importer, i);
    }
    return SH_OK;
}

/* ---- whole models -----------------------------------------------------------------------------
 */

static sh_status shape_result(sh_value_id *given, sh_onnx_importer *importer,
                              const sh_onnx_entry *result)
{
    const sh_onnx_use use = {.importer = importer};
    while (result->same != NULL)
        result = result->same;
    if (result->kind != SH_ENTRY_VALUE)
        return sh_fail(SH_INVALID, "the result does not depend on the samples");
    const sh_shape shape = *sh_import_shape(&use, result->value);
    const size_t samples = importer->samples, each = sh_shape_count(&shape) / samples;
    const size_t wanted = importer->wish->outputs > 0 ? importer->wish->outputs : each;
    char text[SH_SHAPE_TEXT];
    if (result->batch != 0 || result->outer != 1)
        return sh_fail(SH_INVALID, "its result %s does not begin with the samples",
                       sh_shape_print(&shape, text));
    if (shape.rank == 0 || shape.dim[0] != samples || each != wanted)
        return sh_fail(SH_INVALID,
                       "for %zu samples it gives %s, expected %zu numbers for each, and it has no "
                       "last dense layer to replace",
                       samples, sh_shape_print(&shape, text), wanted);
    if (importer->wish->trace != NULL) {
        importer->wish->trace->out = shape;
        importer->wish->trace->out_batch = result->batch;
    }
    const sh_shape flat = sh_shape_of(2, (size_t[]){samples, wanted});
    return sh_import_reshape(given, &use, result->value, &flat);
}

static sh_status check_trained(const sh_onnx_importer *importer)
{
    for (size_t i = 0; i < importer->entry_count; i++)
        if (importer->entries[i].role == SH_ONNX_TRAINED &&
            importer->entries[i].value != SH_NO_VALUE)
            return SH_OK;
    return sh_fail(SH_INVALID, "it has no weights that can be trained");
}

static void note_folded(const sh_onnx_importer *importer)
{
    const sh_onnx_folded folded = sh_onnx_find_folded(importer->model);
    if (folded.certain > 0)
        sh_import_note(
            importer,
            "batch norms of %zu of %zu convolutions are folded into them, and it trains without; "
            "--unfold restores them, and this PyTorch call keeps them: " SH_ONNX_KEEP_NORMS,
            folded.certain, folded.layers);
}

static sh_status build(sh_value_id *given, sh_onnx_importer *importer, sh_value_id samples)
{
    sh_onnx_entry *result;
    SH_TRY(make_entries(importer));
    SH_TRY(sh_onnx_head_result(&result, importer));
    need(importer, result);
    find_needed(importer);
    SH_TRY(trace_needed(importer, result));
    SH_TRY(sh_onnx_head_replace(importer, result));
    note_folded(importer);
    SH_TRY(sh_onnx_inputs_bind(importer, samples));
    SH_TRY(import_nodes(importer));
    if (importer->diagnostics.count > 0)
        return sh_diagnostics_fail(&importer->diagnostics, SH_UNSUPPORTED, importer->path);
    SH_TRY(sh_fail_in(shape_result(given, importer, result), "%.256s", importer->path));
    return sh_fail_in(check_trained(importer), "%.256s", importer->path);
}

static void init(sh_onnx_importer *importer, sh_net *net, const sh_onnx *model,
                 const sh_onnx_wish *wish)
{
    *importer =
        (sh_onnx_importer){.net = net, .model = model, .graph = sh_onnx_graph(model), .wish = wish};
    snprintf(importer->path, sizeof importer->path, "%s", sh_onnx_path(model));
    char *at = strrchr(importer->path, '@');
    if (at != NULL && strlen(at + 1) == SH_DIGEST_TEXT - 1)
        *at = '\0';
}

static void release(sh_onnx_importer *importer)
{
    free(importer->entries);
    free(importer->needed);
    free(importer->done);
}

sh_value_id sh_onnx_build(sh_net *net, sh_value_id samples, const sh_onnx *model,
                          const sh_onnx_wish *wish)
{
    sh_onnx_importer importer;
    sh_value_id given = SH_NO_VALUE;
    if (net->graph->status != SH_OK || samples == SH_NO_VALUE)
        return SH_NO_VALUE;
    init(&importer, net, model, wish);
    const sh_status status = build(&given, &importer, samples);
    if (status != SH_OK)
        given = sh_graph_failed(net->graph, status);
    release(&importer);
    sh_onnx_store_release(&importer.store);
    return given;
}

/* ---- unchanged import -------------------------------------------------------------------------
 */

/* Imports the nodes that an output depends on. An output counts as two readers, so that no node is
 * taken for the only one. */
static sh_status apply(sh_onnx_importer *importer, const sh_onnx_binding *given, size_t count)
{
    const Sh__Onnx__GraphProto *graph = importer->graph;
    SH_TRY(make_entries(importer));
    for (size_t i = 0; i < graph->n_output; i++) {
        sh_onnx_entry *entry = sh_import_find(importer, graph->output[i]->name);
        if (entry == NULL)
            return sh_fail(SH_FORMAT, "nothing makes output '%.64s'", graph->output[i]->name);
        need(importer, entry);
        entry->readers += 2;
    }
    find_needed(importer);
    for (size_t i = 0; i < count; i++) {
        sh_onnx_entry *entry = sh_import_find(importer, given[i].name);
        if (entry == NULL || entry->maker != SIZE_MAX || entry->kind == SH_ENTRY_STORED)
            return sh_fail(SH_INVALID, "'%.64s' is not an input", given[i].name);
        entry->kind = SH_ENTRY_VALUE;
        entry->value = given[i].value;
    }
    SH_TRY(import_nodes(importer));
    return sh_diagnostics_fail(&importer->diagnostics, SH_UNSUPPORTED, importer->path);
}

static sh_status read_result(sh_onnx_result *result, sh_onnx_importer *importer, const char *name)
{
    const sh_onnx_constant *constant;
    sh_onnx_entry *entry = sh_import_find(importer, name);
    while (entry->same != NULL)
        entry = entry->same;
    const sh_onnx_use use = {.importer = importer, .in = &entry, .in_count = 1};
    *result = (sh_onnx_result){.value = SH_NO_VALUE};
    if (entry->kind == SH_ENTRY_VALUE || sh_import_constant(&constant, &use, 0) != SH_OK)
        return sh_import_weights(&result->value, &use, 0, SH_IMPORT_WEIGHT);
    result->constant = *constant;
    return SH_OK;
}

sh_status sh_onnx_apply(sh_onnx_result *results, sh_net *net, const sh_onnx *model,
                        const sh_onnx_binding *given, size_t count, sh_onnx_store *store)
{
    static const sh_onnx_wish none = {0};
    sh_onnx_importer importer;
    init(&importer, net, model, &none);
    importer.store = *store;
    importer.samples = importer.baked = 1;
    sh_status status = apply(&importer, given, count);
    for (size_t i = 0; i < importer.graph->n_output && status == SH_OK; i++)
        status = read_result(&results[i], &importer, importer.graph->output[i]->name);
    release(&importer);
    *store = importer.store;
    return sh_fail_in(status, "%.256s", importer.path);
}
