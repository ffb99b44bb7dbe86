#!/usr/bin/env bash
# Instructions that one short collective of two ranks costs each of them, native and with Espalier: callgrind's counts,
# the same every time. A rank that waits is counted as it finds what it waits for.
# Needs valgrind, a finished build and the MPICH environment (make setup).
# ESPALIER_LEARN=on: of calls that were learned about, from the thousandth on.
# Usage: bench/instructions.sh [OPERATION [BYTES [BUILD_FOLDER]]], as `espalier bench` names them; default: bcast 4
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
operation=${1:-bcast} bytes=${2:-4} build=${3:-$top/build/release}
mpi=$top/build/mpi/mpich
command -v valgrind >/dev/null || { echo "instructions.sh: valgrind is missing: apt-get install valgrind" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What the entry point is called: bcast is MPI_Bcast.
entry=${operation^}

# count RANK FUNCTION LIBRARIES CALLS: instructions inside the function at that rank. The other runs without valgrind.
count() {
  local program=("$build/bench/bench_tiny_calls_mpich" "$4" "$operation" "$bytes")
  local plain=(env ESPALIER_TABLE=off ESPALIER_LEARN="${ESPALIER_LEARN:-off}" ESPALIER_STORE=off LD_PRELOAD="$3")
  local counted=("${plain[@]}" valgrind --tool=callgrind --toggle-collect="$2" --callgrind-out-file="$work/out")
  local ranks=("${counted[@]}" "${program[@]}" : -n 1 "${plain[@]}" "${program[@]}")
  [ "$1" = 0 ] || ranks=("${plain[@]}" "${program[@]}" : -n 1 "${counted[@]}" "${program[@]}")
  "$mpi/bin/mpiexec" -n 1 "${ranks[@]}" >/dev/null 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
  awk '/^(summary|totals):/ { total = $2 } END { print total }' "$work/out"
}

# The difference of two runs leaves out whatever happens once.
per_call() { echo $(( ($(count "$1" "$2" "$3" 3000) - $(count "$1" "$2" "$3" 1000)) / 2000 )); }

echo "instructions per $operation of $bytes bytes at rank 0 and at rank 1:"
for rank in 0 1; do native[rank]=$(per_call $rank "PMPI_$entry" "$mpi/lib/libmpi.so.12"); done
echo "native   ${native[0]} ${native[1]}"
library=$build/src/mpi/libespalier-mpich.so
for rank in 0 1; do ours[rank]=$(per_call $rank "MPI_$entry" "$library $mpi/lib/libmpi.so.12"); done
echo "espalier ${ours[0]} ${ours[1]}"
