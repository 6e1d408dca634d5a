/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads pretrained weights into a replica, by name: from any safetensors file, or from the ONNX
 * file of an imported model.
 *
 * Tensors that the model does not have are ignored and noted: a few names and the number of others.
 * Not noted are a checkpoint's state (train/snapshot.h) and PyTorch's batch counters
 * (*.num_batches_tracked).
 *
 *     char note[SH_MESSAGE_BYTES];
 *     SH_TRY(sh_pretrained_load(note, replica, file, SH_PRETRAINED_BUT_LAST));
 *     if (note[0] != '\0')
 *         ... tell the user ...
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_TRAIN_PRETRAINED_H
#define SHOAL_TRAIN_PRETRAINED_H

#include "store/safetensors.h"
#include "train/replica.h"

typedef enum sh_pretrained_rule {
    SH_PRETRAINED_WHOLE, /* the file must have every tensor of the model, in its shape */
    /*
     * As above, except for the model's last layer. If one of its tensors does not fit, for example
     * with another number of classes, the whole layer starts untrained, which is noted. A frozen
     * last layer must fit.
     */
    SH_PRETRAINED_BUT_LAST,
} sh_pretrained_rule;

/*
 * `note` receives one line for users, or "". SH_MISMATCH lists the tensors that are missing or have
 * another shape or type, and the file's other tensors; the replica is then unchanged. SH_CORRUPT
 * names a tensor with values that are not finite. After any other failure than SH_MISMATCH, the
 * replica's weights are undefined.
 */
sh_status sh_pretrained_load(char note[SH_MESSAGE_BYTES], sh_replica *replica,
                             const sh_safetensors *file, sh_pretrained_rule rule) SHOAL_CHECKED;

/*
 * As sh_pretrained_load, from the ONNX file that the replica's network was imported from. A layer
 * that replaces the file's layer, because the data need another number of outputs, stays untrained;
 * with SH_PRETRAINED_WHOLE it causes SH_MISMATCH. SH_CORRUPT as above.
 */
sh_status sh_pretrained_load_onnx(sh_replica *replica, const sh_onnx *file,
                                  sh_pretrained_rule rule) SHOAL_CHECKED;

#endif
