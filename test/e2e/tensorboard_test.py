#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Event files for TensorBoard, read by a parser of their description (src/store/tensorboard.h)."""

import glob
import json
import struct
import time

import harness

JOB = ("train", "mlp:784-16-10", "digits:2000/200", "--batch-size", "20", "--run", "run", "--tensorboard", "--quiet")


def checksum(data):
    """CRC-32C, turned and moved as TensorFlow does it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        length, check = struct.unpack_from("<QI", data, at)
        body = data[at + 12:at + 12 + length]
        assert check == checksum(data[at:at + 8]), "the check of a length"
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == checksum(body), "the check of an event"
        yield body
        at += 16 + length


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            length = {1: 8, 5: 4}.get(key & 7)
            if length is None:
                assert key & 7 == 2
                length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        yield key >> 3, value


class Tensorboard(harness.Case):
    def events(self, number=0):
        """(wall time, step, what it has) of each event of a file."""
        with open(sorted(glob.glob(self.path("run", "events.out.tfevents.*")))[number], "rb") as file:
            for body in records(file.read()):
                event = dict(fields(body))
                yield struct.unpack("<d", event.pop(1))[0], event.pop(2), event

    def scalars(self, number=0):
        found = {}
        for at, step, event in self.events(number):
            for _, value in fields(event.get(5, b"")):
                parts = dict(fields(value))
                found.setdefault(parts[1].decode(), []).append((step, struct.unpack("<f", parts[2])[0], at))
        return found

    def metrics(self):
        with open(self.path("run", "metrics.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_a_training_tells_what_it_measures(self):
        began = time.time()
        self.shoal(*JOB, "--epochs", "3")
        head = list(self.events())[:2]
        self.assertEqual([event for _, _, event in head], [{3: b"brain.Event:2"}, {7: b"\x08\x01"}])
        self.assertEqual([step for _, step, _ in head], [0, 1])
        scalars, metrics = self.scalars(), self.metrics()
        self.assertEqual(sorted(scalars), ["samples_per_second", "train/accuracy", "train/loss", "val/accuracy", "val/loss"])
        for tag, key in (("val/loss", "val_loss"), ("val/accuracy", "val_accuracy")):
            self.assertEqual([step for step, _, _ in scalars[tag]], [100, 200, 300])
            for (_, value, at), line in zip(scalars[tag], metrics):
                self.assertAlmostEqual(value, line[key], places=6)
                self.assertTrue(began <= at <= time.time())
        steps = [step for step, _, _ in scalars["train/loss"]]
        self.assertEqual(steps, sorted(set(steps)))
        self.assertEqual(steps[0], 1)
        self.assertTrue(all(0 < value < 10 for _, value, _ in scalars["train/loss"]))
        self.assertTrue(all(0 <= value <= 1 for _, value, _ in scalars["train/accuracy"]))

    def test_a_resumed_training_goes_on_in_a_file_of_its_own(self):
        self.shoal(*JOB, "--epochs", "1")
        self.shoal("train", "--resume", "run", "--epochs", "2", "--tensorboard", "--quiet")
        self.assertEqual(len(glob.glob(self.path("run", "events.out.tfevents.*"))), 2)
        self.assertEqual(list(self.events(1))[1][1:], (101, {7: b"\x08\x01"}))
        self.assertEqual([step for step, _, _ in self.scalars(1)["val/loss"]], [200])
        self.assertEqual(self.scalars(1)["train/loss"][0][0], 101)

    def test_without_the_option_there_is_none(self):
        self.shoal(*(word for word in JOB if word != "--tensorboard"), "--epochs", "1")
        self.assertEqual(glob.glob(self.path("run", "events.out.*")), [])


if __name__ == "__main__":
    harness.main()
