/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"

#define PROCESSORS 8

static char folder[64];

static void describe(size_t processor, const char *siblings)
{
    char path[160];
    snprintf(path, sizeof path, "%s/cpu%zu", folder, processor);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/cpu%zu/topology", folder, processor);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/cpu%zu/topology/thread_siblings_list", folder, processor);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(siblings, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static uint32_t cores_of(const char *allowed)
{
    bool mine[PROCESSORS];
    for (size_t i = 0; i < PROCESSORS; i++)
        mine[i] = allowed[i] == '1';
    return sh_host_count_cores(folder, mine, PROCESSORS);
}

static void threads_of_a_core_count_once(void **state)
{
    (void)state;
    assert_int_equal(cores_of("11111111"), 8); /* unknown topology: one core each */
    for (size_t i = 0; i < 4; i++) {
        char siblings[16];
        snprintf(siblings, sizeof siblings, "%zu,%zu\n", i % 2, i % 2 + 2);
        describe(i, siblings);
    }
    describe(4, "4-5\n");
    describe(5, "4-5\n");
    describe(6, "6\n");
    describe(7, "none\n");
    assert_int_equal(cores_of("11111111"), 5);
    assert_int_equal(cores_of("10100000"), 1);
    assert_int_equal(cores_of("00110000"), 2); /* only their second threads */
    assert_int_equal(cores_of("00000111"), 3);
    assert_int_equal(cores_of("00000000"), 1);
}

static void this_machine_has_cores(void **state)
{
    (void)state;
    assert_in_range(sh_host_cores(), 1, sysconf(_SC_NPROCESSORS_CONF));
}

static int begin(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/shoal-host-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int end(void **state)
{
    char command[96];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_a_core_count_once),
        cmocka_unit_test(this_machine_has_cores),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
