#!/usr/bin/env bash
# environment.sh FOLDER REQUIREMENTS: a Python environment in FOLDER that holds what the file pins.
# FOLDER/.complete holds the requirements it was made from and is written last: an interrupted environment is made anew,
# a complete one of other requirements gets them installed on top (what else lives there stays), one of these costs
# nothing.
set -euo pipefail
. "$(dirname "$0")/common.sh"

folder=$1
requirements=$2
if cmp -s "$requirements" "$folder/.complete"; then
    exit 0
fi

python=$(find_python) || fail "found no Python ≥ 3.11 with venv and headers; name one with: make PYTHON=/path/to/python3"
say "$folder: installing $(grep -vc '^#' "$requirements") package(s) with $python"
if [ -e "$folder/.complete" ]; then
    rm "$folder/.complete"
else
    mkdir -p "$(dirname "$folder")"
    rm -rf "$folder"
    "$python" -m venv "$folder"
fi
# Environments hold absolute paths, so they are made in place and not renamed into it.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements" ||
    fail "pip could not install $requirements (see above). Check its configuration with: pip config list"
cp "$requirements" "$folder/.complete.part"
mv "$folder/.complete.part" "$folder/.complete"
