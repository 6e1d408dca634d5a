# SPDX-License-Identifier: Apache-2.0
"""The peer: one rank of PyTorch's DistributedDataParallel on Gloo. Prints one JSON object; times by its own clock.

    GLOO_SOCKET_IFNAME=eth0 pytorch_ddp.py --rank 0 --devices 8 --address 10.214.0.1 --model lenet --data DIR

Everything that can be is done before the clock starts: this rank's samples are normalised, shuffled tensors in
memory, the kernels are warm, the buckets are rebuilt in the order of backward. Alone it trains without DDP.
"""

import argparse
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [BENCH, os.path.join(BENCH, "peers")]
import pytorch_train
import rank


class Rank(pytorch_train.Trainer):
    def __init__(self, options):
        super().__init__(options)
        if options.devices > 1:
            dist.init_process_group("gloo", init_method="tcp://%s:29500" % options.address, rank=options.rank,
                                    world_size=options.devices)
            self.forward = DistributedDataParallel(self.network, bucket_cap_mb=options.bucket_mb, static_graph=True,
                                                   gradient_as_bucket_view=True, broadcast_buffers=False)
            if options.half:
                self.forward.register_comm_hook(None, default_hooks.fp16_compress_hook)

    def samples(self):
        """This rank's part of each batch, one after the other."""
        options = self.options
        count = options.batch_size * options.steps
        images, labels = self.read(options.data, count)
        if len(labels) < count:
            raise SystemExit("%s has no %d samples" % (options.data, count))
        order = torch.randperm(count, generator=torch.Generator().manual_seed(1))
        order = order.view(options.steps, options.devices, -1)[:, options.rank].flatten()
        return images[order], labels[order]

    def train(self):
        options = self.options
        images, labels = self.samples()
        size = options.batch_size // options.devices
        self.warm_up(images[:size], labels[:size])
        images = self.prepared(images)
        ends, losses = [], []
        watch = rank.Watch()
        for first in range(0, len(labels), size):
            losses.append(self.step(images[first:first + size], labels[first:first + size]))
            ends.append(time.perf_counter())
        return {"ends": ends, "losses": torch.stack(losses).tolist(), "version": torch.__version__,
                **watch.taken()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", choices=pytorch_train.MODELS, required=True)
    parser.add_argument("--data", required=True, help="folder of MNIST, CIFAR-10 or CIFAR-100")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--address", help="of rank 0")
    parser.add_argument("--batch-size", type=int, default=64, help="of all ranks together")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--warm-up", type=int, default=3, help="steps before the clock starts")
    parser.add_argument("--bucket-mb", type=float, default=25)
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--half", action="store_true", help="gradients travel as 16-bit floats")
    parser.set_defaults(foreach=True, jit=False)
    options = parser.parse_args()
    torch.set_num_threads(1)
    report = Rank(options).train()
    if options.devices > 1:
        dist.barrier()
    print(json.dumps(report), flush=True)
    os._exit(0)  # Gloo's threads are not waited for


if __name__ == "__main__":
    main()
