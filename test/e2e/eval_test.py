#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: it has no threads of its own.
"""What a trained model is worth: shoal eval."""

import csv
import json
import os
import shutil
import struct

import harness

MLP = ("mlp:784-16-10", "digits:640/90", "--epochs", "2", "--lr", "0.1")


def write_npy(path, shape, values):
    """An array of floats, as NumPy writes it."""
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (shape,)
    head = head.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(values), *values))


class Numbers(harness.Case):
    def test_errors_have_the_units_of_the_data(self):
        """y = 500 + 100 x, in which the network sees a mean of 0 and a deviation of 1."""
        os.mkdir(self.path("xy"))
        xs = [(i * 37 % 200) / 100 - 1 for i in range(200)]
        write_npy(self.path("xy", "x.npy"), (200, 2), [value for x in xs for value in (x, x * x)])
        write_npy(self.path("xy", "y.npy"), (200,), [500 + 100 * x for x in xs])
        self.shoal("train", "mlp:2-8-1", "npy:xy", "--task", "regression", "--epochs", "10", "--lr", "0.02", "--run", "run", "--quiet")
        result = json.loads(self.shoal("eval", "run", "--errors", "worst.csv", "--json", "-").out)
        with open(self.path("worst.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        pairs = [(float(row[2]), float(row[3])) for row in rows[1:]]
        metrics, count = result["metrics"], len(pairs)
        self.assertEqual((metrics["task"], metrics["samples"], result["samples"]), ("regression", count, count))
        mean = sum(target for target, _ in pairs) / count
        squares = sum((answer - target) ** 2 for target, answer in pairs)
        self.assertTrue(all(400 <= target <= 600 for target, _ in pairs))
        self.assertAlmostEqual(metrics["mae"], sum(abs(answer - target) for target, answer in pairs) / count, places=3)
        self.assertAlmostEqual(metrics["rmse"], (squares / count) ** 0.5, places=3)
        self.assertAlmostEqual(metrics["r2"], 1 - squares / sum((target - mean) ** 2 for target, _ in pairs), places=5)
        self.assertAlmostEqual(metrics["mae"], result["mae"], places=3)
        self.assertIsNone(result["accuracy"])
        self.assertGreater(metrics["r2"], 0.5)
        out = self.shoal("eval", "run").out
        self.assertRegex(out, r"(?m)^MAE         ")
        self.assertNotIn("accuracy", out)


class Eval(harness.Case):
    def setUp(self):
        super().setUp()
        self.trained = self.train(*MLP, "--run", "run", "--quiet").summary

    def read(self, *names):
        with open(self.path(*names), encoding="utf-8", newline="") as file:
            return file.read()

    def measure(self, *arguments):
        return json.loads(self.shoal("eval", *arguments, "--json", "-").out)

    def test_a_run_is_enough(self):
        os.remove(self.path("run", "checkpoints", "best.safetensors"))
        for run in ("run", "run/checkpoints", "run/checkpoints/last.safetensors"):
            result = self.measure(run)
            self.assertEqual((result["model"], result["data"], result["samples"]), (*MLP[:2], 90))
            self.assertEqual(result["weights"], "run/checkpoints/last.safetensors")
            self.assertEqual(result["weights_hash"], self.trained["weights_hash"])
            self.assertEqual(result["accuracy"], self.trained["val_accuracy"])
            self.assertEqual(result["loss"], self.trained["val_loss"])
        self.assertEqual(self.measure("run", "digits:640/50")["samples"], 50)

    def test_the_best_checkpoint_goes_first(self):
        checkpoints = self.path("run", "checkpoints")
        os.remove(os.path.join(checkpoints, "best.safetensors"))
        shutil.copy(os.path.join(checkpoints, "previous.safetensors"), os.path.join(checkpoints, "best.safetensors"))
        best = self.measure("run")
        self.assertEqual(best["weights"], "run/checkpoints/best.safetensors")
        self.assertNotEqual(best["weights_hash"], self.trained["weights_hash"])
        self.assertEqual(self.measure(*MLP[:2], "--weights", "run")["weights_hash"], self.trained["weights_hash"])

    def test_figures_are_those_of_the_matrix(self):
        metrics = self.measure("run")["metrics"]
        matrix, classes = metrics["confusion"], metrics["classes"]
        right = sum(matrix[k][k] for k in range(10))
        self.assertEqual(sum(map(sum, matrix)), 90)
        self.assertAlmostEqual(metrics["accuracy"], right / 90)
        recalls = []
        for k, one in enumerate(classes):
            answers = sum(row[k] for row in matrix)
            self.assertEqual((one["name"], one["samples"], one["answers"]), (str(k), sum(matrix[k]), answers))
            recalls.append(matrix[k][k] / sum(matrix[k]))
            self.assertAlmostEqual(one["f1"], 2 * matrix[k][k] / (sum(matrix[k]) + answers))
        self.assertAlmostEqual(metrics["balanced_accuracy"], sum(recalls) / 10)

    def test_lanes_do_not_show(self):
        first = self.measure("run", "--lanes", "1")["metrics"]
        self.assertEqual(self.measure("run", "--lanes", "3")["metrics"], first)

    def test_tables(self):
        out = self.shoal("eval", "run", "--confusion").out
        for pattern in (r"(?m)^accuracy    \d+\.\d\d %$", r"(?m)^balanced    ", r"(?m)^top 5       ", r"(?m)^class  samples  answers  precision ",
                        r"(?m)^samples of each class \(rows\) by the model's answer \(columns\)$", r"(?m)^9  9 ( +\d+){10}$"):
            self.assertRegex(out, pattern)
        self.assertNotIn("class  samples", self.shoal("eval", "run").out)
        self.assertEqual(self.shoal("eval", "run", "--confusion", "--quiet").out, "")

    def test_the_worst_samples(self):
        result = self.measure("run", "--errors", "worst.csv")
        with open(self.path("worst.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]), ["index", "split", "target", "answer", "probability", "loss"])
        self.assertEqual(len(rows), 90)
        losses = [float(row["loss"]) for row in rows]
        self.assertEqual(losses, sorted(losses, reverse=True))
        self.assertAlmostEqual(sum(losses) / 90, result["loss"], places=5)
        self.assertEqual(len({row["index"] for row in rows}), 90)
        self.assertAlmostEqual(sum(row["target"] == row["answer"] for row in rows) / 90, result["accuracy"])
        self.assertTrue(self.shoal("eval", "run", "--errors", "-").out.startswith("index,split,target,"))
        few = self.shoal("eval", "run", "--errors", "-", "--most", "7").out.splitlines()[1:]
        self.assertEqual([int(line.split(",")[0]) for line in few], [int(row["index"]) for row in rows[:7]])
        result = self.shoal("eval", "run", "--errors", "nowhere/w.csv", status=1)
        self.assertEqual(result.err, "shoal: --errors nowhere/w.csv: No such file or directory; choose another file for "
                                     "--errors\n")

    def test_reports_show_figures_that_a_run_has(self):
        os.remove(self.path("run", "metrics.json"))
        before = self.shoal("report", "run").out
        self.assertRegex(before, r"The lowest validation loss, \d\.\d+, was after epoch \d")
        self.assertNotIn("Validation samples of each class", before)
        with open(self.path("run", "metrics.json"), "w", encoding="utf-8") as file:
            json.dump(self.measure("run")["metrics"], file)
        after = self.shoal("report", "run").out
        self.assertIn("Validation samples of each class", after)
        self.assertIn("Samples of each class (rows) by the model's answer (columns)", after)
        report = json.loads(self.shoal("report", "run", "--format", "json").out)
        self.assertEqual(len(report["runs"][0]["metrics"]["confusion"]), 10)
        with open(self.path("run", "metrics.json"), "w", encoding="utf-8") as file:
            file.write("{")
        self.assertIn("metrics.json: is not JSON", self.shoal("report", "run", status=1).err)

    def test_a_training_ends_with_its_figures(self):
        """On 1 to 3 devices, where the best epoch is not the last one, and after a stop."""
        self.assertEqual(self.read("run", "metrics.json"), json.dumps(self.measure("run")["metrics"], separators=(",", ":")))
        wild = ("mlp:784-16-10", "digits:110/40", "--batch-size", "50", "--grain", "7", "--lr", "0.3", "--seed", "4", "--epochs", "5")
        found = []
        for devices in ("1", "2", "3"):
            run = "wild-" + devices
            summary = self.train(*wild, "--run", run, "--devices", devices, "--quiet").summary
            self.assertLess(summary["best"]["epoch"], 5)  # else it shows nothing
            metrics = json.loads(self.read(run, "metrics.json"))
            self.assertEqual(metrics, self.measure(run, "--errors", "worst.csv")["metrics"])
            self.assertEqual(summary["metrics"], {key: metrics[key] for key in summary["metrics"]})
            self.assertEqual(summary["metrics"]["accuracy"], metrics["accuracy"])
            self.assertEqual(self.read(run, "worst.csv"), self.read("worst.csv"))  # 40 samples: all
            found.append((metrics, self.read(run, "worst.csv")))
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])
        self.assertIn("Validation samples of each class", self.shoal("report", "wild-2").out)

    def test_figures_after_a_stop(self):
        training = harness.Training(self, *MLP[:2], "--epochs", "100000")
        summary = training.stop()  # an epoch is done
        self.assertEqual(summary["status"], "stopped")
        self.assertEqual(json.loads(self.read(training.run, "metrics.json")), self.measure(training.run)["metrics"])
        self.assertIsNotNone(summary["metrics"]["accuracy"])

    def test_figures_that_cannot_be_written_are_a_note(self):
        os.remove(self.path("run", "metrics.json"))
        os.makedirs(self.path("run", "metrics.json", "inside"))
        end = self.train("--resume", "run", "--epochs", "3")
        self.assertEqual(end.summary["status"], "complete")
        self.assertIsNone(end.summary["metrics"])
        self.assertRegex(end.err, r"the best weights are not measured: .*metrics\.json.*; use shoal eval run")

    def test_what_is_no_run(self):
        os.mkdir(self.path("empty"))
        self.assertIn("holds no checkpoint", self.shoal("eval", "empty", status=1).err)
        with open(self.path("text"), "w", encoding="utf-8") as file:
            file.write("text")
        self.assertIn("text", self.shoal("eval", "text", status=1).err)
        result = self.shoal("eval", "run", "mnist:" + self.path("nowhere"), status=1)
        self.assertIn("nowhere", result.err)


if __name__ == "__main__":
    harness.main()
