#!/usr/bin/env bash
# configure-quick.sh FOLDER: sets a build up there that is compiled once and soon, for who wants to see and not to work.
set -euo pipefail
. "$(dirname "$0")/common.sh"

folder=$1
mkdir -p "$folder"
cmake -S "$(dirname "$0")/.." -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
    -DESPALIER_QUICK=ON -DCMAKE_DISABLE_FIND_PACKAGE_SimGrid=ON >"$folder/configuring.log" 2>&1 ||
    { cat "$folder/configuring.log" >&2; fail "CMake could not set the build up, see above"; }
