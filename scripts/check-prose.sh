#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Documents, and comments of the folders below, have none of the phrases of scripts/prose.txt; proselint, where it is
# installed, finds nothing in the documents.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$root"

folders=(src/base/ src/data/photos/ src/data/table/ src/data/sound/ src/data/array/ src/data/augment/ src/data/series/ src/tensor/ src/graph/ src/gpu/ src/model/
    src/monitor/ src/net/ src/store/ src/onnx/ src/plan/ src/sweep/ src/train/ src/reduce/ src/cluster/ src/node/ src/backend/gpu/ test/ bench/ fuzz/ examples/)

python3 -B scripts/prose.py --folders "${folders[@]}" || {
    say "prose (above): say it in plain English; scripts/prose.txt has the phrases"
    exit 1
}
