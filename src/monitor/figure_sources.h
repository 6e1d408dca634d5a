/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of a sample's figures. A source is one file, a type here, and an entry in one of the
 * two lists. `root` holds proc/ and sys/.
 *
 *     sh_proc_open(&proc, root);       // `root` holds proc/ and sys/
 *     sh_proc_read(&proc, &sample);    // sets the figures of this source
 *     sh_proc_close(&proc);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_MONITOR_FIGURE_SOURCES_H
#define SHOAL_MONITOR_FIGURE_SOURCES_H

#include "monitor/probe.h"
#include "monitor/sample.h"

/* Sources are read in this order: quota lowers a figure that proc has set, and rapl and battery set
 * the power only if it is not available yet. */
#define SH_SOURCES(X) X(proc) X(quota) X(frequency) X(rails) X(rapl)

/* Slow sources wait for firmware or a bus. */
#define SH_SLOW_SOURCES(X) X(thermal) X(throttling) X(battery)

/* proc(5), and the interfaces of the process's network namespace. */
#define SH_PROC_PROBES 6

typedef struct sh_proc {
    sh_probe probes[SH_PROC_PROBES];
    double ticks; /* per second, in the kernel's accounting */
} sh_proc;

/* Quotas and memory limits of this process's control group and its ancestors, looked up once, when
 * the source is opened. */
#define SH_QUOTA_LEVELS_MAX 8 /* the nearest groups */

typedef struct sh_quota_memory {
    sh_probe limit, used, stat;
    const char *cache; /* field of `stat` with the cache that is reclaimable at once */
} sh_quota_memory;

typedef struct sh_quota {
    size_t cpu_levels, memory_levels;
    sh_probe cpu[SH_QUOTA_LEVELS_MAX];
    sh_quota_memory memory[SH_QUOTA_LEVELS_MAX];
    const char *throttled; /* field of `cpu` */
    double unit;           /* of that field, in seconds */
} sh_quota;

/* The kernel's cpufreq. */
typedef struct sh_frequency {
    sh_probes policies;          /* sets of cores with a common frequency; at most SH_PROBES_MAX */
    double cores[SH_PROBES_MAX]; /* of each policy */
} sh_frequency;

/*
 * The power from monitoring chips: INA3221 of a Jetson, through the kernel's hwmon or the
 * industrial I/O interface of older systems, or an INA2xx attached to a Raspberry Pi. They do not
 * measure energy.
 */
#define SH_RAILS_MAX 16

typedef struct sh_rail {
    sh_probe power; /* not open: the chip gives voltage and current */
    sh_probe voltage, current;
    double unit; /* of the product or the power, in watts */
} sh_rail;

/* Their powers add up to the board's. `whole`: one rail feeds all others. */
typedef struct sh_rails {
    size_t count;
    sh_rail items[SH_RAILS_MAX];
    bool whole;
} sh_rails;

/*
 * Energy counters of x86 processors (running average power limit), through the kernel's powercap.
 * Only root may read them. Two readings must be less than one wrap of the counters apart: half an
 * hour at 100 W. Power is the mean since the previous reading.
 */
#define SH_RAPL_PACKAGES_MAX 8

typedef struct sh_rapl {
    size_t count;
    struct sh_rapl_package {
        sh_probe energy;
        double range;       /* where the counter wraps, in microjoules */
        double last, total; /* microjoules; last is NaN at first */
    } packages[SH_RAPL_PACKAGES_MAX];
    double joules; /* at the last reading, at at_ns; NaN: none */
    uint64_t at_ns;
} sh_rapl;

typedef struct sh_thermal {
    sh_probes sensors;
} sh_thermal;

/* Throttling for heat or voltage, as a Raspberry Pi's firmware, the kernel's cooling devices, an
 * x86 processor, or a Jetson's over-current protection report it. */
typedef struct sh_throttling {
    sh_probe firmware; /* get_throttled */
    sh_probes levels;  /* above zero: throttled */
    sh_probes events;  /* counters; higher than at the last reading: throttled */
    double last;       /* last sum of the events; NaN: not known */
} sh_throttling;

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
