# SPDX-License-Identifier: Apache-2.0
"""Networks of torchvision and of everyday kinds, exported to ONNX, and what PyTorch makes of them.

    onnx_networks_pytorch.py FOLDER NETWORK EXPORTER...   writes FOLDER/EXPORTER.onnx, the data and EXPORTER.json
    onnx_networks_pytorch.py --forward FILE.onnx          what ONNX Runtime makes of the data beside it: FILE.npy
    onnx_networks_pytorch.py --list                       networks and exporters of this PyTorch, as JSON

EXPORTER.json has the training losses of the same network by PyTorch (full batches, SGD with momentum).
Where the exporter folded batch norms into convolutions, PyTorch trains the network without them, too.
With --no-losses it has none. Dropout and stochastic depth are off, since their random numbers differ. The batch is one sample in the file.
"""
import argparse
import copy
import json
import os
import sys
import warnings

import numpy
import torch
from torch import nn
from torch.nn import functional

CLASSES = 5
SAMPLES = 24
STEPS = 10
NEW = int(torch.__version__.split(".")[0]) >= 2


class UNet(nn.Module):
    """An encoder and a decoder with a bridge; `up` makes an image twice as wide."""

    def __init__(self, up):
        super().__init__()
        self.one, self.two, self.three = self.block(3, 8), self.block(8, 16), self.block(16, 8)
        self.up = up
        self.last = nn.Conv2d(8, 3, 1)

    @staticmethod
    def block(had, gives):
        return nn.Sequential(nn.Conv2d(had, gives, 3, padding=1, bias=False), nn.BatchNorm2d(gives), nn.ReLU(),
                             nn.Conv2d(gives, gives, 3, padding=1, bias=False), nn.BatchNorm2d(gives), nn.ReLU())

    def forward(self, x):
        fine = self.one(x)
        coarse = self.two(functional.max_pool2d(fine, 2))
        return self.last(self.three(torch.cat([fine, self.up(coarse)], dim=1)))


class Series(nn.Module):
    """A recurrent layer and a dense one on its last step."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.head = nn.Linear(layer.hidden_size * (2 if layer.bidirectional else 1), CLASSES)

    def forward(self, x):
        return self.head(self.layer(x)[0][:, -1])


class Encoder(nn.Module):
    """A transformer encoder of four layers over a series."""

    def __init__(self):
        super().__init__()
        self.inside = nn.Linear(6, 32)
        self.place = nn.Parameter(torch.randn(1, 12, 32) * 0.1)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 4)
        self.head = nn.Linear(32, CLASSES)

    def forward(self, x):
        return self.head(self.layers(self.inside(x) + self.place).mean(1))


class Line(nn.Module):
    """Convolutions along a series."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(3, 16, 7, stride=2, padding=3, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 3, padding=2, dilation=2, bias=False), nn.BatchNorm1d(32), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, CLASSES))

    def forward(self, x):
        return self.body(x)


def vgg11(models):
    """Its classifier is small: the published one has 120 million weights and takes images of 224 pixels."""
    net = models.vgg11(num_classes=CLASSES)
    net.avgpool = nn.Identity()
    net.classifier = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, CLASSES))
    return net


def vit_tiny(models):
    net = models.VisionTransformer(image_size=32, patch_size=8, num_layers=3, num_heads=3, hidden_dim=48, mlp_dim=96,
                                   num_classes=CLASSES)
    nn.init.normal_(net.heads.head.weight, 0, 0.1)
    return net


def of(name):
    return lambda models: getattr(models, name)(num_classes=CLASSES)


# By name: how it is made, the shape of a sample, the learning rate.
NETWORKS = {
    "resnet18": (of("resnet18"), (3, 64, 64), 0.0002),
    "mobilenet_v2": (of("mobilenet_v2"), (3, 64, 64), 0.0002),
    "mobilenet_v3_small": (of("mobilenet_v3_small"), (3, 64, 64), 0.0002),
    "efficientnet_b0": (of("efficientnet_b0"), (3, 64, 64), 0.0002),
    "squeezenet1_1": (of("squeezenet1_1"), (3, 64, 64), 0.01),
    "densenet121": (of("densenet121"), (3, 64, 64), 0.0002),
    "shufflenet_v2_x1_0": (of("shufflenet_v2_x1_0"), (3, 64, 64), 0.0002),
    "vgg11": (vgg11, (3, 32, 32), 0.01),
    "convnext_tiny": (of("convnext_tiny"), (3, 32, 32), 0.01),
    "vit_tiny": (vit_tiny, (3, 32, 32), 0.01),
    "unet_transposed": (lambda _: UNet(nn.ConvTranspose2d(16, 8, 2, 2)), (3, 32, 32), 0.01),
    "unet_resize": (lambda _: UNet(nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(16, 8, 3, padding=1))),
                    (3, 32, 32), 0.01),
    "unet_linear": (lambda _: UNet(nn.Sequential(
        nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), nn.Conv2d(16, 8, 3, padding=1))),
                    (3, 32, 32), 0.01),
    "cnn1d": (lambda _: Line(), (3, 64), 0.01),
    "lstm": (lambda _: Series(nn.LSTM(6, 24, 2, batch_first=True)), (12, 6), 0.05),
    "gru": (lambda _: Series(nn.GRU(6, 24, batch_first=True, bidirectional=True)), (12, 6), 0.05),
    "transformer": (lambda _: Encoder(), (12, 6), 0.01),
}

# By name: with the newest exporter?, its settings.
EXPORTERS = {
    "new": (True, {"optimize": False}),
    "new_optimized": (True, {"optimize": True}),
    "old_training": (False, {"training": "TRAINING", "do_constant_folding": False}),
    "old_eval": (False, {"training": "EVAL", "do_constant_folding": False}),
    "old_folded": (False, {"training": "EVAL", "do_constant_folding": True}),
}


def make(name):
    """A seeded network without dropout. No two of its tensors are equal: exporters store equal ones once."""
    try:
        from torchvision import models
    except ImportError as problem:
        if name not in ("lstm", "gru", "transformer", "cnn1d") and not name.startswith("unet"):
            raise SystemExit("torchvision is missing: %s" % problem)
        models = None
    torch.manual_seed(sum(name.encode()))
    net = NETWORKS[name][0](models)
    for module in net.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif type(module).__name__ == "StochasticDepth":
            module.p = 0.0
        elif hasattr(module, "dropout") and isinstance(module.dropout, float):
            module.dropout = 0.0
    for key, value in net.state_dict().items():
        if key.endswith("running_var"):
            value.uniform_(0.8, 1.2)
        elif value.dtype == torch.float32 and value.dim() == 1:
            value.add_(torch.randn_like(value), alpha=0.02)
        elif value.dtype == torch.float32 and value.dim() > 1:
            value.mul_(1 + 0.01 * torch.randn_like(value))
    return net


def data(name):
    """Samples with mean 0 and deviation 1 in each channel, and classes."""
    generator = numpy.random.RandomState(sum(name.encode()))
    shape = NETWORKS[name][1]
    x = generator.standard_normal((2 * SAMPLES,) + shape)
    y = generator.randint(0, CLASSES, 2 * SAMPLES)
    y[:CLASSES] = y[SAMPLES:SAMPLES + CLASSES] = numpy.arange(CLASSES)
    over = (0,) + tuple(range(2, x.ndim)) if shape[0] == 3 else (0, 1)
    first = x[:SAMPLES]
    x = (x - first.mean(over, keepdims=True)) / first.std(over, keepdims=True)
    return x.astype(numpy.float32), y.astype(numpy.int64)


def losses(net, x, y, rate, dtype=torch.float32):
    net = copy.deepcopy(net).to(dtype).train()
    x = x.to(dtype)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        given = net(x)
        loss = functional.cross_entropy(given, y) if given.dim() == 2 else functional.mse_loss(given, x)
        loss.backward()
        optimizer.step()
        found.append(float(loss))
    return found


def norms_of(path):
    """Batch norms of a file, by the field with a node's operator: an old PyTorch may have no onnx beside it."""
    with open(path, "rb") as file:
        return file.read().count(b"\x22\x12BatchNormalization")


def folded(net):
    """The network with batch norms folded into the convolutions before them."""
    from torch.fx.experimental import optimization
    fused = optimization.fuse(copy.deepcopy(net).eval())
    for parameter in fused.parameters():  # the fused bias of a convolution that had none would stay as it is
        parameter.requires_grad_(True)
    return fused


def export_new(net, x, path, optimize, programs={}):
    """Optimising is a step of its own, so the long way to a program is gone once for each network."""
    if net not in programs:
        programs[net] = torch.onnx.export(copy.deepcopy(net).eval(), (x,), dynamo=True, verbose=False, optimize=False)
    if optimize:
        programs[net].optimize()
    programs[net].save(path)


def export(net, x, path, exporter):
    new, settings = EXPORTERS[exporter]
    settings = dict(settings)
    if new:
        export_new(net, x, path, **settings)
        return
    net = copy.deepcopy(net)
    mode = getattr(torch.onnx.TrainingMode, settings.pop("training"))
    net.train(mode == torch.onnx.TrainingMode.TRAINING)
    if NEW:
        settings["dynamo"] = False
    torch.onnx.export(net, (x,), path, training=mode, opset_version=14, input_names=["x"], output_names=["y"],
                      **settings)


def write_data(folder, name):
    x, y = data(name)
    whole = x if x.ndim == 4 else x[:, None] if x.shape[1] != 3 else x[:, :, None]
    for part, rows in (("train", slice(0, SAMPLES)), ("val", slice(SAMPLES, 2 * SAMPLES))):
        numpy.save(os.path.join(folder, "x_%s.npy" % part), whole[rows])
        if not name.startswith("unet"):
            numpy.save(os.path.join(folder, "y_%s.npy" % part), y[rows])
    return torch.from_numpy(x[:SAMPLES]), torch.from_numpy(y[:SAMPLES])


def tell(folder, exporter, said):
    with open(os.path.join(folder, exporter + ".json"), "w", encoding="utf-8") as file:
        json.dump(said, file)


def forward(path):
    """In evaluation, also where the file was exported to be trained."""
    import onnx
    import onnxruntime
    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            del node.output[1:]
            kept = [attribute for attribute in node.attribute if attribute.name != "training_mode"]
            del node.attribute[:]
            node.attribute.extend(kept)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    has = session.get_inputs()[0]
    x = numpy.load(os.path.join(os.path.dirname(path), "x_train.npy"))
    if len(has.shape) < 4:
        x = x.reshape([len(x)] + [size for size in x.shape[1:] if size != 1])
    elif has.shape[3] == x.shape[1]:
        x = x.transpose(0, 2, 3, 1)
    given = [session.run(None, {has.name: row[None]})[0] for row in x]  # the exported batch is one
    numpy.save(path[:-len("onnx")] + "npy", numpy.concatenate(given))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--forward", metavar="FILE")
    parser.add_argument("--no-losses", action="store_true", help="exports alone")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("network", nargs="?", choices=list(NETWORKS))
    parser.add_argument("exporters", nargs="*")
    options = parser.parse_args()
    if options.list:
        print(json.dumps({"networks": list(NETWORKS), "torch": torch.__version__,
                          "exporters": [name for name, (new, _) in EXPORTERS.items() if NEW or not new]}))
        return
    if options.forward:
        forward(options.forward)
        return
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.makedirs(options.folder, exist_ok=True)
    net, name = make(options.network), options.network
    x, y = write_data(options.folder, name)
    whole = fused = None
    for exporter in options.exporters:
        path = os.path.join(options.folder, exporter + ".onnx")
        try:
            export(net, x[:1], path, exporter)
        except Exception as problem:  # whatever an exporter raises
            tell(options.folder, exporter, {"failed": "%s: %s" % (type(problem).__name__, str(problem)[:300])})
            continue
        wanted = sum(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in net.modules())
        norms = norms_of(path)
        rate = NETWORKS[name][2]
        if options.no_losses:
            found = ([], [])
        elif norms == wanted:
            whole = whole or (losses(net, x, y, rate), losses(net, x, y, rate, torch.float64))
            found = whole
        else:
            fused = fused or (losses(folded(net), x, y, rate), losses(folded(net), x, y, rate, torch.float64))
            found = fused
        tell(options.folder, exporter, {
            "losses": found[0], "double": found[1], "rate": rate, "norms": norms, "folded": wanted - norms,
            "parameters": sum(value.numel() for value in net.parameters()),
            "sample": list(numpy.load(os.path.join(options.folder, "x_train.npy"), "r").shape[1:])})
        print(name, exporter, norms, "of", wanted, "batch norms", file=sys.stderr)


if __name__ == "__main__":
    main()
