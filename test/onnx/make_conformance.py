# SPDX-License-Identifier: Apache-2.0
"""Makes conformance.gz and conformance.skipped: the `node` tests of the onnx package, for
src/onnx/conformance_test.c.

    pip install onnx && python3 test/onnx/make_conformance.py

They were made with onnx 1.23.2 (Apache License 2.0). Any version does: the newest suite is run by
making the files again and running the test.

conformance.gz, unpacked, has for each test four bytes of length (little-endian) and a ModelProto,
whose graph has the test's name. Initialisers `input NAME` and `output NAME` have the values; an
input that is an initialiser of a network too (weights), or that the import wants as a constant, is
an initialiser of its own name. Settings that the package does not test are in OWN, with the values
of its reference. conformance.skipped has a line for each test that is left out: name,
a tab, reason. conformance.failing, of the same form, is written by hand.
"""
import gzip
import os
import re
import struct
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST, LAST = 7, 23  # operator sets

TRAINED = """Conv ConvTranspose Gemm MatMul BatchNormalization LayerNormalization
InstanceNormalization GroupNormalization RMSNormalization Relu Clip LeakyRelu PRelu Elu Sigmoid Tanh
HardSigmoid HardSwish Softplus Mish Gelu Erf Softmax LogSoftmax Sqrt Pow Exp Log Reciprocal Neg Abs
Add Sub Mul Div MaxPool AveragePool GlobalAveragePool GlobalMaxPool ReduceMean ReduceSum ReduceMax
ReduceMin Flatten Reshape Squeeze Unsqueeze Transpose Concat Split Slice Pad Gather Expand Tile
Where Identity Dropout Cast CastLike Resize DepthToSpace SpaceToDepth LSTM GRU RNN Attention
Einsum Equal Greater GreaterOrEqual Less LessOrEqual Max Min Celu Selu Softsign ThresholdedRelu
Sum Mean ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare""".split()
EVALUATED = """Constant Shape Size ConstantOfShape Range Not And Or Xor Mod Floor Ceil ReduceProd
Trilu CumSum ScatterND GatherElements""".split()
LISTED = set(TRAINED + EVALUATED)

# Inputs that a network has as initialisers.
WEIGHTS = {
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "BatchNormalization": (1, 2, 3, 4),
    "LayerNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "GroupNormalization": (1, 2),
    "RMSNormalization": (1,),
    "PRelu": (1,),
    "Gemm": (1, 2),
    "LSTM": (1, 2, 3, 7),
    "GRU": (1, 2, 3),
    "RNN": (1, 2, 3),
}
# Inputs of numbers that are constants of the import.
CONSTANTS = {"Clip": (1, 2), "Dropout": (1, 2), "Pad": (2,), "Resize": (1, 2)}

READABLE = {
    getattr(TensorProto, name)
    for name in """FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 BOOL FLOAT16 DOUBLE UINT32 UINT64
    BFLOAT16""".split()
}
REAL = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16}

# The least relative tolerance where the reference rounds to 16 bits and the import computes in 32.
TOLERANCES = {TensorProto.FLOAT16: 2**-9, TensorProto.BFLOAT16: 2**-6}
TYPE_NAMES = {number: name.lower() for name, number in TensorProto.DataType.items()}

# What is left out although its operator is listed: where the first is found in a name, the second.
REASONS = (
    ("pool_3d", "three dimensions of space; lines and images are imported"),
    ("convtranspose_3d", "three dimensions of space; lines and images are imported"),
    ("training_dropout($|_default|_mask)", "random numbers of the reference's own"),
    ("reduce_(l1|l2|log_sum|log_sum_exp|sum_square)_empty_set", "tensors without elements"),
    ("split_zero_size|reduce_max_empty_set_bool", "tensors without elements"),
    ("training_dropout_zero_ratio_mask", "a mask as output, which is not trained through"),
    ("dropout_default_mask", "a mask as output, which is not trained through"),
    ("maxpool_with_argmax", "indices as output, which are not trained through"),
    ("clip_default_int8_inbounds_expanded", "casts to integers of what is trained"),
    ("_antialias", "interpolation with antialiasing"),
    ("tf_crop_and_resize", "parts of images, enlarged"),
    ("einsum_batch_diagonal", "a diagonal, which is no product of matrices"),
    ("FLOAT_to_BFLOAT16", "rounding to bfloat16"),
)
# Tests of integers that are run on the same numbers as floats, which networks have there.
AS_NUMBERS = ("test_edge_pad", "test_reflect_pad", "test_wrap_pad", "test_maxpool_2d_uint8",
              "test_clip_default_int8")


class Skip(Exception):
    """A test that is left out, with the reason."""


def choose_set(model):
    """A model of an operator set that is not known gets the nearest that is, if it is valid there
    too."""
    for entry in model.opset_import:
        if entry.domain not in ("", "ai.onnx"):
            raise Skip(f"operators of {entry.domain}")
        if FIRST <= entry.version <= LAST:
            continue
        entry.version = min(max(entry.version, FIRST), LAST)
        try:
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
            raise Skip(f"needs an operator set other than {FIRST} to {LAST}") from error


def check_nodes(model):
    for node in model.graph.node:
        if any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
               for a in node.attribute):
            raise Skip("graphs within nodes")
        if node.op_type not in LISTED:
            raise Skip(f"its expansion uses {node.op_type}, which is not listed")
        for attribute in node.attribute:
            if node.op_type == "BatchNormalization" and attribute.name == "training_mode" \
                    and attribute.i == 1:
                raise Skip("outputs of training mode")
    if model.functions:
        raise Skip("functions of the model's own")


def tensor_of(value, info):
    kind = info.type.WhichOneof("value")
    if kind != "tensor_type":
        raise Skip("sequences and optional values")
    number = info.type.tensor_type.elem_type
    if number == TensorProto.STRING:
        raise Skip("strings")
    if number not in READABLE:
        raise Skip(f"elements of {TYPE_NAMES[number]}")
    if isinstance(value, TensorProto):
        tensor = TensorProto()
        tensor.CopyFrom(value)
    else:
        tensor = numpy_helper.from_array(np.asarray(value))
    return tensor


def as_number(tensor):
    """Small integers as floats; 64 bits are shapes and the like."""
    if tensor.data_type not in (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32):
        return tensor
    return numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32))


def is_fixed(model, name, tensor):
    """Is an input an initialiser rather than computed?"""
    for node in model.graph.node:
        for i, given in enumerate(node.input):
            if given != name:
                continue
            if node.op_type in EVALUATED and len(model.graph.node) == 1:
                return True
            if i in WEIGHTS.get(node.op_type, ()) or i in CONSTANTS.get(node.op_type, ()):
                return True
    return tensor.data_type not in REAL or 0 in tensor.dims


def convert(case):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    graph = model.graph
    elements = {v.type.tensor_type.elem_type for v in graph.input}
    if len(graph.node) > 1 and elements & {TensorProto.FLOAT16, TensorProto.BFLOAT16}:
        raise Skip("rounding to 16 bits between operators")
    for part, reason in REASONS:
        if re.search(part, case.name):
            raise Skip(reason)
    check_nodes(model)
    (inputs, outputs), = case.data_sets[:1]
    given = [tensor_of(v, info) for v, info in zip(inputs, graph.input)]
    expected = [tensor_of(v, info) for v, info in zip(outputs, graph.output)]
    if case.name.startswith(AS_NUMBERS):
        given, expected = [[as_number(t) for t in ts] for ts in (given, expected)]
        for info, tensor in zip([*graph.input, *graph.output], given + expected):
            info.type.tensor_type.elem_type = tensor.data_type
    choose_set(model)
    fixed = [is_fixed(model, info.name, tensor) for info, tensor in zip(graph.input, given)]
    if not all(fixed) and any(0 in tensor.dims for tensor in expected):
        raise Skip("a result without elements")
    for info, tensor, constant in zip(graph.input, given, fixed):
        tensor.name = info.name if constant else "input " + info.name
    for info, tensor in zip(graph.output, expected):
        tensor.name = "output " + info.name
    rtol = max([case.rtol] + [TOLERANCES.get(t.data_type, 0) for t in expected])
    tolerance = np.array([rtol, case.atol], np.float32)
    given.append(numpy_helper.from_array(tolerance, "tolerance"))
    graph.name = case.name
    graph.initializer.extend(given + expected)
    return model


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def image(op, **settings):
    return (op,), {"x": numbers(1, 2, 6, 7)}, {}, settings


# Settings that the package's tests leave out: a chain of operators, whose first input is x and then
# what comes of the one before; x and other inputs; constants; settings of the first operator.
OWN = {
    "maxpool_dilations_pads": image("MaxPool", kernel_shape=[2, 3], dilations=[2, 2],
                                    pads=[1, 1, 0, 1], strides=[2, 1]),
    "maxpool_dilations_ceil": image("MaxPool", kernel_shape=[2, 2], dilations=[2, 3],
                                    strides=[2, 2], ceil_mode=1),
    "averagepool_dilations_pads": image("AveragePool", kernel_shape=[2, 3], dilations=[2, 2],
                                        pads=[1, 1, 0, 1]),
    "averagepool_dilations_counted": image("AveragePool", kernel_shape=[2, 2], dilations=[2, 2],
                                           pads=[1, 1, 1, 1], count_include_pad=1),
    "pad_reflect": (("Pad",), {"x": numbers(1, 2, 4, 5)},
                    {"p": np.array([0, 0, 2, 0, 0, 0, 1, 3])}, {"mode": "reflect"}),
    "pow_constants": (("Pow",), {"x": numbers(3, 4)},
                      {"p": np.array([2, 3, -1, 2], np.float32)}, {}),
    "pow_below_zero": (("Pow",), {
        "x": np.float32([[-2, -1.5, -3, -0.5], [1.5, -1, -2, 3]]),
        "p": np.float32([[3, 2, 0, -1], [0.5, -7, 1.5, -2]])}, {}, {}),
    "pow_of_zero": (("Pow",), {"x": np.float32([[0], [2]]),
                               "p": np.float32([2, 0, -1, -0.5, 0.25])}, {}, {}),
    "clip_computed": (("Clip",), {"x": numbers(3, 4), "low": np.float32([-0.5])[0],
                                  "high": np.float32([0.7])[0]}, {}, {}),
    "and_of_comparisons": (("Greater", "Not", "Cast"), {"x": numbers(3, 4),
                                                        "y": numbers(4, seed=1)}, {}, {}),
    "gemm_transposed_matrix": (("Gemm",), {"x": numbers(4, 3)},
                               {"w": numbers(5, 4, seed=1), "c": numbers(3, 1, seed=2)},
                               {"alpha": 0.5, "beta": 2.0, "transA": 1, "transB": 1}),
    "attention_blind_computed": (("Attention",), {
        "x": numbers(1, 2, 3, 4), "k": numbers(1, 2, 5, 4, seed=1),
        "v": numbers(1, 2, 5, 4, seed=2),
        "m": np.where(np.arange(15).reshape(3, 5) % 5 < 5 - 5 * (np.arange(15).reshape(3, 5) // 10),
                      numbers(3, 5, seed=3), -np.inf).astype(np.float32)}, {}, {"is_causal": 1}),
}


def recur(cell, x, w, r, b, clip, coupled=False, reset_after=False):
    """Y of LSTM, GRU or RNN in one direction, which the package's reference does not clip or couple: by the formulas of
    Operators.md, and `clip` where ONNX Runtime has it."""
    units, h, c, made = r.shape[2], 0, 0, []
    w, r, of_w, of_r = w[0].T, r[0].T, b[0, :len(b[0]) // 2], b[0, len(b[0]) // 2:]
    h = np.zeros((x.shape[1], units))

    def held(value):
        return np.clip(value, -clip, clip)

    def gate(value):
        return 1 / (1 + np.exp(-held(value)))

    for one in x.astype(np.float64):
        u, v = one @ w + of_w, h @ r + of_r
        if cell == "LSTM":
            i, o, f, g = np.split(u + v, 4, axis=1)
            c = (1 - gate(i) if coupled else gate(f)) * c + gate(i) * np.tanh(held(g))
            h = gate(o) * np.tanh(c)
        elif cell == "GRU":
            (z, s, n), (z_h, s_h, n_h) = np.split(u, 3, axis=1), np.split(v, 3, axis=1)
            z, s = gate(z + z_h), gate(s + s_h)
            n_h = s * n_h if reset_after else (s * h) @ r[:, 2 * units:] + of_r[2 * units:]
            n = np.tanh(held(n + n_h))
            h = n + z * (h - n)
        else:
            h = np.tanh(held(u + v))
        made.append(h)
    return np.stack(made)[:, None].astype(np.float32)


# By name: operator, gates, settings of recur, settings of the node.
RECURRENT = {
    "lstm_clip": ("LSTM", 4, {"clip": 0.5}, {"clip": 0.5}),
    "lstm_input_forget": ("LSTM", 4, {"clip": 9.0, "coupled": True}, {"clip": 9.0, "input_forget": 1}),
    "gru_clip": ("GRU", 3, {"clip": 0.5}, {"clip": 0.5}),
    "gru_clip_reset_after": ("GRU", 3, {"clip": 0.5, "reset_after": True}, {"clip": 0.5, "linear_before_reset": 1}),
    "rnn_clip": ("RNN", 1, {"clip": 0.5}, {"clip": 0.5}),
}


class OwnRecurrent:
    """One of them."""

    rtol, atol = 1e-3, 1e-6

    def __init__(self, name):
        op, gates, how, settings = RECURRENT[name]
        x = numbers(4, 2, 3)
        weights = {"w": numbers(1, gates * 5, 3, seed=1), "r": numbers(1, gates * 5, 5, seed=2),
                   "b": numbers(1, gates * 10, seed=3)}
        node = helper.make_node(op, ["x", *weights], ["out"], hidden_size=5, **settings)
        graph = helper.make_graph(
            [node], name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
            [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(value, key) for key, value in weights.items()])
        self.name = "own_" + name
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", LAST)])
        self.data_sets = [([x], [recur(op, x, *weights.values(), **how)])]


class Own:
    """One of them, as the package has its cases."""

    rtol, atol = 1e-3, 1e-6

    def __init__(self, name):
        ops, inputs, constants, settings = OWN[name]
        nodes, last = [], "x"
        others = [*list(inputs)[1:], *constants]
        for i, op in enumerate(ops):
            out = "out" if i + 1 == len(ops) else f"t{i}"
            given = [last] + (others if i == 0 else [])
            more = settings if i == 0 else {"to": TensorProto.FLOAT} if op == "Cast" else {}
            nodes.append(helper.make_node(op, given, [out], **more))
            last = out
        infos = [helper.make_tensor_value_info(
            n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in inputs.items()]
        graph = helper.make_graph(nodes, name, infos, [
            helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(v, n) for n, v in constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", LAST)])
        values = list(inputs.values())
        self.name, self.model = "own_" + name, model
        self.data_sets = [(values, ReferenceEvaluator(model).run(None, inputs))]


def in_scope(case, names):
    base = case.name.split("_expanded")[0]
    if base != case.name:
        return base in names
    return any(node.op_type in LISTED for node in case.model.graph.node)


def main():
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    cases = sorted(collect_testcases(None), key=lambda case: case.name)
    names = {case.name for case in cases if in_scope(case, ())}
    cases = [case for case in cases if in_scope(case, names)] + [Own(name) for name in OWN] + [
        OwnRecurrent(name) for name in RECURRENT]
    blob, skipped = b"", []
    for case in cases:
        try:
            one = convert(case).SerializeToString()
            blob += struct.pack("<I", len(one)) + one
        except Skip as reason:
            skipped.append(f"{case.name}\t{reason}\n")
    with open(os.path.join(HERE, "conformance.gz"), "wb") as file:
        file.write(gzip.compress(blob, 9, mtime=0))
    with open(os.path.join(HERE, "conformance.skipped"), "w", encoding="utf-8") as file:
        file.writelines(skipped)
    print(f"onnx {onnx.__version__}: {len(cases)} tests, {len(skipped)} left out, "
          f"{len(blob)} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
