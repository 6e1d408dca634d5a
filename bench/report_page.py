#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a long run: 100,000 steps of ten devices, made by `shoal report` and opened in headless Chromium.

The run's database is that of a short training on two devices, whose rows are repeated, with a noise on each time. *Drawn* is
by the page's own clock, from navigation to the end of the load event, by which its charts are drawn; *a picture* is all of a
process: starting the browser, drawing, writing a screenshot. The browser's own processes count as others'. Wants chromium, and
a shoal built with Chart.js.
"""

import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import time

import measure

STEPS, DEVICES, TURNS = 100_000, 10, 3
STEP_SECONDS, SAMPLE_SECONDS = 0.05, 0.1
WINDOWS = ("1280,900", "390,800")
STAMP = "<script>addEventListener('load', () => document.title = 'drawn ' + performance.now())</script>"


def columns(database, table, **instead):
    """Names, and what to select for them: the column itself, or what `instead` says."""
    names = [row[1] for row in database.execute("PRAGMA table_info(%s)" % table)]
    return ", ".join(names), ", ".join(instead.get(name, "source." + name) for name in names)


def repeat(database, table, count, source, key, **instead):
    """`count` rows for each device instead of those of the table: by turns those of `source`, numbered by `key` from 0."""
    database.execute("CREATE TEMP TABLE source AS SELECT row_number() OVER (ORDER BY %s) - 1 AS turn, * FROM %s WHERE %s"
                     % (key, table, source))
    rows = database.execute("SELECT count(*) FROM source").fetchone()[0]
    database.execute("DELETE FROM " + table)
    devices = DEVICES if "device" in instead else 1
    names, values = columns(database, table, **instead)
    database.execute(
        "WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < %d), "
        "who(d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM who WHERE d + 1 < %d) "
        "INSERT INTO %s (%s) SELECT %s FROM number, who JOIN source ON source.turn = n %% %d"
        % (count, devices, table, names, values, rows))
    database.execute("DROP TABLE source")


def lengthen(path):
    database = sqlite3.connect(path)
    start = database.execute("SELECT min(at) FROM steps").fetchone()[0]
    noise = "source.%s * (0.9 + 0.2 * abs(random() / 9223372036854775808.0))"
    at_step, at_sample = "%f + n * %f" % (start, STEP_SECONDS), "%f + n * %f" % (start, SAMPLE_SECONDS)
    repeat(database, "devices", 1, "device = 1", "device", device="d", name="'device-' || d")
    repeat(database, "views", 1, "device = 1", "view", device="d", view="1", step="1")
    repeat(database, "steps", STEPS, "1", "step", step="n + 1", at=at_step)
    repeat(database, "work", STEPS, "device = 1", "step", step="n + 1", device="d", at=at_step,
           **{name: noise % name for name in ("wall_us", "forward_us", "backward_us", "exchange_us")})
    repeat(database, "samples", int(STEPS * STEP_SECONDS / SAMPLE_SECONDS), "device = 1", "at", device="d", at=at_sample)
    database.execute("UPDATE run SET steps = %d" % STEPS)
    database.commit()
    database.close()


def browse(browser, work, page, window, *arguments):
    began = time.monotonic()
    done = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=" + window,
                           "--user-data-dir=" + os.path.join(work, "profile"), *arguments, "file://" + page],
                          capture_output=True, text=True, check=True, timeout=120)
    return done.stdout, time.monotonic() - began


def benchmark(options, result):
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        raise measure.Skip("no chromium")
    with measure.folder() as work:
        run, page = os.path.join(work, "run"), os.path.join(work, "page.html")
        measure.run([options.shoal, "train", "mlp:784-64-10", "digits:2000/100", "--steps", "300", "--devices", "2", "--run", run,
                     "--quiet"])
        lengthen(os.path.join(run, "run.db"))
        began = time.monotonic()
        measure.run([options.shoal, "report", run, "-o", page])
        result.row("page made", "%.2f s" % (time.monotonic() - began))
        with open(page, encoding="utf-8") as file:
            text = file.read()
        if "Chart.js v" not in text:
            raise measure.Skip("built without Chart.js")
        with open(page, "w", encoding="utf-8") as file:
            file.write(text.replace("</head>", STAMP + "</head>", 1))
        for window in WINDOWS:
            drawn = []
            for _ in range(TURNS):
                dumped, _ = browse(browser, work, page, window, "--dump-dom")
                drawn.append(float(re.search(r"<title>drawn ([0-9.]+)</title>", dumped).group(1)) / 1000)
            _, picture = browse(browser, work, page, window, "--screenshot=" + os.path.join(work, "picture.png"))
            seconds = statistics.median(drawn)
            result.row("%d steps, %d devices, window %s: drawn" % (STEPS, DEVICES, window.replace(",", " x ")),
                       "%.2f s (%.2f to %.2f)" % (seconds, min(drawn), max(drawn)), target="< 2 s", met=seconds < 2)
            result.row("  a picture, from the start of the browser", "%.2f s" % picture)


if __name__ == "__main__":
    measure.main(__doc__, benchmark)
