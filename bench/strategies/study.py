#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first study's comparison in the lab: time and accuracy of each strategy for 1 to 10 devices.

Needs root (lab/README.md), MNIST, and matplotlib for the plot, which it installs on Debian. Devices have a fifth of a core and a
link of 100 Mbit/s each, and a batch of 64 samples each, which makes a step's batch that of the synchronous ones times devices,
and an update's of ps-async. The learning rate is 0.01 for each 64 samples that a step or an update has, after a warm-up.

Each row trains half an epoch, once. Rows are kept in docs/strategies.json, and what is there is not measured again (--again
STRATEGY does); the table in docs/strategies.md and docs/strategies.svg are made of them. A strategy that the program has not is
left out, and said.
"""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "elastic")]
import elastic
import measure
import train_vs_pytorch

STRATEGIES = ("sync", "ps-sync", "ps-async")
ALONE = "alone"  # on one device there is nobody to synchronise with
MODELS = {"mlp": "mlp:784-128-64-10", "lenet": "lenet"}
COUNTS = range(1, 11)
EPOCH, VALIDATION, SAMPLES, BATCH = 60_000, 10_000, 30_000, 64
RATE, WARMUP = 0.01, 0.2
CPU, LINK, BYTES_A_SECOND = 0.2, "100Mbit", 100e6 / 8 * elastic.PAYLOAD
DOCS = os.path.join(measure.ROOT, "docs")
ROWS, TEXT, PLOT = (os.path.join(DOCS, "strategies." + kind) for kind in ("json", "md", "svg"))
BEGIN, END = "<!-- the table: written by bench/strategies/study.py -->", "<!-- the table's end -->"


def add_options(parser):
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=STRATEGIES, help="only these")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), help="only these")
    parser.add_argument("--devices", nargs="+", type=int, default=COUNTS, help="only by so many (1 to %d)" % COUNTS[-1])
    parser.add_argument("--again", nargs="+", choices=STRATEGIES, default=[], help="measure theirs anew")
    parser.add_argument("--rows", type=int, default=1000, help="measure at most so many now; the next call goes on")


def key(model, strategy, devices):
    return "%s %s %d" % (model, ALONE if devices == 1 else strategy, devices)


def load():
    try:
        with open(ROWS, encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return {}


def save(rows):
    os.makedirs(DOCS, exist_ok=True)
    with open(ROWS + ".new", "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=0, sort_keys=True)
        file.write("\n")
    os.replace(ROWS + ".new", ROWS)


def together(strategy, devices):
    """Batches of BATCH that one step has, or one update."""
    return 1 if strategy == "ps-async" else devices


def job(options, model, strategy, devices):
    """What follows `shoal train`, but the batch."""
    batches = together(strategy, devices)
    return "%s mnist:%s --epochs 1 --seed 1 --steps %d --lr %g --warmup %g" % (
        MODELS[model], options.mnist, SAMPLES // (BATCH * batches), RATE * batches, WARMUP)


def samples_a_second(record, batch):
    """From the end of the first steps, in which the sum's exponents are found, to that of the last."""
    steps = record["steps"]
    first = next((each for each in steps if each[0] > elastic.STARTING), steps[0])
    (begun, since, _), (ended, until, _) = (first if len(steps) > 10 else (0, record["training"], 0)), steps[-1]
    return batch * (ended - begun) / (until - since)


def measured(options, model, strategy, devices):
    watch = measure.Watch()
    text = job(options, model, strategy, devices)
    members = [elastic.device("d%d" % i, CPU, data=options.mnist if i else None) for i in range(devices)]
    record = elastic.run_lab(options, options.work, elastic.lab_file("%s --batch-per-device %d --strategy %s" % (
        text, BATCH, strategy), members, LINK), limit=300)
    summary, others = record["summary"], watch.used_by_others()
    batch = BATCH * together(strategy, devices)
    if summary["status"] != "complete" or summary["samples"] != SAMPLES // batch * batch:
        raise measure.Failure("%s ended: %s, after %d samples" % (text, summary["status"], summary["samples"]))
    row = {"model": model, "strategy": strategy, "devices": devices, "samples": summary["samples"],
           "parameters": summary["parameters"], "accuracy": summary["val_accuracy"], "val_loss": summary["val_loss"],
           "redone_steps": summary["redone_steps"], "weights_hash": summary["weights_hash"],
           "samples_per_second": round(samples_a_second(record, batch), 1), "others": round(others, 3)}
    row["sent_bytes"] = sum(each["bytes_sent"] for each in summary["devices"]) // devices
    if strategy != "ps-async":
        row["alone_hash"] = elastic.alone_hash(options, options.work, "%s --batch-size %d" % (text, BATCH * devices))
        if row["alone_hash"] != row["weights_hash"]:
            raise measure.Failure("%s, %s on %d devices: the weights are not those of one device alone" % (
                model, strategy, devices))
    return row


def missing(options, rows):
    """What there is to measure: name -> (model, strategy, devices)."""
    wanted = {}
    for model in options.models:
        for devices in options.devices:
            for strategy in options.strategies:
                wanted.setdefault(key(model, strategy, devices), (model, strategy, devices))
    return {name: asked for name, asked in wanted.items()
            if name not in rows or asked[1] in options.again and asked[2] > 1}


# ---- the document ----

def seconds(row):
    return EPOCH / row["samples_per_second"]


def limit(rows, model, devices):
    """The least an epoch can take: the larger of what computing takes alone and what the links need, each step."""
    alone = rows.get(key(model, ALONE, 1))
    if alone is None:
        return None
    link = 2 * (devices - 1) / devices * 4 * alone["parameters"] / BYTES_A_SECOND
    return EPOCH / (BATCH * devices) * max(BATCH / alone["samples_per_second"], link)


def table(rows):
    lines = []
    for model in MODELS:
        lines += ["", "**%s**" % MODELS[model], "", "| devices | least by whole gradients | " + " | ".join(STRATEGIES) + " | accuracy: " +
                  " | ".join(("sync, ps-sync", "ps-async")) + " |", "|" + "---|" * (4 + len(STRATEGIES))]
        for devices in COUNTS:
            found = [rows.get(key(model, strategy, devices)) for strategy in STRATEGIES]
            least = limit(rows, model, devices)
            cells = ["%d" % devices, "%.1f s" % least if least else ""]
            cells += ["%.1f s" % seconds(row) if row else "" for row in found]
            cells += ["%.2f %%" % (100 * row["accuracy"]) if row else "" for row in (found[0], found[2])]
            lines.append("| " + " | ".join(cells) + " |")
    others = max((row["others"] for row in rows.values()), default=0)
    lines += ["", "Each figure is of one run. Other processes used at most %.0f %% of the processors meanwhile. All %d runs of `sync`"
              % (100 * others, sum("alone_hash" in row for row in rows.values())),
              "and `ps-sync` had, bit for bit, the weights of one device alone with the same job.", ""]
    return "\n".join(lines)


def write_table(rows):
    with open(TEXT, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    with open(TEXT, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n" + table(rows) + "\n" + END + rest.split(END)[1])


def drawing_python():
    """A Python that has matplotlib; installs Debian's where none has."""
    candidates = (sys.executable, "/usr/bin/python3")
    for install in (False, True):
        if install:
            subprocess.run(["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "install", "--no-install-recommends",
                            "python3-matplotlib"], env=measure.environment(DEBIAN_FRONTEND="noninteractive"),
                           stdout=subprocess.DEVNULL, check=False)
        for python in candidates:
            if subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0:
                return python
    raise measure.Skip("matplotlib is missing, so there is no plot: apt-get install python3-matplotlib")


def benchmark(options, result):
    elastic.need_lab()
    rows = load()
    with measure.folder() as options.work:
        options.mnist = train_vs_pytorch.cut_mnist(options, options.work, validation=VALIDATION)
        for name, asked in list(missing(options, rows).items())[:options.rows]:
            rows[name] = row = measured(options, *asked)
            save(rows)
            result.row(name, "%.1f s an epoch, %.2f %%" % (seconds(row), 100 * row["accuracy"]))
    write_table(rows)
    measure.run([drawing_python(), "-B", os.path.join(HERE, "study_plot.py"), ROWS, PLOT])


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
