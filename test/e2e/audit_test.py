#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Audits: other devices compute shares again. A device that adds something else to a sum is named and evicted, and what it added
is never applied where all shares are audited."""

import re
import signal
import socket

import harness

JOB = ("lenet", "digits:150/30", "--batch-size", "48", "--grain", "6", "--steps", "24")
THREE = ("--devices", "3", "--lanes", "1")
HOST = socket.gethostname()
LONG = "200" if harness.SANITIZED else "400"  # steps, while devices come, die and go
LIES = {"SHOAL_TEST_FLIP": HOST + "/2@lie/3"}
EVICTED = r"device %s is evicted: it computes wrongly or lies: in the audit of step (\d+) "
RIGHT = r"audit: (\d+) shares of (\d+) steps were computed again and found right, (\d+) devices were evicted"


class Audit(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.quiet_hash = None

    def alone(self):
        if self.quiet_hash is None:
            type(self).quiet_hash = self.train(*JOB, "--run", "quiet", "--quiet").summary["weights_hash"]
        return self.quiet_hash

    def audited(self, result):
        return tuple(int(count) for count in re.search(RIGHT, result.err).groups())

    @harness.not_for_threads("those that lie compute the same; train.audited_step")
    def test_honest_devices_pass(self):
        """The weights are those of one device alone; each step has up to three shares."""
        cases = (("100", "sync"), ("100", "ps-sync"), ("20", "sync"))
        for part, strategy in cases[:1] if harness.SANITIZED else cases:
            with self.subTest(part=part, strategy=strategy):
                run = "honest-%s-%s" % (part, strategy)
                result = self.train(*JOB, *THREE, "--audit", part, "--strategy", strategy, "--run", run)
                self.assertEqual(result.summary["weights_hash"], self.alone(), str(result))
                shares, steps, evicted = self.audited(result)
                self.assertEqual(evicted, 0)
                if part == "100":
                    self.assertEqual(steps, 24)
                    self.assertLessEqual(shares, 72)
                    self.assertGreater(shares, 24)
                else:
                    self.assertGreater(steps, 0)
                    self.assertLess(shares, 50)

    @harness.not_for_threads("the words on the wire are in reduce.*")
    def test_small_words(self):
        """Sums of 8 bits wrap, which no check may take for a lie."""
        job = JOB + ("--wire", "8")
        alone = self.train(*job, "--run", "alone8", "--quiet").summary["weights_hash"]
        result = self.train(*job, *THREE, "--audit", "100", "--run", "small")
        self.assertEqual(result.summary["weights_hash"], alone, str(result))
        self.assertEqual(self.audited(result)[1:], (24, 0))

    def test_a_liar_is_named_before_its_lie_is_applied(self):
        """In its third step it adds something else. Asked to compute its own share again, it does not lie."""
        for devices in ("3",) if harness.THREADS else ("3", "2"):
            with self.subTest(devices=devices):
                result = self.train(*JOB, "--devices", devices, "--lanes", "1", "--audit", "100", "--run", "liar-" + devices,
                                    env=LIES)
                self.assertEqual(result.summary["weights_hash"], self.alone(), str(result))
                found = re.findall(EVICTED % (HOST + "/2"), result.err)
                self.assertEqual(found, ["3"], result.err)
                self.assertIn("in the audit of step 3 2 devices agree on other results", result.err)
                self.assertEqual(result.summary["steps"], 24)

    @harness.not_for_threads("a training as others are")
    def test_without_an_audit_it_is_not_found(self):
        """So the audit is what finds it."""
        result = self.train(*JOB, *THREE, "--run", "unseen", env=LIES)
        self.assertNotEqual(result.summary["weights_hash"], self.alone())
        self.assertNotIn("evicted", result.err)

    def test_a_lying_coordinator_ends_the_job(self):
        result = self.shoal("train", *JOB, *THREE, "--audit", "100", "--run", "first", status=1,
                            env={"SHOAL_TEST_FLIP": HOST + "@lie/3"})
        self.assertRegex(result.err, "this device computes wrongly: in the audit of step 3 2 devices agree on other results; "
                                     "continue from the checkpoint with --resume, on another device")

    @harness.not_for_threads("its hundreds of audited steps take minutes there")
    def test_devices_come_and_go(self):
        """Also while shares are computed again."""
        training = harness.Training(self, *JOB[:-2], "--epochs", "1000000", "--steps", LONG, "--lanes", "1", "--audit", "60")
        summary = training.come_and_go()
        alone = self.train(*JOB[:-2], "--epochs", "1000000", "--steps", LONG, "--quiet", "--run", "alone").summary
        self.assertEqual(summary["weights_hash"], alone["weights_hash"])

    @harness.not_for_threads("its hundreds of audited steps take minutes there")
    def test_the_successor_audits_too(self):
        training = harness.Training(self, *JOB[:-2], "--epochs", "1000000", "--steps", LONG, "--lanes", "1", "--audit", "100")
        joined = {}
        for name in ("one", "two"):
            joined[name] = training.join(name, "--run", self.path(name), quiet=False)
            training.wait_for_joined(name)
        training.events.find(r"INFO coordinator\.heirs count=2")
        training.process.signal(signal.SIGKILL)
        joined["one"].wait_for("the coordinator is lost: this device replaces it", stream="err")
        alone = self.train(*JOB[:-2], "--epochs", "1000000", "--steps", LONG, "--quiet", "--run", "alone").summary
        for name in ("one", "two"):
            result = joined[name].wait(120)
            self.assertEqual(result.status, 0, str(result))
            self.assertIn("weights     " + alone["weights_hash"], result.err)
            if name == "one":
                _, steps, evicted = self.audited(result)
                self.assertGreater(steps, 0)
                self.assertEqual(evicted, 0)

    def test_what_is_refused(self):
        for options, words in ((("--strategy", "local:3"), "with --strategy local:3 devices compute with weights that others"),
                               (("--strategy", "ps-async"), "leave --audit out, or use --strategy sync")):
            result = self.shoal("train", *JOB, "--audit", "2", *options, status=2)
            self.assertIn("--audit 2: ", result.err)
            self.assertIn(words, result.err)
        self.assertIn("--audit", self.shoal("train", *JOB, "--audit", "101", status=2).err)


if __name__ == "__main__":
    harness.main()
