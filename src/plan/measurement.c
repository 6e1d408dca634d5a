/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/measurement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/profiler.h"
#include "base/memory.h"

void sh_measurements_release(sh_measurements *known)
{
    free(known->items);
    known->items = NULL;
    known->count = known->capacity = 0;
}

/* FNV-1a, 64 bits. */
static void mix(uint64_t *hash, uint64_t number)
{
    for (int i = 0; i < 8; i++) {
        *hash ^= number >> (8 * i) & 0xff;
        *hash *= 0x100000001b3;
    }
}

/* Mixes the shape without the number of samples. Vectors (biases, statistics, labels) are ignored:
 * other operands imply them, and their length may be the number of samples. */
static void mix_operand(uint64_t *hash, const sh_graph *graph, sh_value_id value, size_t samples)
{
    if (value == SH_NO_VALUE) {
        mix(hash, 0);
        return;
    }
    const sh_shape *shape = &sh_graph_type(graph, value)->shape;
    mix(hash, shape->rank);
    if (shape->rank < 2)
        return;
    bool batched = shape->dim[0] % samples == 0;
    for (size_t i = 0; batched && i < graph->parameter_count; i++)
        batched = graph->parameters[i].value != value && graph->parameters[i].gradient != value;
    mix(hash, batched);
    mix(hash, batched ? shape->dim[0] / samples : shape->dim[0]);
    for (size_t i = 1; i < shape->rank; i++)
        mix(hash, shape->dim[i]);
}

sh_measurement sh_measurement_named(const char *name, double size)
{
    sh_measurement one = {.size = size, .count = 1};
    snprintf(one.name, sizeof one.name, "%s", name);
    return one;
}

sh_measurement sh_measurement_of(const sh_work *work, const sh_graph *graph, uint32_t samples)
{
    sh_measurement one = sh_measurement_named(sh_work_name(work, graph), samples);
    const sh_cost cost = sh_work_cost(work, graph);
    one.flops = cost.flops;
    one.bytes = cost.bytes;
    if (work->kind == SH_WORK_SINK) {
        one.size = (double)sh_shape_count(&sh_graph_type(graph, work->value)->shape);
        return one;
    }
    one.class = 0xcbf29ce484222325;
    mix(&one.class, work->prepares);
    mix(&one.class, work->continues);
    if (work->kind == SH_WORK_REORDER) {
        mix_operand(&one.class, graph, work->value, samples);
        return one;
    }
    const sh_node *node = &graph->nodes[work->node];
    for (uint32_t i = 0; i < node->input_count; i++)
        mix_operand(&one.class, graph, node->in[i], samples);
    mix_operand(&one.class, graph, node->out[0], samples);
    const sh_attributes *a = &node->attributes;
    for (int i = 0; i < 2; i++) {
        mix(&one.class, a->kernel[i]);
        mix(&one.class, a->stride[i]);
        mix(&one.class, a->padding[i]);
        mix(&one.class, a->end_padding[i]);
        mix(&one.class, a->dilation[i]);
    }
    for (int i = 0; i < SH_MAX_RANK; i++) {
        mix(&one.class, a->order[i]);
        mix(&one.class, a->before[i]);
        mix(&one.class, a->after[i]);
    }
    mix(&one.class, a->function);
    mix(&one.class, a->groups);
    mix(&one.class, a->axis);
    mix(&one.class, (uint64_t)a->activation);
    mix(&one.class, a->training);
    mix(&one.class, a->no_bias);
    mix(&one.class, (uint64_t)a->method);
    return one;
}

/* Orders by name, class, size. NULL `class`: only names; NULL `size`: no sizes. */
static int compare(const sh_measurement *item, const char *name, const uint64_t *class,
                   const double *size)
{
    const int names = strcmp(item->name, name);
    if (names != 0 || class == NULL)
        return names;
    if (item->class != *class)
        return item->class < *class ? -1 : 1;
    if (size == NULL || item->size == *size)
        return 0;
    return item->size < *size ? -1 : 1;
}

static size_t lower_bound(const sh_measurements *known, const char *name, const uint64_t *class,
                          const double *size)
{
    size_t first = 0, end = known->count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (compare(&known->items[middle], name, class, size) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

sh_status sh_measurements_add(sh_measurements *known, const sh_measurement *one)
{
    const size_t at = lower_bound(known, one->name, &one->class, &one->size);
    sh_measurement *item = at < known->count ? &known->items[at] : NULL;
    if (item != NULL && compare(item, one->name, &one->class, &one->size) == 0) {
        const uint32_t count = item->count + one->count;
        item->seconds = (item->seconds * item->count + one->seconds * one->count) / count;
        item->count = count < SH_MEASUREMENT_COUNT_MOST ? count : SH_MEASUREMENT_COUNT_MOST;
        return SH_OK;
    }
    if (known->count == SH_MEASUREMENTS_MAX)
        return sh_fail(SH_LIMIT, "more than %d measured operations", SH_MEASUREMENTS_MAX);
    SH_TRY(sh_array_grow((void **)&known->items, &known->capacity, known->count + 1,
                         sizeof *known->items));
    item = known->items + at;
    memmove(item + 1, item, (known->count - at) * sizeof *item);
    *item = *one;
    known->count++;
    return SH_OK;
}

const sh_measurement *sh_measurements_find(const sh_measurements *known, const char *name,
                                           const uint64_t *class, size_t *count)
{
    const size_t first = lower_bound(known, name, class, NULL);
    size_t end = first;
    while (end < known->count && compare(&known->items[end], name, class, NULL) == 0)
        end++;
    *count = end - first;
    return *count == 0 ? NULL : &known->items[first];
}
