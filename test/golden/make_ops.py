#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ops.json: what PyTorch computes with single operators, for src/backend/values_test.c.

    apt-get install python3-torch        # or: pip install torch
    /usr/bin/python3 test/golden/make_ops.py

For what finite differences cannot tell: which of several definitions is meant, and the gradient where
two pieces meet. Each case holds inputs, result, the seed that the result's gradient is, and the
gradients of the inputs that have one. Attributes are named as in src/graph/op.h.
"""

import json
import pathlib

import torch
import torch.nn.functional as F

torch.manual_seed(1)
KINKS = torch.tensor([-7.0, -4.0, -3.0, -2.5, -1.0, -0.125, 0.0, 0.25, 1.0, 3.0, 3.5, 6.0, 8.0])
CASES = []


def numbers(tensor):
    """As short as a float's value allows."""
    return [float(f"{value:.9g}") for value in tensor.flatten().tolist()]


def add(op, function, inputs, labels=None, **attributes):
    """One case; `labels` is an input without gradient, at place 1."""
    inputs = [i.clone().requires_grad_() for i in inputs]
    y = function(*inputs)
    seed = torch.rand_like(y) + 0.5
    gradients = torch.autograd.grad(y, inputs, seed)
    given = [{"shape": list(i.shape), "data": numbers(i)} for i in inputs]
    if labels is not None:
        given.insert(1, {"shape": list(labels.shape), "labels": labels.tolist()})
    back = [numbers(g) for g in gradients]
    if labels is not None:
        back.insert(1, [])
    CASES.append({
        "op": op,
        "attributes": attributes,
        "inputs": given,
        "result": numbers(y),
        "seed": numbers(seed),
        "gradients": back,
    })


def ties(*shape):
    """Few different values, so that windows hold their largest more than once."""
    return torch.randint(0, 3, shape).float()


add("relu", F.relu, [KINKS])
add("relu6", F.relu6, [KINKS])
add("leaky_relu", lambda x: F.leaky_relu(x, 0.125), [KINKS], number=0.125)
add("sigmoid", torch.sigmoid, [KINKS])
add("tanh", torch.tanh, [KINKS])
add("silu", F.silu, [KINKS])
add("gelu", F.gelu, [KINKS])
add("hard_sigmoid", F.hardsigmoid, [KINKS])
add("hard_swish", F.hardswish, [KINKS])
add("softmax", lambda x: F.softmax(x, 1), [torch.randn(2, 4, 3)], axis=1)
add("softmax", lambda x: F.softmax(x, 0), [torch.tensor([1000.0, 999.0, -1000.0])], axis=0)
for smoothing in 0.0, 0.25:
    labels = torch.tensor([2, 0, 4])
    add("cross_entropy",
        lambda x: F.cross_entropy(x, labels, reduction="none", label_smoothing=smoothing),
        [torch.randn(3, 5) * 3], labels, number=smoothing)
add("mse", lambda p, t: F.mse_loss(p, t, reduction="none").mean((1, 2)),
    [torch.randn(3, 2, 4), torch.randn(3, 2, 4)])
add("max_pool", lambda x: F.max_pool2d(x, 3, 2, 1), [ties(1, 2, 5, 6)],
    kernel=[3, 3], stride=[2, 2], padding=[1, 1])
add("max_pool", lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), [ties(1, 2, 6, 7)],
    kernel=[3, 3], stride=[2, 2], after=[0, 0, 1, 0])
add("avg_pool", lambda x: F.avg_pool2d(x, 3, 2, 1), [torch.randn(1, 2, 5, 6)],
    kernel=[3, 3], stride=[2, 2], padding=[1, 1])
add("mean", lambda x: F.adaptive_avg_pool2d(x, 1).flatten(1), [torch.randn(2, 3, 4, 5)],
    axis=2, axes=2)
add("layer_norm", lambda x, w, b: F.layer_norm(x, (6,), w, b, 1e-3),
    [torch.randn(2, 3, 6), torch.randn(6), torch.randn(6)], number=1e-3)
add("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b, 1e-3),
    [torch.randn(2, 6, 2, 3), torch.randn(6), torch.randn(6)], number=1e-3, groups=2)
add("matmul", torch.matmul, [torch.randn(2, 3, 4), torch.randn(2, 4, 5)])
add("transpose", lambda x: x.permute(2, 0, 1), [torch.randn(2, 3, 4)], order=[2, 0, 1])
add("concat", lambda a, b: torch.cat([a, b], 1), [torch.randn(2, 2, 3), torch.randn(2, 1, 3)],
    axis=1)

# Padding that differs from side to side: of (left, right, top, bottom).
BESIDE = (1, 0, 0, 2)
SIDES = {"padding": [0, 1], "end_padding": [2, 0]}


def mean_inside(x):
    """The mean of what lies in the image, by the sums of x and of ones."""
    ones = F.avg_pool2d(F.pad(torch.ones_like(x), BESIDE), 3, 2)
    return F.avg_pool2d(F.pad(x, BESIDE), 3, 2) / ones


add("conv2d", lambda x, w, b: F.conv2d(F.pad(x, BESIDE), w, b, (2, 1), 0, (1, 2), 2),
    [torch.randn(2, 4, 5, 6), torch.randn(4, 2, 3, 2), torch.randn(4)],
    stride=[2, 1], dilation=[1, 2], groups=2, **SIDES)
add("max_pool", lambda x: F.max_pool2d(F.pad(x, BESIDE, value=-torch.inf), 3, 2),
    [ties(1, 2, 5, 6) - 3], kernel=[3, 3], stride=[2, 2], **SIDES)
add("avg_pool", lambda x: F.avg_pool2d(F.pad(x, BESIDE), 3, 2), [torch.randn(1, 2, 5, 6)],
    kernel=[3, 3], stride=[2, 2], **SIDES)
add("avg_pool", mean_inside, [torch.randn(1, 2, 5, 6)],
    kernel=[3, 3], stride=[2, 2], inside=True, **SIDES)
for inside in False, True:
    add("avg_pool", lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=not inside),
        [torch.randn(1, 2, 6, 7)], kernel=[3, 3], stride=[2, 2], padding=[1, 1],
        after=[0, 0, 1, 0], inside=inside)
for step, beside, further, apart, groups, kernel in (
        (2, 1, 1, 1, 1, 3), (2, 0, 0, 1, 1, 2), (3, 1, 2, 1, 2, 2), (2, 2, 1, 2, 4, 3)):
    w = torch.randn(4, 4 // groups, kernel, kernel)
    side = 2 * step + apart * (kernel - 1) + 1 + further - 2 * beside
    add("conv2d_grad_input",
        lambda x, w, b: F.conv_transpose2d(x, w, b, step, beside, further, groups, apart),
        [torch.randn(1, 4, 3, 3), w, torch.randn(4)], stride=[step, step], padding=[beside] * 2,
        dilation=[apart, apart], groups=groups, shape=[1, 4, side, side])
# Numbers of sh_resize_method and sh_resize_position in src/graph/attributes.h.
UP, FLOOR, LINEAR, CUBIC = 1, 2, 4, 5
HALF_PIXEL, ASYMMETRIC, CORNERS = 0, 2, 3
for height, width in (6, 3), (2, 7):
    for mode, corners, method, position in (
            ("nearest", None, FLOOR, ASYMMETRIC), ("nearest-exact", None, UP, HALF_PIXEL),
            ("bilinear", False, LINEAR, HALF_PIXEL), ("bilinear", True, LINEAR, CORNERS),
            ("bicubic", False, CUBIC, HALF_PIXEL)):
        add("resize",
            lambda x: F.interpolate(x, (height, width), mode=mode, align_corners=corners),
            [torch.randn(1, 1, 3, 4)], shape=[1, 1, height, width], scale=[height / 3, width / 4],
            method=method, position=position)
add("log_softmax", lambda x: F.log_softmax(x, 1), [torch.randn(2, 4, 3)], axis=1)
add("log_softmax", lambda x: F.log_softmax(x, 0), [torch.tensor([1000.0, 999.0, -1000.0])], axis=0)

file = pathlib.Path(__file__).with_name("ops.json")
with file.open("w", encoding="utf-8") as out:
    out.write('{"made with": "PyTorch ' + torch.__version__ + '", "cases": [\n')
    out.write(",\n".join(json.dumps(case) for case in CASES))
    out.write("\n]}\n")
