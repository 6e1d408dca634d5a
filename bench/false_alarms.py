# SPDX-License-Identifier: Apache-2.0
"""Whether devices that are only slow are left in peace: nobody may be waited for by name, or put out.

    sudo python3 -B bench/false_alarms.py --minutes 30
    sudo python3 -B bench/false_alarms.py --minutes 30 --arm build/arm64/shoal --sysroot build/sysroot/arm64

Two parts. Ten devices of the lab have a twentieth of a core each, while compilers keep all cores busy beside them. And a
64-bit Arm device, emulated by qemu, which computes some fifty times slower, trains among three fast ones (needs --arm).
At the end the weights have to be those of one device. Needs root for the first part.
"""

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time

import measure

sys.path.insert(0, os.path.join(measure.ROOT, "test", "e2e"))
import harness  # noqa: E402

JOB = "lenet digits:2000/200 --epochs 1000000 --batch-size 64 --grain 4 --seed 1"
LAB = """[job]
command = "%s"

[links]
rate = "100Mbit"

[[device]]
count = %d
cpu = %g
lanes = 1
"""
COUNT, CPU = 10, 0.05
ALARM = re.compile(r' device\.(waited|lost|refused) .*?(?:text|reason)="([^"]*)"')


class Compilers:
    """So many compilers over and over of the project's own sources."""

    def __init__(self, build, count):
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            commands = [shlex.split(each["command"]) for each in json.load(file)]
        self.commands = [words[words.index("ccache") + 1 if "ccache" in words else 0:] for words in commands]
        self.over = threading.Event()
        self.built = 0
        self.threads = [threading.Thread(target=self.compile, args=(i,)) for i in range(count)]

    def compile(self, first):
        for words in itertools.cycle(self.commands[first::len(self.threads)]):
            if self.over.is_set():
                return
            words = words[:words.index("-o")] + ["-o", os.devnull] + words[words.index("-o") + 2:]
            subprocess.run([each for each in words if each != "-MD"], check=False, capture_output=True)
            self.built += 1

    def __enter__(self):
        for each in self.threads:
            each.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for each in self.threads:
            each.join()


class Job(harness.Case):
    """The files and processes of a part."""

    def runTest(self):
        pass

    def judge(self, options, result, name, run, summary, beside):
        """A row: who was named in the run's events, and whether the weights are those of one device."""
        alarms = [": ".join(hit.groups()) for line in harness.Events(run).lines() for hit in [ALARM.search(line)] if hit]
        steps = summary["steps"]
        alone = self.train(*JOB.split()[:2], *JOB.split()[4:], "--steps", str(steps), "--quiet", timeout=36000).summary
        same = alone["weights_hash"] == summary["weights_hash"]
        grains = " ".join(str(each["grains"]) for each in summary["devices"])
        result.row(name, "%d alarms in %g min, %d steps, grains by device %s%s, %s" % (
            len(alarms), options.minutes, steps, grains, beside,
            "the weights of one device" if same else "OTHER WEIGHTS"), target="0 alarms", met=not alarms and same)
        for alarm in alarms:
            print("    " + alarm, flush=True)


def stop(process, wait):
    process.send_signal(2)
    if process.wait(wait) not in (0, 130):
        raise measure.Failure("it ended with %d" % process.returncode)


def slow_devices(options, result):
    job = Job()
    job.setUp()
    try:
        folder, lab = job.path("lab"), job.path("slow.toml")
        with open(lab, "w", encoding="utf-8") as file:
            file.write(LAB % (JOB, COUNT, CPU))
        with Compilers(options.build, options.compilers) as compilers:
            process = subprocess.Popen([os.path.join(measure.ROOT, "lab", "lab"), "run", lab, "--folder", folder,
                                        "--program", options.shoal, "--quiet"])
            try:
                time.sleep(60 * options.minutes)
                stop(process, 120)
            finally:
                process.kill()
        with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
        job.judge(options, result, "%d devices of %g cores" % (COUNT, CPU), os.path.join(folder, "run"), summary,
                  ", %d sources compiled beside them" % compilers.built)
    finally:
        job.doCleanups()


def emulated_device(options, result):
    job = Job()
    job.setUp()
    try:
        training = harness.Training(job, *JOB.split(), "--lanes", "1")
        for name in ("fast1", "fast2"):
            training.join(name)
        job.start(argv=["qemu-aarch64", "-L", options.sysroot, options.arm, "join", training.token.text, "--name", "arm",
                        "--lanes", "1", "--quiet"], env={"XDG_CACHE_HOME": job.path("cache-arm")})
        training.events.find(r'device\.joined .*text="device arm joined with ', 300)
        time.sleep(60 * options.minutes)
        job.judge(options, result, "an emulated Arm device among three fast ones", training.run, training.stop(), "")
    finally:
        job.doCleanups()


def add_options(parser):
    parser.add_argument("--minutes", type=float, default=30, help="of each part (30)")
    parser.add_argument("--arm", help="the program of a cross build for 64-bit Arm; without it that part is left out")
    parser.add_argument("--sysroot", default=os.path.join(measure.ROOT, "build", "sysroot", "arm64"), help="its libraries")
    parser.add_argument("--compilers", type=int, default=os.cpu_count(), help="beside the slow devices (one a core)")
    parser.add_argument("--part", choices=("slow", "arm"), help="this one alone")


def benchmark(options, result):
    options.shoal = os.path.abspath(options.shoal)
    harness.SHOAL = options.shoal
    if options.part != "arm":
        slow_devices(options, result)
    if options.part == "slow":
        return
    if options.arm:
        emulated_device(options, result)
    else:
        result.skipped("the emulated device: name its program with --arm")


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
