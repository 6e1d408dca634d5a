#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A GPU computes the same bits as a processor. Without a GPU, PoCL is used: it runs OpenCL on the processor."""

import harness

# Batches of 8 grains, the last of them of one sample.
JOB = ("mlp:784-16-10", "digits:110/40", "--batch-size", "50", "--grain", "7", "--epochs", "2", "--quiet")


class Gpu(harness.Case):
    @harness.not_for_sanitizers("drivers of GPUs compile code that sanitizers do not know")
    def test_a_gpu_has_the_weights_of_processors(self):
        result = self.shoal("train", *JOB, "--lanes", "gpu:15", status=1)
        if "this machine has no usable GPU" in result.err:
            self.skipTest("no GPU and no OpenCL device: apt-get install pocl-opencl-icd")
        self.assertIn("no GPU 15: this machine has ", result.err)
        expected = self.train(*JOB, "--lanes", "1").summary
        for how in (("--lanes", "gpu:0"), ("--lanes", "gpu:0,cpu:2"), ("--lanes", "gpu:0", "--devices", "2")):
            with self.subTest(how=how):
                found = self.train(*JOB, *how).summary
                for key in ("weights_hash", "train_loss", "val_loss", "val_accuracy", "samples"):
                    self.assertEqual(found[key], expected[key], key)


if __name__ == "__main__":
    harness.main()
