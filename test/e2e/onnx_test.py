#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network from an ONNX file trains as a built-in one does."""

import json
import os
import struct

import harness

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx", "networks", "digits.onnx")
# 8 steps of 4 grains.
JOB = (MODEL, "digits:256/64", "--batch-size", "64", "--epochs", "2", "--lr", "0.05", "--quiet")


def read(path):
    """The tensors of a safetensors file: name to bytes."""
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        head, data = json.loads(file.read(length)), file.read()
    return {name: data[slice(*value["data_offsets"])] for name, value in head.items() if name != "__metadata__"}


class Onnx(harness.Case):
    def setUp(self):
        super().setUp()
        self.env = {"XDG_CACHE_HOME": self.path("cache")}

    def test_one_device_and_three_give_one_hash(self):
        one = self.train(*JOB, "--run", "one", env=self.env).summary
        three = self.train(*JOB, "--run", "three", "--devices", "3", env=self.env).summary
        self.assertEqual(one["weights_hash"], three["weights_hash"])
        self.assertRegex(one["model"], r"^digits\.onnx@[0-9a-f]{64}$")
        self.assertEqual(one["parameters"], 1698)

    def test_it_begins_with_the_weights_of_the_file(self):
        """At a learning rate that changes nothing, all weights are those of the file."""
        self.train(*JOB, "--lr", "1e-30", "--run", "run", env=self.env)
        with open(MODEL, "rb") as file:
            known = file.read()
        tensors = read(self.path("run", "checkpoints", "last.safetensors"))
        weights = [name for name in tensors if name.endswith((".weight", ".bias"))
                   and not name.startswith("optimizer.")]
        self.assertEqual(len(weights), 8)
        for name in weights:
            self.assertIn(tensors[name], known, name)
        with open(self.path("run", "job.json")) as file:
            self.assertRegex(json.load(file)["pretrained"], "^[0-9a-f]{64}$")

    def test_other_classes_get_a_new_last_layer(self):
        os.mkdir(self.path("data"))
        for name, count in (("data_batch_1.bin", 64), ("test_batch.bin", 16)):
            with open(self.path("data", name), "wb") as file:
                file.write(harness.cifar10(count))
        model = MODEL.replace("digits.onnx", "resnet_like.onnx")
        result = self.shoal("train", model, "cifar10:data", "--epochs", "1", "--batch-size", "16", "--run", "run",
                            env=self.env)
        self.assertIn("gives 5 numbers and the data need 10: it is replaced by a new one", result.err)

    def test_a_run_goes_on_and_is_measured(self):
        whole = self.train(*JOB, "--run", "whole", env=self.env).summary
        self.train(*JOB, "--steps", "3", "--run", "part", env=self.env)
        after = self.train("--resume", "part", "--steps", "8", "--quiet", env=self.env).summary
        self.assertEqual(whole["weights_hash"], after["weights_hash"])
        self.shoal("eval", "part", env=self.env)

    def test_a_device_that_lacks_the_model_is_told(self):
        device = self.start("train", MODEL, "digits:256/64", "--epochs", "100000", "--listen", "127.0.0.1:0",
                            "--run", "run", env=self.env)
        token = device.wait_for_token()
        other = self.start("join", token, env={"XDG_CACHE_HOME": self.path("empty")})
        result = other.wait()
        self.assertNotEqual(result.status, 0)
        self.assertRegex(result.err, r"the network digits\.onnx@\w+ is not in .*: train its ONNX file on this device once")
        device.signal(2)
        device.wait()

    def test_what_does_not_fit_is_refused(self):
        os.mkdir(self.path("data"))
        with open(self.path("data", "data_batch_1.bin"), "wb") as file:
            file.write(harness.cifar10(8))
        with open(self.path("data", "test_batch.bin"), "wb") as file:
            file.write(harness.cifar10(8))
        result = self.shoal("train", MODEL, "cifar10:data", status=1, env=self.env)
        self.assertIn("digits.onnx: input", result.err)
        self.assertIn("is 1x1x28x28, the data's samples are 3x32x32", result.err)
        self.assertFalse(os.path.exists(self.path("runs")))


if __name__ == "__main__":
    harness.main()
