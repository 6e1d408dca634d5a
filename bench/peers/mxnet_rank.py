# SPDX-License-Identifier: Apache-2.0
"""The peer: a worker of MXNet's parameter server, or the server itself. Prints one JSON object; times by its own clock.

    mxnet_rank.py --rank 0 --devices 2 --addresses 10.214.0.1 10.214.0.2 10.214.0.3 --model lenet --data DIR --mode dist_sync

The last address is the server's, which has a device of its own, as the first study's master has; it runs where the
rank is the number of devices. The optimiser (SGD with momentum) is the server's, as MXNet has it by default. Samples
are in memory and the kernels are warm before the clock starts.
"""

import argparse
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rank


def environment(options, role):
    server = options.addresses[-1]
    return {**os.environ, "DMLC_ROLE": role, "DMLC_PS_ROOT_URI": server, "DMLC_PS_ROOT_PORT": "29700",
            "DMLC_NUM_SERVER": "1", "DMLC_NUM_WORKER": str(options.devices), "DMLC_NODE_HOST": options.addresses[options.rank],
            "DMLC_INTERFACE": "eth0", "OMP_NUM_THREADS": "1", "MXNET_KVSTORE_USETREE": "0"}


def serve(options):
    """The scheduler and the server, which end with the last worker."""
    roles = [subprocess.Popen([sys.executable, "-c", "import mxnet"], env=environment(options, role))
             for role in ("scheduler", "server")]
    for each in roles:
        each.wait()
    print("{}", flush=True)


def network(mx, name):
    from mxnet.gluon import nn
    net = nn.HybridSequential()
    if name == "lenet":
        for channels in (20, 50):
            net.add(nn.Conv2D(channels, 5), nn.MaxPool2D(2), nn.Activation("relu"))
        net.add(nn.Flatten(), nn.Dense(500, activation="relu"), nn.Dense(10))
        return net
    sizes = [int(size) for size in name.split(":")[1].split("-")]
    net.add(nn.Flatten())
    for size in sizes[1:-1]:
        net.add(nn.Dense(size, activation="relu"))
    net.add(nn.Dense(sizes[-1]))
    return net


def train(options):
    if options.devices > 1:
        os.environ.update(environment(options, "worker"))
    import mxnet as mx
    from mxnet import autograd, gluon
    mx.random.seed(1)
    net = network(mx, options.model)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    images, labels = rank.mnist(options.data, options.batch_size * options.steps, options)
    images = mx.nd.array(images[:, None])
    labels = mx.nd.array(labels)
    lost = gluon.loss.SoftmaxCrossEntropyLoss()
    size = options.batch_size // options.devices
    # dist_async applies each worker's gradient by itself, so it is the mean over that worker's samples. The server's
    # optimiser has the factor from its beginning on.
    divisor = size if options.mode == "dist_async" else options.batch_size
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": options.lr, "momentum": 0.9,
                                                          "rescale_grad": 1 / divisor},
                            kvstore=options.mode if options.devices > 1 else "local")

    def gradients(first):
        with autograd.record():
            loss = lost(net(images[first:first + size]), labels[first:first + size])
        loss.backward()
        return loss.mean()

    for _ in range(3):
        gradients(0).asscalar()
    trainer._init_kvstore()  # joins the others
    trainer._init_params()
    mx.nd.waitall()
    ends, losses = [], []
    watch = rank.Watch()
    for first in range(0, options.steps * size, size):
        loss = gradients(first)
        trainer.step(1)
        losses.append(float(loss.asscalar()))
        mx.nd.waitall()
        ends.append(time.perf_counter())
    print(json.dumps({"ends": ends, "losses": losses, "version": mx.__version__, **watch.taken()}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    rank.add_options(parser)
    parser.add_argument("--mode", choices=("dist_sync", "dist_async", "local"), default="dist_sync")
    options = parser.parse_args()
    if options.rank == options.devices:
        serve(options)
    else:
        train(options)


if __name__ == "__main__":
    main()
