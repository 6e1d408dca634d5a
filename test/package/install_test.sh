#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What an installation promises: a program elsewhere builds with pkg-config's flags alone and runs,
# the library shows no name but sh_*, and the installed program starts.
set -euo pipefail

: "${SHOAL_BUILD:?the build folder}" "${CMAKE:=cmake}" "${CC:=cc}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "package.install: $*" >&2
    exit 1
}

"$CMAKE" --install "$SHOAL_BUILD" --prefix "$work/prefix" --strip >"$work/log" || fail "$(cat "$work/log")"
# Moved after installing: nothing may remember where it was first put.
mv "$work/prefix" "$work/moved"
pc=$(find "$work/moved" -name shoal.pc -printf '%h')
[ -n "$pc" ] || fail "no shoal.pc was installed"
export PKG_CONFIG_PATH=$pc

readme=$(dirname "$0")/../../README.md
page=$(dirname "$0")/../../docs/install.md
awk '/^```c$/ {on = 1; next} /^```/ {on = 0} on' "$page" >"$work/embed.c"
[ -s "$work/embed.c" ] || fail "docs/install.md has no block that starts with \`\`\`c"
read -ra flags <<<"$(pkg-config --cflags --libs shoal)"
"$CC" -std=c11 -Wall -Werror "$work/embed.c" -o "$work/embed" "${flags[@]}" || fail "cannot build on shoal.pc"
library=$(pkg-config --variable=libdir shoal)
said=$(cd "$work" && LD_LIBRARY_PATH=$library "$work/embed") || fail "the program built on the library does not run"
[[ $said =~ ^[0-9.]+\ %\ [0-9a-f]{64}$ ]] ||
    fail "the program built on the library printed '$said', not an accuracy and a hash"

# Examples of the public headers are the indented lines of their first comments. They may use what is
# declared around them here, and are compiled only.
for header in "$(dirname "$0")"/../../include/shoal/*.h; do
    example=$(awk 'NR > 1 && /\*\// {exit} sub(/^ \*     /, "")' "$header")
    [ -n "$example" ] || [ "${header##*/}" = shoal.h ] || fail "$header has no example"
    printf '%s\n' '#include <stdbool.h>' '#include <stdio.h>' '#include <stdlib.h>' '#include <shoal/shoal.h>' \
        'void example(sh_job job, const char *token, sh_stop *stop, sh_train_options options, sh_summary summary);' \
        'void example(sh_job job, const char *token, sh_stop *stop, sh_train_options options, sh_summary summary)' \
        '{ bool quiet; {' "$example" '} }' >"$work/example.c"
    "$CC" -std=c11 -fsyntax-only -Werror=implicit "$work/example.c" "${flags[@]}" || fail "the example of $header does not compile"
done

strangers=$(nm -D --defined-only "$library/libshoal.so" | awk '$3 !~ /^sh_/ {print $3}' | tr '\n' ' ')
[ -z "$strangers" ] || fail "names exported without the prefix sh_: $strangers"

"$work/moved/bin/shoal" version || fail "the installed program does not start"
while read -r line; do
    grep -qxF -- "$line" "$readme" || fail "README.md lacks this line of 'shoal help --markdown': $line"
done < <("$work/moved/bin/shoal" help --markdown)
options=$(dirname "$0")/../../docs/options.md
diff <("$work/moved/bin/shoal" help train --markdown) <(grep '^|' "$options") ||
    fail "the table of docs/options.md is not what 'shoal help train --markdown' prints"
echo "package.install: $(cd "$work/moved" && find . ! -type d | sort | tr '\n' ' ')"
