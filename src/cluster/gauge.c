/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A measurement has three parts: small probes for the delay, growing probes to the device, growing
 * answers. A device may answer late because its processor is busy or limited by a quota, so a slow
 * probe is repeated, and the shortest time of a size counts.
 */
#include "cluster/gauge.h"

#include <math.h>

#define MS 1000000u
#define LONG_S 0.010     /* of a probe, beyond the delay: suffices for a speed */
#define VERY_LONG_S 0.1  /* likewise, without a repetition */
#define FIRST_BYTES 2048 /* 16 ms at 1 Mbit/s */
#define GROWTH 4
#define THOROUGH 2         /* measurements before checks for changes suffice */
#define AGAIN_MS 200       /* between two of them */
#define OTHER 2.0          /* ratio to the known speed that counts as changed */
#define OTHER_DELAY_S 0.02 /* and added, for the delay */
#define LEAST_PART 0.2     /* least part of a probe's time that its bytes take */

#define TRIES 4     /* probes of a slow size, or of the largest */
#define LOOKS 2     /* small probes of a check */
#define LOOK_S 0.05 /* limit on the expected time of its largest probe */

enum { NONE, DELAY, IN, OUT };

/* Whether this is a check for changes. */
static bool is_look(const sh_gauging *now)
{
    return now->most < SH_GAUGE_BYTES_MAX;
}

static void begin(sh_gauge *gauge, bool thorough)
{
    gauge->now =
        (sh_gauging){.part = DELAY, .most = thorough ? SH_GAUGE_BYTES_MAX : SH_GAUGE_LOOK_BYTES};
}

bool sh_gauge_next(sh_gauge *gauge, uint64_t now_ns, sh_probe *probe)
{
    if (gauge->waits)
        return false;
    if (gauge->now.part == NONE) {
        if (now_ns < gauge->due_ns)
            return false;
        begin(gauge, gauge->thorough < THOROUGH);
    }
    const sh_gauging *now = &gauge->now;
    *probe = (sh_probe){.number = ++gauge->last,
                        .bytes = now->part == IN ? now->bytes : 0,
                        .wanted = now->part == OUT ? now->bytes : 0};
    gauge->waits = true;
    gauge->sent_ns = now_ns;
    return true;
}

/* A short time shows no slow link: a busy processor may explain it. */
static bool is_other(double found, double known)
{
    const double found_s = SH_GAUGE_LOOK_BYTES / found, known_s = SH_GAUGE_LOOK_BYTES / known;
    return found_s < known_s / OTHER || (found_s > known_s * OTHER && found_s >= LONG_S);
}

static sh_link_speed measured(const sh_gauge *gauge)
{
    const sh_link_speed *a = &gauge->known[0], *b = &gauge->known[1];
    if (b->in == 0)
        return *a;
    return (sh_link_speed){.out = fmax(a->out, b->out),
                           .in = fmax(a->in, b->in),
                           .delay_s = fmin(a->delay_s, b->delay_s)};
}

static void end(sh_gauge *gauge, uint64_t now_ns)
{
    const sh_link_speed known = measured(gauge);
    gauge->now.part = NONE;
    if (!is_look(&gauge->now)) {
        gauge->known[1] = gauge->known[0];
        gauge->known[0] = gauge->now.found;
        gauge->thorough++;
        gauge->measured++;
    } else if (is_other(gauge->now.found.in, known.in) ||
               is_other(gauge->now.found.out, known.out) ||
               gauge->now.found.delay_s > known.delay_s * OTHER + OTHER_DELAY_S) {
        gauge->thorough = 0;
    }
    const uint32_t wait_ms = gauge->thorough < THOROUGH ? AGAIN_MS : SH_GAUGE_LOOK_MS;
    gauge->due_ns = now_ns + (uint64_t)wait_ms * MS;
}

/* A check starts with its largest size, unless that is known to take long. */
static uint32_t first_bytes(const sh_gauging *now, double known)
{
    return is_look(now) && SH_GAUGE_LOOK_BYTES < LOOK_S * known ? SH_GAUGE_LOOK_BYTES : FIRST_BYTES;
}

static void go_to(sh_gauging *now, uint32_t part, uint32_t bytes)
{
    now->part = part;
    now->bytes = bytes < now->most ? bytes : now->most;
    now->tries = 0;
    now->shortest_s = INFINITY;
}

/* True: the speed is known. */
static bool tell_speed(sh_gauging *now, double took_s, double *speed)
{
    const double bytes_s = fmax(took_s - now->found.delay_s, LEAST_PART * took_s);
    now->shortest_s = fmin(now->shortest_s, fmax(bytes_s, 1e-6));
    now->tries++;
    if (now->shortest_s < LONG_S && now->bytes < now->most) {
        go_to(now, now->part, now->bytes * GROWTH);
        return false;
    }
    *speed = now->bytes / now->shortest_s;
    return now->tries >= TRIES || now->shortest_s >= VERY_LONG_S ||
           (is_look(now) && now->shortest_s < LONG_S);
}

void sh_gauge_answer(sh_gauge *gauge, uint32_t number, uint64_t now_ns)
{
    sh_gauging *now = &gauge->now;
    if (!gauge->waits || number != gauge->last)
        return;
    gauge->waits = false;
    const double took_s = (double)(now_ns - gauge->sent_ns) * 1e-9;
    switch (now->part) {
    case DELAY:
        now->found.delay_s = now->tries == 0 ? took_s : fmin(now->found.delay_s, took_s);
        if (++now->tries >= (is_look(now) ? LOOKS : TRIES))
            go_to(now, IN, first_bytes(now, measured(gauge).in));
        break;
    case IN:
        if (tell_speed(now, took_s, &now->found.in))
            go_to(now, OUT, first_bytes(now, measured(gauge).out));
        break;
    case OUT:
        if (tell_speed(now, took_s, &now->found.out))
            end(gauge, now_ns);
        break;
    default:
        break;
    }
}

void sh_gauge_stop(sh_gauge *gauge)
{
    gauge->waits = false;
    gauge->now.part = NONE;
}

static bool is_overdue(const sh_gauge *gauge, uint64_t now_ns)
{
    return gauge->waits && gauge->known[0].in > 0 &&
           now_ns > gauge->sent_ns + (uint64_t)SH_GAUGE_OVERDUE_MS * MS;
}

sh_link_speed sh_gauge_speed(const sh_gauge *gauge, uint64_t now_ns)
{
    sh_link_speed speed = measured(gauge);
    if (is_overdue(gauge, now_ns))
        speed.delay_s = fmax(speed.delay_s, (double)(now_ns - gauge->sent_ns) * 1e-9);
    return speed;
}

bool sh_gauge_news(sh_gauge *gauge, uint64_t now_ns, sh_link_speed *speed)
{
    const bool overdue = is_overdue(gauge, now_ns);
    const bool news = overdue || gauge->told_overdue || gauge->measured != gauge->told;
    gauge->told_overdue = overdue;
    gauge->told = gauge->measured;
    *speed = sh_gauge_speed(gauge, now_ns);
    return news;
}
