#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One job, one hash: each variant of this processor arrives at the weights of weights.txt, and so does a GPU.

The same file is compared on every release of Debian, by every compiler, and on emulated Arm processors
(test/arm/weights_test.py). `SHOAL=PROGRAM weights_test.py --write` writes the hashes of that program into it.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "e2e"))
import harness  # noqa: E402 (it stands in the folder of the line above)
import jobs  # noqa: E402


class Weights(harness.Case):
    def hash_of(self, name, variant=None):
        env = {"XDG_CACHE_HOME": self.path("cache")}
        if variant is not None:
            env["SHOAL_VARIANT"] = variant
        run = self.path("%s %s" % (name, variant))
        return self.train(*jobs.JOBS[name], "--lanes", "1", "--quiet", "--run", run, env=env).summary["weights_hash"]


class EachVariant(Weights):
    def test_it_gives_the_known_weights(self):
        known = jobs.known()
        self.assertEqual(list(known), list(jobs.JOBS))
        for variant in self.variants():
            for name in jobs.JOBS:
                with self.subTest(job=name, variant=variant):
                    self.assertEqual(self.hash_of(name, variant), known[name])


class OnAGpu(Weights):
    def test_it_gives_the_known_weights(self):
        """Of the job with every operator. Where there is no GPU, PoCL plays it, which takes long to compile."""
        summary = self.path("summary.json")
        result = self.shoal("train", *jobs.JOBS["every"], "--lanes", "gpu:0", "--quiet", "--run", self.path("run"),
                            "--json", summary, status=None, timeout=240)
        if "this machine has no usable GPU" in result.err:
            self.skipTest("no GPU and no OpenCL device: apt-get install pocl-opencl-icd")
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(self.summary(summary)["weights_hash"], jobs.known()["every"])


def write():
    """Writes weights.txt; whether that went well."""
    class Writer(Weights):
        def runTest(self):
            with open(jobs.WEIGHTS, "w", encoding="utf-8") as file:
                for name in jobs.JOBS:
                    file.write("%s  %s\n" % (self.hash_of(name), name))

    return harness.unittest.TextTestRunner().run(Writer()).wasSuccessful()


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        sys.exit(not write())
    harness.main()
