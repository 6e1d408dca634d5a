/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"

#include <errno.h>
#include <pthread.h>

#include "base/test.h"

static void a_failure_is_a_code_with_its_message(void **state)
{
    (void)state;
    assert_int_equal(sh_fail(SH_FORMAT, "%s: record %d: %s", "a.idx", 7, "too short"), SH_FORMAT);
    assert_string_equal(sh_message(), "a.idx: record 7: too short");
    assert_int_equal(sh_fail(SH_IO, "100%% lost"), SH_IO);
    assert_string_equal(sh_message(), "100% lost");
    assert_int_equal(sh_fail_memory(12345, "a lane"), SH_NO_MEMORY);
    assert_string_equal(sh_message(), "not enough memory: 12345 bytes for a lane");
}

static void arguments_may_be_the_message_itself(void **state)
{
    (void)state;
    assert_int_equal(sh_fail(SH_IO, "inner"), SH_IO);
    assert_int_equal(sh_fail(SH_IO, "outer: %s", sh_message()), SH_IO);
    assert_string_equal(sh_message(), "outer: inner");
    assert_int_equal(sh_fail_errno(ENOENT, "again: %s", sh_message()), SH_NOT_FOUND);
    assert_string_equal(sh_message(), "again: outer: inner: No such file or directory");
}

static void context_goes_before_the_message(void **state)
{
    (void)state;
    const sh_status inner = sh_fail(SH_CORRUPT, "bad sum");
    assert_int_equal(sh_fail_in(inner, "tensor %d", 3), SH_CORRUPT);
    assert_string_equal(sh_message(), "tensor 3: bad sum");
    assert_int_equal(sh_fail_in(SH_CORRUPT, "%s", "run/7"), SH_CORRUPT);
    assert_string_equal(sh_message(), "run/7: tensor 3: bad sum");
    assert_int_equal(sh_fail_in(SH_OK, "never seen"), SH_OK);
    assert_string_equal(sh_message(), "run/7: tensor 3: bad sum");
}

static void messages_are_safe_to_show(void **state)
{
    (void)state;
    assert_int_equal(sh_fail(SH_IO, "%s: gone", "a\n<b>\x1b[31m\xff"), SH_IO);
    assert_string_equal(sh_message(), "a?<b>?[31m?: gone");
}

static void long_messages_are_cut(void **state)
{
    (void)state;
    char text[3 * SH_MESSAGE_BYTES];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(sh_fail(SH_IO, "%s", text), SH_IO);
    assert_int_equal(strlen(sh_message()), SH_MESSAGE_BYTES - 1);
    assert_int_equal(sh_fail_in(SH_IO, "context"), SH_IO);
    assert_int_equal(strlen(sh_message()), SH_MESSAGE_BYTES - 1);
    assert_memory_equal(sh_message(), "context: xxx", 12);
    assert_int_equal(sh_fail_errno(EIO, "%s", text), SH_IO);
    assert_int_equal(strlen(sh_message()), SH_MESSAGE_BYTES - 1);
    assert_int_equal(sh_fail_in(SH_IO, "%s", text), SH_IO);
    assert_int_equal(strlen(sh_message()), SH_MESSAGE_BYTES - 1);
}

static const struct {
    int error;
    sh_status code;
    const char *message;
} system_errors[] = {
    {ENOENT, SH_NOT_FOUND, "opening a: No such file or directory"},
    {ENOTDIR, SH_NOT_FOUND, "opening a: Not a directory"},
    {EACCES, SH_PERMISSION, "opening a: Permission denied; check who owns it and its mode"},
    {EPERM, SH_PERMISSION, "opening a: Operation not permitted"},
    {EROFS, SH_PERMISSION, "opening a: Read-only file system; choose a folder that can be written"},
    {ENOSPC, SH_NO_SPACE,
     "opening a: No space left on device; free some space or choose another disk"},
    {EDQUOT, SH_NO_SPACE,
     "opening a: Disk quota exceeded; free some of your quota or choose another disk"},
    {ENOMEM, SH_NO_MEMORY, "opening a: Cannot allocate memory"},
    {EMFILE, SH_LIMIT, "opening a: Too many open files; raise the limit of open files (ulimit -n)"},
    {EIO, SH_IO, "opening a: Input/output error"},
    {99999, SH_IO, "opening a: error 99999"},
};

static void system_errors_have_code_reason_and_remedy(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof system_errors / sizeof *system_errors; i++) {
        assert_int_equal(sh_fail_errno(system_errors[i].error, "opening %s", "a"),
                         system_errors[i].code);
        assert_string_equal(sh_message(), system_errors[i].message);
    }
}

static void every_status_has_a_text_of_its_own(void **state)
{
    (void)state;
    for (int a = SH_OK; a <= SH_INTERNAL; a++) {
        assert_string_not_equal(sh_status_text((sh_status)a), "unknown status");
        for (int b = SH_OK; b < a; b++)
            assert_string_not_equal(sh_status_text((sh_status)a), sh_status_text((sh_status)b));
    }
    assert_string_equal(sh_status_text(SH_OK), "success");
    assert_string_equal(sh_status_text((sh_status)(SH_INTERNAL + 1)), "unknown status");
}

static void *fail_elsewhere(void *before)
{
    *(char *)before = sh_message()[0];
    return sh_fail(SH_IO, "of the other thread") == SH_IO ? before : NULL;
}

static void each_thread_has_its_own_message(void **state)
{
    (void)state;
    pthread_t thread;
    char before = '?';
    assert_int_equal(sh_fail(SH_IO, "mine"), SH_IO);
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &before), 0);
    pthread_join(thread, NULL);
    assert_int_equal(before, '\0');
    assert_string_equal(sh_message(), "mine");
}

static sh_status pass_on(sh_status status, int *reached)
{
    SH_TRY(status);
    ++*reached;
    return SH_OK;
}

static sh_status clean_up(sh_status code, int *reached, int *cleaned)
{
    sh_status status = SH_OK;
    SH_TRY_DONE(code);
    ++*reached;
done:
    ++*cleaned;
    return status;
}

static void failures_are_passed_on(void **state)
{
    (void)state;
    int reached = 0, cleaned = 0;
    assert_int_equal(pass_on(SH_LIMIT, &reached), SH_LIMIT);
    assert_int_equal(clean_up(SH_LIMIT, &reached, &cleaned), SH_LIMIT);
    assert_int_equal(reached, 0);
    assert_int_equal(cleaned, 1);
    assert_int_equal(pass_on(SH_OK, &reached), SH_OK);
    assert_int_equal(clean_up(SH_OK, &reached, &cleaned), SH_OK);
    assert_int_equal(reached, 2);
    assert_int_equal(cleaned, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_a_code_with_its_message),
        cmocka_unit_test(arguments_may_be_the_message_itself),
        cmocka_unit_test(context_goes_before_the_message),
        cmocka_unit_test(messages_are_safe_to_show),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(system_errors_have_code_reason_and_remedy),
        cmocka_unit_test(every_status_has_a_text_of_its_own),
        cmocka_unit_test(each_thread_has_its_own_message),
        cmocka_unit_test(failures_are_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
