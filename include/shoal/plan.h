/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job would take on this device, before it starts: layers, memory, time.
 *
 *     sh_plan_options options = {.job = job};
 *     sh_plan_result plan;
 *     if (sh_plan(&options, &plan) == SH_OK && plan.timed)
 *         printf("%.1f ms a step\n", 1e3 * plan.grains[0].step_seconds);
 *     sh_plan_result_release(&plan);
 *
 * Times come from what sh_bench has measured of this device (bench.h). Nothing is trained. With
 * `on`, the plan also has the time of a step on several devices, and the devices that are fastest,
 * need the least energy, or are just enough for a deadline.
 *
 * Threads: the call blocks, and may be made from any thread.
 */
#ifndef SHOAL_PLAN_H
#define SHOAL_PLAN_H

#include "shoal/device_info.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sh_plan_options {
    sh_job job;
    const char *lanes; /* cores, as sh_lanes_check has them; NULL: all */
    uint64_t memory;   /* most bytes to hold resident; 0: any number */
    const char *on; /* devices, such as "this@1gbit, 8x pi4@100mbit" (docs/planning.md); or NULL */
    const sh_device_list *devices; /* instead of `on`: a list; borrowed for the call; or NULL */
    const char
        *deadline; /* with `on`: choose the fewest devices that end in time, "1.5h"; or NULL */
    bool energy;   /* with `on`: choose the devices with the least energy (in time) */
} sh_plan_options;

/* The nodes of one scope of parameters, forward and backward; figures are those of one grain. */
typedef struct sh_plan_layer {
    char name[96];  /* of the scope: "layer1.0.conv1"; "input", "loss" for what has none */
    char shape[64]; /* of one sample behind it */
    uint64_t parameters;
    double forward_flops, backward_flops;
    uint64_t activation_bytes; /* made by its forward nodes, shared or not */
    double seconds;            /* NaN without figures of this device */
} sh_plan_layer;

/* The job at one size of grain: bytes by kind, and times (NaN without figures of this device). */
typedef struct sh_plan_grain {
    uint32_t grain, grains; /* samples of a grain, grains of a step (with local:H a local one) */
    uint64_t weights_bytes, sum_bytes, optimizer_bytes;
    uint64_t prepared_bytes;    /* made from the weights once a step; all lanes share them, or with
                                   local:H each has its own */
    uint64_t activations_bytes; /* of one lane, scratch included */
    uint64_t input_bytes;       /* of one lane: samples, labels */
    uint64_t worker_bytes;      /* of one lane: weights, gradient, state of its worker; else 0 */
    uint64_t base_bytes;        /* the program itself */
    uint64_t total_bytes;       /* all, with all lanes */
    double step_seconds, compute_seconds, prepare_seconds, optimizer_seconds, other_seconds;
    double epoch_seconds; /* training alone, without the validation behind it */
} sh_plan_grain;

/* A step on some of the devices of `on`: each point has the devices of the one before and another
 * one, the one that helps most. */
typedef struct sh_plan_point {
    uint32_t devices;
    char added[64]; /* the last one of them, and its link */
    double step_seconds, compute_seconds, exchange_seconds;
    char binds[128]; /* what takes the longest, and how many of them have nothing to do */
} sh_plan_point;

/* The fastest of the devices of `on` with another grain or wire: the weights are others then. */
typedef struct sh_plan_way {
    uint32_t grain, wire;
    uint32_t devices; /* that compute */
    double step_seconds;
} sh_plan_way;

/* The devices of `on` that `energy` or `deadline` choose. */
typedef struct sh_plan_choice {
    uint32_t devices; /* 0: none end in time */
    char which[256];  /* "2x pi4, 1x pi5" */
    double step_seconds;
    double step_joules; /* all of them, for the whole step; NaN: power not known */
} sh_plan_choice;

typedef struct sh_plan_result {
    uint32_t lanes;
    char variant[16];
    uint64_t parameters, samples; /* of the model, statistics apart; for training */
    bool timed;                   /* there are figures of this device */
    char note[SH_RUN_BYTES];      /* why there are none; else empty */
    char memory_note[512];        /* what a limit leads to; else empty */
    double read_seconds;          /* of one sample, measured now */
    sh_plan_layer *layers;        /* owned */
    size_t layer_count;
    /* Owned; the job's own first, as it is below the limit, then others without a limit to compare
     * with. */
    sh_plan_grain *grains;
    size_t grain_count;
    /* With `on`, both owned; else there are none. */
    sh_plan_point *points;
    size_t point_count, best; /* the point with the shortest step */
    sh_plan_way *ways;        /* the fastest first, the job's own not among them */
    size_t way_count;
    sh_plan_choice choice; /* with `energy` or `deadline` */
    uint64_t steps;        /* of the job; with `on` */
    char on_note[160];     /* what is estimated; else empty */
} sh_plan_result;

/* SH_LIMIT: the job does not fit. SH_INVALID, and the failures of opening the data, say what is
 * wrong with the job, `on` or `deadline`, or whose power `energy` lacks. SH_NOT_FOUND: `on` has
 * this device, which was not measured. SH_UNSUPPORTED: `on` with a strategy whose devices do not
 * compute steps together. */
SHOAL_API sh_status sh_plan(const sh_plan_options *options, sh_plan_result *plan) SHOAL_CHECKED;
SHOAL_API void sh_plan_result_release(sh_plan_result *plan);

#ifdef __cplusplus
}
#endif
#endif
