#!/bin/sh
# Slurm's TaskProlog (slurm.conf: TaskProlog=/etc/slurm/espalier-task-prolog.sh): lines "export NAME=VALUE" that it prints
# become part of every task's environment. So Espalier serves all jobs of a site, and no user changes a script.
#
# Which programs: ESPALIER_ONLY and ESPALIER_NOT, patterns of paths. A user who wants none: ESPALIER_DISABLE=1.
# SITE_ESPALIER is where it is installed. libespalier-any looks at each program's MPI and puts the build for that in front
# of it. Programs that open their MPI themselves, as Pythons do, get the build that SITE_MPI_ABI names, if a site's MPI
# modules set it: mpich (MPICH, Intel MPI, MVAPICH, Cray MPICH), openmpi or abi.

prefix=${SITE_ESPALIER:-/usr/local}

[ "${ESPALIER_DISABLE:-0}" = 1 ] && exit 0
for folder in lib lib64 "lib/$(uname -m)-linux-gnu"; do
    library=$prefix/$folder/libespalier-any.so.0
    [ -r "$library" ] || continue
    own=$prefix/$folder/libespalier-${SITE_MPI_ABI:-none}.so.0
    [ -r "$own" ] && library=$library:$own
    echo "export LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD}"
    exit 0
done
# A job is worth more than its speed: it runs without, and says so.
echo "print espalier: no libespalier-any.so.0 below $prefix; collectives stay with the MPI"
