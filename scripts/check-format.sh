#!/usr/bin/env bash
# check-format.sh FILES…: fails when clang-format would change any of them, and names those.
set -euo pipefail
. "$(dirname "$0")/common.sh"

[ $# -gt 0 ] || exit 0
clang-format-14 --dry-run --Werror "$@" 2>&1 | sed -n 's/^\(.*\):[0-9]*:[0-9]*: error:.*/\1/p' | sort -u >&2 ||
    fail "the files above are not in the project's format; run: make format"
