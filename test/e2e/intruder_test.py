#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who has no business in a job is refused and logged, and the job's weights do not notice."""

import os
import random
import re
import signal
import socket
import ssl
import struct
import threading

import harness

MODEL, DATA = "mlp:784-32-10", "digits:300/100"
SETTINGS = (MODEL, DATA, "--batch-size", "16", "--grain", "4", "--lanes", "1")
SILENT = 65  # connections that never speak: one more than the door takes at a time
FRAME = struct.Struct("<IHHIIHHI")  # src/net/frame.h
CONTROL, STATE, SEGMENT = 1, 2, 3
CONTROL_MAX = 256 * 1024
HELLO, WELCOME, READY, OPENED, REPORT, LEAVE, END = 10, 11, 13, 15, 17, 18, 19  # message.proto


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


def message(body, content=b"", job=0, protocol=2):
    return frame(field(1, protocol) + field(2, job) + field(body, content))


def saying(data):
    return lambda address: say(address, data)


def say(address, data):
    """Sends bytes to the door and waits until it has closed the connection."""
    with socket.create_connection(address, timeout=20 * harness.PATIENCE) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        except TimeoutError:
            raise
        except OSError:
            pass  # closed already, in the middle of what was said


def speak_tls(address, newest):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = newest
    with socket.create_connection(address, timeout=20 * harness.PATIENCE) as connection:
        try:
            context.wrap_socket(connection).close()
        except (ssl.SSLError, ConnectionResetError):
            return
    raise AssertionError("a TLS client without a key was let in")


def noise(count):
    """The same bytes in each run; the first is no record's of TLS."""
    return b"\x99" + random.Random("noise").randbytes(count - 1)


# What strangers do at the door (no token), and the reason in the log.
STRANGERS = (
    ("text", saying(b"hello, is there anybody?\n"), "not TLS"),
    ("HTTP", saying(b"GET / HTTP/1.1\r\nHost: shoal\r\n\r\n"), "a plain HTTP request, not TLS"),
    ("noise", saying(noise(100000)), "not TLS"),
    ("nothing", saying(b""), "the connection ended in the handshake"),
    ("a record of 64 KiB", saying(b"\x16\x03\x01\xff\xff" + bytes(65535)), "not TLS"),
    ("a first message of 16 MiB", saying(b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + bytes(16380)),
     "not TLS"),
    ("half a first message", saying(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
     "the connection ended in the handshake"),
    ("TLS without a key", lambda address: speak_tls(address, ssl.TLSVersion.TLSv1_3),
     "no pre-shared key offered"),
    ("TLS 1.2", lambda address: speak_tls(address, ssl.TLSVersion.TLSv1_2), "a TLS version older than 1.3"),
)


def hello(version, name=b"intruder", port=1, **header):
    return message(HELLO, field(1, version) + field(2, name) + field(3, 1) + field(4, port), **header)


def rule_breakers(version):
    """What a peer sends that has the token and is no shoal, and the reason in the log."""
    good = hello(version)
    return (
        ("noise", noise(5000), "a frame|reserved bytes"),
        ("a frame of 4 GiB", frame(announced=0xFFFFFFFF),
         "a frame of 4294967295 bytes, where kind 1 has at most 262144"),
        ("a message one byte too long", frame(announced=CONTROL_MAX + 1),
         "a frame of 262145 bytes, where kind 1 has at most 262144"),
        ("a state of 1 GiB", frame(kind=STATE, announced=1 << 30), "a frame that is not expected: kind 2"),
        ("a segment", good + frame(bytes(64), SEGMENT), "a frame that is not expected: kind 3"),
        ("an unknown kind", frame(kind=9), "a frame of unknown kind 9"),
        ("a message with a raw frame's fields", FRAME.pack(0, CONTROL, 1, 0, 0, 0, 0, 0),
         "a control frame with the fields of a raw one"),
        ("nothing in a message", frame(), "malformed message"),
        ("noise in a message", frame(noise(1000)), "malformed message"),
        ("the longest message, of noise", frame(noise(CONTROL_MAX)), "malformed message"),
        ("half a message", frame(good[FRAME.size:-3]), "malformed message"),
        ("an unknown message", message(99), "malformed message"),
        ("another protocol", hello(version, protocol=3), "malformed message.*protocol"),
        ("a name that is no UTF-8", hello(version, b"\xff\xfe"), "malformed message"),
        ("a name that clears the screen", hello(version, b"\033[2J"), "malformed message"),
        ("a name of 1 MiB", frame(announced=1 << 20), "a frame of 1048576 bytes"),
        ("a report before hello", message(REPORT), "a message out of turn"),
        ("hello twice", good + good, "a message out of turn"),
        ("a message of another job", good + message(READY, job=12345), "a message out of turn"),
        ("no port", hello(version, port=0), "its hello names no port"),
        ("another version", hello(b"0.0.0-shark"), r"runs shoal 0\.0\.0-shark, the job shoal"),
    )


class Job:
    """An open job: `more` says what it has besides SETTINGS."""

    def __init__(self, test, *more):
        self.test, self.run, self.json = test, test.path("run"), test.path("run.json")
        self.process = test.start("train", *SETTINGS, *more, "--listen", "127.0.0.1:0", "--run", self.run,
                                  "--json", self.json)
        self.token = harness.Token(self.process.wait_for_token())
        self.address = ("127.0.0.1", self.token.port)
        self.events = harness.Events(self.run)

    def join(self, name, token=None):
        return self.test.start("join", (token or self.token).text, "--lanes", "1", "--name", name)

    def wait_for_ready(self, name):
        self.events.wait_for('device.ready .*name="%s"' % name)


class Door(harness.Case):
    def refuse(self, job, reason, event="net.refused"):
        """Waits for the line that says who was refused and why."""
        job.events.wait_for(r'WARN %s peer=127\.0\.0\.1:\d+ reason="[^"]*(%s)' % (event, reason))

    def knock(self, job, recorded):
        """Everything that strangers try, one after the other."""
        for name, act, reason in STRANGERS:
            with self.subTest(name):
                act(job.address)
                self.refuse(job, reason)
        with self.subTest("another secret"):
            result = job.join("thief", job.token.but(secret=bytes(range(16)))).wait()
            self.assertEqual(result.status, 1)
            self.assertIn("shoal: the job did not accept the token: wrong or expired key", result.err)
            self.refuse(job, "wrong key for 'join'")
        with self.subTest("another identity"):
            self.peer(job.token, identity="view/1/0").wait_for_end()
            self.refuse(job, "unknown identity 'view/1/0'")
        with self.subTest("a good device's session, replayed"):
            say(job.address, recorded)
            self.refuse(job, "the handshake failed|wrong key")

    def join_recorded(self, job, name):
        """Joins through a relay; it and what the relay has recorded so far."""
        relay = self.relay(*job.address)
        return job.join(name, job.token.but(port=relay.port)), relay.recorded["up"]

    def check_course(self, job, devices):
        """What came out is what one device alone gets."""
        summary = self.summary(job.json)
        self.assertEqual(len(summary["devices"]), devices)
        alone = self.train(*SETTINGS, "--epochs", "1000000", "--steps", str(summary["steps"])).summary
        self.assertEqual(summary["weights_hash"], alone["weights_hash"])
        self.check_secret(job)

    def check_secret(self, job):
        """No file of the run tells how to join the job."""
        names = [os.path.join(folder, name) for folder, _, found in os.walk(job.run) for name in found]
        self.assertGreater(len(names), 3)
        for name in names:
            with open(name, "rb") as file:
                data = file.read()
            for secret in (job.token.secret, job.token.key, job.token.text.rsplit("/", 1)[1].encode()):
                self.assertNotIn(secret, data, name)

    def complete(self, job, joined):
        for process in (job.process, *joined):
            self.assertEqual(process.wait().status, 0, str(process.so_far()))
        self.check_course(job, 1 + len(joined))

    def stop(self, job, joined):
        """Ends a training that has no end, and looks at what came of it."""
        for process in (job.process, *joined):
            self.assertIsNone(process.so_far().status, str(process.so_far()))
        job.process.signal(signal.SIGINT)
        self.assertEqual(job.process.wait().status, 130, str(job.process.so_far()))
        for process in joined:
            self.assertIn(process.wait().status, (0, 130), str(process.so_far()))
        self.check_course(job, 1 + len(joined))

    def training(self):
        """A job of two devices that trains until it is stopped; what the second one sent."""
        job = Job(self, "--epochs", "1000000", "--min-devices", "2")
        good, recorded = self.join_recorded(job, "good")
        job.process.wait_for("^training on 2 devices", stream="err")
        return job, good, recorded

    def version(self):
        return re.match(r"shoal (\S+)", self.shoal("version").out).group(1).encode()


class Strangers(Door):
    def test_while_the_job_waits(self):
        job = Job(self, "--steps", "20", "--min-devices", "3")
        good, recorded = self.join_recorded(job, "good")
        job.wait_for_ready("good")
        self.knock(job, bytes(recorded))
        self.complete(job, [good, job.join("other")])

    def test_while_it_trains(self):
        job, good, recorded = self.training()
        self.knock(job, bytes(recorded))
        late = job.join("late").wait()
        self.assertEqual(late.status, 1)
        self.assertIn("shoal: the job has begun", late.err)
        job.events.wait_for(r"WARN device\.refused .*peer=127\.0\.0\.1:\d+ reason=\"the job has begun")
        self.stop(job, [good])

    def test_an_altered_token_does_not_leave_the_device(self):
        job = Job(self, "--steps", "20", "--min-devices", "2")
        job.wait_for_ready(r"[^\"]+")
        whole = job.token.text
        for token in (whole[:-1], whole + "A", whole[:-5] + ("A" if whole[-5] != "A" else "B") + whole[-4:],
                      whole.replace("127.0.0.1", "127.0.0.2"), whole.replace(":%d/" % job.token.port, ":1/"),
                      whole.replace("shoal://", "shoal://[") + "]"):
            with self.subTest(token):
                result = self.shoal("join", token, status=1)
                self.assertIn("shoal: the join token was altered or cut: copy it again, whole\n", result.err)
                self.assertNotIn(whole.rsplit("/", 1)[1][:20], result.err)
        before = len(job.events.lines())
        self.complete(job, [job.join("good")])
        self.assertEqual([line for line in job.events.lines()[:before] if "WARN" in line], [])

    def test_who_never_speaks_keeps_nobody_out(self):
        job = Job(self, "--steps", "20", "--min-devices", "3")
        silent = [socket.create_connection(job.address) for _ in range(SILENT)]
        for connection in silent:
            self.addCleanup(connection.close)
        slow = SlowSpeaker(job.address, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(501))
        self.addCleanup(slow.stop)
        self.refuse(job, "too many connections that have not finished the handshake: the oldest gives way")
        good = job.join("good")
        job.wait_for_ready("good")
        # Nor does any of them stay: not even who says a little now and then.
        for connection in silent:
            connection.settimeout(20 * harness.PATIENCE)
            try:
                self.assertEqual(connection.recv(65536), b"")
            except ConnectionResetError:
                pass
        slow.wait_for_end(20 * harness.PATIENCE)
        self.refuse(job, "the handshake timed out")
        self.complete(job, [good, job.join("other")])


class SlowSpeaker:
    """Sends a byte now and then, until the other side has had enough."""

    def __init__(self, address, data):
        self._connection = socket.create_connection(address)
        self._connection.settimeout(0.05)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._speak, args=(data,), daemon=True)
        self._thread.start()

    def _speak(self, data):
        for byte in data:
            try:
                self._connection.sendall(bytes([byte]))
                if not self._connection.recv(4096):
                    break
            except TimeoutError:
                pass
            except OSError:
                break
        else:
            return  # all was said, so it was never sent away
        self._ended.set()

    def wait_for_end(self, timeout):
        if not self._ended.wait(timeout):
            raise AssertionError("whoever speaks slowly was never sent away")

    def stop(self):
        self._connection.close()
        self._thread.join(5)


class RuleBreakers(Door):
    """They have the token: the job tells them things, but nothing that they say does harm."""

    def break_rules(self, job, without=()):
        for name, data, reason in rule_breakers(self.version()):
            if name in without:
                continue
            with self.subTest(name):
                peer = self.peer(job.token)
                peer.send(data)
                self.refuse(job, reason, "(net.refused|net.violation|device.refused device=[0-9]+)")
                peer.wait_for_end()
                peer.close()

    def test_while_the_job_waits(self):
        job = Job(self, "--steps", "20", "--min-devices", "3")
        good = job.join("good")
        job.wait_for_ready("good")
        self.break_rules(job)
        with self.subTest("only the coordinator may"):
            peer = self.peer(job.token)
            peer.send(hello(self.version()))
            peer.wait_for(b"digits")  # the welcome
            number = re.search(rb"\x08\x02\x10([\x80-\xff]*[\x00-\x7f])", bytes(peer.received)).group(1)
            number = sum((byte & 127) << 7 * i for i, byte in enumerate(number))
            peer.send(message(END, job=number))
            self.refuse(job, "a message that only the coordinator may")
            peer.wait_for_end()
        with self.subTest("says hello and goes"):
            peer = self.peer(job.token)
            peer.send(hello(self.version()))
            peer.wait_for(b"digits")
            peer.close()
            job.events.wait_for("device.gone")
        self.complete(job, [good, job.join("other")])

    def test_while_it_trains(self):
        job, good, _ = self.training()
        # Who comes late is refused with its hello, whatever else it says.
        self.break_rules(job, without=("a segment", "hello twice", "a message of another job"))
        self.stop(job, [good])


if __name__ == "__main__":
    harness.main()
