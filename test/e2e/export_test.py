#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What leaves a run for other programs: ONNX and safetensors files."""

import json
import os
import struct

import fixtures
import harness


def tensors(path):
    """The tensors of a safetensors file by name, as type, shape and bytes; and its metadata."""
    with open(path, "rb") as file:
        content = file.read()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + size])
    metadata = header.pop("__metadata__", {})
    return {name: (about["dtype"], about["shape"], content[8 + size + about["data_offsets"][0]:
                                                           8 + size + about["data_offsets"][1]])
            for name, about in header.items()}, metadata


class Export(harness.Case):
    def setUp(self):
        super().setUp()
        for k, name in enumerate(("it's a \"rose\"", "tulip")):
            for i in range(20):
                fixtures.write(self.path("flowers", name, "%d.jpg" % i), fixtures.jpeg(16, 16, 90 * k + 40 + i))
        self.shoal("train", "lenet", "flowers", "--resize", "28", "--steps", "3", "--run", "run", "--quiet")

    def test_weights_are_those_of_the_best_checkpoint(self):
        self.shoal("export", "run", "-o", "out.safetensors")
        found, metadata = tensors(self.path("out.safetensors"))
        saved, _ = tensors(self.path("run", "checkpoints", "best.safetensors"))
        self.assertGreater(len(found), 4)
        for name, tensor in found.items():
            self.assertEqual(tensor, saved[name], name)
        self.assertFalse([name for name in found if "." not in name])
        self.assertEqual(json.loads(metadata["shoal.trained"])["format"], "photos")

    def test_the_data_need_not_be_there(self):
        os.rename(self.path("flowers"), self.path("gone"))
        result = self.shoal("export", "run", "-o", "model.onnx", "--json", "-")
        said = json.loads(result.out)
        self.assertEqual(said["bytes"], os.path.getsize(self.path("model.onnx")))
        with open(self.path("model.onnx"), "rb") as file:
            content = file.read()
        saved, _ = tensors(self.path("run", "checkpoints", "best.safetensors"))
        for part in (b"shoal", b"Conv", b"Gemm", b"classify", b"[28, 28]", b'{0: "it\'s a \\"rose\\"", 1: "tulip"}',
                     saved["conv1.weight"][2]):
            self.assertIn(part, content)
        self.shoal("export", "run", "-o", "again.onnx", "--quiet")
        with open(self.path("again.onnx"), "rb") as file:
            self.assertEqual(file.read(), content)

    def test_wrong_use_says_what_is_right(self):
        for arguments, status, message in (
                (("run",), 2, "needs -o FILE"),
                (("run", "-o", "model.pt"), 2, "--format is onnx or safetensors"),
                (("run", "-o", "model.onnx", "--format", "tflite"), 2, "--format is onnx or safetensors"),
                (("nowhere", "-o", "model.onnx"), 1, "nowhere"),
                (("flowers", "-o", "model.onnx"), 1, "flowers"),
                (("run", "-o", "missing/model.onnx"), 1, "missing")):
            result = self.shoal("export", *arguments, status=status)
            self.assertIn(message, result.err, arguments)
        self.assertFalse(os.path.exists(self.path("model.onnx")))

    def test_numbers_have_no_pixels(self):
        rows = ["%d,%.2f,%d" % (i % 7, i * 0.37 % 5, i % 3) for i in range(90)]
        fixtures.write(self.path("rows.csv"), "a,b,answer\n" + "\n".join(rows) + "\n")
        self.shoal("train", "auto", "table:rows.csv", "--epochs", "1", "--run", "rows", "--quiet")
        self.shoal("export", "rows", "-o", "rows.onnx")
        result = self.shoal("export", "rows", "-o", "baked.onnx", "--bake", status=1)
        self.assertIn("--bake: is for images", result.err)


if __name__ == "__main__":
    harness.main()
