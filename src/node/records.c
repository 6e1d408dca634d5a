/* SPDX-License-Identifier: Apache-2.0 */
#include "node/records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(SH_FIGURE_COUNT <= 64, "a bit for each figure");

static void write_sample(Shoal__Sample *to, double *values, const sh_sample *sample)
{
    shoal__sample__init(to);
    to->at_ns = sample->at_ns;
    to->figures = values;
    for (int i = 0; i < SH_FIGURE_COUNT; i++)
        if (isfinite(sample->figures[i])) {
            to->known |= 1ULL << i;
            values[to->n_figures++] = sample->figures[i];
        }
}

static void write_step(Shoal__StepTimes *to, const sh_step_times *step)
{
    shoal__step_times__init(to);
    to->step = step->step;
    to->ends_ns = step->ends_ns;
    to->grains = step->grains;
    to->samples = step->samples;
    to->attempts = step->attempts;
    to->wall_ns = step->wall_ns;
    to->parts_ns = (uint64_t *)(uintptr_t)step->ns;
    to->n_parts_ns = SH_PART_COUNT;
}

sh_records_message *sh_records_write(const sh_records *records)
{
    sh_records_message *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        return NULL;
    shoal__figures__init(&fresh->body);
    fresh->body.now_ns = records->now_ns;
    fresh->body.dropped = records->dropped;
    fresh->body.samples = fresh->sample_list;
    fresh->body.steps = fresh->step_list;
    fresh->body.n_samples = records->sample_count;
    fresh->body.n_steps = records->step_count;
    for (uint32_t i = 0; i < records->sample_count; i++) {
        fresh->sample_list[i] = &fresh->samples[i];
        write_sample(&fresh->samples[i], fresh->values[i], &records->samples[i]);
    }
    for (uint32_t i = 0; i < records->step_count; i++) {
        fresh->step_list[i] = &fresh->steps[i];
        write_step(&fresh->steps[i], &records->steps[i]);
    }
    return fresh;
}

static sh_status read_sample(sh_sample *sample, const Shoal__Sample *from)
{
    size_t next = 0;
    sh_sample_clear(sample);
    sample->at_ns = from->at_ns;
    if (from->known >> SH_FIGURE_COUNT != 0 ||
        (size_t)__builtin_popcountll(from->known) != from->n_figures)
        return sh_fail(SH_FORMAT, "a sample with figures that are not known here");
    for (int i = 0; i < SH_FIGURE_COUNT; i++)
        if ((from->known >> i & 1) != 0)
            sample->figures[i] = from->figures[next++];
    return SH_OK;
}

static sh_status read_step(sh_step_times *step, const Shoal__StepTimes *from)
{
    if (from->n_parts_ns != SH_PART_COUNT)
        return sh_fail(SH_FORMAT, "a step's time in %zu parts instead of %d", from->n_parts_ns,
                       (int)SH_PART_COUNT);
    *step = (sh_step_times){
        .step = from->step,
        .ends_ns = from->ends_ns,
        .grains = from->grains,
        .samples = from->samples,
        .attempts = from->attempts,
        .wall_ns = from->wall_ns,
    };
    memcpy(step->ns, from->parts_ns, sizeof step->ns);
    return SH_OK;
}

sh_status sh_records_read(sh_records *records, const Shoal__Figures *body)
{
    if (body->n_samples > SH_RECORDS_SAMPLES || body->n_steps > SH_RECORDS_STEPS)
        return sh_fail(SH_FORMAT, "%zu samples and %zu steps at once, where %d and %d are the most",
                       body->n_samples, body->n_steps, SH_RECORDS_SAMPLES, SH_RECORDS_STEPS);
    records->now_ns = body->now_ns;
    records->dropped = body->dropped;
    records->sample_count = (uint32_t)body->n_samples;
    records->step_count = (uint32_t)body->n_steps;
    for (uint32_t i = 0; i < records->sample_count; i++)
        SH_TRY(read_sample(&records->samples[i], body->samples[i]));
    for (uint32_t i = 0; i < records->step_count; i++)
        SH_TRY(read_step(&records->steps[i], body->steps[i]));
    return SH_OK;
}

void sh_records_move(sh_records *records, uint64_t here_ns)
{
    const uint64_t by = here_ns - records->now_ns; /* either way, modulo 2^64 */
    for (uint32_t i = 0; i < records->sample_count; i++)
        records->samples[i].at_ns += by;
    for (uint32_t i = 0; i < records->step_count; i++)
        records->steps[i].ends_ns += by;
    records->now_ns = here_ns;
}
