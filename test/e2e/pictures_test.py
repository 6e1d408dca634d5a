#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: it has no threads of its own.
"""The samples that a model is worst at, as pictures, and the learning rate in a report."""

import csv
import json
import os

import harness
import pages

MLP = ("mlp:784-16-10", "digits:640/90", "--batch-size", "64", "--grain", "16", "--epochs", "2", "--seed", "5")
EVIL = "<script>alert(1)<|script>"


class Pictures(harness.Case):
    def read(self, *names):
        with open(self.path(*names), encoding="utf-8", newline="") as file:
            return file.read()

    def page(self, run):
        self.shoal("report", run, "-o", "page.html")
        return pages.Reader(self.read("page.html"))

    def points(self, run):
        return json.loads(self.shoal("report", run, "--format", "json").out)["runs"][0]["points"]

    def test_a_report_shows_the_worst_samples(self):
        self.train(*MLP, "--run", "run", "--quiet")
        rows = list(csv.DictReader(self.read("run", "worst.csv").splitlines()))
        samples = json.loads(self.read("run", "worst.json"))["samples"]
        self.assertEqual(len(samples), 24)
        for row, one in zip(rows, samples):
            self.assertEqual((int(row["index"]), row["target"], row["answer"]), (one["index"], one["target"], one["answer"]))
            self.assertAlmostEqual(float(row["loss"]), one["loss"], places=4)
            self.assertAlmostEqual(float(row["probability"]), one["probability"], places=4)
        page = self.page("run")
        self.assertEqual([pages.pixels(picture)[:3] for picture in page.pictures], [(28, 28, 1)] * 24)
        self.assertIn("img-src data:", page.tags("meta")[2]["content"])
        first = samples[0]
        self.assertRegex(page.text, r"is %s, answer %s with %.2f" % (first["target"], first["answer"], 100 * first["probability"]))
        self.assertIn("validation %d" % first["index"], page.text)
        self.assertIn("Validation samples with the largest losses", self.shoal("report", "run").out)
        os.remove(self.path("run", "worst.json"))
        page = self.page("run")
        self.assertEqual(page.pictures, [])
        self.assertIn("No worst samples to show: this run has no worst.json", page.text)

    def test_eval_makes_a_page_of_them(self):
        self.train(*MLP, "--run", "run", "--quiet")
        self.shoal("eval", "run", "--errors", "worst.html", "--quiet")
        page = pages.Reader(self.read("worst.html"))
        self.assertEqual(len(page.pictures), 24)
        self.assertIn("mlp:784-16-10 on digits:640/90", page.text)
        self.shoal("eval", "run", "--errors", "few.html", "--most", "3", "--quiet")
        self.assertEqual(pages.Reader(self.read("few.html")).pictures, page.pictures[:3])

    def test_names_and_photos_that_have_gone(self):
        """The pictures were made at the end of the training."""
        for number in range(12):
            for name, shade in ((EVIL, 40), ("plain", 200)):
                os.makedirs(self.path("photos", name), exist_ok=True)
                with open(self.path("photos", name, "%d.ppm" % number), "wb") as file:
                    file.write(b"P6 16 16 255\n" + bytes((shade + number + i) % 256 for i in range(768)))
        self.train("mlp:768-2", "photos:" + self.path("photos"), "--resize", "16", "--epochs", "1", "--batch-size", "8",
                   "--run", "run", "--quiet")
        os.rename(self.path("photos"), self.path("gone"))
        page = self.page("run")
        self.assertGreater(len(page.pictures), 2)
        self.assertEqual({pages.pixels(picture)[:3] for picture in page.pictures}, {(16, 16, 3)})
        self.assertIn(EVIL, page.text)
        self.assertEqual(len(page.tags("script")), 3)  # those of the template

    def test_the_learning_rate_is_told(self):
        self.train(*MLP, "--lr", "0.5", "--schedule", "step:1,0.5", "--run", "run", "--quiet")
        points = self.points("run")
        self.assertEqual(points["step"], list(range(1, 21)))
        self.assertEqual(points["learning_rate"], [0.5] * 10 + [0.25] * 10)
        self.train("--resume", "run", "--epochs", "3", "--lr", "0.125", "--quiet")
        points = self.points("run")
        self.assertEqual(points["learning_rate"], [0.5] * 10 + [0.25] * 10 + [0.03125] * 10)
        self.assertIn("Learning rate", self.page("run").scripts[-1])


if __name__ == "__main__":
    harness.main()
