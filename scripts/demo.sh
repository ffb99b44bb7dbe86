#!/usr/bin/env bash
# demo.sh: the demo with as little as it needs: MPICH's build of the library, compiled once and quickly, MPICH, the benchmark
# that comes with Intel MPI, and an environment for the command. Where `make setup` has been here, what that has made.
set -euo pipefail
. "$(dirname "$0")/common.sh"

work=build/demo
begin=$SECONDS

# Runs a step beside others; its output goes to a file, which is shown if the step fails.
start() { # NAME COMMAND…
    local name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 &
    steps[$!]=$name
}

finish_steps() {
    local process
    for process in "${!steps[@]}"; do
        wait "$process" || { cat "$work/${steps[$process]}.log" >&2; fail "${steps[$process]}: failed, see above"; }
        say "${steps[$process]}: ready after $((SECONDS - begin)) s"
    done
}

build_library() {
    scripts/configure-quick.sh "$work/build"
    cmake --build "$work/build" --target espalier_mpich || fail "the build failed, see above"
}

# The sources' package with the library in it, as an installed one has it.
link_package() {
    local entry
    mkdir -p "$work/site/espalier"
    for entry in "$PWD"/python/espalier/* "$PWD/$work/build/src/mpi/libespalier-mpich.so"; do
        ln -sfn "$entry" "$work/site/espalier/"
    done
}

if [ -f build/stamps/installed ]; then
    exec .venv/bin/espalier demo "$@"
fi
scripts/system-packages.sh demo
declare -A steps
mkdir -p "$work"
[ -d "$work/site" ] || say "fetching MPICH, a benchmark and Python packages; compiling meanwhile (a minute or two, once)"
start "the benchmark" scripts/environment.sh build/mpi/impi scripts/requirements/impi.txt
start "Python packages" scripts/environment.sh "$work/env" scripts/requirements/demo.txt
# Its header is compiled with.
scripts/environment.sh build/mpi/mpich scripts/requirements/mpich.txt
build_library
finish_steps
link_package
PYTHONPATH=$work/site exec "$work/env/bin/python" -m espalier demo --ranks 2 --rounds 2 "$@"
