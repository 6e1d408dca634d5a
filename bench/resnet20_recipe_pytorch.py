# SPDX-License-Identifier: Apache-2.0
"""The recipe of examples/resnet20-cifar10.sh in PyTorch: the accuracy that shoal is compared with.

    /usr/bin/python3 bench/resnet20_recipe_pytorch.py --data DIR [--epochs 10] [--seed 1]

Same model (option-A shortcuts), records, batch, optimiser, schedule, augmentation and initial
distributions; its own random numbers, and batch norm over the whole batch as PyTorch has it. Prints
a line of JSON an epoch.
"""

import argparse
import glob
import json
import math
import os
import time

import numpy
import torch
from torch import nn
from torch.nn import functional

MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(1, 3, 1, 1)
DEVIATION = torch.tensor([0.2470, 0.2435, 0.2616]).view(1, 3, 1, 1)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.added = outputs - inputs

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.added:
            side = self.added // 2
            x = functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, side, self.added - side))
        return functional.relu(y + x)


class Resnet(nn.Module):
    def __init__(self, depth=20, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        blocks, inputs = [], 16
        for stage, outputs in enumerate((16, 32, 64)):
            for i in range((depth - 2) // 6):
                blocks.append(Block(inputs, outputs, 2 if stage > 0 and i == 0 else 1))
                inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.linear = nn.Linear(64, classes)
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.kaiming_normal_(module.weight)

    def forward(self, x):
        x = functional.relu(self.bn1(self.conv1(x)))
        return self.linear(self.blocks(x).mean((2, 3)))


def read(paths):
    records = numpy.concatenate([numpy.fromfile(path, numpy.uint8) for path in paths])
    records = records.reshape(-1, 3073)
    return (torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy()),
            torch.from_numpy(records[:, 0].astype(numpy.int64)))


def augmented(images):
    """Padded by 4 zeros, cropped and flipped at random, each image by itself."""
    count = len(images)
    padded = functional.pad(images, (4, 4, 4, 4))
    rows = torch.randint(9, (count, 1)) + torch.arange(32)
    columns = torch.randint(9, (count, 1)) + torch.arange(32)
    flipped = torch.rand(count) < 0.5
    columns[flipped] = columns[flipped].flip(1)
    which = torch.arange(count).view(-1, 1, 1)
    return padded[which, :, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2)


def normalised(images):
    return (images.float() / 255 - MEAN) / DEVIATION


def evaluate(network, images, labels):
    network.eval()
    correct = 0
    with torch.no_grad():
        for first in range(0, len(labels), 250):
            answers = network(normalised(images[first:first + 250])).argmax(1)
            correct += int((answers == labels[first:first + 250]).sum())
    network.train()
    return correct / len(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", required=True, help="folder of CIFAR-10, binary version")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.4)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    images, labels = read(sorted(glob.glob(os.path.join(options.data, "data_batch_*.bin"))))
    test_images, test_labels = read([os.path.join(options.data, "test_batch.bin")])
    network = Resnet()
    optimizer = torch.optim.SGD(network.parameters(), lr=options.lr, momentum=0.9, nesterov=True,
                                weight_decay=options.weight_decay)
    steps = math.ceil(len(labels) / options.batch_size)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=options.lr, total_steps=steps * options.epochs, cycle_momentum=False)
    began = time.perf_counter()
    for epoch in range(options.epochs):
        loss_sum, order = 0.0, torch.randperm(len(labels))
        for first in range(0, len(labels), options.batch_size):
            chosen = order[first:first + options.batch_size]
            batch = normalised(augmented(images[chosen]))
            loss = functional.cross_entropy(network(batch), labels[chosen])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            loss_sum += float(loss) * len(chosen)
        print(json.dumps({"epoch": epoch + 1, "train_loss": loss_sum / len(labels),
                          "val_accuracy": evaluate(network, test_images, test_labels),
                          "seconds": time.perf_counter() - began}), flush=True)


if __name__ == "__main__":
    main()
