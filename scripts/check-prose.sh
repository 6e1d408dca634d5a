#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Documents and comments have none of the phrases of scripts/prose.txt; proselint, where it is
# installed, finds nothing in the documents.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$root"

python3 -B scripts/prose.py || {
    say "prose (above): say it in plain English; scripts/prose.txt has the phrases"
    exit 1
}
