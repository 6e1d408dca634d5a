/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An inventory of devices: this one, those of a running job, or those of a file.
 *
 *     sh_device_list list;
 *     if (sh_devices_of_job(&list, token) == SH_OK)
 *         for (size_t i = 0; i < list.count; i++)
 *             printf("%s %s\n", list.devices[i].name, sh_device_state_text(list.devices[i].state));
 *     sh_device_list_release(&list);
 *
 * A number that is not known is NaN. A plan (shoal/plan.h) takes such a list.
 *
 * Threads: any; the calls block.
 */
#ifndef SHOAL_DEVICE_INFO_H
#define SHOAL_DEVICE_INFO_H

#include <stddef.h>

#include "shoal/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sh_device_state {
    SH_DEVICE_IDLE,     /* in no job */
    SH_DEVICE_PREPARES, /* receives data or weights, or waits for its first step */
    SH_DEVICE_STANDBY,  /* ready, and computes nothing for now */
    SH_DEVICE_COMPUTES,
    SH_DEVICE_STATES
} sh_device_state;

/* "idle", "prepares", "standby", "computes". Static storage. */
SHOAL_API const char *sh_device_state_text(sh_device_state state);

typedef struct sh_device_info {
    char name[SH_NAME_BYTES];
    sh_device_state state;
    uint32_t lanes;            /* 0: not known */
    uint32_t grains;           /* its share of a full step */
    double samples_per_second; /* of this job, on all its lanes */
    double flops_per_second;   /* while it trains: float32, a multiply-add counts as two */
    double in_bytes_per_second, out_bytes_per_second; /* of its link from and to the coordinator */
    double delay_seconds;                             /* there and back */
    double memory_available_bytes, temperature_celsius, power_watts, battery_ratio; /* newest */
    double throttled_ratio; /* 1: it is held back for heat or voltage; else 0 */
    char why[256];          /* why it is on standby, or "" */
} sh_device_info;

/* The numbers of a device that may be NaN, as named in JSON. */
#define SH_DEVICE_NUMBERS(X)                                                                       \
    X(samples_per_second)                                                                          \
    X(flops_per_second)                                                                            \
    X(in_bytes_per_second)                                                                         \
    X(out_bytes_per_second)                                                                        \
    X(delay_seconds)                                                                               \
    X(memory_available_bytes)                                                                      \
    X(temperature_celsius)                                                                         \
    X(power_watts)                                                                                 \
    X(battery_ratio)                                                                               \
    X(throttled_ratio)

/* A graphics processor of this device. */
typedef struct sh_device_gpu {
    char name[96];
    char driver[8]; /* "cuda" or "opencl" */
    uint64_t memory_bytes;
    bool processor;    /* it is the processor itself: for tests */
    char why_not[192]; /* why it cannot be used; empty: it can, with --lanes gpu:N */
} sh_device_gpu;

typedef struct sh_device_list {
    char model[SH_MODEL_BYTES], data[SH_DATA_BYTES]; /* of the job, or "" */
    uint32_t batch_size, grain;
    uint64_t steps; /* so far */
    size_t count;
    sh_device_info *devices; /* owned; a job's coordinator is the first */
    size_t gpu_count;        /* of sh_devices_here; else 0 */
    sh_device_gpu *gpus;     /* owned; by number */
} sh_device_list;

/* This device and its GPUs, whose drivers are loaded for it. Its speed is an estimate from
 * sh_bench; NaN: not measured. SH_NO_MEMORY. */
SHOAL_API sh_status sh_devices_here(sh_device_list *list) SHOAL_CHECKED;

/* The devices of the running job with this token. Waits some seconds at most, and takes no part in
 * the job. SH_FORMAT, SH_VERSION: as a token. SH_NETWORK: no coordinator is reached. SH_REFUSED: it
 * does not accept the token, or cannot prove that it coordinates the job. */
SHOAL_API sh_status sh_devices_of_job(sh_device_list *list, const char *token) SHOAL_CHECKED;

/* Reads the file of `shoal devices --json FILE` (docs/reference/json.md). SH_NOT_FOUND, SH_IO.
 * SH_FORMAT, SH_VERSION, SH_LIMIT: the message names the member and what is expected. */
SHOAL_API sh_status sh_devices_read(sh_device_list *list, const char *path) SHOAL_CHECKED;

SHOAL_API void sh_device_list_release(sh_device_list *list);

#ifdef __cplusplus
}
#endif
#endif
