/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a model's figures from JSON (sh_eval_result, metrics).
 *
 *     sh_figures_print(figures);                  // one line each
 *     return sh_figures_print_classes(figures);   // tables
 *
 * Threads: main only.
 */
#ifndef SHOAL_CLI_FIGURES_OUTPUT_H
#define SHOAL_CLI_FIGURES_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>

#define SH_FIGURE_COUNT 11

typedef struct sh_figure_name {
    const char *key;
    const char *title; /* at most 11 characters */
    bool percent;      /* displayed as a percentage */
} sh_figure_name;

/* The figures of a model in display order. */
extern const sh_figure_name sh_figure_names[SH_FIGURE_COUNT];

/* Prints lines such as "accuracy    97.50 %" on standard output, and a table of several targets. */
void sh_figures_print(const json_t *figures);

/* Prints a table of classes or labels and the confusion matrix, or, for many classes, the most
 * confused pairs. Other tasks: nothing. Returns the exit code. */
int sh_figures_print_classes(const json_t *figures);

#endif
