/* SPDX-License-Identifier: Apache-2.0 */
#include "shoal/about.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/program.h"
#include "base/log.h"
#include "data/dataset.h"
#include "model/choice.h"
#include "model/model.h"
#include "node/job/model_memory.h"
#include "reduce/mpi.h"

const char *sh_version(void)
{
    return SHOAL_VERSION;
}

const char *sh_build_compiler(void)
{
#if defined(__clang__)
    return __VERSION__; /* "Debian Clang 14.0.6" */
#else
    return "GCC " __VERSION__;
#endif
}

static bool is_file_name(const char *model)
{
    return strchr(model, '/') != NULL || strstr(model, ".onnx") != NULL || access(model, F_OK) == 0;
}

sh_status sh_names_check(const char *model, const char *data)
{
    const sh_model_def *def;
    if (model != NULL && strcmp(model, SH_MODEL_AUTO) != 0 && !is_file_name(model))
        SH_TRY(sh_model_find(&def, model));
    return data == NULL ? SH_OK : sh_dataset_name_check(data);
}

sh_status sh_kernel_variant(const char **name)
{
    const sh_kernels *kernels;
    SH_TRY(sh_kernels_choose(&kernels, NULL));
    *name = kernels->name;
    return SH_OK;
}

sh_status sh_part_list(size_t index, const char **name, int *present)
{
    static const char *const parts[] = {"mpi"};
    if (index >= sizeof parts / sizeof *parts)
        return sh_fail(SH_NOT_FOUND, "there are no more parts");
    *name = parts[index];
    *present = sh_mpi_is_built();
    return SH_OK;
}

static sh_status find_model(const sh_model_def **def, size_t index)
{
    const sh_model_def *const *all = sh_model_all();
    size_t count = 0;
    while (all[count] != NULL)
        count++;
    if (index >= count)
        return sh_fail(SH_NOT_FOUND, "there are no more models");
    *def = all[index];
    return SH_OK;
}

sh_status sh_model_list(size_t index, sh_model_info *info)
{
    const sh_model_def *def;
    sh_graph *graph;
    double flops = 0;
    SH_TRY(find_model(&def, index));
    const sh_problem *problem = &def->example_problem;
    sh_model_info fresh = {.name = def->name,
                           .usage = def->usage,
                           .summary = def->summary,
                           .example = def->example,
                           .channels = problem->channels,
                           .height = problem->height,
                           .width = problem->width,
                           .classes = problem->outputs};
    const sh_model_options options = {.spec = def->example, .problem = def->example_problem};
    SH_TRY(sh_model_build(&graph, &options, 1, SH_MODEL_EVALUATE));
    for (size_t i = 0; i < graph->node_count; i++) {
        const sh_node *node = &graph->nodes[i];
        /* Counts as in the literature, without element-wise work. */
        if (node->op == SH_OP_conv2d || node->op == SH_OP_linear || node->op == SH_OP_matmul)
            flops += sh_graph_cost(graph, node).flops;
    }
    fresh.parameters = sh_model_parameters(graph);
    /* A multiply-add is two operations. */
    fresh.multiply_adds = (uint64_t)(flops / 2);
    sh_graph_free(graph);
    *info = fresh;
    return SH_OK;
}

sh_status sh_model_memory_of(size_t index, sh_model_memory *memory)
{
    const sh_model_def *def;
    SH_TRY(find_model(&def, index));
    const sh_model_options options = {.spec = def->example, .problem = def->example_problem};
    return sh_model_memory_find(memory, &options);
}

/* The level is a number, so that the public header is self-contained. */
static sh_log_line *public_sink; /* set before threads start */

static void pass_on(void *context, sh_log_level level, const char *line)
{
    public_sink(context, (int)level, line);
}

void sh_log_set(int lowest_level, sh_log_line *sink, void *context)
{
    public_sink = sink;
    const sh_log_level lowest = lowest_level < 0              ? SH_LOG_DEBUG
                                : lowest_level > SH_LOG_ERROR ? SH_LOG_OFF
                                                              : (sh_log_level)lowest_level;
    sh_log_to(lowest, sink == NULL ? NULL : pass_on, context);
}
