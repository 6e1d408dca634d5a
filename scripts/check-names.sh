#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What comments and documents name is there: identifiers (sh_..., SH_...), files of the tree, and parts of
# ARCHITECTURE.md. The changelog tells of what was; sh_x stands for any name.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$root"

mapfile -t sources < <(project_files '*.c' '*.h' '*.def' '*.proto')
mapfile -t texts < <(project_files '*.md' 'test/*.py' 'lab/*' 'bench/*.py' 'test/*.sh' '*.cmake' '*CMakeLists.txt' | grep -v '^CHANGELOG')

# Every identifier of the code; SH_X_##name has any that begins so.
code=$(awk -f scripts/strip-comments.awk "${sources[@]}" | grep -oE '\b(sh|SH)_[A-Za-z0-9_]+( ?##)?' | sort -u)
files=$(project_files '*')
headings=$(sed -n 's/^#* //p' ARCHITECTURE.md)

# Without the star that begins a line of a comment, which may be in the middle of what is quoted.
{
    awk -v keep=comments -f scripts/strip-comments.awk "${sources[@]}" | sed -E 's/^([^:]*:[0-9]+:) *\* ?/\1/'
    grep -HnE '(sh|SH)_|/|ARCHITECTURE' "${texts[@]}"
} | code=$code files=$files headings=$headings awk '
    function complain(what) {
        print place ": " what
        bad = 1
    }
    # The next match of the pattern in text, which is cut off up to its end; "" where there is none.
    function next_match(pattern,    found) {
        if (!match(text, pattern))
            return ""
        found = substr(text, RSTART, RLENGTH)
        before = substr(text, RSTART - 1, 1)
        text = substr(text, RSTART + RLENGTH)
        return found
    }
    function begins_any(name,    other) {
        for (other in declared)
            if (index(other, name) == 1)
                return 1
        return 0
    }
    function is_pasted(name,    start) {
        for (start in pasted)
            if (index(name, start) == 1)
                return 1
        return 0
    }
    # Is there such a file, from the root, from src/, include/ or test/, or beside the one that names it?
    function is_there(path,    beside) {
        beside = place
        sub(/[^\/]*$/, "", beside)
        return path in file || ("src/" path) in file || ("include/" path) in file || ("test/" path) in file || (beside path) in file
    }
    BEGIN {
        count = split(ENVIRON["code"], all, "\n")
        for (i = 1; i <= count; i++)
            if (sub(/ ?##/, "", all[i]))
                pasted[all[i]] = 1
            else
                declared[all[i]] = 1
        count = split(ENVIRON["files"], all, "\n")
        for (i = 1; i <= count; i++) {
            file[all[i]] = 1
            path = all[i]
            sub(/.*\//, "", path)
            base[path] = 1
            if (split(all[i], part, "/") > 1)
                folder[part[1]] = 1
            if (part[1] == "src")
                folder[part[2]] = 1
        }
        count = split(ENVIRON["headings"], all, "\n")
        for (i = 1; i <= count; i++) {
            heading[all[i]] = 1
            gsub(/[^A-Za-z0-9 -]/, "", all[i])
            gsub(/ /, "-", all[i])
            heading["#" tolower(all[i])] = 1
        }
    }
    {
        match($0, /^[^:]*:[0-9]+:/)
        place = substr($0, 1, RLENGTH - 1)
        all_text = text = substr($0, RLENGTH + 1)
        while ((name = next_match("(sh|SH)_[A-Za-z0-9_]+")) != "")
            if (before !~ /[A-Za-z0-9_.-]/ && name != "sh_x" && !(name in declared) && !is_pasted(name) &&
                !(name ~ /_$/ && begins_any(name)))
                complain("the code has no " name ": say what took its place")
        text = all_text
        while ((path = next_match("[A-Za-z_.][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)+\\.(awk|c|cmake|css|def|h|html|js|md|proto|py|sh|sql|svg)")) != "") {
            start = path
            sub(/\/.*/, "", start)
            if (before !~ /[A-Za-z0-9_\/<>~$}:-]/ && text !~ /^[A-Za-z0-9_]/ && start in folder && !is_there(path))
                complain("there is no " path " in this tree: name the file that has it now")
        }
        # A file without its folder, in a comment of code: any file called so.
        text = place ~ /\.(c|h|def|proto):/ ? all_text : ""
        while ((path = next_match("[a-z_0-9]+\\.(c|h|def|proto|py|sql)")) != "")
            if (before !~ /[A-Za-z0-9_\/<.-]/ && text !~ /^[A-Za-z0-9_]/ && !(path in base))
                complain("no file in this tree is called " path ": name the one that has it now")
        # A quotation may begin on the line after the name.
        text = (open ? "ARCHITECTURE.md, " : "") all_text
        open = text ~ /ARCHITECTURE\.md[, (]*$/
        while ((quoted = next_match("ARCHITECTURE\\.md[, ]*\"[^\"]*\"|ARCHITECTURE\\.md#[A-Za-z0-9-]+")) != "") {
            sub(/^ARCHITECTURE\.md[, ]*/, "", quoted)
            gsub(/"/, "", quoted)
            if (!(quoted in heading))
                complain("ARCHITECTURE.md has no part \"" quoted "\"")
        }
    }
    END { exit bad }' || exit 1
say "names: in the comments of ${#sources[@]} sources and in ${#texts[@]} texts, all are there"
