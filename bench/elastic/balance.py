# SPDX-License-Identifier: Apache-2.0
"""Four devices of which one is half as fast: what they reach together of the sum of what each reaches alone.

Quotas in the ratio 100, 100, 100, 50, scaled so that all fit the machine at once. Alone and together take turns. Then
one device is slowed to half in mid-run, and last, steps without a change: shares may not change either. Shares are
read from the run's log, lines `device.shares`. The weights stand beside each figure, against those of one device.
"""

import statistics

import elastic
import measure

QUOTAS = (0.4, 0.4, 0.4, 0.2)
RATE = "1Gbit"
# Together: grains of one sample, because whole ones divide 64 among 3.5 to 4 % at best; and a batch for which what a
# step costs beside its grains is little, as no shares can change that. The sums are 1.6 MB for each link: 14 ms at
# 1 Gbit/s, 18 until all have them. Of a step of 256 samples (390 ms) that is 5 %, of one of 1024 it is 1 %. Else: 64
# grains, steps of some tenths of a second, hundreds of them in two minutes.
HEAVY = "resnet:20 noise:3x32x32/10/1000000/64 --batch-size %d --grain 1 --seed 1"
JOB = "lenet noise:1x28x28/10/1000000/64 --batch-size 1024 --grain 16 --seed 1"
PARTS = ("reached", "slowed", "calm")
ALONE_SAMPLES, ALONE_SKIP, STEPS = 5 * 1024, 1, 56
SETTLED = 30  # steps after which the first shares stand
SLOWED_AT, AFTER, WITHIN, RUN = 80, 60, 10, 5
TARGET, EVEN = 0.95, 4 * 0.5 / 3.5
SHARES = "device.shares"


def add_options(parser):
    parser.add_argument("--turns", type=int, default=3, help="alone and together (3)")
    parser.add_argument("--batch", type=int, default=1024, help="of what is computed together and alone (1024)")
    parser.add_argument("--quiet-steps", type=int, default=500, help="without a change (500)")
    parser.add_argument("--only", choices=PARTS, help="one of the three")


def samples_a_second(record, batch, skip):
    gaps = [seconds for _, seconds, step, _ in elastic.Gaps(record).all if step > skip]
    return batch * len(gaps) / sum(gaps)


def together(options, work, job, quotas, steps, happenings=()):
    devices = [elastic.device("d%d" % i, cpu) for i, cpu in enumerate(quotas)]
    return elastic.run_lab(options, work, elastic.lab_file("%s --steps %d" % (job, steps), devices, RATE, happenings))


def changes(record, since=0.0):
    """What the log says of each change of shares, after the step at which it was applied."""
    found = []
    for line in record["log"]:
        if line["id"] == SHARES and line["at"] > since:
            step = max((step for step, moment, _ in record["steps"] if moment <= line["at"]), default=0)
            found.append("step %d: %s" % (step, line["fields"].get("text", "")))
    return found


def with_hash(options, work, record, job, steps):
    return elastic.hash_text(record, elastic.alone_hash(options, work, "%s --steps %d" % (job, steps)))


def reached(options, result, work):
    """The sum of the rates alone and the rate together, in turns."""
    ratios, job = [], HEAVY % options.batch
    alone_steps = ALONE_SKIP + ALONE_SAMPLES // options.batch
    for _ in range(options.turns):
        rates = {cpu: samples_a_second(together(options, work, job, [cpu], alone_steps), options.batch, ALONE_SKIP)
                 for cpu in sorted(set(QUOTAS))}
        record = together(options, work, job, QUOTAS, STEPS)
        ratios.append(samples_a_second(record, options.batch, SETTLED) / sum(rates[cpu] for cpu in QUOTAS))
        result.details.setdefault("turns", []).append({"alone": rates, "ratio": ratios[-1], "changes": changes(record)})
    result.row("quotas 100, 100, 100, 50, batch %d: together / sum of each alone" % options.batch,
               "%d changes of shares" % len(changes(record)), with_hash(options, work, record, job, STEPS),
               measure.ratio_text(ratios), ">= %.2f (even shares: %.2f)" % (TARGET, EVEN),
               statistics.median(ratios) >= TARGET)


def settled_after(gaps, best):
    """Steps before the first that is within a tenth of the best, as the median of the RUN from there on is."""
    return next((i for i in range(len(gaps) - RUN) if max(gaps[i], statistics.median(gaps[i:i + RUN])) <= 1.1 * best),
                len(gaps))


def slowed(options, result, work):
    """Steps until steps take no more than a tenth above what four grains' worth of three and a half devices takes."""
    steps = SLOWED_AT + AFTER
    record = together(options, work, JOB, 4 * [QUOTAS[0]], steps,
                      [elastic.at("cpu", step=SLOWED_AT, device="d1", cpu=QUOTAS[0] / 2)])
    moment = elastic.happened(record, "cpu")["at"]
    gaps = elastic.Gaps(record).all
    before = statistics.median(seconds for end, seconds, step, _ in gaps if SETTLED < step and end < moment)
    after = [seconds for end, seconds, _, _ in gaps if end > moment]
    best = before * 4 / 3.5
    count = settled_after(after, best)
    result.details["slowed"] = {"before": before, "best": best, "gaps": after, "changes": changes(record)}
    result.row("one slowed to half: settled after", "%d steps, %d changes" % (count, len(changes(record, moment))),
               with_hash(options, work, record, JOB, steps),
               "step %.0f ms; %.0f ms at first; then %.0f ms (%.2f of the best)" % (
                   1e3 * before, 1e3 * max(after[:WITHIN]), 1e3 * statistics.median(after[WITHIN:]),
                   statistics.median(after[WITHIN:]) / best),
               "<= %d steps" % WITHIN, count <= WITHIN)


def calm(options, result, work):
    steps = options.quiet_steps + SETTLED
    record = together(options, work, JOB, QUOTAS, steps)
    since = next(moment for step, moment, _ in record["steps"] if step >= SETTLED)
    needless = changes(record, since)
    result.details["calm"] = changes(record)
    result.row("%d steps without a change" % options.quiet_steps, "%d changes of shares" % len(needless),
               with_hash(options, work, record, JOB, steps), "; ".join(needless), "0", not needless)


def benchmark(options, result):
    elastic.need_lab()
    with measure.folder() as work:
        for part, measured in zip(PARTS, (reached, slowed, calm)):
            if options.only in (None, part):
                measured(options, result, work)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
