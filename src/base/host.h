/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This machine: its name for people, its cores, its address for others.
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

/* The machine's name; only ever shown, never looked up. */
void sh_host_name(char name[SH_NAME_BYTES]);

/* Cores that affinity and CPU sets leave this process, without hyper-threads; at least 1. */
uint32_t sh_host_cores(void);

/* The same of processors for which mine[i], where `folder` has what Linux has in
 * /sys/devices/system/cpu (its ABI/stable/sysfs-devices-system-cpu). For tests. */
uint32_t sh_host_count_cores(const char *folder, const bool *mine, size_t processors);

#endif
