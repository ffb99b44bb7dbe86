#!/usr/bin/env bash
# prepare-command.sh BUILD_FOLDER: what the command of a prefix has beside it: man pages and completions (share), and the
# packages that it imports (packages), of which only the modules count.
set -euo pipefail
. "$(dirname "$0")/common.sh"

PYTHONPATH=python .venv/bin/python packaging/pages.py "$1/share"
rm -rf "$1/packages"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --target "$1/packages" \
    -r scripts/requirements/command.txt || fail "pip could not fetch what the command needs, see above"
rm -rf "$1/packages/bin"
compiled=$(find "$1/packages" -name '*.so')
[ -z "$compiled" ] || fail "for one Python only: $compiled; choose other versions in scripts/requirements/command.txt"
