# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts: where the tree is, how to speak, which files are the project's.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*"; }
die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# The project's files that match the patterns, relative to the root: tracked ones and new ones that
# git does not ignore; without git (an unpacked archive), all outside build/.
project_files() {
    if [ "$(git -C "$root" rev-parse --show-toplevel 2>/dev/null)" = "$root" ]; then
        git -C "$root" ls-files --cached --others --exclude-standard -- "$@" |
            while read -r path; do [ -f "$root/$path" ] && printf '%s\n' "$path"; done | sort -u
        return
    fi
    local pattern
    for pattern in "$@"; do
        (cd "$root" && find . -path ./build -prune -o -type f -path "./$pattern" -print)
    done | sed 's,^\./,,' | sort -u
}

# Jobs that this machine carries at once.
job_count() { nproc 2>/dev/null || echo 1; }
