#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes every.onnx, a network of the operators that the built-in models lack. Needs onnx (1.23) and numpy.

jobs.py trains it on samples [N, 3, 8, 8] of ten classes. Weights are numbers of a generator with a fixed seed.
"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper


class Builder:
    """Nodes in order; each call of `node` gives the name of its result."""

    def __init__(self):
        self.nodes, self.tensors, self.random = [], [], np.random.default_rng(1)

    def weight(self, *shape, scale=0.4, offset=0.0):
        name = "weight.%d" % len(self.tensors)
        values = (self.random.uniform(-scale, scale, shape) + offset).astype(np.float32)
        self.tensors.append(numpy_helper.from_array(values, name))
        return name

    def constant(self, values, kind=np.int64):
        name = "constant.%d" % len(self.tensors)
        self.tensors.append(numpy_helper.from_array(np.array(values, kind), name))
        return name

    def number(self, value):
        return self.constant(value, np.float32)

    def node(self, operator, *inputs, results=1, **attributes):
        names = ["%s.%d%s" % (operator, len(self.nodes), ".%d" % i if i else "") for i in range(results)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, names[0], **attributes))
        return names[0] if results == 1 else names


def image_part(b, x):
    """From [N, 3, 8, 8] to [N, 4, 8, 8]: normalisations, transposed convolution, gates, pooling, activations."""
    y = b.node("HardSwish", b.node("Conv", x, b.weight(8, 3, 3, 3), b.weight(8), pads=[1, 1, 1, 1]))
    y = b.node("GroupNormalization", y, b.weight(8, offset=1), b.weight(8), num_groups=2)
    gate = b.node("Conv", b.node("GlobalAveragePool", y), b.weight(8, 8, 1, 1), b.weight(8))
    y = b.node("Mul", y, b.node("HardSigmoid", gate, alpha=1 / 6, beta=0.5))
    gate = b.node("HardSigmoid", b.node("GlobalMaxPool", y), alpha=0.2, beta=0.5)
    y = b.node("Mul", y, b.node("Sigmoid", gate))
    y = b.node("ConvTranspose", y, b.weight(8, 4, 2, 2), b.weight(4), strides=[2, 2])
    y = b.node("InstanceNormalization", y, b.weight(4, offset=1), b.weight(4))
    y = b.node("PRelu", y, b.weight(4, 1, 1, offset=0.2))
    y = b.node("Dropout", y, b.number(0.25))
    y = b.node("AveragePool", y, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = b.node("Add", b.node("Elu", y), b.node("LeakyRelu", b.node("Neg", y), alpha=0.2))
    y = b.node("Add", b.node("Clip", y, b.number(-3), b.number(4)), b.node("Clip", y, b.number(0), b.number(6)))
    left, right = b.node("Split", y, results=2, axis=1, num_outputs=2)
    right = b.node("Pad", right, b.constant([0, 0, 1, 1, 0, 0, 0, 0]))
    right = b.node("Slice", right, b.constant([0, 0]), b.constant([8, 8]), b.constant([2, 3]))
    return b.node("Concat", right, left, axis=1)


def rare_functions(b, y):
    """Functions of one and two numbers, each within what it is defined for."""
    positive = b.node("Add", b.node("Softplus", y), b.number(0.1))
    parts = [b.node("Mish", y), b.node("Log", positive), b.node("Reciprocal", positive), b.node("Erf", y),
             b.node("Exp", b.node("Neg", b.node("Abs", y))), b.node("Sqrt", positive),
             b.node("Pow", positive, b.number(1.5)), b.node("Pow", y, b.number(2)), b.node("Tanh", y)]
    total = parts[0]
    for i, part in enumerate(parts[1:]):
        total = b.node(("Add", "Sub")[i % 2], total, part)
    largest = b.node("Max", total, b.node("Neg", y))
    smallest = b.node("Min", total, y)
    chosen = b.node("Where", b.node("Greater", y, b.number(0)), largest, smallest)
    return b.node("Div", chosen, b.node("Add", positive, b.number(1)))


def token_part(b, y):
    """Attention of 19 tokens of 16 numbers, two heads, three of them twice or more, and a wide layer."""
    tokens = b.node("Transpose", b.node("Reshape", y, b.constant([0, 16, 16])), perm=[0, 2, 1])
    some = b.node("Gather", tokens, b.constant([3, 0, 3]), axis=1)
    tokens = b.node("Add", b.node("Concat", some, tokens, axis=1), b.weight(1, 19, 16))
    normed = b.node("LayerNormalization", tokens, b.weight(16, offset=1), b.weight(16))
    qkv = b.node("Reshape", b.node("MatMul", normed, b.weight(16, 48)), b.constant([0, 19, 3, 2, 8]))
    qkv = b.node("Transpose", qkv, perm=[2, 0, 3, 1, 4])
    q, k, v = (b.node("Squeeze", part, b.constant([0])) for part in b.node("Split", qkv, results=3, num_outputs=3))
    scores = b.node("MatMul", q, b.node("Transpose", k, perm=[0, 1, 3, 2]))
    scores = b.node("Div", scores, b.number(8 ** 0.5))
    mixed = b.node("MatMul", b.node("Softmax", scores, axis=-1), v)
    mixed = b.node("Reshape", b.node("Transpose", mixed, perm=[0, 2, 1, 3]), b.constant([0, 19, 16]))
    tokens = b.node("Add", tokens, b.node("Add", b.node("MatMul", mixed, b.weight(16, 16)), b.weight(16)))
    wide = b.node("Gelu", b.node("MatMul", tokens, b.weight(16, 24)))
    tokens = b.node("Add", tokens, b.node("MatMul", wide, b.weight(24, 16)))
    silu = b.node("Mul", tokens, b.node("Sigmoid", tokens))
    return b.node("LogSoftmax", silu, axis=2)


def summaries(b, tokens):
    """[N, 64]: reductions of the tokens, the first of them with copies."""
    mean = b.node("ReduceMean", tokens, b.constant([1]), keepdims=1)
    centred = b.node("Sub", tokens, b.node("Expand", mean, b.constant([1, 19, 1])))
    parts = [b.node("Squeeze", mean, b.constant([1])), b.node("ReduceSum", centred, b.constant([1]), keepdims=0),
             b.node("ReduceMax", tokens, b.constant([1]), keepdims=0),
             b.node("ReduceMin", tokens, b.constant([1]), keepdims=0)]
    return b.node("Tanh", b.node("Concat", *parts, axis=1))


def main():
    b = Builder()
    tokens = token_part(b, rare_functions(b, image_part(b, "image")))
    logits = b.node("Gemm", summaries(b, tokens), b.weight(10, 64), b.weight(10), transB=1)
    graph = helper.make_graph(b.nodes, "every", [helper.make_tensor_value_info("image", T.FLOAT, ["N", 3, 8, 8])],
                              [helper.make_tensor_value_info(logits, T.FLOAT, ["N", 10])], b.tensors)
    model = helper.make_model(graph, ir_version=10, producer_name="shoal's tests",
                              opset_imports=[helper.make_opsetid("", 21)])
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, pathlib.Path(__file__).parent / "every.onnx")


if __name__ == "__main__":
    main()
