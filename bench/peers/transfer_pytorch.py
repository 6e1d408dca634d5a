# SPDX-License-Identifier: Apache-2.0
"""The second study's network in PyTorch: its files, and one rank of DistributedDataParallel on Gloo.

    transfer_pytorch.py --make imagenet.onnx --weights mobilenet_v2_imagenet.safetensors   also writes imagenet.npz
    transfer_pytorch.py --make none.onnx
    GLOO_SOCKET_IFNAME=eth0 transfer_pytorch.py --rank 0 --devices 2 --addresses A B --model imagenet.npz --data DIR

MobileNetV2, global average pooling, dense 512 with ReLU, dropout 0.3, dense 10. The file takes images from 0 to 1. With
--freeze the head alone is trained, and the backbone is evaluated: its batch norms use their stored statistics.
"""

import argparse
import json
import os
import sys
import warnings

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [BENCH, os.path.join(BENCH, "peers")]
import pytorch_train
import transfer

CLASSES = 10


class Transfer(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.features = pytorch_train.MobileNetV2(CLASSES).features
        self.classifier = nn.Sequential(nn.Linear(1280, 512), nn.ReLU(), nn.Dropout(0.3), nn.Linear(512, CLASSES))
        self.frozen = False

    def freeze(self):
        self.frozen = True
        self.features.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.features.train(mode and not self.frozen)
        return self

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class FromBytes(nn.Module):
    """Takes images from 0 to 1; the network's own are from -1 to 1."""

    def __init__(self, network):
        super().__init__()
        self.features, self.classifier = network.features, network.classifier
        self.register_buffer("middle", torch.full((1, 3, 1, 1), 0.5))

    def forward(self, x):
        return self.classifier(self.features((x - self.middle) / self.middle).mean((2, 3)))


def read_safetensors(path):
    """Tensors of float32 by name."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        content = file.read()
    header.pop("__metadata__", None)
    return {name: torch.from_numpy(numpy.frombuffer(content[slice(*about["data_offsets"])], "<f4").reshape(
        about["shape"]).copy()) for name, about in header.items()}


def make(path, weights):
    network = Transfer()
    if weights:
        given = {name: value for name, value in read_safetensors(weights).items() if name.startswith(transfer.FEATURES)}
        missing, unexpected = network.load_state_dict(given, strict=False)
        left = [name for name in missing if name.startswith(transfer.FEATURES) and not name.endswith("tracked")]
        if left or unexpected:
            raise SystemExit("%s does not fit: %s" % (weights, left + unexpected))
    numpy.savez(os.path.splitext(path)[0] + ".npz", **{name: value.numpy() for name, value in network.state_dict().items()
                                                       if not name.endswith("tracked")})
    warnings.simplefilter("ignore")
    torch.onnx.export(FromBytes(network), (torch.zeros(2, 3, 64, 64),), path, dynamo=False, opset_version=14,
                      do_constant_folding=False, training=torch.onnx.TrainingMode.TRAINING, input_names=["input"],
                      output_names=["output"])


class Rank:
    version = torch.__version__

    def __init__(self, options):
        self.network = Transfer()
        start = {name: torch.from_numpy(value) for name, value in numpy.load(options.model).items()}
        self.network.load_state_dict(start, strict=False)
        if options.freeze:
            self.network.freeze()
        self.network.to(memory_format=torch.channels_last).train()
        self.forward = self.network
        if options.devices > 1:
            dist.init_process_group("gloo", init_method="tcp://%s:29500" % options.addresses[0], rank=options.rank,
                                    world_size=options.devices)
            self.forward = DistributedDataParallel(self.network, static_graph=True, gradient_as_bucket_view=True,
                                                   broadcast_buffers=False)
        trained = [each for each in self.network.parameters() if each.requires_grad]
        self.optimizer = torch.optim.SGD(trained, lr=options.lr, momentum=0.9, foreach=True)

    @staticmethod
    def tensors(images, labels):
        return (torch.from_numpy(images).contiguous(memory_format=torch.channels_last),
                torch.from_numpy(labels).long())

    def step(self, images, labels, rate):
        images, labels = self.tensors(images, labels)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = functional.cross_entropy(self.forward(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def keep(self):
        self.kept = {name: value.clone() for name, value in self.network.state_dict().items()}

    def restore(self):
        self.network.load_state_dict(self.kept)
        self.optimizer.state.clear()

    def validate(self, images, labels):
        images, labels = self.tensors(images, labels)
        self.network.eval()
        with torch.no_grad():
            given = torch.cat([self.network(part) for part in images.split(100)])
        self.network.train()
        return float(functional.cross_entropy(given, labels)), float((given.argmax(1) == labels).float().mean())


def main():
    if "--make" in sys.argv:
        parser = argparse.ArgumentParser()
        parser.add_argument("--make", required=True)
        parser.add_argument("--weights")
        options = parser.parse_args()
        make(options.make, options.weights)
        return
    options = transfer.options_of(argparse.ArgumentParser(description=__doc__.split("\n\n")[0]))
    torch.set_num_threads(1)
    transfer.course(options, transfer.Data(options), Rank(options))
    if options.devices > 1:
        dist.barrier()
    os._exit(0)  # Gloo's threads are not waited for


if __name__ == "__main__":
    main()
