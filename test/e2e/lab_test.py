#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lab/: files and their mistakes, a cluster that is one device, links and quotas that are true, and no remains."""
# Alone: it measures rates, shares of processors and moments.

import json
import os
import signal
import sys
import time
import unittest

import harness

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAB = os.path.join(ROOT, "lab", "lab")
MODEL, DATA = "mlp:784-32-10", "digits:300/100"
JOB = "%s %s --steps 60 --batch-size 64 --grain 8" % (MODEL, DATA)

try:
    import tomllib
except ImportError:
    tomllib = None
if tomllib:
    sys.path.insert(0, os.path.join(ROOT, "lab"))
    import faults
    import groups
    import janitor
    import labfile
    import network
    import system

HEAD = '[job]\ncommand = "lenet digits"\n'
TWO = HEAD + "[[device]]\n[[device]]\n"
# The file, and the words of its message behind the file's name.
BAD = [
    ("", r": has no \[job\]: add one with command"),
    ("[job\n", r":1: not TOML: Expected '\]'"),
    ("[job]\n", r":1: \[job\]: has no 'command'; arguments as on a command line"),
    ("job = 1\n", r":1: 'job' must be a table: write \[job\] on a line of its own"),
    ('[job]\ncommand = "lenet \'digits"\n', r":2: \[job\] command: 'lenet 'digits': must be .*quotes must close"),
    ('[job]\ncommand = "lenet d --run x"\n', r":2: \[job\] command: --run is given by the lab: leave it out"),
    ('[job]\ncommand = "lenet mnist:$SHOAL_NONE"\n', r":2: .*\$SHOAL_NONE: no such environment variable"),
    (HEAD, r": has no \[\[device\]\]: the first one is the coordinator"),
    (HEAD + "[device]\n", r":3: write \[\[device\]\] with two brackets"),
    (HEAD + "[[device]]\ncpu = 0\n", r":4: \[device\] cpu: 0: must be a number of cores from 0.01 up, such as 0.2"),
    (HEAD + "[[device]]\nspeed = 1\n", r":4: \[device\] speed: is not known here; known: count, name, cpu"),
    (HEAD + '[[device]]\nname = "a b"\n', r":4: \[device\] name: 'a b': must be a name of letters"),
    (HEAD + '[[device]]\nname = "a"\n[[device]]\nname = "a"\n', r":6: \[device\] name: 'a' is taken"),
    (HEAD + '[[device]]\nlink = "fast"\n', r":4: \[device\] link: 'fast': must be a rate with its unit"),
    (HEAD + '[[device]]\nmemory = "12"\n', r":4: \[device\] memory: '12': must be a number of bytes, such as"),
    (HEAD + '[links]\nloss = "120%"\n[[device]]\n', r":4: \[links\] loss: '120%': must be a percentage below 100"),
    (HEAD + '[[device]]\nhide = ["/none/here"]\n', r":4: \[device\] hide: .*: must be a list of folders that are"),
    (HEAD + "[[device]]\ncount = 300\n", r":4: \[device\] count: more than 250 devices"),
    (TWO + "[[at]]\ntime = 1\n", r":5: \[at\]: has no 'action'"),
    (TWO + '[[at]]\ntime = 1\naction = "explode"\n', r":7: \[at\] action: 'explode' is none; there are: join, "),
    (TWO + '[[at]]\naction = "kill"\ndevice = "d1"\n', r":5: \[at\]: needs either time = SECONDS or step = N"),
    (TWO + '[[at]]\ntime = 1\nstep = 2\naction = "kill"\ndevice = "d1"\n', r":5: \[at\]: needs either"),
    (TWO + '[[at]]\ntime = 1\naction = "kill"\ndevice = "d7"\n', r":8: .*there is no device 'd7'; there are: d0, d1"),
    (TWO + '[[at]]\nstep = 0\naction = "kill"\n', r":6: \[at\] step: 0: must be a whole number, at least 1"),
    (TWO + '[[at]]\ntime = 1\naction = "cpu"\ndevice = "d1"\n', r":5: \[at\]: has no 'cpu'; a number of cores"),
    (TWO + '[[at]]\ntime = 1\naction = "link"\ndevice = "d1"\n', r":5: \[at\]: has no 'link'; a rate"),
    (TWO + '[[at]]\ntime = 1\naction = "partition"\ndevices = ["d1", "d1"]\n', r":8: .*must be two different devices"),
    (TWO + '[[at]]\ntime = 1\naction = "join"\ndevice = "d0"\n', r":8: .*'d0' is the coordinator: it comes back by"),
    (TWO + '[[at]]\ntime = 1\naction = "thaw"\ndevice = "d1"\nfor = 1\n', r":9: \[at\] for: is not known here"),
    (TWO + "[chaos]\nevents = 5\n", r":5: \[chaos\]: has no 'last-step'"),
    (TWO + "[chaos]\nevents = 5\nlast-step = 3\nfirst-step = 4\n", r":7: .*3: must not be before first-step, 4"),
    (HEAD + "[[device]]\n[chaos]\nevents = 5\nlast-step = 3\n", r":4: \[chaos\]: needs a second device"),
    (TWO + "[[join]]\n", r":5: 'join' is not known here; known: \[job\], \[links\]"),
    (HEAD + "[[device]]\nlater = true\n", r": device 'd0' is the coordinator, so it cannot join later"),
]


@unittest.skipUnless(tomllib, "the lab needs Python 3.11")
class Case(harness.Case):
    def write(self, text, name="lab.toml"):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def need_root(self):
        try:
            system.need_root()
        except system.Trouble as trouble:
            self.skipTest("the lab " + str(trouble))

    def need(self, controller):
        self.need_root()
        if groups.Groups.found("none").version(controller) is None:
            self.skipTest("this machine has no control groups for '%s'" % controller)

    def assert_reached(self, measure, within):
        """A limit's share that is got: never more than all, and all in the best of five tries, since what others do on
        the machine can only take of it."""
        got = []
        while len(got) < 5 and max(got, default=0) < 1 - within:
            got.append(measure())
        self.assertGreaterEqual(max(got), 1 - within, got)
        self.assertLessEqual(max(got), 1 + within, got)

    def lab(self, *arguments, env=None):
        return self.start(argv=[sys.executable, "-B", LAB, *arguments], env=env)

    def start_lab(self, text, *options):
        self.need_root()
        return self.lab("run", self.write(text), "--program", harness.SHOAL, "--folder", self.path("lab"),
                        "--json", self.path("lab.json"), "--limit", str(90 * harness.PATIENCE), *options)

    def run_lab(self, text, status=0):
        """Runs it to its end; what --json says."""
        process = self.start_lab(text)
        result = process.wait(120)
        self.assertEqual(result.status, status, str(result))
        self.check_nothing_left(process.child.pid)
        with open(self.path("lab.json"), encoding="utf-8") as file:
            return json.load(file)

    def remains(self, pid):
        """Names of what a lab of that process has left."""
        prefix = "shoal-lab-%d-" % pid
        found = [name for name in janitor.names() if name.startswith(prefix)]
        for _, parent in groups.parents(groups._read("/proc/self/mountinfo"), groups._read("/proc/self/cgroup")).values():
            found += [name for name in os.listdir(parent) if name.startswith(prefix)]
        return found

    def check_nothing_left(self, pid):
        self.assertEqual(self.remains(pid), [])

    def wait_until(self, true, what):
        deadline = time.monotonic() + 20 * harness.PATIENCE
        while not true():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)


class Files(Case):
    needs_program = False

    def test_mistakes_are_named_with_their_place(self):
        for text, message in BAD:
            with self.subTest(text=text):
                path = self.write(text)
                result = self.lab("check", path).wait()
                self.assertEqual(result.status, 1, str(result))
                self.assertRegex(result.err, r"\Alab: %s%s.*\n\Z" % (path, message))

    def test_no_file(self):
        result = self.lab("check", self.path("none.toml")).wait()
        self.assertEqual((result.status, result.err),
                         (1, "lab: %s: No such file or directory\n" % self.path("none.toml")))

    def test_what_it_says(self):
        lab = labfile.parse("x", HEAD + """resume-options = "--epochs 3"
            [links]
            rate = "1Gbit"
            delay = "2ms"
            [[device]]
            name = "boss"
            [[device]]
            count = 2
            cpu = 0.25
            memory = "64M"
            link = { rate = "10Mbit", loss = "1%" }
            options = "--memory 40M"
            [[device]]
            name = "late"
            [[at]]
            step = 120
            action = "join"
            device = "late"
            [[at]]
            time = 1.5
            action = "link"
            device = "d2"
            link = "5Mbit"
            for = 2
            """)
        self.assertEqual([device.name for device in lab.devices], ["boss", "d1", "d2", "late"])
        self.assertEqual([device.name for device in lab.first()], ["boss", "d1", "d2"])
        second = lab.devices[2]
        self.assertEqual((second.cpu, second.memory, second.options), (0.25, 64 << 20, ["--memory", "40M"]))
        self.assertEqual((second.link.rate, second.link.delay, second.link.loss), (10e6, 0.002, 0.01))
        self.assertEqual((lab.devices[0].link.rate, lab.devices[0].cpu), (1e9, None))
        self.assertEqual([each.text() for each in lab.timeline], ["join late", "link d2 5 Mbit/s for 2 s"])
        self.assertEqual((lab.timeline[0].step, lab.timeline[1].time), (120, 1.5))
        self.assertEqual(lab.resume_options, ["--epochs", "3"])

    def test_without_root(self):
        if os.geteuid() == 0 and not harness.shutil.which("setpriv"):
            self.skipTest("needs setpriv (util-linux) to be somebody else")
        argv = [sys.executable, "-B", LAB, "run", self.write(TWO)]
        if os.geteuid() == 0:
            os.chmod(self.folder, 0o755)
            argv = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *argv]
        result = self.start(argv=argv).wait()
        self.assertEqual((result.status, result.err), (
            1, "lab: needs root, for network namespaces, links and CPU quotas: run it with sudo\n"))


class Chaos(Case):
    needs_program = False

    def draw(self, seed):
        lab = labfile.parse("x", HEAD + "[[device]]\ncount = 6\n[chaos]\nseed = %d\nevents = 100\nlast-step = 900\n" % seed)
        return faults.draw(lab.chaos, [device.name for device in lab.devices])

    def told(self, turns, state_of):
        fitted = [turn.fit(state_of) for turn in turns]
        return [(each.step, each.text()) for each in fitted if each is not None]

    def test_a_seed_is_a_timeline(self):
        turns = self.told(self.draw(7), lambda name: "at work")
        self.assertEqual(turns, self.told(self.draw(7), lambda name: "at work"))
        self.assertNotEqual(turns, self.told(self.draw(8), lambda name: "at work"))
        self.assertEqual(len(turns), 100)
        self.assertEqual(sorted(turns, key=lambda turn: turn[0]), turns)
        self.assertEqual({text.split()[0] for _, text in turns}, {"leave", "kill", "freeze", "unplug", "partition"})

    def test_it_does_what_is_possible(self):
        """The coordinator is only parted from others; who is away can only join, who is frozen nothing."""
        for _, text in self.told(self.draw(1), lambda name: "at work"):
            self.assertNotRegex(text, r"(leave|kill|freeze|unplug) d0\b")
        away = self.told(self.draw(1), lambda name: "at work" if name == "d0" else "away")
        self.assertEqual({text.split()[0] for _, text in away}, {"join"})
        self.assertEqual(len(away), 100)
        self.assertEqual(self.told(self.draw(1), lambda name: "frozen"), [])


class ControlGroups(Case):
    needs_program = False

    def test_version_2_below_the_nearest_that_divides(self):
        folder = self.path("top")
        for place, divides in (("", "cpu memory"), ("user", "cpu memory"), ("user/me", "memory"), ("user/me/shell", "")):
            os.makedirs(os.path.join(folder, place), exist_ok=True)
            for name, text in (("cgroup.subtree_control", divides), ("cgroup.controllers", "cpu memory io")):
                with open(os.path.join(folder, place, name), "w", encoding="ascii") as file:
                    file.write(text)
        mountinfo = "30 23 0:26 / %s rw shared:4 - cgroup2 cgroup2 rw\n" % folder
        found = groups.parents(mountinfo, "0::/user/me/shell\n")
        self.assertEqual(found, {"cpu": (2, folder + "/user"), "memory": (2, folder + "/user")})
        group = groups.Groups("lab", found).make("d1")
        group.limit_cpu(0.25)
        group.limit_memory(1 << 26)
        group.enter(1234)
        written = {name: groups._read(os.path.join(folder, "user/lab/d1", name))
                   for name in ("cpu.max", "memory.max", "cgroup.procs")}
        self.assertEqual(written, {"cpu.max": "2500 10000", "memory.max": "67108864", "cgroup.procs": "1234"})
        self.assertEqual(groups._read(os.path.join(folder, "user/lab/cpu.weight")), "10000")

    def test_version_1_below_its_own(self):
        mountinfo = ("25 24 0:22 / /groups/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                     "26 24 0:23 /box /groups/memory rw - cgroup cgroup rw,memory\n")
        self.assertEqual(groups.parents(mountinfo, "4:cpu,cpuacct:/me\n3:memory:/box/me\n"),
                         {"cpu": (1, "/groups/cpu,cpuacct/me"), "memory": (1, "/groups/memory/me")})

    def test_none(self):
        with self.assertRaisesRegex(groups.Missing, "no controller 'cpu' here"):
            groups.Groups("lab", {}).make("d1").limit_cpu(0.5)

    def test_the_least_quota_the_kernel_takes(self):
        self.assertEqual([groups.quota(cpu) for cpu in (2, 0.2, 0.1, 0.05)],
                         [(20000, 10000), (2000, 10000), (1000, 10000), (1000, 20000)])

    def test_a_quota_is_what_is_got(self):
        """Two processes that want all there is get the quota together, within 15 %."""
        self.need("cpu")
        made = groups.Groups.found("shoal-labtest-%d" % os.getpid())
        self.addCleanup(made.close)
        for cpu in (0.2, 0.5):
            group = made.make("d%g" % (10 * cpu))
            group.limit_cpu(cpu)
            busy = [self.start(argv=[sys.executable, "-c", "while True: pass"]) for _ in range(2)]
            for process in busy:
                group.enter(process.child.pid)
            time.sleep(0.2)
            self.assert_reached(lambda busy=busy, cpu=cpu: self.got(busy) / cpu, within=0.15)
            for process in busy:
                process.kill()

    def got(self, processes):
        """Processors that they have for a while."""
        before, began = self.used(processes), time.monotonic()
        time.sleep(1.5)
        return (self.used(processes) - before) / (time.monotonic() - began)

    def used(self, processes):
        """Seconds of the processors that they have had."""
        return sum(int(groups._read("/proc/%d/schedstat" % process.child.pid).split()[0]) for process in processes) / 1e9


RECEIVER = """
import socket, time
with socket.create_server(("", 7000)) as listener:
    print("listening", flush=True)
    connection, _ = listener.accept()
    first, count = None, 0
    while data := connection.recv(65536):
        first = first or time.monotonic()
        count += len(data)
    print("rate", count / (time.monotonic() - first))
"""
SENDER = """
import socket, sys, time
with socket.create_connection((sys.argv[1], 7000)) as connection:
    end = time.monotonic() + 1
    while time.monotonic() < end:
        connection.sendall(bytes(16384))
"""
CALLER = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), timeout=0.5)
except OSError as error:
    print("said", type(error).__name__)
"""


class Links(Case):
    needs_program = False

    def network(self):
        self.need_root()
        made = network.Network("shoal-labtest-%d" % os.getpid())
        self.addCleanup(made.close)
        made.make(["a", "b", "c"], {name: network.Link(100e6) for name in "abc"})
        return made

    def within(self, made, device, code, *arguments):
        return self.start(argv=["ip", "netns", "exec", made.namespace(device), sys.executable, "-c", code, *arguments])

    def rate(self, made):
        """Bits a second of one connection from b to a, as the receiver sees them."""
        receiver = self.within(made, "a", RECEIVER)
        receiver.wait_for("listening")
        self.within(made, "b", SENDER, made.address("a")).wait()
        return 8 * float(receiver.wait_for(r"rate (\S+)").group(1))

    def call(self, made, here, there):
        process = self.within(made, here, CALLER, made.address(there))
        return process.wait_for(r"said (\S+)").group(1)

    def test_a_rate_is_what_is_got(self):
        """TCP carries 1,448 of each 1,538 bytes of the wire."""
        made = self.network()
        for rate in (100e6, 20e6):
            for device in "ab":
                made.set_link(device, network.Link(rate))
            ideal = rate * 1448 / 1538
            self.assert_reached(lambda ideal=ideal: self.rate(made) / ideal, within=0.1)
        made.set_link("a", network.Link(None))
        made.set_link("b", network.Link(None))
        self.assertGreater(self.rate(made), 200e6)

    def test_a_partition_parts_two_and_no_others(self):
        made = self.network()
        made.partition("a", "b", True)
        self.assertEqual([self.call(made, *pair) for pair in ("ab", "ba", "ac", "cb")],
                         2 * ["TimeoutError"] + 2 * ["ConnectionRefusedError"])
        made.partition("a", "b", False)
        self.assertEqual([self.call(made, *pair) for pair in ("ab", "ba")], 2 * ["ConnectionRefusedError"])

    def test_a_cable_is_out_at_both_ends(self):
        made = self.network()
        self.assertEqual(self.call(made, "a", "b"), "ConnectionRefusedError")
        made.plug("a", False)
        self.assertIn(self.call(made, "b", "a"), ("TimeoutError", "OSError"))
        self.assertIn("NO-CARRIER", system.run("ip", "-n", made.namespace("a"), "link", "show", "eth0"))
        made.plug("a", True)
        self.wait_until(lambda: self.call(made, "b", "a") == "ConnectionRefusedError", "the cable is in again")


def at(when, action, **keys):
    """One [[at]] of a file."""
    lines = ["[[at]]", when, 'action = "%s"' % action]
    lines += ["%s = %s" % (key, json.dumps(value)) for key, value in keys.items()]
    return "\n".join(lines) + "\n"


THREE = '[job]\ncommand = "%s --devices-used all"\n[links]\nrate = "100Mbit"\n[[device]]\ncount = 3\ncpu = 0.4\n'
# Whoever is lost for its trouble looks for the job no longer than this.
TROUBLED = ('[job]\ncommand = "%s --devices-used all"\n[links]\nrate = "100Mbit"\n[[device]]\ncpu = 0.4\n'
            '[[device]]\ncount = 2\ncpu = 0.4\noptions = "--reconnect 2"\n')


class Cluster(Case):
    def setUp(self):
        super().setUp()
        self.need("cpu")

    def alone(self):
        return self.train(*JOB.split(), "--run", "alone").summary["weights_hash"]

    def happenings(self, said, *actions):
        return [each for each in said["happenings"] if each["action"] in actions]

    def test_three_devices_in_trouble_are_one(self):
        said = self.run_lab(TROUBLED % JOB + at("step = 10", "freeze", device="d1", **{"for": 0.2}) +
                            at("step = 20", "unplug", device="d2", **{"for": 0.1}) +
                            at("step = 30", "cpu", device="d2", cpu=0.2) +
                            at("step = 40", "link", device="d2", link="50Mbit") +
                            at("step = 50", "partition", devices=["d1", "d2"], **{"for": 0.1}) +
                            at("time = 0", "join", device="d1"))
        self.assertEqual(said["summary"]["weights_hash"], self.alone())
        self.assertEqual([step for step, _, _ in said["steps"]], list(range(1, 61)))
        self.assertEqual([(device["name"], device["cpu"], device["rate"]) for device in said["devices"]],
                         [("d0", 0.4, 100e6), ("d1", 0.4, 100e6), ("d2", 0.2, 50e6)])
        for device in said["devices"]:
            self.assertIn([run["status"] for run in device["runs"]], ([0], [1]))  # 1: the job ended without it
            self.assertGreater(device["summary"]["grains"], 0)
        self.assertEqual(said["devices"][0]["runs"][0]["status"], 0)
        self.check_frozen(said)

    def check_frozen(self, said):
        """Nobody took a step while d1 was frozen, and the lab says when that was."""
        freeze, thaw = self.happenings(said, "freeze", "thaw")
        self.assertGreaterEqual(freeze["step"], 10)
        self.assertAlmostEqual(thaw["at"] - freeze["at"], 0.2, delta=0.1)
        # The step under way at the freeze may still be applied by device 0.
        during = [step for step, moment, _ in said["steps"] if freeze["at"] + 0.1 < moment < thaw["at"]]
        self.assertEqual(during, [])
        self.assertEqual([each["skipped"] for each in self.happenings(said, "join")], ["it is there already"])

    def test_a_restart_is_a_new_set_of_devices(self):
        said = self.run_lab(THREE % JOB + '[[device]]\nname = "late"\ncpu = 0.4\nlater = true\n' +
                            at("step = 20", "restart", devices=["d0", "d1", "late"]))
        self.assertEqual(said["summary"]["weights_hash"], self.alone())
        self.assertEqual([(device["name"], len(device["runs"])) for device in said["devices"]],
                         [("d0", 2), ("d1", 2), ("d2", 1), ("late", 1)])
        self.assertEqual(said["devices"][0]["runs"][0]["status"], 130)
        self.assertEqual(said["devices"][0]["runs"][0]["by"], "restart")
        self.assertEqual([step for step, _, _ in said["steps"]], list(range(1, 61)))

    def test_a_device_that_is_killed_is_told_of(self):
        """The others go on without it; the record says when it died, and of what."""
        process = self.start_lab(THREE % JOB.replace("60", "2000") + at("step = 10", "kill", device="d2") +
                                 at("step = 30", "leave", device="d0"))
        process.wait(120)
        self.check_nothing_left(process.child.pid)
        with open(self.path("lab.json"), encoding="utf-8") as file:
            said = json.load(file)
        killed = self.happenings(said, "kill")[0]
        run = said["devices"][2]["runs"][0]
        self.assertEqual((run["status"], run["by"]), (-signal.SIGKILL, "kill"))
        self.assertLess(run["ended"] - killed["at"], 0.2 * harness.PATIENCE)
        steps = [step for step, _, _ in said["steps"]]
        self.assertGreaterEqual(len(steps), 30)
        self.assertEqual(steps, list(range(1, len(steps) + 1)))

    def test_a_folder_is_hidden(self):
        os.mkdir(self.path("secret"))
        with open(self.path("secret", "there"), "w", encoding="ascii"):
            pass
        self.write("#!/bin/sh\nls %s\n" % self.path("secret"), "program")
        os.chmod(self.path("program"), 0o755)
        for hide, seen in (("", "there\n"), ("hide = [%s]\n" % json.dumps(self.path("secret")), "")):
            file = self.write('[job]\ncommand = "x"\n[[device]]\n' + hide)
            result = self.lab("run", file, "--program", self.path("program"), "--folder", self.path("f%d" % len(hide))).wait()
            self.assertEqual((result.status, result.out), (0, seen), str(result))
        self.assertEqual(os.listdir(self.path("secret")), ["there"])

    def test_a_folder_with_a_run_is_refused(self):
        os.makedirs(self.path("lab", "run"))
        result = self.start_lab(THREE % JOB).wait()
        self.assertEqual(result.status, 1)
        self.assertRegex(result.err, r"lab: .*/lab: holds another run of the lab: name a new folder with --folder")


class Remains(Case):
    """However a lab ends, its processes, namespaces and groups do."""

    LONG = THREE % JOB.replace("60", "100000")

    def setUp(self):
        super().setUp()
        self.need("cpu")

    def started(self):
        process = self.start_lab(self.LONG)
        process.wait_for(r"training on 3 devices", stream="err")
        self.devices = [int(pid) for name in ("d0", "d1", "d2") for pid in
                        system.run("ip", "netns", "pids", self.space(process, name)).split()]
        self.assertEqual(len(self.devices), 3)
        self.assertGreater(len(self.remains(process.child.pid)), 1)
        return process

    def space(self, process, device):
        name = next(name for name in janitor.names() if name.startswith("shoal-lab-%d-" % process.child.pid))
        return "%s-%s" % (name, device)

    def janitor_of(self, process):
        """The one child that is no device."""
        return next(pid for pid in harness.children_of(process.child.pid) if pid not in self.devices)

    def check_devices_gone(self):
        self.wait_until(lambda: not any(harness.is_alive(pid) for pid in self.devices), "a device outlives the lab")

    def test_interrupted(self):
        process = self.started()
        process.signal(signal.SIGINT)
        result = process.wait()
        self.assertEqual(result.status, 130, str(result))
        self.assertTrue(os.path.exists(self.path("lab", "run", "checkpoints", "last.safetensors")))
        self.check_devices_gone()
        self.check_nothing_left(process.child.pid)

    def test_killed(self):
        """Frozen devices too."""
        process = self.started()
        os.kill(self.devices[1], signal.SIGSTOP)
        process.signal(signal.SIGKILL)
        self.check_devices_gone()
        self.wait_until(lambda: not self.remains(process.child.pid), "something is left of it")

    def test_killed_with_its_janitor(self):
        process = self.started()
        os.kill(self.janitor_of(process), signal.SIGKILL)
        process.signal(signal.SIGKILL)
        self.check_devices_gone()
        self.assertGreater(len(self.remains(process.child.pid)), 1)
        name = self.space(process, "x")[:-2]
        process.child.wait()
        result = self.lab("clean").wait()
        self.assertEqual(result.status, 0, str(result))
        self.assertIn("%s is gone\n" % name, result.out)
        self.check_nothing_left(process.child.pid)

    def test_one_that_lives_is_left_alone(self):
        process = self.started()
        result = self.lab("clean").wait()
        self.assertIn("%s runs and is left alone\n" % self.space(process, "x")[:-2], result.out)
        self.assertEqual([pid for pid in self.devices if not harness.is_alive(pid)], [])
        process.signal(signal.SIGINT)
        self.assertEqual(process.wait().status, 130)


if __name__ == "__main__":
    harness.main()
