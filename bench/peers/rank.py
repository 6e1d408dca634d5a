# SPDX-License-Identifier: Apache-2.0
"""What ranks of all peers share: samples as arrays, and what a rank takes of its device while it trains.

    images, labels = rank.mnist(options.data, count)         # this rank's part of each batch
    watch = rank.Watch()
    ...
    print(json.dumps({"ends": ends, "losses": losses, "version": ..., **watch.taken()}), flush=True)

Bytes are those of the device's own network namespace, so of all that the rank sends and receives.
"""

import gzip
import os
import resource
import time

MEAN, DEVIATION = 0.1307, 0.3081  # of MNIST


def _idx(path, header, count, size):
    import numpy
    opener = open if os.path.exists(path) else gzip.open
    with opener(path if opener is open else path + ".gz", "rb") as file:
        return numpy.frombuffer(file.read(header + count * size)[header:], numpy.uint8)


def mnist(folder, count, options):
    """Normalised pictures of 28 x 28, and labels: of `count` samples those that are this rank's, batch by batch."""
    import numpy
    images = _idx(os.path.join(folder, "train-images-idx3-ubyte"), 16, count, 784).reshape(-1, 28, 28)
    labels = _idx(os.path.join(folder, "train-labels-idx1-ubyte"), 8, count, 1)
    if len(labels) < count:
        raise SystemExit("%s has no %d samples" % (folder, count))
    order = numpy.random.RandomState(1).permutation(count).reshape(options.steps, options.devices, -1)[:, options.rank]
    order = order.reshape(-1)
    return (images[order].astype(numpy.float32) / 255 - MEAN) / DEVIATION, labels[order].astype(numpy.int32)


def add_options(parser):
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True, help="folder of MNIST")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--addresses", nargs="+", help="of all ranks, then of a server where there is one")
    parser.add_argument("--batch-size", type=int, default=64, help="of all ranks together")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--lr", type=float, default=0.02)


def _wire():
    """Bytes that came in and went out, over all links but the loopback."""
    received = sent = 0
    with open("/proc/self/net/dev", encoding="ascii") as file:
        for line in list(file)[2:]:
            name, figures = line.split(":")
            if name.strip() != "lo":
                figures = figures.split()
                received, sent = received + int(figures[0]), sent + int(figures[8])
    return received, sent


class Watch:
    """From its making on: time, processor time of this process, bytes."""

    def __init__(self):
        self._began, self._cpu, self._wire = time.perf_counter(), time.process_time(), _wire()

    def taken(self):
        received, sent = _wire()
        return {"began": self._began, "seconds": time.perf_counter() - self._began,
                "cpu_seconds": time.process_time() - self._cpu, "bytes_received": received - self._wire[0],
                "bytes_sent": sent - self._wire[1],
                "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
