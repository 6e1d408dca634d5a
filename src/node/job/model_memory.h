/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the memory for training a model on this machine with the usual grain.
 *
 *     sh_model_memory memory;
 *     SH_TRY(sh_model_memory_find(&memory, &options));
 *
 * Threads: any.
 */
#ifndef SHOAL_NODE_JOB_MODEL_MEMORY_H
#define SHOAL_NODE_JOB_MODEL_MEMORY_H

#include "model/model.h"
#include "shoal/about.h"

/* Compiles the model, which takes up to some seconds. Fails as sh_model_build does. */
sh_status sh_model_memory_find(sh_model_memory *memory,
                               const sh_model_options *options) SHOAL_CHECKED;

#endif
