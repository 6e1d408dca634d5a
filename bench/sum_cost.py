# SPDX-License-Identifier: Apache-2.0
"""What the exact sum of gradients costs, in per cent of a step of LeNet (batch 64, grains of 16).

bench_sum_cost takes a step apart, on the same lanes and the same grains: gradients dropped, added
as floats, added exactly. The sum's whole cost is what adding takes, and clearing the accumulator,
and the verdict. Any trainer that adds grains up has to clear and add; what being exact costs is the
difference to floats.
"""

import json
import os

import measure

ROUNDS = 400
REPEATS = 5


def shares(report):
    """Parts of a step as fractions of it."""
    step = sum(report[part + "_ns"]
               for part in ("prepare", "clear", "exact", "verdict", "apply"))
    adding = report["exact_ns"] - report["dropped_ns"]
    floats = report["floats_ns"] - report["dropped_ns"] + report["clear_floats_ns"]
    whole = adding + report["clear_ns"] + report["verdict_ns"]
    return {"step_ns": step, "whole": whole / step, "adding": adding / step,
            "clear": report["clear_ns"] / step, "verdict": report["verdict_ns"] / step,
            "apply": report["apply_ns"] / step, "floats": floats / step,
            "exactness": (whole - floats) / step}


def benchmark(options, result):
    program = os.path.join(options.build, "bench", "bench_sum_cost")
    if not os.access(program, os.X_OK):
        raise measure.Skip("%s is not there: cmake --preset release -DSHOAL_BENCH=ON, and build" %
                           program)
    command = [program, str(options.threads), str(ROUNDS)]
    reports = [json.loads(measure.undisturbed(lambda: measure.run(command)).out)
               for _ in range(REPEATS)]
    each = [shares(report) for report in reports]
    result.details = {"reports": reports, "shares": each}

    def percent(name):
        return "%.1f %% (%.1f to %.1f)" % measure.spread([100 * share[name] for share in each])

    step_ms = measure.spread([share["step_ns"] / 1e6 for share in each])[0]
    result.row("exact sum, of a step of LeNet", percent("whole"), "floats " + percent("floats"),
               percent("exactness") + " more")
    result.row("  adding; clearing; verdict", "; ".join(
        "%.1f %%" % measure.spread([100 * share[name] for share in each])[0]
        for name in ("adding", "clear", "verdict")))
    result.row("  update of the weights", percent("apply"))
    result.details["step_ms"] = step_ms


if __name__ == "__main__":
    measure.main(__doc__, benchmark)
