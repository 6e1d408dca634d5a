# SPDX-License-Identifier: Apache-2.0
"""Leaves nothing behind: a process that outlives the lab and removes what it made, however it ended.

    janitor = Janitor(name, group_folders)     # before anything is made
    ...
    janitor.finish()                           # the same work, now

All that a lab makes begins with its name, shoal-lab-PID-START, where START is when the process of that number
began: so a lab that is dead is told from one that lives, even where the number was given out again. The janitor
waits for the end of a pipe whose other end only the lab holds. Should both be killed, `lab clean` does its work.
"""

import json
import os
import re
import signal
import sys
import time

import groups
import system
from network import NETNS

STATE = "/run/shoal-lab"
NAME = re.compile(r"(shoal-lab-(\d+)-(\d+))(?:-.+|\.json)?\Z")
PATIENCE = 5.0


def own_name():
    return "shoal-lab-%d-%d" % (os.getpid(), system.started_at(os.getpid()))


def names():
    """Of all labs, dead or alive, of which there is something."""
    found = set()
    for folder in (NETNS, STATE):
        entries = os.listdir(folder) if os.path.isdir(folder) else []
        found |= {match.group(1) for match in map(NAME.match, entries) if match}
    return sorted(found)


def is_alive(name):
    match = NAME.match(name)
    return system.started_at(int(match.group(2))) == int(match.group(3))


def clean(name):
    """Ends the processes of a lab and removes its namespaces, groups and state."""
    state = os.path.join(STATE, name + ".json")
    spaces = [entry for entry in os.listdir(NETNS) if entry.startswith(name + "-")] if os.path.isdir(NETNS) else []
    _kill(spaces)
    try:
        with open(state, encoding="utf-8") as file:
            folders = json.load(file)["groups"]
    except (OSError, ValueError, KeyError):
        folders = []
    for folder in folders:
        groups.remove(folder)
    for space in spaces:
        system.works("ip", "netns", "delete", space)
    if os.path.exists(state):
        os.unlink(state)


def _kill(spaces):
    """Every process in the namespaces, and waits until they are gone: a namespace lives as long as one does."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = [int(pid) for space in spaces for pid in system.run("ip", "netns", "pids", space).split()]
        found = [pid for pid in found if system.started_at(pid) is not None and pid != os.getpid()]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


class Janitor:
    def __init__(self, name, group_folders):
        os.makedirs(STATE, mode=0o755, exist_ok=True)
        with open(os.path.join(STATE, name + ".json"), "w", encoding="utf-8") as file:
            json.dump({"groups": group_folders}, file)
        end, self._held = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._held)
            _work(end, name)
        os.close(end)

    def finish(self):
        """True where nothing is left."""
        os.close(self._held)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1]) == 0


def _work(end, name):
    """The janitor's life; does not return."""
    status = 1
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.read(end, 1)
        clean(name)
        status = 0
    except Exception as error:  # whatever it is, somebody has to hear of it
        print("lab: cleaning up after %s: %s; try: lab/lab clean" % (name, error), file=sys.stderr)
    finally:
        os._exit(status)
