#!/usr/bin/env bash
# timed.sh NAME COMMAND…: runs the command and says how long it took, so that logs tell where the time goes.
set -euo pipefail
. "$(dirname "$0")/common.sh"

name=$1
shift
"$@" || fail "$name failed after $SECONDS s"
say "$name: $SECONDS s"
