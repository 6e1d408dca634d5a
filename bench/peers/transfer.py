# SPDX-License-Identifier: Apache-2.0
"""What peers of the second study share: options, samples at 64x64, the learning rate, and the report of a rank.

    options = transfer.options_of(parser)
    data = transfer.Data(options)                     # of this rank
    for epoch in range(options.epochs):
        for images, labels in data.epoch(epoch): ...  # NCHW, in the numbers that the network takes

A peer that measures times stops after --steps steps; one that measures accuracy goes through --epochs epochs and
validates after each. CIFAR-10's images are enlarged by bilinear interpolation, as shoal does it.
"""

import itertools
import json
import os
import sys
import time

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rank

RECORD = 3073  # bytes: the class, then 32x32 pixels of red, of green, of blue
FEATURES = "features."
WARM_UP = 3  # steps before the clock starts


def options_of(parser):
    rank.add_options(parser)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--gamma", type=float, default=1)
    parser.add_argument("--from-epoch", type=int, default=1)
    parser.add_argument("--freeze", action="store_true", help="train the head alone")
    parser.add_argument("--validate", action="store_true", help="after each epoch, on rank 0")
    return parser.parse_args()


def enlarged(images):
    """Twice as many rows and columns: a new pixel is three quarters the nearest old one, a quarter the next."""
    for axis in (2, 3):
        size = images.shape[axis]
        before = numpy.take(images, numpy.maximum(numpy.arange(size) - 1, 0), axis)
        behind = numpy.take(images, numpy.minimum(numpy.arange(size) + 1, size - 1), axis)
        pair = numpy.stack((0.75 * images + 0.25 * before, 0.75 * images + 0.25 * behind), axis + 1)
        shape = list(images.shape)
        shape[axis] *= 2
        images = pair.reshape(shape)
    return images


def read(path):
    """Images [N, 3, 64, 64] from -1 to 1, and classes."""
    records = numpy.fromfile(path, numpy.uint8).reshape(-1, RECORD)
    images = records[:, 1:].reshape(-1, 3, 32, 32).astype(numpy.float32) / 255
    return enlarged(images) * 2 - 1, records[:, 0].astype(numpy.int32)


class Data:
    def __init__(self, options):
        self.options = options
        paths = (os.path.join(options.data, "data_batch_%d.bin" % number) for number in itertools.count(1))
        parts = [read(path) for path in itertools.takewhile(os.path.exists, paths)]
        self.images, self.labels = (numpy.concatenate(each) for each in zip(*parts))
        self.test = read(os.path.join(options.data, "test_batch.bin")) if options.validate else None

    def epoch(self, number):
        """This rank's part of each batch, in an order of the epoch's own."""
        options = self.options
        steps = len(self.labels) // options.batch_size
        order = numpy.random.RandomState(1 + number).permutation(len(self.labels))[:steps * options.batch_size]
        for mine in order.reshape(steps, options.devices, -1)[:, options.rank]:
            yield self.images[mine], self.labels[mine]


def rate(options, epoch):
    """shoal's --schedule exponential:GAMMA,FROM_EPOCH."""
    return options.lr * (1 if epoch < options.from_epoch else options.gamma ** (epoch - options.from_epoch + 1))


def course(options, data, network):
    """Trains and prints what became of it. `network` has step(images, labels, rate) -> loss, validate(images, labels)
    -> (loss, share that is right), keep() and restore() its weights, and `version`."""
    warm = next(data.epoch(0))
    network.keep()
    for _ in range(WARM_UP):
        network.step(*warm, options.lr)
    network.restore()
    ends, losses, epochs = [], [], []
    watch = rank.Watch()
    for epoch in range(options.epochs):
        began = len(losses)
        for images, labels in data.epoch(epoch):
            losses.append(network.step(images, labels, rate(options, epoch)))
            ends.append(time.perf_counter())
            if not options.validate and len(ends) == options.steps:
                break
        if options.validate and options.rank == 0:
            loss, right = network.validate(*data.test)
            epochs.append({"train_loss": float(numpy.mean(losses[began:])), "val_loss": loss, "val_accuracy": right})
    print(json.dumps({"ends": ends, "losses": losses, "epochs": epochs, "version": network.version, **watch.taken()}),
          flush=True)
