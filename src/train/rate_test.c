/* SPDX-License-Identifier: Apache-2.0 */
#include "train/rate.h"

#include <math.h>
#include <stdio.h>

#include "base/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { EPOCHS = 6, EPOCH_STEPS = 2, STEPS = EPOCHS * EPOCH_STEPS };

static const sh_schedule twelve = {.epoch_steps = EPOCH_STEPS, .total_steps = STEPS};

static sh_rate parsed(const char *schedule, double warmup)
{
    sh_rate rate;
    assert_ok(sh_rate_parse(&rate, schedule, warmup));
    return rate;
}

/* torch.optim.lr_scheduler (1.13), lr = 0.5, six epochs of two steps. */
static void rates_are_pytorchs(void **state)
{
    (void)state;
    static const struct {
        const char *schedule;
        double rates[STEPS];
    } known[] = {
        {"constant", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}},
        {"step:2", {0.5, 0.5, 0.5, 0.5, 0.05, 0.05, 0.05, 0.05, 0.005, 0.005, 0.005, 0.005}},
        {"multistep:1/3/4,0.5",
         {0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.125, 0.125, 0.0625, 0.0625, 0.0625, 0.0625}},
        {"exponential:0.9",
         {0.5, 0.5, 0.45, 0.45, 0.405, 0.405, 0.3645, 0.3645, 0.32805, 0.32805, 0.295245,
          0.295245}},
        {"exponential:0.9,4", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.45, 0.45, 0.405, 0.405}},
        {"cosine:0.125",
         {0.5, 0.4925462745007337, 0.47069305707784603, 0.4359296083845573, 0.390625,
          0.3378666661161765, 0.28125, 0.22463333388382364, 0.171875, 0.12657039161544276,
          0.09180694292215404, 0.06995372549926633}},
        {"one-cycle",
         {0.02, 0.17489482710979154, 0.43964257956106434, 0.49720771772545586, 0.46650648492070584,
          0.4058728269748815, 0.32368949884755166, 0.23131855133348753, 0.14153049910434962,
          0.0667387650944153, 0.01728349371269761, 2e-06}},
        {"one-cycle:.45,10,1e2",
         {0.05, 0.10495634577029184, 0.24297916138851078, 0.3966441839275094, 0.4908859190632619,
          0.48988337016022077, 0.4310025760167413, 0.3319352238385261, 0.21470686914124706,
          0.10538078683459329, 0.02826334669843289, 0.0005}},
        {"one-cycle:1,10",
         {0.05, 0.059114080936738034, 0.08571795511298425, 0.12765633486231082, 0.18153162207457552,
          0.24297916138851078, 0.3070208386114891, 0.3684683779254244, 0.4223436651376891,
          0.4642820448870158, 0.4908859190632619, 0.5}},
        {"one-cycle:0",
         {0.49148149064644076, 0.4665064849207059, 0.42677698818985565, 0.3750005,
          0.3147055024565851, 0.250001, 0.1852964975434149, 0.125001500, 0.07322501181014432,
          0.03349551507929411, 0.008520509353559238, 2e-06}},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        const sh_rate rate = parsed(known[i].schedule, 0);
        for (uint64_t s = 0; s < STEPS; s++) {
            const double got = sh_rate_at(&rate, 0.5, &twelve, s), want = known[i].rates[s];
            if (!(fabs(got - want) <= 1e-14 + 1e-14 * want))
                fail_msg("%s, step %d: %.17g, PyTorch has %.17g", known[i].schedule, (int)s, got,
                         want);
        }
    }
}

static void texts_are_filled_in(void **state)
{
    (void)state;
    static const char *const same[][2] = {
        {"step:2", "step:2,0.1"},
        {"step:2", "step:2.0,1e-1"},
        {"step:2,1", "constant"},
        {"multistep:1/3", "multistep:1/3,0.10"},
        {"multistep:2/4", "step:2"},
        {"exponential:0.9", "exponential:0.9,1"},
        {"exponential:9e-1", "exponential:0.00009e4"},
        {"cosine", "cosine:0"},
        {"cosine:1", "constant"},
        {"one-cycle", "one-cycle:0.3,25,1e4"},
        {"one-cycle:0.2,25", "one-cycle:.2,25.,10000"},
    };
    for (size_t i = 0; i < COUNT(same); i++) {
        const sh_rate a = parsed(same[i][0], 0), b = parsed(same[i][1], 0);
        for (uint64_t s = 0; s < 8; s++)
            assert_true(sh_rate_at(&a, 0.5, &twelve, s) == sh_rate_at(&b, 0.5, &twelve, s));
    }
}

/* Equal to the compiler's conversion, in every bit. */
static void numbers_are_rounded_correctly(void **state)
{
    (void)state;
#define READ(text)                                                                                 \
    do {                                                                                           \
        const sh_rate rate = parsed("step:1," #text, 0);                                           \
        assert_true(sh_rate_at(&rate, 1, &twelve, EPOCH_STEPS) == text);                           \
    } while (0)
    READ(0.1);
    READ(.1);
    READ(0.97);
    READ(0.123456789012345);
    READ(9.87654321098765e-7);
    READ(3e-22);
    READ(1E-5);
    READ(0000000.5000000);
    READ(0.0000000000001);
#undef READ
}

static void warm_up_is_linear(void **state)
{
    (void)state;
    static const struct {
        double epochs, factors[STEPS];
    } known[] = {
        {0, {1, 1, 1, 1}},        {0.5, {1, 1, 1, 1}},          {1, {0.5, 1, 1, 1}},
        {1.25, {0.4, 0.8, 1, 1}}, {2, {0.25, 0.5, 0.75, 1, 1}},
    };
    for (size_t i = 0; i < COUNT(known); i++)
        for (uint64_t s = 0; s < 4; s++) {
            const sh_rate warm = parsed("cosine", known[i].epochs), cold = parsed("cosine", 0);
            const double got = sh_rate_at(&warm, 3, &twelve, s);
            const double want = sh_rate_at(&cold, 3, &twelve, s) * known[i].factors[s];
            assert_true(fabs(got - want) <= 1e-15 * want);
        }
}

static void a_rate_is_between_nothing_and_the_option(void **state)
{
    (void)state;
    static const char *const all[] = {"constant",          "step:1,0.5", "multistep:1/2",
                                      "exponential:1e-22", "cosine",     "one-cycle:0",
                                      "one-cycle",         "one-cycle:1"};
    for (size_t i = 0; i < COUNT(all); i++)
        for (uint64_t total = 1; total < 40; total++) {
            const sh_schedule schedule = {.epoch_steps = 3, .total_steps = total};
            const sh_rate rate = parsed(all[i], 1.5);
            for (uint64_t s = 0; s < total; s++) {
                const double got = sh_rate_at(&rate, 0.5, &schedule, s);
                assert_true(got >= 0 && got <= 0.5);
            }
        }
}

static void some_follow_the_end(void **state)
{
    (void)state;
    static const struct {
        const char *schedule;
        bool follows;
    } known[] = {{"constant", false},        {"step:1", false}, {"multistep:1", false},
                 {"exponential:0.9", false}, {"cosine", true},  {"one-cycle", true}};
    const sh_schedule longer = {.epoch_steps = EPOCH_STEPS, .total_steps = 2 * STEPS};
    for (size_t i = 0; i < COUNT(known); i++) {
        const sh_rate rate = parsed(known[i].schedule, 1);
        assert_int_equal(sh_rate_follows_end(&rate), known[i].follows);
        const bool differs = sh_rate_at(&rate, 1, &twelve, 5) != sh_rate_at(&rate, 1, &longer, 5);
        assert_int_equal(differs, known[i].follows);
    }
}

static void a_range_test_rises_evenly(void **state)
{
    (void)state;
    sh_rate rate, other;
    const sh_schedule schedule = {.epoch_steps = 7, .total_steps = 100};
    assert_ok(sh_rate_parse(&rate, "range-test:1e8", 0));
    assert_ok(sh_rate_parse(&other, "cosine", 0));
    assert_true(sh_rate_is_test(&rate));
    assert_false(sh_rate_is_test(&other));
    for (uint64_t step = 0; step < 100; step++) {
        const double wanted = 10 * pow(1e8, (double)step / 99 - 1);
        const double found = sh_rate_at(&rate, 10, &schedule, step);
        assert_true(fabs(found / wanted - 1) < 1e-12);
    }
    assert_true(sh_rate_at(&rate, 10, &schedule, 99) == 10);
    const sh_schedule one = {.epoch_steps = 7, .total_steps = 1};
    assert_true(sh_rate_at(&rate, 10, &one, 0) == 10);
    assert_fails(sh_rate_parse(&rate, "range-test:0.5", 0), SH_INVALID,
                 "--schedule range-test:0.5: SPAN must be 1 or more; write range-test:SPAN");
}

static void bad_texts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *schedule;
        sh_status code;
        const char *message;
    } bad[] = {
        {"", SH_NOT_FOUND,
         "--schedule : no such schedule; known are: constant, step:EPOCHS[,GAMMA], "
         "multistep:E1/E2/...[,GAMMA], exponential:GAMMA[,FROM_EPOCH], cosine[:FLOOR], "
         "one-cycle[:PEAK[,DIV[,FINAL_DIV]]]"},
        {"cos", SH_NOT_FOUND, "--schedule cos: no such schedule"},
        {"cosine ", SH_NOT_FOUND, "no such schedule"},
        {"constant:1", SH_INVALID, "--schedule constant:1: write constant"},
        {"step", SH_INVALID,
         "--schedule step: EPOCHS must be a whole number of at least 1; write "
         "step:EPOCHS[,GAMMA], such as step:30,0.1"},
        {"step:", SH_INVALID, "--schedule step:: write step:EPOCHS[,GAMMA]"},
        {"step:0", SH_INVALID, "EPOCHS must be a whole number of at least 1"},
        {"step:-1", SH_INVALID, "EPOCHS must be"},
        {"step:1.5", SH_INVALID, "EPOCHS must be a whole number"},
        {"step:1e10", SH_INVALID, "EPOCHS must be"},
        {"step:30,", SH_INVALID, "GAMMA must be above 0 and at most 1"},
        {"step:30,0", SH_INVALID, "GAMMA must be above 0"},
        {"step:30,1.01", SH_INVALID, "GAMMA must be above 0 and at most 1"},
        {"step:30,0.1,2", SH_INVALID, "'2' is superfluous; write step:EPOCHS[,GAMMA]"},
        {"step:30 ", SH_INVALID, "EPOCHS must be"},
        {"step: 30", SH_INVALID, "EPOCHS must be"},
        {"step:30,nan", SH_INVALID, "GAMMA must be"},
        {"step:30,0x1p-1", SH_INVALID, "GAMMA must be"},
        {"step:30,0.1234567890123456", SH_INVALID, "GAMMA must be"},
        {"step:30,1e-23", SH_INVALID, "GAMMA must be"},
        {"step:30,1e-99999999999999999999", SH_INVALID, "GAMMA must be"},
        {"step:30,1e", SH_INVALID, "GAMMA must be"},
        {"step:30,.", SH_INVALID, "GAMMA must be"},
        {"step:30,0.1.1", SH_INVALID, "GAMMA must be"},
        {"multistep", SH_INVALID,
         "E1/E2/... must be whole numbers of at least 1, in increasing order"},
        {"multistep:60/", SH_INVALID, "E1/E2/... must be"},
        {"multistep:60/60", SH_INVALID, "E1/E2/... must be"},
        {"multistep:60/30", SH_INVALID, "in increasing order; write multistep:E1/E2/..."},
        {"multistep:0/30", SH_INVALID, "E1/E2/... must be"},
        {"multistep:1/2,2", SH_INVALID, "GAMMA must be"},
        {"multistep:1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", SH_LIMIT,
         "at most 16 epochs are allowed"},
        {"exponential", SH_INVALID,
         "GAMMA must be above 0 and at most 1; write "
         "exponential:GAMMA[,FROM_EPOCH], such as exponential:0.95,10"},
        {"exponential:2", SH_INVALID, "GAMMA must be"},
        {"exponential:0.9,0", SH_INVALID, "FROM_EPOCH must be a whole number of at least 1"},
        {"cosine:1.5", SH_INVALID, "FLOOR must be at least 0 and at most 1"},
        {"cosine:0.1,0.2", SH_INVALID, "'0.2' is superfluous; write cosine[:FLOOR]"},
        {"one-cycle:1.1", SH_INVALID, "PEAK must be a fraction, 0 to 1"},
        {"one-cycle:0.3,0.5", SH_INVALID, "DIV must be 1 or more"},
        {"one-cycle:0.3,25,0", SH_INVALID, "FINAL_DIV must be 1 or more"},
        {"one-cycle:0.3,25,1e4,1", SH_INVALID, "'1' is superfluous"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        sh_rate rate = {.warmup = 77};
        assert_fails(sh_rate_parse(&rate, bad[i].schedule, 0), bad[i].code, bad[i].message);
        assert_true(rate.warmup == 77 && rate.form == NULL);
    }
    sh_rate rate;
    assert_fails(sh_rate_parse(&rate, "cosine", -1), SH_INVALID,
                 "--warmup -1: must be a number of epochs, at least 0");
    assert_fails(sh_rate_parse(&rate, "cosine", NAN), SH_INVALID, "--warmup nan: must be");
    assert_fails(sh_rate_parse(&rate, "cosine", INFINITY), SH_INVALID, "--warmup inf: must be");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_pytorchs),
        cmocka_unit_test(texts_are_filled_in),
        cmocka_unit_test(numbers_are_rounded_correctly),
        cmocka_unit_test(warm_up_is_linear),
        cmocka_unit_test(a_rate_is_between_nothing_and_the_option),
        cmocka_unit_test(some_follow_the_end),
        cmocka_unit_test(a_range_test_rises_evenly),
        cmocka_unit_test(bad_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
