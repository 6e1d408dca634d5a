# SPDX-License-Identifier: Apache-2.0
"""A lab's file: the job, the devices, their links, and what happens when. README.md has its form.

    lab = labfile.load("chaos.toml")       # system.Trouble names file, line, key and remedy
    lab.devices[1].cpu                     # 0.2
    for happening in lab.timeline: ...

What a file leaves out has a default, and what it says wrongly or twice is refused: nothing is ignored.
"""

import os
import re
import shlex
import string
import tomllib

from network import Link
from system import Trouble

MOST_DEVICES = 250  # as many as the lab's network has addresses
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}\Z")
RATES = {"bit": 1.0, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}
TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# What the lab itself tells `shoal train`.
OWN_OPTIONS = ("--listen", "--run", "--json", "--events", "--resume", "--min-devices")

# What can happen -> keys that it needs, keys that it may have. `for` undoes it so many seconds later.
ACTIONS = {
    "join": (("device",), ()),
    "leave": (("device",), ("for",)),
    "kill": (("device",), ("for",)),
    "freeze": (("device",), ("for",)),
    "thaw": (("device",), ()),
    "unplug": (("device",), ("for",)),
    "plug": (("device",), ()),
    "cpu": (("device", "cpu"), ("for",)),
    "link": (("device", "link"), ("for",)),
    "partition": (("devices",), ("for",)),
    "heal": (("devices",), ()),
    "restart-coordinator": ((), ()),
    "restart": ((), ("devices",)),
}


class Device:
    """name, cpu (cores; None: all), link, memory (bytes; None: any), lanes, data, options, hide, later."""

    def __init__(self, name):
        self.name = name
        self.cpu = self.memory = self.lanes = self.data = None
        self.link = Link()
        self.options, self.hide, self.later = [], [], False


class Happening:
    """An action, at `time` (seconds since training began) or at `step` (when it was applied)."""

    def __init__(self, action, line):
        self.action, self.line = action, line
        self.time = self.step = self.device = self.cpu = self.link = self.lasts = None
        self.devices = []

    def text(self):
        what = [self.device or " ".join(self.devices)]
        if self.cpu is not None:
            what.append("%g" % self.cpu)
        if self.link is not None:
            what.append("at full speed" if self.link.rate is None else "%g Mbit/s" % (self.link.rate / 1e6))
        if self.lasts is not None:
            what.append("for %g s" % self.lasts)
        return " ".join([self.action] + [word for word in what if word])


class Chaos:
    """seed, events, first and last step, kinds, lasts (seconds, least and most)."""

    def __init__(self):
        self.seed, self.events = 1, 0
        self.first, self.last = 1, 1
        self.kinds = ["join", "leave", "kill", "freeze", "partition", "unplug"]
        self.lasts = (0.1, 2.0)


class Lab:
    def __init__(self, path):
        self.path = path
        self.command, self.resume_options = [], []
        self.devices, self.timeline, self.chaos = [], [], None

    def first(self):
        """The devices that take part from the start: all but those that are `later`, or whose timeline begins
        with `join`."""
        # Steps and seconds do not compare, so the file's order decides.
        opening = {}
        for happening in self.timeline:
            for name in [happening.device, *happening.devices]:
                opening.setdefault(name, happening.action)
        return [device for device in self.devices if not device.later and opening.get(device.name) != "join"]


class _Places:
    """Where a file's tables and keys are: (header, index) -> line, (header, index, key) -> line."""

    def __init__(self, text):
        self._lines, counts, where = {}, {}, ("", 0)
        for number, line in enumerate(text.splitlines(), 1):
            header = re.match(r"\s*\[\[?\s*([\w-]+)\s*\]\]?", line)
            key = re.match(r"\s*([\w-]+)\s*=", line)
            if header:
                where = header.group(1), counts.get(header.group(1), 0)
                counts[header.group(1)] = where[1] + 1
                self._lines[where] = number
            elif key:
                self._lines.setdefault((*where, key.group(1)), number)

    def line(self, header, index=0, key=None):
        for place in ((header, index, key), (header, index), ("", 0, header)):
            if place in self._lines:
                return self._lines[place]
        return 1


class _Table:
    """One table of the file, whose keys are taken one by one; `done` refuses what is left."""

    def __init__(self, reader, header, index, values):
        self.reader, self.header, self.index = reader, header, index
        if not isinstance(values, dict):
            raise Trouble("%s:%d: '%s' must be a table: write [%s] on a line of its own" % (
                reader.path, reader.places.line(header), header, header))
        self.values = dict(values)
        self.known = []

    def fail(self, key, text):
        raise Trouble("%s:%d: [%s]%s: %s" % (
            self.reader.path, self.reader.places.line(self.header, self.index, key), self.header,
            " %s" % key if key else "", text))

    def line(self):
        return self.reader.places.line(self.header, self.index)

    def take(self, key, convert, default=None, needed=False):
        self.known.append(key)
        if key not in self.values:
            if needed:
                self.fail(None, "has no '%s'; %s" % (key, convert.__doc__))
            return default
        value = self.values.pop(key)
        try:
            return convert(value)
        except (ValueError, TypeError):
            return self.fail(key, "%s: must be %s" % (_shown(value), convert.__doc__))

    def done(self):
        for key in self.values:
            self.fail(key, "is not known here; known: %s" % ", ".join(self.known))


def _shown(value):
    return "'%s'" % value if isinstance(value, str) else str(value)


def _unit(value, units):
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value) if isinstance(value, str) else None
    if not match or match.group(2) not in units:
        raise ValueError
    return float(match.group(1)) * units[match.group(2)]


def _number(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError
    return value


def a_rate(value):
    """a rate with its unit, from 1kbit up, such as "100Mbit" or "1Gbit" """
    rate = _unit(value, RATES)
    if not 1e3 <= rate <= 1e12:
        raise ValueError
    return rate


def a_duration(value):
    """a time with its unit, such as "5ms" """
    return _unit(value, TIMES)


def a_loss(value):
    """a percentage below 100, such as "0.5%" """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value)
    if not match or float(match.group(1)) >= 100:
        raise ValueError
    return float(match.group(1)) / 100


def a_memory(value):
    """a number of bytes, such as "96M", at least 1M"""
    count = int(_unit(value, BYTES))
    if count < BYTES["M"]:
        raise ValueError
    return count


def cores(value):
    """a number of cores from 0.01 up, such as 0.2 for a fifth of one"""
    if not 0.01 <= _number(value) <= 1024:
        raise ValueError
    return float(value)


def a_whole(value):
    """a whole number, at least 1"""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError
    return value


def seconds(value):
    """a number of seconds, at least 0"""
    if not 0 <= _number(value) < 1e6:
        raise ValueError
    return float(value)


def a_seed(value):
    """a whole number, at least 0"""
    return 0 if value == 0 and not isinstance(value, bool) else a_whole(value)


def a_name(value):
    """a name of letters, digits, '.', '_' and '-', at most 32, that begins with a letter or digit"""
    if not NAME.match(value):
        raise ValueError
    return value


def text(value):
    """text in quotes"""
    if not isinstance(value, str):
        raise ValueError
    return value


def truth(value):
    """true or false"""
    if not isinstance(value, bool):
        raise ValueError
    return value


def arguments(value):
    """arguments as on a command line, such as "--lanes 1"; quotes must close"""
    return shlex.split(value)


def names(value):
    """a list of devices' names, such as ["a", "b"]"""
    if not isinstance(value, list) or not value:
        raise ValueError
    return [a_name(name) for name in value]


def folders(value):
    """a list of folders that are there, such as ["/data"]"""
    if not isinstance(value, list) or not all(os.path.isdir(folder) for folder in value):
        raise ValueError
    return value


def a_span(value):
    """two numbers of seconds, the least and the most, such as [0.1, 2]"""
    least, most = value
    if seconds(least) > seconds(most):
        raise ValueError
    return float(least), float(most)


def kinds(value):
    """a list of some of join, leave, kill, freeze, unplug, partition"""
    if not isinstance(value, list) or not value or not set(value) <= set(Chaos().kinds):
        raise ValueError
    return value


class _Reader:
    def __init__(self, path, source):
        self.path, self.places = path, _Places(source)
        self.lab = Lab(path)
        self._names = {}

    def table(self, header, index, values):
        return _Table(self, header, index, values)

    def tables(self, content, header):
        values = content.pop(header, [])
        if not isinstance(values, list):
            raise Trouble("%s:%d: write [[%s]] with two brackets: there may be several" % (
                self.path, self.places.line(header), header))
        return [self.table(header, index, each) for index, each in enumerate(values)]

    def read(self, content):
        known = "[job], [links], [[device]], [[at]], [chaos]"
        if "job" not in content:
            raise Trouble("%s: has no [job]: add one with command = \"MODEL DATA [options]\"" % self.path)
        self._job(self.table("job", 0, content.pop("job")))
        link = self._links(self.table("links", 0, content.pop("links", {})))
        for table in self.tables(content, "device"):
            self._device(table, link)
        if not self.lab.devices:
            raise Trouble("%s: has no [[device]]: the first one is the coordinator" % self.path)
        for table in self.tables(content, "at"):
            self._happening(table)
        if "chaos" in content:
            self._chaos(self.table("chaos", 0, content.pop("chaos")))
        for header in content:
            raise Trouble("%s:%d: '%s' is not known here; known: %s" % (
                self.path, self.places.line(header), header, known))
        if self.lab.devices[0] not in self.lab.first():
            raise Trouble("%s: device '%s' is the coordinator, so it cannot join later: let the first "
                          "[[device]] be one that is there from the start" % (self.path, self.lab.devices[0].name))
        return self.lab

    def _job(self, table):
        command = table.take("command", arguments, needed=True)
        try:
            self.lab.command = [string.Template(word).substitute(os.environ) for word in command]
        except KeyError as missing:
            table.fail("command", "$%s: no such environment variable: set it" % missing.args[0])
        except ValueError:
            table.fail("command", "a $ stands for an environment variable, such as $SHOAL_TEST_DATA; "
                       "write $$ for the sign itself")
        for option in OWN_OPTIONS:
            if any(word == option or word.startswith(option + "=") for word in command):
                table.fail("command", "%s is given by the lab: leave it out" % option)
        self.lab.resume_options = table.take("resume-options", arguments, [])
        table.done()

    def _links(self, table):
        link = Link()
        link.rate = table.take("rate", a_rate)
        link.delay = table.take("delay", a_duration, 0.0)
        link.loss = table.take("loss", a_loss, 0.0)
        link.queue = table.take("queue", a_duration, link.queue)
        table.done()
        return link

    def _link_of(self, table, base):
        """The device's link: "10Mbit", or a table of what differs from [links]."""
        table.known.append("link")
        if "link" not in table.values:
            return None
        value = table.values.pop("link")
        inner = _Table(self, table.header, table.index, value if isinstance(value, dict) else {"rate": value})
        link = Link()
        try:
            link.rate = inner.take("rate", a_rate, base.rate)
        except Trouble:
            table.fail("link", "%s: must be %s" % (_shown(value), a_rate.__doc__))
        link.delay = inner.take("delay", a_duration, base.delay)
        link.loss = inner.take("loss", a_loss, base.loss)
        link.queue = inner.take("queue", a_duration, base.queue)
        inner.done()
        return link

    def _device(self, table, link):
        count = table.take("count", a_whole, 1)
        base = table.take("name", a_name, "d%d" % len(self.lab.devices) if count == 1 else "d")
        settings = {
            "cpu": table.take("cpu", cores), "memory": table.take("memory", a_memory),
            "lanes": table.take("lanes", a_whole), "data": table.take("data", text),
            "options": table.take("options", arguments, []), "hide": table.take("hide", folders, []),
            "later": table.take("later", truth, False),
            "link": self._link_of(table, link) or link}
        for number in range(count):
            device = Device(base if count == 1 else "%s%d" % (base, len(self.lab.devices)))
            vars(device).update(settings)
            if device.name in self._names or device.name == "hub":
                table.fail("name", "'%s' is taken: each device has a name of its own" % device.name)
            self._names[device.name] = device
            self.lab.devices.append(device)
        if len(self.lab.devices) > MOST_DEVICES:
            table.fail("count", "more than %d devices: the lab's network has no more" % MOST_DEVICES)
        if self.lab.devices[0].data is not None:
            self.table("device", 0, {}).fail("data", "is for devices that join: device 0 has the job's command")
        table.done()

    def _known(self, table, key, name):
        if name is not None and name not in self._names:
            table.fail(key, "there is no device '%s'; there are: %s" % (name, ", ".join(self._names)))
        return name

    def _happening(self, table):
        action = table.take("action", text, needed=True)
        if action not in ACTIONS:
            table.fail("action", "'%s' is none; there are: %s" % (action, ", ".join(ACTIONS)))
        happening = Happening(action, table.line())
        happening.time, happening.step = table.take("time", seconds), table.take("step", a_whole)
        if (happening.time is None) == (happening.step is None):
            table.fail(None, "needs either time = SECONDS or step = N")
        needs, may = ACTIONS[action]
        for key, convert in (("device", a_name), ("devices", names), ("cpu", cores), ("for", seconds)):
            if key in needs + may:
                value = table.take(key, convert, needed=key in needs)
                if value is not None:
                    setattr(happening, {"for": "lasts"}.get(key, key), value)
        if "link" in needs:
            happening.link = self._link_of(table, self._links(self.table("links", 0, {})))
            if happening.link is None:
                table.fail(None, "has no 'link'; %s" % a_rate.__doc__)
        table.done()
        self._check(table, happening)
        self.lab.timeline.append(happening)

    def _check(self, table, happening):
        self._known(table, "device", happening.device)
        for name in happening.devices:
            self._known(table, "devices", name)
        coordinator = self.lab.devices[0].name
        if happening.action in ("partition", "heal") and len(set(happening.devices)) != 2:
            table.fail("devices", "must be two different devices")
        if happening.action == "join" and happening.device == coordinator:
            table.fail("device", "'%s' is the coordinator: it comes back by restart-coordinator" % coordinator)
        if happening.device == coordinator and happening.lasts is not None and happening.action in ("leave", "kill"):
            table.fail("for", "'%s' is the coordinator: it comes back by restart-coordinator" % coordinator)
        if happening.action == "restart" and happening.devices and happening.devices[0] != coordinator:
            table.fail("devices", "must begin with the coordinator, '%s'" % coordinator)

    def _chaos(self, table):
        chaos = Chaos()
        chaos.seed = table.take("seed", a_seed, chaos.seed)
        chaos.events = table.take("events", a_whole, needed=True)
        chaos.first = table.take("first-step", a_whole, 1)
        chaos.last = table.take("last-step", a_whole, needed=True)
        chaos.kinds = table.take("kinds", kinds, chaos.kinds)
        chaos.lasts = table.take("for", a_span, chaos.lasts)
        table.done()
        if chaos.first > chaos.last:
            table.fail("last-step", "%d: must not be before first-step, %d" % (chaos.last, chaos.first))
        if len(self.lab.devices) < 2:
            table.fail(None, "needs a second device: what it does spares the coordinator")
        self.lab.chaos = chaos


def load(path):
    try:
        with open(path, "rb") as file:
            source = file.read().decode("utf-8")
    except OSError as error:
        raise Trouble("%s: %s" % (path, error.strerror)) from None
    except UnicodeDecodeError as error:
        raise Trouble("%s: byte %d is not UTF-8: save it as UTF-8 text" % (path, error.start)) from None
    return parse(path, source)


def parse(path, source):
    try:
        content = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        match = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error))
        where, said = (":" + match.group(2), match.group(1)) if match else ("", str(error))
        raise Trouble("%s%s: not TOML: %s" % (path, where, said)) from None
    return _Reader(path, source).read(content)
