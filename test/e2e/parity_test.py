#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parity: by whatever engine gradients are added up, on any number of devices and any wire, the course is that of sync."""

import unittest

import course_test
import harness
import mpi_test

LENET = course_test.LENET
RESNET = (*course_test.NETWORKS[0], "--steps", "3")
WIRES = ("16",) if harness.SANITIZED else ("32", "16", "8")
COUNTS = (1, 2, 4)
SLOW = unittest.skipIf(harness.SANITIZED, "with sanitizers golden_models_test.c has that network")


class Parity(course_test.Course):
    """A subclass has `ways` to train and `by`, which trains a job in one of them and gives its course."""
    of_sync = {}  # the course of a job on one device

    def assert_parity(self, job):
        self.write_cifar()
        for wire in WIRES:
            wired = (*job, "--wire", wire)
            if wired not in self.of_sync:
                self.of_sync[wired], _ = self.course(*wired, "--lanes", "1")
            expected = self.of_sync[wired]
            self.assertEqual((expected["wire"], expected["status"]), (int(wire), "complete"))
            for way in self.ways[-1:] if harness.SANITIZED else self.ways:
                with self.subTest(wire=wire, way=way):
                    self.assertEqual(self.by(wired, *way), expected)


class Servers(Parity):
    # Devices, and which of them serve; None: all.
    ways = [*((count, None) for count in COUNTS), (4, "1,3")]

    def by(self, job, devices, servers):
        chosen = ("--servers", servers) if servers else ()
        course, each = self.course(*job, "--strategy", "ps-sync", *chosen, "--devices", str(devices), "--lanes", "1")
        self.assertEqual(len(each), devices)
        return course

    def test_lenet(self):
        self.assert_parity(LENET)

    @SLOW
    def test_resnet(self):
        self.assert_parity(RESNET)


@harness.not_for_threads("MPI's library is not instrumented, and starting it takes a minute there")
class Ranks(Parity, mpi_test.Mpi):
    ways = [(count,) for count in COUNTS]

    def by(self, job, ranks):
        summary = self.train_ranks(ranks, *job, "--lanes", "1")
        return {key: summary[key] for key in course_test.COURSE}

    def test_lenet(self):
        self.assert_parity(LENET)

    @SLOW
    def test_resnet(self):
        self.assert_parity(RESNET)


if __name__ == "__main__":
    harness.main()
