#!/usr/bin/env bash
# Brings build/release and what is installed from it into .venv up to date. Does nothing when nothing has changed.
set -euo pipefail
. "$(dirname "$0")/common.sh"

site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
cmake --build build/release -- --quiet || fail "the build failed, see above"
cmake --install build/release --prefix "$site" >/dev/null
