#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: it has no threads of its own.
"""Reports of runs: what they say, and that a page stands by itself."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import unittest

import harness
import pages

MAKER = os.path.join(harness.BUILD, "test", "run_maker")
EVIL = "</script><script>alert(1)</script>\"'&\x1b[2J\u202e\u00e4"


class Report(harness.Case):
    def make(self, name, *arguments):
        os.makedirs(self.path(name))
        done = subprocess.run([MAKER, self.path(name, "run.db"), *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return name

    def page(self, *runs):
        self.shoal("report", *runs, "-o", "report.html")
        with open(self.path("report.html"), encoding="utf-8") as file:
            return file.read()

    def test_tables_name_who_holds_the_job_up(self):
        self.make("a", 300, 5, 0, 1, 0, 3)
        out = self.shoal("report", "a").out
        for words in ("a: lenet on mnist:/data, 61,706 parameters", "The link of d3 carries 2.5 MB/s",
                      "d1 computes a grain 2.0x slower", "d0      6.80 ms", "not available", "shares"):
            self.assertIn(words, out)
        lines = self.shoal("report", "a", "--format", "markdown").out.splitlines()
        self.assertIn("## Summary", lines)
        self.assertTrue(any(line.startswith("| d1 | 13.6 ms |") for line in lines))

    def test_runs_of_one_name_are_told_apart(self):
        runs = [self.make(name, 20, 1) for name in ("a/run", "b/run", "other")]
        table = self.shoal("report", *runs).out
        for name in ("a/run", "b/run", "other"):
            self.assertRegex(table, r"(?m)^ *%s +complete" % name)
        self.assertRegex(self.shoal("report", runs[0]).out, r"(?m)^ *run +complete")

    def test_json_has_every_figure(self):
        self.make("a", 50, 2)
        self.shoal("report", "a", "--output=a.json")
        with open(self.path("a.json"), encoding="utf-8") as file:
            run, = json.load(file)["runs"]
        self.assertEqual((run["model"], run["steps"], len(run["points"]["loss"])), ("lenet", 50, 50))
        self.assertIsNone(run["devices"][1]["figures"]["power_watts"]["mean"])
        self.assertAlmostEqual(run["devices"][1]["split"]["network"]["mean"], 0.00105, 4)
        self.assertEqual(json.loads(run["job"])["seed"], 1)

    def test_a_page_stands_by_itself(self):
        page = self.page(self.make("a", 300, 3, 0, 2), self.make("b", 200, 2))
        read = pages.Reader(page)
        for tag, attributes in read.found:
            for name in ("src", "href", "srcset", "action", "data", "poster", "onload"):
                self.assertNotIn(name, attributes, tag)
        style = "".join(re.findall(r"<style>(.*?)</style>", page, re.S))
        self.assertNotRegex(style, r"url\(|@import")
        self.assertNotRegex(read.scripts[-1], r"fetch\(|XMLHttpRequest|import\(|WebSocket|https?:")
        self.assertIn("default-src 'none'", next(attributes["content"] for tag, attributes in read.found
                                                 if attributes.get("http-equiv") == "Content-Security-Policy"))
        self.assertEqual([tag for tag, _ in read.found].count("table"), 1 + 2 * 4)
        self.assertEqual(len(json.loads(read.scripts[0])["runs"]), 2)
        for words in ("a", "b", "Delayed by d2 (compute).", "validation accuracy"):
            self.assertIn(words, read.texts)

    def test_what_a_database_says_stays_text(self):
        self.make("a", 20, 2)
        with sqlite3.connect(self.path("a", "run.db")) as database:
            database.execute("UPDATE devices SET name = ?", (EVIL,))
            database.execute("UPDATE views SET reason = ?", (EVIL,))
            database.execute("UPDATE run SET model = ?, job = ?", (EVIL, EVIL))
        database.close()
        read = pages.Reader(self.page("a"))
        shown = EVIL.replace("\x1b", "?").replace("\u202e", "?")
        self.assertIn(shown, read.texts)
        self.assertEqual([tag for tag, _ in read.found].count("script"), 3)
        run, = json.loads(read.scripts[0])["runs"]
        self.assertEqual((run["devices"][0]["name"], run["job"]), (shown, EVIL))
        for arguments in (("report", "a"), ("report", "a", "--format", "markdown"), ("runs", "."),
                          ("runs", "a", "--export", "trace"), ("runs", "a", "--export", "devices")):
            printed = self.shoal(*arguments).out
            self.assertFalse({"\x1b", "\u202e"} & set(printed), arguments)

    def test_bad_input_is_refused_with_a_reason(self):
        os.makedirs(self.path("none"))
        self.make("good", 5, 1)
        self.make("later", 5, 1)
        with sqlite3.connect(self.path("later", "run.db")) as database:
            database.execute("PRAGMA user_version = 99")
        database.close()
        with open(self.path("junk.db"), "w", encoding="utf-8") as file:
            file.write("no database" * 100)
        for arguments, words in ((("none",), "none/run.db"), (("missing",), "missing"), (("junk.db",), "junk.db is not a"),
                                 (("later",), "version 99"), (("good", "-o", "no/where.html"), "no/where.html")):
            result = self.shoal("report", *arguments, status=1)
            self.assertIn(words, result.err)
            self.assertEqual(result.out, "")
        self.assertIn("--format pdf", self.shoal("report", "good", "--format", "pdf", status=2).err)
        self.assertIn("RUN", self.shoal("report", status=2).err)

    def test_a_browser_draws_it(self):
        browser = shutil.which("chromium") or shutil.which("chromium-browser")
        if browser is None:
            self.skipTest("no chromium")
        page = self.page(self.make("a", 300, 3, 0, 2))
        if "Chart.js v" not in page:
            self.skipTest("built without Chart.js")
        result = self.start(argv=[browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                                  "--v=0", "--window-size=390,800", "--user-data-dir=" + self.path("profile"),
                                  "--virtual-time-budget=5000", "--dump-dom",
                                  "file://" + self.path("report.html")]).wait(120)
        self.assertNotRegex(result.err, r"CONSOLE")
        self.assertEqual(len(re.findall(r"<canvas[^>]*role=\"img\"", result.out)), 14)
        self.assertNotIn("No charts", result.out)

    def test_a_training_has_its_report(self):
        self.train("lenet", "digits:310/90", "--epochs", "10", "--devices", "2", "--lanes", "1", "--run", "run")
        out = self.shoal("report", "run").out
        self.assertRegex(out, r"run: lenet on digits:310/90, [0-9,]+ parameters, 3,100 samples, weights [0-9a-f]{64}")
        self.assertRegex(out, r"(?m)^ +2 .* %$")
        run, = json.loads(self.shoal("report", "run", "--format", "json").out)["runs"]
        for device in run["devices"]:
            for figure in ("network_busy_seconds", "network_sent_packets", "network_received_packets"):
                self.assertGreaterEqual(device["figures"][figure]["total"], 0, figure)
            split = [part["mean"] for name, part in device["split"].items() if name != "exchange"]
            if not harness.SANITIZED:  # which takes its time between the parts too
                self.assertAlmostEqual(sum(split) / device["step_seconds"], 1, delta=0.005)


if __name__ == "__main__":
    harness.main()
