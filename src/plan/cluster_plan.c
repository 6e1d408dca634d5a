/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/cluster_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/curve.h"
#include "plan/device_set.h"

static const uint32_t wires[] = {32, 16, 8};
#define WIRES (sizeof wires / sizeof *wires)

/* Batch sizes of ways, as multiples of the job's. */
static const uint32_t multiples[] = {1, 2, 4};
#define MULTIPLES (sizeof multiples / sizeof *multiples)

/* Ways with local:H. A lane computes the steps of one worker at a time; most boards have four.
 * Workers with fewer samples in a local step learn badly. */
static const uint32_t local_steps[] = {4, 16};
#define LOCAL_WAYS (sizeof local_steps / sizeof *local_steps)
#define LANES_EACH 4
#define WORKER_SAMPLES 4

static double sample_flops(const sh_plan_result *result)
{
    double flops = 0;
    for (size_t i = 0; i < result->layer_count; i++)
        flops += result->layers[i].forward_flops + result->layers[i].backward_flops;
    return flops / result->grains[0].grain;
}

/* The devices with their rates for a row's grains; `kinds` gets the kind of each. */
static void list_devices(sh_lineup_device *devices, uint32_t *kinds, const sh_plan_result *result,
                         const sh_plan_grain *row, const sh_inventory *inventory)
{
    const double flops = sample_flops(result) * row->grain;
    uint32_t count = 0;
    for (uint32_t k = 0; k < inventory->kinds; k++) {
        const sh_inventory_kind *kind = &inventory->kind[k];
        const double own = row->grains / (row->compute_seconds + row->other_seconds);
        for (uint32_t i = 0; i < kind->count; i++) {
            kinds[count] = k;
            devices[count++] = (sh_lineup_device){
                .rate = kind->flops > 0 ? kind->flops / flops : own,
                .out = kind->link,
                .in = kind->link,
                .delay_s = kind->delay_s > 0 ? kind->delay_s
                           : kind->link > 0  ? SH_CLUSTER_PLAN_DELAY_S
                                             : 0,
            };
        }
    }
}

static sh_lineup_job job_of(const sh_plan_result *result, const sh_plan_grain *row,
                            const sh_cluster_plan *asked, uint32_t wire, uint32_t multiple)
{
    const sh_traffic *traffic = &asked->traffic;
    const uint64_t summed = traffic->summed - (asked->servers ? 0 : traffic->spared);
    return (sh_lineup_job){
        .grains = (multiple * asked->batch_size + row->grain - 1) / row->grain,
        .summed = (double)summed * wire / asked->wire,
        .gathered = asked->servers ? 0 : (double)traffic->gathered * multiple,
        .servers = asked->servers,
        .base_s = result->timed ? row->prepare_seconds + row->optimizer_seconds : 0,
        .stretch = SH_LINEUP_STRETCH,
    };
}

static void print_device(char text[64], const sh_inventory_kind *kind)
{
    if (kind->link > 0)
        snprintf(text, 64, "%s, %.4g Mbit/s", kind->name, kind->link * 8e-6);
    else
        snprintf(text, 64, "%s", kind->name);
}

static void fill_point(sh_plan_point *point, const sh_curve_point *from, uint32_t devices,
                       const sh_inventory *inventory, const uint32_t *kinds)
{
    char slowest[64];
    *point = (sh_plan_point){.devices = devices,
                             .step_seconds = from->time.seconds,
                             .compute_seconds = from->time.compute_s,
                             .exchange_seconds = from->time.exchange_s};
    print_device(point->added, &inventory->kind[kinds[from->added]]);
    print_device(slowest, &inventory->kind[kinds[from->time.slowest]]);
    const bool link = from->time.exchange_s > from->time.compute_s;
    const int length = snprintf(point->binds, sizeof point->binds, "%s%s",
                                link ? "the link of " : "computing", link ? slowest : "");
    if (from->idle > 0)
        snprintf(point->binds + length, sizeof point->binds - (size_t)length, "; %u without grains",
                 from->idle);
}

/* Of equally fast ways, the job's strategy, the smaller batch, the wider wire and the larger grain
 * come first. */
static int compare_ways(const void *a, const void *b)
{
    const sh_plan_way *x = a, *y = b;
    if (x->samples_per_second != y->samples_per_second)
        return x->samples_per_second < y->samples_per_second ? 1 : -1;
    const int strategies = strcmp(x->strategy, y->strategy);
    if (strategies != 0)
        return strategies;
    if (x->batch_size != y->batch_size)
        return x->batch_size > y->batch_size ? 1 : -1;
    if (x->wire != y->wire)
        return x->wire < y->wire ? 1 : -1;
    return (x->grain < y->grain) - (x->grain > y->grain);
}

static void list_kinds(sh_device_set_kind *list, const sh_inventory *inventory,
                       const sh_lineup_device *devices)
{
    for (uint32_t k = 0, first = 0; k < inventory->kinds; first += inventory->kind[k++].count)
        list[k] = (sh_device_set_kind){devices[first], inventory->kind[k].count,
                                       inventory->kind[k].watts};
}

static void fill_choice(sh_plan_choice *choice, const sh_device_set *set,
                        const sh_inventory *inventory)
{
    size_t used = 0;
    *choice = (sh_plan_choice){.devices = set->devices,
                               .step_seconds = set->time.seconds,
                               .step_joules = set->joules > 0 ? set->joules : (double)NAN};
    for (uint32_t k = 0; k < inventory->kinds; k++) {
        if (set->used[k] == 0)
            continue;
        const int length = snprintf(choice->which + used, sizeof choice->which - used, "%s%ux %s",
                                    used > 0 ? ", " : "", set->used[k], inventory->kind[k].name);
        if (length > 0 && used + (size_t)length < sizeof choice->which)
            used += (size_t)length;
    }
}

static sh_status choose(sh_plan_result *result, const sh_cluster_plan *asked,
                        const sh_lineup_job *job, const sh_lineup_device *devices)
{
    sh_device_set_kind list[SH_INVENTORY_KINDS];
    sh_device_set set;
    const sh_inventory *inventory = asked->inventory;
    for (uint32_t k = 0; k < inventory->kinds && asked->energy; k++)
        if (!(inventory->kind[k].watts > 0))
            return inventory->listed
                       ? sh_fail(SH_INVALID,
                                 "--energy: the power of '%s' is unknown: add \"power_watts\" to "
                                 "it in the file",
                                 inventory->kind[k].name)
                       : sh_fail(SH_INVALID,
                                 "--energy: the power of '%s' is unknown: give it, such as %s/40w",
                                 inventory->kind[k].name, inventory->kind[k].name);
    list_kinds(list, inventory, devices);
    const sh_device_set_goal goal = {.energy = asked->energy, .limit_s = asked->limit_s};
    if (sh_device_set_choose(&set, job, list, inventory->kinds, &goal))
        fill_choice(&result->choice, &set, inventory);
    return SH_OK;
}

static void note_estimates(sh_plan_result *result, const sh_inventory *inventory)
{
    for (uint32_t i = 0; i < inventory->kinds; i++)
        if (inventory->kind[i].board)
            snprintf(result->on_note, sizeof result->on_note,
                     "the speed and power of a board are estimated: half of its processor's peak, "
                     "and its usual power");
    if (inventory->guessed > 0)
        snprintf(result->on_note, sizeof result->on_note,
                 "the speed of %u of the devices is unknown: each counts as the mean of the others",
                 inventory->guessed);
}

/* `samples`: of a step. */
static void add_way(sh_plan_result *result, const sh_plan_way *way, const sh_curve *curve,
                    double samples)
{
    sh_plan_way *added = &result->ways[result->way_count++];
    *added = *way;
    added->devices = curve->best + 1;
    added->step_seconds = curve->points[curve->best].time.seconds;
    added->samples_per_second = samples / added->step_seconds;
}

/* With the same weights and fewer hops, which pays behind links of long round trips. */
static void add_servers_way(sh_plan_result *result, const sh_cluster_plan *asked,
                            const sh_lineup_device *devices, sh_curve *curve)
{
    const sh_plan_grain *row = &result->grains[0];
    sh_cluster_plan with_servers = *asked;
    if (asked->servers)
        return;
    with_servers.servers = true;
    const sh_lineup_job job = job_of(result, row, &with_servers, asked->wire, 1);
    sh_curve_make(curve, &job, devices, asked->inventory->devices);
    add_way(result,
            &(sh_plan_way){.batch_size = asked->batch_size,
                           .grain = row->grain,
                           .wire = asked->wire,
                           .strategy = "ps-sync"},
            curve, asked->batch_size);
}

static void add_ways(sh_plan_result *result, const sh_cluster_plan *asked, const sh_plan_grain *row,
                     const sh_lineup_device *devices, sh_curve *curve)
{
    for (size_t m = 0; m < MULTIPLES; m++)
        for (size_t w = 0; w < WIRES; w++) {
            const uint32_t batch_size = multiples[m] * asked->batch_size;
            const bool own =
                row == result->grains && batch_size == asked->batch_size && wires[w] == asked->wire;
            if (own || (multiples[m] > 1 && batch_size > result->samples))
                continue;
            const sh_lineup_job job = job_of(result, row, asked, wires[w], multiples[m]);
            sh_curve_make(curve, &job, devices, asked->inventory->devices);
            add_way(result,
                    &(sh_plan_way){.batch_size = batch_size, .grain = row->grain, .wire = wires[w]},
                    curve, batch_size);
        }
}

/* As many as there are lanes, if they can share the batch evenly. 0: no two can. */
static uint32_t choose_workers(uint32_t batch_size, uint32_t devices)
{
    const uint32_t lanes = LANES_EACH * devices, most = batch_size / WORKER_SAMPLES;
    for (uint32_t workers = lanes < most ? lanes : most; workers > 1; workers--)
        if (batch_size % workers == 0)
            return workers;
    return 0;
}

/* The largest grain that a worker's samples fill; NULL: none. */
static const sh_plan_grain *find_row(const sh_plan_result *result, uint32_t samples)
{
    const sh_plan_grain *best = NULL;
    for (size_t i = 0; i < result->grain_count; i++) {
        const sh_plan_grain *row = &result->grains[i];
        if (row->grain <= samples && (best == NULL || row->grain > best->grain))
            best = row;
    }
    return best;
}

/* With local:H, devices are dealt workers instead of grains, and exchange their weights once in H
 * local steps. */
static void add_local_ways(sh_plan_result *result, const sh_cluster_plan *asked, sh_curve *curve)
{
    sh_lineup_device devices[SH_DEVICES_MAX];
    uint32_t kinds[SH_DEVICES_MAX];
    const uint32_t count = asked->inventory->devices;
    const uint32_t workers = choose_workers(asked->batch_size, count);
    const sh_plan_grain *row = workers > 0 ? find_row(result, asked->batch_size / workers) : NULL;
    if (row == NULL)
        return;
    const double grains = (double)asked->batch_size / workers / row->grain;
    const double update_s = result->timed ? row->prepare_seconds + row->optimizer_seconds : 0;
    for (size_t i = 0; i < LOCAL_WAYS; i++) {
        const uint64_t samples = (uint64_t)local_steps[i] * asked->batch_size;
        if (samples > result->samples)
            continue;
        list_devices(devices, kinds, result, row, asked->inventory);
        for (uint32_t k = 0; k < count; k++)
            devices[k].rate = 1 / (local_steps[i] * (grains / devices[k].rate + update_s));
        const sh_lineup_job job = {.grains = workers,
                                   .summed = (double)asked->traffic.summed,
                                   .base_s = update_s,
                                   .stretch = SH_LINEUP_STRETCH};
        sh_curve_make(curve, &job, devices, count);
        sh_plan_way way = {.batch_size = asked->batch_size,
                           .grain = row->grain,
                           .wire = asked->wire,
                           .workers = workers};
        snprintf(way.strategy, sizeof way.strategy, "local:%u", local_steps[i]);
        add_way(result, &way, curve, (double)samples);
    }
}

sh_status sh_cluster_plan_fill(sh_plan_result *result, const sh_cluster_plan *asked)
{
    sh_lineup_device devices[SH_DEVICES_MAX];
    uint32_t kinds[SH_DEVICES_MAX];
    const sh_inventory *inventory = asked->inventory;
    for (uint32_t i = 0; i < inventory->kinds && !result->timed; i++)
        if (inventory->kind[i].flops == 0)
            return sh_fail(SH_NOT_FOUND, "--on this: this device has not been measured; run shoal "
                                         "bench, or give its speed, such as 25gflops");
    result->points = calloc(inventory->devices, sizeof *result->points);
    result->ways =
        calloc(result->grain_count * WIRES * MULTIPLES + LOCAL_WAYS + 1, sizeof *result->ways);
    sh_curve *curve = malloc(sizeof *curve);
    if (result->points == NULL || result->ways == NULL || curve == NULL) {
        free(curve);
        return sh_fail_memory(inventory->devices * sizeof *result->points, "the plan's devices");
    }
    const sh_plan_grain *own = &result->grains[0];
    const sh_lineup_job job = job_of(result, own, asked, asked->wire, 1);
    list_devices(devices, kinds, result, own, inventory);
    sh_curve_make(curve, &job, devices, inventory->devices);
    result->best = curve->best;
    for (uint32_t n = 0; n < curve->count; n++)
        fill_point(&result->points[result->point_count++], &curve->points[n], n + 1, inventory,
                   kinds);
    add_servers_way(result, asked, devices, curve);
    const sh_status status =
        asked->energy || asked->limit_s > 0 ? choose(result, asked, &job, devices) : SH_OK;
    for (size_t i = 0; i < result->grain_count; i++) {
        list_devices(devices, kinds, result, &result->grains[i], inventory);
        add_ways(result, asked, &result->grains[i], devices, curve);
    }
    add_local_ways(result, asked, curve);
    qsort(result->ways, result->way_count, sizeof *result->ways, compare_ways);
    note_estimates(result, inventory);
    free(curve);
    return status;
}
