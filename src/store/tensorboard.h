/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event files for TensorBoard: named numbers against steps and time.
 *
 *     SH_TRY(sh_tensorboard_open(&board, &(sh_tensorboard_options){"runs/a", "pi1", now, 0}));
 *     SH_TRY(sh_tensorboard_add(board, now, 100, (sh_scalar[]){{"train/loss", 0.3}}, 1));
 *     sh_tensorboard_close(board);
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
 * The first event has the file_version "brain.Event:2"; the second one the first step that is to
 * come and a session_log that starts: what files that began earlier hold from there on is left out
 * by whoever reads the folder. So few fields are written by hand.
 *
 * Threads: caller locks. Failures: those of writing a file; they name it. After one the file ends
 * with a whole record; what is in the buffer waits, what finds no room there is dropped, and the
 * next attempt comes 5 seconds later.
 */
#ifndef SHOAL_STORE_TENSORBOARD_H
#define SHOAL_STORE_TENSORBOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/* How names of such files begin. */
#define SH_TENSORBOARD_PREFIX "events.out.tfevents."

typedef struct sh_tensorboard sh_tensorboard;

typedef struct sh_tensorboard_options {
    const char *folder; /* must be there */
    const char *host;
    double at;           /* seconds since 1970 */
    uint64_t start_step; /* applied before */
} sh_tensorboard_options;

typedef struct sh_scalar {
    const char *tag;
    double value; /* one that is not finite is left out */
} sh_scalar;

/* Options are borrowed during the call; `*board` is owned: close it. */
sh_status sh_tensorboard_open(sh_tensorboard **board,
                              const sh_tensorboard_options *options) SHOAL_CHECKED;

/* Adds an event. It reaches the file 5 seconds (by `at`) after the one before it at the latest,
 * or with close. */
sh_status sh_tensorboard_add(sh_tensorboard *board, double at, uint64_t step,
                             const sh_scalar *scalars, size_t count) SHOAL_CHECKED;

/* Brings what was added to the file. */
sh_status sh_tensorboard_flush(sh_tensorboard *board) SHOAL_CHECKED;

/* Whether the last write failed. NULL is not failing. */
bool sh_tensorboard_is_failing(const sh_tensorboard *board);

/* Flushes and closes; a failure is lost. NULL is fine. */
void sh_tensorboard_close(sh_tensorboard *board);

#endif
