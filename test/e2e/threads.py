# SPDX-License-Identifier: Apache-2.0
"""Stops single threads of a process, as a debugger does: the others run on and know nothing of it.

    with threads.stopped(process.child.pid):        # the main thread, which computes the steps
        ...
    held = threads.stopped(pid, threads.others(pid)[0])
    held.release()

A thread that waits for a hung disk, or for a driver, looks the same from outside. A process that ends, or that is
killed, does so with a stopped thread too. Where threads must not be stopped, the test is skipped with the reason
(threads.Refused); one that has ended is a ProcessLookupError.
"""

import errno
import os
import subprocess
import sys
import unittest

# ptrace(2) is a matter of one thread, which has to stay, and whoever traces a process learns of its end before its
# parent does. So a process of its own does it, until its standard input ends.
TRACER = """
import ctypes, errno, os, select, sys
SEIZE, INTERRUPT, DETACH, ALL = 0x4206, 0x4207, 17, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4

def trace(request, thread):
    if libc.ptrace(request, thread, 0, 0) != 0:
        sys.exit(ctypes.get_errno())

threads = [int(word) for word in sys.argv[1:]]
for thread in threads:
    trace(SEIZE, thread)
for thread in threads:
    trace(INTERRUPT, thread)
for thread in threads:
    if not os.WIFSTOPPED(os.waitpid(thread, ALL)[1]):
        sys.exit(errno.ESRCH)
print("stopped", flush=True)
alive = set(threads)
while alive and not select.select([sys.stdin], [], [], 0.01)[0]:
    for thread in list(alive):  # whose end its parent waits for
        found, status = os.waitpid(thread, ALL | os.WNOHANG)
        if found == thread and not os.WIFSTOPPED(status):
            alive.discard(thread)
for thread in alive:
    libc.ptrace(DETACH, thread, 0, 0)
"""


class Refused(unittest.SkipTest):
    pass


class stopped:
    """These threads of process `pid` stand still until release(), or to the end of a with statement."""

    def __init__(self, pid, *threads):
        self.threads = threads or (pid,)
        self.tracer = subprocess.Popen([sys.executable, "-c", TRACER, *map(str, self.threads)], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self.tracer.stdout.readline() != "stopped\n":
            trouble = self.tracer.communicate()[1].strip()
            code = self.tracer.returncode
            words = "thread %s: %s" % (" ".join(map(str, self.threads)), trouble or os.strerror(code))
            raise (ProcessLookupError if code == errno.ESRCH else Refused)(words)

    def release(self):
        """They go on; nothing happens where they have ended, or go on already."""
        if self.tracer.stdin.closed:
            return
        try:
            self.tracer.communicate()
        except BrokenPipeError:
            pass  # they had ended, and the tracer with them
        for stream in (self.tracer.stdin, self.tracer.stdout, self.tracer.stderr):
            stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.release()


def others(pid):
    """The numbers of the threads of a process, oldest first, but for the main thread, whose number is `pid`."""
    return sorted(int(name) for name in os.listdir("/proc/%d/task" % pid) if int(name) != pid)


def state(pid, thread=None):
    """The letter of /proc for what a thread does: R, S, D; t where it is stopped by stopped()."""
    with open("/proc/%d/task/%d/stat" % (pid, thread or pid), encoding="utf-8", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()[0]
