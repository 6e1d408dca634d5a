# SPDX-License-Identifier: Apache-2.0
"""Short trainings that together have every kind of operator, optimiser and augmentation, and their weights.

    for name, job in jobs.JOBS.items():
        ... shoal train *job --lanes 1 ... its weights_hash is jobs.known()[name]

weights.txt has the hash of each job's weights, on any processor and with any compiler. Where the arithmetic is changed
on purpose `python3 test/arithmetic/weights_test.py --write` writes the new ones.
"""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
WEIGHTS = os.path.join(HERE, "weights.txt")  # a line for each job: hash, two spaces, name

# Batches of uneven grains; small, for processors without multiply-adds, which emulate them, and for emulated processors.
DIGITS = ("digits:110/40", "--batch-size", "50", "--grain", "7")
FEW = ("digits:24/8", "--batch-size", "12", "--grain", "5")
NOISE = ("noise:3x8x8/10/24/8", "--batch-size", "12", "--grain", "5")
JOBS = {
    "mlp": ("mlp:784-32-10", *DIGITS, "--steps", "20"),
    "mlp, adam": ("mlp:784-32-10", *DIGITS, "--steps", "9", "--optimizer", "adam", "--lr", "0.005", "--schedule",
                  "one-cycle:0.4", "--clip-norm", "0.5"),
    "lenet": ("lenet", *FEW, "--steps", "3"),
    "resnet": ("resnet:8", *NOISE, "--steps", "4", "--augment", "crop:1,flip"),
    "mobilenetv2": ("mobilenetv2:0.25", "noise:3x32x32/10/12/4", "--batch-size", "6", "--grain", "4", "--steps", "2",
                    "--label-smoothing", "0.1"),
    "dscnn": ("dscnn:s", "noise:1x16x10/12/12/4", "--batch-size", "6", "--grain", "4", "--steps", "2", "--optimizer",
              "rmsprop", "--lr", "0.002"),
    "autoencoder": ("autoencoder:12-4", *FEW, "--task", "reconstruction", "--steps", "3"),
    "gru": ("gru:6", "noise:3x1x12/4/12/4", "--batch-size", "6", "--grain", "4", "--steps", "2"),
    "every": (os.path.join(HERE, "every.onnx"), *NOISE, "--steps", "4", "--optimizer", "adamw", "--lr", "0.003",
              "--weight-decay", "0.01", "--augment", "mixup:0.3,rotate:20", "--schedule", "cosine"),
}


def known():
    """The hashes of weights.txt by the names of the jobs."""
    with open(WEIGHTS, encoding="utf-8") as file:
        return dict(reversed(line.rstrip("\n").split("  ", 1)) for line in file)
