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

/* Prints "accuracy    97.50 %" and the like on standard output, and a table of several targets. */
void sh_figures_print(const json_t *figures);

/* Prints a table of the classes or labels and the confusion matrix; of many classes the pairs that
 * are confused most. Nothing for other tasks. Returns the exit code. */
int sh_figures_print_classes(const json_t *figures);

#endif
