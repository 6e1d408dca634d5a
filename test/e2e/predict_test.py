#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a trained model says of new files: shoal predict.

Each kind of data is trained with, then the files of its validation samples are predicted: the figures are those of
`shoal eval`, which read the same samples out of the packed set.
"""

import array
import csv
import json
import math
import os
import random
import select
import shutil
import struct
import subprocess

import fixtures
import harness


def rgb(width, height, draw):
    """A PNG of noise around one colour."""
    colour = [draw.randrange(200) for _ in range(3)]
    rows = b"".join(b"\0" + bytes(c + draw.randrange(50) for _ in range(width) for c in colour) for _ in range(height))
    return fixtures.png(width, height, rows, colour=2)


def floats(shape, values):
    return fixtures.npy("<f4", shape, struct.pack("<%df" % len(values), *values))


class Predict(harness.Case):
    def write(self, name, content):
        path = self.path(*name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def fit(self, *arguments):
        self.train(*arguments, "--run", "run", "--quiet")

    def predict(self, *files, status=0):
        result = self.shoal("predict", "run", *files, "--json", "-", status=status)
        return json.loads(result.out)

    def worst(self, *data):
        """What eval says of each sample, in their order."""
        self.shoal("eval", "run", *data, "--errors", "worst.csv", "--most", "10000", "--quiet")
        with open(self.path("worst.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return sorted(rows, key=lambda row: int(row["index"]))

    def assert_near(self, a, b):
        """The same but for the digits that files have of them."""
        self.assertTrue(math.isclose(a, float(b), rel_tol=6e-9, abs_tol=1e-30), (a, b))

    def assert_classes(self, predicted, measured):
        self.assertEqual(len(predicted), len(measured))
        for one, row in zip(predicted, measured):
            self.assertEqual(one["class"], row["answer"])
            self.assert_near(one["probability"], row["probability"])
            shares = [each["probability"] for each in one["classes"]]
            self.assertEqual((shares[0], shares), (one["probability"], sorted(shares, reverse=True)))
            self.assertAlmostEqual(sum(shares), 1, places=9)

    # --- each kind of data ---

    def put_photos(self):
        draw = random.Random(7)
        for split, count in (("train", 8), ("val", 20)):
            for i in range(count):
                for name in ("a b", "rose"):
                    self.write("photos/%s/%s/%02d.png" % (split, name, i), rgb(draw.randrange(20, 70), draw.randrange(20, 70), draw))

    def test_photos(self):
        self.put_photos()
        self.fit("resnet:8", "photos:photos", "--resize", "16", "--fit", "pad", "--epochs", "2", "--lr", "0.05", "--normalize",
                 "imagenet")
        predicted = self.predict("photos/val")
        self.assert_classes(predicted, self.worst())
        self.assertEqual([one["name"] for one in predicted[:2]], ["photos/val/a b/00.png", "photos/val/a b/01.png"])
        # Neither the number of cores nor what stands beside it matters to a photo.
        lines = self.shoal("predict", "run", "photos/val", "--lanes", "1").out.splitlines()
        self.assertEqual(lines, self.shoal("predict", "run", "photos/val", "--lanes", "3").out.splitlines())
        self.assertEqual(lines[7:8], self.shoal("predict", "run", predicted[7]["name"]).out.splitlines())
        self.assertRegex(lines[0], r"^photos/val/a b/00\.png  (a b|rose) [0-9.]+ %(  (a b|rose) [0-9.]+ %)?$")
        self.assertRegex(self.shoal("predict", "run", "photos/val/rose/00.png", "--top", "1").out,
                         r"^photos/val/rose/00\.png  \S.* [0-9.]+ %\n$")
        # A JPEG of any name, and a checkpoint in a run's place.
        self.write("new", fixtures.jpeg(40, 24, 90))
        best = self.path("run", "checkpoints", "best.safetensors")
        self.assertEqual(self.shoal("predict", best, "new").out, self.shoal("predict", "run", "new").out)

    def test_last_weights(self):
        self.put_photos()
        self.fit("mlp:768-4-2", "photos:photos", "--resize", "16", "--epochs", "3", "--lr", "2", "--seed", "3")
        last = self.path("run", "checkpoints", "last.safetensors")
        of = {name: self.shoal("predict", *arguments, "photos/val").out
              for name, arguments in (("best", ["run"]), ("last", ["run", "--last"]), ("file", [last]))}
        self.assertEqual(of["last"], of["file"])

    def test_images_of_other_sets(self):
        """A network that was trained with images of no files takes photos of any size."""
        self.fit("lenet", "digits:200/20", "--epochs", "1")
        self.write("grey.png", fixtures.png(40, 60, bytes(60 * 41)))
        self.write("colour.png", rgb(28, 28, random.Random(1)))
        result = self.shoal("predict", "run", "grey.png", "colour.png", status=1)
        self.assertRegex(result.out, r"^grey\.png  \d [0-9.]+ %")
        self.assertEqual(result.err, "shoal: colour.png: is in colour, but the samples are grey; make it grey\n")

    def test_recordings(self):
        draw = random.Random(3)
        for split, count in (("train", 6), ("val", 3)):
            for i in range(count):
                for name, step in (("low", 0.2), ("high", 0.9)):
                    samples = [int(8000 * math.sin(step * t) + draw.randrange(-900, 900)) for t in range(draw.randrange(1500, 2500))]
                    self.write("sounds/%s/%s/%d.wav" % (split, name, i),
                               fixtures.wav(array.array("h", samples).tobytes(), rate=draw.choice((8000, 11025))))
        self.fit("auto", "audio:sounds", "--epochs", "1", "--batch-size", "4")
        self.assert_classes(self.predict("sounds/val"), self.worst())

    def test_arrays(self):
        draw = random.Random(5)
        for split, count in (("train", 30), ("val", 20)):
            values = [draw.gauss(3, 2) for _ in range(count * 24)]
            self.write("xy/x_%s.npy" % split, floats((count, 4, 6, 1), values))
            self.write("xy/y_%s.npy" % split, floats((count, 2), [f(values[i * 24]) for i in range(count) for f in (abs, math.exp)]))
            if split == "val":
                self.write("alone.npy", floats((4, 6, 1), values[24:48]))
                self.write("odd.npy", floats((6, 4), values[24:48]))
                self.write("nan.npy", floats((2, 4, 6, 1), [float("nan")] + values[25:72]))
        self.fit("mlp:24-8-2", "npy:xy", "--task", "regression", "--epochs", "2", "--lr", "0.01")
        predicted = self.predict("xy/x_val.npy")
        measured = self.worst()
        self.assertEqual(len(predicted), 20)
        for one, row in zip(predicted, measured):
            for number in one["numbers"]:
                self.assert_near(number["value"], row["answer " + number["name"]])
        self.assertEqual(predicted[3]["name"], "xy/x_val.npy, sample 3")
        alone = self.predict("alone.npy")
        self.assertEqual((alone[0]["name"], alone[0]["numbers"]), ("alone.npy", predicted[1]["numbers"]))
        result = self.shoal("predict", "run", "odd.npy", "nan.npy", "xy/y_val.npy", "x.csv", status=1)
        self.assertRegex(result.out, r"^nan\.npy, sample 1  \S+ \S+  \S+ \S+\n$")
        self.assertEqual(result.err, "shoal: odd.npy: is [6][4], but the run was trained with samples of [4][6][1]; save "
                         "[N][4][6][1], or one sample\n"
                         "shoal: nan.npy: number 0 of sample 0 is NaN\n"
                         "shoal: xy/y_val.npy: is [20][2], but the run was trained with samples of [4][6][1]; save [N][4][6][1], "
                         "or one sample\n"
                         "shoal: x.csv: is not named like an array; the run was trained with arrays: NAME.npy, or x in NAME.npz\n")

    def test_labels(self):
        draw = random.Random(9)
        for split in ("train", "val"):
            xs = [draw.gauss(0, 1) for _ in range(60)]
            self.write("xy/x_%s.npy" % split, floats((20, 3), xs))
            self.write("xy/y_%s.npy" % split, floats((20, 3), [float(x > 0) for x in xs]))
        self.fit("mlp:3-16-3", "npy:xy", "--task", "multi-label", "--epochs", "20", "--lr", "1", "--batch-size", "5")
        for one, row in zip(self.predict("xy/x_val.npy"), self.worst()):
            self.assertEqual(set(one["labels"]), set(filter(None, row["answer"].split(";"))))
            above = [each["name"] for each in one["classes"] if each["probability"] > 0.5]
            self.assertEqual(one["labels"], above)
        self.assertRegex(self.shoal("predict", "run", "xy/x_val.npy").out, r"(?m)sample \d+  (none|\d \d+\.\d\d %.*)$")

    def test_anomalies(self):
        """The threshold is the run's error 95 %."""
        draw = random.Random(2)
        for split in ("train", "val"):
            self.write("x/x_%s.npy" % split, floats((40, 8), [draw.gauss(0, 1) for _ in range(320)]))
        self.write("far.npy", floats((8,), [9, -9] * 4))
        self.fit("mlp:8-2-8", "npy:x", "--task", "reconstruction", "--epochs", "2", "--lr", "0.01")
        predicted, far = self.predict("x/x_val.npy"), self.predict("far.npy")[0]
        for one, row in zip(predicted, self.worst()):
            self.assert_near(one["error"], row["loss"])
        with open(self.path("run", "metrics.json"), encoding="utf-8") as file:
            error95 = json.load(file)["error95"]
        self.assertEqual(sum(one["above"] for one in predicted), 2)
        self.assertTrue(far["above"])
        self.assert_near(far["threshold"], error95)
        self.assertRegex(self.shoal("predict", "run", "far.npy").out, r"^far\.npy  error \d\S+  above the threshold\n$")
        self.assertIn("below the threshold", self.shoal("predict", "run", "far.npy", "--threshold", "1e6").out)

    def put_series(self, name, rows, draw, step, label=None):
        lines = ["timestamp,x,y" + (",label" if label else "")]
        for t in range(rows):
            lines.append("%d,%.3f,%.3f" % (t, math.sin(step * t) + draw.gauss(0, 0.1), draw.gauss(5, 2)) + ("," + label if label else ""))
        self.write(name, "\n".join(lines) + "\n")

    def test_series(self):
        draw = random.Random(4)
        for split, count in (("train", 4), ("val", 2)):
            for i in range(count):
                for name, step in (("slow", 0.1), ("fast", 1.1)):
                    self.put_series("moves/%s/%s/%d.csv" % (split, name, i), draw.randrange(40, 90), draw, step)
        self.fit("auto", "series:moves", "--window", "16", "--epochs", "1", "--batch-size", "8")
        predicted = self.predict("moves/val")
        self.assert_classes(predicted, self.worst())
        self.assertEqual([one["name"] for one in predicted[:2]], ["moves/val/fast/0.csv, row 1", "moves/val/fast/0.csv, row 9"])
        self.write("turned.csv", "y,x\n" + "".join("5,%d\n" % (i % 3) for i in range(16)))
        self.write("turned_back.csv", "time,x,y\n" + "".join("%d,%d,5\n" % (i, i % 3) for i in range(16)))
        turned, back = self.predict("turned.csv", "turned_back.csv")
        self.assertEqual(turned["classes"], back["classes"])
        self.write("short.csv", "x,y\n1,2\n")
        self.write("other.csv", "x,z\n" + 20 * "1,2\n")
        result = self.shoal("predict", "run", "short.csv", "other.csv", status=1)
        self.assertEqual(result.err, "shoal: short.csv: has 1 rows, fewer than the window of 16 that the run was trained with\n"
                         "shoal: other.csv: columns that the run was trained with are missing: y\n")

    def test_series_with_a_column_of_labels(self):
        draw = random.Random(6)
        for i in range(4):
            for name, step in (("slow", 0.1), ("fast", 1.1)):
                self.put_series("moves/%s%d.csv" % (name, i), 40, draw, step, label=name)
        self.fit("auto", "series:moves", "--window", "16", "--epochs", "1", "--batch-size", "8")
        with_label = self.predict("moves/slow1.csv")
        with open(self.path("moves", "slow1.csv"), encoding="utf-8") as file:
            self.write("bare.csv", "\n".join(line.rsplit(",", 1)[0] for line in file.read().splitlines()) + "\n")
        self.assertEqual([one["classes"] for one in with_label], [one["classes"] for one in self.predict("bare.csv")])

    # --- tables ---

    def put_table(self):
        draw = random.Random(1)
        rows = []
        for i in range(90):
            colour, a = draw.choice(("red", "green", "blue")), draw.gauss(10, 3)
            rows.append(("%.3f" % a, colour, "" if i % 17 == 0 else "%.3f" % draw.gauss(0, 1),
                         "big" if a + 3 * (colour == "red") > 11 else "small"))
        self.table("train.csv", ("a", "colour", "b", "size"), rows)
        self.fit("auto", "table:train.csv", "--epochs", "3")
        return rows

    def table(self, name, header, rows):
        lines = [header] if header else []
        self.write(name, "".join(",".join(row) + "\n" for row in lines + list(rows)))

    def test_rows(self):
        rows = self.put_table()[:40]
        self.table("new.csv", ("a", "colour", "b", "size"), rows)
        predicted = self.predict("new.csv")
        self.assert_classes(predicted, self.worst("table:new.csv"))
        self.assertEqual([(one["name"], one["target"]) for one in predicted], [("new.csv, line %d" % (i + 2), rows[i][3]) for i in range(40)])
        self.assertRegex(self.shoal("predict", "run", "new.csv").out.splitlines()[0],
                         r"^new\.csv, line 2  (big|small) [0-9.]+ %(  (big|small) [0-9.]+ %)?  \(" + rows[0][3] + r"\)$")
        # The target is not needed, columns stand anywhere, and more of them do no harm.
        self.table("bare.csv", ("b", "more", "a", "colour"), [(b, "1", a, colour) for a, colour, b, _ in rows])
        bare = self.predict("bare.csv")
        self.assertEqual([one["classes"] for one in bare], [one["classes"] for one in predicted])
        self.assertNotIn("target", bare[0])
        # Nor is a header, where they stand as in the training.
        self.table("headless.csv", None, [row[:3] for row in rows])
        self.assertEqual([one["classes"] for one in self.predict("headless.csv")], [one["classes"] for one in predicted])

    def test_rows_that_cannot_be_read(self):
        self.put_table()
        self.write("bad.csv", "a,colour,b\n1,red,2\nmany,red,2\n1,red\n5,blue,\n")
        self.write("unknown.csv", "a,color,b\n1,red,2\n")
        self.write("names.csv", "x,y,z\n1,red,2\n")
        result = self.shoal("predict", "run", "bad.csv", "unknown.csv", "names.csv", "nowhere.csv", "run/job.json", status=1)
        self.assertEqual([line.split("  ")[0] for line in result.out.splitlines()], ["bad.csv, line 2", "bad.csv, line 5"])
        self.assertEqual(result.err.splitlines()[:4], [
            "shoal: bad.csv: line 3: 'many' in the column 'a' is not a number",
            "shoal: bad.csv: line 4 has 2 fields, but the lines before it have 3; fix or remove it",
            "shoal: unknown.csv: line 1: columns that the run was trained with are missing: colour",
            "shoal: names.csv: line 1: columns that the run was trained with are missing: a, colour, b"])
        self.assertIn("nowhere.csv", result.err)
        self.assertIn("run/job.json", result.err)

    def test_a_table_without_header(self):
        draw = random.Random(8)
        rows = [tuple("%.2f" % draw.gauss(0, 1) for _ in range(3)) for _ in range(60)]
        rows = [row + (str(int(float(row[0]) > 0)),) for row in rows]
        self.table("train.csv", None, rows)
        self.fit("auto", "table:train.csv", "--epochs", "2")
        self.table("new.csv", None, rows[:20])
        predicted = self.predict("new.csv")
        self.assert_classes(predicted, self.worst("table:new.csv"))
        self.table("named.csv", ("p", "q", "r"), [row[:3] for row in rows[:20]])
        named = self.predict("named.csv")
        self.assertEqual([one["classes"] for one in named], [one["classes"] for one in predicted])
        self.assertEqual((predicted[0]["name"], named[0]["name"]), ("new.csv, line 1", "named.csv, line 2"))

    def test_numbers_of_a_table(self):
        draw = random.Random(8)
        rows = [("%.2f" % x, "%.2f" % (500 + 100 * x)) for x in (draw.gauss(0, 1) for _ in range(60))]
        self.table("train.csv", ("x", "price"), rows)
        self.fit("mlp:1-8-1", "table:train.csv", "--task", "regression", "--epochs", "3", "--lr", "0.02")
        measured = self.worst("table:train.csv")  # the very data of the training: its validation samples
        values = {row["target price"]: row["answer price"] for row in measured}
        predicted = self.predict("train.csv")
        self.assertGreater(len(values), 5)
        for target, answer in values.items():
            one = min(predicted, key=lambda each: abs(float(each["target"]) - float(target)))
            self.assert_near(one["numbers"][0]["value"], answer)
        self.assertRegex(self.shoal("predict", "run", "train.csv").out, r"^train\.csv, line 2  price \d+(\.\d+)?  \(\d+(\.\d+)?\)\n")

    # --- streams ---

    def test_rows_of_a_stream(self):
        """Each row is answered before the next one comes."""
        rows = self.put_table()
        self.table("new.csv", ("a", "colour", "b"), [row[:3] for row in rows[:5]])
        expected = [line.split("  ", 1)[1] for line in self.shoal("predict", "run", "new.csv").out.splitlines()]
        process = subprocess.Popen([harness.SHOAL, "predict", "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.folder, env={**os.environ, "HOME": self.folder})
        self.addCleanup(process.kill)
        sent = b"a,colour,b\n"
        for i in range(5):
            process.stdin.write(sent[:3])
            process.stdin.flush()
            process.stdin.write(sent[3:] + ",".join(rows[i][:3]).encode() + b"\n")
            process.stdin.flush()
            sent = b""
            self.assertTrue(select.select([process.stdout], [], [], 30 * harness.PATIENCE)[0], "no answer to row %d" % i)
            self.assertEqual(process.stdout.readline().decode(), "line %d  %s\n" % (i + 2, expected[i]))
        process.stdin.write(b"1,red\nmany,red,1\n" + ",".join(rows[0][:3]).encode())
        out, err = process.communicate(timeout=30 * harness.PATIENCE)
        self.assertEqual(out.decode(), "line 9  %s\n" % expected[0])
        self.assertEqual(err.decode().splitlines(), [
            "shoal: standard input: line 7 has 2 fields, but the lines before it have 3; fix or remove it",
            "shoal: standard input: line 8: 'many' in the column 'a' is not a number"])
        self.assertEqual(process.returncode, 1)

    def test_what_is_no_stream(self):
        self.fit("lenet", "digits:60/20", "--steps", "1")
        self.assertEqual(self.shoal("predict", "run", "-", status=1).err,
                         "shoal: the run was trained with photos, which cannot be read from a stream; name the files\n")

    # --- what can be wrong ---

    def test_damaged_files(self):
        self.put_photos()
        self.fit("mlp:768-4-2", "photos:photos", "--resize", "16", "--epochs", "1")
        good = self.path("photos", "val", "rose", "03.png")
        with open(good, "rb") as file:
            self.write("new/cut.png", file.read()[:200])
        self.write("new/empty.jpg", b"")
        self.write("new/sound.jpg", fixtures.wav(bytes(200)))
        shutil.copy(good, self.path("new", "good.png"))
        os.mkdir(self.path("nothing"))
        result = self.shoal("predict", "run", "new", "nothing", "nowhere.jpg", status=1)
        self.assertRegex(result.out, r"\Anew/good\.png  \S[^\n]*\n\Z")
        lines = result.err.splitlines()
        self.assertEqual([line.split(": ")[:2] for line in lines],
                         [["shoal", name] for name in ("new/cut.png", "new/empty.jpg", "new/sound.jpg", "nothing", "nowhere.jpg")])
        self.assertEqual(lines[3], "shoal: nothing: holds no photos")
        predicted = json.loads(self.shoal("predict", "run", "new", "--json", "-", status=1).out)
        self.assertEqual([one["name"] for one in predicted], ["new/good.png"])

    def test_names_are_made_safe(self):
        self.put_photos()
        self.fit("mlp:768-4-2", "photos:photos", "--resize", "16", "--epochs", "1")
        name = b"\x1b[31m\xff.png"
        shutil.copy(self.path("photos", "val", "rose", "03.png"), os.path.join(self.folder.encode(), name))
        with open(os.path.join(self.folder.encode(), b"\x1b.jpg"), "wb"):
            pass
        result = self.shoal("predict", "run", ".", status=1)
        self.assertIn("./?[31m?.png  ", result.out)
        self.assertIn("shoal: ./?.jpg: ", result.err)
        self.assertNotIn("\x1b", result.out + result.err)

    def test_the_list(self):
        self.put_photos()
        self.fit("mlp:768-4-2", "photos:photos", "--resize", "16", "--epochs", "1")
        out = self.shoal("predict", "run", "photos/val/rose", "--json", "answers.json").out
        with open(self.path("answers.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)), len(out.splitlines()))
        self.assertEqual(self.shoal("predict", "run", "photos/val/rose", "--json", "answers.json", "--quiet").out, "")
        self.assertEqual(json.loads(self.shoal("predict", "run", "nowhere.jpg", "--json", "-", status=1).out), [])
        self.assertIn("choose another file for --json", self.shoal("predict", "run", "x", "--json", "no/where.json", status=1).err)

    def test_a_run_without_end(self):
        """One under way, one that was killed, and one without a checkpoint."""
        training = self.start("train", "mlp:784-16-10", "digits:640/90", "--run", "run", "--epochs", "100000")
        self.write("grey.png", fixtures.png(28, 28))
        early = self.shoal("predict", "nowhere", "grey.png", status=2)
        self.assertEqual(early.err.splitlines()[0], "shoal: predict: no run or file nowhere")
        training.wait_for(r"epoch 3/", timeout=60, stream="err")
        during = self.shoal("predict", "run", "grey.png")
        self.assertEqual(during.err, "the training still runs: its current weights are used\n")
        self.assertRegex(during.out, r"^grey\.png  \d ")
        training.kill()
        training.wait()
        after = self.shoal("predict", "run", "grey.png")
        self.assertEqual(after.err, "")
        shutil.rmtree(self.path("run", "checkpoints"))
        self.assertIn("run", self.shoal("predict", "run", "grey.png", status=1).err)

    def test_data_of_no_files(self):
        self.fit("lenet", "noise:1x28x28/10/64/16", "--steps", "1")
        self.assertIn("the run was trained with noise, which is not made of single files",
                      self.shoal("predict", "run", "x.png", status=1).err)

    def test_real_photos(self):
        photos = self.data("photos")
        self.fit("auto", "photos:" + photos, "--resize", "32", "--steps", "3")
        self.assert_classes(self.predict(os.path.join(photos, "val")), self.worst())


if __name__ == "__main__":
    harness.main()
