#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The manual pages that are installed: one for each command, with every option of its help, which mandoc and
# groff read without a complaint. And docs/commands.md is what the tables of commands give.
set -euo pipefail

: "${SHOAL_BUILD:?the build folder}" "${CMAKE:=cmake}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "package.manual: $*" >&2
    exit 1
}

"$CMAKE" --install "$SHOAL_BUILD" --prefix "$work" --strip >"$work/log" || fail "$(cat "$work/log")"
folder=$work/share/man/man1
program=$work/bin/shoal
gzip -d "$folder"/*.gz
commands=$("$program" help --markdown | sed -n 's/^| `shoal \([a-z-]*\).*/\1/p')
[ -n "$commands" ] || fail "'shoal help --markdown' names no command"

for command in $commands; do
    page=$folder/shoal-$command.1
    [ -s "$page" ] || fail "there is no manual page of shoal $command"
    for part in NAME SYNOPSIS OPTIONS 'EXIT STATUS' 'SEE ALSO'; do
        grep -qx "\.SH $part" "$page" || fail "the page of shoal $command has no $part"
    done
    plain=$(sed 's/\\fB\|\\fR\|\\fI//g; s/\\-/-/g' "$page")
    help=$("$program" help "$command")
    for option in $(sed -n '/^options:/,$s/^  \(--[a-z0-9-]*\).*/\1/p' <<<"$help"); do
        grep -qE -- "(^|, )$option( |\$)" <<<"$plain" || fail "the page of shoal $command lacks $option"
    done
    if grep -qx 'examples\{0,1\}:' <<<"$help"; then
        grep -qx '\.SH EXAMPLES' "$page" || fail "the page of shoal $command has no EXAMPLES"
    fi
done
[ "$(find "$folder" -type f | wc -l)" -eq $(($(wc -w <<<"$commands") + 1)) ] || fail "not a page a command: $(ls "$folder")"

# Pages have no date, so that the same sources give the same pages.
if command -v mandoc >/dev/null; then
    said=$(cd "$folder" && mandoc -T lint ./*.1 | grep -v 'missing date' || true)
    [ -z "$said" ] || fail "mandoc complains: $said"
fi
if command -v groff >/dev/null; then
    said=$(groff -man -w mac -w syntax -w escape -z "$folder"/*.1 2>&1)
    [ -z "$said" ] || fail "groff complains: $said"
fi

diff <("$SHOAL_BUILD/reference" markdown) "$(dirname "$0")/../../docs/commands.md" ||
    fail "docs/commands.md is not what the tables give: cmake --build BUILD --target commands_page"
echo "package.manual: $(wc -w <<<"$commands") commands"
