/* SPDX-License-Identifier: Apache-2.0 */
/* Compares figures of the test machine with other ways to measure them, within 2 %. */
#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/scratch.h"
#include "monitor/cgroup.h"
#include "monitor/sampler.h"

#define TOLERANCE 0.02
#define TMPFS 0x01021994 /* statfs(2) */

static void assert_near(const char *what, double found, double expected)
{
    if (!(fabs(found - expected) <= TOLERANCE * expected))
        fail_msg("%s: %.0f, another way %.0f", what, found, expected);
}

static void take(sh_sampler **sampler, sh_sample *sample)
{
    if (*sampler == NULL)
        assert_ok(sh_sampler_open(sampler, NULL));
    sh_sampler_take(*sampler, sample);
}

static double grown(const sh_sample *before, const sh_sample *after, sh_figure figure)
{
    return after->figures[figure] - before->figures[figure];
}

static double used_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void work(double seconds)
{
    const double until = used_seconds() + seconds;
    while (used_seconds() < until)
        ;
}

static void processor_time_is_what_getrusage_says(void **state)
{
    (void)state;
    sh_sampler *sampler = NULL;
    sh_sample before, after;
    take(&sampler, &before); /* opens it */
    const double earlier = used_seconds();
    take(&sampler, &before);
    const double start = used_seconds();
    work(0.1);
    const double end = used_seconds();
    take(&sampler, &after);
    const double later = used_seconds();
    const double used = grown(&before, &after, SH_FIGURE_cpu_process_seconds);
    if (used < (1 - TOLERANCE) * (end - start) || used > (1 + TOLERANCE) * (later - earlier))
        fail_msg("%.6f s of processor time, other readings %.6f to %.6f", used, end - start,
                 later - earlier);
    sh_sampler_close(sampler);
}

/* The columns are those of proc(5). */
static double cores_busy_seconds(void)
{
    char line[512];
    double ticks = 0;
    FILE *file = fopen("/proc/stat", "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        double user, nice, system, irq, softirq;
        if (isdigit((unsigned char)line[3]) && sscanf(line, "cpu%*d %lf %lf %lf %*s %*s %lf %lf",
                                                      &user, &nice, &system, &irq, &softirq) == 5)
            ticks += user + nice + system + irq + softirq;
    }
    fclose(file);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

static void the_machines_time_is_that_of_its_cores(void **state)
{
    (void)state;
    sh_sampler *sampler = NULL;
    sh_sample sample;
    take(&sampler, &sample);
    assert_near("seconds of all cores", sample.figures[SH_FIGURE_cpu_machine_seconds],
                cores_busy_seconds());
    sh_sampler_close(sampler);
}

static double field_of(const char *path, const char *name)
{
    char line[256];
    double number = NAN;
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) {
            number = strtod(line + strlen(name), NULL);
            break;
        }
    if (file != NULL)
        fclose(file);
    return number;
}

/* smaps_rollup counts pages exactly. */
static void memory_is_what_the_pages_add_up_to(void **state)
{
    (void)state;
    const size_t bytes = (size_t)64 << 20;
    sh_sampler *sampler = NULL;
    sh_sample before, full, after;
    void *pages;
    take(&sampler, &before);
    assert_ok(sh_pages_new(&pages, bytes, "a test"));
    memset(pages, 1, bytes);
    take(&sampler, &full);
    const double exact = 1024 * field_of("/proc/self/smaps_rollup", "Rss:");
    if (!isnan(exact))
        assert_near("resident bytes", full.figures[SH_FIGURE_memory_resident_bytes], exact);
    sh_pages_free(pages, bytes);
    take(&sampler, &after);
    assert_near("bytes that came", grown(&before, &full, SH_FIGURE_memory_resident_bytes),
                (double)bytes);
    assert_near("bytes that went", -grown(&full, &after, SH_FIGURE_memory_resident_bytes),
                (double)bytes);
    assert_near("peak bytes", after.figures[SH_FIGURE_memory_peak_bytes],
                full.figures[SH_FIGURE_memory_resident_bytes]);
    sh_sampler_close(sampler);
}

/* Received bytes, packets, sent bytes, packets of `ip -s link`. False without the command. */
static bool ip_link(double sums[4])
{
    char line[512];
    bool loopback = false;
    int down = 0; /* lines below RX or TX */
    double *into = NULL;
    FILE *pipe = popen("ip -s link 2>/dev/null", "r"); /* NOLINT(cert-env33-c): in a test */
    assert_non_null(pipe);
    memset(sums, 0, 4 * sizeof *sums);
    while (fgets(line, sizeof line, pipe) != NULL) {
        double bytes, packets;
        if (isdigit((unsigned char)line[0]))
            loopback = strstr(line, ": lo:") != NULL;
        else if (strstr(line, " RX:") != NULL || strstr(line, " TX:") != NULL) {
            into = strstr(line, " RX:") != NULL ? sums : sums + 2;
            down = 0;
        } else if (into != NULL && ++down == 1 && !loopback &&
                   sscanf(line, " %lf %lf", &bytes, &packets) == 2) {
            into[0] += bytes;
            into[1] += packets;
        }
    }
    return pclose(pipe) == 0;
}

/* Other programs may use the network. */
static void interfaces_carry_what_ip_says(void **state)
{
    (void)state;
    static const sh_figure figures[4] = {
        SH_FIGURE_interface_received_bytes, SH_FIGURE_interface_received_packets,
        SH_FIGURE_interface_sent_bytes, SH_FIGURE_interface_sent_packets};
    double before[4], after[4];
    sh_sampler *sampler = NULL;
    sh_sample sample;
    const bool had = ip_link(before);
    take(&sampler, &sample);
    sh_sampler_close(sampler);
    if (!had || !ip_link(after) || isnan(sample.figures[figures[0]]))
        skip_because("no command ip (iproute2), or no interface but the loopback");
    for (int i = 0; i < 4; i++) {
        const double found = sample.figures[figures[i]];
        if (found < (1 - TOLERANCE) * before[i] || found > (1 + TOLERANCE) * after[i])
            fail_msg("%s: %.0f, of ip %.0f to %.0f", sh_figure_name(figures[i]), found, before[i],
                     after[i]);
    }
}

static void write_and_sync(const char *path, size_t bytes)
{
    static char block[1 << 20];
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    memset(block, 'x', sizeof block);
    for (size_t done = 0; done < bytes; done += sizeof block)
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    assert_int_equal(fsync(fd), 0);
    close(fd);
}

static void the_disk_gets_what_is_written(void **state)
{
    (void)state;
    const size_t bytes = (size_t)8 << 20;
    char folder[SCRATCH_BYTES], path[SCRATCH_BYTES + 16];
    struct statfs about;
    sh_sampler *sampler = NULL;
    sh_sample before, after;
    scratch_make(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    take(&sampler, &before);
    write_and_sync(path, bytes);
    take(&sampler, &after);
    sh_sampler_close(sampler);
    assert_int_equal(statfs(folder, &about), 0);
    scratch_remove(folder);
    if (about.f_type == TMPFS || isnan(after.figures[SH_FIGURE_disk_written_bytes]))
        skip_because("nothing here counts what is written to a disk");
    assert_near("bytes written", grown(&before, &after, SH_FIGURE_disk_written_bytes),
                (double)bytes);
}

/* ---- a quota ---- */

typedef struct group {
    char folder[SH_CGROUP_PATH_BYTES + 64];
    int version;
} group;

static bool group_write(const group *g, const char *name, const char *text)
{
    char path[sizeof g->folder + 64];
    snprintf(path, sizeof path, "%s/%s", g->folder, name);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return written;
}

static void read_file(char *text, size_t bytes, const char *path)
{
    FILE *file = fopen(path, "re");
    const size_t length = file == NULL ? 0 : fread(text, 1, bytes - 1, file);
    text[length] = '\0';
    if (file != NULL)
        fclose(file);
}

/* The quota is 1 ms per 10 ms. False if that is not possible. */
static bool group_make(group *g)
{
    static char mounts[65536], groups[8192];
    sh_cgroup place;
    read_file(mounts, sizeof mounts, "/proc/self/mountinfo");
    read_file(groups, sizeof groups, "/proc/self/cgroup");
    if (!sh_cgroup_find(&place, mounts, groups, "cpu"))
        return false;
    g->version = place.version;
    snprintf(g->folder, sizeof g->folder, "%s/shoal-test-monitor-%d", place.folder, (int)getpid());
    if (mkdir(g->folder, 0700) != 0)
        return false;
    if (g->version == 2 ? group_write(g, "cpu.max", "1000 10000")
                        : group_write(g, "cpu.cfs_period_us", "10000") &&
                              group_write(g, "cpu.cfs_quota_us", "1000"))
        return true;
    rmdir(g->folder);
    return false;
}

static double group_throttled_seconds(const group *g)
{
    char path[sizeof g->folder + 64];
    snprintf(path, sizeof path, "%s/cpu.stat", g->folder);
    return g->version == 2 ? 1e-6 * field_of(path, "throttled_usec ")
                           : 1e-9 * field_of(path, "throttled_time ");
}

/* Throttled time by the sampler, by the group's own accounting between and around the samples;
 * elapsed time. */
typedef struct findings {
    double throttled, accounted_within, accounted_around, cpu, wall;
} findings;

static void work_in(const group *g, int report)
{
    sh_sampler *sampler = NULL;
    sh_sample before, after;
    double accounted[4];
    if (!group_write(g, "cgroup.procs", "0"))
        _exit(1);
    accounted[0] = group_throttled_seconds(g);
    take(&sampler, &before);
    accounted[1] = group_throttled_seconds(g);
    work(0.05);
    accounted[2] = group_throttled_seconds(g);
    take(&sampler, &after);
    accounted[3] = group_throttled_seconds(g);
    const findings found = {
        .throttled = grown(&before, &after, SH_FIGURE_cpu_throttled_seconds),
        .accounted_within = accounted[2] - accounted[1],
        .accounted_around = accounted[3] - accounted[0],
        .cpu = grown(&before, &after, SH_FIGURE_cpu_process_seconds),
        .wall = 1e-9 * (double)(after.at_ns - before.at_ns),
    };
    _exit(write(report, &found, sizeof found) == sizeof found ? 0 : 2);
}

static void a_quota_shows_as_throttled_time(void **state)
{
    (void)state;
    group g;
    int ends[2], status;
    findings found;
    sh_sampler *sampler = NULL;
    sh_sample before, after; /* of the parent groups */
    if (!group_make(&g))
        skip_because("no control group with a quota can be made here");
    take(&sampler, &before);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0)
        work_in(&g, ends[1]);
    close(ends[1]);
    const ssize_t got = read(ends[0], &found, sizeof found);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    take(&sampler, &after);
    sh_sampler_close(sampler);
    const double above = grown(&before, &after, SH_FIGURE_cpu_throttled_seconds);
    rmdir(g.folder);
    assert_int_equal(status, 0);
    assert_int_equal(got, sizeof found);
    assert_true(found.throttled >= found.accounted_within * (1 - TOLERANCE));
    assert_true(found.throttled <= (found.accounted_around + above) * (1 + TOLERANCE));
    assert_true(found.throttled <= (found.wall - found.cpu) * (1 + TOLERANCE) + 0.01);
    assert_true(found.throttled >= 0.05); /* 0.45 s if the machine is idle */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processor_time_is_what_getrusage_says),
        cmocka_unit_test(the_machines_time_is_that_of_its_cores),
        cmocka_unit_test(memory_is_what_the_pages_add_up_to),
        cmocka_unit_test(interfaces_carry_what_ip_says),
        cmocka_unit_test(the_disk_gets_what_is_written),
        cmocka_unit_test(a_quota_shows_as_throttled_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
