#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model file in the place of a run: shoal predict FILE.onnx FILES, shoal eval FILE.onnx DATA."""

import json
import os
import random

import fixtures
import harness

NETWORKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx", "networks")
CLASSES = ("a b", "rose", "tulip")


class OnnxUse(harness.Case):
    def photos(self, folder, count, side, classes=CLASSES, seed=1):
        """Noise around one shade for each class."""
        draw = random.Random(seed)
        for k, name in enumerate(classes):
            for i in range(count):
                pixels = bytes(min(255, 50 * k + draw.randrange(120)) for _ in range(3 * side * side))
                rows = b"".join(b"\0" + pixels[3 * side * y:3 * side * (y + 1)] for y in range(side))
                fixtures.write(self.path(folder, name, "%02d.png" % i), fixtures.png(side, side, rows, colour=2))

    def measured(self, *arguments, err=None):
        result = self.shoal("eval", *arguments, "--json", "-")
        if err is not None:
            self.assertRegex(result.err, err)
        return json.loads(result.out)

    def assert_same_figures(self, run, file, *data):
        one, other = self.measured(run, *data), self.measured(file, *(data or ("photos:photos",)))
        for key in ("samples", "accuracy"):
            self.assertEqual(one[key], other[key], (key, one, other))
        self.assertAlmostEqual(one["loss"], other["loss"], delta=1e-5)

    def assert_same_answers(self, run, file, *files):
        one, other = (json.loads(self.shoal("predict", model, *files, "--json", "-").out) for model in (run, file))
        self.assertGreater(len(one), 0)
        self.assertEqual(len(one), len(other))
        for a, b in zip(one, other):
            self.assertEqual(a["name"], b["name"])
            if "class" in a:
                self.assertEqual(a["class"], b["class"])
                self.assertAlmostEqual(a["probability"], b["probability"], delta=1e-5)
            else:
                for x, y in zip(a["numbers"], b["numbers"]):
                    self.assertEqual(x["name"], y["name"])
                    self.assertAlmostEqual(x["value"], y["value"], delta=1e-4)

    def test_an_exported_file_is_its_run(self):
        """Batch normalisation, normalisation by the data's own figures, a split by chance; baked in, too."""
        self.photos("photos", 12, 20)
        self.photos("new", 5, 24, seed=2)
        self.shoal("train", "resnet:8", "photos:photos", "--resize", "16", "--fit", "pad", "--epochs", "2", "--lr", "0.05",
                   "--batch-size", "8", "--val-split", "0.3", "--run", "run", "--quiet")
        self.shoal("export", "run", "-o", "model.onnx")
        self.assert_same_figures("run", "model.onnx")
        self.assert_same_figures("run", "model.onnx", "photos:new")
        self.assert_same_answers("run", "model.onnx", "new")
        self.shoal("export", "run", "-o", "baked.onnx", "--bake")
        self.assert_same_figures("run", "baked.onnx", "photos:new")
        self.assert_same_answers("run", "baked.onnx", "new")
        result = self.shoal("predict", "model.onnx", "new", "--normalize", "none", status=1)
        self.assertIn("model.onnx defines how its samples are normalised", result.err)
        result = self.shoal("eval", "model.onnx", status=1)
        self.assertIn("model.onnx does not have its data: shoal eval FILE.onnx DATA", result.err)

    def test_tables(self):
        draw = random.Random(4)
        rows = ["%.3f,%s,%.3f" % (x, "ab"[i % 2], 3 * x + 7 * (i % 2)) for i, x in enumerate(draw.gauss(5, 2) for _ in range(60))]
        fixtures.write(self.path("rows.csv"), "x,kind,y\n" + "\n".join(rows) + "\n")
        fixtures.write(self.path("new.csv"), "kind,x\nb,4.5\na,6\n")
        self.shoal("train", "mlp:h8", "table:rows.csv", "--task", "regression", "--epochs", "3", "--run", "run", "--quiet")
        self.shoal("export", "run", "-o", "model.onnx")
        self.assert_same_answers("run", "model.onnx", "new.csv")
        self.assert_same_figures("run", "model.onnx", "table:rows.csv")

    def test_a_file_that_does_not_say_how_it_is_used(self):
        """It takes photos of its size, and what is assumed of them is said."""
        classes = tuple("class %d" % k for k in range(5))
        self.photos("photos", 4, 8, classes)
        model = os.path.join(NETWORKS, "resnet_like.onnx")
        said = r"resnet_like\.onnx does not describe its samples: .*divided by 255 and not normalised \(--normalize imagenet"
        result = self.shoal("predict", model, "photos/class 1/00.png", "--json", "-")
        self.assertRegex(result.err, said)
        self.assertIn("photos are cut to 8x8 pixels", result.err)
        none = json.loads(result.out)[0]
        self.assertEqual({each["name"] for each in none["classes"]}, set("01234"))
        other = json.loads(self.shoal("predict", model, "photos/class 1/00.png", "--normalize", "imagenet", "--json", "-").out)[0]
        self.assertNotEqual(none["probability"], other["probability"])
        # The same weights, in a run that begins with the file and changes nothing.
        self.shoal("train", model, "photos:photos", "--resize", "8", "--normalize", "none", "--lr", "1e-30", "--steps", "1",
                   "--momentum", "0", "--freeze", "1.running*", "--run", "run", "--quiet", env={"XDG_CACHE_HOME": self.path("cache")})
        self.measured(model, "photos:photos", "--resize", "8", err=said)
        result = self.shoal("eval", os.path.join(NETWORKS, "line.onnx"), "photos:photos", status=1)
        self.assertIn("line.onnx", result.err)
        self.photos("two", 4, 8, ("x", "y"))
        result = self.shoal("eval", model, "photos:two", "--resize", "8", status=1)
        self.assertIn("its last layer does not fit the data's number of classes", result.err)
        result = self.shoal("predict", os.path.join(NETWORKS, "line.onnx"), "photos", status=1)
        self.assertIn("does not describe its samples, and does not take square photos", result.err)
        result = self.shoal("predict", "run/model.skeleton.onnx", "photos", status=1)
        self.assertIn("is the network of a run, without its weights: name the run's folder instead", result.err)

    def test_weights_for_the_network_of_a_file(self):
        self.photos("photos", 4, 8, tuple("class %d" % k for k in range(5)))
        model = os.path.join(NETWORKS, "resnet_like.onnx")
        self.shoal("train", model, "photos:photos", "--resize", "8", "--epochs", "1", "--batch-size", "4", "--run", "run", "--quiet")
        self.shoal("export", "run", "-o", "weights.safetensors")
        one = self.measured("run")
        other = self.measured(model, "photos:photos", "--weights", "weights.safetensors", "--resize", "8")
        self.assertEqual((one["loss"], one["weights_hash"]), (other["loss"], other["weights_hash"]))


if __name__ == "__main__":
    harness.main()
