#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What leaves a run for other programs: ONNX and safetensors files."""

import ast
import json
import os
import shutil
import struct
import zipfile

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


NETWORKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx", "networks")


def fields(data):
    """The fields of a protobuf message: pairs of number and value, which is an integer or bytes."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        size = {0: 0, 1: 8, 5: 4}.get(key & 7)
        if size == 0:
            found.append((key >> 3, varint()))
            continue
        if size is None:
            size = varint()
        found.append((key >> 3, data[at:at + size]))
        at += size
    return found


def each(message, number):
    return [value for key, value in message if key == number]


class Model:
    """What an ONNX file has: its operators, names of initialisers, and dimensions of input and output."""

    def __init__(self, path):
        with open(path, "rb") as file:
            model = fields(file.read())
        graph = fields(each(model, 7)[0])
        nodes = [fields(node) for node in each(graph, 1)]
        self.operators = [each(node, 4)[0].decode() for node in nodes]
        self.outputs = [each(node, 2)[0].decode() for node in nodes]
        tensors = {each(tensor, 8)[0].decode(): tensor for tensor in map(fields, each(graph, 5))}
        self.values = {name: each(tensor, 9)[0] for name, tensor in tensors.items()}
        self.metadata = {each(entry, 1)[0].decode(): each(entry, 2)[0].decode() for entry in map(fields, each(model, 14))}
        self.input, self.output = (self.dims(fields(each(graph, number)[0])) for number in (11, 12))

    @staticmethod
    def dims(info):
        for number in (2, 1, 2):
            info = fields(each(info, number)[0])
        dims = [fields(dim)[0] for dim in each(info, 1)]
        return [value if key == 1 else value.decode() for key, value in dims]


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
                (("run", "-o", "model.pt"), 2, "--format is onnx, safetensors or npz"),
                (("run", "-o", "model.onnx", "--int8", "0"), 2, "--int8"),
                (("run", "-o", "model.npz", "--int8", "16"), 2, "--int8 is for onnx"),
                (("run", "-o", "model.onnx", "--format", "tflite"), 2, "--format is onnx, safetensors or npz"),
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

    def test_figures_by_which_numbers_are_normalised(self):
        """Of an array by feature; those of the samples that train."""
        for part, first, count in (("train", 0, 30), ("val", 30, 10)):
            numbers = [number for i in range(first, first + count) for number in (i % 5, 100 + i)]
            fixtures.write(self.path("numbers", "x_%s.npy" % part),
                           fixtures.npy("<f4", (count, 2), struct.pack("<%df" % len(numbers), *numbers)))
            fixtures.write(self.path("numbers", "y_%s.npy" % part),
                           fixtures.npy("|u1", (count,), bytes(i % 2 for i in range(count))))
        self.shoal("train", "mlp:h4", "npy:numbers", "--steps", "1", "--run", "numbers-run", "--quiet")
        self.shoal("export", "numbers-run", "-o", "numbers.onnx", "--quiet")
        about = Model(self.path("numbers.onnx")).metadata
        self.assertEqual(about["rescale_factor"], "1")
        for found, expected in ((about["mean"], [2, 114.5]), (about["std"], [2 ** 0.5, (899 / 12) ** 0.5])):
            for number, wanted in zip(ast.literal_eval(found), expected, strict=True):
                self.assertAlmostEqual(number, wanted, places=9)

    def test_normalisations_are_folded(self):
        self.shoal("train", "resnet:8", "digits:64/16", "--steps", "1", "--run", "norms", "--quiet")
        self.shoal("export", "norms", "-o", "plain.onnx", "--quiet")
        self.shoal("export", "norms", "-o", "folded.onnx", "--quiet", "--fold")
        plain, folded = Model(self.path("plain.onnx")), Model(self.path("folded.onnx"))
        self.assertIn("BatchNormalization", plain.operators)
        self.assertEqual(folded.operators, [name for name in plain.operators if name != "BatchNormalization"])
        self.assertNotIn("bn1.running_mean", folded.values)

    def test_integers_of_8_bits(self):
        """Of the network and of the samples' normalisation, with the accuracy that they cost."""
        self.shoal("train", "lenet", "digits:192/64", "--epochs", "2", "--batch-size", "8", "--lr", "0.05", "--run", "digits", "--quiet")
        said = {}
        for name, options in (("whole.onnx", ()), ("baked.onnx", ("--bake",))):
            said[name] = json.loads(self.shoal("export", "digits", "-o", name, "--int8", "32", *options, "--json", "-").out)
            self.assertGreater(said[name]["float32"]["accuracy"], 0.2)
            self.assertLess(abs(said[name]["int8"]["accuracy"] - said[name]["float32"]["accuracy"]), 0.04)
            self.assertEqual(said[name]["samples"], 64)
        self.assertEqual(said["whole.onnx"]["int8"], said["baked.onnx"]["int8"])
        whole, baked = Model(self.path("whole.onnx")), Model(self.path("baked.onnx"))
        for layer in ("conv1", "conv2", "fc1", "fc2"):
            outputs = len(whole.values[layer + ".weight.zero"])
            self.assertEqual(len(whole.values[layer + ".weight.scale"]), 4 * outputs)
            self.assertEqual(len(whole.values[layer + ".bias"]), 4 * outputs)
            self.assertEqual(whole.values[layer + ".weight"], baked.values[layer + ".weight"])
        self.assertEqual(whole.operators[:2], ["QuantizeLinear", "DequantizeLinear"])
        # The grid of the samples has the range of pixels, normalised.
        scale, = struct.unpack("<f", whole.values["input.scale"])
        deviation, = ast.literal_eval(whole.metadata["std"])
        self.assertAlmostEqual(255 * scale * deviation, 1, delta=0.1)
        self.assertEqual(baked.operators, ["Div", "Sub", "Div"] + whole.operators)
        self.assertEqual(whole.operators[-1], "Gemm")
        self.assertIn("in int8", self.shoal("export", "digits", "-o", "again.onnx", "--int8", "32").out)
        with open(self.path("whole.onnx"), "rb") as one, open(self.path("again.onnx"), "rb") as other:
            self.assertEqual(one.read(), other.read())
        result = self.shoal("eval", "whole.onnx", "digits:192/64", status=1)
        self.assertIn("the model is quantised; use the float32 model", result.err)

    def test_arrays_are_the_same_weights(self):
        self.shoal("export", "run", "-o", "out.npz")
        saved, _ = tensors(self.path("run", "model.safetensors"))
        with zipfile.ZipFile(self.path("out.npz")) as file:
            self.assertIsNone(file.testzip())
            self.assertEqual(sorted(file.namelist()), sorted(name + ".npy" for name in saved))
            for name, (kind, shape, data) in saved.items():
                array = file.read(name + ".npy")
                length, = struct.unpack("<H", array[8:10])
                head = ast.literal_eval(array[10:10 + length].decode())
                self.assertEqual(head, {"descr": "<f4", "fortran_order": False, "shape": tuple(shape)})
                self.assertEqual(array[10 + length:], data, name)


class AtTheEnd(harness.Case):
    """The best weights stand in the run's folder, for other programs."""

    def test_they_are_those_of_the_best_epoch(self):
        self.shoal("train", "lenet", "digits:256/64", "--epochs", "3", "--lr", "0.3", "--run", "run", "--quiet")
        for name in ("model.onnx", "model.safetensors"):
            self.shoal("export", "run", "-o", name, "--quiet")
            with open(self.path(name), "rb") as one, open(self.path("run", name), "rb") as other:
                self.assertEqual(one.read(), other.read(), name)
        with open(self.path("run", "events.log")) as file:
            self.assertEqual(file.read().count("model.written"), 2)

    def test_a_training_that_is_stopped_leaves_them_too(self):
        run = self.start("train", "lenet", "digits:256/64", "--epochs", "100000", "--run", "run")
        run.wait_for("^training on ", stream="err")
        run.signal(2)
        self.assertEqual(run.wait().status, 130)
        self.assertIn("conv1.weight", Model(self.path("run", "model.onnx")).values)

    def test_a_file_that_cannot_be_written_is_no_failure(self):
        self.shoal("train", "lenet", "digits:64/16", "--steps", "1", "--run", "run", "--quiet")
        os.remove(self.path("run", "model.onnx"))
        os.mkdir(self.path("run", "model.onnx"))
        self.shoal("train", "--resume", "run", "--steps", "2", "--quiet")
        with open(self.path("run", "events.log")) as file:
            self.assertRegex(file.read(), r"WARN model\.skipped file=model\.onnx reason=.*model\.onnx")


class Again(harness.Case):
    """What was exported trains on like the model itself with these weights."""

    def round_trip(self, model, data, *options):
        options += ("--batch-size", "8", "--quiet")
        self.shoal("train", model, data, "--steps", "3", "--run", "a", *options)
        for name in ("a.onnx", "a.safetensors"):
            self.shoal("export", "a", "-o", name, "--quiet")
        again = self.train("a.onnx", data, "--steps", "10", "--run", "b", *options).summary
        other = self.train(model, data, "--pretrained", "a.safetensors", "--steps", "10", "--run", "c", *options).summary
        self.assertEqual(again["weights_hash"], other["weights_hash"], model)
        return Model(self.path("a.onnx"))

    def test_built_in_networks(self):
        for model in ("lenet", "resnet:8", "mobilenetv2:0.1"):
            with self.subTest(model):
                self.round_trip(model, "digits:32/8")
                for name in "abc":
                    shutil.rmtree(self.path(name))

    def test_imported_networks_keep_their_nodes(self):
        for name in ("digits", "digits_new"):
            with self.subTest(name):
                path = os.path.join(NETWORKS, name + ".onnx")
                before, after = Model(path), self.round_trip(path, "digits:32/8")
                self.assertEqual(after.operators[-1], "Softmax")
                kept = [output for output in before.outputs if output in after.outputs]
                self.assertEqual([output for output in after.outputs if not output.startswith("value:")], kept)
                self.assertEqual(after.input, ["N", 1, 28, 28])
                self.assertEqual(after.output, ["N", 10])
                for run in "abc":
                    shutil.rmtree(self.path(run))

    def test_an_imported_network_with_other_classes(self):
        os.mkdir(self.path("data"))
        for name, count in (("data_batch_1.bin", 64), ("test_batch.bin", 16)):
            with open(self.path("data", name), "wb") as file:
                file.write(harness.cifar10(count))
        model = self.round_trip(os.path.join(NETWORKS, "resnet_like_new.onnx"), "cifar10:data")
        self.assertEqual(model.output, ["N", 10])


if __name__ == "__main__":
    harness.main()
