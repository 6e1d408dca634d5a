/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stretch is the time of a step with several devices beyond computing, divided by the time that
 * its links explain. It applies to other sets of devices too, and decays slowly, so that a set that
 * did not pay is tried again.
 *
 * A link that becomes slow shows in the current step, and in the expected time, before it shows in
 * the median of steps. Steps that began before are then ignored.
 */
#include "cluster/standby.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHER_LINKS 1.5 /* ratio of exchange times; earlier steps then do not count */
#define STRETCH_MIN 0.02
#define STRETCH_MAX 50.0
#define WEIGHT 0.2          /* of one measurement */
#define FEW_STEPS 4         /* suffice to show a large slowdown */
#define BY_FAR 2.5          /* times the best step */
#define BY_VERY_FAR 4.0     /* likewise, of the step under way */
#define LEAST_EXCHANGE 0.01 /* of a step of several devices */
#define SLOW 1.5            /* times the expected time */
#define OWN_LINK 1.01       /* ratio to the slowest that counts as equal */
#define PASSED_MAX_MS 1000  /* that one assessment counts for */

sh_status sh_standby_parse(uint32_t *most, const char *text)
{
    char *end;
    const bool digits = text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
    const unsigned long number = strtoul(text, &end, 10);
    if (strcmp(text, "auto") == 0)
        *most = SH_STANDBY_AUTO;
    else if (strcmp(text, "all") == 0)
        *most = SH_STANDBY_ALL;
    else if (digits && number >= 1 && number <= SH_DEVICES_MAX)
        *most = (uint32_t)number;
    else
        return sh_fail(SH_INVALID,
                       "--devices-used %.32s: must be auto (those that make it faster), all, or "
                       "the maximum number that compute, from 1 to %d",
                       text, SH_DEVICES_MAX);
    return SH_OK;
}

void sh_standby_print(uint32_t most, char text[SH_STANDBY_TEXT])
{
    if (most == SH_STANDBY_AUTO || most == SH_STANDBY_ALL)
        snprintf(text, SH_STANDBY_TEXT, "%s", most == SH_STANDBY_ALL ? "all" : "auto");
    else
        snprintf(text, SH_STANDBY_TEXT, "%u", most);
}

void sh_standby_init(sh_standby *standby, const sh_lineup_job *job, uint32_t most)
{
    *standby = (sh_standby){.most = most,
                            .job = *job,
                            .price_s = SH_STANDBY_PRICE_S,
                            .memory_ms = SH_STANDBY_MEMORY_MS};
    standby->job.base_s = 0;
    standby->job.stretch = SH_LINEUP_STRETCH;
}

static uint32_t count_used(const bool *used, uint32_t count)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += used[i];
    return n;
}

static uint32_t first_used(const bool *used)
{
    uint32_t i = 0;
    while (!used[i])
        i++;
    return i;
}

/* A single device computes as fast as when it was last alone; with others, the exchange may make it
 * seem slower. */
static sh_lineup_time expect(const sh_standby *standby, const sh_lineup_device *devices,
                             const bool *used, uint32_t count)
{
    sh_lineup_time time = sh_lineup_time_of(&standby->job, devices, used, count, NULL);
    if (count_used(used, count) > 1)
        return time;
    const double rate = devices[first_used(used)].rate;
    if (standby->alone_rate > rate && rate > 0) {
        time.compute_s *= rate / standby->alone_rate;
        time.seconds = standby->job.base_s + time.compute_s;
    }
    return time;
}

static double links_of(const sh_standby *standby, const sh_lineup_device *devices, const bool *used,
                       uint32_t count)
{
    sh_lineup_job plain = standby->job;
    plain.stretch = 1;
    return sh_lineup_time_of(&plain, devices, used, count, NULL).exchange_s;
}

/* Returns whether seen->step_s, the median of the last steps, has enough of them. */
static bool track(sh_standby *standby, double links_s, const sh_standby_seen *seen)
{
    const bool slower = links_s > standby->links_s * OTHER_LINKS;
    if (links_s < standby->links_s)
        standby->links_s = links_s;
    if (slower || seen->view != standby->view) {
        standby->view = seen->view;
        standby->links_s = links_s;
        standby->links_steps = seen->steps;
        standby->begun_ms = standby->stepped_ms = seen->now_ms;
    }
    if (seen->steps != standby->steps)
        standby->stepped_ms = seen->now_ms;
    standby->steps = seen->steps;
    return seen->step_s > 0 && seen->steps >= standby->links_steps + SH_STANDBY_STEPS;
}

/* The mean of a few steps, or the current one if it is much longer than the best; 0: unknown. */
static double guess(const sh_standby *standby, double best_s, uint64_t now_ms)
{
    const uint64_t steps = standby->steps - standby->links_steps;
    const double mean_s = (double)(now_ms - standby->begun_ms) * 1e-3 / (double)(steps + 1);
    const double under_way_s = (double)(now_ms - standby->stepped_ms) * 1e-3;
    if (steps >= FEW_STEPS && mean_s > BY_FAR * best_s)
        return mean_s;
    return under_way_s > BY_VERY_FAR * best_s ? under_way_s : 0;
}

static double toward(double known, double measured, bool first)
{
    return first ? measured : known + WEIGHT * (measured - known);
}

static void learn(sh_standby *standby, const sh_lineup_device *devices, const bool *used,
                  uint32_t count, double links_s, double step_s)
{
    const double compute_s = sh_lineup_time_of(&standby->job, devices, used, count, NULL).compute_s;
    sh_lineup_job *job = &standby->job;
    if (count_used(used, count) == 1) {
        const bool first = standby->alone_rate == 0;
        job->base_s = toward(job->base_s, fmax(0, step_s - compute_s), first);
        standby->alone_rate = toward(standby->alone_rate, devices[first_used(used)].rate, first);
        return;
    }
    standby->exchange_s = fmax(step_s - compute_s - job->base_s, LEAST_EXCHANGE * step_s);
    if (links_s > 0) {
        const double measured = standby->exchange_s / links_s;
        const double limited = fmin(fmax(measured, STRETCH_MIN), STRETCH_MAX);
        job->stretch = exp(toward(log(job->stretch), log(limited), !standby->stretched));
        standby->stretched = true;
    }
}

static void forget(sh_standby *standby, double passed_ms)
{
    const double kept = exp2(-passed_ms / standby->memory_ms);
    const double apart = log(standby->job.stretch / SH_LINEUP_STRETCH);
    standby->job.stretch = SH_LINEUP_STRETCH * exp(apart * kept);
}

static void choose(const sh_standby *standby, sh_lineup *best, const sh_lineup_device *devices,
                   uint32_t count)
{
    sh_lineup alone = {.count = 0};
    const uint32_t most = standby->most < count ? standby->most : count;
    sh_lineup_choose(best, &standby->job, devices, count, most);
    for (uint32_t i = 0; i < count; i++) {
        alone.used[i] = devices[i].fixed;
        alone.count += devices[i].fixed;
    }
    alone.time = expect(standby, devices, alone.used, count);
    if (alone.time.seconds <= best->time.seconds)
        *best = alone;
}

static bool same(const bool *a, const bool *b, uint32_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

static bool within(const bool *some, const bool *all, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (some[i] && !all[i])
            return false;
    return true;
}

static bool has_fresh(const sh_lineup *best, const bool *fresh, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (best->used[i] && fresh[i])
            return true;
    return false;
}

static void note_change(sh_standby *standby, uint64_t now_ms, bool fewer)
{
    const bool soon = standby->changed_ms > 0 && now_ms < standby->changed_ms + SH_STANDBY_CALM_MS;
    if (soon)
        standby->price_s = fmin(2 * standby->price_s, SH_STANDBY_PRICE_MAX_S);
    if (soon && fewer) /* what was tried did not pay */
        standby->memory_ms = fmin(2 * standby->memory_ms, SH_STANDBY_MEMORY_MAX_MS);
    standby->changed_ms = now_ms;
    standby->lost_s = 0;
}

static void note_calm(sh_standby *standby, uint64_t now_ms, bool several)
{
    if (standby->changed_ms == 0 || now_ms < standby->changed_ms + SH_STANDBY_CALM_MS)
        return;
    standby->price_s = fmax(standby->price_s / 2, SH_STANDBY_PRICE_S);
    standby->changed_ms = standby->price_s > SH_STANDBY_PRICE_S ? now_ms : 0;
    if (several)
        standby->memory_ms = SH_STANDBY_MEMORY_MS;
}

bool sh_standby_assess(sh_standby *standby, const sh_lineup_device *devices, const bool *fresh,
                       bool *used, uint32_t count, const sh_standby_seen *seen)
{
    sh_lineup best;
    const uint32_t n = count_used(used, count);
    const uint64_t before_ms = standby->assessed_ms == 0 ? seen->now_ms : standby->assessed_ms;
    const double passed_ms = fmin((double)(seen->now_ms - before_ms), PASSED_MAX_MS);
    const double links_s = links_of(standby, devices, used, count);
    standby->assessed_ms = seen->now_ms;
    note_calm(standby, seen->now_ms, n > 1);
    if (n == 1)
        forget(standby, passed_ms);
    const double expected_s = expect(standby, devices, used, count).seconds;
    const bool settled = track(standby, links_s, seen);
    standby->exchange_s = 0;
    if (settled)
        learn(standby, devices, used, count, links_s, seen->step_s);
    choose(standby, &best, devices, count);
    const double seen_s = settled ? seen->step_s : guess(standby, best.time.seconds, seen->now_ms);
    standby->slow = seen_s > SLOW * expected_s;
    standby->expected = expect(standby, devices, used, count);
    if (same(best.used, used, count)) {
        standby->lost_s = 0;
        return false;
    }
    const bool too_many = n > standby->most;
    const bool adds = within(used, best.used, count), drops = within(best.used, used, count);
    const bool joins = adds && has_fresh(&best, fresh, count);
    const double need = adds || drops ? SH_STANDBY_GAIN : SH_STANDBY_SWAP;
    const double now_s = seen_s > 0 ? seen_s : standby->expected.seconds;
    const double gain = (now_s - best.time.seconds) / now_s;
    if (seen_s > 0)
        standby->lost_s = fmax(0, standby->lost_s + (gain - need) * passed_ms * 1e-3);
    const bool pays = gain > need && (joins || standby->lost_s >= standby->price_s);
    if (!pays && !too_many)
        return false;
    note_change(standby, seen->now_ms, best.count < n);
    standby->promised_devices = best.count;
    standby->promised_s = best.time.seconds;
    memcpy(used, best.used, count * sizeof *used);
    return true;
}

/* "57.2 ms", "1.33 s". */
static const char *print_time(char text[24], double seconds)
{
    snprintf(text, 24, seconds < 1 ? "%.3g ms" : "%.3g s", seconds < 1 ? 1e3 * seconds : seconds);
    return text;
}

void sh_standby_explain(const sh_standby *standby, const sh_lineup_device *devices,
                        const bool *used, uint32_t count, uint32_t which, char *text,
                        size_t text_bytes)
{
    bool with[SH_DEVICES_MAX];
    sh_range shares[SH_DEVICES_MAX];
    const sh_lineup_device *device = &devices[which];
    const double now_s = expect(standby, devices, used, count).seconds;
    memcpy(with, used, count * sizeof *with);
    with[which] = true;
    const sh_lineup_time then = sh_lineup_time_of(&standby->job, devices, with, count, shares);
    const uint32_t n = count_used(with, count);
    uint32_t seat = 0;
    for (uint32_t i = 0; i < which; i++)
        seat += with[i];
    const double bytes = sh_lineup_bytes(&standby->job, n);
    const double speed = sh_lineup_speed(device), slowest = sh_lineup_speed(&devices[then.slowest]);
    char now_text[24], then_text[24], exchange_text[24];
    print_time(now_text, now_s);
    print_time(then_text, then.seconds);
    print_time(exchange_text, then.exchange_s);
    if (standby->most != SH_STANDBY_AUTO && n > standby->most)
        snprintf(text, text_bytes, "only %u may compute (--devices-used), and others are faster",
                 standby->most);
    else if (shares[seat].count == 0)
        snprintf(text, text_bytes,
                 n > standby->job.grains
                     ? "a step has %u grains, and the other devices have all of them; smaller ones "
                       "(--grain, other weights) would use it. A step takes %s"
                     : "it would compute one of the %u grains of a step, and need longer than the "
                       "others for the rest. A step takes %s",
                 standby->job.grains, now_text);
    else if (then.seconds <= now_s)
        snprintf(text, text_bytes, "the others are no slower without it: a step takes %s",
                 now_text);
    else if (then.slowest == which && device->delay_s > bytes / speed)
        snprintf(text, text_bytes,
                 "a step would take %s instead of %s: a message to it and back takes %s", then_text,
                 now_text, print_time(exchange_text, device->delay_s));
    else if (isfinite(speed) && speed <= OWN_LINK * slowest)
        snprintf(text, text_bytes,
                 "a step would take %s instead of %s: its link of %.3g Mbit/s would carry %.3g MB "
                 "a step",
                 then_text, now_text, speed * 8e-6, bytes * 1e-6);
    else
        snprintf(text, text_bytes,
                 "a step would take %s instead of %s, %s of that to exchange %.3g MB", then_text,
                 now_text, exchange_text, bytes * 1e-6);
}

bool sh_standby_compare(sh_standby *standby, uint32_t devices, const sh_standby_seen *seen,
                        char *text, size_t text_bytes)
{
    char came[24], expected[24];
    if (standby->promised_devices != devices || !(seen->step_s > 0) ||
        seen->steps < SH_STANDBY_COMPARED)
        return false;
    snprintf(text, text_bytes, "with %u device%s a step takes %s; expected %s", devices,
             devices == 1 ? "" : "s", print_time(came, seen->step_s),
             print_time(expected, standby->promised_s));
    standby->promised_devices = 0;
    return true;
}
