# SPDX-License-Identifier: Apache-2.0
# Counts what CTest's log (Testing/Temporary/LastTest.log) tells of the tests inside of its programs: lists
# those that were skipped by their reasons, and ends with a line "N tests in them: ...". A program that
# counts none itself is one test.

# The number before or after these words in the line; 0 where the line lacks them.
function number(words) {
    return match($0, words) ? substr($0, RSTART + index(words, "[") - 1) + 0 : 0
}
function skip(name, why) {
    skips[why]++
    names[why] = names[why] (names[why] == "" ? "" : ", ") name
}

/^[0-9]+\/[0-9]+ Testing: / {
    program = $3
    for (kind in seen)
        delete seen[kind]
    counted = 0
    reason = ""
}

# cmocka's. What a program starts may say the same (reduce.mpi), but it is done before.
/^\[==========\] [0-9]+ test\(s\) run/ { counted = 1 }
/^\[  PASSED  \] [0-9]+ test/ { seen["passed"] = $4 }
/^\[  FAILED  \] [0-9]+ test/ { seen["failed"] = $4 }
/^\[  SKIPPED \] [0-9]+ test/ { seen["skipped"] = $4 }
/^\[  SKIPPED \] [a-z]/ && reason != "" {
    skip(program "." $4, reason)
    reason = ""
}

# unittest's, by test/e2e/harness.py.
/^Ran [0-9]+ tests? in / {
    counted = 1
    seen["passed"] = $2
}
/^(OK|FAILED) \(.*=[0-9]+\)$/ {
    seen["failed"] = number("failures=[0-9]+") + number("errors=[0-9]+")
    seen["skipped"] = number("skipped=[0-9]+")
    seen["passed"] -= seen["failed"] + seen["skipped"]
}

# "skipped: REASON", of the test that cmocka names next or of all, or "skipped: NAME: REASON".
/^skipped: / {
    if (reason != "")
        skip(program, reason)
    reason = substr($0, 10)
    if (match(reason, /^[A-Za-z_]+\.test_[A-Za-z0-9_]+: /)) {
        skip(program "." substr(reason, 1, RLENGTH - 2), substr(reason, RLENGTH + 1))
        reason = ""
    }
}

/^Test (Passed|Failed|Timeout)/ {
    if (reason != "")
        skip(program, reason)
    if (!counted)
        seen[$2 !~ /^Passed/ ? "failed" : reason != "" ? "skipped" : "passed"] = 1
    else if ($2 !~ /^Passed/ && !seen["failed"])
        seen["failed"] = 1 # it broke off after its last test
    for (kind in seen)
        total[kind] += seen[kind]
}

END {
    for (why in skips)
        printf "  skipped: %s (%d): %s\n", why, skips[why], names[why] | "sort"
    close("sort")
    passed = total["passed"] + 0
    failed = total["failed"] + 0
    skipped = total["skipped"] + 0
    printf "%d tests in them: %d passed, %d failed, %d skipped\n", passed + failed + skipped, passed, failed, skipped
}
