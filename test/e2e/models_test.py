#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shoal models MODEL: all about a model before it is trained."""

import json
import os

import harness

NETWORKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx")


class Models(harness.Case):
    def describe(self, model, *options, status=0):
        env = {"XDG_CACHE_HOME": self.path("cache")}
        said = self.shoal("models", model, *options, status=status, env=env)
        about = json.loads(self.shoal("models", model, *options, "--json", "-", status=status, env=env).out)
        self.assertEqual(said.err, "")
        return said.out, about

    def change(self, name, old, new):
        """A fixture in which some bytes are others."""
        with open(os.path.join(NETWORKS, name), "rb") as file:
            content = file.read()
        self.assertIn(old, content)
        with open(self.path("changed.onnx"), "wb") as file:
            file.write(content.replace(old, new))
        return "changed.onnx"

    def test_a_file_that_trains(self):
        out, about = self.describe(os.path.join(NETWORKS, "mlp.onnx"))
        self.assertRegex(out, r"(?m)^model       \S*mlp\.onnx, by shoal's tests, opset 17, IR 8$")
        self.assertRegex(out, r"(?m)^input       1x4x4 as 'image', Nx1x4x4 in the file$")
        self.assertRegex(out, r"(?m)^output      'logits': 3 numbers$")
        self.assertRegex(out, r"(?m)^fc1 +Gemm +8 +136 +128$")
        self.assertRegex(out, r"(?m)^relu1 +Relu +8 +0 +0$")
        self.assertRegex(out, r"(?m)^all +163 +152$")
        self.assertTrue(about["trains"])
        self.assertEqual([layer["operator"] for layer in about["layers"]], ["Flatten", "Gemm", "Relu", "Gemm"])
        self.assertEqual((about["parameters"], about["statistics"], about["constants"]), (163, 0, 0))
        self.assertGreater(about["lane_bytes"], 0)
        self.assertEqual(about["problems"], [])

    def test_statistics_and_notes(self):
        out, about = self.describe(os.path.join(NETWORKS, "networks", "digits.onnx"))
        self.assertEqual(about["parameters"], 1698)
        self.assertEqual(about["file"]["batch_norms"] > 0, about["statistics"] > 0)
        self.assertIn("%s trained" % "{:,}".format(about["parameters"]), out)

    def test_all_that_cannot_be_trained(self):
        out, about = self.describe(self.change("mlp.onnx", b"Relu", b"Sing"), status=1)
        self.assertIn("\ncannot be trained:\n  relu1 (Sing): this operator cannot be trained through", out)
        self.assertFalse(about["trains"])
        self.assertEqual([(p["node"], p["operator"]) for p in about["problems"]], [("relu1", "Sing")])

    def test_samples_of_another_size(self):
        out, about = self.describe(os.path.join(NETWORKS, "mlp.onnx"), "--sample", "1x5x5", status=1)
        self.assertIn("cannot be trained", out)
        self.assertEqual(about["sample"], [1, 5, 5])
        for wrong in ("3x4", "0x1x1", "3x4x5x6", "axbxc"):
            self.assertIn("expected channels, height and width",
                          self.shoal("models", "lenet", "--sample", wrong, status=2).err)
        self.assertIn("--sample: needs a MODEL", self.shoal("models", "--sample", "1x1x1", status=2).err)

    def test_what_is_no_model(self):
        self.assertIn("unknown model 'flounder'", self.shoal("models", "flounder", status=2).err)
        self.assertIn("none.onnx", self.shoal("models", "none.onnx", status=1).err)

    def test_a_built_in_model(self):
        out, about = self.describe("resnet:20")
        self.assertEqual(round(about["multiply_adds"] / 1e6), 41)
        self.assertRegex(out, r"(?m)^conv1 +conv2d +16x32x32 +432 +442,368$")
        self.assertNotIn("file", about)


if __name__ == "__main__":
    harness.main()
