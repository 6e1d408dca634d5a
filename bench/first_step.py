# SPDX-License-Identifier: Apache-2.0
"""From the start of the process to the end of the first training step, beside PyTorch's.

shoal is timed from outside, as a whole process that trains one step, validates, writes its
checkpoint and ends: an upper bound. PyTorch is timed from outside up to the end of a program that
imports, makes the same network and trains one step on random numbers; it reads no data at all.

MNIST's 10,000 validation images take longer than any first step, so they are cut to ten here; its
training images are the real ones. "Cold" means that the compressed files were never unpacked before.
"""

import os
import statistics
import struct
import tempfile

import measure

TARGET_SECONDS = 0.3
STEP = ["--steps", "1", "--batch-size", "64", "--seed", "1"]
IMAGES, KEPT = 28 * 28, 10


def add_options(parser):
    parser.add_argument("--runs", type=int, default=11, help="of each kind, at least 10 (11)")


def shortened(mnist, place):
    """A folder with MNIST's training files and KEPT blank validation images."""
    for name in os.listdir(mnist):
        if name.startswith("train-"):
            os.symlink(os.path.join(os.path.abspath(mnist), name), os.path.join(place, name))
    with open(os.path.join(place, "t10k-images-idx3-ubyte"), "wb") as file:
        file.write(struct.pack(">4I", 0x803, KEPT, 28, 28) + bytes(KEPT * IMAGES))
    with open(os.path.join(place, "t10k-labels-idx1-ubyte"), "wb") as file:
        file.write(struct.pack(">2I", 0x801, KEPT) + bytes(range(KEPT)))
    return "mnist:" + place


def seconds_text(values):
    return "%.3f s (%.3f to %.3f)" % measure.spread(values)


def shoal_seconds(options, work, data, cache):
    env = measure.environment(XDG_CACHE_HOME=cache)
    process, _ = measure.summary(options, work, "lenet", data, *STEP, "--lanes",
                                 str(options.threads), env=env)
    return process.seconds


def one_turn(options, work, mnist, warm_cache):
    """One run of each kind; `mnist` is None where there is none."""
    turn = {"digits": shoal_seconds(options, work, "digits", warm_cache)}
    if mnist is not None:
        turn["warm"] = shoal_seconds(options, work, mnist, warm_cache)
        with tempfile.TemporaryDirectory(dir=work) as cold_cache:
            turn["cold"] = shoal_seconds(options, work, mnist, cold_cache)
    if options.torch_python is not None:
        turn["pytorch"] = measure.peer(options, "--first-step")[0].seconds
    return turn


def benchmark(options, result):
    times = {"digits": [], "warm": [], "cold": [], "pytorch": []}
    with measure.folder() as work:
        mnist = None
        warm_cache = os.path.join(work, "warm")
        if os.path.isdir(os.path.join(options.data, "mnist")):
            place = os.path.join(work, "mnist")
            os.mkdir(place)
            mnist = shortened(measure.need_mnist(options), place)
            shoal_seconds(options, work, mnist, warm_cache)
        for _ in range(max(options.runs, 10)):
            turn = measure.undisturbed(lambda: one_turn(options, work, mnist, warm_cache))
            for key, seconds in turn.items():
                times[key].append(seconds)
    result.details = times
    report(result, times)


def report(result, times):
    theirs = times["pytorch"]
    for key, name, claimed in (("digits", "first step, digits", True),
                               ("warm", "first step, MNIST", True),
                               ("cold", "first step, MNIST unpacked first", False)):
        if not times[key]:
            continue
        ratios = [b / a for a, b in zip(times[key], theirs)]
        result.row(name, seconds_text(times[key]),
                   "PyTorch " + seconds_text(theirs) if theirs else "PyTorch is missing",
                   measure.ratio_text(ratios) if theirs else "",
                   "< %.1f s" % TARGET_SECONDS if claimed else "",
                   statistics.median(times[key]) < TARGET_SECONDS if claimed else None)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
