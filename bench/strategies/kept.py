# SPDX-License-Identifier: Apache-2.0
"""Outcomes that outlive the program that asked for them, so a long benchmark goes on where it was stopped.

    kept = Kept("accuracy", options.shoal, options.fresh)         # bench/results/accuracy/
    found = kept.get("lenet wire 8 seed 2", asked, lambda: run(asked))

An outcome is a JSON value in a file of its own, beside what was asked for and a digest of the program. Where something else is asked
for under the same name, it is made again. Only whole files ever appear.
"""

import hashlib
import json
import os
import re

import measure

RESULTS = os.path.join(measure.HERE, "results")


def program_digest(program):
    """Of the program and the library beside it or in ../lib."""
    digest = hashlib.sha256()
    place = os.path.dirname(os.path.realpath(program))
    for path in (program, *(os.path.join(folder, "libshoal.so") for folder in (place, os.path.join(place, "../lib")))):
        if os.path.exists(path):
            with open(path, "rb") as file:
                digest.update(file.read())
    return digest.hexdigest()[:16]


class Kept:
    def __init__(self, name, program, fresh=False):
        self.folder = os.path.join(RESULTS, name)
        self.program = program_digest(program)
        self.fresh = fresh
        os.makedirs(self.folder, exist_ok=True)

    def path(self, name, ending=".json"):
        """A place of that outcome's own; with another ending, for what it takes to make it."""
        return os.path.join(self.folder, re.sub(r"[^\w.]+", "-", name) + ending)

    def find(self, name, asked):
        """None where there is none that answers this."""
        try:
            with open(self.path(name), encoding="utf-8") as file:
                entry = json.load(file)
        except (OSError, ValueError):
            return None
        return entry["outcome"] if entry["asked"] == json.loads(json.dumps(asked)) else None

    def get(self, name, asked, make):
        found = None if self.fresh else self.find(name, asked)
        if found is None:
            found = make()
            self._write(name, {"asked": asked, "program": self.program, "outcome": found})
        return found

    def _write(self, name, entry):
        path = self.path(name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(entry, file, indent=1)
            file.write("\n")
        os.replace(path + ".new", path)
