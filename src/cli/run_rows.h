/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON objects of `shoal runs --json` and `shoal top --json`. Keys are field names
 * (shoal/runs.h); unknown values are null. Returns new references; NULL: out of memory.
 *
 *     json_array_append_new(runs, sh_run_about_json(&list.runs[i]));
 *
 * Threads: any.
 */
#ifndef SHOAL_CLI_RUN_JSON_H
#define SHOAL_CLI_RUN_JSON_H

#include <jansson.h>

#include "shoal/runs.h"

json_t *sh_run_about_json(const sh_run_about *about);
json_t *sh_run_snapshot_json(const sh_run_snapshot *snapshot);

#endif
