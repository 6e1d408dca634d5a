#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A check that cannot fail checks nothing: gives each one a copy of the tree with one deliberate
# violation, and wants it found at its file and line. The copy has every header, but the code of one layer
# alone (names are all over the tree, and the reference pages are about all of it): the checks pass there, and what
# they take is mostly a matter of how many files there are.
#
#     scripts/check-checks.sh             all, several at a time
#     scripts/check-checks.sh layers      what scripts/check-layers.sh has to find
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

if [ $# -eq 0 ]; then
    printf '%s\n' layers format sizes docs names | xargs -n 1 -P "$(job_count)" "$0" || die "a check does not find what it is for (above)"
    exit
fi
only=$1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree"
project_files '*' | awk -v all="$([[ $only =~ ^(names|docs)$ ]] && echo 1)" 'all || !/\.c$/ || /^(src\/base|examples)\//' | (cd "$root" && tar -c -T -) | tar -x -C "$work/tree"
cd "$work/tree"
export SHOAL_NO_SITE=1 # no violation below is one of the site's
unset "${!GIT_@}" # a hook may have set them to the real tree, which must not be cleaned
git -c init.defaultBranch=main init -q .
git add -A

status=0
tried=0
if ! output=$("scripts/check-$only.sh" 2>&1); then
    say "scripts/check-$only.sh:1: refuses a tree without a violation: $output"
    status=1
fi
# expect CHECK PLACE WORDS: the check fails and says so at this place, in these words. What was
# broken is put back.
expect() {
    local check=$1 place=$2 words=$3 output
    if [ "$check" != "$only" ]; then
        put_back
        return
    fi
    tried=$((tried + 1))
    if output=$("scripts/check-$check.sh" 2>&1); then
        say "scripts/check-$check.sh:1: accepts a violation: $words"
        status=1
    elif ! grep -qE "^$place: .*$words" <<<"$output"; then
        say "scripts/check-$check.sh:1: does not say '$place: ... $words', but: $output"
        status=1
    fi
    put_back
}
put_back() {
    git clean -qfdx
    git checkout -q .
}
# Changes a source of the tree, which only the copies for names and documents have: FILE SED.
edit() {
    [ -e "$1" ] && sed -i "$2" "$1" || true
}
# Makes a source file of the given lines, after its SPDX line.
source_file() {
    local path=$1
    shift
    mkdir -p "$(dirname "$path")"
    printf '%s\n' '/* SPDX-License-Identifier: Apache-2.0 */' "$@" >"$path"
}
many() { for _ in $(seq "$1"); do say "$2"; done; }

source_file src/tensor/wrong.c '#include "train/lane.h"'
expect layers src/tensor/wrong.c:2 'train/ is above it'
source_file src/tensor/wrong.c '#include "lane.h"'
expect layers src/tensor/wrong.c:2 'names no layer'
source_file src/helper/wrong.c '#include "base/fail.h"'
expect layers src/helper/wrong.c:1 'is no layer of ARCHITECTURE.md'
source_file include/shoal/wrong.h '#include "base/fail.h"'
expect layers include/shoal/wrong.h:2 'public headers only'
source_file src/model/wrong.c '#include <openssl/ssl.h>'
expect layers src/model/wrong.c:2 'belongs to OpenSSL'
source_file src/train/wrong.c '#include <openssl/evp.h>'
expect layers src/train/wrong.c:2 'belongs to OpenSSL'
source_file src/node/protocol/wrong.c '#include "node/job/training_loop.h"'
expect layers src/node/protocol/wrong.c:2 'node/job/ is above it'
source_file src/node/wrong.c '#include "base/fail.h"'
expect layers src/node/wrong.c:1 'is no layer of ARCHITECTURE.md'
source_file src/node/job/wrong.c '#include <event2/event.h>'
expect layers src/node/job/wrong.c:2 'belongs to libevent'
source_file src/data/wrong.c '#include "data/wrongs_impl.h"'
source_file src/data/wrongs_impl.h '#include "data/wrongs.h"' '#include "data/wronger.h"'
source_file src/data/wronger.c '#include "data/wrong.h"'
expect layers 'src/data/wrong[a-z_]*\.[ch]:[23]' 'in a circle, data/wrong.* -> data/wrong.* -> data/wrong.* -> data/wrong'
source_file src/data/wrong.c '/* printf( and exit( in words are fine */' 'void f(void)' '{' \
    '    snprintf(t, 2, "exit(");' '    printf("x");' '}'
expect layers src/data/wrong.c:6 'only cli/ prints'
source_file src/data/wrong.c '    fputs("x", stderr);'
expect layers src/data/wrong.c:2 'only cli/ prints'
source_file src/data/wrong.c '    if (bad) abort();'
expect layers src/data/wrong.c:2 'only cli/ ends the program'
source_file src/data/wrong.c '    _exit(1);'
expect layers src/data/wrong.c:2 'only cli/ ends the program'

source_file src/data/wrong.c '/* CLOCK_REALTIME and time(NULL) in words are fine */' \
    '    uptime(x); a.time(x); clock_gettime(CLOCK_MONOTONIC, &now);' '    clock_gettime(CLOCK_REALTIME, &now);'
expect layers src/data/wrong.c:4 'the date may jump'
source_file src/data/wrong.c '    srand(time(NULL));'
expect layers src/data/wrong.c:2 'the date may jump'
source_file src/data/wrong.c '    pthread_cond_timedwait(&c, &m, &t);'
expect layers src/data/wrong.c:2 'waits by the date'

source_file src/data/wrong.c '/* size: no */' 'int f(int x)' '{' "$(many 77 '    x++;')" '    return x;' '}'
expect sizes src/data/wrong.c:3 'f\(\) has 81 lines'
source_file src/data/wrong.c "$(many 800 'int x;')"
expect sizes src/data/wrong.c:801 'a file of 801 lines'
source_file src/data/wrong.h "$(many 150 'int x;')"
expect sizes src/data/wrong.h:151 'a header of 151 lines'
source_file include/shoal/wrong.h "$(many 200 'int x;')"
expect sizes include/shoal/wrong.h:201 'a public header of 201 lines'
source_file src/data/fail.h 'int x;'
expect sizes src/base/fail.h:1 'another file is called fail.h'
# And what is allowed: a long function with its reason.
source_file src/data/right.c '/*' ' * size: one pass over the tile keeps the sums in registers.' ' */' \
    'int f(int x)' '{' "$(many 80 '    x++;')" '    return x;' '}'
if [ "$only" = sizes ] && scripts/check-sizes.sh | grep '^src/data/right.c:'; then
    say "scripts/check-sizes.sh:1: refuses a long function that gives its reason (above)"
    status=1
fi
put_back

source_file src/data/wrong.c 'int  x;'
expect format src/data/wrong.c:2:4 'clang-format'
mkdir -p src/data
say 'int x;' >src/data/wrong.c
expect format src/data/wrong.c:1 'SPDX'
printf '%s\n' 'x = 1 ' >test/wrong.py
expect format test/wrong.py:1 'blanks at the end'
printf '%s' 'x = 1' >test/wrong.py
expect format test/wrong.py:0 'does not end'
source_file src/data/wrong.c '/* TO''DO: later */'
expect format 'src/data/wrong.c:2:/\* TO''DO' ''

source_file src/data/wrong.h
expect docs src/data/wrong.h:1 'docs/internals/modules.md has no line for it'
source_file src/base/fail_parts.h
if [ "$only" = docs ] && scripts/check-docs.sh | grep '^src/base/fail_parts.h:'; then
    say "scripts/check-docs.sh:1: wants a line for a part of a module that has one (above)"
    status=1
fi
put_back
echo '- `data/gone`: is not there' >>docs/internals/modules.md
expect docs 'docs/internals/modules.md:[0-9]+' 'there is no src/data/gone.h'
echo '[gone](doc/gone.md)' >README.md
expect docs README.md:1 'leads nowhere'
echo 'Run `scripts/gone.sh`.' >README.md
expect docs README.md:1 'there is no scripts/gone.sh'
sed -i 's/libssl-dev/libwrong-dev/' scripts/install-dependencies.sh
expect docs 'scripts/install-dependencies.sh:[0-9]+' 'libwrong-dev is not in the table'
echo '<!-- placeholder: x -->' >README.md
source_file src/cli/main.c
expect docs README.md:1 'a placeholder'
if command -v doxygen >/dev/null; then
    source_file include/shoal/wrong.h '/*' ' * An example.' ' */' '/* The \gone number. */' 'int sh_wrong(int x);'
    expect docs include/shoal/wrong.h:5 'unknown command'
fi
sed -i 's/^## \[/## [of /' CHANGELOG.md
expect docs CHANGELOG.md:1 'neither'
edit src/net/channel.c 's/"net.violation", "peer=/"net.violated", "peer=/'
expect docs docs/reference/events.md:1 'no row for `net.violated` \(src/net/channel.c:'
edit src/net/channel.c 's/"net.violation", "peer=%s /&size=1 /'
expect docs 'docs/reference/events.md:[0-9]+' '`net.violation` has the fields peer, reason, size'
edit src/cli/summary_output.c 's/"redone_steps"/"repeated_steps"/'
expect docs 'docs/reference/json.md:[0-9]+' '"shoal train" lacks `repeated_steps`'
edit src/store/schema.c 's/weights_hash TEXT/digest TEXT/'
expect docs 'docs/reference/run-db.md:[0-9]+' '"run" lacks `digest`'
edit src/monitor/parts.def 's/^SH_PART(between/SH_PART(rest/'
expect docs 'docs/reference/metrics.md:[0-9]+' '"Parts of a step" lacks `rest`'
edit src/net/message.h 's/#define SH_MESSAGE_PROTOCOL .*/#define SH_MESSAGE_PROTOCOL 999/'
expect docs 'docs/reference/formats.md:[0-9]+' 'the version of control messages is 999'
sed -i '/^| `gpu.failed`/d' docs/reference/events.md
expect docs docs/reference/events.md:1 'no row for `gpu.failed`'
sed -i 's/^| `wire` |/| `width` |/' docs/reference/json.md
expect docs 'docs/reference/json.md:[0-9]+' 'the code has no `width` in "shoal train"'

source_file src/data/wrong.c '/* sh_fail and sh_fail_* are there, a_sh_gone is no name of ours,' ' * but sh_gone is not. */'
expect names src/data/wrong.c:3 'the code has no sh_gone:'
source_file src/data/wrong.h '#define X(name) SH_PASTED_##name' '/* SH_PASTED_one is there, SH_GLUED_one is not. */'
expect names src/data/wrong.h:3 'the code has no SH_GLUED_one'
source_file src/data/wrong.c '/* base/fail.h, src/base/fail.c, <sys/gone.h> and 1/2.c are fine */' '/* base/gone.h is not */'
expect names src/data/wrong.c:3 'there is no base/gone.h'
source_file src/data/wrong.c '/* fail.c is fine, gone.c is not */'
expect names src/data/wrong.c:2 'is called gone.c'
source_file src/data/wrong.c '/* ARCHITECTURE.md, "Layers" is fine (ARCHITECTURE.md,' ' * "Gone") is not. */'
expect names src/data/wrong.c:3 'no part "Gone"'
echo 'Call `sh_gone()`.' >README.md
expect names README.md:1 'the code has no sh_gone'
echo 'As [said](ARCHITECTURE.md#gone).' >README.md
expect names README.md:1 'no part "#gone"'

[ $status -eq 0 ] && say "checks: each of $tried deliberate violations of $only is found"
exit $status
