/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as people read them.
 *
 *     printf("%s in %s\n", sh_figure_count(&(sh_figure){0}, samples, "sample"),
 *            sh_figure_duration(&(sh_figure){0}, seconds));     // "120,000 samples in 1:02"
 *
 * Each function writes into the figure and returns its text: borrowed from the figure.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_CLI_FIGURES_H
#define SHOAL_CLI_FIGURES_H

#include <stdint.h>

typedef struct sh_figure {
    char text[64];
} sh_figure;

/* "1,234,567" */
const char *sh_figure_whole(sh_figure *figure, uint64_t number);

/* "1 device", "1,234 devices"; `noun` in the singular, its plural ends in s. */
const char *sh_figure_count(sh_figure *figure, uint64_t number, const char *noun);

/* Samples per second and the like: "2,345", "12.3", "0.45"; "-" where it is not a finite number. */
const char *sh_figure_rate(sh_figure *figure, double rate);

/* "0.3124"; "-" where it is not a finite number. */
const char *sh_figure_loss(sh_figure *figure, double loss);

/* A share of 1 in percent: "96.31 %" with two decimals; "-" where it is not a finite number. */
const char *sh_figure_percent(sh_figure *figure, double share, int decimals);

/* "0:07", "12:34", "1:02:03", "3 d 01:02:03"; whole seconds, and "0.45 s" below one. */
const char *sh_figure_duration(sh_figure *figure, double seconds);

/* A moment in seconds since 1970, in local time: "2026-11-22 16:12:03"; "-" where it is none. */
const char *sh_figure_date(sh_figure *figure, double seconds);

/* Millions of bytes: "45.3". */
const char *sh_figure_megabytes(sh_figure *figure, uint64_t bytes);

#endif
