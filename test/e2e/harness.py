# SPDX-License-Identifier: Apache-2.0
"""What tests that run the program share: processes with deadlines, summaries, namespaces, a relay.

    import harness

    class Version(harness.Case):
        def test_prints_it(self):
            result = self.shoal("version")
            self.assertRegex(result.out, r"^shoal \\d+")

    if __name__ == "__main__":
        harness.main()

The environment says what to test: SHOAL (the program), SHOAL_BUILD (its build folder), SHOAL_TEST_DATA
(real data), SHOAL_PATIENCE (how many times as long every deadline is), SHOAL_SANITIZE (the sanitizers of the build).
What a test starts or makes is gone when it ends. A test that cannot run here is skipped with its reason; a file
that skips all its tests exits 77, which CTest reports as skipped.
"""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import queue
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SHOAL = os.environ.get("SHOAL", "")
BUILD = os.environ.get("SHOAL_BUILD", "")
TEST_DATA = os.environ.get("SHOAL_TEST_DATA", "")
# Deadlines are that many times as long, for builds that are slow on purpose (sanitizers).
PATIENCE = float(os.environ.get("SHOAL_PATIENCE", "1"))
SANITIZED = PATIENCE > 1  # the build is one that is slow because it looks for faults
THREADS = "thread" in os.environ.get("SHOAL_SANITIZE", "")  # it looks for what threads do to each other
SKIPPED = 77


def cifar10(count, seed=0):
    """A file of CIFAR-10 (src/data/cifar.c) with pictures that differ by class and from each other."""
    out = bytearray()
    for i in range(count):
        label, step = (i + seed) % 10, 3 + (i * 7 + seed) % 11
        out.append(label)
        for plane in range(3):
            shade = label * 23 + plane * 40
            out += bytes((shade + (at * step + at // 32 * (label + 1)) % 60) % 256 for at in range(1024))
    return bytes(out)


FRAME = struct.Struct("<IHHIIHHI")  # src/net/frame.h
CONTROL, STATE, SEGMENT = 1, 2, 3
CONTROL_MAX = 256 * 1024
# Bodies of a message (src/net/message.proto).
HELLO, WELCOME, REFUSE, READY, NOTICE, ORDER, FAIL, END = 10, 11, 12, 13, 14, 15, 16, 17
PROOF = 19


def frame(body=b"", kind=CONTROL, announced=None):
    return FRAME.pack(len(body) if announced is None else announced, kind, 0, 0, 0, 0, 0, 0) + body


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value) if value else b""
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(body, content=b"", job=0, protocol=10):
    """A frame with a message, as a device sends it."""
    return frame(field(1, protocol) + field(2, job) + field(body, content))


def hello(version, name=b"intruder", port=1, **header):
    return message(HELLO, field(1, version) + field(2, name) + field(4, port) + field(6, bytes(32)), **header)


class Result:
    """How a finished process ended: status (negative: the signal), out, err, seconds."""

    def __init__(self, argv, status, out, err, seconds):
        self.argv, self.status, self.out, self.err, self.seconds = argv, status, out, err, seconds

    def __str__(self):
        return "%s: exit %s after %.1f s\n--- out\n%s--- err\n%s" % (
            " ".join(self.argv), self.status, self.seconds, self.out, self.err)


class Process:
    """A process in the background. Threads gather its output, so it never waits for a reader."""

    def __init__(self, argv, env=None, cwd=None, stdin=None):
        """`stdin`: a few lines for its standard input, or None."""
        self.argv = argv
        self.began = time.monotonic()
        self.child = subprocess.Popen(argv, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd, text=True,
                                      errors="replace", start_new_session=True)
        if stdin is not None:
            self.child.stdin.write(stdin)
            self.child.stdin.close()
        self.lines = {"out": [], "err": []}
        self._news = queue.Queue()
        self._readers = [threading.Thread(target=self._read, args=(name, stream), daemon=True)
                         for name, stream in (("out", self.child.stdout), ("err", self.child.stderr))]
        for reader in self._readers:
            reader.start()

    def _read(self, name, stream):
        for line in stream:
            self.lines[name].append(line)
            self._news.put(None)
        stream.close()
        self._news.put(None)

    def wait_for(self, pattern, timeout=20, stream="out"):
        """The match of the first line of the stream that has the pattern, past lines included."""
        timeout *= PATIENCE
        deadline = time.monotonic() + timeout
        seen = 0
        while True:
            ended = not any(reader.is_alive() for reader in self._readers)
            lines = self.lines[stream]
            while seen < len(lines):
                match = re.search(pattern, lines[seen])
                if match:
                    return match
                seen += 1
            left = deadline - time.monotonic()
            if ended or left <= 0:
                raise AssertionError("%s before %r was printed\n%s" % (
                    "it ended" if ended else "%g s passed" % timeout, pattern, self.so_far()))
            try:
                self._news.get(timeout=left)
            except queue.Empty:
                pass

    def wait_for_token(self, timeout=20):
        """The join token, from the line of its own on which the program prints it."""
        return self.wait_for(r"^(shoal://\S+)\s*$", timeout).group(1)

    def so_far(self):
        return Result(self.argv, self.child.poll(), "".join(self.lines["out"]),
                      "".join(self.lines["err"]), time.monotonic() - self.began)

    def wait(self, timeout=60):
        """The result; a process that takes longer is killed and fails the test."""
        timeout *= PATIENCE
        try:
            self.child.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("still running after %g s\n%s" % (timeout, self.so_far())) from None
        for reader in self._readers:
            reader.join(5)
        return self.so_far()

    def signal(self, number):
        self.child.send_signal(number)

    def kill(self):
        """Kills it and all that it started."""
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        for reader in self._readers:
            reader.join(5)


class Token:
    """A join token taken apart (src/net/token.h), to be put together with other parts.

    `text` is the token; `key` is what both sides of a handshake prove to know.
    """

    def __init__(self, text):
        self.addresses, coded = re.fullmatch(r"shoal://(\S+)/([A-Za-z0-9_-]{48})", text).groups()
        self.host, port = self.addresses.split(",")[0].rsplit(":", 1)
        self.port = int(port)
        packed = base64.urlsafe_b64decode(coded)
        self.secret, self.leader = packed[:16], packed[16:32]

    def but(self, host=None, port=None, secret=None, addresses=None):
        """The same with other parts, made as the program would: its check is right."""
        other = Token(self.text)
        other.host, other.port = host or self.host, port or self.port
        other.addresses = addresses or "%s:%d" % (other.host, other.port)
        other.secret = secret or self.secret
        return other

    @property
    def text(self):
        told = self.secret + self.leader
        check = hashlib.sha256(self.addresses.encode() + told).digest()[:4]
        return "shoal://%s/%s" % (self.addresses, base64.urlsafe_b64encode(told + check).decode())

    @property
    def key(self):
        """HKDF-SHA256 (RFC 5869) without salt, 32 bytes for one purpose."""
        extracted = hmac.digest(bytes(32), self.secret, "sha256")
        return hmac.digest(extracted, b"shoal 1 join\1", "sha256")


class Peer:
    """The other end of a secure connection, made by hand: it knows a key, and sends what it likes.

    `received` is what came so far.
    """

    def __init__(self, host, port, key, identity="join"):
        self.open(["s_client", "-connect", "%s:%d" % (host, port), "-nocommands"], key, identity)

    def open(self, command, key, identity):
        self.received = bytearray()
        self.child = subprocess.Popen(
            ["openssl", *command, "-tls1_3", "-quiet", "-ciphersuites", "TLS_AES_128_GCM_SHA256",
             "-psk_identity", identity, "-psk", key.hex()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._errors = bytearray()
        self._readers = [threading.Thread(target=self._read, args=pair, daemon=True) for pair in (
            (self.child.stdout, self.received), (self.child.stderr, self._errors))]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream, place):
        while True:
            data = stream.read1(65536)
            if not data:
                break
            place += data

    def send(self, data):
        try:
            self.child.stdin.write(data)
            self.child.stdin.flush()
        except BrokenPipeError:
            pass  # the connection was closed already

    def wait_for(self, data, timeout=20):
        """Waits until these bytes have come."""
        deadline = time.monotonic() + timeout * PATIENCE
        while data not in self.received:
            if time.monotonic() > deadline or not self._readers[0].is_alive():
                raise AssertionError("%r did not come, but %r\n%s" % (
                    data, bytes(self.received[:4096]), self._errors.decode(errors="replace")))
            time.sleep(0.01)

    def wait_for_end(self, timeout=20):
        """Waits until the other side has closed the connection."""
        try:
            self.child.wait(timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError("the connection stands after %g s; %r came" % (
                timeout * PATIENCE, bytes(self.received[:4096]))) from None
        for reader in self._readers:
            reader.join(5)

    def close(self):
        self.child.kill()
        self.child.wait()
        for reader in self._readers:
            reader.join(5)
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass


@contextlib.contextmanager
def silent_port():
    """A port of the loopback that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


class Impostor(Peer):
    """The other end of a secure connection that listens for a device with a token: it knows the token's key.

    `port` is where; `received` is what came, once a device is there.
    """

    def __init__(self, key):
        with socket.socket() as place:
            place.bind(("127.0.0.1", 0))
            self.port = place.getsockname()[1]
        self.open(["s_server", "-accept", "127.0.0.1:%d" % self.port, "-naccept", "1", "-nocert"], key, "join")
        deadline = time.monotonic() + 20 * PATIENCE
        while not self.listens():
            if time.monotonic() > deadline or self.child.poll() is not None:
                raise AssertionError("it does not listen: %s" % self._errors.decode(errors="replace"))
            time.sleep(0.01)

    def listens(self):
        with open("/proc/net/tcp", encoding="ascii") as file:
            return any(line.split()[1].endswith(":%04X" % self.port) and line.split()[3] == "0A" for line in file)


class Events:
    """The events of a run, as they are written to its folder; `new` leaves out those there are by now."""

    def __init__(self, run, new=False):
        self.path = os.path.join(run, "events.log")
        self._first = self._seen = len(self.lines()) if new else 0
        self._found = set()

    def lines(self):
        try:
            with open(self.path, encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def wait_for(self, pattern, timeout=20):
        """The match of the first line with the pattern; lines up to the last answer do not count."""
        at, match = self._search(self._seen, pattern, timeout)
        self._seen = at + 1
        return match

    def find(self, pattern, timeout=20):
        """As wait_for, of events that come in any order: each line answers once."""
        at, match = self._search(self._first, pattern, timeout)
        self._found.add(at)
        return match

    def _search(self, first, pattern, timeout):
        deadline = time.monotonic() + timeout * PATIENCE
        while True:
            late = time.monotonic() > deadline
            lines = self.lines()
            for i in range(first, len(lines)):
                match = None if i in self._found else re.search(pattern, lines[i])
                if match:
                    return i, match
            if late:
                raise AssertionError("no event %r after %g s, but\n%s" % (
                    pattern, timeout * PATIENCE,
                    "\n".join(line for line in lines[first:] if " checkpoint.written " not in line)))
            time.sleep(0.01)


class Training:
    """An open job of a test, which others join. It trains when this returns.

    `process` is its coordinator, `token` a Token, `events` its Events, `run` its folder.
    """

    def __init__(self, test, *arguments, listen="127.0.0.1:0", env=None):
        self._test = test
        self._env = env
        number = sum(name.startswith("run-") for name in os.listdir(test.folder))
        self.run = test.path("run-%d" % number)
        self.listen = listen
        self._begin(*arguments, "--run", self.run)

    def _begin(self, *arguments):
        self.json = "%s.json" % self.run
        listen = ("--listen", self.listen) if self.listen else ()
        events = Events(self.run, new=True)  # those of a former life do not count
        self.process = self._test.start("train", *arguments, *listen, "--json", self.json, "--quiet",
                                        env=self._env)
        self.token = Token(self.process.wait_for_token()) if self.listen else None
        self.events = events
        self.advance(1)

    def resume(self, *arguments):
        """Starts the coordinator again, whose end the caller has brought about."""
        self._begin("--resume", self.run, *arguments)

    def join(self, name, *arguments, lanes=1, quiet=True, token=None, env=None):
        return self._test.start("join", (token or self.token).text, "--name", name, "--lanes", str(lanes),
                                *(("--quiet",) if quiet else ()), *arguments, env=env)

    def wait_for_ready(self, name):
        self.events.find(r'INFO device\.ready .*name="%s"' % name)

    def wait_for_joined(self, *names):
        """Waits until these, in any order, take part."""
        for name in names:
            self.events.find(r'INFO device\.joined .*text="device %s joined with ' % name)

    def come_and_go(self):
        """Two join, one of them dies, a third joins, the other leaves; and so to the end. The summary."""
        dies, leaves = self.join("dies"), self.join("leaves")
        self.wait_for_joined("dies", "leaves")
        self.advance(2)
        dies.kill()
        self.events.find(r"WARN device\.lost .*dies")
        stays = self.join("stays")
        self.wait_for_joined("stays")
        leaves.signal(signal.SIGINT)
        self._test.assertEqual(leaves.wait(30).status, 130)
        self._test.assertEqual(self.process.wait(120).status, 0)
        self._test.assertEqual(stays.wait(20).status, 0)
        summary = self.summary()
        self._test.assertGreaterEqual(summary["views"], 4)
        return summary

    def wait_for_left(self, name):
        self.events.find(r'INFO device\.left .*text="device %s left' % name)

    def epochs(self):
        """Epochs that are done, of this life of the coordinator and those before."""
        try:
            with open(os.path.join(self.run, "metrics.jsonl"), "rb") as file:
                return file.read().count(b"\n")
        except FileNotFoundError:
            return 0

    def advance(self, epochs, timeout=30):
        """Waits until so many more epochs are done."""
        goal, deadline = self.epochs() + epochs, time.monotonic() + timeout * PATIENCE
        while self.epochs() < goal:
            if self.process.child.poll() is not None:
                raise AssertionError("it ended in the midst of it\n%s" % self.process.so_far())
            if time.monotonic() > deadline:
                raise AssertionError("no more epochs after %g s\n%s\n%s" % (
                    timeout * PATIENCE, "\n".join(self.events.lines()[-30:]), self.process.so_far()))
            time.sleep(0.01)

    def summary(self):
        return self._test.summary(self.json)

    def stop(self, timeout=30):
        """Stops it as a user does, and gives its summary."""
        self.process.signal(signal.SIGINT)
        result = self.process.wait(timeout)
        self._test.assertEqual(result.status, 130, str(result))
        return self.summary()


class Relay:
    """Carries TCP connections on to (host, port), and can record, hold or cut them.

    `address` is what to connect to instead. `recorded` has all bytes of each direction, "up" (towards
    the target) and "down". `change`, where given, is called with (direction, bytes) and gives what is
    passed on. It lives in the network namespace of the test.
    """

    def __init__(self, host, port, change=None):
        self.target = (host, port)
        self.change = change
        self.recorded = {"up": bytearray(), "down": bytearray()}
        self.connections = 0
        self._flowing = threading.Event()
        self._flowing.set()
        self._pairs = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.address = "127.0.0.1:%d" % self.port
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return  # closed
            try:
                far = socket.create_connection(self.target, timeout=10)
                far.settimeout(None)
            except OSError:
                near.close()
                continue
            with self._lock:
                self._pairs.append((near, far))
                self.connections += 1
            for source, sink, direction in ((near, far, "up"), (far, near, "down")):
                threading.Thread(target=self._carry, args=(source, sink, direction), daemon=True).start()

    def _carry(self, source, sink, direction):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                self._flowing.wait()
                with self._lock:
                    self.recorded[direction] += data
                if self.change:
                    data = self.change(direction, data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # cut, here or there

    def hold(self):
        """Passes nothing on until release(): the other side is silent, and its connection stands."""
        self._flowing.clear()

    def release(self):
        self._flowing.set()

    def cut(self):
        """Resets every connection; new ones are still taken."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for ends in pairs:
            for end in ends:
                try:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                end.close()

    def close(self):
        try:
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        except OSError:
            pass
        self._listener.close()
        self.release()
        self.cut()


# What a packet socket sees on all interfaces of a namespace, whole packets one after the other.
CAPTURE = """
import os, signal, socket, sys
parent = os.getppid()
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
packets.setsockopt(socket.SOL_SOCKET, 33, 256 << 20)  # SO_RCVBUFFORCE: nothing may be missed
packets.settimeout(0.1)
ending = []
signal.signal(signal.SIGTERM, lambda number, frame: ending.append(number))
with open(sys.argv[1], "wb") as file:
    print("capturing", flush=True)
    while True:
        try:
            packet, address = packets.recvfrom(1 << 18)
        except TimeoutError:
            if ending or os.getppid() != parent: # a test that was killed takes it along
                break
            continue
        if address[2] != 4:  # PACKET_OUTGOING: seen before, where it came in
            file.write(packet)
statistics = packets.getsockopt(263, 6, 8)  # SOL_PACKET, PACKET_STATISTICS: seen, dropped
print("dropped", int.from_bytes(statistics[4:], sys.byteorder))
"""


class Namespaces:
    """Devices with a network each: namespaces on one bridge, 10.213.0.1 and up. Needs root.

    `addresses[i]` is the address of device i, `argv(i, ...)` the command that runs within it.
    """

    def __init__(self, count):
        self.prefix = "sh%d" % os.getpid()
        self.names = []
        self.hub = self.prefix + "hub"
        self.addresses = ["10.213.0.%d" % (i + 1) for i in range(count)]
        try:
            self._make(self.hub)
            _ip("-n", self.hub, "link", "add", "bridge", "type", "bridge")
            _ip("-n", self.hub, "link", "set", "bridge", "up")
            for i in range(count):
                name = "%sd%d" % (self.prefix, i)
                self._make(name)
                _ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", "port%d" % i,
                    "netns", self.hub)
                _ip("-n", name, "address", "add", self.addresses[i] + "/24", "dev", "eth0")
                _ip("-n", name, "link", "set", "eth0", "up")
                _ip("-n", self.hub, "link", "set", "port%d" % i, "master", "bridge")
                _ip("-n", self.hub, "link", "set", "port%d" % i, "up")
        except subprocess.CalledProcessError as error:
            self.close()
            raise unittest.SkipTest("network namespaces cannot be made here: %s" % error.stderr.strip())

    def _make(self, name):
        _ip("netns", "add", name)
        self.names.append(name)
        _ip("-n", name, "link", "set", "lo", "up")

    def argv(self, device, *argv):
        return ["ip", "netns", "exec", self.names[device + 1], *argv]

    def capture(self, path):
        """Begins to write all that crosses the bridge to a file; the result is the process."""
        process = Process(["ip", "netns", "exec", self.hub, sys.executable, "-c", CAPTURE, path])
        process.wait_for("capturing")
        return process

    def unplug(self, device):
        """Takes the device's cable out: silence in both directions, no error anywhere."""
        _ip("-n", self.hub, "link", "set", "port%d" % device, "nomaster")

    def plug(self, device):
        _ip("-n", self.hub, "link", "set", "port%d" % device, "master", "bridge")

    def close(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)
        self.names = []


def children_of(pid):
    """The numbers of the processes that it has started and that are still there, oldest first."""
    found = []
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/children" % (pid, task), encoding="ascii") as file:
            found += [int(child) for child in file.read().split()]
    return sorted(found)


def is_alive(pid):
    """Whether the process runs; one that only waits to be collected does not."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def has_ended(pid):
    """Whether the process has ended, or does so soon: one that was killed takes a moment to be gone."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return select.select([process], [], [], 5 * PATIENCE)[0] != []
    finally:
        os.close(process)


def _ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def in_namespace(spaces, device, *arguments):
    """Runs ip for a device; the test is skipped where the system cannot do that."""
    try:
        _ip("-n", spaces.names[device + 1], *arguments)
    except subprocess.CalledProcessError as error:
        raise unittest.SkipTest("ip %s: %s" % (" ".join(arguments), error.stderr.strip())) from None


def not_for_threads(reason):
    """Leaves a test out under the thread sanitizer: its threads are those of another test that is there."""
    return unittest.skipIf(THREADS, "not under the thread sanitizer: " + reason)


def not_for_sanitizers(reason):
    """Leaves a test out under every sanitizer: what it looks at is the same in any build."""
    return unittest.skipIf(SANITIZED, "not under a sanitizer: " + reason)


class Case(unittest.TestCase):
    """A test case whose files and processes end with it. `self.folder` is a fresh folder."""

    needs_program = True

    def setUp(self):
        if self.needs_program and not os.access(SHOAL, os.X_OK):
            self.skipTest("there is no program at '%s' (SHOAL)" % SHOAL)
        self.folder = tempfile.mkdtemp(prefix="shoal-e2e-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def data(self, name):
        """The path of a real data set; the test is skipped where there is none."""
        path = os.path.join(TEST_DATA, name)
        if not TEST_DATA or not os.path.exists(path):
            self.skipTest("no %s: SHOAL_TEST_DATA names no folder that has it" % name)
        return path

    def start(self, *arguments, argv=None, env=None, stdin=None):
        """Starts the program, or `argv`, in the background; it is killed when the test ends.

        Processes of one machine make no job faster, so an open job uses all devices, unless the test says how many.
        """
        command = list(argv) if argv else [SHOAL, *arguments]
        if "train" in command and "--listen" in command and "--devices-used" not in command:
            command += ["--devices-used", "all"]
        process = Process(command, cwd=self.folder,
                          env={**os.environ, "HOME": self.folder, **(env or {})}, stdin=stdin)
        self.addCleanup(process.kill)
        return process

    def shoal(self, *arguments, status=0, timeout=60, env=None, stdin=None):
        """Runs the program to its end and checks its exit status (None: any)."""
        result = self.start(*arguments, env=env, stdin=stdin).wait(timeout)
        if status is not None:
            self.assertEqual(result.status, status, str(result))
        return result

    def train(self, *arguments, timeout=120, env=None):
        """Runs `shoal train` with --json; the result, with the summary as `.summary`."""
        path = self.path("summary-%d.json" % time.monotonic_ns())
        result = self.shoal("train", *arguments, "--json", path, timeout=timeout, env=env)
        result.summary = self.summary(path)
        return result

    def variants(self):
        """The instruction sets that kernels are compiled for and this processor runs, fastest first."""
        result = self.shoal("version", status=1, env={"SHOAL_VARIANT": "abacus"})
        return re.search("this processor runs (.*)$", result.err.rstrip()).group(1).split(", ")

    def summary(self, path):
        """A summary written by --json, checked to have what the command line promises."""
        with open(path, encoding="utf-8") as file:
            summary = json.load(file)
        promised = ("model parameters epochs steps samples train_seconds samples_per_second train_loss "
                    "val_loss val_accuracy weights_hash peak_rss_bytes devices redone_steps views")
        self.assertEqual([key for key in promised.split() if key not in summary], [], summary)
        for device in summary["devices"]:
            promised = "name grains samples cpu_seconds peak_rss_bytes bytes_sent bytes_received"
            self.assertEqual([key for key in promised.split() if key not in device], [], device)
        return summary

    def relay(self, host, port, change=None):
        relay = Relay(host, port, change)
        self.addCleanup(relay.close)
        return relay

    def peer(self, token, **but):
        """A Peer that has the token; the test is skipped where there is nothing to make it with."""
        if not shutil.which("openssl"):
            self.skipTest("a peer made by hand needs the command openssl")
        values = {"host": token.host, "port": token.port, "key": token.key, **but}
        peer = Peer(**values)
        self.addCleanup(peer.close)
        return peer

    def namespaces(self, count):
        """`count` devices on a network of their own; the test is skipped where it cannot be made."""
        if os.geteuid() != 0:
            self.skipTest("network namespaces need root")
        if not shutil.which("ip"):
            self.skipTest("network namespaces need the command ip (iproute2)")
        made = Namespaces(count)
        self.addCleanup(made.close)
        return made


def main():
    """Runs the tests of the calling file: 0, 1 where one failed, 77 where all were skipped."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    for test, reason in result.skipped:
        # scripts/count-tests.awk reads these lines.
        print("skipped: %s: %s" % (test.id().replace("__main__.", ""), reason.replace("\n", " ")))
    sys.stdout.flush()
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun == 0:
        sys.exit("no test was found in this file")
    sys.exit(SKIPPED if len(result.skipped) == result.testsRun else 0)
