#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices that would slow the job stand by: they are told why, the job goes on without them, and where one is lost that
computes, or the coordinator, they are there."""

import os
import re
import signal
import subprocess

import harness

JOB = ("mlp:784-16-10", "digits:310/90", "--batch-size", "50", "--grain", "7", "--epochs", "1000000", "--lanes", "1")
# A second device computes half of a step.
LARGE = ("lenet", "digits:2000/100", "--batch-size", "256", "--grain", "32", "--epochs", "1000000", "--lanes", "1")
# Steps so long that a second device pays, whatever the exchange was seen to take on a busy machine.
LONG = ("lenet", "digits:2000/100", "--batch-size", "1024", "--grain", "128", "--epochs", "1000000", "--lanes", "1")


def shape(spaces, device, rate, queue):
    """Holds what comes from a device and what goes to it to a rate, such as 1mbit, behind a queue of so many bytes.

    A slow link has a short one, as in the lab. Behind one that takes seconds, everything comes too late, and a device is
    lost instead of left out.
    """
    for name, interface in ((spaces.names[device + 1], "eth0"), (spaces.hub, "port%d" % device)):
        done = subprocess.run(["tc", "-n", name, "qdisc", "replace", "dev", interface, "root", "tbf", "rate", rate,
                               "burst", "16kb", "limit", queue], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise harness.unittest.SkipTest("tc cannot hold a link to a rate here: %s" % done.stderr.strip())


class StandBy(harness.Case):
    def begin(self, steps, used, *names, job=JOB):
        """A job that computes on so many devices at most, and the others, which come one after the other."""
        self.steps, self.job = steps, job
        training = harness.Training(self, *job, "--steps", str(steps), "--devices-used", used)
        self.joined = {}
        for name in names:
            self.joined[name] = training.join(name, "--run", self.path(name), quiet=False)
            training.events.find(r'device\.(joined|rests) .*"device %s (joined|is on standby)' % name)
        return training

    def weights_alone(self):
        return self.train(*self.job, "--steps", str(self.steps), "--quiet").summary["weights_hash"]

    def wait_for_keeper(self, training, name):
        """Waits until one that stands by has the weights."""
        training.events.find(r'device\.whole .*"device %s has all of the replica' % name)


class Told(StandBy):
    def test_who_stands_by_knows_why(self):
        training = self.begin(1000, "1", "idle")
        self.assertEqual(training.process.wait(120).status, 0)
        summary = training.summary()
        self.assertEqual(summary["weights_hash"], self.weights_alone())
        self.assertNotIn("idle", [device["name"] for device in summary["devices"]])
        self.assertEqual(summary["views"], 1)  # nothing changed for those that compute
        result = self.joined["idle"].wait(20)
        self.assertEqual(result.status, 0, str(result))
        self.assertIn("device idle is on standby: only 1 may compute (--devices-used), and others are faster", result.err)
        self.assertIn("the job has ended; this device was on standby", result.err)

    def test_who_stands_by_may_leave(self):
        training = self.begin(1000000, "1", "idle")
        self.joined["idle"].signal(signal.SIGINT)
        self.assertEqual(self.joined["idle"].wait(20).status, 130)
        training.wait_for_left("idle")
        training.process.signal(signal.SIGINT)
        self.assertEqual(training.process.wait(20).status, 130)


class TakesOver(StandBy):
    @harness.not_for_sanitizers("a device that joins and one that is lost are in e2e.elastic")
    def test_a_place_that_is_free_is_taken(self):
        training = self.begin(1000000, "2", "works", "idle", job=LONG)
        training.advance(1)
        self.joined["works"].kill()
        training.events.find(r"WARN device\.lost .*works")
        training.wait_for_joined("idle")
        training.advance(1)
        training.process.signal(signal.SIGINT)
        self.assertEqual(training.process.wait(60).status, 130)
        self.assertEqual(self.joined["idle"].wait(60).status, 0)
        self.steps = training.summary()["steps"]
        self.assertEqual(training.summary()["weights_hash"], self.weights_alone())

    def test_one_that_stands_by_leads_where_nobody_else_is_left(self):
        training = self.begin(1200, "1", "idle")
        self.wait_for_keeper(training, "idle")
        training.events.find(r"INFO coordinator\.heirs count=1")
        training.advance(3)
        training.process.kill()
        self.joined["idle"].wait_for("this device replaces it from step", stream="err")
        result = self.joined["idle"].wait(120)
        self.assertEqual(result.status, 0, str(result))
        self.assertIn("weights     " + self.weights_alone(), result.err)


class Links(StandBy):
    """By what links carry, as it is by default."""

    @harness.not_for_sanitizers("links are measured by time; the rest is in the other tests")
    def test_a_slow_link_keeps_a_device_out_until_it_is_fast(self):
        spaces = self.namespaces(2)
        shape(spaces, 1, "1mbit", "32kb")
        job = (*LARGE, "--wire", "16")  # 0.9 MB to exchange
        run = self.path("run")
        train = self.start(argv=spaces.argv(0, harness.SHOAL, "train", *job, "--steps", "1000000", "--listen", ":7700",
                                            "--devices-used", "auto", "--run", run, "--quiet"))
        token, events = train.wait_for_token(), harness.Events(run)
        joined = self.start(argv=spaces.argv(1, harness.SHOAL, "join", token, "--name", "far", "--lanes", "1"))
        text = events.find(r'device\.rests .*text="device far is on standby: ([^"]*)"', 60).group(1)
        self.assertRegex(text, r"its link of (0\.\d+|1(\.\d+)?) Mbit/s would carry \d")
        joined.wait_for(re.escape(text), stream="err")
        shape(spaces, 1, "1gbit", "256kb")
        events.find(r'device\.joined .*"device far joined with', 60)
        shape(spaces, 1, "1mbit", "32kb")
        events.find(r'device\.rests .*text="device far is on standby: ', 60)
        train.signal(signal.SIGINT)
        self.assertEqual(train.wait(60).status, 130)
        self.assertEqual(joined.wait(60).status, 0)
        # Nobody was lost, and the weights are those of one device alone.
        self.assertEqual([line for line in events.lines() if "device.lost" in line], [])
        with open(os.path.join(run, "summary.json"), encoding="utf-8") as file:
            summary = harness.json.load(file)
        alone = self.train(*job, "--steps", str(summary["steps"]), "--quiet").summary
        self.assertEqual(summary["weights_hash"], alone["weights_hash"])

    @harness.not_for_sanitizers("the rate of steps decides whether they leave a link behind")
    def test_a_link_that_cannot_follow_the_steps_is_waited_for(self):
        """All devices are to compute: no step passes while this one receives the weights."""
        spaces = self.namespaces(2)
        shape(spaces, 1, "20mbit", "64kb")
        job = ("lenet", "digits:2000/100", "--epochs", "1000000", "--lanes", "1")
        run = self.path("run")
        train = self.start(argv=spaces.argv(0, harness.SHOAL, "train", *job, "--steps", "1000000", "--listen", ":7700",
                                            "--devices-used", "all", "--run", run, "--quiet"))
        token, events = train.wait_for_token(), harness.Events(run)
        joined = self.start(argv=spaces.argv(1, harness.SHOAL, "join", token, "--name", "far", "--lanes", "1"))
        events.find(r'device\.joined .*"device far joined with', 60)
        train.signal(signal.SIGINT)
        self.assertEqual(train.wait(60).status, 130)
        self.assertEqual(joined.wait(60).status, 0)
        self.assertEqual([line for line in events.lines() if "device.lost" in line], [])


if __name__ == "__main__":
    harness.main()
