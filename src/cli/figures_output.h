/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model's figures as text, from their JSON (sh_eval_result, metrics).
 *
 *     sh_figures_print(figures);                  // a line for each that there is
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
    const char *key;   /* in JSON */
    const char *title; /* for people, at most 11 characters */
    bool percent;      /* the figure is a part of 1, shown in percent */
} sh_figure_name;

/* The figures of a model, in the order in which they are shown. */
extern const sh_figure_name sh_figure_names[SH_FIGURE_COUNT];

/* Prints the figures on standard output, such as "accuracy    97.50 %", and a table for several
 * targets. */
void sh_figures_print(const json_t *figures);

/* Prints a table of the classes or labels and the confusion matrix; of many classes the pairs that
 * are confused most. Nothing for other tasks. Returns the exit code. */
int sh_figures_print_classes(const json_t *figures);

#endif
