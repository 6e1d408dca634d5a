/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network with batch norms behind convolutions into which an exporter has folded them.
 *
 *     bool *chosen = calloc(graph->n_node + 1, sizeof *chosen);
 *     SH_TRY(sh_onnx_unfoldable(chosen, model));
 *     SH_TRY(sh_onnx_unfold(&network, model, chosen, "lenet.onnx"));
 *
 * Behind the convolution of the weight conv1.weight stands a batch norm of conv1.unfolded.weight,
 * .bias, .mean and .var. The network has no weights; whoever trains it fills these.
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_UNFOLDED_H
#define SHOAL_ONNX_UNFOLDED_H

#include "onnx/network.h"

#define SH_UNFOLDED_NAME 256
#define SH_UNFOLDED_EPSILON 1e-5f

/*
 * Marks, by node, the convolutions that can get a batch norm: those whose names say that they had
 * one (onnx/folded.h), or, if no name says so, all that have a bias. A convolution is left out if
 * its result is an output of the network or if it shares its weights. SH_INVALID: none is left.
 */
sh_status sh_onnx_unfoldable(bool *chosen, const sh_onnx *model) SHOAL_CHECKED;

/* Refuses NULL and a skeleton: `name`, which the model was called, is no file with weights. */
sh_status sh_onnx_unfold_check(const sh_onnx *file, const char *name) SHOAL_CHECKED;

/* The network with batch norms behind all that can have one, where the check passes. */
sh_status sh_onnx_unfold_all(sh_network **network, const sh_onnx *file,
                             const char *name) SHOAL_CHECKED;

/* The name of a tensor of the batch norm behind a convolution: `part` is "weight", "bias", "mean"
 * or "var". */
void sh_unfolded_name(char name[SH_UNFOLDED_NAME], const Sh__Onnx__NodeProto *convolution,
                      const char *part);

/* The network with batch norms behind the marked convolutions; `*network` is owned by one user.
 * Fails as sh_network_of_model does, with SH_LIMIT where a name is too long. */
sh_status sh_onnx_unfold(sh_network **network, const sh_onnx *model, const bool *chosen,
                         const char *path) SHOAL_CHECKED;

#endif
