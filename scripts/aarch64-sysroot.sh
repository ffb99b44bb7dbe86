#!/usr/bin/env bash
# aarch64-sysroot.sh FOLDER: headers that know no processor, for builds for 64-bit ARM, which must not see this machine's own.
# hwloc's are for its types only (docs/adr/0007).
set -euo pipefail
. "$(dirname "$0")/common.sh"

sysroot=$1
mkdir -p "$sysroot/usr/include" "$sysroot/usr/share"
ln -sfn /usr/include/{asio,asio.hpp,hwloc.h,hwloc,nlohmann} "$sysroot/usr/include/"
config=$(find /usr/include -maxdepth 2 -path '*-linux-gnu/hwloc' -print -quit)
[ -z "$config" ] || ln -sfn "$config" "$sysroot/usr/include/"
ln -sfn /usr/share/cmake "$sysroot/usr/share/cmake"
