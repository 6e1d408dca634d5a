# SPDX-License-Identifier: Apache-2.0
"""How long a job stands still when a device hangs: each fault several times, the longest time without a step.

Four devices in network namespaces train; one of them, or one of their links, gets a fault of real processes, sockets
and files. Each time the job has to go on within ten seconds, or ten usual steps where that is longer, to the weights of
one device. Needs root, and python3-fuse (Debian) for the disk that hangs.

A thread is stopped as a debugger does. A link is led over a second cable that carries one byte a second. A disk is a
FUSE file system that stops answering. Bits flip in the replica, or in what a donor gives of it (src/train/bit_flip.h). A source
of data stops while it gives them to a device that has none, over a link of 400 Mbit/s.
"""

import collections
import glob
import os
import re
import statistics
import subprocess
import sys
import time

import measure

sys.path.insert(0, os.path.join(measure.ROOT, "test", "e2e"))
import harness  # noqa: E402
import threads  # noqa: E402

BOUND_S, STEPS = 10, 10
JOB = ("lenet", "--batch-size", "64", "--grain", "4", "--lanes", "1", "--epochs", "1000000")
DIGITS = "digits:640/64"
DEVICES = 4
FUSE_PYTHON = "/usr/bin/python3"

# Files of one folder, read only, until there is a file `hang` in another.
DISK = r"""
import os, sys, time, fuse
fuse.fuse_python_api = (0, 2)
SOURCE, HANG = sys.argv[1], sys.argv[2]
class Disk(fuse.Fuse):
    def getattr(self, path):
        return os.lstat(SOURCE + path)
    def readdir(self, path, offset):
        return (fuse.Direntry(name) for name in [".", ".."] + os.listdir(SOURCE + path))
    def open(self, path, flags):
        return 0
    def read(self, path, size, offset):
        while os.path.exists(HANG):
            time.sleep(0.1)
        with open(SOURCE + path, "rb") as file:
            file.seek(offset)
            return file.read(size)
disk = Disk()
disk.parse(["disk", sys.argv[3], "-f", "-o", "ro,direct_io,allow_other"])
disk.main()
"""


class Job(harness.Case):
    """One job with its devices; a test case for its files and processes alone."""

    def runTest(self):
        pass

    def begin(self, data=DIGITS, joiners_data=None, flip=None, late=False, folder="."):
        """Starts the job. `joiners_data`: where d1 finds its data. `late`: d3 is started by the fault. `folder`: where the
        others work, who find relative paths there."""
        self.net = self.namespaces(DEVICES)
        self.env = {"SHOAL_TEST_FLIP": flip} if flip else {}
        self.run_folder = self.path("run")
        self.coordinator = self.start(argv=self.net.argv(
            0, "env", "-C", folder, harness.SHOAL, "train", JOB[0], data, *JOB[1:], "--listen",
            self.net.addresses[0] + ":7700", "--run", self.run_folder, "--json", self.path("summary.json"), "--events",
            self.path("steps"), "--quiet"),
            env=self.env)
        self.events = harness.Events(self.run_folder, new=True)
        self.token = harness.Token(self.coordinator.wait_for_token(60))
        self.joiners = []
        for i in range(1, DEVICES - late):
            self.join(i, folder, *(("--data", joiners_data) if joiners_data and i == 1 else ()))
        for i in range(1, DEVICES - late):
            self.events.find(r'device\.joined .*text="device d%d joined with ' % i, 60)

    def join(self, i, folder, *more):
        self.joiners.append(self.start(argv=self.net.argv(
            i, "env", "-C", folder, harness.SHOAL, "join", self.token.text, "--name", "d%d" % i, "--lanes", "1", "--quiet",
            *more), env={**self.env, "XDG_CACHE_HOME": self.path("cache%d" % i)}))

    def has_joined(self, i):
        return any('text="device d%d joined with ' % i in line for line in self.events.lines())

    def joiner_of(self, number):
        """Which of the joiners has this number in the job, which is its place in the ring too."""
        for line in self.events.lines():
            hit = re.search(r'device\.welcomed device=%d name="d(\d)"' % number, line)
            if hit:
                return int(hit.group(1)) - 1
        raise measure.Failure("no device has number %d" % number)

    def place_of(self, number):
        """The place of its namespace."""
        return self.joiner_of(number) + 1

    def process_of(self, joiner):
        """`ip netns exec` becomes the program."""
        return self.joiners[joiner].child.pid

    def count(self):
        with open(self.path("steps"), "rb") as file:
            return len(re.findall(rb'"event": ?"step"', file.read()))

    def watch(self, steps, joins=None, patience=90):
        """Until so many more steps are done, and this device has joined: the times between two steps, as they are seen."""
        pauses, last, done = [], time.monotonic(), self.count()
        goal = done + steps
        while done < goal or (joins and not self.has_joined(joins)):
            time.sleep(0.005)
            now, seen = time.monotonic(), self.count()
            if seen > done:
                pauses.append((now - last) / (seen - done))
                last, done = now, seen
            elif now - last > patience:
                return [now - last]
        return pauses

    def said(self):
        words = []
        for line in self.events.lines():
            hit = re.search(r'device\.(waited|lost|repaired) .*text="([^"]*)"', line)
            if hit:
                words.append("%s: %s" % hit.groups())
        return words

    def finish(self):
        self.coordinator.signal(2)
        self.coordinator.wait(60)
        return self.summary(self.path("summary.json"))


# ---- faults: each is brought about in a running job and returns what undoes it --------------------------------


def loop_of(pid):
    """The thread that waits for sockets and timers."""
    for _ in range(1000):
        for thread in threads.others(pid):
            with open("/proc/%d/task/%d/syscall" % (pid, thread), encoding="ascii") as file:
                if file.read().split()[0] in ("232", "281", "441"):  # epoll_wait and its kin on x86-64
                    return thread
        time.sleep(0.002)
    raise measure.Failure("no thread of process %d waits for sockets" % pid)


def stop_thread(job, joiner=0, which=None):
    pid = job.process_of(joiner)
    return threads.stopped(pid, loop_of(pid) if which == "loop" else pid).release


def hardware_address(namespace):
    shown = subprocess.run(["ip", "-n", namespace, "link", "show", "eth0"], check=True, capture_output=True, text=True)
    return re.search(r"link/ether (\S+)", shown.stdout).group(1)


def trickle(job, first=1):
    """From a device to the next one in the ring by a second cable that carries a byte a second."""
    here, there = job.place_of(first), job.place_of(first + 1)
    name, hub = job.net.names[here + 1], job.net.hub
    for command in (["ip", "-n", name, "link", "add", "eth1", "type", "veth", "peer", "name", "slow%d" % here, "netns", hub],
                    ["ip", "-n", name, "link", "set", "eth1", "arp", "off", "up"],
                    ["ip", "-n", hub, "link", "set", "slow%d" % here, "master", "bridge"],
                    ["ip", "-n", hub, "link", "set", "slow%d" % here, "up"],
                    ["tc", "-n", name, "qdisc", "replace", "dev", "eth1", "root", "tbf", "rate", "8bit", "burst", "1600",
                     "limit", "30000"],
                    ["ip", "-n", name, "neighbour", "add", job.net.addresses[there], "lladdr",
                     hardware_address(job.net.names[there + 1]), "dev", "eth1"],
                    ["ip", "-n", name, "route", "add", job.net.addresses[there], "dev", "eth1", "src",
                     job.net.addresses[here]]):
        subprocess.run(command, check=True)
    return lambda: None


def come(job):
    """d3 joins, and takes the replica from d1 too."""
    job.join(3, ".")
    return lambda: None


def stop_source(job):
    """d3 joins without data, and who gives it a part of them stops."""
    subprocess.run(["tc", "-n", job.net.hub, "qdisc", "add", "dev", "port3", "root", "tbf", "rate", "400mbit", "burst", "64kb",
                    "limit", "200kb"], check=True)
    os.makedirs(job.path("empty"), exist_ok=True)
    job.join(3, job.path("empty"))
    deadline = time.monotonic() + 60
    while not sum(map(os.path.getsize, glob.glob(job.path("cache3", "shoal", "mirrors", "*", "*")))):
        if time.monotonic() > deadline:
            raise measure.Failure("d3 fetches no data")
        time.sleep(0.01)
    return stop_thread(job, 0, "loop")


Fault = collections.namedtuple("Fault", "name begin bring")
FAULTS = [
    Fault("compute thread stopped", {}, lambda job: [stop_thread(job)]),
    Fault("loop stopped", {}, lambda job: [stop_thread(job, 0, "loop")]),
    Fault("link at 1 byte a second", {}, lambda job: [trickle(job)]),
    Fault("a bit flips", {"flip": "d1@40"}, lambda job: []),
    Fault("stuck bit", {"flip": "d1@40+"}, lambda job: []),
    Fault("donor flips a bit", {"flip": "d1@gift", "late": True}, lambda job: [come(job)]),
    Fault("disk hangs", {"disk": True}, lambda job: [job.hang()]),
    Fault("data source hangs", {"source": True, "late": True}, lambda job: [stop_source(job)]),
    Fault("two compute threads at once", {}, lambda job: [stop_thread(job, 0), stop_thread(job, 1)]),
    Fault("compute thread and link at once", {}, lambda job: [stop_thread(job, job.joiner_of(3)), trickle(job)]),
]


def mount_disk(job, source):
    """A copy of the data on a disk that can hang."""
    mount, hang = job.path("disk"), job.path("hang")
    os.makedirs(mount)
    job.start(argv=[FUSE_PYTHON, "-c", DISK, source, hang, mount])
    job.addCleanup(subprocess.run, ["umount", "-l", mount], check=False)
    deadline = time.monotonic() + 20
    while not os.listdir(mount) and time.monotonic() < deadline:
        time.sleep(0.05)

    def bring():
        with open(hang, "w", encoding="ascii"):
            pass
        return lambda: os.unlink(hang)

    job.hang = bring
    return mount


def one_turn(fault, known, folder):
    """(longest pause, usual step, what was said, whether the weights are right)"""
    job = Job()
    job.setUp()
    try:
        begin = dict(fault.begin)
        data = DIGITS
        if begin.pop("disk", False):
            source = os.path.join(folder, "cifar10")
            data = "cifar10:" + source
            begin["joiners_data"] = "cifar10:" + mount_disk(job, source)
        if begin.pop("source", False):
            begin["folder"], data = folder, "cifar10:cifar10"
        job.begin(data, **begin)
        usual = statistics.median(job.watch(20))
        undo = fault.bring(job)
        longest = max(job.watch(max(60, int(2 / usual)), joins=3 if fault.begin.get("late") else None))
        if os.environ.get("HANGS_SHOW"):
            print("\n".join(job.events.lines()))
        for each in undo:
            each()
        summary = job.finish()
        steps = summary["steps"]
        if (data, steps) not in known:
            where = data.replace(":", ":%s/" % begin["folder"]) if "folder" in begin else data
            alone = job.train(JOB[0], where, *JOB[1:-2], "--steps", str(steps), "--quiet", timeout=600)
            known[data, steps] = alone.summary["weights_hash"]
        return longest, usual, job.said(), known[data, steps] == summary["weights_hash"]
    finally:
        job.doCleanups()


def add_options(parser):
    parser.add_argument("--turns", type=int, default=10, help="of each fault (10)")
    parser.add_argument("--fault", help="only those whose names have this")


def benchmark(options, result):
    harness.SHOAL = os.path.abspath(options.shoal)
    known = {}
    for fault in FAULTS:
        if options.fault and options.fault not in fault.name:
            continue
        pauses, usual, right, said = [], [], 0, collections.Counter()
        for _ in range(options.turns):
            pause, step, words, same = one_turn(fault, known, os.path.abspath(options.data))
            pauses.append(pause)
            usual.append(step)
            right += same
            said.update(re.sub(r"[0-9.]+ (s|ms)\b", r"N \1", word) for word in words)
        bound = max(BOUND_S, STEPS * max(usual))
        result.row(fault.name, "longest time without a step %.1f s (median %.1f), usual step %.3f s, %d of %d with the "
                   "weights of one device" % (max(pauses), statistics.median(pauses), statistics.median(usual), right,
                                              options.turns),
                   target="at most %.0f s" % bound, met=max(pauses) <= bound and right == options.turns)
        print("%s: %s s" % (fault.name, " ".join("%.1f" % pause for pause in pauses)), flush=True)
        for words, count in said.most_common(6):
            print("    %d times %s" % (count, words))


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
