#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""local:H: workers that train apart lead to the same weights wherever they are computed, with 1/H of the traffic."""


import harness

# 7 outer steps an epoch; the last one has 35 samples: 2 local steps, the second of 3 samples, or none.
LENET = ("lenet", "digits:995/60", "--batch-size", "40", "--strategy", "local:4", "--workers", "4", "--epochs", "2")
# Longer, for those who come and go.
MLP = ("mlp:784-64-32-10", "digits:2000/200", "--batch-size", "32", "--strategy", "local:6", "--workers", "8",
       "--outer-lr", "0.7", "--outer-momentum", "0.6", "--epochs", "20" if harness.SANITIZED else "60")
RESNET = ("resnet:20", "digits:96/16", "--batch-size", "16", "--strategy", "local:2", "--optimizer", "adamw", "--lr",
          "0.002", "--clip-norm", "1", "--schedule", "cosine", "--epochs", "2")
SYNC = ("--strategy", "sync")


class Local(harness.Case):
    def run_once(self, *arguments):
        return self.train(*arguments, "--quiet").summary

    def assert_same(self, job, *ways):
        """One course on one lane, and on each (devices, lanes)."""
        expected = self.run_once(*job, "--lanes", "1")
        for devices, lanes in ways[-1:] if harness.SANITIZED else ways:
            with self.subTest(devices=devices, lanes=lanes):
                found = self.run_once(*job, "--devices", str(devices), "--lanes", str(lanes))
                for key in "epochs steps samples train_loss val_loss val_accuracy weights_hash".split():
                    self.assertEqual(found[key], expected[key], key)
                self.assertEqual(sum(device["samples"] for device in found["devices"]), expected["samples"])
        return expected

    @harness.not_for_threads("the next test that trains so has the same threads, train.strategy_laps too")
    def test_the_same_weights_on_any_devices_and_lanes(self):
        found = self.assert_same(LENET, (1, 2), (2, 1), (3, 1))
        self.assertEqual((found["epochs"], found["steps"], found["samples"]), (2, 14, 1990))
        self.assertEqual(found["devices"][0]["grains"], 2 * 7 * 4)

    @harness.not_for_sanitizers("what differs from LeNet is arithmetic alone")
    def test_batch_norm_any_optimizer_and_clipping(self):
        self.assert_same(RESNET, (1, 2), (3, 1))

    @harness.not_for_sanitizers("these trainings differ in arithmetic alone")
    def test_what_is_of_the_job(self):
        hashes = [self.run_once(*LENET[:-2], "--epochs", "1", *change)["weights_hash"] for change in (
            (), ("--workers", "2"), ("--strategy", "local:5"), ("--outer-lr", "0.9"), ("--outer-momentum", "0.1"))]
        self.assertEqual(len(set(hashes)), len(hashes))

    def test_a_device_that_dies_and_one_that_joins(self):
        expected = self.run_once(*MLP, "--lanes", "2")
        training = harness.Training(self, *MLP, "--lanes", "1")
        summary = training.come_and_go()
        self.assertEqual(summary["weights_hash"], expected["weights_hash"])
        self.assertEqual(summary["samples"], expected["samples"])

    @harness.not_for_sanitizers("e2e.keep and e2e.stop resume there")
    def test_resuming(self):
        """The outer momentum is in the checkpoint; what workers hold is not, and need not be."""
        expected = self.run_once(*MLP, "--steps", "40")
        self.run_once(*MLP, "--steps", "13", "--run", "run")
        found = self.train("--resume", "run", "--steps", "40", "--devices", "2", "--quiet").summary
        self.assertEqual(found["weights_hash"], expected["weights_hash"])
        for option, other, said in (("--workers", "4", "8"), ("--strategy", "local:5", "local:6"),
                                    ("--strategy", "sync", "local:6"),
                                    ("--outer-lr", "1", "0.7"), ("--outer-momentum", "0", "0.6")):
            result = self.shoal("train", "--resume", "run", option, other, status=1)
            self.assertIn("%s %s differs from the checkpoint's; leave it out, or start a new run (%s" % (
                option, other, said), result.err)

    @harness.not_for_sanitizers("it counts bytes")
    def test_traffic_falls_with_the_steps_that_are_not_shared(self):
        """Of 48 steps of sync, local:8 shares 6, and the first is done again to find its exponents, as sync's is. Of so
        many samples sync sends no factors of dense layers, which would be fewer bytes still."""
        job = ("lenet", "digits:3840/20", "--batch-size", "320", "--steps")
        sent = [[device["bytes_sent"] for device in self.run_once(*job, *how, "--devices", "3", "--lanes", "1")["devices"]]
                for how in (("48", *SYNC), ("6", "--strategy", "local:8"))]
        self.assertLess(sum(sent[1]), sum(sent[0]) / 5, sent)

    def test_numbers_out_of_range(self):
        for arguments, message in (
                ("--strategy local:0", "--strategy local:0: H must be a whole number from 1 to 65535; write local:H"),
                ("--strategy local", "--strategy local: H must be a whole number from 1 to 65535"),
                ("--strategy local:65536", "--strategy local:65536: H must be a whole number"),
                ("--strategy local:4 --workers 3", "--workers 3: a batch of 64 cannot be divided into equal parts; "
                 "give a --batch-size that can"),
                ("--strategy local:4 --grain 32", "--grain 32: larger than a worker's 16 samples of a local step"),
                ("--strategy local:4 --outer-momentum 1", "--outer-momentum"),
                ("--strategy local:4 --outer-lr 0", "--outer-lr 0: must be a number above 0")):
            result = self.shoal("train", "lenet", "digits", *arguments.split(), status=2)
            self.assertIn(message, result.err)


if __name__ == "__main__":
    harness.main()
