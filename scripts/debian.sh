#!/usr/bin/env bash
# debian.sh: the packages espalier, libespalier-dev and espalier-service in dist/, out of what `make dist` has compiled: one
# set for Debian 12 and later.
set -euo pipefail
. "$(dirname "$0")/common.sh"

source=$PWD
work=$source/build/debian
build=$source/build/dist/build
environment=$source/build/dist/env-cp311
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
# By the names that Python's build back end calls them.
export SOURCE_DATE_EPOCH CC=gcc CXX=g++

# The wheels' build folder in a prefix's layout: nothing but links is made again.
configure() {
    rm -f "$build/CMakeCache.txt"
    cmake -S . -B "$build" -G Ninja -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR="lib/$(uname -m)-linux-gnu" \
        -DCMAKE_TOOLCHAIN_FILE="$source/cmake/toolchains/manylinux.cmake" \
        -DESPALIER_GLIBC="$source/build/dist/glibc" -DESPALIER_WERROR=ON \
        -DESPALIER_BINDINGS=ON -DPython_EXECUTABLE="$environment/bin/python" -DESPALIER_COMMAND_PYTHON=/usr/bin/python3 \
        -Dnanobind_ROOT="$("$environment/bin/python" -m nanobind --cmake_dir)" >/dev/null
}

# The core for Python 3.12 and later, beside the one for 3.11: Python takes the one that fits.
take_later_core() {
    local wheel
    wheel=$(ls dist/*-abi3-*"_$(uname -m).whl" 2>/dev/null) || fail "dist/ holds no wheel for Python 3.12 and later; run: make dist"
    rm -rf "$work/cores"
    python3 -m zipfile -e "$wheel" "$work/cores"
}

build_packages() {
    local unit
    rm -rf "$work/packages"
    mkdir -p "$work/packages"
    cp -r packaging/debian "$work/packages/debian"
    cp packaging/systemd/espalier.default "$work/packages/debian/"
    for unit in serve collect; do
        cp "$build/systemd/espalier-$unit.service" "$work/packages/debian/espalier-service.espalier-$unit.service"
    done
    (cd "$work/packages" && BUILD="$build" CORES=$(ls "$work"/cores/espalier/_core*.so) \
        dpkg-buildpackage --build=binary --no-sign --no-check-builddeps >"$work/log" 2>&1) ||
        fail "dpkg-buildpackage failed; see $work/log"
    mv "$work"/*.deb dist/
}

command -v dh >/dev/null || fail "debhelper is missing; run: scripts/system-packages.sh dist"
[ -d "$build" ] || fail "$build is missing; run: make dist"
[ -x "$environment/bin/python" ] || fail "$environment is missing: the command's core is for Python 3.11, too; run: make dist"
mkdir -p "$work"
take_later_core
configure
scripts/prepare-command.sh "$build"
cmake --build "$build" || fail "the build failed, see above"
build_packages
say "$(cd dist && echo *.deb)"
