/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/real.h"
#include "base/suggestion.h"
#include "graph/fuse.h"
#include "onnx/import.h"

#define MEANT_BYTES 160

const sh_model_def *const *sh_model_all(void)
{
    static const sh_model_def *const all[] = {
#define SH_MODEL(name) &sh_model_##name,
#include "model/models.def"
#undef SH_MODEL
        NULL,
    };
    return all;
}

/* "resnet:20" for "resnet20", else a similar name or "". */
static void suggest(char meant[MEANT_BYTES], const char *spec)
{
    char typed[MEANT_BYTES];
    const size_t length = strcspn(spec, ":"), letters = strcspn(spec, ":0123456789");
    snprintf(typed, sizeof typed, "%.*s", (int)(length < sizeof typed ? length : 0), spec);
    sh_suggestion near = {.typed = typed};
    meant[0] = '\0';
    for (const sh_model_def *const *all = sh_model_all(); *all != NULL; all++) {
        const sh_model_def *def = *all;
        sh_suggestion_offer(&near, def->name);
        if (letters == length || strchr(def->usage, ':') == NULL || strlen(def->name) != letters ||
            strncmp(def->name, spec, letters) != 0)
            continue;
        snprintf(meant, MEANT_BYTES, "%s:%.64s", def->name, spec + letters);
        return;
    }
    if (near.name != NULL)
        snprintf(meant, MEANT_BYTES, "%s%.64s", near.name, spec + length);
}

sh_status sh_model_find(const sh_model_def **def, const char *spec)
{
    char names[512] = "", meant[MEANT_BYTES];
    size_t used = 0;
    const size_t length = strcspn(spec, ":");
    for (const sh_model_def *const *all = sh_model_all(); *all != NULL; all++) {
        if (strlen((*all)->name) == length && strncmp((*all)->name, spec, length) == 0) {
            *def = *all;
            return SH_OK;
        }
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used == 0 ? "" : ", ", (*all)->usage);
    }
    suggest(meant, spec);
    return sh_fail(SH_INVALID, "unknown model '%.64s'; %s%s%sknown are: %s", spec,
                   meant[0] != '\0' ? "did you mean '" : "", meant, meant[0] != '\0' ? "'? " : "",
                   names);
}

static sh_op loss_of(sh_target target)
{
    return target == SH_TARGET_CLASS    ? SH_OP_cross_entropy
           : target == SH_TARGET_LABELS ? SH_OP_binary_cross_entropy
                                        : SH_OP_mse;
}

/* Mixed samples have two classes: their loss is the mean of both losses, weighted by
 * the shares. */
static sh_value_id add_loss(sh_net *net, const sh_model_options *options, sh_value_id given,
                            sh_value_id targets)
{
    sh_graph *graph = net->graph;
    const sh_op op = loss_of(options->problem.target);
    const sh_attributes settings = {.number = net->training ? options->label_smoothing : 0.0f};
    const sh_value_id loss =
        sh_graph_add(graph, op, &settings, (sh_value_id[]){given, targets}, NULL);
    if (!net->training || !options->mixed || options->problem.target != SH_TARGET_CLASS ||
        graph->status != SH_OK)
        return loss;
    const sh_type classes = *sh_graph_type(graph, targets), shares = *sh_graph_type(graph, loss);
    const sh_value_id other = sh_graph_input(graph, classes);
    const sh_value_id share = sh_graph_input(graph, shares);
    const sh_value_id other_share = sh_graph_input(graph, shares);
    const sh_value_id second =
        sh_graph_add(graph, op, &settings, (sh_value_id[]){given, other}, NULL);
    const sh_value_id parts[] = {
        sh_graph_add(graph, SH_OP_multiply, NULL, (sh_value_id[]){loss, share}, NULL),
        sh_graph_add(graph, SH_OP_multiply, NULL, (sh_value_id[]){second, other_share}, NULL)};
    return sh_graph_add(graph, SH_OP_add, NULL, parts, NULL);
}

/* `def` is NULL for an imported model. */
static sh_value_id build_layers(sh_net *net, sh_value_id samples, const sh_model_def *def,
                                const sh_model_options *options)
{
    const char *colon = strchr(options->spec, ':');
    const sh_onnx_wish wish = {
        .outputs = options->problem.outputs,
        .target = options->problem.target,
        .note = options->note,
        .context = options->context,
    };
    if (def == NULL)
        return sh_onnx_build(net, samples, options->network->model, &wish);
    return def->build(net, samples, colon == NULL ? NULL : colon + 1, &options->problem);
}

static void build_all(sh_graph *graph, const sh_model_def *def, const sh_model_options *options,
                      size_t samples, sh_model_mode mode)
{
    const sh_problem *problem = &options->problem;
    sh_net net = {.graph = graph,
                  .training = mode == SH_MODEL_TRAIN,
                  .keeps_dropout = options->keeps_dropout,
                  .frozen = options->frozen};
    const sh_shape per_sample = sh_shape_of(1, &samples);
    const sh_shape pixels =
        sh_shape_of(4, (size_t[]){samples, problem->channels, problem->height, problem->width});
    const sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, pixels});
    const bool numbers =
        problem->target == SH_TARGET_LABELS || problem->target == SH_TARGET_NUMBERS;
    const sh_shape of_outputs = sh_shape_of(2, (size_t[]){samples, problem->outputs});
    sh_value_id targets = sh_graph_input(graph, numbers ? (sh_type){SH_F32, of_outputs}
                                                        : (sh_type){SH_I32, per_sample});
    if (net.training)
        net.loss_weights = sh_graph_input(graph, (sh_type){SH_F32, per_sample});
    if (net.training || net.keeps_dropout)
        net.keys = sh_graph_input(graph, (sh_type){SH_I32, sh_shape_of(2, (size_t[]){samples, 2})});
    const sh_value_id given = build_layers(&net, x, def, options);
    const bool classes = problem->target == SH_TARGET_CLASS;
    if (problem->target == SH_TARGET_SAMPLE)
        targets = sh_layer_flatten(&net, x);
    const sh_value_id loss = add_loss(&net, options, given, targets);
    sh_graph_output(graph, loss);
    sh_graph_output(graph, classes ? sh_graph_add(graph, SH_OP_argmax, NULL, &given, NULL) : given);
    sh_graph_output(graph, targets); /* to compare with the output */
    sh_graph_output(graph, given);
    sh_graph_fuse(graph);
    if (net.training) {
        sh_graph_differentiate(graph, loss, net.loss_weights);
        sh_graph_fuse(graph);
    }
}

static sh_status check_frozen(const sh_graph *graph, const char *frozen)
{
    for (size_t i = 0; i < graph->parameter_count; i++)
        if (graph->parameters[i].role == SH_ROLE_TRAINED)
            return SH_OK;
    return sh_fail(SH_INVALID, "--freeze %.128s leaves nothing to train",
                   frozen == NULL ? "" : frozen);
}

sh_status sh_model_build(sh_graph **graph, const sh_model_options *options, size_t samples,
                         sh_model_mode mode)
{
    const sh_model_def *def = NULL;
    sh_graph *fresh;
    const bool imported = sh_model_spec_is(options->spec, NULL);
    if (!imported)
        SH_TRY(sh_model_find(&def, options->spec));
    else if (options->network == NULL)
        return sh_fail(SH_INVALID, "the network %s is missing", options->spec);
    SH_TRY(sh_graph_new(&fresh));
    build_all(fresh, def, options, samples, mode);
    sh_status status = sh_graph_status(fresh);
    if (!imported)
        status = sh_fail_in(status, "model %.64s", options->spec);
    if (status == SH_OK)
        status = check_frozen(fresh, options->frozen);
    if (status != SH_OK) {
        sh_graph_free(fresh);
        return status;
    }
    *graph = fresh;
    return SH_OK;
}

static size_t elements_of(const sh_graph *graph, size_t index)
{
    return sh_shape_count(&sh_graph_type(graph, graph->parameters[index].value)->shape);
}

static size_t count_weights(const sh_graph *graph, bool statistics)
{
    size_t weights = 0;
    for (size_t i = 0; i < graph->parameter_count; i++)
        if (statistics || !graph->parameters[i].statistic)
            weights += elements_of(graph, i);
    return weights;
}

size_t sh_model_weights(const sh_graph *graph)
{
    return count_weights(graph, true);
}

size_t sh_model_parameters(const sh_graph *graph)
{
    return count_weights(graph, false);
}

/*
 * The polar method (Marsaglia, Bray 1964) with sh_real_log. It uses only IEEE operations, so that
 * all machines draw the same numbers.
 */
static float draw_normal(sh_random *random)
{
    for (;;) {
        const double u = 2.0 * (double)sh_random_unit(random) - 1.0;
        const double v = 2.0 * (double)sh_random_unit(random) - 1.0;
        const double s = u * u + v * v;
        if (s > 0 && s < 1)
            return (float)(u * sqrt(-2.0 * sh_real_log(s) / s));
    }
}

void sh_model_initialise_tensor(const sh_graph *graph, size_t index, uint64_t seed, float *weights)
{
    const sh_initial initial = graph->parameters[index].initial;
    sh_random random = sh_random_for(seed, SH_RANDOM_INITIAL, (uint32_t)index, 0);
    for (size_t i = 0; i < elements_of(graph, index); i++)
        if (initial.kind == SH_INITIAL_UNIFORM)
            weights[i] = (2.0f * sh_random_unit(&random) - 1.0f) * initial.size;
        else if (initial.kind == SH_INITIAL_NORMAL)
            weights[i] = draw_normal(&random) * initial.size;
        else if (initial.kind == SH_INITIAL_VALUES)
            weights[i] = initial.values[i];
        else
            weights[i] = initial.size;
}

void sh_model_initialise(const sh_graph *graph, uint64_t seed, float *weights)
{
    for (size_t i = 0; i < graph->parameter_count; i++) {
        sh_model_initialise_tensor(graph, i, seed, weights);
        weights += elements_of(graph, i);
    }
}
