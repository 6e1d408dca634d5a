# SPDX-License-Identifier: Apache-2.0
"""A device of four leaves, is killed, is frozen, loses its cable: how soon it is found, and what the others lose.

All of it but the kills befalls one training, one device after the other, each replaced by a fresh one that joins. Found is the
run's log against the lab's own moment; the log has milliseconds. No false alarm: eight devices at a fifth of a core
each, fully loaded, for ten minutes (--quiet-minutes 0 leaves it out).
"""

import re
import statistics

import elastic
import measure

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


def plan(actions):
    """What happens at which steps, and how many steps there are. What is lost is a device more each time."""
    happenings, step = [], elastic.STARTING + CALM
    for index, action in enumerate(actions):
        happenings.append(elastic.at(action, step=step, device="d%d" % (3 + index)))
        if action in ("freeze", "unplug"):  # it does not come back to be in the way
            happenings.append(elastic.at("kill", step=step + CALM // 2, device="d%d" % (3 + index)))
        happenings.append(elastic.at("join", step=step + CALM, device="d%d" % (4 + index)))
        step += 2 * CALM + AFTER
    return happenings, step


def shrinking(options, work, actions, cpu):
    happenings, steps = plan(actions)
    job = "%s --seed 1 --steps %d" % (MODEL, steps)
    alone = elastic.alone_hash(options, work, job)
    devices = [elastic.device("d%d" % i, cpu, later=i > 3 or None, lanes=1) for i in range(4 + len(actions))]
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


def leaving(result, gaps, losses, hash_text):
    left = [each for each in losses if each.action == "leave"]
    if not left:
        return
    median = gaps.median(4)
    longest = [gaps.longest(each.since, each.until) for each in left]
    middle = statistics.median(longest)
    result.details["leave"] = {"median": median, "longest": longest, "found": [each.found for each in left]}
    result.row("leaves: longest gap / median step", "%.0f ms / %.0f ms" % (1e3 * middle, 1e3 * median), hash_text,
               "%.2f (calm: %.2f)" % (middle / median, max(gaps.calm(4)) / median), "<= %.1f" % GAP_TARGET,
               middle <= GAP_TARGET * median)


def dying(result, gaps, losses, action, hash_text):
    """One kind of death: when it was found, and the gap that it cost."""
    died = [each for each in losses if each.action == action]
    if not died:
        return
    found = [each.found for each in died]
    costs = [gaps.longest(each.since, each.until) / gaps.median(4) for each in died]
    result.details[action] = {"found": found, "longest_gap_in_medians": costs}
    result.row("%s: found after" % action,
               "%.1f ms (%.1f to %.1f)" % tuple(1e3 * each for each in measure.spread(found)), hash_text, "",
               "<= %g ms" % (1e3 * FOUND_TARGET[action]), max(found) <= FOUND_TARGET[action])
    result.row("%s: longest gap / median step" % action, "%.2f s" % (statistics.median(costs) * gaps.median(4)),
               hash_text, "%.2f" % statistics.median(costs))


def redoing(result, record, steps, losses, hash_text):
    """Steps once each, and the grains that were computed again, of all devices together."""
    went_on = elastic.each_step_once(record) and len(record["steps"]) == steps
    result.row("the job goes on, each step applied once", "%d of %d steps" % (len(record["steps"]), steps), hash_text,
               target="all", met=went_on)
    views = [each["fields"]["text"] for each in record["log"]
             if each["id"] == "device.view" and each["at"] > losses[0].since]
    anew = [int(re.search(r" (\d+) of its grains dealt anew", text).group(1)) for text in views]
    deaths = sum(each.action != "leave" for each in losses)
    result.details["dealt_anew"] = anew
    result.row("grains computed again after a death, at most", "%d of a step's %d" % (max(anew), GRAINS), hash_text,
               "%.2f steps" % (max(anew) / GRAINS), "< 1 step",
               max(anew) < GRAINS and sum(each > 0 for each in anew) <= deaths)


def losing(options, result, work, actions, cpu):
    record, steps, hash_text = shrinking(options, work, actions, cpu)
    gaps = elastic.Gaps(record)
    joins_disturb(record, gaps)
    losses = [Loss(record, gaps, action, "d%d" % (3 + index)) for index, action in enumerate(actions)]
    leaving(result, gaps, losses, hash_text)
    for action in FOUND_TARGET:
        dying(result, gaps, losses, action, hash_text)
    redoing(result, record, steps, losses, hash_text)


def losses(options, result, work):
    """Kills apart and without quotas: a quota stands still for up to 10 ms, which is what is to be measured."""
    kills = [each for each in kinds(options) if each == "kill"]
    others = [each for each in kinds(options) if each != "kill"]
    for actions, cpu in ((others, elastic.CPU), (kills, None)):
        if actions:
            losing(options, result, work, actions, cpu)


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
