# SPDX-License-Identifier: Apache-2.0
"""The peer: the same LeNet in PyTorch. Prints one JSON object; times by its own clock.

    pytorch_lenet.py --data DIR --threads 2 --channels-last --foreach

Everything that can be is done before the clock starts: samples are normalised, shuffled tensors in
memory, and the kernels are warm. With --lean samples stay bytes and each batch is normalised on its
own, which costs time and saves memory; --first-step reads no data at all.
"""

import time

BEGAN = time.perf_counter()

import argparse
import gzip
import json
import os
import struct

import torch
from torch import nn
from torch.nn import functional

IMPORTED = time.perf_counter()
BATCH = 64
MEAN, DEVIATION = 0.1307, 0.3081


def network():
    """Pooling before ReLU, as shoal's lenet has it: the same numbers at a quarter of the work."""
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def idx(folder, name):
    """An IDX file's bytes in its shape, read into place: no copy raises the peak of memory."""
    path = os.path.join(folder, name)
    opener = open if os.path.exists(path) else gzip.open
    with opener(path if opener is open else path + ".gz", "rb") as file:
        dimensions = file.read(4)[3]
        shape = struct.unpack(">%dI" % dimensions, file.read(4 * dimensions))
        content = torch.empty(shape, dtype=torch.uint8)
        rest = memoryview(content.numpy()).cast("B")
        while rest:
            rest = rest[file.readinto(rest[:1 << 20]):]
        return content


def read(folder, split):
    images = idx(folder, split + "-images-idx3-ubyte").unsqueeze(1)
    return images, idx(folder, split + "-labels-idx1-ubyte").long()


def normalised(images):
    return (images.float() / 255 - MEAN) / DEVIATION


class Trainer:
    def __init__(self, options):
        self.format = torch.channels_last if options.channels_last else torch.contiguous_format
        self.network = network().to(memory_format=self.format)
        self.forward = torch.jit.script(self.network) if options.jit else self.network
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.02, momentum=0.9,
                                         foreach=options.foreach)

    def warm_up(self, steps):
        """Kernels of every size of batch are made; then all is as before."""
        start = {name: value.clone() for name, value in self.network.state_dict().items()}
        for step in range(steps):
            size = BATCH // 2 if step == steps // 2 else BATCH
            images = torch.randn(size, 1, 28, 28).contiguous(memory_format=self.format)
            self.step(images, torch.randint(10, (size,)))
        self.network.load_state_dict(start)
        self.optimizer.state.clear()

    def step(self, images, labels):
        loss = functional.cross_entropy(self.forward(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def epoch(self, images, labels, order=None):
        """Of shuffled samples; or, with an order, of bytes that each batch normalises."""
        for first in range(0, len(labels), BATCH):
            if order is None:
                self.step(images[first:first + BATCH], labels[first:first + BATCH])
            else:
                chosen = order[first:first + BATCH]
                batch = normalised(images[chosen]).contiguous(memory_format=self.format)
                self.step(batch, labels[chosen])

    def accuracy(self, images, labels, lean):
        correct = 0
        with torch.no_grad():
            for first in range(0, len(labels), 250):
                batch = images[first:first + 250]
                if lean:
                    batch = normalised(batch).contiguous(memory_format=self.format)
                answers = self.forward(batch).argmax(1)
                correct += int((answers == labels[first:first + 250]).sum())
        return correct / len(labels)


def train(options):
    images, labels = read(options.data, "train")
    test_images, test_labels = read(options.data, "t10k")
    images, labels = images[:options.samples], labels[:options.samples]
    torch.manual_seed(1)
    order = torch.randperm(len(labels))
    trainer = Trainer(options)
    if not options.lean:
        images = normalised(images)[order].contiguous(memory_format=trainer.format)
        test_images = normalised(test_images).contiguous(memory_format=trainer.format)
        labels, order = labels[order], None
    trainer.warm_up(options.warm_up)
    began = time.perf_counter()
    trainer.epoch(images, labels, order)
    trained = time.perf_counter()
    accuracy = trainer.accuracy(test_images, test_labels, options.lean)
    return {"samples": len(labels), "train_seconds": trained - began,
            "validation_seconds": time.perf_counter() - trained, "accuracy": accuracy,
            "version": torch.__version__}


def first_step(options):
    trainer = Trainer(options)
    trainer.step(torch.randn(BATCH, 1, 28, 28), torch.randint(10, (BATCH,)))
    return {"import_seconds": IMPORTED - BEGAN, "step_seconds": time.perf_counter() - IMPORTED}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", help="folder of MNIST")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int, help="of the training split (all)")
    parser.add_argument("--warm-up", type=int, default=20, help="steps before the clock starts")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--foreach", action="store_true")
    parser.add_argument("--jit", action="store_true")
    parser.add_argument("--lean", action="store_true")
    parser.add_argument("--first-step", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(json.dumps(first_step(options) if options.first_step else train(options)))


if __name__ == "__main__":
    main()
