/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers with their units, as people read them.
 *
 *     char text[SH_QUANTITY_BYTES];
 *     sh_quantity(text, 41e6, SH_UNIT_bytes); // "41.0 MB"
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_QUANTITY_H
#define SHOAL_REPORT_QUANTITY_H

#define SH_QUANTITY_BYTES 32

typedef enum sh_unit {
    SH_UNIT_whole,    /* "1,234" */
    SH_UNIT_loss,     /* "0.3124" */
    SH_UNIT_percent,  /* of a share of 1: "96.31 %" */
    SH_UNIT_bytes,    /* "41.0 MB": powers of 1000 */
    SH_UNIT_seconds,  /* "12.3 ms", "4.56 s" */
    SH_UNIT_duration, /* "1:02:03", "12.3 s" below a minute */
    SH_UNIT_rate,     /* a second: "2,345/s" */
    SH_UNIT_joules,   /* "12.3 kJ" */
} sh_unit;

/* "not available" for NaN. Returns `out`. */
const char *sh_quantity(char out[SH_QUANTITY_BYTES], double value, sh_unit unit);

#endif
