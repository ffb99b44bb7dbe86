#!/bin/sh
# Runs a program in a folder of its job's own, for programs that will not write over what they have written before:
# ranks of a job have one parent.
folder=run.$PPID
mkdir -p "$folder" && cp -n ./*.in* ./*.binary ./*.tree "$folder" 2>/dev/null
cd "$folder" && exec "$@"
