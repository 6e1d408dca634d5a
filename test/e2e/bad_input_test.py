#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: it has no threads of its own.
"""What is wrong with the input is said with file, place and remedy; what was there stays as it was."""

import fcntl
import gzip
import hashlib
import os
import random
import re
import shutil
import socket
import struct
import subprocess

import harness

MODEL, DATA = "mlp:784-16-10", "digits:300/100"
JOB = (MODEL, DATA, "--steps", "10", "--lanes", "1", "--quiet")
TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
KINDS = ("digits, mnist:DIR, cifar10:DIR, cifar100:DIR, photos:DIR, audio:DIR, npy:PATH, table:FILE.csv, series:PATH, "
         "text:FILE or a folder")
FILES = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)
NOBODY = 65534
AGAIN = "; copy or download it again"


def images(count, height=28, width=28, magic=0x803, seen=None):
    pixels = random.Random("pixels").randbytes((count if seen is None else seen) * height * width)
    return struct.pack(">IIII", magic, count, height, width) + pixels


def labels(count, magic=0x801):
    return struct.pack(">II", magic, count) + bytes(i % 10 for i in range(count))


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1:]


ZIPPED = gzip.compress(images(50), mtime=0)

# The file that is not as it should be, its content (None: not there), and the message; {} is the folder.
MALFORMED = (
    ("", b"", None),
    (TRAIN_IMAGES, images(50)[:-100],
     "{}/train-images-idx3-ubyte: is cut off: 39116 bytes, its header promises 39216 (50 images of 28 x 28)" + AGAIN),
    (TRAIN_IMAGES, images(50)[:7],
     "{}/train-images-idx3-ubyte: is cut off: 7 bytes, the header alone takes 16" + AGAIN),
    (TRAIN_IMAGES, b"", "{}/train-images-idx3-ubyte: is cut off: 0 bytes, the header alone takes 16" + AGAIN),
    (TEST_LABELS, labels(20)[:-1],
     "{}/t10k-labels-idx1-ubyte: is cut off: 27 bytes, its header promises 28 (20 labels)" + AGAIN),
    (TRAIN_IMAGES, images(50) + b"x", "{}/train-images-idx3-ubyte: is too long: 39217 bytes, its header promises "
     "39216 (50 images of 28 x 28)" + AGAIN),
    (TRAIN_IMAGES, images(50, magic=0x903), "{}/train-images-idx3-ubyte: is not an IDX file of images: it begins "
     "with 0x00000903, expected 0x00000803" + AGAIN),
    (TRAIN_IMAGES, b"<html>not found</html>", "{}/train-images-idx3-ubyte: is not an IDX file of images: it begins "
     "with 0x3c68746d, expected 0x00000803" + AGAIN),
    (TRAIN_IMAGES, labels(50), "{}/train-images-idx3-ubyte: holds labels (it begins with 0x00000801) instead of images "
     "(0x00000803); are the two files swapped?"),
    (TRAIN_LABELS, labels(49), "{}/train-images-idx3-ubyte holds 50 images, but {}/train-labels-idx1-ubyte 49 "
     "labels: they do not belong together; copy or download both again"),
    (TRAIN_IMAGES, images(50, height=27), "{}/train-images-idx3-ubyte holds images of 27 x 28 pixels, but "
     "{}/t10k-images-idx3-ubyte of 28 x 28: they do not belong together; copy or download both again"),
    (TRAIN_IMAGES, images(0), "{}/train-images-idx3-ubyte: holds no images" + AGAIN),
    (TRAIN_IMAGES, images(0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, seen=0), "{}/train-images-idx3-ubyte: holds images of "
     "4294967295 x 4294967295 pixels; 1 to 4096 each way can be read"),
    (TRAIN_IMAGES + ".gz", flipped(ZIPPED, len(ZIPPED) // 2), "{}/train-images-idx3-ubyte.gz: is damaged at byte "),
    (TRAIN_IMAGES + ".gz", flipped(ZIPPED, len(ZIPPED) - 6), " (incorrect data check)" + AGAIN),
    (TRAIN_IMAGES + ".gz", ZIPPED[:-20], "{}/train-images-idx3-ubyte.gz: is cut off: it ends after %d bytes, before "
     "its content does%s" % (len(ZIPPED) - 20, AGAIN)),
    (TRAIN_IMAGES + ".gz", b"<html>not found</html>",
     "{}/train-images-idx3-ubyte.gz: is not a gzip file" + AGAIN),
    (TRAIN_IMAGES, gzip.compress(images(50)), "{}/train-images-idx3-ubyte: is gzipped but its name lacks .gz; "
     "add .gz to its name"),
    (TRAIN_LABELS, None, "{}: not all files of MNIST are here; missing, plain and .gz: "
     "train-labels-idx1-ubyte"),
)


# CIFAR: the kind (None: the folder alone), files that are not as they should be, and the message.
CIFAR_FILES = {"data_batch_1.bin": harness.cifar10(4), "data_batch_2.bin": harness.cifar10(3, seed=5),
               "test_batch.bin": harness.cifar10(2)}
CIFAR100_RECORD = bytes([3, 99]) + bytes(3072)
CIFAR_BAD = (
    ("cifar10", {}, None),
    (None, {}, None),
    ("cifar10", {"data_batch_1.bin": None}, None),
    ("cifar10", {"data_batch_2.bin": harness.cifar10(3)[:-100]}, "{}/data_batch_2.bin: is cut off or damaged: its 9119 "
     "bytes are 2 records of 3073 and 2973 bytes too many" + AGAIN),
    ("cifar10", {"data_batch_1.bin": b""}, "{}/data_batch_1.bin: is empty" + AGAIN),
    ("cifar10", {"test_batch.bin": None}, "{}: no validation file of CIFAR-10 (binary version) is here; none of these "
     "exists: test_batch.bin"),
    ("cifar10", {"data_batch_1.bin": None, "data_batch_2.bin": None}, "{}: no training file of CIFAR-10 (binary "
     "version) is here; none of these exists: data_batch_1.bin, data_batch_2.bin, data_batch_3.bin, data_batch_4.bin, "
     "data_batch_5.bin"),
    ("cifar10", {"data_batch_2.bin": harness.cifar10(2) + bytes([10]) + bytes(3072)}, "{}/data_batch_2.bin: record 2 "
     "has label 10, out of range 0 to 9; is this a file of CIFAR-10, binary version? copy or download it again"),
    ("cifar10", {"data_batch_2.bin": CIFAR100_RECORD * 2}, "{}/data_batch_2.bin: its 6148 bytes are not a multiple of "
     "CIFAR-10's records of 3073, but of CIFAR-100's of 3074: write cifar100:DIR"),
    ("cifar100", {}, "{0}: holds files of CIFAR-10, none of CIFAR-100; write cifar10:{0}"),
    ("cifar100", {"train.bin": CIFAR100_RECORD, "test.bin": harness.cifar10(2)}, "{}/test.bin: its 6146 bytes are not "
     "a multiple of CIFAR-100's records of 3074, but of CIFAR-10's of 3073: write cifar10:DIR"),
    ("cifar100", {"train.bin": b"\x14" + CIFAR100_RECORD[1:], "test.bin": CIFAR100_RECORD}, "{}/train.bin: record 0 has "
     "coarse label 20, out of range 0 to 19"),
    ("cifar100", {"train.bin": CIFAR100_RECORD, "test.bin": b"\x00\x64" + CIFAR100_RECORD[2:]}, "{}/test.bin: record 0 "
     "has fine label 100, out of range 0 to 99"),
    (None, {"train.bin": CIFAR100_RECORD, "test.bin": CIFAR100_RECORD}, "{0}: holds files of cifar10 and of cifar100; "
     "choose one: cifar10:{0} or cifar100:{0}"),
)


def with_checksum(data):
    """A checkpoint whose content was changed, as if it had been written so."""
    place = data.index(b'"shoal.sha256":"') + len(b'"shoal.sha256":"')
    data = data[:place] + 64 * b"0" + data[place + 64:]
    return data[:place] + hashlib.sha256(data).hexdigest().encode() + data[place + 64:]


class BadInput(harness.Case):
    def snapshot(self, folder):
        """All files beneath a folder with their bytes, but for the lock and the events."""
        found = {}
        for at, _, names in os.walk(self.path(folder)):
            for name in names:
                if name not in ("lock", "events.log"):
                    with open(os.path.join(at, name), "rb") as file:
                        found[os.path.relpath(os.path.join(at, name), self.path(folder))] = file.read()
        return found

    def refused(self, message, *arguments, status=1, command="train"):
        """Runs it: it fails with one message that has this in it, and prints nothing else."""
        result = self.shoal(command, *arguments, status=status)
        self.assertEqual(result.out, "", str(result))
        lines = [line for line in result.err.splitlines() if line.startswith("shoal: ")]
        self.assertEqual(len(lines), 1, str(result))
        self.assertIn(message, lines[0])
        self.assertNotIn("Sanitizer", result.err)
        return result

    def run_as_nobody(self, *arguments):
        """Like shoal(), without root's rights over files."""
        if os.geteuid() != 0:
            return self.shoal(*arguments, status=None)
        try:
            ended = subprocess.run([harness.SHOAL, *arguments], cwd=self.folder, text=True, capture_output=True,
                                   timeout=60 * harness.PATIENCE, check=False, user=NOBODY, group=NOBODY,
                                   extra_groups=[], env={**os.environ, "HOME": self.folder})
        except PermissionError as error:
            self.skipTest("the program cannot run as another user here: %s" % error)
        return harness.Result(arguments, ended.returncode, ended.stdout, ended.stderr, 0)


class Data(BadInput):
    def make(self, folder, name="", content=None):
        """The files of MNIST, of which one has another content."""
        os.mkdir(self.path(folder))
        good = dict(zip(FILES, (images(50), labels(50), images(20), labels(20))))
        if name:
            good.pop(name.removesuffix(".gz"))
            if content is not None:
                good[name] = content
        for each, data in good.items():
            with open(self.path(folder, each), "wb") as file:
                file.write(data)

    def test_malformed_files(self):
        for number, (name, content, message) in enumerate(MALFORMED):
            folder = "data-%d" % number
            with self.subTest(message):
                self.make(folder, name, content)
                before = self.snapshot(folder)
                job = (MODEL, "mnist:" + folder, "--steps", "2", "--lanes", "1", "--run", "run-%d" % number)
                if message is None:
                    self.shoal("train", *job)
                else:
                    self.refused(message.replace("{}", folder), *job)
                    self.assertFalse(os.path.exists(self.path("run-%d" % number)))
                self.assertEqual(self.snapshot(folder), before)

    def test_cifar_files(self):
        for number, (kind, changed, message) in enumerate(CIFAR_BAD):
            folder = "./data-%d" % number
            with self.subTest(message):
                os.mkdir(self.path(folder))
                for name, content in {**CIFAR_FILES, **changed}.items():
                    if content is not None:
                        with open(self.path(folder, name), "wb") as file:
                            file.write(content)
                before = self.snapshot(folder)
                data = folder if kind is None else "%s:%s" % (kind, folder)
                job = ("mlp:3072-10", data, "--steps", "2", "--lanes", "1", "--run", "run-%d" % number)
                if message is None:
                    self.shoal("train", *job)
                else:
                    self.refused(message.format(folder), *job)
                    self.assertFalse(os.path.exists(self.path("run-%d" % number)))
                self.assertEqual(self.snapshot(folder), before)

    def test_what_images_cannot_become(self):
        for arguments, message, status in (
                ("--augment turn", "--augment turn: unknown 'turn'; known are: ", 2),
                ("--augment crop,crop:2", "--augment crop,crop:2: 'crop' is given twice", 2),
                ("--augment crop:65", "--augment crop:65: write crop or crop:N, where N is 1 to 64 pixels", 2),
                ("--augment crop:28", "--augment crop:28: must be smaller than the images, which have 28 x 28", 1),
                ("--resize 7", "--resize 7: must be 8 to 1024 pixels", 2),
                ("--resize 2000", "--resize 2000: must be 8 to 1024 pixels", 2),
                ("--resize 0", "--resize 0: must be at least 1", 2),
                ("--normalize batch", "--normalize batch: unknown; use dataset, imagenet or none", 2),
                ("--normalize imagenet", "--normalize imagenet: is for images of 3 channels, digits has 1; use dataset "
                 "or none", 1)):
            with self.subTest(arguments):
                self.refused(message, *JOB, "--run", "run", *arguments.split(), status=status)
                self.assertFalse(os.path.exists(self.path("run")))

    def test_folders(self):
        os.mkdir(self.path("empty"))
        self.make("good")
        for data, message in (
                ("mnist:empty", "empty: not all files of MNIST are here; missing, plain and .gz: "
                 + ", ".join(FILES)),
                ("empty", "empty: no data is recognised in this folder; looked for mnist (" + ", ".join(FILES)
                 + ", each plain or .gz)"),
                ("mnist:nowhere", "nowhere: cannot open the data folder: No such file or directory"),
                ("./nowhere", "./nowhere: cannot open the data folder: No such file or directory"),
                ("nowhere", "unknown data 'nowhere': use " + KINDS),
                ("mnist:good/" + TRAIN_IMAGES, "is not a folder; name the folder that holds the data files"),
                ("mnist:", "mnist: no folder; write mnist:DIR"),
                ("imagenet:good", "unknown data 'imagenet:good': use " + KINDS),
                ("digits:0/5", "digits:0/5: write digits or digits:TRAIN/VALIDATION, each a number of samples "
                 "from 1 to 100000000, for example digits:10000/2000")):
            with self.subTest(data):
                self.refused(message, MODEL, data, "--run", "run", status=1 + message.startswith("unknown"))
                self.assertFalse(os.path.exists(self.path("run")))

    def test_without_permission(self):
        self.make("data")
        os.chmod(self.folder, 0o755)
        os.chmod(self.path("data"), 0)
        self.addCleanup(os.chmod, self.path("data"), 0o700)
        result = self.run_as_nobody("train", MODEL, "mnist:data", "--run", "run", "--quiet")
        self.assertEqual(result.status, 1, str(result))
        self.assertIn("shoal: data: cannot read the data folder: Permission denied; check who owns it and its mode",
                      result.err)
        os.chmod(self.path("data"), 0o755)
        os.chmod(self.path("data", TRAIN_LABELS), 0)
        result = self.run_as_nobody("train", MODEL, "mnist:data", "--run", "run", "--quiet")
        self.assertEqual(result.status, 1, str(result))
        self.assertRegex(result.err, r"\Ashoal: data/train-labels-idx1-ubyte: cannot open it: Permission denied; "
                                     r"check who owns it and its mode\n\Z")


class Options(BadInput):
    def test_models(self):
        for model, message in (
                ("flounder", "unknown model 'flounder'; known are: mlp[:hHIDDEN-...|:IN-HIDDEN-...-OUT], lenet"),
                ("mlp:h", "model mlp:h: 'h': expected the widths of hidden layers, such as h128-64"),
                ("mlp:784-8", "model mlp:784-8: '784-8': the data has 784 inputs and 10 classes, so use "
                 "784-...-10"),
                ("mlp:784-0-10", "model mlp:784-0-10: "),
                ("mlp:784-99999999999999999999-10", "model mlp:784-99999999999999999999-10: "),
                ("lenet:3", "model lenet:3: '3': lenet takes no parameters")):
            with self.subTest(model):
                self.refused(message, model, DATA, "--run", "run", status=1 + message.startswith("unknown"))
                self.assertFalse(os.path.exists(self.path("run")))

    def test_wrong_use(self):
        for arguments, message in (
                ("--batch-size 0", "--batch-size 0: must be at least 1"),
                ("--batch-size 4000000000", "--batch-size 4000000000: must be 1 to 16777216"),
                ("--batch-size 10 --grain 100", "--grain 100: larger than the batch of 10; a grain is a part of the "
                 "batch"),
                ("--lr -1", "--lr -1: must be at least 0"),
                ("--lanes 0", "--lanes 0: must be at least 1"),
                ("--devices 0", "--devices 0: must be at least 1"),
                ("--listen 127.0.0.1", "--listen 127.0.0.1: must be [ADDRESS]:PORT, such as :7700 or "
                 "192.168.1.5:7700"),
                ("--listen :99999", "--listen :99999: must be [ADDRESS]:PORT")):
            with self.subTest(arguments):
                result = self.refused(message, *JOB, "--run", "run", *arguments.split(), status=2)
                self.assertTrue(result.err.endswith("try: shoal help train\n"), result.err)
                self.assertFalse(os.path.exists(self.path("run")))

    def test_addresses(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            for listen, message in (
                    ("127.0.0.1:%d" % port, "port %d is taken: choose another with --listen" % port),
                    ("192.0.2.1:0", "192.0.2.1 is not an address of this device: choose another with --listen"),
                    ("[::1:0", "--listen: could not find the address of '[::1': ")):
                with self.subTest(listen):
                    self.refused(message, *JOB, "--run", "run", "--listen", listen)
        # What could not begin has left nothing in the way of the next attempt.
        result = self.shoal("train", *JOB, "--run", "run", "--listen", "127.0.0.1:0")
        self.assertRegex(result.out, r"\Ashoal://")

    def test_summary_is_checked_before_training(self):
        os.mkdir(self.path("folder"))
        for path, message in (
                ("folder", "--json folder: Is a directory; choose another file for --json"),
                ("nowhere/s.json", "--json nowhere/s.json: No such file or directory; choose another file for "
                 "--json")):
            with self.subTest(path):
                self.refused(message, *JOB, "--run", "run", "--json", path)
                self.assertFalse(os.path.exists(self.path("run")))
        os.chmod(self.folder, 0o755)
        result = self.run_as_nobody("train", *JOB, "--json", "s.json")
        if os.geteuid() == 0:
            self.assertEqual(result.status, 1, str(result))
            self.assertEqual(result.err, "shoal: --json s.json: Permission denied; choose another file for --json\n")
            self.assertFalse(os.path.exists(self.path("runs")))


class Runs(BadInput):
    def train_first(self):
        return self.train(*JOB, "--run", "run").summary

    def test_folders_of_others(self):
        os.mkdir(self.path("papers"))
        with open(self.path("papers", "thesis.tex"), "w", encoding="ascii") as file:
            file.write("all there is")
        self.train_first()
        for run, message in (
                ("papers", "papers: is not empty and not a shoal run: choose another folder with --run"),
                ("papers/thesis.tex", "papers/thesis.tex: is a file, not a folder: choose another path"),
                ("run", "run: holds a run already: continue it with --resume, or choose another folder with "
                 "--run")):
            with self.subTest(run):
                before = self.snapshot(".")
                self.refused(message, *JOB, "--run", run)
                self.assertEqual(self.snapshot("."), before)

    def test_one_that_is_in_use(self):
        self.train_first()
        before = self.snapshot("run")
        with open(self.path("run", "lock"), "r+", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.truncate(0)
            lock.write("4711\n")
            lock.flush()
            self.refused("run: is in use by another shoal (process 4711): wait for its end, or choose another folder "
                         "with --run", "--resume", "run", "--steps", "20")
        self.assertEqual(self.snapshot("run"), before)
        process = self.start("train", MODEL, DATA, "--run", "busy", "--listen", "127.0.0.1:0", "--min-devices", "2")
        process.wait_for_token()
        self.refused("busy: is in use by another shoal (process %d): wait for its end" % process.child.pid,
                     *JOB, "--run", "busy")

    def test_without_permission(self):
        os.chmod(self.folder, 0o755)
        os.mkdir(self.path("closed"), 0o555)
        for run, message in (("closed", "closed/lock: cannot open"),
                             ("closed/new", "closed/new: cannot make the folder")):
            with self.subTest(run):
                result = self.run_as_nobody("train", *JOB, "--run", run)
                self.assertEqual(result.status, 1, str(result))
                self.assertEqual(result.err, "shoal: %s: Permission denied; check who owns it and its mode\n" % message)

    def test_a_full_disk(self):
        """A step too many for the disk: the remedy is said, and the checkpoint before is whole."""
        if os.geteuid() != 0 or not shutil.which("unshare"):
            self.skipTest("a small disk needs root and the command unshare (util-linux)")
        os.mkdir(self.path("disk"))
        script = """
            mount -t tmpfs -o size=520k shoal-test disk || exit 77
            "$SHOAL" train %s --run disk/run && cp -a disk/run before || exit 1
            head -c 100000 /dev/zero >disk/filling
            for devices in 1 2; do
                "$SHOAL" train --resume disk/run --steps 40 --devices $devices --quiet
                echo "exit $?"
            done
            rm disk/run/events.log # a full disk takes no line, and a line is no loss
            cp -a disk/run after
            rm disk/filling
            "$SHOAL" train --resume disk/run --steps 40 --quiet --json full.json
            echo "exit $?"
            """ % " ".join(JOB)
        result = self.start(argv=["unshare", "--mount", "sh", "-c", script]).wait()
        if result.status == 77:
            self.skipTest("a small disk cannot be mounted here: %s" % result.err.strip())
        self.assertEqual(result.out, "exit 1\nexit 1\nexit 0\n", str(result))
        self.assertEqual(result.err.splitlines(), 2 * [
            "shoal: disk/run/checkpoints/last.safetensors: cannot write: No space left on device; free some space or "
            "choose another disk; the last checkpoint in disk/run is intact"], str(result))
        before, after = self.snapshot("before"), self.snapshot("after")
        for name in ("checkpoints/last.safetensors", "checkpoints/previous.safetensors"):
            self.assertEqual(after[name], before[name], name)
        self.assertEqual(set(after), set(before))
        # With room again it goes on to where it would have come anyway.
        whole = self.train(MODEL, DATA, "--steps", "40").summary
        self.assertEqual(self.summary(self.path("full.json"))["weights_hash"], whole["weights_hash"])

    def test_a_disk_that_is_full_for_a_while(self):
        """It trains on to the same weights, says that the disk is full, and that it is not any more."""
        if os.geteuid() != 0 or not shutil.which("unshare"):
            self.skipTest("a small disk needs root and the command unshare (util-linux)")
        os.mkdir(self.path("disk"))
        job = [MODEL, "digits:20000/100", "--steps", "300", "--tensorboard"]
        whole = self.train(*job, "--run", "whole", "--quiet").summary
        script = """
            mount -t tmpfs -o size=4m shoal-test disk || exit 77
            head -c 4100000 /dev/zero >disk/filling
            mkfifo said
            "$SHOAL" train %s --checkpoint-every 5steps --run disk/run --json full.json >said 2>&1 &
            while read -r line; do
                echo "$line"
                case $line in *last.safetensors:*"training continues"*) rm -f disk/filling;; esac
            done <said
            wait $!
            echo "exit $?"
            """ % " ".join(job)
        result = self.start(argv=["unshare", "--mount", "sh", "-c", script]).wait()
        if result.status == 77:
            self.skipTest("a small disk cannot be mounted here: %s" % result.err.strip())
        self.assertIn("\nexit 0\n", result.out, str(result))
        self.assertEqual(len(re.findall("last.safetensors: cannot write: No space left.*retries", result.out)), 1)
        self.assertIn("checkpoints can be written again\n", result.out)
        self.assertEqual(self.summary(self.path("full.json"))["weights_hash"], whole["weights_hash"])


class Checkpoints(BadInput):
    """Each case is made of a good run; what is damaged is refused, and the one before is used."""

    LAST, PREVIOUS = "checkpoints/last.safetensors", "checkpoints/previous.safetensors"

    def setUp(self):
        super().setUp()
        self.good = self.train(*JOB, "--run", "good").summary
        with open(self.path("good", self.LAST), "rb") as file:
            self.last = file.read()
        self.head = 8 + int.from_bytes(self.last[:8], "little")

    def write(self, run, name, data):
        with open(self.path(run, name), "wb") as file:
            file.write(data)

    def test_damage(self):
        cases = (
            ("cut", self.last[:-1000], 'is cut short: tensor "'),
            ("cut in its header", self.last[:100], "is cut short"),
            ("a bit of a weight", flipped(self.last, self.head + 5000),
             "is damaged: its checksum does not match its content"),
            ("a bit of the header", flipped(self.last, self.last.index(b'\\"seed\\":1') + 9),
             "is damaged: its checksum does not match its content"),
            ("the last bit", flipped(self.last, len(self.last) - 1),
             "is damaged: its checksum does not match its content"),
            ("empty", b"", "is not a safetensors file: 0 bytes, at least 8 needed"),
            ("text", b"hello" * 100, "is not a safetensors file: a header of 7810763956513695080 bytes"),
        )
        for number, (name, data, message) in enumerate(cases):
            with self.subTest(name):
                run = "run-%d" % number
                shutil.copytree(self.path("good"), self.path(run))
                self.write(run, self.LAST, data)
                self.check_file(run, message)
                self.check_fallback(run)
                self.write(run, self.LAST, data)
                self.write(run, self.PREVIOUS, data)
                self.check_nothing_left(run, message)

    def check_file(self, run, message):
        """The file by itself is refused, by those who read it, and stays as it is."""
        before = self.snapshot(run)
        path = os.path.join(run, self.LAST)
        self.refused("%s: %s" % (path, message), MODEL, DATA, "--weights", path, command="eval")
        self.refused("%s: %s" % (path, message), "--resume", path, "--steps", "20", "--run", run + "-new")
        self.assertFalse(os.path.exists(self.path(run + "-new")))
        self.assertEqual(self.snapshot(run), before)

    def check_fallback(self, run):
        """The run goes on from the checkpoint before, to the same weights, and says so."""
        self.shoal("eval", MODEL, DATA, "--weights", run)
        result = self.shoal("train", "--resume", run, "--steps", "10", "--json", run + ".json")
        self.assertRegex(result.err, r"%s/%s is damaged or missing; continuing from the one before it, %s/%s" % (
            run, self.LAST, run, self.PREVIOUS))
        self.assertEqual(self.summary(self.path(run + ".json"))["weights_hash"], self.good["weights_hash"])

    def check_nothing_left(self, run, message):
        before = self.snapshot(run)
        for command, arguments in (("eval", (MODEL, DATA, "--weights", run)),
                                   ("train", ("--resume", run, "--steps", "20"))):
            result = self.refused("no checkpoint can be used: %s/%s: %s" % (run, self.LAST, message), *arguments,
                                  command=command)
            self.assertIn("; %s/%s: %s" % (run, self.PREVIOUS, message), result.err)
        self.assertEqual(self.snapshot(run), before)

    def test_links(self):
        """A run from somebody else with a symbolic link in it leads to no file of the user's."""
        with open(self.path("victim"), "w", encoding="ascii") as file:
            file.write("all there is")
        shutil.copytree(self.path("good", "checkpoints"), self.path("elsewhere"))
        for name in ("lock", "job.json", "events.log", "metrics.jsonl", "run.db", "run.db-wal", "token",
                     "token.key",
                     "model.skeleton.onnx", "events.out.tfevents.1", self.LAST, "checkpoints"):
            with self.subTest(name):
                shutil.copytree(self.path("good"), self.path("run"))
                place, target = self.path("run", name), self.path("elsewhere" if name == "checkpoints" else "victim")
                if name == "checkpoints":
                    shutil.rmtree(place)
                elif os.path.exists(place):
                    os.remove(place)
                os.symlink(target, place)
                before = self.snapshot("elsewhere")
                result = self.refused("run/%s: is a symbolic link" % name, "--resume", "run", "--steps", "20")
                self.assertIn("replace it with its target, or remove it", result.err)
                with open(self.path("victim"), encoding="ascii") as file:
                    self.assertEqual(file.read(), "all there is")
                self.assertEqual(self.snapshot("elsewhere"), before)
                shutil.rmtree(self.path("run"))
        os.symlink("good", self.path("link"))
        self.shoal("train", "--resume", "link", "--steps", "20")
        best = self.path("good", "checkpoints", "best.safetensors")
        os.rename(best, self.path("best"))
        os.symlink(self.path("best"), best)
        self.refused("good/checkpoints/best.safetensors: is a symbolic link", "good", command="eval")
        self.shoal("eval", MODEL, DATA, "--weights", best)

    def test_another_model(self):
        before = self.snapshot("good")
        path = os.path.join("good", self.LAST)
        for weights in ("good", path):
            self.refused(path + ": does not fit the model: missing: conv1.weight, conv1.bias, conv2.weight, conv2.bias; "
                         "of another shape: fc1.weight is F32 16x784, not F32 500x800, ", "lenet", DATA,
                         "--weights", weights, command="eval")
            self.refused(path + ": does not fit the model: of another shape: fc1.weight is F32 16x784, not F32 32x784",
                         "mlp:784-32-10", DATA, "--weights", weights, command="eval")
        self.refused("--resume good: model lenet differs from the checkpoint's; leave it out, or start a new run (" +
                     MODEL + ")", "lenet", DATA, "--resume", "good")
        for option, value, saved in (("--batch-size", "32", "64"), ("--seed", "2", "1"), ("--grain", "8", "16")):
            self.refused("--resume good: %s %s differs from the checkpoint's; leave it out, or start a new run (%s)" % (
                option, value, saved), "--resume", "good", option, value)
        self.refused("--resume good: --strategy local: H must be a whole number from 1 to 65535; write local:H",
                     "--resume", "good", "--strategy", "local")
        self.assertEqual(self.snapshot("good"), before)

    def test_a_newer_version(self):
        """It is whole, so the one before is no remedy: a newer shoal is."""
        data = self.last.replace(b'"shoal.format":"1"', b'"shoal.format":"9"')
        self.assertNotEqual(data, self.last)
        data = with_checksum(data)
        for name in (self.LAST, self.PREVIOUS):
            self.write("good", name, data)
        before = self.snapshot("good")
        path = os.path.join("good", self.LAST)
        message = path + ": written by a newer shoal (format 9, this one reads 1): update shoal"
        self.refused(message, "--resume", "good", "--steps", "20")
        self.refused(message, "--resume", path, "--steps", "20", "--run", "new")
        self.refused(message, MODEL, DATA, "--weights", "good", command="eval")
        self.refused(message, MODEL, DATA, "--weights", path, command="eval")
        self.assertEqual(self.snapshot("good"), before)

    def test_not_there(self):
        os.mkdir(self.path("empty"))
        for weights, message in (("nowhere", "nowhere: cannot open: No such file or directory"),
                                 ("empty", "empty: holds no checkpoint (last.safetensors or previous.safetensors)")):
            with self.subTest(weights):
                self.refused(message, MODEL, DATA, "--weights", weights, command="eval")
                self.refused(message, "--resume", weights)


if __name__ == "__main__":
    harness.main()
