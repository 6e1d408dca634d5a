#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: its threads are those of audit_test.py.
"""A bit of one device's weights flips: found in the same stage, told by name, mended, without a trace in the end."""

import os
import socket

import harness

# 8 grains a step, 4 steps and a validation an epoch.
JOB = ("lenet", "digits:150/30", "--batch-size", "48", "--grain", "6", "--steps", "10")
EPOCH, LAST = 4, 10
HOST = socket.gethostname()
REMEDY = "and no majority shows which are right: one has faulty memory; continue from the checkpoint with --resume"


class Flip(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.quiet_hash = None

    def alone(self):
        if self.quiet_hash is None:
            type(self).quiet_hash = self.train(*JOB, "--run", "quiet", "--quiet").summary["weights_hash"]
        return self.quiet_hash

    def names(self, devices):
        return [HOST] + ["%s/%d" % (HOST, i) for i in range(2, devices + 1)]

    def events(self, run, pattern):
        return [line for line in harness.Events(self.path(run)).lines() if pattern in line]

    def test_among_three_it_is_brought_back(self):
        """In the coordinator's own replica and in a member's; before a step, a validation, and the last one."""
        for number, name in enumerate(self.names(3)[:2]):
            moments = (1, EPOCH + 1, EPOCH, LAST)
            for steps in moments[number::2] if harness.SANITIZED else moments:  # each device, each moment
                with self.subTest(device=name, steps=steps):
                    run = "%d-%d" % (len(name), steps)
                    result = self.train(*JOB, "--devices", "3", "--lanes", "1", "--run", run,
                                        env={"SHOAL_TEST_FLIP": "%s@%d" % (name, steps)})
                    text = ("the replica of device %s differed from the others at step %d: it is restored from "
                            "them" % (name, steps))
                    self.assertEqual(result.summary["weights_hash"], self.alone(), str(result))
                    self.assertEqual(result.summary["steps"], LAST)
                    found = self.events(run, " device.repaired ")
                    self.assertEqual(len(found), 1, found)
                    self.assertRegex(found[0], r' WARN device\.repaired device=\d+ text="%s"$' % text)
                    self.assertIn(text, result.out + result.err)
                    self.assertEqual(self.events(run, " device.lost "), [])

    def test_one_whose_bit_is_stuck_is_put_out(self):
        """Endless repair: before, it was brought back over and over, and the job stood still."""
        name = self.names(3)[1]
        result = self.train(*JOB, "--devices", "3", "--lanes", "1", "--run", "stuck",
                            env={"SHOAL_TEST_FLIP": "%s@%d+" % (name, EPOCH + 1)})
        self.assertEqual(result.summary["weights_hash"], self.alone(), str(result))
        self.assertEqual(len(self.events("stuck", " device.repaired ")), 3)
        text = "its replica differed 4 times, last at step %d: its memory or processor computes wrongly" % (EPOCH + 1)
        self.assertEqual(result.err.count("device %s is evicted: %s" % (name, text)), 1, result.err)

    def test_of_three_a_donor_spoils_what_it_gives(self):
        """The newcomer, whose replica came from two devices in part, differs: the next one comes from only one of them."""
        training = harness.Training(self, *JOB[:-2], "--epochs", "1000000", "--devices", "2", "--lanes", "1",
                                    env={"SHOAL_TEST_FLIP": self.names(2)[1] + "@gift"})
        training.join("newcomer")
        training.wait_for_joined("newcomer")
        training.events.find(r' WARN device\.repaired .*text="the replica of device newcomer differed')
        training.advance(10)
        summary = training.stop()
        self.assertEqual([line for line in training.events.lines() if " device.lost " in line], [])
        alone = self.train(*JOB[:-2], "--steps", str(summary["steps"]), "--quiet", "--run", "alone").summary
        self.assertEqual(summary["weights_hash"], alone["weights_hash"])

    def test_of_two_nobody_knows_and_the_job_ends(self):
        """What was saved before is whole, and goes on to the right weights."""
        for name in self.names(2):
            with self.subTest(device=name):
                run = "two-%d" % len(name)
                result = self.shoal("train", *JOB, "--devices", "2", "--lanes", "1", "--run", run, "--json", "two.json",
                                    status=1, env={"SHOAL_TEST_FLIP": "%s@%d" % (name, EPOCH + 1)})
                message = "shoal: the weights of %s, %s/2 differ after step %d, %s; the last checkpoint in %s is intact" % (
                    HOST, HOST, EPOCH + 1, REMEDY, run)
                self.assertEqual([line for line in result.err.splitlines() if line.startswith("shoal: ")], [message])
                self.assertFalse(os.path.exists(self.path("two.json")))
                self.assertEqual(self.events(run, " device.repaired "), [])
                resumed = self.train("--resume", run, "--devices", "2", "--lanes", "1")
                self.assertEqual(resumed.summary["weights_hash"], self.alone())

    def test_of_some_that_have_just_joined_neither(self):
        """What they have they have from device 0, and nobody has been compared with anybody yet."""
        result = self.shoal("train", *JOB, "--devices", "3", "--lanes", "1", "--run", "three", status=1,
                            env={"SHOAL_TEST_FLIP": HOST + "@0"})
        self.assertRegex(result.err, r"(?m)^shoal: the weights of %s, %s/\d, %s/\d differ after step 0, %s; "
                                     r"there is no checkpoint yet$" % (HOST, HOST, HOST, REMEDY))

    def test_alone_it_stays(self):
        """Which shows that the hook does what it says: one device has nobody to compare with."""
        result = self.train(*JOB, "--lanes", "1", env={"SHOAL_TEST_FLIP": HOST + "@0"})
        self.assertNotEqual(result.summary["weights_hash"], self.alone())

    def test_hook_of_another_form(self):
        result = self.shoal("train", *JOB, status=1, env={"SHOAL_TEST_FLIP": HOST})
        self.assertIn("shoal: SHOAL_TEST_FLIP '%s': must be DEVICE@STEPS" % HOST, result.err)


if __name__ == "__main__":
    harness.main()
