#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A device without the data set gets it from those that have it, and trains meanwhile."""

import glob
import gzip
import os
import random
import re
import shutil
import signal
import subprocess
import time

import harness

MODEL = "mlp:784-32-10"
# Without end, with steps so slow and sums so small that a device on a slow link can follow them while it joins.
LONG = ("mlp:784-10", "mnist:data", "--epochs", "1000000", "--batch-size", "6000", "--grain", "250")
BLOCK = 65536
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
         "t10k-labels-idx1-ubyte")


def write_idx(folder, train=6000, validation=1000):
    """Four files in MNIST's format, whose images differ by label and from each other."""
    os.makedirs(folder)
    draw = random.Random(1)
    for prefix, count in (("train", train), ("t10k", validation)):
        labels = bytes(draw.randrange(10) for _ in range(count))
        images = bytearray()
        for label in labels:
            image = bytearray(draw.randbytes(784))
            image[label * 78:label * 78 + 78] = b"\xff" * 78
            images += image
        size = count.to_bytes(4, "big")
        with open(os.path.join(folder, prefix + "-images-idx3-ubyte"), "wb") as file:
            file.write(b"\0\0\x08\x03" + size + b"\0\0\0\x1c\0\0\0\x1c" + images)
        with open(os.path.join(folder, prefix + "-labels-idx1-ubyte"), "wb") as file:
            file.write(b"\0\0\x08\x01" + size + labels)


def blocks_of(folder):
    """How many blocks a data set has."""
    return sum(-(-os.path.getsize(os.path.join(folder, name)) // BLOCK) for name in FILES)


class Delivery(harness.Case):
    def setUp(self):
        super().setUp()
        for name in ("first", "other", "cache"):
            os.mkdir(self.path(name))
        self.data = self.path("first", "data")

    def mnist(self):
        """Unpacks the real one, so that what is sent can be counted in its files."""
        source = super().data("mnist")
        os.mkdir(self.data)
        for name in FILES:
            packed = os.path.join(source, name + ".gz")
            if not os.path.exists(packed):
                self.skipTest("no %s in %s" % (name + ".gz", source))
            with gzip.open(packed) as read, open(os.path.join(self.data, name), "wb") as file:
                shutil.copyfileobj(read, file)

    def train_on(self, *arguments, within=(), listen="127.0.0.1:0"):
        """The device that has the data, in a folder that the others do not look into."""
        return self.start(argv=[*within, "env", "-C", self.path("first"), harness.SHOAL, "train",
                                "--listen", listen, "--run", "run", *arguments])

    def join(self, token, *arguments, within=(), cache="cache"):
        return self.start(argv=[*within, "env", "-C", self.path("other"), harness.SHOAL, "join", token,
                                "--verbose", *arguments],
                          env={"XDG_CACHE_HOME": self.path(cache)})

    def events(self):
        return harness.Events(self.path("first", "run"))

    def here(self, cache="cache"):
        """How many blocks the cache folder holds."""
        for path in glob.glob(self.path(cache, "shoal", "mirrors", "*", "marks")):
            with open(path, "rb") as file:
                return file.read().count(1)
        return 0

    def has_stepped(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return '"event":"step"' in file.read()
        except FileNotFoundError:
            return False

    def wait_until(self, holds, what, timeout=30):
        deadline = time.monotonic() + timeout * harness.PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.005)

    def slow_network(self, rate):
        """Two devices, and a link of so many bits a second to the second."""
        made = self.namespaces(2)
        shaped = subprocess.run(["tc", "-n", made.hub, "qdisc", "add", "dev", "port1", "root", "tbf", "rate",
                                 rate, "burst", "16kb", "limit", "200kb"], capture_output=True, text=True,
                                check=False)
        if shaped.returncode != 0:
            self.skipTest("no slow links here: " + shaped.stderr.strip())
        return made

    def test_works_before_half_has_come(self):
        self.mnist()
        job = (MODEL, "mnist:data", "--batch-size", "64", "--steps", "300")
        net = self.slow_network("60mbit")
        first = self.train_on(*job, "--min-devices", "2", "--json", self.path("s.json"),
                              within=net.argv(0), listen=net.addresses[0] + ":0")
        other = self.join(first.wait_for_token(), "--events", self.path("events"), within=net.argv(1))
        self.wait_until(lambda: self.has_stepped("events"), "the device without data does no step")
        here, blocks = self.here(), blocks_of(self.data)
        self.assertLess(here, blocks / 2)
        self.assertEqual(first.wait(120).status, 0)
        self.assertEqual(other.wait().status, 0)
        summary = self.summary(self.path("s.json"))
        self.assertEqual(len(summary["devices"]), 2)
        self.assertGreater(summary["devices"][1]["grains"], 0)
        quiet = self.train(MODEL, "mnist:" + self.data, *job[2:], "--quiet").summary
        self.assertEqual(summary["weights_hash"], quiet["weights_hash"])
        self.assertEqual(summary["val_accuracy"], quiet["val_accuracy"])
        print("first step with %d of %d blocks" % (here, blocks))

    def test_what_has_come_is_not_fetched_again(self):
        write_idx(self.data)
        net = self.slow_network("20mbit")
        first = self.train_on(*LONG, within=net.argv(0), listen=net.addresses[0] + ":0")
        token, blocks = first.wait_for_token(), blocks_of(self.data)
        other = self.join(token, within=net.argv(1))
        self.wait_until(lambda: self.here() > blocks / 4, "nothing comes")
        other.signal(signal.SIGKILL)
        other.wait()
        here = self.here()
        self.assertLess(here, blocks)
        served = r"data\.served peer=\S+ blocks=(\d+) bytes=\d+ refused=0"
        events = self.events()
        events.wait_for(served)
        again = self.join(token, within=net.argv(1))
        match = again.wait_for(r"data\.begin root=\w+ blocks=(\d+) missing=(\d+)", stream="err")
        self.assertEqual((int(match.group(1)), int(match.group(2))), (blocks, blocks - here))
        match = again.wait_for(r"data\.complete fetched=(\d+) refused=0 damaged=0", 60, stream="err")
        self.assertEqual(int(match.group(1)), blocks - here)
        self.assertEqual(self.here(), blocks)
        again.signal(signal.SIGINT)
        again.wait()
        self.assertEqual(int(events.wait_for(served).group(1)), blocks - here)
        whole = self.join(token, within=net.argv(1))  # nothing to fetch any more
        whole.wait_for(r"data\.begin .* missing=0 ", stream="err")
        whole.wait_for("the job's data are in the cache", stream="err")

    def test_bytes_that_changed_are_refused(self):
        write_idx(self.data)
        job = (MODEL, "mnist:data", "--batch-size", "50", "--steps", "40")
        first = self.train_on(*job, "--min-devices", "3", "--json", self.path("s.json"))
        token, blocks = first.wait_for_token(), blocks_of(self.data)
        one = self.join(token)
        self.events().wait_for(r"data\.manifest root=\w+ blocks=%d " % blocks)
        # Only the last validation image changes, so what device 0 itself computes of steps does not.
        path = os.path.join(self.data, FILES[2])
        with open(path, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            byte = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([byte[0] ^ 1]))
        os.mkdir(self.path("cache2"))
        two = self.join(token, cache="cache2")
        refused = r"data\.block_refused block=%d device=0 reason=.*has the wrong digest" % (blocks - 2)
        # Whichever comes to it first holds the others up, until it has the block.
        told = []
        def is_refused():
            told[:] = [each for each in (one, two) if re.search(refused, "".join(each.lines["err"]))]
            return bool(told)
        self.wait_until(is_refused, "the block is not refused")
        with open(path, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(byte)
        # The validation at the end waits for the block, which is asked for again.
        self.assertEqual(first.wait().status, 0)
        self.assertEqual((one.wait().status, two.wait().status), (0, 0))
        told[0].wait_for("sent a wrong block of the data set", stream="err")
        summary = self.summary(self.path("s.json"))
        self.assertEqual(len(summary["devices"]), 3)
        quiet = self.train(MODEL, "mnist:" + self.data, *job[2:], "--quiet").summary
        self.assertEqual(summary["weights_hash"], quiet["weights_hash"])
        self.assertEqual(summary["val_accuracy"], quiet["val_accuracy"])

    def assert_goes_on(self, first):
        """The job is not harmed: it makes steps, and ends when it is asked to."""
        steps = lambda: os.path.getsize(self.path("first", "steps"))
        before = steps()
        self.wait_until(lambda: steps() > before, "the job stands\n%s" % first.so_far())
        first.signal(signal.SIGINT)
        self.assertEqual(first.wait().status, 130)

    def test_a_limit_that_is_too_small_is_told(self):
        write_idx(self.data)
        first = self.train_on(*LONG, "--events", "steps")
        other = self.join(first.wait_for_token(), "--cache", "1M").wait()
        self.assertEqual(other.status, 1)
        self.assertRegex(other.err, r"(?m)^shoal: .*mirrors: the data set needs \d+ bytes, the "
                                    r"cache is limited to 1048576 .*; raise --cache$")
        self.assert_goes_on(first)

    def test_a_lost_coordinator_costs_no_block(self):
        write_idx(self.data, validation=6000)  # which no step reads, so it comes last
        net = self.slow_network("20mbit")
        place = net.addresses[0] + ":7713"
        first = self.train_on(*LONG, within=net.argv(0), listen=place)
        token, blocks = first.wait_for_token(), blocks_of(self.data)
        other = self.join(token, within=net.argv(1))
        other.wait_for("^training on 2 devices", stream="err")
        first.signal(signal.SIGKILL)
        first.wait()
        self.assertLess(self.here(), blocks)
        other.wait_for("trying to rejoin for 60 s", stream="err")
        here = self.here()  # or more: what was on its way to the disk is still written
        again = self.start(argv=[*net.argv(0), "env", "-C", self.path("first"), harness.SHOAL, "train",
                                 "--resume", "run", "--listen", place, "--events", "steps"])
        again.wait_for_token()
        fewer = r"data\.begin root=\w+ blocks=%d missing=((?!%d )\d+) " % (blocks, blocks)
        missing = int(other.wait_for(fewer, stream="err").group(1))
        self.assertLessEqual(missing, blocks - here)
        other.wait_for(r"data\.complete fetched=%d refused=0 damaged=0" % missing, stream="err")
        self.assertEqual(self.here(), blocks)  # so what was not fetched was there
        self.assert_goes_on(again)

    def small_disk(self, size):
        if os.geteuid() != 0:
            self.skipTest("a small disk needs root")
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % size, "shoal", self.path("cache")],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            self.skipTest("no tmpfs here: " + made.stderr.strip())
        self.addCleanup(subprocess.run, ["umount", "-l", self.path("cache")], check=False)

    def test_a_full_disk_is_told(self):
        write_idx(self.data)
        self.small_disk(2 << 20)
        first = self.train_on(*LONG, "--events", "steps")
        other = self.join(first.wait_for_token()).wait()
        self.assertEqual(other.status, 1)
        self.assertRegex(other.err, r"(?m)^shoal: .*mirrors: the disk is too full for the data set: \d+ more "
                                    r"bytes are needed, \d+ are free; make room there, or name another folder "
                                    r"with XDG_CACHE_HOME$")
        self.assert_goes_on(first)

    def test_a_disk_that_fills_up_meanwhile_is_told(self):
        write_idx(self.data)
        self.small_disk(8 << 20)
        net = self.slow_network("20mbit")
        first = self.train_on(*LONG, "--events", "steps", within=net.argv(0),
                              listen=net.addresses[0] + ":0")
        other = self.join(first.wait_for_token(), within=net.argv(1))
        self.wait_until(lambda: self.here() > 4, "nothing comes")
        with open(self.path("cache", "filler"), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        ended = other.wait()
        self.assertEqual(ended.status, 1)
        self.assertRegex(ended.err, r"(?m)^shoal: .*the disk is too full for the data set: .* XDG_CACHE_HOME$")
        self.assert_goes_on(first)

    def test_a_copy_is_used_and_a_wrong_path_is_told(self):
        write_idx(self.data)
        first = self.train_on(*LONG, "--events", "steps")
        token = first.wait_for_token()
        lost = self.join(token, "--data", "mnist:/nowhere").wait()
        self.assertEqual(lost.status, 1)
        self.assertRegex(lost.err, r"(?m)^shoal: .*/nowhere.*; without --data they are fetched from the other "
                                   r"devices$")
        copy = self.join(token, "--data", "mnist:" + self.data)
        self.events().wait_for("device.ready")
        self.assertNotIn("data.begin", "".join(copy.lines["err"]))
        self.assertEqual(self.here(), 0)
        # What has a copy gives it to others: it is a source beside device 0.
        third = self.join(token)
        third.wait_for(r"data\.begin .* sources=2$", stream="err")
        third.wait_for(r"data\.complete ", stream="err")
        self.assert_goes_on(first)


if __name__ == "__main__":
    harness.main()
