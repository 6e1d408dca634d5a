/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this build of shoal contains.
 *
 *     sh_model_info info;
 *     for (size_t i = 0; sh_model_list(i, &info) == SH_OK; i++)
 *         printf("%s %llu\n", info.usage, (unsigned long long)info.parameters);
 *
 * Threads: any.
 */
#ifndef SHOAL_ABOUT_H
#define SHOAL_ABOUT_H

#include <stddef.h>
#include <stdint.h>

#include "shoal/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version: "0.2.0". */
SHOAL_API const char *sh_version(void);

/* The compiler of this build: "GCC 12.2.0". Static. */
SHOAL_API const char *sh_build_compiler(void);

/* The instruction set that the kernels use: the best that this processor has, or the one in
 * SHOAL_VARIANT. All compute the same bits. SH_INVALID: SHOAL_VARIANT names another; the message
 * lists the possible ones. `*name` is static. */
SHOAL_API sh_status sh_kernel_variant(const char **name) SHOAL_CHECKED;

/* The name of optional part `index`, and whether this build and machine have it. SH_NOT_FOUND: no
 * such index. */
SHOAL_API sh_status sh_part_list(size_t index, const char **name, int *present) SHOAL_CHECKED;

/* A built-in model; texts are static. The figures are for `example`. */
typedef struct sh_model_info {
    const char *name, *usage, *summary, *example;
    size_t channels, height, width, classes; /* of the example's data */
    uint64_t parameters;
    uint64_t multiply_adds; /* of a sample's forward pass: convolutions and dense layers */
} sh_model_info;

/* Model `index`. SH_NOT_FOUND: no such index. */
SHOAL_API sh_status sh_model_list(size_t index, sh_model_info *info) SHOAL_CHECKED;

/* The memory that training the example needs on this machine with the selected variant. */
typedef struct sh_model_memory {
    uint32_t grain;         /* samples of a grain */
    uint64_t lane_bytes;    /* per lane: activations and gradients of a grain */
    uint64_t weights_bytes; /* once: weights, summed gradients, momentum, prepared weights */
} sh_model_memory;

/* The memory for model `index`. Compiles it, which takes up to some seconds. Fails as above. */
SHOAL_API sh_status sh_model_memory_of(size_t index, sh_model_memory *memory) SHOAL_CHECKED;

/* A data format, as a job's `data` names it; texts are static. */
typedef struct sh_data_info {
    const char *name;  /* "mnist" */
    const char *usage; /* "mnist:DIR" */
    const char *summary;
} sh_data_info;

/* Format `index`. SH_NOT_FOUND: no such index. */
SHOAL_API sh_status sh_data_list(size_t index, sh_data_info *info) SHOAL_CHECKED;

/* Checks the names in `model` and `data` without opening anything; NULL: not checked. SH_INVALID: a
 * name is unknown; the message lists the known names and suggests the nearest. */
SHOAL_API sh_status sh_names_check(const char *model, const char *data) SHOAL_CHECKED;

/* Sets the receiver of log lines, which may come from any thread; NULL drops them. Levels: 0 debug
 * to 3 error. There is no line per step. */
typedef void sh_log_line(void *context, int level, const char *line);
SHOAL_API void sh_log_set(int lowest_level, sh_log_line *sink, void *context);

#ifdef __cplusplus
}
#endif
#endif
