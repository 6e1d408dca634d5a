/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices on paper: what a user says of the devices that a job might run on.
 *
 *     sh_inventory inventory;
 *     SH_TRY(sh_inventory_parse(&inventory, "this@1gbit, 8x pi4@100mbit"));
 *
 * The text is groups with commas between them, each `[Nx ]DEVICE[@RATE]`:
 *
 *     DEVICE   this, the device at hand as `shoal bench` measured it; 25gflops, one that reaches so
 *              many float32 operations a second with all its cores; or a board of
 * sh_inventory_board RATE     what its link carries each way: 100mbit, 1gbit, 500kbit; without it,
 * it takes no time
 *
 * Capitals do not matter. Threads: any; a value.
 */
#ifndef SHOAL_PLAN_INVENTORY_H
#define SHOAL_PLAN_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_INVENTORY_KINDS 16
#define SH_INVENTORY_NAME 24

/* Devices that are alike. */
typedef struct sh_inventory_kind {
    char name[SH_INVENTORY_NAME]; /* as it was written, in small letters */
    uint32_t count;               /* from 1 */
    double flops;                 /* a second, on all cores; 0: the device at hand */
    double link;                  /* bytes/s each way; 0: it takes no time */
    bool board;                   /* `flops` is an estimate, from sh_inventory_board */
} sh_inventory_kind;

typedef struct sh_inventory {
    uint32_t kinds, devices;
    sh_inventory_kind kind[SH_INVENTORY_KINDS];
} sh_inventory;

/* SH_INVALID says which group is wrong and what may be written: more than SH_DEVICES_MAX devices
 * (plan/shares.h), or SH_INVENTORY_KINDS groups, among that. */
sh_status sh_inventory_parse(sh_inventory *inventory, const char *text) SHOAL_CHECKED;

/* Board `number` from 0 on; NULL behind the last one. `flops`: half of its processor's peak. */
const char *sh_inventory_board(uint32_t number, double *flops);

#endif
