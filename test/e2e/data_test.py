#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is in a data set: shoal data."""

import json
import os
import shutil

import harness


class Data(harness.Case):
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
                        r"(?m)^duplicates  0, of which 0 to validate with", r"(?m)^class  training  validation$", r"(?m)^9 +\d+ +\d+$"):
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
        self.assertIn("40 of 40 validation samples are training samples too: what is measured with them is too good",
                      found["warnings"])
        self.assertIn("warning: 40 of 40 validation", self.shoal("data", "cifar10:" + folder).out)

    def test_what_cannot_be_read(self):
        self.assertIn("nowhere", self.shoal("data", "mnist:" + self.path("nowhere"), status=1).err)
        self.assertIn("unknown data 'flounder'", self.shoal("data", "flounder", status=1).err)


if __name__ == "__main__":
    harness.main()
