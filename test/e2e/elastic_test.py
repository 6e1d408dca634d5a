#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: its threads are those of chaos_test.py.
"""Devices come, leave and die while a job trains, and the weights come out as if nothing had happened.

Moments are drawn by chance; SHOAL_TEST_SEED=N draws those of an earlier run again.
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import time

import harness

# 8 grains a step; 4 steps an epoch, the last one of a single grain.
DATA = "digits:150/30"
STEP = ("--batch-size", "48", "--grain", "6")
MLP = ("mlp:784-64-10", DATA, *STEP)
LENET = ("lenet", DATA, *STEP)
RESNET = ("resnet:20", "noise:3x32x32/10/48/16", "--batch-size", "24", "--grain", "6", "--augment", "crop,flip")
MOBILENET = ("mobilenetv2:0.25", *RESNET[1:])  # batch norm, as above, and dropout
SLOW_TO_BEGIN = ("mobilenetv2", "noise:3x64x64/10/48/16", "--batch-size", "24", "--grain", "6")
END = ("--epochs", "1000000")
SILENCE_MS = 450  # after which a device is lost (src/cluster/membership.c)
LATE_MS = 4000  # the limit of one whose heartbeats were late (src/cluster/silence.h)
SEED = int(os.environ.get("SHOAL_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 10000)


class Elastic(harness.Case):
    def setUp(self):
        super().setUp()
        self.random = random.Random("%d %s" % (SEED, self.id()))

    def begin(self, job, *options, lanes=1, **how):
        """An open job that has no end; it trains when this returns."""
        return harness.Training(self, *job, *END, "--lanes", str(lanes), *options, **how)

    def finish(self, job, training, joined=(), exact=True):
        """Stops it; the summary, checked to be what one device alone comes to in as many steps.

        `exact`: nobody was lost, so no grain was computed twice, and every device has told of all of its own.
        """
        summary = training.stop()
        for process in joined:
            self.assertEqual(process.wait(30).status, 0, str(process.so_far()))
        self.check(job, summary, exact)
        return summary

    def check(self, job, summary, exact):
        alone = self.train(*job, *END, "--steps", str(summary["steps"]), "--lanes", "2", "--run", "alone",
                           "--quiet").summary
        shutil.rmtree(self.path("alone"))
        self.alone = alone["devices"][0]
        for key in "weights_hash samples steps epochs redone_steps".split():
            self.assertEqual(summary[key], alone[key], (key, "SHOAL_TEST_SEED=%d" % SEED))
        if exact:
            for key in ("samples", "grains"):
                self.assertEqual(sum(device[key] for device in summary["devices"]),
                                 alone["devices"][0][key], (key, summary))

    def assert_calm(self, training):
        """Nothing went wrong. A link that is called off in its making is none that does: plans change."""
        called_off = r'reason="(the connection ended in the handshake: |unknown identity \'link/)'
        self.assertEqual([line for line in training.events.lines()
                          if " INFO " not in line and not re.search(called_off, line)], [])

    def lost_after_ms(self, training, name):
        """Waits until a device is lost; how long ago it was heard by then."""
        match = training.events.find(r'WARN device\.lost .*text="device %s was lost (\d+) ms after' % name)
        return int(match.group(1))


class Join(Elastic):
    def test_while_it_trains(self):
        """Begun alone; others come, one by one and two at once, and all take part from then on."""
        for job, lanes in ((MLP, 1), (LENET, 2)):
            with self.subTest(model=job[0], lanes=lanes):
                training = self.begin(job, lanes=lanes)
                one = training.join("one", lanes=3 - lanes)
                training.wait_for_joined("one")
                others = [training.join(name, lanes=lanes) for name in ("two", "three")]
                training.wait_for_joined("two", "three")
                training.advance(2)
                self.assert_calm(training)
                summary = self.finish(job, training, (one, *others))
                grains = {device["name"]: device["grains"] for device in summary["devices"]}
                self.assertEqual(set(grains) - {summary["devices"][0]["name"]}, {"one", "two", "three"})
                self.assertGreater(min(grains.values()), 0, grains)
                self.assertGreaterEqual(summary["views"], 3)
                self.assertEqual(training.process.so_far().err, "")

    def test_with_a_place_that_another_left(self):
        """Names may come back, and a device is another each time."""
        training = self.begin(MLP)
        for _ in range(3):
            guest = training.join("guest")
            training.wait_for_joined("guest")
            guest.signal(signal.SIGINT)
            self.assertEqual(guest.wait(20).status, 130)
            training.wait_for_left("guest")
        self.assert_calm(training)
        summary = self.finish(MLP, training)
        self.assertEqual([device["name"] for device in summary["devices"]][1:], 3 * ["guest"])

    def test_until_the_job_ends_by_itself(self):
        job = (*MLP, "--steps", "800")
        training = harness.Training(self, *job, "--lanes", "1")
        joined = [training.join("one")]
        training.wait_for_joined("one")
        joined.append(training.join("two"))  # wherever it is by then
        self.assertEqual(training.process.wait(60).status, 0)
        for process in joined:
            self.assertEqual(process.wait(20).status, 0, str(process.so_far()))
        self.check(job, training.summary(), exact=True)

    @harness.not_for_sanitizers("these trainings differ in arithmetic alone")
    def test_models_with_state(self):
        """Batch norm's running statistics and augmentation, and dropout, with joins, a leave and a death."""
        for job, lanes in ((RESNET, 1), (RESNET, 2), (MOBILENET, 1), (MOBILENET, 2)):
            if harness.SANITIZED and lanes == 1:  # two have all that they look at
                continue
            with self.subTest(model=job[0], lanes=lanes):
                training = self.begin(job, lanes=lanes)
                names = ("stays", "leaves", "dies")
                stays, leaves, dies = [training.join(name, lanes=lanes) for name in names]
                training.wait_for_joined(*names)
                training.advance(1)
                leaves.signal(signal.SIGINT)
                self.assertEqual(leaves.wait(20).status, 130)
                time.sleep(self.random.uniform(0, 0.2))
                dies.signal(signal.SIGKILL)
                self.lost_after_ms(training, "dies")
                training.advance(1)
                self.finish(job, training, (stays,), exact=False)


class Leave(Elastic):
    def test_at_the_next_boundary(self):
        """Nothing is lost, nothing computed twice; the one that left ends by itself."""
        for number, lanes in ((signal.SIGINT, 1), (signal.SIGTERM, 2)):
            with self.subTest(signal=number.name, lanes=lanes):
                training = self.begin(LENET, lanes=lanes)
                stays, leaves = training.join("stays", lanes=lanes), training.join("leaves", lanes=lanes)
                training.wait_for_joined("stays", "leaves")
                time.sleep(self.random.uniform(0, 0.2))
                leaves.signal(number)
                result = leaves.wait(20)
                self.assertEqual(result.status, 128 + number, str(result))
                training.wait_for_left("leaves")
                training.advance(1)
                self.assert_calm(training)
                self.finish(LENET, training, (stays,))

    def test_all_at_once(self):
        training = self.begin(MLP)
        guests = [training.join("guest-%d" % i) for i in range(3)]
        training.wait_for_joined(*("guest-%d" % i for i in range(3)))
        for guest in guests:
            guest.signal(signal.SIGTERM)
        self.assertEqual([guest.wait(20).status for guest in guests], 3 * [143])
        training.advance(2)
        self.assert_calm(training)
        self.finish(MLP, training)

    def test_before_it_takes_part(self):
        """Whoever thinks better of it in the midst of joining does no harm and is no loss."""
        training = self.begin(LENET)
        for i in range(4):
            guest = training.join("guest-%d" % i)
            training.wait_for_ready("guest-%d" % i)
            time.sleep(self.random.uniform(0, 0.05))
            guest.signal(signal.SIGINT)
            self.assertEqual(guest.wait(20).status, 130, str(guest.so_far()))
        training.advance(1)
        self.assertEqual([line for line in training.events.lines() if " device.lost " in line], [])
        self.finish(LENET, training)


class Death(Elastic):
    def kill(self, training, *named):
        for process, _ in named:
            process.signal(signal.SIGKILL)
        for _, name in named:
            # Known by its socket, not by its silence.
            self.assertLess(self.lost_after_ms(training, name), SILENCE_MS * harness.PATIENCE)
        for process, _ in named:
            process.child.wait()

    @harness.not_for_sanitizers("e2e.chaos kills devices there")
    def test_in_mid_step_again_and_again(self):
        for lanes in (2,) if harness.SANITIZED else (1, 2):
            with self.subTest(lanes=lanes):
                training = self.begin(LENET, lanes=lanes)
                stays = training.join("stays", lanes=lanes)
                training.wait_for_joined("stays")
                for i in range(4):
                    name = "dies-%d" % i
                    dies = training.join(name, lanes=lanes)
                    training.wait_for_joined(name)
                    time.sleep(self.random.uniform(0, 0.2))
                    self.kill(training, (dies, name))
                training.advance(1)
                self.finish(LENET, training, (stays,), exact=False)

    def test_two_at_once_and_then_all(self):
        training = self.begin(LENET)
        names = ["one", "two", "three", "four"]
        guests = [training.join(name) for name in names]
        training.wait_for_joined(*names)
        time.sleep(self.random.uniform(0, 0.2))
        self.kill(training, *zip(guests[:2], names[:2]))
        training.advance(1)
        self.kill(training, *zip(guests[2:], names[2:]))
        training.advance(1)
        self.finish(LENET, training, exact=False)

    @harness.not_for_sanitizers("e2e.chaos kills devices there")
    def test_while_one_is_lost_the_next_one_is(self):
        training = self.begin(LENET)
        names = ["one", "two", "three"]
        guests = [training.join(name) for name in names]
        training.wait_for_joined(*names)
        for guest in guests:
            guest.signal(signal.SIGKILL)
            time.sleep(self.random.uniform(0, 0.01))
        for name in names:
            training.events.find(r'WARN device\.lost .*text="device %s was lost' % name)
        training.advance(1)
        self.finish(LENET, training, exact=False)

    def test_while_it_joins(self):
        """In the transfer, in the linking, in its first step: whenever it is."""
        training = self.begin(LENET)
        stays = training.join("stays")
        training.wait_for_joined("stays")
        for i in range(6):
            guest = training.join("guest-%d" % i)
            training.wait_for_ready("guest-%d" % i)
            time.sleep(self.random.uniform(0, 0.15))
            guest.signal(signal.SIGKILL)
            guest.child.wait()
        training.advance(1)
        self.finish(LENET, training, (stays,), exact=False)

    def test_local_devices(self):
        """Those that train has started itself; the last one's death leaves it alone with the job."""
        training = self.begin(LENET, "--devices", "3", listen=None)
        for left in (1, 0):
            one = self.random.choice(harness.children_of(training.process.child.pid))
            os.kill(one, signal.SIGKILL)
            training.events.find(r"WARN device\.lost ")
            training.advance(1)
            self.assertEqual(len(harness.children_of(training.process.child.pid)), left)
        self.finish(LENET, training, exact=False)

    @harness.not_for_sanitizers("e2e.chaos kills devices there")
    def test_one_that_gives_its_replica(self):
        """A donor dies while a device joins from it."""
        training = self.begin(LENET)
        dies = training.join("dies")
        training.wait_for_joined("dies")
        late = training.join("late")
        training.wait_for_ready("late")
        time.sleep(self.random.uniform(0, 0.05))
        self.kill(training, (dies, "dies"))
        training.wait_for_joined("late")
        training.advance(1)
        self.finish(LENET, training, (late,), exact=False)


class Servers(Elastic):
    PS = ("--strategy", "ps-sync")

    def test_come_and_die(self):
        """All serve, whoever is there; shards are dealt anew each time."""
        training = self.begin(LENET, *self.PS)
        dies, stays = training.join("dies"), training.join("stays")
        training.wait_for_joined("dies", "stays")
        training.advance(1)
        time.sleep(self.random.uniform(0, 0.2))
        dies.signal(signal.SIGKILL)
        self.assertLess(self.lost_after_ms(training, "dies"), SILENCE_MS * harness.PATIENCE)
        training.advance(1)
        late = training.join("late")
        training.wait_for_joined("late")
        training.advance(1)
        self.finish(LENET, training, (stays, late), exact=False)

    def test_nobody_stops_for_one_that_joins_or_leaves(self):
        training = self.begin(LENET, *self.PS)
        stays, leaves = training.join("stays"), training.join("leaves")
        training.wait_for_joined("stays", "leaves")
        leaves.signal(signal.SIGTERM)
        self.assertEqual(leaves.wait(20).status, 143)
        training.wait_for_left("leaves")
        training.advance(1)
        self.assert_calm(training)
        self.finish(LENET, training, (stays,))

    @harness.not_for_sanitizers("e2e.chaos kills devices there")
    def test_chosen_ones_are_lost(self):
        """All serve for want of them, and the user hears of it."""
        training = self.begin(LENET, *self.PS, "--servers", "1,3")
        serves = training.join("serves")
        training.wait_for_joined("serves")
        works = training.join("works")
        training.wait_for_joined("works")
        self.assertEqual([line for line in training.events.lines() if " device.servers " in line], [])
        serves.signal(signal.SIGKILL)
        training.events.find(r'INFO device\.servers .*text="none of the chosen servers \(--servers 1,3\)')
        training.advance(1)
        again = training.join("again")  # it is device 3
        training.wait_for_joined("again")
        training.events.find(r'INFO device\.servers .*text="a chosen server \(--servers 1,3\) takes part')
        training.advance(1)
        self.finish(LENET, training, (works, again), exact=False)


class Silence(Elastic):
    def test_frozen(self):
        """Found by its silence, and not before; thawed, it comes back by itself, and is one device in all tables."""
        training = self.begin(LENET)
        stays, sleeps = training.join("stays"), training.join("sleeps")
        training.wait_for_joined("stays", "sleeps")
        time.sleep(self.random.uniform(0, 0.2))
        sleeps.signal(signal.SIGSTOP)
        after_ms = self.lost_after_ms(training, "sleeps")
        self.assertGreaterEqual(after_ms, SILENCE_MS)
        self.assertLess(after_ms, LATE_MS * harness.PATIENCE)
        training.advance(1)
        sleeps.signal(signal.SIGCONT)
        training.wait_for_joined("sleeps")
        training.advance(1)
        devices = self.finish(LENET, training, (stays, sleeps), exact=False)["devices"]
        self.assertEqual(sorted(device["name"] for device in devices[1:]), ["sleeps", "stays"])
        self.assertLessEqual(sum(device["grains"] for device in devices), self.alone["grains"] + 8)  # a step was in hand
        with contextlib.closing(sqlite3.connect(os.path.join(training.run, "run.db"))) as database:
            rows = database.execute("SELECT name, lanes FROM devices WHERE device > 0 ORDER BY name").fetchall()
            self.assertEqual(rows, [("sleeps", 1), ("stays", 1)])
            worked = dict(database.execute("SELECT name, sum(grains) FROM work JOIN devices USING (device) GROUP BY device"))
            self.assertGreater(worked["sleeps"], 0)

    @harness.not_for_sanitizers("it mostly waits")
    def test_frozen_while_it_prepares(self):
        """A device that was welcomed and is not ready yet is lost as others are, and comes back as others do."""
        training = self.begin(SLOW_TO_BEGIN)
        late = training.join("late", quiet=False)
        training.events.find(r'INFO device\.welcomed .*name="late"')
        late.signal(signal.SIGSTOP)
        training.events.find(r'WARN device\.refused .*reason="nothing was heard from it"')
        self.assertEqual([line for line in training.events.lines() if " device.ready " in line], [])
        late.signal(signal.SIGCONT)
        late.wait_for("trying to rejoin for", stream="err")
        training.wait_for_joined("late")
        self.finish(SLOW_TO_BEGIN, training, (late,), exact=False)

    @harness.not_for_sanitizers("it mostly waits")
    def test_coordinator_frozen(self):
        """While it was not there itself, nobody was silent."""
        training = self.begin(LENET)
        joined = [training.join("one"), training.join("two")]
        training.wait_for_joined("one", "two")
        training.process.signal(signal.SIGSTOP)
        time.sleep(1.5)
        training.process.signal(signal.SIGCONT)
        training.advance(2)
        self.assert_calm(training)
        self.finish(LENET, training, joined)


class Coordinator(Elastic):
    @harness.not_for_sanitizers("e2e.succession loses coordinators there")
    def test_killed_and_resumed(self):
        """Members that never lead wait, come back by themselves, and the course is the same."""
        training = self.begin(LENET)
        joined = [training.join(name, "--never-lead", quiet=False) for name in ("one", "two")]
        training.wait_for_joined("one", "two")
        training.advance(1)
        time.sleep(self.random.uniform(0, 0.2))
        training.process.signal(signal.SIGKILL)
        training.process.child.wait()
        for process in joined:
            process.wait_for("trying to rejoin for 60 s$", stream="err")
        training.resume()
        training.wait_for_joined("one", "two")
        training.advance(1)
        summary = training.stop()
        for process in joined:
            self.assertEqual(process.wait(30).status, 0, str(process.so_far()))
        alone = self.train(*LENET, *END, "--steps", str(summary["steps"]), "--run", "alone", "--quiet").summary
        self.assertEqual(summary["weights_hash"], alone["weights_hash"], "SHOAL_TEST_SEED=%d" % SEED)

    def test_gone_for_good(self):
        training = self.begin(MLP)
        waits = training.join("waits", "--never-lead", "--reconnect", "1", quiet=False)
        goes = training.join("goes", "--reconnect", "0")
        training.wait_for_joined("waits", "goes")
        since = time.monotonic()
        training.process.signal(signal.SIGKILL)
        result = goes.wait(20)
        self.assertEqual(result.status, 1)
        self.assertLess(time.monotonic() - since, 1 * harness.PATIENCE)
        self.assertRegex(result.err, r"\Ashoal: 127\.0\.0\.1:\d+: the connection ended: .*\n\Z")
        result = waits.wait(20)
        self.assertEqual(result.status, 1)
        self.assertGreater(time.monotonic() - since, 1)
        self.assertEqual(len(re.findall("(?m)^shoal: ", result.err)), 1, result.err)

    def test_gone_while_a_member_waits_that_is_asked_to_leave(self):
        training = self.begin(MLP)
        guest = training.join("guest", "--never-lead", quiet=False)
        training.wait_for_joined("guest")
        training.process.signal(signal.SIGKILL)
        guest.wait_for("trying to rejoin", stream="err")
        guest.signal(signal.SIGINT)
        self.assertEqual(guest.wait(5).status, 130, str(guest.so_far()))


class Refused(Elastic):
    def test_whoever_does_not_fit(self):
        """While two devices train: they do not notice."""
        training = self.begin(MLP)
        joined = training.join("one")
        training.wait_for_joined("one")
        token = training.token
        for name, arguments, reason in (
                ("other", ("--data", "digits:150/31"), "digits:150/31 differs from the job's data: "),
                ("none", ("--data", "mnist:nowhere"), "nowhere")):
            result = training.join(name, *arguments).wait(20)
            self.assertEqual(result.status, 1)
            self.assertRegex(result.err, r"(?m)^shoal: .*" + reason)
        result = training.join("thief", token=token.but(secret=bytes(range(16)))).wait(20)
        self.assertEqual(result.status, 1)
        self.assertIn("shoal: the job did not accept the token: wrong or expired key", result.err)
        peer = self.peer(token)
        peer.send(harness.hello(b"0.0.0-shark"))
        training.events.find(r"WARN device\.refused .*runs shoal 0\.0\.0-shark, the job shoal")
        peer.wait_for_end()
        with socket.create_connection(("127.0.0.1", token.port)) as noise:
            noise.sendall(b"GET / HTTP/1.0\r\n\r\n" + bytes(range(256)))
        training.events.find(r"WARN net\.refused ")
        training.advance(2)
        self.assertEqual([line for line in training.events.lines() if " device.lost " in line], [])
        summary = self.finish(MLP, training, (joined,))
        self.assertEqual([device["name"] for device in summary["devices"]][1:], ["one"])
        self.assertEqual(len([line for line in training.events.lines() if " device.joined " in line]), 1)

    def test_a_second_coordinator(self):
        """The run's folder is the first one's while it lives, for those who begin and for those who resume."""
        training = self.begin(MLP)
        joined = training.join("one")
        training.wait_for_joined("one")
        reason = "shoal: %s: is in use by another shoal (process %d): wait for its end, or choose another folder " \
            "with --run\n" % (training.run, training.process.child.pid)
        for second in (("--resume", training.run), ("--resume", training.run, "--listen", "127.0.0.1:0"),
                       (*MLP, "--run", training.run)):
            result = self.shoal("train", *second, "--quiet", status=1)
            self.assertEqual(result.err, reason)
        training.advance(2)
        self.assert_calm(training)
        self.finish(MLP, training, (joined,))

    def test_a_device_that_computes_other_bits(self):
        env = {"SHOAL_TEST_FLIP": "first-grain"}
        training = self.begin(LENET)
        joined = training.join("one")
        training.wait_for_joined("one")
        result = training.join("other", env=env).wait(20)
        self.assertEqual(result.status, 1)
        reason = "device other computes different bits: its processor, memory or build of shoal has " \
            "a defect; use another device, and please report it with its output of shoal version and lscpu"
        self.assertRegex(result.err, r"\Ashoal: .*%s\n\Z" % re.escape(reason))
        training.events.find(r"WARN device\.refused .*device other computes different bits")
        training.events.find(r" device\.defect .*device other computes different bits")
        training.advance(2)
        summary = self.finish(LENET, training, (joined,))
        self.assertEqual([device["name"] for device in summary["devices"]][1:], ["one"])

    @harness.not_for_sanitizers("these trainings differ in arithmetic alone")
    def test_devices_of_every_variant(self):
        """One hash, whatever the processors of those who train together can do."""
        training = self.begin(LENET)
        joined = []
        for variant in self.variants():
            joined.append(training.join(variant, env={"SHOAL_VARIANT": variant}))
            training.wait_for_joined(variant)
        training.advance(2)
        self.finish(LENET, training, joined)


if __name__ == "__main__":
    print("SHOAL_TEST_SEED=%d" % SEED, flush=True)
    harness.main()
