/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers formatted for people.
 *
 *     printf("%s in %s\n", sh_quantity_count(&(sh_quantity){0}, samples, "sample"),
 *            sh_quantity_duration(&(sh_quantity){0}, seconds));     // "120,000 samples in 1:02"
 *
 * Each function returns the quantity's text, borrowed from it.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_BASE_QUANTITY_H
#define SHOAL_BASE_QUANTITY_H

#include <stdint.h>

typedef struct sh_quantity {
    char text[64];
} sh_quantity;

/* For the program's output: "-" if a number is not finite. */

/* "1,234,567" */
const char *sh_quantity_whole(sh_quantity *quantity, uint64_t number);

/* "1 device", "1,234 devices"; `noun` in the singular, its plural ends in s. */
const char *sh_quantity_count(sh_quantity *quantity, uint64_t number, const char *noun);

/* Per second: "2,345", "12.3", "0.45". */
const char *sh_quantity_rate(sh_quantity *quantity, double rate);

/* "0.3124" */
const char *sh_quantity_loss(sh_quantity *quantity, double loss);

/* A fraction in percent: "96.31 %" with two decimals. */
const char *sh_quantity_percent(sh_quantity *quantity, double share, int decimals);

/* "0:07", "12:34", "1:02:03", "3 d 01:02:03"; whole seconds, and "0.45 s" below one. */
const char *sh_quantity_duration(sh_quantity *quantity, double seconds);

/* Seconds since 1970, in local time: "2026-11-22 16:12:03". */
const char *sh_quantity_date(sh_quantity *quantity, double seconds);

/* Millions of bytes: "45.3". */
const char *sh_quantity_megabytes(sh_quantity *quantity, uint64_t bytes);

/* For reports: each number with its unit. */
typedef enum sh_unit {
    SH_UNIT_whole,    /* "1,234" */
    SH_UNIT_loss,     /* "0.3124" */
    SH_UNIT_percent,  /* of a fraction: "96.31 %" */
    SH_UNIT_bytes,    /* "41.0 MB": powers of 1000 */
    SH_UNIT_seconds,  /* "12.3 ms", "4.56 s" */
    SH_UNIT_duration, /* "1:02:03", "12.3 s" below a minute */
    SH_UNIT_rate,     /* per second: "2,345/s" */
    SH_UNIT_joules,   /* "12.3 kJ" */
} sh_unit;

/* "not available" for NaN. */
const char *sh_quantity_of(sh_quantity *quantity, double value, sh_unit unit);

#endif
