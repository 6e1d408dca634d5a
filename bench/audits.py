# SPDX-License-Identifier: Apache-2.0
"""What audits cost, how soon a liar is named, and whether honest devices of other processors ever look like liars.

    cost     emulated devices with equal links train with and without --audit 2, in turns: samples a second
    names    one device of three alters what it adds in every --every-th step; --seeds jobs with --audit 2: how many
             times it lied until it was named
    quiet    --steps steps with --audit 2 on devices with AVX-512 and AVX2 (and --also COMMAND, such as a program for
             Arm under qemu): nobody is named, and the weights are those of one device

The cost needs root, for the lab. A lie is seen if its step is audited, so with --audit 2 a liar is named after 50 lies
in the mean, and after 150 in 95 of 100 jobs.
"""

import math
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "elastic"))
import elastic
import measure
import standby

PART = 2
HIGHEST_COST = 0.025
MLP = ("mlp:784-32-10", "digits:2000/10", "--batch-size", "48", "--grain", "8")
EVICTED = re.compile(r"device (\S+) is evicted: it computes wrongly or lies: .*?of step (\d+)")
RIGHT = re.compile(r"audit: (\d+) shares of (\d+) steps were computed again and found right, (\d+) devices were evicted")


def add_options(parser):
    parser.add_argument("--only", choices=("cost", "names", "quiet"))
    parser.add_argument("--devices", type=int, default=8, help="emulated ones of `cost` (8)")
    parser.add_argument("--turns", type=int, default=3, help="of `cost` (3)")
    parser.add_argument("--models", default="LeNet-1024,ResNet-20", help="of `cost`")
    parser.add_argument("--scale", type=float, default=4.0, help="of the steps of `cost` (4)")
    parser.add_argument("--seeds", type=int, default=20, help="jobs of `names` (20)")
    parser.add_argument("--every", type=int, default=20, help="steps between two lies (20)")
    parser.add_argument("--steps", type=int, default=10000, help="of `quiet` (10000)")
    parser.add_argument("--also", metavar="COMMAND", help="a program of another processor for `quiet`")


def cost(options, result):
    elastic.need_lab()
    with measure.folder() as work:
        for model in options.models.split(","):
            job, many, _ = standby.JOBS[model]
            devices = standby.devices_of(options.devices, "1Gbit", "equal")
            ratios, hashes = [], set()
            for _ in range(options.turns):
                speeds = []
                for audit in ("", " --audit %d" % PART):
                    speed, weights, _ = standby.run(options, work, job + audit, int(many * options.scale), devices, "1Gbit", "all")
                    speeds.append(speed)
                    hashes.add(weights)
                ratios.append(1 - speeds[1] / speeds[0])
                print("%s: %.0f and %.0f samples a second" % (model, *speeds), file=sys.stderr, flush=True)
            middle = statistics.median(ratios)
            result.row("%s, %d devices: cost of --audit %d" % (model, options.devices, PART),
                       "%.1f %% (%.1f to %.1f), %s weights" % (100 * middle, 100 * min(ratios), 100 * max(ratios),
                                                               "the same" if len(hashes) == 1 else "OTHER"),
                       target="<= %.1f %%" % (100 * HIGHEST_COST), met=middle <= HIGHEST_COST and len(hashes) == 1)


def lies_until_named(options, work, seed):
    """How many times the liar lied, and whether it alone was named."""
    name = "liar"
    with tempfile.TemporaryDirectory(dir=work) as folder:
        env = measure.environment(SHOAL_TEST_FLIP="%s@lie/%d" % (name, options.every), XDG_CACHE_HOME=folder)
        first = subprocess.Popen([options.shoal, "train", *MLP, "--seed", str(seed), "--epochs", "1000000", "--steps",
                                  "1000000000", "--audit", str(PART), "--listen", "127.0.0.1:0", "--devices", "2", "--lanes", "1",
                                  "--devices-used", "all", "--min-devices", "3", "--run", folder + "/run"],
                                 env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        other = None
        try:
            token = next(line.strip() for line in first.stdout if line.startswith("shoal://"))
            other = subprocess.Popen([options.shoal, "join", token, "--name", name, "--lanes", "1", "--quiet"], env=env,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            found = next(match for match in map(EVICTED.search, first.stderr) if match)
            return int(found.group(2)) // options.every, found.group(1) == name
        finally:
            for process in (other, first):
                if process is not None:
                    process.kill()
                    process.communicate()


def names(options, result):
    with measure.folder() as work:
        lies, right = [], 0
        for seed in range(1, options.seeds + 1):
            count, named = lies_until_named(options, work, seed)
            lies.append(count)
            right += named
            print("seed %d: named after %d lies" % (seed, count), file=sys.stderr, flush=True)
    mean, expected = statistics.mean(lies), 100 / PART
    error = expected / math.sqrt(len(lies))  # of a mean of geometric numbers
    result.row("a liar among three, --audit %d, %d jobs" % (PART, len(lies)),
               "the right one named in %d, after %.0f lies in the mean (%d to %d)" % (right, mean, min(lies), max(lies)),
               target="all, %.0f +- %.0f" % (expected, 2 * error),
               met=right == len(lies) and abs(mean - expected) <= 2 * error)
    result.details["lies"] = lies


def quiet(options, result):
    job = [*MLP, "--epochs", "1000000", "--steps", str(options.steps)]
    refused = subprocess.run([options.shoal, "version"], env=measure.environment(SHOAL_VARIANT="abacus"), text=True,
                             capture_output=True, check=False)
    variants = [each for each in re.search("this processor runs (.*)$", refused.stderr.rstrip()).group(1).split(", ")
                if each != "plain"]
    with measure.folder() as work:
        first = subprocess.Popen([options.shoal, "train", *job, "--audit", str(PART), "--listen", "127.0.0.1:0", "--lanes",
                                  "1", "--devices-used", "all", "--min-devices", str(len(variants) + bool(options.also)),
                                  "--run", work + "/run", "--json", work + "/json"],
                                 env=measure.environment(SHOAL_VARIANT=variants[0]), text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        token = next(line.strip() for line in first.stdout if line.startswith("shoal://"))
        programs = [([options.shoal], {"SHOAL_VARIANT": each}) for each in variants[1:]]
        programs += [(shlex.split(options.also), {})] if options.also else []
        others = [subprocess.Popen([*program, "join", token, "--name", "d%d" % i, "--lanes", "1", "--quiet"],
                                   env=measure.environment(XDG_CACHE_HOME=work, **env), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL) for i, (program, env) in enumerate(programs)]
        said = first.communicate()[1]
        for other in others:
            other.wait()
        shares, steps, evicted = map(int, RIGHT.search(said).groups())
        with open(work + "/json", encoding="utf-8") as file:
            together = re.search(r'"weights_hash": "(\w+)"', file.read()).group(1)
        _, alone = measure.summary(options, work, *job)
    result.row("%d steps on %s%s" % (options.steps, ", ".join(variants), " and " + options.also if options.also else ""),
               "%d shares of %d steps audited, %d devices named, %s weights" % (
                   shares, steps, evicted, "the same" if together == alone["weights_hash"] else "OTHER"),
               target="none named, the same", met=evicted == 0 and shares > 0 and together == alone["weights_hash"])


def benchmark(options, result):
    for part in (names, quiet, cost):
        if options.only in (None, part.__name__):
            part(options, result)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
