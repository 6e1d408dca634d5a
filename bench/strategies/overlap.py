# SPDX-License-Identifier: Apache-2.0
"""How much of the exchange is hidden behind the gradients: 4 devices at 1 Gbit/s, ResNet-20 and MobileNetV2 at 64x64.

  step            of a training on 4 devices
  compute         the same step with the exchange taken away: each device trains its share of the batch alone, all at a
                  time, with the same grains, the same quota, and a step ends with the slowest of them; the median
  communication   the all-reduce of as many bytes alone, by the same engine on the same links and quotas

A device's sum of a layer is complete with the last grain that it computes, so only that one's backward hides
anything: each device has its share in one grain, as DDP has it in one batch, unless --grain says otherwise.

All three in turns. The claim is step <= 1.1 x max(compute, communication). Encrypting, adding and the kernel's network
take processor time, which a device of one lane has to take from its gradients: that part no order of things hides. So
the processor seconds of the all-reduce stand beside, and the step over max(compute + those, communication), which is
what such a device could reach.
"""

import os
import statistics

import all_reduce
import fleet
import measure

COUNT, RATE, CPU = 4, "1Gbit", 0.4
TARGET = 1.1
SKIP, ROUNDS, SPAN_BYTES = 6, 5, 256 * 1024
MODELS = {"resnet:20": ("noise:3x32x32/10/100000/64", 30), "mobilenetv2": ("noise:3x64x64/100/100000/64", 16)}


def add_options(parser):
    parser.add_argument("--turns", type=int, default=3, help="of each part (3)")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--batches", nargs="+", type=int, default=[64, 256], help="samples a step (64 256)")
    parser.add_argument("--grain", type=int, default=64, help="samples of a grain, at most a device's share (64)")
    parser.add_argument("--wires", nargs="+", type=int, default=[32, 8], help="bits of a summed gradient (32 8)")
    parser.add_argument("--cpu", type=float, default=CPU, help="cores of a device (%g)" % CPU)


def exchange(options, devices, parameters, bits):
    """Seconds, and processor seconds of a device, of the all-reduce alone."""
    words = parameters * bits // 32 * 32 // bits
    program = os.path.join(options.build, "bench", "bench_all_reduce")
    side = all_reduce.Side("ring", devices, lambda rank, hosts: devices.at_home(rank, [
        program, "ring", str(bits), str(words), str(SPAN_BYTES * 8 // bits), str(fleet.PORT + 1), str(rank), *hosts]))
    try:
        side.round()
        return all_reduce.medians([side.round() for _ in range(ROUNDS)])
    finally:
        side.close()


def turn(options, devices, model, batch, bits):
    data, steps = MODELS[model]
    job = "%s %s --grain %d --seed 1 --steps %d --wire %d --batch-size " % (
        model, data, min(options.grain, batch // COUNT), steps + SKIP, bits)
    together = devices.train(options.shoal, job + str(batch))
    apart = devices.train_apart(options.shoal, job + str(batch // COUNT))
    alone = exchange(options, devices, together.summary["parameters"], bits)
    compute = statistics.median(max(gaps) for gaps in zip(*(each.gaps(SKIP) for each in apart)))
    step, cpu = together.step_seconds(SKIP), alone["cpu_seconds"] / options.cpu
    return {"step": step, "compute": compute, "communication": alone["seconds"], "cpu": cpu,
            "ratio": step / max(compute, alone["seconds"]), "reachable": step / max(compute + cpu, alone["seconds"]),
            "hash": together.summary["weights_hash"]}


def report(result, what, turns):
    def median(key):
        return 1e3 * statistics.median(each[key] for each in turns)

    ratios = [each["ratio"] for each in turns]
    result.row(what, "step %.1f ms, %.8s" % (median("step"), turns[-1]["hash"]),
               "compute %.1f, communication %.1f ms" % (median("compute"), median("communication")),
               measure.ratio_text(ratios), "<= %.1f" % TARGET, statistics.median(ratios) <= TARGET)
    result.row("", "", "compute and the exchange's processor time %.1f ms" % (median("compute") + median("cpu")),
               measure.ratio_text([each["reachable"] for each in turns]))


def benchmark(options, result):
    fleet.need_lab()
    with measure.folder() as work, fleet.Fleet(work, COUNT, options.cpu, RATE) as devices:
        for model in options.models:
            for batch in options.batches:
                for bits in options.wires:
                    what = "%s, batch %d, wire %d" % (model, batch, bits)
                    turns = [turn(options, devices, model, batch, bits) for _ in range(options.turns)]
                    result.details[what] = turns
                    report(result, what, turns)
                    print(what, turns[-1], flush=True)


if __name__ == "__main__":
    measure.main(__doc__, benchmark, add_options)
