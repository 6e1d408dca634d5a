#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Losing devices, and keeping out those that do not belong: the job goes on, and the user is told."""

import glob
import json
import os
import re
import shutil
import signal
import socket
import time

import harness

JOB = ("mlp:784-16-10", "digits:310/90", "--batch-size", "50", "--grain", "7")
LONG = (*JOB, "--epochs", "1000000")
SILENT = "nothing was heard from it"
OPEN = ("--listen", "127.0.0.1:0", "--quiet", "--run", "run")


class Loss(harness.Case):
    def join(self, token, name, *arguments):
        return self.start("join", token, "--name", name, *arguments)

    def local(self, process, name):
        """The number of the local device that the process calls by this name."""
        for pid in harness.children_of(process.child.pid):
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                if b"--name\0" + name.encode() + b"\0" in file.read():
                    return pid
        self.fail("no local device is called " + name)

    def steps_of(self, checkpoint):
        """The step that a checkpoint stands at, from the JSON header of the safetensors file."""
        with open(checkpoint, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        return json.loads(header["__metadata__"]["shoal.position"])["steps"]

    def assert_goes_on(self, steps, job=LONG):
        """The run resumes from the given step and ends as the job does in one go."""
        end = self.train("--resume", "run", "--steps", str(steps + 9), "--devices", "2", "--quiet").summary
        whole = self.train(*job, "--steps", str(steps + 9), "--quiet").summary
        self.assertEqual(end["weights_hash"], whole["weights_hash"])
        self.assertEqual(end["val_accuracy"], whole["val_accuracy"])

    def assert_unharmed(self, first, lost, devices):
        """Told of the loss once, it stops as it is asked to, at what one device alone comes to."""
        self.wait_for_epochs(3)
        first.signal(signal.SIGINT)
        result = first.wait(20)
        self.assertEqual(result.status, 130, str(result))
        self.assertEqual(self.losses_in(result.err, lost), [lost], result.err)
        self.assertNotIn("shoal: ", result.err)
        summary = self.summary(self.path("s.json"))
        self.assertEqual(summary["status"], "stopped")
        self.assertEqual(len(summary["devices"]), devices)
        self.assertIn(lost, [device["name"] for device in summary["devices"]])
        whole = self.train(*LONG, "--steps", str(summary["steps"]), "--quiet").summary
        for key in "weights_hash samples redone_steps".split():
            self.assertEqual(summary[key], whole[key])
        self.assert_goes_on(summary["steps"])

    @staticmethod
    def losses_in(log, lost):
        """The devices that were lost, in order. A sanitizer may keep a healthy device busy until it counts as
        silent; it comes back, so such losses of others than `lost` do not count there."""
        losses = re.findall(r"(?m)^device (\S+) was lost \d+ ms after its last message: (.+)", log)
        return [name for name, why in losses if name == lost or not (harness.SANITIZED and why.startswith(SILENT))]

    def wait_for_epochs(self, more):
        path = self.path("run", "metrics.jsonl")
        goal, deadline = self.lines_of(path) + more, time.monotonic() + 20 * harness.PATIENCE
        while self.lines_of(path) < goal:
            self.assertLess(time.monotonic(), deadline, path)
            time.sleep(0.01)

    @staticmethod
    def lines_of(path):
        try:
            with open(path, "rb") as file:
                return file.read().count(b"\n")
        except FileNotFoundError:
            return 0


class Killed(Loss):
    def test_local_device(self):
        first = self.start("train", *LONG, "--devices", "3", "--run", "run", "--json", "s.json")
        first.wait_for("^epoch 1/", stream="err")
        self.wait_for_epochs(30)  # all have told of their work
        pids = harness.children_of(first.child.pid)
        name = "%s/3" % first.wait_for(r"^joined +(\S+)/\d \(2 devices\)$", stream="err").group(1)
        dead = self.local(first, name)
        os.kill(dead, signal.SIGKILL)
        first.wait_for("^device %s was lost" % name, stream="err")
        self.assertTrue(harness.has_ended(dead))  # its sockets were closed before it had ended
        self.assertEqual([pid for pid in pids if not harness.is_alive(pid)], [dead])
        self.assert_unharmed(first, name, 3)
        self.assertEqual([pid for pid in pids if harness.is_alive(pid)], [])

    def test_joined_device(self):
        first = self.start("train", *LONG, *OPEN[:2], "--run", "run", "--min-devices", "4", "--devices", "2", "--json",
                           "s.json")
        token = first.wait_for_token()
        one, two = self.join(token, "one"), self.join(token, "two")
        for joined in (one, two):
            joined.wait_for("^training on 4 devices, 7 steps an epoch$", stream="err")
        self.wait_for_epochs(30)  # it has told of its work
        since = time.monotonic()
        one.signal(signal.SIGKILL)
        first.wait_for("^device one was lost", stream="err")
        self.assertLess(time.monotonic() - since, 0.45 * harness.PATIENCE)  # by its socket, not by its silence
        self.assert_unharmed(first, "one", 4)
        self.assertEqual(two.wait(20).status, 0, str(two.so_far()))
        self.assertNotIn("shoal: ", two.so_far().err)

    def test_coordinator(self):
        """Who does not wait for it ends at once; the run goes on from its last checkpoint."""
        first = self.start("train", *LONG, *OPEN, "--min-devices", "3", "--devices", "2")
        joined = self.join(first.wait_for_token(), "one", "--reconnect", "0")
        joined.wait_for("^training on 3 devices", stream="err")
        self.wait_for_epochs(2)
        local, = harness.children_of(first.child.pid)
        since = time.monotonic()
        first.signal(signal.SIGKILL)
        result = joined.wait(20)
        self.assertEqual(result.status, 1, str(result))
        self.assertLess(time.monotonic() - since, 2 * harness.PATIENCE)
        self.assertRegex(result.err, r"(?m)^shoal: .*the connection ended: ")
        first.child.wait()
        self.assertTrue(harness.has_ended(local))
        self.assert_goes_on(self.steps_of(self.path("run", "checkpoints", "last.safetensors")))

    def test_while_gathering(self):
        first = self.start("train", *JOB, "--epochs", "2", "--min-devices", "3", "--listen", "127.0.0.1:0",
                           "--json", "s.json")
        token = first.wait_for_token()
        lost = self.join(token, "lost")
        first.wait_for(r"^joined +lost \(2 devices\)", stream="err")
        lost.signal(signal.SIGKILL)
        lost.child.wait()
        others = [self.join(token, name) for name in ("one", "two")]
        self.assertEqual([other.wait(30).status for other in others], [0, 0])
        self.assertEqual(first.wait(30).status, 0)
        summary = self.summary(self.path("s.json"))
        self.assertEqual({device["name"] for device in summary["devices"][1:]}, {"one", "two"})
        alone = self.train(*JOB, "--epochs", "2", "--quiet").summary
        self.assertEqual(summary["weights_hash"], alone["weights_hash"])


class Unable(Loss):
    def test_local_device_that_cannot_start(self):
        # Run by the loader's name, the program starts the loader as its devices, which knows no 'join'.
        loader = next(iter(glob.glob("/lib64/ld-linux*.so.*") + glob.glob("/lib/ld-linux*.so.*")), None)
        if loader is None or harness.PATIENCE != 1:
            self.skipTest("no loader is found, or the program does not run by it (sanitizers)")
        result = self.start(argv=[loader, harness.SHOAL, "train", *JOB, "--epochs", "1", "--devices", "2", "--quiet",
                                  "--run", "run"]).wait(20)
        self.assertEqual(result.status, 1, str(result))
        self.assertRegex(result.err, r"(?m)^shoal: device \S+/2 ended with exit code \d+ before the training began; "
                                     r"saved at step 0; continue with: shoal train --resume run$")
        self.assert_goes_on(0, JOB)


class Refused(Loss):
    def test_others_do_no_harm(self):
        first = self.start("train", *JOB, "--steps", "600", *OPEN, "--min-devices", "2", "--json", "s.json")
        token = first.wait_for_token()

        other_data = self.join(token, "other", "--data", "digits:310/91").wait(20)
        self.assertEqual(other_data.status, 1)
        self.assertRegex(other_data.err, r"(?m)^shoal: digits:310/91 differs from the job's data: ")
        no_data = self.join(token, "none", "--data", "mnist:nowhere").wait(20)
        self.assertEqual(no_data.status, 1)
        self.assertIn("nowhere", no_data.err)
        secret = token.rsplit("/", 1)[1]
        wrong = token[:-len(secret)] + secret.swapcase()
        stranger = self.join(wrong, "stranger").wait(20)
        self.assertEqual(stranger.status, 1)
        self.assertRegex(stranger.err, r"(?m)^shoal: .+")
        with socket.create_connection(("127.0.0.1", int(token.split(":")[2].split("/")[0]))) as noise:
            noise.sendall(b"GET / HTTP/1.0\r\n\r\n" + bytes(range(256)))

        joined = self.join(token, "one")
        joined.wait_for("^training on 2 devices", stream="err")
        self.assertIsNone(first.child.poll(), "the job was to last longer")

        self.assertEqual(joined.wait(60).status, 0)
        result = first.wait(60)
        self.assertEqual((result.status, result.err), (0, ""))
        summary = self.summary(self.path("s.json"))
        self.assertEqual([device["name"] for device in summary["devices"]][1:], ["one"])
        shutil.rmtree(self.path("run"))
        alone = self.train(*JOB, "--steps", "600", "--quiet").summary
        self.assertEqual(summary["weights_hash"], alone["weights_hash"])


if __name__ == "__main__":
    harness.main()
