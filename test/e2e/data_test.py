#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is in a data set: shoal data."""

import json
import math
import os
import re
import shutil
import struct
import wave

import harness
import pages


EVIL = "<script>alert(1)</script>"


def ppm(width, height, shade):
    """A picture of one kind of class: a slope in the red, a shade for the rest."""
    return b"P6 %d %d 255\n" % (width, height) + b"".join(
        bytes((x * 255 // width, shade, 255 - shade)) for _ in range(height) for x in range(width))


class Data(harness.Case):
    def write(self, *path, content):
        os.makedirs(self.path(*path[:-1]), exist_ok=True)
        with open(self.path(*path), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def page(self, *arguments):
        self.shoal("data", *arguments, "-o", "page.html", "--quiet")
        with open(self.path("page.html"), encoding="utf-8") as file:
            text = file.read()
        page = pages.Reader(text)
        self.assertEqual((page.scripts, page.tags("script"), page.tags("link")), ([], [], []))
        policy = page.tags("meta")[2]["content"]
        self.assertIn("default-src 'none'", policy)
        for tag, attributes in page.found:
            for name, value in attributes.items():
                self.assertFalse(name.startswith("on"), (tag, name))
                if name in ("src", "href"):
                    self.assertTrue(value.startswith("data:"), (tag, name))
        return page

    def test_digits(self):
        found = json.loads(self.shoal("data", "digits:600/100", "--json", "-").out)
        self.assertEqual((found["data"], found["kind"], found["task"]), ("digits:600/100", "digits", "classification"))
        self.assertEqual((found["sample"], found["element"], found["training"], found["validation"]),
                         ([1, 28, 28], "byte", 600, 100))
        self.assertEqual([one["name"] for one in found["classes"]], [str(k) for k in range(10)])
        self.assertEqual(sum(one["training"] for one in found["classes"]), 600)
        self.assertEqual(sum(one["validation"] for one in found["classes"]), 100)
        self.assertEqual((found["least"], found["duplicates"]["samples"], found["warnings"]), (0, 0, []))

    def test_tables(self):
        out = self.shoal("data", "digits:600/100").out
        for pattern in (r"(?m)\Adata        digits:600/100$", r"(?m)^task        classification, 10 classes$",
                        r"(?m)^samples     600 to train with, 100 to validate with$", r"(?m)^sample      1 x 28 x 28 bytes, 0 to 255$",
                        r"(?m)^duplicates  0; 0 validation samples are also trained with$", r"(?m)^class  training  validation$", r"(?m)^9 +\d+ +\d+$"):
            self.assertRegex(out, pattern)
        self.assertEqual(self.shoal("data", "digits:600/100", "--quiet").out, "")

    def test_samples_of_both_splits(self):
        """Validation that is the first batch of training."""
        folder = self.path("cifar")
        os.mkdir(folder)
        for number in range(1, 6):
            with open(os.path.join(folder, "data_batch_%d.bin" % number), "wb") as file:
                file.write(harness.cifar10(40, number))
        shutil.copy(os.path.join(folder, "data_batch_2.bin"), os.path.join(folder, "test_batch.bin"))
        found = json.loads(self.shoal("data", "cifar10:" + folder, "--json", "-").out)
        self.assertEqual(found["duplicates"]["validation"], 40)
        self.assertEqual(found["duplicates"]["first"][0], ["training 40", "validation 0"])
        self.assertIn("40 of 40 validation samples are also training samples: results with them are too good",
                      found["warnings"])
        self.assertIn("warning: 40 of 40 validation", self.shoal("data", "cifar10:" + folder).out)

    def test_a_page_of_digits(self):
        page = self.page("digits:600/100")
        self.assertEqual(len(page.pictures), 10)
        for picture in page.pictures:
            self.assertEqual(pages.pixels(picture)[:3], (28, 28, 1))
        for part in ("classification, 10 outputs", "600 to train with, 100 to validate with", "Typical", "Odd",
                     "shoal train auto would train lenet for 600 samples", "root mean square"):
            self.assertIn(part, page.text)
        self.assertEqual(len([each for each in page.tags("span") if each.get("class") == "bar"]), 20)
        with open(self.path("page.html"), "rb") as file:
            before = file.read()
        self.page("digits:600/100")
        with open(self.path("page.html"), "rb") as file:
            self.assertEqual(file.read(), before)
        out = self.shoal("data", "digits:20/10", "-o", "-").out
        pages.Reader(out)
        self.assertTrue(out.startswith("<!DOCTYPE html>"))
        found = json.loads(self.shoal("data", "digits:20/10", "--json", "-").out)
        self.assertNotIn("examples", found)
        self.assertEqual(found["training_defaults"]["model"], "lenet")

    def test_a_page_of_photos_with_names_from_outside(self):
        """The odd one is the photo with other colours; class names are no markup."""
        for number in range(12):
            self.write("photos", EVIL.replace("/", "|"), "%d.ppm" % number, content=ppm(20, 20, 60 + number))
            self.write("photos", "line\nbreak & \"quote\"", "%d.ppm" % number, content=ppm(20, 20, 180 + number))
        self.write("photos", EVIL.replace("/", "|"), "odd.ppm", content=b"P6 20 20 255\n" + b"\0\xff\0" * 400)
        page = self.page("photos:" + self.path("photos"), "--resize", "20")
        self.assertIn(EVIL.replace("/", "|"), page.text)
        self.assertIn("line?break & \"quote\"", page.text)
        self.assertEqual(len(page.pictures), 10)
        shapes = [pages.pixels(picture) for picture in page.pictures]
        self.assertEqual({shape[:3] for shape in shapes}, {(20, 20, 3)})
        self.assertEqual(shapes[5][3], b"\0\xff\0" * 400)
        self.assertEqual(shapes[0][3][0], 0)
        self.assertIn(shapes[0][3][57], range(235, 250))

    def test_damaged_files_have_their_names_in_the_page(self):
        for number in range(8):
            for shade in (60, 180):
                self.write("photos", "class %d" % shade, "%d.ppm" % number, content=ppm(12, 12, shade + number))
        self.write("photos", "class 60", "<script>.ppm", content=ppm(12, 12, 60)[:200])
        self.assertIn("cannot be read", self.shoal("data", "photos:" + self.path("photos"), status=1).err)
        page = self.page("photos:" + self.path("photos"), "--skip-damaged")
        self.assertRegex(page.text, r"left out, damaged: .*class 60/<script>\.ppm")
        self.assertRegex(self.shoal("data", "photos:" + self.path("photos"), "--skip-damaged").out,
                         r"(?m)^left out, damaged: .*<script>\.ppm")

    def test_a_page_of_a_table(self):
        rows = ["%s,%d,%s,%s" % ("<b>%d</b>" % (i % 3), i % 7, "" if i == 5 else i * 2, "yes" if i % 2 else "no") for i in range(60)]
        rows[20] = "<b>1</b>,2,9999,no"
        self.write("t.csv", content="colour,size,<i>price,bought\n" + "\n".join(rows) + "\n")
        page = self.page("table:" + self.path("t.csv"))
        self.assertEqual(page.pictures, [])
        cells = page.texts
        self.assertIn("<i>price", cells)
        self.assertIn("<b>1</b>", cells)
        self.assertIn("9999", cells)  # the odd row, in its own unit
        self.assertEqual(page.tags("b") + page.tags("i"), [])
        self.assertIn("missing values", page.text)
        self.assertGreaterEqual(len(page.tags("figure")), 10)

    def test_a_page_of_series(self):
        for number in range(8):
            rows = "".join("%d,%.4f,%.4f\n" % (t, math.sin(t / 3 + number), t % 5) for t in range(64))
            for label in ("walk", "run"):
                self.write("series", label, "%d.csv" % number, content="time,<x>,y\n" + rows)
        page = self.page("series:" + self.path("series"), "--window", "32")
        lines = page.tags("polyline")
        self.assertEqual(len(lines), 20)  # ten samples of two columns
        for line in lines:
            points = [tuple(map(int, point.split(","))) for point in line["points"].split()]
            self.assertEqual(len(points), 32)
            self.assertTrue(all(0 <= x <= 400 and 0 <= y <= 200 for x, y in points))
        self.assertIn("<x>", page.texts)

    def test_a_page_of_recordings(self):
        for number in range(12):
            os.makedirs(self.path("audio", "ab"[number % 2]), exist_ok=True)
            with wave.open(self.path("audio", "ab"[number % 2], "%d.wav" % number), "wb") as file:
                file.setparams((1, 2, 8000, 0, "NONE", ""))
                tone = 300 if number % 2 else 1500
                file.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(t * tone * 2 * math.pi / 8000)))
                                          for t in range(4000 + 100 * number)))
        page = self.page("audio:" + self.path("audio"))
        self.assertEqual(len(page.pictures), 10)
        brightest = {"a": set(), "b": set()}
        for name, picture in zip(re.findall(r"\b([ab]), distance", page.text), page.pictures, strict=True):
            width, height, channels, shades = pages.pixels(picture)
            self.assertEqual(channels, 3)
            self.assertLessEqual(max(width, height), 64)
            greens = [sum(shades[y * width * 3 + 1:(y + 1) * width * 3:3]) for y in range(height)]
            brightest[name].add(greens.index(max(greens)))
        self.assertLess(max(brightest["a"]), min(brightest["b"]))  # 1,500 Hz stands above 300 Hz

    def test_a_page_that_cannot_be_written(self):
        result = self.shoal("data", "digits:20/10", "-o", "nowhere/page.html", status=1)
        self.assertIn("--output nowhere/page.html: No such file or directory", result.err)
        result = self.shoal("data", "digits:20/10", "-o", "-", "--json", "-", status=2)
        self.assertIn("cannot both be '-'", result.err)

    def test_what_cannot_be_read(self):
        self.assertIn("nowhere", self.shoal("data", "mnist:" + self.path("nowhere"), status=1).err)
        self.assertIn("unknown data 'flounder'", self.shoal("data", "flounder", status=2).err)


if __name__ == "__main__":
    harness.main()
