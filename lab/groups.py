# SPDX-License-Identifier: Apache-2.0
"""Control groups, version 1 or 2, whichever this machine has: a device's share of the processors, its memory.

    groups = Groups.found(name)            # makes nothing yet
    group = groups.make("d2")
    group.limit_cpu(0.2)                   # a fifth of a core
    group.limit_memory(64 << 20)
    group.enter(os.getpid())
    groups.close()                         # kills what is left in them, and removes them

Groups are made below those in which the lab runs itself, so its own limits stay in force. Version 2 lets no
group that holds processes divide its controllers, so there they are made below the nearest group above that
does. PERIOD_US is a tenth of the system's default: a device at 0.2 gets 2 of every 10 milliseconds, and is
not stopped for 80 of 100, which would show in every latency.
"""

import os
import signal
import time

PERIOD_US = 10_000
LEAST_QUOTA_US = 1_000  # the kernel's
V1, V2 = 1, 2
# The lab's own group goes before other processes, so that devices get their quotas on a machine that is not idle.
HEAVIEST = {V1: ("cpu.shares", "262144"), V2: ("cpu.weight", "10000")}


class Missing(Exception):
    """The controller that this machine has not, and why."""


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _mounts(mountinfo):
    """(version, controllers, root, place) of each mount of control groups."""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if kind[0] == "cgroup":
            yield V1, kind[2].split(","), fields[3], fields[4]
        elif kind[0] == "cgroup2":
            yield V2, [], fields[3], fields[4]


def _own(cgroup, controller):
    """The path of this process's group in the hierarchy of the controller ('': version 2)."""
    for line in cgroup.splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    return "/"


def _place(root, mounted, path):
    inside = os.path.relpath(path, root) if path.startswith(root) else "."
    return os.path.normpath(os.path.join(mounted, "" if inside.startswith("..") else inside))


def _dividing(folder, top, controller):
    """The nearest group from `folder` up that hands the controller to those below it; None: none does."""
    while True:
        if controller in _read(os.path.join(folder, "cgroup.subtree_control")).split():
            return folder
        if folder == top:
            return None
        folder = os.path.dirname(folder)


def parents(mountinfo, cgroup):
    """Where groups can be made: controller -> (version, folder), for cpu and memory."""
    found = {}
    for version, controllers, root, mounted in _mounts(mountinfo):
        if version == V1:
            for controller in {"cpu", "memory"} & set(controllers):
                found[controller] = V1, _place(root, mounted, _own(cgroup, controller))
            continue
        offered = _read(os.path.join(mounted, "cgroup.controllers")).split()
        for controller in {"cpu", "memory"} & set(offered):
            folder = _dividing(_place(root, mounted, _own(cgroup, "")), mounted, controller)
            if folder is None:
                _write(os.path.join(mounted, "cgroup.subtree_control"), "+" + controller)
                folder = mounted
            found[controller] = V2, folder
    # A process is in one group of version 2. What divides a controller is divided by all above it, so the
    # higher place serves both.
    second = [folder for version, folder in found.values() if version == V2]
    return {controller: (version, min(second, key=len) if version == V2 else folder)
            for controller, (version, folder) in found.items()}


def quota(cpu):
    """(quota, period) in microseconds for so many cores."""
    period = max(PERIOD_US, round(LEAST_QUOTA_US / cpu))
    return round(period * cpu), period


class Group:
    """One device's. Folders are made when the first limit needs them."""

    def __init__(self, parts, name):
        self._parts, self._name = parts, name
        self.folders = {}

    def _part(self, controller):
        if controller not in self._parts:
            raise Missing("this kernel offers no controller '%s' here, in control groups of version 1 or 2" %
                          controller)
        version, parent = self._parts[controller]
        if controller not in self.folders:
            folder = os.path.join(parent, self._name)
            os.makedirs(folder, exist_ok=True)
            if version == V2:
                # The lab's own group divides too, so that the device's has files to write to.
                _write(os.path.join(parent, "cgroup.subtree_control"), "+" + controller)
            self.folders[controller] = folder
        return version, self.folders[controller]

    def limit_cpu(self, cpu):
        version, folder = self._part("cpu")
        name, most = HEAVIEST[version]
        _write(os.path.join(os.path.dirname(folder), name), most)
        quota_us, period_us = quota(cpu)
        if version == V2:
            _write(os.path.join(folder, "cpu.max"), "%d %d" % (quota_us, period_us))
            return
        # In this order no pair in between is refused.
        _write(os.path.join(folder, "cpu.cfs_quota_us"), "-1")
        _write(os.path.join(folder, "cpu.cfs_period_us"), str(period_us))
        _write(os.path.join(folder, "cpu.cfs_quota_us"), str(quota_us))

    def limit_memory(self, count):
        version, folder = self._part("memory")
        if version == V1:
            _write(os.path.join(folder, "memory.limit_in_bytes"), str(count))
            return
        _write(os.path.join(folder, "memory.max"), str(count))
        if os.path.exists(os.path.join(folder, "memory.swap.max")):
            _write(os.path.join(folder, "memory.swap.max"), "0")

    def enter(self, pid):
        for folder in set(self.folders.values()):
            _write(os.path.join(folder, "cgroup.procs"), str(pid))


class Groups:
    """All groups of one lab, in a folder of its own in each hierarchy."""

    def __init__(self, name, found):
        self.name = name
        self._found = {controller: (version, os.path.join(parent, name))
                       for controller, (version, parent) in found.items()}

    @classmethod
    def found(cls, name):
        return cls(name, parents(_read("/proc/self/mountinfo"), _read("/proc/self/cgroup")))

    def version(self, controller):
        """1 or 2; None where there is none."""
        return self._found.get(controller, (None, None))[0]

    def folders(self):
        """The lab's own, to be removed by whoever cleans up."""
        return sorted({folder for _, folder in self._found.values()})

    def make(self, name):
        return Group(self._found, name)

    def close(self):
        for folder in self.folders():
            remove(folder)


def remove(folder, patience=5.0):
    """Kills what runs in a lab's group and in those below, and removes them. None there: nothing to do."""
    deadline = time.monotonic() + patience
    below = [place for place, _, _ in os.walk(folder, topdown=False)]
    while below:
        for place in below:
            _kill_all(place)
        below = [place for place in below if not _removed(place)]
        if below and time.monotonic() > deadline:
            raise OSError("%s: processes in it do not end" % below[0])
        if below:
            time.sleep(0.01)


def _kill_all(folder):
    try:
        for pid in _read(os.path.join(folder, "cgroup.procs")).split():
            os.kill(int(pid), signal.SIGKILL)
    except OSError:
        pass  # gone meanwhile


def _removed(folder):
    try:
        os.rmdir(folder)
        return True
    except FileNotFoundError:
        return True
    except OSError:
        return False
