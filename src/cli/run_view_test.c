/* SPDX-License-Identifier: Apache-2.0 */
#include "base/test.h"
#include "cli/run_view.h"

#include <math.h>
#include <stdlib.h>

/* Step 120 with a fully known, a throttled and a lost device. */
static sh_run_snapshot sample_of_three(sh_run_device devices[3])
{
    const sh_run_device one = {
        .name = "pi1",
        .share = 0.75,
        .samples_per_second = 1759.2,
        .compute = 0.6,
        .lanes = 0.1,
        .wait = 0.05,
        .network = 0.2,
        .optimizer = 0.05,
        .cpu = 3.5,
        .memory_bytes = 45.3e6,
        .received_bytes_per_second = 1.234e6,
        .sent_bytes_per_second = 1e4,
        .temperature_celsius = 61.4,
        .throttled = 0,
        .held_back = NAN,
    };
    devices[0] = devices[1] = one;
    devices[1] = (sh_run_device){
        .device = 1,
        .name = "pi\033[2J",
        .share = 0.25,
        .samples_per_second = NAN,
        .compute = NAN,
        .lanes = NAN,
        .wait = NAN,
        .network = NAN,
        .optimizer = NAN,
        .cpu = 0,
        .memory_bytes = NAN,
        .received_bytes_per_second = NAN,
        .sent_bytes_per_second = 0,
        .temperature_celsius = NAN,
        .throttled = NAN,
        .held_back = 0.63,
    };
    devices[1].wait = 0.5;
    devices[2] = devices[1];
    devices[2].wait = NAN;
    devices[2].device = 2;
    devices[2].share = devices[2].cpu = NAN;
    devices[2].is_gone = true;
    snprintf(devices[2].reason, sizeof devices[2].reason, "silent for 5 s");
    return (sh_run_snapshot){
        .about = {.name = "lenet-digits",
                  .state = SH_STATE_RUNNING,
                  .model = "lenet",
                  .data = "digits",
                  .step = 1200,
                  .steps = 1876,
                  .epoch = 2,
                  .epochs = 2,
                  .val_accuracy = NAN,
                  .seconds = 42},
        .loss = 0.31239,
        .accuracy = 0.912,
        .samples_per_second = 2345.1,
        .eta_seconds = 252,
        .devices = devices,
        .device_count = 3,
        .news = {{1795356720, -1, "run.started", "3 devices"}, {1795356732, 2, "device.lost", "x"}},
        .news_count = 2,
    };
}

static char *printed(const sh_run_snapshot *snapshot, sh_run_view view)
{
    static char text[8192];
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(sh_run_view_print(snapshot, file, &view));
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void shows_all_that_is_known(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    sh_run_device devices[3];
    const sh_run_snapshot s = sample_of_three(devices);
    assert_string_equal(
        printed(&s, (sh_run_view){0}),
        "lenet-digits  running  lenet on digits\n"
        "step 1,200/1,876  epoch 2/2  [============>-------]  0:42  ETA 4:12\n"
        "loss 0.3124  accuracy 91.2 %  val accuracy -  2,345 samples/s\n"
        "\n"
        "device     share  samples/s  time                    CPU  throttled   memory MB  in MB/s  "
        "out MB/s  Celsius\n"
        "0 pi1     75.0 %      1,759  ############..-~~~~+  350 %  no               45.3     1.23  "
        "    0.01       61\n"
        "1 pi?[2J  25.0 %          -  ----------              0 %  quota 63 %          -        -  "
        "    0.00        -\n"
        "2 pi?[2J       -          -  -                         -  gone                -        -  "
        "    0.00        -\n"
        "\n"
        "time: # computing  waiting for . own lanes - devices ~ the network  + optimizer\n"
        "\n"
        "14:12:00  run.started  3 devices\n"
        "14:12:12  device.lost 2  x\n");
}

static void fits_the_terminal(void **state)
{
    (void)state;
    sh_run_device devices[3];
    const sh_run_snapshot s = sample_of_three(devices);
    assert_string_equal(printed(&s, (sh_run_view){.width = 20, .rows = 2}),
                        "lenet-digits  runnin\n"
                        "step 1,200/1,876  ep\n");
    assert_string_equal(
        printed(&s, (sh_run_view){.width = 20, .rows = 2, .colour = true, .redraw = true}),
        "\033[H\033[36mlenet-digits  runnin\033[0m\033[K\n"
        "step 1,200/1,876  ep\033[K\n\033[J");
    sh_run_snapshot other = s;
    snprintf(other.about.name, sizeof other.about.name, "\xC3\xA9\xC3\xA9\xC3\xA9");
    assert_string_equal(printed(&other, (sh_run_view){.width = 2, .rows = 1}),
                        "\xC3\xA9\xC3\xA9\n");
}

static void shows_who_stands_by(void **state)
{
    (void)state;
    sh_run_device devices[3];
    const sh_run_snapshot s = sample_of_three(devices);
    devices[2].is_gone = false;
    assert_non_null(strstr(printed(&s, (sh_run_view){0}), "2 pi?[2J  on standby          -  -"));
    devices[0].share = devices[1].share = NAN; /* before the training begins */
    assert_null(strstr(printed(&s, (sh_run_view){0}), "on standby"));
}

static void says_that_devices_have_no_grains(void **state)
{
    (void)state;
    sh_run_device devices[3];
    sh_run_snapshot s = sample_of_three(devices);
    assert_null(strstr(printed(&s, (sh_run_view){0}), "without grains"));
    devices[1].share = 0; /* the third one is gone */
    assert_non_null(strstr(printed(&s, (sh_run_view){0}),
                           "\n\n1 of 2 devices without grains: a smaller --grain or a larger "
                           "--batch-size would use more (other weights)\n\n"));
    s.about.state = SH_STATE_COMPLETE;
    assert_null(strstr(printed(&s, (sh_run_view){0}), "without grains"));
}

static void a_narrow_one_shows_what_matters(void **state)
{
    (void)state;
    sh_run_device devices[3];
    const sh_run_snapshot s = sample_of_three(devices);
    const char *text = printed(&s, (sh_run_view){.width = 80});
    assert_non_null(strstr(
        text,
        "\n"
        "device     share  samples/s  time          CPU  throttled   memory MB  in MB/s  \n"
        "0 pi1     75.0 %      1,759  ######.-~~  350 %  no               45.3     1.23  \n"));
    assert_non_null(strstr(text, "-  gone                -        -  \n\ntime: # computing"));
}

static void shows_what_has_just_begun(void **state)
{
    (void)state;
    const sh_run_snapshot empty = {.about = {.name = "a", .state = SH_STATE_RUNNING}};
    assert_string_equal(printed(&empty, (sh_run_view){0}),
                        "a  running  waiting for the first step\n");
    const sh_run_snapshot s = {.about = {.name = "a",
                                         .state = SH_STATE_FAILED,
                                         .reason = "no\nmemory",
                                         .seconds = NAN,
                                         .val_accuracy = NAN},
                               .loss = NAN,
                               .accuracy = NAN,
                               .samples_per_second = NAN,
                               .eta_seconds = NAN};
    assert_string_equal(printed(&s, (sh_run_view){0}),
                        "a  failed: no?memory   on \n"
                        "step 0/0  epoch 0/0  [>-------------------]  -  ETA -\n"
                        "loss -  accuracy -  val accuracy -  - samples/s\n");
}

static void news_are_few(void **state)
{
    (void)state;
    sh_run_snapshot s = {.news_count = SH_RUN_NEWS_MAX};
    for (int i = 0; i < SH_RUN_NEWS_MAX; i++)
        s.news[i] = (sh_run_news){.at = i, .device = -1, .kind = "k"};
    const char *text = printed(&s, (sh_run_view){0});
    assert_null(strstr(text, ":07  k"));
    assert_non_null(strstr(text, "\n\n00:00:08  k"));
    assert_non_null(strstr(text, ":15  k"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_all_that_is_known),
        cmocka_unit_test(fits_the_terminal),
        cmocka_unit_test(shows_who_stands_by),
        cmocka_unit_test(says_that_devices_have_no_grains),
        cmocka_unit_test(a_narrow_one_shows_what_matters),
        cmocka_unit_test(shows_what_has_just_begun),
        cmocka_unit_test(news_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
