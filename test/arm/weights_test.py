#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One job, one hash: 64-bit and 32-bit Arm, under qemu, arrive at the weights of x86-64, alone and together.

SHOAL is the program of this machine; SHOAL_ARM64 and SHOAL_ARMHF are those of the cross builds. It ends with a table
of the hashes.
"""

import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "e2e"))
import harness  # noqa: E402 (it stands in the folder of the line above)

SYSROOTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "sysroot")
X86 = (harness.SHOAL,)
ARM64 = ("qemu-aarch64", "-L", os.path.join(SYSROOTS, "arm64"), os.environ.get("SHOAL_ARM64", ""))
ARMHF = ("qemu-arm", "-L", os.path.join(SYSROOTS, "armhf"), os.environ.get("SHOAL_ARMHF", ""))
OLD_ARMHF = ("qemu-arm", "-cpu", "cortex-a9", *ARMHF[1:])  # what Debian asks of one: VFPv3, no multiply-add
OTHERS = {"arm64": ARM64, "armhf": ARMHF, "armhf, VFPv3": OLD_ARMHF}

# Batches of uneven grains. Between them the models have every kind of layer; small, for those that emulate twice.
DIGITS = ("digits:110/40", "--batch-size", "50", "--grain", "7")
FEW = ("digits:24/8", "--batch-size", "12", "--grain", "5")
NOISE = ("noise:3x8x8/10/24/8", "--batch-size", "12", "--grain", "5")
JOBS = {
    "mlp": ("mlp:784-32-10", *DIGITS, "--steps", "20"),
    "mlp, adam": ("mlp:784-32-10", *DIGITS, "--steps", "9", "--optimizer", "adam", "--lr", "0.005", "--schedule",
                  "one-cycle:0.4", "--clip-norm", "0.5"),
    "lenet": ("lenet", *FEW, "--steps", "3"),
    "resnet": ("resnet:8", *NOISE, "--steps", "4", "--augment", "crop:1,flip"),
    "mobilenetv2": ("mobilenetv2:0.25", "noise:3x32x32/10/12/4", "--batch-size", "6", "--grain", "4", "--steps", "2",
                    "--label-smoothing", "0.1"),
}
TOGETHER = ("lenet", *FEW, "--steps", "8")
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
                                "--json", self.path(name + ".json")), env=env)

    def end(self, name, process):
        """The summary of a job that went well."""
        result = process.wait(PATIENCE)
        self.assertEqual(result.status, 0, str(result))
        return self.summary(self.path(name + ".json"))

    def variants(self):
        """Those of this machine."""
        refused = self.begin("none", X86, *JOBS["mlp"], env={"SHOAL_VARIANT": "none"}).wait()
        return re.search(r"this processor runs ([a-z0-9, ]+)", refused.err).group(1).split(", ")


def alone(job):
    def test(self):
        ways = {"x86-64, " + variant: (X86, {"SHOAL_VARIANT": variant}) for variant in self.variants()}
        ways.update({name: (program, None) for name, program in OTHERS.items()})
        processes = {name: self.begin(name, program, *JOBS[job], env=env) for name, (program, env) in ways.items()}
        hashes = {name: self.end(name, process)["weights_hash"] for name, process in processes.items()}
        Weights.table[job] = hashes
        self.assertEqual(len(set(hashes.values())), 1, hashes)
    return test


class Alone(Weights):
    """The same job on each processor."""


for position, name in enumerate(JOBS):
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
