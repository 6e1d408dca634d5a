#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes golden_models.json: PyTorch's first steps of models with batch normalisation, and of recurrent ones,
for src/train/golden_models_test.c.

    apt-get install python3-torch        # or: pip install torch numpy
    /usr/bin/python3 test/golden/make_golden_models.py

As make_golden.py, whose random numbers and form it shares: the data, the initial weights and their
hash are made here a second time; the modules are put together from torch.nn after the papers, with
the names that published weights have. The batch is one grain, so that both normalise over the same
samples. MobileNetV2 is without dropout here (mobilenetv2:WIDTH,0). Each job runs in float32 and in
float64, and what lies between the two is printed. Over few samples, normalisation makes steps at
usual rates chaotic: at 0.01, PyTorch's losses in float32 and float64 differ by 2e-3 after ten steps
of ResNet-20, and by 7e-2 of MobileNetV2, whose small depthwise weights normalisation magnifies. The
rates here keep the two within a few 1e-5, so that a comparison means something.
"""

import hashlib
import json
import pathlib
import re

import numpy
import torch
import torch.nn.functional as F
from torch import nn

from make_golden import DATA_SEED, PURPOSE_INITIAL, PURPOSE_TEST, SEED, philox

SAMPLES = 16  # of the training and of the validation split each, and of a grain
SIDE, CHANNELS, CLASSES = 32, 3, 10
STEPS = 10
MOMENTUM, DECAY = 0.9, 1e-3
MEAN, DEVIATION = 0.25, 0.25  # that pixels are normalised by


def conv(inputs, outputs, kernel, stride=1, groups=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)


class Block(nn.Module):
    """Two 3x3 convolutions; where the shape changes, the shortcut is of option A or B."""

    def __init__(self, inputs, outputs, stride, option):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv(outputs, outputs, 3), nn.BatchNorm2d(outputs)
        self.more = outputs - inputs
        if self.more and option == "B":
            self.shortcut = nn.Sequential(conv(inputs, outputs, 1, stride),
                                          nn.BatchNorm2d(outputs))

    def around(self, x):
        if hasattr(self, "shortcut"):
            return self.shortcut(x)
        half = self.more // 2
        return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, half, self.more - half)) if self.more else x

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.around(x))


class Resnet(nn.Module):
    def __init__(self, depth, option):
        super().__init__()
        self.conv1, self.bn1 = conv(CHANNELS, 16, 3), nn.BatchNorm2d(16)
        had = 16
        for stage, channels in enumerate((16, 32, 64), 1):
            blocks = []
            for i in range((depth - 2) // 6):
                blocks.append(Block(had, channels, 2 if i == 0 and stage > 1 else 1, option))
                had = channels
            self.add_module(f"layer{stage}", nn.Sequential(*blocks))
        self.linear = nn.Linear(64, CLASSES)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.linear(x.mean((2, 3)))

    def deviation(self, name, shape):  # of He's normal weights, by fan-in
        return numpy.sqrt(numpy.float32(2) / numpy.float32(numpy.prod(shape[1:])))

    bias = None  # of the last layer: PyTorch's


def unit(inputs, outputs, kernel, stride=1, groups=1):
    return nn.Sequential(conv(inputs, outputs, kernel, stride, groups), nn.BatchNorm2d(outputs),
                         nn.ReLU6())


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, stride, widen):
        super().__init__()
        wide = inputs * widen
        self.conv = nn.Sequential(
            *([unit(inputs, wide, 1)] if widen > 1 else []),
            unit(wide, wide, 3, stride, wide),
            conv(wide, outputs, 1),
            nn.BatchNorm2d(outputs),
        )
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.residual else self.conv(x)


class Mobilenet(nn.Module):
    STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1))

    @staticmethod
    def rounded(channels):
        near = max(8, int(channels + 4) // 8 * 8)
        return near + 8 if near < 0.9 * channels else near

    def __init__(self, width):
        super().__init__()
        had = self.rounded(32 * width)
        layers = [unit(CHANNELS, had, 3, 2)]
        for widen, channels, blocks, stride in self.STAGES:
            for i in range(blocks):
                outputs = self.rounded(channels * width)
                layers.append(Inverted(had, outputs, stride if i == 0 else 1, widen))
                had = outputs
        last = self.rounded(1280 * max(1.0, width))
        self.features = nn.Sequential(*layers, unit(had, last, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(last, CLASSES))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))

    def deviation(self, name, shape):  # by fan-out; the classifier's is fixed
        if name.startswith("classifier"):
            return numpy.float32(0.01)
        fan_out = shape[0] * shape[2] * shape[3]
        return numpy.sqrt(numpy.float32(2) / numpy.float32(fan_out))

    bias = 0


def series_of(x):
    """An image as its rows, one after the other: [N, C, H, W] -> [N, H, C W]."""
    return x.permute(0, 2, 1, 3).flatten(2)


def square_root_of_part(count):
    """1/sqrt(count): the bound of PyTorch's uniform weights."""
    return numpy.float32(1) / numpy.sqrt(numpy.float32(count))


class Recurrent(nn.Module):
    """torch.nn.LSTM or GRU over the rows; a dense layer on the last state."""

    def __init__(self, name, module, units):
        super().__init__()
        self.units = units
        self.add_module(name, module(CHANNELS * SIDE, units, batch_first=True))
        self.fc = nn.Linear(units, CLASSES)

    def forward(self, x):
        states, _ = next(self.children())(series_of(x))
        return self.fc(states[:, -1])

    def bound(self, name, fan_in):  # the dense layer's fan-in is the units too
        return square_root_of_part(self.units)


class Cnn1d(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.stages, had = len(channels), CHANNELS * SIDE
        for i, count in enumerate(channels, 1):
            self.add_module(f"conv{i}", nn.Conv2d(had, count, (1, 7), padding=(0, 3), bias=False))
            self.add_module(f"bn{i}", nn.BatchNorm2d(count))
            had = count
        self.fc = nn.Linear(had, CLASSES)

    def forward(self, x):
        x = series_of(x).transpose(1, 2).unsqueeze(2)
        for i in range(1, self.stages + 1):
            x = F.relu(getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x)))
            x = F.max_pool2d(x, (1, 2)) if i < self.stages else x
        return self.fc(x.mean((2, 3)))

    def bound(self, name, fan_in):
        return square_root_of_part(fan_in) if name.startswith("fc.") else None

    def deviation(self, name, shape):
        return numpy.sqrt(numpy.float32(2) / numpy.float32(numpy.prod(shape[1:])))


JOBS = [  # model, learning rate
    ("resnet:20", 3e-4, lambda: Resnet(20, "A")),
    ("resnet:20,B", 1e-4, lambda: Resnet(20, "B")),
    ("mobilenetv2:0.25,0", 1e-7, lambda: Mobilenet(0.25)),
    ("lstm:16", 0.05, lambda: Recurrent("lstm", nn.LSTM, 16)),
    ("gru:16", 0.05, lambda: Recurrent("gru", nn.GRU, 16)),
    ("cnn1d:8-12", 1e-3, lambda: Cnn1d((8, 12))),
]


def real_log(x):
    """sh_real_log of positive, normal numbers."""
    m, e = numpy.frexp(x)
    m, e = m * 2, e - 1
    above = m > float.fromhex("0x1.6a09e667f3bcdp+0")
    m, e = numpy.where(above, m / 2, m), numpy.where(above, e + 1, e).astype(numpy.float64)
    s = (m - 1) / (m + 1)
    square = s * s
    p = numpy.full_like(s, 1.0 / 23)
    for n in range(21, 1, -2):
        p = 1.0 / n + p * square
    high, low = float.fromhex("0x1.62e42fefp-1"), float.fromhex("0x1.473de6af278edp-34")
    return e * high + (e * low + (2 * s + 2 * s * (p * square)))


def normal(index, count):
    """As draw_normal in src/model/model.c: the polar method."""
    words = philox(SEED, PURPOSE_INITIAL, index, 0, 4 * count + 64)
    pairs = 2.0 * ((words >> numpy.uint32(8)).astype(numpy.float64) * 2.0**-24) - 1.0
    u, v = pairs[0::2], pairs[1::2]
    s = u * u + v * v
    good = (s > 0) & (s < 1)
    u, s = u[good][:count], s[good][:count]
    assert u.size == count
    return (u * numpy.sqrt(-2.0 * real_log(s) / s)).astype(numpy.float32)


def uniform(index, count, bound):
    words = philox(SEED, PURPOSE_INITIAL, index, 0, count)
    drawn = (words >> numpy.uint32(8)).astype(numpy.float32) * numpy.float32(2.0**-24)
    return (numpy.float32(2) * drawn - numpy.float32(1)) * bound


def tensors_of(model):
    """Parameters and running statistics, in the order of their declaration."""
    return [(n, t) for n, t in model.state_dict().items() if not n.endswith("num_batches_tracked")]


def initial_weights(model):
    weights, fan_in = [], 0
    for index, (name, tensor) in enumerate(tensors_of(model)):
        shape, count = tuple(tensor.shape), tensor.numel()
        fan_in = count // shape[0] if len(shape) > 1 else fan_in
        bound = model.bound(name, fan_in) if hasattr(model, "bound") else None
        if bound is not None:
            values = uniform(index, count, bound)
        elif len(shape) > 1:
            values = normal(index, count) * model.deviation(name, shape)
        elif name in ("linear.bias", "classifier.1.bias") and model.bias is None:
            values = uniform(index, count, numpy.float32(1) / numpy.sqrt(numpy.float32(fan_in)))
        else:
            one = name.endswith((".weight", ".running_var"))
            values = numpy.full(count, 1 if one else 0, dtype=numpy.float32)
        assert values.dtype == numpy.float32
        weights.append(values)
    return weights


def make_data(split):
    """Noise below 128, and 96 more where the sample's class draws a row or a column."""
    images = numpy.empty((SAMPLES, CHANNELS, SIDE, SIDE), dtype=numpy.uint8)
    labels = numpy.arange(SAMPLES, dtype=numpy.uint8) % CLASSES
    for i, label in enumerate(labels.astype(int)):
        words = philox(DATA_SEED, PURPOSE_TEST, i, split, CHANNELS * SIDE * SIDE)
        images[i] = (words >> numpy.uint32(25)).reshape(CHANNELS, SIDE, SIDE)
        bright = numpy.zeros((SIDE, SIDE), dtype=bool)
        bright[4 + 2 * label, :] = True
        bright[:, 4 + 2 * (label * 7 % 10)] = True
        images[i, label % CHANNELS][bright] += 96
    return images, labels


def load(images, labels, dtype):
    """Normalised in float32, as src/data/ does, so that both precisions see the same pixels."""
    pixels = images.astype(numpy.float32) / numpy.float32(255)
    pixels = (pixels - numpy.float32(MEAN)) / numpy.float32(DEVIATION)
    return torch.from_numpy(pixels).to(dtype), torch.from_numpy(labels).long()


def hash_weights(model, weights):
    """As sh_replica_hash."""
    digest = hashlib.sha256()
    for (name, tensor), values in zip(tensors_of(model), weights):
        shape = "x".join(str(n) for n in tensor.shape)
        digest.update(f"{name} {shape}\n".encode())
        digest.update(values.astype("<f4").tobytes())
    return digest.hexdigest()


def train(model, weights, lr, dtype, data):
    """The losses of STEPS steps, each before its update; the validation loss; sums over tensors."""
    model.to(dtype).train()
    with torch.no_grad():
        for (_, tensor), values in zip(tensors_of(model), weights):
            tensor.copy_(torch.from_numpy(values).to(dtype).view_as(tensor))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=MOMENTUM, weight_decay=DECAY)
    pixels, labels = load(*data[0], dtype)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(pixels), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        pixels, labels = load(*data[1], dtype)
        validation = F.cross_entropy(model(pixels), labels).item()
    sums = []
    for (_, tensor), values in zip(tensors_of(model), weights):
        last = tensor.detach().double().numpy().reshape(-1)
        moved = last - values.astype(numpy.float64)
        sums.append([float(x) for x in (last.sum(), (last**2).sum(), (moved**2).sum())])
    return losses, validation, sums


def tell_distance(title, narrow, wide):
    """How far float32 is from float64. The tensors' sums are compared by the test, which allows for
    this distance: some weights move by rounding alone, such as a bias before a normalisation."""
    losses = [abs(a - b) / b for a, b in zip(narrow[0] + [narrow[1]], wide[0] + [wide[1]])]
    print(f"{title}: losses {wide[0][0]:.4f} .. {wide[0][-1]:.4f}, validation {wide[1]:.4f}; "
          f"float32 to float64: {max(losses):.1e}")


def describe(run):
    losses, validation, sums = run
    return {"losses": losses, "validation_loss": validation, "sums": sums}


def make_job(title, lr, module, data):
    model = module()
    weights = initial_weights(model)
    runs = [train(model, weights, lr, dtype, data) for dtype in (torch.float32, torch.float64)]
    tell_distance(title, *runs)
    return {
        "model": title,
        "lr": lr,
        "initial_hash": hash_weights(model, weights),
        "names": [name for name, _ in tensors_of(model)],
        "float32": describe(runs[0]),
        "float64": describe(runs[1]),
    }


def main():
    torch.set_num_threads(1)
    data = [make_data(0), make_data(1)]
    golden = {
        "license": "Apache-2.0",
        "made_by": f"make_golden_models.py with PyTorch {torch.__version__}",
        "seed": SEED,
        "data_seed": DATA_SEED,
        "data_hashes": [hashlib.sha256(i.tobytes() + l.tobytes()).hexdigest() for i, l in data],
        "momentum": MOMENTUM,
        "weight_decay": DECAY,
        "jobs": [make_job(*job, data) for job in JOBS],
    }
    text = json.dumps(golden, indent=1)
    text = re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text)
    pathlib.Path(__file__).with_name("golden_models.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
