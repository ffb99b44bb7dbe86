#!/usr/bin/env bash
# prefix.sh install|uninstall: Espalier below PREFIX (/usr/local unless it is set), or below DESTDIR for who makes packages.
# The `espalier` command runs with PYTHON, or the first Python that fits.
set -euo pipefail
. "$(dirname "$0")/common.sh"

prefix=${PREFIX:-/usr/local}
export DESTDIR=${DESTDIR:-}
# What was installed, beside it: the build folder may be gone by then, or have been installed elsewhere since.
manifest=$DESTDIR$prefix/lib/espalier/install_manifest.txt

install_prefix() {
    local python nanobind
    case $prefix in /*) ;; *) fail "PREFIX=$prefix: write it from the root on, e.g. PREFIX=$PWD/$prefix" ;; esac
    python=$(find_python) || fail "found no Python ≥ 3.11 with headers; name one with: make install PYTHON=/path/to/python3"
    nanobind=$(.venv/bin/python -m nanobind --cmake_dir)
    cmake -S . -B build/prefix -G Ninja -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_DISABLE_FIND_PACKAGE_SimGrid=ON \
        -DESPALIER_BINDINGS=ON -DPython_EXECUTABLE="$python" -Dnanobind_ROOT="$nanobind" >/dev/null
    say "building in build/prefix"
    scripts/prepare-command.sh build/prefix
    cmake --build build/prefix || fail "the build failed, see above"
    cmake --install build/prefix --strip >/dev/null || fail "could not install below $DESTDIR$prefix, see above"
    { cat build/prefix/install_manifest.txt && printf '\n%s\n' "${manifest#"$DESTDIR"}"; } >"$manifest"
    say "installed below $DESTDIR$prefix; \`make uninstall\` removes it"
}

uninstall_prefix() {
    local file folder
    [ -f "$manifest" ] || fail "$manifest is missing: nothing is installed there; name the place with PREFIX= and DESTDIR="
    while IFS= read -r file; do
        rm -f "$DESTDIR$file"
        printf '%s\n' "${file%/*}"
    done <"$manifest" | sort -ru | while IFS= read -r folder; do
        rm -rf "$DESTDIR$folder/__pycache__" # what Python has left
        remove_empty "$folder"
    done
    say "removed from $DESTDIR$prefix"
}

# The folder and those around it, as long as nothing else lies there and they are not the prefix.
remove_empty() { # FOLDER
    local folder=$1
    while [ "$folder" != "$prefix" ] && rmdir "$DESTDIR$folder" 2>/dev/null; do
        folder=${folder%/*}
    done
}

case ${1:-} in
install) install_prefix ;;
uninstall) uninstall_prefix ;;
*) fail "prefix.sh: write install or uninstall" ;;
esac
