# SPDX-License-Identifier: Apache-2.0
"""The peer: models in PyTorch, trained for some steps. Prints one JSON object; times by its own clock.

    pytorch_train.py --model resnet:20 --data DIR --batch-size 64 --steps 40 --channels-last --foreach

Everything that can be is done before the clock starts: samples are resized, normalised, shuffled
tensors in memory, and the kernels are warm. With --lean samples stay bytes and each batch is made
on its own, which costs time and saves memory. Initial weights are PyTorch's own.
"""

import argparse
import itertools
import json
import os
import time

import numpy
import torch
from torch import nn
from torch.nn import functional

import pytorch_lenet
import resnet20_recipe_pytorch

CIFAR100_MEAN = torch.tensor([0.5071, 0.4865, 0.4409]).view(1, 3, 1, 1)
CIFAR100_DEVIATION = torch.tensor([0.2673, 0.2564, 0.2762]).view(1, 3, 1, 1)


def unit(inputs, outputs, kernel, stride=1, groups=1):
    """Convolution, batch norm, ReLU6."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups,
                                   bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU6(inplace=True))


class Inverted(nn.Module):
    """MobileNetV2's block (Sandler et al. 2018): wide inside, narrow and linear outside."""

    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        wide = inputs * expansion
        layers = [unit(inputs, wide, 1)] if expansion > 1 else []
        self.conv = nn.Sequential(*layers, unit(wide, wide, 3, stride, wide),
                                  nn.Conv2d(wide, outputs, 1, bias=False),
                                  nn.BatchNorm2d(outputs))
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        if self.residual:
            return x + self.conv(x)
        return self.conv(x)


class MobileNetV2(nn.Module):
    STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1))

    def __init__(self, classes):
        super().__init__()
        layers, channels = [unit(3, 32, 3, 2)], 32
        for expansion, outputs, blocks, stride in self.STAGES:
            for i in range(blocks):
                layers.append(Inverted(channels, outputs, stride if i == 0 else 1, expansion))
                channels = outputs
        self.features = nn.Sequential(*layers, unit(channels, 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
        nn.init.normal_(self.classifier[1].weight, 0, 0.01)
        nn.init.zeros_(self.classifier[1].bias)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


def read_mnist(folder, count):
    images, labels = pytorch_lenet.read(folder, "train")
    return images[:count], labels[:count]


def read_cifar10(folder, count):
    paths = (os.path.join(folder, "data_batch_%d.bin" % number) for number in itertools.count(1))
    images, labels = resnet20_recipe_pytorch.read(
        list(itertools.takewhile(os.path.exists, paths)))
    return images[:count], labels[:count]


def read_cifar100(folder, count):
    records = numpy.fromfile(os.path.join(folder, "train.bin"), numpy.uint8).reshape(-1, 3074)
    images = torch.from_numpy(records[:count, 2:].reshape(-1, 3, 32, 32).copy())
    return images, torch.from_numpy(records[:count, 1].astype(numpy.int64))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))


def twice_as_large(images):
    """From bytes at 32x32 to normalised numbers at 64x64."""
    large = functional.interpolate(images.float() / 255, size=64, mode="bilinear",
                                   align_corners=False)
    return (large - CIFAR100_MEAN) / CIFAR100_DEVIATION


# By name: network, its data, and from bytes to what it takes.
MODELS = {
    "mlp:784-128-64-10": (mlp, read_mnist, pytorch_lenet.normalised),
    "lenet": (pytorch_lenet.network, read_mnist, pytorch_lenet.normalised),
    "resnet:20": (resnet20_recipe_pytorch.Resnet, read_cifar10, resnet20_recipe_pytorch.normalised),
    "mobilenetv2": (lambda: MobileNetV2(100), read_cifar100, twice_as_large),
}


class Trainer:
    def __init__(self, options):
        network, self.read, self.prepare = MODELS[options.model]
        self.options = options
        self.format = torch.channels_last if options.channels_last else torch.contiguous_format
        torch.manual_seed(1)
        self.network = network().to(memory_format=self.format).train()
        self.forward = (torch.jit.script(self.network) if options.jit else
                        torch.compile(self.network) if options.compile else self.network)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=options.lr, momentum=0.9,
                                         foreach=options.foreach)

    def prepared(self, images):
        return self.prepare(images).contiguous(memory_format=self.format)

    def step(self, images, labels):
        loss = functional.cross_entropy(self.forward(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def warm_up(self, images, labels):
        start = {name: value.clone() for name, value in self.network.state_dict().items()}
        for _ in range(self.options.warm_up):
            self.step(self.prepared(images), labels)
        self.network.load_state_dict(start)
        self.optimizer.state.clear()

    def train(self):
        size, steps = self.options.batch_size, self.options.steps
        images, labels = self.read(self.options.data, size * steps)
        if len(labels) < size * steps:
            raise SystemExit("%s has no %d samples" % (self.options.data, size * steps))
        order = torch.randperm(len(labels))
        images, labels = images[order], labels[order]
        self.warm_up(images[:size], labels[:size])
        if not self.options.lean:
            images = self.prepared(images)
        losses = []
        began = time.perf_counter()
        for first in range(0, len(labels), size):
            batch = images[first:first + size]
            losses.append(self.step(self.prepared(batch) if self.options.lean else batch,
                                    labels[first:first + size]))
        seconds = time.perf_counter() - began
        return {"samples": len(labels), "train_seconds": seconds,
                "loss": float(torch.stack(losses).mean()), "version": torch.__version__}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--data", required=True, help="folder of MNIST, CIFAR-10 or CIFAR-100")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--warm-up", type=int, default=5, help="steps before the clock starts")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--foreach", action="store_true")
    parser.add_argument("--jit", action="store_true")
    parser.add_argument("--compile", action="store_true", help="torch.compile; needs a C++ compiler")
    parser.add_argument("--lean", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(json.dumps(Trainer(options).train()))


if __name__ == "__main__":
    main()
