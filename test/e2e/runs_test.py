#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: it has no threads of its own.
"""What runs have left, listed, watched and exported: shoal runs, shoal top."""

import csv
import fcntl
import json
import os
import pty
import re
import select
import signal
import sqlite3
import struct
import subprocess
import termios
import time

import harness

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")


def schema():
    """The statements of src/store/schema.c."""
    def source(*names):
        with open(os.path.join(SOURCES, *names), encoding="utf-8") as file:
            return file.read()
    lines = source("store", "schema.c").split("static const char schema[] =")[1].split("\nconst ")[0]
    for macro, file in (("SH_PART", "parts.def"), ("SH_FIGURE", "figures.def")):
        names = re.findall(r"^%s\((\w+)" % macro, source("monitor", file), re.M)
        column = re.search(r"#define %s\(.*?\) (.*)\n#include.*\n#undef.*\n" % macro, lines)
        lines = lines.replace(column.group(0), "\n".join(
            re.sub(r'" #name "', name, column.group(1)) for name in names) + "\n")
    lines = re.sub(r"/\*.*?\*/", "", lines)
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', lines)).replace("\\n", "\n")


def schema_version():
    with open(os.path.join(SOURCES, "store", "schema.c"), encoding="utf-8") as file:
        return int(re.search(r'\.version = (\d+),', file.read()).group(1))


class Runs(harness.Case):
    def make(self, name, rows, version=schema_version()):
        os.makedirs(self.path(name), exist_ok=True)
        database = sqlite3.connect(self.path(name, "run.db"))
        database.executescript("PRAGMA application_id = 0x73686f6c; PRAGMA user_version = %d; %s; %s"
                               % (version, schema(), rows))
        database.commit()
        database.close()

    def training(self, name, status="'complete'"):
        """A run of 20 steps, half a second each, on two devices, of which the second is the slow one."""
        parts = "wall_us, data_us, forward_us, backward_us, sum_us, optimizer_us, lanes_us, exchange_us"
        self.make(name, """
            INSERT INTO run VALUES ('lenet', 'digits', '{}', 61706, 20, 10, 2, 16, NULL);
            INSERT INTO sessions VALUES (1, '0.1.0', 1000, 1012, %s);
            INSERT INTO devices VALUES (0, 1, 'pi1', 4, 4, 1000, NULL, NULL),
                                       (1, 1, 'pi2', 4, 4, 1000, NULL, NULL);
            INSERT INTO views VALUES (1, 1, 0, 1000, 1, 12, 'start'), (1, 1, 1, 1000, 1, 4, 'start');
            WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20) INSERT INTO steps
                SELECT i, 1000 + 0.5 * i, 1, 1, 1, 1 + (i > 10), 64, 2.0 / i, 0.05 * i, 0 FROM n;
            INSERT INTO work (step, device, at, merged, grains, samples, %s)
                SELECT step, 0, at, 1, 12, 48, 5e5, 0, 1e5, 1e5, 0, 0, 0, 3e5 FROM steps UNION ALL
                SELECT step, 1, at, 1, 4, 16, 5e5, 0, 2e5, 2e5, 0, 0, 0, 1e5 FROM steps;
            INSERT INTO epochs VALUES (1, 10, 1005, 0.5, 0.4, 0.45, 0.75, 5), (2, 20, 1010, 0.4, 0.5, 0.4, 0.875, 10);
            INSERT INTO events VALUES (1000, NULL, 'run.started', '2 devices, "as, asked"');
            """ % (status, parts))

    def test_lists_runs(self):
        self.training("runs/a")
        self.training("runs/b", "'failed: out of paper'")
        self.make("runs/c", "", version=9)
        result = self.shoal("runs", env={"TZ": "UTC"})
        self.assertEqual(result.out, """\
run  state       model  data    devices  steps  val accuracy              started  time
a    complete    lenet  digits        2  20/20       87.50 %  1970-01-01 00:16:40  0:12
b    failed      lenet  digits        2  20/20       87.50 %  1970-01-01 00:16:40  0:12
c    unreadable  -      -             -      -             -                    -     -
""")
        self.assertEqual(result.err, """\
failed: out of paper
unreadable: runs/c/run.db: its schema has version 9, this shoal knows version %d: use the shoal that wrote it
""" % schema_version())
        runs = json.loads(self.shoal("runs", "--json", "-").out)["runs"]
        self.assertEqual([run["state"] for run in runs], ["complete", "failed", "unreadable"])
        self.assertEqual(runs[0]["val_accuracy"], 0.875)
        self.assertEqual((runs[1]["reason"], runs[1]["folder"]), ("out of paper", "runs/b"))
        self.assertIsNone(runs[2]["started"])
        self.assertEqual(len(json.loads(self.shoal("runs", "runs/a/", "--json", "-").out)["runs"]), 1)

    def test_says_what_is_wrong(self):
        self.training("a")
        os.mkdir(self.path("empty"))
        self.assertEqual(self.shoal("runs", "empty").err, "empty: no runs there\n")
        for arguments, message in (
                (["runs"], "runs: cannot list: No such file or directory"),
                (["top"], "no RUN is given, and runs: cannot list"),
                (["top", "empty"], "empty: is not the folder of a run"),
                (["top", "none"], "none: no such folder"),
                (["runs", "a", "--export", "step"], "a: has no table step, but run, sessions, devices,"),
                (["runs", "a", "--export", "steps", "--output", "no/file"], "no/file: cannot create"),
                (["runs", "--json", "no/file"], "--json no/file: No such file")):
            result = self.shoal(*arguments, status=1)
            self.assertIn("shoal: " + message, result.err)
            self.assertEqual(result.out, "")
        for arguments, message in (
                (["runs", "--export", "steps"], "runs: --export needs the folder of a run"),
                (["runs", "a", "--format", "csv"], "runs: --format and --output are for --export"),
                (["runs", "a", "--export", "steps", "--format", "xml"], "--format xml: must be csv or json")):
            self.assertIn(message, self.shoal(*arguments, status=2).err)

    def test_exports_tables(self):
        self.training("a")
        database = sqlite3.connect(self.path("a", "run.db"))
        database.row_factory = sqlite3.Row
        for table in ("run", "sessions", "devices", "views", "epochs", "steps", "work", "samples", "events",
                      "step_parts"):
            expected = [dict(row) for row in database.execute("SELECT * FROM " + table)]
            found = json.loads(self.shoal("runs", "a", "--export", table, "--format", "json").out)
            self.assertEqual(found, expected, table)
            self.shoal("runs", "a", "--export", table, "-o", "table.csv")
            with open(self.path("table.csv"), encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual([[value if value == "" or isinstance(old, str) else float(value)
                               for value, old in zip(row.values(), before.values())]
                              for row, before in zip(rows, expected)],
                             [["" if value is None else value for value in row.values()] for row in expected])
            self.assertEqual(len(rows), len(expected))
        database.close()

    def test_shows_a_run_once(self):
        self.training("runs/a")
        result = self.shoal("top", env={"TZ": "UTC"})
        self.assertEqual(result.out, """\
a  complete  lenet on digits
step 20/20  epoch 2/2  [====================]  0:12  ETA -
loss 0.1338  accuracy 77.5 %  val accuracy 87.50 %  128 samples/s

device   share  samples/s  time                  CPU  throttled  memory MB  in MB/s  out MB/s  Celsius
0 pi1   75.0 %       96.0  ########--------~~~~    -  -                  -        -         -        -
1 pi2   25.0 %       32.0  ################~~~~    -  -                  -        -         -        -

time: # computing  waiting for . own lanes - devices ~ the network  + optimizer

00:16:40  run.started  2 devices, "as, asked"
""")
        narrow = self.shoal("top", "runs/a", env={"COLUMNS": "20"}).out.splitlines()
        self.assertEqual(max(map(len, narrow)), 20)
        top = json.loads(self.shoal("top", "runs/a", "--json", "-").out)
        self.assertEqual(top["run"]["state"], "complete")
        self.assertEqual(top["samples_per_second"], 128)
        self.assertEqual([device["share"] for device in top["devices"]], [0.75, 0.25])
        self.assertAlmostEqual(top["devices"][0]["wait"], 0.4)
        self.assertAlmostEqual(top["devices"][1]["compute"], 0.8)
        self.assertIsNone(top["devices"][1]["cpu"])
        self.assertEqual(top["news"][0]["device"], None)

    def test_what_trainings_leave(self):
        job = ("train", "mlp:784-16-10", "digits:2000/200", "--batch-size", "20", "--devices", "2", "--quiet")
        self.shoal(*job, "--epochs", "2", "--run", "runs/whole", "--json", "whole.json")
        endless = self.start(*job, "--epochs", "100000", "--run", "runs/cut")
        deadline = time.monotonic() + 30 * harness.PATIENCE
        while True:
            top = json.loads(self.shoal("top", "runs/cut", "--json", "-", status=None).out or "{}")
            if top and top["run"]["step"] > 200 and all(d["sent_bytes_per_second"] for d in top["devices"]):
                break
            self.assertLess(time.monotonic(), deadline, top)
            time.sleep(0.1)
        self.assertEqual(top["run"]["state"], "running")
        self.assertEqual(len(top["devices"]), 2)
        self.assertAlmostEqual(sum(device["share"] for device in top["devices"]), 1)
        for device in top["devices"]:
            # The rest of a step lies between these (e2e.journal has all parts); how much depends on the machine.
            parts = [device[part] for part in ("compute", "lanes", "wait", "network", "optimizer")]
            self.assertGreaterEqual(min(parts), 0)
            self.assertGreater(device["compute"], 0)
            self.assertLessEqual(sum(parts), 1.001)
            self.assertGreater(device["memory_bytes"], 1e6)
            self.assertGreater(device["sent_bytes_per_second"], 1000)
        self.assertGreater(top["samples_per_second"], 0)
        self.assertGreater(top["eta_seconds"], 0)
        endless.kill()
        runs = {run["name"]: run for run in json.loads(self.shoal("runs", "--json", "-").out)["runs"]}
        summary = self.summary(self.path("whole.json"))
        self.assertEqual((runs["whole"]["state"], runs["cut"]["state"]), ("complete", "killed"))
        self.assertEqual((runs["whole"]["step"], runs["whole"]["steps"], runs["whole"]["devices"]), (200, 200, 2))
        self.assertEqual(runs["whole"]["val_accuracy"], summary["val_accuracy"])
        rows = json.loads(self.shoal("runs", "runs/whole", "--export", "steps", "--format", "json").out)
        self.assertEqual([row["step"] for row in rows], list(range(1, 201)))

    def check_trace(self, path, run, devices):
        """Slices of each device one after the other, parts within their step: as much as the steps took."""
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        database = sqlite3.connect(self.path(run, "run.db"))
        rows = database.execute("SELECT device, step, wall_us FROM work ORDER BY step").fetchall()
        views = {"view %d" % view for view, in database.execute("SELECT view FROM views")}
        names = dict(database.execute("SELECT device, name FROM devices"))
        database.close()
        self.assertEqual({event["pid"]: event["args"]["name"] for event in events
                          if event["name"] == "process_name"}, names)
        self.assertLessEqual(views, {event["name"] for event in events if event["ph"] == "i"})
        for device in range(devices):
            own = [event for event in events if event["pid"] == device]
            slices = [event for event in own if event["ph"] == "X"]
            steps = [event for event in slices if event["name"].startswith("step ")]
            self.assertEqual([(event["name"], round(event["dur"], 3)) for event in steps],
                             [("step %d" % step, round(wall, 3)) for number, step, wall in rows if number == device])
            step_end = part_end = 0.0
            for event in slices:
                if event in steps:
                    self.assertGreaterEqual(event["ts"], step_end - 1e-3)
                    step_end, part_end = event["ts"] + event["dur"], event["ts"]
                else:
                    self.assertGreaterEqual(event["ts"], part_end - 1e-3)
                    part_end = event["ts"] + event["dur"]
                    self.assertLessEqual(part_end, step_end + 1e-3)
            total = sum(event["dur"] for event in steps)
            self.assertAlmostEqual((sum(event["dur"] for event in slices) - total) / total, 1, delta=0.02)
            counters = {event["name"] for event in own if event["ph"] == "C"}
            self.assertEqual(counters, {"CPU", "memory", "network in", "network out"})
            for name in counters:
                moments = [event["ts"] for event in own if event["name"] == name]
                self.assertEqual(moments, sorted(moments))
        return steps

    def test_traces_a_training(self):
        job = ("train", "lenet", "digits:2000/200", "--batch-size", "50", "--devices", "2", "--lanes", "1", "--quiet")
        self.shoal(*job, "--epochs", "2", "--run", "whole", "--trace", "whole.json")
        self.assertEqual(len(self.check_trace(self.path("whole.json"), "whole", 2)), 80)
        self.shoal("runs", "whole", "--export", "trace", "-o", "again.json")
        with open(self.path("whole.json"), "rb") as one, open(self.path("again.json"), "rb") as other:
            self.assertEqual(one.read(), other.read())
        for path, message, status in (("no/t.json", "--trace no/t.json: No such file", 1),
                                      ("whole", "--trace whole: Is a directory; choose another file for --trace", 1),
                                      ("-", "--trace -: must be a file", 2)):
            self.assertIn(message, self.shoal(*job, "--trace", path, "--run", "none", status=status).err)
            self.assertFalse(os.path.exists(self.path("none")))

    def test_traces_what_was_stopped(self):
        endless = self.start("train", "lenet", "digits:2000/200", "--devices", "2", "--lanes", "1", "--epochs", "9999",
                             "--quiet", "--run", "cut", "--trace", "cut.json")
        deadline = time.monotonic() + 30 * harness.PATIENCE
        while json.loads(self.shoal("top", "cut", "--json", "-", status=None).out or '{"run": {"step": 0}}')[
                "run"]["step"] < 20:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        self.assertFalse(os.path.exists(self.path("cut.json")))
        endless.signal(signal.SIGINT)
        self.assertEqual(endless.wait().status, 130)
        self.assertGreaterEqual(len(self.check_trace(self.path("cut.json"), "cut", 2)), 20)

    def watch(self, *arguments, colour=True):
        """shoal top on a terminal of 100 columns and 30 rows: the process and the terminal."""
        terminal, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        env = dict(os.environ, TERM="xterm", TZ="UTC", NO_COLOR="" if colour else "1")
        env.pop("COLUMNS", None)
        child = subprocess.Popen([harness.SHOAL, "top", *arguments], cwd=self.folder, env=env, stdin=end, stdout=end,
                                 stderr=end, start_new_session=True)
        for close in (child.wait, child.kill, lambda: os.close(terminal), lambda: os.close(end)):
            self.addCleanup(close)
        return child, terminal

    def read_until(self, terminal, words):
        text, deadline = "", time.monotonic() + 20 * harness.PATIENCE
        while words not in text:
            self.assertLess(time.monotonic(), deadline, "no %r in %r" % (words, text[-2000:]))
            if select.select([terminal], [], [], 0.1)[0]:
                text += os.read(terminal, 65536).decode()
        return text

    def hold(self, name):
        """Locks the run, as a training does."""
        file = open(self.path(name, "lock"), "w", encoding="utf-8")
        self.addCleanup(file.close)
        fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
        return file

    def test_watches_until_the_training_ends(self):
        self.training("runs/a", "NULL")
        lock = self.hold("runs/a")
        child, terminal = self.watch()
        text = self.read_until(terminal, "\x1b[J")
        self.assertTrue(text.startswith("\x1b[?1049h\x1b[?25l\x1b[H\x1b[36ma  running  lenet on digits\x1b[0m\x1b[K"),
                        text)
        self.assertNotIn("\x1b[?1049l", text)
        database = sqlite3.connect(self.path("runs", "a", "run.db"))
        database.execute("INSERT INTO events VALUES (1011, 1, 'device.left', 'with a bow')")
        database.commit()
        self.read_until(terminal, "device.left 1  with a bow")
        database.execute("UPDATE sessions SET status = 'complete'")
        database.commit()
        database.close()
        lock.close()
        text = self.read_until(terminal, "\x1b[?25h\x1b[?1049l").split("\x1b[?1049l")[1]
        if "with a bow" not in text:
            text += self.read_until(terminal, "with a bow")
        self.assertIn("a  complete  lenet on digits", text)
        self.assertNotIn("\x1b[J", text)
        self.assertEqual(child.wait(20 * harness.PATIENCE), 0)

    def test_waits_for_a_training_to_begin(self):
        os.makedirs(self.path("runs/a"))
        lock = self.hold("runs/a")
        child, terminal = self.watch("runs/a", colour=False)
        self.read_until(terminal, "a  running  waiting for the first step\x1b[K\n\x1b[J".replace("\n", "\r\n"))
        self.training("runs/a", "NULL")
        self.read_until(terminal, "a  running  lenet on digits")
        os.remove(self.path("runs/a/run.db"))
        lock.close()
        self.assertIn("runs/a: is not the folder of a run", self.read_until(terminal, "shoal runs lists them"))
        self.assertEqual(child.wait(20 * harness.PATIENCE), 1)

    def test_a_signal_restores_the_terminal(self):
        self.training("runs/a", "NULL")
        self.hold("runs/a")
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            child, terminal = self.watch("runs/a", colour=False)
            text = self.read_until(terminal, "\x1b[J")
            self.assertNotIn("\x1b[36m", text)
            child.send_signal(number)
            self.assertTrue(self.read_until(terminal, "\x1b[?1049l").endswith("\x1b[?25h\x1b[?1049l"))
            self.assertEqual(child.wait(20 * harness.PATIENCE), code)


if __name__ == "__main__":
    harness.main()
