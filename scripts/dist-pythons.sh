#!/usr/bin/env bash
# dist-pythons.sh VERSION…: an interpreter of each that runs. What is first on the PATH may be a version manager's stand-in
# for one that is not switched on, which runs nothing: then those that it keeps are asked. One that is nowhere is named.
set -euo pipefail
. "$(dirname "$0")/common.sh"

for version in "$@"; do
    found=
    for candidate in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python "/usr/bin/python$version"; do
        if found=$("$candidate" -c 'import ensurepip, sys; print(sys.executable)' 2>/dev/null); then break; fi
    done
    if [ -n "$found" ]; then echo "$found"; else say "no Python $version that runs and makes environments: there is no wheel for it"; fi
done
