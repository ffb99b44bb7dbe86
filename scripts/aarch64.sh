#!/usr/bin/env bash
# aarch64.sh [TEST…]: builds the library for 64-bit ARM, and runs by qemu its unit tests, or those of these folders of
# tests/unit, and `conformance`: small MPI jobs under MPICH's wheel for that processor, with Espalier in front. In
# build/aarch64; of this machine's own processor only headers are used, and the launcher.
set -euo pipefail
. "$(dirname "$0")/common.sh"

work=$PWD/build/aarch64
sysroot=$work/sysroot
toolchain=(-G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/aarch64.cmake" -DESPALIER_ARM="$sysroot")

build_googletest() {
    [ -e "$sysroot/usr/lib/libgtest.a" ] && return
    cmake -S /usr/src/googletest -B "$work/googletest" "${toolchain[@]}" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$sysroot/usr" -DCMAKE_INSTALL_LIBDIR=lib >/dev/null
    cmake --build "$work/googletest" --target install >/dev/null
}

# MPICH for the other processor, as its wheel has it.
fetch_mpich() {
    [ -e "$mpich/include/mpi.h" ] && return
    say "fetching MPICH for aarch64"
    .venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --platform=manylinux_2_28_aarch64 --dest "$work/wheels" -r scripts/requirements/mpich.txt
    rm -rf "$work/wheels/unpacked"
    .venv/bin/python -m zipfile -e "$work"/wheels/mpich-*.whl "$work/wheels/unpacked"
    rm -rf "$mpich"
    mv "$work"/wheels/unpacked/mpich-*.data/data "$mpich"
}

# This machine's launcher starts ranks of the other processor: they speak to it over a socket. Copies between processes, which
# qemu does not know, are switched off in MPICH; Espalier finds out by itself.
run_conformance() { # RANKS NODES THEME…
    local ranks=$1 nodes=$2 library=$work/build/src/mpi/libespalier-mpich.so
    shift 2
    say "conformance, $ranks ranks, virtual nodes $nodes: $*"
    build/mpi/mpich/bin/mpiexec -n "$ranks" env MPIR_CVAR_CH4_CMA_ENABLE=0 ESPALIER_SETUP_CALLS=0 ESPALIER_LEARN=off \
        ESPALIER_VIRTUAL_NODES="$nodes" ESPALIER_VERIFY=1 ESPALIER_STATS="$work/stats.json" \
        LD_PRELOAD="$library:$mpich/lib/libmpi.so.12" \
        qemu-aarch64-static -L /usr/aarch64-linux-gnu "$work/build/tests/mpi/conformance_mpich" "$@"
    .venv/bin/python -c 'import json, sys; assert json.load(open(sys.argv[1]))["MPI_Allreduce"]["handled"] > 0' "$work/stats.json"
}

mpich=$work/mpich
themes=(sizes datatypes communicators barriers movements reductions)
scripts/aarch64-sysroot.sh "$sysroot"
build_googletest
fetch_mpich
say "building for aarch64 in build/aarch64/build"
cmake -S . -B "$work/build" "${toolchain[@]}" -DESPALIER_TESTS=ON -DESPALIER_WERROR=ON \
    -DESPALIER_MPICH_INCLUDE="$mpich/include" -DESPALIER_OPENMPI_INCLUDE=none >/dev/null
folders=("$@")
if [ $# -eq 0 ]; then
    while IFS= read -r folder; do folders+=("${folder%/}"); done < <(cd tests/unit && ls -d */ | grep -vx headers/)
    folders+=(conformance)
fi
targets=()
for folder in "${folders[@]}"; do
    if [ "$folder" = conformance ]; then targets+=(espalier_mpich conformance_mpich); else targets+=("tests/unit/$folder/all"); fi
done
cmake --build "$work/build" --target "${targets[@]}"
for folder in "${folders[@]}"; do
    if [ "$folder" = conformance ]; then
        run_conformance 2 1 "${themes[@]}"
        run_conformance 4 3,1 "${themes[@]}"
        continue
    fi
    for test in $(find "$work/build/tests/unit/$folder" -maxdepth 1 -name 'test_*' -type f -executable); do
        say "${test##*/}"
        qemu-aarch64-static -L /usr/aarch64-linux-gnu "$test" --gtest_brief=1
    done
done
