#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares exported models with what shoal predicts: by onnx's checker and ONNX Runtime.

    python3 test/onnx/check_exports.py --program build/release/shoal

It needs numpy, onnx and onnxruntime from PyPI, so it is run by hand. Each family of models and each
network of test/onnx/networks is trained for a few steps on arrays of bytes and exported: as it is, with
--fold, and of images with --bake. Every file passes onnx.checker with full check, computes what
`shoal predict` says of all samples, in batches of 1 and of 7, and a folded one has no batch
normalisation. A file of --int8 has the loss and accuracy that shoal's simulation of it has, and no two
of its weights make a processor with AVX2 saturate a sum of two products in 16 bits."""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES, CLASSES = 56, 3
BUILT_IN = (("mlp:h16", (1, 8, 8)), ("lenet", (1, 28, 28)), ("nin", (3, 32, 32)), ("resnet:8", (3, 32, 32)),
            ("resnet18", (3, 64, 64)), ("resnet34", (3, 64, 64)), ("resnet50", (3, 64, 64)), ("wideresnet:10-1", (3, 32, 32)),
            ("squeezenet", (3, 64, 64)), ("mobilenetv2:0.25", (3, 64, 64)), ("dscnn:s", (1, 49, 10)),
            ("cnn1d", (3, 1, 64)), ("lstm:8", (3, 1, 12)), ("gru:8", (3, 1, 12)))
IMPORTED = (("mlp", (1, 3, 4)), ("lenet_like", (1, 16, 16)), ("resnet_like", (3, 8, 8)), ("mobilenet_like", (3, 12, 12)),
            ("option_a", (2, 7, 6)), ("pieces", (2, 6, 6)), ("attention", (1, 4, 4)), ("gates", (2, 5, 5)),
            ("digits", (1, 28, 28)), ("line", (3, 1, 24)))
LEFT_OUT = ("gates_new",)  # takes 2x5x4 alone, which an array has with its channels last
INT8_LOSS = 0.002  # of an int8 file from its simulation, relative: a few values are rounded to the next step


def shoal(program, *arguments):
    result = subprocess.run([program, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(arguments), result.stderr.strip()[-300:]))
    return result.stdout


def make_data(folder, shape):
    x = numpy.random.default_rng(1).integers(0, 256, (SAMPLES, *shape), "uint8")
    os.makedirs(folder)
    for part in ("train", "val"):
        numpy.save(os.path.join(folder, "x_%s.npy" % part), x)
        numpy.save(os.path.join(folder, "y_%s.npy" % part), numpy.arange(SAMPLES) % CLASSES)
    return x


def predicted(program, run, folder):
    rows = json.loads(shoal(program, "predict", run, os.path.join(folder, "x_val.npy"), "--json", "-"))
    rows = rows if isinstance(rows, list) else rows["predictions"]
    table = numpy.zeros((len(rows), CLASSES))
    for row, values in zip(rows, table):
        for each in row["classes"]:
            values[int(each["name"])] = each["probability"]
    return table


def computed(path, x, given_pixels):
    """Logarithms of probabilities, and the operators."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    about = {each.key: each.value for each in model.metadata_props}
    x = x.astype("float32")
    if not given_pixels and "mean" in about:
        mean, deviation = (numpy.array(ast.literal_eval(about[key]), "float32").reshape(1, -1, 1, 1) for key in ("mean", "std"))
        x = (x * numpy.float32(about["rescale_factor"]) - mean) / deviation
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    entry = session.get_inputs()[0]
    x = x.reshape(len(x), *entry.shape[1:]) if all(isinstance(n, int) for n in entry.shape[1:]) else x
    parts = [session.run(None, {entry.name: x[i:i + n]})[0] for n, i in [(1, 0)] + [(7, i) for i in range(0, len(x), 7)]]
    numpy.testing.assert_allclose(parts[0][0], parts[1][0], rtol=0, atol=1e-4)
    y = numpy.concatenate(parts[1:]).astype("float64").reshape(len(x), -1)
    operators = [node.op_type for node in model.graph.node]
    if operators[-1] in ("Softmax", "LogSoftmax"):
        return (y if operators[-1] == "LogSoftmax" else numpy.log(y)), operators
    y -= y.max(1, keepdims=True)
    return y - numpy.log(numpy.exp(y).sum(1, keepdims=True)), operators


def figures(logs):
    """Loss and accuracy, of the samples that make_data made."""
    classes = numpy.arange(SAMPLES) % CLASSES
    return -logs[numpy.arange(SAMPLES), classes].mean(), (logs.argmax(1) == classes).mean()


def check_pairs(path):
    """Integers of 8 bits times 0..255, two of them together, fit in 16 bits, but for depthwise convolutions."""
    graph = onnx.load(path).graph
    given = {node.output[0]: node for node in graph.node}
    tensors = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        weight = given.get(node.input[1]) if node.op_type in ("Conv", "Gemm", "MatMul") else None
        if weight is None or weight.op_type != "DequantizeLinear" or weight.input[0] not in tensors:
            continue
        axis = next(each.i for each in weight.attribute if each.name == "axis")
        rows = numpy.moveaxis(tensors[weight.input[0]].astype(int), axis, 0)
        if node.op_type == "Conv" and rows.shape[1] == 1 and rows.shape[0] > 1 and any(
                each.name == "group" and each.i > 1 for each in node.attribute):
            continue
        two = numpy.sort(rows.reshape(len(rows), -1), axis=1)
        if two.shape[1] > 1 and max(two[:, -2:].clip(0).sum(1).max(), -two[:, :2].clip(None, 0).sum(1).min()) > 128:
            raise RuntimeError("two weights of %s are too large together" % weight.input[0])


def check_int8(program, folder, run, x):
    """How far ONNX Runtime's loss is from the one that shoal says the file has, of a loss above 1 relatively."""
    path = os.path.join(folder, "int8.onnx")
    said = json.loads(shoal(program, "export", run, "-o", path, "--int8", "32", "--json", "-"))["int8"]
    found, operators = computed(path, x, False)
    loss, accuracy = figures(found)
    if "QuantizeLinear" not in operators:
        raise RuntimeError("nothing is quantised")
    check_pairs(path)
    if abs(accuracy - said["accuracy"]) > 1.5 / SAMPLES:
        raise RuntimeError("int8: accuracy %.3f, said to be %.3f" % (accuracy, said["accuracy"]))
    return abs(loss - said["loss"]) / max(1, abs(loss))


def check(program, folder, name, model, shape):
    data, run = os.path.join(folder, "data"), os.path.join(folder, "run")
    x = make_data(data, shape)
    shoal(program, "train", model, "npy:" + data, "--steps", "4", "--batch-size", "8", "--lr", "0.01", "--run", run, "--quiet")
    expected = predicted(program, run, data)
    worst = {}
    forms = [("plain", ()), ("fold", ("--fold",))]
    if shape[0] == 1 or shape[1] > 1:  # a line of several channels is no image
        forms += [("bake", ("--bake",)), ("both", ("--bake", "--fold"))]
    for form, options in forms:
        path = os.path.join(folder, form + ".onnx")
        shoal(program, "export", run, "-o", path, *options, "--quiet")
        found, operators = computed(path, x, "--bake" in options)
        if "--fold" in options and "BatchNormalization" in operators:
            raise RuntimeError("a batch normalisation is left")
        worst[form] = abs(numpy.exp(found) - expected).max()
    int8 = check_int8(program, folder, run, x)
    print("%-22s %s  int8 %.1e" % (name, "  ".join("%s %.1e" % each for each in worst.items()), int8), flush=True)
    return max(worst.values()) <= 1e-4 and int8 <= INT8_LOSS


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/release/shoal")
    parser.add_argument("--only", default="", help="names that contain one of these, with commas between them")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    cases = [(spec, spec, shape) for spec, shape in BUILT_IN]
    cases += [(name + end, os.path.join(HERE, "networks", name + end + ".onnx"), shape)
              for name, shape in IMPORTED for end in ("", "_new") if name + end not in LEFT_OUT]
    failed = 0
    for name, model, shape in cases:
        if not any(part in name for part in options.only.split(",")):
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            try:
                good = check(program, folder, name, model, shape)
            except Exception as error:  # of any kind: the others are to be seen too
                print("%-22s %s" % (name, str(error).strip()[:400]), flush=True)
                good = False
        failed += not good
    print("%d failed" % failed)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
