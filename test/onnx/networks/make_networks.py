#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small networks and what PyTorch computes with them, for src/onnx/import_test.c.

NAME.onnx is the network as PyTorch's exporters write it, with the weights in it. NAME.values has,
as little-endian float32: the inputs [SAMPLES, ...], then the results [SAMPLES, outputs] in
evaluation. The test needs no PyTorch; this script does:

    python3 test/onnx/networks/make_networks.py [NAME...]
"""
import io
import os
import struct
import sys

import onnx
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = 5


class Residual(nn.Module):
    """A block of the residual networks for CIFAR."""

    def __init__(self, had, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(had, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels, eps=1e-3, momentum=0.05)
        self.same = had == channels and stride == 1
        if not self.same:
            self.shortcut = nn.Sequential(nn.Conv2d(had, channels, 1, stride, bias=False),
                                          nn.BatchNorm2d(channels))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.same else self.shortcut(x)))


class Inverted(nn.Module):
    """A block of MobileNetV2."""

    def __init__(self, had, channels, stride):
        super().__init__()
        hidden = 2 * had
        self.body = nn.Sequential(
            nn.Conv2d(had, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(),
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden), nn.ReLU6(),
            nn.Conv2d(hidden, channels, 1, bias=False), nn.BatchNorm2d(channels))
        self.same = had == channels and stride == 1

    def forward(self, x):
        return x + self.body(x) if self.same else self.body(x)


class OptionA(nn.Module):
    """The shortcut without weights: every second pixel, and channels of zeros."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, 2, 1)
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        short = nn.functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 1, 1))
        return self.fc(torch.relu(self.conv(x) + short).mean((2, 3)))


class Pieces(nn.Module):
    """Operators that move elements."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(2, 6, 3, padding="same")
        self.b = nn.Conv2d(3, 4, 3, padding=1)
        self.c = nn.Conv2d(3, 5, 1)
        self.norm = nn.LayerNorm(9)
        self.fc = nn.Linear(9 * 4, 3)

    def forward(self, x):
        one, two = torch.split(nn.functional.leaky_relu(self.a(x)), 3, dim=1)
        y = torch.cat([self.b(one), self.c(two)], dim=1)
        y = nn.functional.pad(y, (1, 0, 0, 1))
        y = nn.functional.avg_pool2d(y, 3, 2, 1, count_include_pad=False)
        n, c, h, w = y.shape
        y = y.permute(0, 2, 3, 1).reshape(n, h * w, c)
        y = self.norm(y)[:, 1:5]
        return torch.softmax(self.fc(torch.tanh(y).reshape(n, -1)), 1)


class Attention(nn.Module):
    """A vision transformer of one block."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(1, 8, 2, 2)
        self.token = nn.Parameter(torch.zeros(1, 1, 8))
        self.place = nn.Parameter(torch.zeros(1, 5, 8))
        self.norm1 = nn.LayerNorm(8)
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)
        self.norm2 = nn.LayerNorm(8)
        self.up = nn.Linear(8, 12)
        self.down = nn.Linear(12, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.place
        n, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(n, t, 3, 2, c // 2).permute(2, 0, 3, 1, 4)
        y = torch.softmax(q @ k.transpose(-2, -1) * (c // 2) ** -0.5, dim=-1) @ v
        x = x + self.out(y.transpose(1, 2).reshape(n, t, c))
        x = x + self.down(nn.functional.gelu(self.up(self.norm2(x))))
        return self.head(x[:, 0])


class Gates(nn.Module):
    """Squeeze and excitation, and functions that are rarer."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 6, 3, 1, 1)
        self.down = nn.Conv2d(6, 3, 1)
        self.up = nn.Conv2d(3, 6, 1)
        self.groups = nn.GroupNorm(3, 6)
        self.wider = nn.ConvTranspose2d(6, 4, 2, 2)
        self.each = nn.InstanceNorm2d(4, affine=True)
        self.slope = nn.PReLU(4)
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        y = nn.functional.hardswish(self.conv(x))
        gate = self.up(nn.functional.silu(self.down(y.mean((2, 3), keepdim=True))))
        y = self.groups(y * nn.functional.hardsigmoid(gate))
        y = self.slope(self.each(self.wider(y)))
        y = nn.functional.elu(y) + nn.functional.softplus(y) / 3 - torch.exp(-torch.abs(y))
        return self.fc(torch.sqrt(y.amax((2, 3)) ** 2 + 1) + y.clamp(-0.5, 0.7).sum((2, 3)) * 0.1)


class Turned(nn.Module):
    """PyTorch's transformer layer, inside which samples come second and join other dimensions."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        return self.out(self.layer(self.fc(x)).mean(1))


class Line(nn.Module):
    """A series: convolutions along one dimension."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(3, 6, 5, stride=2, padding=2)
        self.bn = nn.BatchNorm1d(6)
        self.conv2 = nn.Conv1d(6, 4, 3, dilation=2)
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        y = nn.functional.max_pool1d(torch.relu(self.bn(self.conv1(x))), 2)
        return self.fc(torch.sigmoid(self.conv2(y)).mean(2))


class Recurrent(nn.Module):
    """A series that goes through recurrent layers of all kinds."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(8, 5)
        self.rnn = nn.RNN(5, 4, nonlinearity="relu", batch_first=True)
        self.fc = nn.Linear(13, 3)

    def forward(self, x):
        y, (h, c) = self.lstm(x.transpose(1, 2))
        z, last = self.gru(y.transpose(0, 1))
        w, end = self.rnn(z.transpose(0, 1))
        return self.fc(torch.cat([w[:, -1] + end[0], last[0], h[1] * c[0]], dim=1))


class Sizes(nn.Module):
    """Images that become larger and smaller, as in U-Nets and for super-resolution."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(2, 8, 3, 2, 1)
        self.up = nn.Conv2d(4, 4, 3, padding=1)
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        resize = nn.functional.interpolate
        y = torch.tanh(self.down(x))
        y = torch.cat([nn.functional.pixel_shuffle(y, 2), x], dim=1)
        y = self.up(resize(y, scale_factor=2, mode="nearest"))
        y = resize(y, size=(9, 5), mode="bilinear") + resize(y, size=(9, 5), mode="bicubic")
        y = resize(y, scale_factor=2, mode="bilinear", align_corners=True)[:, :2, ::2, :]
        return self.fc(nn.functional.pixel_unshuffle(y[:, :, 1:], 2).mean((2, 3)))


class Rarer(nn.Module):
    """Functions that are several operators, behind samples that the network normalises itself."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(1, 3, 1))
        self.register_buffer("deviation", torch.ones(1, 3, 1))
        self.fc = nn.Linear(10, 8)
        self.out = nn.Linear(6, 3)

    def forward(self, x):
        f = nn.functional
        y = self.fc((x - self.mean) / (self.deviation + 2))
        y = torch.stack([f.selu(y), f.celu(y, 0.7), f.softsign(y), f.gelu(y, approximate="tanh")])
        a, b, c, d = [part.squeeze(0) for part in y.split(1)]
        y = torch.cat([torch.logsumexp(a, 2), torch.linalg.vector_norm(b + d, dim=2)], dim=1)
        return self.out(torch.maximum(y, c.abs().sum(2).repeat(1, 2)))


class Words(nn.Module):
    """Samples that are numbers of words."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 4)
        self.place = nn.Embedding(6, 4)
        self.gru = nn.GRU(4, 3, batch_first=True)
        self.fc = nn.Linear(3, 9, bias=False)
        self.last = nn.Linear(9, 3)

    def forward(self, x):
        y = self.table(x) + self.place(torch.arange(6))
        z = self.fc(self.gru(y)[0][:, -1])
        return self.last(z + self.table.weight.sum(1))


class Heads(nn.Module):
    """Attention of two heads and of shared ones, as operator set 23 has it, and an einsum."""

    def __init__(self):
        super().__init__()
        self.q = nn.Linear(3, 8)
        self.kv = nn.Linear(3, 8)
        self.mix = nn.Parameter(torch.zeros(2, 4, 5))
        self.fc = nn.Linear(5, 3)

    def forward(self, x):
        x = x.transpose(1, 2)
        n, length, _ = x.shape
        q = self.q(x).view(n, length, 2, 4).transpose(1, 2)
        k, v = self.kv(x).view(n, length, 2, 4).transpose(1, 2).split(1, 1)
        k, v = k.expand(-1, 2, -1, -1), v.expand(-1, 2, -1, -1)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).tanh()
        return self.fc(torch.einsum("nlhd,hdc->nlc", y, self.mix).sum(1))


class Chunks(nn.Module):
    """Parts, which the newest exporter writes as sequences, and a mean over channels that lie last."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 6, 3, padding=1)
        self.last = nn.Conv2d(3, 6, 1)
        self.norm = nn.LayerNorm(6)
        self.mean = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        one, two = torch.chunk(self.conv(x), 2, dim=1)
        a, b = torch.split(two, [1, 2], dim=1)
        y = self.last(torch.cat((b, a), dim=1) * torch.sigmoid(one))
        p, q = torch.unbind(y.view(y.shape[0], 2, 3, *y.shape[2:]), dim=1)
        y = torch.cat((p - q, p * q), dim=1).permute(0, 2, 3, 1)
        return self.fc(self.mean(self.norm(y).permute(0, 3, 1, 2)).flatten(1))


def networks():
    """Name, network, shape of a sample, settings of the export."""
    mlp = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 3))
    lenet = nn.Sequential(nn.Conv2d(1, 3, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(3, 4, 3),
                          nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5),
                          nn.Linear(16, 10), nn.ReLU(), nn.Linear(10, 4), nn.LogSoftmax(1))
    resnet = nn.Sequential(nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
                           Residual(4, 4, 1), Residual(4, 6, 2), nn.AdaptiveAvgPool2d(1),
                           nn.Flatten(), nn.Linear(6, 5))
    mobile = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU6(),
                           Inverted(4, 4, 1), Inverted(4, 6, 2), nn.Conv2d(6, 8, 1), nn.ReLU6(),
                           nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2),
                           nn.Linear(8, 5))
    digits = nn.Sequential(nn.Conv2d(1, 4, 5, 2), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                           nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1),
                           nn.Linear(128, 10), nn.Softmax(1))
    yield "mlp", mlp, (1, 3, 4), {}
    yield "lenet_like", lenet, (1, 16, 16), {"training": True}
    yield "resnet_like", resnet, (3, 8, 8), {"training": True}
    yield "mobilenet_like", mobile, (3, 12, 12), {"training": True}
    yield "option_a", OptionA(), (2, 7, 6), {}
    yield "pieces", Pieces(), (2, 6, 6), {}
    yield "attention", Attention(), (1, 4, 4), {}
    yield "gates", Gates(), (2, 5, 4), {}
    yield "digits", digits, (1, 28, 28), {"training": True}
    yield "line", Line(), (3, 24), {"training": True}
    yield "turned", Turned(), (5, 3), {"training": True}
    untrained = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(),
                              Residual(4, 4, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                              nn.Linear(4, 3))
    yield "recurrent", Recurrent(), (3, 6), {}
    yield "sizes", Sizes(), (2, 6, 4), {}
    yield "rarer", Rarer(), (3, 10), {}
    yield "words", Words(), (6,), {"numbers": 9}
    yield "heads", Heads(), (3, 5), {"opset": 23}
    yield "untrained", untrained, (2, 6, 6), {"trained": False}
    yield "chunks", Chunks(), (2, 5, 4), {"training": True}


def exported(net, x, training, folding, opset, new):
    """The bytes of the network as one of the exporters writes it."""
    if new:
        net.eval()
        program = torch.onnx.export(net, (x,), dynamo=True, optimize=folding, verbose=False,
                                    opset_version=opset)
        return program.model_proto.SerializeToString()
    mode = torch.onnx.TrainingMode.PRESERVE if training else torch.onnx.TrainingMode.EVAL
    file = io.BytesIO()
    net.train(training)
    torch.onnx.export(net, (x,), file, dynamo=False, training=mode, opset_version=14,
                      do_constant_folding=folding)
    net.eval()
    return file.getvalue()


def plain(data, state):
    """Without what only people read (where in the code a node comes from), and with the network's
    own statistics: an export in training mode moves them."""
    model = onnx.load_from_string(data)
    for tensor in model.graph.initializer:
        if tensor.name in state and state[tensor.name].dtype == torch.float32:
            tensor.raw_data = state[tensor.name].numpy().tobytes()
    for node in model.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    for value in list(model.graph.value_info) + list(model.graph.input) + list(model.graph.output):
        del value.metadata_props[:]
    for tensor in model.graph.initializer:
        del tensor.metadata_props[:]
    del model.graph.value_info[:]
    del model.metadata_props[:]
    del model.graph.metadata_props[:]
    model.doc_string = model.graph.doc_string = ""
    return model.SerializeToString()


def main():
    for number, (name, net, shape, settings) in enumerate(networks()):
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        torch.manual_seed(number)
        training = settings.get("training", False)
        trained = settings.get("trained", True)
        for tensor in list(net.parameters()) + list(net.buffers()):
            if tensor.dtype == torch.float32 and trained:
                tensor.data.uniform_(-0.5, 0.5)
        for module in net.modules():
            if trained and isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
                module.running_var.uniform_(0.5, 1.5)
                module.weight.data.uniform_(0.5, 1.5)
        net.eval()
        x = torch.randn(SAMPLES, *shape)
        if "numbers" in settings:
            x = torch.randint(settings["numbers"], (SAMPLES, *shape))
        with torch.no_grad():
            y = net(x)
        state = {key: value.clone() for key, value in net.state_dict().items()}
        for new in (False, True):
            net.load_state_dict(state)
            file = os.path.join(HERE, name + ("_new" if new else ""))
            with open(file + ".onnx", "wb") as out:
                folding = trained and not training
                out.write(plain(exported(net, x[:1], training, folding,
                                         settings.get("opset"), new), state))
        with open(os.path.join(HERE, name + ".values"), "wb") as out:
            for tensor in (x, y):
                flat = tensor.flatten().tolist()
                out.write(struct.pack("<%df" % len(flat), *flat))
        print(name, sum(p.numel() for p in net.parameters()), file=sys.stderr)


if __name__ == "__main__":
    main()
