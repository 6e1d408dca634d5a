#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ResNet-20 on CIFAR-10 in ten epochs: one-cycle learning rate (Smith, Topin 2017), Nesterov momentum, crops and
# mirror images. What it reaches, beside the same recipe in PyTorch: bench/README.md.
#
#     examples/resnet20-cifar10.sh DIR [options of shoal train]
#
# DIR holds the binary version of CIFAR-10. Other devices may join with --listen :7700; they do not change the result.
set -euo pipefail

if [ $# -lt 1 ]; then
    echo "usage: $0 DIR [options of shoal train]" >&2
    exit 2
fi
data=$1
shift
exec "${SHOAL:-shoal}" train resnet:20 "cifar10:$data" --epochs 10 --batch-size 128 --grain 32 --lr 0.4 \
    --nesterov --weight-decay 5e-4 --schedule one-cycle --augment crop,flip "$@"
