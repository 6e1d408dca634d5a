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

#include <stdint.h>

#include "base/fail.h"
#include "shoal/train.h"

/* The machine's name; only ever shown, never looked up. */
void sh_host_name(char name[SH_NAME_BYTES]);

/* Cores that affinity and CPU sets leave this process, without hyper-threads; at least 1. */
uint32_t sh_host_cores(void);

#endif
