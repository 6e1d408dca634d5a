# SPDX-License-Identifier: Apache-2.0
"""Four devices of which one is half as fast: what they reach together of the sum of what each reaches alone.

Quotas in the ratio 100, 100, 100, 50, scaled so that all fit the machine at once. Alone and together take turns. Then
one device is slowed to half in mid-run, and last, steps without a change: shares may not change either. Shares are
read from the run's log, lines `shares.changed`.
"""

import statistics

import elastic
import measure

QUOTAS = (0.4, 0.4, 0.4, 0.2)
RATE = "1Gbit"
# Steps of which the ring hides behind the computation: this is about shares, not about links.
JOB = "resnet:20 noise:3x32x32/10/50000/64 --batch-size 128 --grain 2 --seed 1"
ALONE_STEPS, STEPS = 16, 50
SLOWED_AT, WITHIN = 80, 10
TARGET, EVEN = 0.95, 0.57
SHARES = "shares.changed"


def add_options(parser):
    parser.add_argument("--turns", type=int, default=3, help="alone and together (3)")
    parser.add_argument("--quiet-steps", type=int, default=500, help="without a change (500)")


def samples_a_second(record, skip=5):
    gaps = [seconds for _, seconds, step in elastic.Gaps(record).all if step > skip]
    batch = int(JOB.split("--batch-size ")[1].split()[0])
    return batch * len(gaps) / sum(gaps)


def together(options, work, quotas, steps, happenings=()):
    devices = [elastic.device("d%d" % i, cpu) for i, cpu in enumerate(quotas)]
    return elastic.run_lab(options, work, elastic.lab_file("%s --steps %d" % (JOB, steps), devices, RATE, happenings))


def reached(options, result, work):
    """The sum of the rates alone and the rate together, in turns."""
    alone_hash = elastic.alone_hash(options, work, "%s --steps %d" % (JOB, STEPS))
    ratios, right = [], []
    for _ in range(options.turns):
        rates = {cpu: samples_a_second(together(options, work, [cpu], ALONE_STEPS)) for cpu in set(QUOTAS)}
        record = together(options, work, QUOTAS, STEPS)
        right.append(elastic.hash_text(record, alone_hash))
        ratios.append(samples_a_second(record, skip=20) / sum(rates[cpu] for cpu in QUOTAS))
        grains = [device["summary"]["grains"] for device in record["devices"]]
        result.details.setdefault("turns", []).append({"alone": rates, "ratio": ratios[-1], "grains": grains})
    result.row("quotas 100, 100, 100, 50: together / sum of each alone", "grains %s" % grains,
               ", ".join(sorted(set(right))), measure.ratio_text(ratios), ">= %.2f (even shares: %.2f)" % (TARGET, EVEN),
               statistics.median(ratios) >= TARGET)


def slowed(options, result, work):
    """Steps until a step takes no more than a tenth above what they take once all is settled."""
    record = together(options, work, 4 * [QUOTAS[0]], SLOWED_AT + 80,
                      [elastic.at("cpu", step=SLOWED_AT, device="d1", cpu=QUOTAS[0] / 2)])
    gaps, event = elastic.Gaps(record), elastic.happened(record, "cpu")
    before = gaps.median(event["at"])
    after = [seconds for moment, seconds, _ in gaps.all if moment > event["at"]]
    settled = statistics.median(after[-30:])
    best = before * 4 / 3.5
    late = [index for index, seconds in enumerate(after[:-30], 1) if seconds > 1.1 * best]
    steps = late[-1] if late else 0
    result.details["slowed"] = {"before": before, "settled": settled, "best": best, "gaps": after}
    result.row("one slowed to half: settled after", "%d steps" % steps,
               "step %.0f ms, then %.0f ms" % (1e3 * before, 1e3 * settled), "%.2f of the best" % (settled / best),
               "<= %d steps" % WITHIN, steps <= WITHIN)


def calm(options, result, work):
    record = together(options, work, QUOTAS, options.quiet_steps + 50)
    since = next(moment for step, moment, _ in record["steps"] if step >= 50)
    changes = [line for line in record["log"] if line["id"] == SHARES and line["at"] > since]
    result.details["calm"] = changes
    result.row("%d steps without a change" % options.quiet_steps, "%d changes of shares" % len(changes), "", "", "0",
               not changes)


def benchmark(options, result):
    elastic.need_lab()
    with measure.folder() as work:
        reached(options, result, work)
        slowed(options, result, work)
        calm(options, result, work)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
