# SPDX-License-Identifier: Apache-2.0
"""Devices of the lab in which shoal and its peers train one after the other: the same links, the same quotas.

    with fleet.Fleet(work, count=8, cpu=0.2, rate="100Mbit") as devices:
        ours = devices.train(options.shoal, "lenet mnist:DIR --batch-size 64 --steps 60")
        theirs = devices.run(lambda i, address: [python, "peer.py", "--rank", str(i), "--address", address])
    ours.rate(skip=10)                       # samples a second, first steps left out

What runs on a device has a network, a host name, a HOME and a share of the processors of its own (lab/member.py),
and stays on one core, as a share of one core has no two threads at work at a time.
"""

import json
import os
import re
import selectors
import signal
import statistics
import sys
import tempfile
import time

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [BENCH, os.path.join(BENCH, "elastic"), os.path.join(os.path.dirname(BENCH), "lab")]
import elastic
import labfile
import measure
import system
from groups import Groups
from janitor import Janitor, own_name
from member import Member
from network import SUBNET, Link, Network

PORT = 7700
TOKEN = re.compile(r"shoal://\S+")
need_lab = elastic.need_lab  # skips where the lab cannot run
BITS = {"Mbit": 1e6, "Gbit": 1e9}


def bits(rate):
    """Bits a second of "100Mbit"."""
    return float(rate[:-4]) * BITS[rate[-4:]]


class Training:
    """Steps as the clock of whoever trained saw them: (when it ended, samples so far, mean loss so far)."""

    def __init__(self, steps, summary=None):
        self.steps, self.summary = steps, summary

    def rate(self, skip):
        """Samples a second of all steps but the first."""
        (began, before, _), (ended, after, _) = self.steps[skip - 1], self.steps[-1]
        return (after - before) / (ended - began)

    def gaps(self, skip):
        """Seconds of each step but the first."""
        ends = [end for end, _, _ in self.steps[skip - 1:]]
        return [now - then for then, now in zip(ends, ends[1:])]

    def step_seconds(self, skip):
        return statistics.median(self.gaps(skip))

    def loss(self):
        """Mean over all samples."""
        return self.steps[-1][2]


class Fleet:
    def __init__(self, work, count, cpu, rate=None):
        self.count, self._cpu, self._rate = count, cpu, rate
        self._cores = sorted(os.sched_getaffinity(0))
        self._folder = tempfile.mkdtemp(dir=work)
        self._members, self.groups = [], []

    def __enter__(self):
        for name in [name for name in os.environ if measure.STEERING.match(name)]:
            del os.environ[name]  # as members inherit them
        name = own_name()
        self.network, self._groups = Network(name), Groups.found(name)
        self._janitor = Janitor(name, self._groups.folders())
        try:
            self._make()
        except BaseException:
            self._janitor.finish()
            raise
        return self

    def _make(self):
        self.names = names = ["d%d" % i for i in range(self.count)]
        link = Link(rate=bits(self._rate)) if self._rate else Link()
        self.network.make(names, {name: link for name in names})
        for name in names:
            group = self._groups.make(name)
            group.limit_cpu(self._cpu)
            device = labfile.Device(name)
            device.cpu, device.link = self._cpu, link
            self.groups.append(group)
            system.run("ip", "-n", self.network.namespace(name), "route", "replace", SUBNET + "0/24", "dev", "eth0",
                       "src", self.network.address(name), "congctl", "cubic")  # as Linux comes
            self._members.append(Member(device, self.network.namespace(name), group, self._folder))

    def __exit__(self, *_):
        for member in self._members:
            if member.is_running():
                member.kill("benchmark")
                member.ended(time.monotonic())
        self._janitor.finish()

    def at_home(self, index, argv):
        """The command on the one core that the device has: a share of it, not shares of several at a time."""
        return ["taskset", "--cpu-list", str(self._cores[index % len(self._cores)]), *argv]

    def _start(self, index, argv, **streams):
        self._members[index].start(self.at_home(index, argv), time.monotonic(), **streams)

    @property
    def hosts(self):
        return [self.network.address(name) for name in self.names]

    def address(self, index):
        return self.network.address(self.names[index])

    def run(self, argv_of, limit=110):
        """Runs argv_of(index, address of device 0) on each device; what each has printed, as JSON."""
        pipes = [os.pipe() for _ in self._members]
        for i, (_, end) in enumerate(pipes):
            self._start(i, argv_of(i, self.address(0)), out=end)
            os.close(end)
        deadline = time.monotonic() + limit
        said = self._listen([out for out, _ in pipes], deadline)
        self._collect(deadline)
        return [json.loads(each) for each in said]

    @staticmethod
    def _listen(outs, deadline):
        said = {out: b"" for out in outs}
        with selectors.DefaultSelector() as select:
            for out in outs:
                select.register(out, selectors.EVENT_READ)
            while select.get_map() and time.monotonic() < deadline:
                for key, _ in select.select(deadline - time.monotonic()):
                    data = os.read(key.fd, 1 << 16)
                    said[key.fd] += data
                    if not data:
                        select.unregister(key.fd)
        for out in outs:
            os.close(out)
        return [said[out].decode() for out in outs]

    def _collect(self, deadline):
        """Waits for the end of all, and fails where one has not ended well."""
        for member in self._members:
            if not member.is_running():
                continue
            with selectors.DefaultSelector() as select:
                select.register(member.pidfd, selectors.EVENT_READ)
                if not select.select(max(deadline - time.monotonic(), 0)):
                    member.kill("benchmark")
            status = member.ended(time.monotonic())
            if status != 0:
                raise measure.Failure("%s ended with %d: %s" % (
                    member.name, status, signal.Signals(-status).name if status < 0 else member.last_words()))

    def train(self, shoal, job, limit=110):
        """Trains on all devices, alone where there is one; a Training by device 0's events."""
        folder = tempfile.mkdtemp(dir=self._folder)
        together = ["--listen", "%s:%d" % (self.address(0), PORT), "--min-devices", str(self.count)]
        out, end = os.pipe()
        self._start(0, train_command(shoal, job, folder) + (together if self.count > 1 else []), out=end)
        os.close(end)
        token = TOKEN.search(os.read(out, 4096).decode()) if self.count > 1 else None
        for i in range(1, self.count) if token else []:
            self._start(i, [shoal, "join", "-", "--lanes", "1"], given=token.group() + "\n")
        self._collect(time.monotonic() + limit)
        os.close(out)
        return training_of(folder)

    def train_apart(self, shoal, job, limit=110):
        """The same job on each device by itself, all at a time; the Training of each."""
        folders = [tempfile.mkdtemp(dir=self._folder) for _ in self._members]
        for i, folder in enumerate(folders):
            self._start(i, train_command(shoal, job, folder))
        self._collect(time.monotonic() + limit)
        return [training_of(folder) for folder in folders]


def train_command(shoal, job, folder):
    return [shoal, "train", *job.split(), "--lanes", "1", "--quiet", "--run", os.path.join(folder, "run"), "--events",
            os.path.join(folder, "events"), "--json", os.path.join(folder, "summary.json")]


def training_of(folder):
    with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
        return Training(list(steps_of(os.path.join(folder, "events"))), json.load(file))


def steps_of(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            if event["event"] == "step":
                yield event["at"], event["samples"], event["loss"]
