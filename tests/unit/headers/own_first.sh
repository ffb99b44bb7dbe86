#!/bin/sh
# own_first.sh FOLDER: whether every header below it may be included twice, and each source that has a header of its name
# includes that before anything else, so that compiling the source shows that the header needs nothing before it.
cd "$1" || exit 2
find . -name '*.hpp' | sed 's|^\./||' | {
    status=0
    while read -r header; do
        grep -q '^#pragma once' "$header" || { echo "$header: no '#pragma once'"; status=1; }
        source=${header%hpp}cpp
        [ ! -f "$source" ] || [ "$(grep -m1 '^#include' "$source")" = "#include \"$header\"" ] ||
            { echo "$source: its first #include must be $header"; status=1; }
    done
    exit $status
}
