#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One job, one hash: 64-bit and 32-bit Arm, under qemu, arrive at the weights of x86-64, alone and together.

SHOAL is the program of this machine; SHOAL_ARM64 and SHOAL_ARMHF are those of the cross builds. The jobs and their
known weights are those of test/arithmetic. It ends with a table of the hashes.
"""

import os
import re
import shutil
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
sys.path[:0] = [os.path.join(TESTS, "e2e"), os.path.join(TESTS, "arithmetic")]
import harness  # noqa: E402 (it stands in the folder of the line above)
import jobs  # noqa: E402

SYSROOTS = os.path.join(TESTS, os.pardir, "build", "sysroot")
X86 = (harness.SHOAL,)
ARM64 = ("qemu-aarch64", "-L", os.path.join(SYSROOTS, "arm64"), os.environ.get("SHOAL_ARM64", ""))
ARMHF = ("qemu-arm", "-L", os.path.join(SYSROOTS, "armhf"), os.environ.get("SHOAL_ARMHF", ""))
OLD_ARMHF = ("qemu-arm", "-cpu", "cortex-a9", *ARMHF[1:])  # what Debian asks of one: VFPv3, no multiply-add
OTHERS = {"arm64": ARM64, "armhf": ARMHF, "armhf, VFPv3": OLD_ARMHF}

TOGETHER = ("lenet", *jobs.FEW, "--steps", "8")
PATIENCE = 300  # seconds for a job: emulation is some fifty times slower


class Weights(harness.Case):
    table = {}

    def setUp(self):
        super().setUp()
        for command in (ARM64, ARMHF):
            self.assertIsNotNone(shutil.which(command[0]), "%s is missing: apt-get install qemu-user" % command[0])
            self.assertTrue(os.access(command[-1], os.X_OK), "there is no program at '%s'" % command[-1])

    def begin(self, name, program, *arguments, env=None):
        return self.start(argv=(*program, "train", *arguments, "--lanes", "1", "--quiet", "--run", self.path(name),
                                "--json", self.path(name + ".json")),
                          env={"XDG_CACHE_HOME": self.path("cache"), **(env or {})})

    def end(self, name, process):
        """The summary of a job that went well."""
        result = process.wait(PATIENCE)
        self.assertEqual(result.status, 0, str(result))
        return self.summary(self.path(name + ".json"))


def alone(job):
    def test(self):
        ways = {"x86-64, " + variant: (X86, {"SHOAL_VARIANT": variant}) for variant in self.variants()}
        ways.update({name: (program, None) for name, program in OTHERS.items()})
        processes = {name: self.begin(name, program, *jobs.JOBS[job], env=env) for name, (program, env) in ways.items()}
        hashes = {name: self.end(name, process)["weights_hash"] for name, process in processes.items()}
        Weights.table[job] = hashes
        self.assertEqual(set(hashes.values()), {jobs.known()[job]}, hashes)
    return test


class Alone(Weights):
    """The same job on each processor."""


for position, name in enumerate(jobs.JOBS):
    setattr(Alone, "test_%d_%s" % (position, re.sub(r"\W+", "_", name)), alone(name))


class Together(Weights):
    """One job on three processors at once, each of which computes a part of it."""

    def check(self, first, *others):
        expected = self.end("alone", self.begin("alone", X86, *TOGETHER))["weights_hash"]
        job = self.begin("job", first, *TOGETHER, "--min-devices", "3", "--listen", "127.0.0.1:0")
        token = job.wait_for_token(60)
        joined = [self.start(argv=(*program, "join", token, "--name", "device%d" % i, "--lanes", "1", "--quiet"))
                  for i, program in enumerate(others)]
        summary = self.end("job", job)
        for process in joined:
            self.assertEqual(process.wait(60).status, 0, str(process.so_far()))
        self.assertEqual(summary["weights_hash"], expected)
        self.assertEqual(len(summary["devices"]), 3, summary["devices"])
        self.assertTrue(all(device["grains"] > 0 for device in summary["devices"]), summary["devices"])

    def test_x86_64_begins(self):
        self.check(X86, ARM64, ARMHF)

    def test_arm64_begins(self):
        self.check(ARM64, ARMHF, X86)

    def test_armhf_begins(self):
        self.check(ARMHF, X86, ARM64)


def tearDownModule():
    for job, hashes in Weights.table.items():
        print("weights of %s" % job)
        for name, digest in hashes.items():
            print("  %-16s %s" % (name, digest))


if __name__ == "__main__":
    harness.main()
