#!/usr/bin/env bash
# test.sh ARGUMENTS…: pytest with these. What fails is run once more, one test after the other, and has to pass then:
# jobs of many ranks beside each other on few cores sometimes wait longer than a test has patience for, or are disturbed
# while they measure. Tests that needed it are named. More than a handful are no accident: those are not run again.
set -uo pipefail
. "$(dirname "$0")/common.sh"

most=5
tests_failed=1 # pytest's exit code
failures=.pytest_cache/v/cache/lastfailed
# Some containers tell Python to keep nothing that it compiles. Tests start it some thousand times: as themselves, as the
# command, as ranks.
unset PYTHONDONTWRITEBYTECODE

.venv/bin/python -m pytest "$@"
code=$?
[ "$code" -eq "$tests_failed" ] || exit "$code"

names=$(.venv/bin/python -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' "$failures") || exit "$code"
[ "$(wc -l <<<"$names")" -le "$most" ] || exit "$code"
say "failed, and run again with nothing beside them:"$'\n'"$names"
.venv/bin/python -m pytest "$@" -n 0 --last-failed
