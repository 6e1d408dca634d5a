/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses --lanes: a number of cores, or a list of GPUs and cores.
 *
 *     sh_lane_list list;
 *     SH_TRY(sh_lane_list_parse(&list, "gpu:0,cpu:4"));
 *     bench->gpus = list.gpus;
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_TRAIN_LANE_LIST_H
#define SHOAL_TRAIN_LANE_LIST_H

#include "gpu/device.h"

typedef struct sh_lane_list {
    uint32_t cores;                       /* 0: all cores without GPUs, none with GPUs */
    uint32_t gpus[SH_GPU_MAX], gpu_count; /* without repetition */
} sh_lane_list;

/*
 * `text` NULL: all cores. "4": that number of cores. "gpu:0" or "gpu:0,gpu:1,cpu:2": these GPUs and
 * that number of cores (default 0). SH_INVALID quotes the text and states the expected form. Does
 * not check whether the GPUs exist.
 */
sh_status sh_lane_list_parse(sh_lane_list *list, const char *text) SHOAL_CHECKED;

#endif
