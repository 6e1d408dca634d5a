/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What proc(5) says of this process and of the machine: processor, memory, disk, load, and the
 * interfaces of the process's network namespace.
 *
 *     sh_proc_open(&proc, root);
 *     sh_proc_read(&proc, &sample);        // sets the figures that it knows
 *     sh_proc_close(&proc);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_MONITOR_PROC_H
#define SHOAL_MONITOR_PROC_H

#include "monitor/probe.h"
#include "monitor/sample.h"

enum {
    SH_PROC_STAT,
    SH_PROC_MEMINFO,
    SH_PROC_STATUS,
    SH_PROC_IO,
    SH_PROC_INTERFACES,
    SH_PROC_LOAD,
    SH_PROC_PROBES
};

typedef struct sh_proc {
    sh_probe probes[SH_PROC_PROBES];
    double ticks; /* a second, of the kernel's accounting */
} sh_proc;

void sh_proc_open(sh_proc *proc, const char *root);
void sh_proc_read(const sh_proc *proc, sh_sample *sample);
void sh_proc_close(sh_proc *proc);

#endif
