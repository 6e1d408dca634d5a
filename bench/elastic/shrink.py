# SPDX-License-Identifier: Apache-2.0
"""A device of four leaves, is killed, is frozen, loses its cable: how soon it is found, and what the others lose.

Found is the run's log against the lab's own moment, several times each; the log has milliseconds. No false alarm:
eight devices at a fifth of a core each, fully loaded, for ten minutes (--quiet-minutes).
"""

import statistics

import elastic
import measure

CPU, EIGHTH = 0.4, 0.2
RATE = "1Gbit"
WHEN, STEPS = 60, 140
LIMIT = 40  # seconds of a lab that takes about ten: a job that hangs is a job that does not go on
GAP_TARGET = 1.5
FOUND_TARGET = {"kill": 0.010, "freeze": 0.5, "unplug": 0.5}


def add_options(parser):
    parser.add_argument("--runs", type=int, default=5, help="of each kind of death (5)")
    parser.add_argument("--quiet-minutes", type=float, default=10, help="of eight devices without a fault (10)")
    parser.add_argument("--model", default="LeNet", help="which (LeNet)")


def shrinking(options, work, job, action, status=(0,)):
    devices = [elastic.device("d%d" % i, CPU) for i in range(4)]
    return elastic.run_lab(options, work, elastic.lab_file(
        job, devices, RATE, [elastic.at(action, step=WHEN, device="d3")]), limit=LIMIT, status=status)


def leaving(options, result, work, job, alone):
    record = shrinking(options, work, job, "leave", None)
    gaps, event = elastic.Gaps(record), elastic.happened(record, "leave")
    median = gaps.median(event["at"])
    longest = gaps.longest(event["at"], event["at"] + 20 * median)
    went_on = record["steps"][-1][0] == options.steps
    summary = record["summary"] or {}
    result.details["leave"] = {"median": median, "longest": longest, "redone": summary.get("redone_steps")}
    result.row("leaves: longest gap / median step", "%.0f ms" % (1e3 * longest), elastic.hash_text(record, alone),
               "%.2f" % (longest / median), "<= %.1f" % GAP_TARGET, went_on and longest <= GAP_TARGET * median)
    result.row("leaves: the job goes on, each step once", "%d of %d steps" % (record["steps"][-1][0], options.steps),
               elastic.hash_text(record, alone), target="all", met=went_on and elastic.grains_once(record))


def dying(options, result, work, job, alone, action):
    """One kind of death, several times: when it was found, and the gap that it cost."""
    found, costs, hashes, ended = [], [], set(), 0
    for _ in range(options.runs):
        record = shrinking(options, work, job, action, None)
        gaps, event = elastic.Gaps(record), elastic.happened(record, action, "d3")
        line = elastic.logged(record, "device.gone", event["at"])
        found.append(line["at"] - event["at"] if line else float("inf"))
        median = gaps.median(event["at"])
        costs.append(gaps.longest(event["at"], event["at"] + 5) / median)
        went_on = record["steps"][-1][0] == options.steps
        ended += not went_on
        hashes.add(elastic.hash_text(record, alone) if went_on else "the job ended")
    result.details[action] = {"found": found, "longest_gap_in_medians": costs}
    missed = found.count(float("inf"))
    result.row("%s: found after" % action, "never, in %d of %d" % (missed, len(found)) if missed else
               "%.1f ms (%.1f to %.1f)" % tuple(1e3 * each for each in measure.spread(found)),
               ", ".join(sorted(hashes)), "", "<= %g ms" % (1e3 * FOUND_TARGET[action]),
               max(found) <= FOUND_TARGET[action])
    result.row("%s: the others go on, longest gap / median step" % action, "%d of %d" % (
        options.runs - ended, options.runs), "", "%.1f" % statistics.median(costs), "all", ended == 0)


def quiet(options, result, work):
    """Minutes of full load in which nobody may be thought dead."""
    seconds = 60 * options.quiet_minutes
    devices = [elastic.device("d%d" % i, EIGHTH) for i in range(8)]
    job = elastic.MODELS[options.model] + " --seed 1 --epochs 1000"
    record = elastic.run_lab(options, work, elastic.lab_file(
        job, devices, RATE, [elastic.at("leave", time=seconds, device="d0")]), limit=seconds + 120, status=(0, 130))
    alarms = [line for line in record["log"] if line["id"] == "device.gone" and
              line["at"] < record["training"] + seconds]
    result.details["quiet"] = {"alarms": alarms, "steps": len(record["steps"])}
    result.row("no fault: eight devices at %g, %g min" % (EIGHTH, options.quiet_minutes),
               "%d false alarms" % len(alarms), "%d steps" % len(record["steps"]), "", "0", not alarms)


def benchmark(options, result):
    elastic.need_lab()
    options.steps = STEPS
    job = "%s --seed 1 --steps %d" % (elastic.MODELS[options.model], STEPS)
    with measure.folder() as work:
        alone = elastic.alone_hash(options, work, job)
        leaving(options, result, work, job, alone)
        for action in FOUND_TARGET:
            dying(options, result, work, job, alone, action)
        if options.quiet_minutes > 0:
            quiet(options, result, work)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
