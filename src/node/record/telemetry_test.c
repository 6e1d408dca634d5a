/* SPDX-License-Identifier: Apache-2.0 */
#include "node/record/telemetry.h"

#include <math.h>
#include <stdlib.h>

#include "base/test.h"

static sh_telemetry_batch sent, got;

static sh_status pass_on(const sh_telemetry_batch *batch)
{
    uint8_t *bytes;
    size_t count;
    Shoal__Message *back;
    sh_telemetry_message *body = sh_telemetry_batch_write(batch);
    assert_non_null(body);
    const Shoal__Message message = SH_MESSAGE_INIT(FIGURES, figures, &body->body);
    assert_ok(sh_message_pack(&bytes, &count, &message));
    assert_ok(sh_message_unpack(&back, bytes, count));
    const sh_status status = sh_telemetry_batch_read(&got, back->figures);
    sh_message_free(back);
    free(bytes);
    free(body);
    return status;
}

static void fill(uint32_t samples, uint32_t steps)
{
    sent = (sh_telemetry_batch){
        .now_ns = 1000, .dropped = 3, .sample_count = samples, .step_count = steps};
    for (uint32_t i = 0; i < samples; i++) {
        sh_sample_clear(&sent.samples[i]);
        sent.samples[i].at_ns = 900 + i;
        for (uint32_t figure = 0; figure < SH_FIGURE_COUNT; figure++)
            if (figure % 3 == i % 3)
                sent.samples[i].figures[figure] = figure + 0.5 * i;
    }
    for (uint32_t i = 0; i < steps; i++) {
        sent.steps[i] = (sh_step_times){.step = i + 1,
                                        .ends_ns = 800 + i,
                                        .grains = i,
                                        .samples = 8 * i,
                                        .attempts = 1,
                                        .wall_ns = 12345678901ULL};
        for (uint32_t part = 0; part < SH_PART_COUNT; part++)
            sent.steps[i].ns[part] = part * i;
    }
}

static void all_comes_back(void **state)
{
    (void)state;
    static const uint32_t counts[][2] = {{0, 0}, {1, 1}, {10, 300}, {32, 512}};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        fill(counts[c][0], counts[c][1]);
        assert_ok(pass_on(&sent));
        assert_int_equal(got.dropped, 3);
        assert_int_equal(got.sample_count, sent.sample_count);
        assert_int_equal(got.step_count, sent.step_count);
        for (uint32_t i = 0; i < sent.sample_count; i++)
            for (int figure = 0; figure < SH_FIGURE_COUNT; figure++) {
                const double value = sent.samples[i].figures[figure];
                const double back = got.samples[i].figures[figure];
                assert_true(isnan(value) ? isnan(back) : value == back);
            }
        assert_memory_equal(got.steps, sent.steps, sent.step_count * sizeof *sent.steps);
    }
}

static void moments_move_with_the_clocks(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        fill(2, 2);
        sh_telemetry_batch_move(&sent, later ? 5000 : 990);
        assert_int_equal(sent.now_ns, later ? 5000 : 990);
        assert_int_equal(sent.samples[1].at_ns, later ? 4901 : 891);
        assert_int_equal(sent.steps[1].ends_ns, later ? 4801 : 791);
        assert_int_equal(sent.steps[1].wall_ns, 12345678901ULL);
    }
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    double value = 1;
    uint64_t parts[SH_PART_COUNT] = {0};
    Shoal__Sample sample = SHOAL__SAMPLE__INIT, *samples[33];
    Shoal__StepTimes step = SHOAL__STEP_TIMES__INIT, *steps[513];
    Shoal__Figures body = SHOAL__FIGURES__INIT;
    for (int i = 0; i < 33; i++)
        samples[i] = &sample;
    for (int i = 0; i < 513; i++)
        steps[i] = &step;
    body.samples = samples;
    body.steps = steps;
    body.n_samples = 33;
    assert_fails(sh_telemetry_batch_read(&got, &body), SH_FORMAT, "33 samples");
    body.n_samples = 1;
    sample.figures = &value;
    sample.n_figures = 1;
    static const uint64_t masks[] = {0, 3, 1ULL << SH_FIGURE_COUNT};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        sample.known = masks[i];
        assert_fails(sh_telemetry_batch_read(&got, &body), SH_FORMAT, "unknown figures");
    }
    sample.known = 2;
    assert_ok(sh_telemetry_batch_read(&got, &body));
    body.n_steps = 513;
    assert_fails(sh_telemetry_batch_read(&got, &body), SH_FORMAT, "513 steps");
    body.n_steps = 1;
    step.parts_ns = parts;
    step.n_parts_ns = SH_PART_COUNT - 1;
    assert_fails(sh_telemetry_batch_read(&got, &body), SH_FORMAT, "parts instead of");
}

static void no_figure_is_infinite(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t count;
    double value = INFINITY;
    Shoal__Sample sample = SHOAL__SAMPLE__INIT, *samples[] = {&sample};
    Shoal__Figures body = SHOAL__FIGURES__INIT;
    body.samples = samples;
    body.n_samples = sample.n_figures = 1;
    sample.figures = &value;
    const Shoal__Message message = SH_MESSAGE_INIT(FIGURES, figures, &body);
    assert_fails(sh_message_pack(&bytes, &count, &message), SH_INVALID, "not a finite number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_comes_back),
        cmocka_unit_test(moments_move_with_the_clocks),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(no_figure_is_infinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
