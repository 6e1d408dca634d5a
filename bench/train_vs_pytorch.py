# SPDX-License-Identifier: Apache-2.0
"""Throughput of training: shoal against PyTorch, on the same cores, in turns.

LeNet on MNIST, ResNet-20 on CIFAR-10 and MobileNetV2 at 64x64 on drawn samples of 100 classes, at
batches of 64 and 128, by SGD with momentum in float32. Each turn is a fresh process of each side.
PyTorch has the advantage of every doubt: before its clock starts it has imported, read, resized,
normalised and shuffled its samples into memory and warmed its kernels up. shoal's clock covers the
reading of each sample, its first steps, which find the exponents of the exact sum, a checkpoint, and
a validation with a few samples.

PyTorch comes four times, each in the fastest of the settings tried here first:
  settings    Debian's, by what its own interface has: memory format, number of threads
  by hand     Debian's, also by optimizer, compiler and environment (threads of BLAS, how threads
              wait), as one who knows the libraries beneath would set it up
  PyPI        the newest, by memory format, number of threads and torch.compile
  PyPI, AVX2  the same, and shoal, without what the processor has beyond AVX2

A processor that has no AVX-512 holds the PyPI row to the target of AVX2.

Where PyPI cannot be reached the rows say so. The loss of those steps and the peak of memory (PyTorch's
with samples kept as bytes) stand beside.
"""

import os
import random
import shutil

import measure

BATCHES = (64, 128)
PROBES = 2  # of each setting; its best counts, because others can only slow it down
LR = "0.02"
SCRIPT = "pytorch_train.py"
AVX2_TARGET = 1.5
# What holds PyTorch and the libraries beneath it to AVX2.
AVX2_ONLY = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
VALIDATION = 10  # samples


class Model:
    def __init__(self, name, source, samples, speed, newest, memory, *options):
        """How many samples a turn trains with; how much faster shoal has to be than Debian's PyTorch and the newest,
        and how much smaller."""
        self.name, self.source, self.samples = name, source, samples
        self.speed, self.newest, self.memory, self.options = speed, newest, memory, options


MODELS = (
    Model("lenet", "mnist", 51200, 2.0, 4.0, 5),
    Model("resnet:20", "cifar10", 5120, 2.0, 2.0, 5),
    Model("mobilenetv2", "cifar100", 2560, 2.5, 2.8, 2, "--resize", "64"),
)


def add_options(parser):
    parser.add_argument("--turns", type=int, default=5, help="of each side (5)")
    parser.add_argument("--models", nargs="+", choices=[model.name for model in MODELS],
                        default=[model.name for model in MODELS])
    parser.add_argument("--batches", nargs="+", type=int, default=BATCHES)
    parser.add_argument("--quick", action="store_true",
                        help="one short turn, nothing tried first: to see that it works, not to be quoted")


def linked(folder, source, names):
    """A folder with links to some files of another."""
    os.makedirs(folder)
    for name in names:
        os.symlink(os.path.join(source, name), os.path.join(folder, name))
    return folder


def cut(source, path, count):
    """The beginning of a file as a file."""
    with open(source, "rb") as file, open(path, "wb") as copy:
        copy.write(file.read(count))


def cut_mnist(options, work, training=60000, validation=VALIDATION):
    """MNIST with fewer samples, all unpacked."""
    source = measure.need_mnist(options)
    folder = os.path.join(work, "mnist")
    os.makedirs(folder)
    kinds = {"train-images": ("idx3", 16, 784, training), "train-labels": ("idx1", 8, 1, training),
             "t10k-images": ("idx3", 16, 784, validation), "t10k-labels": ("idx1", 8, 1, validation)}
    for name, (kind, header, size, count) in kinds.items():
        content = measure.unpacked(os.path.join(source, "%s-%s-ubyte" % (name, kind)))
        with open(os.path.join(folder, "%s-%s-ubyte" % (name, kind)), "wb") as file:
            file.write(content[:4] + count.to_bytes(4, "big") + content[8:header + size * count])
    return folder


def cut_cifar10(options, work):
    source = measure.need_cifar10(options)
    names = [name for name in os.listdir(source) if name.startswith("data_batch_")]
    folder = linked(os.path.join(work, "cifar10"), source, names)
    cut(os.path.join(source, "test_batch.bin"), os.path.join(folder, "test_batch.bin"),
        3073 * VALIDATION)
    return folder


def draw_cifar100(work, samples):
    """Records of the binary CIFAR-100 form: noise on a grey that the class decides."""
    drawn = random.Random(1)
    folder = os.path.join(work, "cifar100")
    os.makedirs(folder)
    for name, count in (("train.bin", samples), ("test.bin", VALIDATION)):
        with open(os.path.join(folder, name), "wb") as file:
            for i in range(count):
                label = i % 100
                noise = bytes(byte // 2 + label for byte in drawn.randbytes(3072))
                file.write(bytes((label // 5, label)) + noise)
    return folder


def data_of(options, work, model):
    if model.source == "mnist":
        return cut_mnist(options, work)
    if model.source == "cifar10":
        return cut_cifar10(options, work)
    return draw_cifar100(work, model.samples)


class Bench:
    """One model and batch."""

    def __init__(self, options, work, model, folder, batch):
        self.options, self.work, self.model = options, work, model
        self.folder, self.batch = folder, batch
        self.steps = max(1, model.samples // (10 if options.quick else 1) // batch)

    def torch(self, setting, steps=None, lean=False):
        """Process and report; libgomp's workers spin after a task unless told not to."""
        flags = ["--" + name.replace("_", "-") for name in ("channels_last", "foreach", "jit", "compile")
                 if setting[name]] + (["--lean"] if lean else [])
        threads = 1 if setting["one_thread"] else self.options.threads
        more = {"OPENBLAS_NUM_THREADS": str(threads if setting["blas_threads"] else 1),
                "OMP_NUM_THREADS": str(threads),
                "TORCHINDUCTOR_CACHE_DIR": os.path.join(self.work, "inductor")}
        if setting.get("avx2"):
            more.update(AVX2_ONLY)
        if setting["passive"]:
            more["OMP_WAIT_POLICY"] = "passive"
        return measure.peer(self.options, "--model", self.model.name, "--data", self.folder,
                            "--batch-size", str(self.batch), "--lr", LR, "--steps",
                            str(steps or self.steps), *flags, env=measure.environment(**more),
                            script=SCRIPT, threads=threads, python=self.options.pythons[setting["from"]])

    def shoal(self, **env):
        return measure.summary(self.options, self.work, self.model.name,
                               "%s:%s" % (self.model.source, self.folder), *self.model.options,
                               "--batch-size", str(self.batch), "--steps", str(self.steps), "--lr",
                               LR, "--momentum", "0.9", "--seed", "1", "--lanes",
                               str(self.options.threads),
                               env=measure.environment(XDG_CACHE_HOME=self.work, **env))

    def probe(self, setting):
        """Images a second in a short training."""
        def short_training():
            return self.torch(setting, max(4, self.steps // 8))[1]

        reports = [measure.undisturbed(short_training) for _ in range(PROBES)]
        return max(rate_of(report) for report in reports)

    def turn(self, settings):
        """Images a second of all sides, one after the other."""
        watch = measure.Watch()
        turn = {"shoal": self.report(*self.shoal())}
        if any(setting.get("avx2") for setting in settings.values()):
            turn["shoal, AVX2"] = self.report(*self.shoal(SHOAL_VARIANT="avx2"))
        for name, setting in settings.items():
            turn[name] = self.report(*self.torch(setting))
        turn["used_by_others"] = watch.used_by_others()
        return turn

    @staticmethod
    def report(process, report):
        return {"rate": rate_of(report), "loss": report.get("train_loss", report.get("loss")),
                "peak_rss_bytes": report.get("peak_rss_bytes", process.peak_rss_bytes)}


def rate_of(report):
    return report["samples"] / report["train_seconds"]


SWITCHES = ("channels_last", "one_thread", "foreach", "jit", "passive", "blas_threads")
PLAIN = {"channels_last": True, "one_thread": False, "foreach": False, "jit": False,
         "passive": False, "blas_threads": True, "compile": False}


def instruction_sets():
    """The flags of this processor; none where the system does not say them."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return set(file.read().split())
    except OSError:
        return set()


def has_more_than_avx2():
    return instruction_sets() >= {"avx2", "avx512f"}


def has_avx2_at_most():
    return "avx512f" not in instruction_sets()


def climb(bench, setting, switches, tried):
    """One switch after the other, each left where it is faster; twice, as they depend on each other."""
    best = bench.probe(setting)
    tried.append(dict(setting, images_per_second=round(best)))
    for _ in range(2):
        changed = False
        for switch in switches:
            other = dict(setting, **{switch: not setting[switch]})
            if any(all(each[key] == other[key] for key in other) for each in tried):
                continue
            rate = bench.probe(other)
            tried.append(dict(other, images_per_second=round(rate)))
            if rate > best:
                setting, best, changed = other, rate, True
        if not changed:
            break
    return setting


def best_settings(bench, tried):
    """Of each PyTorch that is here, by the names above."""
    def best(setting, switches):
        return setting if bench.options.quick else climb(bench, setting, switches, tried)

    found = {}
    if "Debian" in bench.options.pythons:
        found["settings"] = best(dict(PLAIN, **{"from": "Debian"}), ("channels_last", "one_thread"))
        found["by hand"] = best(dict(found["settings"], foreach=True, blas_threads=False), SWITCHES)
    if "PyPI" in bench.options.pythons:
        switches = ["channels_last", "one_thread"] + ["compile"] * (shutil.which("g++") is not None)
        found["PyPI"] = best(dict(PLAIN, **{"from": "PyPI"}), switches)
        if has_more_than_avx2():
            found["PyPI, AVX2"] = dict(found["PyPI"], avx2=True)
    return found


def setting_text(setting):
    return ", ".join(name.replace("_", " ") for name, on in setting.items() if on is True) or "defaults"


def compare(bench, settings, result):
    turns, model = [], bench.model
    for number in range(1 if bench.options.quick else bench.options.turns):
        turns.append(measure.undisturbed(lambda: bench.turn(settings),
                                         tries=1 if bench.options.quick else 3))
        print("%s, batch %d, turn %d: %s; others %.0f %%" % (
            model.name, bench.batch, number + 1,
            ", ".join("%s %.0f" % (name, side["rate"]) for name, side in turns[-1].items()
                      if isinstance(side, dict)), 100 * turns[-1]["used_by_others"]), flush=True)
    smallest = "by hand" if "by hand" in settings else "PyPI"
    lean = bench.torch(dict(settings[smallest], compile=False), lean=True)[0].peak_rss_bytes
    result.details["%s, batch %d" % (model.name, bench.batch)] = {
        "settings": settings, "turns": turns, "pytorch_lean_bytes": lean}
    report(bench, turns, settings, lean, result)


def median(turns, side, what):
    return measure.spread([turn[side][what] for turn in turns])[0]


def report(bench, turns, settings, lean, result):
    model, title = bench.model, "%s, batch %d" % (bench.model.name, bench.batch)
    targets = {"PyPI": AVX2_TARGET if has_avx2_at_most() else model.newest, "PyPI, AVX2": AVX2_TARGET}
    for name in settings:
        side, target = "shoal, AVX2" if name == "PyPI, AVX2" else "shoal", targets.get(name, model.speed)
        ratios = [turn[side]["rate"] / turn[name]["rate"] for turn in turns]
        result.row("%s, %s" % (title, name),
                   "%.0f images/s" % median(turns, side, "rate"),
                   "PyTorch %.0f images/s" % median(turns, name, "rate"),
                   measure.ratio_text(ratios), ">= %.1f" % target,
                   measure.spread(ratios)[0] >= target)
    peak = measure.spread([turn["shoal"]["peak_rss_bytes"] for turn in turns])[2]
    result.row(title + ", peak memory", "%.1f MB" % (peak / 1e6), "PyTorch %.1f MB" % (lean / 1e6),
               "%.1f times less" % (lean / peak), ">= %d times" % model.memory,
               lean >= model.memory * peak)
    result.row(title + ", mean loss", "%.3f" % median(turns, "shoal", "loss"),
               "PyTorch %.3f" % median(turns, list(settings)[-1], "loss"))


def find_pythons(options, result):
    """By where their PyTorch is from; what is missing stands in the table."""
    found = {}
    if options.torch_python is not None:
        found["Debian"] = options.torch_python
    else:
        result.rows.append({"what": "Debian's PyTorch", "skipped": "PyTorch is missing: apt-get install python3-torch"})
    try:
        found["PyPI"] = measure.pypi_python()
        if shutil.which("g++") is None:
            result.rows.append({"what": "torch.compile", "skipped": "it needs a C++ compiler: apt-get install g++"})
    except measure.Skip as reason:
        result.rows.append({"what": "PyPI's PyTorch", "skipped": str(reason)})
    for name, python in found.items():
        version = measure.run([python, "-c", "import torch; print(torch.__version__)"]).out.strip()
        result.details[name + "'s PyTorch"] = version
        print("PyTorch %s from %s" % (version, name), flush=True)
    return found


def benchmark(options, result):
    options.pythons = find_pythons(options, result)
    if not options.pythons:
        return
    for model in MODELS:
        if model.name not in options.models:
            continue
        try:
            with measure.folder() as work:
                folder, settings, tried = data_of(options, work, model), None, []
                for batch in options.batches:
                    bench = Bench(options, work, model, folder, batch)
                    if settings is None:
                        settings = best_settings(bench, tried)
                        result.details[model.name + ", settings tried"] = tried
                        for name, setting in settings.items():
                            print("%s, PyTorch, %s: %s" % (model.name, name, setting_text(setting)),
                                  flush=True)
                    compare(bench, settings, result)
        except measure.Skip as reason:
            result.rows.append({"what": model.name, "skipped": str(reason)})


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
