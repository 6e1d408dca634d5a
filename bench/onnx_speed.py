# SPDX-License-Identifier: Apache-2.0
"""Speed of networks from ONNX files: built-in models against their own exports, in turns, and a large file's import.

A built-in model is trained for a step and exported; then the model and the file train with the same data, a fresh
process each. The large file has 25 million weights. Its import is a whole process that opens it, builds the network,
loads and packs the weights and computes one sample: an upper bound.
"""
import os

import measure
import train_vs_pytorch

RATIO = 0.97
BATCH = 64
LARGE = "mlp:3072-4096-3072-10"


def add_options(parser):
    parser.add_argument("--turns", type=int, default=5, help="of each side (5)")
    parser.add_argument("--samples", type=int, default=2560, help="of a turn (2560)")


def exported(options, work, model, *data):
    """The file of a built-in model that was trained for a step."""
    run, path = os.path.join(work, "run-" + model), os.path.join(work, model.replace(":", "-") + ".onnx")
    measure.run([options.shoal, "train", model, *data, "--steps", "1", "--batch-size", "8", "--quiet", "--run", run])
    measure.run([options.shoal, "export", run, "-o", path, "--quiet"])
    return path


def compare(options, result, work, model, *data):
    path = exported(options, work, model, *data)
    rates = {model: [], path: []}
    for _ in range(options.turns):
        for side, seen in rates.items():
            _, summary = measure.summary(options, work, side, *data, "--batch-size", str(BATCH), "--lr", "0.02",
                                         "--steps", str(options.samples // BATCH))
            seen.append(summary["samples_per_second"])
    ratios = [file / built for file, built in zip(rates[path], rates[model])]
    median = measure.spread(ratios)[0]
    result.row("%s, imported against built-in, images/s" % model, "%.0f" % measure.spread(rates[path])[0],
               "%.0f" % measure.spread(rates[model])[0], measure.ratio_text(ratios), ">= %.2f" % RATIO, median >= RATIO)
    result.details[model] = {"imported": rates[path], "built_in": rates[model]}


def large(options, result, work):
    path = exported(options, work, LARGE, "noise:3x32x32/10/64/16")
    sample = os.path.join(work, "sample")
    with open(sample, "wb") as file:
        file.write(bytes(3 * 32 * 32 * 4))
    program = os.path.join(options.build, "bench", "bench_onnx_forward")
    if not os.access(program, os.X_OK):
        raise measure.Skip("no %s: cmake --preset release -DSHOAL_BENCH=ON" % program)
    runs = [measure.run(["sh", "-c", 'exec "$0" "$1" 1 3 32 32 10 <"$2" >"$2.out"', program, path, sample])
            for _ in range(options.turns)]
    size = os.path.getsize(path)
    seconds, peak = min(run.seconds for run in runs), max(run.peak_rss_bytes for run in runs)
    result.row("import of %.0f MB" % (size / 1e6), "%.2f s" % seconds, target="< 2 s", met=seconds < 2)
    result.row("its peak memory", "%.0f MB" % (peak / 1e6), ratio="%.2f of the file" % (peak / size),
               target="<= 2", met=peak <= 2 * size)


def benchmark(options, result):
    with measure.folder() as work:
        compare(options, result, work, "resnet:20", "cifar10:" + train_vs_pytorch.cut_cifar10(options, work))
        compare(options, result, work, "mobilenetv2", "cifar100:" + train_vs_pytorch.draw_cifar100(work, options.samples),
                "--resize", "64")
        large(options, result, work)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
