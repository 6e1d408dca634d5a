#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices that join, leave, freeze and die at random while a job trains; the weights must not notice.

    test/e2e/chaos.py --seed 7 --events 100 --gap 0.3 lenet mnist:DIR --epochs 2

SHOAL names the program. What happens when is drawn from the seed, so the command above, which is printed where
something goes wrong, brings about the same events again; the instants differ, as the machine's speed does.
Events come until the job ends; where it has no end of its own (--epochs 1000000) it is stopped after the last one.
All devices are processes of this machine that talk over its loopback. Exit status: 0, 1 where the weights differ,
a device ends as it must not, or all stand still.
"""

import argparse
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import harness

STILL_SECONDS = 15  # without work, until the job counts as hanging
LOST = "nothing was heard of it"  # why a device ends that was lost while it joined


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Failure(Exception):
    pass


class Device:
    """A joined device. `ending`: how it may end from now on, a set of exit statuses."""

    def __init__(self, chaos, name, lanes):
        self.name = name
        self.process = harness.Process([harness.SHOAL, "join", chaos.token, "--name", name, "--lanes", str(lanes),
                                        "--reconnect", "10", "--verbose"], env=chaos.env, cwd=chaos.folder)
        self.ending = {0}
        self.thaw_at = None
        self.orphan = False  # it may have met no coordinator

    def signal(self, number):
        self.process.signal(number)


class Chaos:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.folder = tempfile.mkdtemp(prefix="shoal-chaos-")
        self.env = {**os.environ, "HOME": self.folder}
        self.devices = []
        self.joined = 0
        self.counts = {}

    def run_alone(self):
        """What one device comes to that nobody disturbs."""
        path = os.path.join(self.folder, "alone.json")
        steps = ("--steps", str(self.summary["steps"])) if self.endless() else ()
        result = harness.Process([harness.SHOAL, "train", *self.options.job, *steps, "--run", "alone", "--quiet", "--json",
                                  path], env=self.env, cwd=self.folder).wait(self.options.timeout)
        if result.status != 0:
            raise Failure(str(result))
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def endless(self):
        return "1000000" in self.options.job

    # --- events

    def say(self, what, device=None):
        self.counts[what] = self.counts.get(what, 0) + 1
        if self.options.verbose:
            print("%7.2f %s %s" % (time.monotonic() - self.began, what, device.name if device else ""), flush=True)

    def join(self):
        self.joined += 1
        self.devices.append(Device(self, "guest-%d" % self.joined, self.random.choice((1, 1, 2))))
        self.say("join", self.devices[-1])

    def kill(self, device):
        self.say("kill", device)
        device.signal(signal.SIGKILL)
        device.ending = {-signal.SIGKILL}

    def leave(self, device):
        number = self.random.choice((signal.SIGINT, signal.SIGTERM))
        self.say("leave", device)
        device.signal(number)
        # It had not begun to listen to signals, or the job has ended meanwhile.
        device.ending = {128 + number, -number, 0} | (device.ending & {1})

    def freeze(self, device):
        """For less or for more than it takes to be lost."""
        self.say("freeze", device)
        device.signal(signal.SIGSTOP)
        device.thaw_at = time.monotonic() + self.random.choice((0.1, 0.3, 0.6, 1.5))
        device.ending = device.ending | {1}

    def freeze_coordinator(self):
        self.say("freeze 0")
        self.process.signal(signal.SIGSTOP)
        time.sleep(self.random.choice((0.05, 0.3, 0.7)))
        self.process.signal(signal.SIGCONT)

    def restart_coordinator(self):
        if not os.path.exists(os.path.join(self.folder, "run", "checkpoints", "last.safetensors")):
            return  # there would be nothing to go on from
        self.say("restart 0")
        self.process.signal(signal.SIGKILL)
        self.process.child.wait()
        for device in self.devices:
            device.orphan = True
            device.ending = device.ending | {1}
        time.sleep(self.random.uniform(0, 0.5))
        self.start("--resume", os.path.join(self.folder, "run"))

    def happen(self):
        """One event, of which the seed knows."""
        awake = [device for device in self.devices if device.thaw_at is None and device.ending <= {0, 1}]
        kind = self.random.choices(("join", "kill", "leave", "freeze", "freeze 0", "restart 0", "kill two"),
                                   (8, 4, 3, 4, 1, self.options.restarts, 1))[0]
        if kind == "freeze 0":
            self.freeze_coordinator()
        elif kind == "restart 0":
            self.restart_coordinator()
        elif len(self.devices) + 1 >= self.options.devices and kind == "join":
            self.kill(self.random.choice(awake or self.devices))
        elif kind == "join" or not awake:
            self.join()
        elif kind == "kill two":
            for device in self.random.sample(awake, min(2, len(awake))):
                self.kill(device)
        else:
            {"kill": self.kill, "leave": self.leave, "freeze": self.freeze}[kind](self.random.choice(awake))

    # --- what must not be

    def look_after(self):
        """Wakes who has slept enough, and sees who has ended, and how."""
        now = time.monotonic()
        for device in list(self.devices):
            if device.thaw_at is not None and now >= device.thaw_at:
                device.signal(signal.SIGCONT)
                device.thaw_at = None
            if device.process.child.poll() is None:
                continue
            result = device.process.wait()
            self.devices.remove(device)
            if result.status == 0 and self.process.child.poll() is None and not self.ending():
                raise Failure("a device says that the job has ended, and it has not:\n%s" % result)
            if result.status not in device.ending or (
                    result.status == 1 and LOST not in result.err and not device.orphan):
                raise Failure("a device ended as it must not (%s):\n%s" % (sorted(device.ending), result))
        if now - self.moved > STILL_SECONDS * harness.PATIENCE:
            used = self.used()
            if used - self.moved_cpu < 0.01 * STILL_SECONDS:
                raise Failure("nothing moves any more")
            self.moved, self.moved_cpu = now, used

    def ending(self):
        """The last devices may hear of the end before the coordinator's process has ended."""
        try:
            self.process.child.wait(10 * harness.PATIENCE)
        except subprocess.TimeoutExpired:
            return False
        return True

    def used(self):
        try:
            return cpu_seconds(self.process.child.pid)
        except OSError:
            return float("inf")

    def wait(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.process.child.poll() is None:
            self.look_after()
            time.sleep(0.01)

    # --- from beginning to end

    def start(self, *arguments):
        self.process = harness.Process([harness.SHOAL, "train", *arguments, "--listen", "127.0.0.1:0", "--json", "s.json",
                                        "--lanes", "1", "--verbose"], env=self.env, cwd=self.folder)
        self.token = self.process.wait_for_token()
        self.process.wait_for("^training on ", stream="err")
        self.moved, self.moved_cpu = time.monotonic(), 0

    def disturb(self):
        self.began = time.monotonic()
        self.start(*self.options.job, "--run", "run")
        for _ in range(self.options.events):
            self.wait(self.random.expovariate(1 / self.options.gap))
            if self.process.child.poll() is not None:
                break
            self.happen()
        if self.endless():
            self.wait(self.options.gap)
            self.process.signal(signal.SIGINT)
        while self.process.child.poll() is None:
            self.look_after()
            time.sleep(0.01)
        result = self.process.wait()
        if result.status != (130 if self.endless() else 0):
            raise Failure(str(result))
        for device in self.devices:
            if device.thaw_at is not None:
                device.signal(signal.SIGCONT)
            ended = device.process.wait(20)
            # The last ones: who was frozen, or had not come yet, may find nobody any more.
            if ended.status not in device.ending | {0, 1}:
                raise Failure("a device ended as it must not:\n%s" % ended)
        self.devices = []
        with open(os.path.join(self.folder, "s.json"), encoding="utf-8") as file:
            self.summary = json.load(file)

    def judge(self):
        alone = self.run_alone()
        keys = ["weights_hash", "steps", "redone_steps"] + ([] if self.options.restarts else ["samples", "train_loss"])
        keys += [] if self.endless() else ["val_loss", "val_accuracy"]
        for key in keys:
            if self.summary[key] != alone[key]:
                raise Failure("%s is %s, alone %s" % (key, self.summary[key], alone[key]))
        events = " ".join("%s %d" % pair for pair in sorted(self.counts.items()))
        print("chaos: seed %d: %d events (%s) in %d steps, %d views, %.0f s (alone %.0f): weights %.16s as they should be"
              % (self.options.seed, sum(self.counts.values()), events, self.summary["steps"], self.summary["views"],
                 self.summary["train_seconds"], alone["train_seconds"], self.summary["weights_hash"]), flush=True)

    def describe(self):
        """What there is to find the cause with."""
        for process in (self.process, *(device.process for device in self.devices)):
            text = str(process.so_far())
            print(re.sub(r"(?m)^.*checkpoint\.written.*\n|^step .*\n|shoal://\S+", "", text)[-6000:])
            if process.child.poll() is None and self.options.debugger:
                print(subprocess.run(shlex.split(self.options.debugger) + ["-p", str(process.child.pid)], check=False,
                                     capture_output=True, text=True).stdout[-12000:])

    def close(self):
        for device in self.devices:
            device.process.kill()
        if hasattr(self, "process"):
            self.process.kill()

    def run(self):
        try:
            self.disturb()
            self.judge()
        except (Failure, AssertionError) as failure:
            self.describe()
            print("chaos: seed %d after %d events: %s\nrun it again: %s\nits files: %s" % (
                self.options.seed, sum(self.counts.values()), failure, replay(self.options), self.folder), flush=True)
            return False
        finally:
            self.close()
        shutil.rmtree(self.folder)
        return True


def replay(options):
    return "SHOAL=%s %s --seed %d --events %d --gap %g --devices %d --restarts %g %s" % (
        harness.SHOAL, os.path.abspath(__file__), options.seed, options.events, options.gap, options.devices,
        options.restarts, shlex.join(options.job))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1000000))
    parser.add_argument("--events", type=int, default=100)
    parser.add_argument("--gap", type=float, default=0.4, help="seconds between two events, in the mean")
    parser.add_argument("--devices", type=int, default=6, help="at one time, the coordinator included")
    parser.add_argument("--restarts", type=float, default=0, help="weight of a coordinator killed and resumed; a join has 8")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--debugger", help="command that prints the state of a process (-p PID) where something is wrong")
    parser.add_argument("--verbose", action="store_true")
    options, job = parser.parse_known_args(arguments)
    options.job = job
    return 0 if Chaos(options).run() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
