#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: it has no threads of its own.
"""Other data are given to a trained model as those were that it was trained with."""

import csv
import json
import os
import random
import re
import shlex
import shutil
import struct
import wave

import harness


class Trained(harness.Case):
    def measure(self, *arguments):
        return json.loads(self.shoal("eval", *arguments, "--json", "-").out)

    def assert_same_figures(self, a, b):
        for key in ("samples", "loss", "accuracy", "mae", "metrics"):
            self.assertEqual(a[key], b[key], key)


class Tables(Trained):
    COLUMNS = ("a", "colour", "b", "size")

    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        self.rows = []
        for i in range(120):
            colour, a = draw.choice(("red", "green", "blue")), draw.gauss(10, 3)
            b = "" if i % 17 == 0 else "%.3f" % draw.gauss(0, 1)
            self.rows.append({"a": "%.3f" % a, "colour": colour, "b": b, "size": "big" if a + 3 * (colour == "red") > 11 else "small"})
        self.write("train.csv", self.COLUMNS, self.rows)
        self.train("auto", "table:train.csv", "--epochs", "3", "--run", "run", "--quiet")

    def write(self, name, columns, rows):
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)

    def test_columns_in_another_order(self):
        """All rows are measured, by the figures of the training rows."""
        self.write("ordered.csv", self.COLUMNS, self.rows[:50])
        self.write("other.csv", ("size", "b", "more", "a", "colour"), [{**row, "more": i} for i, row in enumerate(self.rows[:50])])
        ordered, other = self.measure("run", "table:ordered.csv"), self.measure("run", "table:other.csv")
        self.assertEqual(ordered["samples"], 50)
        self.assert_same_figures(ordered, other)
        # Its own mean does not matter: each row alone has the loss that it has among others.
        losses = []
        for i in range(3):
            self.write("one.csv", self.COLUMNS, self.rows[i:i + 1] * 2)  # a table has two rows at least
            losses.append(self.measure("run", "table:one.csv")["loss"])
        self.write("three.csv", self.COLUMNS, self.rows[:3])
        self.assertAlmostEqual(sum(losses) / 3, self.measure("run", "table:three.csv")["loss"], places=6)
        self.assertIn("all of its samples are measured", self.shoal("eval", "run", "table:three.csv").err)

    def test_the_same_data_elsewhere_keep_their_split(self):
        shutil.copy(self.path("train.csv"), self.path("moved.csv"))
        self.assert_same_figures(self.measure("run"), self.measure("run", "table:moved.csv"))

    def test_a_checkpoint_alone(self):
        self.write("other.csv", ("size", "b", "a", "colour"), self.rows[:50])
        expected = self.measure("run", "table:other.csv")
        os.mkdir(self.path("elsewhere"))
        shutil.copy(self.path("run", "checkpoints", "best.safetensors"), self.path("elsewhere", "model.safetensors"))
        shutil.rmtree(self.path("run"))
        os.remove(self.path("train.csv"))
        self.assert_same_figures(expected, self.measure("elsewhere/model.safetensors", "table:other.csv"))
        self.assert_same_figures(expected, self.measure("table:other.csv", "--weights", "elsewhere/model.safetensors"))

    def test_what_training_rows_did_not_have(self):
        """An unknown word is none of the categories, as a missing one is."""
        rows = [dict(row) for row in self.rows[:6]]
        self.write("missing.csv", self.COLUMNS, [{**row, "colour": ""} for row in rows[:1]] + rows[1:])
        self.write("unknown.csv", self.COLUMNS, [{**row, "colour": "violet"} for row in rows[:1]] + rows[1:])
        self.assert_same_figures(self.measure("run", "table:missing.csv"), self.measure("run", "table:unknown.csv"))
        self.write("class.csv", self.COLUMNS, rows[:2] + [{**rows[2], "size": "huge"}])
        self.assertIn("class.csv: line 4: the run does not know the class 'huge'; it knows big, small",
                      self.shoal("eval", "run", "table:class.csv", status=1).err)

    def test_columns_that_are_missing(self):
        self.write("target.csv", self.COLUMNS[:3], self.rows)
        self.assertIn("target.csv: there is no column 'size', the target; add it with the true "
                      "values", self.shoal("eval", "run", "table:target.csv", status=1).err)
        self.write("inputs.csv", ("colour", "size"), self.rows)
        self.assertIn("inputs.csv: columns that the run was trained with are missing: a, b",
                      self.shoal("eval", "run", "table:inputs.csv", status=1).err)

    def test_numbers_in_their_units(self):
        for row in self.rows:
            row["price"] = "%.2f" % (1000 + 50 * float(row["a"]))
        columns = (*self.COLUMNS, "price")
        self.write("prices.csv", columns, self.rows)
        self.train("auto", "table:prices.csv", "--task", "regression", "--epochs", "20", "--run", "numbers", "--quiet")
        self.write("few.csv", columns, self.rows[:8])
        self.write("few2.csv", columns[::-1], self.rows[:8])
        first, second = self.measure("numbers", "table:few.csv"), self.measure("numbers", "table:few2.csv")
        self.assert_same_figures(first, second)
        self.assertLess(first["mae"], 500)  # by the figures of 8 rows it would be in other units


class Photos(Trained):
    COLOURS = {"blue": (20, 40, 220), "green": (30, 200, 40), "red": (210, 30, 30), "white": (230, 230, 230)}

    def paint(self, folder, name, numbers, grey=False):
        os.makedirs(self.path(folder, name), exist_ok=True)
        for number in numbers:
            draw = random.Random("%s %d" % (name, number))
            pixels = bytes(min(255, max(0, level + draw.randrange(-40, 40))) for _ in range(16 * 16) for level in self.COLOURS[name])
            with open(self.path(folder, name, "%d.%s" % (number, "pgm" if grey else "ppm")), "wb") as file:
                file.write(b"P%d 16 16 255\n" % (5 if grey else 6) + (pixels[::3] if grey else pixels))

    def setUp(self):
        super().setUp()
        for name in self.COLOURS:
            self.paint("train", name, range(12))
        self.train("auto", "photos:train", "--resize", "16", "--epochs", "4", "--run", "run", "--quiet")

    def test_half_of_the_classes(self):
        """Of each class alone the samples have the numbers and losses that they have among all."""
        for name in self.COLOURS:
            self.paint("all", name, range(50, 55))
            self.paint("half" if name in ("green", "white") else "rest", name, range(50, 55))
        whole, half, rest = (self.measure("run", "photos:" + folder) for folder in ("all", "half", "rest"))
        self.assertEqual((whole["samples"], half["samples"], rest["samples"]), (20, 10, 10))
        self.assertAlmostEqual(whole["loss"], (half["loss"] + rest["loss"]) / 2, places=6)
        self.assertAlmostEqual(whole["accuracy"], (half["accuracy"] + rest["accuracy"]) / 2)
        self.assertEqual([one["name"] for one in half["metrics"]["classes"]], list(self.COLOURS))
        self.assertEqual([one["samples"] for one in half["metrics"]["classes"]], [0, 5, 0, 5])

    def test_what_does_not_fit(self):
        os.rename(self.path("train", "red"), self.path("train", "tulip"))
        self.assertIn("the run does not know the class 'tulip'; it knows blue, green, red, white",
                      self.shoal("eval", "run", "photos:" + self.path("train"), status=1).err)

    def test_the_same_folder_elsewhere_keeps_its_split(self):
        shutil.copytree(self.path("train"), self.path("moved"), copy_function=shutil.copy2)
        self.assert_same_figures(self.measure("run"), self.measure("run", "photos:moved"))

    def test_grey_photos(self):
        self.paint("grey", "white", range(3), grey=True)
        self.assertEqual(self.measure("run", "photos:grey")["samples"], 3)
        for name in ("white", "blue"):
            self.paint("greys", name, range(12), grey=True)
            self.paint("colours", name, range(3))
        self.train("auto", "photos:greys", "--resize", "16", "--epochs", "1", "--run", "greyrun", "--quiet")
        self.assertIn("has photos in colour, but the run was trained with grey ones",
                      self.shoal("eval", "greyrun", "photos:colours", status=1).err)


class Anomalies(Trained):
    def test_other_samples_of_a_set_with_classes(self):
        job = ("auto", "digits:200/50", "--task", "reconstruction", "--epochs", "1")
        summary = self.train(*job, "--run", "run", "--quiet").summary
        self.assertEqual(summary["model"].split(":")[0], "autoencoder")
        own, other = self.measure("run"), self.measure("run", "digits:200/80")
        self.assertEqual((own["samples"], other["samples"]), (50, 80))
        self.assertGreater(other["metrics"]["error99"], 0)


class Summaries(Trained):
    """The command that the summary of a training ends with measures the best weights, whatever the data are."""

    def setUp(self):
        super().setUp()
        self.draw = random.Random(3)

    def use(self, data, *options):
        end = self.train("auto", data, "--epochs", "1", "--run", "my run", *options)
        self.assertRegex(end.out, r"(?m)^best model  my run/checkpoints/best\.safetensors \(epoch 1\)$")
        command = re.search(r"(?m)^measure it  shoal (.*)$", end.out).group(1)
        found = self.measure(*shlex.split(command)[1:])
        self.assertEqual({key: found["metrics"][key] for key in end.summary["metrics"]}, end.summary["metrics"])
        self.assertTrue(any(value is not None for value in end.summary["metrics"].values()))

    def write_rows(self, name, rows):
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)

    def array(self, name, *shape):
        """Floats as NumPy writes them."""
        count = 1
        for side in shape:
            count *= side
        head = ("{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (shape,)).ljust(117) + "\n"
        os.makedirs(self.path("arrays"), exist_ok=True)
        with open(self.path("arrays", name), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
            file.write(struct.pack("<%df" % count, *(self.draw.random() for _ in range(count))))

    def test_photos(self):
        for number, name in enumerate(("no", "yes")):
            os.makedirs(self.path("photos", name))
            for i in range(10):
                with open(self.path("photos", name, "%d.pgm" % i), "wb") as file:
                    file.write(b"P5 16 16 255\n" + bytes(self.draw.randrange(128) + 100 * number for _ in range(256)))
        self.use("photos:photos", "--resize", "16")

    def test_table(self):
        self.write_rows("t.csv", [("a", "b", "c")] + [(i % 7, self.draw.random(), "xy"[i % 2]) for i in range(60)])
        self.use("table:t.csv")

    def test_series(self):
        self.write_rows("s.csv", [("x", "y", "what")] + [(self.draw.random(), i % 9, "ab"[i // 40 % 2]) for i in range(2000)])
        self.use("series:s.csv", "--target", "what", "--window", "16")

    def test_recordings(self):
        for name, period in (("high", 8), ("low", 40)):
            os.makedirs(self.path("sounds", name))
            for i in range(8):
                with wave.open(self.path("sounds", name, "%d.wav" % i), "wb") as file:
                    file.setparams((1, 2, 8000, 0, "NONE", "not compressed"))
                    file.writeframes(b"".join(struct.pack("<h", 9000 * ((n + i) % period * 2 < period) - 4500) for n in range(3200)))
        self.use("audio:sounds")

    def test_arrays(self):
        self.array("x.npy", 60, 5)
        self.array("y.npy", 60)
        self.use("npy:arrays")

    def test_reconstruction(self):
        self.array("x.npy", 60, 5)
        self.use("npy:arrays", "--task", "reconstruction")


if __name__ == "__main__":
    harness.main()
