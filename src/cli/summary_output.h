/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the result of a training as text or JSON.
 *
 *     sh_summary_output_print(&summary, SH_RUN_COMPLETE, stdout);
 *     json_t *root = sh_summary_output_json(&summary, SH_RUN_COMPLETE);
 *     if (sh_json_file_write("summary.json", root) != SH_OK)
 *         return sh_console_fail("%s", sh_message());
 *
 * Threads: any.
 */
#ifndef SHOAL_CLI_SUMMARY_OUTPUT_H
#define SHOAL_CLI_SUMMARY_OUTPUT_H

#include <jansson.h>
#include <stdio.h>

#include "shoal/train.h"

/* How the run ended: name, `status` in JSON. */
#define SH_RUN_MAP(X)                                                                              \
    X(COMPLETE, "complete")                                                                        \
    X(STOPPED, "stopped")                                                                          \
    X(DEVICE_LOST, "device lost")

typedef enum sh_run_end {
#define SH_RUN_ENUM(name, text) SH_RUN_##name,
    SH_RUN_MAP(SH_RUN_ENUM)
#undef SH_RUN_ENUM
} sh_run_end;

void sh_summary_output_print(const sh_summary *summary, sh_run_end end, FILE *file);

/* Owned (json_decref); NULL: out of memory. */
json_t *sh_summary_output_json(const sh_summary *summary, sh_run_end end);

#endif
