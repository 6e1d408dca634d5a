/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions of all families of models; the list is models.def. */
#ifndef SHOAL_MODEL_BUILTIN_H
#define SHOAL_MODEL_BUILTIN_H

#include "model/model.h"

#define SH_MODEL(name) extern const sh_model_def sh_model_##name;
#include "model/models.def"
#undef SH_MODEL

#endif
