/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares each device with the median of the others. Of a device that is slower per grain than
 * they are, or than itself before, swapping means short memory; a quota that denies it more than
 * the others, the firmware's flag, or a low clock while it always computes mean a throttled
 * processor. Else it is slow.
 *
 * The rate of a link counts while it has data to send. A device's link is two of the ring's links,
 * to the next device and from the previous one, so both must stand out.
 */
#include "report/bottleneck.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOWER 1.2          /* times the peers' time per grain: a finding */
#define SLOWED 1.5          /* growth since the start, times the peers' growth */
#define DENIED_MORE 0.1     /* of wanted processor time, beyond the peers' */
#define DENIED_ALL 0.05     /* above this, the peers are under a quota */
#define HELD_BACK 0.05      /* of the time */
#define FREQUENCY_DROP 0.85 /* of the maximum */
#define AVAILABLE_LEAST 32e6
#define SWAP_MOST 16e6
#define NETWORK_NOTABLE 0.1 /* of a step, as are NETWORK_MUCH, WAIT_MUCH and COST_NOTABLE */
#define NETWORK_MUCH 0.3
#define LINK_SLOW 0.5 /* of the others' rate; equal links had at least 0.55 */
#define WAIT_MUCH 0.3
#define COST_NOTABLE 0.05
#define STEPS_LEAST 0.02  /* of the most steps of a device */
#define GRAINS_LEAST 0.05 /* per step; fewer: it computes nothing */

enum { GRAIN, GROWTH, DENIED, DENIED_GROWTH, COMPUTING, NETWORK, WAIT, MEASURES };

typedef struct hearing {
    sh_bottleneck *bottleneck;
    sh_bottleneck_device *devices; /* in ring order; owned */
    int *places;                   /* their indices among all; owned */
    size_t count;
    double steps; /* of the device with the most */
    double *room; /* for `count` numbers */
} hearing;

const char *sh_cause_name(sh_cause cause)
{
    static const char *const names[] = {
#define CAUSE_NAME(name, what) #name,
        SH_CAUSE_MAP(CAUSE_NAME)
#undef CAUSE_NAME
    };
    return names[cause];
}

static double value_of(const sh_bottleneck_device *device, int which)
{
    const double values[MEASURES] = {
        [GRAIN] = device->grain_seconds,
        [GROWTH] = device->grain_late / device->grain_early,
        [DENIED] = device->denied,
        [DENIED_GROWTH] = device->denied_late - device->denied_early,
        [COMPUTING] = device->computing_seconds,
        [NETWORK] = device->network_seconds / device->step_seconds,
        [WAIT] = device->wait_seconds / device->step_seconds,
    };
    return values[which];
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool computes(const sh_bottleneck_device *device)
{
    return device->grains >= GRAINS_LEAST;
}

/* Collects the sorted values of all computing devices except `without` (-1: none). */
static size_t gather(const hearing *court, int which, int without)
{
    size_t used = 0;
    for (size_t i = 0; i < court->count; i++) {
        const double value = value_of(&court->devices[i], which);
        if ((int)i != without && computes(&court->devices[i]) && !isnan(value))
            court->room[used++] = value;
    }
    qsort(court->room, used, sizeof *court->room, compare);
    return used;
}

/* The upper of two middle values. */
static double median(const hearing *court, int which, int without)
{
    const size_t used = gather(court, which, without);
    return used == 0 ? NAN : court->room[used / 2];
}

__attribute__((format(printf, 5, 6))) static void find(hearing *court, sh_cause cause, int device,
                                                       double cost, const char *format, ...)
{
    sh_bottleneck *bottleneck = court->bottleneck;
    size_t at = bottleneck->finding_count;
    while (at > 0 && bottleneck->findings[at - 1].cost < cost)
        at--;
    if (at == SH_VERDICT_FINDINGS)
        return;
    if (bottleneck->finding_count < SH_VERDICT_FINDINGS)
        bottleneck->finding_count++;
    memmove(&bottleneck->findings[at + 1], &bottleneck->findings[at],
            (bottleneck->finding_count - 1 - at) * sizeof *bottleneck->findings);
    sh_finding *finding = &bottleneck->findings[at];
    *finding = (sh_finding){
        .cause = cause, .device = device < 0 ? -1 : court->places[device], .cost = cost};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
}

/* ---- slow devices ---------------------------------------------------------------------------- */

static bool is_throttled(const hearing *court, int index, char *why, size_t bytes)
{
    const sh_bottleneck_device *device = &court->devices[index];
    const double peers = median(court, DENIED, index);
    const bool alone = !(peers > DENIED_ALL) && device->denied > DENIED_MORE;
    const bool grows =
        value_of(device, DENIED_GROWTH) > DENIED_MORE &&
        !(value_of(device, DENIED_GROWTH) < median(court, DENIED_GROWTH, index) + DENIED_MORE);
    if (device->held_back > HELD_BACK)
        snprintf(
            why, bytes,
            "firmware throttled its processor for %.0f %% of the time, for heat or low voltage",
            100 * device->held_back);
    else if (grows)
        snprintf(why, bytes,
                 "a quota denied it %.0f %% of the requested processor time at first and %.0f %% "
                 "at the end",
                 100 * device->denied_early, 100 * device->denied_late);
    else if (alone)
        snprintf(why, bytes, "a quota denied it %.0f %% of the requested processor time",
                 100 * device->denied);
    else if (device->frequency_ratio < FREQUENCY_DROP)
        snprintf(why, bytes, "its clock ran at %.0f %% of its best%s",
                 100 * device->frequency_ratio, device->celsius > 75 ? ", and it was hot" : "");
    else if (device->denied > peers + DENIED_MORE)
        snprintf(why, bytes,
                 "it gets less processor time: a quota denies it %.0f %% of its request, the "
                 "others %.0f %%",
                 100 * device->denied, 100 * peers);
    return device->held_back > HELD_BACK || grows || alone ||
           device->frequency_ratio < FREQUENCY_DROP;
}

static bool is_short_of_memory(const sh_bottleneck_device *device, char *why, size_t bytes)
{
    const bool swaps = device->swap_bytes > SWAP_MOST;
    if (swaps)
        snprintf(why, bytes, "%.0f MB went to swap", 1e-6 * device->swap_bytes);
    else if (device->available_bytes < AVAILABLE_LEAST)
        snprintf(why, bytes, "only %.0f MB of memory were left", 1e-6 * device->available_bytes);
    return swaps || device->available_bytes < AVAILABLE_LEAST;
}

static void judge_speed(hearing *court, int index)
{
    const sh_bottleneck_device *device = &court->devices[index];
    const double ratio = device->grain_seconds / median(court, GRAIN, index);
    const double growth = value_of(device, GROWTH) / median(court, GROWTH, index);
    const bool slower = ratio >= SLOWER, slowed = growth >= SLOWED;
    if (!slower && !slowed)
        return;
    char why[160] = "its processor was not throttled", speed[96], share[96] = "its share follows";
    sh_cause cause = SH_CAUSE_compute;
    if (is_short_of_memory(device, why, sizeof why))
        cause = SH_CAUSE_memory;
    else if (is_throttled(court, index, why, sizeof why))
        cause = SH_CAUSE_throttled;
    /* How long the others wait for this device. */
    const double lead = device->computing_seconds - median(court, COMPUTING, index);
    const double cost = lead > 0 ? lead / device->step_seconds : 0;
    if (slower)
        snprintf(speed, sizeof speed, "computes a grain %.1fx slower than the median of the others",
                 ratio);
    else
        snprintf(speed, sizeof speed, "became %.1fx slower a grain during the job",
                 value_of(device, GROWTH));
    if (cost >= COST_NOTABLE)
        snprintf(share, sizeof share, "the others wait for it %.0f %% of a step", 100 * cost);
    find(court, cause, index, cost, "%s %s (%.1f grains a step): %s; %s", device->name, speed,
         device->grains, why, share);
}

/* ---- links ----------------------------------------------------------------------------------- */

static size_t before(const hearing *court, size_t device)
{
    return device > 0 ? device - 1 : court->count - 1;
}

/* The rate relative to the median of links that are not `device`'s. */
static double link_ratio(const hearing *court, size_t index, size_t device)
{
    size_t used = 0;
    const size_t into = before(court, device);
    for (size_t i = 0; i < court->count; i++)
        if (i != device && i != into && court->devices[i].link_rate > 0)
            court->room[used++] = court->devices[i].link_rate;
    qsort(court->room, used, sizeof *court->room, compare);
    return used == 0 ? NAN : court->devices[index].link_rate / court->room[used / 2];
}

static void judge_network(hearing *court)
{
    const double share = median(court, NETWORK, -1);
    size_t worst = 0;
    double least = INFINITY;
    if (!(share >= NETWORK_NOTABLE))
        return;
    for (size_t i = 0; i < court->count; i++) {
        const double out = link_ratio(court, i, i);
        const double in = link_ratio(court, before(court, i), i);
        if (out + in < least) {
            least = out + in;
            worst = i;
        }
    }
    const bool out = link_ratio(court, worst, worst) < LINK_SLOW;
    const bool in = link_ratio(court, before(court, worst), worst) < LINK_SLOW;
    const size_t link = out ? worst : before(court, worst);
    const size_t next = link + 1 < court->count ? link + 1 : 0;
    const double rate = 1e-6 * court->devices[link].link_rate;
    const double slower = 1 / link_ratio(court, link, worst);
    if (isfinite(least) && (out || in) && !computes(&court->devices[worst]))
        return; /* reported as idle */
    if (isfinite(least) && out && in)
        find(court, SH_CAUSE_network, (int)worst, share,
             "The link of %s carries %.1f MB/s, %.1fx less than the others; the network takes "
             "%.0f %% of a step",
             court->devices[worst].name, rate, slower, 100 * share);
    else if (isfinite(least) && (out || in))
        find(court, SH_CAUSE_network, (int)link, share,
             "The link from %s to %s carries %.1f MB/s, %.1fx less than the others; the network "
             "takes %.0f %% of a step",
             court->devices[link].name, court->devices[next].name, rate, slower, 100 * share);
    else if (share >= NETWORK_MUCH)
        find(court, SH_CAUSE_network, -1, share,
             "The network takes %.0f %% of a step on all devices%s: a larger batch, fewer bits "
             "(--wire) or fewer synchronisations (--strategy local:H) would help",
             100 * share, isfinite(least) ? ", and no link is slower than the others" : "");
}

/* ---- idle devices ---------------------------------------------------------------------------- */

static void judge_idle(hearing *court, int index)
{
    const double share = court->devices[index].network_seconds / court->devices[index].step_seconds;
    find(
        court, SH_CAUSE_idle, index, share > 0 ? share : 0,
        "%s computed nothing, but all exchanges of the others went through it: with --devices-used "
        "auto it would be on standby; more grains a step (--grain, --batch-size) would use it",
        court->devices[index].name);
}

static void judge_wait(hearing *court, int index)
{
    const sh_bottleneck_device *device = &court->devices[index];
    const size_t others = gather(court, GRAIN, index); /* the faster quarter */
    const double faster = others == 0 ? NAN : court->room[others / 4] / device->grain_seconds;
    if (value_of(device, WAIT) < WAIT_MUCH || !(faster >= SLOWER))
        return;
    find(court, SH_CAUSE_wait, index, 0,
         "%s waits for the others %.0f %% of its time: it computes a grain %.1fx faster than they "
         "do and has %.1f grains a step; a larger share, or smaller grains, would use it",
         device->name, 100 * value_of(device, WAIT), faster, device->grains);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void sum_up(hearing *court, const sh_bottleneck_device *devices)
{
    sh_bottleneck *bottleneck = court->bottleneck;
    const double wait = median(court, WAIT, -1);
    char *text = bottleneck->text;
    const size_t bytes = sizeof bottleneck->text;
    if (court->steps <= 0)
        snprintf(text, bytes, "Not available: the run has no times of steps.");
    else if (court->count == 1)
        snprintf(text, bytes, "One device: it computes %.0f %% of the time and waits for none.",
                 100 * court->devices[0].computing_seconds / court->devices[0].step_seconds);
    else if (bottleneck->finding_count > 0 && bottleneck->findings[0].cause == SH_CAUSE_idle &&
             bottleneck->findings[0].cost >= COST_NOTABLE)
        snprintf(text, bytes, "Slowed by exchanges through %s, which computes nothing.",
                 devices[bottleneck->findings[0].device].name);
    else if (bottleneck->finding_count > 0 && bottleneck->findings[0].cost >= COST_NOTABLE)
        snprintf(text, bytes, "Delayed by %s (%s).",
                 bottleneck->findings[0].device < 0 ? "a shared resource"
                                                    : devices[bottleneck->findings[0].device].name,
                 sh_cause_name(bottleneck->findings[0].cause));
    else if (wait >= WAIT_MUCH)
        snprintf(text, bytes,
                 "No single device delays the others, but they wait for each other in turn: %.0f "
                 "%% of a step.",
                 100 * wait);
    else
        snprintf(text, bytes,
                 "Balanced: devices wait for each other %.0f %% of a step, and for the network "
                 "%.0f %%.",
                 100 * wait, 100 * median(court, NETWORK, -1));
}

/* Devices that took part in few steps do not belong to the ring. */
static bool hear(hearing *court, const sh_bottleneck_device *devices, size_t count)
{
    court->room = calloc(count + 1, sizeof *court->room);
    court->devices = calloc(count + 1, sizeof *court->devices);
    court->places = calloc(count + 1, sizeof *court->places);
    if (court->room == NULL || court->devices == NULL || court->places == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        court->steps = fmax(court->steps, devices[i].steps);
    for (size_t i = 0; i < count; i++) {
        if (devices[i].steps < STEPS_LEAST * court->steps)
            continue;
        court->places[court->count] = (int)i;
        court->devices[court->count++] = devices[i];
    }
    return true;
}

void sh_bottleneck_find(sh_bottleneck *bottleneck, const sh_bottleneck_device *devices,
                        size_t count)
{
    hearing court = {.bottleneck = bottleneck};
    *bottleneck = (sh_bottleneck){0};
    if (hear(&court, devices, count)) {
        for (int i = 0; i < (int)court.count && court.count > 1 && court.steps > 0; i++) {
            if (!computes(&court.devices[i])) {
                judge_idle(&court, i);
                continue;
            }
            judge_speed(&court, i);
            judge_wait(&court, i);
        }
        if (court.count > 1)
            judge_network(&court);
        sum_up(&court, devices);
    } else {
        snprintf(bottleneck->text, sizeof bottleneck->text, "Not available: not enough memory.");
    }
    free(court.room);
    free(court.devices);
    free(court.places);
}
