#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks what a device is made of on purpose, one way at a time, and shows that the simulator of devices notices.

    mutations.py --build BUILD [--seeds N] [--only NAME]

Each mutation is one edit of a file under src. That file is compiled as the build does it, and linked in front of the
library's own. The simulator runs until a seed fails; its first line says which invariant. A mutation that outlives all
seeds fails this script, and so does an edit that no longer fits the code.
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]

# name, file below src, what stands there, what stands there instead
MUTATIONS = [
    ("stages are not told to those that join", "node/member/donations.c",
     "            sh_replica_sender_passed(each->sender, outcome);", "            (void)outcome;"),
    ("what waits to be given is not sent on", "node/member/donations.c",
     "    one->sending--;", ""),
    ("an order does not wake the step's thread", "node/member/agent.c",
     "    const bool tell = agent->waiting;\n    agent->waiting = false;",
     "    const bool tell = false;\n    agent->waiting = false;"),
    ("a replica that has come is not told of", "node/member/replica_fetch.c",
     "    fetch->options.on_position(fetch->options.context, fetch->number, position);", "    (void)position;"),
    ("a halt does not break a round off", "node/member/rings.c",
     "        sh_engine_abort(each->engine, SH_ABORTED, \"the devices change\");", ""),
    ("a device that comes is not proved to", "node/protocol/claims.c",
     "    SH_TRY(sh_leader_sign(&proof, claim->secret, binding));",
     "    SH_TRY(sh_leader_sign(&proof, claim->secret, (const unsigned char *)&proof));"),
    ("mail wakes nobody", "node/protocol/mailbox.c",
     "    const ssize_t wrote = write(mailbox->fd, &one, sizeof one);\n    (void)wrote;", "    (void)one;"),
]


def commands(build):
    with open(build / "compile_commands.json", encoding="utf-8") as file:
        return {each["file"]: shlex.split(each["command"]) for each in json.load(file)}


def link_command(build):
    """How the build links device_sim."""
    said = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "device_sim"], check=True, capture_output=True,
                          text=True).stdout
    return shlex.split(said.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--only", help="mutations whose names have this")
    options = parser.parse_args()
    compile_of, link, survivors = commands(options.build), link_command(options.build), []
    link = link[link.index("&&") + 1:] if "&&" in link else link
    link = link[:link.index("&&")] if "&&" in link else link
    for name, file, before, after in MUTATIONS:
        if options.only and options.only not in name:
            continue
        source = ROOT / "src" / file
        text = source.read_text(encoding="utf-8")
        if text.count(before) != 1:
            sys.exit("%s: the edit fits %d times into src/%s" % (name, text.count(before), file))
        with tempfile.TemporaryDirectory() as folder:
            mutant = pathlib.Path(folder) / source.name
            mutant.write_text(text.replace(before, after), encoding="utf-8")
            words = compile_of[str(source)]
            words = [str(mutant) if word == str(source) else word for word in words]
            words[words.index("-o") + 1] = folder + "/mutant.o"
            words = [word for word in words if word != "-Werror"] + ["-w", "-I%s" % source.parent]
            subprocess.run(words, check=True, cwd=options.build)
            program = folder + "/device_sim"
            words = list(link)
            words[words.index("-o") + 1] = program
            at = next(i for i, word in enumerate(words) if word.endswith(".o"))
            words.insert(at, folder + "/mutant.o")
            subprocess.run(words, check=True, cwd=options.build)
            said = subprocess.run([program, "--first", "1", "--seeds", str(options.seeds), "--jobs", "2", "--until-wrong"],
                                  check=False, capture_output=True, text=True)
            found = re.search(r"(?m)^seed .*$", said.stdout)
            print("%-60s %s" % (name, found.group()[:120] if found else "SURVIVED: " + said.stdout[-200:]), flush=True)
            if said.returncode == 0:
                survivors.append(name)
    if survivors:
        sys.exit("not noticed: " + ", ".join(survivors))


if __name__ == "__main__":
    main()
