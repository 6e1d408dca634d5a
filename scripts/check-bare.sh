#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the quickstart and the tests in a fresh, bare Debian, as someone new would: nothing installed
# but what Debian calls minimal, and a clone of the last commit.
#
#     scripts/check-bare.sh bookworm            Debian 12: scripts/quickstart.sh, scripts/test.sh unit, packages
#     scripts/check-bare.sh trixie              Debian 13: the same
#     scripts/check-bare.sh trixie 'scripts/test.sh unit asan' ...    these commands instead
#     scripts/check-bare.sh trixie packages     makes the packages, and installs them in another bare system
#
# Options: --mirror URI  the Debian mirror; default: this machine's own
#          --keep        leave the system that was tried, for a look inside
#
# The bare system and its packages are kept for the next time in $SHOAL_BARE_CACHE, or else in
# $XDG_CACHE_HOME/shoal-bare or ~/.cache/shoal-bare.
#
# Needs root and debootstrap. It mounts in a namespace of its own, so nothing stays mounted however it
# ends.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

releases=(bookworm trixie)
suite=
cache=${SHOAL_BARE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/shoal-bare}
mirror=
keep=no
commands=()
while [ $# -gt 0 ]; do
    case $1 in
    --mirror)
        mirror=${2:?--mirror needs an address}
        shift
        ;;
    --keep) keep=yes ;;
    -h | --help)
        sed -n '3,/^set /{s/^# \{0,1\}//;/^set /d;p}' "$0"
        exit 0
        ;;
    -*) die "unknown option '$1'" ;;
    *) if [ -z "$suite" ]; then suite=$1; else commands+=("$1"); fi ;;
    esac
    shift
done
[ -n "$suite" ] || die "which release? One of: ${releases[*]}"
[[ " ${releases[*]} " == *" $suite "* ]] || die "unknown release '$suite'; there are: ${releases[*]}"
[ ${#commands[@]} -gt 0 ] || commands=(scripts/quickstart.sh 'scripts/test.sh unit' packages)
[ "$(id -u)" -eq 0 ] || die "needs root, to make and enter a system of its own"
for tool in debootstrap unshare chroot git; do
    command -v $tool >/dev/null || die "$tool is missing: apt-get install debootstrap util-linux coreutils git"
done
cache=$(realpath -m "$cache")
[[ $cache/ != "$root"/* ]] || die "the cache $cache is in the tree: name another in SHOAL_BARE_CACHE"
base=$cache/$suite

# This machine's sources, as lines of a sources.list, for the suite; those of its own release tell where
# another release is.
own_sources() {
    local own
    own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
        awk -v own="$own" -v suite="$suite" '$3 == "main" && ($2 == own || index($2, own "-") == 1) {
            print "deb", $1, suite substr($2, length(own) + 1), $3}' | sort -u
}
sources=
if [ -z "$mirror" ]; then
    sources=$(own_sources)
    mirror=$(awk -v suite="$suite" '$3 == suite {print $2; exit}' <<<"$sources")
fi

mkdir -p "$base/archives"
if [ ! -e "$base/system/.complete" ]; then
    say "Making a bare Debian ($suite) in $base/system"
    rm -rf "$base/system"
    include=()
    [[ $mirror == https://* ]] && include=(--include=ca-certificates)
    # Without a mirror debootstrap has its own.
    debootstrap --variant=minbase "${include[@]}" "$suite" "$base/system" ${mirror:+"$mirror"} >"$base/debootstrap.log" 2>&1 ||
        die "debootstrap failed; see $base/debootstrap.log"
    touch "$base/system/.complete"
fi

work=$(mktemp -d "$base/try.XXXXXX")
cleanup() {
    if [ $keep = yes ]; then
        say "Kept: chroot $work/system"
    else
        rm -rf "$work"
    fi
}
trap cleanup EXIT
# make_system NAME: a fresh one, that reaches the network and its packages as this machine does.
make_system() {
    local system=$work/$1
    cp -a --reflink=auto "$base/system" "$system"
    [ -z "$sources" ] || printf '%s\n' "$sources" >"$system/etc/apt/sources.list"
    apt-config dump 2>/dev/null | grep -E '^Acquire::(http|https|Check-|Retries)' >"$system/etc/apt/apt.conf.d/00machine" || true
    cp -L /etc/resolv.conf /etc/hosts "$system/etc/"
    if [ -d /usr/local/share/ca-certificates ]; then
        mkdir -p "$system/usr/local/share/"
        cp -a /usr/local/share/ca-certificates "$system/usr/local/share/"
    fi
    mkdir "$system/srv/shoal"
}
make_system system
system=$work/system

if [ -n "$(git -C "$root" status --porcelain)" ]; then
    say "Note: what is not committed is not tried"
fi
# Not in /root, where other users may not look, as whom some tests run the program.
git clone --quiet --no-hardlinks "$root" "$system/srv/shoal"
say "Trying $(git -C "$system/srv/shoal" log -1 --format='%h %s')"

mapfile -t proxies < <(env | grep -iE '^(https?|ftp|no)_proxy=' || true)
# inside SYSTEM COMMAND: runs it in the system, without this machine's environment but for its proxies; all its
# mounts and processes end with it.
inside() {
    unshare --mount --propagation private --pid --fork --kill-child -- bash -euc '
        mount --bind "$1" "$1" # a root that is a mount, as network namespaces want it
        mount -t proc proc "$1/proc"
        mount --rbind /sys "$1/sys"
        mount --rbind /dev "$1/dev"
        mount --bind "$2" "$1/var/cache/apt/archives"
        exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            "${@:4}" bash -c "cd /srv/shoal && $3"' inside "$1" "$base/archives" "$2" "${proxies[@]}"
}
# Makes the packages here, installs program and library where nothing else is, and compares what both train.
try_packages() {
    local quiet="-qq -y -o Dpkg::Use-Pty=0 --no-install-recommends" user=$work/user
    local training="train lenet digits:640/100 --steps 5 --seed 1 --quiet --run /tmp/run --json -"
    inside "$system" "scripts/install-dependencies.sh build && apt-get install $quiet dpkg-dev file >/dev/null &&
        cmake --preset package >/dev/null && cmake --build --preset package >/dev/null &&
        cpack --config build/package/CPackConfig.cmake -B build/packages >/dev/null && rm -rf /tmp/run &&
        build/package/shoal $training >build/expected.json" || return 1
    make_system user
    cp "$system"/srv/shoal/build/packages/*.deb "$user/srv/shoal/"
    inside "$user" "apt-get update -qq && apt-get install $quiet ./shoal_*.deb ./libshoal0*.deb >/dev/null &&
        dpkg -s shoal | grep -E '^(Version|Depends)' && shoal version | head -n 3 && shoal $training >trained.json &&
        if find /etc/systemd -name 'shoal*' | grep .; then echo 'the unit is enabled' >&2; exit 1; fi" || return 1
    local hash='s/.*"weights_hash": *"\([0-9a-f]*\)".*/\1/p' expected trained
    expected=$(sed -n "$hash" "$system/srv/shoal/build/expected.json")
    trained=$(sed -n "$hash" "$user/srv/shoal/trained.json")
    say "weights of 5 steps: $trained"
    [ -n "$trained" ] && [ "$trained" = "$expected" ]
}
status=0
for command in "${commands[@]}"; do
    say ""
    say "### $command"
    began=$SECONDS
    if [ "$command" = packages ]; then
        run=(try_packages)
    else
        run=(inside "$system" "$command")
    fi
    if "${run[@]}"; then
        say "### $command: passed in $((SECONDS - began)) s"
    else
        say "### $command: FAILED after $((SECONDS - began)) s"
        status=1
    fi
done
exit $status
