# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of elasticity share: labs that are written, run and read (lab/README.md, lab/record.py).

    record = elastic.run_lab(options, work, elastic.lab_file(job, devices, rate, happenings))
    gaps = elastic.Gaps(record)
    gaps.median(before=event["at"]), gaps.longest(event["at"], until)

All times are seconds since the lab began, of one clock. A gap is the time between two steps as device 0 applied
them; one in which an epoch was validated is left out. "Found" is when the run's log has `device.gone`, to the
millisecond.
"""

import json
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
# Model, data without a validation that matters, batch and grain: a few grains for each of four devices.
MODELS = {"LeNet": "lenet noise:1x28x28/10/60000/64 --batch-size 64 --grain 4",
          "ResNet-20": "resnet:20 noise:3x32x32/10/50000/64 --batch-size 32 --grain 2",
          "MobileNetV2": "mobilenetv2 noise:3x64x64/100/50000/64 --batch-size 16 --grain 1"}


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
    summary = record["summary"]
    if summary is None:
        return "no summary"
    if summary["status"] != "complete":
        return "not complete"
    return "hash right" if summary["weights_hash"] == alone else "HASH WRONG"


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


def logged(record, name, since):
    """The first line of that id in the run's log from `since` on; None: none."""
    return next((line for line in record["log"] if line["id"] == name and line["at"] >= since - 0.001), None)


class Gaps:
    """Times between steps: (when it ended, seconds, step)."""

    def __init__(self, record):
        validated = [event["at"] for event in record["events"] if event["event"] == "epoch"]
        steps = record["steps"]
        self.all = [(now, now - then, step) for (_, then, _), (step, now, _) in zip(steps, steps[1:])
                    if not any(then <= moment <= now for moment in validated)]
        if not self.all:
            raise measure.Failure("the lab took no two steps")

    def between(self, since, until):
        """Those that end within."""
        return [seconds for moment, seconds, _ in self.all if since <= moment <= until]

    def median(self, before, count=30):
        """Of the last `count` steps that ended before the moment; the first few are not steady."""
        found = [seconds for moment, seconds, step in self.all if moment < before and step > 5][-count:]
        if not found:
            raise measure.Failure("too few steps before what is measured")
        return statistics.median(found)

    def longest(self, since, until):
        return max(self.between(since, until), default=0.0)

    def lost(self, since, until, median):
        """Seconds beyond `median` a step, added up."""
        return sum(max(0.0, seconds - median) for seconds in self.between(since, until))


def step_before(record, moment):
    """(step, when) of the last one that was applied before."""
    return max(((step, then) for step, then, _ in record["steps"] if then < moment), default=(0, record["training"]))


def grains_once(record):
    """Were there no steps applied twice or left out, by device 0's count?"""
    steps = [step for step, _, _ in record["steps"]]
    return steps == list(range(1, len(steps) + 1))
