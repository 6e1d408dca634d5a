# SPDX-License-Identifier: Apache-2.0
"""A fourth device joins while three train: the longest gap of the others, its first grain, and what a restart costs.

For each model and each rate of the links, in one lab after the other: the join while training, the same join over
links without a limit (its start-up, as no state waits for the wire there), and the same change by stopping with a
checkpoint and starting again on four. Training time lost is what steps took beyond the median of those before.
"""

import elastic
import measure

CPU, RATES = 0.4, ("100Mbit", "1Gbit")
BITS = {"100Mbit": 100e6, "1Gbit": 1e9}
JOIN_AT, STEPS = 40, 100
GAP_TARGET, GRAIN_TARGET, LOST_TARGET, LOST_REACH = 1.5, 1.2, 6, 20


def add_options(parser):
    parser.add_argument("--models", default=",".join(elastic.MODELS), help="which, with commas between (all)")
    parser.add_argument("--rates", default=",".join(RATES), help="of the links, with commas between (all)")
    parser.add_argument("--steps", type=int, default=STEPS, help="of each training (%d)" % STEPS)


def three_and_one():
    return [elastic.device("d%d" % i, CPU) for i in range(3)] + [elastic.device("late", CPU, later=True)]


def joining(options, work, job, rate):
    """The record of a join at a step."""
    return elastic.run_lab(options, work, elastic.lab_file(
        job, three_and_one(), rate, [elastic.at("join", step=JOIN_AT, device="late")]))


def first_grain(record):
    """Of the device that joined: seconds from its start to the step that it first takes part in, to that step's
    end, and when that was; None where it took no part."""
    late = elastic.device_of(record, "late")
    if not late["runs"] or not late["steps"]:
        return None
    began, done = late["runs"][0]["began"], late["steps"][0][1]
    return elastic.step_before(record, done - 1e-4)[1] - began, done - began, done


def restarting(options, work, job, rate):
    """Training time that a restart on the four devices loses, and its record."""
    devices = ["d0", "d1", "d2", "late"]
    record = elastic.run_lab(options, work, elastic.lab_file(
        job, three_and_one(), rate, [elastic.at("restart", step=JOIN_AT, devices=devices)]))
    gaps, event = elastic.Gaps(record), elastic.happened(record, "restart")
    median = gaps.median(event["at"])
    return gaps.lost(event["at"], record["lab"]["seconds"], median), record


def one(options, result, work, model, rate):
    job = "%s --seed 1 --steps %d" % (elastic.MODELS[model], options.steps)
    name = "%s, %s" % (model, rate)
    alone = elastic.alone_hash(options, work, job)
    restart_lost, restarted = restarting(options, work, job, rate)
    record, unlimited = joining(options, work, job, rate), joining(options, work, job, None)
    gaps, event = elastic.Gaps(record), elastic.happened(record, "join")
    median = gaps.median(event["at"])
    grain, start_up = first_grain(record), first_grain(unlimited)
    details = {"median_step": median, "restart_lost": restart_lost, "state_bytes": record["state_bytes"],
               "restart_hash": elastic.hash_text(restarted, alone), "hash": elastic.hash_text(record, alone)}
    result.details[name] = details
    result.row(name + ": stop, checkpoint, restart loses", "%.2f s" % restart_lost, details["restart_hash"],
               "%.1f steps" % (restart_lost / median))
    if grain is None or start_up is None:
        result.row(name + ": joins while others train", "took no part: %s" % elastic.device_of(record, "late")["runs"],
                   details["hash"], target="takes part", met=False)
        return
    end = grain[2] + 10 * median
    longest, lost = gaps.longest(event["at"], end), gaps.lost(event["at"], end, median)
    wire = record["state_bytes"] * 8 / (BITS[rate] * elastic.PAYLOAD)
    details.update(longest_gap=longest, lost=lost, first_grain=grain, start_up=start_up, wire=wire)
    result.row(name + ": longest gap / median step", "%.0f ms" % (1e3 * longest), details["hash"],
               "%.2f" % (longest / median), "<= %.1f" % GAP_TARGET, longest <= GAP_TARGET * median)
    result.row(name + ": joiner's first grain", "%.2f s (its step %.2f s)" % grain[:2],
               "wire %.2f s, start-up %.2f s" % (wire, start_up[0]),
               "%.2f of the wire" % (max(grain[0] - start_up[0], 0) / wire), "<= %.1f" % GRAIN_TARGET,
               grain[0] <= GRAIN_TARGET * wire + start_up[0])
    result.row(name + ": training time lost", "%.3f s" % lost, "restart %.2f s" % restart_lost,
               "%.1f times less" % (restart_lost / max(lost, 1e-3)), ">= %d (reach %d)" % (LOST_TARGET, LOST_REACH),
               restart_lost >= LOST_TARGET * lost)


def benchmark(options, result):
    elastic.need_lab()
    with measure.folder() as work:
        for model in options.models.split(","):
            for rate in options.rates.split(","):
                one(options, result, work, model, rate)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
