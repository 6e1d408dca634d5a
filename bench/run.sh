#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures every claim, peers in the same run, and prints one table; exits 0 if every claim was kept
# or skipped with its reason.
#
#     bench/run.sh                        everything
#     bench/run.sh memory size            only these benchmarks
#     bench/run.sh --output               keep the table and all numbers in bench/results/
#
# Installs what is missing (the build's packages; PyTorch, Debian's and PyPI's, as peers), builds build/release, and
# wants a machine that does nothing else. --no-install skips looking for packages. Real data is looked
# for in SHOAL_TEST_DATA, else ../shared/data. bench/README.md says what the figures mean.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../scripts/common.sh"
cd "$root"
export LC_ALL=C

all=(train_vs_pytorch layer_peaks chain_error memory size first_step plan_accuracy sum_cost monitor_cost
    own_data)
chosen=()
output=no
install=yes
while [ $# -gt 0 ]; do
    case $1 in
    --output) output=yes ;;
    --no-install) install=no ;;
    -h | --help)
        sed -n '3,/^set /{s/^# \{0,1\}//;/^set /d;p}' "$0"
        exit 0
        ;;
    *)
        [[ " ${all[*]} " == *" $1 "* ]] || die "unknown benchmark or option '$1'; benchmarks: ${all[*]}"
        chosen+=("$1")
        ;;
    esac
    shift
done
[ ${#chosen[@]} -gt 0 ] || chosen=("${all[@]}")

# The peer. A BLAS that is not the slow reference comes with the build's packages.
install_peer() {
    python3 -c 'import torch' 2>/dev/null && return 0
    /usr/bin/python3 -c 'import torch' 2>/dev/null && return 0
    command -v apt-get >/dev/null || return 1
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || return 1
        as_root=(sudo)
    fi
    say "Installing the peer: python3-torch"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
        -o Dpkg::Use-Pty=0 install --no-install-recommends python3-torch >build/bench-install.log 2>&1
}

# The newest PyTorch of PyPI, torchvision and scikit-learn, for the benchmarks that train beside them: some GB with
# what they depend on.
install_newest() {
    python3 -m venv build/bench-pytorch &&
        build/bench-pytorch/bin/pip install --disable-pip-version-check --quiet --upgrade torch numpy \
            torchvision scikit-learn
}

mkdir -p build
if [ $install = yes ]; then
    scripts/install-dependencies.sh build
    command -v python3 >/dev/null || die "python3 is missing: apt-get install python3"
    install_peer || say "PyTorch could not be installed: figures come without the peer"
    if [[ " ${chosen[*]} " =~ \ (train_vs_pytorch|own_data)\  ]] && ! install_newest >build/bench-pytorch.log 2>&1; then
        say "PyPI's PyTorch could not be installed (build/bench-pytorch.log): figures come beside Debian's alone"
    fi
fi

say "Building a release in build/release"
if ! { cmake --preset release -DSHOAL_BENCH=ON &&
    cmake --build --preset release --parallel "$(job_count)"; } >build/bench-build.log 2>&1; then
    tail -n 40 build/bench-build.log >&2
    die "the build failed (above, and all of it in build/bench-build.log)"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=()
results=()
for name in "${chosen[@]}"; do
    say ""
    say "=== $name"
    status=0
    python3 -B "bench/$name.py" --json "$work/$name.json" || status=$?
    [ -f "$work/$name.json" ] && results+=("$work/$name.json")
    [ $status -eq 0 ] || [ $status -eq 77 ] || failed+=("$name")
done

say ""
say "=== all"
[ ${#results[@]} -gt 0 ] && python3 -B bench/measure.py table "${results[@]}" | tee "$work/table.txt"
if [ $output = yes ] && [ ${#results[@]} -gt 0 ]; then
    folder=bench/results/$(date -u +%Y%m%dT%H%M%SZ)
    mkdir -p "$folder"
    cp "${results[@]}" "$work/table.txt" "$folder"
    say "kept in $folder"
fi
[ ${#failed[@]} -eq 0 ] || die "missed or failed: ${failed[*]}"
