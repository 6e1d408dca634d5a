/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inserts batch norms after convolutions into which an exporter has folded them.
 *
 * The convolution with weight conv1.weight gets a batch norm with the tensors
 * conv1.unfolded.weight, .bias, .mean and .var. The network has no weights; the code that trains it
 * fills them in.
 *
 *     bool *chosen = calloc(graph->n_node + 1, sizeof *chosen);
 *     SH_TRY(sh_onnx_unfoldable(chosen, model));
 *     SH_TRY(sh_onnx_unfold(&network, model, chosen, "lenet.onnx"));
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_UNFOLDED_H
#define SHOAL_ONNX_UNFOLDED_H

#include "onnx/network.h"

#define SH_UNFOLDED_NAME 256
#define SH_UNFOLDED_EPSILON 1e-5f

/*
 * Marks, by node, the convolutions that can get a batch norm: those whose names show that they had
 * one (onnx/folded.h), or, if there are none, all that have a bias. A convolution is not marked if
 * its result is an output of the network or if it shares its weights. SH_INVALID if none can be
 * marked.
 */
sh_status sh_onnx_unfoldable(bool *chosen, const sh_onnx *model) SHOAL_CHECKED;

/* Refuses NULL and a skeleton. `name` is used in the message. */
sh_status sh_onnx_unfold_check(const sh_onnx *file, const char *name) SHOAL_CHECKED;

/* Checks the file, then inserts batch norms after all convolutions that can have one. */
sh_status sh_onnx_unfold_all(sh_network **network, const sh_onnx *file,
                             const char *name) SHOAL_CHECKED;

/* Writes the name of a tensor of the batch norm, cut to fit. `part` is "weight", "bias", "mean" or
 * "var". */
void sh_unfolded_name(char name[SH_UNFOLDED_NAME], const Sh__Onnx__NodeProto *convolution,
                      const char *part);

/* Inserts batch norms after the marked convolutions. The caller owns one reference to `*network`.
 * Fails as sh_onnx_open_owned and sh_network_of_model do. */
sh_status sh_onnx_unfold(sh_network **network, const sh_onnx *model, const bool *chosen,
                         const char *path) SHOAL_CHECKED;

#endif
