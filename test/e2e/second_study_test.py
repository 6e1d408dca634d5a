#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/second_study.py: the tables say what was measured, and what was not."""

import os
import sys
import unittest

import harness

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
try:
    import second_study
except ImportError:  # the lab reads files with Python 3.11's tomllib
    second_study = None


class Store:
    """Outcomes by name."""

    def __init__(self, outcomes):
        self.outcomes = outcomes

    def find(self, name, _):
        return self.outcomes.get(name)


class Options:
    samples, epochs, steps, turns, devices, quick = 640, 2, 10, 1, (1, 2), False


def step(seconds, weights):
    return {"step": seconds, "hash": weights, "sent": 2e6, "memory": 40e6, "loss": 2.25, "others": 0.1}


class Rows:
    def __init__(self):
        self.verdicts = []

    def row(self, what, shoal, target="", met=None):
        self.verdicts.append((what, shoal, target, met))


@unittest.skipIf(second_study is None, "Python has no tomllib")
class Tables(harness.Case):
    needs_program = False

    def test_times(self):
        lines = second_study.time_tables(Options, Store({"time shoal 1 frozen turn 0": step(0.4, "ab"),
                                                         "time shoal 2 frozen turn 0": step(0.2, "ab")}))
        self.assertIn("| frozen | shoal | 2 | 0.200 | 2.00 | 4.3 | 2.00 | 40 | 2.250 | ab | 10 % |", lines)
        self.assertTrue(any(line.startswith("| frozen | shoal | 4 | not measured") for line in lines))
        self.assertEqual({line.count("|") for line in lines if line.startswith("| ")}, {12})

    def test_courses(self):
        epochs = [{"train_loss": 2, "val_loss": 1.5, "val_accuracy": 0.5}, {"train_loss": 1, "val_loss": 1.25, "val_accuracy": 0.75}]
        lines = second_study.course_tables(Options, Store({"course shoal none frozen": {"epochs": epochs}}))
        self.assertIn("| none | frozen | shoal | any | 50.0 %, 1.50 | 75.0 %, 1.25 |", lines)
        self.assertEqual({line.count("|") for line in lines if line.startswith("| ")}, {7})

    def test_other_weights_are_found(self):
        for weights, met in (("ab", True), ("cd", False)):
            rows = Rows()
            store = Store({"time shoal 1 frozen turn 0": step(0.4, "ab"), "time shoal 2 frozen turn 0": step(0.2, weights)})
            second_study.report(Options, store, rows, "frozen")
            self.assertEqual([each[3] for each in rows.verdicts], [met, True])


if __name__ == "__main__":
    harness.main()
