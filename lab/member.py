# SPDX-License-Identifier: Apache-2.0
"""One device of the lab: its namespace, its group, and the `shoal` that runs in them, again and again.

    member = Member(device, network.namespace(name), groups.make(name), folder)
    member.start([shoal, "join", "-", ...], token)
    member.freeze(True)
    member.ended(time.monotonic())       # when its `pidfd` has become readable

The process dies with the lab. It has a network, a host name, a HOME and a share of the processors of its own, and
sees the rest of the machine as it is, but for the folders that are hidden from it.
"""

import os
import signal
import subprocess

import system
from network import NETNS


class Member:
    def __init__(self, device, namespace, group, folder):
        self.device, self.name = device, device.name
        self.folder = os.path.join(folder, device.name)
        self.log_path = os.path.join(folder, device.name + ".log")
        self.events_path = os.path.join(folder, device.name + ".events")
        self._namespace, self.group = namespace, group
        self.cpu, self.link = device.cpu, device.link
        self.child, self.pidfd = None, None
        self.frozen = self.unplugged = False
        self.apart = set()
        self.runs = []  # {"began", "ended", "status", "by"} in monotonic seconds
        os.makedirs(self.folder, exist_ok=True)

    def is_running(self):
        return self.child is not None

    def state(self):
        if not self.is_running():
            return "away"
        for what, true in (("frozen", self.frozen), ("unplugged", self.unplugged), ("parted", self.apart)):
            if true:
                return what
        return "at work"

    def start(self, argv, now, given=None, out=None, err=None):
        """Starts it with `given` on its standard input; what has no place goes to its log."""
        parent = os.getpid()
        log = os.open(self.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            self.child = subprocess.Popen(
                argv, stdin=subprocess.PIPE if given else subprocess.DEVNULL, stdout=out or log, stderr=err or log,
                env={**os.environ, "HOME": self.folder, "XDG_CACHE_HOME": os.path.join(self.folder, "cache")},
                start_new_session=True, preexec_fn=lambda: self._settle(parent))
        finally:
            os.close(log)
        self.pidfd = os.pidfd_open(self.child.pid)
        self.runs.append({"began": now, "ended": None, "status": None, "by": None})
        self.frozen = False
        if given:
            try:
                self.child.stdin.write(given.encode())
                self.child.stdin.close()
            except BrokenPipeError:
                pass  # it has ended already, and is told of when it is collected

    def _settle(self, parent):
        """In the new process, before it becomes the program."""
        try:
            if not system.die_with(parent, signal.SIGKILL):
                os._exit(126)
            system.enter(NETNS + self._namespace)
            system.name_host(self.name)
            if self.device.hide:
                system.hide(self.device.hide)
            self.group.enter(os.getpid())
        except Exception as error:
            os.write(2, ("lab: %s cannot be started: %s\n" % (self.name, error)).encode())
            os._exit(126)

    def ended(self, now):
        """Collects it; its exit status, negative where a signal ended it."""
        status = self.child.wait()
        os.close(self.pidfd)
        self.child, self.pidfd, self.frozen = None, None, False
        self.runs[-1].update(ended=now, status=status)
        return status

    def interrupt(self):
        self.child.send_signal(signal.SIGINT)

    def kill(self, by):
        self.runs[-1]["by"] = by
        os.killpg(self.child.pid, signal.SIGKILL)

    def freeze(self, frozen):
        os.killpg(self.child.pid, signal.SIGSTOP if frozen else signal.SIGCONT)
        self.frozen = frozen

    def last_words(self):
        """The last line of its log."""
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as file:
                lines = [line.strip() for line in file if line.strip()]
        except OSError:
            return ""
        return lines[-1] if lines else ""
