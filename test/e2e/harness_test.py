#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The harness itself: tests stand on it, so it is tested without the program."""

import os
import signal
import socket
import sys
import threading
import time

import harness
import threads


class Processes(harness.Case):
    needs_program = False

    def test_waits_for_a_line_and_keeps_the_rest(self):
        process = self.start(argv=["sh", "-c", "echo a; echo shoal://host:1/secret; echo b >&2; exit 3"])
        self.assertEqual(process.wait_for_token(), "shoal://host:1/secret")
        result = process.wait(10)
        self.assertEqual((result.status, result.out, result.err),
                         (3, "a\nshoal://host:1/secret\n", "b\n"))

    def test_says_what_was_printed_instead(self):
        process = self.start(argv=["sh", "-c", "echo something else"])
        with self.assertRaisesRegex(AssertionError, "(?s)it ended before 'token'.*something else"):
            process.wait_for("token", timeout=10)

    def test_kills_what_takes_too_long_with_all_that_it_started(self):
        process = self.start(argv=["sh", "-c", "sleep 1000 & echo $!; wait"])
        child = int(process.wait_for(r"(\d+)").group(1))
        with self.assertRaisesRegex(AssertionError, "still running after"):
            process.wait(0.05)
        self.assertEqual(process.child.returncode, -signal.SIGKILL)
        self.assertTrue(gone(child), "its child %d lives on" % child)

    def test_refuses_a_summary_that_lacks_something(self):
        with open(self.path("s.json"), "w", encoding="utf-8") as file:
            file.write('{"model": "lenet", "devices": []}')
        with self.assertRaisesRegex(AssertionError, "weights_hash"):
            self.summary(self.path("s.json"))


def gone(pid, timeout=5):
    """Whether the process ends in time; one that only waits to be collected has ended."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            with open("/proc/%d/stat" % pid, encoding="utf-8") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


class Relays(harness.Case):
    needs_program = False

    def setUp(self):
        super().setUp()
        # A server that sends back what it gets.
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        self.port = server.getsockname()[1]

        def echo(end):
            with end:
                try:
                    while data := end.recv(4096):
                        end.sendall(data)
                except OSError:
                    pass

        def serve():
            while True:
                try:
                    end, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=echo, args=(end,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()

    def connect(self, relay):
        near = socket.create_connection(("127.0.0.1", relay.port), timeout=10)
        self.addCleanup(near.close)
        return near

    def test_carries_records_and_changes(self):
        def spoil(direction, data):
            return data.replace(b"fish", b"dish") if direction == "down" else data

        relay = self.relay("127.0.0.1", self.port, spoil)
        near = self.connect(relay)
        near.sendall(b"fish")
        self.assertEqual(near.recv(10), b"dish")
        self.assertEqual(relay.recorded, {"up": b"fish", "down": b"fish"})

    def test_holds_releases_and_cuts(self):
        relay = self.relay("127.0.0.1", self.port)
        near = self.connect(relay)
        relay.hold()
        near.sendall(b"fish")
        near.settimeout(0.05)
        with self.assertRaises(socket.timeout):
            near.recv(10)
        near.settimeout(10)
        relay.release()
        self.assertEqual(near.recv(10), b"fish")
        relay.cut()
        try:
            self.assertEqual(near.recv(10), b"")
        except ConnectionResetError:
            pass
        again = self.connect(relay)
        again.sendall(b"back")
        self.assertEqual(again.recv(10), b"back")
        self.assertEqual(relay.connections, 2)


# A process whose second thread counts aloud.
TWO_THREADS = """
import sys, threading, time
def count():
    for number in range(100000):
        print(number, flush=True)
        time.sleep(0.005)
threading.Thread(target=count, daemon=True).start()
for line in iter(int, 1):
    time.sleep(0.005)
    print("main", file=sys.stderr, flush=True)
"""


class Threads(harness.Case):
    needs_program = False

    def start_two(self):
        process = self.start(argv=[sys.executable, "-c", TWO_THREADS])
        process.wait_for("^0$")
        process.wait_for("^main$", stream="err")
        return process

    def goes_on(self, process, stream):
        """Whether lines come. Those that were written before do not count."""
        time.sleep(0.05)
        before = len(process.lines[stream])
        deadline = time.monotonic() + 0.3
        while time.monotonic() < deadline:
            if len(process.lines[stream]) > before:
                return True
            time.sleep(0.005)
        return False

    def test_one_stands_and_the_other_goes_on(self):
        process = self.start_two()
        pid = process.child.pid
        for thread, still, moving in ((pid, "err", "out"), (threads.others(pid)[0], "out", "err")):
            with threads.stopped(pid, thread):
                self.assertEqual(threads.state(pid, thread), "t")
                self.assertFalse(self.goes_on(process, still))
                self.assertTrue(self.goes_on(process, moving))
            self.assertTrue(self.goes_on(process, still))

    def test_a_process_can_end_with_a_thread_that_stands(self):
        process = self.start_two()
        held = threads.stopped(process.child.pid)
        process.signal(signal.SIGKILL)
        self.assertEqual(process.wait(10).status, -signal.SIGKILL)
        held.release()
        held.release()

    def test_one_that_has_ended_is_missed(self):
        process = self.start_two()
        process.kill()
        with self.assertRaises(ProcessLookupError):
            threads.stopped(process.child.pid)


class Networks(harness.Case):
    needs_program = False

    def test_devices_reach_each_other_until_unplugged(self):
        network = self.namespaces(2)
        server = self.start(argv=network.argv(0, "python3", "-c", (
            "import socket\n"
            "s = socket.create_server(('', 7000))\n"
            "print('ready', flush=True)\n"
            "while True: s.accept()[0].sendall(b'hello')\n")))
        server.wait_for("ready")
        ask = network.argv(1, "python3", "-c", (
            "import socket\n"
            "s = socket.create_connection(('%s', 7000), timeout=1)\n"
            "print(s.recv(9).decode())\n") % network.addresses[0])
        self.assertEqual(self.start(argv=ask).wait(20).out, "hello\n")
        network.unplug(0)
        self.assertNotEqual(self.start(argv=ask).wait(20).status, 0)
        network.plug(0)
        self.assertEqual(self.start(argv=ask).wait(20).out, "hello\n")

    def test_leaves_nothing_behind(self):
        network = self.namespaces(1)
        names = list(network.names)
        network.close()
        self.assertEqual([name for name in names if os.path.exists("/run/netns/" + name)], [])


if __name__ == "__main__":
    harness.main()
