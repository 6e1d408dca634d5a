# SPDX-License-Identifier: Apache-2.0
"""The peer: one rank of TensorFlow's MultiWorkerMirroredStrategy. Prints one JSON object; times by its own clock.

    tensorflow_rank.py --rank 0 --devices 2 --addresses 10.214.0.1 10.214.0.2 --model lenet --data DIR

Gradients are added up by the strategy's collectives (ring, gRPC) within one compiled step; the update is SGD with
momentum by plain operations, as Keras 3 has no optimiser for this strategy. Samples are in memory and the step is
compiled before the clock starts.
"""

import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rank

OPTIONS = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
rank.add_options(OPTIONS)
OPTIONS = OPTIONS.parse_args()
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
if OPTIONS.devices > 1:  # before the import reads it
    os.environ["TF_CONFIG"] = json.dumps({
        "cluster": {"worker": ["%s:29600" % each for each in OPTIONS.addresses[:OPTIONS.devices]]},
        "task": {"type": "worker", "index": OPTIONS.rank}})

import tensorflow as tf

MOMENTUM = 0.9


def weight(*shape):
    fan_in = 1
    for size in shape[:-1]:
        fan_in *= size
    return tf.Variable(tf.random.stateless_uniform(shape, (1, sum(shape)), -1, 1) * fan_in ** -0.5)


def bias(size):
    return tf.Variable(tf.zeros(size))


class Mlp:
    def __init__(self, name):
        sizes = [int(size) for size in name.split(":")[1].split("-")]
        self.weights = [each for a, b in zip(sizes, sizes[1:]) for each in (weight(a, b), bias(b))]

    def __call__(self, images):
        x = tf.reshape(images, (images.shape[0], -1))
        for i in range(0, len(self.weights), 2):
            x = tf.matmul(x if i == 0 else tf.nn.relu(x), self.weights[i]) + self.weights[i + 1]
        return x


class Lenet:
    """Pooling before ReLU, as shoal's lenet has it."""

    def __init__(self, _):
        self.weights = [weight(5, 5, 1, 20), bias(20), weight(5, 5, 20, 50), bias(50), weight(800, 500), bias(500),
                        weight(500, 10), bias(10)]

    def __call__(self, images):
        w, x = self.weights, images[..., None]
        for i in (0, 2):
            x = tf.nn.conv2d(x, w[i], 1, "VALID") + w[i + 1]
            x = tf.nn.relu(tf.nn.max_pool2d(x, 2, 2, "VALID"))
        x = tf.nn.relu(tf.matmul(tf.reshape(x, (x.shape[0], -1)), w[4]) + w[5])
        return tf.matmul(x, w[6]) + w[7]


def main():
    options = OPTIONS
    tf.config.threading.set_inter_op_parallelism_threads(2)  # one alone would wait for a collective for ever
    tf.config.threading.set_intra_op_parallelism_threads(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy() if options.devices > 1 else tf.distribute.get_strategy()
    model = (Lenet if options.model == "lenet" else Mlp)(options.model)
    slots = [tf.Variable(tf.zeros_like(each)) for each in model.weights]
    images, labels = rank.mnist(options.data, options.batch_size * options.steps, options)

    def replica(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x))) / options.batch_size
        gradients = tape.gradient(loss, model.weights)
        if options.devices > 1:
            gradients = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        for variable, slot, gradient in zip(model.weights, slots, gradients):
            slot.assign(MOMENTUM * slot + gradient)
            variable.assign_sub(options.lr * slot)
        return loss

    @tf.function
    def step(x, y):
        return strategy.run(replica, args=(x, y))

    size = options.batch_size // options.devices
    start = [each.numpy() for each in model.weights]
    for _ in range(3):
        step(tf.constant(images[:size]), tf.constant(labels[:size])).numpy()
    for variable, slot, value in zip(model.weights, slots, start):
        variable.assign(value)
        slot.assign(tf.zeros_like(slot))
    ends, losses = [], []
    watch = rank.Watch()
    for first in range(0, len(labels), size):
        loss = step(tf.constant(images[first:first + size]), tf.constant(labels[first:first + size]))
        losses.append(float(loss.numpy()) * options.devices)
        ends.append(time.perf_counter())
    print(json.dumps({"ends": ends, "losses": losses, "version": tf.__version__, **watch.taken()}), flush=True)
    sys.stdout.flush()
    time.sleep(1 if options.devices > 1 else 0)  # who ends first takes the others' last reduction along
    os._exit(0)


if __name__ == "__main__":
    main()
