#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Form: clang-format's, an SPDX line first, no trailing blanks, no loose ends.
# clang-format 14 decides (Debian 12's); versions differ in details.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$root"

status=0
mapfile -t sources < <(project_files '*.c' '*.h')
mapfile -t texts < <(project_files '*.c' '*.h' '*.py' '*.sh' '*.awk' '*.md' '*.txt' '*.cmake' '*.json' \
    '*.proto' '*.in' '.ci/*')

formatter=$(command -v clang-format-14 || command -v clang-format) ||
    die "clang-format is missing: scripts/install-dependencies.sh test"
if "$formatter" --version | grep -q 'version 14\.'; then
    if ! complaints=$("$formatter" --dry-run -Werror "${sources[@]}" 2>&1); then
        grep -E '^[^ ]+:[0-9]+:[0-9]+: ' <<<"$complaints" || say "$complaints"
        say "formatting (above): clang-format -i FILE puts it right"
        status=1
    fi
else
    say "formatting: not checked; this is $("$formatter" --version), and version 14 decides"
fi

for file in "${sources[@]}"; do
    read -r first <"$file" || true
    if [ "$first" != "/* SPDX-License-Identifier: Apache-2.0 */" ]; then
        say "$file:1: the first line is: /* SPDX-License-Identifier: Apache-2.0 */"
        status=1
    fi
done

# Markdown ends a line in two blanks on purpose, so it is left alone there.
awk '
    /[ \t]+$/ && FILENAME !~ /\.md$/ { printf "%s:%d: blanks at the end of the line: remove them\n", FILENAME, FNR; bad = 1 }
    /\r$/ { printf "%s:%d: a carriage return: lines end in a newline alone\n", FILENAME, FNR; bad = 1 }
    END { exit bad }' "${texts[@]}" || status=1
# The last bytes of all files are newlines, or one has to be looked for.
if [ -n "$(tail -q -c 1 "${texts[@]}")" ]; then
    for file in "${texts[@]}"; do
        if [ -n "$(tail -c 1 "$file")" ]; then
            say "$file:$(wc -l <"$file"): the last line does not end: add a newline"
            status=1
        fi
    done
fi

# Spelled apart so that this file is clean itself.
if printf '%s\n' "${sources[@]}" | xargs -r grep -nE '\b(TO''DO|FIX''ME|XX''X|HA''CK)\b'; then
    say "loose ends (above): finish it, or write down as plain fact what is not done"
    status=1
fi

[ $status -eq 0 ] && say "format: ${#sources[@]} sources, ${#texts[@]} texts"
exit $status
