# SPDX-License-Identifier: Apache-2.0
"""Whether devices that join ever make a job slower: emulated devices that are chosen from, beside one alone and all.

Each case is a model, a number of devices, a link and how devices differ: `equal`, `mixed` (1, 1/2, 1/4, 1/10 of the
first one's share of a core, in turn), or `bad` (the last one's link has a twentieth). One device alone, all devices and
those that are chosen (--devices-used auto) take turns; the samples a second are those of the last half of the steps.
All devices make fewer steps where they are slower. The weights of one and of those that are chosen are compared, and
so is what was expected of each choice with what came (device.compared in events.log).
"""

import itertools
import re
import statistics
import sys

import elastic
import measure

LENET = "lenet noise:1x28x28/10/1000000/64 --batch-size 64 --grain 8 --seed 1"
# Model and data, steps, and steps of all devices.
JOBS = {"MLP": ("mlp:784-128-64-10 noise:1x28x28/10/1000000/64 --batch-size 64 --grain 8 --seed 1", 3000, 60),
        "LeNet": (LENET, 200, 40),
        "LeNet-1024": (LENET.replace("--batch-size 64", "--batch-size 1024").replace("--grain 8", "--grain 64"), 30, 16),
        "ResNet-20": ("resnet:20 noise:3x32x32/10/1000000/64 --batch-size 64 --grain 8 --seed 1", 40, 16)}
SHARES = {"equal": (1,), "mixed": (1, 0.5, 0.25, 0.1), "bad": (1,)}
RATES = {"10Mbit": 10, "100Mbit": 100, "1Gbit": 1000}
CORES = 1.6  # of all devices together, at most
FULL = 0.2   # the share of a core of a device, at most
SLOWER, BAD = 0.97, 20


def add_options(parser):
    parser.add_argument("--models", default=",".join(JOBS), help="of %s" % ", ".join(JOBS))
    parser.add_argument("--devices", default="2,4,8", help="numbers of devices (2,4,8)")
    parser.add_argument("--rates", default="10Mbit,100Mbit,1Gbit", help="links")
    parser.add_argument("--kinds", default="equal,mixed,bad", help="how devices differ")
    parser.add_argument("--turns", type=int, default=1, help="of the three (1)")
    parser.add_argument("--scale", type=float, default=1.0, help="of the steps (1)")


def devices_of(count, rate, kind):
    shares = [SHARES[kind][i % len(SHARES[kind])] for i in range(count)]
    full = min(FULL, CORES / sum(shares))
    made = []
    for i, share in enumerate(shares):
        link = "%gMbit" % (RATES[rate] / BAD) if kind == "bad" and i == count - 1 else None
        made.append(elastic.device("d%d" % i, round(full * share, 3), link=link))
    return made


def samples_a_second(record, batch):
    """Over the steps of the last half."""
    steps = record["steps"]
    (first, begin, _), (last, end, _) = steps[len(steps) // 2], steps[-1]
    return batch * (last - first) / (end - begin)


def run(options, work, job, steps, devices, rate, used):
    text = elastic.lab_file("%s --steps %d --devices-used %s" % (job, steps, used), devices, rate)
    record = elastic.run_lab(options, work, text)
    batch = int(job.split("--batch-size ")[1].split()[0])
    return samples_a_second(record, batch), record["summary"]["weights_hash"], record


def resting(record):
    return [line["fields"].get("text", "") for line in record["log"] if line["id"] == "device.rests"]


def seconds(number, unit):
    return float(number) * (1e-3 if unit == "ms" else 1)


def errors(record):
    """Of what was expected of each choice, relative to what came."""
    texts = [line["fields"].get("text", "") for line in record["log"] if line["id"] == "device.compared"]
    pairs = [re.search(r"takes (\S+) (ms|s); expected (\S+) (ms|s)", text).groups() for text in texts]
    return [seconds(wanted, its) / seconds(came, unit) - 1 for came, unit, wanted, its in pairs]


def measured(options, work, name, count, rate, kind):
    """Samples a second alone, with all and with those that are chosen, medians of the turns."""
    job, many, few = JOBS[name]
    devices = devices_of(count, rate, kind)
    found, hashes, text, used = {"alone": [], "all": [], "auto": []}, set(), [], 0
    wrong = []
    for _ in range(options.turns):
        for side in found:
            some = devices[:1] if side == "alone" else devices
            steps = max(12, int((few if side == "all" else many) * options.scale))
            speed, weights, record = run(options, work, job, steps, some, rate, "all" if side == "alone" else side)
            found[side].append(speed)
            if side != "all":
                hashes.add(weights)
            if side == "auto":
                text, used = resting(record), record["steps"][-1][2]
                wrong += errors(record)
    return {side: statistics.median(each) for side, each in found.items()}, len(hashes) == 1, text, used, wrong


def benchmark(options, result):
    elastic.need_lab()
    worst, wrong = 1.0, []
    cases = itertools.product(options.models.split(","), map(int, options.devices.split(",")),
                              options.rates.split(","), options.kinds.split(","))
    with measure.folder() as work:
        for name, count, rate, kind in cases:
            speeds, same, text, used, off = measured(options, work, name, count, rate, kind)
            best = max(speeds["alone"], speeds["all"])
            ratio = speeds["auto"] / best
            worst = min(worst, ratio)
            wrong += off
            what = "%s, %d devices, %s, %s" % (name, count, rate, kind)
            said = "%.0f alone, %.0f all, %.0f chosen (%d compute): %.2f of the best, %s weights" % (
                speeds["alone"], speeds["all"], speeds["auto"], used, ratio, "the same" if same else "OTHER")
            result.row(what, said, target=">= %.2f" % SLOWER, met=same and ratio >= SLOWER)
            print(what, said, *text[-1:], sep=": ", file=sys.stderr, flush=True)
            result.details["%s %d %s %s" % (name, count, rate, kind)] = {**speeds, "rests": text, "errors": off}
    if wrong:
        sizes = [abs(each) for each in wrong]
        result.row("a step, expected and come: %d choices" % len(wrong), "median error %.1f %%, worst %.1f %%" % (
            100 * statistics.median(sizes), 100 * max(sizes)), target="5 %, 20 %",
                   met=statistics.median(sizes) <= 0.05 and max(sizes) <= 0.2)
    result.row("the worst of these", "%.2f" % worst, target=">= %.2f" % SLOWER, met=worst >= SLOWER)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
