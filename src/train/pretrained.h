/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights that somebody else has trained, from any safetensors file, or the ONNX file of an
 * imported model, into a replica, by name.
 *
 *     char note[SH_MESSAGE_BYTES];
 *     SH_TRY(sh_pretrained_load(note, replica, file, SH_PRETRAINED_BUT_LAST));
 *     if (note[0] != '\0')
 *         ... tell the user ...
 *
 * What a file has beside the model's tensors does no harm and is noted: a few by name and how many
 * more. Not worth a note are a checkpoint's other tensors (train/snapshot.h) and PyTorch's counters
 * of batches (*.num_batches_tracked).
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_TRAIN_PRETRAINED_H
#define SHOAL_TRAIN_PRETRAINED_H

#include "store/safetensors.h"
#include "train/replica.h"

typedef enum sh_pretrained_rule {
    SH_PRETRAINED_WHOLE, /* every tensor of the model is there, with its shape */
    /*
     * But those of the model's last layer: where one of these does not fit, as when there are other
     * classes, the whole layer begins untrained, which is noted. Not where it is frozen.
     */
    SH_PRETRAINED_BUT_LAST,
} sh_pretrained_rule;

/*
 * Fills the replica's weights. `note` is one line for people, or empty. SH_MISMATCH lists what is
 * missing, of another shape or type, and what the file has instead; SH_CORRUPT names a tensor with
 * values that are not finite. The replica is untouched by the first, and holds anything after
 * another failure.
 */
sh_status sh_pretrained_load(char note[SH_MESSAGE_BYTES], sh_replica *replica,
                             const sh_safetensors *file, sh_pretrained_rule rule) SHOAL_CHECKED;

/*
 * The same from the ONNX file that the replica's network was made of. A layer that took another's
 * place, because the data need another number of outputs, stays untrained, or is SH_MISMATCH with
 * SH_PRETRAINED_WHOLE. SH_CORRUPT as above.
 */
sh_status sh_pretrained_load_onnx(sh_replica *replica, const sh_onnx *file,
                                  sh_pretrained_rule rule) SHOAL_CHECKED;

#endif
