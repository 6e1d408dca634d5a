#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks what a device is made of on purpose, one way at a time, and shows that the simulator of devices notices.

    mutations.py --build BUILD [--seeds N] [--only NAME]

Each mutation is one edit of a file under src. That file is compiled as the build does it, and linked in front of the
library's own. The simulator runs until a seed fails; its first line says which invariant. A mutation that breaks none
of the named invariants fails this script, and so does an edit that no longer fits the code.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOUND = re.compile(r"(?m)^seed \d+: (end|hash|once|bound|healthy|closed): .*$")

# name, file below src, what stands there, what stands there instead; the first seed, if many before find nothing
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
    ("grains that are kept are cleared", "train/stage.c",
     "    if (stage->task.mode == SH_MODEL_TRAIN && stage->held.count == 0) {",
     "    if (stage->task.mode == SH_MODEL_TRAIN) {"),
    ("a total is added to what is there", "reduce/ring.c",
     "head->hop >= devices - 1;",
     "head->hop >= devices;"),
    ("a device that joins leaves out the steps meanwhile", "train/replica_receiver.c",
     "    if (stream->coming.passed == SH_PASSED_APPLY)\n",
     "    if (false)\n"),
    ("a device enters wherever it stands", "cluster/participant.c",
     "directive->planned ? same :",
     "directive->planned ? true :"),
    ("who hangs is never missed", "cluster/membership_watch.c",
     "    if (still_ms < limit_ms)\n        return false;\n    if (one->device == 0) {",
     "    if (true)\n        return false;\n    if (one->device == 0) {"),
    ("a coordinator that hangs stays", "cluster/membership_watch.c",
     "    sh_membership_act(membership, SH_MEMBERSHIP_RESIGN, 0, \"%s\", \"\");", "", 960),
    ("nobody is told who could replace the coordinator", "node/coordinator/coordinator_successors.c",
     "    body.n_successors = coordinator->successor_count;", "    body.n_successors = 0;"),
    ("a silent coordinator is never missed", "node/member/member.c",
     "!member->connected || silent_ms < limit_ms)", "!member->connected || silent_ms < limit_ms + 1000000)"),
    ("a link that paused is not read again", "reduce/links.c",
     "    sh_links_resume((sh_links *)round);",
     "    (void)round;"),
    ("grains that are kept are dealt again", "cluster/recovery.c",
     "sh_ranges_complement(&missing, &held, recovery->grains)",
     "sh_ranges_complement(&missing, &(sh_ranges){0}, recovery->grains)"),
    ("a server leaves its own part out", "reduce/servers.c",
     "        if (shard.bytes > 0)\n            memcpy(shard.total, shard.own, shard.bytes);\n",
     "        (void)shard;\n"),
    ("a device says nothing while nothing changes", "node/member/agent.c",
     "    agent->sent = 0;\n    look(agent);",
     "    look(agent);"),
    ("the last in a change decides where all go on", "cluster/recovery.c",
     "!sh_position_before(*target, position) : believed",
     "sh_position_before(*target, position) : believed", 2600),
    ("a device stays in the old view", "cluster/participant.c",
     "    if (directive->view == event->next_view && directive->planned &&",
     "    if (directive->view == event->next_view && !directive->planned &&"),
    ("links are made before they are allowed", "node/member/rings.c",
     "one->inbound || one->begun || !order->opened",
     "one->inbound || one->begun"),
    ("a share is taken for right", "cluster/recount.c",
     "share->piece_count > 0 && !sh_sum_check_equal(&sum, &share->own)",
     "false"),
    ("who asks for the coordinator is left behind", "node/coordinator/coordinator_successors.c",
     "    sh_callers_close(&coordinator->callers);\n", "", 504202),
    ("all wait equally long for a hung successor", "cluster/succession.c",
     " + between * SH_SUCCESSION_NEXT_MS", "", 799343),
    ("a halt is owed since the audit before it", "cluster/membership_watch.c",
     " before->halt != awaited.halt ||", "", 1134192),
    ("nobody becomes a successor while a view is linked", "node/coordinator/coordinator_successors.c",
     "(directive.phase == SH_DIRECTIVE_LINK && directive.planned)", "false", 528104),
    ("the silent are never missed", "cluster/membership.c",
     "!one->present || sh_silence_ms",
     "true || sh_silence_ms"),
]


def commands(build):
    with open(build / "compile_commands.json", encoding="utf-8") as file:
        return {each["file"]: shlex.split(each["command"]) for each in json.load(file)}


def link_command(build):
    """How the build links device_sim."""
    said = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "device_sim"], check=True, capture_output=True,
                          text=True).stdout
    return shlex.split(said.strip().splitlines()[-1])


def build_mutant(build, compile_of, link, folder, mutation):
    """The path of a simulator with this edit."""
    name, file, before, after = mutation[:4]
    source = ROOT / "src" / file
    text = source.read_text(encoding="utf-8")
    if text.count(before) != 1:
        sys.exit("%s: the edit fits %d times into src/%s" % (name, text.count(before), file))
    mutant = pathlib.Path(folder) / source.name
    mutant.write_text(text.replace(before, after), encoding="utf-8")
    words = [str(mutant) if word == str(source) else word for word in compile_of[str(source)]]
    words[words.index("-o") + 1] = folder + "/mutant.o"
    words = [word for word in words if word != "-Werror"] + ["-w", "-I%s" % source.parent]
    subprocess.run(words, check=True, cwd=build)
    program, words = folder + "/device_sim", list(link)
    words[words.index("-o") + 1] = program
    at = next(i for i, word in enumerate(words) if word.endswith(".o"))
    words.insert(at, folder + "/mutant.o")
    subprocess.run(words, check=True, cwd=build)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--only", help="mutations whose names have this")
    options = parser.parse_args()
    compile_of, link, survivors = commands(options.build), link_command(options.build), []
    link = link[link.index("&&") + 1:] if "&&" in link else link
    link = link[:link.index("&&")] if "&&" in link else link

    def judge(mutation):
        with tempfile.TemporaryDirectory() as folder:
            program = build_mutant(options.build, compile_of, link, folder, mutation)
            first = str(mutation[4]) if len(mutation) > 4 else "1"
            said = subprocess.run([program, "--first", first, "--seeds", str(options.seeds), "--until-wrong"],
                                  check=False, capture_output=True, text=True)
        found = FOUND.search(said.stdout)
        print("%-60s %s" % (mutation[0], found.group()[:120] if found else "SURVIVED: " + said.stdout[-200:]), flush=True)
        if not found:
            survivors.append(mutation[0])

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for _ in pool.map(judge, [each for each in MUTATIONS if (options.only or "") in each[0]]):
            pass
    if survivors:
        sys.exit("not noticed: " + ", ".join(survivors))


if __name__ == "__main__":
    main()
