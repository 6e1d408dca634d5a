# SPDX-License-Identifier: Apache-2.0
"""Training on 1, 2, 4 and 8 devices of a fifth of a core at 100 Mbit/s: shoal against PyTorch's DDP on Gloo, in turns.

LeNet on MNIST and ResNet-20 on CIFAR-10, 64 samples a step over all devices, SGD with momentum in float32. Both sides
use the same links and quotas, one after the other, again and again. shoal's clock is its own line of each step
(--events), PyTorch's the time behind each step of its loop; the first steps are left out on both sides. PyTorch has
its samples as numbers in memory, one thread for each library, and the best of the settings tried here first. shoal
reads its samples from files, encrypts, compares replicas, and sums exactly, in 32, 16 and 8 bits. Mean losses of all
steps stand beside the speeds. `local:H` is there to be known: a step of it is H batches.
"""

import os
import statistics

import fleet
import measure
import train_vs_pytorch

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch_ddp.py")
CPU, RATE, BATCH, LR = 0.2, "100Mbit", 64, 0.02
SKIP = 10  # steps of both sides
DEVICES = (1, 2, 4, 8)


class Model:
    def __init__(self, name, source, steps, grain, target):
        """Steps of a turn behind those that are left out; how many times DDP's rate on 8 devices is claimed."""
        self.name, self.source, self.steps, self.grain, self.target = name, source, steps, grain, target

    def job(self, folder, steps, more):
        return "%s %s:%s --batch-size %d --grain %d --lr %g --momentum 0.9 --seed 1 --steps %d %s" % (
            self.name, self.source, folder, BATCH, self.grain, LR, steps, more)


MODELS = {"lenet": Model("lenet", "mnist", 30, 8, 3.0), "resnet:20": Model("resnet:20", "cifar10", 20, 8, 2.5)}
WIRES = {"wire %d" % bits: "--wire %d" % bits for bits in (32, 16, 8)}
LOCAL = (4, 16)
LOCAL_STEPS = 12  # of H batches
# Of PyTorch: the memory format, and how much is summed at once.
SETTINGS = {"as it comes": [], "channels last": ["--channels-last"], "small buckets": ["--bucket-mb", "0.5"],
            "channels last, small buckets": ["--channels-last", "--bucket-mb", "0.5"]}
HALF = ["--half"]


def add_options(parser):
    parser.add_argument("--turns", type=int, default=3, help="of each side (3)")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--devices", nargs="+", type=int, default=DEVICES)
    parser.add_argument("--setting", choices=SETTINGS, help="of PyTorch, without trying all")
    parser.add_argument("--half", action="store_true", help="PyTorch also with gradients that travel as 16-bit floats")
    parser.add_argument("--sides", nargs="+", help="of shoal, such as 'wire 8' (all)")


def torch(options, devices, model, folder, flags):
    """A turn of PyTorch as a Training: rank 0's clock, the mean loss of all ranks."""
    def argv(rank, address):
        return ["env", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "GLOO_SOCKET_IFNAME=eth0", options.torch_python,
                "-B", SCRIPT, "--rank", str(rank), "--devices", str(devices.count),
                "--address", address, "--model", model.name, "--data", folder, "--batch-size", str(BATCH), "--lr",
                str(LR), "--steps", str(model.steps + SKIP), *flags]

    ranks = devices.run(argv)
    losses = [statistics.mean(step) for step in zip(*(rank["losses"] for rank in ranks))]
    return fleet.Training([(end, BATCH * (i + 1), statistics.mean(losses[:i + 1]))
                           for i, end in enumerate(ranks[0]["ends"])])


def sides_of(options, model, devices):
    """Options of shoal by name."""
    sides = dict(WIRES if devices > 1 else {"wire 32": "--wire 32"})
    if model.name == "lenet":
        sides.update(("local:%d" % steps, "--strategy local:%d --workers 8 --wire 8" % steps) for steps in LOCAL)
    return {name: more for name, more in sides.items() if options.sides is None or name in options.sides}


def job_of(model, folder, name, more):
    return model.job(folder, LOCAL_STEPS if name.startswith("local") else model.steps + SKIP, more)


def best_setting(options, devices, model, folder, result):
    """The fastest of PyTorch's settings, each tried once."""
    if options.setting is not None:
        return options.setting
    tried = {name: torch(options, devices, model, folder, flags).rate(SKIP) for name, flags in SETTINGS.items()}
    result.details["%s on %d, settings tried" % (model.name, devices.count)] = tried
    return max(tried, key=tried.get)


def turn(options, devices, model, folder, sides, setting):
    """One turn of all sides, by name."""
    def peer(more):
        return lambda: torch(options, devices, model, folder, SETTINGS[setting] + more)

    def ours(name):
        return lambda: devices.train(options.shoal, job_of(model, folder, name, sides[name]))

    train = {"DDP": peer([])}
    if devices.count > 1 and options.half:
        train["DDP, 16 bits"] = peer(HALF)
    train.update((name, ours(name)) for name in sides)
    found = {}
    for name, each in train.items():
        found[name] = told(name, each())
        print("%s on %d, %s: %.0f images/s" % (model.name, devices.count, name, found[name]["rate"]), flush=True)
    return found


def skip_of(name):
    return 2 if name.startswith("local") else SKIP


def told(name, training):
    return {"rate": training.rate(skip_of(name)), "step_seconds": training.step_seconds(skip_of(name)),
            "loss": training.loss(), "hash": (training.summary or {}).get("weights_hash")}


def compare(options, result, work, model, count, folder):
    turns = []
    with fleet.Fleet(work, count, CPU, RATE) as devices:
        setting = best_setting(options, devices, model, folder, result)
        sides = sides_of(options, model, count)
        for _ in range(options.turns):
            turns.append(turn(options, devices, model, folder, sides, setting))
    result.details["%s on %d" % (model.name, count)] = {"setting": setting, "turns": turns}
    for name in sides:
        report(result, model, count, name, turns, setting)
    return turns


def median(turns, name, what):
    return statistics.median(each[name][what] for each in turns)


def report(result, model, count, name, turns, setting):
    ratios = [each[name]["rate"] / each["DDP"]["rate"] for each in turns]
    claimed = count == 8 and not name.startswith("local")
    result.row("%s, %d devices, %s" % (model.name, count, name),
               "%.0f images/s, step %.1f ms, loss %.3f, %.8s" % (
                   median(turns, name, "rate"), 1e3 * median(turns, name, "step_seconds"), median(turns, name, "loss"),
                   turns[-1][name]["hash"]),
               "%.0f images/s, loss %.3f (%s)" % (median(turns, "DDP", "rate"), median(turns, "DDP", "loss"), setting),
               measure.ratio_text(ratios), ">= %.1f" % model.target if claimed else "",
               statistics.median(ratios) >= model.target if claimed else None)
    if "DDP, 16 bits" in turns[0]:
        ratios = [each[name]["rate"] / each["DDP, 16 bits"]["rate"] for each in turns]
        result.row("", "", "16 bits: %.0f images/s, loss %.3f" % (
            median(turns, "DDP, 16 bits", "rate"), median(turns, "DDP, 16 bits", "loss")), measure.ratio_text(ratios))


def report_scaling(result, model, by_count):
    """Eight devices against one, both shoal's."""
    if not {1, 8} <= by_count.keys():
        return
    alone = median(by_count[1], "wire 32", "rate")
    for name in by_count[8][0]:
        if not name.startswith("DDP"):
            ratio = median(by_count[8], name, "rate") / alone
            result.row("%s, 8 devices of 1, %s" % (model.name, name), "", "", "%.2f" % ratio,
                       "> 1" if model.name == "lenet" else "", ratio > 1 if model.name == "lenet" else None)


def benchmark(options, result):
    fleet.need_lab()
    measure.need_torch(options)
    for model in (MODELS[name] for name in options.models):
        with measure.folder() as work:
            prepare = {"mnist": train_vs_pytorch.cut_mnist, "cifar10": train_vs_pytorch.cut_cifar10}[model.source]
            folder = prepare(options, work)
            report_scaling(result, model, {count: compare(options, result, work, model, count, folder)
                                           for count in options.devices})


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
