#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people have, photos, tables, series, recordings and arrays, trains to one hash on any devices: alone, on
three, with deaths, and with a device that lacks the data."""

import json
import math
import os
import random
import struct
import wave
import zlib

import harness


def png(width, height, rows, grey=True):
    """A PNG file of 8 bits: rows of bytes."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    head = struct.pack(">IIBBBBB", width, height, 8, 0 if grey else 2, 0, 0, 0)
    body = b"".join(b"\0" + row for row in rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")


def drawn(draw, label, side=28):
    """A grey picture that differs by label."""
    pixels = bytearray(draw.randrange(60) for _ in range(side * side))
    for i in range(side):
        pixels[(4 + 2 * label) * side + i] = 250
        pixels[i * side + (6 + 3 * label) % side] = 220
    return bytes(pixels)


class Reading(harness.Case):
    def setUp(self):
        super().setUp()
        self.draw = random.Random(7)

    def write(self, *names, content):
        path = self.path(*names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if isinstance(content, bytes) else "w") as file:
            file.write(content)

    def photos(self, split="train val", classes=4, count=30):
        """Folders of PNG files; the pictures as they lie in order."""
        pictures = {}
        for part, share in zip(split.split(), (count, max(2, count // 3))):
            pictures[part] = []
            for label in range(classes):
                for i in range(share):
                    pixels = drawn(self.draw, label)
                    rows = [pixels[y * 28:y * 28 + 28] for y in range(28)]
                    self.write("photos", part, "class%d" % label, "%04d.png" % i, content=png(28, 28, rows))
                    pictures[part].append((pixels, label))
        return pictures

    def check_everywhere(self, model, spec, *options, epochs=3):
        """One hash alone, on three devices and where devices come, die and lack the data; the summary of the first."""
        job = (model, spec, "--batch-size", "16", "--seed", "3", *options)
        alone = self.train(*job, "--epochs", str(epochs)).summary
        three = self.train(*job, "--epochs", str(epochs), "--devices", "3").summary
        self.assertEqual(three["weights_hash"], alone["weights_hash"])
        self.assertEqual(three["val_loss"], alone["val_loss"])
        self.check_others(job)
        return alone

    def check_others(self, job):
        """A joiner in another folder has no data and no cache; the coordinator's job goes on until all have come."""
        training = harness.Training(self, *job, "--epochs", "100000")
        cache = {"XDG_CACHE_HOME": self.path("elsewhere")}
        apart = {"argv": ["env", "-C", "/", harness.SHOAL, "join", training.token.text, "--name", "far", "--lanes",
                          "1", "--quiet"], "env": cache}
        dies = self.start(**apart)
        training.wait_for_joined("far")
        training.advance(2)
        dies.kill()
        training.events.find(r"WARN device\.lost .*far")
        stays = self.start(**apart)
        training.wait_for_joined("far")
        training.advance(2)
        summary = training.stop()
        stays.wait(30)
        self.assertGreaterEqual(summary["views"], 3)
        again = self.train(*job, "--epochs", "100000", "--steps", str(summary["steps"])).summary
        self.assertEqual(again["weights_hash"], summary["weights_hash"])

    def test_photos(self):
        self.photos()
        summary = self.check_everywhere("lenet", "photos:photos", "--resize", "28", "--lr", "0.02", epochs=4)
        self.assertGreater(summary["val_accuracy"], 0.9)

    @harness.not_for_threads("it reads as the other tests do")
    def test_a_folder_is_the_published_files(self):
        """Grey PNG files train to the hash of the same pictures in MNIST's files, normalised alike."""
        pictures = self.photos()
        for prefix, part in (("train", "train"), ("t10k", "val")):
            size = struct.pack(">I", len(pictures[part]))
            self.write("idx", prefix + "-images-idx3-ubyte",
                       content=b"\0\0\x08\x03" + size + b"\0\0\0\x1c\0\0\0\x1c" +
                       b"".join(pixels for pixels, _ in pictures[part]))
            self.write("idx", prefix + "-labels-idx1-ubyte",
                       content=b"\0\0\x08\x01" + size + bytes(label for _, label in pictures[part]))
        job = ("--epochs", "2", "--batch-size", "16", "--normalize", "none")
        published = self.train("lenet", "mnist:idx", *job).summary
        photos = self.train("lenet", "photos:photos", "--resize", "28", *job).summary
        self.assertEqual(photos["weights_hash"], published["weights_hash"])
        self.assertEqual(photos["val_loss"], published["val_loss"])

    def test_what_is_packed_is_found_again(self):
        """The second time no photo is read; a folder that changes, and a packed file that is damaged, is packed anew."""
        self.photos(count=9)
        packed = self.path(".cache", "shoal", "packed")
        job = ("lenet", "photos:photos", "--resize", "28", "--steps", "1", "--batch-size", "8")
        first = self.train(*job).summary
        names = sorted(os.listdir(packed))
        again = self.train(*job).summary
        self.assertEqual(sorted(os.listdir(packed)), names)
        self.assertEqual(again["weights_hash"], first["weights_hash"])
        for damage in (lambda file: file.truncate(5000), lambda file: file.write(b"nonsense")):
            with open(os.path.join(packed, max(names, key=len)), "r+b") as file:
                damage(file)
            self.assertEqual(self.train(*job).summary["weights_hash"], first["weights_hash"])
            self.assertEqual(sorted(os.listdir(packed)), names)
        rows = [bytes(28)] * 28
        self.write("photos", "train", "class0", "0000.png", content=png(28, 28, rows))
        other = self.train(*job).summary
        self.assertEqual(len(os.listdir(packed)), len(names) + 1)
        self.assertNotEqual(other["weights_hash"], first["weights_hash"])

    def test_damaged_photos(self):
        self.photos(count=9)
        with open(self.path("photos", "train", "class1", "0003.png"), "r+b") as file:
            file.truncate(60)
        job = ("lenet", "photos:photos", "--resize", "28", "--steps", "1", "--batch-size", "8")
        refused = self.shoal("train", *job, status=1)
        self.assertRegex(refused.err, r"1 of 48 samples cannot be read.*--skip-damaged.*class1/0003\.png")
        self.assertEqual(self.train(*job, "--skip-damaged").summary["steps"], 1)

    def table(self, name, rows, head):
        self.write(name, content="\n".join([",".join(head)] + [",".join(row) for row in rows]) + "\n")

    def test_a_table_of_classes(self):
        rows = []
        for _ in range(300):
            x, y = self.draw.gauss(0, 1), self.draw.gauss(5, 2)
            rows.append(("%.3f" % x, "%.3f" % y if self.draw.random() > 0.05 else "?",
                         self.draw.choice(("red", "blue")), "yes" if x * 2 > y - 5 else "no"))
        self.table("t.csv", rows, ("x", "y", "colour", "told"))
        summary = self.check_everywhere("mlp", "table:t.csv", "--lr", "0.05", epochs=12)
        self.assertGreater(summary["val_accuracy"], 0.85)

    @harness.not_for_threads("it reads as the other tests do")
    def test_a_table_of_numbers(self):
        rows = []
        for _ in range(300):
            x, y = self.draw.gauss(0, 1), self.draw.gauss(5, 2)
            rows.append(("%.3f" % x, "%.3f" % y, "%.2f" % (1000 + 30 * x - 12 * y + self.draw.gauss(0, 1))))
        self.table("t.csv", rows, ("x", "y", "price"))
        summary = self.check_everywhere("mlp", "table:t.csv", "--lr", "0.02", epochs=12)
        self.assertIsNone(summary["val_accuracy"])
        self.assertLess(summary["val_mae"], 12)  # of a price that varies by 38

    def test_recordings(self):
        for label, pitch in (("low", 300), ("high", 1500)):
            for who in "abcd":
                for i in range(5):
                    phase, loud = self.draw.random() * 6, self.draw.uniform(0.2, 0.9)
                    values = [int(20000 * loud * math.sin(phase + k * pitch * 2 * math.pi / 8000)) +
                              self.draw.randrange(-300, 300) for k in range(2400)]
                    path = self.path("audio", "%s_%s_%d.wav" % (label, who, i))
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with wave.open(path, "wb") as file:
                        file.setnchannels(1)
                        file.setsampwidth(2)
                        file.setframerate(8000)
                        file.writeframes(struct.pack("<%dh" % len(values), *values))
        summary = self.check_everywhere("dscnn:s", "audio:audio", "--label-from", "{label}_{group}_{}.wav",
                                        "--val-split", "0.3", epochs=2)
        self.assertGreater(summary["val_accuracy"], 0.4)

    @harness.not_for_threads("it reads as the other tests do")
    def test_arrays(self):
        def array(name, kind, shape, content):
            head = str({"descr": kind, "fortran_order": False, "shape": shape})
            head += " " * (-(len(head) + 11) % 64) + "\n"
            self.write("arrays", name, content=b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) +
                       head.encode() + content)
        values, labels = [], []
        for _ in range(200):
            label = self.draw.randrange(3)
            labels.append(label)
            values += [self.draw.gauss(label if k == label else 0, 0.5) for k in range(6)]
        array("x.npy", "<f8", (200, 6), struct.pack("<1200d", *values))
        array("y.npy", "<i8", (200,), struct.pack("<200q", *labels))
        summary = self.check_everywhere("mlp", "npy:arrays", "--lr", "0.05", epochs=10)
        self.assertGreater(summary["val_accuracy"], 0.8)

    @harness.not_for_sanitizers("it reads as the other tests do; the rest is arithmetic")
    def test_a_series(self):
        for label, period in (("slow", 40), ("fast", 9)):
            for take in range(6):
                phase = self.draw.random() * 6
                rows = [("%d" % (10 * k), "%.4f" % (math.sin(phase + 2 * math.pi * k / period) + self.draw.gauss(0, 0.2)),
                         "%.4f" % self.draw.gauss(0, 1)) for k in range(300)]
                os.makedirs(self.path("series", label), exist_ok=True)
                self.table(os.path.join("series", label, "%d.csv" % take), rows, ("timestamp", "x", "y"))
        summary = self.check_everywhere("cnn1d", "series:series", "--window", "64", "--lr", "0.02", epochs=6)
        self.assertGreater(summary["val_accuracy"], 0.8)

    @harness.not_for_sanitizers("it reads as the other tests do; the rest is arithmetic")
    def test_reconstruction(self):
        self.photos()
        summary = self.check_everywhere("autoencoder", "photos:photos", "--resize", "28", "--task", "reconstruction",
                                        "--lr", "0.05", epochs=4)
        self.assertIsNone(summary["val_accuracy"])
        self.assertLess(summary["val_loss"], 1)

    @harness.not_for_threads("it reads as the other tests do")
    def test_mixed_photos(self):
        """mixup and cutmix: the samples that others are mixed with come too, wherever a sample is computed."""
        self.photos()
        job = ("mlp:h16", "photos:photos", "--resize", "14", "--lr", "0.02")
        mixed = self.check_everywhere(*job, "--augment", "mixup:0.4,cutmix:1", epochs=4)
        plain = self.train(*job, "--batch-size", "16", "--seed", "3", "--epochs", "4").summary
        self.assertNotEqual(mixed["weights_hash"], plain["weights_hash"])
        self.assertGreater(mixed["train_loss"], plain["train_loss"])  # mixed samples are harder
        self.assertGreater(mixed["val_accuracy"], 0.5)

    @harness.not_for_sanitizers("it reads as the other tests do; the rest is arithmetic")
    def test_mixed_tables(self):
        """Numbers and labels are mixed as targets; no task refuses."""
        rows = [["%.3f" % self.draw.gauss(0, 1) for _ in range(3)] + [str(self.draw.randrange(2)) for _ in range(2)]
                for _ in range(100)]
        self.table("t.csv", rows, ("x", "y", "price", "a", "b"))
        for options in (("--target", "price"), ("--target", "a,b", "--task", "multi-label"),
                        ("--target", "a", "--task", "classification", "--class-weights", "balanced"),
                        ("--target", "a", "--task", "reconstruction")):
            with self.subTest(options=options):
                model = "autoencoder:4" if "reconstruction" in options else "mlp:h8"
                job = (model, "table:t.csv", "--augment", "mixup:0.4", "--epochs", "2", "--batch-size", "20", *options)
                alone = self.train(*job).summary
                self.assertEqual(self.train(*job, "--devices", "3").summary["weights_hash"], alone["weights_hash"])
                self.assertTrue(math.isfinite(alone["val_loss"]))

    @harness.not_for_sanitizers("it reads as the other tests do; the rest is arithmetic")
    def test_balanced_sampling(self):
        """Small classes are repeated; a joiner fetches the classes of all samples before it is ready."""
        rows = []
        for _ in range(400):
            label = self.draw.choices((0, 1, 2), (90, 7, 3))[0]
            rows.append(("%.3f" % self.draw.gauss(label, 1), "%.3f" % self.draw.gauss(-label, 1), "abc"[label]))
        self.table("t.csv", rows, ("x", "y", "told"))
        job = ("mlp:h8", "table:t.csv", "--lr", "0.05")
        balanced = self.check_everywhere(*job, "--sampling", "balanced", "--augment", "noise:0.1,mixup:0.2")
        plain = self.train(*job, "--batch-size", "16", "--seed", "3", "--epochs", "3").summary
        self.assertNotEqual(balanced["weights_hash"], plain["weights_hash"])
        self.assertEqual(balanced["steps"], plain["steps"])
        self.assertGreater(balanced["train_loss"], plain["train_loss"])  # most of the samples are all of one class

    def test_balanced_sampling_is_for_classes(self):
        rows = [["%.3f" % self.draw.gauss(0, 1) for _ in range(3)] for _ in range(60)]
        self.table("t.csv", rows, ("x", "y", "price"))
        for task in ("regression", "reconstruction"):
            refused = self.shoal("train", "autoencoder:2" if task == "reconstruction" else "mlp:h8", "table:t.csv",
                                 "--task", task, "--sampling", "balanced", status=1)
            self.assertIn("--sampling balanced: table has targets for %s, not classes" % task, refused.err)
        refused = self.shoal("train", "lenet", "digits", "--sampling", "often", status=2)
        self.assertIn("--sampling often: must be shuffle or balanced", refused.err)

    @harness.not_for_sanitizers("it reads as the other tests do; the rest is arithmetic")
    def test_balanced_classes(self):
        self.photos()
        job = ("lenet", "photos:photos", "--resize", "28", "--batch-size", "16", "--epochs", "2", "--class-weights",
               "balanced")
        run = self.path("run")
        alone = self.train(*job, "--run", run).summary
        self.assertEqual(self.train(*job, "--devices", "2").summary["weights_hash"], alone["weights_hash"])
        with open(os.path.join(run, "job.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["class_weights"], "1.000000,1.000000,1.000000,1.000000")


if __name__ == "__main__":
    harness.main()
