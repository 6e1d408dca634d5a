# SPDX-License-Identifier: Apache-2.0
"""Has the program a strategy? Asked by a step of training, which says so and why not.

    known.is_known(options, work, "ps-bounded:4")
"""

import os
import subprocess

import measure


def is_known(options, work, strategy):
    asked = subprocess.run([options.shoal, "train", "mlp:784-10", "digits:64/10", "--strategy", strategy, "--steps", "1", "--quiet",
                            "--run", os.path.join(work, "known-" + strategy)], env=measure.environment(),
                           capture_output=True, text=True, check=False)
    if asked.returncode != 0 and "--strategy" not in asked.stderr:
        raise measure.Failure(asked.stderr)
    return asked.returncode == 0
