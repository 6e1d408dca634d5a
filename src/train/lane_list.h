/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On what a device computes, as --lanes says it: cores, or a list of GPUs and cores.
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
    uint32_t cores;                       /* 0: without GPUs all of this machine, with GPUs none */
    uint32_t gpus[SH_GPU_MAX], gpu_count; /* by their numbers, each once */
} sh_lane_list;

/*
 * NULL: all cores. "4": so many; "gpu:0", "gpu:0,gpu:1,cpu:2": these GPUs, and beside them no or so
 * many cores. SH_INVALID quotes the text and says what it has to be. Whether there are such GPUs is
 * not looked at.
 */
sh_status sh_lane_list_parse(sh_lane_list *list, const char *text) SHOAL_CHECKED;

#endif
