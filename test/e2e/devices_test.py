#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The inventory: this device, the devices of a running job, and plans on them."""

import json
import signal

import harness

# 8 grains a step. Fewer samples take as long as an exchange on a busy machine, and a second device would not pay.
BATCH = 256
JOB = ("lenet", "digits:2000/100", "--batch-size", str(BATCH), "--grain", str(BATCH // 8), "--epochs", "1000000", "--lanes", "1")
PLAN = ("mlp:784-16-10", "digits:310/90", "--batch-size", "50", "--grain", "7")


class Devices(harness.Case):
    def setUp(self):
        super().setUp()
        self.env = {"XDG_CACHE_HOME": self.path("cache")}

    def devices(self, *arguments, **more):
        """The list as JSON, and the result of the command."""
        result = self.shoal("devices", *arguments, "--json", "list.json", env=self.env, **more)
        with open(self.path("list.json"), encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual((found["format"], found["version"]), ("shoal.devices", 1))
        return found, result

    @harness.not_for_threads("one process; its lanes are those of any training")
    def test_this_device(self):
        found, result = self.devices()
        self.assertIsNone(found["job"])
        here, = found["devices"]
        self.assertEqual(here["state"], "idle")
        self.assertGreater(here["lanes"], 0)
        self.assertGreater(here["memory_available_bytes"], 0)
        self.assertIsNone(here["flops_per_second"])
        self.assertIn("run shoal bench", result.out)
        self.shoal("bench", "--models", "mlp", "--seconds", "0.05", "--lanes", "1", env=self.env, timeout=120)
        found, result = self.devices()
        self.assertGreater(found["devices"][0]["flops_per_second"], 1e6)
        self.assertNotIn("run shoal bench", result.out)

    def test_devices_of_a_job(self):
        training = harness.Training(self, *JOB, "--devices-used", "2")
        training.join("works")
        training.wait_for_joined("works")
        training.join("idle")
        training.events.find(r'device\.rests .*"device idle')
        training.advance(1)
        found, result = self.devices(training.token.text)
        self.assertEqual(found["job"]["model"], "lenet")
        self.assertEqual((found["job"]["batch_size"], found["job"]["grain"]), (BATCH, BATCH // 8))
        self.assertGreater(found["job"]["steps"], 0)
        # Which of the two computes is decided by their speed.
        first, *others = found["devices"]
        works, idle = sorted(others, key=lambda one: one["state"])
        self.assertEqual([one["state"] for one in (first, works, idle)], ["computes", "computes", "standby"])
        self.assertEqual([one["name"] for one in others], ["works", "idle"])
        self.assertEqual(first["grains"] + works["grains"], 8)
        self.assertEqual([one["lanes"] for one in found["devices"]], [1, 1, 1])
        self.assertGreater(first["samples_per_second"], 0)
        # LeNet: 13.2 million operations a sample
        self.assertAlmostEqual(first["flops_per_second"] / first["samples_per_second"] / 13.2e6, 1, 1)
        self.assertGreater(works["in_bytes_per_second"], 0)
        self.assertIn("--devices-used", idle["why"])
        self.assertIn(idle["name"] + ": ", result.out)
        self.assertIn("job         lenet, digits:2000/100, batches of %d samples" % BATCH, result.out)

        # A plan on them, from the file and from the token on standard input.
        for source, more in (("list.json", {}), ("-", {"stdin": training.token.text + "\n"})):
            result = self.shoal("plan", *PLAN, "--on", source, "--json", "plan.json", env=self.env, **more)
            with open(self.path("plan.json"), encoding="utf-8") as file:
                plan = json.load(file)
            self.assertEqual([point["devices"] for point in plan["points"]], [1, 2, 3], source)
            self.assertIn(works["name"], " ".join(point["added"] for point in plan["points"]))
        result = self.shoal("plan", *PLAN, "--on", "list.json", "--energy", env=self.env, status=1)
        self.assertIn('add "power_watts" to it', result.err)

        # The job did not notice.
        lines = training.events.lines()
        self.assertFalse([line for line in lines if "net.refused" in line or "device.lost" in line])
        training.process.signal(signal.SIGINT)
        self.assertEqual(training.process.wait(20).status, 130)
        result = self.shoal("devices", training.token.text, env=self.env, status=1)
        self.assertIn("is the job still running?", result.err)

    def test_who_has_no_token_learns_nothing(self):
        training = harness.Training(self, *JOB)
        token = training.token
        result = self.shoal("devices", token.but(secret=bytes(16)).text, env=self.env, status=1)
        self.assertNotIn("computes", result.out)
        self.assertIn("token", result.err)
        result = self.shoal("devices", training.token.text[:-1], env=self.env, status=1)
        self.assertIn("the join token was altered or cut", result.err)
        training.process.signal(signal.SIGINT)
        training.process.wait(20)

    def test_a_coordinator_must_prove_it(self):
        training = harness.Training(self, *JOB)
        token = training.token
        other = harness.Training(self, *JOB)
        # The secret of one job and the fingerprint of another.
        mixed = token.but(host=other.token.host, port=other.token.port, secret=other.token.secret)
        result = self.shoal("devices", mixed.text, env=self.env, status=1)
        self.assertEqual(result.out, "")
        self.assertIn("did not prove that it may coordinate the job", result.err)
        for one in (training, other):
            one.process.signal(signal.SIGINT)
            one.process.wait(20)

    def test_after_a_hand_over_the_old_token_finds_the_way(self):
        training = harness.Training(self, *JOB)
        training.join("heir", "--run", self.path("heir"))
        training.wait_for_joined("heir")
        self.shoal("hand-over", training.run, "--to", "heir")
        harness.Events(self.path("heir")).find(r"INFO device\.joined ")  # the one that coordinated
        found, _ = self.devices(training.token.text)
        self.assertEqual(found["devices"][0]["name"], "heir")
        self.assertEqual(found["devices"][0]["state"], "computes")


if __name__ == "__main__":
    harness.main()
