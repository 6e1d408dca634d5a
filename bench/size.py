# SPDX-License-Identifier: Apache-2.0
"""Bytes of the installed, stripped program and its library, beside those of PyTorch's packages.

Both stand on libraries of the system; what shoal loads of those is said too, in full, for
comparison with a machine that has none of them.
"""

import os
import subprocess

import measure

TARGET_BYTES = 1_000_000


def installed(build, prefix):
    """Bytes by file of what was installed to run; not the headers."""
    measure.run(["cmake", "--install", build, "--prefix", prefix, "--strip"])
    sizes = {}
    for place, _, names in os.walk(prefix):
        for name in names:
            path = os.path.join(place, name)
            runs = os.path.basename(place) == "bin" or ".so" in name
            if runs and not os.path.islink(path):
                sizes[name] = os.path.getsize(path)
    return sizes


def loaded(program, own):
    """Bytes of the shared libraries that it loads and that are not its own."""
    paths = set()
    for line in measure.run(["ldd", program]).out.splitlines():
        words = line.split()
        if "=>" in words and len(words) > 2 and os.path.basename(words[2]).split(".so")[0] not in own:
            paths.add(os.path.realpath(words[2]))
    return sum(os.path.getsize(path) for path in paths)


def package_bytes(names):
    """Installed bytes of Debian packages; 0 where they are not all there."""
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Installed-Size}\n", *names],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if asked.returncode != 0:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in asked.stdout.splitlines()
               if line.startswith("installed "))


def megabytes(count):
    return "%.2f MB" % (count / 1e6)


def benchmark(options, result):
    with measure.folder() as prefix:
        sizes = installed(options.build, prefix)
        if not sizes:
            raise measure.Failure("nothing was installed from %s" % options.build)
        beneath = loaded(os.path.join(prefix, "bin", "shoal"), {"libshoal"})
    total = sum(sizes.values())
    theirs = package_bytes(["python3-torch", "libtorch1.13"])
    result.details = {"files": sizes, "libraries_of_the_system": beneath, "pytorch_packages": theirs}
    result.row("program and library", megabytes(total),
               "PyTorch " + megabytes(theirs) if theirs else "PyTorch is missing",
               "%.0f times less" % (theirs / total) if theirs else "",
               "<= " + megabytes(TARGET_BYTES), total <= TARGET_BYTES)
    result.row("libraries of the system beneath it", megabytes(beneath))


if __name__ == "__main__":
    measure.main(__doc__, benchmark)
