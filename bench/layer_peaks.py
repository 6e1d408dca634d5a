# SPDX-License-Identifier: Apache-2.0
"""What each layer reaches of the core's peak rate of multiply-adds, by `shoal bench --models`.

A layer is measured where it works: between the others of its network, in training on one core, at the
largest grain up to 16 samples. Its result, the gradient of its input and that of its weights count each for
itself. The claim is about convolutions of 16 channels and more on both sides, whatever their kernel.
"""

import json
import os

import measure

TARGET = 0.8
LEAST_CHANNELS = 16
GRAIN = 16  # as `shoal bench` shows
PARTS = ("forward", "input_gradient", "weight_gradient")
MODELS = (("lenet", ()), ("resnet:20", ()), ("mobilenetv2", ("--resize", "64")))


def add_options(parser):
    parser.add_argument("--seconds", type=float, default=6, help="about so many for each model (6)")
    parser.add_argument("--lanes", type=int, default=1, help="cores that compute at a time (1)")


def kind_of(layer):
    """By the shape of its weights: outputs, inputs of each, and a convolution's window."""
    shape = [int(extent) for extent in layer["weights"].split("x")]
    if len(shape) == 2:
        return "dense layers"
    if shape[1] == 1 and shape[0] > 1 and layer["input_gradient"] is not None:
        return "depthwise convolutions"
    return "convolutions of %s channels" % (
        "%d and more" % LEAST_CHANNELS if min(shape[:2]) >= LEAST_CHANNELS else "fewer")


def shares(bench):
    """Share of the peak by kind, layer and part."""
    peak = bench["multiply_add_flops_per_second"]["all"] / bench["lanes"]
    model = [each for each in bench["models"] if each["grain"] <= GRAIN][-1]
    found = {}
    for layer in model["layers"]:
        for part in PARTS:
            if layer[part] is not None:
                found.setdefault(kind_of(layer), {})["%s, %s" % (layer["layer"], part.replace("_", " "))] = \
                    layer[part] / peak
    return model["grain"], peak, found


def benchmark(options, result):
    with measure.folder() as work:
        for model, more in MODELS:
            def attempt(model=model, more=more):
                return measure.run([options.shoal, "bench", "--models", model, *more, "--lanes", str(options.lanes),
                                    "--seconds", str(options.seconds), "--quiet", "--json", "-"],
                                   measure.environment(XDG_CACHE_HOME=os.path.join(work, "cache")))
            grain, peak, found = shares(json.loads(measure.undisturbed(attempt).out))
            result.details[model] = {"grain": grain, "peak_flops_per_second": peak, "shares": found}
            for kind, each in found.items():
                middle, least, most = measure.spread(list(each.values()))
                claimed = "and more" in kind
                slowest = min(each, key=each.get)
                result.row("%s, %s" % (model, kind),
                           "%.0f %% (%.0f to %.0f; least: %s)" % (100 * middle, 100 * least, 100 * most, slowest),
                           "peak %.1f GFLOP/s" % (peak / 1e9), target=">= %.0f %%" % (100 * TARGET) if claimed else "",
                           met=least >= TARGET if claimed else None)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
