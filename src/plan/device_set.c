/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/device_set.h"

#include <string.h>

#define AS_GOOD 1e-9 /* relative rounding error */

typedef struct search {
    const sh_lineup_job *job;
    const sh_device_set_kind *kinds;
    uint32_t count;
    const sh_device_set_goal *goal;
    sh_device_set best; /* no devices: none yet */
} search;

static sh_device_set measure(const search *s, const uint32_t *used)
{
    sh_lineup_device devices[SH_DEVICES_MAX];
    bool all[SH_DEVICES_MAX];
    sh_device_set made = {0};
    double watts = 0;
    bool known = true;
    for (uint32_t k = 0; k < s->count; k++) {
        made.used[k] = used[k];
        watts += used[k] * s->kinds[k].watts;
        known = known && (used[k] == 0 || s->kinds[k].watts > 0);
        for (uint32_t i = 0; i < used[k]; i++) {
            all[made.devices] = true;
            devices[made.devices++] = s->kinds[k].device;
        }
    }
    made.time = sh_lineup_time_of(s->job, devices, all, made.devices, NULL);
    made.joules = known ? watts * made.time.seconds : 0;
    return made;
}

static bool is_less(double a, double b)
{
    return a < b * (1 - AS_GOOD);
}

static bool is_better(const sh_device_set_goal *goal, const sh_device_set *a,
                      const sh_device_set *b)
{
    if (b->devices == 0)
        return true;
    if (goal->energy && (is_less(a->joules, b->joules) || is_less(b->joules, a->joules)))
        return a->joules < b->joules;
    if (!goal->energy && a->devices != b->devices)
        return a->devices < b->devices;
    return is_less(a->time.seconds, b->time.seconds);
}

static bool consider(search *s, const uint32_t *used)
{
    uint32_t devices = 0;
    for (uint32_t k = 0; k < s->count; k++)
        devices += used[k];
    if (devices == 0)
        return false;
    const sh_device_set made = measure(s, used);
    if ((s->goal->limit_s > 0 && made.time.seconds > s->goal->limit_s) ||
        !is_better(s->goal, &made, &s->best))
        return false;
    s->best = made;
    return true;
}

/* Counts like the digits of a number; false after the last set. */
static bool next_set(const search *s, uint32_t *used)
{
    for (uint32_t k = 0; k < s->count; k++) {
        if (used[k] < s->kinds[k].count) {
            used[k]++;
            return true;
        }
        used[k] = 0;
    }
    return false;
}

/* Tries sets with one device more, less or of another kind, while one is better. */
static void improve(search *s)
{
    for (bool better = true; better;) {
        const sh_device_set from = s->best;
        better = false;
        for (uint32_t k = 0; k < s->count; k++)
            for (uint32_t m = 0; m < s->count; m++) {
                uint32_t used[SH_INVENTORY_KINDS];
                memcpy(used, from.used, sizeof used);
                if (k == m ? used[k] > 0 : used[k] > 0 && used[m] < s->kinds[m].count) {
                    used[k]--;
                    used[m] += k == m ? 0 : 1;
                    better = consider(s, used) || better;
                }
                memcpy(used, from.used, sizeof used);
                if (k == m && used[k] < s->kinds[k].count) {
                    used[k]++;
                    better = consider(s, used) || better;
                }
            }
    }
}

static void search_nearby(search *s)
{
    uint32_t all[SH_INVENTORY_KINDS] = {0}, one[SH_INVENTORY_KINDS] = {0};
    for (uint32_t k = 0; k < s->count; k++) {
        uint32_t alone[SH_INVENTORY_KINDS] = {0};
        all[k] = alone[k] = s->kinds[k].count;
        one[k] = 1;
        consider(s, alone);
    }
    consider(s, one);
    consider(s, all);
    if (s->best.devices > 0)
        improve(s);
}

bool sh_device_set_choose(sh_device_set *chosen, const sh_lineup_job *job,
                          const sh_device_set_kind *kinds, uint32_t count,
                          const sh_device_set_goal *goal)
{
    search s = {.job = job, .kinds = kinds, .count = count, .goal = goal};
    uint64_t sets = 1;
    for (uint32_t k = 0; k < count && sets <= SH_DEVICE_SET_SETS; k++)
        sets *= kinds[k].count + 1;
    if (sets <= SH_DEVICE_SET_SETS) {
        uint32_t used[SH_INVENTORY_KINDS] = {0};
        while (next_set(&s, used))
            consider(&s, used);
    } else
        search_nearby(&s);
    if (s.best.devices == 0)
        return false;
    *chosen = s.best;
    return true;
}
