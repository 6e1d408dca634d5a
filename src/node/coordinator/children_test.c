/* SPDX-License-Identifier: Apache-2.0 */
/* The devices are shell scripts. */
#include "node/coordinator/children.h"

#include "base/clock.h"
#include "base/scratch.h"

#define LONG_MS 60000
#define PATH_BYTES (SCRATCH_BYTES + 16)

typedef struct stage {
    char folder[SCRATCH_BYTES], program[PATH_BYTES], output[PATH_BYTES + 4];
    sh_mailbox *mailbox;
    sh_children *children;
    sh_children_options options;
} stage;

static void stage_new(stage *s, const char *script)
{
    *s = (stage){0};
    scratch_make(s->folder);
    assert_in_range(snprintf(s->program, sizeof s->program, "%s/device", s->folder), 1,
                    sizeof s->program - 1);
    assert_in_range(snprintf(s->output, sizeof s->output, "%s.out", s->program), 1,
                    sizeof s->output - 1);
    scratch_write(s->program, script, strlen(script));
    assert_int_equal(chmod(s->program, 0700), 0);
    assert_ok(sh_mailbox_new(&s->mailbox));
    s->options = (sh_children_options){
        .count = 1,
        .program = s->program,
        .token = "shoal://a-token",
        .name = "here",
        .lanes = "3",
        .mailbox = s->mailbox,
    };
}

static void stage_free(stage *s)
{
    sh_mailbox_free(s->mailbox);
    scratch_remove(s->folder);
}

static void expect_end(const stage *s, sh_status status, const char *text)
{
    sh_mail mail;
    assert_ok(sh_mailbox_wait(s->mailbox, &mail, NULL, LONG_MS));
    assert_int_equal(mail.kind, SH_MAIL_CHILD);
    assert_string_equal(mail.text, text);
    assert_int_equal(mail.status, status);
}

static void the_end_of_a_child_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        sh_status status;
        const char *text;
    } ends[] = {
        {"#!/bin/sh\nexit 0\n", SH_OK, "device here/2 ended with exit code 0"},
        {"#!/bin/sh\nexit 7\n", SH_PEER_LOST, "device here/2 ended with exit code 7"},
        {"#!/bin/sh\nkill -9 $$\n", SH_PEER_LOST, "device here/2 ended by signal 9"},
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        stage s;
        stage_new(&s, ends[i].script);
        assert_ok(sh_children_start(&s.children, &s.options));
        expect_end(&s, ends[i].status, ends[i].text);
        sh_children_stop(s.children, LONG_MS);
        stage_free(&s);
    }
}

/* The token is on its standard input, which then ends. */
static void a_child_is_given_its_token_and_arguments(void **state)
{
    (void)state;
    stage s;
    stage_new(&s, "#!/bin/sh\nread token && ! read more && echo \"$token $*\" >\"$0.out\"\n");
    assert_ok(sh_children_start(&s.children, &s.options));
    expect_end(&s, SH_OK, "device here/2 ended with exit code 0");
    sh_children_stop(s.children, LONG_MS);
    scratch_expect(s.output, "shoal://a-token join - --local --quiet --lanes 3 --name here/2\n");
    s.options.memory = 96 << 20;
    assert_ok(sh_children_start(&s.children, &s.options));
    expect_end(&s, SH_OK, "device here/2 ended with exit code 0");
    sh_children_stop(s.children, LONG_MS);
    scratch_expect(s.output, "shoal://a-token join - --local --quiet --lanes 3 --name here/2 "
                             "--memory 100663296\n");
    stage_free(&s);
}

static void children_are_numbered_from_two(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "device here/2 ended with exit code 1",
        "device here/3 ended with exit code 1",
        "device here/4 ended with exit code 1",
    };
    bool seen[3] = {false};
    stage s;
    stage_new(&s, "#!/bin/sh\nexit 1\n");
    s.options.count = 3;
    assert_ok(sh_children_start(&s.children, &s.options));
    for (int i = 0; i < 3; i++) { /* in any order */
        sh_mail mail;
        assert_ok(sh_mailbox_wait(s.mailbox, &mail, NULL, LONG_MS));
        for (int j = 0; j < 3; j++)
            seen[j] |= strcmp(mail.text, texts[j]) == 0;
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    sh_children_stop(s.children, LONG_MS);
    stage_free(&s);
}

static void programs_that_cannot_run_are_refused(void **state)
{
    (void)state;
    sh_mail mail;
    stage s;
    stage_new(&s, "#!/bin/sh\nexit 0\n");
    s.options.count = 2;
    assert_int_equal(chmod(s.program, 0600), 0);
    assert_fails(sh_children_start(&s.children, &s.options), SH_PERMISSION,
                 "/device as a local device: Permission denied; check who owns it");
    unlink(s.program);
    assert_fails(sh_children_start(&s.children, &s.options), SH_NOT_FOUND,
                 "/device as a local device: No such file or directory");
    assert_null(s.children);
    assert_fails(sh_mailbox_wait(s.mailbox, &mail, NULL, 1), SH_LIMIT, "nothing came");
    sh_children_stop(NULL, 0);
    stage_free(&s);
}

static void one_that_hangs_is_killed(void **state)
{
    (void)state;
    stage s;
    stage_new(&s, "#!/bin/sh\nexec sleep 600\n");
    const uint64_t start_ns = sh_clock_now_ns(sh_clock_system());
    assert_ok(sh_children_start(&s.children, &s.options));
    sh_children_stop(s.children, 5);
    assert_in_range(sh_clock_now_ns(sh_clock_system()) - start_ns, 5000000, 60000000000);
    expect_end(&s, SH_PEER_LOST, "device here/2 ended by signal 9");
    stage_free(&s);
}

static void one_that_is_about_to_end_is_let(void **state)
{
    (void)state;
    stage s;
    stage_new(&s, "#!/bin/sh\nsleep 0.02\nexit 0\n");
    s.options.count = 2;
    assert_ok(sh_children_start(&s.children, &s.options));
    sh_children_stop(s.children, LONG_MS);
    for (int i = 0; i < 2; i++) {
        sh_mail mail;
        assert_ok(sh_mailbox_wait(s.mailbox, &mail, NULL, 1));
        assert_int_equal(mail.status, SH_OK);
    }
    stage_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_child_is_told),
        cmocka_unit_test(a_child_is_given_its_token_and_arguments),
        cmocka_unit_test(children_are_numbered_from_two),
        cmocka_unit_test(programs_that_cannot_run_are_refused),
        cmocka_unit_test(one_that_hangs_is_killed),
        cmocka_unit_test(one_that_is_about_to_end_is_let),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
