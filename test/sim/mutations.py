#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks the cluster's machines on purpose, one way at a time, and shows that the simulator notices.

    mutations.py --cc CC --archive libshoal_archive.a --libraries LIB... [--seeds N] [--only NAME]

Each mutation is one edit of src/cluster; the simulator is built with it and runs until a seed fails.
One that outlives all seeds fails this script, and so does an edit that no longer fits the code. The
libraries are those of the engines, which say what links a view has; nothing is sent.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "src/cluster"

# name, file, what stands there, what stands there instead
MUTATIONS = [
    ("keeps what those behind hold", "recovery.c",
     "recovery->keep[i] = recovery->agreement[i] == SH_REPLICA_AT &&\n"
     "                            sh_position_same(notice->position, recovery->target) &&",
     "recovery->keep[i] ="),
    ("deals kept grains out again", "recovery.c",
     "sh_ranges_complement(&missing, &held, recovery->grains)",
     "sh_ranges_complement(&missing, &(sh_ranges){0}, recovery->grains)"),
    ("takes any attempt of a step for the same", "directive.c",
     "(mine.steps == target.steps && mine.phase == SH_PHASE_FIRST &&",
     "(mine.steps == target.steps ||"),
    ("lets a new replica vote", "recovery.c",
     "proven = proven || (recovery->agreement[i] == SH_REPLICA_AT && survivors[i].proven);",
     "(void)proven;"),
    ("repairs nobody", "recovery.c",
     "recovery->agreement[i] = SH_REPLICA_ODD;", "recovery->grains = survivors[i].notice->grains;"),
    ("believes the first in a tie", "recovery.c",
     "recovery->no_majority = !majority(", "(void)majority("),
    ("repairs without end", "repairs.c",
     "    repairs->faults++;\n    repairs->lately++;\n", ""),
    ("tries without nobody", "membership_halt.c",
     "if (newest == NULL)\n        return SH_FINDING_NOBODY;", "return SH_FINDING_NOBODY;"),
    ("announces before all have linked", "membership.c",
     "one->notice.linked != membership->next.number ||", ""),
    ("judges before all have halted", "membership_halt.c",
     "one->notice.halted < membership->next.number", "one->device == 0"),
    ("never misses who hangs", "membership_watch.c",
     "    if (still_ms < limit_ms)\n        return false;\n    if (one->device == 0) {",
     "    if (true)\n        return false;\n    if (one->device == 0) {"),
    ("never misses the silent", "membership.c",
     "!one->present || sh_silence_ms", "true || sh_silence_ms"),
    ("hears nothing in a notice that says nothing new", "membership.c",
     "    sh_silence_heard(&one->silence, membership->clock_ms);\n"
     "    sh_membership_watch_notice(membership, one, &event->notice->doing);\n"
     "    if (event->notice->serial <= one->notice.serial)\n        return;",
     "    if (event->notice->serial <= one->notice.serial)\n        return;\n"
     "    sh_silence_heard(&one->silence, membership->clock_ms);"),
    ("believes an older notice", "membership.c",
     "event->notice->serial <= one->notice.serial", "event->notice->serial == one->notice.serial"),
    ("obeys an older directive", "participant.c",
     "event->directive->serial <= participant->directive.serial",
     "event->directive->serial == participant->directive.serial"),
    ("says it has halted while it computes", "participant.c",
     "participant->under_way == SH_TASK_WAIT && !notice->whole)", "true)"),
    ("enters wherever it stands", "participant.c",
     "directive->planned ? same :", "directive->planned ? true :"),
    ("keeps a sum that holds nothing", "participant.c",
     "directive->keep && notice->held.count > 0", "directive->keep"),
    ("stays in the old view", "participant.c",
     "    if (directive->view == event->next_view && directive->planned &&",
     "    if (directive->view == event->next_view && !directive->planned &&"),
]

FLAGS = ["-std=c11", "-O1", "-UNDEBUG", "-D_POSIX_C_SOURCE=200809L", "-ffunction-sections", "-w",
         f"-I{ROOT}/include", f"-I{ROOT}/src", f"-I{ROOT}/test/sim"]


def compile_one(cc, source, target):
    subprocess.run([cc, *FLAGS, "-c", str(source), "-o", str(target)], check=True)


def machine_sources():
    return [path for path in sorted(CLUSTER.glob("*.c"))
            if not path.name.endswith("_test.c") and path.name != "cluster.c"]


def run(program, seeds):
    """The invariant that a seed broke, or None."""
    done = subprocess.run([program, "--seeds", str(seeds)], capture_output=True, text=True,
                          timeout=600, check=False)
    if done.returncode == 0:
        return None
    found = re.search(r"^seed (\d+) broke (\S+)", done.stdout, re.M)
    if found:
        return f"{found[2]} (seed {found[1]})"
    return f"an assertion: {done.stderr.strip().splitlines()[-1] if done.stderr else done.returncode}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--archive", required=True)
    parser.add_argument("--libraries", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=60000)
    parser.add_argument("--only")
    options = parser.parse_args()
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        objects = {}
        for source in [*machine_sources(), *sorted((ROOT / "test/sim").glob("*.c"))]:
            objects[source.name] = folder / (source.stem + ".o")
            compile_one(options.cc, source, objects[source.name])
        for name, file, before, after in MUTATIONS:
            if options.only and options.only not in name:
                continue
            text = (CLUSTER / file).read_text()
            if text.count(before) != 1:
                sys.exit(f"mutations: '{name}' fits {text.count(before)} places of {file}: mend it")
            (folder / file).write_text(text.replace(before, after))
            compile_one(options.cc, folder / file, folder / "mutant.o")
            linked = [str(folder / "mutant.o") if key == file else str(path)
                      for key, path in objects.items()]
            program = str(folder / "mutant")
            subprocess.run([options.cc, *linked, options.archive, *options.libraries, "-lm",
                            "-Wl,--gc-sections", "-o", program], check=True)
            caught = run(program, options.seeds)
            survivors += caught is None
            print(f"{name}: {'caught by ' + caught if caught else 'NOT CAUGHT'}", flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
