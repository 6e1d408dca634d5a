#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A short chaos (chaos.py); SHOAL_TEST_SEED=N draws another one."""

import os

import chaos
import cuts
import harness

# Builds with sanitizers do everything more slowly.
EVENTS = 4 if harness.SANITIZED else 7
JOB = ("lenet", "digits:300/30", "--batch-size", "48", "--grain", "4", "--epochs", "1000000")


class Short(harness.Case):
    def run_chaos(self, *options):
        seed = os.environ.get("SHOAL_TEST_SEED", "1")
        code = chaos.main(["--seed", seed, "--events", str(EVENTS), "--gap", "0.25", *options, *JOB])
        if code == harness.SKIPPED:
            self.skipTest("chaos could not do what was asked for")
        self.assertEqual(code, 0)

    def test_servers_and_others(self):
        self.run_chaos("--strategy", "ps-sync", "--servers", "1,2", "--wire", "16")

    def test_coordinator_too(self):
        self.run_chaos("--restarts", "4")

    def test_devices_that_train_apart(self):
        for strategy in ("ps-async", "ps-bounded:2"):
            self.run_chaos("--strategy", strategy)

    def test_partitions(self):
        reason = cuts.missing()
        if reason is not None:
            self.skipTest(reason)
        self.run_chaos("--cuts", "16")

    def test_devices_that_hang_or_compute_wrongly(self):
        self.run_chaos("--hangs", "8", "--stuck", "5")

    def test_full_disks_and_slow_links(self):
        reason = cuts.missing()
        if reason is not None:
            self.skipTest(reason)
        self.run_chaos("--full", "8", "--trickles", "8")

    def test_workers(self):
        self.run_chaos("--strategy", "local:8", "--wire", "8")


if __name__ == "__main__":
    harness.main()
