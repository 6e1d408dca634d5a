#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# From a bare Debian to a trained network: installs what is missing, builds a release, trains on
# built-in data with three devices (three processes here), and again with one, and compares the weights.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$root"
[ $# -eq 0 ] || die "takes no arguments; 'build/release/shoal train --help' has the options of a training"

scripts/install-dependencies.sh build

say "Building a release in build/release"
mkdir -p build
if ! { cmake --preset release && cmake --build --preset release --parallel "$(job_count)"; } \
    >build/quickstart.log 2>&1; then
    tail -n 40 build/quickstart.log >&2
    die "the build failed (above, and all of it in build/quickstart.log)"
fi
shoal=build/release/shoal
[ -x $shoal ] || die "this tree has no program yet (src/cli/main.c); its library is in build/release"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
job=(train lenet digits --epochs 2 --batch-size 64 --seed 1)

# The value of a plain key of the summary: text without quotes, numbers as they stand.
value() {
    sed -n "s/.*\"$2\"[[:space:]]*:[[:space:]]*\"\{0,1\}\([^\",}]*\).*/\1/p" "$1" | head -n 1
}
train() {
    local devices=$1
    say ""
    say "\$ shoal ${job[*]} --devices $devices"
    $shoal "${job[@]}" --devices "$devices" --run "$work/run-$devices" --json "$work/$devices.json" ||
        die "the training with $devices device(s) failed (above)"
    [ -n "$(value "$work/$devices.json" weights_hash)" ] ||
        die "the summary of the training with $devices device(s) has no weights_hash"
}
train 3
train 1

three=$(value "$work/3.json" weights_hash)
one=$(value "$work/1.json" weights_hash)
say ""
say "devices   accuracy   seconds   hash of the weights"
for devices in 3 1; do
    printf '%-9s %-10.4f %-9.1f %s\n' $devices "$(value "$work/$devices.json" val_accuracy)" \
        "$(value "$work/$devices.json" train_seconds)" "$(value "$work/$devices.json" weights_hash)"
done
if [ "$three" != "$one" ]; then
    say ""
    die "three devices and one arrived at different weights: this must never happen, please report it"
fi
say ""
say "One device alone gives the same weights, bit for bit."
say "Next: '$shoal train lenet digits --listen :7700' here, and 'shoal join TOKEN' on another device."
