#!/usr/bin/env bash
# Instructions that one 4-byte MPI_Bcast costs its root, native and with Espalier: callgrind's counts, the same every time.
# Needs valgrind, a finished build and the MPICH environment (make setup). Usage: bench/instructions.sh [BUILD_FOLDER]
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$top/build/release}
mpi=$top/build/mpi/mpich
command -v valgrind >/dev/null || { echo "instructions.sh: valgrind is missing: apt-get install valgrind" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# count FUNCTION LIBRARIES CALLS: instructions inside the function at rank 0. Rank 1 runs without valgrind.
count() {
  local program="$build/bench/bench_tiny_calls_mpich"
  "$mpi/bin/mpiexec" \
    -n 1 env LD_PRELOAD="$2" valgrind --tool=callgrind --toggle-collect="$1" --callgrind-out-file="$work/out" "$program" "$3" : \
    -n 1 env LD_PRELOAD="$2" "$program" "$3" >/dev/null 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
  awk '/^(summary|totals):/ { total = $2 } END { print total }' "$work/out"
}

# The difference of two runs leaves out whatever happens once.
per_call() { echo $(( ($(count "$1" "$2" 3000) - $(count "$1" "$2" 1000)) / 2000 )); }

echo "native   $(per_call PMPI_Bcast "$mpi/lib/libmpi.so.12") instructions per broadcast of 4 bytes at the root"
echo "espalier $(per_call MPI_Bcast "$build/src/mpi/libespalier-mpich.so $mpi/lib/libmpi.so.12") instructions"
