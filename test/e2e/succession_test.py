#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The coordinator is lost, for a while or for good: another device goes on in its place, and the weights are those of
one device alone."""

import glob
import json
import os
import re
import shutil
import signal
import time

import harness
import threads

JOB = ("mlp:784-16-10", "digits:310/90", "--batch-size", "50", "--grain", "7")
STEPS_AN_EPOCH = 7
GOES_ON = r"the coordinator (?:is lost|hands over): this device replaces it from step (\d+)"


class Succession(harness.Case):
    def begin(self, steps, *names, options=(), strategy=("sync",)):
        """A job that others have joined, each with a folder for its run."""
        self.steps, self.strategy = steps, strategy
        training = harness.Training(self, *JOB, "--epochs", "1000000", "--steps", str(steps), "--lanes", "1",
                                    "--strategy", *strategy)
        self.joined = {}
        for name in names:
            self.add(training, name, *options)
            training.wait_for_joined(name)  # so they have their seats in this order
        if not options:
            training.events.find(r"INFO coordinator\.heirs count=%d" % len(names))
            training.advance(1)  # meanwhile they are told
        return training

    def add(self, training, name, *options):
        self.joined[name] = training.join(name, "--run", self.path(name), *options, quiet=False)

    def weights_alone(self):
        return self.train(*JOB, "--epochs", "1000000", "--steps", str(self.steps), "--strategy", *self.strategy,
                          "--quiet").summary["weights_hash"]

    def finish(self, *names):
        """Waits for the end of those that are left; all have the weights of one device alone."""
        alone = self.weights_alone()
        for name in names:
            result = self.joined[name].wait(120)
            self.assertEqual(result.status, 0, str(result))
            self.assertIn("weights     " + alone, result.err)

    def end(self, name, *others):
        """Ctrl-C on the device that leads ends the job for all; all have the weights of one device alone."""
        self.joined[name].signal(signal.SIGINT)
        result = self.joined[name].wait(30)
        self.assertEqual(result.status, 130, str(result))
        self.steps = self.summary_of(name)["steps"]
        self.finish(*others)
        self.assertEqual(self.summary_of(name)["weights_hash"], self.weights_alone())

    def forget(self, *names):
        """Their runs' folders may be others'."""
        for name in names:
            shutil.rmtree(self.path(name), ignore_errors=True)

    def summary_of(self, name):
        with open(self.path(name, "summary.json"), encoding="utf-8") as file:
            return json.load(file)

    def leads(self, name, timeout=20):
        """Waits until this device leads; the step from which on."""
        return int(self.joined[name].wait_for(GOES_ON, timeout, stream="err").group(1))

    def one_that_leads(self, names):
        """Waits until one of them does: the first seat among those left, as they came to the coordinator."""
        deadline = time.monotonic() + 20 * harness.PATIENCE
        while True:
            for name in names:
                if re.search(GOES_ON, "".join(self.joined[name].lines["err"])):
                    return name
            self.assertLess(time.monotonic(), deadline, "nobody goes on")
            time.sleep(0.01)

    def successor_of(self, *names):
        """The device of these that leads now, and another. The first one leads; a sanitized one may be silent for the
        second that the others wait for it."""
        leader = self.one_that_leads(names)
        if not harness.SANITIZED:
            self.assertEqual(leader, names[0])
        return leader, next(name for name in names if name != leader)

    def has_heirs(self, name, count):
        """Waits until `count` devices take part beside the one that leads, and know that they could replace it."""
        try:
            events = harness.Events(self.path(name))
            events.find(r"INFO coordinator\.heirs count=%d" % count)
            events.find(r"INFO device\.view .*view \d+: [%d-9] devices" % (count + 1))
        except AssertionError as missing:
            others = "\n".join(str(joined.so_far()) for joined in self.joined.values())
            raise AssertionError("%s\n%s" % (missing, others)) from None
        self.advance(name, 1)  # meanwhile they are told

    def advance(self, name, epochs=2):
        """Waits until the run of the device that leads has so many epochs more."""
        path = self.path(name, "metrics.jsonl")

        def count():
            try:
                with open(path, "rb") as file:
                    return file.read().count(b"\n")
            except FileNotFoundError:
                return 0

        goal, deadline = count() + epochs, time.monotonic() + 30 * harness.PATIENCE
        while count() < goal:
            self.assertLess(time.monotonic(), deadline, str(self.joined[name].so_far()))
            time.sleep(0.01)


class Killed(Succession):
    @harness.not_for_sanitizers("a silent device is not waited for, so another may lead; the rest is in the other tests")
    def test_the_first_one_left_goes_on(self):
        training = self.begin(1500, "one", "two", "three")
        training.advance(2)
        training.process.signal(signal.SIGKILL)
        since = time.monotonic()
        first = self.leads("one")
        self.advance("one", 1)
        self.assertLess(time.monotonic() - since, 1.5 * harness.PATIENCE)
        self.finish("one", "two", "three")
        summary = self.summary_of("one")
        self.assertEqual(summary["ending"], "complete")
        self.assertEqual(summary["steps"], self.steps)
        self.assertEqual(summary["devices"], 3)
        self.assertGreater(first, 0)
        # Each sample after the loss once, by whomever: none that this run counts was lost or done twice.
        self.assertEqual(summary["samples"], samples_of(first, self.steps))
        self.assertTrue(os.path.exists(self.path("one", "model.onnx")))
        self.assertFalse(os.path.exists(self.path("two")))
        self.assertFalse(os.path.exists(self.path("one", "token")))  # nobody comes back to a job that is complete

    def test_the_lost_one_is_started_again(self):
        """It finds that another device has gone on with its job, and joins that."""
        training = self.begin(1000000, "one", "two")
        training.process.signal(signal.SIGKILL)
        training.process.wait()
        leader, other = self.successor_of("one", "two")
        again = self.start("train", "--resume", training.run, "--listen", "127.0.0.1:0", "--json", "again.json")
        again.wait_for("^another device has continued this job: this one joins it", stream="err")
        self.has_heirs(leader, 2)
        again.wait_for("^training on [23] devices", stream="err")
        self.end(leader, other)
        result = again.wait(20)
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(self.summary(self.path("again.json"))["weights_hash"], self.weights_alone())

    def test_the_lost_one_finds_silent_devices_later(self):
        """Nobody answers when it is started again, so it continues alone until they do."""
        training = self.begin(1000000, "one", "two")
        training.process.signal(signal.SIGKILL)
        training.process.wait()
        leader, other = self.successor_of("one", "two")
        self.has_heirs(leader, 1)
        self.advance(leader)
        for name in ("one", "two"):
            self.joined[name].signal(signal.SIGSTOP)
        again = self.start("train", "--resume", training.run, "--listen", "127.0.0.1:0", "--json", "again.json")
        again.wait_for("^epoch", stream="err")
        for name in ("one", "two"):
            self.joined[name].signal(signal.SIGCONT)
        self.has_heirs(leader, 2)
        again.wait_for("^training on [23] devices", stream="err")
        self.end(leader, other)
        result = again.wait(20)
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(self.summary(self.path("again.json"))["weights_hash"], self.weights_alone())

    @harness.not_for_sanitizers("the threads are those of the other tests")
    def test_each_strategy(self):
        for strategy in (("ps-sync",), ("local:3", "--workers", "2")):
            with self.subTest(strategy[0]):
                training = self.begin(600, "one", "two", strategy=strategy)
                training.process.signal(signal.SIGKILL)
                self.leads("one")
                self.finish("one", "two")
                self.forget("one", "two")

    def test_most_devices_go_on_where_weights_depend_on_them(self):
        training = self.begin(2000, "one", "two", strategy=("ps-async",))
        self.joined["two"].wait_for("^training on 3 devices", stream="err")  # each knows of three
        training.process.signal(signal.SIGKILL)
        leader, _ = self.successor_of("one", "two")
        first = self.leads(leader)
        self.has_heirs(leader, 1)
        for name in ("one", "two"):
            result = self.joined[name].wait(60)
            self.assertEqual(result.status, 0, str(result))
        self.assertEqual(self.summary_of(leader)["samples"], samples_of(first, self.steps))
        self.assertEqual(self.summary_of(leader)["devices"], 2)

    @harness.not_for_sanitizers("the threads are those of the other tests")
    def test_few_devices_wait_where_weights_depend_on_them(self):
        training = self.begin(1000000, "one", strategy=("ps-async",))
        self.joined["one"].wait_for("^training on 2 devices", stream="err")
        training.process.signal(signal.SIGKILL)
        self.joined["one"].wait_for("trying to rejoin for 60 s", stream="err")
        time.sleep(1.5)  # as long as a silent heir would be waited for
        self.assertNotIn("replaces it", self.joined["one"].so_far().err)

    def test_one_after_the_other(self):
        training = self.begin(1500, "one", "two", "three")
        training.process.signal(signal.SIGKILL)
        left = ["one", "two", "three"]
        while len(left) > 1:
            name = self.one_that_leads(left)
            self.advance(name)
            self.has_heirs(name, len(left) - 1)
            self.joined[name].signal(signal.SIGKILL)
            left.remove(name)
        self.assertEqual(self.one_that_leads(left), left[0])
        self.finish(*left)

    def test_devices_join_the_successor(self):
        training = self.begin(1500, "one", "two")
        training.process.signal(signal.SIGKILL)
        self.leads("one")
        training.token = harness.Token(self.joined["one"].wait_for_token())
        self.has_heirs("one", 1)
        self.add(training, "late")
        self.has_heirs("one", 2)
        self.joined["one"].signal(signal.SIGKILL)
        self.assertEqual(self.one_that_leads(["two", "late"]), "two")
        self.finish("two", "late")

    @harness.not_for_sanitizers("the threads are those of the other tests")
    def test_the_run_of_a_successor_resumes(self):
        training = self.begin(1000000, "one", "two")
        training.process.signal(signal.SIGKILL)
        self.leads("one")
        self.advance("one")
        self.joined["one"].signal(signal.SIGINT)
        self.assertEqual(self.joined["one"].wait(20).status, 130, str(self.joined["one"].so_far()))
        self.assertEqual(self.joined["two"].wait(20).status, 0, str(self.joined["two"].so_far()))
        self.steps = self.summary_of("one")["steps"] + 20
        self.assertEqual(self.train("--resume", self.path("one"), "--steps", str(self.steps),
                                    "--quiet").summary["weights_hash"], self.weights_alone())


class Frozen(Succession):
    def test_it_comes_back_as_a_device(self):
        training = self.begin(1000000, "one", "two")
        training.process.signal(signal.SIGSTOP)
        leader, other = self.successor_of("one", "two")
        self.advance(leader)
        training.process.signal(signal.SIGCONT)
        training.events.find(r"INFO coordinator\.moved ")
        harness.Events(self.path(leader)).find(r'INFO device\.joined .*text="device %s joined' % os.uname().nodename)
        # Its door leads those on that have the old token.
        self.add(training, "late")
        self.joined["late"].wait_for("^training on 4 devices", stream="err")
        self.end(leader, other, "late")
        result = training.process.wait(20)
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(training.summary()["weights_hash"], self.weights_alone())
        self.assertEqual(training.summary()["steps"], self.steps)


class Hung(Succession):
    @harness.not_for_sanitizers("it mostly waits; when it resigns is in cluster.membership_watch")
    def test_it_resigns_and_comes_back_as_a_device(self):
        """Its connections carry on, so it hands over by itself."""
        while not self.resigns():
            self.forget("one", "two")

    def resigns(self):
        """False: the thread stopped with a lock that the loop needs, so the device was silent instead."""
        training = self.begin(1000000, "one", "two")
        held = threads.stopped(training.process.child.pid)
        self.addCleanup(held.release)
        since = time.monotonic()
        self.leads("one")
        self.advance("one", 1)
        self.assertLess(time.monotonic() - since, 10 * harness.PATIENCE)
        hands_over = "hands over" in self.joined["one"].so_far().err
        held.release()
        harness.Events(self.path("one")).find(r'INFO device\.joined .*text="device %s joined' % os.uname().nodename)
        self.end("one", "two")
        result = training.process.wait(20)
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(training.summary()["weights_hash"], self.weights_alone())
        if hands_over:
            training.events.find(r'WARN coordinator\.resigned to="one"')
        return hands_over


class HandedOver(Succession):
    def test_the_role_moves_on_purpose(self):
        training = self.begin(2000, "one", "two")
        training.advance(1)
        refused = self.shoal("hand-over", training.run, "--to", "three", status=1)
        self.assertIn("three cannot coordinate the job, or is missing; one, two could", refused.err)
        said = self.shoal("hand-over", training.run, "--to", "two")
        self.assertIn("two coordinates the job from now on", said.err)
        self.joined["two"].wait_for("the coordinator hands over: this device replaces it", stream="err")
        self.advance("two", 1)
        # And on, from the run of the one that leads now: the first that can.
        self.shoal("hand-over", self.path("two"))
        alone = self.weights_alone()
        for name in ("one", "two"):
            result = self.joined[name].wait(120)
            self.assertEqual(result.status, 0, str(result))
            self.assertIn("weights     " + alone, result.err)
        self.assertEqual(training.process.wait(60).status, 0)
        with open(training.json, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["weights_hash"], alone)

    def test_one_leads_twice(self):
        """Each time in a folder of its own."""
        training = self.begin(1500, "one", "two")
        training.process.signal(signal.SIGKILL)
        self.leads("one")
        self.has_heirs("one", 1)
        self.shoal("hand-over", self.path("one"))
        self.leads("two")
        self.has_heirs("two", 1)
        self.joined["two"].signal(signal.SIGKILL)
        self.finish("one")
        self.assertEqual(self.summary_of("one-2")["ending"], "complete")

    def test_what_cannot_be_is_said(self):
        training = self.begin(1000000, "one", options=("--never-lead",))
        refused = self.shoal("hand-over", training.run, status=1)
        self.assertIn("no other device can coordinate", refused.err)
        training.process.signal(signal.SIGINT)
        training.process.wait(30)
        ended = self.shoal("hand-over", training.run, status=1)
        self.assertIn("is not running (stopped): nothing to hand over", ended.err)


class Nobody(Succession):
    def test_who_never_leads_waits(self):
        training = self.begin(1000000, "one", "two", options=("--never-lead", "--reconnect", "2"))
        training.process.signal(signal.SIGKILL)
        for name in ("one", "two"):
            result = self.joined[name].wait(30)
            self.assertEqual(result.status, 1, str(result))
            self.assertIn("trying to rejoin for 2 s", result.err)
        self.assertEqual(glob.glob(self.path("*", "run.db")), [os.path.join(training.run, "run.db")])

    def test_the_coordinator_comes_back_at_another_address(self):
        """It calls the devices that wait for it: nothing else could tell them where it is."""
        training = self.begin(1000000, "one", "two", options=("--never-lead",))
        training.advance(1)
        training.process.signal(signal.SIGKILL)
        training.process.wait()
        again = self.start("train", "--resume", training.run, "--listen", "127.0.0.2:0", "--json", "again.json")
        for name in ("one", "two"):
            again.wait_for("^device %s joined" % name, stream="err")
        again.signal(signal.SIGINT)
        self.assertEqual(again.wait(20).status, 130, str(again.so_far()))
        summary = self.summary(self.path("again.json"))
        self.steps = summary["steps"]
        self.assertEqual(summary["weights_hash"], self.weights_alone())
        for name in ("one", "two"):
            self.assertEqual(self.joined[name].wait(20).status, 0, str(self.joined[name].so_far()))


def samples_of(first, last):
    """How many samples the steps after `first` up to `last` have: 310 an epoch in batches of 50."""
    def up_to(step):
        return step // STEPS_AN_EPOCH * 310 + min(step % STEPS_AN_EPOCH * 50, 310)
    return up_to(last) - up_to(first)


if __name__ == "__main__":
    harness.main()
