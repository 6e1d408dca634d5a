#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: its threads are those of chaos_test.py.
"""What a training keeps: the best epoch, on any devices, after a kill, and in a resumed run."""

import json
import os
import re
import shutil
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
                self.assertRegex(end.out, r"(?m)^measure it  shoal eval %s$" % run)
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


class Patience(Keep):
    """An end that all devices decide on by themselves."""

    def expected(self, patience, monitor="val_loss", min_delta=0.0):
        """When it is to end, by the metrics of a training without patience; they are rounded."""
        least, stale = None, 0
        for line in self.epochs("endless"):
            value = line[monitor] if monitor == "val_loss" else -line[monitor]
            stale = 0 if least is None or value < least - min_delta else stale + 1
            least = value if stale == 0 else least
            if stale == patience:
                return line["epoch"]
        self.fail("patience lasts for too long for this test")

    def test_the_same_epoch_on_any_devices_and_after_kills(self):
        self.train(*WILD, "--epochs", "14", "--run", "endless", "--quiet")
        for options in ({"patience": 3}, {"patience": 2, "monitor": "val_accuracy"}, {"patience": 4, "min_delta": 0.5}):
            job = list(WILD) + ["--epochs", "14"]
            for name, value in options.items():
                job += ["--" + name.replace("_", "-"), str(value)]
            epoch = self.expected(**options)
            self.assertLess(epoch, 14)
            ends = []
            for devices in ("1", "3"):
                run = "%s-%s" % (len(job), devices) + "".join(options)
                end = self.train(*job, "--devices", devices, "--run", run)
                self.assertEqual((end.summary["epochs"], end.summary["status"]), (epoch, "complete"))
                self.assertTrue(end.summary["stopped_early"])
                by = r" by more than 0\.5" if "min_delta" in options else ""
                self.assertRegex(end.err, r"(?m)^stopped early: %s did not improve%s for %d epochs$" % (
                    options.get("monitor", "val_loss"), by, options["patience"]))
                ends.append(end.summary)
            self.assertEqual(ends[0]["weights_hash"], ends[1]["weights_hash"])
            self.assertEqual({**ends[0]["best"], "file": None}, {**ends[1]["best"], "file": None})

            # Nothing is left to do.
            again = self.train("--resume", run, "--quiet").summary
            self.assertEqual((again["samples"], again["weights_hash"]), (0, ends[0]["weights_hash"]))
            self.assertTrue(again["stopped_early"])

    def test_killed_and_joined(self):
        # Of no use for long: the epoch at which it ends is far enough to be disturbed before.
        job = (*WILD, "--epochs", "1000000", "--patience", "60", "--monitor", "val_accuracy")
        alone = self.train(*job, "--run", "alone", "--quiet", "--devices", "2").summary
        self.assertTrue(alone["stopped_early"])
        training = harness.Training(self, *job)
        first = training.join("first", "--never-lead")
        training.wait_for_joined("first")
        training.advance(3)
        training.process.kill()
        training.resume()
        second = training.join("second")
        training.wait_for_joined("second")
        first.kill()
        third = training.join("third")
        training.wait_for_joined("third")
        self.assertEqual(training.process.wait(120).status, 0)
        for each in (second, third):
            self.assertEqual(each.wait(20).status, 0)
        end = training.summary()
        for key in ("steps", "epochs", "weights_hash", "stopped_early", "val_loss"):
            self.assertEqual(end[key], alone[key])
        self.assertEqual({**end["best"], "file": None}, {**alone["best"], "file": None})

    def test_more_patience_goes_on(self):
        early = self.train(*WILD, "--epochs", "14", "--patience", "2", "--run", "run", "--quiet").summary
        self.assertTrue(early["stopped_early"])
        whole = self.train(*WILD, "--epochs", "14", "--run", "whole", "--quiet").summary
        end = self.train("--resume", "run", "--patience", "100", "--quiet").summary
        self.assertFalse(end["stopped_early"])
        self.assertEqual((end["epochs"], end["weights_hash"]), (14, whole["weights_hash"]))
        self.assert_best(end, self.epochs())


class Newest(Keep):
    def test_of_epochs_by_number(self):
        for resume, epochs, keep, expected in ((WILD, "4", "2", (3, 4)), (None, "5", "0", (3, 4)), (None, "9", "3", (7, 8, 9))):
            self.train(*(resume or ("--resume", "run")), *(("--run", "run") if resume else ()), "--epochs", epochs, "--keep", keep,
                       "--quiet")
            names = sorted(os.listdir(self.path("run", "checkpoints")))
            self.assertEqual(names, ["best.safetensors", *("epoch-%d.safetensors" % epoch for epoch in expected),
                                     "last.safetensors", "previous.safetensors"])
        for line in self.epochs()[6:]:  # each has the weights of its epoch
            path = "run/checkpoints/epoch-%d.safetensors" % line["epoch"]
            measured = json.loads(self.shoal("eval", *WILD[:2], "--weights", path, "--json", "-").out)
            self.assertAlmostEqual(measured["loss"], line["val_loss"], places=5)


class Changes(Keep):
    """A job that is resumed with another learning rate and the like."""

    def job(self, run):
        with open(self.path(run, "job.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_on_any_devices_and_recorded(self):
        changed = ("--lr", "0.125", "--weight-decay", "0.25", "--schedule", "step:3", "--warmup", "2.5", "--clip-norm", "0.5")
        same = self.train(*WILD, "--epochs", "4", "--run", "same", "--quiet").summary
        hashes = set()
        for devices in ("1", "3"):
            self.train(*WILD, "--epochs", "2", "--run", devices, "--quiet")
            end = self.train("--resume", devices, "--epochs", "4", *changed, "--devices", devices)
            self.assertRegex(end.err, r"(?m)^from step 7 on: .*lr 0\.3 becomes 0\.125")
            hashes.add(end.summary["weights_hash"])
            job = self.job(devices)
            self.assertEqual((job["lr"], job["schedule"]), (0.125, "step:3"))
            (change,) = job["changes"]
            self.assertEqual(sorted(change), "clip_norm epochs lr schedule step warmup weight_decay".split())
            self.assertEqual((change["step"], change["epochs"], change["clip_norm"]), (6, [2, 4], [0.0, 0.5]))
            # What is not given anew stays, and the record grows.
            self.train("--resume", devices, "--epochs", "5", "--quiet")
            job = self.job(devices)
            self.assertEqual(job["lr"], 0.125)
            self.assertEqual(job["changes"], [change, {"step": 12, "epochs": [4, 5]}])
        self.assertEqual(len(hashes), 1)
        self.assertNotIn(same["weights_hash"], hashes)
        self.assertNotIn("changes", self.job("same"))

    def test_a_joiner_has_the_changed_job(self):
        self.train(*WILD, "--epochs", "1", "--run", "run", "--quiet")
        shutil.copytree(self.path("run"), self.path("alone"))
        alone = self.train("--resume", "alone", "--lr", "0.125", "--steps", "300", "--quiet").summary
        process = self.start("train", "--resume", "run", "--lr", "0.125", "--steps", "300", "--listen", "127.0.0.1:0",
                             "--min-devices", "2", "--json", "end.json", "--quiet")
        joined = self.start("join", harness.Token(process.wait_for_token()).text, "--quiet")
        self.assertEqual(process.wait(60).status, 0)
        self.assertEqual(joined.wait(20).status, 0)
        end = self.summary(self.path("end.json"))
        self.assertEqual((len(end["devices"]), end["weights_hash"]), (2, alone["weights_hash"]))


class Every(Keep):
    """Checkpoints within an epoch."""

    def written(self, run):
        """The steps of the checkpoints, in order."""
        lines = [re.search(r"checkpoint\.written step=(\d+)", line) for line in harness.Events(self.path(run)).lines()]
        return [int(line.group(1)) for line in lines if line]

    def test_after_steps(self):
        for every, expected in (("2steps", [2, 3, 5, 6, 7]), ("1steps", [1, 2, 3, 4, 5, 6, 7]), ("0", [3, 6, 7]),
                                ("3steps", [3, 6, 7]), ("100s", [3, 6, 7])):
            run = "run-" + every
            end = self.train(*WILD, "--steps", "7", "--checkpoint-every", every, "--run", run, "--quiet").summary
            self.assertEqual(self.written(run), expected, every)
            self.assert_best(end, self.epochs(run), run=run)

    def test_after_seconds(self):
        # An epoch takes several seconds: its million weights are updated after each sample.
        job = ("mlp:784-1024-10", "digits:50000/40", "--batch-size", "1", "--grain", "1", "--epochs", "1000")
        process = self.start("train", *job, "--run", "run", "--checkpoint-every", "1s")
        process.wait_for("^training on ", stream="err")
        harness.Events(self.path("run"), new=False).wait_for("checkpoint.written step=")
        process.signal(signal.SIGINT)
        self.assertEqual(process.wait(30).status, 130)
        self.assertGreater(self.written("run")[0] % 50000, 0)

    def test_a_killed_training_loses_little(self):
        job = (*WILD[:1], "digits:5000/40", *WILD[2:], "--epochs", "2")  # 100 steps an epoch
        whole = self.train(*job, "--run", "whole", "--quiet").summary
        process = self.start("train", *job, "--run", "run", "--checkpoint-every", "5steps", "--devices", "2")
        process.wait_for("^training on ", stream="err")
        harness.Events(self.path("run"), new=False).wait_for("checkpoint.written step=")
        process.kill()
        end = self.train("--resume", "run", "--quiet").summary
        self.assertLess(end["samples"], whole["samples"])
        self.assertEqual(end["samples"] % 250, 0)  # it went on after 5 steps, or after 10, ...
        self.assertEqual(end["weights_hash"], whole["weights_hash"])

    def test_what_cannot_be(self):
        result = self.shoal("train", *WILD, "--checkpoint-every", "1h", status=2)
        self.assertIn("--checkpoint-every 1h: must be seconds, such as 60s, or steps", result.err)


if __name__ == "__main__":
    harness.main()
