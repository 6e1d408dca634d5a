# SPDX-License-Identifier: Apache-2.0
"""The second study's network in TensorFlow: one rank of MultiWorkerMirroredStrategy. Prints one JSON object.

    transfer_tensorflow.py --rank 0 --devices 2 --addresses A B --model imagenet.npz --data DIR

The same weights, padding, update and samples as transfer_pytorch.py; images lie channels last. Gradients are added up by
the strategy's collectives (ring, gRPC) within one compiled step; each rank has its own running statistics.
"""

import argparse
import json
import os
import sys
import time

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import transfer

OPTIONS = transfer.options_of(argparse.ArgumentParser(description=__doc__.split("\n\n")[0]))
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
if OPTIONS.devices > 1:  # before the import reads it
    os.environ["TF_CONFIG"] = json.dumps({
        "cluster": {"worker": ["%s:29600" % each for each in OPTIONS.addresses[:OPTIONS.devices]]},
        "task": {"type": "worker", "index": OPTIONS.rank}})

import tensorflow as tf

HALVING = (0, 2, 4, 7, 14)  # parts of `features` with a stride of 2
LAST = 18
MOMENTUM, FOLLOW, EPSILON = 0.9, 0.1, 1e-5


def transposed(value):
    """From PyTorch's order of dimensions to TensorFlow's; a depthwise convolution has one input channel."""
    if value.ndim == 4:
        return value.transpose((2, 3, 0, 1) if value.shape[1] == 1 and value.shape[2] == 3 else (2, 3, 1, 0))
    return value.T if value.ndim == 2 else value


class Network:
    def __init__(self, path, frozen):
        self.frozen = frozen
        self.values = {name: tf.Variable(transposed(value)) for name, value in numpy.load(path).items()}
        self.trained = [value for name, value in self.values.items() if "running" not in name and
                        not (frozen and name.startswith(transfer.FEATURES))]

    def norm(self, x, name, training):
        mean, variance = (self.values["%s.running_%s" % (name, each)] for each in ("mean", "var"))
        scale, offset = self.values[name + ".weight"], self.values[name + ".bias"]
        if not training or self.frozen:
            return tf.nn.batch_normalization(x, mean, variance, offset, scale, EPSILON)
        x, its_mean, its_variance = tf.compat.v1.nn.fused_batch_norm(x, scale, offset, epsilon=EPSILON)
        mean.assign_add(FOLLOW * (its_mean - mean))
        variance.assign_add(FOLLOW * (its_variance - variance))
        return x

    def conv(self, x, name, norm, stride, training):
        weight = self.values[name + ".weight"]
        if weight.shape[0] == 3:
            x = tf.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        apply = tf.nn.depthwise_conv2d if weight.shape[3] == 1 else tf.nn.conv2d
        return self.norm(apply(x, weight, (1, stride, stride, 1), "VALID"), norm, training)

    def block(self, x, number, stride, training):
        name, before, i = "features.%d.conv." % number, x, 0
        while name + "%d.0.weight" % i in self.values:  # each with batch norm and ReLU6
            unit = name + "%d." % i
            is_deep = self.values[unit + "0.weight"].shape[3] == 1
            x = tf.nn.relu6(self.conv(x, unit + "0", unit + "1", stride if is_deep else 1, training))
            i += 1
        x = self.conv(x, name + "%d" % i, name + "%d" % (i + 1), 1, training)
        return before + x if stride == 1 and before.shape[3] == x.shape[3] else x

    def __call__(self, x, training):
        for number in range(LAST + 1):
            stride = 2 if number in HALVING else 1
            if number in (0, LAST):
                name = "features.%d." % number
                x = tf.nn.relu6(self.conv(x, name + "0", name + "1", stride, training))
            else:
                x = self.block(x, number, stride, training)
        x = tf.reduce_mean(x, (1, 2))
        x = tf.nn.relu(tf.matmul(x, self.values["classifier.0.weight"]) + self.values["classifier.0.bias"])
        x = tf.nn.dropout(x, 0.3) if training else x
        return tf.matmul(x, self.values["classifier.3.weight"]) + self.values["classifier.3.bias"]


class Rank:
    version = tf.__version__

    def __init__(self, options):
        strategy = tf.distribute.MultiWorkerMirroredStrategy() if options.devices > 1 else tf.distribute.get_strategy()
        self.network = network = Network(options.model, options.freeze)
        self.slots = slots = [tf.Variable(tf.zeros_like(each)) for each in network.trained]

        def replica(x, y, rate):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(y, network(x, True)))
                loss /= options.batch_size
            gradients = tape.gradient(loss, network.trained)
            if options.devices > 1:
                gradients = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, gradients)
            for variable, slot, gradient in zip(network.trained, slots, gradients):
                slot.assign(MOMENTUM * slot + gradient)
                variable.assign_sub(rate * slot)
            return loss * options.devices

        self.compiled = tf.function(lambda x, y, rate: strategy.run(replica, args=(x, y, rate)))

    @staticmethod
    def tensors(images, labels):
        return tf.constant(images.transpose(0, 2, 3, 1)), tf.constant(labels)

    def step(self, images, labels, rate):
        return float(self.compiled(*self.tensors(images, labels), tf.constant(rate, tf.float32)).numpy())

    def keep(self):
        self.kept = {name: value.numpy() for name, value in self.network.values.items()}

    def restore(self):
        for name, value in self.kept.items():
            self.network.values[name].assign(value)
        for slot in self.slots:
            slot.assign(tf.zeros_like(slot))

    def validate(self, images, labels):
        images, labels = self.tensors(images, labels)
        given = tf.concat([self.network(images[first:first + 100], False) for first in range(0, len(labels), 100)], 0)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, given))
        right = tf.reduce_mean(tf.cast(tf.argmax(given, 1, tf.int32) == labels, tf.float32))
        return float(loss.numpy()), float(right.numpy())


def main():
    tf.config.threading.set_inter_op_parallelism_threads(2)  # one alone would wait for a collective for ever
    tf.config.threading.set_intra_op_parallelism_threads(1)
    transfer.course(OPTIONS, transfer.Data(OPTIONS), Rank(OPTIONS))
    time.sleep(1 if OPTIONS.devices > 1 else 0)  # who ends first takes the others' last reduction along
    os._exit(0)


if __name__ == "__main__":
    main()
