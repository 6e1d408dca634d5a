#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The installed, stripped program and its library stay within two megabytes.
set -euo pipefail

: "${SHOAL_BUILD:?the build folder}" "${CMAKE:=cmake}"
limit_bytes=2000000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$CMAKE" --install "$SHOAL_BUILD" --prefix "$work" --strip >/dev/null
total_bytes=0
while read -r bytes path; do
    echo "package.size: $bytes bytes ${path#"$work"/}"
    total_bytes=$((total_bytes + bytes))
done < <(find "$work" -type f \( -path '*/bin/*' -o -name 'lib*.so*' \) -printf '%s %p\n')
echo "package.size: $total_bytes of at most $limit_bytes bytes"
[ "$total_bytes" -gt 0 ] || { echo "package.size: nothing was installed" >&2; exit 1; }
if [ "$total_bytes" -gt "$limit_bytes" ]; then
    echo "package.size: too large; see what grew with: nm -S --size-sort $SHOAL_BUILD/libshoal.so" >&2
    exit 1
fi
