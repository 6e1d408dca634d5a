#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The second study (Park, Lee, Hwang 2023) on emulated devices: sudo python3 -B bench/second_study.py

MobileNetV2 with ImageNet's weights and a new head learns CIFAR-10 at 64x64, its backbone frozen and not, from ImageNet's
weights and from none. Two parts, which --parts chooses:

  courses   loss and accuracy by epoch. shoal's depend on the job alone, so each is trained once on the whole machine.
            Those of TensorFlow and PyTorch depend on the number of devices, so each number is trained.
  times     seconds of a step on 1, 2 and 4 devices of the lab, in turns; shoal's weights have to be the same.

Then it writes the tables into docs/transfer.md. Needs root (lab/README.md), CIFAR-10, the weights of MobileNetV2, and a
Python with torch and onnx (SHOAL_BENCH_PYTHON); TensorFlow where SHOAL_BENCH_TENSORFLOW names a Python that has it.
Outcomes are kept in bench/results/transfer, and what is there is not measured again (--fresh does).
"""

import json
import os
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "strategies"), os.path.join(HERE, "peers")]
import fleet
import kept
import measure
import train_vs_pytorch

CPU, LINK, BATCH, SKIP = 0.25, "1Gbit", 64, 4
DEVICES = (1, 2, 4)
STARTS, BACKBONES = ("imagenet", "none"), ("frozen", "trained")
OURS = {"shoal": [], "shoal, 16 bits": ["--wire 16"]}  # the weights of the second are others
PEERS = {"PyTorch DDP": "transfer_pytorch.py", "TensorFlow": "transfer_tensorflow.py"}
LR, GAMMA, FROM_EPOCH = 0.01, 0.7, 2
WEIGHTS = os.path.join("pretrained", "mobilenet_v2_imagenet.safetensors")
PAGE = os.path.join(measure.ROOT, "docs", "transfer.md")
BEGIN, END = "<!-- the tables: written by bench/second_study.py -->", "<!-- the tables' end -->"
TENSORFLOW = os.environ.get("SHOAL_BENCH_TENSORFLOW")  # before the lab takes such names out
LIMIT = 1200.0  # seconds of one training


def add_options(parser):
    parser.add_argument("--epochs", type=int, default=4, help="of a course (4)")
    parser.add_argument("--samples", type=int, default=5120, help="of an epoch of a course (5120)")
    parser.add_argument("--steps", type=int, default=20, help="that are timed (20)")
    parser.add_argument("--turns", type=int, default=2, help="of each side in the lab (2)")
    parser.add_argument("--parts", nargs="+", choices=("courses", "times", "page"), default=("courses", "times", "page"))
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--devices", nargs="+", type=int, default=DEVICES)
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    parser.add_argument("--quick", action="store_true", help="one short turn, no page: to see that it works")


def cut(options, name, samples, validation):
    """CIFAR-10 with fewer images."""
    source, folder = measure.need_cifar10(options), os.path.join(options.work, name)
    os.makedirs(folder)
    left = samples
    for number in range(1, 6):
        path = os.path.join(source, "data_batch_%d.bin" % number)
        if left > 0 and os.path.exists(path):
            train_vs_pytorch.cut(path, os.path.join(folder, os.path.basename(path)), 3073 * left)
            left -= os.path.getsize(path) // 3073
    train_vs_pytorch.cut(os.path.join(source, "test_batch.bin"), os.path.join(folder, "test_batch.bin"), 3073 * validation)
    return folder


def prepare(options):
    """The networks' files, and the data of both parts."""
    weights = os.path.join(options.data, WEIGHTS)
    if not os.path.exists(weights):
        raise measure.Skip("no %s in %s" % (WEIGHTS, options.data))
    for start in STARTS:
        measure.run([options.torch_python, "-B", os.path.join(HERE, "peers", PEERS["PyTorch DDP"]), "--make",
                     os.path.join(options.work, start + ".onnx"), *(["--weights", weights] if start == "imagenet" else [])])
    options.course_data = cut(options, "courses", options.samples, 100 if options.quick else 1000)
    options.time_data = cut(options, "times", BATCH * (options.steps + SKIP), 10)


def python_of(options, peer):
    if peer == "TensorFlow" and not TENSORFLOW:
        raise measure.Skip("TensorFlow: set SHOAL_BENCH_TENSORFLOW to a Python that has tensorflow-cpu")
    return TENSORFLOW if peer == "TensorFlow" else options.torch_python


def job(options, start, backbone, data, *more):
    """What follows `shoal train`."""
    return " ".join([os.path.join(options.work, start + ".onnx"), "cifar10:" + data, "--resize 64 --normalize none --seed 1",
                     "--batch-size %d --lr %g --momentum 0.9" % (BATCH, LR), *more,
                     *(["--freeze features.*"] if backbone == "frozen" else [])])


def peer_argv(options, peer, start, backbone, data, *more):
    """By rank, in a fleet."""
    common = ["--model", os.path.join(options.work, start + ".npz"), "--data", data, "--batch-size", str(BATCH), "--lr",
              "%g" % LR, *more, *(["--freeze"] if backbone == "frozen" else [])]

    def argv_in(members):
        return lambda index, _: [
            "env", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "GLOO_SOCKET_IFNAME=eth0", python_of(options, peer), "-B",
            os.path.join(HERE, "peers", PEERS[peer]), "--rank", str(index), "--devices", str(members.count), "--addresses",
            *members.hosts, *common]
    return argv_in


# ---- courses ----

def course_of_shoal(options, start, backbone):
    with tempfile.TemporaryDirectory(dir=options.work) as place:
        run = os.path.join(place, "run")
        text = job(options, start, backbone, options.course_data, "--epochs %d" % options.epochs,
                   "--schedule exponential:%g,%d" % (GAMMA, FROM_EPOCH))
        measure.run([options.shoal, "train", *text.split(), "--lanes", str(options.threads), "--quiet", "--run", run,
                     "--json", os.path.join(place, "summary.json")], timeout=LIMIT)
        with open(os.path.join(place, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
        with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    return {"hash": summary["weights_hash"], "epochs": [
        {"train_loss": line["loss"], "val_loss": line["val_loss"], "val_accuracy": line["val_accuracy"]} for line in lines]}


def course_of_peer(options, peer, devices, start, backbone):
    """On a core that all devices share: a course does not depend on their speed."""
    argv_in = peer_argv(options, peer, start, backbone, options.course_data, "--epochs", str(options.epochs), "--gamma",
                        str(GAMMA), "--from-epoch", str(FROM_EPOCH), "--validate")
    with fleet.Fleet(options.work, devices, 1 / devices, None) as members:
        ranks = members.run(argv_in(members), limit=LIMIT)
    return {"version": ranks[0]["version"], "epochs": ranks[0]["epochs"]}


def courses(options, store, result):
    asked = [options.samples, options.epochs, LR, GAMMA, FROM_EPOCH, options.quick]

    def tell(name, make):
        found = store.get("course " + name, asked, make)
        result.row(name, "accuracy %.1f %%, loss %.3f" % (100 * found["epochs"][-1]["val_accuracy"],
                                                         found["epochs"][-1]["val_loss"]))
        print(name, result.rows[-1]["shoal"], flush=True)

    for start in STARTS:
        for backbone in BACKBONES:
            tell("shoal %s %s" % (start, backbone), lambda s=start, b=backbone: course_of_shoal(options, s, b))
    for peer in options.peers:
        for devices in options.devices:
            for backbone in BACKBONES:
                attempt(result, peer, lambda: tell("%s %d imagenet %s" % (peer, devices, backbone),
                                                   lambda: course_of_peer(options, peer, devices, "imagenet", backbone)))


def attempt(result, peer, what):
    """One system's trouble is not another's."""
    try:
        what()
    except measure.Skip as reason:
        result.skipped(str(reason))
    except measure.Failure as failure:
        result.row(peer, "failed: %s" % str(failure)[-300:])


# ---- times ----

def time_of_shoal(options, members, side, backbone):
    text = job(options, "imagenet", backbone, options.time_data, "--steps %d" % (options.steps + SKIP), *OURS[side])
    training = members.train(options.shoal, text, limit=LIMIT)
    reports = training.summary["devices"]
    return {"step": training.step_seconds(SKIP), "loss": training.loss(), "hash": training.summary["weights_hash"],
            "sent": statistics.mean(each["bytes_sent"] for each in reports) / (options.steps + SKIP),
            "memory": statistics.mean(each["peak_rss_bytes"] for each in reports)}


def time_of_peer(options, members, peer, backbone):
    argv_in = peer_argv(options, peer, "imagenet", backbone, options.time_data, "--steps", str(options.steps + SKIP))
    ranks = members.run(argv_in(members), limit=LIMIT)
    ends = ranks[0]["ends"]
    return {"step": statistics.median(now - then for then, now in zip(ends[SKIP - 1:], ends[SKIP:])),
            "loss": statistics.mean(statistics.mean(each["losses"]) for each in ranks), "version": ranks[0]["version"],
            "sent": statistics.mean(each["bytes_sent"] for each in ranks) / len(ends),
            "memory": statistics.mean(each["peak_rss_bytes"] for each in ranks)}


def times(options, store, result):
    asked = [options.steps, BATCH, CPU, LINK, SKIP, LR]
    for turn in range(options.turns):
        for backbone in BACKBONES:
            for devices in options.devices:
                for side in (*OURS, *options.peers):
                    def make(side=side, devices=devices, backbone=backbone):
                        watch = measure.Watch()
                        with fleet.Fleet(options.work, devices, CPU, LINK) as members:
                            found = (time_of_shoal(options, members, side, backbone) if side in OURS else
                                     time_of_peer(options, members, side, backbone))
                        return {**found, "others": watch.used_by_others()}

                    def tell(side=side, devices=devices, backbone=backbone, make=make):
                        name = "%s %d %s" % (side, devices, backbone)
                        found = store.get("time %s turn %d" % (name, turn), asked, make)
                        print("%s: %.3f s a step, %.2f MB sent" % (name, found["step"], 1e-6 * found["sent"]), flush=True)
                    attempt(result, side, tell)
    for backbone in BACKBONES:
        report(options, store, result, backbone)


def timed(options, store, side, devices, backbone):
    """Turns that were measured, the disturbed ones too."""
    asked = [options.steps, BATCH, CPU, LINK, SKIP, LR]
    found = [store.find("time %s %d %s turn %d" % (side, devices, backbone, turn), asked) for turn in range(options.turns)]
    return [each for each in found if each is not None]


def median(turns, key):
    return statistics.median(each[key] for each in turns)


def report(options, store, result, backbone):
    for side in OURS:
        found = {devices: timed(options, store, side, devices, backbone) for devices in options.devices}
        hashes = {each["hash"] for turns in found.values() for each in turns}
        if hashes:
            result.row("%s, %s, weights on %s devices" % (side, backbone, ", ".join(map(str, found))),
                       ", ".join(each[:8] for each in hashes), target="one hash", met=len(hashes) == 1)
        if found.get(1) and found.get(2):
            ratio = median(found[1], "step") / median(found[2], "step")
            result.row("%s, %s, two devices against one" % (side, backbone), "%.2f times as fast" % ratio,
                       target="> 1; reach for 1.8", met=ratio > 1)


# ---- the page ----

def course_tables(options, store):
    asked = [options.samples, options.epochs, LR, GAMMA, FROM_EPOCH, options.quick]
    lines = ["**Accuracy and loss by epoch**: %d images an epoch, validated with 1,000" % options.samples, "",
             "| start | backbone | system | devices | " + " | ".join("epoch %d" % (i + 1) for i in range(options.epochs)) + " |",
             "|---|---|---|---|" + options.epochs * "---:|"]

    def row(start, backbone, side, devices, name):
        found = store.find("course " + name, asked)
        cells = ["%.1f %%, %.2f" % (100 * each["val_accuracy"], each["val_loss"]) for each in found["epochs"]] \
            if found else ["not measured"] + (options.epochs - 1) * [""]
        lines.append("| %s | %s | %s | %s | %s |" % (start, backbone, side, devices, " | ".join(cells)))
    for start in STARTS:
        for backbone in BACKBONES:
            row(start, backbone, "shoal", "any", "shoal %s %s" % (start, backbone))
            for peer in PEERS if start == "imagenet" else ():
                for devices in DEVICES:
                    row(start, backbone, peer, devices, "%s %d %s %s" % (peer, devices, start, backbone))
    return lines


def time_tables(options, store):
    per_epoch = 50_000 // BATCH
    lines = ["**Time**: %d steps of 64 images, %d turns" % (options.steps, options.turns), "",
             "| backbone | system | devices | seconds a step | speed-up | hours of 100 epochs | MB sent a step | memory MB "
             "| loss | weights | others |", "|---|---|---|---:|---:|---:|---:|---:|---:|---|---:|"]
    for backbone in BACKBONES:
        for side in (*OURS, *PEERS):
            alone = timed(options, store, side, 1, backbone)
            for devices in DEVICES:
                turns = timed(options, store, side, devices, backbone)
                if not turns:
                    lines.append("| %s | %s | %d | not measured |" % (backbone, side, devices) + 7 * " |")
                    continue
                step = median(turns, "step")
                lines.append("| %s | %s | %d | %.3f | %s | %.1f | %.2f | %.0f | %.3f | %s | %.0f %% |" % (
                    backbone, side, devices, step, "%.2f" % (median(alone, "step") / step) if alone else "",
                    100 * per_epoch * step / 3600, 1e-6 * median(turns, "sent"), 1e-6 * median(turns, "memory"),
                    median(turns, "loss"), turns[-1].get("hash", "")[:8], 100 * max(each["others"] for each in turns)))
    return lines


def write_page(tables):
    with open(PAGE, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n\n" + "\n".join(tables) + "\n\n" + END + rest.split(END)[1])


def benchmark(options, result):
    fleet.need_lab()
    measure.need_torch(options)
    if options.quick:
        options.epochs, options.samples, options.steps, options.turns = 1, 2 * BATCH, 2, 1
    store = kept.Kept("transfer-quick" if options.quick else "transfer", options.shoal, options.fresh)
    with measure.folder() as options.work:
        if set(options.parts) != {"page"}:
            prepare(options)
        if "times" in options.parts:
            times(options, store, result)
        if "courses" in options.parts:
            courses(options, store, result)
    if "page" in options.parts and not options.quick:
        write_page([*time_tables(options, store), "", *course_tables(options, store)])
        result.row("the study", "docs/transfer.md")


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
