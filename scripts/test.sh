#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the checks and tests; exits 0 only if all passed.
#
#     scripts/test.sh                     the stages from lint to fuzz
#     scripts/test.sh lint unit           only these stages, in this order
#     scripts/test.sh fuzz --fuzz-seconds 60
#
#   lint      form, layers, sizes, documents, names; and that these checks find what they are for
#   tidy      clang-tidy's bug patterns and the static analyzer
#   unit      a release with warnings as errors: unit, end-to-end and package tests
#   asan      the same tests under the address and undefined-behaviour sanitizers
#   tsan      and under the thread sanitizer
#   fuzz      every fuzz target for a few seconds (--fuzz-seconds N, 5)
#
# Only where they are named, since they need a mirror of Debian:
#
#   arm       cross builds for 64-bit and 32-bit Arm: unit tests and trainings under qemu, alone and with x86-64
#   bare      in the other release of Debian, bare (needs root, debootstrap): the quickstart, the packages, and
#             the stage unit without the end-to-end tests that tell nothing of a release
#
# --but REGEX leaves out tests of the stage unit by their names.
# --no-install skips looking for missing packages. Real data is looked for in SHOAL_TEST_DATA.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$root"
export LC_ALL=C

usual_stages=(lint tidy unit asan tsan fuzz)
all_stages=("${usual_stages[@]}" arm bare)
stages=()
fuzz_seconds=5
but=
install=yes
while [ $# -gt 0 ]; do
    case $1 in
    --fuzz-seconds)
        fuzz_seconds=${2:?--fuzz-seconds needs a number}
        shift
        ;;
    --but)
        but=${2:?--but needs a regular expression}
        shift
        ;;
    --no-install) install=no ;;
    -h | --help)
        sed -n '3,/^set /{s/^# \{0,1\}//;/^set /d;p}' "$0"
        exit 0
        ;;
    *)
        [[ " ${all_stages[*]} " == *" $1 "* ]] || die "unknown stage or option '$1'; stages: ${all_stages[*]}"
        stages+=("$1")
        ;;
    esac
    shift
done
[[ $fuzz_seconds =~ ^[1-9][0-9]*$ ]] || die "--fuzz-seconds $fuzz_seconds: a whole number of seconds, at least 1"
[ ${#stages[@]} -gt 0 ] || stages=("${usual_stages[@]}")

if [ -z "${SHOAL_TEST_DATA:-}" ] && [ -d ../shared/data ]; then
    SHOAL_TEST_DATA=$(cd ../shared/data && pwd)
    export SHOAL_TEST_DATA
fi
[ $install = no ] || scripts/install-dependencies.sh build test
jobs=$(job_count)
mkdir -p build

# build_and_test PRESET [--tests REGEX] [--but REGEX] [configure options]
build_and_test() {
    local preset=$1 runner=() tests=()
    shift
    if [ "${1:-}" = --tests ]; then
        tests+=(--tests-regex "$2")
        shift 2
    fi
    if [ "${1:-}" = --but ]; then
        tests+=(--exclude-regex "$2")
        shift 2
    fi
    cmake --preset "$preset" "$@" >"build/configure-$preset.log" 2>&1 || {
        tail -n 20 "build/configure-$preset.log"
        return 1
    }
    cmake --build --preset "$preset" --parallel "$jobs" | tail -n 400 >"build/build-$preset.log" || {
        grep -E 'error|warning|FAILED' "build/build-$preset.log" | head -n 40
        say "building $preset failed: build/build-$preset.log"
        return 1
    }
    # The thread sanitizer wants its shadow memory where a widely random layout may put something else.
    if [ "$preset" = tsan ] && setarch "$(uname -m)" -R true 2>/dev/null; then
        runner=(setarch "$(uname -m)" -R)
    fi
    # End-to-end tests wait more than they compute, so there is one more than there are processors; but not
    # in a release, whose deadlines are the program's own.
    local status=0 slots=$jobs
    [[ $preset == *san ]] && slots=$((jobs + 1))
    "${runner[@]}" ctest --preset "$preset" --parallel "$slots" "${tests[@]}" || status=$?
    awk -f scripts/count-tests.awk "build/$preset/Testing/Temporary/LastTest.log"
    return $status
}

stage_lint() {
    local check status=0
    for check in format layers sizes docs names prose checks; do
        "scripts/check-$check.sh" || status=1
    done
    return $status
}
stage_tidy() {
    # Configured and with its generated headers, nothing else: the checks read sources. A debug build's,
    # because assertions tell the analyzer what cannot be.
    { cmake --preset debug && cmake --build --preset debug --target shoal_messages; } \
        >build/configure-debug.log 2>&1 || {
        tail -n 20 build/configure-debug.log
        return 1
    }
    project_files 'src/*.c' | grep -v '_test\.c$' | while read -r file; do
        # Only what this build compiles: not what another processor's variant or a missing library has.
        grep -qF "/$file\"" build/debug/compile_commands.json && printf '%s\n' "$file"
    done | xargs -r -n 4 -P "$jobs" clang-tidy -p build/debug --quiet 2>build/tidy.log || {
        say "clang-tidy complained (above; what it could not parse is in build/tidy.log)"
        return 1
    }
    say "tidy: nothing found"
}
stage_unit() { build_and_test ci ${but:+--but "$but"}; }
# Without what is about the tools around the program, Open MPI, what computes more of what others do, and long tests
# of several devices that the thread sanitizer runs too.
stage_asan() {
    build_and_test asan --but '^train\.golden$|^e2e\.(course|harness|lab|mpi|pretrained|async|audit|chaos|devices|elastic|journal|keep|local|loss|reading|standby|succession)$'
}
# Without what has the threads of a test that is there: one process that trains, or reads what another one left.
# (Tests with one thread are skipped by themselves.)
stage_tsan() {
    build_and_test tsan --but '^sim\.|^train\.golden|^e2e\.(bad_data|bad_input|cli|eval|export|harness|lab|onnx|onnx_use|photos|pictures|plan|predict|pretrained|report|runs|sweep|tensorboard|trained)$'
}
stage_fuzz() { build_and_test fuzz -DSHOAL_FUZZ_SECONDS="$fuzz_seconds"; }
# The unit tests of both cross builds, then trainings of these programs beside those of this machine's.
stage_arm() {
    local status=0
    [ $install = no ] || scripts/install-dependencies.sh build test arm
    scripts/make-sysroot.sh arm64 armhf
    build_and_test arm64 || status=1
    build_and_test armhf || status=1
    sed -nE 's/^([a-z][^ ]*) +(.*)/  skipped: under qemu: \2: \1/p' test/arm/not_emulated.txt
    cmake --preset ci >build/configure-ci.log 2>&1
    cmake --build --preset ci --parallel "$jobs" --target shoal >build/build-ci.log
    SHOAL=$root/build/ci/shoal SHOAL_ARM64=$root/build/arm64/shoal SHOAL_ARMHF=$root/build/armhf/shoal \
        python3 -B test/arm/weights_test.py || status=1
    return $status
}
# The release that this machine does not run, as the stage unit tests the one that it does.
stage_bare() {
    local own release reason=
    own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ "$own" = trixie ] && release=bookworm || release=trixie
    if [ "$(id -u)" -ne 0 ]; then
        reason="needs root"
    elif ! command -v debootstrap >/dev/null; then
        reason="debootstrap is missing"
    elif ! unshare --mount true 2>/dev/null; then
        reason="this machine lets nobody mount"
    fi
    if [ -n "$reason" ]; then
        say "  skipped: bare ($release): $reason"
        return 77
    fi
    # Of the end-to-end tests only those of what is another program or library there: Open MPI, OpenSSL, Python.
    scripts/check-bare.sh $release scripts/quickstart.sh packages \
        "scripts/test.sh unit --but '^e2e[.](async|chaos|clock|course|delivery|elastic|flip|journal|lab|local|loss|memory|network|plan|sweep)'"
}

summary=()
failed=()
skipped=()
for stage in "${stages[@]}"; do
    say ""
    say "=== $stage"
    began=$SECONDS
    set +e
    (
        set -e
        "stage_$stage"
    ) 2>&1 | tee "build/test-$stage.log"
    status=${PIPESTATUS[0]}
    set -e
    verdict=passed
    if [ "$status" -eq 77 ]; then
        verdict=skipped
        skipped+=("$stage")
    elif [ "$status" -ne 0 ]; then
        verdict=FAILED
        failed+=("$stage")
    fi
    closing=$(grep -E '^[0-9]+% tests passed|^[0-9]+ tests in them: ' "build/test-$stage.log" | tail -n 2 | paste -s -d ';' || true)
    summary+=("$(printf '%-8s %-7s %4d s   %s' "$stage" $verdict $((SECONDS - began)) "${closing//;/; }")")
    mapfile -t -O ${#summary[@]} summary < <(grep '^  skipped: ' "build/test-$stage.log" || true)
done

say ""
say "=== summary (logs: build/test-STAGE.log)"
printf '%s\n' "${summary[@]}"
if [ ${#failed[@]} -gt 0 ]; then
    say "FAILED: ${failed[*]}"
    exit 1
fi
if [ ${#skipped[@]} -gt 0 ]; then
    say "passed in $SECONDS s, but for what was skipped: ${skipped[*]}"
    exit 0
fi
say "all passed in $SECONDS s"
