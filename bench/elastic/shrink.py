# SPDX-License-Identifier: Apache-2.0
"""A device of four leaves, is frozen, loses its cable; one of a device a processor is killed: how soon it is found, and
what the others lose.

Each befalls one training, one device after the other, each replaced by a fresh one that joins. Found is the run's log
against the lab's own moment; the log has milliseconds. No false alarm: eight devices at a fifth of a core each, fully
loaded, for ten minutes (--quiet-minutes 0 leaves it out).
"""

import os
import re
import statistics

import elastic
import measure

CREW = 4
EIGHTH = 0.2
RATE = "1Gbit"
MODEL = "lenet noise:1x28x28/10/1000000/64 --batch-size 1024 --grain 16"
GRAINS = 64  # of a step
CALM = 8  # steps between two changes
AFTER = 3
GAP_TARGET = 1.5
FOUND_TARGET = {"kill": 0.010, "freeze": 0.5, "unplug": 0.5}
LIMIT = 180  # seconds of a lab that takes about a minute: a job that hangs is a job that does not go on


def add_options(parser):
    parser.add_argument("--leaves", type=int, default=3,
                        help="announced (3); 0, and --runs 0: only the minutes without a fault")
    parser.add_argument("--runs", type=int, default=5, help="of each kind of death (5)")
    parser.add_argument("--quiet-minutes", type=float, default=10, help="of eight devices without a fault (10)")
    parser.add_argument("--quick", action="store_true",
                        help="one of each and no minutes without a fault: whether all of it works")


def kinds(options):
    return ["leave"] * options.leaves + [action for action in FOUND_TARGET for _ in range(options.runs)]


def plan(actions, first):
    """What happens at which steps, to device `first` and those after it, and how many steps there are."""
    happenings, step = [], elastic.STARTING + CALM
    for index, action in enumerate(actions):
        happenings.append(elastic.at(action, step=step, device="d%d" % (first + index)))
        if action in ("freeze", "unplug"):  # it does not come back to be in the way
            happenings.append(elastic.at("kill", step=step + CALM // 2, device="d%d" % (first + index)))
        happenings.append(elastic.at("join", step=step + CALM, device="d%d" % (first + index + 1)))
        step += 2 * CALM + AFTER
    return happenings, step


def shrinking(options, work, actions, crew, cpu):
    """One of a crew goes, the last that came, and another one comes, for each action."""
    happenings, steps = plan(actions, crew - 1)
    job = "%s --seed 1 --steps %d" % (MODEL, steps)
    alone = elastic.alone_hash(options, work, job)
    devices = [elastic.device("d%d" % i, cpu, later=i >= crew or None, lanes=1)
               for i in range(crew + len(actions))]
    record = elastic.run_lab(options, work, elastic.lab_file(job, devices, RATE, happenings), limit=LIMIT, status=None)
    return record, steps, elastic.hash_text(record, alone)


class Loss:
    """One device that left or was lost."""

    def __init__(self, record, gaps, action, name):
        event = elastic.happened(record, action, name)
        self.action, self.since = action, event["at"]
        noticed = elastic.logged(record, "device.left" if action == "leave" else "device.lost", name, self.since)
        self.found = noticed - self.since if noticed is not None else float("inf")
        self.until = gaps.after(noticed or self.since, AFTER)
        gaps.disturbed(self.since, self.until)


def joins_disturb(record, gaps):
    """Who joins in between is no matter here."""
    for each in record["happenings"]:
        if each["action"] == "join":
            joined = elastic.logged(record, "device.joined", each["device"], each["at"])
            gaps.disturbed(each["at"], gaps.after(joined or each["at"], AFTER))


def leaving(result, gaps, losses, crew, hash_text):
    left = [each for each in losses if each.action == "leave"]
    if not left:
        return
    median = gaps.median(crew)
    longest = [gaps.longest(each.since, each.until) for each in left]
    middle = statistics.median(longest)
    result.details["leave"] = {"median": median, "longest": longest, "found": [each.found for each in left]}
    result.row("leaves: longest gap / median step", "%.0f ms / %.0f ms" % (1e3 * middle, 1e3 * median), hash_text,
               "%.2f (calm: %.2f)" % (middle / median, max(gaps.calm(crew)) / median), "<= %.1f" % GAP_TARGET,
               middle <= GAP_TARGET * median)


def dying(result, gaps, losses, action, crew, hash_text):
    """One kind of death: when it was found, and the gap that it cost."""
    died = [each for each in losses if each.action == action]
    if not died:
        return
    found = [each.found for each in died]
    costs = [gaps.longest(each.since, each.until) / gaps.median(crew) for each in died]
    result.details[action] = {"found": found, "longest_gap_in_medians": costs}
    result.row("%s: found after" % action,
               "%.1f ms (%.1f to %.1f)" % tuple(1e3 * each for each in measure.spread(found)), hash_text, "",
               "<= %g ms" % (1e3 * FOUND_TARGET[action]), max(found) <= FOUND_TARGET[action])
    result.row("%s: longest gap / median step" % action, "%.2f s" % (statistics.median(costs) * gaps.median(crew)),
               hash_text, "%.2f" % statistics.median(costs))


def redoing(result, record, steps, losses, hash_text):
    """Steps once each, and the grains that were computed again, of all devices together."""
    went_on = elastic.each_step_once(record) and len(record["steps"]) == steps
    result.row("the job goes on, each step applied once", "%d of %d steps" % (len(record["steps"]), steps), hash_text,
               target="all", met=went_on)
    views = [each["fields"]["text"] for each in record["log"]
             if each["id"] == "device.view" and each["at"] > losses[0].since]
    anew = [int(re.search(r" (\d+) of its grains are computed again", text).group(1)) for text in views]
    deaths = sum(each.action != "leave" for each in losses)
    result.details["dealt_anew"] = anew
    result.row("grains computed again after a death, at most", "%d of a step's %d" % (max(anew), GRAINS), hash_text,
               "%.2f steps" % (max(anew) / GRAINS), "< 1 step",
               max(anew) < GRAINS and sum(each > 0 for each in anew) <= deaths)


def losing(options, result, work, actions, crew, cpu):
    record, steps, hash_text = shrinking(options, work, actions, crew, cpu)
    gaps = elastic.Gaps(record)
    joins_disturb(record, gaps)
    losses = [Loss(record, gaps, action, "d%d" % (crew - 1 + index)) for index, action in enumerate(actions)]
    leaving(result, gaps, losses, crew, hash_text)
    for action in FOUND_TARGET:
        dying(result, gaps, losses, action, crew, hash_text)
    redoing(result, record, steps, losses, hash_text)


def losses(options, result, work):
    """Kills apart, of devices with a processor each: a quota stands still for up to 10 ms, and so does a device that
    waits for its turn on a processor, the killed one, too, before its end can be seen by others."""
    kills = [each for each in kinds(options) if each == "kill"]
    others = [each for each in kinds(options) if each != "kill"]
    for actions, crew, cpu in ((others, CREW, elastic.CPU), (kills, max(2, min(CREW, os.cpu_count())), None)):
        if actions:
            losing(options, result, work, actions, crew, cpu)


def quiet(options, result, work):
    """Minutes of full load in which nobody may be thought dead."""
    seconds = 60 * options.quiet_minutes
    devices = [elastic.device("d%d" % i, EIGHTH) for i in range(8)]
    record = elastic.run_lab(options, work, elastic.lab_file(
        MODEL + " --seed 1 --epochs 1000", devices, RATE, [elastic.at("leave", time=seconds, device="d0")]),
        limit=seconds + 120, status=(0, 130))
    alarms = [line for line in record["log"] if line["id"] == "device.lost" and
              line["at"] < record["training"] + seconds]
    result.details["quiet"] = {"alarms": alarms, "steps": len(record["steps"])}
    result.row("no fault: eight devices at %g, %g min" % (EIGHTH, options.quiet_minutes),
               "%d false alarms" % len(alarms), "%.12s" % (record["summary"] or {}).get("weights_hash", "no summary"),
               "%d steps" % len(record["steps"]), "0", not alarms)


def benchmark(options, result):
    elastic.need_lab()
    if options.quick:
        options.leaves, options.runs, options.quiet_minutes = 1, 1, 0
    with measure.folder() as work:
        losses(options, result, work)
        if options.quiet_minutes > 0:
            quiet(options, result, work)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
