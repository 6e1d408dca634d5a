/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions that model.c lists; a new model is a file and a line here and there. */
#ifndef SHOAL_MODEL_BUILTIN_H
#define SHOAL_MODEL_BUILTIN_H

#include "model/model.h"

extern const sh_model_def sh_model_mlp;
extern const sh_model_def sh_model_lenet;
extern const sh_model_def sh_model_nin;
extern const sh_model_def sh_model_resnet;
extern const sh_model_def sh_model_resnet18;
extern const sh_model_def sh_model_resnet34;
extern const sh_model_def sh_model_resnet50;
extern const sh_model_def sh_model_wideresnet;
extern const sh_model_def sh_model_squeezenet;
extern const sh_model_def sh_model_mobilenetv2;
extern const sh_model_def sh_model_dscnn;

#endif
