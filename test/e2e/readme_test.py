#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README.md tells a newcomer to type is typed here, in its order, and does what it says."""

import os
import re
import shlex
import signal

import fixtures
import harness

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")
# Places and names that a reader fills in; ports of this machine alone.
FILLED = {":7700": "127.0.0.1:0"}


def commands():
    """The lines of README's indented blocks that call shoal, without what is said behind two spaces."""
    with open(README, encoding="utf-8") as file:
        lines = re.findall(r"^    (shoal .*)$", file.read(), re.MULTILINE)
    return [shlex.split(re.split(r"  +", line)[0])[1:] for line in lines]


class Readme(harness.Case):
    def setUp(self):
        super().setUp()
        for k, name in enumerate(("daisy", "roses", "tulips", "sunflowers", "dandelion")):
            for i in range(65):
                fixtures.write(self.path("flowers", name, "%d.jpg" % i), fixtures.jpeg(16, 16, 40 * k + 30 + i % 9))
        rows = ["%d,%.2f,%s" % (i % 7, i * 0.37 % 5, "red" if i % 7 > 3 else "white") for i in range(120)]
        fixtures.write(self.path("new.jpg"), fixtures.jpeg(20, 16, 77))
        fixtures.write(self.path("wine.csv"), "acid,sugar,colour\n" + "\n".join(rows) + "\n")

    def fill(self, words):
        """The command with the newest run in the place of runs/RUN."""
        runs = self.path("runs")
        newest = max(os.listdir(runs), key=lambda name: os.path.getctime(os.path.join(runs, name)), default="RUN") \
            if os.path.isdir(runs) else "RUN"
        return [FILLED.get(word, word.replace("runs/RUN", "runs/" + newest)) for word in words]

    def end_early(self, training):
        """Ctrl-C after an epoch: what follows needs a run, not a good one."""
        training.wait_for(r"epoch 2/", timeout=60, stream="err")
        training.signal(signal.SIGINT)
        self.assertEqual(training.wait(60).status, 130)

    @harness.not_for_sanitizers("the commands take minutes there")
    def test_each_command_works(self):
        found = commands()
        self.assertGreater(len(found), 6)
        waiting = None
        for words in found:
            with self.subTest(command=" ".join(words)):
                if words[0] == "join":
                    joined = self.start("join", waiting.wait_for_token())
                    self.end_early(waiting)
                    self.assertEqual(joined.wait(60).status, 0)
                elif "--listen" in words:
                    waiting = self.start(*self.fill(words), "--min-devices", "2")
                elif words == ["train", "auto", "flowers"]:
                    self.end_early(self.start(*words))
                else:
                    self.shoal(*self.fill(words), timeout=120)
        self.assertTrue(os.path.isfile(self.path("page.html")))

    def test_best_weights_are_where_it_says(self):
        with open(README, encoding="utf-8") as file:
            path = re.search(r'load_file\("(runs/RUN/.*?)"\)', file.read()).group(1)
        self.shoal("train", "auto", "table:wine.csv", "--epochs", "2")
        self.assertTrue(os.path.isfile(self.path(self.fill([path])[0])))

    @harness.not_for_sanitizers("a hash is the same in any build")
    def test_the_quickstart_arrives_at_these_weights(self):
        with open(README, encoding="utf-8") as file:
            told = set(re.findall(r"\b[0-9a-f]{64}\b", file.read()))
        job = ("lenet", "digits", "--epochs", "2", "--batch-size", "64", "--seed", "1")
        self.assertEqual(told, {self.train(*job).summary["weights_hash"]})


if __name__ == "__main__":
    harness.main()
