#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: what it attacks is the loop's thread alone, which network_test.py has too.
"""Who has no business in a job is refused and logged, and the job's weights do not notice."""

import os
import random
import re
import signal
import socket
import ssl
import threading
import time

import harness
from harness import (CONTROL, CONTROL_MAX, END, FRAME, HELLO, NOTICE, ORDER, PROOF, READY, REFUSE, SEGMENT, STATE,
                     field, frame, hello, message)

MODEL, DATA = "mlp:784-32-10", "digits:300/100"
SETTINGS = (MODEL, DATA, "--batch-size", "16", "--grain", "4", "--lanes", "1")
SILENT = 65  # connections that never speak: one more than the door takes at a time


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


def notice(serial=1, life=2, position=b"", more=b""):
    """The body of a notice (src/net/message.proto) of a device that is ready and has no replica."""
    return field(1, serial) + field(2, life) + field(5, position) + more + field(45, b"")


def false_devices(fingerprint):
    """What a device that was welcomed may not say, and the reason in the log."""
    one_grain, all_grains = field(2, 1), field(2, 5)
    ready = (READY, field(1, b"hash") + field(2, fingerprint))
    return (
        ("a notice without a position", [(NOTICE, field(2, 1))], "malformed message.*without its 'position'"),
        ("a notice of no life", [(NOTICE, notice(life=0))], "a notice with invalid numbers"),
        ("a notice of a life after the last", [(NOTICE, notice(life=4))], "a notice with invalid numbers"),
        ("a rate below zero", [(NOTICE, notice(more=b"\x45\x00\x00\x80\xbf"))], "a notice with invalid numbers"),
        ("more grains than a step has", [(NOTICE, notice(life=1, more=field(6, 5)))], "an invalid notice"),
        ("holding a grain that is none", [(NOTICE, notice(life=1, more=field(11, all_grains)))],
         "an invalid notice"),
        ("holding a grain twice", [(NOTICE, notice(life=1, more=2 * field(11, one_grain)))],
         "invalid ranges of grains"),
        ("ready without a word of the data", [(NOTICE, notice())], "its data differ from the job's"),
        ("ready with other data", [(READY, field(1, b"hash") + field(2, b"f" * 64)), (NOTICE, notice())],
         "its data differ from the job's"),
        ("ready twice", [ready, ready], "it reported ready twice"),
        ("a hello after the welcome", [(HELLO, b"")], "a message out of turn"),
        ("an order", [(ORDER, field(8, b"") + field(20, b""))], "a message that only the coordinator may"),
        ("the end", [(END, b"")], "a message that only the coordinator may"),
    )


def rule_breakers(version):
    """What a peer sends that has the token and is no shoal, and the reason in the log."""
    good = hello(version)
    return (
        ("noise", noise(5000), "a frame|reserved bytes"),
        ("a frame of 4 GiB", frame(announced=0xFFFFFFFF),
         "a frame of 4294967295 bytes; kind 1 has at most 262144"),
        ("a message one byte too long", frame(announced=CONTROL_MAX + 1),
         "a frame of 262145 bytes; kind 1 has at most 262144"),
        ("a state of 1 GiB", frame(kind=STATE, announced=1 << 30), "an unexpected frame: kind 2"),
        ("a segment", good + frame(bytes(64), SEGMENT), "an unexpected frame: kind 3"),
        ("an unknown kind", frame(kind=10), "a frame of unknown kind 10"),
        ("a message with a raw frame's fields", FRAME.pack(0, CONTROL, 1, 0, 0, 0, 0, 0),
         "a control frame with the fields of a raw one"),
        ("nothing in a message", frame(), "malformed message"),
        ("noise in a message", frame(noise(1000)), "malformed message"),
        ("the longest message, of noise", frame(noise(CONTROL_MAX)), "malformed message"),
        ("half a message", frame(good[FRAME.size:-3]), "malformed message"),
        ("an unknown message", message(99), "malformed message"),
        ("another protocol", hello(version, protocol=2), "malformed message.*protocol 2, this one 10"),
        ("a name that is not UTF-8", hello(version, b"\xff\xfe"), "malformed message"),
        ("a name that clears the screen", hello(version, b"\033[2J"), "malformed message"),
        ("a name of 1 MiB", frame(announced=1 << 20), "a frame of 1048576 bytes"),
        ("a notice before hello", message(NOTICE, notice()), "a message out of turn"),
        ("hello twice", good + good, "a message out of turn"),
        ("a message of another job", good + message(READY, job=12345), "a message out of turn"),
        ("no port", hello(version, port=0), "its hello names no port"),
        ("another version", hello(b"0.0.0-shark"), r"runs shoal 0\.0\.0-shark, the job shoal"),
    )


class Job:
    """An open job: `more` says what it has besides SETTINGS."""

    def __init__(self, test, *more, argv=(harness.SHOAL,)):
        self.test, self.run, self.json = test, test.path("run"), test.path("run.json")
        self.process = test.start(argv=[*argv, "train", *SETTINGS, *more, "--listen", "127.0.0.1:0", "--run", self.run,
                                        "--json", self.json])
        self.token = harness.Token(self.process.wait_for_token())
        self.address = ("127.0.0.1", self.token.port)
        self.events = harness.Events(self.run)

    def join(self, name, token=None):
        return self.test.start("join", (token or self.token).text, "--lanes", "1", "--name", name)

    def wait_for_ready(self, name):
        self.events.wait_for('device.ready .*name="%s"' % name)


class Door(harness.Case):
    def reach(self, holds, what):
        """Waits until it holds."""
        deadline = time.monotonic() + 30 * harness.PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline, "it never comes that " + what)
            time.sleep(0.02)

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
        """No file of the run tells how to join the job but one, which is for its owner's eyes and goes with its end."""
        names = [os.path.join(folder, name) for folder, _, found in os.walk(job.run) for name in found]
        self.assertGreater(len(names), 3)
        kept, key = os.path.join(job.run, "token"), os.path.join(job.run, "token.key")
        for name in (kept, key):
            self.assertEqual(name in names, job.process.so_far().status != 0)
        for name in names:
            with open(name, "rb") as file:
                data = file.read()
            if name == kept:
                self.assertEqual((data.decode(), os.stat(name).st_mode & 0o777), (job.token.text, 0o600))
                continue
            if name == key:
                self.assertEqual((len(data), os.stat(name).st_mode & 0o777), (36, 0o600))
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
            self.assertEqual(process.wait().status, 0, str(process.so_far()))
        self.check_course(job, 1 + len(joined))

    def training(self):
        """A job of two devices that trains until it is stopped; what the second one sent."""
        job = Job(self, "--epochs", "1000000", "--min-devices", "2")
        good, recorded = self.join_recorded(job, "good")
        job.process.wait_for("^training on 2 devices", stream="err")
        return job, good, recorded

    def version(self):
        return re.match(r"shoal (\S+)", self.shoal("version").out).group(1).encode()


class Impostors(Door):
    """Who has the token and listens where a device looks for the coordinator; the device joins nothing."""

    SIGNATURE = field(1, b"k" * 32) + field(2, b"r" * 32) + field(3, b"s" * 32)
    REFUSAL = "shoal: the device at the token's address has the token, but is not the coordinator that made it"

    def impostor(self, token):
        impostor = harness.Impostor(token.key)
        self.addCleanup(impostor.close)
        return impostor

    def refused(self, joined):
        result = joined.wait()
        self.assertEqual(result.status, 1, str(result))
        self.assertIn(self.REFUSAL, result.err)

    def test_without_a_proof(self):
        job = Job(self, "--steps", "20", "--min-devices", "2")
        for name, data in (("an end", message(END)), ("a refusal", message(REFUSE, field(1, b"go away"))),
                           ("an empty proof", message(PROOF, field(1, b""))),
                           ("a proof of nothing", message(PROOF, field(1, self.SIGNATURE))),
                           ("a warrant of nobody", message(PROOF, field(1, self.SIGNATURE) + field(2, self.SIGNATURE)))):
            with self.subTest(name):
                impostor = self.impostor(job.token)
                joined = job.join("good", job.token.but(port=impostor.port))
                impostor.wait_for(b"good")  # in its hello
                impostor.send(data)
                self.refused(joined)
        self.complete(job, [job.join("good")])

    def test_with_what_the_coordinator_told_it(self):
        """It passes on, word for word, what the coordinator says on a connection of the impostor's own."""
        job = Job(self, "--steps", "20", "--min-devices", "2")
        impostor = self.impostor(job.token)
        joined = job.join("good", job.token.but(port=impostor.port))
        impostor.wait_for(b"good")
        peer = self.peer(job.token)
        peer.send(bytes(impostor.received))
        peer.wait_for(b"digits")  # the welcome has come, behind the proof
        impostor.send(bytes(peer.received))
        self.refused(joined)
        peer.close()
        self.complete(job, [job.join("other")])


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
        late = job.join("late")  # who has the token is welcome at any time
        job.events.wait_for(r'INFO device\.joined .*text="device late joined with \d of 4 grains"')
        self.stop(job, [good, late])

    def test_an_altered_token_does_not_leave_the_device(self):
        job = Job(self, "--steps", "20", "--min-devices", "2")
        whole = job.token.text
        for token in (whole[:-1], whole + "A", whole[:-5] + ("A" if whole[-5] != "A" else "B") + whole[-4:],
                      whole.replace("127.0.0.1", "127.0.0.2"), whole.replace(":%d/" % job.token.port, ":1/"),
                      whole.replace("shoal://", "shoal://[") + "]"):
            with self.subTest(token):
                result = self.shoal("join", token, status=1)
                self.assertIn("shoal: the join token was altered or cut: copy all of it again\n", result.err)
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
        self.refuse(job, "too many connections that have not finished the handshake: the oldest is closed")
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


    def test_strangers_leave_descriptors_for_the_job(self):
        """Of 80 descriptors in all, 70 silent strangers: a checkpoint is written, and a device gets in."""
        job = Job(self, "--epochs", "1000000", "--checkpoint-every", "5steps", "--min-devices", "2",
                  argv=["prlimit", "--nofile=80:80", harness.SHOAL])
        silent = [socket.create_connection(job.address) for _ in range(70)]
        for connection in silent:
            self.addCleanup(connection.close)
        self.refuse(job, "few file descriptors are left")
        good = job.join("good")
        job.wait_for_ready("good")
        last = os.path.join(job.run, "checkpoints", "last.safetensors")
        self.reach(lambda: os.path.exists(last), "a checkpoint is written")
        silent += [socket.create_connection(job.address) for _ in range(70)]
        for connection in silent[70:]:
            self.addCleanup(connection.close)
        late = job.join("late")
        job.events.wait_for(r'INFO device\.joined .*text="device late joined')
        written = os.stat(last).st_ino
        self.reach(lambda: os.stat(last).st_ino != written, "another checkpoint is written")
        self.assertNotRegex("".join(job.events.lines()), r"accept_failed|journal\.failed|checkpoint\.failed")
        self.stop(job, [good, late])


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

    def break_rules(self, job):
        for name, data, reason in rule_breakers(self.version()):
            with self.subTest(name):
                peer = self.peer(job.token)
                peer.send(data)
                self.refuse(job, reason, "(net.refused|net.violation|device.refused device=[0-9]+)")
                peer.wait_for_end()
                peer.close()

    def lie(self, job):
        """Says what only a broken device says, once the job has welcomed it."""
        for name, messages, reason in false_devices(b"0" * 64):
            with self.subTest(name):
                peer = self.peer(job.token)
                peer.send(hello(self.version()))
                peer.wait_for(b"digits")  # the welcome
                number = re.search(rb"\x08\x0a\x10([\x80-\xff]*[\x00-\x7f])", bytes(peer.received)).group(1)
                number = sum((byte & 127) << 7 * i for i, byte in enumerate(number))
                peer.send(b"".join(message(*each, job=number) for each in messages))
                self.refuse(job, reason, "(net.refused|device.refused device=[0-9]+)")
                peer.wait_for_end()
                peer.close()

    def test_while_the_job_waits(self):
        job = Job(self, "--steps", "20", "--min-devices", "3")
        good = job.join("good")
        job.wait_for_ready("good")
        self.break_rules(job)
        self.lie(job)
        with self.subTest("says hello and goes"):
            peer = self.peer(job.token)
            peer.send(hello(self.version()))
            peer.wait_for(b"digits")
            peer.close()
        self.complete(job, [good, job.join("other")])

    def test_while_it_trains(self):
        job, good, _ = self.training()
        self.break_rules(job)
        self.lie(job)
        with self.subTest("says hello and no more"):
            peer = self.peer(job.token)
            peer.send(hello(self.version()))
            self.refuse(job, "nothing was heard from it", "device.refused device=[0-9]+")
            peer.wait_for_end()
        self.stop(job, [good])


if __name__ == "__main__":
    harness.main()
