# SPDX-License-Identifier: Apache-2.0
"""One run of a lab: devices started, the timeline carried out, everything noted, nothing left behind.

    status = Session(lab, Options(program=..., folder=..., json=None, limit=None)).run()

One thread and one wait for everything: the ends of processes (their pidfds), what device 0 prints, its events (a
pipe, so a step is known when it is applied), signals, and the next moment of the timeline. Device 0 is the
coordinator: it runs `shoal train`, the others `shoal join` with the token that it prints. The lab ends when device 0
has, and nothing is due that would start it again.
"""

import heapq
import itertools
import json
import math
import os
import re
import selectors
import signal
import sys
import time

import faults
import system
from groups import Groups, Missing
from janitor import Janitor, own_name
from labfile import Happening
from member import Member
from network import Network, has_qdisc
from record import Record
from system import Trouble

PORT = 7700
GRACE = 15.0  # seconds for the others to end by themselves once device 0 has
TOKEN = re.compile(r"(shoal://\S+)\s*\Z")
INVERSE = {"freeze": "thaw", "unplug": "plug", "partition": "heal", "leave": "join", "kill": "join",
           "cpu": "cpu", "link": "link"}


class Options:
    def __init__(self, program, folder, json_path=None, limit=None, quiet=False):
        self.program, self.folder, self.json_path = program, os.path.abspath(folder), json_path
        self.limit, self.quiet = limit, quiet


class Session:
    def __init__(self, lab, options):
        self.lab, self.options = lab, options
        self.name = own_name()
        self.record = Record(lab, self.name)
        self.network = Network(self.name)
        self.groups = Groups.found(self.name)
        self.members, self.coordinator = [], None
        self.run_folder = os.path.join(options.folder, "run")
        self.token = None
        self._waiting = []  # members that start when there is a token
        self._select = selectors.DefaultSelector()
        self._at_steps = sorted((each for each in lab.timeline if each.step is not None), key=lambda each: each.step)
        self._turns = faults.draw(lab.chaos, [device.name for device in lab.devices]) if lab.chaos else []
        self._due, self._order = [], itertools.count()  # (moment, number, happening)
        self._restart = None  # (members that must have ended, members to start then), while one is under way
        self._deadline, self._asked = None, 0

    # ---- making and ending ----

    def run(self):
        """The exit status: device 0's; 1 where it was ended by a signal or a limit."""
        self._check()
        os.makedirs(self.options.folder, exist_ok=True)
        if os.path.exists(self.run_folder):
            raise Trouble("%s: holds another run of the lab: name a new folder with --folder" % self.options.folder)
        janitor = Janitor(self.name, self.groups.folders())
        status, clean = 1, False
        try:
            self._make()
            self._loop()
            status = self._status()
        except Missing as missing:
            raise Trouble(str(missing)) from None
        finally:
            for member in self.members:
                if member.is_running():
                    member.kill("lab")
                    member.ended(time.monotonic())
            clean = janitor.finish()
        self.record.about["clean"] = clean
        self._write(status)
        return status if clean else 1

    def _check(self):
        """What the file asks for and this machine has not, before anything is made."""
        path = self.lab.path
        asked = self.lab.devices + [each for each in self.lab.timeline if each.link is not None]
        for controller in ("cpu", "memory"):
            wants = [each for each in self.lab.devices + self.lab.timeline if getattr(each, controller, None) is not None]
            if wants and self.groups.version(controller) is None:
                raise Trouble("%s: asks for '%s', and this kernel offers no such controller in control groups of "
                              "version 1 or 2: leave it out, or mount them" % (path, controller))
        if any(each.link.needs_netem() for each in asked) and not has_qdisc("netem", "delay", "1ms"):
            raise Trouble("%s: asks for delay or loss, and this kernel has no netem (CONFIG_NET_SCH_NETEM): leave "
                          "them out" % path)
        if any(each.link.rate for each in asked) and not has_qdisc(
                "tbf", "rate", "1mbit", "burst", "4000", "limit", "9000"):
            raise Trouble("%s: asks for rates, and this kernel has no token bucket (CONFIG_NET_SCH_TBF): leave them "
                          "out" % path)
        if not os.access(self.options.program, os.X_OK):
            raise Trouble("%s: there is no such program: build a release, or name it with --program or SHOAL" %
                          self.options.program)

    def _make(self):
        devices = self.lab.devices
        self.network.make([device.name for device in devices], {device.name: device.link for device in devices})
        for device in devices:
            group = self.groups.make(device.name)
            if device.cpu is not None:
                group.limit_cpu(device.cpu)
            if device.memory is not None:
                group.limit_memory(device.memory)
            self.members.append(Member(device, self.network.namespace(device.name), group, self.options.folder))
        self.coordinator = self.members[0]
        self.record.about.update(groups={each: self.groups.version(each) for each in ("cpu", "memory")},
                                 began=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        self._listen()
        first = [self._member(device.name) for device in self.lab.first()]
        self._start_all(first, self.lab.command, len(first))

    def _listen(self):
        """The pipe of device 0's events, and signals."""
        path = os.path.join(self.options.folder, "events.pipe")
        os.mkfifo(path)
        self._events_path = path
        self._events = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._text = {}
        self._watch(self._events, self._on_events)
        end, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        self._watch(end, self._on_signal)

    def _watch(self, descriptor, do):
        self._select.register(descriptor, selectors.EVENT_READ, do)

    def _member(self, name):
        return next(member for member in self.members if member.name == name)

    # ---- starting devices ----

    def _start_all(self, members, command, least):
        """Device 0 with that command, the others as soon as it has a token."""
        self.token = None
        self._waiting = [member for member in members if member is not self.coordinator]
        lanes = self._lanes(self.coordinator)
        argv = [self.options.program, "train", *command, "--listen", "%s:%d" % (self.network.address(
            self.coordinator.name), PORT), "--json", os.path.join(self.options.folder, "summary.json"),
            "--events", self._events_path, *(["--min-devices", str(least)] if least else []),
            *([] if "--lanes" in command else lanes), *self.coordinator.device.options]
        if "--resume" not in command:
            argv += ["--run", self.run_folder]
        out, told = os.pipe()
        err = None
        watched = [(out, sys.stdout)]
        if not (sys.stderr.isatty() and not self.options.quiet):
            seen, err = os.pipe()
            watched.append((seen, sys.stderr))
        self._launch(self.coordinator, argv, out=told, err=err if err is not None else sys.stderr.fileno())
        os.close(told)
        if err is not None:
            os.close(err)
        for descriptor, stream in watched:
            os.set_blocking(descriptor, False)
            self._watch(descriptor, lambda ready, stream=stream: self._on_output(ready, stream))

    def _lanes(self, member):
        """As many as it has cores, where the file says what those are."""
        if member.device.lanes is not None:
            return ["--lanes", str(member.device.lanes)]
        return ["--lanes", str(math.ceil(member.cpu))] if member.cpu is not None else []

    def _join(self, member):
        device = member.device
        argv = [self.options.program, "join", "-", "--name", member.name, "--events", member.events_path,
                "--never-lead", *self._lanes(member), *(["--data", device.data] if device.data else []), *device.options]
        self._launch(member, argv, given=self.token + "\n")

    def _launch(self, member, argv, **streams):
        member.start(argv, time.monotonic(), **streams)
        self._watch(member.pidfd, lambda _: self._on_end(member))

    # ---- what is heard ----

    def _chunk(self, descriptor):
        """Whole lines of what can be read; None at its end."""
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return []
        if not data:
            return None
        text = self._text.pop(descriptor, b"") + data
        *lines, rest = text.split(b"\n")
        if rest:
            self._text[descriptor] = rest
        return [line.decode("utf-8", "replace") for line in lines]

    def _on_events(self, descriptor):
        for line in self._chunk(descriptor) or []:
            event = self.record.heard(line)
            if event is None:
                continue
            if event["event"] == "started" and event["at"] == self.record.training:
                for happening in self.lab.timeline:
                    if happening.time is not None:
                        self._at(self.record.began + event["at"] + happening.time, happening)
            if event["event"] == "step":
                self._stepped(event["total_step"])

    def _stepped(self, step):
        while self._at_steps and self._at_steps[0].step <= step:
            self._do(self._at_steps.pop(0))
        while self._turns and self._turns[0].step <= step:
            turn = self._turns.pop(0)
            happening = turn.fit(lambda name: self._member(name).state())
            if happening is not None:
                self._do(happening)
            else:
                self.record.happened("none", time.monotonic(), skipped="no device is in a state for it")

    def _on_output(self, descriptor, stream):
        lines = self._chunk(descriptor)
        if lines is None:
            rest = self._text.pop(descriptor, b"")
            lines = [rest.decode("utf-8", "replace")] if rest else []
            self._select.unregister(descriptor)
            os.close(descriptor)
        with open(self.coordinator.log_path, "a", encoding="utf-8") as log:
            for line in lines:
                match = TOKEN.match(line)
                if match:
                    self.token = match.group(1)
                    for member in self._waiting:
                        self._join(member)
                    self._waiting = []
                else:  # the token is a secret
                    print(line, file=log)
                    if not self.options.quiet or stream is sys.stderr:
                        print(line, file=stream, flush=True)

    def _on_signal(self, descriptor):
        """Once: the job stops, with a checkpoint. Again: at once."""
        os.read(descriptor, 64)
        self._asked += 1
        self._due, self._at_steps, self._turns, self._restart = [], [], [], None
        running = [member for member in self.members if member.is_running()]
        self._say("stopping" if self._asked == 1 else "ending all devices at once")
        for member in running:
            if member.frozen:
                member.freeze(False)
        if self._asked == 1 and self.coordinator.is_running() and self.token:
            self.coordinator.interrupt()
            self._deadline = time.monotonic() + GRACE
            return
        for member in running:
            member.kill("lab")

    def _on_end(self, member):
        now = time.monotonic()
        self._select.unregister(member.pidfd)
        status = member.ended(now)
        # "ended" is a plain fact in the record; only what surprises is shown.
        self.record.happened("ended", now, device=member.name, status=status, by=member.runs[-1]["by"])
        if status != 0 and member.runs[-1]["by"] is None and member is not self.coordinator:
            words = member.last_words()
            self._say("%s ended by itself: %s%s" % (member.name, _status_text(status), ": " + words if words else ""))
        if member is self.coordinator:
            self._waiting = []
        self._resume_if_due()
        if not self._goes_on() and self._deadline is None:
            self._deadline = now + GRACE

    def _goes_on(self):
        """Does device 0 work, or will it be started again?"""
        return self.coordinator.is_running() or self._restart is not None or any(
            happening.action.startswith("restart") for _, _, happening in self._due)

    def _resume_if_due(self):
        """Device 0 goes on from its run, once all that a restart waits for have ended."""
        if self._restart is None or any(member.is_running() for member in self._restart[0]):
            return
        again = self._restart[1]
        self._restart = None
        self._start_all(again, ["--resume", self.run_folder, *self.lab.resume_options],
                        len(again) if len(again) > 1 else 0)

    # ---- the timeline ----

    def _at(self, moment, happening):
        heapq.heappush(self._due, (moment, next(self._order), happening))

    def _do(self, happening):
        """Carries it out and notes it, with what undoes it later."""
        before = time.monotonic()
        undo = None
        try:
            skipped, undo = getattr(self, "_do_" + happening.action.replace("-", "_"))(happening)
        except Trouble as trouble:
            skipped = str(trouble)
        after = time.monotonic()
        what = {"device": happening.device} if happening.device else {"devices": happening.devices}
        for key in ("cpu", "lasts"):
            if getattr(happening, key) is not None:
                what[key] = getattr(happening, key)
        if happening.link is not None:
            what["rate"] = happening.link.rate
        self.record.happened(happening.action, before, after - before, skipped, **what)
        self._say(happening.text() + (": not done: " + skipped if skipped else ""))
        if not skipped and happening.lasts is not None and undo is not None:
            self._at(after + happening.lasts, undo)

    def _inverse(self, happening):
        undo = Happening(INVERSE[happening.action], happening.line)
        undo.device, undo.devices = happening.device, happening.devices
        return undo

    def _running(self, happening):
        member = self._member(happening.device)
        if not member.is_running():
            raise Trouble("it is not there")
        return member

    def _do_join(self, happening):
        member = self._member(happening.device)
        if member.is_running():
            raise Trouble("it is there already")
        if self.token is None:
            raise Trouble("there is no job to join yet")
        self._join(member)
        return None, None

    def _do_leave(self, happening):
        member = self._running(happening)
        member.runs[-1]["by"] = "leave"
        member.interrupt()
        return None, self._inverse(happening)

    def _do_kill(self, happening):
        self._running(happening).kill("kill")
        return None, self._inverse(happening)

    def _do_freeze(self, happening):
        self._running(happening).freeze(True)
        return None, self._inverse(happening)

    def _do_thaw(self, happening):
        self._running(happening).freeze(False)
        return None, None

    def _do_unplug(self, happening):
        self.network.plug(happening.device, False)
        self._member(happening.device).unplugged = True
        return None, self._inverse(happening)

    def _do_plug(self, happening):
        self.network.plug(happening.device, True)
        self._member(happening.device).unplugged = False
        return None, None

    def _part(self, happening, apart):
        one, other = happening.devices
        self.network.partition(one, other, apart)
        for here, there in ((one, other), (other, one)):
            (self._member(here).apart.add if apart else self._member(here).apart.discard)(there)
        return None, self._inverse(happening) if apart else None

    def _do_partition(self, happening):
        return self._part(happening, True)

    def _do_heal(self, happening):
        return self._part(happening, False)

    def _do_cpu(self, happening):
        member = self._member(happening.device)
        undo = self._inverse(happening)
        undo.cpu = member.cpu if member.cpu is not None else float(os.cpu_count())
        member.group.limit_cpu(happening.cpu)
        if member.cpu is None and member.is_running():
            member.group.enter(member.child.pid)
        member.cpu = happening.cpu
        return None, undo

    def _do_link(self, happening):
        member = self._member(happening.device)
        undo = self._inverse(happening)
        undo.link = member.link
        self.network.set_link(happening.device, happening.link)
        member.link = happening.link
        return None, undo

    def _do_restart_coordinator(self, _):
        """Killed where it runs, and started again; the others are left alone."""
        self._begin_restart([self.coordinator], [self.coordinator])
        if self.coordinator.is_running():
            self.coordinator.kill("restart")
        self._resume_if_due()
        return None, None

    def _do_restart(self, happening):
        """What there was before elasticity: stop, checkpoint, begin again on the devices of now."""
        names = happening.devices or [member.name for member in self.members if member.is_running()]
        if self.coordinator.name not in names:
            names = [self.coordinator.name, *names]
        self._begin_restart(self.members, [self._member(name) for name in names])
        if self.coordinator.is_running():
            self.coordinator.interrupt()
        self._resume_if_due()
        return None, None

    def _begin_restart(self, ending, starting):
        if self._restart is not None:
            raise Trouble("another restart is under way")
        self._restart = ending, starting
        for member in ending:
            if member.is_running():
                member.runs[-1]["by"] = "restart"

    # ---- waiting ----

    def _loop(self):
        limit = self.record.began + self.options.limit if self.options.limit else math.inf
        while self._goes_on() or any(member.is_running() for member in self.members):
            now = time.monotonic()
            while self._due and self._due[0][0] <= now and self._goes_on():
                self._do(heapq.heappop(self._due)[2])
            if now >= min(limit, self._deadline or math.inf):
                self._say("some devices did not end by themselves: ending them" if now < limit else
                          "%g s are over (--limit): ending all devices" % self.options.limit)
                return
            next_due = self._due[0][0] if self._due and self._goes_on() else math.inf
            self._wait(min(limit, self._deadline or math.inf, next_due))
        while self._wait(0):  # what device 0 printed last
            pass

    def _wait(self, until):
        """Sleeps until something happens or the moment comes; whether something did."""
        left = None if math.isinf(until) else max(until - time.monotonic(), 0)
        ready = self._select.select(left)
        for key, _ in ready:
            key.data(key.fd)
        return bool(ready)

    def _status(self):
        status = self.coordinator.runs[-1]["status"] if self.coordinator.runs else None
        return status if status is not None and status >= 0 else 1

    def _say(self, text):
        if not self.options.quiet:
            print("%slab %8.3f s  step %-6d %s" % ("\r\033[K" if sys.stderr.isatty() else "",
                                                   time.monotonic() - self.record.began, self.record.step, text),
                  file=sys.stderr, flush=True)

    def _write(self, status):
        if self.options.json_path:
            content = self.record.as_json(self.members, self.network, self.run_folder, status)
            with open(self.options.json_path, "w", encoding="utf-8") as file:
                json.dump(content, file, indent=1)
                file.write("\n")


def _status_text(status):
    return "exit %d" % status if status >= 0 else signal.Signals(-status).name
