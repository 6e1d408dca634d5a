/* SPDX-License-Identifier: Apache-2.0 */
/* photo_list_test.c tests CSV files in folders. */
#include "data/photos/photo_labels.h"

#include "base/test.h"

static sh_status parse(sh_photo_labels **labels, const char *text, size_t bytes)
{
    assert_ok(sh_photo_labels_new(labels, ""));
    return sh_photo_labels_parse(*labels, "l.csv", "", text, bytes);
}

static void tasks_are_told_by_the_labels(void **state)
{
    (void)state;
    static const struct {
        const char *text, *task;
        sh_target target;
        const char *names;
    } cases[] = {
        {"file,x\n1,a\n2,b\n", "", SH_TARGET_CLASS, "[\"a\",\"b\"]"},
        {"file,x\n1,2\n2,10\n", "", SH_TARGET_CLASS, "[\"2\",\"10\"]"},
        {"file,x\n1,2\n2,10\n", "regression", SH_TARGET_NUMBERS, "[\"x\"]"},
        {"file,x\n1,2\n2,10.5\n", "", SH_TARGET_NUMBERS, "[\"x\"]"},
        {"file,x\n1,2\n2,10.5\n", "classification", SH_TARGET_CLASS, "[\"10.5\",\"2\"]"},
        {"file,x\n1,a|b\n2,b\n", "", SH_TARGET_LABELS, "[\"a\",\"b\"]"},
        {"file,x\n1,a\n2,b\n", "multi-label", SH_TARGET_LABELS, "[\"a\",\"b\"]"},
        {"file,x,y\n1,0,1\n2,1,\n", "", SH_TARGET_LABELS, "[\"x\",\"y\"]"},
        {"file,x,y\n1,0,1\n2,1,0\n", "regression", SH_TARGET_NUMBERS, "[\"x\",\"y\"]"},
        {"file,x,y\n1,0,2\n2,1,0\n", "", SH_TARGET_NUMBERS, "[\"x\",\"y\"]"},
        {"file,x,y\n1,a,b\n2,b,\n", "", SH_TARGET_LABELS, "[\"a\",\"b\"]"},
        {"file,x\n1,a\x01\n2,\"b\xff\"\"<\"\n", "", SH_TARGET_CLASS, "[\"a?\",\"b?\\\"<\"]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_photo_labels *labels;
        sh_photo_targets targets;
        assert_ok(parse(&labels, cases[i].text, strlen(cases[i].text)));
        assert_int_equal(sh_photo_labels_rows(labels), 2);
        if (sh_photo_labels_decide(&targets, labels, cases[i].task) != SH_OK)
            fail_msg("case %zu: %s", i, sh_message());
        assert_int_equal(targets.target, cases[i].target);
        char *names = json_dumps(targets.names, JSON_COMPACT);
        assert_string_equal(names, cases[i].names);
        free(names);
        sh_photo_targets_release(&targets);
        sh_photo_labels_free(labels);
    }
}

static void bytes_that_are_no_labels_are_refused(void **state)
{
    (void)state;
    enum { COLUMNS = 100000 };
    sh_photo_labels *labels;
    char *wide = malloc(2 * COLUMNS + 16);
    assert_non_null(wide);
    size_t used = (size_t)snprintf(wide, 16, "file_name");
    for (size_t i = 0; i < COLUMNS; i++, used += 2)
        memcpy(wide + used, ",x", 2);
    assert_fails(parse(&labels, wide, used), SH_LIMIT, "l.csv:1: has more than 4096 columns");
    sh_photo_labels_free(labels);
    free(wide);
    assert_fails(parse(&labels, "f\0i\0l\0e\0", 8), SH_FORMAT, "l.csv:1: holds a zero byte; save");
    sh_photo_labels_free(labels);
    assert_fails(parse(&labels, "file,x\n1,2,3\n", 13), SH_FORMAT, "l.csv:2: has 3 fields, but");
    sh_photo_labels_free(labels);
}

/* The line of a row is its last line. */
static void rows_may_go_over_lines(void **state)
{
    (void)state;
    static const char text[] = "file,x\n\n\"a\nb\",1\nc,one\n";
    sh_photo_labels *labels;
    sh_photo_targets targets;
    assert_ok(parse(&labels, text, sizeof text - 1));
    assert_fails(sh_photo_labels_decide(&targets, labels, "regression"), SH_FORMAT,
                 "l.csv:5: 'one' is not a number");
    sh_photo_labels_free(labels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_told_by_the_labels),
        cmocka_unit_test(bytes_that_are_no_labels_are_refused),
        cmocka_unit_test(rows_may_go_over_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
