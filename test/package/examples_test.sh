#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every program of examples/ builds on an installed shoal, without a warning, and prints what it promises.
set -euo pipefail

: "${SHOAL_BUILD:?the build folder}" "${CMAKE:=cmake}" "${CC:=cc}"
examples=$(cd "$(dirname "$0")/../../examples" && pwd)
page=$(cd "$(dirname "$0")/../../docs" && pwd)/install.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "package.examples: $*" >&2
    exit 1
}

"$CMAKE" --install "$SHOAL_BUILD" --prefix "$work/prefix" --strip >"$work/log" || fail "$(cat "$work/log")"
PKG_CONFIG_PATH=$(find "$work/prefix" -name shoal.pc -printf '%h')
LD_LIBRARY_PATH=$(PKG_CONFIG_PATH=$PKG_CONFIG_PATH pkg-config --variable=libdir shoal)
XDG_CACHE_HOME=$work/cache
export PKG_CONFIG_PATH LD_LIBRARY_PATH XDG_CACHE_HOME
read -ra flags <<<"$(pkg-config --cflags --libs shoal)"
cd "$work"

# says NAME PATTERN ARGUMENTS...: the example prints all of that
says() {
    local name=$1 pattern=$2 said
    shift 2
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$examples/$name.c" -o "$name" "${flags[@]}" ||
        fail "examples/$name.c does not build on shoal.pc"
    said=$("./$name" "$@") || fail "examples/$name.c does not run"
    [[ $said =~ ^$pattern$ ]] || fail "examples/$name.c printed '$said'"
    tried+=("$name")
}
tried=()
hash='[0-9a-f]{64}'
nl=$'\n'
says train_digits "[0-9.]+ % $hash"
says show_progress "1 device, [0-9]+ steps an epoch${nl}epoch 1: .*${nl}epoch 2: [^$nl]*${nl}stopped after 2 epochs"
says own_model "[0-9.]+ % $hash${nl}sample 1 is a [0-9]"
says own_data "[89][0-9.]+ % $hash"
printf 'x,y\n0,1\n19,-18\n' >new.csv
says predict_files "new.csv, line 2: inside, [0-9]+ %${nl}new.csv, line 3: outside, [0-9]+ %" points-run new.csv

for file in "$examples"/*.c; do
    name=$(basename "$file" .c)
    [[ " ${tried[*]} " == *" $name "* ]] || fail "examples/$name.c is not tried here"
    grep -qF "examples/$name.c" "$page" || fail "docs/install.md does not name examples/$name.c"
done
echo "package.examples: ${tried[*]}"
