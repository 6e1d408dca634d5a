#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What cpack makes: three packages for this architecture, each with its own files and no other, with what they
# depend on; the program in them starts, the manual names every command, and the unit is valid and not enabled.
set -euo pipefail

: "${SHOAL_BUILD:?the build folder}" "${CMAKE:=cmake}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "package.deb: $*" >&2
    exit 1
}
for tool in dpkg-deb dpkg-shlibdeps dpkg-architecture file; do
    if ! command -v $tool >/dev/null; then
        echo "skipped: $tool is missing (dpkg-dev, file)"
        exit 77
    fi
done

"$(dirname "$CMAKE")/cpack" --config "$SHOAL_BUILD/CPackConfig.cmake" -G DEB -B "$work/packages" >"$work/log" 2>&1 ||
    fail "$(tail -n 30 "$work/log")"
architecture=$(sed -n 's/^set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE "\(.*\)")/\1/p' "$SHOAL_BUILD/CPackConfig.cmake")
: "${architecture:=$(dpkg --print-architecture)}"
multiarch=$(dpkg-architecture -a"$architecture" -qDEB_HOST_MULTIARCH 2>/dev/null)
version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")/\1/p' "$SHOAL_BUILD/CPackConfig.cmake")
library=libshoal${version%.*}

# The file of a package, and the files in it.
deb() { echo "$work/packages/$1_${version}_$architecture.deb"; }
files_of() { dpkg-deb --fsys-tarfile "$(deb "$1")" | tar -t | grep -v '/$' | sed 's,^\./,/,' | sort; }
field() { dpkg-deb --field "$(deb "$1")" "$2"; }
# contains PACKAGE FILES...: these and no other; a file that ends in / stands for all below it
contains() {
    local package=$1 pattern found
    shift
    [ -f "$(deb "$package")" ] || fail "cpack made no $(basename "$(deb "$package")"): $(ls "$work/packages")"
    found=$(files_of "$package")
    for pattern in "$@"; do
        grep -q "^$pattern" <<<"$found" || fail "$package lacks $pattern; it has: $found"
        found=$(grep -v "^$pattern" <<<"$found" || true)
    done
    [ -z "$found" ] || fail "$package has what it should not: $found"
}
contains shoal '/usr/bin/shoal$' '/usr/lib/systemd/system/shoal-join@\.service$' '/usr/share/man/man1/shoal\(-[a-z-]*\)\?\.1\.gz$' \
    '/usr/share/bash-completion/completions/shoal$' '/usr/share/zsh/vendor-completions/_shoal$' \
    '/usr/share/fish/vendor_completions\.d/shoal\.fish$' \
    '/usr/share/man/man8/shoal-join@\.service\.8\.gz$' '/usr/share/doc/shoal/copyright$'
contains "$library" "/usr/lib/$multiarch/libshoal\.so\.${version%.*}\$" "/usr/lib/$multiarch/libshoal\.so\.$version\$" \
    "/usr/share/doc/$library/copyright\$"
contains libshoal-dev "/usr/lib/$multiarch/libshoal\.so\$" "/usr/lib/$multiarch/pkgconfig/shoal\.pc\$" \
    '/usr/include/shoal/' '/usr/share/doc/libshoal-dev/copyright$'

for package in shoal "$library" libshoal-dev; do
    [ "$(field $package Architecture)" = "$architecture" ] || fail "$package is for $(field $package Architecture)"
    # No script: nothing starts, and nothing is enabled, by installing.
    scripts=$(dpkg-deb --ctrl-tarfile "$(deb $package)" | tar -t | grep -E 'preinst|prerm' || true)
    [ -z "$scripts" ] || fail "$package has scripts: $scripts"
done
[[ $(field shoal Depends) == *"$library (= $version)"* ]] || fail "shoal depends on $(field shoal Depends)"
[[ $(field libshoal-dev Depends) == *"$library (= $version)"* ]] || fail "libshoal-dev depends on $(field libshoal-dev Depends)"
for needed in libc6 libssl3 libsqlite3-0 zlib1g libevent-core-2.1-7 libevent-pthreads-2.1-7 libyaml-0-2; do
    [[ $(field "$library" Depends) == *"$needed"* ]] || fail "$library does not depend on $needed: $(field "$library" Depends)"
done

# As installed, without its run path.
mkdir "$work/system"
for package in shoal "$library" libshoal-dev; do
    dpkg-deb --extract "$(deb $package)" "$work/system"
done
program=$work/system/usr/bin/shoal
if readelf -d "$program" | grep -qE 'R(UN)?PATH'; then
    fail "the packaged program has a run path"
fi
for file in "$program" "$work/system/usr/lib/$multiarch/libshoal.so.$version"; do
    ! readelf -S --wide "$file" | grep -q '\.symtab' || fail "$file is not stripped"
done
manual=$(gzip -dc "$work/system/usr/share/man/man1/shoal.1.gz")
if [ "$architecture" = "$(dpkg --print-architecture)" ]; then
    run() { LD_LIBRARY_PATH=$work/system/usr/lib/$multiarch "$program" "$@"; }
    run version >/dev/null || fail "the packaged program does not start"
    # Lines such as: | `shoal help [COMMAND\|exit-codes]` | shows how a command is used |
    while read -r name summary; do
        grep -qF "\\fB$name\\fR" <<<"$manual" || fail "the manual lacks the command $name"
        grep -qxF -- "$summary" <<<"$manual" || fail "the manual lacks: $summary"
        gzip -t "$work/system/usr/share/man/man1/shoal-$name.1.gz" || fail "there is no manual page of shoal $name"
    done < <(run help --markdown | sed -n 's/^| `shoal \([a-z-]*\).*` | \(.*\) |$/\1 \2/p')
fi

unit=$work/system/usr/lib/systemd/system/shoal-join@.service
for line in DynamicUser=yes 'StandardInput=file:/etc/shoal/%i.token' 'ExecStart=/usr/bin/shoal join - $OPTIONS'; do
    grep -qxF "$line" "$unit" || fail "the unit lacks $line"
done
if command -v systemd-analyze >/dev/null; then
    cp "$unit" "$work/shoal-join@here.service"
    # Neither the program nor the manual is installed here.
    sed -i "s,^ExecStart=/usr/bin/shoal,ExecStart=$program,; /^Documentation=/d" "$work/shoal-join@here.service"
    said=$(systemd-analyze verify "$work/shoal-join@here.service" 2>&1 | grep -v 'Cannot add dependency job\|Failed to .*bus' || true)
    [ -z "$said" ] || fail "systemd does not like the unit: $said"
else
    echo "package.deb: the unit was not verified: systemd-analyze is missing"
fi
for package in shoal "$library" libshoal-dev; do
    echo "package.deb: $(basename "$(deb $package)"), $(stat -c %s "$(deb $package)") bytes; Depends: $(field $package Depends)"
done
