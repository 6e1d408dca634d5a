#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: its threads are those of chaos_test.py.
"""The same course: what a job comes to depends on the job alone, not on who computed it."""

import json
import os
import re
import shutil

import harness

# Batches of 8 grains, the last of them of one sample; 3 steps an epoch, the last one of 2 grains.
LENET = ("lenet", "digits:110/40", "--batch-size", "50", "--grain", "7", "--epochs", "2")
ADAM = ("--optimizer", "adam", "--lr", "0.005", "--schedule", "one-cycle:0.4", "--clip-norm", "0.5")
MLP = ("mlp:784-16-10", "digits:310/90", "--batch-size", "50", "--grain", "7", "--epochs", "2")

# Images from a folder, moved and mirrored by chance; 3 steps an epoch, the last one of 2 grains.
CIFAR = ("lenet", "cifar10:data", "--batch-size", "40", "--grain", "7", "--epochs", "2", "--augment", "crop,flip")

# The same with batch norm, and with dropout too.
NETWORKS = (("resnet:20", *CIFAR[1:]), ("mobilenetv2:0.25", *CIFAR[1:], "--resize", "40"))

# What the course decides; everything else in a summary is about the devices.
COURSE = ("model data parameters epochs steps samples train_loss val_loss val_accuracy weights_hash "
          "redone_steps status wire").split()


class Course(harness.Case):
    def write_cifar(self):
        os.mkdir(self.path("data"))
        for name, count in (("data_batch_2.bin", 30), ("data_batch_5.bin", 60), ("test_batch.bin", 20)):
            with open(self.path("data", name), "wb") as file:
                file.write(harness.cifar10(count, seed=count))

    def course(self, *arguments, env=None):
        """What the job came to, checked to add up over the devices."""
        summary = self.train(*arguments, "--quiet", env=env).summary
        devices = summary["devices"]
        self.assertEqual(sum(device["samples"] for device in devices), summary["samples"])
        # Shares that change with measured speed make views of their own; alone, or without a step, none does.
        self.assertGreaterEqual(summary["views"], 1)
        if len(devices) == 1:
            self.assertEqual(summary["views"], 1)
        return {key: summary[key] for key in COURSE}, devices

    def assert_same(self, job, combinations, env=None):
        """One course on one device and lane, and on each (devices, lanes); returns it."""
        expected, (alone,) = self.course(*job, "--lanes", "1", env=env)
        if harness.SANITIZED:  # the last has all that they look at
            combinations = combinations[-1:]
        for devices, lanes in combinations:
            with self.subTest(devices=devices, lanes=lanes):
                found, each = self.course(*job, "--devices", str(devices), "--lanes", str(lanes), env=env)
                self.assertEqual(found, expected)
                self.assertEqual(len(each), devices)
                self.assertEqual(len({device["name"] for device in each}), devices)
                self.assertEqual(sum(device["grains"] for device in each), alone["grains"])
        return expected


class Same(Course):
    def test_lenet_on_any_number_of_devices_and_lanes(self):
        found = self.assert_same(LENET, ((1, 2), (2, 1), (3, 2), (5, 1)))
        self.assertEqual((found["epochs"], found["steps"], found["status"]), (2, 6, "complete"))

    def test_on_any_wire(self):
        for wire in ("16", "8"):
            with self.subTest(wire=wire):
                found = self.assert_same((*LENET, "--wire", wire), ((1, 2), (3, 1)))
                self.assertEqual((found["wire"], found["steps"]), (int(wire), 6))

    def test_statistics_on_a_narrow_wire_and_after_resuming(self):
        self.write_cifar()
        job = (*NETWORKS[0], "--wire", "8")
        found = self.assert_same(job, ((2, 2),))
        self.train(*job, "--steps", "4", "--run", "run", "--quiet")
        end = self.train("--resume", "run", "--steps", "6", "--devices", "2", "--quiet").summary
        self.assertEqual((end["weights_hash"], end["wire"]), (found["weights_hash"], 8))
        result = self.shoal("train", "--resume", "run", "--wire", "32", status=1)
        self.assertIn("--wire 32 differs from the checkpoint's (8)", result.err.replace("; leave it out, or start a new run", ""))

    def test_a_batch_for_each_device_is_a_batch(self):
        """Weak scaling: the job is the one with the product, whatever devices it goes on with."""
        job = ("mlp:784-16-10", "digits:310/90", "--epochs", "2")
        for devices in (1, 2, 3):
            expected, _ = self.course(*job, "--batch-size", str(17 * devices))
            count = ("--devices", str(devices))
            found, _ = self.course(*job, "--batch-per-device", "17", *count, "--run", "run%d" % devices)
            self.assertEqual(found, expected)
            with open(self.path("run%d" % devices, "job.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["batch_size"], 17 * devices)
        whole, _ = self.course(*job[:2], "--batch-size", "51", "--epochs", "3")
        for more in ((), ("--batch-per-device", "51")):
            shutil.copytree(self.path("run3"), self.path("again"))
            found, _ = self.course("--resume", "again", "--epochs", "3", *more)
            self.assertEqual(found["weights_hash"], whole["weights_hash"])
            shutil.rmtree(self.path("again"))
        result = self.shoal("train", "--resume", "run3", "--batch-per-device", "17", "--devices", "2", status=1)
        self.assertIn("shoal: --resume run3: --batch-per-device 17, which makes a batch of 34 here, differs from "
                      "the checkpoint's; leave it out, or start a new run (51)", result.err)

    def test_with_any_optimizer(self):
        self.assert_same((*MLP, *ADAM), ((2, 1), (3, 1), (1, 2)))
        self.assert_same((*MLP, "--nesterov", "--schedule", "step:1", "--warmup", "0.5"), ((3, 1),))
        self.assert_same((*MLP, "--optimizer", "rmsprop", "--lr", "0.001", "--schedule", "cosine"), ((2, 2),))

    def test_augmented_images_on_any_number_of_devices_and_lanes(self):
        self.write_cifar()
        found = self.assert_same(CIFAR, ((1, 2), (2, 1), (2, 2), (3, 1), (3, 2)))
        self.assertEqual((found["samples"], found["steps"], found["status"]), (180, 6, "complete"))

    def test_batch_norm_and_dropout_on_any_number_of_devices_and_lanes(self):
        """Running statistics go through the exact sum, dropout is keyed by sample; and after resuming."""
        self.write_cifar()
        for network in NETWORKS:
            with self.subTest(model=network[0]):
                found = self.assert_same(network, ((1, 2), (2, 1), (3, 2)))
                self.train(*network, "--steps", "4", "--run", network[0], "--quiet")
                end = self.train("--resume", network[0], "--steps", "6", "--devices", "2", "--quiet").summary
                self.assertEqual(end["weights_hash"], found["weights_hash"])

    @harness.not_for_threads("jobs that differ in their arithmetic")
    def test_what_is_made_of_images_belongs_to_the_job(self):
        self.write_cifar()
        hashes = [self.course(*CIFAR[:-2], *change)[0]["weights_hash"] for change in (
            (), ("--augment", "crop"), ("--augment", "flip"), ("--augment", "flip,crop:4"), ("--augment", "crop:5,flip"),
            ("--normalize", "imagenet"), ("--normalize", "none"), ("--resize", "28"))]
        self.assertEqual(len(set(hashes)), len(hashes), hashes)
        self.assertEqual(hashes[3], self.course(*CIFAR)[0]["weights_hash"])  # crop,flip
        self.assertEqual(hashes[0], self.course(*CIFAR[:-2], "--resize", "32")[0]["weights_hash"])

    def test_augmented_images_after_resuming(self):
        self.write_cifar()
        expected = self.course(*CIFAR)[0]["weights_hash"]
        self.train(*CIFAR, "--steps", "4", "--run", "run", "--quiet")
        summary = self.train("--resume", "run", "--steps", "6", "--devices", "2", "--quiet").summary
        self.assertEqual(summary["weights_hash"], expected)
        for option, other in (("--augment", "crop"), ("--normalize", "none"), ("--resize", "40")):
            result = self.shoal("train", "--resume", "run", option, other, status=1)
            self.assertIn("%s %s differs from the checkpoint's; leave it out" % (option, other), result.err)

    def test_eval_sees_images_as_the_training_did(self):
        self.write_cifar()
        summary = self.train(*CIFAR, "--resize", "28", "--normalize", "none", "--run", "run", "--quiet").summary
        measure = ("eval", *CIFAR[:2], "--weights", "run", "--json", "-")
        result = json.loads(self.shoal(*measure).out)
        self.assertEqual(result["accuracy"], summary["val_accuracy"])
        self.assertAlmostEqual(result["loss"], summary["val_loss"], places=5)
        other = json.loads(self.shoal(*measure, "--normalize", "imagenet").out)
        self.assertNotAlmostEqual(other["loss"], summary["val_loss"], places=5)
        self.assertIn("does not fit the model: of another shape: fc1.weight is F32 500x800, not F32 500x1250", self.shoal(*measure, "--resize", "32", status=1).err)

    def test_every_sample_once_an_epoch(self):
        for job, samples, grains in ((LENET, 220, 2 * (8 + 8 + 2)), (MLP, 620, 2 * (6 * 8 + 2))):
            for devices in ("1", "3"):
                summary = self.train(*job, "--devices", devices, "--quiet").summary
                self.assertEqual(summary["samples"], samples)
                self.assertEqual(sum(device["samples"] for device in summary["devices"]), samples)
                self.assertEqual(sum(device["grains"] for device in summary["devices"]), grains)

    def test_more_devices_than_grains(self):
        self.assert_same((*MLP, "--grain", "25"), ((4, 1),))

    def test_every_variant_has_the_same(self):
        self.write_cifar()
        variants = self.variants()
        self.assertIn("plain", variants)
        # The emulated one takes minutes with sanitizers; backend.kernel and backend.lower run it there.
        compared = [variant for variant in variants if variant != "plain" or not harness.SANITIZED]
        for job in (LENET, NETWORKS[1]):
            found = {variant: self.course(*job, "--steps", "2", env={"SHOAL_VARIANT": variant})[0] for variant in compared}
            for variant in compared:
                self.assertEqual(found[variant], found[compared[0]], variant)
        result = self.shoal("train", *LENET, status=1, env={"SHOAL_VARIANT": "abacus"})
        self.assertIn("shoal: SHOAL_VARIANT 'abacus': this processor runs %s\n" % ", ".join(variants), result.err)

    @harness.not_for_threads("jobs that differ in their arithmetic")
    def test_another_job_is_another_course(self):
        hashes = [self.course(*MLP, *change)[0]["weights_hash"] for change in (
            (), ("--seed", "2"), ("--batch-size", "49"), ("--lr", "0.02"), ("--momentum", "0.8"),
            ("--weight-decay", "0.1"), ("--epochs", "1"), ("--steps", "13"), ("--nesterov",),
            ("--optimizer", "adam"), ("--optimizer", "adam", "--weight-decay", "0.1"),
            ("--optimizer", "adamw", "--weight-decay", "0.1"), ("--optimizer", "adam", "--beta1", "0.8"),
            ("--optimizer", "adam", "--beta2", "0.99"), ("--optimizer", "adam", "--epsilon", "0.1"),
            ("--optimizer", "rmsprop"), ("--optimizer", "rmsprop", "--alpha", "0.9"),
            ("--schedule", "step:1"), ("--schedule", "step:1,0.5"), ("--schedule", "multistep:1,0.2"),
            ("--schedule", "exponential:0.9"), ("--schedule", "cosine"), ("--schedule", "one-cycle"),
            ("--warmup", "1"), ("--clip-norm", "0.1"), ("--label-smoothing", "0.1"),
            ("--wire", "16"), ("--wire", "8"))]
        self.assertEqual(len(set(hashes)), len(hashes), hashes)

    def test_eval_finds_what_the_summary_says(self):
        summary = self.train(*MLP, "--run", "run", "--devices", "2", "--quiet").summary
        for weights in ("run", "run/checkpoints", "run/checkpoints/last.safetensors"):
            result = json.loads(self.shoal("eval", *MLP[:2], "--weights", weights, "--json", "-").out)
            self.assertEqual(result["weights_hash"], summary["weights_hash"])
            self.assertEqual(result["accuracy"], summary["val_accuracy"])
            # Grains of another size may round the loss differently.
            self.assertAlmostEqual(result["loss"], summary["val_loss"], places=5)
            self.assertEqual(result["samples"], 90)


class Servers(Course):
    """Who adds up, and in which order, is no part of what decides the weights; of other wires and networks: parity_test.py."""
    PS = ("--strategy", "ps-sync")

    def test_any_devices_and_servers(self):
        expected, _ = self.course(*LENET, "--lanes", "1")
        cases = ((3, None), (1, "0"), (2, "0"), (4, "0"), (3, "1,2"))
        for devices, servers in cases[-1:] if harness.SANITIZED else cases:
            with self.subTest(devices=devices, servers=servers):
                chosen = ("--servers", servers) if servers else ()
                found, each = self.course(*LENET, *self.PS, *chosen, "--devices", str(devices), "--lanes", "1")
                self.assertEqual(found, expected)
                self.assertEqual(len(each), devices)

    def test_with_any_optimizer(self):
        expected, _ = self.course(*MLP, *ADAM, "--lanes", "1")
        self.assertEqual(self.course(*MLP, *ADAM, *self.PS, "--devices", "3", "--lanes", "1")[0], expected)

    def test_a_run_goes_on_by_either(self):
        expected, _ = self.course(*LENET, "--lanes", "1")
        for first, then, servers in (("sync", "ps-sync", ("--servers", "1")), ("ps-sync", "sync", ())):
            self.train(*LENET, "--strategy", first, "--steps", "4", "--run", first, "--devices", "2", "--quiet")
            with open(self.path(first, "job.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["strategy"], first)
            end = self.train("--resume", first, "--strategy", then, *servers, "--steps", "6", "--devices", "2",
                             "--quiet").summary
            self.assertEqual(end["weights_hash"], expected["weights_hash"])
        for options, said in ((("--strategy", "sync", "--servers", "0"), "--servers 0: --strategy sync has no servers; ps-sync, ps-async and ps-bounded:K have"),
                              (("--strategy", "ps-sync", "--servers", "1"), "--servers 1: there is no device 1: "),
                              (("--strategy", "local:4", "--workers", "2"), "--strategy local:4 differs from the checkpoint's; "
                               "leave it out, or start a new run (ps-sync)")):
            self.assertIn(said, self.shoal("train", "--resume", "sync", *options, status=1).err)


class Overflow(Course):
    def test_steps_done_again_are_the_same_everywhere(self):
        found = self.assert_same((*MLP, "--lr", "1e9", "--steps", "3"), ((3, 1), (1, 2)))
        self.assertGreater(found["redone_steps"], 0)
        self.assertEqual(found["samples"], 150)  # each counts once, however often it was computed

    def test_no_number_ends_the_job_at_its_step(self):
        # One step an epoch: the first blows the weights up, and its checkpoint is whole.
        job = ("mlp:784-16-10", "digits:40/40", "--batch-size", "40", "--lr", "1e30")
        reason = (r"shoal: step 2 \(epoch 2\): the gradient of fc\d\.\w+ is no longer finite; .*"
                  r"1e\+30.*try a smaller --lr; the last checkpoint in \S+ is intact\n")
        for devices in ("1", "2"):
            with self.subTest(devices=devices):
                result = self.shoal("train", *job, "--devices", devices, "--run", devices, "--quiet", status=1)
                self.assertRegex(result.err, r"\A%s\Z" % reason)
        kept = [self.read(folder, "checkpoints", "last.safetensors") for folder in ("1", "2")]
        self.assertEqual(kept[0], kept[1])
        self.assertRegex(self.shoal("train", "--resume", "2", "--quiet", status=1).err, r"\A%s\Z" % reason)
        self.assertEqual(self.read("2", "checkpoints", "last.safetensors"), kept[1])

    def test_no_number_before_the_first_checkpoint(self):
        result = self.shoal("train", *MLP, "--lr", "1e30", "--run", "run", "--quiet", status=1)
        self.assertTrue(result.err.endswith("; try a smaller --lr; there is no checkpoint yet\n"), result.err)
        self.assertEqual(os.listdir(self.path("run", "checkpoints")), [])

    def test_a_joined_device_hears_of_it(self):
        first = self.start("train", *MLP, "--lr", "1e30", "--listen", "127.0.0.1:0", "--min-devices", "2", "--quiet")
        joined = self.start("join", first.wait_for_token(), "--quiet").wait(30)
        self.assertEqual((joined.status, first.wait(30).status), (1, 1))
        self.assertRegex(joined.err, r"\Ashoal: step 2 \(epoch 1\): the gradient of fc\d\.\w+ is no longer finite")

    def test_a_loss_that_is_no_number_is_none(self):
        result = self.train(*MLP, "--lr", "1e30", "--steps", "1", "--run", "run")
        self.assertIsNone(result.summary["val_loss"])
        self.assertIsNone(json.loads(self.read("run", "summary.json"))["val_loss"])
        self.assertIsNone(json.loads(self.read("run", "metrics.jsonl"))["val_loss"])
        self.assertIn("validation  loss -, accuracy ", result.out)

    def read(self, *names):
        with open(self.path(*names), "rb") as file:
            return file.read()


class Figures(Course):
    def test_bytes_and_memory_are_plausible(self):
        steps = 100
        for count in (2, 3):
            summary = self.train(*MLP, "--steps", str(steps), "--devices", str(count), "--quiet").summary
            expected = 2 * (count - 1) / count * 4 * summary["parameters"] * steps
            for device in summary["devices"]:
                self.assertAlmostEqual(device["bytes_sent"] / expected, 1, delta=0.1, msg=str(device))
                self.assertAlmostEqual(device["bytes_received"] / expected, 1, delta=0.1, msg=str(device))
                self.assertGreater(device["cpu_seconds"], 0)
                self.assertGreater(device["peak_rss_bytes"], 1e6)
            total = [sum(device[key] for device in summary["devices"]) for key in ("bytes_sent", "bytes_received")]
            self.assertAlmostEqual(total[0] / total[1], 1, delta=0.02)
            self.assertEqual(summary["peak_rss_bytes"],
                             max(device["peak_rss_bytes"] for device in summary["devices"]))
            self.assertAlmostEqual(summary["samples"] / summary["train_seconds"] / summary["samples_per_second"], 1)

    def test_fewer_bits_are_fewer_bytes(self):
        """Beside device 0, which also gives the others their replicas. Of so many samples gradients have no factors that
        would be fewer bytes."""
        job = ("mlp:784-128-10", "digits:620/90", "--batch-size", "310", "--grain", "31", "--steps", "40", "--devices",
               "3")
        sent = {}
        for wire in (32, 16, 8):
            summary = self.train(*job, "--wire", str(wire), "--quiet").summary
            sent[wire] = sum(device["bytes_sent"] for device in summary["devices"][1:])
        self.assertLess(sent[16] / sent[32], 0.51)
        self.assertLess(sent[8] / sent[32], 0.27)

    def test_a_dense_layer_travels_by_its_factors(self):
        """fc1 of LeNet is 400,000 of 431,080 weights; its factors are 1300 numbers a sample."""
        steps, count = 40, 3
        summary = self.train("lenet", "digits:310/90", "--batch-size", "50", "--grain", "7", "--steps", str(steps),
                             "--devices", str(count), "--quiet").summary
        gradients = 2 * (count - 1) / count * 4 * summary["parameters"] * steps
        for device in summary["devices"][1:]:
            self.assertLess(device["bytes_sent"] / gradients, 0.2, msg=str(device))


if __name__ == "__main__":
    harness.main()
