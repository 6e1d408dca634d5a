# SPDX-License-Identifier: Apache-2.0
"""A fourth device joins while three train: the longest gap of the others, its first grain, and what a restart costs.

For each model and each rate of the links there is one lab: a device joins three that train, and leaves again, as
often as --joins says; then the same change by stopping with a checkpoint and starting again on four. Training time
lost is what the steps took beyond the mean of as many devices to which nothing happened.

The first grain's time is from the process's start, in parts: start-up until the coordinator knows that the device is
ready; the replica until all of it is there; the rest of the step that is under way then, which is the design's: devices
take part in whole steps; the steps after it that begin without the device, which it was announced too late for; and the
sums that its replica lacks when its step has begun. What is not shown is the grain itself, some milliseconds.
"""

import statistics

import elastic
import measure

RATES = ("100Mbit", "1Gbit")
BITS = {"100Mbit": 100e6, "1Gbit": 1e9}
CALM = {"LeNet": 7, "ResNet-20": 7, "MobileNetV2": 5}  # steps between two changes
AFTER = 3  # steps that a change may cost something, once it has come about
GAP_TARGET, GRAIN_TARGET, LOST_TARGET, LOST_REACH = 1.5, 1.2, 6, 20


def add_options(parser):
    parser.add_argument("--models", default=",".join(elastic.MODELS), help="which, with commas between (all)")
    parser.add_argument("--rates", default=",".join(RATES), help="of the links, with commas between (all)")
    parser.add_argument("--joins", type=int, default=2, help="for each model and rate (2)")
    parser.add_argument("--quick", action="store_true", help="LeNet over 1 Gbit/s, one join: whether all of it works")


def plan(joins, calm):
    """What happens at which steps, and how many steps there are."""
    happenings, step = [], elastic.STARTING + calm
    for index in range(joins):
        late = "late%d" % index
        happenings.append(elastic.at("join", step=step, device=late))
        happenings.append(elastic.at("leave", step=step + 2 * calm, device=late))
        step += 3 * calm
    happenings.append(elastic.at("restart", step=step, devices=["d0", "d1", "d2", "late%d" % joins]))
    return happenings, step + calm + AFTER


def devices(joins):
    return [elastic.device("d%d" % i, elastic.CPU) for i in range(3)] + [
        elastic.device("late%d" % i, elastic.CPU, later=True) for i in range(joins + 1)]


class Join:
    """One device that joined, as the record has it; `at` None: it took no part."""

    def __init__(self, record, gaps, name):
        event, late = elastic.happened(record, "join", name), elastic.device_of(record, name)
        self.began = late["runs"][0]["began"]
        self.ready = elastic.logged(record, "device.ready", name)
        self.whole = elastic.logged(record, "device.whole", name)
        started = [each["at"] for each in late["events"] if each["event"] == "started"]
        self.at = started[0] if started and self.ready and self.whole else None
        if self.at is None:
            return
        self.view = max(line["at"] for line in record["log"]
                        if line["id"] == "device.view" and line["at"] <= self.at + 0.001)
        self.boundary = min([end for _, end, _ in record["steps"] if end >= self.whole] + [self.view])
        self.since, self.until = event["at"], gaps.after(self.at, AFTER)
        gaps.disturbed(self.since, self.until)
        left = elastic.happened(record, "leave", name)["at"]
        out = elastic.logged(record, "device.left", name) or left
        gaps.disturbed(left, gaps.after(out, AFTER))

    def parts(self):
        """Seconds of start-up, of the replica, of the step under way, of those missed, and of the sums."""
        there = max(self.view, self.whole)
        return (self.ready - self.began, self.whole - self.ready, max(0.0, self.boundary - self.whole),
                there - max(self.boundary, self.whole), self.at - there)


def restarted(record, gaps):
    """Training time that the restart cost."""
    since = elastic.happened(record, "restart")["at"]
    until = gaps.after(since, 1 + AFTER)
    gaps.disturbed(since, until)
    return since, until


def rows(result, name, record, gaps, joins, restart, hash_text):
    """The rows of one lab; what is shown is the middle of its joins."""
    wire = record["state_bytes"] * 8 / (BITS[name.split(", ")[1]] * elastic.PAYLOAD)
    median, calm = gaps.median(3), max(gaps.calm(3))
    longest = statistics.median(gaps.longest(each.since, each.until) for each in joins)
    lost = statistics.median(gaps.lost(each.since, each.until) for each in joins)
    noise = statistics.median(gaps.noise(each.since, each.until) for each in joins)
    restart_lost = gaps.lost(*restart)
    parts = [statistics.median(part) for part in zip(*(each.parts() for each in joins))]
    result.details[name] = {"median_step": median, "longest_calm": calm, "wire": wire, "restart_lost": restart_lost,
                            "noise": noise,
                            "state_bytes": record["state_bytes"], "weights_hash": record["summary"]["weights_hash"],
                            "joins": [{"parts": each.parts(), "longest_gap": gaps.longest(each.since, each.until),
                                       "lost": gaps.lost(each.since, each.until)} for each in joins]}
    result.row(name + ": longest gap / median step", "%.0f ms / %.0f ms" % (1e3 * longest, 1e3 * median), hash_text,
               "%.2f (calm: %.2f)" % (longest / median, calm / median), "<= %.1f" % GAP_TARGET,
               longest <= GAP_TARGET * median)
    result.row(name + ": replica / its bytes on the wire", "%.0f ms / %.0f ms" % (1e3 * parts[1], 1e3 * wire),
               hash_text, "%.2f" % (parts[1] / wire), "<= %.1f" % GRAIN_TARGET, parts[1] <= GRAIN_TARGET * wire)
    took = statistics.median(sum(each.parts()[1:]) for each in joins)
    waited = statistics.median(sum(each.parts()[2:]) for each in joins)
    result.row(name + ": first grain, less start-up / bytes on the wire",
               "%.0f ms start-up + %.0f replica + %.0f step under way + %.0f missed + %.0f sums" % tuple(
                   1e3 * part for part in parts),
               hash_text, "%.2f, waited %.2f steps" % (took / wire, waited / median),
               "<= %.1f" % GRAIN_TARGET, took <= GRAIN_TARGET * wire)
    less = statistics.median(sum(each.parts()[1:]) - each.parts()[2] for each in joins)
    result.row(name + ": the same, less the step under way", "%.0f ms / %.0f ms" % (1e3 * less, 1e3 * wire),
               hash_text, "%.2f, missed %d of %d" % (less / wire, sum(each.parts()[3] > 0.5 * median for each in joins),
                                                     len(joins)),
               "<= %.1f" % GRAIN_TARGET, less <= GRAIN_TARGET * wire)
    less = restart_lost / max(lost, noise)
    result.row(name + ": training time lost, by a restart / by a join",
               "%.2f s / %.3f s (noise %.3f s)" % (restart_lost, lost, noise), hash_text,
               "%s%.1f times less" % ("more than " if lost < noise else "", less),
               ">= %d (reach %d)" % (LOST_TARGET, LOST_REACH), restart_lost >= LOST_TARGET * lost)


def one(options, result, work, model, rate, alone):
    name = "%s, %s" % (model, rate)
    happenings, steps = plan(options.joins, CALM[model])
    job = "%s --seed 1 --steps %d" % (elastic.MODELS[model], steps)
    if model not in alone:
        alone[model] = elastic.alone_hash(options, work, job)
    record = elastic.run_lab(options, work, elastic.lab_file(job, devices(options.joins), rate, happenings))
    gaps = elastic.Gaps(record)
    joins = [Join(record, gaps, "late%d" % i) for i in range(options.joins)]
    restart = restarted(record, gaps)
    took_part = [each for each in joins if each.at is not None]
    hash_text = elastic.hash_text(record, alone[model])
    if len(took_part) < len(joins) or not elastic.is_right(record, alone[model]):
        result.row(name + ": all joined, and the weights are right", "%d of %d" % (len(took_part), len(joins)),
                   hash_text, target="all", met=False)
    if took_part and record["summary"] is not None:
        rows(result, name, record, gaps, took_part, restart, hash_text)


def benchmark(options, result):
    elastic.need_lab()
    alone = {}
    if options.quick:
        options.models, options.rates, options.joins = "LeNet", "1Gbit", 1
    with measure.folder() as work:
        for model in options.models.split(","):
            for rate in options.rates.split(","):
                one(options, result, work, model, rate, alone)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
