/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "model/builtin.h"

const sh_model_def *const *sh_model_all(void)
{
    static const sh_model_def *const all[] = {&sh_model_mlp, &sh_model_lenet, NULL};
    return all;
}

static const sh_model_def *find(const char *spec, const char **parameters)
{
    const size_t length = strcspn(spec, ":");
    *parameters = spec[length] == ':' ? spec + length + 1 : NULL;
    for (const sh_model_def *const *all = sh_model_all(); *all != NULL; all++)
        if (strlen((*all)->name) == length && strncmp((*all)->name, spec, length) == 0)
            return *all;
    return NULL;
}

static sh_status fail_unknown(const char *spec)
{
    char names[256] = "";
    size_t used = 0;
    for (const sh_model_def *const *all = sh_model_all(); *all != NULL; all++)
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used == 0 ? "" : ", ", (*all)->usage);
    return sh_fail(SH_INVALID, "unknown model '%.64s'; there is: %s", spec, names);
}

/* From samples to loss, and for training back to the gradients. */
static void build_all(sh_graph *graph, const sh_model_def *def, const char *parameters,
                      const sh_problem *problem, size_t samples, sh_model_mode mode)
{
    sh_value_id out[SH_MAX_OUTPUTS];
    const sh_shape per_sample = sh_shape_of(1, &samples);
    const sh_shape pixels =
        sh_shape_of(4, (size_t[]){samples, problem->channels, problem->height, problem->width});
    const sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, pixels});
    const sh_value_id labels = sh_graph_input(graph, (sh_type){SH_I32, per_sample});
    const sh_value_id logits = def->build(graph, x, parameters, problem);
    const sh_value_id loss =
        sh_graph_add(graph, SH_OP_cross_entropy, NULL, (sh_value_id[]){logits, labels}, out);
    sh_graph_output(graph, loss);
    sh_graph_output(graph, sh_graph_add(graph, SH_OP_argmax, NULL, &logits, out));
    sh_graph_output(graph, labels); /* still there after the run, to be compared with */
    if (mode == SH_MODEL_TRAIN)
        sh_graph_differentiate(graph, loss, sh_graph_input(graph, (sh_type){SH_F32, per_sample}));
}

sh_status sh_model_build(sh_graph **graph, const char *spec, const sh_problem *problem,
                         size_t samples, sh_model_mode mode)
{
    const char *parameters;
    const sh_model_def *def = find(spec, &parameters);
    if (def == NULL)
        return fail_unknown(spec);
    sh_graph *fresh;
    SH_TRY(sh_graph_new(&fresh));
    build_all(fresh, def, parameters, problem, samples, mode);
    const sh_status status = sh_fail_in(sh_graph_status(fresh), "model %.64s", spec);
    if (status != SH_OK) {
        sh_graph_free(fresh);
        return status;
    }
    *graph = fresh;
    return SH_OK;
}

size_t sh_model_weights(const sh_graph *graph)
{
    size_t weights = 0;
    for (size_t i = 0; i < graph->parameter_count; i++)
        weights += sh_shape_count(&sh_graph_type(graph, graph->parameters[i].value)->shape);
    return weights;
}

void sh_model_initialise(const sh_graph *graph, uint64_t seed, float *weights)
{
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const sh_parameter *parameter = &graph->parameters[i];
        const size_t count = sh_shape_count(&sh_graph_type(graph, parameter->value)->shape);
        const float bound =
            parameter->initial == SH_INITIAL_ZERO ? 0.0f : 1.0f / sqrtf((float)parameter->fan_in);
        sh_random random = sh_random_for(seed, SH_RANDOM_INITIAL, (uint32_t)i, 0);
        for (size_t j = 0; j < count; j++)
            *weights++ = (2.0f * sh_random_unit(&random) - 1.0f) * bound;
    }
}
