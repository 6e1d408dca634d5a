#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of photos: trained with on any devices, and what the program says of bad ones."""

import os
import struct
import zlib

import harness

SIDE = 16
MODEL = "mlp:768-8-3"


def png(pixel, channels=3):
    """An 8-bit PNG of SIDE x SIDE; `pixel` gives the bytes of a place."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(SIDE)) for y in range(SIDE))
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2 if channels == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Photos(harness.Case):
    def setUp(self):
        super().setUp()
        self.photos = self.path("photos")
        self.cache = self.path("cache")
        os.mkdir(self.cache)
        self.env = {"XDG_CACHE_HOME": self.cache}

    def put(self, name, data):
        path = os.path.join(self.photos, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def put_classes(self, train=48, validation=16):
        """Red, green and blue photos."""
        for i in range(3 * (train + validation)):
            part, colour = "train" if i < 3 * train else "val", i % 3
            level = lambda x, y, i=i, colour=colour: bytes(
                200 if c == colour else (i * 31 + x * 7 + y * 13 + c * 3) % 120 for c in range(3))
            self.put("%s/%s/%d.png" % (part, ("red", "green", "blue")[colour], i), png(level))

    def test_one_hash_on_any_devices(self):
        self.put_classes()
        options = ("--resize", str(SIDE), "--epochs", "3", "--batch-size", "24", "--grain", "4", "--lr", "0.05")
        alone = self.train(MODEL, "photos:" + self.photos, *options, "--lanes", "1", env=self.env).summary
        self.assertEqual(alone["samples"], 3 * 144)
        self.assertGreater(alone["val_accuracy"], 0.9)
        three = self.train(MODEL, self.photos, *options, "--devices", "3", "--lanes", "1",
                           env=self.env).summary
        self.assertEqual(three["weights_hash"], alone["weights_hash"])
        self.assertEqual(len(os.listdir(os.path.join(self.cache, "shoal", "packed"))), 2)  # the set and its lock

    def test_damaged_photos_are_named(self):
        self.put_classes(train=4, validation=2)
        self.put("train/red/cut.png", png(lambda x, y: b"abc")[:-30])
        self.put("val/blue/words.jpg", b"These are words.")
        result = self.shoal("train", MODEL, "photos:" + self.photos, status=1, env=self.env)
        self.assertRegex(result.err, r"2 of 20 samples cannot be read")
        self.assertRegex(result.err, r"train/red/cut\.png: is a damaged PNG: .*; val/blue/words\.jpg: is not a supported image")

    def test_bad_folders_are_refused(self):
        self.put("one/1.png", png(lambda x, y: b"abc"))
        self.put("none\n<script>/notes.txt", b"?")
        result = self.shoal("train", MODEL, "photos:" + self.photos, status=1, env=self.env)
        self.assertRegex(result.err, r"photos: none\?<script>/ holds no photos")
        result = self.shoal("train", MODEL, "photos:" + self.path("nowhere"), status=1, env=self.env)
        self.assertRegex(result.err, r"nowhere: cannot open the data folder: No such file")
        result = self.shoal("train", MODEL, "photos:", status=1, env=self.env)
        self.assertRegex(result.err, r"photos: no argument; write photos:DIR")


if __name__ == "__main__":
    harness.main()
