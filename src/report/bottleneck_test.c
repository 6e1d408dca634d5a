/* SPDX-License-Identifier: Apache-2.0 */
#include "report/bottleneck.h"

#include <math.h>
#include <stdbool.h>

#include "base/test.h"

#pragma GCC diagnostic ignored "-Woverride-init" /* cases override defaults */

/* 10 ms per step, 8 of them for four grains. */
#define ALIKE                                                                                      \
    .steps = 1000, .grains = 4, .step_seconds = 10e-3, .computing_seconds = 8e-3,                  \
    .wait_seconds = 0.4e-3, .network_seconds = 0.5e-3, .grain_seconds = 2e-3, .grain_early = 2e-3, \
    .grain_late = 2e-3, .denied = 0, .denied_early = 0, .denied_late = 0, .held_back = NAN,        \
    .frequency_ratio = NAN, .celsius = NAN, .available_bytes = 1e9, .swap_bytes = 0,               \
    .link_rate = 10e6
/* Likewise, with a quota of a fifth of a core. */
#define QUOTA .denied = 0.8, .denied_early = 0.8, .denied_late = 0.8
/* It computes twice as long, so the others wait. */
#define SLOW                                                                                       \
    .step_seconds = 18e-3, .computing_seconds = 16e-3, .wait_seconds = 0, .grain_seconds = 4e-3,   \
    .grain_early = 4e-3, .grain_late = 4e-3
#define WAITS .step_seconds = 18e-3, .wait_seconds = 8.4e-3

typedef struct verdict_case {
    const char *what;
    sh_bottleneck_device devices[5];
    struct {
        sh_cause cause;
        int device;
        const char *part;
    } expected[3]; /* in any order; `part` NULL: end */
    const char *text;
} verdict_case;

/* clang-format off */
static const verdict_case trials[] = {
    {"alike", {{"a", ALIKE}, {"b", ALIKE}, {"c", ALIKE}}, {{0}}, "Balanced: devices wait for each other 4 %"},
    {"alike under a quota", {{"a", ALIKE, QUOTA}, {"b", ALIKE, QUOTA}}, {{0}}, "Balanced"},
    {"one device", {{"a", ALIKE}}, {{0}}, "One device: it computes 80 %"},
    {"no steps", {{"a", .steps = 0}, {"b", .steps = 0}}, {{0}}, "Not available"},
    {"slow", {{"a", ALIKE, WAITS}, {"b", ALIKE, SLOW}, {"c", ALIKE, WAITS}},
     {{SH_CAUSE_compute, 1, "b computes a grain 2.0x slower than the median of the others (4.0 grains a step): its "
                            "processor was not throttled; the others wait for it 44 % of a step"}},
     "Delayed by b (compute)."},
    {"slow and balanced", {{"a", ALIKE}, {"b", ALIKE, .grains = 2, .grain_seconds = 4e-3}, {"c", ALIKE}},
     {{SH_CAUSE_compute, 1, "2.0x slower than the median of the others (2.0 grains a step): its processor was not "
                            "throttled; its share follows"}},
     "Balanced"},
    {"less of a core than others with a quota",
     {{"a", ALIKE, QUOTA}, {"b", ALIKE, SLOW, .denied = 0.95, .denied_early = 0.95, .denied_late = 0.95}, {"c", ALIKE, QUOTA}},
     {{SH_CAUSE_compute, 1, "a quota denies it 95 % of its request, the others 80 %"}}, "Delayed by b (compute)"},
    {"the only one with a quota", {{"a", ALIKE, WAITS}, {"b", ALIKE, WAITS}, {"c", ALIKE, SLOW, QUOTA}},
     {{SH_CAUSE_throttled, 2, "a quota denied it 80 %"}}, "Delayed by c (throttled)"},
    {"a quota that fell on the way",
     {{"a", ALIKE, QUOTA}, {"b", ALIKE, QUOTA}, {"c", ALIKE, QUOTA, .grain_late = 4e-3, .denied_late = 0.9, .denied_early = 0.75}},
     {{SH_CAUSE_throttled, 2, "became 2.0x slower a grain during the job (4.0 grains a step): a quota denied "
                              "it 75 % of the requested processor time at first and 90 % at the end"}}, NULL},
    {"quotas that fell for all", {{"a", ALIKE, .denied_late = 0.5, .grain_late = 4e-3}, {"b", ALIKE, .denied_late = 0.5, .grain_late = 4e-3}},
     {{0}}, "Balanced"},
    {"firmware", {{"a", ALIKE, .held_back = 0}, {"b", ALIKE, SLOW, .held_back = 0.4}, {"c", ALIKE}},
     {{SH_CAUSE_throttled, 1, "firmware throttled its processor for 40 %"}}, "Delayed by b"},
    {"firmware that does no harm", {{"a", ALIKE}, {"b", ALIKE, .held_back = 0.4}}, {{0}}, "Balanced"},
    {"hot", {{"a", ALIKE, .frequency_ratio = 0.99}, {"b", ALIKE, SLOW, .frequency_ratio = 0.6, .celsius = 84}},
     {{SH_CAUSE_throttled, 1, "its clock ran at 60 % of its best, and it was hot"},
      {0}}, NULL},
    {"swap", {{"a", ALIKE}, {"b", ALIKE, SLOW, .swap_bytes = 200e6}, {"c", ALIKE}},
     {{SH_CAUSE_memory, 1, "200 MB went to swap"}}, "Delayed by b (memory)"},
    {"no memory left", {{"a", ALIKE}, {"b", ALIKE, SLOW, .available_bytes = 5e6}, {"c", ALIKE}},
     {{SH_CAUSE_memory, 1, "only 5 MB of memory were left"}}, "Delayed by b (memory)"},
    {"a slow link, both ways",
     {{"a", ALIKE, .network_seconds = 4e-3}, {"b", ALIKE, .network_seconds = 4e-3, .link_rate = 2e6},
      {"c", ALIKE, .network_seconds = 4e-3, .link_rate = 2.2e6}, {"d", ALIKE, .network_seconds = 4e-3}},
     {{SH_CAUSE_network, 2, "The link of c carries 2.2 MB/s, 4.5x less than the others; the network takes 40 % of a step"}},
     "Delayed by c (network)"},
    {"a slow link, round the corner",
     {{"a", ALIKE, .network_seconds = 4e-3, .link_rate = 2e6}, {"b", ALIKE, .network_seconds = 4e-3},
      {"c", ALIKE, .network_seconds = 4e-3, .link_rate = 2e6}},
     {{SH_CAUSE_network, 0, "The link of a carries"}}, "Delayed by a (network)"},
    {"a slow link, one way",
     {{"a", ALIKE, .network_seconds = 4e-3}, {"b", ALIKE, .network_seconds = 4e-3, .link_rate = 2e6},
      {"c", ALIKE, .network_seconds = 4e-3}, {"d", ALIKE, .network_seconds = 4e-3}},
     {{SH_CAUSE_network, 1, "The link from b to c carries 2.0 MB/s"}}, "Delayed by b (network)"},
    {"a slow link that costs nothing", {{"a", ALIKE}, {"b", ALIKE, .link_rate = 1e6}, {"c", ALIKE}}, {{0}}, "Balanced"},
    {"links alike", {{"a", ALIKE, .network_seconds = 4e-3}, {"b", ALIKE, .network_seconds = 4e-3}, {"c", ALIKE, .network_seconds = 4e-3}},
     {{SH_CAUSE_network, -1, "The network takes 40 % of a step on all devices, and no link is slower"}},
     "Delayed by a shared resource (network)"},
    {"links nearly alike", {{"a", ALIKE, .network_seconds = 4e-3}, {"b", ALIKE, .network_seconds = 4e-3, .link_rate = 5.5e6},
      {"c", ALIKE, .network_seconds = 4e-3}},
     {{SH_CAUSE_network, -1, "no link is slower"}}, "Delayed by a shared resource (network)"},
    {"links not known", {{"a", ALIKE, .network_seconds = 4e-3, .link_rate = NAN}, {"b", ALIKE, .network_seconds = 4e-3, .link_rate = NAN}},
     {{SH_CAUSE_network, -1, "The network takes 40 % of a step on all devices: a larger batch"}}, NULL},
    {"a share too small", {{"a", ALIKE}, {"b", ALIKE}, {"c", ALIKE, .grains = 1, .grain_seconds = 1e-3, .wait_seconds = 6e-3}},
     {{SH_CAUSE_wait, 2, "c waits for the others 60 % of its time: it computes a grain 2.0x faster"}}, "Balanced"},
    {"in turn", {{"a", ALIKE, .wait_seconds = 4e-3}, {"b", ALIKE, .wait_seconds = 4e-3}, {"c", ALIKE, .wait_seconds = 4e-3}},
     {{0}}, "they wait for each other in turn: 40 %"},
    {"three at once",
     {{"a", ALIKE, WAITS, .network_seconds = 4e-3}, {"b", ALIKE, SLOW, .network_seconds = 4e-3},
      {"c", ALIKE, WAITS, .network_seconds = 4e-3, .link_rate = 2e6}, {"d", ALIKE, WAITS, .network_seconds = 4e-3, .link_rate = 2e6},
      {"e", ALIKE, WAITS, .grain_seconds = 3e-3, .computing_seconds = 12e-3, .denied = 0.4, .network_seconds = 4e-3}},
     {{SH_CAUSE_compute, 1, "b computes a grain 2.0x"}, {SH_CAUSE_network, 3, "The link of d"}, {SH_CAUSE_throttled, 4, "denied it 40 %"}},
     "Delayed by b (compute)"},
    {"one that computes nothing",
     {{"a", ALIKE, .network_seconds = 4e-3}, {"b", ALIKE, .network_seconds = 4e-3},
      {"c", ALIKE, .grains = 0, .computing_seconds = 0, .grain_seconds = NAN, .grain_early = NAN, .grain_late = NAN,
       .wait_seconds = 8e-3, .network_seconds = 4e-3}},
     {{SH_CAUSE_idle, 2, "c computed nothing, but all exchanges of the others went through it"},
      {SH_CAUSE_network, -1, "no link is slower"}}, NULL},
    {"one that computes nothing, behind a slow link",
     {{"a", ALIKE, .network_seconds = 4e-3}, {"b", ALIKE, .network_seconds = 4e-3, .link_rate = 2e6},
      {"c", ALIKE, .grains = 0, .computing_seconds = 0, .grain_seconds = NAN, .grain_early = NAN, .grain_late = NAN,
       .network_seconds = 4e-3, .link_rate = 2e6}, {"d", ALIKE, .network_seconds = 4e-3}},
     {{SH_CAUSE_idle, 2, "--devices-used auto"}}, "Slowed by exchanges through c, which computes nothing."},
    {"a slow one, and one that was away between them",
     {{"a", ALIKE, .network_seconds = 4e-3}, {"b", ALIKE, .steps = 3, .link_rate = 1e5},
      {"c", ALIKE, .network_seconds = 4e-3, .link_rate = 2e6}, {"d", ALIKE, .network_seconds = 4e-3, .link_rate = 2e6},
      {"e", ALIKE, .network_seconds = 4e-3}},
     {{SH_CAUSE_network, 3, "The link of d"}}, "Delayed by d (network)"},
    {"who was hardly there", {{"a", ALIKE}, {"b", ALIKE, SLOW, .steps = 3}, {"c", ALIKE}}, {{0}}, "Balanced"},
};
/* clang-format on */

static size_t size_of(const verdict_case *trial)
{
    size_t count = 0;
    while (count < 5 && trial->devices[count].name != NULL)
        count++;
    return count;
}

static void expect(const verdict_case *trial, const sh_bottleneck *bottleneck)
{
    size_t expected = 0;
    for (; expected < 3 && trial->expected[expected].part != NULL; expected++) {
        bool found = false;
        for (size_t i = 0; i < bottleneck->finding_count; i++)
            found |= bottleneck->findings[i].cause == trial->expected[expected].cause &&
                     bottleneck->findings[i].device == trial->expected[expected].device &&
                     strstr(bottleneck->findings[i].text, trial->expected[expected].part) != NULL;
        if (!found)
            fail_msg("%s: no finding '%s' (the first: %s)", trial->what,
                     trial->expected[expected].part, bottleneck->findings[0].text);
    }
    if (bottleneck->finding_count != expected && trial->text != NULL)
        fail_msg("%s: %zu findings, the last: %s", trial->what, bottleneck->finding_count,
                 bottleneck->findings[bottleneck->finding_count - 1].text);
    if (trial->text != NULL && strstr(bottleneck->text, trial->text) == NULL)
        fail_msg("%s: '%s' lacks '%s'", trial->what, bottleneck->text, trial->text);
}

static void names_who_holds_the_job_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        sh_bottleneck bottleneck;
        sh_bottleneck_find(&bottleneck, trials[i].devices, size_of(&trials[i]));
        expect(&trials[i], &bottleneck);
    }
}

static void keeps_the_costliest(void **state)
{
    (void)state;
    sh_bottleneck_device devices[60];
    sh_bottleneck bottleneck;
    for (int i = 0; i < 60; i++)
        devices[i] = i < 40
                         ? (sh_bottleneck_device){"a", ALIKE, WAITS}
                         : (sh_bottleneck_device){"b", ALIKE, SLOW, .computing_seconds = 1e-3 * i};
    sh_bottleneck_find(&bottleneck, devices, 60);
    assert_int_equal(bottleneck.finding_count, SH_VERDICT_FINDINGS);
    for (size_t i = 0; i < bottleneck.finding_count; i++)
        assert_int_equal(bottleneck.findings[i].device, 59 - (int)i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_who_holds_the_job_up),
        cmocka_unit_test(keeps_the_costliest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
