#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the models beside this file. Needs onnx (1.23), numpy, torch (2.15) and ml_dtypes; tests need none of them.

    mlp.onnx          two dense layers by Gemm, opset 17; weights are eighths: (index % 17 - 8) / 8
    cnn.onnx          convolution, batch norm, ReLU, pooling, dense layer, as PyTorch's TorchScript exporter writes them
    outside.onnx      mlp.onnx with its weights in outside.onnx.data, as PyTorch 2.9 and later save models
    types.onnx        a constant of each type of elements that shoal reads, in each encoding that the format has for it
"""
import pathlib

import ml_dtypes
import numpy as np
import onnx
import torch
from onnx import TensorProto as T
from onnx import helper, numpy_helper

here = pathlib.Path(__file__).parent


def eighths(name, *shape):
    values = (np.arange(np.prod(shape)) % 17 - 8).astype(np.float32) / 8
    return numpy_helper.from_array(values.reshape(shape), name)


def model(nodes, inputs, outputs, initializers, opset=17):
    graph = helper.make_graph(nodes, "main_graph", inputs, outputs, initializers)
    return helper.make_model(graph, ir_version=8, producer_name="shoal's tests",
                             opset_imports=[helper.make_opsetid("", opset)])


def save(name, made, **options):
    onnx.checker.check_model(made, full_check=True)
    onnx.save(made, here / name, **options)


def mlp():
    return model(
        [helper.make_node("Flatten", ["image"], ["flat"], "flatten", axis=1),
         helper.make_node("Gemm", ["flat", "fc1.weight", "fc1.bias"], ["hidden"], "fc1", transB=1),
         helper.make_node("Relu", ["hidden"], ["active"], "relu1"),
         helper.make_node("Gemm", ["active", "fc2.weight", "fc2.bias"], ["logits"], "fc2", transB=1)],
        [helper.make_tensor_value_info("image", T.FLOAT, ["N", 1, 4, 4])],
        [helper.make_tensor_value_info("logits", T.FLOAT, ["N", 3])],
        [eighths("fc1.weight", 8, 16), eighths("fc1.bias", 8), eighths("fc2.weight", 3, 8), eighths("fc2.bias", 3)])


def cnn(path):
    torch.manual_seed(1)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(4 * 4 * 4, 10))
    torch.onnx.export(net, (torch.randn(2, 1, 8, 8),), path, dynamo=False, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE, opset_version=17, input_names=["image"],
                      output_names=["logits"])


# What tests expect of types.onnx: -2, 0, 1, 3 where the type is signed, and 2, 0, 1, 3 where it is not.
def types():
    kinds = {
        "float": np.float32, "uint8": np.uint8, "int8": np.int8, "uint16": np.uint16, "int16": np.int16,
        "int32": np.int32, "int64": np.int64, "bool": np.bool_, "float16": np.float16, "double": np.float64,
        "uint32": np.uint32, "uint64": np.uint64, "bfloat16": ml_dtypes.bfloat16}
    initializers, nodes = [], []
    for name, kind in kinds.items():
        values = np.array([2 if name.startswith("u") or name == "bool" else -2, 0, 1, 3]).astype(kind).reshape(2, 2)
        raw = numpy_helper.from_array(values, name + ".raw")
        listed = helper.make_tensor(name + ".list", raw.data_type, [2, 2], values.flatten().tolist())
        assert not listed.HasField("raw_data")
        initializers += [raw, listed]
        for tensor in (raw, listed):
            nodes.append(helper.make_node("Shape", [tensor.name], [tensor.name + ".shape"]))
    constant = numpy_helper.from_array(np.array([1, -1], np.int64), "of_the_node")
    nodes.append(helper.make_node("Constant", [], ["target"], "constant", value=constant))
    nodes.append(helper.make_node("Reshape", ["x", "target"], ["y"], "reshape"))
    return model(nodes, [helper.make_tensor_value_info("x", T.FLOAT, ["N", 2])],
                 [helper.make_tensor_value_info("y", T.FLOAT, [1, None])], initializers)


save("mlp.onnx", mlp())
save("outside.onnx", mlp(), save_as_external_data=True, location="outside.onnx.data", size_threshold=0)
save("types.onnx", types())
cnn(str(here / "cnn.onnx"))
