#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ps-async and ps-bounded:K: devices that train at their own pace; every sample counts once, whoever comes and goes."""

import json

import harness

EPOCHS = 5 if harness.SANITIZED else 30
# 32 updates an epoch, the last one of 16 samples: a lap each.
JOB = ("mlp:784-64-32-10", "digits:2000/1000", "--batch-size", "64", "--lr", "0.05", "--momentum", "0.5", "--epochs", str(EPOCHS))
# 125 updates an epoch: laps of 64 and 61.
LONG = ("mlp:784-64-32-10", "digits:2000/1000", "--batch-size", "16", "--lr", "0.003", "--epochs", str(2 * EPOCHS))
ASYNC, BOUNDED = ("--strategy", "ps-async"), ("--strategy", "ps-bounded:2")


class Async(harness.Case):
    def run_once(self, *arguments):
        return self.train(*arguments, "--quiet").summary

    def assert_sane(self, summary, *job):
        """Steps and samples as sync has them; and its accuracy, where it grows no more: before, one run is unlike another.

        There, runs lay within a point of each other.
        """
        expected = self.run_once(*job, "--strategy", "sync")
        for key in ("epochs", "steps", "samples"):
            self.assertEqual(summary[key], expected[key], key)
        if not harness.SANITIZED:
            self.assertGreater(summary["val_accuracy"], expected["val_accuracy"] - 0.03)

    def epochs_of(self, path):
        """(epoch, samples that were counted) at the end of each; a validation that a death broke off may be told twice."""
        with open(path, encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        return sorted({(event["epoch"], event["samples"]) for event in events if event.get("event") == "epoch"})

    @harness.not_for_threads("one process; the lanes are those of any training")
    def test_one_device_does_what_it_does_in_sync(self):
        for strategy in (ASYNC, BOUNDED):
            for listen in ((), ("--listen", "127.0.0.1:0")):
                found = [self.run_once(*JOB, *how, *listen, "--optimizer", "adam", "--lr", "0.001", "--epochs", "2")
                         for how in (strategy, ("--strategy", "sync"))]
                self.assertEqual(*(each["weights_hash"] for each in found))
                self.assertEqual(*(each["train_loss"] for each in found))

    def test_every_sample_counts_once(self):
        ways = (("--devices", "3", *ASYNC), ("--devices", "3", *BOUNDED),
                ("--devices", "2", "--strategy", "ps-bounded:1", "--wire", "16", "--optimizer", "adam", "--lr", "0.001"))
        for how in ways[1:2] if harness.SANITIZED else ways:
            with self.subTest(how=how):
                events = self.path(how[3].replace(":", "-") + ".events")
                found = self.run_once(*JOB, *how, "--lanes", "1", "--events", events)
                self.assert_sane(found, *JOB, *how[2:])
                self.assertEqual(sum(device["samples"] for device in found["devices"]), found["samples"])
                self.assertEqual(self.epochs_of(events), [(epoch + 1, 2000) for epoch in range(EPOCHS)])

    @harness.not_for_threads("one lap is like another")
    def test_steps_and_resuming(self):
        """A lap ends with the job; what is in the checkpoint goes on."""
        each = ("--batch-per-device", "16")  # one device computes an update
        found = self.run_once(*LONG[:2], *LONG[4:], *ASYNC, *each, "--devices", "2", "--steps", "70", "--run", "run")
        self.assertEqual((found["steps"], found["samples"]), (70, 70 * 16))
        found = self.run_once("--resume", "run", "--epochs", "12", "--devices", "3")
        self.assertEqual(found["steps"], 12 * 125)
        self.assertGreater(found["val_accuracy"], 0.85)
        self.run_once("--resume", "run", "--steps", "1564", "--devices", "3", "--servers", "1")
        for strategy in ("ps-bounded:2", "sync"):
            result = self.shoal("train", "--resume", "run", "--strategy", strategy, status=1)
            self.assertIn("--strategy %s differs from the checkpoint's" % strategy, result.err)

    def come_and_go(self, *job):
        events = self.path("%d.events" % len(job))
        training = harness.Training(self, *LONG, *job, "--lanes", "1", "--events", events)
        summary = training.come_and_go()
        self.assert_sane(summary, *LONG, *job)
        self.assertEqual(self.epochs_of(events), [(epoch + 1, 2000) for epoch in range(2 * EPOCHS)])

    def test_a_device_that_dies_and_one_that_joins(self):
        self.come_and_go(*ASYNC)

    @harness.not_for_threads("only the bound differs")
    def test_the_same_with_a_bound(self):
        self.come_and_go(*BOUNDED)

    @harness.not_for_threads("a sample of what is refused")
    def test_what_it_does_not_go_with(self):
        result = self.shoal("train", "lenet", "digits", "--strategy", "ps-async", "--engine", "mpi", status=2)
        self.assertIn("--engine mpi", result.err)
        result = self.shoal("train", "lenet", "digits", "--strategy", "ps-bounded:65536", status=2)
        self.assertIn("--strategy ps-bounded:65536: K must be a whole number from 1 to 65535", result.err)


if __name__ == "__main__":
    harness.main()
