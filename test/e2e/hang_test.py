#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A device that sends heartbeats but computes nothing: the others report it and continue without it."""

import time

import harness
import threads

JOB = ("lenet", "digits:150/30", "--batch-size", "48", "--grain", "6", "--epochs", "1000000")
BOUND_S = 10  # the longest time without a step, where steps are short


@harness.not_for_sanitizers("it mostly waits; who is put out when is in cluster.membership_watch")
class Hang(harness.Case):
    def alone(self, steps):
        return self.train(*JOB[:-2], "--steps", str(steps), "--quiet", "--run", "alone").summary["weights_hash"]

    def watch(self, training, epochs):
        """Waits for that many more epochs; returns the longest time without one."""
        goal, last, longest, done = training.epochs() + epochs, time.monotonic(), 0, training.epochs()
        while training.epochs() < goal and longest < 60:
            time.sleep(0.02)
            longest = max(longest, time.monotonic() - last)
            if training.epochs() > done:
                last, done = time.monotonic(), training.epochs()
        return longest

    def find(self, training, words):
        return [line for line in training.events.lines() if words in line]

    def test_one_whose_computing_thread_stands_still(self):
        """It is reported and evicted, and comes back by itself; the weights are those of one device."""
        while not self.stands_still():
            pass

    def stands_still(self):
        """False: the thread stopped with a lock that the loop needs, so the device was silent instead."""
        training = harness.Training(self, *JOB)
        works, hangs = training.join("works"), training.join("hangs")
        training.wait_for_joined("works", "hangs")
        usual = self.watch(training, 3)
        held = threads.stopped(hangs.child.pid)  # while it computes, or reads the samples to compute with
        self.addCleanup(held.release)
        # Lines of epochs that ended before may arrive later, so the loss itself is waited for.
        start = time.monotonic()
        training.events.find(r" device\.lost ")
        self.watch(training, 2)
        pause = time.monotonic() - start
        told, lost = self.find(training, " device.waited "), self.find(training, " device.lost ")
        if not told and "after its last message" in lost[0] and "made no progress" not in lost[0]:
            held.release()
            training.stop()
            return False
        doing = "it (computes|reads samples), and"
        self.assertRegex(" ".join(told), f"the others wait for device hangs: {doing} has made no progress for [2-9]")
        self.assertRegex(" ".join(lost), f"device hangs was lost .*: {doing} made no progress for ")
        self.assertEqual((len(told), len(lost)), (1, 1))
        self.assertLess(pause, max(BOUND_S, 10 * usual))
        held.release()
        training.events.find(r"INFO device\.joined device=[3-9] text=\"device hangs joined")
        summary = training.stop()
        self.assertEqual(summary["weights_hash"], self.alone(summary["steps"]))
        for one in (works, hangs):
            self.assertEqual(one.wait(20).status, 0)
        return True


if __name__ == "__main__":
    harness.main()
