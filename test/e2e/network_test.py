#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices with a network each: they find each other, end with the same bits, and show nothing."""

import json
import os
import re
import signal
import socket
import threading
import time

import cuts
import harness

MODEL, DATA = "mlp:784-32-10", "digits:300/100"
JOB = (MODEL, DATA, "--steps", "20", "--batch-size", "64", "--grain", "8", "--lanes", "1")
RUN_BYTES = 16  # of a file, which nobody else sends by accident


def runs_of(data, step):
    """The runs of bytes at every step that are no pattern, such as zeros would be."""
    runs = (bytes(data[i:i + RUN_BYTES]) for i in range(0, len(data) - RUN_BYTES + 1, step))
    return {run for run in runs if len(set(run)) >= RUN_BYTES - 4}


def found_in(capture, texts, runs):
    """Which texts are in what was captured, and which runs: all from two of their lengths on."""
    capture = bytes(capture)
    return [text for text in texts if text in capture], runs_of(capture, RUN_BYTES) & runs


class Network(harness.Case):
    def alone(self, *options):
        return self.train(*JOB, *options, "--run", "alone").summary

    def check_the_same(self, summary, alone, devices):
        self.assertEqual(summary["weights_hash"], alone["weights_hash"])
        self.assertEqual((summary["steps"], summary["samples"]), (20, alone["samples"]))
        self.assertEqual(len(summary["devices"]), devices)
        self.assertEqual(sum(device["grains"] for device in summary["devices"]),
                         alone["devices"][0]["grains"])
        for device in summary["devices"]:
            self.assertGreater(device["grains"], 0)
        events = harness.Events(self.path("open")).lines()
        self.assertEqual(len([line for line in events if "INFO device.ready" in line]), devices - 1)
        self.assertEqual([line for line in events if " INFO " not in line], [])

    def train_in(self, spaces, *options):
        """Starts an open job in the first namespace; the process and its token."""
        train = self.start(argv=spaces.argv(0, harness.SHOAL, "train", *options, "--run", "open",
                                            "--json", "open.json"))
        token = train.wait_for_token()
        self.assertEqual(harness.Token(token).host, spaces.addresses[0])
        return train, token

    def join_in(self, spaces, device, token, *options):
        return self.start(argv=spaces.argv(device, harness.SHOAL, "join", token, "--lanes", "1", *options))

    def test_three_devices_on_a_network_are_one(self):
        spaces = self.namespaces(3)
        alone = self.alone()
        train, token = self.train_in(spaces, *JOB, "--listen", ":7700", "--min-devices", "3")
        self.assertEqual(harness.Token(token).port, 7700)
        joined = [self.join_in(spaces, 1, token, "--name", "first"),
                  self.join_in(spaces, 2, token, "--name", "second")]
        for process in (train, *joined):
            self.assertEqual(process.wait().status, 0, str(process.so_far()))
        summary = self.summary(self.path("open.json"))
        self.check_the_same(summary, alone, 3)
        self.assertEqual({device["name"] for device in summary["devices"][1:]}, {"first", "second"})

    def test_devices_here_and_elsewhere_are_one(self):
        spaces = self.namespaces(2)
        alone = self.alone()
        train, token = self.train_in(spaces, *JOB, "--listen", ":0", "--devices", "2", "--min-devices", "3")
        joined = self.join_in(spaces, 1, token, "--name", "elsewhere")
        for process in (train, joined):
            self.assertEqual(process.wait().status, 0, str(process.so_far()))
        summary = self.summary(self.path("open.json"))
        self.check_the_same(summary, alone, 3)
        names = [device["name"] for device in summary["devices"]]
        self.assertCountEqual(names[1:], [names[0] + "/2", "elsewhere"])  # whoever comes first

    def test_the_address_is_the_one_that_was_given(self):
        spaces = self.namespaces(2)
        alone = self.alone()
        train, token = self.train_in(spaces, *JOB, "--listen", spaces.addresses[0] + ":0",
                                     "--devices", "2", "--min-devices", "3")
        joined = self.join_in(spaces, 1, token)
        for process in (train, joined):
            self.assertEqual(process.wait().status, 0, str(process.so_far()))
        self.check_the_same(self.summary(self.path("open.json")), alone, 3)

    def test_nobody_there(self):
        """A token of which the job is gone, and one of another network."""
        spaces = self.namespaces(2)
        token = harness.Token("shoal://10.213.0.1:7700/" + 48 * "A").but(secret=bytes(range(16)))
        result = self.join_in(spaces, 1, token.text).wait()
        self.assertEqual(result.status, 1)
        self.assertRegex(result.err, r"(?m)^shoal: .*10\.213\.0\.1:7700.*Connection refused")
        result = self.join_in(spaces, 1, token.but(host="10.99.0.1").text).wait()
        self.assertEqual(result.status, 1)
        self.assertRegex(result.err, r"(?m)^shoal: .*10\.99\.0\.1:7700.*Network is unreachable")


    def test_who_cannot_be_reached_takes_nothing(self):
        """Its links are tried first; the message says who looked where, and --port is the remedy."""
        spaces = self.namespaces(2)
        train, token = self.train_in(spaces, *JOB[:2], "--epochs", "1000000", *JOB[4:], "--listen", ":7700")
        # To the guest goes only what the door answers, and what goes to one port of its.
        for number, rule in enumerate(("sport 7700 lookup main", "dport 7800 lookup main", "to 10.213.0.2 unreachable")):
            harness.in_namespace(spaces, 0, "rule", "add", "pref", str(10 + number), "ipproto", "tcp", *rule.split())
        host = re.escape(os.uname().nodename)
        said = (r"device %s cannot reach device guest at 10\.213\.0\.2:\d+: allow connections there, or choose another port "
                r"with shoal join --port N$" % host)
        result = self.join_in(spaces, 1, token, "--name", "guest").wait()
        self.assertEqual(result.status, 1)
        self.assertRegex(result.err, "(?m)^shoal: " + said)
        train.wait_for("device guest was lost .*: " + said, stream="err")
        joined = self.join_in(spaces, 1, token, "--name", "other", "--port", "7800")
        train.wait_for("^device other joined with", stream="err")
        train.signal(signal.SIGINT)
        self.assertEqual(train.wait().status, 130)
        self.assertEqual(joined.wait().status, 0)
        transfers = [line for line in harness.Events(self.path("open")).lines() if " device.transfer " in line]
        self.assertEqual([line.split('text="')[1] for line in transfers], ['device other receives the replica from 1 others"'])


class Partition(harness.Case):
    """Devices that do not hear each other, while the coordinator hears both."""

    ENDLESS = (MODEL, DATA, "--epochs", "1000000", "--batch-size", "64", "--grain", "8", "--lanes", "1")

    def setUp(self):
        super().setUp()
        reason = cuts.missing()
        if reason is not None:
            self.skipTest(reason)

    def begin(self, guests):
        """A job with so many guests; its process, and the networks."""
        made = cuts.Cuts(guests + 1)
        self.addCleanup(made.close)
        train = self.start(argv=made.argv(0, harness.SHOAL, "train", *self.ENDLESS, "--run", "open", "--json", "open.json",
                                          "--events", "events", "--listen", made.address(0) + ":0", "--verbose"))
        token = train.wait_for_token()
        self.joined = []
        for place in range(1, guests + 1):
            self.joined.append(self.start(argv=made.argv(place, harness.SHOAL, "join", token, "--lanes", "1", "--name",
                                                         "guest-%d" % place)))
            train.wait_for("guest-%d joined with" % place, stream="err")
        return train, made

    def steps(self):
        """(step, devices) of all steps so far."""
        with open(self.path("events"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file.read().splitlines(keepends=True) if line.endswith("\n")]
        return [(event["total_step"], event["devices"]) for event in events if event["event"] == "step"]

    def advance(self, steps, timeout):
        goal, deadline = self.steps()[-1][0] + steps, time.monotonic() + timeout * harness.PATIENCE
        while self.steps()[-1][0] < goal:
            self.assertLess(time.monotonic(), deadline, "no more steps")
            time.sleep(0.02)

    def check_stops_as_alone(self, train):
        train.signal(signal.SIGINT)
        self.assertEqual(train.wait().status, 130, str(train.so_far()))
        summary = self.summary(self.path("open.json"))
        alone = self.train(*self.ENDLESS, "--steps", str(summary["steps"]), "--run", "alone").summary
        self.assertEqual(summary["weights_hash"], alone["weights_hash"])

    def test_neighbours_get_others_between_them(self):
        train, made = self.begin(3)
        made.begin(cuts.Cut("neighbours", 1000, cuts.both_ways([1], [2])))
        self.advance(50, timeout=10)
        self.assertEqual(self.steps()[-1][1], 4)
        self.check_stops_as_alone(train)
        for process in self.joined:
            self.assertEqual(process.wait().status, 0, str(process.so_far()))

    def test_where_there_are_no_others_one_is_dropped(self):
        train, made = self.begin(2)
        made.begin(cuts.Cut("one way", 1000, [(1, 2)]))
        self.advance(50, timeout=20)
        self.assertEqual(self.steps()[-1][1], 2)
        self.check_stops_as_alone(train)


class Wire(harness.Case):
    """What is captured on the wire has nothing in it of what the devices tell each other."""

    def setUp(self):
        super().setUp()
        # The weights that a device is sent when it joins are those of this checkpoint.
        self.train(*JOB, "--run", "first")
        with open(self.path("first", "checkpoints", "last.safetensors"), "rb") as file:
            self.checkpoint = file.read()
        with open(self.path("first", "job.json"), "rb") as file:
            self.job = file.read()
        header = 8 + int.from_bytes(self.checkpoint[:8], "little")
        self.names = sorted(set(re.findall(rb'"((?:\w+\.)+weight)"', self.checkpoint[:header])), key=len)
        self.assertGreater(len(self.names), 0, self.checkpoint[:header])
        self.state = self.checkpoint[header:]
        self.assertGreater(len(self.state), 2 * 25450 * 4 - 1)

    def secrets(self, token, names):
        """Texts, each long enough that chance does not write it, and runs of the state."""
        token = harness.Token(token)
        texts = [MODEL.encode(), DATA.encode(), b"digits", b"batch_size", token.secret, token.key,
                 token.text.encode(), token.text.rsplit("/", 1)[1].encode()]
        texts += [line.strip() for line in self.job.splitlines() if len(line.strip()) >= 6]
        texts += [name for name in self.names if len(name) >= 6] + [name.encode() for name in names]
        return texts, runs_of(self.state, 1)

    def plain(self, texts):
        return b"\n".join(texts) + self.checkpoint

    def check_hidden(self, capture, texts, runs, plain_capture):
        """Nothing is found in the capture, and all of it where the same way carried it in plain."""
        self.assertEqual(found_in(capture, texts, runs), ([], set()))
        seen, runs_seen = found_in(plain_capture, texts, runs)
        self.assertEqual(set(texts) - set(seen), set())
        self.assertGreater(len(runs_seen), 1000)
        self.assertGreater(len(runs_seen), 0.8 * len(runs_of(self.state, RUN_BYTES)))

    def test_between_a_device_and_the_coordinator(self):
        train = self.start("train", "--resume", "first", "--steps", "40", "--listen", "127.0.0.1:0",
                           "--min-devices", "2", "--json", "second.json")
        token = train.wait_for_token()
        relay = self.relay("127.0.0.1", harness.Token(token).port)
        far = harness.Token(token).but(host="127.0.0.1", port=relay.port)
        joined = self.start("join", far.text, "--name", "reefshark-7")
        for process in (train, joined):
            self.assertEqual(process.wait().status, 0, str(process.so_far()))
        self.assertEqual(self.summary(self.path("second.json"))["steps"], 40)
        self.assertGreaterEqual(relay.connections, 1)
        # Job, orders and notices; the state goes from device to device, see below.
        self.assertGreater(len(relay.recorded["down"]), 500)
        self.assertGreater(len(relay.recorded["up"]), 500)
        texts, runs = self.secrets(token, ["reefshark-7"])
        self.check_hidden(relay.recorded["up"] + relay.recorded["down"], texts, runs,
                          self.recorded_in_plain(self.plain(texts)))

    def recorded_in_plain(self, data):
        """What a relay records of a connection that hides nothing."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            relay = self.relay(*listener.getsockname())
            sender = threading.Thread(target=send_all, args=(("127.0.0.1", relay.port), data))
            sender.start()
            connection, _ = listener.accept()
            receive_all(connection)
            sender.join()
        return relay.recorded["up"]

    def test_on_the_network(self):
        spaces = self.namespaces(3)
        capture = spaces.capture(self.path("capture"))
        self.addCleanup(capture.kill)
        train = self.start(argv=spaces.argv(0, harness.SHOAL, "train", "--resume", "first", "--steps", "40",
                                            "--listen", ":0", "--min-devices", "3", "--json", "second.json"))
        token = train.wait_for_token()
        joined = [self.start(argv=spaces.argv(i, harness.SHOAL, "join", token, "--name", "reefshark-%d" % i))
                  for i in (1, 2)]
        for process in (train, *joined):
            self.assertEqual(process.wait().status, 0, str(process.so_far()))
        hidden = self.captured(capture)
        # A step's segments go around the ring besides the state, which two devices take.
        self.assertGreater(len(hidden), 20 * 25450 * 4 + 2 * len(self.state))
        texts, runs = self.secrets(token, ["reefshark-1", "reefshark-2"])
        self.check_hidden(hidden, texts, runs, self.captured_in_plain(spaces, self.plain(texts)))

    def captured(self, capture):
        capture.signal(signal.SIGTERM)
        self.assertEqual(capture.wait().out.splitlines()[-1], "dropped 0")
        with open(self.path("capture"), "rb") as file:
            return file.read()

    def captured_in_plain(self, spaces, data):
        """What the same capture has of the same bytes, sent between the same devices in plain."""
        with open(self.path("plain"), "wb") as file:
            file.write(data)
        capture = spaces.capture(self.path("capture"))
        self.addCleanup(capture.kill)
        command = [harness.sys.executable, os.path.abspath(__file__)]
        receiver = self.start(argv=spaces.argv(1, *command, "receive", "7701"))
        receiver.wait_for("listening")
        sender = self.start(argv=spaces.argv(0, *command, "send", spaces.addresses[1], "7701",
                                             self.path("plain")))
        self.assertEqual((sender.wait().status, receiver.wait().status), (0, 0))
        return self.captured(capture)


def send_all(address, data):
    with socket.create_connection(address) as connection:
        connection.sendall(data)


def receive_all(connection):
    with connection:
        while connection.recv(65536):
            pass


def helper(what, *arguments):
    """This file as the two ends of a plain connection, in the namespaces of the test."""
    if what == "send":
        with open(arguments[2], "rb") as file:
            send_all((arguments[0], int(arguments[1])), file.read())
        return
    with socket.create_server(("", int(arguments[0]))) as listener:
        print("listening", flush=True)
        receive_all(listener.accept()[0])


if __name__ == "__main__":
    if harness.sys.argv[1:2] in (["send"], ["receive"]):
        helper(*harness.sys.argv[1:])
    else:
        harness.main()
