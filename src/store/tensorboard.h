/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event files for TensorBoard: named numbers by step and time.
 *
 * The file is FOLDER/events.out.tfevents.SECONDS.HOST.PROCESS, SECONDS since 1970 in ten digits. It
 * is a chain of records, little-endian:
 *
 *     8 bytes   length of the event
 *     4         check of these 8 bytes
 *     length    the event, a message of Protocol Buffers
 *     4         check of the event
 *
 * A check is CRC-32C (Castagnoli; RFC 3720, B.4), turned right by 15 bits, plus 0xa282ead8 modulo
 * 2^32. Fields of the messages, by their numbers:
 *
 *     Event       1 wall_time (double)  2 step (int64)  3 file_version (string)
 *                 5 summary (Summary)   7 session_log (SessionLog)
 *     Summary     1 value (Value, repeated)
 *     Value       1 tag (string)        2 simple_value (float)
 *     SessionLog  1 status (enum; 1: start)
 *
 * The first event has the file_version "brain.Event:2". The second has the next step and a
 * session_log with the status start: readers then ignore later steps in older files.
 *
 * Threads: caller locks. After an error the file ends with a whole record. The buffer is kept,
 * events that do not fit into it are dropped, and the next write is tried after 5 seconds.
 */
#ifndef SHOAL_STORE_TENSORBOARD_H
#define SHOAL_STORE_TENSORBOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/* The prefix of the file names. */
#define SH_TENSORBOARD_PREFIX "events.out.tfevents."

typedef struct sh_tensorboard sh_tensorboard;

typedef struct sh_tensorboard_options {
    const char *folder; /* must exist */
    const char *host;
    double at;           /* seconds since 1970 */
    uint64_t start_step; /* steps applied before */
} sh_tensorboard_options;

typedef struct sh_scalar {
    const char *tag;
    double value; /* not written if it is not finite */
} sh_scalar;

/* Options are borrowed during the call. `*board` is owned: close it. */
sh_status sh_tensorboard_open(sh_tensorboard **board,
                              const sh_tensorboard_options *options) SHOAL_CHECKED;

/* Writes the buffer if the last write was 5 seconds (by `at`) ago. */
sh_status sh_tensorboard_add(sh_tensorboard *board, double at, uint64_t step,
                             const sh_scalar *scalars, size_t count) SHOAL_CHECKED;

sh_status sh_tensorboard_flush(sh_tensorboard *board) SHOAL_CHECKED;

/* Returns true if the last write failed; false for NULL. */
bool sh_tensorboard_is_failing(const sh_tensorboard *board);

/* Flushes; an error is ignored. */
void sh_tensorboard_close(sh_tensorboard *board);

#endif
