#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the user of a device that joins sees: progress, the result, its weights, and why it does not work."""

import contextlib
import json
import os
import signal
import sqlite3

import harness

JOB = ("mlp:784-16-10", "digits:300/100", "--batch-size", "60", "--grain", "10", "--lanes", "1", "--steps", "20")


def tensors(path):
    """The tensors of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    end = 8 + int.from_bytes(data[:8], "little")
    head = json.loads(data[8:end])
    head.pop("__metadata__", None)
    return {name: (about["dtype"], about["shape"], data[slice(*(end + at for at in about["data_offsets"]))])
            for name, about in head.items()}


class Result(harness.Case):
    def test_progress_result_and_weights_are_the_coordinators(self):
        train = self.start("train", *JOB, "--listen", "127.0.0.1:0", "--min-devices", "2", "--run", "run", "--json",
                           "run.json")
        token = train.wait_for_token()
        joined = self.start("join", token, "--name", "guest", "--lanes", "1", "--events", "events.jsonl", "--save",
                            "guest.safetensors")
        self.assertEqual(train.wait().status, 0, str(train.so_far()))
        result = joined.wait()
        self.assertEqual(result.status, 0, str(result))
        summary = self.summary(self.path("run.json"))

        with open(self.path("events.jsonl")) as file:
            events = [json.loads(line) for line in file]
        last = [event for event in events if event["event"] == "step"][-1]
        self.assertEqual((last["epoch"], last["epochs"], last["step"], last["devices"]), (4, 4, 5, 2))
        self.assertAlmostEqual(last["loss"], summary["train_loss"], 9)
        self.assertGreater(last["samples_per_second"], 0)
        epochs = [event for event in events if event["event"] == "epoch"]
        self.assertEqual([event["epoch"] for event in epochs], [1, 2, 3, 4])
        self.assertAlmostEqual(epochs[-1]["val_accuracy"], summary["val_accuracy"], 9)

        self.assertIn("joined; this device takes part once all devices are there and have the weights\n", result.err)
        self.assertIn("the job has ended: complete at step 20\n", result.err)
        self.assertIn("accuracy %.2f %%\n" % (100 * summary["val_accuracy"]), result.err)
        self.assertIn("weights     %s\n" % summary["weights_hash"], result.err)
        self.assertIn("saved       guest.safetensors\n", result.err)
        self.shoal("export", "run", "--last", "-o", "last.safetensors", "--quiet")
        self.assertEqual(tensors(self.path("guest.safetensors")), tensors(self.path("last.safetensors")))

    def test_who_leaves_has_no_last_weights(self):
        training = harness.Training(self, *JOB[:-2], "--epochs", "1000000")
        guest = training.join("guest", "--save", "guest.onnx")
        training.wait_for_joined("guest")
        guest.signal(signal.SIGINT)
        self.assertEqual(guest.wait(20).status, 130)
        self.assertFalse(os.path.exists(self.path("guest.onnx")))
        guest = training.join("guest", "--save", "guest.onnx")
        training.wait_for_joined("guest")
        self.assertIn("running", self.shoal("report", training.run).out)  # it holds the folder's lock
        training.stop()
        self.assertEqual(guest.wait(20).status, 0)
        self.assertTrue(os.path.exists(self.path("guest.onnx")))


class Addresses(harness.Case):
    """A token with several addresses: those at which nobody answers cost nothing."""

    def test_the_one_that_answers_is_found(self):
        train = self.start("train", *JOB, "--listen", "127.0.0.1:0", "--min-devices", "2", "--run", "run")
        token = harness.Token(train.wait_for_token())
        with harness.silent_port() as silent:
            several = token.but(addresses="127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:1" % (silent, token.port))
            listed = self.shoal("devices", several.text)
            self.assertEqual(listed.status, 0, str(listed))
            joined = self.start("join", several.text, "--name", "guest", "--lanes", "1")
            self.assertEqual(train.wait().status, 0, str(train.so_far()))
            result = joined.wait()
        self.assertEqual(result.status, 0, str(result))
        self.assertIn("the job has ended: complete at step 20\n", result.err)

    def test_nobody_answers(self):
        token = harness.Token("shoal://127.0.0.1:1/" + 48 * "A").but(addresses="127.0.0.1:1,127.0.0.1:2")
        joined = self.start("join", token.text, "--wait", "60")
        joined.wait_for("waiting for a coordinator at 127.0.0.1, port 1; 127.0.0.1, port 2; stop with Ctrl-C",
                        stream="err")
        joined.signal(signal.SIGINT)
        self.assertEqual(joined.wait(20).status, 130)


class Wait(harness.Case):
    def test_a_device_may_come_before_the_coordinator(self):
        first = self.start("train", *JOB, "--listen", "127.0.0.1:0", "--min-devices", "2", "--run", "run")
        token = harness.Token(first.wait_for_token())
        first.signal(signal.SIGINT)
        first.wait(20)
        joined = self.start("join", token.text, "--name", "guest", "--wait", "60")
        joined.wait_for("waiting for a coordinator at 127.0.0.1, port %d; stop with Ctrl-C" % token.port, stream="err")
        train = self.start("train", "--resume", "run", "--listen", "127.0.0.1:%d" % token.port, "--min-devices", "2")
        self.assertEqual(train.wait().status, 0, str(train.so_far()))
        result = joined.wait()
        self.assertEqual(result.status, 0, str(result))
        self.assertIn("the job has ended: complete at step 20\n", result.err)
        with contextlib.closing(sqlite3.connect(self.path("run", "run.db"))) as database:
            lanes, = database.execute("SELECT lanes FROM devices WHERE name = 'guest'").fetchone()
        self.assertGreaterEqual(lanes, 1)  # it was not told how many

        joined = self.start("join", token.text, "--wait")
        joined.wait_for("waiting for", stream="err")
        joined.signal(signal.SIGINT)
        self.assertEqual(joined.wait(20).status, 130)


if __name__ == "__main__":
    harness.main()
