/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a profile together: what instructions have cost, by operator and by node, and what was
 * spent outside of programs.
 *
 *     sh_profile profile = {.lanes = lanes, .steps = steps, .step_seconds = wall};
 *     SH_TRY(sh_profile_add_execution(&profile, execution, program, graph, SH_PROFILE_NODES));
 *     SH_TRY(sh_profile_add(&profile, "reading samples", grains, read_seconds));
 *     SH_TRY(sh_profile_finish(&profile));
 *
 * Threads: caller locks; no lane runs meanwhile.
 */
#ifndef SHOAL_BACKEND_PROFILER_H
#define SHOAL_BACKEND_PROFILER_H

#include "backend/program.h"
#include "shoal/profile.h"

/* The row in which the sinks' time is kept: it is the work of whoever takes the gradients. */
#define SH_PROFILE_SUM "exact sum"

/*
 * Adds the times of one execution of `program`, which was compiled from `graph`. An execution that
 * is not timed adds nothing.
 */
sh_status sh_profile_add_execution(sh_profile *profile, const sh_execution *execution,
                                   const sh_program *program, const sh_graph *graph,
                                   sh_profile_level level) SHOAL_CHECKED;

/* Adds time that was spent outside of programs; what was there under this name grows. */
sh_status sh_profile_add(sh_profile *profile, const char *name, uint64_t count,
                         double seconds) SHOAL_CHECKED;

/*
 * Adds the rest, so that operators and outside make the whole (lanes * step_seconds), fills in the
 * shares and sorts. Rows without any time are dropped.
 */
sh_status sh_profile_finish(sh_profile *profile) SHOAL_CHECKED;

/*
 * Describes what an instruction does: the operator's name, or "reorder"; and its work: arithmetic
 * of the node (none for a reorder), and the bytes of its operands.
 */
const char *sh_work_name(const sh_work *work, const sh_graph *graph);
sh_cost sh_work_cost(const sh_work *work, const sh_graph *graph);

#endif
