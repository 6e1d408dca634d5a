#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What this device can do, what a training would take, and where its time went."""
# Alone: it compares times that were measured.

import json
import os
import re

import harness

QUICK = ("bench", "--models", "mlp", "--seconds", "0.05", "--lanes", "1")
JOB = ("mlp:784-16-10", "digits:310/90", "--batch-size", "50", "--grain", "7")


class Plan(harness.Case):
    def setUp(self):
        super().setUp()
        self.env = {"XDG_CACHE_HOME": self.path("cache")}
        self.device = self.path("cache", "shoal", "device.json")

    def load(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    def bench(self, *more):
        return self.shoal(*QUICK, *more, env=self.env, timeout=120)

    def plan(self, *arguments):
        result = self.shoal("plan", *arguments, "--json", "plan.json", env=self.env)
        result.plan = self.load("plan.json")
        return result

    def test_bench_says_what_it_has_measured(self):
        result = self.bench("--json", "bench.json")
        bench = self.load("bench.json")
        for rate in ("multiply_add_flops_per_second", "matrix_flops_per_second", "convolution_flops_per_second",
                     "copy_bytes_per_second", "triad_bytes_per_second"):
            self.assertGreater(bench[rate]["one"], 1e6, rate)
            self.assertGreater(bench[rate]["all"], 1e6, rate)
        self.assertEqual(bench["lanes"], 1)
        self.assertEqual(bench["file"], self.device)
        self.assertGreater(bench["seconds"], 0)
        grains = [model["grain"] for model in bench["models"]]
        self.assertEqual(grains[0], 4)
        self.assertEqual(grains, sorted(set(grains)))
        for model in bench["models"]:
            self.assertEqual(model["model"], "mlp:784-128-64-10")
            self.assertAlmostEqual(model["samples_per_second"] / model["grains_per_second"],
                                   model["grain"], places=6)
            self.assertGreater(model["flops_per_second"], 0)
            self.assertGreater(model["step_seconds"], 0)
            self.assertGreater(model["predicted_seconds"], 0)
            self.assertEqual([(layer["layer"], layer["weights"], layer["result"]) for layer in model["layers"]],
                             [("fc1", "128x784", "128"), ("fc2", "64x128", "64"), ("fc3", "10x64", "10")])
            for layer in model["layers"]:
                self.assertGreater(layer["forward"], 1e6, layer)
                self.assertGreater(layer["weight_gradient"], 1e6, layer)
            self.assertIsNone(model["layers"][0]["input_gradient"])
            self.assertGreater(model["layers"][1]["input_gradient"], 1e6)
        usual = max(grain for grain in grains if grain <= 16)  # the largest that jobs choose by default
        peak = re.search(r"(?m)^mlp:784-128-64-10, grain %d: GFLOP/s of a core, and of its peak \((\d+\.\d)\)$" % usual,
                         result.out)
        self.assertAlmostEqual(float(peak.group(1)), bench["multiply_add_flops_per_second"]["all"] / 1e9, places=1)
        self.assertRegex(result.out, r"(?m)^layer +weights +result +forward +input gradient +weight gradient$")
        self.assertRegex(result.out, r"(?m)^fc1 +128x784 +128 +\d+\.\d +\d+ % +- +\d+\.\d +\d+ %$")
        self.assertEqual(len(re.findall(r"(?m)^fc1 ", result.out)), 1)
        for words in ("multiply-adds", "matrix product", "memory triad", "mlp:784-128-64-10", "samples/s"):
            self.assertIn(words, result.out)
        self.assertEqual(os.stat(os.path.dirname(self.device)).st_mode & 0o777, 0o700)

    def test_bench_of_other_images(self):
        self.shoal("bench", "--models", "lenet", "--resize", "20", "--seconds", "0.05", "--lanes", "1", "--quiet", "--json",
                   "bench.json", env=self.env)
        self.assertEqual(self.load("bench.json")["models"][0]["layers"][0]["result"], "20x16x16")
        result = self.shoal("bench", "--models", "lenet", "--resize", "4", status=1, env=self.env)
        self.assertIn("shoal: ", result.err)

    def test_bench_keeps_what_it_knew_of_others(self):
        self.bench("--quiet")
        with open(self.device, encoding="utf-8") as file:
            before = json.load(file)
        self.shoal("bench", "--models", "mlp:784-16-10", "--seconds", "0.05", "--lanes", "1", "--quiet",
                   env=self.env)
        with open(self.device, encoding="utf-8") as file:
            after = json.load(file)
        kinds = {tuple(operation[:3]) for operation in before["operations"]}
        self.assertEqual(kinds - {tuple(operation[:3]) for operation in after["operations"]}, set())
        self.assertGreater(len(after["operations"]), len(before["operations"]))

    def test_bench_refuses(self):
        for models, status, message in (
                ("flounder", 2, "--models: unknown model 'flounder'; known are: "),
                ("lenet,,mlp", 2, "--models: expected names with commas between them"),
                ("lenet,mlp:7", 1, "model mlp:7: "),
        ):
            result = self.shoal("bench", "--models", models, status=status, env=self.env)
            self.assertIn("shoal: " + message, result.err)
            self.assertFalse(os.path.exists(self.device))
        result = self.shoal("bench", "--seconds", "0", status=2, env=self.env)
        self.assertIn("--seconds 0: must be more than 0 and at most 3600", result.err)

    def test_without_a_cache_the_figures_are_only_shown(self):
        result = self.shoal(*QUICK, "--json", "bench.json", env={"XDG_CACHE_HOME": "/proc/nowhere"},
                            timeout=120)
        self.assertIn("the figures are not saved: ", result.err)
        self.assertEqual(self.load("bench.json")["file"], "")

    def test_a_plan_has_all_but_times_before_the_device_is_measured(self):
        result = self.plan(*JOB)
        plan = result.plan
        self.assertIn("no times: this device has not been measured; run shoal bench", result.err)
        self.assertFalse(plan["timed"])
        weights = 784 * 16 + 16 + 16 * 10 + 10
        self.assertEqual(plan["parameters"], weights)
        self.assertEqual(plan["samples"], 310)
        self.assertEqual([layer["name"] for layer in plan["layers"]], ["input", "fc1", "fc2", "loss"])
        self.assertEqual(sum(layer["parameters"] for layer in plan["layers"]), weights)
        self.assertAlmostEqual(plan["layers"][1]["forward_flops"] / (2 * 7 * 784 * 16), 1, delta=0.01)
        self.assertIsNone(plan["layers"][1]["seconds"])
        own = plan["grains"][0]
        self.assertEqual((own["grain"], own["grains"]), (7, 8))
        self.assertEqual(own["weights_bytes"], 4 * weights)
        self.assertEqual(own["sum_bytes"], 4 * weights)
        self.assertEqual(own["optimizer_bytes"], 4 * weights)
        self.assertGreaterEqual(own["input_bytes"], 4 * 7 * 784)
        self.assertEqual(own["total_bytes"], own["base_bytes"] + 12 * weights + own["prepared_bytes"] +
                         plan["lanes"] * (own["activations_bytes"] + own["input_bytes"]))
        self.assertIsNone(own["step_seconds"])
        self.assertEqual([row["grain"] for row in plan["grains"]], [7, 4, 8, 16, 32])
        for wire in (16, 8):
            other = self.plan(*JOB, "--wire", str(wire)).plan["grains"][0]
            self.assertEqual(other["sum_bytes"], weights * wire // 8)
            self.assertEqual(other["total_bytes"] - other["base_bytes"], own["total_bytes"] - own["base_bytes"] -
                             weights * (4 - wire // 8))
        for words in ("fc1", "12,560", "MFLOP forward", "step ms"):
            self.assertIn(words, result.out)

    def test_a_plan_has_times_afterwards(self):
        self.bench("--quiet")
        result = self.plan(*JOB, "--lanes", "1")
        plan, own = result.plan, result.plan["grains"][0]
        self.assertEqual(result.err, "")
        self.assertTrue(plan["timed"])
        parts = sum(own[name] for name in ("compute_seconds", "prepare_seconds", "optimizer_seconds",
                                           "other_seconds"))
        self.assertAlmostEqual(own["step_seconds"], parts)
        self.assertGreater(own["compute_seconds"], 50 * plan["read_seconds"])
        self.assertGreater(own["epoch_seconds"], 6 * own["step_seconds"])
        self.assertLess(own["epoch_seconds"], 7 * own["step_seconds"])
        self.assertTrue(all(layer["seconds"] >= 0 for layer in plan["layers"]))
        self.assertRegex(result.out, r"(?m)^step +\d+\.\d\d ms: ")
        alone = self.plan(*JOB, "--lanes", "1", "--grain", "50").plan["grains"][0]
        self.assertEqual((alone["grain"], alone["grains"]), (50, 1))
        large = self.plan("lenet", "digits:310/90", "--resize", "32").plan
        self.assertEqual(large["layers"][1]["shape"], "1250")  # 50 x 5 x 5
        two = self.plan(*JOB, "--lanes", "2").plan["grains"][0]
        self.assertLess(two["compute_seconds"], 0.8 * own["compute_seconds"])

    def test_a_plan_on_several_devices(self):
        plan = self.plan(*JOB, "--on", "4x 10gflops@100mbit, 2x 1gflops@1kbit").plan
        points = plan["points"]
        self.assertEqual([point["devices"] for point in points], [1, 2, 3, 4, 5, 6])
        self.assertEqual(points[0]["exchange_seconds"], 0)
        flops = sum(layer["forward_flops"] + layer["backward_flops"] for layer in plan["layers"]) / 7
        self.assertAlmostEqual(points[0]["compute_seconds"] / (8 * 7 * flops / 10e9), 1, delta=1e-6)
        self.assertEqual(plan["best_devices"], min(points, key=lambda point: point["step_seconds"])["devices"])
        self.assertEqual([point["added"] for point in points],
                         ["10gflops, 100 Mbit/s"] * 4 + ["1gflops, 0.001 Mbit/s"] * 2)
        self.assertEqual([point["binds"] for point in points[4:]],
                         ["the link of 1gflops, 0.001 Mbit/s; %d without grains" % idle for idle in (1, 2)])
        ways = [way for way in plan["ways"] if way["strategy"] is None]
        self.assertNotIn((50, 7, 32), [(way["batch_size"], way["grain"], way["wire"]) for way in ways])
        rates = [way["samples_per_second"] for way in ways]
        self.assertEqual(rates, sorted(rates, reverse=True))
        for way in ways:
            self.assertAlmostEqual(way["samples_per_second"] * way["step_seconds"] / way["batch_size"], 1, delta=1e-9)
        self.assertEqual({way["batch_size"] for way in ways}, {50, 100, 200})  # 400 are more than there are
        self.assertEqual(len(ways), 9 * len(plan["grains"]) - 1)
        # Of local:4 and local:16, only four batches fit into an epoch. Ten workers with five samples each.
        local, = (way for way in plan["ways"] if way["workers"] > 0)
        self.assertEqual((local["strategy"], local["workers"], local["grain"], local["batch_size"]), ("local:4", 10, 4, 50))
        self.assertAlmostEqual(local["samples_per_second"] * local["step_seconds"] / 200, 1, delta=1e-9)
        # One worker of ten on each of ten equal devices: four local steps of five samples, then an exchange of all weights.
        flat = self.plan(*JOB, "--on", "10x 0.001gflops@10mbit").plan
        local, = (way for way in flat["ways"] if way["workers"] > 0)
        compute, sent = 4 * 5 * flops / 1e6, 2 * 0.9 * 12730 * 4
        self.assertEqual(local["devices"], 10)
        self.assertAlmostEqual(local["step_seconds"] / (compute + 0.75 * (sent / 1.25e6 + 18 * 0.5e-3 / 2)), 1, delta=0.01)
        # Behind links with long round trips, servers need fewer hops.
        far = [{"name": "a%d" % i, "flops_per_second": 1e6, "in_bytes_per_second": 1e8, "out_bytes_per_second": 1e8,
                "delay_seconds": 0.1} for i in range(6)]
        with open(self.path("far.json"), "w", encoding="utf-8") as file:
            json.dump({"format": "shoal.devices", "version": 1, "devices": far}, file)
        result = self.plan(*JOB, "--on", self.path("far.json"))
        ring = result.plan["points"][result.plan["best_devices"] - 1]
        served, = (way for way in result.plan["ways"] if way["strategy"] == "ps-sync")
        self.assertLess(served["step_seconds"], ring["step_seconds"])
        self.assertRegex(result.out, r"(?m)^faster +--strategy ps-sync --grain 7: .* \(the same weights\)$")
        # Where the exchange takes most of a step, a step of twice the samples takes less than twice as long.
        result = self.plan(*JOB, "--on", "2x 10gflops@1mbit")
        least = {size: min(way["step_seconds"] for way in result.plan["ways"] if way["batch_size"] == size)
                 for size in (50, 100)}
        self.assertLess(least[100], 2 * least[50])
        self.assertRegex(result.out, r"(?m)^ +shoal train mlp:784-16-10 digits:310/90 .*--listen :7700, with your other")
        # Computing takes seconds, the exchange next to nothing: eight devices for eight grains, and the ninth is idle.
        result = self.plan(*JOB, "--on", "9x 0.001gflops@1gbit")
        self.assertEqual(result.plan["best_devices"], 8)
        self.assertEqual(result.plan["points"][8]["binds"], "computing; 1 without grains")
        self.assertRegex(result.out, r"(?m)^fastest +8 devices, .* ms a step: \d\.\d\d times one device; 1 on standby$")

    def test_a_plan_for_energy_or_a_deadline(self):
        """Computing takes all the time: devices of 2 W need the least energy, and as much with all four as with one, so all are
        taken, which is faster; in less time, others do."""
        devices = ("--on", "4x 0.01gflops/20w, 4x 0.002gflops/2w")
        least = self.plan(*JOB, *devices, "--energy").plan
        self.assertEqual(least["choice"]["which"], "4x 0.002gflops")
        self.assertAlmostEqual(least["choice"]["step_joules"], 8 * least["choice"]["step_seconds"], places=6)
        fastest = min(point["step_seconds"] for point in least["points"])
        steps = least["steps"]
        for seconds in (1.01 * fastest, 2.5 * fastest):
            result = self.plan(*JOB, *devices, "--energy", "--deadline", "%.3fs" % (steps * seconds))
            choice = result.plan["choice"]
            self.assertLessEqual(choice["step_seconds"], seconds)
            self.assertGreater(choice["step_joules"], least["choice"]["step_joules"])
            few = self.plan(*JOB, *devices, "--deadline", "%.3fs" % (steps * seconds)).plan["choice"]
            self.assertLessEqual(few["devices"], choice["devices"])
            self.assertLessEqual(few["step_seconds"], seconds)
            self.assertRegex(result.out, r"(?m)^energy +\d+x .*: .* ms a step, [\d,]+ steps in .* J a step, .* kJ in all$")
        late = self.plan(*JOB, *devices, "--deadline", "%.3fs" % (steps * 0.9 * fastest))
        self.assertIsNone(late.plan["choice"])
        self.assertIn("no devices finish", late.out)
        for arguments, message in ((("--energy",), "--energy: name the devices with --on"),
                                   (("--on", "this, 2gflops/3w", "--energy"), "measured"),
                                   (("--on", "2gflops", "--energy"), "the power of '2gflops' is unknown"),
                                   (("--on", "pi4", "--deadline", "soon"), "--deadline soon: expected a time such as 90s")):
            self.assertIn(message, self.shoal("plan", *JOB, *arguments, status=1, env=self.env).err)

    def test_a_plan_on_this_device(self):
        result = self.shoal("plan", *JOB, "--on", "this", status=1, env=self.env)
        self.assertIn("--on this: this device has not been measured; run shoal bench", result.err)
        self.bench("--quiet")
        plan = self.plan(*JOB, "--lanes", "1", "--on", "this").plan
        self.assertAlmostEqual(plan["points"][0]["step_seconds"] / plan["grains"][0]["step_seconds"], 1, delta=1e-6)
        for on, message in (("pi6", "--on: unknown device 'pi6'; did you mean 'pi4'?"), ("pi4@fast", "--on: link 'fast'")):
            result = self.shoal("plan", *JOB, "--on", on, status=1, env=self.env)
            self.assertIn(message, result.err)
        result = self.shoal("plan", *JOB, "--strategy", "ps-async", "--on", "2xpi4", status=1, env=self.env)
        self.assertIn("with --strategy ps-async devices do not compute steps together", result.err)

    def test_what_is_frozen_is_neither_summed_nor_updated(self):
        self.bench("--quiet")
        job = (*JOB, "--lanes", "1")
        free, held = self.plan(*job).plan, self.plan(*job, "--freeze", "fc1.*").plan
        trained = 16 * 10 + 10
        before, after = free["grains"][0], held["grains"][0]
        self.assertEqual(held["parameters"], free["parameters"])
        self.assertEqual(after["weights_bytes"], before["weights_bytes"])
        self.assertEqual(after["sum_bytes"], 4 * trained)
        self.assertEqual(after["optimizer_bytes"], 4 * trained)
        self.assertLess(after["optimizer_seconds"], 0.2 * before["optimizer_seconds"])
        # Reading is timed anew by each plan.
        free_s, held_s = (plan["grains"][0]["compute_seconds"] - 50 * plan["read_seconds"] for plan in (free, held))
        self.assertLess(held_s, 0.8 * free_s)
        first, second = (plan["layers"][1]["backward_flops"] for plan in (free, held))
        self.assertGreater(first, 0)
        self.assertEqual(second, 0)
        result = self.shoal("plan", *JOB, "--freeze", "*", status=1, env=self.env)
        self.assertIn("--freeze * leaves nothing to train", result.err)

    @harness.not_for_sanitizers("a sanitizer's own memory is in the process")
    def test_a_limit_of_memory_costs_what_is_computed_again(self):
        self.bench("--quiet")
        job = ("resnet:20", "noise:3x32x32/10/64/16", "--batch-size", "32", "--grain", "32", "--lanes", "1")
        free = self.plan(*job).plan
        own = free["grains"][0]
        limit = own["total_bytes"] - own["activations_bytes"] // 4
        result = self.plan(*job, "--memory", str(limit))
        tight = result.plan["grains"][0]
        self.assertIn("computed again in", result.out)
        self.assertLess(tight["activations_bytes"], own["activations_bytes"])
        self.assertGreater(tight["compute_seconds"], 1.05 * own["compute_seconds"])
        self.assertGreater(sum(layer["backward_flops"] for layer in result.plan["layers"]),
                           1.05 * sum(layer["backward_flops"] for layer in free["layers"]))
        other, as_free = (plan["grains"][1]["compute_seconds"] for plan in (result.plan, free))
        self.assertAlmostEqual(other / as_free, 1, delta=0.05)  # reading is measured each time

    def test_figures_that_are_no_good_are_told(self):
        self.bench("--quiet")
        with open(self.device, encoding="utf-8") as file:
            good = file.read()
        other = "abacus"
        for text, message in (
                (good[:100], "device.json: is damaged at byte"),
                (good.replace('"version":2', '"version":3'),
                 "device.json: was written by another version of shoal; run shoal bench again"),
                (good.replace('"triad"', '"tried"'), 'device.json: "rates" has no valid "triad"'),
                (re.sub('"variant":"[a-z0-9]+"', '"variant":"%s"' % other, good),
                 "no times: this device was measured with the variant " + other),
        ):
            with open(self.device, "w", encoding="utf-8") as file:
                file.write(text)
            result = self.plan(*JOB)
            self.assertIn(message, result.err)
            self.assertFalse(result.plan["timed"])

    def test_plan_refuses(self):
        for arguments, message in (
                (("lenet", "mnist:nowhere"), "nowhere"),
                (("mlp:7-10", "digits"), "model mlp:7-10: "),
        ):
            self.assertIn(message, self.shoal("plan", *arguments, status=1, env=self.env).err)
        self.assertIn("unknown model 'flounder'", self.shoal("plan", "flounder", "digits", status=2).err)
        result = self.shoal("plan", "lenet", "digits", "--batch-size", "4", "--grain", "8", status=2)
        self.assertIn("--grain 8: larger than the batch of 4", result.err)

    def test_a_training_says_where_its_time_went(self):
        result = self.shoal("train", *JOB, "--steps", "5", "--quiet", "--lanes", "1",
                            env={"SHOAL_PROFILE": "1"})
        lines = result.err.splitlines()
        self.assertIn("profile     5 steps, ", result.err)
        shares = [float(share) for share in re.findall(r"(?m) ([\d.]+) %", result.err)[:-1]]
        self.assertAlmostEqual(sum(shares), 100, delta=0.1 * len(shares))
        for name in ("linear_grad_weight", "exact sum", "reading samples", "optimizer", "rest"):
            self.assertRegex(result.err, r"(?m)^%s +\d*" % name)
        self.assertRegex(lines[-1], r"^next bottleneck: [a-z_ ]+, \d+ % of the step")
        nodes = self.shoal("train", *JOB, "--steps", "5", "--quiet", "--lanes", "1", "--run", "again",
                           env={"SHOAL_PROFILE": "2"})
        self.assertRegex(nodes.err, r"(?m)^linear node \d+: 7x784, 16x784, 16 -> 7x16 \([a-z]+\) ")
        for off in ("", "0"):
            silent = self.shoal("train", *JOB, "--steps", "2", "--quiet", "--run", "off" + off,
                                env={"SHOAL_PROFILE": off})
            self.assertEqual(silent.err, "")
        refused = self.shoal("train", *JOB, "--quiet", status=1, env={"SHOAL_PROFILE": "yes"})
        self.assertIn("SHOAL_PROFILE: must be 0, 1 (operators) or 2 (also each node)", refused.err)


if __name__ == "__main__":
    harness.main()
