#!/usr/bin/env bash
# dist.sh PYTHON…: a wheel for each Python's binary interface in dist/, for every Linux of this machine's kind with glibc
# 2.28 or later, stripped, and beside it the debug files and a list of what it is made of. From Python 3.12 on one wheel serves all later ones, too.
# MACHINE=aarch64: for 64-bit ARM, with Debian's cross compiler; of a Python from 3.12 on, whose wheel does not tell which one built it.
set -euo pipefail
. "$(dirname "$0")/common.sh"

machine=${MACHINE:-$(uname -m)}
source=$PWD
work=$source/build/dist
build=$work
toolchain=manylinux.cmake
tools=
cross=()
if [ "$machine" != "$(uname -m)" ]; then
    build=$work/$machine
    toolchain=manylinux-$machine.cmake
    tools=$machine-linux-gnu-
    # What no processor has a part in: headers, and the module's description, which that of this machine has been asked for.
    cross=(--config-settings cmake.define.ESPALIER_ARM="$build/sysroot"
        --config-settings cmake.define.ESPALIER_STUB="$work/build/python/espalier/_core.pyi")
    [ -f "cmake/toolchains/$toolchain" ] || fail "MACHINE=$machine: there is no cmake/toolchains/$toolchain"
fi
platform=manylinux_2_28_$machine
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
export SOURCE_DATE_EPOCH
umask 022 # the archives say what rights files have

# All in one build folder: only the core is compiled for each Python.
build_wheel() { # ENVIRONMENT
    rm -rf "$build/wheel"
    "$1/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$build/wheel" \
        --config-settings build-dir="$build/build" \
        --config-settings cmake.define.CMAKE_TOOLCHAIN_FILE="$source/cmake/toolchains/$toolchain" \
        --config-settings cmake.define.ESPALIER_GLIBC="$build/glibc" \
        "${cross[@]}" \
        --config-settings cmake.define.ESPALIER_WERROR=ON \
        --config-settings install.strip=true \
        --config-settings wheel.py-api=cp312 . || fail "the wheel could not be built, see above"
    "$1/bin/python" -m wheel tags --remove --platform-tag "$platform" "$build/wheel"/*.whl >/dev/null
}

# Debug information by build-id, the way gdb looks it up: unpack into a folder and `set debug-file-directory` to it.
collect_debug() { # WHEEL ARCHIVE
    local name file id folder=$build/debug
    rm -rf "$folder"
    while IFS= read -r name; do
        file=$(find "$build/build" -type f -name "${name##*/}" -print -quit)
        id=$(readelf -n "$file" | sed -n 's/.*Build ID: //p')
        mkdir -p "$folder/.build-id/${id:0:2}"
        "${tools}objcopy" --only-keep-debug --compress-debug-sections "$file" "$folder/.build-id/${id:0:2}/${id:2}.debug"
    done < <(python3 -m zipfile -l "$1" | grep -oE '^espalier/(lib)?(_core|espalier)[^ /]*' | grep -v '\.pyi$')
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$folder" -cf "$2" .build-id
}

[ $# -gt 0 ] || fail "no Python to build a wheel with; name some: make dist DIST_PYTHONS=\"/path/to/python3.11 /path/to/python3.12\""
mkdir -p dist
rm -f dist/*"_$machine".*
if [ -z "$tools" ]; then
    rm -f dist/*.deb # which are made of this machine's wheels
else
    scripts/aarch64-sysroot.sh "$build/sysroot"
fi
for python in "$@"; do
    tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])') || fail "$python is no Python that works"
    PYTHON=$python scripts/environment.sh "$work/env-$tag" scripts/requirements/dist.txt
    [ -f "$build/glibc/libc.so" ] || scripts/old-glibc.sh "$work/env-$tag/bin/python" "$build/glibc" "$machine"
    say "building the wheel for $tag in ${build#"$source/"}/build"
    build_wheel "$work/env-$tag"
    wheel=$(basename "$build/wheel"/*.whl)
    collect_debug "$build/wheel/$wheel" "dist/${wheel%.whl}.debug.tar"
    mv "$build/wheel/$wheel" dist/
    "$work/env-$tag/bin/python" packaging/sbom.py "dist/$wheel" "dist/${wheel%.whl}.cdx.json"
    say "dist/$wheel"
done
