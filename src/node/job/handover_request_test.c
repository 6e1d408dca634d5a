/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/handover_request.h"

#include <pthread.h>
#include <unistd.h>

#include "base/scratch.h"
#include "shoal/hand_over.h"
#include "store/file.h"

static char folder[SH_PATH_BYTES], path[SH_PATH_BYTES];
static sh_run *run;

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    assert_ok(sh_path_join(path, folder, "a"));
    assert_ok(sh_run_open(&run, &(sh_run_options){.path = path}));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sh_run_close(run);
    scratch_remove(folder);
    return 0;
}

typedef struct asker {
    const char *device;
    char receiver[SH_NAME_BYTES], message[SH_MESSAGE_BYTES];
    sh_status status;
} asker;

static void *ask(void *context)
{
    asker *asked = context;
    asked->status = sh_hand_over(asked->receiver, path, asked->device);
    snprintf(asked->message, sizeof asked->message, "%s", sh_message());
    return NULL;
}

static void take(sh_handover_request *handover, uint64_t *now_ns)
{
    while (!sh_handover_request_take(handover, run, *now_ns))
        *now_ns += 1000000000;
}

static void requests_are_answered(void **state)
{
    (void)state;
    sh_handover_request handover = {0};
    uint64_t now_ns = 1000000000;
    pthread_t thread;
    asker any = {.device = NULL}, one = {.device = "attic"};
    assert_false(sh_handover_request_take(&handover, run, now_ns));
    assert_int_equal(pthread_create(&thread, NULL, ask, &any), 0);
    take(&handover, &now_ns);
    assert_string_equal(handover.name, "");
    sh_handover_request_answer(&handover, true, "cellar");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(any.status, SH_OK);
    assert_string_equal(any.receiver, "cellar");

    assert_int_equal(pthread_create(&thread, NULL, ask, &one), 0);
    take(&handover, &now_ns);
    assert_string_equal(handover.name, "attic");
    sh_handover_request_answer(&handover, false, "attic is not there");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(one.status, SH_REFUSED);
    assert_string_equal(one.message, "attic is not there");
    /* All files are gone. */
    assert_false(sh_handover_request_take(&handover, run, now_ns + 1000000000));
    char answer[SH_PATH_BYTES];
    assert_ok(sh_run_path(run, SH_RUN_ANSWER, answer));
    assert_int_not_equal(access(answer, F_OK), 0);
}

/* A stage may take a millisecond: not each accesses the disk. */
static void it_looks_a_few_times_a_second(void **state)
{
    (void)state;
    sh_handover_request handover = {0};
    char request[SH_PATH_BYTES];
    assert_ok(sh_run_path(run, SH_RUN_REQUEST, request));
    assert_false(sh_handover_request_take(&handover, run, 1000000000));
    assert_ok(sh_file_replace_private(request, "x", 1));
    assert_false(sh_handover_request_take(&handover, run, 1100000000));
    assert_true(sh_handover_request_take(&handover, run, 1300000000));
}

static void what_cannot_be_asked_is_refused(void **state)
{
    (void)state;
    char receiver[SH_NAME_BYTES], name[SH_NAME_BYTES + 1];
    memset(name, 'n', SH_NAME_BYTES);
    name[SH_NAME_BYTES] = '\0';
    assert_fails(sh_hand_over(receiver, path, name), SH_INVALID, "too long for a device's name");
    assert_fails(sh_hand_over(receiver, "/nowhere/at/all", NULL), SH_NOT_FOUND, "/nowhere/at/all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered),
        cmocka_unit_test(it_looks_a_few_times_a_second),
        cmocka_unit_test(what_cannot_be_asked_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
