# SPDX-License-Identifier: Apache-2.0
"""What the monitor costs, in per cent of a core: its thread at 10 Hz, all figures of this machine.

bench_monitor_cost has nothing but the monitor, so its processor time is the monitor's: opening, sampling, handing
on. Between samples others have the caches, as beside a training; samples in a row are the same work warm.
"""

import json
import os

import measure

SAMPLES, SECONDS = 1000, 10
REPEATS = 3
LIMIT_PERCENT = 1.0


def benchmark(options, result):
    program = os.path.join(options.build, "bench", "bench_monitor_cost")
    if not os.access(program, os.X_OK):
        raise measure.Skip("%s is not there: cmake --preset release -DSHOAL_BENCH=ON, and build" %
                           program)
    reports = [json.loads(measure.run([program, str(SAMPLES), str(SECONDS)]).out)
               for _ in range(REPEATS)]
    result.details = {"reports": reports}
    shares = [100 * report["cpu_seconds"] / report["seconds"] for report in reports]
    each = [1e6 * report["cpu_seconds"] / report["samples"] for report in reports]
    row = [1e6 * report["cpu_seconds_in_a_row"] for report in reports]
    result.row("monitor at 10 Hz, of a core", "%.2f %% (%.2f to %.2f)" % measure.spread(shares),
               target="< %.0f %%" % LIMIT_PERCENT, met=max(shares) < LIMIT_PERCENT)
    result.row("  a sample; in a row", "%.0f us; %.0f us" %
               (measure.spread(each)[0], measure.spread(row)[0]))
    result.row("  figures that this machine has", "%d" % reports[0]["figures"])


if __name__ == "__main__":
    measure.main(__doc__, benchmark)
