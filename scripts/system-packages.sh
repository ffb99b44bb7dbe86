#!/usr/bin/env bash
# system-packages.sh [GROUP]: makes sure that the Debian packages Espalier is built and tested with are there. With `demo`
# only those that the demo is built with, with `build` those that all of it is. With one of these groups also what only
# that needs: `apps` programs for `make apps`, `lab` the batch system and modules of `make lab`, `fabric` the simulated
# subnet of `make fabric-live`, `fuzz` the compiler of `make fuzz`, `dist` what makes and checks Debian packages (and
# nothing of what tests need), `cross` what builds for 64-bit ARM and runs it.
# As root it installs what is missing; as any other user it prints the one command that does, and stops.
# PACKAGES=skip leaves the system alone (for other distributions: install their counterparts by hand).
set -euo pipefail
. "$(dirname "$0")/common.sh"

demo=(g++ cmake make ninja-build libhwloc-dev nlohmann-json3-dev libasio-dev)
build=("${demo[@]}" pkg-config libucx-dev)
tests=(libgtest-dev fish zsh chromium groff-base quicktree mpich libmpich-dev openmpi-bin libopenmpi-dev gfortran libsimgrid-dev
    libjemalloc2 libtcmalloc-minimal4 faketime gdb graphviz lmod)
lint=(clang-format-14)
apps=(lammps hpcc examl gromacs quantum-espresso quantum-espresso-data python3-petsc4py
    libfftw3-dev)
lab=(slurmctld slurmd slurm-client munge)
fabric=(ibsim-utils opensm infiniband-diags)
fuzz=(clang-14 libclang-rt-14-dev)
dist=(debhelper lintian debootstrap lmod)
cross=(g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static googletest)
none=()
case ${1:-} in
demo) needed=("${demo[@]}") ;;
build) needed=("${build[@]}") ;;
dist) needed=("${build[@]}" "${dist[@]}") ;;
'' | apps | lab | fabric | fuzz | cross)
    declare -n group=${1:-none}
    needed=("${build[@]}" "${tests[@]}" "${lint[@]}" "${group[@]}")
    ;;
*) fail "system-packages.sh $1: no such group; there are demo, build, apps, lab, fabric, fuzz, dist and cross" ;;
esac

# Only a Python that cannot do the job pulls in the distribution's own.
find_python >/dev/null || needed+=(python3 python3-venv python3-dev)

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

install_packages() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2
}

# Whether the packages that somebody works with may change is for them to say.
ask_before_upgrades() {
    local upgrades answer
    upgrades=$(apt-get --simulate install --no-install-recommends "${missing[@]}" 2>/dev/null |
        sed -n 's/^Inst \([^ ]*\) \[.*/\1/p' | xargs) || return 0 # what cannot be installed is said below
    [ -n "$upgrades" ] || return 0
    say "this upgrades packages that are installed: $upgrades"
    [ -t 0 ] || return 0
    read -r -p "Go on? [y/N] " answer
    [ "$answer" = y ] || fail "nothing was changed; with PACKAGES=skip make goes on without the missing packages"
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
ask_before_upgrades
# Lists that are there but old name files that are gone: refresh them once before giving up.
install_packages "${missing[@]}" || { apt-get update -q >&2 && install_packages "${missing[@]}"; } ||
    fail "apt-get could not install: ${missing[*]} — see its message above"
find_python >/dev/null || fail "found no Python ≥ 3.11 with venv and headers; name one with: make PYTHON=/path/to/python3"
