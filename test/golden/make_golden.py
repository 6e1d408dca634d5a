#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes golden.json: what PyTorch computes in the first steps of small jobs, for src/train/golden_test.c.

    apt-get install python3-torch        # or: pip install torch numpy
    /usr/bin/python3 test/golden/make_golden.py

Data and initial weights are made here a second time, by the rules that src/base/random.h,
src/model/model.c and golden_test.c state, so that both sides begin with the same bits; the file has
SHA-256 sums of them. Model, loss, backward, optimizers, schedulers and clipping are PyTorch's own. Each job runs in float32 and
again in float64: what lies between the two is what rounding alone can do to it, and is printed.
"""

import hashlib
import json
import pathlib
import re

import numpy
import torch
import torch.nn.functional as F

SEED = 0x5EA000000B1  # of the job; both halves of the key are in use
DATA_SEED = 0xDA7A
TRAIN, VALIDATION = 64, 20
STEPS = 10
LR, MOMENTUM = 0.02, 0.9
JOBS = [  # model, weight decay
    ("lenet", 0.0),
    ("lenet", 1e-3),
    ("mlp:784-128-64-10", 0.0),
    ("mlp:784-128-64-10", 1e-3),
]
RECIPES = [  # name, what of the job is not as it is by default; on SMALL, all with momentum or without
    ("nesterov", {"momentum": 0.9, "nesterov": True, "weight_decay": 1e-2}),
    ("adam", {"optimizer": "adam", "lr": 1e-3, "weight_decay": 1e-2}),
    ("adamw", {"optimizer": "adamw", "lr": 2e-3, "beta1": 0.8, "beta2": 0.99, "weight_decay": 0.5}),
    ("rmsprop", {"optimizer": "rmsprop", "lr": 1e-3, "epsilon": 1e-3}),
    ("rmsprop with momentum", {"optimizer": "rmsprop", "lr": 5e-4, "alpha": 0.9, "epsilon": 1e-3,
                               "momentum": 0.5, "weight_decay": 1e-2}),
    ("step", {"momentum": 0.9, "schedule": "step:3,0.5"}),
    ("multistep", {"momentum": 0.9, "schedule": "multistep:2/5,0.3"}),
    ("cosine", {"momentum": 0.9, "schedule": "cosine:0.05"}),
    ("one-cycle", {"lr": 0.1, "momentum": 0.5, "schedule": "one-cycle:0.4,10,1e3"}),
    ("exponential", {"momentum": 0.9, "schedule": "exponential:0.8,4"}),
    ("warm-up", {"momentum": 0.9, "warmup": 5.0}),
    ("clipping", {"momentum": 0.9, "clip_norm": 0.25}),
]
SMALL = "mlp:784-32-10"
PLAIN = {"optimizer": "sgd", "lr": LR, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0,
         "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "alpha": 0.99, "schedule": "constant",
         "warmup": 0.0, "clip_norm": 0.0}
PURPOSE_INITIAL, PURPOSE_TEST = 2, 4  # sh_random_purpose


def philox(seed, purpose, a, b, count):
    """The first `count` 32-bit numbers of sh_random_for(seed, purpose, a, b): Philox4x32-10."""
    blocks = (count + 3) // 4
    low = numpy.uint64(0xFFFFFFFF)
    half = numpy.uint64(32)
    c0 = numpy.arange(blocks, dtype=numpy.uint64)
    c1, c2, c3 = (numpy.full(blocks, word, dtype=numpy.uint64) for word in (purpose, a, b))
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0 = c0 * numpy.uint64(0xD2511F53)
        p1 = c2 * numpy.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (
            (p1 >> half) ^ c1 ^ numpy.uint64(k0),
            p1 & low,
            (p0 >> half) ^ c3 ^ numpy.uint64(k1),
            p0 & low,
        )
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return numpy.stack([c0, c1, c2, c3], axis=1).reshape(-1)[:count].astype(numpy.uint32)


def make_data(split, count):
    """Images with noise below 64, and a row and a column that tell the class and are 192 brighter."""
    labels = numpy.arange(count, dtype=numpy.uint8) % 10
    images = numpy.empty((count, 28, 28), dtype=numpy.uint8)
    for i in range(count):
        noise = philox(DATA_SEED, PURPOSE_TEST, i, split, 28 * 28) >> numpy.uint32(26)
        image = noise.reshape(28, 28).astype(numpy.uint8)
        row, column = 4 + 2 * int(labels[i]), 4 + 2 * (int(labels[i]) * 7 % 10)
        bright = numpy.zeros((28, 28), dtype=numpy.uint8)
        bright[row, :] = 192
        bright[:, column] = 192
        images[i] = image + bright
    return images, labels


class Lenet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 20, 5)
        self.conv2 = torch.nn.Conv2d(20, 50, 5)
        self.fc1 = torch.nn.Linear(800, 500)
        self.fc2 = torch.nn.Linear(500, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Mlp(torch.nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.layers = len(widths) - 1
        for i in range(self.layers):
            self.add_module(f"fc{i + 1}", torch.nn.Linear(widths[i], widths[i + 1]))

    def forward(self, x):
        x = x.flatten(1)
        for i in range(self.layers):
            x = getattr(self, f"fc{i + 1}")(x)
            if i + 1 < self.layers:
                x = F.relu(x)
        return x


def initial_weights(model):
    """As sh_model_initialise: uniform within 1/sqrt(fan-in) of the layer, in float32."""
    weights, fan_in = [], 0
    for index, (name, tensor) in enumerate(model.named_parameters()):
        if name.endswith(".weight"):
            fan_in = tensor[0].numel()
        bound = numpy.float32(1) / numpy.sqrt(numpy.float32(fan_in))
        words = philox(SEED, PURPOSE_INITIAL, index, 0, tensor.numel())
        unit = (words >> numpy.uint32(8)).astype(numpy.float32) * numpy.float32(2.0**-24)
        weights.append((numpy.float32(2) * unit - numpy.float32(1)) * bound)
        assert weights[-1].dtype == numpy.float32
    return weights


def hash_weights(model, weights):
    """As sh_replica_hash."""
    digest = hashlib.sha256()
    for (name, tensor), values in zip(model.named_parameters(), weights):
        shape = "x".join(str(n) for n in tensor.shape)
        digest.update(f"{name} {shape}\n".encode())
        digest.update(values.astype("<f4").tobytes())
    return digest.hexdigest()


def load(images, labels, dtype):
    pixels = torch.from_numpy(images).to(dtype).div(255).sub(0.1307).div(0.3081)
    return pixels.unsqueeze(1), torch.from_numpy(labels).long()


def make_optimizer(parameters, job):
    of_all = {"lr": job["lr"], "weight_decay": job["weight_decay"]}
    of_adam = {"betas": (job["beta1"], job["beta2"]), "eps": job["epsilon"]}
    if job["optimizer"] == "adam":
        return torch.optim.Adam(parameters, **of_all, **of_adam)
    if job["optimizer"] == "adamw":
        return torch.optim.AdamW(parameters, **of_all, **of_adam)
    if job["optimizer"] == "rmsprop":
        return torch.optim.RMSprop(parameters, **of_all, alpha=job["alpha"], eps=job["epsilon"],
                                   momentum=job["momentum"])
    return torch.optim.SGD(parameters, **of_all, momentum=job["momentum"], nesterov=job["nesterov"])


def make_scheduler(optimizer, job):
    """The batch is the whole training split, so a step is an epoch."""
    name, _, text = job["schedule"].partition(":")
    schedulers = torch.optim.lr_scheduler
    numbers = [float(x) for x in text.split(",") if "/" not in x] if text else []
    if name == "step":
        return schedulers.StepLR(optimizer, int(numbers[0]), numbers[1])
    if name == "multistep":
        milestones = [int(x) for x in text.split(",")[0].split("/")]
        return schedulers.MultiStepLR(optimizer, milestones, numbers[0])
    if name == "cosine":
        return schedulers.CosineAnnealingLR(optimizer, STEPS, eta_min=numbers[0] * job["lr"])
    if name == "one-cycle":
        return schedulers.OneCycleLR(optimizer, job["lr"], total_steps=STEPS, pct_start=numbers[0],
                                     div_factor=numbers[1], final_div_factor=numbers[2],
                                     cycle_momentum=False)
    if name == "exponential":  # PyTorch's begins after the first epoch; this one after numbers[1]
        return schedulers.LambdaLR(optimizer, lambda s: numbers[0] ** max(0, s + 1 - numbers[1]))
    warm = max(1.0, job["warmup"])
    return schedulers.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / warm))


def train(model, weights, job, dtype, data):
    """The losses of STEPS steps, each before its update; the validation loss; sums over tensors."""
    model.to(dtype)
    with torch.no_grad():
        for tensor, values in zip(model.parameters(), weights):
            tensor.copy_(torch.from_numpy(values).to(dtype).view_as(tensor))
    optimizer = make_optimizer(model.parameters(), job)
    scheduler = make_scheduler(optimizer, job)
    pixels, labels = load(*data[0], dtype)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(pixels), labels)
        loss.backward()
        if job["clip_norm"] > 0:
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), job["clip_norm"])
            assert norm > job["clip_norm"]
        optimizer.step()
        if step + 1 < STEPS:
            scheduler.step()
        losses.append(loss.item())
    pixels, labels = load(*data[1], dtype)
    with torch.no_grad():
        validation = F.cross_entropy(model(pixels), labels).item()
    tensors = []
    for tensor, values in zip(model.parameters(), weights):
        last = tensor.detach().double().numpy().reshape(-1)
        moved = last - values.astype(numpy.float64)
        tensors.append([float(x) for x in (last.sum(), (last**2).sum(), (moved**2).sum())])
    return losses, validation, tensors


def tell_distance(title, narrow, wide, sizes):
    """How far float32 is from float64, in the measures of golden_test.c."""
    def relative(a, b):
        return abs(a - b) / abs(b)

    loss = max(relative(a, b) for a, b in zip(narrow[0] + [narrow[1]], wide[0] + [wide[1]]))
    pairs = list(zip(narrow[2], wide[2], sizes))
    mean = max(abs(a[0] - b[0]) / (n * b[1]) ** 0.5 for a, b, n in pairs)
    squares = max(relative(a[1], b[1]) for a, b, _ in pairs)
    moved = max(relative(a[2], b[2]) for a, b, _ in pairs)
    print(f"{title}: losses {wide[0][0]:.4f} .. {wide[0][-1]:.4f}, validation {wide[1]:.4f}")
    print(f"  float32 to float64: loss {loss:.1e}, sum {mean:.1e}, squares {squares:.1e}, "
          f"moved {moved:.1e}")


def describe(run):
    losses, validation, tensors = run
    return {"losses": losses, "validation_loss": validation, "sums": tensors}


def make_job(model_name, job, data):
    """What the test compares of one job; sums are of w, w^2 and (w - w0)^2, by tensor."""
    model = (Lenet() if model_name == "lenet" else
             Mlp([int(n) for n in model_name.split(":")[1].split("-")]))
    weights = initial_weights(model)
    runs = [train(model, weights, job, dtype, data) for dtype in (torch.float32, torch.float64)]
    tell_distance(model_name + str({k: v for k, v in job.items() if v != PLAIN[k]}), *runs,
                  [values.size for values in weights])
    return {
        "initial_hash": hash_weights(model, weights),
        "tensors": [  # with the first, the second and the last weight
            {"name": name, "elements": values.size, "ends": [float(values[i]) for i in (0, 1, -1)]}
            for (name, _), values in zip(model.named_parameters(), weights)
        ],
        "float32": describe(runs[0]),
        "float64": describe(runs[1]),
    }


def make_plain(model_name, decay, data):
    job = {**PLAIN, "momentum": MOMENTUM, "weight_decay": decay}
    return {"model": model_name, "weight_decay": decay, **make_job(model_name, job, data)}


def make_recipe(name, changes, data):
    job = {**PLAIN, **changes}
    return {"name": name, "model": SMALL, **job, **make_job(SMALL, job, data)}


def main():
    torch.set_num_threads(1)
    data = [make_data(0, TRAIN), make_data(1, VALIDATION)]
    golden = {
        "license": "Apache-2.0",
        "made_by": f"make_golden.py with PyTorch {torch.__version__}",
        "seed": SEED,
        "data_seed": DATA_SEED,
        "samples": [TRAIN, VALIDATION],
        "data_hashes": [hashlib.sha256(i.tobytes() + l.tobytes()).hexdigest() for i, l in data],
        "lr": LR,
        "momentum": MOMENTUM,
        "jobs": [make_plain(model, decay, data) for model, decay in JOBS],
        "recipes": [make_recipe(name, changes, data) for name, changes in RECIPES],
    }
    text = json.dumps(golden, indent=1)
    text = re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text)  # one line
    pathlib.Path(__file__).with_name("golden.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
