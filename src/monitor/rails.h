/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The power that measuring chips on the board see now: INA3221 of a Jetson, through the kernel's
 * hwmon or the industrial input of older systems; INA2xx beside a Raspberry Pi.
 *
 *     sh_rails_open(&rails, root);
 *     sh_rails_read(&rails, &sample);      // sets the power where it is known
 *     sh_rails_close(&rails);
 *
 * Threads: caller locks. They measure power alone: of energy they say nothing.
 */
#ifndef SHOAL_MONITOR_RAILS_H
#define SHOAL_MONITOR_RAILS_H

#include "monitor/probe.h"
#include "monitor/sample.h"

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

void sh_rails_open(sh_rails *rails, const char *root);
void sh_rails_read(const sh_rails *rails, sh_sample *sample);
void sh_rails_close(sh_rails *rails);

#endif
