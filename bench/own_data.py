# SPDX-License-Identifier: Apache-2.0
"""What models of people's own data are worth, and how fast photos are read, beside the usual libraries.

Each part is one command of `shoal train` for each data set, and the same by a peer:

  photos   flowers, ResNet-20 at 64 pixels on 3 devices: accuracy beside PyTorch and torchvision with the
           same network, augmentation, batch, optimiser and schedule, over three seeds
  tables   wine, breast cancer, diabetes with `auto`: beside scikit-learn's MLP with the same hidden
           layers, optimiser, batch, epochs and rows, over five seeds
  speech   spoken digits; each speaker in turn is left out of training altogether
  series   accelerations of people who walk, run, climb and stand, drawn by this script; three of twelve
           are left out of training
  anomaly  an autoencoder trained without one digit of MNIST: ROC AUC of its error for that digit among
           the others, and how many of them are above the threshold that `shoal eval` names
  decode   packing photos against torchvision's ImageFolder and DataLoader with a worker for each core

Trainings that take seconds are repeated on 1 and 2 devices: the weights must be the same.

    python3 bench/own_data.py --parts photos speech --json own.json

The peer is the Python in build/bench-pytorch, which bench/run.sh makes.
"""

import csv
import hashlib
import json
import math
import os
import random
import statistics
import struct

import measure

PARTS = ("photos", "tables", "speech", "series", "anomaly", "decode")
SPEAKERS = ("george", "jackson", "lucas", "nicolas", "theo", "yweweler")
PHOTO_POINTS = 0.015  # that the mean over the seeds may be behind PyTorch's
SPEECH_ACCURACY = 0.9
VAL_SPLIT = 0.25  # of tables; exact in binary, so that rows_of divides them as shoal does
SIDE = "64"


def add_options(parser):
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--speakers", nargs="+", choices=SPEAKERS, default=SPEAKERS)
    parser.add_argument("--digits", nargs="+", type=int, choices=range(10), default=range(10),
                        help="left out, one at a time")
    parser.add_argument("--seeds", type=int, default=3, help="of photos (3)")
    parser.add_argument("--turns", type=int, default=7, help="of each side that decodes (7)")


def need(options, name):
    path = os.path.join(options.data, name)
    if not os.path.exists(path):
        raise measure.Skip("there is no %s: set SHOAL_TEST_DATA to the folder that holds it" % path)
    return path


class Bench:
    def __init__(self, options, work, result):
        self.options, self.work, self.result = options, work, result
        self.env = measure.environment(XDG_CACHE_HOME=os.path.join(work, "cache"))

    def path(self, *names):
        return os.path.join(self.work, *names)

    def train(self, *arguments, devices=1, run=None):
        """The summary of a training; `run` names its folder, if it is wanted afterwards."""
        path = self.path("summary.json")
        measure.run([self.options.shoal, "train", *arguments, "--devices", str(devices), "--quiet", "--run",
                     self.path(run or "run-%d" % len(os.listdir(self.work))), "--json", path], self.env)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def evaluate(self, *arguments):
        path = self.path("eval.json")
        measure.run([self.options.shoal, "eval", *arguments, "--quiet", "--json", path], self.env)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def peer(self, *arguments):
        """The report of own_data_peers.py."""
        run = measure.run([measure.pypi_python(), "-B", os.path.join(measure.HERE, "own_data_peers.py"),
                           *arguments], self.env)
        return json.loads(run.out)

    def one_hash(self, what, *arguments, given=None):
        """A row: whether 1, 2 and 3 devices get the same weights; `given` are hashes that are known."""
        hashes = dict(given or {})
        for devices in (1, 2, 3):
            if devices not in hashes:
                hashes[devices] = self.train(*arguments, devices=devices)["weights_hash"]
        same = len(set(hashes.values())) == 1
        self.row(what + ", weights", "same on 1, 2, 3 devices" if same else "they differ", target="same",
                 met=same)
        self.result.details[what + ", weights"] = hashes

    def row(self, *values, **named):
        self.result.row(*values, **named)
        last = self.result.rows[-1]
        print("%s: %s; peer %s %s" % (last["what"], last["shoal"], last["peer"] or "none", last["ratio"]),
              flush=True)


def percent_text(values):
    return "%.2f %% (%.1f to %.1f)" % (100 * statistics.mean(values), 100 * min(values), 100 * max(values))


# --- photos ---

# The rate of examples/resnet20-cifar10.sh, 0.4 at a batch of 128, for 32. shoal's batch normalisation takes a grain
# where PyTorch's takes a batch: half of it, so that two devices have work.
PHOTO_GRAIN = "16"
PHOTO_RECIPE = ("--batch-size", "32", "--lr", "0.1")


def photo_arguments(data, epochs, seed):
    return ("resnet:20", "photos:" + data, "--resize", SIDE, "--augment", "crop:8,flip", *PHOTO_RECIPE,
            "--grain", PHOTO_GRAIN, "--nesterov", "--weight-decay", "5e-4", "--schedule", "one-cycle",
            "--epochs", str(epochs), "--seed", str(seed))


def photos(bench):
    data = need(bench.options, "photos")
    own, theirs = [], []
    for seed in range(1, bench.options.seeds + 1):
        own.append(bench.train(*photo_arguments(data, 30, seed), devices=3)["val_accuracy"])
        theirs.append(bench.peer("photos", data, "--seed", str(seed), "--epochs", "30", *PHOTO_RECIPE)["accuracy"])
        print("photos, seed %d: shoal %.3f, PyTorch %.3f" % (seed, own[-1], theirs[-1]), flush=True)
    ahead = statistics.mean(own) - statistics.mean(theirs)
    bench.row("photos, %d seeds, 3 devices" % len(own), percent_text(own), "PyTorch " + percent_text(theirs),
              "%+.2f points" % (100 * ahead), ">= -1.5 points", ahead >= -PHOTO_POINTS)
    bench.result.details["photos"] = {"shoal": own, "pytorch": theirs}
    bench.one_hash("photos, 2 epochs", *photo_arguments(data, 2, 1))


# --- tables ---

TABLES = (("wine_data.csv", 1), ("breast_cancer.csv", 1), ("diabetes.csv", 0))
TABLE_SEEDS = range(1, 6)
TABLE_RECIPE = ("--batch-size", "32", "--lr", "0.003", "--epochs", "60")


def rows_of(path, skipped):
    """The rows of both splits as shoal divides them: by a digest of all fields (src/data/split.h)."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[skipped:]
    if not rows[0][0].replace(".", "").replace("-", "").replace("e", "").replace("+", "").isdigit():
        rows = rows[1:]
    parts = {"train": [], "val": []}
    for row in rows:
        key = hashlib.sha256(b"".join(field.encode() + b"\0" for field in row)).hexdigest()[:16]
        place = struct.unpack(">Q", hashlib.sha256(key.encode()).digest()[:8])[0]
        parts["val" if place < VAL_SPLIT * 2 ** 64 else "train"].append(row)
    return parts


def check_split(bench, parts, arguments):
    """Fails if shoal divides the rows otherwise."""
    path = bench.path("survey.json")
    measure.run([bench.options.shoal, "data", *arguments, "--quiet", "--json", path], bench.env)
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    if (found["training"], found["validation"]) != (len(parts["train"]), len(parts["val"])):
        raise measure.Failure("%s: %d and %d rows are expected, shoal has %d and %d" % (
            arguments[0], len(parts["train"]), len(parts["val"]), found["training"], found["validation"]))


def table(bench, name, skipped):
    path = need(bench.options, os.path.join("tables", name))
    parts = rows_of(path, skipped)
    reading = ("table:" + path, "--skip-lines", str(skipped), "--val-split", str(VAL_SPLIT))
    check_split(bench, parts, reading)
    for part, rows in parts.items():
        with open(bench.path("%s.%s.csv" % (name, part)), "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
    own, theirs, arguments = [], [], ("auto", *reading, "--optimizer", "adam", *TABLE_RECIPE)
    for seed in TABLE_SEEDS:
        own.append(bench.train(*arguments, "--seed", str(seed)))
        hidden = own[-1]["model"].split(":h")[1].split("-")
        regression = own[-1]["val_accuracy"] is None
        theirs.append(bench.peer("table", bench.path(name), "--seed", str(seed), *TABLE_RECIPE, "--hidden",
                                 *hidden, *(["--regression"] if regression else [])))
    figure, theirs_figure = ("val_mae", "mae") if regression else ("val_accuracy", "accuracy")
    ours, others = [each[figure] for each in own], [each[theirs_figure] for each in theirs]
    behind = statistics.mean(others) - statistics.mean(ours)
    noise = 2 * math.sqrt((statistics.variance(ours) + statistics.variance(others)) / len(ours))
    if regression:
        text, behind = (lambda values: "MAE %.2f (%.2f to %.2f)" % (
            statistics.mean(values), min(values), max(values))), -behind
    else:  # or one row more or less
        text, noise = percent_text, max(noise, 1 / len(parts["val"]))
    bench.row("%s, %s, %d rows to validate with" % (name, own[0]["model"], len(parts["val"])), text(ours),
              "scikit-learn " + text(others), "%.3f worse" % behind, "<= %.3f worse (noise)" % noise,
              behind <= noise)
    bench.result.details[name] = {"shoal": ours, "scikit-learn": others}
    bench.one_hash(name, *arguments, "--seed", "1", given={1: own[0]["weights_hash"]})


def tables(bench):
    for name, skipped in TABLES:
        table(bench, name, skipped)


# --- speech ---

SPEECH_RECIPE = ("--optimizer", "adamw", "--lr", "0.004", "--weight-decay", "0.01", "--schedule", "one-cycle",
                 "--epochs", "20", "--batch-size", "32", "--label-smoothing", "0.1", "--augment",
                 "shift:8/3,mask:6/12,noise:0.2")


def speech(bench):
    source = need(bench.options, "speech")
    found = {}
    for speaker in bench.options.speakers:
        for name in os.listdir(source):
            if name.endswith(".wav"):
                part = "val" if name.split("_")[1] == speaker else "train"
                os.makedirs(bench.path("speech", speaker, part), exist_ok=True)
                os.symlink(os.path.join(source, name), bench.path("speech", speaker, part, name))
        found[speaker] = bench.train("auto", "audio:" + bench.path("speech", speaker), "--label-from",
                                     "{label}_{group}_{}.wav", *SPEECH_RECIPE)
        accuracy = found[speaker]["val_accuracy"]
        bench.row("speech, %s left out" % speaker, "%.1f %%" % (100 * accuracy), target="> 90 %",
                  met=accuracy > SPEECH_ACCURACY)
    accuracies = {speaker: summary["val_accuracy"] for speaker, summary in found.items()}
    bench.row("speech, mean of %d" % len(found), percent_text(list(accuracies.values())), target="> 90 %",
              met=statistics.mean(accuracies.values()) > SPEECH_ACCURACY)
    bench.result.details["speech"] = accuracies
    bench.one_hash("speech, 1 epoch", "auto", "audio:" + bench.path("speech", bench.options.speakers[0]),
                   "--label-from", "{label}_{group}_{}.wav", *SPEECH_RECIPE, "--epochs", "1")


# --- series ---

SERIES_RECIPE = ("--optimizer", "adam", "--lr", "0.005", "--schedule", "one-cycle", "--epochs", "20",
                 "--batch-size", "32", "--clip-norm", "1", "--augment", "scale:0.2,noise:0.2")
HZ, SECONDS, RECORDINGS, PEOPLE, UNSEEN = 50, 20, 2, 12, 3
# Steps a second, and how far up, forward and sideways they move, in g.
ACTIVITIES = {"walk": (1.9, 0.30, 0.15, 0.08), "run": (2.7, 0.90, 0.35, 0.15),
              "climb": (1.5, 0.25, 0.25, 0.10), "stand": (0.3, 0.01, 0.01, 0.01)}


def turned(axes, angles):
    """A vector turned about each axis in turn, as a device sits in a pocket."""
    for axis, angle in enumerate(angles):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        axes[a], axes[b] = (axes[a] * math.cos(angle) - axes[b] * math.sin(angle),
                            axes[a] * math.sin(angle) + axes[b] * math.cos(angle))
    return axes


def draw_series(folder):
    """Recordings LABEL_PERSON_N.csv: each person steps, and wears the device, in a way of their own."""
    drawn = random.Random(1)
    for person in range(PEOPLE):
        pace, force = drawn.uniform(0.85, 1.15), drawn.uniform(0.7, 1.3)
        wears = [drawn.gauss(0, 0.3) for _ in range(3)]
        second = drawn.uniform(0.2, 0.6)  # part of the second harmonic
        part = os.path.join(folder, "val" if person >= PEOPLE - UNSEEN else "train")
        os.makedirs(part, exist_ok=True)
        for label, (steps, up, forward, aside) in ACTIVITIES.items():
            for number in range(RECORDINGS):
                phase, rate = drawn.uniform(0, 1), steps * pace * drawn.uniform(0.95, 1.05)
                angles = [angle + drawn.gauss(0, 0.1) for angle in wears]
                path = os.path.join(part, "%s_p%d_%d.csv" % (label, person, number))
                with open(path, "w", encoding="utf-8") as file:
                    file.write("time,x,y,z\n")
                    for i in range(HZ * SECONDS):
                        at = 2 * math.pi * (rate * i / HZ + phase)
                        axes = turned([force * aside * math.sin(at / 2),
                                       force * forward * (math.cos(at) + second * math.sin(2 * at)),
                                       1 + force * up * (math.sin(at) + second * math.cos(2 * at))], angles)
                        file.write("%.2f,%s\n" % (i / HZ, ",".join(
                            "%.4f" % (value + drawn.gauss(0, 0.15)) for value in axes)))


def series(bench):
    folder = bench.path("series")
    draw_series(folder)
    for model in ("cnn1d", "lstm", "gru"):
        arguments = (model, "series:" + folder, "--label-from", "{label}_{group}_{}.csv", "--window", "100",
                     *SERIES_RECIPE)
        found = bench.train(*arguments, devices=3)
        bench.row("series, %s, %d of %d people left out" % (model, UNSEEN, PEOPLE),
                  "%.2f %%" % (100 * found["val_accuracy"]))
        bench.result.details["series, " + model] = found["val_accuracy"]
        bench.one_hash("series, " + model, *arguments, given={3: found["weights_hash"]})


# --- anomalies ---


def cut_mnist(source, folder, digit, keep_all):
    """MNIST whose training images, and unless `keep_all` its test images, lack a digit.

    Labels play no part; 9 becomes 0, as a label that training did not have is refused.
    """
    os.makedirs(folder)
    for part in ("train", "t10k"):
        images = measure.unpacked(os.path.join(source, part + "-images-idx3-ubyte"))
        labels = measure.unpacked(os.path.join(source, part + "-labels-idx1-ubyte"))[8:]
        kept = [i for i, label in enumerate(labels) if label != digit or (part == "t10k" and keep_all)]
        count = len(kept).to_bytes(4, "big")
        with open(os.path.join(folder, part + "-images-idx3-ubyte"), "wb") as file:
            file.write(images[:4] + count + images[8:16] +
                       b"".join(images[16 + 784 * i:800 + 784 * i] for i in kept))
        with open(os.path.join(folder, part + "-labels-idx1-ubyte"), "wb") as file:
            # Labels are read past; modulo 8 they are the same ones whichever digit is left out.
            file.write(b"\0\0\x08\x01" + count + bytes(labels[i] % 8 for i in kept))


def roc_auc(scores, holds):
    """How likely a sample of which it holds has a higher score than another (Hanley and McNeil 1982)."""
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    ranks, first = [0.0] * len(order), 0
    while first < len(order):
        end = first
        while end < len(order) and scores[order[end]] == scores[order[first]]:
            end += 1
        for i in order[first:end]:
            ranks[i] = (first + 1 + end) / 2
        first = end
    count = sum(holds)
    rank_sum = sum(rank for rank, held in zip(ranks, holds) if held)
    return (rank_sum - count * (count + 1) / 2) / (count * (len(holds) - count))


def anomaly(bench):
    source, aucs, found = measure.need_mnist(bench.options), [], {}
    labels = measure.unpacked(os.path.join(source, "t10k-labels-idx1-ubyte"))[8:]
    for digit in bench.options.digits:
        nine, ten = bench.path("nine-%d" % digit), bench.path("ten-%d" % digit)
        cut_mnist(source, nine, digit, False)
        cut_mnist(source, ten, digit, True)
        arguments = ("auto", "mnist:" + nine, "--task", "reconstruction", "--optimizer", "adam", "--lr", "0.002",
                     "--schedule", "one-cycle", "--epochs", "8", "--batch-size", "128")
        trained = bench.train(*arguments, devices=3, run="anomaly-%d" % digit)
        threshold = bench.evaluate(bench.path("anomaly-%d" % digit))["metrics"]["error99"]
        errors = bench.path("errors.csv")
        bench.evaluate(bench.path("anomaly-%d" % digit), "mnist:" + ten, "--errors", errors, "--most", "10000")
        with open(errors, encoding="utf-8", newline="") as file:
            losses = {int(row["index"]): float(row["loss"]) for row in csv.DictReader(file)}
        if len(losses) != len(labels):
            raise measure.Failure("--errors lists %d of %d samples" % (len(losses), len(labels)))
        aucs.append(roc_auc([losses[i] for i in range(len(labels))], [label == digit for label in labels]))
        above = [losses[i] > threshold for i, label in enumerate(labels) if label == digit]
        bench.row("anomaly, %d left out" % digit, "AUC %.4f" % aucs[-1], "",
                  "%.1f %% above the threshold, which 1 %% of the others are" % (100 * sum(above) / len(above)))
        found[digit] = {"auc": aucs[-1], "threshold": threshold, "above": sum(above) / len(above)}
        if digit == bench.options.digits[0]:
            bench.one_hash("anomaly", *arguments, given={3: trained["weights_hash"]})
    bench.row("anomaly, mean", "AUC %.4f (%.4f to %.4f)" % (statistics.mean(aucs), min(aucs), max(aucs)))
    bench.result.details["anomaly"] = found


# --- decoding ---

COPIES = 4  # of each photo, so that a turn takes long enough


def copied(source, folder):
    """Links to the photos, each under so many names; how many there are."""
    count = 0
    for place, _, names in os.walk(source):
        for name in names:
            if name.endswith(".jpg"):
                to = os.path.join(folder, os.path.basename(place))
                os.makedirs(to, exist_ok=True)
                for copy in range(COPIES):
                    os.symlink(os.path.join(place, name), os.path.join(to, "%d-%s-%s" % (
                        copy, os.path.basename(os.path.dirname(place)), name)))
                    count += 1
    return count


def decode(bench):
    folder = bench.path("copies")
    count = copied(need(bench.options, "photos"), folder)
    ratios, rates, theirs, peak = [], [], [], 0
    for turn in range(bench.options.turns):
        env = dict(bench.env, XDG_CACHE_HOME=bench.path("cache-%d" % turn))
        process = measure.run([bench.options.shoal, "data", "photos:" + folder, "--resize", SIDE, "--quiet"], env)
        rates.append(count / process.seconds)
        peak = max(peak, process.peak_rss_bytes)
        report = bench.peer("decode", folder, "--workers", str(bench.options.threads))
        if report["images"] != count:
            raise measure.Failure("torchvision found %d of %d photos" % (report["images"], count))
        theirs.append(report["images_per_second"])
        ratios.append(rates[-1] / theirs[-1])
        print("decode, turn %d: shoal %.0f images/s, torchvision %.0f" % (turn + 1, rates[-1], theirs[-1]), flush=True)
    bench.row("decode, to %s pixels, %d photos" % (SIDE, count), "%.0f images/s" % statistics.median(rates),
              "torchvision %.0f images/s" % statistics.median(theirs), measure.ratio_text(ratios), ">= 1",
              statistics.median(ratios) >= 1)
    bench.row("decode, peak memory", "%.1f MB" % (peak / 1e6), target="< 60 MB", met=peak < 60e6)
    bench.result.details["decode"] = {"shoal": rates, "torchvision": theirs}


def benchmark(options, result):
    for part in PARTS:
        if part not in options.parts:
            continue
        try:
            with measure.folder() as work:
                globals()[part](Bench(options, work, result))
        except measure.Skip as reason:
            result.rows.append({"what": part, "skipped": str(reason)})


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
