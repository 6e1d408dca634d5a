#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The study's work by other systems on the same emulated devices: python3 -B bench/peers/peers.py --peers ddp

    ddp          PyTorch's DistributedDataParallel on Gloo            apt-get install python3-torch
    tensorflow   TensorFlow's MultiWorkerMirroredStrategy             python3 -m venv DIR && DIR/bin/pip install tensorflow-cpu
    mxnet-sync   MXNet's parameter server, dist_sync; a device more   python3 -m venv DIR && DIR/bin/pip install numpy==1.23.5
    mxnet-async  likewise, dist_async                                   mxnet==1.9.1
    shoal        by its default strategy, in the same turns

SHOAL_BENCH_TENSORFLOW and SHOAL_BENCH_MXNET name the Pythons (DIR/bin/python). Needs root (lab/README.md) and the data
sets. Devices have a fifth of a core and a link of 100 Mbit/s; a batch is 64 samples of each device. Times are by each
system's own clock, from the end of the first steps on. Rows are kept in bench/results/peers/, and what is there is not measured
again (--fresh does); the tables of what was asked for are printed as Markdown, in the form that `shoal sweep` has.
"""

import json
import os
import shutil
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.dirname(HERE)
sys.path[:0] = [BENCH, os.path.join(BENCH, "strategies")]
import fleet
import kept
import measure
import train_vs_pytorch

CPU, RATE, BATCH = 0.2, "100Mbit", 64
SKIP = 3  # steps of each side
LIMIT = 400.0  # seconds that a turn may take: ten imports of TensorFlow on two cores take a while
# Data, steps behind those that are left out, learning rate for one batch of 64.
MODELS = {"mlp:784-128-64-10": ("mnist", 30, 0.01), "lenet": ("mnist", 20, 0.01), "resnet:20": ("cifar10", 8, 0.02)}
PYTHONS = dict(os.environ)  # before the lab takes what steers libraries out of it
PEERS = ("shoal", "ddp", "tensorflow", "mxnet-sync", "mxnet-async")
TORCH_ALONE = ("resnet:20",)  # models that only PyTorch's side has


def add_options(parser):
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=("shoal", "ddp"))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--devices", nargs="+", type=int, default=(1, 2, 4, 8, 10))
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")


def python_of(peer, options):
    """The Python that has it; Skip where none is named."""
    if peer == "ddp":
        measure.need_torch(options)
        return options.torch_python
    name = "SHOAL_BENCH_" + peer.split("-")[0].upper()
    python = PYTHONS.get(name)
    if not python or not shutil.which(python):
        raise measure.Skip("%s: no Python that has it: set %s (bench/peers/peers.py --help)" % (peer, name))
    return python


def peer_ranks(options, peer, devices, model, folder):
    """What each rank reports."""
    _, steps, rate = MODELS[model]
    common = ["--devices", str(devices), "--model", model, "--data", folder, "--batch-size", str(BATCH * devices),
              "--lr", "%g" % (rate * (1 if peer == "mxnet-async" else devices)), "--steps", str(steps + SKIP)]
    prefix = ["env", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "GLOO_SOCKET_IFNAME=eth0", python_of(peer, options), "-B"]
    serves = peer.startswith("mxnet") and devices > 1
    with fleet.Fleet(options.work, devices + serves, CPU, RATE) as members:
        def argv(index, address):
            own = ["--rank", str(index), *common]
            if peer == "ddp":
                return [*prefix, os.path.join(BENCH, "strategies", "pytorch_ddp.py"), *own, "--address", address]
            own += ["--addresses", *members.hosts]
            if peer == "tensorflow":
                return [*prefix, os.path.join(HERE, "tensorflow_rank.py"), *own]
            mode = "dist_" + peer.split("-")[1] if devices > 1 else "local"
            return [*prefix, os.path.join(HERE, "mxnet_rank.py"), *own, "--mode", mode]
        return [each for each in members.run(argv, limit=LIMIT) if each]


def peer_row(options, peer, devices, model, folder):
    ranks = peer_ranks(options, peer, devices, model, folder)
    own = ranks[0]["ends"]
    seconds = own[-1] - own[SKIP - 1]
    samples = BATCH * devices * (len(own) - SKIP)

    def mean(key):
        return statistics.mean(each[key] for each in ranks)
    return {"samples_per_second": samples / seconds, "seconds": seconds,
            "loss": statistics.mean(statistics.mean(each["losses"]) for each in ranks),
            "cpu": 100 * mean("cpu_seconds") / mean("seconds"), "memory": mean("peak_rss_bytes"),
            "received": mean("bytes_received") / mean("seconds"), "sent": mean("bytes_sent") / mean("seconds"),
            "version": ranks[0]["version"]}


def shoal_row(options, devices, model, folder):
    source, steps, rate = MODELS[model]
    job = "%s %s:%s --batch-size %d --lr %g --momentum 0.9 --seed 1 --steps %d" % (
        model, source, folder, BATCH * devices, rate * devices, steps + SKIP)
    with fleet.Fleet(options.work, devices, CPU, RATE) as members:
        training = members.train(options.shoal, job, limit=LIMIT)
    ends = [end for end, _, _ in training.steps]
    seconds, whole = ends[-1] - ends[SKIP - 1], training.summary["train_seconds"]
    reports = training.summary["devices"]

    def mean(key):
        return statistics.mean(each[key] for each in reports)
    return {"samples_per_second": training.rate(SKIP), "seconds": seconds, "loss": training.loss(), "cpu": None,
            "memory": mean("peak_rss_bytes"), "received": mean("bytes_received") / whole, "sent": mean("bytes_sent") / whole,
            "version": training.summary["weights_hash"][:8]}


def row(options, store, peer, devices, model, folder):
    def make():
        if peer == "shoal":
            return shoal_row(options, devices, model, folder)
        return peer_row(options, peer, devices, model, folder)
    return store.get("%s %s %d" % (model, peer, devices), [peer, devices, model, BATCH, CPU, RATE, MODELS[model]], make)


def text(value, form):
    return "-" if value is None else form % value


def print_tables(rows):
    for model in MODELS:
        for peer in PEERS:
            found = {key[2]: each for key, each in rows.items() if key[:2] == (model, peer)}
            if not found:
                continue
            print("\n**%s, %s**\n" % (model, peer))
            print("| devices | speed-up | seconds | samples/s | loss | CPU % | memory MB | in kB/s | out kB/s |")
            print("|" + 9 * "---:|")
            base = found[min(found)]["samples_per_second"]
            for devices, each in sorted(found.items()):
                print("| %d | %.2f | %.2f | %.0f | %.3f | %s | %.1f | %.1f | %.1f |" % (
                    devices, each["samples_per_second"] / base, each["seconds"], each["samples_per_second"], each["loss"],
                    text(each["cpu"], "%.1f"), each["memory"] * 1e-6, each["received"] * 1e-3, each["sent"] * 1e-3))
    print()


def benchmark(options, result):
    fleet.need_lab()
    store = kept.Kept("peers", options.shoal, options.fresh)
    rows, folders, skipped = {}, {}, set()
    with measure.folder() as options.work:
        prepare = {"mnist": train_vs_pytorch.cut_mnist, "cifar10": train_vs_pytorch.cut_cifar10}
        for model in options.models:
            source = MODELS[model][0]
            if source not in folders:
                folders[source] = prepare[source](options, options.work)
            for devices in options.devices:
                for peer in options.peers:
                    if peer in skipped or (model in TORCH_ALONE and peer not in ("shoal", "ddp")):
                        continue
                    try:
                        rows[model, peer, devices] = each = row(options, store, peer, devices, model, folders[source])
                    except measure.Skip as reason:
                        skipped.add(peer)
                        result.skipped(str(reason))
                        continue
                    except measure.Failure as failure:  # one system's trouble is not another's
                        result.row("%s, %d devices, %s" % (model, devices, peer), "failed: %s" % failure)
                        continue
                    result.row("%s, %d devices, %s" % (model, devices, peer), "%.0f samples/s, loss %.3f, %.0f MB" % (
                        each["samples_per_second"], each["loss"], each["memory"] * 1e-6))
                    print(result.rows[-1]["what"], result.rows[-1]["shoal"], flush=True)
    print_tables(rows)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
