/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a profile: the cost of instructions, by operator and by node, and the time spent outside
 * of programs.
 *
 *     sh_profile profile = {.lanes = lanes, .steps = steps, .step_seconds = wall};
 *     SH_TRY(sh_profile_add_execution(&profile, execution, program, graph, SH_PROFILE_NODES));
 *     SH_TRY(sh_profile_add(&profile, "reading samples", grains, read_seconds));
 *     SH_TRY(sh_profile_finish(&profile));
 *
 * Threads: caller locks; no lane may run meanwhile.
 */
#ifndef SHOAL_BACKEND_PROFILER_H
#define SHOAL_BACKEND_PROFILER_H

#include "backend/program.h"
#include "shoal/profile.h"

/* The row for the time of sinks, in which the caller adds gradients up. */
#define SH_PROFILE_SUM "exact sum"

/*
 * Adds the times of one execution of `program`, compiled from `graph`. Does nothing if the
 * execution is not timed.
 */
sh_status sh_profile_add_execution(sh_profile *profile, const sh_execution *execution,
                                   const sh_program *program, const sh_graph *graph,
                                   sh_profile_level level) SHOAL_CHECKED;

/* Adds time spent outside of programs to the row `name`. */
sh_status sh_profile_add(sh_profile *profile, const char *name, uint64_t count,
                         double seconds) SHOAL_CHECKED;

/*
 * Adds a row "rest", so that operators and outside rows sum up to lanes * step_seconds, fills in
 * the shares, removes rows without time, and sorts.
 */
sh_status sh_profile_finish(sh_profile *profile) SHOAL_CHECKED;

/*
 * The name is that of the operator, "reorder" or SH_PROFILE_SUM. The cost is the node's arithmetic
 * (0 except for a node's first instruction), and the bytes of the operands.
 */
const char *sh_work_name(const sh_work *work, const sh_graph *graph);
sh_cost sh_work_cost(const sh_work *work, const sh_graph *graph);

#endif
