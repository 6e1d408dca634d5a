#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Sizes that keep code readable: functions of at most 80 lines, files of 800, headers of 150 (public
# ones 200; what tests share, and *_loops.h, counts as a file), and no two files with one name.
#
# A function that is better long (a kernel) says why in the comment directly above it, after "size:":
#
#     /* size: one pass over the tile; split, its eight accumulators would leave the registers. */
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$root"
command -v ctags >/dev/null || die "ctags is missing: scripts/install-dependencies.sh test"

function_lines=80
status=0
mapfile -t files < <(project_files '*.c' '*.h')
# An X-macro's expansion and other things ctags cannot parse are no functions; that is fine here.
longer=$(ctags --languages=C --langmap=C:.c.h --kinds-C=f --fields=+ne --output-format=u-ctags \
    --sort=no -f - "${files[@]}" |
    awk -F '\t' -v most=$function_lines '{
        first = last = 0
        for (i = 4; i <= NF; i++) {
            if ($i ~ /^line:/) first = substr($i, 6) + 0
            if ($i ~ /^end:/) last = substr($i, 5) + 0
        }
        if (last - first + 1 > most)
            print $2, first, last - first + 1, $1
    }')

# Does the comment that ends right above line $2 of file $1 give a reason after "size:"?
has_reason() {
    awk -v below="$2" '
        NR < below { line[NR] = $0 }
        END {
            at = below - 1
            if (line[at] ~ /^[A-Za-z_].*[^;}]$/) # a return type or attribute on its own line
                at--
            if (line[at] !~ /\*\/[ \t]*$/)
                exit 1
            for (text = ""; at > 0; at--) {
                text = line[at] " " text
                if (line[at] ~ /\/\*/)
                    break
            }
            exit text !~ /size:[ \t*]*[A-Za-z]......../ # a reason is more than a word
        }' "$1"
}
while read -r file first lines name; do
    [ -n "$file" ] || continue
    has_reason "$file" "$first" && continue
    say "$file:$first: $name() has $lines lines, at most $function_lines: split it where it changes subject," \
        "or give the reason in a comment directly above (size: ...)"
    status=1
done <<<"$longer"

# What tests share is code in a header, no contract; loops that are compiled once for each variant are code too.
awk '
    function check(    most, what) {
        if (shared || file !~ /\.h$/ || file ~ /_loops\.h$/) {
            most = 800; what = "file"
        } else if (file ~ /^include\//) {
            most = 200; what = "public header"
        } else {
            most = 150; what = "header"
        }
        if (lines > most) {
            printf "%s:%d: a %s of %d lines, at most %d: one noun a file; give the second its own\n",
                file, most + 1, what, lines, most
            bad = 1
        }
    }
    FNR == 1 && NR > 1 { check() }
    FNR == 1 { file = FILENAME; shared = 0 }
    /^#include "base\/test\.h"/ { shared = 1 }
    { lines = FNR }
    END { check(); exit bad }' "${files[@]}" || status=1

while read -r name; do
    [ -n "$name" ] || continue
    places=$(printf '%s\n' "${files[@]}" | grep -E "(^|/)${name//./\\.}\$" | tr '\n' ' ')
    say "${places%% *}:1: another file is called $name too: rename one (${places% })"
    status=1
done < <(printf '%s\n' "${files[@]}" | sed 's,.*/,,' | sort | uniq -d)

[ $status -eq 0 ] && say "sizes: ${#files[@]} files within bounds"
exit $status
