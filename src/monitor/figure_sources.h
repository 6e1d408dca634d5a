/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the figures of a sample come from. A source is one file, its type here, and its name in one
 * of the two lists; the sampler opens, reads and closes what the lists name:
 *
 *     sh_proc_open(&proc, root);       // `root` holds proc/ and sys/
 *     sh_proc_read(&proc, &sample);    // sets the figures that it knows
 *     sh_proc_close(&proc);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_MONITOR_FIGURE_SOURCES_H
#define SHOAL_MONITOR_FIGURE_SOURCES_H

#include "monitor/probe.h"
#include "monitor/sample.h"

/* Every source, in the order in which they are read: quota lowers a figure that proc has set, rapl
 * and battery set the power where it is not available yet. */
#define SH_SOURCES(X) X(proc) X(quota) X(frequency) X(rails) X(rapl)

/* Likewise; these wait for firmware or a bus. */
#define SH_SLOW_SOURCES(X) X(thermal) X(throttling) X(battery)

/* What proc(5) says of this process and of the machine: processor, memory, disk, load, and the
 * interfaces of the process's network namespace. */
#define SH_PROC_PROBES 6

typedef struct sh_proc {
    sh_probe probes[SH_PROC_PROBES];
    double ticks; /* a second, of the kernel's accounting */
} sh_proc;

/* What the control groups of this process (its own and those above it) keep from it: processor
 * time beyond a quota, memory beyond a limit. Version 1 or 2, whichever there is; the groups are
 * those of the moment of opening. */
#define SH_QUOTA_LEVELS_MAX 8 /* the process's own and the nearest above */

typedef struct sh_quota_memory {
    sh_probe limit, used, stat;
    const char *cache; /* the field of `stat` that counts what can be had back at once */
} sh_quota_memory;

typedef struct sh_quota {
    size_t cpu_levels, memory_levels;
    sh_probe cpu[SH_QUOTA_LEVELS_MAX];
    sh_quota_memory memory[SH_QUOTA_LEVELS_MAX];
    const char *throttled; /* the field of each `cpu` */
    double unit;           /* its unit, in seconds */
} sh_quota;

/* At which frequency the cores run now, by the kernel's cpufreq. */
typedef struct sh_frequency {
    sh_probes policies;          /* cores that change together; the first SH_PROBES_MAX */
    double cores[SH_PROBES_MAX]; /* of each */
} sh_frequency;

/*
 * The power that measuring chips on the board see now: INA3221 of a Jetson, through the kernel's
 * hwmon or the industrial input of older systems; INA2xx beside a Raspberry Pi. They measure power
 * alone: of energy they say nothing.
 */
#define SH_RAILS_MAX 16

typedef struct sh_rail {
    sh_probe power; /* or, where the chip does not multiply, the two below */
    sh_probe voltage, current;
    double unit; /* watts of one */
} sh_rail;

/* Those that add up to the board's power: one that feeds all others alone, if there is such. */
typedef struct sh_rails {
    size_t count;
    sh_rail items[SH_RAILS_MAX];
    bool whole;
} sh_rails;

/*
 * The energy that x86 processors count themselves (running average power limit), through the
 * kernel's powercap; only root may read it. Readings have to be less than a turn of the counters
 * apart: half an hour at 100 W. Power is the mean since the reading before.
 */
#define SH_RAPL_PACKAGES_MAX 8

typedef struct sh_rapl {
    size_t count;
    struct sh_rapl_package {
        sh_probe energy;
        double range;       /* of the counter, microjoules */
        double last, total; /* microjoules; last NaN: not read yet */
    } packages[SH_RAPL_PACKAGES_MAX];
    double joules; /* at the last reading, of the time below; NaN: none */
    uint64_t at_ns;
} sh_rapl;

/* How hot the processor or the board is: thermal zones, and sensors of x86 processors. */
typedef struct sh_thermal {
    sh_probes sensors;
} sh_thermal;

/* Whether the processor is held back for heat or voltage: by the firmware of a Raspberry Pi, by the
 * kernel's cooling, by an x86 processor itself, by the over-current guard of a Jetson. */
typedef struct sh_throttling {
    sh_probe firmware; /* get_throttled */
    sh_probes levels;  /* not zero: now */
    sh_probes events;  /* more than at the last reading: now */
    double last;       /* sum of the events; NaN: not known */
} sh_throttling;

/* How full the machine's batteries are (the mean), and what it draws from them. */
#define SH_BATTERY_CELLS_MAX 4
#define SH_BATTERY_PROBES 7

typedef struct sh_battery {
    size_t count;
    struct sh_battery_cell {
        sh_probe probes[SH_BATTERY_PROBES];
    } cells[SH_BATTERY_CELLS_MAX];
} sh_battery;

#define SH_SOURCE(noun)                                                                            \
    void sh_##noun##_open(sh_##noun *noun, const char *root);                                      \
    void sh_##noun##_read(sh_##noun *noun, sh_sample *sample);                                     \
    void sh_##noun##_close(sh_##noun *noun);
SH_SOURCES(SH_SOURCE)
SH_SLOW_SOURCES(SH_SOURCE)
#undef SH_SOURCE

#endif
