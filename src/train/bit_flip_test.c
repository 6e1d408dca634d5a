/* SPDX-License-Identifier: Apache-2.0 */
#include "train/bit_flip.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"

static void arms_the_device_that_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *device;
        bool armed;
        uint64_t steps;
        bool sticks, in_transfers;
        uint32_t lies_every;
    } cases[] = {
        {NULL, "laptop", false, 0, false, false, 0},
        {"laptop@12", "laptop", true, 12, false, false, 0},
        {"laptop@0", "laptop", true, 0, false, false, 0},
        {"laptop@12", "lap", false, 0, false, false, 0},
        {"lap@12", "laptop", false, 0, false, false, 0},
        {"host/2@7", "host/2", true, 7, false, false, 0},
        {"a@b@3", "a@b", true, 3, false, false, 0},
        {"laptop@12+", "laptop", true, 12, true, false, 0},
        {"a@gift", "a", false, 0, false, true, 0},
        {"a@gift", "b", false, 0, false, false, 0},
        {"a@lie/3", "a", false, 3, false, false, 3},
        {"a@lie/3", "b", false, 0, false, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_bit_flip flip;
        if (cases[i].text == NULL)
            unsetenv("SHOAL_TEST_FLIP");
        else
            setenv("SHOAL_TEST_FLIP", cases[i].text, 1);
        assert_ok(sh_bit_flip_arm(&flip, cases[i].device));
        assert_int_equal(flip.armed, cases[i].armed);
        assert_int_equal(flip.steps, cases[i].steps);
        assert_int_equal(flip.sticks, cases[i].sticks);
        assert_int_equal(flip.in_transfers, cases[i].in_transfers);
        assert_int_equal(flip.lies_every, cases[i].lies_every);
        assert_int_equal(sh_bit_flip_lies(&flip, 2), cases[i].lies_every == 3);
        assert_false(sh_bit_flip_lies(&flip, 3));
    }
}

static void other_words_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",           "12",         "laptop",      "laptop@",
                                        "laptop@-1",  "laptop@12x", "laptop@12++", "laptop@gifts",
                                        "laptop@lie/"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sh_bit_flip flip;
        char message[128];
        setenv("SHOAL_TEST_FLIP", texts[i], 1);
        assert_int_equal(sh_bit_flip_arm(&flip, "laptop"), SH_INVALID);
        snprintf(message, sizeof message,
                 "SHOAL_TEST_FLIP '%s': must be DEVICE@STEPS, such as laptop@12, or first-grain",
                 texts[i]);
        assert_string_equal(sh_message(), message);
    }
}

static void one_bit_flips_once(void **state)
{
    (void)state;
    sh_job job;
    sh_replica *replica;
    sh_bit_flip flip;
    char before[SH_DIGEST_TEXT], after[SH_DIGEST_TEXT];
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "mlp:4-3-2");
    snprintf(job.data, sizeof job.data, "digits:30/10");
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_replica_new(&replica, &job, &(sh_problem){1, 2, 2, 2, SH_TARGET_CLASS}));
    setenv("SHOAL_TEST_FLIP", "laptop@1", 1);
    assert_ok(sh_bit_flip_arm(&flip, "laptop"));
    assert_ok(sh_replica_hash(replica, before));
    sh_bit_flip_when_due(&flip, replica);
    assert_ok(sh_replica_hash(replica, after));
    assert_string_equal(before, after);
    replica->steps = 1;
    for (int i = 0; i < 2; i++) {
        sh_bit_flip_when_due(&flip, replica);
        assert_false(flip.armed);
        assert_ok(sh_replica_hash(replica, after));
        assert_string_not_equal(before, after);
    }
    sh_replica_free(replica);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arms_the_device_that_is_named),
        cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(one_bit_flips_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
