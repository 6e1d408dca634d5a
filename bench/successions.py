# SPDX-License-Identifier: Apache-2.0
"""The coordinator is lost again and again in one run, in five ways in turn; then rarer cases, once each.

Five devices train LeNet on MNIST in network namespaces, each with a share of one core. As soon as all take part, the one that
coordinates is killed, frozen, its computing thread is stopped, its cable is out, or its network address changes. Another device
goes on, and the lost one comes back: a killed one by `shoal join` with the addresses of the others in its token. At the end all must have the weights of one device alone, and each step must have been made. Needs root.

The cases: a partition that outlasts a checkpoint; a coordinator that comes back after its successor's successor; two losses at
once; a device that joins with a token from before three successions.
"""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

import measure

for folder in ("test/e2e", "lab"):
    sys.path.insert(0, os.path.join(measure.ROOT, folder))
import groups  # noqa: E402
import harness  # noqa: E402
import janitor  # noqa: E402
import network  # noqa: E402
import threads  # noqa: E402

KINDS = ("kill", "freeze", "hang", "unplug", "address")
BOUNDS_S = {"kill": 1.0}  # the others: the bound of a hang
BOUND_S = 10.0
DEVICES = 5
PORT = 7700
GOES_ON = re.compile(r"this device replaces it from step (\d+)")
LOSES = re.compile(r"trying to rejoin")
JOB = ("--batch-size", "64", "--grain", "8", "--seed", "1")
# An exact emulation of fused multiply-adds: many times slower, the same bits. So a coordinator that is cut off does not end the
# job alone, and 100 losses fit into two epochs.
SLOW = {"SHOAL_VARIANT": "plain"}


class Device:
    def __init__(self, name, address, group):
        self.name, self.address, self.group = name, address, group
        self.process, self.starts, self.read, self.rest = None, 0, 0, b""
        self.steps_path, self.led = None, 0

    def takeovers(self):
        """The steps from which it replaced a coordinator."""
        found = [GOES_ON.search(line) for line in self.process.lines["err"]]
        return [int(each.group(1)) for each in found if each]

    def leads(self):
        """By what it said last. The first one begins as the coordinator."""
        state = self.starts == 1 and self.name == "d0"
        for line in self.process.lines["err"] if self.process else []:
            state = bool(GOES_ON.search(line)) or (state and not LOSES.search(line))
        return state


class Job(harness.Case):
    """One job with its devices; a test case for its files and processes alone."""

    def runTest(self):
        pass

    def begin(self, data, cpu, end, devices=DEVICES):
        self.lab_name = janitor.own_name()
        self.groups = groups.Groups.found(self.lab_name)
        keeper = janitor.Janitor(self.lab_name, self.groups.folders())
        self.addCleanup(keeper.finish)
        names = ["d%d" % i for i in range(devices)]
        self.network = network.Network(self.lab_name)
        self.addCleanup(self.network.close)
        self.network.make(names, {name: network.Link() for name in names})
        self.devices = []
        for name in names:
            group = self.groups.make(name)
            group.limit_cpu(cpu)
            self.devices.append(Device(name, self.network.address(name), group))
        self.fast, self.count = False, DEVICES  # devices that are to take part
        self.usual = []  # times of steps that all made together
        self.again = 0  # steps that a device had made and a successor had not
        self.seen, self.last, self.view, self.last_at, self.next_address = set(), 0, 0, time.monotonic(), 100
        self.leader = first = self.devices[0]
        self.launch(first, "train", "lenet", data, *JOB, *end, "--listen", ":%d" % PORT, "--lanes", "1", "--run",
                    self.path("run"), "--devices-used", "all", "--min-devices", str(DEVICES))
        self.token = harness.Token(first.process.wait_for_token(60))
        for device in self.devices[1:DEVICES]:
            self.join(device)
        self.until_all(120)

    def launch(self, device, *argv):
        self.look()
        device.starts += 1
        device.steps_path = self.path("%s-%d.steps" % (device.name, device.starts))
        device.read, device.rest, device.led = 0, b"", 0
        device.process = self.start(
            argv=["ip", "netns", "exec", self.network.namespace(device.name), harness.SHOAL, *argv, "--events",
                  device.steps_path],
            env={**({} if self.fast else SLOW), "XDG_CACHE_HOME": self.path("cache-" + device.name)})
        device.group.enter(device.process.child.pid)

    def join(self, device, token=None):
        others = [each for each in self.devices[:DEVICES] if each is not device]
        places = ",".join("%s:%d" % (each.address, PORT) for each in others[:4])
        self.launch(device, "join", (token or self.token.but(addresses=places)).text, "--name", device.name, "--lanes", "1",
                    "--port", str(PORT), "--reconnect", "300", "--wait", "60", "--run",
                    self.path("%s-%d" % (device.name, device.starts + 1)))

    def look(self, but=()):
        """Reads new steps. Those of devices in `but` are seen, but do not count as progress."""
        for device in self.devices:
            try:
                with open(device.steps_path, "rb") as file:
                    file.seek(device.read)
                    news = file.read()
            except (FileNotFoundError, TypeError):
                continue
            device.read += len(news)
            lines = (device.rest + news).split(b"\n")
            device.rest = lines.pop()
            for line in lines:
                event = json.loads(line)
                if event["event"] != "step":
                    continue
                number = (event["epoch"] - 1) * self.epoch_steps + event["step"]
                self.seen.add(number)
                if device not in but and number > self.last:
                    now = time.monotonic()
                    if self.view == event["devices"] == self.count and not but:
                        self.usual.append((now - self.last_at) / (number - self.last))
                    self.last, self.view, self.last_at = number, event["devices"], now

    def is_over(self):
        return self.last >= self.last_step

    def wait(self, what, condition, patience=60, but=()):
        """Until the condition holds, or the job is over."""
        deadline = time.monotonic() + patience
        while True:
            self.look(but)
            if condition() or self.is_over():
                return
            if time.monotonic() > deadline:
                raise measure.Failure("%s: not within %d s, at step %d with %d devices\n%s" % (
                    what, patience, self.last, self.view, self.dump()))
            time.sleep(0.005)

    def until_all(self, patience=60):
        """All take part, and have made two steps together."""
        self.wait("all devices", lambda: self.view == self.count, patience)
        goal = self.last + 2
        self.wait("two steps", lambda: self.last >= goal and self.view == self.count, patience)
        leaders = [device for device in self.devices if device.leads()]
        if len(leaders) != 1 and not self.is_over():
            raise measure.Failure("%d devices coordinate\n%s" % (len(leaders), self.dump()))
        self.leader = leaders[0] if leaders else self.leader

    def dump(self):
        words = []
        for device in self.devices:
            if device.process:
                lines = [line for line in device.process.lines["err"] if not line.startswith("epoch")]
                words.append("%s %s %s, exit %s\n%s" % (device.name, device.address, "leads" if device.leads() else "",
                                                        device.process.child.poll(), "".join(lines[-15:])))
        return "\n".join(words)

    def successor(self, lost, patience=40):
        """Waits for a device that goes on; the time without a step, as the others saw it.

        A step counts also where one device had made it before, but not the successor.
        """
        last_at, goal = self.last_at, self.last + 1
        found = []

        def has_led():
            nonlocal goal
            for device in self.devices:
                if device.process is None or device in lost:
                    continue
                for step in device.takeovers()[device.led:]:
                    found.append(device)
                    self.again += max(0, self.last - step)
                    self.last = min(self.last, step)
                    goal = min(goal, step + 1)
                    device.led += 1
            return bool(found) and self.last >= goal
        self.wait("a successor", has_led, patience, but=lost)
        for device in self.devices:
            device.led = len(device.takeovers()) if device.process else 0
        if found:  # there may be two for a moment
            self.leader = found[-1]
        return self.last_at - last_at

    # ---- what befalls the coordinator; each returns what undoes it ----

    def kill(self, device):
        device.process.kill()
        return lambda: self.join(device)

    def freeze(self, device):
        os.killpg(device.process.child.pid, signal.SIGSTOP)
        return lambda: os.killpg(device.process.child.pid, signal.SIGCONT)

    def hang(self, device):
        return threads.stopped(device.process.child.pid).release

    def unplug(self, device):
        self.network.plug(device.name, False)
        return lambda: self.network.plug(device.name, True)

    def move(self, device):
        """Its network gives it another address, as a lease that ends does."""
        old, self.next_address = device.address, self.next_address + 1
        device.address = network.SUBNET + str(self.next_address)
        space = self.network.namespace(device.name)
        for change in (["delete", old], ["add", device.address]):
            subprocess.run(["ip", "-n", space, "address", change[0], change[1] + "/24", "dev", "eth0"], check=True)
        return lambda: None

    def strike(self, kind):
        """The time without a step."""
        self.look()
        lost = self.leader
        undo = {"kill": self.kill, "freeze": self.freeze, "hang": self.hang, "unplug": self.unplug,
                "address": self.move}[kind](lost)
        pause = self.successor([lost])
        undo()
        return pause

    def hurry(self):
        """The other devices start again, as fast as they can: the rest of the job takes a minute."""
        self.fast = True
        for device in self.devices:
            device.group.limit_cpu(2)
        for device in [each for each in self.devices if each is not self.leader]:
            device.process.kill()
            self.join(device)
            self.until_all()

    def finish(self):
        """Whether all devices have the same weights at the end: those."""
        hashes = set()
        for device in self.devices:
            if device.process is None:
                continue
            result = device.process.wait(1200)
            hashes.update(re.findall(r"(?m)^weights +([0-9a-f]{64})", result.out + result.err))
        self.look()
        return hashes


def alone(data, end):
    """The weights of one device, and the steps of an epoch and of the whole."""
    job = Job()
    job.setUp()
    try:
        summary = job.train("lenet", data, *JOB, *end, "--quiet", timeout=600).summary
        return summary["weights_hash"], summary["steps"]
    finally:
        job.doCleanups()


def many(options, data, end, result):
    weights, steps = alone(data, end)
    job = Job()
    job.setUp()
    job.epoch_steps, job.last_step = steps // options.epochs, steps
    pauses = {kind: [] for kind in KINDS}
    try:
        job.begin(data, options.cpu, end)
        for i in range(options.successions):
            job.until_all()
            if job.is_over():
                break
            kind = options.kinds[i % len(options.kinds)]
            pause = job.strike(kind)
            pauses[kind].append(pause)
            print("%3d  step %4d  %-8s %5.2f s, now %s leads" % (i + 1, job.last, kind, pause, job.leader.name), flush=True)
        job.until_all()
        step = statistics.median(job.usual)
        job.hurry()
        hashes = job.finish()
    finally:
        job.doCleanups()
    result.row("a usual step of five devices", "%.2f s" % step)
    for kind in KINDS:
        if pauses[kind]:
            # The step in which it is lost is made again, so one usual step of the pause is not lost time.
            bound, lost = max(BOUNDS_S.get(kind, BOUND_S), step), [pause - step for pause in pauses[kind]]
            result.row("%s, %d times: longest time without a step, less a usual one" % (kind, len(lost)),
                       "%.2f s (median %.2f)" % (max(lost), statistics.median(lost)), target="%.1f s" % bound,
                       met=max(lost) <= bound)
    result.row("steps that only one device had made, made again", str(job.again))
    count = sum(map(len, pauses.values()))
    result.row("successions in one run of %d epochs, %d steps" % (options.epochs, steps), str(count),
               target=str(options.successions), met=count >= options.successions)
    missing = set(range(1, steps + 1)) - job.seen
    result.row("steps that nobody made", str(len(missing)), target="0", met=not missing)
    result.row("weights of one device alone", "yes" if hashes == {weights} else "no: %s" % sorted(hashes), target="yes",
               met=hashes == {weights})


# ---- rarer cases ----------------------------------------------------------------------------------------------


def outlasts_a_checkpoint(job):
    """The coordinator and another device on one side, three on the other; both sides go on."""
    one = job.leader
    two = next(device for device in job.devices[:DEVICES] if device is not one)
    rest = [device for device in job.devices[:DEVICES] if device not in (one, two)]
    for here in (one, two):
        for there in rest:
            job.network.partition(here.name, there.name, True)
    job.successor([one, two])
    goal = job.last + job.epoch_steps  # a checkpoint is written after each epoch
    job.wait("an epoch", lambda: job.last >= goal, 120, but=[one, two])
    for here in (one, two):
        for there in rest:
            job.network.partition(here.name, there.name, False)


def after_its_successors_successor(job):
    one = job.leader
    thaw = job.freeze(one)
    job.successor([one])
    two = job.leader
    again = job.kill(two)
    job.successor([one, two])
    thaw()
    again()


def two_at_once(job):
    one = job.leader
    two = next(device for device in job.devices[:DEVICES] if device is not one)
    undo = [job.kill(one), job.kill(two)]
    job.successor([one, two])
    for each in undo:
        each()


def old_token(job):
    """The first coordinator lives on as a device, so its address knows the one that leads now."""
    late = job.devices[DEVICES]
    for _ in range(3):
        job.strike("freeze")
        job.until_all()
    job.join(late, job.token)
    late.process.wait_for("^training on 6 devices", 60, "err")
    job.count += 1


CASES = [
    ("a token from before three successions", old_token),
    ("a partition that outlasts a checkpoint", outlasts_a_checkpoint),
    ("a coordinator that comes back after its successor's successor", after_its_successors_successor),
    ("two losses at once", two_at_once),
]


def cases(options, result):
    """In one job of short epochs."""
    data, end = "digits:640/64", ("--epochs", "1000", "--steps", "200")
    weights, steps = alone(data, end)
    for name, case in CASES:
        job = Job()
        job.setUp()
        job.epoch_steps, job.last_step = 10, steps
        try:
            job.begin(data, options.cpu, end, DEVICES + (case is old_token))
            case(job)
            job.until_all()
            job.hurry()
            hashes = job.finish()
        finally:
            job.doCleanups()
        right = hashes == {weights} and job.seen >= set(range(1, steps + 1))
        print("%s: %s" % (name, "right" if right else "wrong"), flush=True)
        result.row(name, "all go on, the weights of one device" if right else "WRONG: %s" % sorted(hashes), target="same",
                   met=right)


def add_options(parser):
    parser.add_argument("--successions", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=KINDS, help="some of " + ",".join(KINDS))
    parser.add_argument("--cpu", type=float, default=0.38, help="share of a core of each device (0.38)")
    parser.add_argument("--only", choices=("many", "cases"))


def benchmark(options, result):
    if os.geteuid() != 0:
        raise measure.Skip("network namespaces need root")
    harness.SHOAL = os.path.abspath(options.shoal)
    if options.only != "cases":
        many(options, "mnist:" + measure.need_mnist(options), ("--epochs", str(options.epochs)), result)
    if options.only != "many":
        cases(options, result)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
