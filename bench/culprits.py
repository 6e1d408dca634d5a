#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whom `shoal report` names in the lab: sudo python3 -B bench/culprits.py

Six devices, of which one has half of the others' processor, one loses two thirds of its own in mid-run, and one hangs on a
link of 8 Mbit/s among those of 100: each has to be named, with its cause, and nobody else. Then five that are
alike: nobody may be named. Needs root (lab/README.md).
"""

import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "elastic"))
import elastic
import measure

JOB = "resnet:20 noise:3x32x32/10/100000/64 --batch-size 240 --grain 4 --wire 8 --seed 1 --steps %d"
CPU, RATE, NARROW = 0.3, "100Mbit", "8Mbit"
STEPS, THROTTLED_AT = 100, 40
CULPRITS = {"half": "compute", "throttled": "throttled", "narrow": "network"}


def culprits():
    devices = [elastic.device("d0", CPU), elastic.device("half", CPU / 2), elastic.device("d2", CPU),
               elastic.device("throttled", CPU), elastic.device("d4", CPU), elastic.device("narrow", CPU, link=NARROW)]
    return devices, [elastic.at("cpu", step=THROTTLED_AT, device="throttled", cpu=CPU / 3)]


def report_of(options, work, devices, happenings=()):
    """What `shoal report` says of the run; {name: cause} of those that it names."""
    elastic.run_lab(options, work, elastic.lab_file(JOB % STEPS, devices, RATE, happenings))
    run = os.path.dirname(max(glob.glob(os.path.join(work, "*", "lab", "**", "run.db"), recursive=True),
                              key=os.path.getmtime))
    run = json.loads(measure.run([options.shoal, "report", run, "--format", "json"]).out)["runs"][0]
    names = [device["name"] for device in run["devices"]]
    return run, {names[int(each["index"])]: each["cause"] for each in run["verdict"]["findings"]
                 if each["index"] is not None}


def benchmark(options, result):
    elastic.need_lab()
    with measure.folder() as work:
        run, named = report_of(options, work, *culprits())
        result.details["culprits"] = run["verdict"]
        for name, cause in CULPRITS.items():
            result.row("named: %s" % name, named.get(name, "not"), target=cause, met=named.get(name) == cause)
        others = ", ".join(sorted(set(named) - set(CULPRITS)))
        result.row("named of the others", others or "nobody", target="nobody", met=not others)
        run, named = report_of(options, work, [elastic.device("d%d" % i, CPU) for i in range(5)])
        result.details["alike"] = run["verdict"]
        result.row("five alike", run["verdict"]["text"], target="nobody", met=not named)


if __name__ == "__main__":
    measure.main(__doc__, benchmark)
