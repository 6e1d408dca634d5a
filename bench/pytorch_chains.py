# SPDX-License-Identifier: Apache-2.0
"""Errors of shoal's operators and PyTorch's against double precision, a JSON object a line, for chain_error.py.

    pytorch_chains.py build/release/bench/bench_op_run
"""

import json
import subprocess
import sys

import torch
from torch.nn import functional

HALF_ULP = 2.0 ** -24

# name, x, w, settings
CONVOLUTIONS = (
    ("lenet, conv2", (16, 20, 12, 12), (50, 20, 5, 5), {}),
    ("resnet:20, 16 channels", (16, 16, 32, 32), (16, 16, 3, 3), {"padding": 1}),
    ("resnet:20, 64 channels", (16, 64, 8, 8), (64, 64, 3, 3), {"padding": 1}),
    ("resnet50, 512 channels", (16, 512, 7, 7), (512, 512, 3, 3), {"padding": 1}),
    ("mobilenetv2, 960 to 320", (16, 960, 2, 2), (320, 960, 1, 1), {}),
    ("mobilenetv2, depthwise", (16, 96, 32, 32), (96, 1, 3, 3), {"padding": 1, "stride": 2, "groups": 96}),
)
DENSE = (("lenet, fc1", (16, 800), (500, 800)), ("resnet50, fc", (16, 2048), (1000, 2048)))
NORM = ("mobilenetv2, 96 channels", (16, 96, 32, 32))


def run(op, inputs, like, **settings):
    """shoal's first output, in the shape of `like`."""
    words = ["%s=%s" % (name, value) for name, value in settings.items()]
    shapes = ",".join("x".join(str(extent) for extent in each.shape) for each in inputs)
    out = subprocess.run([sys.argv[1], op, shapes, *words], check=True, stdout=subprocess.PIPE,
                         input=b"".join(each.contiguous().numpy().tobytes() for each in inputs)).stdout
    return torch.frombuffer(bytearray(out), dtype=torch.float32).reshape(like.shape)


def errors(found, expected):
    error = found.detach().double() - expected.detach()
    size = expected.detach().square().mean().sqrt()
    return float(error.square().mean().sqrt() / size / HALF_ULP), float(error.abs().max() / size / HALF_ULP)


def say(name, ours, theirs, expected):
    (shoal, largest), (pytorch, their_largest) = errors(ours, expected), errors(theirs, expected)
    print(json.dumps({"name": name, "shoal": shoal, "shoal_largest": largest, "pytorch": pytorch,
                      "pytorch_largest": their_largest}), flush=True)


def outcomes(function, inputs, dy):
    """The result and the gradients of all inputs, in their precision."""
    inputs = [each.clone().requires_grad_() for each in inputs]
    y = function(*inputs)
    return (y, *torch.autograd.grad(y, inputs, dy.to(y.dtype)))


def both(function, inputs, dy):
    return outcomes(function, inputs, dy), outcomes(function, [each.double() for each in inputs], dy)


def shape_text(tensor):
    return "x".join(str(extent) for extent in tensor.shape)


def main():
    torch.manual_seed(1)
    for name, x_shape, w_shape, settings in CONVOLUTIONS:
        x, w = torch.randn(x_shape), torch.randn(w_shape)
        dy = torch.randn_like(functional.conv2d(x, w, **settings))
        theirs, exact = both(lambda x, w, more=settings: functional.conv2d(x, w, **more), (x, w), dy)
        say(name, run("conv2d", (x, w), dy, **settings), theirs[0], exact[0])
        say(name + ", input gradient", run("conv2d_grad_input", (dy, w), x, shape=shape_text(x), **settings),
            theirs[1], exact[1])
        say(name + ", weight gradient", run("conv2d_grad_weight", (x, dy), w, shape=shape_text(w), **settings),
            theirs[2], exact[2])
    for name, x_shape, w_shape in DENSE:
        x, w = torch.randn(x_shape), torch.randn(w_shape)
        dy = torch.randn(x_shape[0], w_shape[0])
        theirs, exact = both(functional.linear, (x, w), dy)
        say(name, run("linear", (x, w), dy), theirs[0], exact[0])
        say(name + ", input gradient", run("linear_grad_input", (dy, w), x), theirs[1], exact[1])
        say(name + ", weight gradient", run("linear_grad_weight", (x, dy), w), theirs[2], exact[2])
    name, shape = NORM
    x, dy = torch.randn(shape) + 0.5, torch.randn(shape)
    w, b = torch.rand(shape[1]) + 0.5, torch.randn(shape[1])

    def norm(x, w, b):
        return functional.batch_norm(x, None, None, w, b, training=True, eps=1e-5)

    theirs, exact = both(norm, (x, w, b), dy)
    mean = run("moments", (x,), w)
    variance = x.double().var((0, 2, 3), unbiased=False).float()
    say(name + ", mean", mean, x.mean((0, 2, 3)), x.double().mean((0, 2, 3)))
    say(name + ", batch norm", run("batch_norm", (x, mean, variance, w, b), x, epsilon=1e-5), theirs[0], exact[0])
    say(name + ", its weights' gradient", run("batch_norm_sums", (dy, x, mean, variance, w, b), w, epsilon=1e-5,
                                              training=1), theirs[2], exact[2])
    x = torch.randn(64, 1000) * 3
    say("softmax of 1000", run("softmax", (x,), x, axis=1), functional.softmax(x, 1), functional.softmax(x.double(), 1))


if __name__ == "__main__":
    main()
