#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes layers.json: what ONNX Runtime and PyTorch make of whole layers, for src/backend/layer_values_test.c.

    pip install torch onnx onnxruntime
    python3 test/golden/make_layers.py

Results are those of ONNX Runtime. Recurrent cells are written once more in PyTorch, as ONNX defines
them, for the gradients of the sum of (seed * results); both results are compared here. Inputs that
are missing have the shape []; what only ONNX has comes without gradients.
"""

import json
import pathlib

import numpy
import onnx
import onnxruntime
import torch

torch.manual_seed(2)
CASES = []
STEPS, SAMPLES, FEATURES, UNITS = 3, 2, 3, 2


def numbers(tensor):
    """As short as a float's value allows."""
    return [float(f"{value:.9g}") for value in torch.as_tensor(tensor).flatten().tolist()]


def run_onnx(op, inputs, outputs, opset=17, constants=(), **attributes):
    """What ONNX Runtime makes of one node; inputs that are None are missing, constants follow them."""
    names = ["" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    given = {n: v.detach().numpy() for n, v in zip(names, inputs) if n}
    fixed = [onnx.numpy_helper.from_array(numpy.float32(c), f"c{i}")
             for i, c in enumerate(constants)]
    names += [c.name for c in fixed]
    node = onnx.helper.make_node(op, names, outputs, **attributes)
    graph = onnx.helper.make_graph(
        [node], "one",
        [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, v.shape)
         for n, v in given.items()],
        [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None)
         for n in outputs if n], fixed)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)],
                                   ir_version=8)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, given)


def add(layer, settings, inputs, results, expected):
    """One case, from PyTorch's results and ONNX Runtime's."""
    for mine, theirs in zip(results, expected, strict=True):
        assert numpy.allclose(mine.detach().numpy(), theirs, atol=1e-5), layer
    y = torch.cat([r.flatten() for r in results])
    seed = torch.rand_like(y) + 0.5
    given = [i for i in inputs if i is not None]
    gradients = iter(torch.autograd.grad(y, given, seed))
    CASES.append({
        "layer": layer,
        "settings": settings,
        "inputs": [{"shape": list(i.shape), "data": numbers(i)} if i is not None else
                   {"shape": [], "data": []} for i in inputs],
        "result": [n for e in expected for n in numbers(e)],
        "seed": numbers(seed),
        "gradients": [numbers(next(gradients)) if i is not None else [] for i in inputs],
    })


def add_forward(layer, settings, x, expected):
    """A case of ONNX Runtime's alone."""
    CASES.append({
        "layer": layer,
        "settings": settings,
        "inputs": [{"shape": list(x.shape), "data": numbers(x)}],
        "result": numbers(expected[0]),
        "seed": [],
        "gradients": [[]],
    })


def cell_step(kind, settings, u, h, c, r, b):
    """One step of ONNX's definition: u = w x + b_w."""
    if kind == "LSTM":
        i, o, f, g = (u + h @ r.T + b).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    if kind == "GRU":
        r_z, r_r, r_n = r.chunk(3)
        b_z, b_r, b_n = b.chunk(3)
        u_z, u_r, u_n = u.chunk(3, 1)
        z = (u_z + h @ r_z.T + b_z).sigmoid()
        reset = (u_r + h @ r_r.T + b_r).sigmoid()
        v = reset * (h @ r_n.T + b_n) if settings["reset_after"] else (reset * h) @ r_n.T + b_n
        return (1 - z) * (u_n + v).tanh() + z * h, c
    a = u + h @ r.T + b
    return (a.relu() if settings["relu"] else a.tanh()), c


def recurrent(kind, gates, settings, directions, with_bias, with_state):
    """A layer in PyTorch and by ONNX Runtime."""
    def rand(*shape):
        return torch.randn(*shape).mul(0.8).requires_grad_()

    x = rand(STEPS, SAMPLES, FEATURES)
    w, r = rand(directions, gates * UNITS, FEATURES), rand(directions, gates * UNITS, UNITS)
    b = rand(directions, 2 * gates * UNITS) if with_bias else None
    h = rand(directions, SAMPLES, UNITS) if with_state else None
    c = rand(directions, SAMPLES, UNITS) if with_state and kind == "LSTM" else None
    sides, last_h, last_c = [], [], []
    zero = torch.zeros(SAMPLES, UNITS)
    for d in range(directions):
        b_w, b_r = b[d].chunk(2) if with_bias else [torch.zeros(gates * UNITS)] * 2
        state, memory = h[d] if h is not None else zero, c[d] if c is not None else zero
        made = [None] * STEPS
        backwards = d == 1 or settings["reverse"]
        for t in reversed(range(STEPS)) if backwards else range(STEPS):
            state, memory = cell_step(kind, settings, x[t] @ w[d].T + b_w, state, memory, r[d], b_r)
            made[t] = state
        sides.append(torch.stack(made))
        last_h.append(state)
        last_c.append(memory)
    results = [torch.stack(sides, 1), torch.stack(last_h)]
    outputs = ["y", "h"]
    if kind == "LSTM":
        results.append(torch.stack(last_c))
        outputs.append("c")
    attributes = {"hidden_size": UNITS, "direction": "bidirectional" if directions == 2 else
                  "reverse" if settings["reverse"] else "forward"}
    if kind == "GRU":
        attributes["linear_before_reset"] = int(settings["reset_after"])
    if settings["relu"]:
        attributes["activations"] = ["Relu"] * directions
    expected = run_onnx(kind, [x, w, r, b, None, h] + [c] * (kind == "LSTM"), outputs, **attributes)
    add(kind.lower(), settings, [x, w, r, b, h, c], results, expected)


for kind, gates, after, relu in (("LSTM", 4, False, False), ("GRU", 3, False, False),
                                 ("GRU", 3, True, False), ("RNN", 1, False, False),
                                 ("RNN", 1, False, True)):
    for directions, reverse, with_bias, with_state in ((1, False, True, False),
                                                       (1, True, False, False),
                                                       (2, False, True, True)):
        recurrent(kind, gates, {"reverse": reverse, "reset_after": after, "relu": relu},
                  directions, with_bias, with_state)

for crd in False, True:
    x = torch.randn(1, 8, 2, 3, requires_grad=True)
    if crd:
        y = torch.nn.functional.pixel_shuffle(x, 2)
    else:
        y = x.reshape(1, 2, 2, 2, 2, 3).permute(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)
    add("depth_to_space", {"crd": crd}, [x], [y],
        run_onnx("DepthToSpace", [x], ["y"], blocksize=2, mode="CRD" if crd else "DCR"))
x = torch.randn(1, 2, 4, 6, requires_grad=True)
y = x.reshape(1, 2, 2, 2, 3, 2).permute(0, 3, 5, 1, 2, 4).reshape(1, 8, 2, 3)
add("space_to_depth", {}, [x], [y], run_onnx("SpaceToDepth", [x], ["y"], blocksize=2))
x = torch.randint(0, 4, (2, 2, 3, 4)).float().requires_grad_()
flat = x.flatten(2)
y = flat.gather(2, (flat == flat.max(2, keepdim=True)[0]).int().argmax(2, keepdim=True)).unsqueeze(3)
add("global_max_pool", {}, [x], [y], run_onnx("GlobalMaxPool", [x], ["y"]))
x = torch.randint(0, 9, (1, 1, 18, 17)).float().requires_grad_() # windows of more than 255
add("global_max_pool", {}, [x], [torch.nn.functional.max_pool2d(x, (18, 17))],
    run_onnx("GlobalMaxPool", [x], ["y"]))
x, w, b = (torch.randn(*s, requires_grad=True) for s in ((2, 2, 3), (2, 3), (2, 3)))
add("layer_norm", {}, [x, w, b], [torch.nn.functional.layer_norm(x, (2, 3), w, b, 1e-2)],
    run_onnx("LayerNormalization", [x, w, b], ["y"], axis=1, epsilon=1e-2))
x, w, b = (torch.randn(*s, requires_grad=True) for s in ((2, 3, 4), (3, 2, 3), (2,)))
add("conv_transposed", {}, [x, w, b],
    [torch.nn.functional.conv_transpose1d(x, w, b, 2, 1, 1)],
    run_onnx("ConvTranspose", [x, w, b], ["y"], strides=[2], pads=[1, 1], output_padding=[1]))

# Numbers of sh_resize_position and sh_resize_method in src/graph/attributes.h.
POSITIONS = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
x = torch.randn(1, 1, 4, 3)
for scale in (2, 1.5), (0.3, 2.4), (0.25, 0.5):
    for position, name in enumerate(POSITIONS):
        for method in range(6):
            how = {"mode": "nearest", "nearest_mode": ROUNDINGS[method]} if method < 4 else {
                "mode": "linear" if method == 4 else "cubic"}
            if (method < 4) != (scale[0] == 0.25) and method != (position + 2) % 4:
                continue  # all roundings where there are ties, else one
            add_forward("resize", {"position": position, "method": method, "scale": scale}, x,
                        run_onnx("Resize", [x, None], ["y"], constants=[(1, 1, *scale)],
                                 coordinate_transformation_mode=name, **how))

x = torch.randn(1, 1, 6, 7)
for kernel, stride, pads in ((3, 2, (0, 0, 1, 1)), (2, 1, (1, 0, 0, 1)), (3, 3, (1, 1, 1, 1)),
                             (3, 2, (2, 1, 0, 2)), (2, 3, (0, 1, 0, 0))):
    for ceil in 0, 1:
        for op, inside in ("MaxPool", 0), ("AveragePool", 0), ("AveragePool", 1):
            settings = {"kernel": kernel, "stride": stride, "padding": pads[:2],
                        "end_padding": pads[2:], "ceil": bool(ceil), "max": op == "MaxPool",
                        "inside": bool(inside)}
            counted = {} if op == "MaxPool" else {"count_include_pad": 1 - inside}
            add_forward("pool", settings, x, run_onnx(
                op, [x], ["y"], opset=19, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                pads=pads, ceil_mode=ceil, **counted))

file = pathlib.Path(__file__).with_name("layers.json")
with file.open("w", encoding="utf-8") as out:
    out.write(f'{{"made with": "PyTorch {torch.__version__}, ONNX Runtime '
              f'{onnxruntime.__version__}", "cases": [\n')
    out.write(",\n".join(json.dumps(case) for case in CASES))
    out.write("\n]}\n")
