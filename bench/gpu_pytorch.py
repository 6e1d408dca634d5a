#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images a second of PyTorch on a GPU, forward and backward, for bench/gpu_speed.c: samples and weights in its memory.

    gpu_pytorch.py lenet 1 28 10 64 256
"""
import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class LeNet(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(channels, 20, 5), nn.Conv2d(20, 50, 5)
        self.fc1, self.fc2 = nn.Linear(800, 500), nn.Linear(500, classes)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x), 2)
        x = F.max_pool2d(self.conv2(x), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.stride, self.more = stride, after - before

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.more:
            x = F.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, self.more // 2, self.more // 2))
        return F.relu(y + x)


class ResNet20(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        blocks, before = [], 16
        for after in (16, 32, 64):
            for i in range(3):
                blocks.append(Block(before, after, 2 if i == 0 and after > 16 else 1))
                before = after
        self.blocks, self.linear = nn.Sequential(*blocks), nn.Linear(64, classes)

    def forward(self, x):
        x = self.blocks(F.relu(self.bn1(self.conv1(x))))
        return self.linear(x.mean((2, 3)))


class Inverted(nn.Module):
    def __init__(self, before, after, stride, wider):
        super().__init__()
        inside, layers = before * wider, []
        if wider > 1:
            layers += [nn.Conv2d(before, inside, 1, bias=False), nn.BatchNorm2d(inside), nn.ReLU6()]
        layers += [nn.Conv2d(inside, inside, 3, stride, 1, groups=inside, bias=False), nn.BatchNorm2d(inside), nn.ReLU6(),
                   nn.Conv2d(inside, after, 1, bias=False), nn.BatchNorm2d(after)]
        self.layers, self.adds = nn.Sequential(*layers), stride == 1 and before == after

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


class MobileNetV2(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        layers, before = [nn.Conv2d(channels, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()], 32
        for wider, after, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                            (6, 160, 3, 2), (6, 320, 1, 1)):
            for i in range(count):
                layers.append(Inverted(before, after, stride if i == 0 else 1, wider))
                before = after
        layers += [nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6()]
        self.layers, self.classifier = nn.Sequential(*layers), nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, x):
        return self.classifier(self.layers(x).mean((2, 3)))


class Basic(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
                               nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after))
        self.b = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False),
                               nn.BatchNorm2d(after)) if stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.a(x) + self.b(x))


class ResNet18(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        layers = [nn.Conv2d(channels, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        before = 64
        for after in (64, 128, 256, 512):
            layers += [Basic(before, after, 1 if after == 64 else 2), Basic(after, after, 1)]
            before = after
        self.layers, self.fc = nn.Sequential(*layers), nn.Linear(512, classes)

    def forward(self, x):
        return self.fc(self.layers(x).mean((2, 3)))


MODELS = {"lenet": LeNet, "resnet:20": ResNet20, "mobilenetv2": MobileNetV2, "resnet18": ResNet18}


def measure(model, x, labels):
    def step():
        model.zero_grad(set_to_none=True)
        F.cross_entropy(model(x), labels).backward()

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    start, steps = time.monotonic(), 0
    while time.monotonic() - start < 1:
        for _ in range(5):
            step()
        steps += 5
        torch.cuda.synchronize()
    return steps * len(x) / (time.monotonic() - start)


def row(name, channels, size, classes, batch):
    x = torch.rand(batch, channels, size, size, device="cuda")
    labels = torch.randint(0, classes, (batch,), device="cuda")
    made = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "model": name, "image": size, "batch": batch}
    for kind, tf32 in (("float32", False), ("tf32", True)):
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
        rates = []
        for layout in (torch.contiguous_format, torch.channels_last):
            model = MODELS[name](channels, classes).cuda().train().to(memory_format=layout)
            rates.append(measure(model, x.contiguous(memory_format=layout), labels))
        made[kind] = round(max(rates))
    return made


def main():
    name, channels, size, classes = sys.argv[1], *map(int, sys.argv[2:5])
    torch.backends.cudnn.benchmark = True
    for batch in sys.argv[5:]:
        print(json.dumps(row(name, channels, size, classes, int(batch))), flush=True)


main()
