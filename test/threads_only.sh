#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs a test program that can start a thread, and skips (77) one that cannot: unused sections are gone from
# it, so threads_only.c is not there.
#
#     threads_only.sh NM PROGRAM
set -eu
symbols=$("$1" "$2")
case $symbols in
*" __wrap_pthread_create"*) exec "$2" ;;
esac
echo "skipped: it starts no thread"
exit 77
