/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the database of an invented run, for inspecting reports of large runs:
 *
 *     run_maker FOLDER/run.db STEPS DEVICES [SAMPLES [SLOW [THROTTLED [SLOW_LINK]]]]
 */
#include <stdlib.h>

#include "report/run_fixture.h"

static const char *path;
static run_fixture what;

static void makes(void **state)
{
    (void)state;
    run_fixture_make(path, &what);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(makes)};
    unsigned *const fields[] = {&what.steps, &what.devices,   &what.samples,
                                &what.slow,  &what.throttled, &what.slow_link};
    if (argc < 4 || argc > 8)
        return 2;
    path = argv[1];
    for (int i = 2; i < argc; i++)
        *fields[i - 2] = (unsigned)strtoul(argv[i], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
