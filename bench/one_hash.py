#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One job, one hash: trainings of the built-in models on real data, by each compiler, optimisation and variant.

    python3 -B bench/one_hash.py                          builds with gcc and clang, -O1 and -O3, and the release
    python3 -B bench/one_hash.py --programs a=PATH b=PATH  these programs instead
    python3 -B bench/one_hash.py --jobs lenet mlp --steps 10

Builds are kept in build/one-hash. It prints a table of hashes and fails where a column has more than one. The plain
variant emulates multiply-adds, some hundred times slower, so it takes a tenth of the steps, beside the fastest variant
with as many. test/arithmetic/weights_test.py compares short trainings in every run of the tests.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EVERY = os.path.join(ROOT, "test", "arithmetic", "every.onnx")
# Model, data, options, steps.
JOBS = {
    "lenet": ("lenet", "mnist:{data}/mnist", ("--grain", "16"), 937),
    "resnet:20": ("resnet:20", "cifar10:{data}/cifar10", ("--augment", "crop,flip"), 50),
    "mobilenetv2": ("mobilenetv2", "cifar10:{data}/cifar10", ("--resize", "64"), 20),
    "mlp": ("mlp:784-128-10", "mnist:{data}/mnist", (), 200),
    "dscnn": ("dscnn:s", "audio:{data}/speech", ("--label-from", "{label}_{group}_{}.wav"), 10),
    "every": (EVERY, "noise:3x8x8/10/640/64", ("--optimizer", "adam", "--lr", "0.003"), 50),
}
SLOW = {"plain": 10}  # variants that take a part of the steps, one in that many


def build(compiler, level):
    """A program of that compiler and optimisation, or None where the compiler is missing."""
    if shutil.which(compiler) is None:
        return None
    folder = os.path.join(ROOT, "build", "one-hash", compiler + level)
    # A build type of its own: those that the tree knows choose the optimisation by the file.
    for argv in (["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=OneHash", "-DSHOAL_TESTS=OFF",
                  "-DCMAKE_C_FLAGS_ONEHASH=%s -DNDEBUG" % level, "-DCMAKE_C_COMPILER=" + compiler],
                 ["cmake", "--build", folder]):
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, "shoal")


def variants(program):
    refused = subprocess.run([program, "version"], env=dict(os.environ, SHOAL_VARIANT="abacus"), capture_output=True,
                             text=True, check=False)
    return re.search("this processor runs (.*)$", refused.stderr.rstrip()).group(1).split(", ")


def weights_hash(program, job, variant, steps, data):
    model, source, options, _ = JOBS[job]
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, "summary.json")
        subprocess.run([program, "train", model, source.replace("{data}", data), *options, "--batch-size", "64", "--steps",
                        str(steps), "--seed", "1", "--quiet", "--run", os.path.join(folder, "run"), "--json", summary],
                       env=dict(os.environ, SHOAL_VARIANT=variant), check=True)
        with open(summary, encoding="utf-8") as file:
            return json.load(file)["weights_hash"]


def programs(options):
    if options.programs:
        return dict(pair.split("=", 1) for pair in options.programs)
    built = {"%s %s" % (compiler, level): build(compiler, level) for compiler in ("gcc", "clang") for level in ("-O1", "-O3")}
    for argv in (["cmake", "--preset", "release"], ["cmake", "--build", "--preset", "release", "--target", "shoal"]):
        subprocess.run(argv, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    built["release"] = os.path.join(ROOT, "build", "release", "shoal")
    return {name: program for name, program in built.items() if program is not None}


def turns(job, options, everyone):
    """Name, program, variant and steps of each training. What emulates is the same code in all programs: one shows it."""
    steps = options.steps or JOBS[job][3]
    for name, program in everyone.items():
        for variant in variants(program):
            if variant not in SLOW:
                yield name, program, variant, steps
    for variant in set(variants(program)) & set(SLOW):
        for each in (variant, variants(program)[0]):
            yield name, program, each, max(1, steps // SLOW[variant])


def compare(job, options, everyone):
    """Prints a line for each training; whether all with as many steps have the same weights."""
    seen = {}
    for name, program, variant, steps in turns(job, options, everyone):
        digest = weights_hash(program, job, variant, steps, options.data)
        print("%-12s %-10s %-8s %4d steps  %s" % (job, name, variant, steps, digest), flush=True)
        seen.setdefault(steps, set()).add(digest)
    return all(len(digests) == 1 for digests in seen.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    parser.add_argument("--steps", type=int, help="instead of each job's own number")
    parser.add_argument("--data", default=os.environ.get("SHOAL_TEST_DATA", os.path.join(ROOT, "..", "shared", "data")))
    options = parser.parse_args()
    everyone = programs(options)
    odd = [job for job in options.jobs if not compare(job, options, everyone)]
    sys.exit("different weights: %s" % ", ".join(odd) if odd else 0)


if __name__ == "__main__":
    main()
