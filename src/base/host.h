/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This machine: its name and its cores.
 *
 *     uint32_t lanes = sh_host_cores();
 *
 * Threads: any.
 */
#ifndef SHOAL_BASE_HOST_H
#define SHOAL_BASE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "shoal/train.h"

/* The name is for display only. */
void sh_host_name(char name[SH_NAME_BYTES]);

/* Cores, not hyper-threads, that this process may use; at least 1. */
uint32_t sh_host_cores(void);

/* For tests: counts the cores of the processors i with mine[i]; `folder` is like Linux's
 * /sys/devices/system/cpu (its ABI/stable/sysfs-devices-system-cpu). */
uint32_t sh_host_count_cores(const char *folder, const bool *mine, size_t processors);

#endif
