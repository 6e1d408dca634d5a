# SPDX-License-Identifier: Apache-2.0
"""Error of operators against double precision, beside PyTorch's on the same numbers.

Sizes are those of the built-in models, 16 samples. Inputs are normal random numbers; the reference is PyTorch in
double precision. The figure is the root of the mean square of the error, over that of the result: in units of 2^-24,
half the distance of floats.
"""

import json
import os

import measure

SCRIPT = os.path.join(measure.HERE, "pytorch_chains.py")


def benchmark(options, result):
    measure.need_torch(options)
    tool = os.path.join(options.build, "bench", "bench_op_run")
    run = measure.run([options.torch_python, "-B", SCRIPT, tool], measure.environment())
    for line in run.out.splitlines():
        row = json.loads(line)
        result.details[row["name"]] = row
        result.row(row["name"], "%.2f (largest %.1f)" % (row["shoal"], row["shoal_largest"]),
                   "%.2f (largest %.1f)" % (row["pytorch"], row["pytorch_largest"]),
                   "%.2f" % (row["shoal"] / row["pytorch"]))


if __name__ == "__main__":
    measure.main(__doc__, benchmark)
