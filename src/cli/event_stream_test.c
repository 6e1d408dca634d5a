/* SPDX-License-Identifier: Apache-2.0 */
#include "base/test.h"
#include "cli/event_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect_line(const sh_event *event, double at, const char *expected)
{
    char *line = sh_event_stream_line(event, at);
    if (expected == NULL) {
        assert_null(line);
        return;
    }
    assert_non_null(line);
    assert_string_equal(line, expected);
    free(line);
}

static void says_what_an_event_says(void **state)
{
    (void)state;
    expect_line(&(sh_event){.kind = SH_EVENT_STEP,
                            .devices = 3,
                            .epoch = 1,
                            .epochs = 2,
                            .step = 12,
                            .epoch_steps = 938,
                            .total_step = 12,
                            .total_steps = 1876,
                            .samples = 768,
                            .seconds = 0.5,
                            .loss = 2.25},
                8123.406771,
                "{\"event\":\"step\",\"at\":8123.406771,\"devices\":3,\"epoch\":1,"
                "\"epochs\":2,\"step\":12,\"epoch_steps\":938,\"total_step\":12,"
                "\"total_steps\":1876,\"samples\":768,\"seconds\":0.5,\"loss\":2.25}");
    expect_line(&(sh_event){.kind = SH_EVENT_JOINED, .text = "a \"b\"", .devices = 2}, 1.5,
                "{\"event\":\"joined\",\"at\":1.5,\"text\":\"a \\\"b\\\"\",\"devices\":2}");
    expect_line(&(sh_event){.kind = SH_EVENT_NOTE, .text = "two\nlines"}, 0.25,
                "{\"event\":\"note\",\"at\":0.25,\"text\":\"two?lines\"}");
}

static void never_has_the_token(void **state)
{
    (void)state;
    expect_line(&(sh_event){.kind = SH_EVENT_TOKEN, .text = "shoal://secret"}, 1, NULL);
}

static void expect_file(const char *path, const char *expected)
{
    char text[512];
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("%s is not there", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static void appends_lines(void **state)
{
    (void)state;
    char path[] = "/tmp/event-stream-XXXXXX";
    const int made = mkstemp(path);
    assert_true(made >= 0);
    assert_int_equal(write(made, "before\n", 7), 7);
    close(made);
    sh_event_stream stream;
    assert_ok(sh_event_stream_open(&stream, path));
    sh_event_stream_write(&stream, &(sh_event){.kind = SH_EVENT_TOKEN, .text = "secret"});
    sh_event_stream_close(&stream);
    sh_event_stream_write(&stream, &(sh_event){.kind = SH_EVENT_RUN});
    expect_file(path, "before\n");
    assert_ok(sh_event_stream_open(&stream, path));
    sh_event_stream_write(&stream, &(sh_event){.kind = SH_EVENT_RUN, .text = "r"});
    sh_event_stream_write(&stream, &(sh_event){.kind = SH_EVENT_RUN, .text = "s"});
    sh_event_stream_close(&stream);
    char text[512] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    unlink(path);
    assert_int_equal(strncmp(text, "before\n{\"event\":\"run\",\"at\":", 27), 0);
    assert_non_null(strstr(text, ",\"text\":\"r\"}\n{"));
    assert_string_equal(text + bytes - 12, "\"text\":\"s\"}\n");
}

static void says_why_not(void **state)
{
    (void)state;
    sh_event_stream stream;
    assert_int_not_equal(sh_event_stream_open(&stream, "/tmp"), SH_OK);
    assert_string_equal(sh_message(),
                        "--events /tmp: Is a directory; choose another file for --events");
    assert_ok(sh_event_stream_open(&stream, NULL));
    sh_event_stream_write(&stream, &(sh_event){.kind = SH_EVENT_RUN});
    sh_event_stream_close(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_an_event_says),
        cmocka_unit_test(never_has_the_token),
        cmocka_unit_test(appends_lines),
        cmocka_unit_test(says_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
