#!/usr/bin/env bash
# system-packages.sh [apps|sim|fabric|fuzz|dist]: makes sure that the Debian packages Espalier is built and tested with are
# there; with `apps` also the programs that only `make apps` runs, with `sim` SimGrid, which executes the library on
# simulated ranks, with `fabric` the simulated subnet of `make fabric-live`, with `fuzz` the compiler of `make fuzz`,
# with `dist` what makes and checks Debian packages.
# As root it installs what is missing; as any other user it prints the one command that does, and stops.
# PACKAGES=skip leaves the system alone (for other distributions: install their counterparts by hand).
set -euo pipefail
. "$(dirname "$0")/common.sh"

build=(g++ cmake make ninja-build pkg-config libhwloc-dev libucx-dev nlohmann-json3-dev libasio-dev)
tests=(libgtest-dev fish zsh chromium quicktree mpich libmpich-dev openmpi-bin libopenmpi-dev gfortran)
lint=(clang-format-14)
apps=(lammps hpcc examl)
sim=(libsimgrid-dev)
fabric=(ibsim-utils opensm infiniband-diags)
fuzz=(clang-14 libclang-rt-14-dev)
dist=(debhelper lintian debootstrap)
needed=("${build[@]}" "${tests[@]}" "${lint[@]}")
[ "${1:-}" != apps ] || needed+=("${apps[@]}")
[ "${1:-}" != sim ] || needed+=("${sim[@]}")
[ "${1:-}" != fabric ] || needed+=("${fabric[@]}")
[ "${1:-}" != fuzz ] || needed+=("${fuzz[@]}")
[ "${1:-}" != dist ] || needed+=("${dist[@]}")

# Only a Python that cannot do the job pulls in the distribution's own.
find_python >/dev/null || needed+=(python3 python3-venv python3-dev)

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

install_packages() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2
}

if [ "${PACKAGES:-}" = skip ]; then
    exit 0
fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    fail "this is no Debian system. Install the counterparts of: ${needed[*]} — then run: make PACKAGES=skip"
fi

missing=()
for package in "${needed[@]}"; do
    installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    say "Debian packages are missing. Install them with this line, then run make again:"
    echo "    sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
fi

say "installing Debian packages: ${missing[*]}"
if ! ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; then
    apt-get update -q >&2
fi
# Lists that are there but old name files that are gone: refresh them once before giving up.
install_packages "${missing[@]}" || { apt-get update -q >&2 && install_packages "${missing[@]}"; } ||
    fail "apt-get could not install: ${missing[*]} — see its message above"
find_python >/dev/null || fail "found no Python ≥ 3.11 with venv and headers; name one with: make PYTHON=/path/to/python3"
