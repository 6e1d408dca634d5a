#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fewer bits on the wire and rarer synchronisation cost in accuracy.

`wires` trains LeNet on MNIST and ResNet-20 on CIFAR-10 (by the recipe of examples/) with gradients of 32, 16 and 8 bits, from three
seeds each: the final accuracies, and how far the narrow wires are from the wide one. One device does it, as more arrive at
the same weights.

`curves` trains LeNet on four devices of the lab by each strategy, and shows validation loss and accuracy against
time; it needs root. A strategy that the program has not is left out, and said.

What is done is kept in bench/results/accuracy/ and not done again. A training of `wires` that is stopped goes on from its last
epoch with the next call.
"""

import json
import os
import shutil
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "elastic")]
import elastic
import measure
import train_vs_pytorch
from kept import Kept

WIRES = (32, 16, 8)
WITHIN = 0.3  # points of accuracy
PARTS = ("wires", "curves")


def lenet(options):
    return [options.shoal, "train", "lenet", "mnist:" + measure.need_mnist(options),
            "--epochs", "8", "--batch-size", "64", "--lr", "0.02"]


def resnet20(options):
    return [os.path.join(measure.ROOT, "examples", "resnet20-cifar10.sh"), measure.need_cifar10(options)]


MODELS = {"lenet": ("LeNet on MNIST (10,000 images)", lenet),
          "resnet20": ("ResNet-20 on CIFAR-10 (1,000 images)", resnet20)}

# Curves: a third of MNIST an epoch, so that there are several points. Four devices of a fifth of a core, links of
# 100 Mbit/s, 64 samples a device. Rates are what study.py has: 0.01 for each 64 samples of a step or an update.
DEVICES, CPU, LINK, BATCH, TRAINING, EPOCHS, RATE, WARMUP = 4, 0.2, "100Mbit", 64, 20_000, 5, 0.01, 0.5
STRATEGIES = {"sync": ("", DEVICES), "local:8": ("--outer-momentum 0.5", DEVICES), "ps-async": ("", 1), "ps-bounded:4": ("", 1)}


def trained(options, run, argv):
    """The summary of a training on one device, and its line of metrics for each epoch. Goes on where `run` is."""
    if os.path.exists(os.path.join(run, "checkpoints", "last.safetensors")):
        argv = [options.shoal, "train", "--resume", run]
    else:
        shutil.rmtree(run, ignore_errors=True)
        argv = [*argv, "--run", run]
    process = measure.run([*argv, "--devices", "1", "--quiet", "--json", "-"], measure.environment(SHOAL=options.shoal), timeout=7200)
    summary = json.loads(process.out)
    if summary["status"] != "complete":
        raise measure.Failure("%s: %s" % (run, summary["status"]))
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
        epochs = [json.loads(line) for line in file]
    shutil.rmtree(run)
    return {"summary": summary, "epochs": epochs}


def wire_outcome(options, kept, model, wire, seed):
    asked = ["--wire", str(wire), "--seed", str(seed)]
    command, name = MODELS[model][1](options), "%s wire %d seed %d" % (model, wire, seed)

    def make():
        found = trained(options, kept.path(name, ".run"), command + asked)
        print("%s: %.2f %%" % (name, 100 * found["summary"]["val_accuracy"]), file=sys.stderr, flush=True)
        return found

    return kept.get(name, command[1:] + asked, make)["summary"]


def wires(options, result):
    """Seed by seed, so that what is done when it is stopped can be compared."""
    kept = Kept("accuracy", options.shoal, options.fresh)
    found = {}
    for seed in range(1, options.seeds + 1):
        for model in options.models:
            for wire in WIRES:
                found.setdefault((model, wire), []).append(wire_outcome(options, kept, model, wire, seed))
    for model in options.models:
        percents = {wire: [100 * each["val_accuracy"] for each in found[model, wire]] for wire in WIRES}
        for wire in WIRES:
            mean, lost = statistics.mean(percents[wire]), statistics.mean(percents[32]) - statistics.mean(percents[wire])
            result.row("%s, wire %d" % (MODELS[model][0], wire),
                       "%.2f %% (%s)" % (mean, ", ".join("%.2f" % each for each in percents[wire])),
                       "loss %.4f" % statistics.mean(each["val_loss"] for each in found[model, wire]),
                       "" if wire == 32 else "%+.2f points" % -lost, "" if wire == 32 else ">= -%.1f" % WITHIN,
                       None if wire == 32 else lost <= WITHIN)
        result.details[model] = {wire: [each["weights_hash"] for each in found[model, wire]] for wire in WIRES}


def curve(options, work, strategy):
    """(seconds of training, epoch, validation loss, accuracy) at the end of each epoch."""
    more, together = STRATEGIES[strategy]
    mnist = train_vs_pytorch.cut_mnist(options, work, TRAINING, 10_000)
    job = "lenet mnist:%s --epochs %d --batch-per-device %d --seed 1 --lr %g --warmup %g --strategy %s %s" % (
        mnist, EPOCHS, BATCH, RATE * together, WARMUP, strategy, more)
    devices = [elastic.device("d%d" % i, CPU, data=mnist if i else None) for i in range(DEVICES)]
    record = elastic.run_lab(options, work, elastic.lab_file(job, devices, LINK), limit=300)
    return [[round(event["at"] - record["training"], 2), event["epoch"], event["val_loss"], event["val_accuracy"]]
            for event in record["events"] if event["event"] == "epoch"]


def curves(options, result):
    elastic.need_lab()
    kept = Kept("accuracy", options.shoal, options.fresh)
    for strategy in options.strategies:
        with measure.folder() as work:
            points = kept.get("curve " + strategy, [STRATEGIES[strategy], DEVICES, CPU, LINK, BATCH, TRAINING, EPOCHS, RATE,
                                                    WARMUP], lambda: curve(options, work, strategy))
        result.row("LeNet against time, " + strategy, "; ".join(
            "%.0f s %.3f %.2f %%" % (seconds, loss, 100 * accuracy) for seconds, _, loss, accuracy in points))


def benchmark(options, result):
    for part in options.parts:
        {"wires": wires, "curves": curves}[part](options, result)


def add_options(parser):
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="only these")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), help="of wires: only these")
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=list(STRATEGIES), help="of curves: only these")
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each kind of wires (3)")
    parser.add_argument("--fresh", action="store_true", help="do again what is kept")


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
