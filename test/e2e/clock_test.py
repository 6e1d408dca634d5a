#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The date jumps by years and back with every look at it: nobody is lost, nothing waits, the weights are the same.

A library that is loaded before all others gives the date; the monotonic clock is the system's. That no wait
of the kernel's is by the date is held by scripts/check-layers.sh.
"""
# Not under the thread sanitizer: it has to be loaded first itself.

import re
import shutil
import subprocess

import harness

JOB = ("lenet", "digits:150/30", "--batch-size", "48", "--grain", "6", "--steps", "40")
JUMPING = r"""
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_uint looks;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += (looks++ & 1) ? 10L * 365 * 86400 : -86400L;
    return status;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec jumped;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &jumped);
    *now = (struct timeval){jumped.tv_sec, jumped.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *place)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place != NULL)
        *place = now.tv_sec;
    return now.tv_sec;
}
"""


@harness.not_for_sanitizers("a sanitizer has to be loaded first itself")
class Clock(harness.Case):
    def setUp(self):
        super().setUp()
        compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
        if compiler is None:
            self.skipTest("no compiler for the library that gives the date")
        with open(self.path("jumping.c"), "w", encoding="ascii") as file:
            file.write(JUMPING)
        self.jumping = {"LD_PRELOAD": self.path("jumping.so")}
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", self.jumping["LD_PRELOAD"], self.path("jumping.c")],
                       check=True)

    def test_it_jumps_while_three_devices_train(self):
        alone = self.train(*JOB, "--run", "alone", "--quiet").summary
        summary = self.train(*JOB, "--devices", "3", "--lanes", "1", "--run", "run", "--quiet",
                             env=self.jumping).summary
        self.assertEqual(summary["weights_hash"], alone["weights_hash"])
        self.assertEqual(summary["steps"], 40)
        self.assertLess(summary["train_seconds"], 60)
        lines = harness.Events(self.path("run")).lines()
        self.assertEqual([line for line in lines if " INFO " not in line], [])
        years = {re.match(r"(\d+)-", line).group(1) for line in lines}
        self.assertEqual(len(years), 2, years)  # so it did jump

    def test_it_jumps_while_one_joins_leaves_and_dies(self):
        training = harness.Training(self, *JOB[:-2], "--epochs", "1000000", "--lanes", "1", env=self.jumping)
        stays, leaves, dies = [training.join(name, env=self.jumping) for name in ("stays", "leaves", "dies")]
        training.wait_for_joined("stays", "leaves", "dies")
        leaves.signal(2)
        self.assertEqual(leaves.wait(20).status, 130)
        training.wait_for_left("leaves")
        dies.signal(9)
        training.events.find(r'WARN device\.lost .*text="device dies was lost \d{1,3} ms after')
        training.advance(2)
        summary = training.stop()
        self.assertEqual(stays.wait(30).status, 0, str(stays.so_far()))
        alone = self.train(*JOB[:-1], str(summary["steps"]), "--epochs", "1000000", "--run", "alone", "--quiet")
        self.assertEqual(summary["weights_hash"], alone.summary["weights_hash"])
        lost = [line for line in training.events.lines() if " device.lost " in line]
        self.assertEqual(len(lost), 1, lost)


if __name__ == "__main__":
    harness.main()
