# SPDX-License-Identifier: Apache-2.0
"""What the peers reach on people's own data: for bench/own_data.py. Prints one line of JSON.

    python3 bench/own_data_peers.py photos DIR --seed 1 --lr 0.1       torch and torchvision
    python3 bench/own_data_peers.py table PLACE --seed 1 --hidden 64   scikit-learn
    python3 bench/own_data_peers.py decode DIR --workers 2             torchvision

PLACE.train.csv and PLACE.val.csv are numbers, the target last.
"""

import argparse
import json
import math
import os
import sys
import time

import numpy

SIDE = 64
THREADS = len(os.sched_getaffinity(0))


def photos(options):
    """Accuracy after the last epoch; the photos are decoded and resized once."""
    import torch
    from torch import nn
    from torchvision import datasets, transforms
    from resnet20_recipe_pytorch import Resnet
    torch.manual_seed(options.seed)
    torch.set_num_threads(THREADS)
    fit = transforms.Compose([transforms.Resize(SIDE), transforms.CenterCrop(SIDE), transforms.PILToTensor()])
    sets = {part: datasets.ImageFolder(os.path.join(options.data, part), fit) for part in ("train", "val")}
    images = {part: torch.stack([image for image, _ in sets[part]]) for part in sets}
    labels = {part: torch.tensor(sets[part].targets) for part in sets}
    values = images["train"].float() / 255
    normal = transforms.Normalize(values.mean((0, 2, 3)), values.std((0, 2, 3), unbiased=False))
    vary = transforms.Compose([transforms.RandomCrop(SIDE, 8), transforms.RandomHorizontalFlip()])
    network = Resnet(20, len(sets["train"].classes))
    count = len(labels["train"])
    steps = math.ceil(count / options.batch_size)
    optimizer = torch.optim.SGD(network.parameters(), options.lr, 0.9, nesterov=True, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.lr, options.epochs * steps,
                                                   cycle_momentum=False)
    for _ in range(options.epochs):
        order = torch.randperm(count)
        for first in range(0, count, options.batch_size):
            chosen = order[first:first + options.batch_size]
            batch = torch.stack([normal(vary(images["train"][i]).float() / 255) for i in chosen])
            loss = nn.functional.cross_entropy(network(batch), labels["train"][chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    network.eval()
    with torch.no_grad():
        answers = network(normal(images["val"].float() / 255)).argmax(1)
    return {"accuracy": float((answers == labels["val"]).float().mean())}


def table(options):
    """Inputs, and the target of a regression, are standardised by the training rows."""
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    parts = [numpy.loadtxt("%s.%s.csv" % (options.data, part), delimiter=",") for part in ("train", "val")]
    (x, y), (val_x, val_y) = [(part[:, :-1], part[:, -1]) for part in parts]
    mean, deviation = x.mean(0), x.std(0)
    x, val_x = (x - mean) / deviation, (val_x - mean) / deviation
    settings = {"hidden_layer_sizes": options.hidden, "solver": "adam", "learning_rate_init": options.lr,
                "alpha": 0.0, "batch_size": min(options.batch_size, len(y)), "max_iter": options.epochs,
                "n_iter_no_change": options.epochs, "tol": 0.0, "random_state": options.seed}
    if options.regression:
        mean, deviation = y.mean(), y.std()
        model = MLPRegressor(**settings).fit(x, (y - mean) / deviation)
        return {"mae": float(numpy.abs(model.predict(val_x) * deviation + mean - val_y).mean())}
    return {"accuracy": float((MLPClassifier(**settings).fit(x, y).predict(val_x) == val_y).mean())}


def decode(options):
    """All photos once; neither the imports nor the search for files count."""
    import torch
    from torchvision import datasets, transforms
    fit = transforms.Compose([transforms.Resize(SIDE), transforms.CenterCrop(SIDE), transforms.PILToTensor()])
    data, seen = datasets.ImageFolder(options.data, fit), 0
    began = time.perf_counter()
    for images, _ in torch.utils.data.DataLoader(data, 32, num_workers=options.workers):
        seen += len(images)
    return {"images_per_second": seen / (time.perf_counter() - began), "images": seen}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("photos", "table", "decode"))
    parser.add_argument("data")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--hidden", type=int, nargs="+", default=[64])
    parser.add_argument("--regression", action="store_true")
    parser.add_argument("--workers", type=int, default=THREADS)
    options = parser.parse_args()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    print(json.dumps({"photos": photos, "table": table, "decode": decode}[options.what](options)))


if __name__ == "__main__":
    main()
