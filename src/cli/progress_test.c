/* SPDX-License-Identifier: Apache-2.0 */
#include "base/test.h"
#include "cli/progress.h"

#include <math.h>

#define CLEAR "\r\033[K"

static const char *text_of(sh_progress *progress, const sh_event *event)
{
    static char text[SH_PROGRESS_BYTES];
    return sh_progress_text(progress, event, text);
}

/* Step `step` of 200 in the first of two epochs, half a second each. */
static sh_event step_event(uint64_t step)
{
    return (sh_event){
        .kind = SH_EVENT_STEP,
        .epoch = 1,
        .epochs = 2,
        .step = step,
        .epoch_steps = 200,
        .total_step = step,
        .total_steps = 400,
        .seconds = 0.5 * (double)step,
        .samples_per_second = 2345.1,
        .loss = 0.31239,
        .accuracy = 0.912,
    };
}

static void each_kind_of_event_has_its_line(void **state)
{
    (void)state;
    static const struct {
        sh_event event;
        const char *text;
    } cases[] = {
        {{.kind = SH_EVENT_TOKEN, .text = "shoal://secret"}, ""},
        {{.kind = SH_EVENT_RUN, .text = "runs/1"}, "run         runs/1\n"},
        {{.kind = SH_EVENT_JOINED, .text = "pi\033[2J", .devices = 2},
         "joined      pi?[2J (2 devices)\n"},
        {{.kind = SH_EVENT_STARTED, .devices = 1, .epoch_steps = 1875},
         "training on 1 device, 1,875 steps an epoch\n"},
        {{.kind = SH_EVENT_STARTED, .devices = 3, .epoch_steps = 100, .total_step = 1234},
         "training on 3 devices, 100 steps an epoch, continuing after step 1,234\n"},
        {{.kind = SH_EVENT_EPOCH,
          .epoch = 1,
          .epochs = 2,
          .samples_per_second = 2345.1,
          .loss = 0.31,
          .accuracy = 0.912,
          .val_loss = 0.12,
          .val_accuracy = 0.96314},
         "epoch 1/2  loss 0.3100  accuracy 91.2 %  val loss 0.1200  val accuracy 96.31 %  "
         "2,345 samples/s\n"},
        {{.kind = SH_EVENT_EPOCH, .epoch = 1, .epochs = 2, .loss = NAN, .val_loss = NAN},
         "epoch 1/2  loss -  accuracy 0.0 %  val loss -  val accuracy 0.00 %  0.00 samples/s\n"},
        {{.kind = SH_EVENT_CHECKPOINT, .text = "runs/1/last"}, ""},
        {{.kind = SH_EVENT_NOTE, .text = "pi left\nfor good"}, "pi left?for good\n"},
        {{.kind = SH_EVENT_NOTE}, "\n"},
        {{.kind = SH_EVENT_EPOCH,
          .epoch = 2,
          .epochs = 2,
          .loss = 0.5,
          .numbers = true,
          .mae = 12.25,
          .val_loss = 0.75,
          .val_mae = 13.5,
          .samples_per_second = 10},
         "epoch 2/2  loss 0.5000  mae 12.2500  val loss 0.7500  val mae 13.5000  10.0 samples/s\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_progress plain = {.next_seconds = 5}, quiet = {.quiet = true, .terminal = true};
        assert_string_equal(text_of(&plain, &cases[i].event), cases[i].text);
        assert_string_equal(text_of(&quiet, &cases[i].event), "");
    }
}

static void without_a_terminal_a_line_every_five_seconds(void **state)
{
    (void)state;
    sh_progress progress = {.next_seconds = 5};
    const sh_event started = {.kind = SH_EVENT_STARTED, .devices = 3, .epoch_steps = 200};
    text_of(&progress, &started);
    size_t lines = 0;
    for (uint64_t step = 1; step <= 40; step++) {
        const sh_event event = step_event(step);
        const char *text = text_of(&progress, &event);
        lines += text[0] != '\0';
        if (step == 10)
            assert_string_equal(text, "epoch 1/2  step 10/200  loss 0.3124  accuracy 91.2 %  "
                                      "2,345 samples/s  ETA 3:15  3 devices\n");
    }
    assert_int_equal(lines, 4);
}

static void time_left_counts_the_steps_of_this_call(void **state)
{
    (void)state;
    sh_progress progress = {0};
    const sh_event started = {.kind = SH_EVENT_STARTED, .devices = 1, .total_step = 100};
    text_of(&progress, &started);
    sh_event event = step_event(300);
    event.seconds = 20; /* 200 steps in 20 s, so the last 100 take 10 s */
    assert_non_null(strstr(text_of(&progress, &event), "ETA 0:10"));
    event.total_steps = 0;
    event.seconds = 40;
    assert_null(strstr(text_of(&progress, &event), "ETA"));
}

static void a_terminal_has_one_line_that_fits(void **state)
{
    (void)state;
    static const struct {
        unsigned width;
        const char *text;
    } cases[] = {
        {120, CLEAR "epoch 1/2 [=======>---------------------]  50/200  loss 0.3124  acc 91.2 %  "
                    "2,345 samples/s  ETA 2:55  3 devices"},
        {80, CLEAR "epoch 1/2 [=>-----]  50/200  loss 0.3124  acc 91.2 %  2,345 samples/s  "
                   "ETA 2:55"},
        {60, CLEAR "epoch 1/2  50/200  loss 0.3124  acc 91.2 %  2,345 samples/s"},
        {30, CLEAR "epoch 1/2 [==>------]  50/200"},
        {24, CLEAR "epoch 1/2  50/200"},
        {12, CLEAR "epoch 1/2"},
        {5, ""},
        {0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_progress progress = {.terminal = true, .width = cases[i].width, .devices = 3};
        const sh_event event = step_event(50);
        const char *text = text_of(&progress, &event);
        assert_string_equal(text, cases[i].text);
        assert_true(text[0] == '\0' || strlen(text) - strlen(CLEAR) < cases[i].width);
    }
}

static void colour_does_not_count_as_width(void **state)
{
    (void)state;
    sh_progress progress = {.terminal = true, .colour = true, .width = 30};
    const sh_event event = step_event(200);
    assert_string_equal(text_of(&progress, &event),
                        CLEAR "epoch 1/2 \033[36m[========]\033[0m  200/200");
}

static void a_terminal_is_drawn_ten_times_a_second(void **state)
{
    (void)state;
    sh_progress progress = {.terminal = true, .width = 80};
    size_t drawn = 0;
    for (int i = 0; i < 2000; i++) {
        sh_event event = step_event(1);
        event.seconds = i / 1000.0;
        drawn += text_of(&progress, &event)[0] != '\0';
    }
    assert_in_range(drawn, 19, 20);
}

static void lines_take_the_place_of_what_is_drawn(void **state)
{
    (void)state;
    sh_progress progress = {.terminal = true, .width = 20};
    const sh_event step = step_event(1), note = {.kind = SH_EVENT_NOTE, .text = "pi left"};
    const sh_event checkpoint = {.kind = SH_EVENT_CHECKPOINT, .text = "x"};
    assert_string_equal(text_of(&progress, &note), "pi left\n");
    assert_string_equal(text_of(&progress, &step), CLEAR "epoch 1/2  1/200");
    assert_string_equal(text_of(&progress, &checkpoint), "");
    assert_string_equal(text_of(&progress, &note), CLEAR "pi left\n");
    assert_string_equal(text_of(&progress, &note), "pi left\n");
    assert_string_equal(text_of(&progress, &step), CLEAR "epoch 1/2  1/200");
}

static void packing_is_drawn_until_it_ends(void **state)
{
    (void)state;
    sh_progress drawn = {.terminal = true, .width = 60}, plain = {0};
    const sh_event half = {.kind = SH_EVENT_PACKING, .step = 225, .epoch_steps = 450};
    const sh_event all = {.kind = SH_EVENT_PACKING, .step = 450, .epoch_steps = 450};
    assert_string_equal(text_of(&drawn, &half),
                        CLEAR "reading     225 of 450 samples [=============>------------]");
    assert_string_equal(text_of(&drawn, &all), CLEAR "reading     450 of 450 samples\n");
    assert_string_equal(text_of(&drawn, &(sh_event){.kind = SH_EVENT_NOTE, .text = "x"}), "x\n");
    assert_string_equal(text_of(&plain, &half), "");
    assert_string_equal(text_of(&plain, &all), "reading     450 of 450 samples\n");
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    char page[5000];
    memset(page, 'x', sizeof page - 1);
    page[sizeof page - 1] = '\0';
    const sh_event event = {.kind = SH_EVENT_NOTE, .text = page};
    sh_progress progress = {0};
    const char *text = text_of(&progress, &event);
    assert_int_equal(strlen(text), SH_RUN_BYTES);
    assert_int_equal(text[SH_RUN_BYTES - 1], '\n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_event_has_its_line),
        cmocka_unit_test(without_a_terminal_a_line_every_five_seconds),
        cmocka_unit_test(time_left_counts_the_steps_of_this_call),
        cmocka_unit_test(a_terminal_has_one_line_that_fits),
        cmocka_unit_test(colour_does_not_count_as_width),
        cmocka_unit_test(a_terminal_is_drawn_ten_times_a_second),
        cmocka_unit_test(lines_take_the_place_of_what_is_drawn),
        cmocka_unit_test(packing_is_drawn_until_it_ends),
        cmocka_unit_test(long_texts_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
