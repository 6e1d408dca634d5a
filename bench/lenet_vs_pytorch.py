# SPDX-License-Identifier: Apache-2.0
"""Throughput of training LeNet on MNIST: shoal against PyTorch, on the same cores, in turns.

One epoch, batch 64, SGD with momentum, float32; the same network in the same order of layers. Each
turn is a fresh process. PyTorch has the advantage of every doubt: before its clock starts it has
imported, read, normalised and shuffled its data into memory and warmed its kernels up, and it runs
in the fastest of the settings tried here first. shoal's clock covers its whole epoch: reading each
sample from the file, validation, and the checkpoint.

PyTorch comes twice, each in the fastest of the settings tried here first:
  settings    by what its own interface has: memory format, number of threads
  by hand     also by optimizer, compiler and environment (threads of BLAS, how threads wait), as one who
              knows the libraries beneath would set it up

Two ratios of images a second for each, the median over the turns; both strict ones are held to the
target:
  strict      shoal with all of that, against PyTorch's training loop alone
  like        shoal with all of that, against PyTorch's training loop and validation
"""

import measure

TARGET = 1.5
JOB = ["--epochs", "1", "--batch-size", "64", "--lr", "0.02", "--momentum", "0.9", "--seed", "1"]
PROBE_SAMPLES = 6400
PROBES = 3  # of each setting; its best counts, because others can only slow it down


def add_options(parser):
    parser.add_argument("--pairs", type=int, default=5, help="turns of each side, at least 5 (5)")


def environment_of(setting, threads):
    """libgomp's workers spin after a task unless told not to, on the core that OpenBLAS's wants."""
    more = {"OPENBLAS_NUM_THREADS": str(threads if setting["blas_threads"] else 1),
            "OMP_NUM_THREADS": str(threads)}
    if setting["passive"]:
        more["OMP_WAIT_POLICY"] = "passive"
    return measure.environment(**more)


def torch_epoch(options, folder, setting, *more):
    flags = ["--" + name.replace("_", "-") for name in ("channels_last", "foreach", "jit")
             if setting[name]]
    return measure.peer(options, "--data", folder, *flags, *more,
                        env=environment_of(setting, options.threads))[1]


def shoal_epoch(options, work, folder, *more):
    return measure.summary(options, work, "lenet", "mnist:" + folder, *JOB, *more, "--lanes",
                           str(options.threads), env=measure.environment(XDG_CACHE_HOME=work))[1]


def one_turn(options, work, folder, settings):
    """Images a second of all sides, one after the other."""
    watch = measure.Watch()
    ours = shoal_epoch(options, work, folder)
    turn = {"shoal": ours["samples"] / ours["train_seconds"],
            "shoal_accuracy": ours["val_accuracy"]}
    for name, setting in settings.items():
        theirs = torch_epoch(options, folder, setting)
        both = theirs["train_seconds"] + theirs["validation_seconds"]
        turn[name] = {"training": theirs["samples"] / theirs["train_seconds"],
                      "with_validation": theirs["samples"] / both,
                      "accuracy": theirs["accuracy"], "version": theirs["version"]}
    turn["used_by_others"] = watch.used_by_others()
    return turn


def probe(options, folder, setting):
    """Images a second in a short training."""
    def short_training():
        return torch_epoch(options, folder, setting, "--samples", str(PROBE_SAMPLES))

    reports = [measure.undisturbed(short_training) for _ in range(PROBES)]
    return max(report["samples"] / report["train_seconds"] for report in reports)


def plain_setting(options, folder, tried):
    """The better memory format; everything else as it comes."""
    plain = {"channels_last": True, "foreach": False, "jit": False, "passive": False,
             "blas_threads": True}
    rates = {}
    for channels_last in (True, False):
        setting = dict(plain, channels_last=channels_last)
        rates[channels_last] = probe(options, folder, setting)
        tried.append(dict(setting, images_per_second=round(rates[channels_last])))
    return dict(plain, channels_last=rates[True] >= rates[False])


def best_setting(options, folder, tried):
    """One switch after the other, each left where it is faster; twice, as they depend on each other."""
    setting = {"channels_last": True, "foreach": True, "jit": False, "passive": False,
               "blas_threads": False}
    best = probe(options, folder, setting)
    tried.append(dict(setting, images_per_second=round(best)))
    changed = True
    for _ in range(2):
        if not changed:
            break
        changed = False
        for switch in list(setting):
            other = dict(setting, **{switch: not setting[switch]})
            if any(all(each[key] == other[key] for key in other) for each in tried):
                continue
            rate = probe(options, folder, other)
            tried.append(dict(other, images_per_second=round(rate)))
            if rate > best:
                setting, best, changed = other, rate, True
    return setting


def setting_text(setting):
    return ", ".join(name.replace("_", " ") for name, on in setting.items() if on) or "defaults"


def benchmark(options, result):
    measure.need_torch(options)
    folder = measure.need_mnist(options)
    turns = []
    with measure.folder() as work:
        shoal_epoch(options, work, folder, "--steps", "1")  # unpacks the data
        tried = []
        settings = {"settings": plain_setting(options, folder, tried),
                    "by hand": best_setting(options, folder, tried)}
        for name, setting in settings.items():
            print("PyTorch, %s: %s" % (name, setting_text(setting)))
        for number in range(max(options.pairs, 5)):
            turns.append(measure.undisturbed(lambda: one_turn(options, work, folder, settings)))
            print("turn %d: shoal %.0f images/s, PyTorch %.0f by settings, %.0f by hand; others %.0f %%" %
                  (number + 1, turns[-1]["shoal"], turns[-1]["settings"]["training"],
                   turns[-1]["by hand"]["training"], 100 * turns[-1]["used_by_others"]),
                  flush=True)
    result.details = {"settings_tried": tried, "settings": settings, "turns": turns}
    report(result, turns, settings)


def report(result, turns, settings):
    ours = measure.spread([turn["shoal"] for turn in turns])[0]
    for setting in settings:
        for name, key in (("strict", "training"), ("like", "with_validation")):
            ratios = [turn["shoal"] / turn[setting][key] for turn in turns]
            theirs = measure.spread([turn[setting][key] for turn in turns])[0]
            claimed = name == "strict"
            result.row("LeNet, %s, %s" % (setting, name), "%.0f images/s" % ours,
                       "PyTorch %.0f images/s" % theirs, measure.ratio_text(ratios),
                       ">= %.1f" % TARGET if claimed else "",
                       measure.spread(ratios)[0] >= TARGET if claimed else None)
    accuracy = measure.spread([turn[name]["accuracy"] for turn in turns for name in settings])
    result.row("accuracy of that epoch", "%.2f %%" % (100 * turns[0]["shoal_accuracy"]),
               "PyTorch %.2f %% (%.2f to %.2f)" % tuple(100 * each for each in accuracy))


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
