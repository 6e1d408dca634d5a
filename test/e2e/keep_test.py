#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a training keeps: the best epoch, on any devices, after a kill, and in a resumed run."""

import json
import os
import signal

import harness

# A learning rate that is too high: losses rise and fall. 3 steps an epoch.
WILD = ("mlp:784-16-10", "digits:110/40", "--batch-size", "50", "--grain", "7", "--lr", "0.3", "--seed", "4")


class Keep(harness.Case):
    def epochs(self, run="run"):
        """The lines of the run's metrics."""
        with open(self.path(run, "metrics.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def best_of(self, epochs, monitor="val_loss"):
        """The first of the best epochs."""
        key = (lambda line: line[monitor]) if monitor == "val_loss" else (lambda line: -line[monitor])
        return min(epochs, key=key)

    def assert_best(self, summary, epochs, monitor="val_loss", run="run"):
        """The summary says what the metrics say, and the file has those weights."""
        best = self.best_of(epochs, monitor)
        found = summary["best"]
        self.assertEqual((found["epoch"], found["step"], found["monitor"]), (best["epoch"], best["step"], monitor))
        self.assertAlmostEqual(found["value"], best[monitor], places=6)
        self.assertEqual(found["file"], os.path.join(run, "checkpoints", "best.safetensors"))
        with open(self.path(run, "summary.json"), encoding="utf-8") as file:
            written = json.load(file)["best"]
        self.assertEqual({**written, "value": found["value"]}, found)
        self.assertAlmostEqual(written["value"], found["value"], places=9)
        measured = json.loads(self.shoal("eval", *WILD[:2], "--weights", found["file"], "--json", "-").out)
        self.assertAlmostEqual(measured["loss"], best["val_loss"], places=5)
        self.assertEqual(measured["accuracy"], best["val_accuracy"])


class Best(Keep):
    def test_by_loss_or_accuracy_on_any_devices(self):
        for monitor in ("val_loss", "val_accuracy"):
            found = []
            for devices in ("1", "3"):
                run = "%s-%s" % (monitor, devices)
                end = self.train(*WILD, "--epochs", "5", "--monitor", monitor, "--run", run, "--devices", devices)
                self.assert_best(end.summary, self.epochs(run), monitor, run)
                self.assertRegex(end.out, r"(?m)^best +epoch %d, %s " % (end.summary["best"]["epoch"], monitor))
                self.assertRegex(end.out, r"(?m)^measure it  shoal eval .* --weights %s/checkpoints/best.safetensors$" % run)
                found.append({**end.summary["best"], "file": None})
            self.assertEqual(found[0], found[1])
            self.assertLess(found[0]["epoch"], 5)  # else it shows nothing

    def test_after_stops_and_in_another_run(self):
        for epochs in ("2", "3", "5"):
            resume = ("--resume", "run") if epochs != "2" else (*WILD, "--run", "run")
            end = self.train(*resume, "--epochs", epochs, "--quiet").summary
            self.assert_best(end, self.epochs())
        # From its checkpoint: the best epoch is known, but its file is in the other run.
        other = self.train("--resume", "run/checkpoints/last.safetensors", "--epochs", "5", "--run", "b", "--quiet").summary
        self.assertEqual({**other["best"], "file": end["best"]["file"]}, end["best"])
        self.assertIsNone(other["best"]["file"])

    def test_killed_before_it_was_kept(self):
        self.train(*WILD, "--epochs", "1", "--run", "run", "--quiet")
        best = self.path("run", "checkpoints", "best.safetensors")
        for epochs in ("1", "2"):  # nothing is left to do, or something
            os.unlink(best)
            end = self.train("--resume", "run", "--epochs", epochs, "--quiet").summary
            self.assert_best(end, self.epochs())

    def test_with_devices_that_come_and_go(self):
        training = harness.Training(self, *WILD, "--steps", "1000000")
        joined = training.join("joined")
        training.wait_for_joined("joined")
        training.advance(2)
        joined.kill()
        training.advance(2)
        training.process.kill()
        training.resume("--steps", "1000000")
        training.advance(2)
        end = training.stop()
        best = self.best_of(self.epochs(os.path.basename(training.run)))
        self.assertEqual((end["best"]["epoch"], end["best"]["step"]), (best["epoch"], best["step"]))

    def test_a_figure_that_there_is_not(self):
        result = self.shoal("train", *WILD, "--monitor", "val_mae", "--quiet", status=1)
        self.assertEqual(result.err, "shoal: --monitor val_mae: a training on these data has val_loss and val_accuracy\n")
        result = self.shoal("train", *WILD, "--monitor", "loss", "--quiet", status=2)
        self.assertIn("--monitor loss: must be val_loss, val_accuracy or val_mae", result.err)


if __name__ == "__main__":
    harness.main()
