#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Unpacks Debian's libraries for other architectures into build/sysroot/ARCHITECTURE, which cross builds link
# and qemu runs with. Needs no root, and changes nothing outside that folder.
#
#     scripts/make-sysroot.sh arm64 armhf
#
# One that is there with all these packages stays as it is: remove it to get newer ones. This is not apt's multiarch
# because libevent-dev can be installed for one architecture only.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

packages=(
    libc6-dev libprotobuf-c-dev libssl-dev libevent-dev zlib1g-dev libjansson-dev libsqlite3-dev
    libyaml-dev libcmocka-dev libjpeg62-turbo-dev libspng-dev libwebp-dev libsndfile1-dev libcsv-dev
)
[ $# -gt 0 ] || die "name the architectures: $(basename "$0") arm64 armhf"

# make ARCHITECTURE SYSROOT
make() {
    local architecture=$1 sysroot=$2 state=$2.apt mirror release path target
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v release="$release" '$2 == release && $3 == "main" {print $1; exit}')
    rm -rf "$sysroot" "$state"
    mkdir -p "$sysroot/usr/lib" "$sysroot/usr/bin" "$sysroot/usr/sbin" "$state/lists/partial" "$state/archives/partial"
    ln -s usr/lib usr/bin usr/sbin "$sysroot/"
    : >"$state/status"
    printf 'deb [signed-by=%s] %s %s main\n' /usr/share/keyrings/debian-archive-keyring.gpg \
        "${mirror:-http://deb.debian.org/debian}" "$release" >"$state/sources.list"
    local apt=(apt-get -q -y -o APT::Architecture="$architecture" -o APT::Architectures="$architecture"
        -o Dir::State="$state" -o Dir::State::status="$state/status" -o Dir::State::lists="$state/lists"
        -o Dir::Cache="$state" -o Dir::Cache::archives="$state/archives" -o Dir::Etc::sourcelist="$state/sources.list"
        -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User= -o Acquire::Retries=3 -o Debug::NoLocking=true)
    "${apt[@]}" update
    "${apt[@]}" install --download-only --no-install-recommends "${packages[@]}"
    for path in "$state"/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$path" | tar -x --keep-directory-symlink -C "$sysroot" \
            --exclude='./usr/share/doc' --exclude='./usr/share/man' --exclude='./usr/share/locale' --exclude='./var'
    done
    # What points to a path of its own system points to the same within the folder.
    find "$sysroot" -type l -lname '/*' | while read -r path; do
        target=$(readlink "$path")
        ln -sfn "$(realpath -m --relative-to="$(dirname "$path")" "$sysroot$target")" "$path"
    done
    rm -rf "$state"
    printf '%s\n' "${packages[*]}" >"$sysroot/.complete"
}

mkdir -p "$root/build/sysroot"
for architecture; do
    sysroot=$root/build/sysroot/$architecture
    [ "$(cat "$sysroot/.complete" 2>/dev/null)" != "${packages[*]}" ] || continue
    say "Unpacking Debian's libraries for $architecture in build/sysroot/$architecture"
    make "$architecture" "$sysroot" >"$sysroot.log" 2>&1 || {
        tail -n 20 "$sysroot.log" >&2
        die "that failed (above)"
    }
done
