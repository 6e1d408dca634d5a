#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a training leaves in run.db (src/store/schema.h), through joins, kills and disks that take nothing."""

import os
import shutil
import signal
import sqlite3
import statistics
import time

import harness

JOB = ("lenet", "digits:600/60", "--batch-size", "48", "--grain", "6")  # 13 steps an epoch, of 8 grains
STEPS, GRAINS, SAMPLES = 13, 99 + 1, 600  # an epoch's: the last step has 24 samples
PARTS = ("data_us", "forward_us", "backward_us", "sum_us", "optimizer_us", "lanes_us", "exchange_us",
         "between_us")


class Journal(harness.Case):
    def ask(self, run, sql):
        """The rows, of a database that may be written meanwhile."""
        database = sqlite3.connect("file:%s?mode=ro" % self.path(run, "run.db"), uri=True, timeout=10)
        try:
            return database.execute(sql).fetchall()
        finally:
            database.close()

    def one(self, run, sql):
        return self.ask(run, sql)[0][0]

    def check_steps(self, run, steps):
        """Each step once, by whatever session applied it last."""
        self.assertEqual(self.ask(run, "SELECT count(*), min(step), max(step), sum(merged) FROM steps"),
                         [(steps, 1, steps, steps)])
        self.assertEqual(self.one(run, "PRAGMA integrity_check"), "ok")

    def expected(self, step):
        """Grains and samples of a step."""
        return (4, 24) if step % STEPS == 0 else (8, 48)

    def check_work(self, run, but=()):
        """All that was computed of each step; steps in `but` may lack what a device did that was lost."""
        for step, grains, samples in self.ask(
                run, "SELECT step, sum(grains), sum(samples) FROM work GROUP BY step"):
            if step not in but:
                self.assertEqual((grains, samples), self.expected(step), step)

    def check_parts(self, run):
        """What the parts say is what a step took, on each device, but for reading clocks. There a busy system may stop
        the device for a moment: so the median counts."""
        for device, in self.ask(run, "SELECT DISTINCT device FROM work"):
            missing = [1 - parts / wall for wall, parts in self.ask(
                run, "SELECT wall_us, %s FROM work WHERE device = %d" % (" + ".join(PARTS), device))]
            self.assertGreater(min(missing), -1e-6, device)
            self.assertLess(statistics.median(missing), 0.001, (device, missing))


class Records(Journal):
    @harness.not_for_threads("its records are those of test_views_have_reasons")
    def test_by_one_device_and_by_three(self):
        for devices in (1, 3):
            with self.subTest(devices=devices):
                run = "run-%d" % devices
                summary = self.train(*JOB, "--epochs", "8", "--lanes", "1", "--devices", str(devices), "--run", run,
                                     "--quiet").summary
                steps = 8 * STEPS
                self.check_steps(run, steps)
                self.assertEqual(self.one(run, "SELECT count(*) FROM work"), devices * steps)
                self.check_work(run)
                self.check_parts(run)
                self.assertEqual(self.ask(run, "SELECT weights_hash, steps, epoch_steps, epochs, grains FROM run"),
                                 [(summary["weights_hash"], steps, STEPS, 8, 8)])
                self.assertEqual(self.ask(run, "SELECT session, status FROM sessions"), [(1, "complete")])
                self.assertEqual(self.one(run, "SELECT count(*) FROM epochs WHERE val_accuracy > 0"), 8)
                self.assertEqual(self.one(run, "SELECT count(*) FROM devices"), devices)
                self.assertEqual(self.ask(run, "SELECT device, reason FROM views WHERE view = 1 AND step = 1"),
                                 [(device, "start") for device in range(devices)])
                self.assertGreater(self.one(run, "SELECT count(*) FROM events WHERE kind = 'checkpoint.written'"), 0)
                for device, count, seconds in self.ask(
                        run, "SELECT device, count(*), max(at) - min(at) FROM samples GROUP BY device"):
                    if not harness.SANITIZED:
                        self.assertLess(abs(count / (10 * seconds + 1) - 1), 0.25, (device, count, seconds))
                self.assertEqual(self.one(run, "SELECT count(DISTINCT device) FROM samples"), devices)
                bytes_sent, packets, busy = self.ask(run, "SELECT max(network_sent_bytes), max(network_sent_packets), "
                                                     "max(network_busy_seconds) FROM samples")[0]
                if devices == 1:  # without a channel nothing is known of any
                    self.assertEqual((bytes_sent, packets, busy), (None, None, None))
                else:
                    most = max(device["bytes_sent"] for device in summary["devices"])
                    self.assertLess(abs(bytes_sent / most - 1), 0.1)
                    self.assertGreater(packets, bytes_sent / 70000)  # a segment of the loopback has 64 KiB at most
                    self.assertGreater(busy, 0)

    def test_views_have_reasons(self):
        training = harness.Training(self, *JOB, "--epochs", "1000000", "--lanes", "1")
        run = training.run
        comes = training.join("comes")
        training.wait_for_joined("comes")
        training.advance(1)
        comes.kill()
        training.events.find(r"WARN device\.lost .*comes")
        training.advance(1)
        goes = training.join("goes")
        training.wait_for_joined("goes")
        training.advance(1)
        goes.signal(signal.SIGINT)
        training.wait_for_left("goes")
        training.advance(1)
        summary = training.stop()
        reasons = [reason for _, reason in self.ask(
            run, "SELECT view, min(reason) FROM views GROUP BY view ORDER BY view") if reason != "shares"]
        self.assertEqual([reason for reason in reasons if reason != "links"], ["start", "join", "loss", "join", "leave"])
        self.check_steps(run, summary["steps"])
        lost = self.one(run, "SELECT min(step) FROM views WHERE reason = 'loss'")
        # The last second of a device that dies is not told.
        self.check_work(run, but=self.last_second(run, lost))
        self.assertEqual(self.ask(run, "SELECT name FROM devices WHERE gone IS NOT NULL ORDER BY device"),
                         [("comes",), ("goes",)])
        devices = dict(self.ask(run, "SELECT name, device FROM devices"))
        for kind, name in (("joined", "comes"), ("lost", "comes"), ("joined", "goes"), ("left", "goes")):
            self.assertIn((devices[name],), self.ask(run, "SELECT device FROM events WHERE kind = 'device.%s'" % kind))
        self.assertEqual(self.ask(run, "SELECT DISTINCT device FROM events WHERE kind = 'device.view'"), [(None,)])
        self.assertEqual(self.ask(run, "SELECT status FROM sessions"), [("stopped",)])
        self.assertEqual(self.one(run, "SELECT weights_hash FROM run"), None)

    def last_second(self, run, step):
        at = self.one(run, "SELECT at FROM steps WHERE step = %d" % step)
        return {row[0] for row in self.ask(run, "SELECT step FROM steps WHERE at > %f - 2.5 AND step <= %d" % (at, step))}

    @harness.not_for_threads("its records are those of test_views_have_reasons")
    def test_a_coordinator_is_killed_and_comes_back(self):
        training = harness.Training(self, *JOB, "--epochs", "1000000", "--lanes", "1")
        stays = training.join("stays", "--reconnect", "60", "--never-lead")
        training.wait_for_joined("stays")
        training.advance(2)
        self.wait_for_rows(training.run)
        training.process.child.kill()
        training.process.child.wait()
        self.assertEqual(self.one(training.run, "PRAGMA integrity_check"), "ok")
        training.resume()
        training.wait_for_joined("stays")
        training.advance(1)
        summary = training.stop()
        stays.wait(30)
        self.check_steps(training.run, summary["steps"])
        again = self.one(training.run, "SELECT min(step) FROM steps WHERE session = 2")
        self.check_work(training.run, but=self.last_second(training.run, again - 1))
        self.assertEqual(self.ask(training.run, "SELECT session, status FROM sessions"), [(1, None), (2, "stopped")])

    def wait_for_rows(self, run):
        deadline = time.monotonic() + 20 * harness.PATIENCE
        while self.one(run, "SELECT count(*) FROM work") == 0 and time.monotonic() < deadline:
            time.sleep(0.05)


class Trouble(Journal):
    @harness.not_for_threads("what it finds in files needs one thread")
    def test_a_damaged_one_is_moved_aside(self):
        for damage, words in ((b"not a database", "is not a database"), (b"", None)):
            with self.subTest(damage=damage):
                shutil.rmtree(self.path("run"), ignore_errors=True)
                self.train(*JOB, "--epochs", "1", "--run", "run", "--quiet")
                with open(self.path("run", "run.db"), "wb") as file:
                    file.write(damage)
                result = self.shoal("train", "--resume", "run", "--epochs", "2")
                if words is None:  # an empty file is an empty database
                    self.assertFalse(os.path.exists(self.path("run", "run.db.damaged-1")))
                else:
                    self.assertIn(words, result.out + result.err)
                    with open(self.path("run", "run.db.damaged-1"), "rb") as file:
                        self.assertEqual(file.read(), damage)
                self.assertEqual(self.ask("run", "SELECT min(step), max(step) FROM steps"), [(STEPS + 1, 2 * STEPS)])

    @harness.not_for_threads("what it finds in files needs one thread")
    def test_another_version_is_left_alone(self):
        whole = self.train(*JOB, "--epochs", "2", "--run", "whole", "--quiet").summary
        self.train(*JOB, "--epochs", "1", "--run", "run", "--quiet")
        database = sqlite3.connect(self.path("run", "run.db"))
        database.execute("PRAGMA user_version = 99")
        database.close()
        result = self.train("--resume", "run", "--epochs", "2")
        self.assertEqual(result.summary["weights_hash"], whole["weights_hash"])
        self.assertRegex(result.out + result.err, "version 99.*training continues without a record")
        self.assertEqual(self.one("run", "SELECT max(step) FROM steps"), STEPS)

    def test_a_disk_that_is_full(self):
        """Its checkpoints fit, its records do not: it trains to the same weights, and says so once."""
        if os.geteuid() != 0 or not shutil.which("unshare"):
            self.skipTest("a small disk needs root and the command unshare (util-linux)")
        whole = self.train(*JOB, "--steps", "10", "--run", "whole", "--quiet").summary
        script = """
            mkdir disk && mount -t tmpfs -o size=6m shoal-test disk || exit 77
            "$SHOAL" train %s --steps 10 --run disk/run --json full.json &&
            test ! -e disk/run/run.db
            """ % " ".join(JOB)
        result = self.start(argv=["unshare", "--mount", "sh", "-c", script]).wait()
        if result.status == 77:
            self.skipTest("a small disk cannot be mounted here: %s" % result.err.strip())
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual((result.out + result.err).count("training continues without a record"), 1, str(result))
        self.assertEqual(self.summary(self.path("full.json"))["weights_hash"], whole["weights_hash"])


if __name__ == "__main__":
    harness.main()
