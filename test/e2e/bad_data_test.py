#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: its threads are those of reading_test.py.
"""Data as people have them, damaged, odd or hostile: what is wrong is said in one line that names the file, the place
and the remedy, ends soon, takes little memory and leaves nothing behind."""

import fcntl
import gzip
import io
import json
import os
import pickle
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import zipfile

import fixtures
import harness

SIDE = 16
PHOTO = fixtures.jpeg(SIDE, SIDE)
ROWS = "".join("%d,%d,%s\n" % (3 * i, i * i % 7, "yn"[i % 2]) for i in range(40))
TABLE = "a,b,c\n" + ROWS  # 41 lines
TONE = struct.pack("<1600h", *[((i * 37) % 200 - 100) * 100 for i in range(1600)])
NUMBERS = struct.pack("<60d", *[i * 0.5 for i in range(60)])
LABELS = struct.pack("<20q", *[i % 2 for i in range(20)])
STEADY = ["%d,%d,%d,%s\n" % (i, i % 5, i % 7, "ab"[i // 50 % 2]) for i in range(600)]
DAMAGED = "{} of {} samples cannot be read; repair or remove them, or leave them out with --skip-damaged: "
NOBODY = 65534
MEMORY_MOST_KB = 60000


class Dangerous:
    """An object that makes a file where it is unpickled."""

    def __reduce__(self):
        return (os.mkdir, ("unpickled",))


class BadData(harness.Case):
    def setUp(self):
        super().setUp()
        self.packed = self.path(".cache", "shoal", "packed")

    def put(self, name, content):
        fixtures.write(self.path(name), content)

    def put_photos(self, below="p", classes="ab", count=5, side=SIDE):
        for k, name in enumerate(classes):
            for i in range(count):
                self.put("%s/%s/%d.jpg" % (below, name, i), fixtures.jpeg(side, side, 100 + i + 20 * k))

    def put_recordings(self):
        for name in "ab":
            for i in range(4):
                self.put("s/%s/%d.wav" % (name, i), fixtures.wav(TONE[:len(TONE) - 2 * i]))

    def put_arrays(self, x, y=None):
        self.put("n/x.npy", x)
        self.put("n/y.npy", fixtures.npy("<i8", (20,), LABELS) if y is None else y)

    def clear(self):
        for name in os.listdir(self.folder):
            path = self.path(name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)

    def refused(self, message, spec, *options):
        """Looking and training fail with one line that has the message, and leave nothing."""
        commands = [("data", spec), ("train", "mlp", spec, "--steps", "1", "--run", "run", "--quiet")]
        damaged = "cannot be read; repair or remove them" in message
        shutil.rmtree(self.packed, ignore_errors=True)
        for command in commands[:1] if harness.SANITIZED else commands:
            result = self.shoal(*command, *options, status=1, timeout=20)
            self.assertEqual(result.out, "", str(result))
            self.assertRegex(result.err, r"\Ashoal: [^\n]*\n\Z", str(result))
            self.assertIn(message, result.err)
            self.assertFalse(os.path.exists(self.path("run")))
            left = os.listdir(self.packed) if os.path.isdir(self.packed) else []
            if damaged:  # what could be decoded is for --skip-damaged
                left = [name for name in left if not re.search(r"\.(part|done)$", name)]
            self.assertEqual([name for name in left if name != "lock"], [], str(result))

    def found(self, spec, *options):
        """What is said of data that are taken; one step of training ends well too."""
        said = json.loads(self.shoal("data", spec, *options, "--json", "-", timeout=20).out)
        if not harness.SANITIZED:
            self.train("mlp", spec, *options, "--steps", "1", "--batch-size", "4")
        return said

    def check_all(self, cases, spec, *options):
        """Each case: what makes the files, and the message. It begins in an empty folder."""
        for make, message in cases:
            with self.subTest(message=message):
                self.clear()
                make()
                self.refused(message, spec, *options)

    def measured(self, *arguments, status=1):
        """Runs it and looks how much memory it took. What starts it counts too, so a test keeps little itself."""
        with tempfile.TemporaryFile() as said:
            child = subprocess.Popen([harness.SHOAL, *arguments], cwd=self.folder, stdout=said, stderr=said,
                                     env={**os.environ, "HOME": self.folder})
            timer = threading.Timer(60 * harness.PATIENCE, child.kill)
            timer.start()
            _, ended, used = os.wait4(child.pid, 0)
            timer.cancel()
            child.returncode = os.waitstatus_to_exitcode(ended)
            said.seek(0)
            result = harness.Result(arguments, child.returncode, "", said.read().decode(errors="replace"), 0)
        self.assertEqual(result.status, status, str(result))
        if not harness.SANITIZED:
            self.assertLess(used.ru_maxrss, MEMORY_MOST_KB, str(result))
        return result


class Photos(BadData):
    def test_folders(self):
        def splits():
            self.put_photos("p/train")
            self.put_photos("p/val", "abc")

        def nothing_but(name):
            self.put_photos()
            self.put("p/c/" + name, b"?")

        self.check_all((
            (lambda: (self.put_photos(), os.mkdir(self.path("p", "c"))),
             "p: c/ holds no photos; put those of its class there, or remove it"),
            (lambda: nothing_but("1.heic"),
             "p: c/ holds no photos, only files of other kinds (1); convert any pictures to JPEG or PNG"),
            (lambda: nothing_but("Thumbs.db"), "p: c/ holds no photos; put those of its class there, or remove it"),
            (lambda: self.put_photos(classes="a"), "p: there is only one class, a; classification needs two or more"),
            (splits, "p: class c is only in val/: it cannot be learnt"),
            (lambda: os.mkdir(self.path("p")), "p: holds no folders of photos and no labels.csv; there are no photos "
             "(.jpg .jpeg .png .ppm .pgm .bmp .webp)"),
            (lambda: self.put("p", PHOTO), "p: is not a folder; name the folder that holds the data files"),
            (lambda: None, "p: cannot open the data folder: No such file or directory"),
        ), "photos:p")

    def test_files(self):
        def with_file(name, content):
            self.put_photos()
            self.put("p/" + name, content)

        def case(name, content, message):
            return (lambda: with_file(name, content)), DAMAGED.format(1, 11) + name + ": " + message

        short = fixtures.png(8000, 8000, b"\0")
        self.check_all((
            case("a/x.jpg", b"", "is empty"),
            case("a/x.jpg", b"These are words.", "is not a supported image: JPEG, PNG, PPM, PGM, BMP or WebP"),
            case("a/x.jpg", b"GIF89a" + bytes(50), "is a GIF, which is not supported; convert it to JPEG or PNG"),
            case("a/x.jpg", b"\0\0\0\x18ftypheic" + bytes(50), "is a HEIC, which is not supported; convert it to JPEG or "
                 "PNG"),
            case("b/cut.jpg", PHOTO[:-20], "is a damaged JPEG: Premature end of JPEG file"),
            case("b/bomb.png", fixtures.png(60000, 60000, b""), "is too large: 60000 x 60000 pixels; at most 65535 "
                 "each way and 268435456 in all can be read"),
            case("b/bomb.png", fixtures.png(9000, 9000, fixtures.adam7(1, 1), interlace=1), "is too large: 9000 x 9000 "
                 "pixels; at most 65535 each way and 67108864 in all can be read"),
            case("b/short.png", short, "is a damaged PNG: its %d bytes cannot hold the 8000 x 8000 pixels that it "
                 "promises" % len(short)),
            case("b/none.png", fixtures.png(0, 5, b""), "is a damaged PNG: "),
        ), "photos:p")

    def test_one_among_thousands(self):
        count = 300 if harness.SANITIZED else 1500
        self.put_photos(count=1)
        for name in "ab":
            for i in range(count):
                os.link(self.path("p", "a", "0.jpg"), self.path("p", name, "x%d.jpg" % i))
        self.put("p/b/cut.jpg", PHOTO[:-20])
        message = DAMAGED.format(1, 2 * count + 3) + "b/cut.jpg: is a damaged JPEG"
        self.refused(message, "photos:p")
        self.measured("data", "photos:p")
        # Without it all goes; a command that does not say so is refused as before.
        found = json.loads(self.shoal("data", "photos:p", "--skip-damaged", "--json", "-").out)
        self.assertEqual(found["training"] + found["validation"], 2 * count + 2)
        self.assertIn(message, self.shoal("data", "photos:p", status=1).err)

    def test_large_ones_take_little_memory(self):
        """Pixels that would fill hundreds of MB: they are decoded row by row."""
        if harness.SANITIZED:
            self.skipTest("it measures memory")
        self.put_photos()
        self.put("p/a/large.png", fixtures.png(60000, 500, depth=16, colour=6))
        self.put("p/a/wide.png", fixtures.png(20000, 1))
        self.measured("data", "photos:p", status=0)

    def test_kinds_and_sizes_may_be_mixed(self):
        self.put_photos()
        for name, content in (
                ("a/one.png", fixtures.png(1, 1)), ("a/wide.png", fixtures.png(20000, 1)),
                ("a/tall.png", fixtures.png(1, 5000)), ("a/deep.png", fixtures.png(9, 9, depth=16, colour=6)),
                ("a/interlaced.png", fixtures.png(9, 9, fixtures.adam7(9, 9), interlace=1)),
                ("b/inks.jpg", fixtures.jpeg(SIDE, SIDE, 90, 4)), ("b/colour.JPG", fixtures.jpeg(17, 9, 90, 3)),
                ("b/palette.png", fixtures.png(8, 8, depth=1, colour=3, before=fixtures.png_chunk(b"PLTE", b"abcdef"))),
                # What desktops leave behind.
                ("a/.DS_Store", b"?"), ("a/Thumbs.db", b"?"), (".DS_Store", b"?"), ("desktop.ini", b"?"),
                ("a/._one.png", b"?"), ("__MACOSX/a/1.png", b"?")):
            self.put("p/" + name, content)
        found = self.found("photos:p")
        self.assertEqual((found["training"] + found["validation"], found["sample"][0]), (18, 3))
        self.assertEqual([note for note in found["notes"] if "left out" in note], [])

    def test_links_pipes_and_names(self):
        self.put_photos()
        self.put_photos("q", "z")
        os.symlink("../q/z", self.path("p", "c"))  # a class may lie elsewhere
        os.symlink("..", self.path("p", "a", "up"))
        os.mkfifo(self.path("p", "a", "pipe.jpg"))
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(self.path("p", "b", "door.jpg"))
            found = self.found("photos:p")
        self.assertEqual([one["name"] for one in found["classes"]], ["a", "b", "c"])
        self.assertEqual(found["training"] + found["validation"], 15)
        notes = " ".join(found["notes"])
        self.assertIn("2 files left out, not named as photos: a/pipe.jpg", notes)
        self.assertIn("a/up is left out: it links to a folder above it", notes)

        os.symlink("itself", self.path("p", "b", "itself"))
        os.symlink("itself.jpg", self.path("p", "b", "itself.jpg"))
        self.refused(DAMAGED.format(1, 16) + "b/itself.jpg: cannot be opened: Too many levels of symbolic links",
                     "photos:p")
        self.clear()
        self.put_photos()
        self.put("p/d\n<script>/1\x1b[31m.jpg", b"?")
        with open(os.path.join(os.fsencode(self.folder), b"p/b/\xff.jpg"), "wb") as file:
            file.write(b"?")
        self.refused(DAMAGED.format(2, 12) + "b/?.jpg: is not a supported image: JPEG, PNG, PPM, PGM, BMP or "
                     "WebP; d?<script>/1?[31m.jpg: is not a supported image", "photos:p")

    def test_without_permission(self):
        self.put_photos()
        os.chmod(self.folder, 0o755)
        os.chmod(self.path("p", "a", "3.jpg"), 0)
        if os.geteuid() != 0:
            self.refused(DAMAGED.format(1, 10) + "a/3.jpg: cannot be opened: Permission denied", "photos:p")
            return
        try:
            ended = subprocess.run([harness.SHOAL, "data", "photos:p"], cwd=self.folder, text=True, capture_output=True,
                                   timeout=60 * harness.PATIENCE, check=False, user=NOBODY, group=NOBODY,
                                   extra_groups=[], env={**os.environ, "HOME": "/proc/none"})
        except PermissionError as error:
            self.skipTest("the program cannot run as another user here: %s" % error)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn(DAMAGED.format(1, 10) + "a/3.jpg: cannot be opened: Permission denied", ended.stderr)

    def test_labels(self):
        def with_labels(text):
            self.put_photos("p/x", count=2)
            self.put("p/labels.csv", text)

        def special(make):
            self.put_photos("p/x", count=2)
            make(self.path("p", "labels.csv"))

        missing = "has no labels: no row of the CSV file names it"
        self.check_all((
            (lambda: with_labels("file_name,label\nx/a/0.jpg,u\nnone.jpg,v\nx/b/1.jpg,v\nx/a/1.jpg,u\n"),
             "p: labels.csv:3: there is no photo none.jpg; x/b/0.jpg " + missing),
            (lambda: with_labels("file_name,label\n../out.jpg,u\n/etc/passwd,v\n"),
             "p: labels.csv:2: there is no photo ../out.jpg; labels.csv:3: there is no photo /etc/passwd; "),
            (lambda: with_labels("file_name,label\nx/a/0.jpg,u\nx/a/0.jpg,v\nx/a/1.jpg,u\nx/b/0.jpg,v\nx/b/1.jpg,v\n"),
             "p: labels.csv:3: x/a/0.jpg has labels already in line 2"),
            (lambda: special(os.mkfifo), "p/labels.csv: is not a regular file of at most 256 MB"),
            (lambda: special(os.mkdir), "p/labels.csv: is not a regular file of at most 256 MB"),
        ), "photos:p")
        self.clear()
        with_labels("file_name,v\nx/a/0.jpg,1\nx/a/1.jpg,nan\nx/b/0.jpg,3\nx/b/1.jpg,4\n")
        self.refused("p: labels.csv:3: 'nan' is not a number, which regression needs", "photos:p", "--task", "regression")


class Tables(BadData):
    def test_files(self):
        def text(content):
            return lambda: self.put("t.csv", content)

        def wide():
            names = ",".join("c%d" % i for i in range(100000))
            self.put("t.csv", names + "\n" + "\n".join(",".join("%d" % (i * j % 7) for i in range(100000))
                                                      for j in range(4)))

        self.check_all((
            (lambda: None, "t.csv: cannot open the table: No such file or directory"),
            (lambda: os.mkfifo(self.path("t.csv")), "t.csv: is not a regular file; name the file that holds the table"),
            (lambda: os.mkdir(self.path("t.csv")), "t.csv: is not a regular file; name the file that holds the table"),
            (text(""), "t.csv: is empty"),
            (text("\n\n  \n"), "t.csv: holds no row"),
            (text("a,b,c\n"), "t.csv: has a header in line 1 and no row below it"),
            (text("a,b,c\n1,2,x\n"), "t.csv: the target 'c' has only one class, 'x'; training needs at least two"),
            (text("1,2,x\n"), "t.csv: has only one row, in line 1"),
            (text("a\n1\n2\n"), "t.csv: no column is left as an input"),
            (wide, "the limit is 65536 of each; choose columns with --inputs"),
            (text("1234567890 " * 200000), "t.csv: line 1 has more than 100000 fields"),
            (text("a,b\n1,2\n" + "3" * 2000000), "t.csv: line 3, field 1: is longer than 1048576 bytes"),
            (text(TABLE + "1,2\n" + ROWS), "t.csv: line 42 has 2 fields, but the lines before it have 3; fix or remove "
             "it"),
            (text("a,b,c\n" + "".join("%d,%d,?\n" % (i, i % 3) for i in range(40))),
             "t.csv: all values of the target 'c' are missing; name another with --target"),
            (text(TABLE + "3,inf,y\n"), "t.csv: line 42: 'inf' in the column 'b' is not a finite number; fix it, or leave "
             "the column out with --inputs -b"),
            (text("a,b\n" + "".join("%d,%d.5\n" % (i, i) for i in range(40)) + "1,1e999\n"),
             "t.csv: line 42: '1e999' in the column 'b' is not a finite number; fix it, or remove the line"),
            (text(TABLE + '1,"2,y\n' + ROWS), "t.csv: line 42, field 2: its quote is not closed before the end of the "
             "file"),
            (text(TABLE + '1,2"x,y\n' + ROWS), "t.csv: line 42, field 2: has a quote inside; put the field in quotes and "
             'double the one inside, as in "5"" pipe"'),
            (text(TABLE.encode() + b"1,2,caf\xe9\n"), "t.csv: line 42, field 3: byte 0xe9 is not UTF-8; save the file as "
             "UTF-8"),
            (text(TABLE + "1,\0,y\n"), "t.csv: line 42 holds a zero byte: it is not text in UTF-8; save it as UTF-8"),
            (text(b"\xff\xfe" + TABLE.encode("utf-16-le")), "t.csv: is UTF-16 text; save it as UTF-8"),
            (text("a;b;c\n" + "".join("%d;%d,25;%s\n" % (i, i % 7, "yn"[i % 2]) for i in range(40))),
             "t.csv: line 2: '0,25' in the column 'b' is a number with a comma; write the column with decimal points, as "
             "in 0.5"),
            (text(b"PK\3\4" + bytes(100)), "t.csv: is a ZIP archive, as spreadsheets (.xlsx, .ods) are; save the table "
             "as CSV in UTF-8"),
        ), "table:t.csv")

    def test_columns(self):
        for text, options, message in (
                ("alpha,beta,gamma\n" + ROWS, ("--target", "gama"), "t.csv: --target: there is no column 'gama'; is "
                 "'gamma' meant?"),
                ("alpha,beta,gamma\n" + ROWS, ("--target", "zzzzzzzz"), "t.csv: --target: there is no column "
                 "'zzzzzzzz'; there are 3, from 'alpha' to 'gamma', also named by numbers from 1"),
                ('<script>,"b\n\x1b[31mx",c\n' + ROWS, ("--target", "zzzzzzzz"), "there are 3, from '<script>' to 'c'"),
                ("c,b,c\n" + ROWS, ("--target", "c"), "t.csv: --target: columns 1 and 3 are both called 'c'; write the "
                 "number of one")):
            with self.subTest(message):
                self.put("t.csv", text)
                self.refused(message, "table:t.csv", *options)
        self.put("t.csv", "c,b,c\n" + ROWS)
        found = self.found("table:t.csv", "--target", "3")
        self.assertIn("columns whose name another column has: c (column 3)", found["notes"])

    def test_ends_of_lines_are_alike(self):
        marked = b"\xef\xbb\xbf" + TABLE.encode()
        for content in (TABLE, marked, TABLE.replace("\n", "\r\n"), TABLE.replace("\n", "\r"), TABLE[:-1]):
            self.put("t.csv", content)
            found = self.found("table:t.csv")
            self.assertEqual((found["training"] + found["validation"], [one["name"] for one in found["classes"]]),
                             (40, ["n", "y"]))

    def test_missing_values(self):
        """NaN is missing: a row without a target is left out, an input is filled in."""
        self.put("t.csv", TABLE + "nan,3,y\n1,NaN,n\n1,2,?\n")
        found = self.found("table:t.csv")
        self.assertEqual(found["training"] + found["validation"], 42)
        self.assertIn("rows without a target, left out: 1", found["notes"])
        self.assertIn("missing values: a (1), b (1)", found["notes"])

    def test_large_files_take_little_memory(self):
        with open(self.path("t.csv"), "wb") as file:
            file.write(TABLE.encode())
            file.truncate(1 << (27 if harness.SANITIZED else 30))
        self.assertIn("t.csv: line 42 holds a zero byte", self.measured("data", "table:t.csv").err)
        with open(self.path("t.csv"), "wb") as file:
            file.write(b'a,b\n1,"')
            for _ in range(40):
                file.write(b"2\n" * 500000)
        self.assertIn("t.csv: line 2, field 2: is longer than 1048576 bytes; is a quote not closed?",
                      self.measured("data", "table:t.csv").err)
        os.unlink(self.path("t.csv"))
        with gzip.open(self.path("t.csv.gz"), "wb", 1) as file:
            file.write(b"a,b\n")
            for _ in range(100):
                file.write(bytes(1000000))
        self.assertIn("t.csv.gz: line 2 holds a zero byte", self.measured("data", "table:t.csv.gz").err)
        self.put("t.csv.gz", gzip.compress(TABLE.encode())[:-12])
        self.assertIn("t.csv.gz: is cut off: it ends after", self.measured("data", "table:t.csv.gz").err)


class Recordings(BadData):
    def test_files(self):
        def with_file(content):
            self.put_recordings()
            self.put("s/a/x.wav", content)

        def case(content, message):
            return (lambda: with_file(content)), DAMAGED.format(1, 9) + "a/x.wav: " + message

        again = "; copy or record it again"
        convert = "; convert it, for example with ffmpeg -i FILE NEW.wav"
        self.check_all((
            case(b"", "is empty" + again),
            case(b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<I", 999999) + bytes(100), "has a wrong header: a part of 999999 "
                 "bytes at byte 20 ends after the file" + again),
            case(fixtures.wav(b""), "has no samples; record it again or remove it"),
            case(fixtures.wav(TONE, promised=2000000000), "is cut off: its header promises 2000000000 bytes of samples, "
                 "3200 are there" + again),
            case(fixtures.wav(TONE, rate=1), "has 1 samples a second; 100 to 768000 can be read"),
            case(fixtures.wav(TONE, rate=0), "has an invalid header, or samples in a form that libsndfile "
                 "does not read" + convert),
            case(fixtures.wav(TONE, channels=0), "has an invalid header, or samples in a form that "
                 "libsndfile does not read" + convert),
            case(fixtures.wav(struct.pack("<100f", *[float("nan")] * 100), bits=32, form=3), "sample 0 is not a number"),
            case(b"ID3\3" + bytes(200), "is not in WAV, FLAC, AIFF or OGG, despite its name: it begins "
                 "with 0x49443303" + convert),
        ), "audio:s")

    def test_folders(self):
        self.check_all((
            (lambda: self.put("s/a/1.mp3", b"?"), "s: has no recordings (looked for names that end in .wav, .flac, "
             ".aiff or .ogg, also in folders below); convert others, for example with ffmpeg -i FILE NEW.wav"),
            (lambda: (self.put_recordings(), os.symlink("..", self.path("s", "a", "up"))),
             "s/a/up: is a link to a folder that contains it; remove it"),
            (lambda: (self.put_recordings(), os.mkdir(self.path("s", "c"))), "s: the folder c is empty: put the "
             "recordings of its class there, or remove it"),
            (lambda: self.put("s/a/1.wav", fixtures.wav(TONE)), "s: all recordings are of one class, 'a': there is "
             "nothing to distinguish"),
            (lambda: (self.put_recordings(), self.put("s/a/x\n<b>\x1b[31m.wav", b"?")),
             DAMAGED.format(1, 9) + "a/x?<b>?[31m.wav: is not"),
        ), "audio:s")

    def test_what_is_odd_and_good(self):
        self.put_recordings()
        self.put("s/a/unknown.wav", fixtures.wav(TONE, promised=0xffffffff))  # as programs write it to a pipe: 4 GB
        self.put("s/a/fast.wav", fixtures.wav(TONE, rate=768000))
        self.put("s/b/many.wav", fixtures.wav(TONE[:24 * 2 * 60], channels=24))
        self.put("s/b/.DS_Store", b"?")
        self.put("s/b/Thumbs.db", b"?")
        os.mkfifo(self.path("s", "b", "pipe.wav"))
        found = self.found("audio:s")
        self.assertEqual(found["training"] + found["validation"], 11)


class Arrays(BadData):
    def test_files(self):
        def npy(x, y=None):
            return lambda: self.put_arrays(x, y)
        good = fixtures.npy("<f8", (20, 3), NUMBERS)
        self.check_all((
            (npy(fixtures.npy("|O", (1,), pickle.dumps(Dangerous()))), "x.npy: holds Python objects ('|O'), which could "
             "run code and are never loaded; save an array of numbers, such as x.astype('<f4')"),
            (npy(pickle.dumps(Dangerous())), "x.npy: is not an array of NumPy: it does not begin with \\x93NUMPY; save "
             "it with numpy.save"),
            (npy(fixtures.npy("<f8", (20, 3), NUMBERS, fortran=True)), "x.npy: is stored in Fortran order; save it with "
             "numpy.save(FILE, numpy.ascontiguousarray(x))"),
            (npy(fixtures.npy("<f8", (15, 4), NUMBERS)), "x.npy has 15 samples, but y.npy 20 targets; they do not belong "
             "together"),
            (npy(fixtures.npy("<f8", (20, 3), NUMBERS[:-8] + struct.pack("<d", float("inf")))),
             DAMAGED.format(1, 20) + "x.npy: number 2 of sample 19 is infinite"),
            (npy(fixtures.npy("<f8", (1 << 40, 1 << 40), NUMBERS)), "x.npy: has a shape of more numbers than 64 bits can "
             "count"),
            (npy(fixtures.npy("<f8", (20, 3), NUMBERS[:-5])), "x.npy: is cut off: "),
            (npy(good, fixtures.npy("<f8", (20,), struct.pack("<20d", *[1.5] * 19, float("nan")))), "y.npy: the target of "
             "sample 19 is NaN; remove the sample or give it a number"),
            (lambda: (os.mkdir(self.path("n")), os.mkfifo(self.path("n", "x.npy"))), "x.npy: is not a file"),
        ), "npy:n")
        self.assertFalse(os.path.exists(self.path("unpickled")))

    def test_archives(self):
        def archive(members):
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
                for name, content in members:
                    out.writestr(name, content)
            return lambda: self.put("a.npz", file.getvalue())
        self.check_all((
            (archive((("x.npy", fixtures.npy("|O", (1,), pickle.dumps(Dangerous()))),
                      ("y.npy", fixtures.npy("<i8", (1,), bytes(8))))), "x.npy in a.npz: holds Python objects ('|O')"),
            (archive((("../x.npy", b"?"),)), "a.npz: has neither x.npy nor x_train.npy; save samples as x and "
             "targets as y"),
            (lambda: self.put("a.npz", b"PK\3\4" + bytes(100)), "a.npz: "),
        ), "npy:a.npz")
        self.assertFalse(os.path.exists(self.path("unpickled")))


class Series(BadData):
    def put_series(self, rows, head="time,x,y,what\n"):
        self.put("r/0.csv", head + "".join(rows))

    def test_files(self):
        def rows(*more):
            return lambda: self.put_series(STEADY + list(more))

        def other_columns():
            self.put_series(STEADY)
            self.put("r/z.csv", "a,b\n1,2\n")

        self.check_all((
            (rows("5,inf,1,a\n"), "0.csv: line 602: 'inf' of column x is not a finite number; fix it or remove the row"),
            (rows("5,oops,1,a\n"), "0.csv: line 602: 'oops' of column x is not a number; correct it, or name the column with "
             "--target if it is the label"),
            (rows("5,1\n"), "r/0.csv: line 602 has 2 fields, but the lines before it have 4; fix or remove it"),
            (other_columns, "z.csv: has 2 columns, but 0.csv has 4; all files of a series need the same"),
            (lambda: self.put_series(["%d,1,2,%s\n" % (i, "ab"[i % 2]) for i in range(10)]), "r: the longest of 1 files "
             "has 10 rows, fewer than a window of 16; use a smaller --window"),
            (lambda: self.put_series(STEADY[:40]), "r: all windows are of one class, a; at least two are needed"),
            (lambda: (self.put_series(STEADY), os.symlink(".", self.path("r", "l"))), "is it a link that leads back?"),
            (lambda: os.mkdir(self.path("r")), "r: there is no .csv, .tsv or .txt file in it"),
            (lambda: os.mkfifo(self.path("r")), "r: is not a regular file; name the file that holds the table"),
            (lambda: self.put("r/a\n<b>/\x1b[31m.csv", "x,y\nfoo,1\n"), "a?<b>/?[31m.csv: line 2: 'foo' of column x is "
             "not a number"),
        ), "series:r", "--window", "16")

    def test_one_group(self):
        for label in ("up", "down"):
            for i in range(4):
                self.put("r/%s_anna_%d.csv" % (label, i), "x,y\n" + "".join("%d,%d\n" % (k, k % 3) for k in range(99)))
        self.refused("r: its 8 samples cannot be divided into training and validation: they all share one name, or there is "
                     "only one", "series:r", "--window", "16", "--label-from", "{label}_{group}_{}.csv")

    def test_times_that_do_not_rise(self):
        for rows, count, line in ((STEADY[:1] + STEADY, 1, 3), (list(reversed(STEADY)), 599, 3)):
            self.put_series(rows)
            notes = self.found("series:r", "--window", "16")["notes"]
            self.assertIn("the time does not increase at %d rows, first at line %d of 0.csv; rows are kept in "
                          "the order of the file" % (count, line), notes)

    def test_texts(self):
        for make, message in (
                (lambda: self.put("t", "a"), "t: 1 bytes to train and 0 to validate with are too few for windows of 64; use "
                 "a smaller --window, or more text"),
                (lambda: self.put("t", ""), "t: 0 bytes to train and 0 to validate with are too few for windows of 64"),
                (lambda: os.mkdir(self.path("t")), "t: is not a file; name one file of text"),
                (lambda: os.mkfifo(self.path("t")), "t: is not a file; name one file of text")):
            with self.subTest(message):
                self.clear()
                make()
                self.refused(message, "text:t")


class Packing(BadData):
    """What happens while a set is packed. Events go to a pipe that is full, so the program waits before it can end; it
    goes on when the pipe is read."""

    JOB = ("mlp", "photos:p", "--resize", "64", "--steps", "1", "--batch-size", "4")

    def start_held(self, *options):
        """A training that has begun to pack and cannot end; what lets it go on."""
        pipe = self.path("events")
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
        writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        os.write(writer, b"\n" * 4096)
        os.close(writer)
        process = self.start("train", *self.JOB, "--events", pipe, *options)
        self.wait_until(lambda: b"\1" in b"".join(self.read_packed(r"\.done$").values()), process)

        def release():
            os.set_blocking(reader, True)
            threading.Thread(target=self.drain, args=(os.dup(reader),), daemon=True).start()
        return process, release

    @staticmethod
    def drain(reader):
        while os.read(reader, 65536):
            pass
        os.close(reader)

    def wait_until(self, condition, process):
        deadline = time.monotonic() + 20 * harness.PATIENCE
        while not condition():
            if time.monotonic() > deadline or process.child.poll() is not None:
                raise AssertionError("it did not come to pass\n%s" % process.so_far())
            time.sleep(0.01)

    def read_packed(self, pattern):
        """The files of the cache whose names have the pattern."""
        found = {}
        for name in os.listdir(self.packed) if os.path.isdir(self.packed) else []:
            if re.search(pattern, name):
                with open(os.path.join(self.packed, name), "rb") as file:
                    found[name] = file.read()
        return found

    def whole(self):
        """What is packed where nothing happens."""
        self.train(*self.JOB)
        packed = self.read_packed(r"^[0-9a-f]{64}$")
        shutil.rmtree(self.packed)
        self.assertEqual(len(packed), 1)
        return packed

    def test_a_folder_that_changes(self):
        self.put_photos(count=100)
        for change, message in (
                (lambda: self.put("p/a/new.jpg", PHOTO), "p/a/new.jpg appeared while the folder was packed; try again when it is "
                 "complete"),
                (lambda: self.put("p/a/0.jpg", fixtures.jpeg(8, 8)), "p/a/0.jpg changed while the folder was packed; try "
                 "again when it is complete"),
                (lambda: os.unlink(self.path("p", "b", "7.jpg")), "p/b/7.jpg disappeared while the folder was packed; try again "
                 "when it is complete"),
                (lambda: shutil.rmtree(self.path("p")), "the folder changed while it was packed: p: cannot open the data "
                 "folder: No such file or directory")):
            with self.subTest(message):
                process, release = self.start_held("--run", "run")
                change()
                release()
                result = process.wait()
                self.assertEqual(result.status, 1, str(result))
                self.assertRegex(result.err, r"(?m)^shoal: photos:p: " + re.escape(message) + "$")
                self.assertFalse(os.path.exists(self.path("run")))
                self.assertEqual(os.listdir(self.packed), ["lock"])
                os.unlink(self.path("events"))

    def test_killed_it_goes_on(self):
        self.put_photos(count=100)
        whole = self.whole()
        process, _ = self.start_held()
        process.kill()
        self.assertEqual(len(self.read_packed(r"\.part$")), 1)
        self.train(*self.JOB)
        self.assertEqual(self.read_packed("^[^l]"), whole)

    def test_two_at_the_same_time(self):
        self.put_photos(count=100)
        whole = self.whole()
        first, release = self.start_held("--json", "first.json")
        second = self.start("train", *self.JOB, "--json", "second.json")
        release()
        for process in (first, second):
            result = process.wait()
            self.assertEqual(result.status, 0, str(result))
        self.assertEqual(self.summary(self.path("first.json"))["weights_hash"],
                         self.summary(self.path("second.json"))["weights_hash"])
        self.assertEqual(self.read_packed("^[^l]"), whole)

    def test_a_full_disk(self):
        """It is refused before it begins, with numbers; with room again it works."""
        if os.geteuid() != 0 or not shutil.which("unshare"):
            self.skipTest("a small disk needs root and the command unshare (util-linux)")
        self.put_photos(count=100)
        os.mkdir(self.path("disk"))
        script = """
            export XDG_CACHE_HOME=$PWD/disk
            mount -t tmpfs -o size=1m shoal-test disk || exit 77
            for command in data "train mlp"; do
                "$SHOAL" $command photos:p --resize 128 --quiet
                echo "exit $?"
            done
            ls disk/shoal/packed
            mount -o remount,size=16m disk
            "$SHOAL" train mlp photos:p --resize 128 --steps 1 --quiet
            echo "exit $?"
            """
        result = self.start(argv=["unshare", "--mount", "sh", "-c", script]).wait()
        if result.status == 77:
            self.skipTest("a small disk cannot be mounted here: %s" % result.err.strip())
        self.assertEqual(result.out, "exit 1\nexit 1\nlock\nexit 0\n", str(result))
        self.assertEqual(result.err.splitlines(), 2 * [
            "shoal: photos:p: %s/shoal/packed: 200 samples take 4 MB there, and 1 MB are free; make room, or set "
            "XDG_CACHE_HOME to a folder on another disk" % self.path("disk")], str(result))
        self.assertFalse(os.path.exists(self.path("runs")) and len(os.listdir(self.path("runs"))) > 1)


if __name__ == "__main__":
    harness.main()
