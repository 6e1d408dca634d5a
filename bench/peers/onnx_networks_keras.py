# SPDX-License-Identifier: Apache-2.0
"""Networks of Keras, exported to ONNX by tf2onnx, and what Keras makes of them.

    onnx_networks_keras.py FOLDER NETWORK tf2onnx   writes FOLDER/tf2onnx.onnx, the data and FOLDER/tf2onnx.json
    onnx_networks_keras.py --list                   networks and exporters, as JSON

tf2onnx.json has the losses of full batches and SGD with momentum, in single and double precision. tf2onnx writes a
batch norm as a factor and a summand for each channel; Keras trains the network with these in its place, as the file
has it.
"""
import argparse
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import keras  # noqa: E402
import numpy  # noqa: E402
import tensorflow as tf  # noqa: E402
import tf2onnx  # noqa: E402
from keras import layers  # noqa: E402

CLASSES = 5
SAMPLES = 24
STEPS = 10
RATE = 0.01


@keras.saving.register_keras_serializable()
class Line(layers.Layer):
    """What is left of a batch norm: a factor and a summand for each channel."""

    def build(self, shape):
        self.factor = self.add_weight(shape=shape[-1:], initializer="ones")
        self.summand = self.add_weight(shape=shape[-1:], initializer="zeros")

    def call(self, x):
        return x * self.factor + self.summand


def norm(norms):
    return layers.BatchNormalization(momentum=0.9) if norms else Line()


def mlp(_):
    return [layers.Input((20,)), layers.Dense(32, activation="relu"), layers.Dense(16, activation="tanh"),
            layers.Dense(CLASSES)]


def cnn(norms):
    return [layers.Input((32, 32, 3)), layers.Conv2D(16, 3, strides=2, padding="same"), norm(norms), layers.ReLU(),
            layers.DepthwiseConv2D(3, padding="same"), layers.ReLU(6.0), layers.Conv2D(32, 3), norm(norms),
            layers.ReLU(), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(24, activation="elu"),
            layers.Dense(CLASSES)]


def cnn_gap(norms):
    return [layers.Input((16, 16, 3)), layers.Conv2D(16, 3, padding="same"), norm(norms), layers.ReLU(),
            layers.AveragePooling2D(2, padding="same"), layers.SeparableConv2D(24, 3, padding="same"), layers.ReLU(),
            layers.GlobalAveragePooling2D(), layers.Dense(CLASSES)]


# By name: its layers, with batch norms or without.
NETWORKS = {"keras_mlp": mlp, "keras_cnn": cnn, "keras_cnn_gap": cnn_gap}


def make(name, norms=True, dtype="float32"):
    keras.config.set_floatx(dtype)
    keras.utils.set_random_seed(sum(name.encode()))
    return keras.Sequential(NETWORKS[name](norms))


def has_norm(net):
    return any(isinstance(layer, layers.BatchNormalization) for layer in net.layers)


def stir(net):
    """No two tensors are equal: exporters store equal ones once."""
    generator = numpy.random.RandomState(1)
    for layer in net.layers:
        layer.set_weights([value + 0.02 * numpy.abs(generator.standard_normal(value.shape)).astype(value.dtype)
                           for value in layer.get_weights()])


def folded(net, name):
    """The same network with a factor and a summand in the place of each batch norm."""
    plain = make(name, norms=False)
    values = []
    for layer in net.layers:
        if isinstance(layer, layers.BatchNormalization):
            gamma, beta, mean, variance = layer.get_weights()
            factor = gamma / numpy.sqrt(variance + layer.epsilon)
            values += [factor, beta - mean * factor]
        else:
            values += layer.get_weights()
    plain.set_weights(values)
    return plain


def losses(net, name, x, y, norms, dtype):
    own = make(name, norms, dtype)
    own.set_weights([value.astype(dtype) for value in net.get_weights()])
    optimizer = keras.optimizers.SGD(RATE, momentum=0.9)
    measure = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    found = []
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            loss = measure(y, own(tf.constant(x, dtype), training=True))
        optimizer.apply(tape.gradient(loss, own.trainable_variables), own.trainable_variables)
        found.append(float(loss))
    return found


def write_data(folder, net, name):
    """As shoal reads them: channels first, with mean 0 and deviation 1 in each channel."""
    generator = numpy.random.RandomState(sum(name.encode()))
    shape = net.input_shape[1:]
    x = generator.standard_normal((2 * SAMPLES,) + shape)
    y = generator.randint(0, CLASSES, 2 * SAMPLES)
    y[:CLASSES] = y[SAMPLES:SAMPLES + CLASSES] = numpy.arange(CLASSES)
    over = (0, 1, 2) if len(shape) == 3 else (0, 1)
    x = ((x - x[:SAMPLES].mean(over)) / x[:SAMPLES].std(over)).astype(numpy.float32)
    whole = x.transpose(0, 3, 1, 2) if len(shape) == 3 else x[:, None, None]
    for part, rows in (("train", slice(0, SAMPLES)), ("val", slice(SAMPLES, 2 * SAMPLES))):
        numpy.save(os.path.join(folder, "x_%s.npy" % part), numpy.ascontiguousarray(whole[rows]))
        numpy.save(os.path.join(folder, "y_%s.npy" % part), y[rows].astype(numpy.int64))
    return x[:SAMPLES], y[:SAMPLES]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("network", nargs="?", choices=list(NETWORKS))
    parser.add_argument("exporters", nargs="*")
    options = parser.parse_args()
    if options.list:
        print(json.dumps({"networks": list(NETWORKS), "tensorflow": tf.__version__, "exporters": ["tf2onnx"]}))
        return
    name = options.network
    os.makedirs(options.folder, exist_ok=True)
    net = make(name)
    stir(net)
    x, y = write_data(options.folder, net, name)
    path = os.path.join(options.folder, "tf2onnx.onnx")
    function = tf.function(lambda batch: net(batch, training=False))
    signature = [tf.TensorSpec((None,) + net.input_shape[1:], tf.float32, name="x")]
    model, _ = tf2onnx.convert.from_function(function, signature, opset=17, output_path=path)
    norms = sum(node.op_type == "BatchNormalization" for node in model.graph.node)
    wanted = sum(isinstance(layer, layers.BatchNormalization) for layer in net.layers)
    trained = net if norms == wanted else folded(net, name)
    found = [losses(trained, name, x, y, has_norm(trained), dtype) for dtype in ("float32", "float64")]
    with open(os.path.join(options.folder, "tf2onnx.json"), "w", encoding="utf-8") as file:
        json.dump({"losses": found[0], "double": found[1], "rate": RATE, "norms": norms, "folded": wanted - norms}, file)
    print(name, norms, "of", wanted, "batch norms", file=sys.stderr)


if __name__ == "__main__":
    main()
