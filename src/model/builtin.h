/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions that model.c lists; a new model is a file and a line here and there. */
#ifndef SHOAL_MODEL_BUILTIN_H
#define SHOAL_MODEL_BUILTIN_H

#include "model/model.h"

extern const sh_model_def sh_model_mlp;
extern const sh_model_def sh_model_lenet;

#endif
