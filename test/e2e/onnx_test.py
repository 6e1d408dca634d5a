#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network from an ONNX file trains as a built-in one does."""

import json
import os
import random
import shutil
import struct

import fixtures
import harness

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx", "networks", "digits.onnx")
# 8 steps of 4 grains.
JOB = (MODEL, "digits:256/64", "--batch-size", "64", "--epochs", "2", "--lr", "0.05", "--quiet")
LONG = (MODEL, "digits:256/64", "--batch-size", "64", "--epochs", "1000000")


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

    def test_batch_norms_are_put_back(self):
        """With them it is another network, which devices get, and which goes on and is measured without the option."""
        one = self.train(*JOB, "--unfold", "--run", "one", env=self.env)
        three = self.train(*JOB, "--unfold", "--run", "three", "--devices", "3", env=self.env).summary
        self.assertEqual(one.summary["weights_hash"], three["weights_hash"])
        self.assertEqual(one.summary["parameters"], 1698 + 16)
        self.shoal("plan", *JOB[:2], "--unfold", "--json", "plan.json", env=self.env)
        with open(self.path("plan.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["parameters"], one.summary["parameters"])
        self.assertIn("4.unfolded.mean", read(self.path("one", "checkpoints", "last.safetensors")))
        self.train(*JOB, "--unfold", "--steps", "3", "--run", "part", env=self.env)
        after = self.train("--resume", "part", "--steps", "8", "--quiet", env=self.lacking("other")).summary
        self.assertEqual(one.summary["weights_hash"], after["weights_hash"])
        self.shoal("eval", "one", env=self.lacking("another"))

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
        self.assertIn("gives 5 numbers and the data need 10: it is replaced;", result.err)

    def test_a_run_goes_on_and_is_measured(self):
        whole = self.train(*JOB, "--run", "whole", env=self.env).summary
        self.train(*JOB, "--steps", "3", "--run", "part", env=self.env)
        after = self.train("--resume", "part", "--steps", "8", "--quiet", env=self.env).summary
        self.assertEqual(whole["weights_hash"], after["weights_hash"])
        self.shoal("eval", "part", env=self.env)

    def end(self, training, *joined):
        """Stops a training; its hash, checked to be that of one device after as many steps."""
        summary = training.stop()
        for process in joined:
            self.assertEqual(process.wait(30).status, 0, str(process.so_far()))
        alone = self.train(*LONG, "--steps", str(summary["steps"]), "--run", "alone", "--quiet", env=self.env).summary
        self.assertEqual(summary["weights_hash"], alone["weights_hash"])

    def lacking(self, name):
        """The environment of a device whose cache is empty."""
        shutil.rmtree(self.path(name), ignore_errors=True)
        return {"XDG_CACHE_HOME": self.path(name)}

    def test_devices_that_lack_the_network_get_it(self):
        """Two join with empty caches; one dies, and comes back with what it has kept, then with nothing again."""
        training = harness.Training(self, *LONG, env=self.env)
        one = training.join("one", quiet=False, env=self.lacking("one"))
        two = training.join("two", env=self.lacking("two"))
        one.wait_for(r"fetched the job's network, digits\.onnx@[0-9a-f]{64} \(\d+ bytes\)", stream="err")
        training.wait_for_joined("one", "two")
        self.assertEqual(os.listdir(self.path("one", "shoal", "models")), os.listdir(self.path("cache", "shoal", "models")))
        one.kill()
        training.events.find(r"WARN device\.lost .*one")
        one = training.join("one", quiet=False, env={"XDG_CACHE_HOME": self.path("one")})
        training.wait_for_joined("one")
        self.assertNotIn("fetched the job's network", one.so_far().err)
        one.kill()
        training.events.find(r"WARN device\.lost .*one")
        one = training.join("one", quiet=False, env=self.lacking("one"))
        one.wait_for("fetched the job's network", stream="err")
        training.wait_for_joined("one")
        training.advance(1)
        self.end(training, one, two)

    def test_a_device_without_a_cache_trains(self):
        training = harness.Training(self, *LONG, env=self.env)
        one = training.join("one", env={"XDG_CACHE_HOME": "/proc/none"})
        training.wait_for_joined("one")
        training.advance(1)
        self.end(training, one)

    def test_the_coordinator_comes_back_with_the_run_alone(self):
        """Neither the file nor the cache is there any more, and a device joins that has neither."""
        model = self.path("digits.onnx")
        shutil.copy(MODEL, model)
        training = harness.Training(self, model, *LONG[1:], env=self.env)
        one = training.join("one", "--never-lead", env=self.lacking("one"))
        training.wait_for_joined("one")
        training.advance(1)
        training.process.kill()
        os.remove(model)
        shutil.rmtree(self.path("cache"))
        training.resume()
        two = training.join("two", env=self.lacking("two"))
        training.wait_for_joined("one", "two")
        training.advance(1)
        self.end(training, one, two)

    def test_a_plan(self):
        plan = json.loads(self.shoal("plan", MODEL, "digits:256/64", "--json", "-", env=self.env).out)
        self.assertEqual(plan["parameters"], 1698)

    def photos(self):
        draw = random.Random(3)
        for split, count in (("train", 6), ("val", 4)):
            for name in ("red", "rose"):
                os.makedirs(self.path("photos", split, name))
                for i in range(count):
                    rows = b"".join(b"\0" + draw.randbytes(36) for _ in range(12))
                    with open(self.path("photos", split, name, "%d.png" % i), "wb") as file:
                        file.write(fixtures.png(12, 12, rows, colour=2))

    def answers(self, run):
        """What eval, predict and export make of a run, without the paths."""
        figures = json.loads(self.shoal("eval", run, "--json", "-", env=self.env).out)
        predicted = json.loads(self.shoal("predict", run, "photos/val", "--json", "-", env=self.env).out)
        self.shoal("export", run, "-o", "model.safetensors", env=self.env)
        self.shoal("report", run, "-o", "page.html", env=self.env)
        return figures["loss"], figures["weights_hash"], predicted, read(self.path("model.safetensors"))

    def test_a_run_is_enough_by_itself(self):
        """Its folder, copied, is resumed, measured, exported and asked, without file and cache."""
        self.photos()
        model = MODEL.replace("digits.onnx", "resnet_like.onnx")
        job = (model, "photos:photos", "--resize", "8", "--batch-size", "4", "--grain", "2", "--quiet")
        self.train(*job, "--epochs", "1", "--run", "run", env=self.env)
        whole = self.train(*job, "--epochs", "2", "--run", "whole", env=self.env).summary
        before = self.answers("run")
        shutil.rmtree(self.path("cache"))
        shutil.move(self.path("run"), self.path("moved"))
        self.assertEqual(self.answers("moved"), before)
        after = self.train("--resume", "moved", "--epochs", "2", "--quiet", env=self.env).summary
        self.assertEqual(after["weights_hash"], whole["weights_hash"])
        shutil.rmtree(self.path("cache"), ignore_errors=True)
        self.train("--resume", "moved/checkpoints/last.safetensors", "--epochs", "3", "--run", "next", "--quiet", env=self.env)
        self.assertTrue(os.path.exists(self.path("next", "model.skeleton.onnx")))

    def test_a_network_that_is_lost_or_damaged_is_named(self):
        self.train(*JOB, "--epochs", "1", "--run", "run", env=self.env)
        shutil.rmtree(self.path("cache"))
        path = self.path("run", "model.skeleton.onnx")
        with open(path, "r+b") as file:
            file.seek(50)
            byte = file.read(1)
            file.seek(50)
            file.write(bytes([byte[0] ^ 1]))
        for command in (("eval", "run"), ("train", "--resume", "run", "--epochs", "2"), ("export", "run", "-o", "m.safetensors")):
            result = self.shoal(*command, status=1, env=self.env)
            self.assertIn("model.skeleton.onnx: is damaged", result.err)
            self.assertIn("copy the run's file model.skeleton.onnx here again", result.err)
        os.remove(path)
        result = self.shoal("eval", "run", status=1, env=self.env)
        self.assertRegex(result.err, r"the network digits\.onnx@\w+ of .* is neither in .*model\.skeleton\.onnx nor in the "
                                     r"cache folder: copy the whole folder of the run")

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
