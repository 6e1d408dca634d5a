# SPDX-License-Identifier: Apache-2.0
"""Peak resident memory of one device that trains LeNet on MNIST for an epoch, beside PyTorch's.

Twice for shoal: what its summary says, and what the system counted; the larger one has to keep the
claim. PyTorch keeps its samples as bytes here and normalises batch by batch, as a program does that
saves memory. Shared libraries count on both sides.
"""

import measure

TARGET_BYTES = 40_000_000
JOB = ["--epochs", "1", "--batch-size", "64", "--lr", "0.02", "--momentum", "0.9", "--seed", "1"]


def megabytes(count):
    return "%.1f MB" % (count / 1e6)


def benchmark(options, result):
    folder = measure.need_mnist(options)
    with measure.folder() as work:
        env = measure.environment(XDG_CACHE_HOME=work)
        lenet = ["lenet", "mnist:" + folder, *JOB, "--lanes", str(options.threads)]
        process, ours = measure.summary(options, work, *lenet, env=env)
    said, counted = ours["peak_rss_bytes"], process.peak_rss_bytes
    result.details = {"shoal_summary_bytes": said, "shoal_counted_bytes": counted}
    theirs, ratio = "PyTorch is missing", ""
    if options.torch_python is not None:
        theirs_counted = measure.peer(options, "--data", folder, "--lean", "--foreach")[0].peak_rss_bytes
        result.details["pytorch_counted_bytes"] = theirs_counted
        theirs = "PyTorch " + megabytes(theirs_counted)
        ratio = "%.1f times less" % (theirs_counted / max(said, counted))
    result.row("peak memory, LeNet on MNIST, %d lanes" % options.threads,
               "%s (says %s)" % (megabytes(counted), megabytes(said)), theirs, ratio,
               "<= " + megabytes(TARGET_BYTES), max(said, counted) <= TARGET_BYTES)


if __name__ == "__main__":
    measure.main(__doc__, benchmark)
