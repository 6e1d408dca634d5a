/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices that a job might run on, as the user describes or lists them.
 *
 *     SH_TRY(sh_inventory_parse(&inventory, "this@1gbit, 8x pi4@100mbit"));
 *
 * The text is comma-separated groups `[Nx ]DEVICE[@RATE][/WATTS]`; case does not matter:
 *
 * DEVICE is `this`, as measured by `shoal bench`; a board (pi4, pi5, jetson-nano, orin-nano,
 * agx-orin), whose speed is an estimate; or the rate of all its cores, such as 25gflops (float32
 * operations per second). RATE is its link's rate each way, such as 500kbit, 100mbit or 1gbit;
 * default: infinite. WATTS is the power of one working device, such as 6.5w; default: a board's
 * usual power, else unknown.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_PLAN_INVENTORY_H
#define SHOAL_PLAN_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "shoal/device_info.h"

#define SH_INVENTORY_KINDS 64
#define SH_INVENTORY_NAME 24

typedef struct sh_inventory_kind {
    char name[SH_INVENTORY_NAME]; /* as written, in lower case; of a list, truncated */
    uint32_t count;               /* at least 1 */
    double flops;                 /* per second, all cores; 0: this device */
    double link;                  /* bytes/s each way; 0: infinite */
    double delay_s;               /* its link's round trip; 0: unknown */
    double watts;                 /* of one working device; 0: unknown */
    bool board;                   /* `flops`, and `watts` unless stated, are estimates */
} sh_inventory_kind;

typedef struct sh_inventory {
    uint32_t kinds, devices;
    bool listed;      /* from a list of devices */
    uint32_t guessed; /* devices of unknown speed in a list, which count as the mean */
    sh_inventory_kind kind[SH_INVENTORY_KINDS];
} sh_inventory;

/* SH_INVALID, naming the group and what is allowed: a malformed group, or more than SH_DEVICES_MAX
 * devices (plan/shares.h) or SH_INVENTORY_KINDS groups. */
sh_status sh_inventory_parse(sh_inventory *inventory, const char *text) SHOAL_CHECKED;

/* Takes each device with the slower direction of its link. SH_NOT_FOUND: no speed is known.
 * SH_LIMIT: more than SH_INVENTORY_KINDS kinds. */
sh_status sh_inventory_of_list(sh_inventory *inventory, const sh_device_list *list) SHOAL_CHECKED;

#endif
