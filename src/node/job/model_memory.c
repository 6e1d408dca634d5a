/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/model_memory.h"

#include "backend/program.h"
#include "train/lanes.h"

#define USUAL_GRAIN 16

sh_status sh_model_memory_find(sh_model_memory *memory, const sh_model_options *options)
{
    const sh_kernels *kernels;
    sh_graph *graph;
    sh_program *program;
    SH_TRY(sh_kernels_choose(&kernels, NULL));
    SH_TRY(sh_lanes_graph(&graph, options, (sh_lane_size){SH_MODEL_TRAIN, USUAL_GRAIN}, 0));
    const sh_status status = sh_program_compile(&program, graph, kernels);
    if (status == SH_OK) {
        const uint64_t words = 3 * sh_model_weights(graph); /* weights, sum, momentum */
        *memory = (sh_model_memory){
            .grain = USUAL_GRAIN,
            .lane_bytes = sh_program_lane_bytes(program),
            .weights_bytes = words * sizeof(float) + sh_program_shared_bytes(program),
        };
        sh_program_free(program);
    }
    sh_graph_free(graph);
    return status;
}
