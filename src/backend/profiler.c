/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/profiler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define REST "rest"

void sh_profile_release(sh_profile *profile)
{
    if (profile == NULL)
        return;
    free(profile->rows);
    profile->rows = NULL;
    profile->row_count = profile->row_capacity = 0;
}

const sh_profile_row *sh_profile_bottleneck(const sh_profile *profile)
{
    const sh_profile_row *found = NULL;
    for (size_t i = 0; i < profile->row_count; i++) {
        const sh_profile_row *row = &profile->rows[i];
        if (row->kind != SH_PROFILE_NODE && strcmp(row->name, REST) != 0 &&
            (found == NULL || row->seconds > found->seconds))
            found = row;
    }
    return found;
}

const char *sh_work_name(const sh_work *work, const sh_graph *graph)
{
    switch (work->kind) {
    case SH_WORK_NODE:
        return sh_op_about(graph->nodes[work->node].op)->name;
    case SH_WORK_REORDER:
        return "reorder";
    case SH_WORK_SINK:
        return SH_PROFILE_SUM;
    }
    return "";
}

sh_cost sh_work_cost(const sh_work *work, const sh_graph *graph)
{
    sh_cost cost = {.bytes = (double)work->bytes};
    if (work->kind != SH_WORK_NODE || work->continues)
        return cost;
    cost.flops = sh_graph_cost(graph, &graph->nodes[work->node]).flops;
    return cost;
}

static sh_status find_row(sh_profile *profile, sh_profile_row **row, sh_profile_kind kind,
                          const char *name, const char *detail)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        *row = &profile->rows[i];
        if ((*row)->kind == kind && strcmp((*row)->name, name) == 0 &&
            strcmp((*row)->detail, detail) == 0)
            return SH_OK;
    }
    SH_TRY(sh_array_grow((void **)&profile->rows, &profile->row_capacity, profile->row_count + 1,
                         sizeof *profile->rows));
    *row = &profile->rows[profile->row_count++];
    **row = (sh_profile_row){.kind = kind};
    snprintf((*row)->name, sizeof(*row)->name, "%s", name);
    snprintf((*row)->detail, sizeof(*row)->detail, "%s", detail);
    return SH_OK;
}

static void grow_row(sh_profile_row *row, const sh_work *work, const sh_work_time *time,
                     sh_cost cost)
{
    if (!work->continues)
        row->count += time->count;
    row->seconds += (double)time->ns * 1e-9;
    row->flops += cost.flops * (double)time->count;
    row->bytes += cost.bytes * (double)time->count;
}

/* "node 12: 16x3x32x32, 16x3x3x3 -> 16x16x32x32 (channels-last)" */
static void describe(const sh_work *work, const sh_graph *graph, char text[SH_PROFILE_DETAIL_BYTES])
{
    char shape[SH_SHAPE_TEXT];
    size_t used = 0;
    const size_t bytes = SH_PROFILE_DETAIL_BYTES;
    if (work->kind != SH_WORK_NODE) {
        snprintf(text, bytes, "%s of value %u",
                 sh_shape_print(&sh_graph_type(graph, work->value)->shape, shape), work->value);
        return;
    }
    const sh_node *node = &graph->nodes[work->node];
    used += (size_t)snprintf(text, bytes, "node %u: ", work->node);
    for (uint32_t i = 0; i < node->input_count && used < bytes; i++)
        if (node->in[i] != SH_NO_VALUE)
            used +=
                (size_t)snprintf(text + used, bytes - used, "%s%s", i == 0 ? "" : ", ",
                                 sh_shape_print(&sh_graph_type(graph, node->in[i])->shape, shape));
    if (used < bytes)
        snprintf(text + used, bytes - used, " -> %s (%s)",
                 sh_shape_print(&sh_graph_type(graph, work->value)->shape, shape), work->layout);
}

sh_status sh_profile_add_execution(sh_profile *profile, const sh_execution *execution,
                                   const sh_program *program, const sh_graph *graph,
                                   sh_profile_level level)
{
    const sh_work_time *times = sh_execution_times(execution);
    for (size_t i = 0; times != NULL && i < sh_program_length(program); i++) {
        const sh_work work = sh_program_work(program, i);
        const sh_cost cost = sh_work_cost(&work, graph);
        const char *name = sh_work_name(&work, graph);
        sh_profile_row *row;
        if (times[i].count == 0)
            continue;
        SH_TRY(find_row(profile, &row,
                        work.kind == SH_WORK_SINK ? SH_PROFILE_OUTSIDE : SH_PROFILE_OPERATOR, name,
                        ""));
        grow_row(row, &work, &times[i], cost);
        if (level < SH_PROFILE_NODES)
            continue;
        char detail[SH_PROFILE_DETAIL_BYTES];
        describe(&work, graph, detail);
        SH_TRY(find_row(profile, &row, SH_PROFILE_NODE, name, detail));
        grow_row(row, &work, &times[i], cost);
    }
    return SH_OK;
}

sh_status sh_profile_add(sh_profile *profile, const char *name, uint64_t count, double seconds)
{
    sh_profile_row *row;
    SH_TRY(find_row(profile, &row, SH_PROFILE_OUTSIDE, name, ""));
    row->count += count;
    row->seconds += seconds;
    return SH_OK;
}

/* By kind, then the longest first, with the rest last of its kind. */
static int by_time(const void *left, const void *right)
{
    const sh_profile_row *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    const bool a_rest = strcmp(a->name, REST) == 0, b_rest = strcmp(b->name, REST) == 0;
    if (a_rest != b_rest)
        return a_rest ? 1 : -1;
    if (a->seconds != b->seconds)
        return a->seconds > b->seconds ? -1 : 1;
    const int names = strcmp(a->name, b->name);
    return names != 0 ? names : strcmp(a->detail, b->detail);
}

sh_status sh_profile_finish(sh_profile *profile)
{
    const double whole = profile->lanes * profile->step_seconds;
    double known = 0;
    size_t kept = 0;
    for (size_t i = 0; i < profile->row_count; i++) {
        const sh_profile_row row = profile->rows[i];
        if (row.seconds == 0)
            continue;
        if (row.kind != SH_PROFILE_NODE)
            known += row.seconds;
        profile->rows[kept++] = row;
    }
    profile->row_count = kept;
    SH_TRY(sh_profile_add(profile, REST, 0, whole - known));
    for (size_t i = 0; i < profile->row_count; i++)
        profile->rows[i].share = whole > 0 ? profile->rows[i].seconds / whole : 0;
    qsort(profile->rows, profile->row_count, sizeof *profile->rows, by_time);
    return SH_OK;
}
