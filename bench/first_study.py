#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first study (Park, Lee, Kim 2020) on emulated devices: sudo python3 -B bench/first_study.py

Prepares the data, does what is left of bench/study.yaml with `shoal sweep`, writes the tables into docs/study.md and draws
docs/study.svg. All of it takes about 15 minutes on two cores; stopped, it goes on where it was. Needs root (lab/README.md),
MNIST and CIFAR-10, and for the plot matplotlib, which it installs on Debian.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "strategies"), os.path.join(HERE, "elastic")]
import elastic
import measure
import train_vs_pytorch
from study import drawing_python

STUDY = os.path.join(HERE, "study.yaml")
FOLDER = os.path.join(HERE, "results", "study")
DOCS = os.path.join(measure.ROOT, "docs")
BEGIN, END = "<!-- the tables: written by bench/first_study.py -->", "<!-- the tables' end -->"


def add_options(parser):
    parser.add_argument("--run", default=FOLDER, metavar="DIR", help="the sweep's folder (bench/results/study)")
    parser.add_argument("--only", metavar="LIST", help="only trials with these settings: model=lenet,devices=1")
    parser.add_argument("--retry", action="store_true", help="do trials again that have failed")


def prepare(options):
    """STUDY_DATA, as bench/study.yaml has it."""
    folder = os.path.join(HERE, "results", "study-data")
    made = os.path.join(folder, "made")
    if not os.path.exists(made):
        for name, cut in (("mnist", lambda work: train_vs_pytorch.cut_mnist(options, work, validation=10_000)),
                          ("mnist-short", lambda work: train_vs_pytorch.cut_mnist(options, work)),
                          ("cifar10-short", lambda work: train_vs_pytorch.cut_cifar10(options, work))):
            with measure.folder() as work:
                os.makedirs(folder, exist_ok=True)
                subprocess.run(["rm", "-rf", os.path.join(folder, name)], check=True)
                subprocess.run(["cp", "-rL", cut(work), os.path.join(folder, name)], check=True)
        with open(made, "w", encoding="ascii"):
            pass
    return folder


def write_tables(tables):
    path = os.path.join(DOCS, "study.md")
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n\n" + tables.strip() + "\n\n" + END + rest.split(END)[1])


def benchmark(options, result):
    elastic.need_lab()
    environment = measure.environment(STUDY_DATA=prepare(options))
    sweep = [options.shoal, "sweep", STUDY, "--run", options.run]
    more = (["--only", options.only] if options.only else []) + (["--retry"] if options.retry else [])
    done = subprocess.run([*sweep, *more], env=environment, stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):  # 1: some trials have failed, and the tables say which
        sys.exit(done.returncode)
    write_tables(measure.run([options.shoal, "report", options.run, "--format", "markdown"]).out)
    measure.run([drawing_python(), "-B", os.path.join(HERE, "first_study_plot.py"), os.path.join(options.run, "sweep.db"),
                 os.path.join(DOCS, "study.svg")])
    result.row("the study", "docs/study.md", met=None if done.returncode == 0 else False)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
