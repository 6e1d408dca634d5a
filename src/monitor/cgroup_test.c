/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/cgroup.h"

#include <stdio.h>

#include "base/test.h"

#define ROOT_MOUNT "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
#define SECOND "30 20 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define HYBRID                                                                                     \
    "32 31 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"                                \
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:7 - cgroup cgroup "                \
    "rw,cpu,cpuacct\n"

static const struct {
    const char *mountinfo, *cgroup, *controller;
    int version;
    const char *folder; /* with its parents, separated by blanks */
} places[] = {
    {ROOT_MOUNT SECOND, "0::/user.slice/a.scope\n", "cpu", 2,
     "/sys/fs/cgroup/user.slice/a.scope /sys/fs/cgroup/user.slice /sys/fs/cgroup"},
    {ROOT_MOUNT SECOND, "0::/\n", "memory", 2, "/sys/fs/cgroup"},
    {HYBRID, "3:cpu,cpuacct:/lab/d1\n0::/other\n", "cpu", 1,
     "/sys/fs/cgroup/cpu,cpuacct/lab/d1 /sys/fs/cgroup/cpu,cpuacct/lab /sys/fs/cgroup/cpu,cpuacct"},
    {HYBRID, "3:cpu,cpuacct:/lab/d1\n0::/other", "memory", 2,
     "/sys/fs/cgroup/unified/other /sys/fs/cgroup/unified"},
    /* A container mounts the group's own folder at the usual path. */
    {"40 1 0:9 /docker/x /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n", "1:cpu:/docker/x\n",
     "cpu", 1, "/sys/fs/cgroup/cpu"},
    {"40 1 0:9 /docker/x /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n", "1:cpu:/docker/x/y\n",
     "cpu", 1, "/sys/fs/cgroup/cpu/y /sys/fs/cgroup/cpu"},
    {"40 1 0:9 /docker/x /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n", "1:cpu:/docker/xyz\n",
     "cpu", 1, "/sys/fs/cgroup/cpu"},
    {SECOND, "0::/../../elsewhere\n", "cpu", 2, "/sys/fs/cgroup"},
    /* Other fields do not count. */
    {"9 1 0:9 / /a-\\040cgroup2 rw - tmpfs cgroup2 rw\n" SECOND, "0::/a\n", "cpu", 2,
     "/sys/fs/cgroup/a /sys/fs/cgroup"},
};

static void finds_the_group_and_those_above(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        sh_cgroup place;
        char all[4 * SH_CGROUP_PATH_BYTES] = "";
        assert_true(
            sh_cgroup_find(&place, places[i].mountinfo, places[i].cgroup, places[i].controller));
        assert_int_equal(place.version, places[i].version);
        do {
            const size_t length = strlen(all);
            snprintf(all + length, sizeof all - length, "%s%s", length == 0 ? "" : " ",
                     place.folder);
        } while (sh_cgroup_up(&place));
        assert_string_equal(all, places[i].folder);
    }
}

static void without_hierarchy_or_group_there_is_none(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"", ""},
        {"", "0::/a\n"},
        {ROOT_MOUNT, "0::/a\n"},
        {SECOND, ""},
        {SECOND, "0:/a\n"},
        {SECOND, "0::\n"},
        {SECOND, "1:memory:/a\n"},
        {"30 20 0:26 / /sys/fs/cgroup rw shared:9\n", "0::/a\n"},
        {"30 20 0:26 / /sys/fs/cgroup", "0::/a\n"},
        {"30  0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/a\n"},
        {"30 20 0:26 / /c rw - cgroup cgroup rw,cpuacct\n", "1:cpu:/a\n"},
        {"30 20 0:26 / /c rw - cgroup cgroup\n", "1:cpu:/a\n"},
        {"30 20 0:26 / /c rw -\nx - cgroup2", "0::/a\n"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sh_cgroup place = {.version = 7};
        if (sh_cgroup_find(&place, texts[i][0], texts[i][1], "cpu") || place.version != 7)
            fail_msg("texts %zu gave %s", i, place.folder);
    }
}

static void a_path_that_is_too_long_is_none(void **state)
{
    (void)state;
    static char cgroup[2 * SH_CGROUP_PATH_BYTES] = "0::/";
    memset(cgroup + 4, 'a', SH_CGROUP_PATH_BYTES);
    sh_cgroup place;
    assert_false(sh_cgroup_find(&place, SECOND, cgroup, "cpu"));
    const size_t room = SH_CGROUP_PATH_BYTES - 1 - strlen("/sys/fs/cgroup/");
    cgroup[4 + room] = '\0';
    assert_true(sh_cgroup_find(&place, SECOND, cgroup, "cpu"));
    assert_int_equal(strlen(place.folder), SH_CGROUP_PATH_BYTES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_group_and_those_above),
        cmocka_unit_test(without_hierarchy_or_group_there_is_none),
        cmocka_unit_test(a_path_that_is_too_long_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
