/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/figure_sources.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "monitor/interfaces.h"
#include "monitor/numbers.h"

#define TEXT_BYTES 8192
#define INTERFACES_BYTES 32768 /* for 250 interfaces */

enum { STAT, MEMINFO, STATUS, IO, INTERFACES, LOAD };

static const char *const names[SH_PROC_PROBES] = {
    [STAT] = "/proc/stat",  [MEMINFO] = "/proc/meminfo",         [STATUS] = "/proc/self/status",
    [IO] = "/proc/self/io", [INTERFACES] = "/proc/self/net/dev", [LOAD] = "/proc/loadavg",
};

void sh_proc_open(sh_proc *proc, const char *root)
{
    sh_probe_open_each(proc->probes, root, names, SH_PROC_PROBES);
    proc->ticks = (double)sysconf(_SC_CLK_TCK);
}

/* Columns: user, nice, system, idle, iowait, irq, softirq, and more. Time that the hypervisor gave
 * to other machines (steal) is not busy time. User includes guests' time. */
static double machine_ticks(const char *line)
{
    enum { IDLE = 3, IOWAIT, SOFTIRQ = 6 };
    double busy = 0;
    if (strncmp(line, "cpu ", 4) != 0)
        return NAN;
    line += 4;
    for (int i = 0; i <= SOFTIRQ; i++) {
        const double ticks = sh_numbers_next(&line);
        if (i != IDLE && i != IOWAIT)
            busy += ticks;
    }
    return busy;
}

void sh_proc_read(sh_proc *proc, sh_sample *sample)
{
    char text[TEXT_BYTES], interfaces[INTERFACES_BYTES];
    double *figures = sample->figures;
    figures[SH_FIGURE_cpu_process_seconds] = sh_process_cpu_seconds();
    if (sh_probe_line(&proc->probes[STAT], text, sizeof text))
        figures[SH_FIGURE_cpu_machine_seconds] = machine_ticks(text) / proc->ticks;
    if (sh_probe_text(&proc->probes[IO], text, sizeof text)) {
        figures[SH_FIGURE_disk_read_bytes] = sh_numbers_field(text, "read_bytes:");
        figures[SH_FIGURE_disk_written_bytes] = sh_numbers_field(text, "write_bytes:");
    }
    if (sh_probe_line(&proc->probes[LOAD], text, sizeof text)) {
        const char *at = text;
        figures[SH_FIGURE_load_1m] = sh_numbers_next(&at);
    }
    if (sh_probe_text(&proc->probes[STATUS], text, sizeof text)) {
        figures[SH_FIGURE_memory_resident_bytes] = 1024 * sh_numbers_field(text, "VmRSS:");
        figures[SH_FIGURE_memory_peak_bytes] = 1024 * sh_numbers_field(text, "VmHWM:");
    }
    if (sh_probe_text(&proc->probes[MEMINFO], text, sizeof text)) {
        figures[SH_FIGURE_memory_available_bytes] = 1024 * sh_numbers_field(text, "MemAvailable:");
        const double swap = sh_numbers_field(text, "SwapTotal:");
        if (swap > 0) /* else there is no swap */
            figures[SH_FIGURE_swap_used_bytes] =
                1024 * (swap - sh_numbers_field(text, "SwapFree:"));
    }
    sh_interfaces sums;
    if (sh_probe_text(&proc->probes[INTERFACES], interfaces, sizeof interfaces) &&
        sh_interfaces_sum(&sums, interfaces)) {
        figures[SH_FIGURE_interface_sent_bytes] = sums.sent_bytes;
        figures[SH_FIGURE_interface_received_bytes] = sums.received_bytes;
        figures[SH_FIGURE_interface_sent_packets] = sums.sent_packets;
        figures[SH_FIGURE_interface_received_packets] = sums.received_packets;
    }
}

void sh_proc_close(sh_proc *proc)
{
    sh_probe_close_each(proc->probes, SH_PROC_PROBES);
}
