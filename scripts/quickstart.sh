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

# Where the trainings stay, to be looked at; begun anew each time.
work=build/quickstart
rm -rf $work
mkdir -p $work
job=(train lenet digits --epochs 2 --batch-size 64 --seed 1)

# The value of a plain key of the summary: text without quotes, numbers as they stand.
value() {
    sed -n "s/.*\"$2\"[[:space:]]*:[[:space:]]*\"\{0,1\}\([^\",}]*\).*/\1/p" "$work/$1.json" | head -n 1
}
# train NAME DEVICES [options]: into $work/NAME, with a summary in $work/NAME.json
train() {
    local name=$1 devices=$2
    shift 2
    say ""
    say "\$ shoal ${job[*]} --devices $devices"
    $shoal "${job[@]}" --devices "$devices" --run "$work/$name" --json "$work/$name.json" "$@" ||
        die "the training on $devices device(s) failed (above)"
    [ -n "$(value "$name" weights_hash)" ] || die "$work/$name.json has no weights_hash"
}
train three 3
train one 1 --quiet

say ""
say "devices  accuracy  seconds  weights (SHA-256)"
for name in three one; do
    printf '%-7s  %6.2f %%  %7.1f  %s\n' $name "$(awk "BEGIN {print 100 * $(value $name val_accuracy)}")" \
        "$(value $name train_seconds)" "$(value $name weights_hash)"
done
say ""
[ "$(value three weights_hash)" = "$(value one weights_hash)" ] ||
    die "three devices and one arrived at different weights: this must never happen, please report it"
say "Three devices and one arrived at the same weights, bit for bit."
say ""
say "To call it shoal from anywhere: cmake --install build/release --prefix ~/.local --strip"
say "Next, your photos, a folder for each class: $shoal train auto photos:DIR"
say "On more machines: $shoal train lenet digits --listen :7700 --min-devices 2"
say "and on the other, with the token that this prints: shoal join 'shoal://...'"
