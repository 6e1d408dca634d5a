#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: it has no threads of its own.
"""Sweeps: killed and resumed, stopped, with trials that fail, of a study that changes."""

import json
import os
import re
import signal
import time

import harness

STUDY = """\
name: small
all: {data: "digits:600/100", batch-size: 32, steps: 12}
blocks:
  - name: devices
    model: mlp:784-32-10
    devices: [1, 2]
    seed: [1, 2]
  - name: models
    model: [mlp:784-16-10, lenet]
    wire: [32, 16]
"""
TRIALS = 8
# What has to be equal whoever did it, and however often it was begun.
EXACT = ("id", "block", "status", "settings", "weights_hash", "val_accuracy", "val_loss", "train_loss", "samples", "steps",
         "epochs", "redone", "parameters", "message")


class Sweeps(harness.Case):
    def study(self, text, name="study.yaml"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def table(self, *arguments):
        """The trials as --list has them."""
        path = self.path("list-%d.json" % time.monotonic_ns())
        self.shoal("sweep", *arguments, "--list", "--quiet", "--json", path)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def exact(self, *arguments):
        return [{key: trial[key] for key in EXACT} for trial in self.table(*arguments)["trials"]]

    def reach(self, holds, what):
        deadline = time.monotonic() + 60 * harness.PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline, "never: " + what)
            time.sleep(0.001)

    def trial_processes(self, folder):
        """Processes whose command line names a file in that folder."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    if os.path.join(folder, "trials").encode() in file.read() and harness.is_alive(int(name)):
                        found.append(int(name))
            except OSError:
                pass
        return found

    def killed(self, study, folder, moment):
        process = self.start("sweep", study, "--run", folder)
        moment(process)
        process.signal(signal.SIGKILL)
        process.wait()
        self.reach(lambda: not self.trial_processes(folder), "its trial ends with it")

    def running(self, folder, place):
        """A moment: the trial at that place of the study has begun to train."""
        def wait(_):
            name = self.table("study.yaml", "--run", folder)["trials"][place]["id"]
            self.reach(lambda: os.path.exists(os.path.join(folder, "trials", name, "run", "events.log")), "it trains")
        return wait

    def test_killed_three_times_and_resumed(self):
        study = self.study(STUDY)
        alone, broken = self.path("alone"), self.path("broken")
        self.shoal("sweep", study, "--run", alone)
        self.killed(study, broken, self.running(broken, 0))
        self.killed(study, broken, lambda process: process.wait_for(r"^\[2/8\]", stream="err"))
        self.killed(study, broken, self.running(broken, 5))
        before = {trial["id"]: trial for trial in self.table(study, "--run", broken)["trials"]}
        done = [name for name, trial in before.items() if trial["status"] == "done"]
        self.assertGreaterEqual(len(done), 5)
        self.assertLess(len(done), TRIALS)
        self.assertGreater(max(trial["attempts"] for trial in before.values()), 1, "no trial was aborted")
        self.shoal("sweep", study, "--run", broken)
        self.assertEqual(self.exact(study, "--run", broken), self.exact(study, "--run", alone))
        after = {trial["id"]: trial for trial in self.table(study, "--run", broken)["trials"]}
        for name in done:  # never repeated
            self.assertEqual(after[name], before[name])
        for one, other in zip(self.table(study, "--run", alone)["trials"], after.values()):
            self.assertEqual(other["status"], "done")
            self.assertLess(abs(one["sent_mean"] - other["sent_mean"]), 0.2 * one["sent_mean"] + 1)

    def test_the_same_weights_for_any_number_of_devices(self):
        study = self.study(STUDY)
        self.shoal("sweep", study, "--only", "model=mlp:784-32-10")
        table = self.table(study)
        self.assertEqual((table["done"], table["waiting"], table["folder"]), (4, 4, "runs/study"))
        hashes = {}
        for trial in table["trials"][:4]:
            hashes.setdefault(trial["settings"]["seed"], set()).add(trial["weights_hash"])
        self.assertEqual([len(each) for each in hashes.values()], [1, 1])
        self.assertNotEqual(hashes["1"], hashes["2"])

    def test_failures_are_kept_and_the_rest_goes_on(self):
        study = self.study("blocks:\n- {model: [lenet, mlp:3-2, mlp:784-10], data: digits, steps: 2}\n")
        result = self.shoal("sweep", study, status=1)
        self.assertRegex(result.err, r"(?m)^\[2/3\] mlp:3-2, steps 2: failed: exit status 1: .*784")
        self.assertRegex(result.err, r"(?m)^3 trials in runs/study: 2 done, 1 failed, 0 waiting$")
        self.assertRegex(result.out, r"(?m)^ *mlp:3-2  failed: exit status 1: ")
        again = self.shoal("sweep", study, status=1)
        self.assertNotIn("[1/", again.err)
        self.assertIn("[1/1] mlp:3-2", self.shoal("sweep", study, "--retry", status=1).err)

    def test_a_study_that_changes(self):
        study = self.study("blocks:\n- {model: mlp:784-10, data: digits, steps: [1, 2]}\n")
        self.shoal("sweep", study)
        self.study("blocks:\n- {model: mlp:784-10, data: digits, steps: [2, 3]}\n")
        result = self.shoal("sweep", study)
        self.assertEqual(re.findall(r"(?m)^\[.*?steps (\d)", result.err), ["3"])
        self.assertIn("1 trial of earlier versions of the study: kept, not shown", result.err)
        self.study("blocks:\n- {model: mlp:784-10, data: digits, steps: [1, 2, 3]}\n")
        self.assertNotIn("[1/", self.shoal("sweep", study).err)

    def test_stopped_by_the_user(self):
        study = self.study("blocks:\n- {model: lenet, data: digits, epochs: 1000}\n")
        process = self.start("sweep", study)
        folder = self.path("runs", "study")
        self.reach(lambda: self.trial_processes("runs/study"), "a trial")
        process.signal(signal.SIGINT)
        result = process.wait()
        self.assertEqual(result.status, 130, str(result))
        self.assertIn("stopped; repeat the command to continue", result.err)
        self.assertEqual(self.trial_processes(folder), [])
        trial = self.table(study)["trials"][0]
        self.assertEqual((trial["status"], trial["attempts"]), ("waiting", 1))
        self.assertGreater(trial["spent_seconds"], 0)

    def test_one_at_a_time(self):
        study = self.study("blocks:\n- {model: lenet, data: digits, epochs: 1000}\n")
        process = self.start("sweep", study)
        self.reach(lambda: self.trial_processes("runs/study"), "a trial")
        result = self.shoal("sweep", study, status=1)
        self.assertIn("runs/study: another sweep is running there", result.err)
        process.signal(signal.SIGINT)
        process.wait()

    def test_mistakes(self):
        study = self.study("blocks:\n- model: lenet\n  data: digits\n  devises: 3\n")
        result = self.shoal("sweep", study, status=1)
        self.assertEqual(result.err, "shoal: study.yaml:4:3: 'devises' is unknown here; did you mean 'devices'?\n")
        self.assertFalse(os.path.exists(self.path("runs")))
        self.assertIn("needs STUDY.yaml", self.shoal("sweep", status=2).err)

    def test_trials_of_the_lab(self):
        if os.geteuid() != 0:
            self.skipTest("the lab needs root")
        study = self.study("lab: %s\nblocks:\n- {model: mlp:784-16-10, data: digits, steps: 5, cpu: 0.5, link: 100Mbit, "
                           "devices: [1, 2]}\n" % os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(
                               os.path.abspath(__file__)))), "lab", "lab"))
        self.shoal("sweep", study, timeout=120)
        one, two = self.table(study)["trials"]
        self.assertEqual((one["status"], two["status"]), ("done", "done"), str((one, two)))
        self.assertEqual(one["weights_hash"], two["weights_hash"])
        self.assertGreater(two["received_mean"], 1000)


if __name__ == "__main__":
    harness.main()
