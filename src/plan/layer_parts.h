/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolutions and dense layers of a model, and the instructions of its training program that
 * compute each layer's result, input gradient and weight gradient.
 *
 *     if (places[i].layer != SH_NO_LAYER)
 *         layers[places[i].layer].parts[places[i].part].seconds += seconds[i]; // instruction i
 *
 * Threads: any; pure.
 */
#ifndef SHOAL_PLAN_LAYER_PARTS_H
#define SHOAL_PLAN_LAYER_PARTS_H

#include "backend/program.h"
#include "shoal/bench.h"

#define SH_NO_LAYER UINT32_MAX

typedef struct sh_layer_place {
    uint32_t layer; /* SH_NO_LAYER: none */
    uint32_t part;  /* SH_BENCH_FORWARD .. */
} sh_layer_place;

/*
 * Lists the layers of the graph of `program`, in order, with the operations of each part and 0
 * seconds. `*layers` is owned: free(). `places` has an entry for each instruction.
 */
sh_status sh_layer_parts(sh_bench_layer **layers, size_t *count, sh_layer_place *places,
                         const sh_program *program, const sh_graph *graph) SHOAL_CHECKED;

#endif
