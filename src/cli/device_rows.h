/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of devices (shoal/device_info.h) as a table, and as JSON (plan/device_list.h has the
 * format).
 *
 * Threads: main only.
 */
#ifndef SHOAL_CLI_DEVICE_ROWS_H
#define SHOAL_CLI_DEVICE_ROWS_H

#include <jansson.h>

#include "shoal/device_info.h"

/* Prints the table, and why devices are on standby; returns the exit code. */
int sh_device_rows_print(const sh_device_list *list);

/* Prints the table of GPUs, if there are any, behind an empty line; returns the exit code. */
int sh_device_rows_print_gpus(const sh_device_list *list);

/* Owned; NULL: out of memory. */
json_t *sh_device_rows_json(const sh_device_list *list);

#endif
