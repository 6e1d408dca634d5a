#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: it has no threads of its own.
"""--lr-find: a range test draws the loss over the learning rate, suggests a rate, and keeps no weights."""

import json
import os

import harness

JOB = ("mlp:784-32-10", "digits:2000/200", "--batch-size", "32", "--lr-find")


class LrFind(harness.Case):
    def points(self, path):
        with open(self.path(path), encoding="utf-8") as file:
            return json.load(file)

    def test_a_rate_is_suggested(self):
        result = self.shoal("train", *JOB, "--run", "one", "--json", "found.json", "--augment", "crop,mixup:0.2")
        found = self.points("found.json")
        self.assertEqual(found, self.points("one/lr-find.json"))
        self.assertRegex(result.out, r"(?m)^ +[\d.]+ \|.*\*")
        self.assertRegex(result.out, r"(?m)^diverged    at [\d.]+$")
        self.assertIn("suggested   --lr %.2g, where the loss falls most steeply" % found["suggested_lr"], result.out)
        self.assertTrue(0.003 < found["suggested_lr"] < 1, found["suggested_lr"])
        self.assertGreater(found["diverged_lr"], found["suggested_lr"])
        rates = [point["lr"] for point in found["points"]]
        self.assertLess(len(rates), 100)  # it ended when it diverged
        self.assertAlmostEqual(rates[0] * 1e7, 1)
        for before, after in zip(rates, rates[1:]):
            self.assertAlmostEqual(after / before, 1e8 ** (1 / 99))
        # No weights to go on with, and no epoch was validated.
        self.assertEqual(os.listdir(self.path("one", "checkpoints")), [])
        self.assertNotIn("val loss", result.err)
        refused = self.shoal("train", "--resume", "one", status=1)
        self.assertIn("one", refused.err)
        # What was suggested trains.
        summary = self.train(*JOB[:-1], "--lr", str(found["suggested_lr"]), "--epochs", "2").summary
        self.assertGreater(summary["val_accuracy"], 0.4)  # a tenth by chance

    def test_devices_find_the_same(self):
        self.shoal("train", *JOB, "--optimizer", "adam", "--run", "one", "--quiet")
        self.shoal("train", *JOB, "--optimizer", "adam", "--run", "three", "--quiet", "--devices", "3")
        self.assertEqual(self.points("one/lr-find.json"), self.points("three/lr-find.json"))

    def test_a_short_test_comes_to_its_end(self):
        self.shoal("train", *JOB, "--steps", "20", "--batch-size", "64", "--run", "one", "--quiet")
        found = self.points("one/lr-find.json")
        self.assertLessEqual(len(found["points"]), 20)

    def test_refusals(self):
        refused = self.shoal("train", *JOB, "--strategy", "local:4", status=2)
        self.assertIn("--lr-find with --strategy local:4: is for sync and ps-sync", refused.err)
        refused = self.shoal("train", "--resume", "one", "--lr-find", status=2)
        self.assertIn("--lr-find with --resume: a range test starts with fresh weights", refused.err)


if __name__ == "__main__":
    harness.main()
