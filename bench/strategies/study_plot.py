#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the rows of study.py: python3 study_plot.py ROWS.json PLOT.svg. The same rows make the same bytes.

Above, the time of an epoch over that on one device, with the first study's beside it; below, the accuracy. Colours are Okabe
and Ito's, which colour-blind readers can tell apart, and each line has its own mark and dashes as well. The ground is
opaque, so that it can be read where a page is dark.
"""

import json
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "shoal", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10,
                            "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#dddddd",
                            "figure.facecolor": "#ffffff", "savefig.facecolor": "#ffffff"})
from matplotlib import pyplot

LINES = {"sync": ("#0072B2", "o", "-"), "ps-sync": ("#D55E00", "s", "--"), "ps-async": ("#009E73", "^", "-.")}
ACCURACY = {"sync": "sync and ps-sync", "ps-async": "ps-async"}
STUDIED = ("#666666", "x", ":")
# Park, Lee, Kim: Hardware Resource Analysis in Distributed Training with Edge Devices. Electronics 2020, 9(1), 28.
STUDY = {"mlp": [105, 168, 228, 286, 342, 287, 442, 453, 510, 566],
         "lenet": [1079, 1177, 1338, 1484, 1778, 2009, 1970, 2436, 2665, 2625]}
TITLES = {"mlp": "mlp:784-128-64-10", "lenet": "lenet"}
STUDY_NAME = {"mlp": "the study's table A", "lenet": "the study's table B"}


def points(rows, model, strategy, value):
    found = {row["devices"]: value(row) for row in rows.values() if row["model"] == model and
             (row["strategy"] == strategy or row["devices"] == 1)}
    return sorted(found), [found[devices] for devices in sorted(found)]


def draw(axes, x, y, style, label):
    colour, mark, dashes = style
    axes.plot(x, y, color=colour, marker=mark, linestyle=dashes, markersize=5, linewidth=1.6, label=label)


def panels(rows, model, times, accuracies):
    alone = next((row["samples_per_second"] for row in rows.values() if row["model"] == model and row["devices"] == 1), None)
    if alone is None:
        return
    for strategy, style in LINES.items():
        x, y = points(rows, model, strategy, lambda row: alone / row["samples_per_second"])
        if len(x) == 1:
            continue
        draw(times, x, y, style, strategy)
        if strategy != "ps-sync":  # its weights are those of sync
            draw(accuracies, *points(rows, model, strategy, lambda row: 100 * row["accuracy"]), style, ACCURACY[strategy])
    draw(times, range(1, 11), [each / STUDY[model][0] for each in STUDY[model]], STUDIED, STUDY_NAME[model])
    times.axhline(1, color="#000000", linewidth=0.8)
    times.set_yscale("log", base=2)
    times.set_title(TITLES[model], fontsize=11)
    for axes in (times, accuracies):
        axes.legend(frameon=False, fontsize=9)
    accuracies.set_xlabel("devices, a fifth of a core each, links of 100 Mbit/s")
    for axes in (times, accuracies):
        axes.set_xticks(range(1, 11))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = json.load(file)
    figure, grid = pyplot.subplots(2, 2, figsize=(10, 7), sharex=True, sharey="row", height_ratios=(3, 2))
    for column, model in enumerate(TITLES):
        panels(rows, model, grid[0][column], grid[1][column])
    ticks = (0.5, 1, 2, 4)
    grid[0][0].set_yticks(ticks, ["%g" % each for each in ticks])
    grid[0][0].set_ylabel("time of an epoch, one device = 1")
    grid[1][0].set_ylabel("accuracy after half an epoch, %")
    figure.tight_layout()
    figure.savefig(sys.argv[2], metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
