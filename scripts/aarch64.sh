#!/usr/bin/env bash
# aarch64.sh [TEST…]: builds the core for 64-bit ARM, and runs its unit tests by qemu, or those of these folders of
# tests/unit. In build/aarch64; nothing of this machine's own processor is used but headers.
set -euo pipefail
. "$(dirname "$0")/common.sh"

work=$PWD/build/aarch64
sysroot=$work/sysroot
toolchain=(-G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/aarch64.cmake" -DESPALIER_ARM="$sysroot")

# Headers that know no processor. hwloc's are for its types only (docs/adr/0007).
gather_headers() {
    mkdir -p "$sysroot/usr/include" "$sysroot/usr/share"
    ln -sfn /usr/include/{asio,asio.hpp,hwloc.h,hwloc,nlohmann} "$sysroot/usr/include/"
    local config
    config=$(find /usr/include -maxdepth 2 -path '*-linux-gnu/hwloc' -print -quit)
    [ -z "$config" ] || ln -sfn "$config" "$sysroot/usr/include/"
    ln -sfn /usr/share/cmake "$sysroot/usr/share/cmake"
}

build_googletest() {
    [ -e "$sysroot/usr/lib/libgtest.a" ] && return
    cmake -S /usr/src/googletest -B "$work/googletest" "${toolchain[@]}" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$sysroot/usr" -DCMAKE_INSTALL_LIBDIR=lib >/dev/null
    cmake --build "$work/googletest" --target install >/dev/null
}

gather_headers
build_googletest
say "building for aarch64 in build/aarch64/build"
cmake -S . -B "$work/build" "${toolchain[@]}" -DESPALIER_TESTS=ON -DESPALIER_WERROR=ON >/dev/null
targets=("${@/#/test_}")
if [ $# -eq 0 ]; then
    while IFS= read -r folder; do targets+=("test_${folder%/}"); done < <(cd tests/unit && ls -d */ | grep -vx 'mpi/\|headers/')
fi
cmake --build "$work/build" --target "${targets[@]}"
for target in "${targets[@]}"; do
    say "$target"
    qemu-aarch64-static -L /usr/aarch64-linux-gnu "$(find "$work/build/tests/unit" -name "$target" -type f)" --gtest_brief=1
done
