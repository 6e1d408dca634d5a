# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of elasticity share: labs that are written, run and read (lab/README.md, lab/record.py).

    record = elastic.run_lab(options, work, elastic.lab_file(job, devices, rate, happenings))
    gaps = elastic.Gaps(record)
    gaps.disturbed(event["at"], until)       # what is measured; calm is what no such time touches
    gaps.longest(event["at"], until) / gaps.median(3)

All times are seconds since the lab began, of one clock. A gap is the time between two steps as device 0 applied
them; one in which an epoch was validated is left out. Moments of the run's log (device.ready, device.whole,
device.lost and others) are to the millisecond, all else is finer.
"""

import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [BENCH, os.path.join(os.path.dirname(BENCH), "lab")]
import measure
import system

LAB = os.path.join(measure.ROOT, "lab", "lab")
PAYLOAD = 1448 / 1538  # of Ethernet's wire that TCP has for its own bytes
# Model, data without a validation that matters, batch and grain. Batches are so large that a fourth device pays at
# 100 Mbit/s, where the sums of a step of LeNet take 0.2 s, of MobileNetV2 a second; and a quota's period is 10 ms.
MODELS = {"LeNet": "lenet noise:1x28x28/10/1000000/64 --batch-size 4096 --grain 16",
          "ResNet-20": "resnet:20 noise:3x32x32/10/1000000/64 --batch-size 512 --grain 8",
          "MobileNetV2": "mobilenetv2 noise:3x64x64/100/1000000/64 --batch-size 1024 --grain 4"}
CPU = 0.4  # cores of a device: four of them leave the machine room, as machines of their own would
STARTING = 4  # steps of a training that say nothing of those behind them


def need_lab():
    """Skips where the lab cannot run, with its own reason."""
    asked = subprocess.run([LAB, "features"], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        raise measure.Skip(asked.stderr.strip())
    if "cpu        missing" in asked.stdout:
        raise measure.Skip("this kernel has no quotas of processors (lab/lab features)")


def table(header, **keys):
    """A table of a lab's file; keys' underscores are its dashes, `for_` is `for`."""
    lines = [header]
    for key, value in keys.items():
        if value is not None:
            lines.append("%s = %s" % (key.rstrip("_").replace("_", "-"), json.dumps(value)))
    return "\n".join(lines) + "\n"


def device(name, cpu, **keys):
    return table("[[device]]", name=name, cpu=cpu, **keys)


def at(action, step=None, time=None, **keys):
    return table("[[at]]", step=step, time=time, action=action, **keys)


def lab_file(job, devices, rate, happenings=()):
    if "--devices-used" not in job:
        job += " --devices-used all"  # each device that is there counts
    return table("[job]", command=job) + table("[links]", rate=rate) + "".join(devices) + "".join(happenings)


def run_lab(options, work, text, limit=600, status=(0,)):
    """Runs a lab to its end; its record."""
    folder = tempfile.mkdtemp(dir=work)
    path, said = os.path.join(folder, "lab.toml"), os.path.join(folder, "lab.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    parent = os.getpid()
    done = subprocess.run([sys.executable, "-B", LAB, "run", path, "--program", options.shoal, "--folder",
                           os.path.join(folder, "lab"), "--json", said, "--limit", str(limit), "--quiet"],
                          env=measure.environment(), capture_output=True, text=True, check=False,
                          preexec_fn=lambda: system.die_with(parent, signal.SIGTERM))
    if status is not None and done.returncode not in status or not os.path.exists(said):
        raise measure.Failure("the lab ended with %d:\n%s\n%s" % (done.returncode, text, done.stderr[-2000:]))
    with open(said, encoding="utf-8") as file:
        return json.load(file)


def alone_hash(options, work, job):
    """The weights of the same job on one device, outside of the lab."""
    return measure.summary(options, work, *job.split(), "--lanes", str(options.threads))[1]["weights_hash"]


def hash_text(record, alone):
    """The weights of the run, and whether they are those of one device."""
    summary = record["summary"]
    if summary is None:
        return "no summary"
    if summary["status"] != "complete":
        return "not complete"
    found = summary["weights_hash"]
    return "%.12s right" % found if found == alone else "%.12s WRONG, alone %.12s" % (found, alone)


def is_right(record, alone):
    summary = record["summary"]
    return summary is not None and summary["status"] == "complete" and summary["weights_hash"] == alone


def happened(record, action, device_name=None):
    """The first happening of that kind that was done; Failure where there is none."""
    for each in record["happenings"]:
        if each["action"] == action and device_name in (None, each.get("device")):
            if "skipped" in each:
                raise measure.Failure("%s was not done: %s" % (action, each["skipped"]))
            return each
    raise measure.Failure("%s did not happen before the job ended" % action)


def device_of(record, name):
    return next(each for each in record["devices"] if each["name"] == name)


def logged(record, name, device_name, since=0.0):
    """When the run's log has this id of a device, from `since` on; None: never."""
    for line in record["log"]:
        told = "%s %s" % (line["fields"].get("name", ""), line["fields"].get("text", ""))
        if line["id"] == name and line["at"] >= since - 0.001 and device_name in told.split():
            return line["at"]
    return None


class Gaps:
    """Times between steps: (when it ended, seconds, step, devices)."""

    def __init__(self, record):
        validated = [event["at"] for event in record["events"] if event["event"] == "epoch"]
        steps = record["steps"]
        self.all = [(now, now - then, step, devices)
                    for (_, then, _), (step, now, devices) in zip(steps, steps[1:])
                    if not any(then <= moment <= now for moment in validated)]
        self.times = []
        if not self.all:
            raise measure.Failure("the lab took no two steps")

    def disturbed(self, since, until):
        """Steps of this time are no measure of calm ones."""
        self.times.append((since, until))

    def calm(self, devices):
        """Of steps by so many devices, while nothing befell them."""
        found = [seconds for moment, seconds, step, count in self.all if step > STARTING and count == devices and
                 not any(since <= moment and moment - seconds <= until for since, until in self.times)]
        if len(found) < 3:
            raise measure.Failure("too few steps of %d devices to compare with" % devices)
        return found

    def median(self, devices):
        return statistics.median(self.calm(devices))

    def between(self, since, until):
        """Those that end within."""
        return [each for each in self.all if since <= each[0] <= until]

    def longest(self, since, until):
        return max((seconds for _, seconds, _, _ in self.between(since, until)), default=0.0)

    def after(self, moment, count):
        """When the last of `count` steps that follow ended."""
        ends = [end for end, _, _, _ in self.all if end > moment][:count]
        return ends[-1] if ends else moment

    def lost(self, since, until):
        """Seconds that steps took beyond what as many devices take while nothing befalls them."""
        usual = {}
        total = 0.0
        for _, seconds, _, devices in self.between(since, until):
            if devices not in usual:
                usual[devices] = statistics.mean(self.calm(devices))
            total += seconds - usual[devices]
        return total

    def noise(self, since, until):
        """Standard deviation of what `lost` says of so many steps to which nothing happens."""
        found = self.between(since, until)
        return math.sqrt(sum(statistics.variance(self.calm(devices)) for _, _, _, devices in found))


def each_step_once(record):
    """Were no steps applied twice or left out, by device 0's count?"""
    steps = [step for step, _, _ in record["steps"]]
    return steps == list(range(1, len(steps) + 1))
