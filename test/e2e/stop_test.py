#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stopping and going on: a course that was interrupted ends where the uninterrupted one does."""

import hashlib
import os
import shutil
import signal
import struct
import time

import harness

# 7 steps an epoch, the last one short.
JOB = ("mlp:784-16-10", "digits:310/90", "--batch-size", "50", "--grain", "7")
EPOCH_STEPS = 7


class Stop(harness.Case):
    def last(self, run, name="last"):
        return self.path(run, "checkpoints", name + ".safetensors")

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def write(self, path, content):
        with open(path, "wb") as file:
            file.write(content)

    def stop(self, number, *arguments):
        """Runs until training is on its way, stops it by a signal; the summary."""
        path = self.path("stopped.json")
        process = self.start("train", *arguments, "--json", path)
        process.wait_for("^training on ", stream="err")
        process.signal(number)
        result = process.wait(30)
        self.assertEqual(result.status, 128 + number, str(result))
        self.assertRegex(result.err, r"(?m)^stopped; continue with: shoal train --resume run$")
        summary = self.summary(path)
        self.assertEqual(summary["status"], "stopped")
        self.assertEqual(sum(device["samples"] for device in summary["devices"]), summary["samples"])
        return summary

    def assert_ends_like(self, run, summary, *arguments):
        """The run's summary and checkpoint are those of the job done in one go on one device."""
        whole = self.train(*arguments, "--run", "whole", "--quiet").summary
        for key in "steps epochs train_loss val_loss val_accuracy weights_hash".split():
            self.assertEqual(summary[key], whole[key], key)
        self.assertEqual(self.read(self.last(run)), self.read(self.last("whole")))


class Schedules(Stop):
    def test_go_on_where_they_were(self):
        job = (*JOB, "--optimizer", "adam", "--lr", "0.005", "--schedule", "one-cycle", "--warmup", "1.5",
               "--clip-norm", "0.5", "--epochs", "3")
        self.train(*job, "--run", "run", "--devices", "2", "--quiet")
        for devices in ("1", "3"):  # from the end of the second epoch
            shutil.copytree(self.path("run"), self.path(devices))
            os.remove(self.last(devices))
            end = self.train("--resume", devices, "--devices", devices, "--quiet").summary
            self.assertEqual(end["samples"], samples_of(EPOCH_STEPS))
            self.assert_ends_like(devices, end, *job)
            shutil.rmtree(self.path("whole"))

    def test_that_follow_the_end_move_with_it(self):
        """What is left has the rates of a job of the new length, and the user is told."""
        for schedule, follows in (("cosine:0.1", True), ("step:1", False)):
            job = (*JOB, "--schedule", schedule)
            run = self.path(schedule[:4])
            self.train(*job, "--epochs", "1", "--run", run, "--quiet")
            result = self.train("--resume", run, "--epochs", "2")
            note = ("--schedule %s follows the job's end, which moves from step 7 to 14: from step 8 on, learning "
                    "rates are those of the longer or shorter job" % schedule)
            self.assertEqual(note in result.err, follows, result.err)
            whole = self.train(*job, "--epochs", "2", "--quiet").summary
            self.assertEqual(result.summary["weights_hash"] != whole["weights_hash"], follows)
            self.assertEqual(result.summary["steps"], whole["steps"])


class Interrupted(Stop):
    def test_in_mid_epoch_twice_and_on_other_devices(self):
        job = (*JOB, "--epochs", "1000000")
        done = self.stop(signal.SIGINT, *job, "--devices", "3", "--run", "run")
        for number, devices in ((signal.SIGTERM, "1"), (signal.SIGHUP, "2"), (signal.SIGTERM, "5")):
            for _ in range(20):  # until it is within an epoch
                before, done = done, self.stop(number, "--resume", "run", "--devices", devices)
                self.assertEqual(done["samples"], samples_of(done["steps"]) - samples_of(before["steps"]))
                if done["steps"] % EPOCH_STEPS != 0:
                    break
        steps = str((done["steps"] // EPOCH_STEPS + 1) * EPOCH_STEPS)  # the epoch that was interrupted
        end = self.train("--resume", "run", "--steps", steps, "--devices", "3", "--quiet").summary
        self.assertEqual(end["status"], "complete")
        self.assert_ends_like("run", end, *job, "--steps", steps)

    def test_twice_ends_at_once(self):
        for first, second, status in ((signal.SIGINT, signal.SIGINT, 130), (signal.SIGINT, signal.SIGTERM, 143)):
            process = self.start("train", *JOB, "--epochs", "1000000", "--devices", "2", "--json", "s.json")
            process.wait_for("^training on ", stream="err")
            local, = harness.children_of(process.child.pid)
            os.kill(local, signal.SIGSTOP)  # no step ends any more, so it has to wait after the first
            process.signal(first)
            process.wait_for("^stopping at the next step, with a checkpoint; again: at once$", stream="err")
            time.sleep(0.1)  # what comes together counts as one
            self.assertIsNone(process.child.poll())
            process.signal(second)
            result = process.wait(10)
            self.assertEqual(result.status, status, str(result))
            self.assertNotIn("stopped; ", result.err)
            self.assertEqual((result.out, os.path.exists(self.path("s.json"))), ("", False))
            self.assertTrue(harness.has_ended(local))

    def test_two_signals_at_once_are_one(self):
        """As timeout(1) sends them: to the process, and to its group."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start("train", *JOB, "--epochs", "1000000", "--devices", "2", "--json", "s.json")
            process.wait_for("^training on ", stream="err")
            process.signal(number)
            os.killpg(process.child.pid, number)
            result = process.wait(20)
            self.assertEqual(result.status, 128 + number, str(result))
            self.assertRegex(result.err, r"(?m)^stopped; continue with: ")
            self.assertEqual(self.summary(self.path("s.json"))["status"], "stopped")

    def test_while_it_waits_for_devices(self):
        first = self.start("train", *JOB, "--run", "run", "--listen", "127.0.0.1:0", "--min-devices", "3",
                           "--json", "s.json")
        token = first.wait_for_token()
        other = self.start("join", token)
        first.wait_for(r"^joined .*\(2 devices\)", stream="err")
        first.signal(signal.SIGINT)
        result = first.wait(20)
        self.assertEqual(result.status, 130)
        summary = self.summary(self.path("s.json"))
        self.assertEqual((summary["steps"], summary["samples"], summary["val_accuracy"]), (0, 0, None))
        result = other.wait(20)
        self.assertEqual(result.status, 1)
        self.assertRegex(result.err, r"(?m)^shoal: the job has ended: stopped on request")
        end = self.train("--resume", "run", "--epochs", "1", "--quiet").summary
        self.assert_ends_like("run", end, *JOB, "--epochs", "1")

    def test_by_a_joined_device(self):
        """It leaves, and the others go on until they are stopped themselves."""
        job = (*JOB, "--epochs", "1000000")
        first = self.start("train", *job, "--run", "run", "--listen", "127.0.0.1:0", "--min-devices", "3",
                           "--devices", "2", "--json", "s.json")
        other = self.start("join", first.wait_for_token(), "--name", "guest")
        other.wait_for("^training on 3 devices, 7 steps an epoch", stream="err")
        other.signal(signal.SIGINT)
        result = other.wait(20)
        self.assertEqual(result.status, 130, str(result))
        self.assertRegex(result.err, "(?m)^leaving at the next step; again: at once$")
        self.assertNotIn("shoal: ", result.err)
        first.wait_for("^device guest left$", stream="err")
        time.sleep(0.2)
        self.assertIsNone(first.child.poll())
        first.signal(signal.SIGTERM)
        result = first.wait(20)
        self.assertEqual(result.status, 143, str(result))
        summary = self.summary(self.path("s.json"))
        self.assertIn("guest", [device["name"] for device in summary["devices"]])
        self.assertEqual(sum(device["samples"] for device in summary["devices"]), summary["samples"])
        steps = str(summary["steps"] + 3)
        end = self.train("--resume", "run", "--steps", steps, "--quiet").summary
        self.assert_ends_like("run", end, *job, "--steps", steps)


def samples_of(steps):
    """Samples that the first steps of the job use."""
    return steps // EPOCH_STEPS * 310 + steps % EPOCH_STEPS * 50


class Resume(Stop):
    def setUp(self):
        super().setUp()
        self.train(*JOB, "--epochs", "2", "--run", "run", "--quiet")

    def test_from_a_run_a_folder_or_a_file(self):
        for given, run in (("run/checkpoints", "a"), ("run/checkpoints/last.safetensors", "b"), ("run/", None)):
            where = ("--run", run) if run else ()
            end = self.train("--resume", given, "--epochs", "3", *where, "--quiet").summary
            self.assertEqual(end["samples"], 310)
            self.assertEqual(end["run"].rstrip("/"), run or "run")
            self.assert_ends_like(end["run"], end, *JOB, "--epochs", "3")
            shutil.rmtree(self.path("whole"))
        self.assertEqual(self.read(self.last("run")), self.read(self.last("a")))

    def test_a_checkpoint_by_itself_begins_a_new_run(self):
        before = self.read(self.last("run"))
        end = self.train("--resume", "run/checkpoints", "--epochs", "3", "--quiet").summary
        self.assertTrue(end["run"].startswith("runs/"), end["run"])
        self.assertEqual(self.read(self.last("run")), before)

    def test_a_complete_run_stays_as_it_is(self):
        before = self.read(self.last("run"))
        for devices in ("1", "2"):
            end = self.train("--resume", "run", "--devices", devices, "--quiet").summary
            self.assertEqual(end["samples"], 0)
            self.assertEqual(self.read(self.last("run")), before)
        self.assert_ends_like("run", end, *JOB, "--epochs", "2")

    def test_an_end_before_the_done_steps_is_refused(self):
        before = self.read(self.last("run"))
        for options, words in ((("--epochs", "1"), r"the job ends after 7 \(1\.0 epochs\)"), (("--steps", "3"), "the job ends after 3 ")):
            result = self.shoal("train", "--resume", "run", *options, "--quiet", status=1)
            self.assertRegex(result.err, r"\Ashoal: --resume run: 14 steps \(2\.0 epochs\) are done already, and with these options " + words)
            self.assertIn("give more --epochs or --steps, or leave them out", result.err)
        self.assertEqual(self.read(self.last("run")), before)

    def test_another_job_is_refused_with_both_values(self):
        for change, reason in (
                (("--momentum", "0"), "--momentum 0 .*(0.9)"), (("--seed", "9"), "--seed 9 .*(1)"),
                (("--optimizer", "adam"), "--optimizer adam .*(sgd)"), (("--nesterov",), "--nesterov 1 .*(0)"),
                (("--monitor", "val_accuracy"), "--monitor val_accuracy .*(val_loss)"),
                (("--batch-size", "60"), "--batch-size 60 .*(50)"), (("--grain", "8"), "--grain 8 .*(7)"),
                (("mlp:784-17-10", JOB[1]), "model mlp:784-17-10 .*(mlp:784-16-10)")):
            result = self.shoal("train", *change, "--resume", "run", "--quiet", status=1)
            self.assertRegex(result.err, r"\Ashoal: --resume run: " + reason.replace("(", r"\(").replace(")", r"\)"))
        for data in ("digits:310/91", "digits:300/90"):
            result = self.shoal("train", JOB[0], data, "--resume", "run", "--quiet", status=1)
            self.assertRegex(result.err, r"\Ashoal: --resume run: data %s .*digits:310/90" % data)
        self.train(*JOB, "--resume", "run", "--quiet")  # the same values may be given

    def test_a_run_in_use_is_refused(self):
        process = self.start("train", "--resume", "run", "--epochs", "1000000")
        process.wait_for("^training on ", stream="err")
        result = self.shoal("train", "--resume", "run", "--quiet", status=1)
        self.assertRegex(result.err, r"\Ashoal: run: is in use by another shoal \(process %d\)" % process.child.pid)
        result = self.shoal("train", *JOB, "--run", "run", "--quiet", status=1)
        self.assertRegex(result.err, r"\Ashoal: run: .*(in use|holds a run already)")


class Damage(Stop):
    def setUp(self):
        super().setUp()
        self.end = self.train(*JOB, "--epochs", "3", "--run", "run", "--quiet").summary
        self.whole = self.read(self.last("run"))

    def test_the_one_before_is_used(self):
        middle = len(self.whole) // 2
        before = self.read(self.last("run", "previous"))
        for content in (self.whole[:-1], self.whole[:100], b"", self.whole + b"\0",
                        self.whole[:middle] + bytes([self.whole[middle] ^ 1]) + self.whole[middle + 1:],
                        self.whole[:200] + b"}" + self.whole[201:]):
            self.write(self.last("run"), content)
            self.write(self.last("run", "previous"), before)
            result = self.train("--resume", "run", "--devices", "2")
            self.assertRegex(result.err, r"(?m)^run/checkpoints/last\.safetensors is damaged or missing; continuing from "
                                         r"the one before it, run/checkpoints/previous\.safetensors$")
            self.assertEqual(result.summary["samples"], 310)  # the last epoch, again
            self.assertEqual(result.summary["weights_hash"], self.end["weights_hash"])
            self.assertEqual(self.read(self.last("run")), self.whole)

    def test_none_is_left(self):
        self.write(self.last("run"), self.whole[:5000])
        os.remove(self.last("run", "previous"))
        result = self.shoal("train", "--resume", "run", "--quiet", status=1)
        self.assertRegex(result.err, r"\Ashoal: no checkpoint can be used: .*last\.safetensors: .*previous\.safetensors: ")
        result = self.shoal("train", "--resume", "run/checkpoints/last.safetensors", "--quiet", status=1)
        self.assertRegex(result.err, r"\Ashoal: run/checkpoints/last\.safetensors: ")
        os.remove(self.last("run"))
        result = self.shoal("train", "--resume", "run", "--quiet", status=1)
        self.assertRegex(result.err, r"\Ashoal: run/checkpoints: holds no checkpoint ")

    def test_a_newer_format_is_not_damage(self):
        newer = self.whole.replace(b'"shoal.format":"1"', b'"shoal.format":"9"', 1)
        digits = newer.index(b'"shoal.sha256":"') + len(b'"shoal.sha256":"')
        unsigned = newer[:digits] + b"0" * 64 + newer[digits + 64:]
        self.write(self.last("run"), unsigned.replace(b"0" * 64, hashlib.sha256(unsigned).hexdigest().encode(), 1))
        result = self.shoal("train", "--resume", "run", "--quiet", status=1)
        self.assertRegex(result.err, r"\Ashoal: run/checkpoints/last.safetensors: written by a newer shoal \(format 9, ")

    def test_other_weights_are_refused(self):
        result = self.shoal("eval", "lenet", "digits:10/10", "--weights", "run", status=1)
        self.assertRegex(result.err, r"\Ashoal: run/checkpoints/last.safetensors: does not fit the model: missing: \S+, ")
        result = self.shoal("eval", "mlp:784-17-10", "digits:10/10", "--weights", "run", status=1)
        self.assertRegex(result.err, r"\Ashoal: run/checkpoints/last.safetensors: .*fc1\.weight")
        header = b'{"fc1.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        self.write(self.path("foreign.safetensors"), struct.pack("<Q", len(header)) + header + b"\0" * 4)
        result = self.shoal("train", "--resume", "foreign.safetensors", "--quiet", status=1)
        self.assertRegex(result.err, r"\Ashoal: foreign.safetensors: .*not a checkpoint of shoal")


if __name__ == "__main__":
    harness.main()
