#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks that other programs exported to ONNX: results beside ONNX Runtime, training losses beside PyTorch or Keras.

    python3 -B bench/onnx_networks.py --runtime PYTHON --python 2.15=PYTHON --python 1.13=/usr/bin/python3 \\
        --keras 2.21=KERAS --folder /tmp/networks --hashes
    python3 -B bench/onnx_networks.py --runtime PYTHON --python 2.15=PYTHON --folder /tmp/networks --networks lstm gru

PYTHON needs torch, torchvision, onnx, onnxscript and onnxruntime; a second one may have an older torch with its
exporter, and torchvision for its networks. KERAS needs tensorflow and tf2onnx. Files that are in the folder already
are not exported again.

A row is a network by one exporter: how far results are from ONNX Runtime's (at most 1e-4), the largest relative
difference of ten training losses from the peer's (at most 1e-3), how far each side is from the peer in double
precision, and who is nearer to that. --hashes trains each network on one device and on three, in grains of a third of
the batch, and compares the weights; --hashes-alone does no more, on files in a folder of their own.
"""
import argparse
import array
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = {kind: os.path.join(HERE, "peers", "onnx_networks_%s.py" % kind) for kind in ("pytorch", "keras")}
FORWARD, LOSS = 1e-4, 1e-3
EQUAL = 1e-6  # of rounding alone


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
        run([options.runtime, "-B", PEERS["pytorch"], "--forward", path])
    expected, shape = floats(expected_path)
    x, samples = floats(os.path.join(place, "x_train.npy"))
    size = samples if len(samples) == 4 else (samples[0], 1, *samples[1:])
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


def nearer(own, peer):
    """Whose losses are nearer to those of double precision?"""
    if max(own, peer) < EQUAL or own == peer:
        return "both equal it"
    return "shoal nearer" if own < peer else "peer nearer"


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
        return {"wrong": "not available: not exported, " + said["failed"]}
    found = {"folded": said["folded"], "wrong": ""}
    try:
        if options.hashes_alone:
            hashes(options, place, path, said["rate"])
            return {**found, "hash": True, "met": True}
        found["forward"] = forward(options, place, path)
        losses, _ = train(options, place, path, said["rate"], "--epochs", "10", "--grain", "24")
        found["loss"] = differ(losses, said["losses"])
        found["double"] = differ(losses, said["double"])
        found["peer"] = differ(said["losses"], said["double"])
        found["nearer"] = nearer(found["double"], found["peer"])
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
        parts.append("%.0e (double: shoal %.0e, peer %.0e: %s)" % (found["loss"], found["double"], found["peer"],
                                                                   found["nearer"]))
    if found.get("hash"):
        parts.append("one hash")
    if found.get("folded"):
        parts.append("%d norms folded" % found["folded"])
    if found["wrong"]:
        parts.append(found["wrong"])
    return ", ".join(parts)


def measure(options, kind, label, python, results):
    """All networks of one Python; gives how many missed."""
    missed = 0
    try:
        has = json.loads(run([python, "-B", PEERS[kind], "--list"]))
    except (Wrong, OSError) as problem:
        print("%-20s %-5s not available: %s" % ("all of " + kind, label, problem), flush=True)
        return 1
    for network in [each for each in options.networks or has["networks"] if each in has["networks"]]:
        place = os.path.join(options.folder, label, network)
        exporters = [each for each in options.exporters or has["exporters"] if each in has["exporters"]]
        lacks = [each for each in exporters if not os.path.exists(os.path.join(place, each + ".json"))]
        try:
            if lacks:
                more = ["--no-losses"] if options.hashes_alone and kind == "pytorch" else []
                run([python, "-B", PEERS[kind], place, network, *lacks, *more])
        except Wrong as problem:
            print("%-20s %-5s not available: %s" % (network, label, problem), flush=True)
            missed += 1
            continue
        for exporter in () if options.export_only else exporters:
            found = cell(options, place, exporter)
            results["%s %s %s" % (network, label, exporter)] = found
            missed += not found.get("met")
            print("%-20s %-5s %-14s %-6s %s" % (network, label, exporter, "" if found.get("met") else "MISSED",
                                                text_of(found)), flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--runtime", required=True, metavar="PATH", help="a Python with ONNX Runtime")
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH", help="with PyTorch")
    parser.add_argument("--keras", action="append", default=[], metavar="NAME=PATH", help="with TensorFlow and tf2onnx")
    parser.add_argument("--folder", required=True, help="for files and data")
    parser.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build", "release"))
    parser.add_argument("--networks", nargs="+")
    parser.add_argument("--exporters", nargs="+")
    parser.add_argument("--hashes", action="store_true")
    parser.add_argument("--hashes-alone", action="store_true", help="no losses: takes a fraction of the time")
    parser.add_argument("--export-only", action="store_true")
    parser.add_argument("--json", help="write every number to this file")
    options = parser.parse_args()
    results, missed = {}, 0
    for kind, pythons in (("pytorch", options.python), ("keras", options.keras)):
        for each in pythons:
            missed += measure(options, kind, *each.split("=", 1), results)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
