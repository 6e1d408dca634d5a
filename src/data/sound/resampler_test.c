/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sound/resampler.h"

#include <math.h>

#include "base/test.h"

#define TURN 6.283185307179586

enum { MOST = 60000 };

static float input[MOST], output[MOST];

static void make_tone(double hertz, uint32_t rate, size_t count)
{
    for (size_t i = 0; i < count; i++)
        input[i] = (float)sin(TURN * hertz * (double)i / rate);
}

static size_t resample(uint32_t from, uint32_t to, size_t count)
{
    sh_resampler *resampler;
    const size_t outputs = (size_t)sh_resampler_outputs(from, to, count);
    assert_in_range(outputs, 1, MOST);
    assert_ok(sh_resampler_new(&resampler, from, to));
    sh_resampler_run(resampler, output, 0, outputs, input, 0, count);
    sh_resampler_free(resampler);
    return outputs;
}

static double error_of(double hertz, uint32_t rate, size_t count, double amplitude)
{
    double largest = 0;
    for (size_t j = count / 4; j < count * 3 / 4; j++) {
        const double wanted = amplitude * sin(TURN * hertz * (double)j / rate);
        const double error = fabs((double)output[j] - wanted);
        largest = error > largest ? error : largest;
    }
    return largest;
}

static const struct rates {
    uint32_t from, to;
    double passes, stops; /* highest Hz to pass, lowest Hz to stop; 0: nothing to stop */
} rates[] = {
    {44100, 8000, 3200, 4100},  {48000, 16000, 6500, 8100}, {16000, 8000, 1000, 4050},
    {22050, 16000, 6000, 9000}, {8000, 16000, 3200, 0},     {8000, 44100, 440, 0},
    {11025, 8000, 3000, 4500},  {44101, 8000, 3200, 4100}, /* too many weights for a table */
};

static void tones_are_kept_and_aliases_removed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const struct rates *r = &rates[i];
        const size_t count = r->from / 8;
        make_tone(r->passes, r->from, count);
        size_t outputs = resample(r->from, r->to, count);
        assert_int_equal(outputs, (r->to * (uint64_t)count + r->from - 1) / r->from);
        if (error_of(r->passes, r->to, outputs, 1) > 1e-3)
            fail_msg("%u to %u: a tone of %.0f Hz is off by %g", r->from, r->to, r->passes,
                     error_of(r->passes, r->to, outputs, 1));
        if (r->stops == 0)
            continue;
        make_tone(r->stops, r->from, count);
        outputs = resample(r->from, r->to, count);
        if (error_of(0, r->to, outputs, 0) > 1e-3)
            fail_msg("%u to %u: a tone of %.0f Hz is left with %g", r->from, r->to, r->stops,
                     error_of(0, r->to, outputs, 0));
    }
}

static void a_constant_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4000; i++)
        input[i] = 0.5f;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const size_t outputs = resample(rates[i].from, rates[i].to, 4000);
        for (size_t j = outputs / 3; j < outputs / 2; j++)
            assert_true(fabs((double)output[j] - 0.5) < 1e-7);
    }
}

static void the_same_rate_is_the_same_length(void **state)
{
    (void)state;
    assert_int_equal(sh_resampler_outputs(8000, 8000, 17), 17);
    assert_int_equal(sh_resampler_outputs(44100, 8000, 1), 1);
    assert_int_equal(sh_resampler_outputs(44100, 8000, 44100), 8000);
    assert_int_equal(sh_resampler_outputs(44100, 8000, 44101), 8001);
    assert_int_equal(sh_resampler_outputs(100, 768000, UINT64_C(1) << 40),
                     (UINT64_C(1) << 40) * 7680);
}

static void a_part_is_that_part_of_the_whole(void **state)
{
    (void)state;
    static float part[64];
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const struct rates *r = &rates[i];
        const size_t count = 5000;
        make_tone(700, r->from, count);
        const size_t outputs = resample(r->from, r->to, count);
        sh_resampler *resampler;
        assert_ok(sh_resampler_new(&resampler, r->from, r->to));
        const size_t firsts[] = {0, outputs / 2, outputs - 64};
        for (int k = 0; k < 3; k++) {
            int64_t from;
            size_t inputs;
            sh_resampler_needs(resampler, firsts[k], 64, &from, &inputs);
            assert_in_range(inputs, 1, 4000);
            float *cut = calloc(inputs, sizeof *cut); /* exact size, for the sanitizer */
            assert_non_null(cut);
            for (size_t n = 0; n < inputs; n++) {
                const int64_t place = from + (int64_t)n;
                cut[n] = place < 0 || place >= (int64_t)count ? 0 : input[place];
            }
            sh_resampler_run(resampler, part, firsts[k], 64, cut, from, inputs);
            assert_memory_equal(part, output + firsts[k], sizeof part);
            free(cut);
        }
        sh_resampler_free(resampler);
    }
    sh_resampler_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tones_are_kept_and_aliases_removed),
        cmocka_unit_test(a_constant_stays),
        cmocka_unit_test(the_same_rate_is_the_same_length),
        cmocka_unit_test(a_part_is_that_part_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
