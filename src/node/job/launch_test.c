/* SPDX-License-Identifier: Apache-2.0 */
#include "shoal/launch.h"

#include <stdlib.h>

#include "base/test.h"

static const char *const variables[] = {
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALNRANKS",
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
};
enum { VARIABLES = sizeof variables / sizeof *variables };

typedef struct situation {
    const char *values[VARIABLES]; /* NULL: not set */
    uint32_t rank, ranks, here;    /* ranks 0: no launcher */
    const char *launcher;
} situation;

static const situation situations[] = {
    {{NULL}, 0, 0, 0, NULL},
    {{"2", "4", "4"}, 2, 4, 4, "mpirun"},
    {{"0", "1", "1"}, 0, 1, 1, "mpirun"},
    {{"2", "4"}, 2, 4, 1, "mpirun"},
    {{"2", "4", "many"}, 2, 4, 1, "mpirun"},
    {{"2", "4", "5"}, 2, 4, 1, "mpirun"},
    {{"2", "4", "0"}, 2, 4, 1, "mpirun"},
    {{NULL, NULL, NULL, "1", "3", "2"}, 1, 3, 2, "mpirun"},
    {{NULL, NULL, NULL, NULL, NULL, NULL, "5", "8"}, 5, 8, 1, "srun"},
    /* mpirun in an srun step */
    {{"1", "2", "2", NULL, NULL, NULL, "0", "1"}, 1, 2, 2, "mpirun"},
    /* A batch script is one process in any case. */
    {{NULL, NULL, NULL, NULL, NULL, NULL, "0", NULL}, 0, 0, 0, NULL},
    {{"4", "4"}, 0, 0, 0, NULL},
    {{"", "4"}, 0, 0, 0, NULL},
    {{"-1", "4"}, 0, 0, 0, NULL},
    {{"1x", "4"}, 0, 0, 0, NULL},
    {{"1", "4294967296"}, 0, 0, 0, NULL},
    {{"1", "99999999999999999999"}, 0, 0, 0, NULL},
};

static void reads_what_launchers_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof situations / sizeof *situations; i++) {
        const situation *s = &situations[i];
        sh_launch launch = {.rank = 77};
        for (int v = 0; v < VARIABLES; v++)
            if (s->values[v] == NULL)
                unsetenv(variables[v]);
            else
                setenv(variables[v], s->values[v], 1);
        if (sh_launch_read(&launch) != (s->ranks > 0))
            fail_msg("situation %zu", i);
        if (s->ranks == 0) {
            assert_int_equal(launch.rank, 77);
            continue;
        }
        assert_int_equal(launch.rank, s->rank);
        assert_int_equal(launch.ranks, s->ranks);
        assert_int_equal(launch.here, s->here);
        assert_string_equal(launch.launcher, s->launcher);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_what_launchers_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
