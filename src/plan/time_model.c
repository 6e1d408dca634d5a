/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/time_model.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define NEAREST 4          /* works of the same operator for an estimate */
#define LEAST_SECONDS 2e-7 /* of any instruction: call, operands */
#define USUAL_FLOPS 8e9    /* per second and lane, if not measured: a slow modern core */
#define USUAL_BYTES 3e9    /* likewise */
#define LEAST_GROWTH 0.5   /* bounds of extrapolated growth, */
#define MOST_GROWTH 1.5    /* relative to the size */

static double rate_of_lane(double all, uint32_t lanes, double usual)
{
    return all > 0 && lanes > 0 ? all / lanes : usual;
}

static double bound(const sh_measurements *known, const sh_measurement *one)
{
    const double fast =
        known->matrix.all > known->convolution.all ? known->matrix.all : known->convolution.all;
    const double flops = one->flops / rate_of_lane(fast, known->lanes, USUAL_FLOPS);
    const double bytes = one->bytes / rate_of_lane(known->triad.all, known->lanes, USUAL_BYTES);
    return LEAST_SECONDS + (flops > bytes ? flops : bytes);
}

/* Interpolates between two sizes; beyond them, stays nearly proportional. */
static double on_line(const sh_measurement *a, const sh_measurement *b, double size)
{
    const double slope = (b->seconds - a->seconds) / (b->size - a->size);
    if (size >= a->size && size <= b->size)
        return a->seconds + slope * (size - a->size);
    if (size < a->size) { /* between proportional and constant */
        const double line = a->seconds - slope * (a->size - size);
        const double least = a->seconds * size / a->size;
        return fmin(fmax(line, least), a->seconds);
    }
    const double proportion = b->seconds / b->size;
    return b->seconds + (size - b->size) *
                            fmin(fmax(slope, LEAST_GROWTH * proportion), MOST_GROWTH * proportion);
}

/* `count` > 0 measurements of the same work, sorted by size. */
static double of_sizes(const sh_measurement *items, size_t count, double size)
{
    size_t at = 0;
    while (at < count && items[at].size < size)
        at++;
    if (at < count && items[at].size == size)
        return items[at].seconds;
    if (count == 1)
        return items[0].seconds * (items[0].size > 0 ? size / items[0].size : 1);
    if (at == 0)
        return on_line(&items[0], &items[1], size);
    return at == count ? on_line(&items[count - 2], &items[count - 1], size)
                       : on_line(&items[at - 1], &items[at], size);
}

/* The squared distance of two works, in factors of arithmetic and traffic. */
static double distance(const sh_measurement *a, const sh_measurement *b)
{
    const double flops = log((a->flops + 1) / (b->flops + 1));
    const double bytes = log((a->bytes + 1) / (b->bytes + 1));
    return flops * flops + bytes * bytes;
}

/* `count` > 0 measurements of the same operator. */
static double of_neighbours(const sh_measurements *known, const sh_measurement *items, size_t count,
                            const sh_measurement *one)
{
    double near[NEAREST], excess[NEAREST], weights = 0, sum = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const double apart = distance(&items[i], one);
        size_t at = kept < NEAREST ? kept++ : NEAREST;
        for (; at > 0 && near[at - 1] > apart; at--)
            if (at < NEAREST) {
                near[at] = near[at - 1];
                excess[at] = excess[at - 1];
            }
        if (at < NEAREST) {
            near[at] = apart;
            excess[at] = log(fmax(items[i].seconds, 1e-9) / bound(known, &items[i]));
        }
    }
    for (size_t i = 0; i < kept; i++) {
        const double weight = 1 / (near[i] + 0.01);
        weights += weight;
        sum += weight * excess[i];
    }
    return bound(known, one) * exp(sum / weights);
}

double sh_time_of(const sh_measurements *known, const sh_measurement *one)
{
    size_t count;
    const sh_measurement *items = sh_measurements_find(known, one->name, &one->class, &count);
    if (count > 0)
        return of_sizes(items, count, one->size);
    items = sh_measurements_find(known, one->name, NULL, &count);
    return count > 0 ? of_neighbours(known, items, count, one) : bound(known, one);
}

sh_program_time sh_time_of_program(const sh_measurements *known, const sh_program *program,
                                   const sh_graph *graph, uint32_t samples, double *by_node)
{
    sh_program_time time = {0};
    for (size_t i = 0; by_node != NULL && i < graph->node_count; i++)
        by_node[i] = 0;
    for (size_t i = 0; i < sh_program_length(program); i++) {
        const sh_work work = sh_program_work(program, i);
        const sh_measurement one = sh_measurement_of(&work, graph, samples);
        const double seconds = sh_time_of(known, &one);
        *(work.prepares ? &time.prepare : &time.run) += seconds;
        if (by_node != NULL && !work.prepares && work.node != SH_NO_NODE)
            by_node[work.node] += seconds;
    }
    return time;
}

/* 0: not measured. */
static double time_of_named(const sh_measurements *known, const char *name, double size)
{
    const sh_measurement one = sh_measurement_named(name, size);
    size_t count;
    const sh_measurement *items = sh_measurements_find(known, name, &one.class, &count);
    return count > 0 ? of_sizes(items, count, size) : 0;
}

/* Full grains go to the next free lane in rounds, then the short one to a lane with one grain less,
 * or to the first free lane. */
static double makespan(uint32_t lanes, uint32_t grains, double full, double last)
{
    const uint32_t rounds = grains / lanes, left = grains % lanes;
    if (left > 0 && left < lanes)
        return rounds * full + fmax(full, last);
    return rounds * full + last;
}

sh_step_time sh_time_of_step(const sh_measurements *known, const sh_step_shape *shape)
{
    const double lanes = shape->lanes;
    const double full = shape->grain.run + shape->grain_samples * shape->read_seconds +
                        time_of_named(known, SH_TIME_GRAIN, shape->grain_samples);
    const double last = shape->last_samples == 0
                            ? 0
                            : shape->last.run + shape->last_samples * shape->read_seconds +
                                  time_of_named(known, SH_TIME_GRAIN, shape->last_samples);
    sh_step_time step = {
        .compute = makespan(shape->lanes, shape->grains, full, last),
        .prepare = shape->grain.prepare + (shape->last_samples > 0 ? shape->last.prepare : 0) +
                   time_of_named(known, SH_TIME_CLEAR, (double)shape->weights) / lanes,
        .optimizer = time_of_named(known, SH_TIME_APPLY, (double)shape->optimizer_words) / lanes,
    };
    step.other =
        time_of_named(known, SH_TIME_STEP, 1) + time_of_named(known, SH_TIME_LAG, step.compute);
    step.seconds = step.compute + step.prepare + step.optimizer + step.other;
    return step;
}
