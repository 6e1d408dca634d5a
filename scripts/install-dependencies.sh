#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing on Debian and its relatives; says nothing and does nothing where nothing is.
#
#     scripts/install-dependencies.sh            what building and running need
#     scripts/install-dependencies.sh build test what the tests and checks need too
#     scripts/install-dependencies.sh arm        compilers for 64-bit and 32-bit Arm, and what runs their programs here
#
# ARCHITECTURE.md says what each library is for.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

build_packages=(
    gcc libc6-dev cmake ninja-build pkg-config protobuf-c-compiler
    libprotobuf-c-dev libssl-dev libevent-dev zlib1g-dev libjansson-dev libsqlite3-dev
    libyaml-dev libjpeg62-turbo-dev libspng-dev libwebp-dev libsndfile1-dev libcsv-dev
)
# Not on every system; the build does without and says so.
optional_packages=(libjs-chart.js)
test_packages=(
    libcmocka-dev python3 git binutils iproute2 universal-ctags dpkg-dev file openssl mandoc doxygen
    clang clang-format clang-tidy libclang-rt-dev pocl-opencl-icd
)
# Large for what most have no use for, so who wants --engine mpi installs them; tests and checks want all.
# debootstrap makes the bare system of the stage `bare`. zsh and fish read the completions that are made for them,
# proselint reads the documents, mkdocs builds the site of them.
optional_test_packages=(libopenmpi-dev openmpi-bin debootstrap zsh fish python3-proselint mkdocs)
arm_packages=(gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf qemu-user)

groups=("$@")
[ "${#groups[@]}" -gt 0 ] || groups=(build)
wanted=()
optional=()
for group in "${groups[@]}"; do
    case $group in
    build)
        wanted+=("${build_packages[@]}")
        optional+=("${optional_packages[@]}")
        ;;
    test)
        wanted+=("${test_packages[@]}")
        optional+=("${optional_test_packages[@]}")
        ;;
    arm) wanted+=("${arm_packages[@]}") ;;
    *) die "unknown group '$group': build, test or arm" ;;
    esac
done

if ! command -v dpkg-query >/dev/null; then
    say "This is not Debian or a relative of it: nothing was installed. Needed, by their Debian names:"
    say "  ${wanted[*]} ${optional[*]}"
    exit 0
fi

# Those of other architectures do not count.
installed=$(dpkg-query -W -f '${Package} ${Architecture} ${db:Status-Status}\n' "${wanted[@]}" "${optional[@]}" \
    2>/dev/null | awk -v own="$(dpkg --print-architecture)" \
    '($2 == own || $2 == "all") && $3 == "installed" {print $1}' || true)
is_installed() { grep -qxF "$1" <<<"$installed"; }
missing=()
for package in "${wanted[@]}"; do
    is_installed "$package" || missing+=("$package")
done
missing_optional=()
for package in "${optional[@]}"; do
    is_installed "$package" || missing_optional+=("$package")
done
if [ $((${#missing[@]} + ${#missing_optional[@]})) -eq 0 ]; then
    exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        [ "${#missing[@]}" -gt 0 ] || exit 0
        die "these packages are missing, and there is neither root nor sudo to install them; as root:
  apt-get install --no-install-recommends ${missing[*]} ${missing_optional[*]}"
    fi
    sudo -v || die "this user may not use sudo; run as root:
  apt-get install --no-install-recommends ${missing[*]} ${missing_optional[*]}"
    as_root=(sudo)
fi
apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"
}

# The lists first: a bare system has none, and only they tell which optional packages exist here.
# Without a network, what is optional can wait.
if [ "${#missing[@]}" -gt 0 ]; then
    say "Refreshing the package lists (apt-get update)"
    apt update >/dev/null || die "apt-get update failed: check the network and /etc/apt"
fi
available=()
for package in "${missing_optional[@]}"; do
    if [ -n "$(apt-cache policy "$package" 2>/dev/null | awk '/Candidate:/ && $2 != "(none)"')" ]; then
        available+=("$package")
    elif [ "${#missing[@]}" -gt 0 ]; then
        say "$package does not exist for this system: going on without"
    fi
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Whether these could be installed; the log says why not.
install() {
    say "Installing $# packages: $*"
    apt install --no-install-recommends "$@" >"$log" 2>&1
}
if [ "${#missing[@]}" -gt 0 ] && ! install "${missing[@]}"; then
    tail -n 30 "$log" >&2
    die "installing failed (above); the same by hand:
  apt-get install --no-install-recommends ${missing[*]}"
fi
if [ "${#available[@]}" -gt 0 ] && ! install "${available[@]}"; then
    say "that failed ($(grep -m 1 '^E:' "$log" || tail -n 1 "$log")): going on without"
fi
