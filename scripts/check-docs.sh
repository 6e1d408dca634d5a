#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The documents describe this tree: every module has its line in docs/internals/modules.md and every line its
# module, every library is in the table of ARCHITECTURE.md, links and paths lead somewhere, no placeholder
# outlives the program whose output it stands for, and docs/reference/ has every event, JSON key, column, figure
# and version that the code has (scripts/reference.py).
# Where Doxygen is, it reads the public headers without a warning; where mkdocs is, the site is built.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$root"

status=0
complain() {
    say "$@"
    status=1
}
line_of() { grep -nF -- "$2" "$1" | head -n 1 | cut -d: -f1; }

# Modules: the headers of src/, against the list items that begin with `layer/noun`. x_y.h beside x.h
# is a part of the module x and needs no line of its own.
is_part() {
    local owner=$1
    while [[ ${owner##*/} == *_* ]]; do
        owner=${owner%_*}
        [ -e "src/$owner.h" ] && return 0
    done
    return 1
}
modules=$(project_files 'src/*.h' | sed 's,^src/,,; s,\.h$,,' | sort)
list=docs/internals/modules.md
listed=$(sed -n 's/^- `\([a-z_/0-9]*\)`:.*/\1/p' "$list" | sort)
for module in $(comm -23 <(echo "$modules") <(echo "$listed")); do
    is_part "$module" && continue
    complain "src/$module.h:1: $list has no line for it: add \"- \`$module\`: what it is for\""
done
for module in $(comm -13 <(echo "$modules") <(echo "$listed")); do
    complain "$list:$(line_of "$list" "\`$module\`:"): there is no src/$module.h: remove the line"
done
for module in $(uniq -d <<<"$listed"); do
    complain "$list:$(line_of "$list" "\`$module\`:"): \`$module\` is listed twice"
done

# Libraries: every -dev package that the installer names has its place in the table.
for package in $(grep -oE '\blib[a-z0-9-]+-dev\b|\bzlib1g-dev\b' scripts/install-dependencies.sh | sort -u); do
    case $package in libc6-dev | libclang-rt-dev) continue ;; esac
    grep -q "^|.*\b$package\b" ARCHITECTURE.md ||
        complain "scripts/install-dependencies.sh:$(line_of scripts/install-dependencies.sh "$package"):" \
            "$package is not in the table of libraries of ARCHITECTURE.md: say there what it is for"
done

# Links to files, and paths of the tree in backquotes or commands (but patterns, src/<layer>/).
mapfile -t documents < <(project_files '*.md')
for document in "${documents[@]}"; do
    folder=$(dirname "$document")
    while IFS=: read -r number target; do
        case $target in http://* | https://* | '#'* | mailto:*) continue ;; esac
        [ -e "$folder/${target%%#*}" ] || complain "$document:$number: the link to $target leads nowhere"
    done < <(grep -noE '\]\([^) ]+\)' "$document" | sed 's/\](\(.*\))$/\1/')
    while IFS=: read -r number path; do
        [ -e "$path" ] || complain "$document:$number: there is no $path in this tree"
    done < <(grep -noE '(^    |`)(scripts|src|test|fuzz|cmake|include|\.ci)/[A-Za-z0-9_./-]*($|[^A-Za-z0-9_./<*-])' \
        "$document" | sed -E 's/:(    |`)/:/; s/[^A-Za-z0-9_/]*$//')
done

if [ -e src/cli/main.c ]; then
    for document in "${documents[@]}"; do
        while IFS=: read -r number _; do
            complain "$document:$number: a placeholder: put the program's real output here"
        done < <(grep -nF '<!-- placeholder' "$document")
    done
fi

# The reference pages say what the code does.
python3 -B scripts/reference.py || complain "docs/reference/: the pages and the code differ (above)"

# The reference of the C interface: Doxygen makes it without a warning. (Who has no Doxygen checks the rest.)
if command -v doxygen >/dev/null; then
    api=$(mktemp -d)
    warnings=$({ cat docs/Doxyfile && echo "OUTPUT_DIRECTORY = $api"; } | doxygen - 2>&1) || status=1
    rm -rf "$api"
    [ -z "$warnings" ] || complain "${warnings//"$root/"/}"
fi

# The site is built without a broken link, and every document has a place in it. (Who has no mkdocs checks the rest.)
if command -v mkdocs >/dev/null && [ -z "${SHOAL_NO_SITE:-}" ]; then
    site=$(mktemp -d)
    python3 -B scripts/build-site.py "$site" || complain "docs/mkdocs.yml: the site is not built (above)"
    rm -rf "$site"
fi

version=$(sed -n 's/^project(shoal VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
grep -qE "^## \[(Unreleased|$version)\]" CHANGELOG.md ||
    complain "CHANGELOG.md:1: it has neither an Unreleased part nor one for $version"

[ $status -eq 0 ] && say "documents: ${#documents[@]} files, $(wc -w <<<"$modules") modules"
exit $status
