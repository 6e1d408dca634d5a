#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fine-tuning: weights from a file, some of them frozen."""

import array
import hashlib
import json
import os
import struct

import harness

# Batches of 4 grains; 4 steps.
JOB = ("--batch-size", "24", "--grain", "7", "--epochs", "2", "--lr", "0.05", "--weight-decay", "0.01")
FROZEN = ("layer1.", "conv1.", "bn1.")
FREEZE = ("--freeze", "layer1.*,conv1.*,bn1.*")
TENSORS = 97  # of resnet:20


def read(path):
    """The tensors of a safetensors file: name to (shape, bytes)."""
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        head, data = json.loads(file.read(length)), file.read()
    return {name: (value["shape"], data[slice(*value["data_offsets"])])
            for name, value in head.items() if name != "__metadata__"}


def write(path, tensors):
    head, data = {}, b""
    for name, (shape, values) in tensors.items():
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(head).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class Pretrained(harness.Case):
    def setUp(self):
        """A run of one step, whose weights are those that a file has."""
        super().setUp()
        os.mkdir(self.path("data"))
        for name, count in (("data_batch_1.bin", 48), ("test_batch.bin", 10)):
            with open(self.path("data", name), "wb") as file:
                file.write(harness.cifar10(count, seed=count))
        self.train("resnet:20", "cifar10:data", "--batch-size", "24", "--steps", "1", "--run", "first", "--quiet")
        saved = read(self.weights_of("first"))
        self.weights = {name: value for name, value in saved.items() if not name.startswith(("optimizer.", "sum."))}
        write(self.path("file"), self.weights)
        self.job = ("resnet:20", "cifar10:data", *JOB, "--pretrained", "file")

    def weights_of(self, run):
        return self.path(run, "checkpoints", "last.safetensors")

    def test_frozen_weights_keep_their_bits(self):
        job = (*self.job, *FREEZE)
        expected = self.train(*job, "--run", "one", "--lanes", "1", "--quiet").summary
        after = read(self.weights_of("one"))
        for name, (shape, values) in self.weights.items():
            self.assertEqual(after[name][0], shape)
            self.assertEqual(after[name][1] == values, name.startswith(FROZEN), name)
        self.assertEqual(expected["parameters"], 269722)
        # No state of the optimiser, no exponent for what no step changes.
        state = [name for name in after if name.startswith("optimizer.")]
        frozen = [name for name in self.weights if name.startswith(FROZEN)]
        self.assertEqual(len(self.weights), TENSORS)
        self.assertEqual(len(state), TENSORS - len(frozen))
        self.assertEqual(after["sum.exponents"][0], [TENSORS - len(frozen)])

        for devices, lanes in ((1, 2), (2, 1), (3, 1)):
            with self.subTest(devices=devices, lanes=lanes):
                found = self.train(*job, "--devices", str(devices), "--lanes", str(lanes), "--quiet").summary
                self.assertEqual(found["weights_hash"], expected["weights_hash"])
        self.train(*job, "--steps", "2", "--run", "cut", "--quiet")
        end = self.train("--resume", "cut", "--steps", "4", "--devices", "2", "--quiet").summary
        self.assertEqual(end["weights_hash"], expected["weights_hash"])

        # Less travels than without freezing: layer1 alone has 5 % of the weights.
        both = [self.train(*each, "--devices", "2", "--lanes", "1", "--quiet").summary for each in
                (job, (*self.job, "--freeze", "layer3.*,linear.*"))]
        sent = [sum(device["bytes_sent"] for device in summary["devices"]) for summary in both]
        self.assertLess(sent[1], sent[0] / 2)  # layer3 has 75 %

    def test_the_file_belongs_to_the_job(self):
        self.train(*self.job, "--steps", "1", "--run", "run", "--quiet")
        with open(self.path("run", "job.json"), encoding="utf-8") as file:
            job = json.load(file)
        with open(self.path("file"), "rb") as file:
            self.assertEqual(job["pretrained"], hashlib.sha256(file.read()).hexdigest())
        hashes = {self.train(*each, "--steps", "1", "--quiet").summary["weights_hash"] for each in
                  (self.job, self.job[:-2], (*self.job, *FREEZE))}
        self.assertEqual(len(hashes), 3)
        result = self.shoal("train", "--resume", "run", "--pretrained", "file", status=1)
        self.assertIn("--pretrained with --resume: the checkpoint has the weights; leave", result.err)
        result = self.shoal("train", "--resume", "run", *FREEZE, status=1)
        self.assertIn("--freeze layer1.*,conv1.*,bn1.* differs from the checkpoint's", result.err)

    def test_a_run_is_a_file_of_weights(self):
        found = [self.train(*self.job[:-1], weights, "--quiet").summary["weights_hash"]
                 for weights in ("file", "first", "first/checkpoints/last.safetensors")]
        self.assertEqual(len(set(found)), 1)

    def test_without_a_step_the_weights_are_those_of_the_file(self):
        """Nothing but the learning rate of 0 moves; running statistics, frozen, do not either."""
        self.train(*self.job[:-4], "--weight-decay", "0", "--pretrained", "file", "--lr", "1e-30",
                   "--freeze", "*bn*", "--steps", "1", "--run", "run", "--quiet")
        after = read(self.weights_of("run"))
        for name, value in self.weights.items():
            self.assertEqual(after[name], value, name)

    def test_other_classes(self):
        """The last layer begins untrained, and says so."""
        rows = {"linear.weight": ([100, 64], bytes(4 * 6400)), "linear.bias": ([100], bytes(400))}
        write(self.path("hundred"), {**self.weights, **rows})
        result = self.train("resnet:20", "cifar10:data", *JOB, "--pretrained", "hundred", "--run", "run",
                            "--freeze", "conv1.*")
        self.assertIn("hundred: of another shape: linear.weight is F32 100x64, not F32 10x64, linear.bias is F32 100, "
                      "not F32 10; starts untrained: the last layer, linear\n", result.err)
        self.assertEqual(read(self.weights_of("run"))["conv1.weight"], self.weights["conv1.weight"])
        result = self.shoal("train", *self.job[:-1], "hundred", "--freeze", "linear.bias", status=1)
        self.assertIn("hundred: does not fit the model, whose last layer --freeze keeps untrained: of another shape: "
                      "linear.weight is", result.err)

    def test_bad_files(self):
        def but(name, value=None):
            changed = {**self.weights, name: value}
            return {key: each for key, each in changed.items() if each is not None}
        nan = array.array("f", [float("nan")] * 16).tobytes()
        for title, tensors, message in (
                ("missing", but("layer1.0.conv1.weight"), "does not fit the model: missing: layer1.0.conv1.weight"),
                ("shaped", but("conv1.weight", ([64, 3, 7, 7], bytes(4 * 9408))),
                 "does not fit the model: of another shape: conv1.weight is F32 64x3x7x7, not F32 16x3x3x3"),
                ("none", {"x": ([1], bytes(4))},
                 "does not fit the model: missing: conv1.weight, bn1.weight, bn1.bias, bn1.running_mean and 93 more; "
                 "not in the model: x"),
                ("nan", but("bn1.bias", ([16], nan)), "tensor bn1.bias has values that are not finite")):
            with self.subTest(title):
                write(self.path(title), tensors)
                result = self.shoal("train", *self.job[:-1], title, status=1)
                self.assertIn("shoal: --pretrained: %s: %s" % (title, message), result.err)
                result = self.shoal("eval", *self.job[:2], "--weights", title, status=1)
                self.assertIn("shoal: %s: %s" % (title, message), result.err)
        write(self.path("more"), {**self.weights, "head.weight": ([1], bytes(4)),
                                  "bn1.num_batches_tracked": ([1], bytes(4))})
        result = self.train(*self.job[:-1], "more", "--steps", "1")
        self.assertIn("more: not used: head.weight\n", result.err)
        self.assertIn("--pretrained: absent: ", self.shoal("train", *self.job[:-1], "absent", status=1).err)
        result = self.shoal("train", *self.job, "--freeze", "*", status=1)
        self.assertIn("--freeze * leaves nothing to train", result.err)


class Published(harness.Case):
    def test_resnet_20_on_cifar_10(self):
        """91.5 % of 1,000 test images, as its authors' code finds; needs real data."""
        data = os.environ.get("SHOAL_TEST_DATA")
        if data is None:
            self.skipTest("SHOAL_TEST_DATA is not set")
        result = json.loads(self.shoal(
            "eval", "resnet:20", "cifar10:" + os.path.join(data, "cifar10"), "--normalize", "imagenet", "--weights",
            os.path.join(data, "pretrained", "resnet20-12fca82f.safetensors"), "--json", "-").out)
        self.assertEqual((result["samples"], result["parameters"]), (1000, 269722))
        self.assertAlmostEqual(result["accuracy"], 0.915, places=9)


if __name__ == "__main__":
    harness.main()
