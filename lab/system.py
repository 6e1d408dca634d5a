# SPDX-License-Identifier: Apache-2.0
"""What the lab asks of Linux: commands of iproute2, namespaces entered for a moment, signals at death.

    system.need_root()
    system.run("ip", "netns", "add", name)      # Trouble with the command's own words where it fails
    with system.within("/run/netns/" + name):   # this thread, until the block ends
        ...

Threads: the lab has one.
"""

import contextlib
import ctypes
import os
import shutil
import subprocess

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWNET = 0x00020000, 0x04000000, 0x40000000
MS_REC, MS_SLAVE = 0x4000, 0x80000
PR_SET_PDEATHSIG = 1
CAP_NET_ADMIN, CAP_SYS_ADMIN = 12, 21

_libc = ctypes.CDLL(None, use_errno=True)


class Trouble(Exception):
    """What went wrong, in one line, with its remedy where it is known."""


def _checked(result, what):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, "%s: %s" % (what, os.strerror(error)))


def need_root():
    """Raises Trouble where this process may not make namespaces, links and groups."""
    if os.geteuid() != 0:
        raise Trouble("needs root, for network namespaces, links and CPU quotas: run it with sudo")
    for name, bit in (("CAP_NET_ADMIN", CAP_NET_ADMIN), ("CAP_SYS_ADMIN", CAP_SYS_ADMIN)):
        if not effective_capabilities() >> bit & 1:
            raise Trouble("needs %s, which this root has not: in a container, start it with --privileged" % name)
    for command in ("ip", "tc", "bridge"):
        if not shutil.which(command):
            raise Trouble("needs the command %s: apt-get install iproute2" % command)


def effective_capabilities():
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("CapEff:"):
                return int(line.split()[1], 16)
    return 0


def run(*argv, given=""):
    """Runs a command to its end with `given` on its standard input; its output."""
    done = subprocess.run(argv, input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "exit %d" % done.returncode).splitlines()[0]
        raise Trouble("%s: %s" % (" ".join(argv), said))
    return done.stdout


def works(*argv):
    try:
        run(*argv)
        return True
    except Trouble:
        return False


@contextlib.contextmanager
def within(netns):
    """Enters the network namespace of that path, and comes back."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(netns)
        yield
    finally:
        _checked(_libc.setns(home, CLONE_NEWNET), "back from " + netns)
        os.close(home)


def enter(netns):
    there = os.open(netns, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _checked(_libc.setns(there, CLONE_NEWNET), netns)
    finally:
        os.close(there)


def die_with(parent, signal):
    """This process gets the signal when its parent ends; False where it has ended already."""
    _checked(_libc.prctl(PR_SET_PDEATHSIG, int(signal), 0, 0, 0), "prctl")
    return os.getppid() == parent


def name_host(name):
    """This process and its children call the machine that; nobody else does."""
    _checked(_libc.unshare(CLONE_NEWUTS), "unshare")
    _checked(_libc.sethostname(name.encode(), len(name)), "sethostname")


def hide(folders):
    """Puts an empty folder over each, seen by this process and its children alone."""
    _checked(_libc.unshare(CLONE_NEWNS), "unshare")
    _checked(_libc.mount(b"none", b"/", None, MS_REC | MS_SLAVE, None), "mount /")
    for folder in folders:
        _checked(_libc.mount(b"none", os.fsencode(folder), b"tmpfs", 0, b"size=1m"), "hide " + folder)


def started_at(pid):
    """When the process began, in ticks since the machine did; None where there is none (or it is dead)."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])
