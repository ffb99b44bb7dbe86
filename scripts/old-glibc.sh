#!/usr/bin/env bash
# old-glibc.sh PYTHON FOLDER [MACHINE]: what binaries are linked with that shall run with glibc 2.28, on this kind of machine
# or on that. PyPI's `ziglang`, which the Python has, knows which symbols each glibc had: its linker's stand-ins for libc and
# its parts, and the code in front of main(), are gathered in FOLDER, with linker scripts, and with what libstdc++ and libgcc
# of this machine want beyond.
set -euo pipefail
. "$(dirname "$0")/common.sh"

python=$1
folder=$2
machine=${3:-$(uname -m)}
target=$machine-linux-gnu.2.28
tools=
[ "$machine" = "$(uname -m)" ] || tools=$machine-linux-gnu-

rm -rf "$folder"
mkdir -p "$folder"
echo 'int main(void) { return 0; }' >"$folder/main.c"
for mode in -pie -no-pie; do
    # What it links is told by name; files of its cache, of which there is one for each kind of program.
    ZIG_VERBOSE_LINK=1 "$python" -m ziglang cc -target "$target" $mode "$folder/main.c" -o "$folder/main" \
        -lm -lpthread -ldl -lrt 2>&1 | tr ' ' '\n' | grep -E '/(S?crt1\.o|lib[a-z]+\.so\.[0-9]+|libc_nonshared\.a)$' |
        grep -v '^/lib' | xargs cp -t "$folder" || fail "ziglang does not say what it links with; was its version changed?"
done
rm "$folder/main.c" "$folder/main"

"${CC:-${tools}gcc}" -O2 -fPIC -Wall -Wextra -Werror -D_GNU_SOURCE -c cmake/toolchains/old_glibc.c -o "$folder/old_glibc.o"
"${tools}ar" rcs "$folder/libold_glibc.a" "$folder/old_glibc.o"

for library in m pthread dl rt; do
    echo "INPUT(-l:$(cd "$folder" && echo lib$library.so.*))" >"$folder/lib$library.so"
done
# Threads and dlopen moved into libc with 2.34; who runs with older ones needs their libraries.
parts="-l:libpthread.so.0 -l:libdl.so.2 -l:libld.so.2"
echo "GROUP(-l:libold_glibc.a -l:libc.so.6 -l:libc_nonshared.a AS_NEEDED($parts))" >"$folder/libc.so"
