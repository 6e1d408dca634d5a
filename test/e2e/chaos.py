#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices that join, leave, freeze, die and are cut off at random while a job trains; the weights must not notice.

    test/e2e/chaos.py --seed 7 --events 100 --gap 0.3 --cuts 6 lenet mnist:DIR --epochs 2

SHOAL names the program. What happens is drawn from the seed, each event for itself, so the command above, which is
printed where something goes wrong, brings about the same events again; the instants differ, as the machine's speed
does, and whom an event befalls depends on who is there. An event counts where it did happen: a process that was
stopped or ended by it, a device that took part, a partition that something was lost by. Events come until enough
have happened; a job that ends before that fails, and one without an end of its own (--epochs 1000000) is stopped then.

All devices are processes of this machine that talk over its loopback or, with --cuts, each over a network of its own
(cuts.py; needs root). Faults are asked for by their weights: --hangs stops a device's computing thread alone, --trickles
lets its link carry a few bytes a second, --stuck gives it a bit that no repair changes, --full fills the disk with the
run's folder. Exit status: 0; 1 where the course or the weights differ from those of one device that nobody
disturbs, a sample was not counted once an epoch, a device ends as it must not, or all stand still; 77 without root.
"""

import argparse
import collections
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

import cuts
import harness
import threads

STILL_SECONDS = 20  # without a step, until the job counts as hanging
LOST = "nothing was heard from it"  # why a device ends that was lost while it joined
HUNG = "made no progress"   # why one was put out whose heart beat
WRONG = "computes wrongly"
STICKS_IN = 3             # seconds after it began to come; it flips as it stands behind one step, so it has to be there
TRICKLE = 400             # bits a second
DISK = 64 << 20           # bytes, for the run's folder
FAULTS = {"hangs": "a computing thread that is stopped", "trickles": "a link that trickles; needs root",
          "stuck": "a device with a stuck bit; not with restarts or partitions, by which nobody may be left to show it",
          "full": "a full disk; needs root"}
# Why one may end that was cut off, while it joined or for longer than it looks for the job.
CUT_OFF = "|".join((LOST, "could not reach", "did not answer the handshake", "its link ", "the connection ended",
                    "the connection is cut", "could not receive a replica"))


def is_stopped(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


class Failure(Exception):
    pass


class Device:
    """A joined device at a place. `ending`: how it may end from now on, a set of exit statuses."""

    def __init__(self, chaos, name, place, lanes, env=None):
        self.name, self.place = name, place
        self.process = chaos.launch(place, "join", chaos.token, "--name", name, "--lanes", str(lanes),
                                    "--reconnect", "10", "--never-lead", "--verbose", env=env)
        self.ending = {0}
        self.thaw_at = None
        self.held = None     # its computing thread, stopped
        self.sticks = False  # it has a bit that is stuck
        self.excuse = None  # what may stand in its message where it ends with 1
        self.fate = None    # the event that it ends by

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
        self.cuts = None
        self.happened = collections.Counter()
        self.said = []  # what it did, and when
        self.excused = collections.Counter()
        self.log_read = 0
        self.process = None
        self.trickling = []  # (until when, place)
        self.full_until = None

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def launch(self, place, *arguments, env=None):
        argv = [harness.SHOAL, *arguments]
        return harness.Process(self.cuts.argv(place, *argv) if self.cuts else argv, env={**self.env, **(env or {})},
                               cwd=self.folder)

    def run_alone(self):
        """What one device comes to that nobody disturbs, and that has nobody to serve it."""
        steps = ("--steps", str(self.summary["steps"])) if self.endless() else ()
        at = self.options.job.index("--servers") if self.options.servers else len(self.options.job)
        job = self.options.job[:at] + self.options.job[at + 2:]
        result = harness.Process([harness.SHOAL, "train", *job, *steps, "--run", "alone", "--quiet", "--json",
                                  "alone.json", "--events", "alone.events"],
                                 env=self.env, cwd=self.folder).wait(self.options.timeout)
        if result.status != 0:
            raise Failure(str(result))
        with open(self.path("alone.json"), encoding="utf-8") as file:
            return json.load(file)

    def laps(self):
        """Whether devices train apart: then the weights are those of nobody else, and steps come by the lap."""
        return any(word.startswith(("ps-async", "ps-bounded:")) for word in self.options.job)

    def endless(self):
        return "1000000" in self.options.job

    def count(self):
        return sum(self.happened.values())

    # --- events

    def say(self, what, device=None, more=""):
        self.said.append("%7.2f %s %s%s" % (time.monotonic() - self.began, what, device.name if device else "", more))
        if self.options.verbose:
            print(self.said[-1], flush=True)

    def join(self, env=None):
        """At a place where nobody is; one that is cut off just then would only wait."""
        taken = {device.place for device in self.devices}
        free = [place for place in range(1, self.options.devices)
                if place not in taken and not (self.cuts and self.cuts.is_cut_off(place)) and
                place not in {slow for _, slow in self.trickling}]
        if not free:
            return None
        self.joined += 1
        name, lanes = "guest-%d" % self.joined, self.random.choice((1, 1, 2))
        if env is not None:
            env = {variable: value % name for variable, value in env.items()}
        self.devices.append(Device(self, name, self.random.choice(free), lanes, env))
        self.say("join", self.devices[-1])
        return self.devices[-1]

    def kill(self, device):
        self.say("kill", device)
        device.signal(signal.SIGKILL)
        # Or it was ending by itself just then, as the job was.
        device.ending, device.fate = {-signal.SIGKILL, 0} | (device.ending & {1}), "kill"

    def leave(self, device):
        number = self.random.choice((signal.SIGINT, signal.SIGTERM))
        self.say("leave", device)
        device.signal(number)
        # It had not begun to listen to signals, or the job has ended meanwhile.
        device.ending, device.fate = {128 + number, -number, 0} | (device.ending & {1}), "leave"

    def freeze(self, device):
        """For less or for more than it takes to be lost."""
        self.say("freeze", device)
        device.signal(signal.SIGSTOP)
        device.thaw_at = time.monotonic() + self.random.choice((0.1, 0.3, 0.6, 1.5))
        self.excuse(device, LOST)

    def hang(self, device):
        """Its heart beats, and it computes nothing: for less or for more than it takes to be put out."""
        try:
            device.held = threads.stopped(device.process.child.pid)
        except ProcessLookupError:
            return  # it has just ended
        self.say("hang", device)
        device.thaw_at = time.monotonic() + self.random.choice((0.5, 2, 6, 15))
        self.excuse(device, "|".join((CUT_OFF, HUNG)))

    def trickle(self, device):
        """Its link carries next to nothing for a while."""
        seconds = self.random.choice((1, 4, 12))
        if not self.cuts.set_rate(device.place, TRICKLE):
            return
        self.say("trickle", device, " for %g s" % seconds)
        self.trickling.append((time.monotonic() + seconds, device.place))
        self.excuse(device, "|".join((CUT_OFF, HUNG)))
        self.happened["trickle"] += 1

    def stick(self, awake):
        """One more comes, with a bit that is stuck. Two who stay show whose weights are right."""
        if any(device.sticks for device in self.devices) or len(awake) < 2:
            return
        steps = self.steps()
        soon = int(STICKS_IN * steps / (time.monotonic() - self.began)) + 2
        device = self.join({"SHOAL_TEST_FLIP": "%%s@%d+" % (steps + soon)})
        if device is None:
            return
        self.say("stuck", device)
        device.sticks = True
        self.excuse(device, WRONG)

    def fill(self):
        """The run's disk is full for a while."""
        if self.full_until is not None:
            return
        self.say("full")
        self.full_until = time.monotonic() + self.random.choice((0.5, 2, 8))
        with open(self.path("disk", "filling"), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError:
                self.happened["full"] += 1

    def empty(self):
        self.full_until = None
        os.remove(self.path("disk", "filling"))

    def steps(self):
        """How far the job is, by its events."""
        with open(self.path("s.events"), encoding="utf-8") as file:
            return max((int(found) for found in re.findall(r'"total_step":(\d+)', file.read())), default=0)

    def freeze_coordinator(self):
        self.say("freeze 0")
        self.process.signal(signal.SIGSTOP)
        time.sleep(self.random.choice((0.05, 0.3, 0.7)))
        self.happened["freeze 0"] += is_stopped(self.process.child.pid)
        self.process.signal(signal.SIGCONT)

    def restart_coordinator(self):
        if not os.path.exists(os.path.join(self.run_folder, "checkpoints", "last.safetensors")) or self.full_until:
            return  # there would be nothing to go on from, or no place to
        self.say("restart 0")
        self.process.signal(signal.SIGKILL)
        self.process.child.wait()
        for device in self.devices:
            self.excuse(device, "")
        time.sleep(self.random.uniform(0, 0.5))
        self.start("--resume", self.run_folder, *self.options.servers)
        self.happened["restart 0"] += 1

    def cut(self):
        """A partition between those who are there."""
        if not self.devices:
            return
        cut = cuts.draw(self.random, {device.place for device in self.devices})
        self.cuts.begin(cut)
        cut.at = [device for device in self.devices if device.place in cut.touches()]
        for device in cut.at:
            self.excuse(device, CUT_OFF)
        self.say(cut.kind, None, "%s for %.2f s" % (" ".join(device.name for device in cut.at), cut.seconds))

    def heal(self, now):
        for until, place in [slow for slow in self.trickling if slow[0] <= now]:
            self.trickling.remove((until, place))
            if place not in {slow for _, slow in self.trickling}:
                self.cuts.set_rate(place, None)
        for cut in self.cuts.heal(now):
            self.say("healed " + cut.kind)
            self.happened[cut.kind] += cut.happened and any(device in self.devices for device in cut.at)

    @staticmethod
    def excuse(device, words):
        """It may end with 1 for these."""
        device.ending = device.ending | {1}
        device.excuse = words if device.excuse is None or len(words) > len(device.excuse) > 0 or not words else device.excuse

    def happen(self):
        """One event."""
        awake = [device for device in self.devices if device.thaw_at is None and device.ending <= {0, 1}]
        kind = self.random.choices(
            ("join", "kill", "leave", "freeze", "freeze 0", "restart 0", "kill two", "cut", "hang", "trickle", "stuck", "full"),
            (8, 4, 3, 4, 1, self.options.restarts, 1, self.options.cuts, self.options.hangs, self.options.trickles,
             self.options.stuck, self.options.full))[0]
        if kind == "stuck":
            self.stick(awake)
            return
        if any(device.sticks for device in self.devices):  # nothing befalls it, nor two who show that it is wrong
            awake = [device for device in awake if not device.sticks][2:]
            if not awake and kind not in ("join", "freeze 0", "full"):
                return
        if kind == "freeze 0":
            self.freeze_coordinator()
        elif kind == "restart 0":
            self.restart_coordinator()
        elif kind == "cut":
            self.cut()
        elif kind == "full":
            self.fill()
        elif len(self.devices) + 1 >= self.options.devices and kind == "join":
            if awake or not any(device.sticks for device in self.devices):
                self.kill(self.random.choice(awake or self.devices))
        elif kind == "join" or not awake:
            self.join()
        elif kind == "kill two":
            for device in self.random.sample(awake, min(2, len(awake))):
                self.kill(device)
        else:
            {"kill": self.kill, "leave": self.leave, "freeze": self.freeze, "hang": self.hang,
             "trickle": self.trickle}[kind](self.random.choice(awake))

    # --- what must not be

    def look_after(self):
        """Wakes who has slept enough, heals what was cut, and sees who has come and who has ended, and how."""
        now = time.monotonic()
        if self.cuts:
            self.heal(now)
        if self.full_until is not None and now >= self.full_until:
            self.empty()
        for device in list(self.devices):
            self.thaw(device, now)
            if device.process.child.poll() is not None:
                self.devices.remove(device)
                self.see_off(device)
        self.read_log()
        self.see_progress(now)

    def thaw(self, device, now):
        if device.thaw_at is None or now < device.thaw_at:
            return
        if device.held is not None:
            alive = device.process.child.poll() is None
            self.happened["hang"] += alive and threads.state(device.process.child.pid) == "t"
            device.held.release()
            device.held = device.thaw_at = None
            return
        if device.process.child.poll() is None:
            self.happened["freeze"] += is_stopped(device.process.child.pid)
        device.signal(signal.SIGCONT)
        device.thaw_at = None

    def see_off(self, device):
        result = device.process.wait()
        if result.status == 0 and self.process.child.poll() is None and not self.ending():
            raise Failure("a device says that the job has ended, and it has not:\n%s" % result)
        # Who has just begun to come may find the door closed, or is closed out.
        late = (result.status == 1 and 1 not in device.ending and
                re.search("(?m)^shoal: .*(is the job still running|closed the connection)", result.err) and self.ending())
        self.check_ending(device, result, late=(0, 1) if late else ())
        if device.fate is not None and result.status not in (0, 1):
            self.happened[device.fate] += 1
        if device.sticks and result.status == 1 and WRONG in result.err:
            self.happened["stuck"] += 1

    def check_ending(self, device, result, late=()):
        found = re.search(device.excuse, result.err) if device.excuse is not None else None
        if result.status not in device.ending | set(late) or (result.status == 1 and not found and not late):
            raise Failure("a device ended as it must not (%s):\n%s" % (sorted(device.ending), result))
        if result.status == 1:
            self.excused[found.group() if found else "late"] += 1

    def read_log(self):
        """Who takes part, by the coordinator's log."""
        try:
            with open(os.path.join(self.run_folder, "events.log"), "rb") as file:
                file.seek(self.log_read)
                text = file.read()
        except FileNotFoundError:
            return
        text = text[:text.rfind(b"\n") + 1]
        self.log_read += len(text)
        self.happened["join"] += len(re.findall(rb'INFO device\.joined .*text="device guest-\d+ joined with ', text))

    def see_progress(self, now):
        done = os.path.getsize(self.path("s.events"))
        if done != self.done or self.process.child.poll() is not None:
            self.done, self.moved = done, now
        elif now - self.moved > STILL_SECONDS * harness.PATIENCE:
            raise Failure("there was no step for %g s" % (now - self.moved))

    def ending(self):
        """The last devices may hear of the end before the coordinator's process has ended."""
        try:
            self.process.child.wait(10 * harness.PATIENCE)
        except subprocess.TimeoutExpired:
            return False
        return True

    def wait(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.process.child.poll() is None:
            self.look_after()
            time.sleep(0.01)

    # --- from beginning to end

    def start(self, *arguments):
        address = self.cuts.address(0) if self.cuts else "127.0.0.1"
        self.process = self.launch(0, "train", *arguments, "--listen", address + ":0", "--devices-used", "all", "--json", "s.json",
                                   "--events", "s.events", "--lanes", "1", "--verbose")
        self.token = self.process.wait_for_token()
        self.process.wait_for("^training on ", stream="err")
        self.done, self.moved = 0, time.monotonic()

    def disturb(self):
        if self.options.cuts or self.options.trickles:
            self.cuts = cuts.Cuts(self.options.devices)
        self.run_folder = self.path("run")
        if self.options.full:
            self.run_folder = self.path("disk", "run")
            os.mkdir(self.path("disk"))
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % DISK, "shoal-chaos", self.path("disk")], check=True)
        self.began = time.monotonic()
        self.start(*self.options.job, "--run", self.run_folder)
        number = 0
        while self.process.child.poll() is None and (self.count() < self.options.events or not self.endless()):
            number += 1
            self.random = random.Random("%d %d" % (self.options.seed, number))
            self.wait(self.random.expovariate(1 / self.options.gap))
            if self.process.child.poll() is None:
                self.happen()
        if self.full_until is not None:
            self.empty()  # the last checkpoint has to be written
        if self.endless():
            self.process.signal(signal.SIGINT)
        while self.process.child.poll() is None:
            self.look_after()
            time.sleep(0.01)
        self.took = time.monotonic() - self.began
        result = self.process.wait()
        if result.status != (130 if self.endless() else 0):
            raise Failure(str(result))
        self.see_all_off()
        with open(self.path("s.json"), encoding="utf-8") as file:
            self.summary = json.load(file)

    def see_all_off(self):
        """The last ones: who was frozen or cut off, or had not come yet, may find nobody any more."""
        if self.cuts:
            self.heal(float("inf"))
        if self.full_until is not None:
            self.empty()
        for device in self.devices:
            self.thaw(device, float("inf"))
        for device in self.devices:
            self.check_ending(device, device.process.wait(30), late=(0, 1))
        self.devices = []
        self.read_log()

    def judge(self):
        if self.count() < self.options.events:
            raise Failure("only %d events happened before the job ended: let them come faster with --gap" % self.count())
        alone = self.run_alone()
        keys = ["steps"] + ([] if self.laps() else ["weights_hash", "redone_steps"])
        keys += [] if self.options.restarts else ["samples"] if self.laps() else ["samples", "train_loss"]
        keys += [] if self.endless() or self.laps() else ["val_loss", "val_accuracy"]
        for key in keys:
            if self.summary[key] != alone[key]:
                raise Failure("%s is %s, alone %s" % (key, self.summary[key], alone[key]))
        if self.laps() and not self.endless() and self.summary["val_accuracy"] < alone["val_accuracy"] - 0.1:
            raise Failure("val_accuracy is %g, alone %g" % (self.summary["val_accuracy"], alone["val_accuracy"]))
        self.still, seen = judge_course(self.path("s.events"), self.path("alone.events"), 4 if self.laps() else None)
        usual = self.took / max(1, self.summary["steps"])
        if self.options.bound and self.still > max(self.options.bound, 10 * usual):
            raise Failure("there was no step for %.1f s, where %g s are allowed:\n%s" % (
                self.still, self.options.bound, "\n".join(longest_pause(self.path("s.events")) + self.said)))
        if seen["all"] != alone["samples"]:
            raise Failure("alone, %d samples were counted and %d used" % (seen["all"], alone["samples"]))
        self.tell(alone, seen)

    def tell(self, alone, seen):
        events = " ".join("%s %d" % pair for pair in sorted(self.happened.items()) if pair[1])
        print("chaos: seed %d: %d events (%s) in %d steps, %d views, %.0f s (alone %.0f), at most %.1f s between two steps: "
              "weights %.16s %s, %d samples counted once in each of %d epochs"
              % (self.options.seed, self.count(), events, self.summary["steps"], self.summary["views"],
                 self.took, alone["train_seconds"], self.still, self.summary["weights_hash"],
                 "of this run alone" if self.laps() else "as they should be",
                 seen["samples"], seen["epochs"]), flush=True)
        if self.excused and self.options.verbose:
            print("devices that gave up: %s" % dict(self.excused), flush=True)

    def describe(self):
        """What there is to find the cause with."""
        for process in filter(None, (self.process, *(device.process for device in self.devices))):
            text = str(process.so_far())
            print(re.sub(r"(?m)^.*checkpoint\.written.*\n|^step .*\n|shoal://\S+", "", text)[-6000:])
            if process.child.poll() is None and self.options.debugger:
                print(subprocess.run(shlex.split(self.options.debugger) + ["-p", str(process.child.pid)], check=False,
                                     capture_output=True, text=True).stdout[-12000:])

    def close(self):
        for device in self.devices:
            device.process.kill()
            if device.held is not None:
                device.held.release()
        if self.process is not None:
            self.process.kill()
        if self.options.full and os.path.ismount(self.path("disk")):
            subprocess.run(["umount", "-l", self.path("disk")], check=False)
        if self.cuts and not self.cuts.close():
            raise Failure("the networks could not be removed: try lab/lab clean")

    def run(self):
        try:
            self.disturb()
            self.judge()
        except (Failure, AssertionError) as failure:
            self.describe()
            print("chaos: seed %d after %d events: %s\nrun it again: %s\nits files: %s" % (
                self.options.seed, self.count(), failure, replay(self.options), self.folder), flush=True)
            return False
        finally:
            self.close()
        shutil.rmtree(self.folder)
        return True


def read_course(path):
    """What --events says of steps and ends of epochs, each as {total step: what must be the same}, and the moments."""
    steps, epochs, moments = {}, {}, []
    life = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                event = json.loads(line)
            except ValueError:
                continue  # cut short by a kill
            if event["event"] == "started":
                life = {"last": 0}
            if event["event"] == "step":
                if event["total_step"] <= life["last"]:
                    raise Failure("step %d was applied twice" % event["total_step"])
                life["last"] = event["total_step"]
                moments.append(event["at"])
            what = {"step": steps, "epoch": epochs}.get(event["event"])
            if what is None:
                continue
            key = event["total_step"]
            said = tuple(event.get(name) for name in ("epoch", "step", "epoch_steps", "samples", "loss", "accuracy",
                                                     "val_loss", "val_accuracy"))
            if what.setdefault(key, said) != said:
                raise Failure("%s at step %d was once %s and once %s" % (event["event"], key, what[key], said))
    return steps, epochs, moments


def longest_pause(path):
    """What --events says in the longest time without a step, and 2 s before."""
    with open(path, encoding="utf-8") as file:
        events = [json.loads(line) for line in file if line.endswith("}\n")]
    moments = [event["at"] for event in events if event["event"] == "step"]
    end = max(range(1, len(moments)), key=lambda i: moments[i] - moments[i - 1])
    return [json.dumps(event) for event in events
            if event["event"] != "step" and moments[end - 1] - 2 <= event["at"] <= moments[end] + 0.5]


def judge_course(path, alone_path, fields=None):
    """Every step and epoch as alone, samples and all; steps that device 0 was brought past show in those after them.

    With `fields`, only so much of what is said of each has to be the same.

    The longest time without a step, and how many samples were counted, in all and in each of how many epochs.
    """
    steps, epochs, moments = read_course(path)
    alone_steps, alone_epochs, _ = read_course(alone_path)
    for found, wanted, what in ((steps, alone_steps, "step"), (epochs, alone_epochs, "epoch")):
        for key, said in found.items():  # a life that was killed may have gone farther than the last one
            if key <= max(alone_steps) and wanted.get(key, ())[:fields] != said[:fields]:
                raise Failure("%s at step %d: (epoch, step, of, samples, loss, accuracy ...) %s, alone %s" % (what, key, said, wanted.get(key)))
    last = {said[0]: said[3] for _, said in sorted(alone_steps.items())}
    whole = {said[0]: said[3] for said in alone_steps.values() if said[1] == said[2]}
    unseen = set(whole) - {said[0] for said in epochs.values()}
    if unseen:
        raise Failure("nothing was said of the end of epochs %s" % sorted(unseen))
    if len(set(whole.values())) > 1:
        raise Failure("alone, epochs have different numbers of samples: %s" % last)
    still = max((b - a for a, b in zip(moments, moments[1:])), default=0)
    return still, {"all": sum(last.values()), "samples": max(whole.values(), default=0), "epochs": len(whole)}


def replay(options):
    faults = "".join(" --%s %g" % (name, getattr(options, name)) for name in FAULTS if getattr(options, name))
    return "SHOAL=%s %s --seed %d --events %d --gap %g --devices %d --restarts %g --cuts %g --bound %g%s %s" % (
        harness.SHOAL, os.path.abspath(__file__), options.seed, options.events, options.gap, options.devices,
        options.restarts, options.cuts, options.bound, faults, shlex.join(options.job))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1000000))
    parser.add_argument("--events", type=int, default=100)
    parser.add_argument("--gap", type=float, default=0.4, help="seconds between two events, in the mean")
    parser.add_argument("--devices", type=int, default=6, help="at one time, the coordinator included")
    parser.add_argument("--restarts", type=float, default=0, help="weight of a coordinator killed and resumed; a join has 8")
    parser.add_argument("--cuts", type=float, default=0, help="weight of a partition; a join has 8; needs root")
    for fault, words in FAULTS.items():
        parser.add_argument("--" + fault, type=float, default=0, help="weight of " + words)
    parser.add_argument("--bound", type=float, default=0, help="the longest time without a step, in seconds; ten usual steps are allowed too")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--debugger", help="command that prints the state of a process (-p PID) where something is wrong")
    parser.add_argument("--verbose", action="store_true")
    options, job = parser.parse_known_args(arguments)
    options.job = job
    options.servers = job[job.index("--servers"):][:2] if "--servers" in job else []  # of this run, not of the job
    if options.stuck and (options.restarts or options.cuts):
        parser.error("--stuck with --restarts or --cuts: of two devices nobody knows which one is wrong")
    if options.full and "1000000" not in job:
        parser.error("--full: the last checkpoint has to be written, so the job must not end by itself (--epochs 1000000)")
    reason = cuts.missing() if options.cuts or options.trickles or options.full else None
    if reason is not None:
        print("chaos: skipped: %s" % reason, flush=True)
        return harness.SKIPPED
    try:
        return 0 if Chaos(options).run() else 1
    except threads.Refused as refused:
        print("chaos: skipped: %s" % refused, flush=True)
        return harness.SKIPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
