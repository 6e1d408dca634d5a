#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `shoal export --int8` costs in accuracy: by shoal's own figure, and by ONNX Runtime on the same pixels.

    PYTHON -B bench/onnx_int8.py --folder /tmp/int8 --emulate "qemu-x86_64 -cpu Haswell"

PYTHON needs numpy and onnxruntime. Three networks: LeNet after an epoch of MNIST (10,000 images to validate with), ResNet-20 with
the published weights of shared/data/pretrained for CIFAR-10 (1,000 images), and MobileNetV2 with ImageNet's weights trained on for --steps
steps of 64 images of CIFAR-10 at 64x64 (1,000 images). Samples are arrays, so both sides are given the same bytes. What is in the
folder is not trained again. --emulate has ONNX Runtime run on another processor too, such as one with AVX2 and without VNNI.
"""
import argparse
import gzip
import json
import os
import shlex
import subprocess
import sys

import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
POINTS = 1.0


def write_arrays(folder, train, val):
    """Pairs of images and classes."""
    os.makedirs(folder)
    for part, (x, y) in (("train", train), ("val", val)):
        numpy.save(os.path.join(folder, "x_%s.npy" % part), x)
        numpy.save(os.path.join(folder, "y_%s.npy" % part), y)


def mnist(data):
    def read(part):
        with gzip.open(os.path.join(data, "mnist", part + "-images-idx3-ubyte.gz")) as x, \
                gzip.open(os.path.join(data, "mnist", part + "-labels-idx1-ubyte.gz")) as y:
            return (numpy.frombuffer(x.read(), numpy.uint8, offset=16).reshape(-1, 1, 28, 28),
                    numpy.frombuffer(y.read(), numpy.uint8, offset=8))
    return read("train"), read("t10k")


def cifar10(data):
    def read(*names):
        rows = numpy.concatenate([numpy.fromfile(os.path.join(data, "cifar10", name), numpy.uint8) for name in names])
        rows = rows.reshape(-1, 3073)
        return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]
    x, y = read("test_batch.bin")
    return read(*["data_batch_%d.bin" % i for i in (1, 2, 3)]), (x[:1000], y[:1000])


def twice(images):
    """Twice as wide and high, bilinear between the pixels' middles, rounded to bytes."""
    for axis in (2, 3):
        x = images.astype(numpy.float32)
        before, after = (numpy.concatenate([x.take([0], axis), x], axis), numpy.concatenate([x, x.take([-1], axis)], axis))
        left = 0.25 * before.take(range(x.shape[axis]), axis) + 0.75 * x
        right = 0.75 * x + 0.25 * after.take(range(1, x.shape[axis] + 1), axis)
        images = numpy.stack([left, right], axis + 1).reshape(
            [size * 2 if i == axis else size for i, size in enumerate(x.shape)])
    return numpy.rint(images).astype(numpy.uint8)


def cifar10_at_64(data):
    return [(numpy.concatenate([twice(x[i:i + 500]) for i in range(0, len(x), 500)]), y) for x, y in cifar10(data)]


# By model: the data, and how it is trained.
NETWORKS = {
    "lenet": (mnist, ["--epochs", "1", "--batch-size", "64", "--lr", "0.02", "--momentum", "0.9"]),
    "resnet:20": (cifar10, ["--pretrained", "pretrained/resnet20-12fca82f.safetensors", "--normalize", "imagenet",
                            "--steps", "1", "--batch-size", "8", "--lr", "1e-12", "--freeze", "conv*,bn*,layer*"]),
    "mobilenetv2": (cifar10_at_64, ["--pretrained", "pretrained/mobilenet_v2_imagenet.safetensors", "--batch-size", "64",
                                    "--grain", "64", "--lr", "0.005", "--momentum", "0.9", "--schedule", "cosine",
                                    "--augment", "flip"]),
}


def shoal(options, *arguments):
    env = dict(os.environ, XDG_CACHE_HOME=os.path.join(options.folder, "cache"))
    done = subprocess.run([options.program, *arguments], stdout=subprocess.PIPE, text=True, check=False, env=env)
    if done.returncode != 0:
        raise SystemExit("shoal %s ended with %d" % (" ".join(arguments), done.returncode))
    return done.stdout


def export(options, name):
    """Its int8 file beside the float one; what shoal says of both."""
    place = os.path.join(options.folder, name.replace(":", ""))
    data, run = os.path.join(place, "data"), os.path.join(place, "run")
    make, settings = NETWORKS[name]
    if not os.path.exists(data):
        write_arrays(data, *make(options.data))
    if not os.path.exists(run):
        settings = [os.path.join(options.data, each) if each.startswith("pretrained/") else each for each in settings]
        if name == "mobilenetv2":
            settings += ["--steps", str(options.steps)]
        shoal(options, "train", name, "npy:" + data, *settings, "--quiet", "--run", run)
    shoal(options, "export", run, "-o", os.path.join(place, "float32.onnx"), "--bake", "--quiet")
    return json.loads(shoal(options, "export", run, "-o", os.path.join(place, "int8.onnx"), "--bake", "--int8",
                            str(options.samples), "--json", "-"))


def measure(place, file, setting):
    """The accuracy by ONNX Runtime."""
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    if setting:
        settings.add_session_config_entry(*setting.split("="))
    session = onnxruntime.InferenceSession(os.path.join(place, file), settings, providers=["CPUExecutionProvider"])
    x, y = (numpy.load(os.path.join(place, "data", part + "_val.npy"), "r") for part in "xy")
    right = 0
    for i in range(0, len(x), 50):
        given = session.run(None, {session.get_inputs()[0].name: x[i:i + 50].astype(numpy.float32)})[0]
        right += int((given.argmax(1) == y[i:i + 50]).sum())
    print(right / len(x))


def measured(options, name, file, prefix=(), setting=""):
    place = os.path.join(options.folder, name.replace(":", ""))
    done = subprocess.run([*prefix, sys.executable, "-B", os.path.abspath(__file__), "--measure", place, file, setting],
                          stdout=subprocess.PIPE, check=True, text=True)
    return float(done.stdout)


def main():
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:5])
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--folder", required=True, help="for data, runs and files")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "release", "shoal"))
    parser.add_argument("--data", default=os.path.join(os.path.dirname(ROOT), "shared", "data"))
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--steps", type=int, default=1400, help="of MobileNetV2 (1400)")
    parser.add_argument("--samples", type=int, default=256, help="of the calibration (256)")
    parser.add_argument("--emulate", default="", metavar="COMMAND", help="runs a program on another processor")
    options = parser.parse_args()
    missed = 0
    for name in options.networks:
        said = export(options, name)
        before, after = said["float32"]["accuracy"], said["int8"]["accuracy"]
        found = [("shoal", before, after),
                 ("ONNX Runtime", measured(options, name, "float32.onnx"), measured(options, name, "int8.onnx"))]
        if options.emulate:
            found.append(("ONNX Runtime, emulated", found[1][1],
                          measured(options, name, "int8.onnx", shlex.split(options.emulate))))
        for side, whole, small in found:
            met = 100 * (whole - small) <= POINTS
            missed += not met
            print("%-12s %-24s %6.2f %% -> %6.2f %% of %d%s" % (name, side, 100 * whole, 100 * small, said["samples"],
                                                                "" if met else "  MISSED"), flush=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
