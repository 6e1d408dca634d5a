#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A thread hangs, as in a disk, a driver or a debugger: whoever is told to stop ends all the same, and nothing is lost."""

import json
import os
import re
import signal
import time

import harness
import threads

# Steps that mostly compute: the weights are changed, and files are written, in a small part of the time.
JOB = ("lenet", "digits:4800/10", "--batch-size", "48", "--grain", "8", "--lr", "0.02", "--lanes", "1")
ENDLESS = ("--epochs", "1000000")


@harness.not_for_sanitizers("it mostly waits; what its threads do is in node.job.hang_guard")
class Ends(harness.Case):
    def last_step(self, path):
        """The newest step that --events tells of; 0: none yet."""
        if not os.path.exists(path):
            return 0
        with open(path, encoding="utf-8") as file:
            return max((json.loads(line).get("total_step", 0) for line in file if line.endswith("}\n")), default=0)

    def wait_for_step(self, path):
        deadline = time.monotonic() + 20 * harness.PATIENCE
        while self.last_step(path) == 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def stop_hung(self, process, number):
        """Stops its main thread and tells it to end; how it ended, and the step of its checkpoint (None: it was
        stopped while it changed the weights, or wrote files, which may take a minute)."""
        with threads.stopped(process.child.pid):
            process.signal(number)
            result = process.wait(100)
        self.assertEqual(result.status, 128 + number, str(result))
        if re.search(r"\(the weights are being changed\); those on the disk stay|while files were written", result.err):
            return result, None
        said = re.search(r"(?m)^shoal: ended without the current step: this device has computed nothing for \d+ s "
                         r"\(a disk, a driver or a debugger may block it\); a checkpoint of step (\d+) was written; "
                         r"continue with: shoal train --resume run\d*$", result.err)
        self.assertTrue(said, str(result))
        return result, int(said.group(1))

    def test_a_device_alone_ends_with_its_last_step(self):
        step = None
        for attempt in range(5):
            run, events = "run%d" % attempt, self.path("events%d" % attempt)
            process = self.start("train", *JOB, *ENDLESS, "--run", run, "--events", events)
            self.wait_for_step(events)
            _, step = self.stop_hung(process, signal.SIGINT)
            if step is not None:
                break
        self.assertIn(step - self.last_step(events), (0, 1))
        self.assertRegex(self.shoal("runs", run).out, "stopped")
        steps = ("--steps", str(step + 2), "--quiet")
        end = self.train("--resume", run, *steps).summary
        whole = self.train(*JOB, *ENDLESS, *steps, "--run", "whole").summary
        self.assertEqual(end["weights_hash"], whole["weights_hash"])

    def test_devices_end_where_others_hang(self):
        """One that hangs itself, one that waits for others, and the coordinator, whose loop goes on."""
        process = self.start("train", *JOB, *ENDLESS, "--run", "run", "--listen", "127.0.0.1:0", "--devices", "2")
        token = process.wait_for_token()
        hangs, waits = (self.start("join", token, "--name", name, "--lanes", "1", "--never-lead") for name in ("hangs", "waits"))
        for device in (hangs, waits):
            device.wait_for("^training on ", stream="err")
        local, = harness.children_of(process.child.pid)
        with threads.stopped(hangs.child.pid), threads.stopped(process.child.pid):
            hangs.signal(signal.SIGTERM)
            waits.signal(signal.SIGINT)
            for device, status in ((hangs, 143), (waits, 130)):
                result = device.wait(100)
                self.assertEqual(result.status, status, str(result))
                self.assertRegex(result.err, "(?m)^shoal: ended without the current step: (this device has computed "
                                             "nothing|nothing has come from the coordinator and the other devices) for ")
                self.assertNotIn("checkpoint", result.err.rsplit("shoal: ", 1)[1])
                harness.Events(self.path("run")).find(r"WARN device\.lost .*" + result.argv[4])
            process.signal(signal.SIGHUP)
            result = process.wait(100)
        self.assertEqual(result.status, 129, str(result))
        self.assertTrue(harness.has_ended(local))


if __name__ == "__main__":
    harness.main()
