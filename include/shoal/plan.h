/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates layers, memory and time of a job before it starts.
 *
 *     sh_plan_options options = {.job = job};
 *     sh_plan_result plan;
 *     if (sh_plan(&options, &plan) == SH_OK && plan.timed)
 *         printf("%.1f ms a step\n", 1e3 * plan.grains[0].step_seconds);
 *     sh_plan_result_release(&plan);
 *
 * Times are based on the results of sh_bench (bench.h). Nothing is trained. With `on`, the plan
 * also has the step time on several devices, and the devices that are fastest, need the least
 * energy, or just meet a deadline.
 *
 * Threads: any; the call blocks.
 */
#ifndef SHOAL_PLAN_H
#define SHOAL_PLAN_H

#include "shoal/device_info.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sh_plan_options {
    sh_job job;
    const char *lanes; /* as for sh_lanes_check, cores only; NULL: all */
    uint64_t memory;   /* limit of resident bytes; 0: none */
    const char *on;    /* devices: "this@1gbit, 8x pi4@100mbit" (docs/planning.md); or NULL */
    const sh_device_list *devices; /* instead of `on`; borrowed for the call; or NULL */
    const char *deadline; /* with `on`: choose the fewest devices that meet it, "1.5h"; or NULL */
    bool energy;          /* with `on`: choose the devices with the least energy (that meet it) */
} sh_plan_options;

/* The nodes of one parameter scope, forward and backward; figures for one grain. */
typedef struct sh_plan_layer {
    char name[96];  /* of the scope: "layer1.0.conv1"; "input", "loss" if none */
    char shape[64]; /* of its output for one sample */
    uint64_t parameters;
    double forward_flops, backward_flops;
    uint64_t activation_bytes; /* of its forward nodes, shared or not */
    double seconds;            /* NaN without measurements */
} sh_plan_layer;

/* The job with one grain size: bytes by kind, and times (NaN without measurements). */
typedef struct sh_plan_grain {
    uint32_t grain, grains; /* samples per grain; grains per step (with local:H, per local step) */
    uint64_t weights_bytes, sum_bytes, optimizer_bytes;
    uint64_t prepared_bytes; /* prepared from the weights in each step; shared by lanes, except with
                                local:H */
    uint64_t activations_bytes; /* per lane, with scratch */
    uint64_t input_bytes;       /* per lane: samples, labels */
    uint64_t worker_bytes;      /* per lane: weights, gradient, state of its worker; else 0 */
    uint64_t base_bytes;        /* the program */
    uint64_t total_bytes;       /* with all lanes */
    double step_seconds, compute_seconds, prepare_seconds, optimizer_seconds, other_seconds;
    double epoch_seconds; /* training without validation */
} sh_plan_grain;

/* Each point adds the most useful device of `on` to the previous point. */
typedef struct sh_plan_point {
    uint32_t devices;
    char added[64]; /* the added device and its link */
    double step_seconds, compute_seconds, exchange_seconds;
    char binds[128]; /* the bottleneck, and the number of idle devices */
} sh_plan_point;

/* The fastest devices with another batch size, grain, wire or strategy. */
typedef struct sh_plan_way {
    uint32_t batch_size, grain, wire;
    char strategy[16]; /* "ps-sync", with the same weights; "local:H", with H batches in a step; "":
                          the job's */
    uint32_t workers;  /* with local:H; else 0 */
    uint32_t devices;  /* that compute */
    double step_seconds, samples_per_second;
} sh_plan_way;

/* The devices that `energy` or `deadline` choose. */
typedef struct sh_plan_choice {
    uint32_t devices; /* 0: none meet the deadline */
    char which[256];  /* "2x pi4, 1x pi5" */
    double step_seconds;
    double step_joules; /* of all devices; NaN: unknown power */
} sh_plan_choice;

typedef struct sh_plan_result {
    uint32_t lanes;
    char variant[16];
    uint64_t parameters, samples; /* of the model, without statistics; for training */
    bool timed;                   /* this device has measurements */
    char note[SH_RUN_BYTES];      /* why it has none, or "" */
    char memory_note[512];        /* the effect of a limit, or "" */
    double read_seconds;          /* of one sample, measured now */
    sh_plan_layer *layers;        /* owned */
    size_t layer_count;
    /* Owned. First the job's own under the memory limit, then others without limit, to compare. */
    sh_plan_grain *grains;
    size_t grain_count;
    /* With `on`: owned. Else empty. */
    sh_plan_point *points;
    size_t point_count, best; /* the point with the shortest step */
    sh_plan_way *ways;        /* most samples a second first, without the job's own */
    size_t way_count;
    sh_plan_choice choice; /* with `energy` or `deadline` */
    uint64_t steps;        /* of the job, with `on` */
    char on_note[160];     /* estimated values, or "" */
} sh_plan_result;

/* SH_LIMIT: the job does not fit. SH_INVALID, and failures to open the data: something is wrong
 * with the job, `on` or `deadline`, or `energy` lacks a device's power. SH_NOT_FOUND: `on` has this
 * device, which was not measured. SH_UNSUPPORTED: `on` with a strategy whose devices do not share
 * steps. */
SHOAL_API sh_status sh_plan(const sh_plan_options *options, sh_plan_result *plan) SHOAL_CHECKED;
SHOAL_API void sh_plan_result_release(sh_plan_result *plan);

#ifdef __cplusplus
}
#endif
#endif
