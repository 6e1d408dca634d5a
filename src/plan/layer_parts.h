/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers of a model that multiply, convolutions and dense ones, and which instructions of its
 * training program do their work: the layer's result, the gradient of its input, that of its
 * weights.
 *
 *     SH_TRY(sh_layer_parts(&layers, &count, places, program, graph));
 *     for (size_t i = 0; i < sh_program_length(program); i++)
 *         if (places[i].layer != SH_NO_LAYER)
 *             layers[places[i].layer].parts[places[i].part].seconds += seconds[i];
 *
 * Threads: any; a pure function.
 */
#ifndef SHOAL_PLAN_LAYER_PARTS_H
#define SHOAL_PLAN_LAYER_PARTS_H

#include "backend/program.h"
#include "shoal/bench.h"

#define SH_NO_LAYER UINT32_MAX

typedef struct sh_layer_place {
    uint32_t layer; /* SH_NO_LAYER: this instruction belongs to none */
    uint32_t part;  /* SH_BENCH_FORWARD .. */
} sh_layer_place;

/*
 * Lists the layers of the graph that `program` was compiled from, in order, with the operations of
 * each part; their seconds are 0. `*layers` is owned: free(); `places` has room for each
 * instruction.
 */
sh_status sh_layer_parts(sh_bench_layer **layers, size_t *count, sh_layer_place *places,
                         const sh_program *program, const sh_graph *graph) SHOAL_CHECKED;

#endif
