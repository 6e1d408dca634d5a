/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this build of shoal is and knows.
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

/* "0.1.0" */
SHOAL_API const char *sh_version(void);

/* The compiler that made this build: "GCC 12.2.0". Static. */
SHOAL_API const char *sh_build_compiler(void);

/* The instruction set that kernels run in on this processor: the best of those they are compiled
 * for, or the one that SHOAL_VARIANT names; all give the same bits. SH_INVALID lists them where it
 * names another. `*name` is static. */
SHOAL_API sh_status sh_kernel_variant(const char **name) SHOAL_CHECKED;

/* Optional part number `index`: its name, and whether this build and machine have it; SH_NOT_FOUND
 * ends. */
SHOAL_API sh_status sh_part_list(size_t index, const char **name, int *present) SHOAL_CHECKED;

/* A built-in model; texts have static storage. Figures are those of `example`. */
typedef struct sh_model_info {
    const char *name, *usage, *summary, *example;
    size_t channels, height, width, classes; /* of the data that the example is for */
    uint64_t parameters;
    uint64_t multiply_adds; /* of one sample's forward pass: convolutions and dense layers */
} sh_model_info;

/* Model number `index`; SH_NOT_FOUND behind the last. */
SHOAL_API sh_status sh_model_list(size_t index, sh_model_info *info) SHOAL_CHECKED;

/* What training the example takes on this machine, with the variant that SHOAL_VARIANT names. */
typedef struct sh_model_memory {
    uint32_t grain;         /* samples of a grain that these are for */
    uint64_t lane_bytes;    /* for each lane: activations and gradients of a grain */
    uint64_t weights_bytes; /* once: weights, summed gradients, momentum, weights made ready */
} sh_model_memory;

/* Of model number `index`, by compiling it: up to some seconds. Failures as above. */
SHOAL_API sh_status sh_model_memory_of(size_t index, sh_model_memory *memory) SHOAL_CHECKED;

/* A format of data, as DATA of a training names it; texts have static storage. */
typedef struct sh_data_info {
    const char *name;    /* "mnist" */
    const char *usage;   /* "mnist:DIR" */
    const char *summary; /* half a line */
} sh_data_info;

/* Format number `index`; SH_NOT_FOUND behind the last. */
SHOAL_API sh_status sh_data_list(size_t index, sh_data_info *info) SHOAL_CHECKED;

/* Checks the names of MODEL and DATA without opening anything; a NULL argument is skipped.
 * SH_INVALID: a name is unknown. The message lists the known names and suggests the nearest. */
SHOAL_API sh_status sh_names_check(const char *model, const char *data) SHOAL_CHECKED;

/* Events worth a line (never per step), from any thread; NULL drops them. Level 0 debug .. 3 error.
 */
typedef void sh_log_line(void *context, int level, const char *line);
SHOAL_API void sh_log_set(int lowest_level, sh_log_line *sink, void *context);

#ifdef __cplusplus
}
#endif
#endif
