/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/figure_sources.h"

#include "monitor/machine_fixture.h"

#define MEMINFO                                                                                    \
    {                                                                                              \
        "proc/meminfo", "MemAvailable:   600000 kB\n"                                              \
    }
#define AVAILABLE (600000 * 1024.0)

#define SECOND                                                                                     \
    {"proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},              \
    {                                                                                              \
        "proc/self/cgroup", "0::/lab/d1\n"                                                         \
    }

/* The root group has no throttling and no limit. */
static const machine_file second[] = {
    MEMINFO,
    SECOND,
    {"sys/fs/cgroup/cpu.stat", "usage_usec 99\nuser_usec 98\nsystem_usec 1\n"},
    {"sys/fs/cgroup/lab/cpu.stat", "usage_usec 9\nnr_throttled 1\nthrottled_usec 250000\n"},
    {"sys/fs/cgroup/lab/memory.max", "300000000\n"},
    {"sys/fs/cgroup/lab/memory.current", "50000000\n"},
    {"sys/fs/cgroup/lab/memory.stat", "anon 1\nfile 2\ninactive_file 20000000\n"},
    {"sys/fs/cgroup/lab/d1/cpu.stat", "usage_usec 9\nnr_throttled 7\nthrottled_usec 1500000\n"},
    {"sys/fs/cgroup/lab/d1/memory.max", "max\n"},
    {"sys/fs/cgroup/lab/d1/memory.current", "40000000\n"},
    {"sys/fs/cgroup/lab/d1/memory.stat", "inactive_file 20000000\n"},
    {0},
};

static void version_2_adds_what_all_levels_take(void **state)
{
    (void)state;
    machine m;
    machine_make(&m, second);
    machine_take(&m);
    machine_expect(&m, SH_FIGURE_cpu_throttled_seconds, 1.75);
    machine_expect(&m, SH_FIGURE_memory_available_bytes, 270e6);

    machine_set(&m, "sys/fs/cgroup/lab/d1/memory.max", "45000000\n");
    machine_take(&m);
    machine_expect(&m, SH_FIGURE_memory_available_bytes, 25e6);
    machine_set(&m, "sys/fs/cgroup/lab/d1/memory.current", "99000000\n");
    machine_take(&m);
    machine_expect(&m, SH_FIGURE_memory_available_bytes, 0);

    machine_set(&m, "sys/fs/cgroup/lab/cpu.stat", "");
    machine_set(&m, "sys/fs/cgroup/lab/d1/memory.max", "x\n");
    machine_set(&m, "sys/fs/cgroup/lab/memory.max", "");
    machine_take(&m);
    machine_expect(&m, SH_FIGURE_cpu_throttled_seconds, NAN);
    machine_expect(&m, SH_FIGURE_memory_available_bytes, AVAILABLE);
    machine_remove(&m);
}

#define CPU "sys/fs/cgroup/cpu,cpuacct/"
#define MEMORY "sys/fs/cgroup/memory/"
static const machine_file first[] = {
    MEMINFO,
    {"proc/self/mountinfo",
     "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
     "34 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"},
    {"proc/self/cgroup", "4:memory:/lab\n3:cpu,cpuacct:/lab/d1\n0::/\n"},
    {CPU "cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"},
    {CPU "lab/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"},
    {CPU "lab/d1/cpu.stat", "nr_periods 9\nnr_throttled 8\nthrottled_time 1250000000\n"},
    {MEMORY "memory.limit_in_bytes", "9223372036854771712\n"},
    {MEMORY "memory.usage_in_bytes", "9000000000\n"},
    {MEMORY "lab/memory.limit_in_bytes", "64000000\n"},
    {MEMORY "lab/memory.usage_in_bytes", "30000000\n"},
    {MEMORY "lab/memory.stat", "inactive_file 1\ntotal_inactive_file 6000000\n"},
    {0},
};

static void version_1_has_a_folder_for_each_controller(void **state)
{
    (void)state;
    machine m;
    machine_make(&m, first);
    machine_take(&m);
    machine_expect(&m, SH_FIGURE_cpu_throttled_seconds, 1.25);
    machine_expect(&m, SH_FIGURE_memory_available_bytes, 40e6);
    machine_remove(&m);
}

static void without_groups_nothing_is_kept_back_and_nothing_known(void **state)
{
    (void)state;
    static const machine_file none[] = {MEMINFO, {0}};
    static const machine_file not_readable[] = {MEMINFO, SECOND, {0}};
    const machine_file *const machines[] = {none, not_readable};
    for (size_t i = 0; i < 2; i++) {
        machine m;
        machine_make(&m, machines[i]);
        machine_take(&m);
        machine_expect(&m, SH_FIGURE_cpu_throttled_seconds, NAN);
        machine_expect(&m, SH_FIGURE_memory_available_bytes, AVAILABLE);
        machine_remove(&m);
    }
}

static void a_deep_group_is_cut_short(void **state)
{
    (void)state;
    static const machine_file deep[] = {
        {"proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
        {"proc/self/cgroup", "0::/1/2/3/4/5/6/7/8/9\n"},
        {0},
    };
    machine m;
    char path[SCRATCH_BYTES] = "sys/fs/cgroup";
    machine_make(&m, deep);
    for (int i = 1; i <= 9; i++) {
        const size_t length = strlen(path);
        snprintf(path + length, sizeof path - length, "/%d", i);
        char stat[SCRATCH_BYTES + 16];
        snprintf(stat, sizeof stat, "%s/cpu.stat", path);
        machine_set(&m, stat, i == 1 ? "throttled_usec 9000000\n" : "throttled_usec 1000000\n");
    }
    machine_take(&m);
    machine_expect(&m, SH_FIGURE_cpu_throttled_seconds, SH_QUOTA_LEVELS_MAX);
    machine_remove(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2_adds_what_all_levels_take),
        cmocka_unit_test(version_1_has_a_folder_for_each_controller),
        cmocka_unit_test(without_groups_nothing_is_kept_back_and_nothing_known),
        cmocka_unit_test(a_deep_group_is_cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
