# SPDX-License-Identifier: Apache-2.0
"""All-reduce by shoal's engines, encrypted, against the wire's limit and against Gloo, unencrypted.

Each device has a network namespace, a link and a share of the processors of its own (lab/), and runs a process of each
side; the sides take turns. A round begins at one moment of the clock that all share and ends when the last device
has the sum. The limit is 2 (N - 1) / N of the bytes at the link's rate: no algorithm sends less from each device. TCP
has 94 % of Ethernet's bits for its own, so the best efficiency is 94 %, and `of TCP` is the share of that.
Every word of every sum is checked.
"""

import os
import select
import signal
import statistics
import subprocess
import sys
import time

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [BENCH, os.path.join(os.path.dirname(BENCH), "lab")]
import measure
import system
from groups import Groups
from janitor import Janitor, own_name
from network import NETNS, SUBNET, Link, Network

PAYLOAD = 1448 / 1538  # of Ethernet's wire that TCP has for its own bytes
LEAD = 0.05  # seconds between the order and the round
PATIENCE = 60
PORT = 7710  # of the first side
SETTINGS = {"100Mbit": (100e6, None), "1Gbit": (1e9, 0.25)}  # rate, cores of a device
SIZES = [1_720_000, 11_860_000]
SPAN_BYTES = 256 * 1024  # as training has them (src/train/replica.c)
WIRES = {"ring": 32, "ring/16": 16, "ring/8": 8, "servers": 32}


class Place:
    """N devices on one network, each with a link and a share of the processors."""

    def __init__(self, count, rate, cpu, congestion):
        self.names = ["d%d" % rank for rank in range(count)]
        name = own_name()
        self._groups, self.network = Groups.found(name), Network(name)
        self._janitor = Janitor(name, self._groups.folders())
        self.network.make(self.names, {each: Link(rate=rate) for each in self.names})
        self.hosts = [self.network.address(each) for each in self.names]
        self.groups = [self._groups.make(each) for each in self.names]
        for device, group in zip(self.names, self.groups):
            if cpu is not None:
                group.limit_cpu(cpu)
            if congestion:
                system.run("ip", "-n", self.network.namespace(device), "route", "replace", SUBNET + "0/24", "dev", "eth0",
                           "proto", "kernel", "scope", "link", "src", self.network.address(device), "congctl", congestion)

    def close(self):
        self._janitor.finish()


class Side:
    """A process on each device, which make one all-reduce after the other."""

    def __init__(self, name, place, command):
        self.name, self._children = name, []
        for rank, device in enumerate(place.names):
            self._children.append(self._start(place.network.namespace(device), command(rank, place.hosts)))
        self._hear("listening", PATIENCE)
        self._tell("link")
        self._hear("linked", PATIENCE)
        for child, group in zip(self._children, place.groups):
            group.enter(child.pid)

    @staticmethod
    def _start(namespace, argv):
        parent = os.getpid()

        def settle():
            system.die_with(parent, signal.SIGKILL)
            system.enter(NETNS + namespace)

        return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                                env=measure.environment(), preexec_fn=settle)

    def _tell(self, line):
        for child in self._children:
            child.stdin.write(line.encode() + b"\n")

    def _hear(self, word, patience):
        """The rest of the line of each device."""
        said, deadline = [], time.monotonic() + patience
        for rank, child in enumerate(self._children):
            line = b""
            while not line.endswith(b"\n"):
                if not select.select([child.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                    raise measure.Failure("%s: rank %d is silent where it should say '%s'" % (self.name, rank, word))
                more = child.stdout.read(1)
                if not more:
                    raise measure.Failure("%s: rank %d has ended; it should say '%s'" % (self.name, rank, word))
                line += more
            fields = line.decode().split()
            if fields[:1] == [word]:
                said.append([int(each) for each in fields[1:]])
        return said

    def round(self):
        """Seconds until the last device has the sum, processor seconds of a device, bytes that one has sent."""
        begin = time.monotonic_ns() + int(LEAD * 1e9)
        self._tell("round %d" % begin)
        said = self._hear("done", PATIENCE)
        return {"seconds": (max(end for end, _, _ in said) - begin) / 1e9,
                "cpu_seconds": statistics.mean(used for _, used, _ in said) / 1e9,
                "sent_bytes": statistics.mean(sent for _, _, sent in said)}

    def close(self):
        for child in self._children:
            child.stdin.close()
        for child in self._children:
            child.wait(PATIENCE)


def command_of(side, options, size):
    """argv of a rank, from its number and the hosts."""
    words, port = size // 4, str(PORT + options.sides.index(side))
    if side == "gloo":
        return lambda rank, hosts: [options.torch_python, "-B", os.path.join(BENCH, "all_reduce_gloo.py"), str(words),
                                    port, str(rank), "eth0", *hosts]
    engine, bits = side.split("/")[0], WIRES.get(side, 32)
    program = options.base if side == "base" else os.path.join(options.build, "bench", "bench_all_reduce")
    engine = "ring" if side == "base" else engine
    return lambda rank, hosts: [program, engine, str(bits), str(words), str(options.span * 8 // bits), port,
                                str(rank), *hosts]


def turns(options, place, size):
    """Rounds of each side, in turns: side -> rounds."""
    sides = [Side(name, place, command_of(name, options, size)) for name in options.sides]
    try:
        for side in sides:
            for _ in range(options.warm_up):
                side.round()
        found = {side.name: [] for side in sides}
        for _ in range(options.turns):
            for side in sides:
                found[side.name].append(side.round())
        return found
    finally:
        for side in sides:
            side.close()


def medians(rounds):
    return {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}


def row_of(result, what, rounds, limit, gloo=None, of_tcp=None):
    """Efficiency and processor time; the claim is Gloo's efficiency, or a share of what TCP carries."""
    seconds, median = [each["seconds"] for each in rounds], medians(rounds)
    efficiency = limit / median["seconds"]
    text = "%.1f %% (%.1f to %.1f), %.1f of TCP, %.1f ms CPU" % (
        100 * efficiency, 100 * limit / max(seconds), 100 * limit / min(seconds), 100 * efficiency / PAYLOAD,
        1000 * median["cpu_seconds"])
    peer, ratio, target, met = "", "", "", None
    if gloo is not None:
        theirs = medians(gloo)
        peer = "%.1f %%, %.1f ms CPU" % (100 * limit / theirs["seconds"], 1000 * theirs["cpu_seconds"])
        ratio = measure.ratio_text([b["seconds"] / a["seconds"] for a, b in zip(rounds, gloo)])
        target, met = "Gloo's", median["seconds"] <= theirs["seconds"]
    if of_tcp is not None:
        target, met = "%.0f %% of TCP" % (100 * of_tcp), efficiency / PAYLOAD >= of_tcp
    result.row(what, text, peer, ratio, target, met)


def narrow_row(result, what, rounds, wide):
    share = medians(rounds)["sent_bytes"] / medians(wide)["sent_bytes"]
    most = {16: 0.51, 8: 0.27}[WIRES[what.split(", ")[-1]]]
    result.row(what + ", bytes", "%.4f of 32 bits'" % share, target="%.2f" % most, met=share <= most)


def rows(result, what, found, size, count, setting):
    rate = SETTINGS[setting][0]
    for side, rounds in found.items():
        bits = WIRES.get(side, 32)
        limit = 2 * (count - 1) / count * size * bits / 32 * 8 / rate
        if side == "ring":
            row_of(result, what + ", ring", rounds, limit, found.get("gloo"), 0.95 if setting == "100Mbit" else None)
        elif side != "gloo":
            row_of(result, "%s, %s" % (what, side), rounds, limit)
        if bits < 32 and "ring" in found:
            narrow_row(result, "%s, %s" % (what, side), rounds, found["ring"])


def benchmark(options, result):
    if "gloo" in options.sides:
        measure.need_torch(options)
    try:
        system.need_root()
    except system.Trouble as trouble:
        raise measure.Skip(str(trouble)) from None
    for setting in options.links:
        for count in options.devices:
            place = Place(count, *SETTINGS[setting], options.congestion)
            try:
                for size in options.sizes:
                    found = turns(options, place, size)
                    what = "%s, %d devices, %.2f MB" % (setting, count, size / 1e6)
                    result.details[what] = found
                    rows(result, what, found, size, count, setting)
            finally:
                place.close()


def add_options(parser):
    parser.add_argument("--turns", type=int, default=7, help="rounds of each side (7)")
    parser.add_argument("--warm-up", type=int, default=2, help="rounds before them (2)")
    parser.add_argument("--devices", type=int, nargs="+", default=[2, 4, 8], help="how many (2 4 8)")
    parser.add_argument("--links", nargs="+", choices=SETTINGS, default=list(SETTINGS), help="which settings (all)")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="bytes at 32 bits (%(default)s)")
    parser.add_argument("--sides", nargs="+", default=[*WIRES, "gloo"], help="who takes part (all)")
    parser.add_argument("--span", type=int, default=SPAN_BYTES, help="bytes of a span (262144)")
    parser.add_argument("--base", help="another build's bench_all_reduce: the side `base`")
    parser.add_argument("--congestion", default="cubic", help="TCP's congestion control, '' as it is (cubic)")


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
