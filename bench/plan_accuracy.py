# SPDX-License-Identifier: Apache-2.0
"""How near `shoal plan` comes to the time that a step takes, for every built-in model.

In each turn `shoal bench` measures the device first, as fast as the machine is then. Then, for each
model at its example's shape of data and for several batches and grains, most of them other than those
that bench measured, the predicted time of a step stands beside the measured one: the wall time of the
steps themselves, as SHOAL_PROFILE tells it. Samples are noise of the right shape, so reading them costs
next to nothing. The ratio is the median of the turns.
"""

import json
import os
import re
import statistics

import measure

TARGET = 0.20
CASES = ((8, 2), (64, 8), (64, 16), (96, 24), (128, 32))
SLOWEST = 1.0  # seconds of a step; a case that is predicted to be slower is left out
FIRST = 2  # steps that do not count: the first finds the exponents of its sum by being redone


def add_options(parser):
    parser.add_argument("--turns", type=int, default=3, help="of each case (3)")
    parser.add_argument("--seconds", type=float, default=1.5, help="of shoal bench for a model (1.5)")
    parser.add_argument("--models", help="names with commas between them (all)")


def told(options, env, *arguments):
    """The JSON that a command writes to its standard output."""
    return json.loads(measure.run([options.shoal, *arguments, "--json", "-"], env=env).out)


def data_of(model):
    return "noise:%s/%d/4096/256" % ("x".join(map(str, model["sample"])), model["classes"])


def settings(case, options):
    return ("--batch-size", str(case[0]), "--grain", str(case[1]), "--lanes", str(options.threads))


def predicted(options, env, model, case):
    plan = told(options, env, "plan", model["example"], data_of(model), *settings(case, options),
                "--quiet")
    if not plan["timed"]:
        raise measure.Failure(plan["note"])
    return plan["grains"][0]["step_seconds"]


def first_seconds(path):
    """What the steps took that do not count, by the training's own events."""
    with open(path, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    at = {event.get("total_step", 0): event["at"] for event in events
          if event["event"] in ("started", "step")}
    return at[FIRST] - at[0]


def measured(options, env, work, model, case, guess):
    """Seconds of a step, by so many steps as take about a second.

    All steps are one process's: another one meets other pages, and the first step's page faults take
    between a twentieth and a half of a second. The profile's clock stands still while events are written.
    """
    steps = max(3, min(10000, int(1.0 / guess)))
    run, events = (os.path.join(work, name) for name in ("run", "events"))
    process = measure.run([options.shoal, "train", model["example"], data_of(model), "--lr", "1e-6",
                           "--steps", str(FIRST + steps), "--quiet", "--run", run, "--events", events,
                           *settings(case, options)], env={**env, "SHOAL_PROFILE": "1"})
    first = first_seconds(events)
    measure.run(["rm", "-r", run, events])
    each = float(re.search(r"steps?, ([\d.]+) ms each", process.err).group(1)) * 1e-3
    return ((FIRST + steps) * each - first) / steps


def models_of(options, env):
    models = told(options, env, "models")["models"]
    if options.models:
        models = [model for model in models if model["name"] in options.models.split(",")]
    return models


def benchmark(options, result):
    result.details = {}
    with measure.folder() as work:
        env = measure.environment(XDG_CACHE_HOME=os.path.join(work, "cache"))
        models = models_of(options, env)
        ratios = {}
        for _ in range(options.turns):
            told(options, env, "bench", "--seconds", str(options.seconds), "--lanes",
                 str(options.threads), "--quiet",
                 *(("--models", options.models) if options.models else ()))
            for model in models:
                for case in CASES:
                    guess = predicted(options, env, model, case)
                    if guess > SLOWEST:
                        continue
                    took = measure.undisturbed(lambda: measured(options, env, work, model, case, guess))
                    ratios.setdefault((model["name"], case), []).append(guess / took)
        for model in models:
            report(result, model["name"], ratios)


def report(result, name, ratios):
    """One row a model: the ratios of its cases, and whether all are near enough."""
    medians = {case: statistics.median(ratios[name, case]) for case in CASES if (name, case) in ratios}
    result.details[name] = {"%d/%d" % case: ratios[name, case] for case in medians}
    if not medians:
        return
    worst = max(medians.values(), key=lambda ratio: abs(ratio - 1))
    result.row("predicted step, " + name, "", "", measure.ratio_text(list(medians.values())),
               "within %d %%" % (100 * TARGET), abs(worst - 1) <= TARGET)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
