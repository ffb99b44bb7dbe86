#!/usr/bin/env bash
# Builds Espalier in build/release and makes .venv/bin/espalier run from this source tree (an editable installation).
set -euo pipefail
. "$(dirname "$0")/common.sh"

say "building in build/release (the first time takes a few minutes)"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
    --config-settings build-dir=build/release \
    --config-settings cmake.define.ESPALIER_TESTS=ON \
    --config-settings cmake.define.ESPALIER_WERROR=ON \
    --editable . || fail "the build failed, see above; after a correction run make again"
