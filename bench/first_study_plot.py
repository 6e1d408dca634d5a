#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a sweep of bench/study.yaml: python3 first_study_plot.py SWEEP.db PLOT.svg. The same database makes the same bytes.

Time and memory by number of devices, with the first study's published figures beside them. Colours are Okabe and Ito's,
which colour-blind readers can tell apart, and each line has its own mark and dashes as well. The ground is opaque, so
that it can be read where a page is dark.
"""

import sqlite3
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "shoal", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10,
                            "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#dddddd",
                            "figure.facecolor": "#ffffff", "savefig.facecolor": "#ffffff"})
from matplotlib import pyplot

# The blocks of bench/study.yaml with many numbers of devices: model -> colour, mark, dashes.
LINES = {"mlp:784-128-64-10": ("#0072B2", "o", "-"), "lenet": ("#D55E00", "s", "--"), "resnet:20": ("#009E73", "^", "-.")}
# Park, Lee, Kim: Hardware Resource Analysis in Distributed Training with Edge Devices. Electronics 2020, 9(1), 28.
STUDY = {"the study's table A": ([105, 168, 228, 286, 342, 287, 442, 453, 510, 566], ("#888888", "x", ":")),
         "the study's table B": ([1079, 1177, 1338, 1484, 1778, 2009, 1970, 2436, 2665, 2625], ("#444444", "+", ":"))}
STUDY_MEGABYTES = (253.6, 398.1)
ROWS = """SELECT CAST(set_devices AS INTEGER) AS devices, samples_per_second, memory_mean FROM study JOIN trials ON id = trial
          WHERE state = 'done' AND set_model = ? AND block IN (SELECT block FROM study JOIN trials ON id = trial
          GROUP BY block HAVING count(DISTINCT set_devices) > 3) ORDER BY devices"""


def draw(axes, x, y, style, label):
    colour, mark, dashes = style
    axes.plot(x, y, color=colour, marker=mark, linestyle=dashes, markersize=5, linewidth=1.6, label=label)


def main():
    database = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
    figure, (times, memory) = pyplot.subplots(1, 2, figsize=(10, 4.2))
    for model, style in LINES.items():
        rows = database.execute(ROWS, (model,)).fetchall()
        if not rows:
            continue
        devices = [row[0] for row in rows]
        draw(times, devices, [rows[0][1] / row[1] for row in rows], style, model)
        draw(memory, devices, [row[2] / 1e6 for row in rows], style, model)
    for label, (seconds, style) in STUDY.items():
        draw(times, range(1, 11), [each / seconds[0] for each in seconds], style, label)
    times.axhline(1, color="#000000", linewidth=0.8)
    times.set_yscale("log", base=2)
    ticks = (0.125, 0.25, 0.5, 1, 2, 4)
    times.set_yticks(ticks, ["%g" % each for each in ticks])
    times.set_title("time of the same training, one device = 1", fontsize=11)
    memory.axhspan(*STUDY_MEGABYTES, color="#bbbbbb", alpha=0.5, linewidth=0, label="published, 254 to 398 MB")
    memory.set_ylim(0, 420)
    memory.set_title("memory of a device, MB", fontsize=11)
    for axes in (times, memory):
        axes.set_xlabel("devices, a fifth of a core each, links of 100 Mbit/s")
        axes.set_xticks(range(1, 11))
        axes.legend(frameon=False, fontsize=9)
    figure.tight_layout()
    figure.savefig(sys.argv[2], metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
