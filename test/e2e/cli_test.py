#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the command line prints, on which stream, and what it returns."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import harness

MODEL, DATA = "mlp:784-16-10", "digits"
TINY = (MODEL, DATA, "--steps", "5", "--batch-size", "32")

HELP = """\
shoal trains one neural network on many small computers as if they were one.

usage: shoal COMMAND [arguments]

  train MODEL DATA [options]      trains here; other devices may join
  join TOKEN|- [options]          lends this device to a running job
  eval RUN [DATA] [options]       measures a trained model
  predict RUN FILES... [options]  predicts new files with a trained model
  export RUN -o FILE [options]    writes a trained model as ONNX, safetensors or NumPy arrays
  data DATA [options]             describes a data set
  bench [options]                 measures what this device can do
  report RUN... [options]         reports on runs: tables, or a page with charts
  plan MODEL DATA [options]       estimates the memory and time of a training
  devices [TOKEN|FILE] [options]  lists the devices of a job, or this device
  sweep STUDY.yaml [options]      runs the trainings of a study, one after another
  runs [FOLDER] [options]         lists trainings, finished and running; exports their records
  top [RUN] [options]             shows a running training: progress, devices, where time goes
  hand-over RUN [--to NAME]       makes another device coordinate a running training
  models [MODEL] [options]        lists the built-in models, or describes one
  version [--json FILE]           shows the version, the compiler, and optional parts
  help [COMMAND|exit-codes]       shows how a command is used

examples:
  shoal train lenet digits --epochs 2
  shoal train lenet mnist:DIR --listen :7700     prints a token for other devices
  shoal join 'shoal://...'                       on each of them

'shoal help COMMAND' shows its options, 'shoal help exit-codes' the exit codes.
"""

EXIT_CODES = """\
exit codes:
    0  done
    1  failure; standard error says why and, if known, what to do
    2  wrong usage: an option, a value or a command that does not exist
  129  stopped by SIGHUP, such as when a terminal closes, in the same way as by SIGTERM
  130  stopped by Ctrl-C (SIGINT), after leaving gracefully with a checkpoint
  143  stopped by SIGTERM, in the same way
A second signal ends the program at once, with the same code and no checkpoint.
"""

# Arguments, the message behind "shoal: ", the command that the hint names.
MISUSE = (
    ("", "no command given", ""),
    ("flounder", "unknown command 'flounder'", ""),
    ("trian lenet digits", "unknown command 'trian'; did you mean 'train'?", ""),
    ("help jion", "unknown command 'jion'; did you mean 'join'?", ""),
    ("help train eval", "help: unexpected argument 'eval'", "help"),
    ("version now", "version: unexpected argument 'now'", "version"),
    ("models --jsn x", "unknown option --jsn; did you mean --json?", "models"),
    ("models --json", "--json: needs a value, FILE", "models"),
    ("train", "train: needs MODEL DATA", "train"),
    ("train lenet", "train: needs MODEL DATA", "train"),
    ("train lenet digits more", "train: unexpected argument 'more'", "train"),
    ("train lenet --resume runs/1", "train: needs both MODEL DATA with --resume, or neither", "train"),
    ("train lenet digits --bach-size 3", "unknown option --bach-size; did you mean --batch-size?", "train"),
    ("train lenet digits -lr 3", "unknown option -lr; did you mean --lr?", "train"),
    ("train lenet digits --mixed", "unknown option --mixed", "train"),
    ("train lenet digits --quiet=yes", "--quiet: takes no value", "train"),
    ("train lenet digits --seed", "--seed: needs a value, N", "train"),
    ("train lenet digits --json --quiet", "--json: needs a value, FILE", "train"),
    ("train lenet digits --epochs 0", "--epochs 0: must be at least 1", "train"),
    ("train lenet digits --steps 0", "--steps 0: must be at least 1", "train"),
    ("train lenet digits --batch-size 0", "--batch-size 0: must be at least 1", "train"),
    ("train lenet digits --batch-size=64k", "--batch-size 64k: must be a whole number, at least 1", "train"),
    ("train lenet digits --batch-size -4", "--batch-size -4: must be a whole number, at least 1", "train"),
    ("train lenet digits --batch-size 4294967296",
     "--batch-size 4294967296: must be at most 4294967295", "train"),
    ("train lenet digits --batch-per-device 0", "--batch-per-device 0: must be at least 1", "train"),
    ("train lenet digits --batch-per-device 16 --batch-size 32",
     "--batch-per-device with --batch-size: leave one of them out", "train"),
    ("train lenet digits --batch-per-device 4294967295 --devices 2",
     "--batch-per-device 4294967295: too many samples on 2 devices", "train"),
    ("train lenet digits --batch-per-device 9 --devices 3 --grain 28",
     "--batch-per-device 9 on 3 devices: --grain 28: larger than the batch of 27; a grain is a part of the batch",
     "train"),
    ("train lenet digits --grain 0", "--grain 0: must be at least 1", "train"),
    ("train lenet digits --lr fast", "--lr fast: must be a number, such as 0.01 or 1e-4", "train"),
    ("train lenet digits --lr nan", "--lr nan: must be a number, such as 0.01 or 1e-4", "train"),
    ("train lenet digits --lr -1", "--lr -1: must be at least 0", "train"),
    ("train lenet digits --momentum 1", "--momentum 1: must be below 1", "train"),
    ("train lenet digits --weight-decay -1e-4", "--weight-decay -1e-4: must be at least 0", "train"),
    ("train lenet digits --seed 18446744073709551616",
     "--seed 18446744073709551616: must be at most 18446744073709551615", "train"),
    ("train lenet digits --devices 0", "--devices 0: must be at least 1", "train"),
    ("train lenet digits --devices 1025", "--devices 1025: must be at most 1024", "train"),
    ("train lenet digits --lanes 0", "--lanes 0: must be at least 1", "train"),
    ("train lenet digits --lanes gpu:0,gpu:0", "--lanes gpu:0,gpu:0: names GPU 0 twice", "train"),
    ("plan lenet digits --lanes gpu:", "--lanes gpu:: must be a number of cores, or GPUs and cores, such as gpu:0,cpu:4",
     "plan"),
    ("train lenet digits --min-devices 0", "--min-devices 0: must be at least 1", "train"),
    ("train lenet digits --devices 2 --min-devices 3",
     "--min-devices 3: more than the 2 started here (--devices); without --listen no others can join",
     "train"),
    ("train lenet digits --listen 7700",
     "--listen 7700: must be [ADDRESS]:PORT, such as :7700 or 192.168.1.5:7700", "train"),
    ("train lenet digits --listen :65536",
     "--listen :65536: must be [ADDRESS]:PORT, such as :7700 or 192.168.1.5:7700", "train"),
    ("train lenet digits --run=", "--run: must not be empty", "train"),
    ("train lenet digits --strategy ps-async:2", "--strategy ps-async:2: takes no number; write ps-async", "train"),
    ("train lenet digits --strategy synch",
     "--strategy synch: must be sync, ps-sync, ps-async, ps-bounded:K, local:H", "train"),
    ("train lenet digits --strategy local",
     "--strategy local: H must be a whole number from 1 to 65535; write local:H, such as local:8", "train"),
    *(("train lenet digits --strategy " + bad,
       "--strategy %s: K must be a whole number from 1 to 65535; write ps-bounded:K, such as ps-bounded:8" % bad, "train")
      for bad in ("ps-bounded:0", "ps-bounded", "ps-bounded:65536", "ps-bounded:-1", "ps-bounded:few")),
    ("train lenet digits --strategy ps-sync:3", "--strategy ps-sync:3: takes no number; write ps-sync", "train"),
    *(("train lenet digits %s %s" % each, each[0] + ": is only for --strategy local:H", "train")
      for each in (("--workers", "4"), ("--outer-lr", "0.5"), ("--outer-momentum", "0.5"))),
    ("train lenet digits --servers 0", "--servers 0: --strategy sync has no servers; ps-sync, ps-async and ps-bounded:K have", "train"),
    ("train lenet digits --strategy local:4 --servers 0", "--servers 0: --strategy local:4 has no servers; ps-sync, ps-async and ps-bounded:K have",
     "train"),
    *(("train lenet digits --strategy ps-sync --servers " + bad,
       "--servers %s: %s; write comma-separated device numbers, such as 0,2 (device 0 is this one, the "
       "others are numbered as they join)" % (bad, why), "train")
      for bad, why in (("0,", "must be a list of numbers"), ("-1", "must be a list of numbers"),
                       ("0,0", "names a device twice"))),
    ("train lenet digits --strategy ps-sync --devices 2 --servers 2",
     "--servers 2: there is no device 2: those started here (--devices) are 0 to 1, and without "
     "--listen no others can join", "train"),
    ("train lenet digits --wire 24", "--wire 24: must be 32, 16 or 8 bits", "train"),
    ("train lenet digits --wire 64", "--wire 64: must be 32, 16 or 8 bits", "train"),
    ("train lenet digits --wire half", "--wire half: must be a whole number, at least 1", "train"),
    ("plan lenet digits --wire 24", "--wire 24: must be 32, 16 or 8 bits", "plan"),
    ("train lenet digits --optimizer adagrad",
     "--optimizer adagrad: no such optimizer; known are: sgd, adam, adamw, rmsprop", "train"),
    ("train lenet digits --optimizer abcdefghijklmnop",
     "--optimizer abcdefghijklmnop: must have at most 15 bytes", "train"),
    ("train lenet digits --optimizer adam --nesterov", "--nesterov: is only for --optimizer sgd", "train"),
    ("train lenet digits --nesterov --momentum 0",
     "--nesterov: needs momentum; give a --momentum above 0", "train"),
    ("train lenet digits --optimizer adam --beta1 1", "--beta1 1: must be below 1", "train"),
    ("train lenet digits --beta2 -1", "--beta2 -1: must be at least 0", "train"),
    ("train lenet digits --alpha 1.5", "--alpha 1.5: must be below 1", "train"),
    ("train lenet digits --optimizer rmsprop --epsilon 0",
     "--epsilon 0: must be above 0, to keep updates finite where gradients are 0", "train"),
    ("train lenet digits --clip-norm -1", "--clip-norm -1: must be at least 0", "train"),
    ("train lenet digits --warmup -1", "--warmup -1: must be at least 0", "train"),
    ("train lenet digits --warmup 1e20", "--warmup 1e+20: must be a number of epochs, at least 0", "train"),
    ("train lenet digits --schedule linear",
     "--schedule linear: no such schedule; known are: constant, step:EPOCHS[,GAMMA], "
     "multistep:E1/E2/...[,GAMMA], exponential:GAMMA[,FROM_EPOCH], cosine[:FLOOR], "
     "one-cycle[:PEAK[,DIV[,FINAL_DIV]]], range-test:SPAN", "train"),
    ("train lenet digits --schedule step",
     "--schedule step: EPOCHS must be a whole number of at least 1; write step:EPOCHS[,GAMMA], such as "
     "step:30,0.1", "train"),
    ("train lenet digits --schedule cosine:2",
     "--schedule cosine:2: FLOOR must be at least 0 and at most 1; write cosine[:FLOOR], such as cosine:0.01",
     "train"),
    ("train lenet digits --memory 96X", "--memory 96X: must be a size such as 96M or 2G", "train"),
    ("join", "join: needs TOKEN|-", "join"),
    ("join a b", "join: unexpected argument 'b'", "join"),
    ("join - --lanes 1025", "--lanes 1025: must be at most 1024", "join"),
    ("join - --lanes gpu:0;cpu:1",
     "--lanes gpu:0;cpu:1: must be a number of cores, or GPUs and cores, such as gpu:0,cpu:4", "join"),
    ("join - --name=", "--name: must not be empty", "join"),
    ("join - --name " + 64 * "x", "--name " + 64 * "x" + ": must have at most 63 bytes", "join"),
    ("eval", "eval: needs RUN", "eval"),
    ("eval lenet", "eval: no run lenet; needs RUN, or [MODEL] DATA --weights FILE", "eval"),
    ("eval lenet digits", "eval: no run lenet; needs RUN, or [MODEL] DATA --weights FILE", "eval"),
    ("eval . --json - --errors -", "eval: --json and --errors cannot both be '-'", "eval"),
    ("predict", "predict: needs RUN FILES...", "predict"),
    ("predict nowhere a.jpg", "predict: no run or file nowhere", "predict"),
    ("predict . - a.csv", "predict: '-', standard input, must be the only file", "predict"),
    ("predict . a.jpg --top 0", "--top 0: must be at least 1", "predict"),
    ("data", "data: needs DATA", "data"),
    ("data digits --val-split 1.5", "--val-split 1.5: must be below 1", "data"),
    ("data digits --normalize none", "unknown option --normalize", "data"),
    ("bench lenet", "bench: unexpected argument 'lenet'", "bench"),
    ("bench --seconds -1", "--seconds -1: must be at least 0", "bench"),
    ("bench --models mlp,", "--models: expected names with commas between them", "bench"),
    ("bench --lanes 1025", "--lanes 1025: must be at most 1024", "bench"),
    ("plan lenet", "plan: needs MODEL DATA", "plan"),
    ("plan lenet digits --grain 0", "--grain 0: must be at least 1", "plan"),
    ("eval lenet digits --weights x --lanes two", "--lanes two: must be a whole number, at least 1", "eval"),
)


class Texts(harness.Case):
    def test_help(self):
        for arguments in (["help"], ["--help"], ["-h"]):
            result = self.shoal(*arguments)
            self.assertEqual((result.out, result.err), (HELP, ""))

    def test_exit_codes(self):
        self.assertEqual(self.shoal("help", "exit-codes").out, EXIT_CODES)

    def test_help_on_each_command(self):
        commands = re.findall(r"^  (\w+) ", HELP.split("usage:")[1].split("examples:")[0], re.M)
        self.assertEqual(commands, ["train", "join", "eval", "predict", "export", "data", "bench", "report", "plan", "devices", "sweep", "runs",
                                    "top", "models", "version", "help"])
        for command in commands:
            result = self.shoal("help", command)
            self.assertEqual(result.err, "")
            self.assertTrue(result.out.startswith("shoal %s " % command), result.out)
            self.assertEqual(self.shoal(command, "--help").out, result.out)

    def test_defaults_are_in_help(self):
        out = self.shoal("help", "train").out
        self.assertRegex(out, r"--batch-size N +samples in one step, over all devices \(default 64\)\n")
        self.assertRegex(out, r"--lr X +learning rate \(default 0\.01\)\n")

    def test_table_for_documents(self):
        lines = self.shoal("help", "--markdown").out.splitlines()
        self.assertEqual(lines[:3], [
            "| command | what it does |", "|---|---|",
            "| `shoal train MODEL DATA [options]` | trains here; other devices may join |"])

    def test_version(self):
        result = self.shoal("version")
        self.assertRegex(result.out, r"\Ashoal \d+\.\d+\.\d+\ncompiler  \S.*\nvariant +\S+\n(\S.* +(yes|no)\n)*\Z")
        self.assertEqual(self.shoal("--version").out, result.out)
        written = json.loads(self.shoal("version", "--json", "-").out)
        self.assertTrue(result.out.startswith("shoal %s\n" % written["version"]))
        for name in ("compiler", "variant"):
            self.assertRegex(result.out, r"(?m)^%s +%s$" % (name, re.escape(written[name])))
        for variant in self.variants():
            result = self.shoal("version", env={"SHOAL_VARIANT": variant})
            self.assertRegex(result.out, r"(?m)^variant +%s$" % variant)
        for name, present in written["parts"].items():
            self.assertRegex(result.out, r"(?m)^%s +%s$" % (re.escape(name), "yes" if present else "no"))

    def test_models(self):
        lines = self.shoal("models").out.splitlines()
        self.assertRegex(lines[0], r"^model +what it is +for example +sample +parameters +multiply-adds +MB +MB a lane$")
        self.assertRegex("\n".join(lines), r"(?m)^mlp\[:hHIDDEN-\.\.\.\|:IN-HIDDEN-\.\.\.-OUT\]  \S.*  mlp:784-128-64-10 +1x28x28 "
                                           r" +109,386  +109,184  +[\d.]+  +[\d.]+$")
        models = json.loads(self.shoal("models", "--json", "-").out)["models"]
        self.assertEqual(len(models), len(lines) - 1)
        for model, line in zip(models, lines[1:]):
            self.assertTrue(line.startswith(model["usage"]), line)
            self.assertIn("  {:,}  ".format(model["parameters"]), line)
            self.assertIn("  {:,}  ".format(model["multiply_adds"]), line)
            self.assertEqual(model["grain"], 16)
            self.assertGreaterEqual(model["weights_bytes"], 12 * model["parameters"])
            self.assertGreater(model["lane_bytes"], 16 * 4)
        # As published: He et al. 2015 (ResNets), torchvision, Sandler et al. 2018, Zhang et al. 2017.
        counts = {model["example"]: round(model["multiply_adds"] / 1e6) for model in models}
        for example, millions in (("resnet:20", 41), ("resnet18", 1814), ("resnet50", 4089), ("mobilenetv2", 301),
                                  ("squeezenet", 349), ("dscnn:s", 3)):
            self.assertEqual(counts[example], millions, example)


class Mistakes(harness.Case):
    def test_misuse_is_named_with_a_hint(self):
        for arguments, message, hint in MISUSE:
            with self.subTest(arguments):
                result = self.shoal(*arguments.split(), status=2)
                expected = "shoal: %s\ntry: shoal help %s" % (message, hint)
                self.assertEqual(result.err, expected.rstrip() + "\n")
                self.assertEqual(result.out, "")

    def test_a_grain_larger_than_the_batch(self):
        result = self.shoal("train", MODEL, DATA, "--batch-size", "8", "--grain", "9", status=2)
        self.assertRegex(result.err, r"\Ashoal: --grain 9: .+\ntry: shoal help train\n\Z")

    def test_an_unknown_model_or_data_is_misuse_and_comes_before_the_banner(self):
        for model, data, message in (
                ("resnet20", DATA, "unknown model 'resnet20'; did you mean 'resnet:20'? known are: mlp["),
                (MODEL, "digit", "unknown data 'digit': did you mean digits")):
            result = self.shoal("train", model, data, status=2)
            self.assertTrue(result.err.startswith("shoal: " + message), str(result))
        result = self.shoal("bench", "--models", "mlp,lenot", status=2)
        self.assertTrue(result.err.startswith("shoal: --models: unknown model 'lenot'; did you mean 'lenet'? "), str(result))
        for model, data in ((MODEL, "mnist:nowhere"), ("mlp:7-10", DATA)):
            self.assertRegex(self.shoal("train", model, data, status=1).err, r"\Ashoal: .+\n\Z")

    def test_control_characters_do_not_reach_the_terminal(self):
        result = self.shoal("train", "\033[2Jx", DATA, status=None)
        self.assertNotIn("\033", result.out + result.err)
        result = self.shoal("\033[2Jx", status=2)
        self.assertEqual(result.err, "shoal: unknown command '?[2Jx'\ntry: shoal help\n")

    def test_failures_name_the_reason(self):
        os.mkdir(self.path("folder"))
        for arguments, pattern in (
                (("train", MODEL, "mnist:" + self.path("nowhere")), "nowhere"),
                (("train", *TINY, "--json", "nowhere/s.json"),
                 "^shoal: --json nowhere/s.json: No such file or directory; choose another file for --json$"),
                (("train", *TINY, "--json", "folder"), "^shoal: --json folder: Is a directory; "),
                (("train", "--resume", self.path("nowhere")), "nowhere"),
                (("eval", MODEL, DATA, "--weights", self.path("nowhere")), "nowhere"),
                (("join", "shoal"), "shoal://"),
                (("join", "-"), "^shoal: no token on standard input: ")):
            with self.subTest(arguments):
                result = self.shoal(*arguments, status=1)
                self.assertEqual(result.out, "")
                self.assertRegex(result.err.splitlines()[-1], r"\Ashoal: .*")
                self.assertRegex(result.err.splitlines()[-1], pattern)

    def test_output_that_cannot_be_written(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        for arguments in (["version"], ["help"], ["train", *TINY]):
            with self.subTest(arguments), open("/dev/full", "w", encoding="utf-8") as full:
                ended = subprocess.run([harness.SHOAL, *arguments], stdout=full, cwd=self.folder, text=True,
                                       stderr=subprocess.PIPE, timeout=60 * harness.PATIENCE, check=False)
                self.assertEqual(ended.returncode, 1)
                self.assertIn("shoal: standard output: No space left on device\n", ended.stderr)


class Train(harness.Case):
    def test_says_what_it_does_and_what_came_of_it(self):
        result = self.train(*TINY, "--grain", "8", "--lanes", "1", "--run", "here")
        self.assertNotIn("\r", result.err)
        self.assertNotIn("\033", result.err + result.out)
        lines = result.err.splitlines()
        self.assertEqual(lines[:6], ["model       " + MODEL, "data        digits",
                                     "batch       32 samples a step", "grain       8 samples, 4 grains a step",
                                     "devices     1 here", "lanes       1 each"])
        self.assertRegex(result.err, r"(?m)^run         .*here$")
        self.assertRegex(result.err, r"(?m)^training on 1 device, [\d,]+ steps an epoch$")
        summary = result.summary
        out = result.out.splitlines()
        self.assertEqual(out[0], "status      complete")
        self.assertEqual(out[1], "model       %s, 12,730 parameters" % MODEL)
        self.assertRegex(out[3], r"^trained     0\.\d+ epochs, 5 steps, 160 samples in \S+( s)? \(\S+ samples/s\)$")
        self.assertEqual(out[5], "validation  loss %.4f, accuracy %.2f %%" % (
            summary["val_loss"], 100 * summary["val_accuracy"]))
        best = summary["best"]
        self.assertEqual(out[6], "best        epoch 1, val_loss %.4f" % best["value"])
        self.assertRegex(out[7], r"^its worth   accuracy [\d.]+ %, top 5 [\d.]+ %, balanced [\d.]+ %, mean F1 [\d.]+ %$")
        self.assertEqual(out[8], "weights     " + summary["weights_hash"])
        self.assertEqual(out[11:13], ["best model  %s (epoch 1)" % best["file"], "measure it  shoal eval here"])
        self.assertEqual(out[-2].split(), "device grains samples CPU s peak MB sent MB received MB".split())
        self.assertEqual(len(out[-1]), len(out[-2]))

    def test_json_is_the_whole_summary(self):
        result = self.train(*TINY, "--grain", "8", "--devices", "1", "--run", "here")
        summary = result.summary
        self.assertEqual(list(summary), (
            "model data parameters epochs steps samples train_seconds samples_per_second train_loss val_loss "
            "val_accuracy val_mae weights_hash peak_rss_bytes planned_bytes devices redone_steps views run "
            "status wire best last_file stopped_early metrics"
        ).split())
        self.assertEqual((summary["model"], summary["data"]), (MODEL, DATA))
        self.assertEqual((summary["parameters"], summary["steps"], summary["samples"]), (12730, 5, 160))
        self.assertEqual(summary["status"], "complete")
        self.assertRegex(summary["weights_hash"], r"\A[0-9a-f]{64}\Z")
        self.assertTrue(summary["run"].endswith("here"), summary["run"])
        self.assertEqual([device["grains"] for device in summary["devices"]], [20])
        self.assertEqual(list(summary["devices"][0]), (
            "name grains samples cpu_seconds peak_rss_bytes bytes_sent bytes_received").split())

    def test_json_on_standard_output_is_alone_there(self):
        summary = json.loads(self.shoal("train", *TINY, "--json", "-").out)
        self.assertEqual(summary["steps"], 5)

    def test_quiet_prints_nothing(self):
        result = self.train(*TINY, "--quiet")
        self.assertEqual((result.out, result.err), ("", ""))

    def test_the_token_is_alone_on_its_line(self):
        result = self.shoal("train", *TINY, "--listen", "127.0.0.1:0", "--quiet")
        self.assertRegex(result.out, r"\Ashoal://\S+\n\Z")
        self.assertEqual(result.err, "")
        result = self.shoal("train", *TINY, "--listen", "127.0.0.1:0")
        self.assertRegex(result.out.splitlines()[0], r"\Ashoal://\S+\Z")
        self.assertNotIn("shoal://", result.err)

    def test_an_epoch_is_a_line(self):
        result = self.shoal("train", MODEL, DATA, "--epochs", "1", "--batch-size", "512")
        self.assertRegex(result.err, r"(?m)^epoch 1/1  loss \d+\.\d{4}  accuracy \d+\.\d %  val loss \d+\.\d{4}  "
                                     r"val accuracy \d+\.\d\d %  [\d,.]+ samples/s$")

    def test_verbose_logs_on_standard_error(self):
        result = self.shoal("train", *TINY, "--verbose", "--quiet")
        self.assertEqual(result.out, "")
        for line in result.err.splitlines():
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT[\d:.]+Z (DEBUG|INFO|WARN|ERROR) [a-z._-]+")


class Terminal(harness.Case):
    def on_terminal(self, *arguments, columns=100, **environment):
        """What a run prints to a terminal on standard error."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        with subprocess.Popen([harness.SHOAL, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=theirs, cwd=self.folder, env={**env, "TERM": "xterm", **environment}) as child:
            os.close(theirs)
            shown = b""
            while True:
                try:
                    read = os.read(ours, 65536)
                except OSError:  # the other side is closed
                    break
                if not read:
                    break
                shown += read
            os.close(ours)
            self.assertEqual(child.wait(60 * harness.PATIENCE), 0)
        return shown.decode()

    def test_one_line_is_drawn_again(self):
        shown = self.on_terminal("train", *TINY)
        drawn = re.findall(r"\r\033\[K(epoch 1/[^\r\n]*)", shown)
        self.assertTrue(drawn, shown)
        self.assertRegex(drawn[0], r"^epoch 1/\d+ \033\[36m\[[=>-]+\]\033\[0m  1/[\d,]+  loss ")

    def test_no_colour_where_it_is_not_wanted(self):
        shown = self.on_terminal("train", *TINY, NO_COLOR="1")
        self.assertIn("\r\033[Kepoch 1/", shown)
        self.assertNotIn("\033[36m", shown)
        self.assertIn("\033[36m", self.on_terminal("train", *TINY, NO_COLOR=""))

    def test_it_fits_the_width(self):
        for columns in (20, 40, 60, 80):
            shown = self.on_terminal("train", *TINY, columns=columns, NO_COLOR="1")
            for line in re.findall(r"\r\033\[K(epoch 1/\d+ [^\r\n]*)", shown):
                if "val loss" not in line:
                    self.assertLess(len(line), columns, line)

    def test_a_dumb_terminal_gets_lines(self):
        self.assertNotIn("\033", self.on_terminal("train", *TINY, TERM="dumb"))

    def test_quiet_is_quiet_there_too(self):
        self.assertEqual(self.on_terminal("train", *TINY, "--quiet"), "")


class Signals(harness.Case):
    LONG = (MODEL, DATA, "--epochs", "100000", "--batch-size", "64")

    def stopped(self, number, *options, group=False):
        process = self.start("train", *self.LONG, *options, "--run", "here", "--json", "s.json")
        process.wait_for("^training on ", stream="err")
        if group:
            os.killpg(process.child.pid, number)
        else:
            process.signal(number)
        result = process.wait(30)
        self.assertIn("stopping at the next step, with a checkpoint; again: at once\n", result.err)
        self.assertRegex(result.err, r"(?m)^stopped; continue with: shoal train --resume .*here$")
        self.assertTrue(result.out.startswith("status      stopped\n"), str(result))
        summary = self.summary(self.path("s.json"))
        self.assertEqual(summary["status"], "stopped")
        return result, summary

    def test_ctrl_c_leaves_a_checkpoint(self):
        result, _ = self.stopped(signal.SIGINT)
        self.assertEqual(result.status, 130)

    def test_sigterm_leaves_a_checkpoint(self):
        result, summary = self.stopped(signal.SIGTERM)
        self.assertEqual(result.status, 143)
        more = self.shoal("train", "--resume", "here", "--steps", str(summary["steps"] + 3), "--json", "t.json")
        self.assertRegex(more.err, r"(?m)^resuming    here$")
        self.assertEqual(self.summary(self.path("t.json"))["steps"], summary["steps"] + 3)

    def test_ctrl_c_reaches_local_devices_through_the_first(self):
        """A terminal signals all processes of the job; only the first one acts on it."""
        result, summary = self.stopped(signal.SIGINT, "--devices", "2", group=True)
        self.assertEqual(result.status, 130)
        self.assertEqual(len(summary["devices"]), 2)

    def test_local_devices_hide_the_token_and_end_with_the_first(self):
        process = self.start("train", *self.LONG, "--devices", "2")
        process.wait_for("^training on 2 devices", stream="err")
        children = harness.children_of(process.child.pid)
        self.assertEqual(len(children), 1)
        with open("/proc/%d/cmdline" % children[0], "rb") as file:
            command = file.read()
        self.assertIn(b"join\0-\0", command)
        self.assertNotIn(b"shoal://", command)
        process.signal(signal.SIGKILL)
        process.child.wait()
        deadline = time.monotonic() + 5 * harness.PATIENCE
        while harness.is_alive(children[0]):
            self.assertLess(time.monotonic(), deadline, "the local device lives on")
            time.sleep(0.01)


if __name__ == "__main__":
    harness.main()
