#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks that other programs exported to ONNX: results beside ONNX Runtime, training losses beside PyTorch.

    python3 -B bench/onnx_networks.py --python 2.15=PYTHON --python 1.13=/usr/bin/python3 --folder /tmp/networks
    python3 -B bench/onnx_networks.py --python 2.15=PYTHON --folder /tmp/networks --networks lstm gru --hashes

PYTHON needs torch, torchvision, onnx, onnxscript and onnxruntime; a second one may have an older torch with its
exporter, and torchvision for its networks. Files that are in the folder already are not exported again.

A row is a network, a cell an exporter: how far results are from ONNX Runtime's (at most 1e-4), and the largest
relative difference of ten training losses from PyTorch's (at most 1e-3). --hashes trains each network on one device
and on three, in grains of a third of the batch, and compares the weights.
"""
import argparse
import array
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PEER = os.path.join(HERE, "peers", "onnx_networks_pytorch.py")
FORWARD, LOSS = 1e-4, 1e-3


class Wrong(Exception):
    """What a cell says instead of numbers."""


def run(argv, **more):
    done = subprocess.run(argv, capture_output=True, check=False, **more)
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Wrong(lines[-1] if lines else "%s ended with %d" % (argv[0], done.returncode))
    return done.stdout


def floats(path):
    """The float32 elements of a .npy file, and their shape."""
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[8:10], "little")
    head = data[10:10 + length].decode()
    shape = tuple(int(part) for part in head.split("(")[1].split(")")[0].split(",") if part.strip())
    return array.array("f", data[10 + length:]), shape


def forward(options, place, path):
    """The largest difference of a result."""
    expected_path = path[:-len("onnx")] + "npy"
    if not os.path.exists(expected_path):
        run([options.pythons[0][1], "-B", PEER, "--forward", path])
    expected, shape = floats(expected_path)
    x, samples = floats(os.path.join(place, "x_train.npy"))
    size = (samples + (1, 1))[:4] if len(samples) == 4 else (samples[0], 1, *samples[1:])
    given = array.array("f", run([os.path.join(options.build, "bench", "bench_onnx_forward"), path,
                                  *map(str, size), str(len(expected) // shape[0])], input=x.tobytes()))
    if len(given) != len(expected):
        raise Wrong("%d results, expected %d" % (len(given), len(expected)))
    largest = max(abs(a - b) for a, b in zip(given, expected))
    return largest if largest == largest else float("inf")


def train(options, place, path, rate, *more):
    """The losses of each step, and the hash of the weights."""
    with tempfile.TemporaryDirectory(dir=place) as work:
        events, summary = os.path.join(work, "events"), os.path.join(work, "summary")
        task = () if os.path.exists(os.path.join(place, "y_train.npy")) else ("--task", "reconstruction")
        run([os.path.join(options.build, "shoal"), "train", path, "npy:" + place, *task, "--batch-size", "24", "--lr",
             str(rate), "--momentum", "0.9", "--quiet", "--run", os.path.join(work, "run"), "--events", events, "--json",
             summary, *more], env=dict(os.environ, XDG_CACHE_HOME=os.path.join(place, "cache")))
        with open(events, encoding="utf-8") as file:
            steps = [json.loads(line) for line in file]
        with open(summary, encoding="utf-8") as file:
            return [step["loss"] for step in steps if step["event"] == "step"], json.load(file)["weights_hash"]


def differ(losses, expected):
    if len(losses) != len(expected):
        raise Wrong("%d losses, expected %d" % (len(losses), len(expected)))
    return max(abs(a - b) / abs(b) for a, b in zip(losses, expected))


def hashes(options, place, path, rate):
    """Is the hash on three devices that on one?"""
    found = [train(options, place, path, rate, "--epochs", "2", "--grain", "8", "--devices", count, "--lanes", "1")[1]
             for count in ("1", "3")]
    if found[0] != found[1]:
        raise Wrong("the weights differ on 1 and 3 devices")


def cell(options, place, exporter):
    """What one exporter's file comes to: {forward, loss, ...} or {wrong}."""
    path = os.path.join(place, exporter + ".onnx")
    with open(os.path.join(place, exporter + ".json"), encoding="utf-8") as file:
        said = json.load(file)
    if "failed" in said:
        return {"wrong": "not exported: " + said["failed"]}
    found = {"folded": said["folded"], "wrong": ""}
    try:
        found["forward"] = forward(options, place, path)
        losses, _ = train(options, place, path, said["rate"], "--epochs", "10", "--grain", "24")
        found["loss"] = differ(losses, said["losses"])
        found["double"] = differ(losses, said["double"])
        found["pytorch"] = differ(said["losses"], said["double"])
        if options.hashes:
            hashes(options, place, path, said["rate"])
            found["hash"] = True
    except Wrong as problem:
        found["wrong"] = str(problem)
    found["met"] = not found["wrong"] and found["forward"] <= FORWARD and found["loss"] <= LOSS
    return found


def text_of(found):
    parts = []
    if "forward" in found:
        parts.append("%.0e" % found["forward"])
    if "loss" in found:
        parts.append("%.0e (double: %.0e, PyTorch %.0e)" % (found["loss"], found["double"], found["pytorch"]))
    if found.get("hash"):
        parts.append("one hash")
    if found.get("folded"):
        parts.append("%d norms folded" % found["folded"])
    if found["wrong"]:
        parts.append(found["wrong"])
    return ", ".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--python", action="append", required=True, metavar="NAME=PATH", help="the first has ONNX Runtime")
    parser.add_argument("--folder", required=True, help="for files and data")
    parser.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build", "release"))
    parser.add_argument("--networks", nargs="+")
    parser.add_argument("--exporters", nargs="+")
    parser.add_argument("--hashes", action="store_true")
    parser.add_argument("--export-only", action="store_true")
    parser.add_argument("--json", help="write every number to this file")
    options = parser.parse_args()
    options.pythons = [each.split("=", 1) for each in options.python]
    results, missed = {}, 0
    for label, python in options.pythons:
        has = json.loads(run([python, "-B", PEER, "--list"]))
        for network in options.networks or has["networks"]:
            place = os.path.join(options.folder, label, network)
            exporters = [each for each in options.exporters or has["exporters"] if each in has["exporters"]]
            lacks = [each for each in exporters if not os.path.exists(os.path.join(place, each + ".json"))]
            if lacks:
                try:
                    run([python, "-B", PEER, place, network, *lacks])
                except Wrong as problem:
                    print("%s %s: %s" % (network, label, problem), flush=True)
                    missed += 1
                    continue
            for exporter in () if options.export_only else exporters:
                found = cell(options, place, exporter)
                results["%s %s %s" % (network, label, exporter)] = found
                missed += not found.get("met")
                print("%-20s %-5s %-14s %-6s %s" % (network, label, exporter, "" if found.get("met") else "MISSED",
                                                    text_of(found)), flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
