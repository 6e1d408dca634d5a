/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of devices (shoal/device_info.h) from JSON: what `shoal devices --json` writes.
 *
 * Format: an object {"format": "shoal.devices", "version": 1, "devices": [...]}; other members are
 * ignored. A device has "name" (text), and optionally "state" (text), "lanes" and "grains" (whole
 * numbers), "why" (text), and numbers or null: "samples_per_second", "flops_per_second",
 * "in_bytes_per_second", "out_bytes_per_second", "delay_seconds", "memory_available_bytes",
 * "temperature_celsius", "power_watts", "battery_ratio", "throttled_ratio". A missing number is
 * unknown.
 *
 *     SH_TRY(sh_device_list_parse(&list, text, bytes));
 *     sh_device_list_release(&list);
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_PLAN_DEVICE_LIST_H
#define SHOAL_PLAN_DEVICE_LIST_H

#include "shoal/device_info.h"

#define SH_DEVICE_LIST_MOST_BYTES ((size_t)4 << 20)

/* Sets it to idle, without a name, and all numbers to unknown. */
void sh_device_info_clear(sh_device_info *info);

/* SH_FORMAT, SH_VERSION: the message names the device and the member. SH_LIMIT: too many devices
 * for a plan. `*list` is owned. */
sh_status sh_device_list_parse(sh_device_list *list, const char *text, size_t bytes) SHOAL_CHECKED;

#endif
