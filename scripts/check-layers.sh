#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Holds the tree to ARCHITECTURE.md, whose two fenced blocks are the only lists:
#   ```layers      top to bottom: a file includes only its own layer and those below it (unit tests may
#                  look up, for something real to work on)
#   ```libraries   which folders may include the headers of an outside library
# No two modules use each other, nor do more of them in a circle.
# And nothing below cli/ prints, exits or aborts, and nothing but base/clock reads the date (unit tests
# aside).
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$root"

# The lines of the block ```NAME in ARCHITECTURE.md.
block() {
    awk -v name="$1" '$0 == "```" name {on = 1; next} /^```/ {on = 0} on && NF' ARCHITECTURE.md
}
layers=$(block layers | awk '{print $1}')
libraries=$(block libraries)
[ -n "$layers" ] || die "ARCHITECTURE.md has no block that starts with \`\`\`layers"
[ -n "$libraries" ] || die "ARCHITECTURE.md has no block that starts with \`\`\`libraries"

check_includes() {
    awk -v layers="$layers" -v libraries="$libraries" '
        function complain(what) {
            printf "%s:%d: %s\n", FILENAME, FNR, what
            bad = 1
        }
        # The layer of a path below src/: its folder, or a room of it that is listed as a layer itself.
        function layer_of(path,    part) {
            split(path, part, "/")
            return part[1] "/" part[2] in height ? part[1] "/" part[2] : part[1]
        }
        # Is path within one of the folders (ending in /) or files listed from word 3 on?
        function allowed(path, words, count,    i, n, where) {
            n = split(words, where, " ")
            for (i = count; i <= n; i++)
                if (index(path, where[i]) == 1)
                    return 1
            return 0
        }
        BEGIN {
            count = split(layers, name, "\n")
            for (i = 1; i <= count; i++)
                height[name[i]] = count - i + 1
            libs = split(libraries, lib, "\n")
        }
        FNR == 1 {
            mine = FILENAME
            sub(/^src\//, "", mine)
            mine = layer_of(mine)
            if (FILENAME ~ /^src\// && !(mine in height))
                complain("the folder " mine "/ is no layer of ARCHITECTURE.md: add it to the list, in its place")
        }
        !/^[ \t]*#[ \t]*include[ \t]*[<"]/ { next }
        {
            header = $0
            sub(/^[ \t]*#[ \t]*include[ \t]*[<"]/, "", header)
            sub(/[>"].*/, "", header)
            for (i = 1; i <= libs; i++) {
                split(lib[i], word, " ")
                if (index(header, word[2]) == 1 && FILENAME !~ /_test\.c$/ && !allowed(FILENAME, lib[i], 3)) {
                    places = lib[i]
                    sub(/^[^ ]+ +[^ ]+ +/, "", places)
                    complain("<" header "> belongs to " word[1] ", which only " places " may include")
                }
            }
            if ($0 ~ /<.*>/)
                next
            if (FILENAME ~ /^include\//) {
                if (header !~ /^shoal\//)
                    complain("a public header includes public headers only, not \"" header "\"")
                next
            }
            theirs = layer_of(header)
            if (theirs == "shoal")
                next
            if (!(theirs in height))
                complain("\"" header "\" names no layer: include it as \"<layer>/<noun>.h\"")
            else if (FILENAME ~ /^src\// && FILENAME !~ /_test\.c$/ && (mine in height) && height[theirs] > height[mine])
                complain(mine "/ includes \"" header "\", and " theirs "/ is above it: move what is needed down, or hand it in")
        }
        END { exit bad }' "$@"
}

# A module, x.h with x.c, uses another where its code includes the other's header; what headers include is there
# for types, but for x_impl.h, which a module and its parts share and which may include x.h.
check_circles() {
    awk '
        function module_of(path) {
            sub(/^(src|include)\//, "", path)
            sub(/\.[ch]$/, "", path)
            return path
        }
        # Takes out what is in no circle: again and again, each module that no other leads to, or that leads to none.
        function prune(    edge, end, gone, from, to) {
            do {
                gone = 0
                for (edge in place) {
                    split(edge, end, SUBSEP)
                    leads[end[1]] = 1
                    led[end[2]] = 1
                }
                for (edge in place) {
                    split(edge, end, SUBSEP)
                    if (!(end[1] in led) || !(end[2] in leads)) {
                        delete place[edge]
                        gone = 1
                    }
                }
                split("", leads)
                split("", led)
            } while (gone)
        }
        # Says the shortest circle through this include, and takes its modules out.
        function complain(edge,    end, queue, at, count, other, to, before, text) {
            split(edge, end, SUBSEP)
            queue[count = 1] = end[2]
            before[end[2]] = end[2]
            for (at = 1; at <= count && !(end[1] in before); at++)
                for (other in place) {
                    split(other, to, SUBSEP)
                    if (to[1] == queue[at] && !(to[2] in before)) {
                        before[to[2]] = to[1]
                        queue[++count] = to[2]
                    }
                }
            if (!(end[1] in before))
                return 0
            for (at = end[1]; at != end[2]; at = before[at])
                text = " -> " at text
            printf "%s: modules use each other in a circle, %s -> %s%s: join them, or hand in what one needs\n",
                place[edge], end[1], end[2], text
            for (at = end[1]; ; at = before[at]) {
                for (other in place) {
                    split(other, to, SUBSEP)
                    if (to[1] == at || to[2] == at)
                        delete place[other]
                }
                if (at == end[2])
                    break
            }
            return 1
        }
        /^[ \t]*#[ \t]*include[ \t]*"/ && FILENAME ~ /(\.c|_impl\.h)$/ && FILENAME !~ /_test\.c$/ {
            split($0, quoted, "\"")
            from = module_of(FILENAME)
            to = module_of(quoted[2])
            if (from != to && from != to "_impl" && !((from, to) in place))
                place[from, to] = FILENAME ":" FNR
        }
        END {
            for (found = 1; found;) {
                prune()
                found = 0
                for (edge in place)
                    if (complain(edge)) {
                        found = bad = 1
                        break
                    }
            }
            exit bad
        }' "$@"
}

# Of the files, those with a match in their text, comments too: only they are looked at closely.
files_with() {
    grep -lE "$@" || true
}
# The beginning of a word; words are followed by blanks and a parenthesis.
begin='(^|[^A-Za-z0-9_>.])'

check_quiet() {
    local file status=0
    local prints='(printf|vprintf|puts|putchar|perror|psignal|warnx?|errx?)'
    local prints_to='(fprintf|vfprintf|fputs|fputc|putc|fwrite|dprintf)'
    local ends='(exit|_exit|_Exit|quick_exit|abort)'
    for file in $(files_with "$begin($prints|$prints_to|$ends)[[:blank:]]*\(" "$@"); do
        case $file in src/cli/* | *_test.c) continue ;; esac
        awk -f scripts/strip-comments.awk "$file" |
            awk -v file="$file" -v begin="$begin" -v prints="$begin$prints" -v prints_to="$begin$prints_to" -v ends="$begin$ends" '
            $0 ~ prints "[ \t]*\\(" || $0 ~ prints_to "[ \t]*\\(.*std(out|err)" ||
            $0 ~ begin "dprintf[ \t]*\\([ \t]*(1|2|STD(OUT|ERR)_FILENO)[ \t]*," {
                printf "%s:%d: only cli/ prints: return a status, log an event, or hand the text up\n", file, NR
                bad = 1
            }
            $0 ~ ends "[ \t]*\\(" {
                printf "%s:%d: only cli/ ends the program: return sh_fail(...), or assert what cannot be\n", file, NR
                bad = 1
            }
            END { exit bad }' || status=1
    done
    return $status
}

# Somebody may set the date while a job runs, so only stamps and names may follow it: base/clock gives it, and a
# condition with a deadline is on the monotonic clock.
check_clocks() {
    local file status=0
    local dates='(CLOCK_REALTIME|CLOCK_REALTIME_COARSE|CLOCK_TAI)'
    local reads='(time|gettimeofday|ftime|timespec_get|pthread_mutex_timedlock|sem_timedwait)'
    for file in $(files_with "$begin($dates|($reads|pthread_cond_timedwait)[[:blank:]]*\()" "$@"); do
        case $file in src/base/clock.c | *_test.c) continue ;; esac
        awk -f scripts/strip-comments.awk "$file" |
            awk -v file="$file" -v begin="$begin" -v dates="$begin$dates" -v reads="$begin$reads" '
            $0 ~ dates || $0 ~ reads "[ \t]*\\(" {
                printf "%s:%d: the date may jump: hand a sh_clock in, or sh_clock_date() for people to read\n", file, NR
                bad = 1
            }
            /pthread_condattr_setclock[ \t]*\(.*CLOCK_MONOTONIC/ { monotonic = 1 }
            $0 ~ begin "pthread_cond_timedwait[ \t]*\\(" && !waits { waits = NR }
            END {
                if (waits && !monotonic) {
                    printf "%s:%d: waits by the date: give the condition CLOCK_MONOTONIC\n", file, waits
                    bad = 1
                }
                exit bad
            }' || status=1
    done
    return $status
}

mapfile -t files < <(project_files 'src/*.c' 'src/*.h' 'include/*.h')
status=0
check_includes "${files[@]}" || status=1
check_circles "${files[@]}" || status=1
check_quiet "${files[@]}" || status=1
check_clocks "${files[@]}" || status=1
[ $status -eq 0 ] && say "layers: ${#files[@]} files in $(wc -w <<<"$layers") layers, all pointing down"
exit $status
