#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Alone: the pages of libraries that a process maps are fewer while another starts
"""Limits of memory: kept, planned for, without any trace in the weights; or refused with numbers."""

import ctypes
import json
import os
import re
import unittest

import harness

MIB = 1 << 20
# 100 classes at 64x64, one step and a short validation.
MOBILE = ("mobilenetv2", "noise:3x64x64/100/64/16", "--batch-size", "64", "--grain", "16", "--steps", "1")
RESNET = ("resnet:20", "noise:3x32x32/10/96/16", "--batch-size", "96", "--grain", "16", "--steps", "1")
LENET = ("lenet", "noise:1x28x28/10/640/16", "--steps", "10")
LOCAL = ("lenet", "noise:1x28x28/10/640/16", "--strategy", "local:2", "--steps", "5")  # lanes have weights of their own
LEFT_FREE = 256 << 10  # below a limit: what a plan may be short of
ADDR_NO_RANDOMIZE = 0x0040000  # personality(2)
slow_build = harness.PATIENCE > 1


class Memory(harness.Case):
    def note(self, result):
        return re.search(r"memory: .*: (\d+\.\d) of (\d+\.\d) MiB", result.err + result.out)

    @unittest.skipIf(slow_build, "a sanitizer's own memory is in the process")
    def test_mobilenetv2_trains_below_96M_to_the_same_weights(self):
        free = self.train(*MOBILE, "--lanes", "2")
        self.assertGreater(free.summary["peak_rss_bytes"], 96 * MIB)
        self.assertIsNone(self.note(free))
        for limit, lanes in ((96, 2), (160, 2), (160, 3)):
            limited = self.train(*MOBILE, "--lanes", str(lanes), "--memory", "%dM" % limit)
            self.assertEqual(limited.summary["weights_hash"], free.summary["weights_hash"])
            self.assertLess(limited.summary["peak_rss_bytes"], limit * MIB)
            note = self.note(limited)
            self.assertLessEqual(float(note.group(1)), limit)
            self.assertEqual(float(note.group(2)), limit)

    def fix_addresses(self):
        """Has libraries lie where they always do: the pages that the kernel maps around one that is touched depend on
        that, 0.25 MB more or less. False where it may not."""
        personality = ctypes.CDLL(None).personality
        before = personality(0xFFFFFFFF)
        self.addCleanup(personality, before)
        return personality(before | ADDR_NO_RANDOMIZE) != -1

    @unittest.skipIf(slow_build, "a sanitizer's own memory is in the process")
    def test_the_plan_is_what_is_used(self):
        noise = (3 if self.fix_addresses() else 8) * (64 << 10)  # which is mapped around a page that is touched
        for job in (LENET, RESNET, MOBILE, LOCAL):
            for limit in ((), ("--memory", "104M")):  # for MOBILE a choice changes at 100M
                summary = self.train(*job, "--lanes", "2", *limit).summary
                used, planned = summary["peak_rss_bytes"], summary["planned_bytes"]
                self.assertLess(abs(planned / used - 1), 0.05, (job[0], limit, planned, used))
                arguments = [word for word in job if word != "--steps"][:-1]
                self.shoal("plan", *arguments, "--lanes", "2", *limit, "--json", "plan.json")
                with open(self.path("plan.json"), encoding="utf-8") as file:
                    total = json.load(file)["grains"][0]["total_bytes"]
                self.assertLess(abs(total / used - 1), 0.05, (job[0], limit, total, used))
                self.assertLess(abs(total - planned), noise, (job[0], limit, total, planned))
                self.assertLess(used - min(total, planned), LEFT_FREE, (job[0], limit, total, planned, used))

    @unittest.skipIf(slow_build, "a sanitizer's own memory is in the process")
    def test_a_batch_takes_no_memory(self):
        """4,096 samples a step on one device are 256 grains, one after the other, and on four as many."""
        job = ("lenet", "mnist:" + self.data("mnist"), "--batch-size", "4096", "--steps", "2")
        alone = self.train(*job, "--lanes", "2").summary
        self.assertLessEqual(alone["peak_rss_bytes"], 45e6)
        four = self.train(*job, "--devices", "4", "--lanes", "1").summary
        self.assertEqual(four["weights_hash"], alone["weights_hash"])
        self.assertEqual(len(four["devices"]), 4)
        self.assertEqual(sum(device["grains"] for device in four["devices"]), 2 * 256)
        for device in four["devices"]:
            self.assertLessEqual(device["peak_rss_bytes"], 45e6, device)

    @unittest.skipIf(slow_build, "a sanitizer's own memory is in the process")
    def test_recomputation_before_fewer_lanes_before_refusal(self):
        free = self.train(*RESNET, "--lanes", "4").summary
        hashes, said = {free["weights_hash"]}, []
        # Less than is planned by more than the program's own memory differs from one start to the next.
        for limit in range(free["planned_bytes"] // MIB - 1, 10, -6):
            result = self.start("train", *RESNET, "--lanes", "4", "--memory", "%dM" % limit, "--json",
                                self.path("one.json")).wait(120)
            if result.status != 0:
                said.append(result.err)
                break
            summary = self.summary(self.path("one.json"))
            hashes.add(summary["weights_hash"])
            self.assertLess(summary["peak_rss_bytes"], limit * MIB)
            said.append(self.note(result).group(0))
        self.assertEqual(len(hashes), 1)
        self.assertRegex(said[0], "memory: 4 lanes, ")
        first = [next((i for i, text in enumerate(said) if words in text), None) for words in (
            "computed again", " of 4 lanes", "this job needs at least")]
        self.assertNotIn(None, first, said)
        self.assertEqual(first, sorted(first), said)
        self.assertEqual(first[-1], len(said) - 1)

    @unittest.skipIf(slow_build, "a sanitizer's own memory is in the process")
    def test_each_local_device_keeps_to_it(self):
        free = self.train(*RESNET, "--devices", "2", "--lanes", "2").summary
        limit = free["peak_rss_bytes"] // MIB - 14
        summary = self.train(*RESNET, "--devices", "2", "--lanes", "2", "--memory", "%dM" % limit).summary
        self.assertEqual(summary["weights_hash"], free["weights_hash"])
        for device in summary["devices"]:
            self.assertLess(device["peak_rss_bytes"], limit * MIB, device)

    @unittest.skipIf(slow_build, "a sanitizer's own memory is in the process")
    def test_the_least_is_enough_beside_another_device(self):
        """Before the first step they compare their arithmetic, beside a copy of these 14 MiB of weights."""
        job = ("mlp:784-2048-1024-10", "noise:1x28x28/10/640/16", "--steps", "2", "--devices", "2")
        refused = self.shoal("train", *job, "--memory", "40M", status=1)
        # This is what device 0 needs. A device that joins has 3 to 4 MiB more of its own; the copy is 11 MiB.
        limit = int(re.search(r"this job needs at least (\d+)\.\d MiB", refused.err).group(1)) + 6
        for device in self.train(*job, "--memory", "%dM" % limit).summary["devices"]:
            self.assertLess(device["peak_rss_bytes"], limit * MIB, device)

    def test_what_cannot_fit_is_refused_with_numbers(self):
        result = self.shoal("train", *MOBILE, "--memory", "24M", status=1)
        self.assertRegex(result.err, r"shoal: --memory 24\.0 MiB: this job needs at least \d+\.\d MiB "
                                     r"here: program and data \d+\.\d, weights \d\.\d, optimizer's state "
                                     r"\d\.\d, sum of gradients \d\.\d, prepared weights 0\.0, one lane "
                                     r"with grain 16 \d+\.\d; no smaller --grain would fit either")
        self.assertFalse(os.path.exists(self.path("runs")))
        result = self.shoal("plan", *MOBILE[:-2], "--memory", "24M", status=1)
        self.assertIn("this job needs at least", result.err)

    @unittest.skipIf(slow_build, "a sanitizer's own memory is in the process")
    def test_a_grain_that_would_fit_is_named(self):
        result = self.shoal("train", *MOBILE, "--memory", "50M", status=1)
        grain, need = re.search(r"--grain (\d+) would need only (\d+\.\d) MiB, but it makes "
                                r"another job", result.err).groups()
        job = [grain if word == "16" else word for word in MOBILE]
        summary = self.train(*job, "--memory", "50M").summary
        self.assertLess(summary["peak_rss_bytes"], 50 * MIB)
        self.assertLessEqual(float(need), 50)

    def test_values_that_are_none(self):
        for command in (("train", *LENET), ("plan", *LENET[:2]),
                        ("eval", "lenet", "digits", "--weights", "none"), ("join", "shoal://none")):
            for value, message in (("0", "must be at least 1"), ("12X", "must be a size such as 96M or 2G"),
                                   ("-5M", "must be a size such as 96M or 2G"),
                                   ("99999999999T", "must be at most 18446744073709551615")):
                result = self.shoal(*command, "--memory=" + value, status=2)
                self.assertIn("--memory %s: %s" % (value, message), result.err)

    @unittest.skipIf(slow_build, "a sanitizer's own memory is in the process")
    def test_evaluation_keeps_to_it(self):
        run = self.train(*RESNET, "--run", "run").summary["run"]
        job = (*RESNET[:2], "--weights", run)
        free = self.shoal("eval", *job, "--json", "free.json")
        limited = self.shoal("eval", *job, "--memory", "40M", "--json", "limited.json")
        results = []
        for name in ("free.json", "limited.json"):
            with open(self.path(name), encoding="utf-8") as file:
                results.append(json.load(file))
        self.assertEqual(results[0]["loss"], results[1]["loss"], (free, limited))
        self.assertIn("this job needs at least",
                      self.shoal("eval", *job, "--memory", "10M", status=1).err)


if __name__ == "__main__":
    harness.main()
