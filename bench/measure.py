# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: processes that are timed from outside, ratios, results, the table.

    import measure

    def benchmark(options, result):
        run = measure.run([options.shoal, "version"])
        result.row("starts", "%.3f s" % run.seconds, target="< 0.3 s", met=run.seconds < 0.3)

    if __name__ == "__main__":
        measure.main(__doc__, benchmark)

Everything that one benchmark compares runs on the same cores, in the same environment, one after
the other and in turns. Variables that steer libraries of threads and kernels are taken out of that
environment, so that both sides meet the machine as a fresh login does.

`measure.py table FILE...` prints the rows of several results as one table.
"""

import argparse
import contextlib
import gzip
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HERE = os.path.join(ROOT, "bench")
STEERING = re.compile(r"^(ATEN|TORCH|TORCHINDUCTOR|OMP|GOMP|KMP|MKL|DNNL|ONEDNN|OPENBLAS|BLIS|SHOAL)_(?!TEST_DATA$)")
BUSY = 0.05  # share of the cores that others may use before a result says so


class Skip(Exception):
    """What is missing, and how to have it."""


class Failure(Exception):
    """A program that did not do what it was started for."""


class Run:
    """How a process ended, as seen from outside."""

    def __init__(self, seconds, peak_rss_bytes, out, err=""):
        self.seconds, self.peak_rss_bytes, self.out, self.err = seconds, peak_rss_bytes, out, err


def environment(**more):
    """This process's, without what steers libraries, and with `more`."""
    kept = {name: value for name, value in os.environ.items() if not STEERING.match(name)}
    kept.update(more)
    return kept


def run(argv, env=None, timeout=1800):
    """Runs a program to its end; its standard error is shown where it fails.

    Peak memory is the system's count. The system counts a new process from what its parent held,
    so it is never below the size of this script (about 15 MB).
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        began = time.monotonic()
        child = subprocess.Popen(argv, env=env or environment(), stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=err)
        watchdog = threading.Timer(timeout, child.kill)
        watchdog.start()
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.monotonic() - began
        watchdog.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode != 0:
            raise Failure("%s ended with %d:\n%s" % (" ".join(argv), child.returncode, err.read()))
        return Run(seconds, used.ru_maxrss * 1024, out.read(), err.read())


@contextlib.contextmanager
def folder():
    """A folder that is gone afterwards."""
    path = tempfile.mkdtemp(prefix="shoal-bench-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def summary(options, work, *arguments, env=None):
    """Trains with shoal and returns its process and its summary."""
    with tempfile.TemporaryDirectory(dir=work) as place:
        path = os.path.join(place, "summary.json")
        process = run([options.shoal, "train", *arguments, "--quiet", "--run",
                       os.path.join(place, "run"), "--json", path], env)
        with open(path, encoding="utf-8") as file:
            return process, json.load(file)


def peer(options, *arguments, env=None, script="pytorch_lenet.py", threads=None, python=None):
    """Runs a script with a Python that has PyTorch; its process and its report."""
    process = run([python or options.torch_python, "-B", os.path.join(HERE, script), "--threads",
                   str(threads or options.threads), *arguments], env)
    return process, json.loads(process.out)


def torch_python():
    """A Python that has PyTorch: SHOAL_BENCH_PYTHON, this one, or the system's. None: no such."""
    for python in (os.environ.get("SHOAL_BENCH_PYTHON"), sys.executable, "/usr/bin/python3"):
        if python and shutil.which(python) and subprocess.run(
                [python, "-c", "import torch"], stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    return None


PYPI = os.path.join(ROOT, "build", "bench-pytorch")  # a virtual environment, made by bench/run.sh


def pypi_python():
    """A Python that has the newest PyTorch of PyPI; Skip says why there is none."""
    python = os.path.join(PYPI, "bin", "python")
    if os.access(python, os.X_OK) and subprocess.run(
            [python, "-c", "import torch"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            check=False).returncode == 0:
        return python
    said = ""
    try:
        with open(PYPI + ".log", encoding="utf-8", errors="replace") as file:
            text = file.read()
        said = ", ".join(found.group(1) for found in (
            re.search(r"(?m)^(?:ERROR|Error): (.*?)\.?$", text), re.search(r"\[Errno -?\d+\] ([A-Za-z ]+)", text)) if found)
    except OSError:
        pass
    raise Skip("no PyTorch from PyPI in build/bench-pytorch, where bench/run.sh puts it%s" % (
        ": " + said if said else ""))


def need_torch(options):
    if options.torch_python is None:
        raise Skip("PyTorch is missing: apt-get install python3-torch")


def need_mnist(options):
    """The folder of MNIST."""
    path = os.path.join(options.data, "mnist")
    if not os.path.isdir(path):
        raise Skip("no MNIST in %s: set SHOAL_TEST_DATA to the folder that holds mnist/" % path)
    return path


def unpacked(path):
    """The content of a file, or of the compressed one in its place."""
    with open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz") as file:
        return file.read()


def need_cifar10(options):
    """The folder of CIFAR-10, binary version."""
    path = os.path.join(options.data, "cifar10")
    if not os.path.isfile(os.path.join(path, "data_batch_1.bin")):
        raise Skip("no CIFAR-10 in %s: set SHOAL_TEST_DATA to the folder that holds cifar10/" % path)
    return path


def spread(values):
    """Median, smallest, largest."""
    return statistics.median(values), min(values), max(values)


def ratio_text(values):
    return "%.2f (%.2f to %.2f)" % spread(values)


def one_thread_a_core(count):
    """`count` processors of as many cores as there are; those that this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    siblings = {}
    for processor in allowed:
        path = "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % processor
        try:
            with open(path, encoding="ascii") as file:
                core = file.read()
        except OSError:
            core = str(processor)
        siblings.setdefault(core, []).append(processor)
    by_turn = sorted((turn, processor) for group in siblings.values()
                     for turn, processor in enumerate(group))
    return [processor for _, processor in by_turn[:count]]


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(("model name", "Model")):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def busy_seconds():
    """Processor time that all processes of the system, and its host, have taken."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(field) for field in file.readline().split()[1:]]
    user, nice, system, _, _, irq, softirq, steal = fields[:8]
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


class Watch:
    """How much of the machine others use, from its making on."""

    def __init__(self):
        self.began = time.monotonic()
        self.busy, self.own = busy_seconds(), own_seconds()

    def used_by_others(self):
        """Share of all processors, 0 to 1."""
        seconds = time.monotonic() - self.began
        others = (busy_seconds() - self.busy) - (own_seconds() - self.own)
        return max(0.0, others / (seconds * os.cpu_count()))


def undisturbed(attempt, tries=3):
    """What attempt() returns, made again while others kept the machine busy; the last one counts.

    Only what others used decides, never what came out, so this favours nobody.
    """
    for left in reversed(range(tries)):
        watch = Watch()
        outcome = attempt()
        if left == 0 or watch.used_by_others() <= BUSY:
            return outcome


class Result:
    """Rows for the table, and every number behind them."""

    def __init__(self, name, options):
        self.name = name
        self.rows = []
        self.details = {}
        self.machine = {"cpu": cpu_name(), "processors": options.cores, "system": platform.platform()}
        self.watch = Watch()

    def row(self, what, shoal, peer_text="", ratio="", target="", met=None):
        """`met` is None where nothing is claimed."""
        self.rows.append({"what": what, "shoal": shoal, "peer": peer_text, "ratio": ratio,
                          "target": target, "met": met})

    def skipped(self, reason):
        self.rows.append({"what": self.name, "skipped": reason})

    def finish(self):
        share = self.watch.used_by_others()
        self.machine["used_by_others"] = round(share, 3)
        if share > BUSY:
            print("%s: other processes used %.0f %% of the processors meanwhile: the figures are "
                  "disturbed" % (self.name, 100 * share), file=sys.stderr)

    def as_json(self):
        return {"benchmark": self.name, "machine": self.machine, "rows": self.rows,
                "details": self.details}


def verdict(row):
    if "skipped" in row:
        return "skipped"
    return {True: "kept", False: "MISSED", None: ""}[row["met"]]


def print_table(results, file=sys.stdout):
    heads = ["what", "shoal", "peer", "ratio", "target", ""]
    lines = [heads]
    for result in results:
        for row in result["rows"]:
            lines.append([row["what"]] + [row.get(key, "") for key in
                                          ("shoal", "peer", "ratio", "target")] + [verdict(row)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip(), file=file)
    for result in results:
        for row in result["rows"]:
            if "skipped" in row:
                print("skipped %s: %s" % (row["what"], row["skipped"]), file=file)
    others = [result["machine"].get("used_by_others", 0) for result in results]
    if results:
        print("\n%s; other processes used up to %.0f %% of the processors meanwhile" %
              (results[0]["machine"]["cpu"], 100 * max(others)), file=file)


def default_data():
    return os.environ.get("SHOAL_TEST_DATA") or os.path.join(os.path.dirname(ROOT), "shared", "data")


def options_of(description, add_options):
    parser = argparse.ArgumentParser(description=description.split("\n\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"),
                        help="build folder of a release (build/release)")
    parser.add_argument("--data", default=default_data(),
                        help="folder that holds mnist/ (SHOAL_TEST_DATA, else ../shared/data)")
    parser.add_argument("--threads", type=int, default=2,
                        help="cores that each side uses, the same ones (2)")
    parser.add_argument("--json", help="write the result to this file")
    if add_options is not None:
        add_options(parser)
    options = parser.parse_args()
    options.shoal = os.path.join(options.build, "shoal")
    if not os.access(options.shoal, os.X_OK):
        parser.error("%s is not there: cmake --preset release && cmake --build --preset release" %
                     options.shoal)
    options.cores = one_thread_a_core(options.threads)
    options.threads = len(options.cores)
    os.sched_setaffinity(0, options.cores)  # and so of every process that it starts
    options.torch_python = torch_python()
    return options


def main(description, benchmark, add_options=None):
    """Runs one benchmark: exits 1 where a claim was missed, 77 where it was skipped."""
    options = options_of(description, add_options)
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    result = Result(name, options)
    try:
        benchmark(options, result)
    except Skip as reason:
        result.skipped(str(reason))
    except Failure as reason:
        sys.exit("%s: %s" % (name, reason))
    result.finish()
    print_table([result.as_json()])
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result.as_json(), file, indent=1)
            file.write("\n")
    if any(row.get("met") is False for row in result.rows):
        sys.exit(1)
    if all("skipped" in row for row in result.rows):
        sys.exit(77)


def print_files(paths):
    results = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            results.append(json.load(file))
    print_table(results)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "table":
        sys.exit("usage: measure.py table FILE...")
    print_files(sys.argv[2:])
