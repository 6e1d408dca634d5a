#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Not under the thread sanitizer: the library is not instrumented, and starting it takes a minute there
"""Ranks under mpirun come to the weights that one device does, and end with a checkpoint however they end."""

import json
import os
import re
import shlex
import shutil
import signal
import struct
import time

import harness

# 8 grains a step, the last of one sample; 3 steps an epoch, the last one of 2 grains.
LENET = ("lenet", "digits:110/40", "--batch-size", "50", "--grain", "7", "--epochs", "2")
# Epochs of so many steps, of some milliseconds each, that an end in the midst of one is easy to meet.
EPOCH_STEPS = 50
LONG = ("lenet", "digits:1200/20", "--batch-size", "24", "--grain", "4", "--epochs", "100000")
# Its steps take milliseconds with sanitizers too: the first rank waits for the end of one no longer than 300 ms.
QUICK = ("mlp:784-32-10", *LONG[1:])
COURSE = "model data parameters epochs steps samples train_loss val_loss val_accuracy weights_hash redone_steps".split()

# Nothing leaves this machine, and root and few cores are no reason to refuse. Variables of PRTE are what the launcher
# of Open MPI 5 listens to.
LOCAL = {
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo",
}
# What the library does not give back at its end is not ours to mend.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=0"}


class Mpi(harness.Case):
    def setUp(self):
        super().setUp()
        if not json.loads(self.shoal("version", "--json", "-").out)["parts"]["mpi"]:
            self.skipTest("the build has no MPI (libopenmpi-dev)")
        if not shutil.which("mpirun"):
            self.skipTest("there is no mpirun (openmpi-bin)")

    def launch(self, *worlds, env=None):
        """Starts mpirun with several (ranks, command), and gives its process. Each rank chooses its command, because
        mpirun 5.0.7 crashes where it is given several (mpirun -n 1 true : -n 1 true)."""
        commands = [shlex.join(command) for ranks, command in worlds for _ in range(ranks)]
        cases = "".join("%d) exec %s;;\n" % (rank, command) for rank, command in enumerate(commands))
        choice = ["sh", "-c", "case $OMPI_COMM_WORLD_RANK in\n%sesac" % cases]
        argv = ["-n", str(len(commands)), *(worlds[0][1] if len(worlds) == 1 else choice)]
        return self.start(argv=["mpirun", *argv], env={**LOCAL, **SANITIZERS, "TMPDIR": self.folder, **(env or {})})

    def start_ranks(self, ranks, *arguments, env=None):
        return self.launch((ranks, (harness.SHOAL, "train", *arguments, "--engine", "mpi")), env=env)

    def train_ranks(self, ranks, *arguments, env=None):
        """The summary of a training on so many ranks, checked to add up over them."""
        path = self.path("ranks.json")
        result = self.start_ranks(ranks, *arguments, "--json", path, "--quiet", env=env).wait(120)
        self.assertEqual((result.status, result.out), (0, ""), str(result))
        summary = self.summary(path)
        devices = summary["devices"]
        self.assertEqual((len(devices), len({device["name"] for device in devices})), (ranks, ranks))
        self.assertEqual(sum(device["samples"] for device in devices), summary["samples"])
        self.assertEqual({device[key] for device in devices for key in ("bytes_sent", "bytes_received")}, {None})
        self.assertEqual((summary["views"], summary["status"]), (1, "complete"))
        return summary

    def read(self, *names):
        with open(self.path(*names), "rb") as file:
            return file.read()

    def assert_same(self, summary, expected):
        self.assertEqual({key: summary[key] for key in COURSE}, {key: expected[key] for key in COURSE})

    def ranks_of(self, process):
        """The numbers of mpirun's processes, by rank."""
        found = {}
        for pid in harness.children_of(process.child.pid):
            with open("/proc/%d/environ" % pid, "rb") as file:
                for variable in file.read().split(b"\0"):
                    if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                        found[int(variable.split(b"=")[1])] = pid
        return found

    def steps_of(self, run):
        """Steps of its last checkpoint."""
        content = self.read(run, "checkpoints", "last.safetensors")
        header = json.loads(content[8:8 + struct.unpack("<Q", content[:8])[0]])
        return json.loads(header["__metadata__"]["shoal.position"])["steps"]

    def assert_goes_on(self, run, job, steps):
        """From its checkpoint it comes to where the uninterrupted job does."""
        goal = ("--steps", str(steps))
        end = self.train("--resume", run, *goal, "--quiet").summary
        whole = self.train(*job, *goal, "--quiet").summary
        self.assertEqual(end["weights_hash"], whole["weights_hash"])


class Same(Mpi):
    def test_the_same_run(self):
        """The same weights on any number of ranks are in parity_test.py."""
        expected = self.train(*LENET, "--run", "ring", "--quiet").summary
        self.assert_same(self.train_ranks(4, *LENET, "--run", "mpi", "--lanes", "1"), expected)
        for name in ("job.json", "checkpoints/last.safetensors", "checkpoints/previous.safetensors"):
            self.assertEqual(self.read("mpi", name), self.read("ring", name), name)
        self.assertEqual(len(self.read("mpi", "metrics.jsonl").splitlines()), 2)

    def test_with_batch_norm_and_adam_by_tcp(self):
        os.mkdir(self.path("data"))
        for name, count in (("data_batch_1.bin", 60), ("test_batch.bin", 20)):
            with open(self.path("data", name), "wb") as file:
                file.write(harness.cifar10(count))
        job = ("resnet:20", "cifar10:data", "--batch-size", "30", "--grain", "7", "--steps", "3",
               "--augment", "crop,flip", "--optimizer", "adam", "--lr", "0.005", "--clip-norm", "0.5")
        expected = self.train(*job, "--quiet").summary
        self.assert_same(self.train_ranks(2, *job, env={"OMPI_MCA_btl": "self,tcp"}), expected)

    def test_with_less_work_than_ranks_and_redone_steps(self):
        job = ("mlp:784-16-10", "digits:64/30", "--batch-size", "20", "--grain", "10", "--lr", "2", "--epochs", "3")
        self.assert_same(self.train_ranks(3, *job), self.train(*job, "--quiet").summary)

    def test_with_local_steps(self):
        job = ("mlp:784-16-10", "digits:320/30", "--batch-size", "40", "--grain", "5", "--strategy", "local:4",
               "--workers", "4", "--outer-momentum", "0.5", "--epochs", "3")
        expected = self.train(*job, "--quiet").summary
        for ranks in (2, 3):
            self.assert_same(self.train_ranks(ranks, *job), expected)

    def test_a_batch_for_each_rank_is_a_batch(self):
        job = ("mlp:784-16-10", "digits:310/90", "--epochs", "1")
        self.assert_same(self.train_ranks(3, *job, "--batch-per-device", "17"),
                         self.train(*job, "--batch-size", "51", "--quiet").summary)

    def test_goes_on_from_a_run_of_the_ring_and_back(self):
        expected = self.train(*LENET, "--quiet").summary["weights_hash"]
        self.train(*LENET, "--steps", "2", "--run", "run", "--devices", "2", "--quiet")
        self.assertEqual(self.train_ranks(2, "--resume", "run", "--steps", "4")["samples"], 60)
        self.assertEqual(self.train("--resume", "run", "--epochs", "2", "--quiet").summary["weights_hash"], expected)
        self.assertEqual(self.train_ranks(2, "--resume", "run")["samples"], 0)


class Ends(Mpi):
    def begin(self, ranks, job=LONG, goal=EPOCH_STEPS + 10):
        """Ranks that have come so many steps far, by default into the second epoch."""
        process = self.start_ranks(ranks, *job, "--run", "run", "--json", "s.json", "--events", "events",
                                   "--lanes", "1")
        process.wait_for("^training on %d devices" % ranks, stream="err", timeout=60)
        deadline = time.monotonic() + 120 * harness.PATIENCE
        with open(self.path("events"), encoding="utf-8") as file:
            steps = 0
            while steps < goal:
                self.assertLess(time.monotonic(), deadline, str(process.so_far()))
                line = file.readline()
                found = re.search(r'"total_step":(\d+),', line)
                steps = int(found.group(1)) if found else steps
                if not line:
                    time.sleep(0.01)
        return process

    def test_ctrl_c_stops_all_at_one_step(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.begin(3, QUICK)
            process.signal(number)
            result = process.wait(30)
            self.assertNotEqual(result.status, 0)
            self.assertRegex(result.err, "(?m)^stopped; continue with: shoal train --resume run$")
            self.assertEqual(result.err.count("stopping at the next step"), 1, result.err)
            summary = self.summary(self.path("s.json"))
            self.assertEqual(summary["status"], "stopped")
            self.assertEqual(sum(device["samples"] for device in summary["devices"]), summary["samples"])
            self.assertEqual(self.steps_of("run"), summary["steps"])
            self.assert_goes_on("run", QUICK, summary["steps"] + 3)
            shutil.rmtree(self.path("run"))

    def test_a_lost_rank_ends_it_with_a_checkpoint(self):
        process = self.begin(3)
        os.kill(self.ranks_of(process)[1], signal.SIGKILL)
        result = process.wait(30)
        self.assertNotEqual(result.status, 0)
        self.assertRegex(result.err, r"rank 1 .*exited on\ssignal 9")
        self.assertRegex(result.err, "(?m)^stopped; continue with: shoal train --resume run$")
        steps = self.steps_of("run")
        self.assertGreaterEqual(steps, EPOCH_STEPS + 10)
        self.assertNotEqual(steps % EPOCH_STEPS, 0, "that of an epoch's end, not of the last step")
        self.assert_goes_on("run", LONG, steps + 3)

    @harness.not_for_sanitizers("steps of seconds take minutes there")
    def test_a_lost_rank_in_a_step_of_seconds(self):
        """The first rank is killed while its lanes are computing, and has saved the step before by then."""
        job = ("resnet:20", "noise:3x32x32/10/6144/10", "--batch-size", "1536", "--grain", "64")
        process = self.begin(2, job, 1)
        os.kill(self.ranks_of(process)[1], signal.SIGKILL)
        self.assertNotEqual(process.wait(30).status, 0)
        self.assertEqual(self.steps_of("run"), 1)

    def test_a_lost_first_rank_leaves_the_last_checkpoint(self):
        process = self.begin(2)
        os.kill(self.ranks_of(process)[0], signal.SIGKILL)
        self.assertNotEqual(process.wait(30).status, 0)
        steps = self.steps_of("run")
        self.assertEqual(steps % EPOCH_STEPS, 0)
        self.assert_goes_on("run", LONG, steps + 3)

    def test_a_step_that_takes_too_long_is_not_waited_for(self):
        """A rank stands still, so no step ends any more; the first one is told to end, and nobody kills it."""
        process = self.begin(2)
        ranks = self.ranks_of(process)
        os.kill(ranks[1], signal.SIGSTOP)
        os.kill(ranks[0], signal.SIGTERM)
        result = process.wait(30)
        self.assertEqual(result.status, 143, str(result))
        self.assertRegex(result.err, "(?m)^stopped; continue with: shoal train --resume run$")
        steps = self.steps_of("run")
        self.assertGreaterEqual(steps, EPOCH_STEPS + 10)
        self.assertEqual(self.summary(self.path("s.json"))["steps"], steps)
        self.assert_goes_on("run", LONG, steps + 3)


class Refused(Mpi):
    def refused(self, *worlds, env=None):
        """What rank 0 says, alone, of ranks that do not begin; no run is left."""
        worlds = [(ranks, (*before, harness.SHOAL, "train", *arguments, "--engine", "mpi", "--run", "run"))
                  for ranks, before, arguments in worlds]
        result = self.launch(*worlds, env=env).wait(60)
        self.assertEqual(result.status, 1, str(result))
        self.assertEqual(result.err.count("shoal: "), 1, result.err)
        self.assertFalse(os.path.exists(self.path("run")))
        return result.err

    def test_ranks_with_different_jobs(self):
        job = ("mlp:784-16-10", "digits:310/90")
        other = (*job, "--lr", "0.2")
        self.assertIn("shoal: rank 1 has another job than rank 0: give all ranks the same model and options\n",
                      self.refused((1, (), job), (1, (), other)))
        self.assertIn("shoal: ranks 2, 3 have another job than rank 0: ", self.refused((2, (), job), (2, (), other)))
        self.assertIn("shoal: rank 1 has other data than rank 0: all ranks must read the same files\n",
                      self.refused((1, (), job), (1, (), (job[0], "digits:310/91"))))

    def test_a_rank_that_computes_other_bits(self):
        job = ("lenet", "digits:310/90")
        self.assertIn("shoal: rank 1 has other gradients for the job's first grain than rank 0: a processor, its memory or "
                      "a build of shoal has a defect; use another machine, and please report it with its output of shoal "
                      "version and lscpu\n",
                      self.refused((1, (), job), (1, ("env", "SHOAL_TEST_FLIP=first-grain"), job)))

    def test_ranks_with_different_checkpoints(self):
        self.train(*LENET, "--run", "old", "--quiet")
        for given in ("last", "previous"):
            shutil.copy(self.path("old", "checkpoints", given + ".safetensors"), self.path(given + ".safetensors"))
        self.assertIn("shoal: rank 1 has other weights than rank 0: all ranks must start from the same checkpoint "
                      "or file\n", self.refused((1, (), ("--resume", "last.safetensors")),
                                                (1, (), ("--resume", "previous.safetensors"))))

    def test_a_rank_that_fails_before_the_start(self):
        self.assertRegex(self.refused((2, (), ("lenet", "digits")), (1, (), ("lenet", "cifar10:missing"))),
                         r"shoal: rank 2: missing: ")
        self.assertRegex(self.refused((1, (), ("lenet", "cifar10:missing")), (1, (), ("lenet", "digits"))),
                         r"shoal: missing: ")

    def test_a_run_that_cannot_be_opened(self):
        os.mkdir(self.path("taken"))
        with open(self.path("taken", "something"), "w", encoding="utf-8"):
            pass
        result = self.start_ranks(2, *LENET, "--run", "taken").wait(60)
        self.assertEqual(result.status, 1, str(result))
        self.assertEqual(result.err.count("shoal: taken: "), 1, result.err)

    def test_a_launcher_that_mpi_does_not_know(self):
        """As srun without PMIx: each process would be the only rank."""
        result = self.shoal("train", *LENET, "--engine", "mpi", status=1,
                            env={**LOCAL, **SANITIZERS, "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"})
        self.assertIn("shoal: --engine mpi: srun says that this is rank 1 of 2, but MPI says rank 0 of 1; "
                      "start it with Open MPI's mpirun, or with srun --mpi=pmix\n", result.err)


class Misuse(harness.Case):
    def setUp(self):
        super().setUp()
        self.built = json.loads(self.shoal("version", "--json", "-").out)["parts"]["mpi"]

    def misused(self, *arguments, **env):
        result = self.shoal("train", *LENET, *arguments, status=2, env=env)
        self.assertEqual(os.listdir(self.folder), [])
        return result.err

    def test_without_a_launcher(self):
        if not self.built:
            self.skipTest("the build has no MPI (libopenmpi-dev)")
        self.assertTrue(self.misused("--engine", "mpi").startswith(
            "shoal: --engine mpi: no launcher has started this; write mpirun -n N shoal train ..., or leave --engine "
            "out\n"))

    def test_with_options_of_other_engines(self):
        if not self.built:
            self.skipTest("the build has no MPI (libopenmpi-dev)")
        starts = "mpirun -n starts the devices"
        for option, why in ((("--listen", ":0"), "ranks cannot be joined"), (("--devices", "2"), starts),
                            (("--min-devices", "2"), starts),
                            (("--strategy", "ps-sync"), "its collectives need no server"),
                            (("--servers", "0"), "its collectives need no server")):
            said = self.misused("--engine", "mpi", *option, OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2")
            what = " ".join(option) if option[0] == "--strategy" else option[0]
            self.assertTrue(said.startswith("shoal: --engine mpi with %s: %s; leave %s out, or use --engine ring\n" % (
                what, why, what)), said)

    def test_a_launcher_without_the_engine(self):
        for engine in ((), ("--engine", "ring")):
            self.assertTrue(self.misused(*engine, OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="2").startswith(
                "shoal: mpirun has started 2 of these, and each would train alone: give --engine mpi, or start one "
                "without mpirun\n"))
        self.shoal("train", *LENET, "--quiet", env={"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"})

    def test_an_unknown_engine(self):
        self.assertTrue(self.misused("--engine", "steam").startswith("shoal: --engine steam: must be ring or mpi\n"))

    def test_a_build_without_it(self):
        if self.built:
            self.skipTest("the build has MPI")
        self.assertTrue(self.misused("--engine", "mpi").startswith(
            "shoal: --engine mpi: this build has no MPI; install Open MPI (libopenmpi-dev, openmpi-bin) and build "
            "again\n"))


if __name__ == "__main__":
    harness.main()
