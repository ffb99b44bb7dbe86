#!/bin/sh
# Slurm's TaskProlog (slurm.conf: TaskProlog=/etc/slurm/espalier-task-prolog.sh): lines "export NAME=VALUE" that it prints
# become part of every task's environment. So Espalier serves all jobs of a site, and no user changes a script.
#
# Which programs: ESPALIER_ONLY and ESPALIER_NOT, patterns of paths. A user who wants none: ESPALIER_DISABLE=1.
# SITE_ESPALIER is where it is installed; SITE_MPI_ABI the interface of the MPI that the job's modules have loaded: mpich
# (MPICH, Intel MPI, MVAPICH, Cray MPICH), openmpi or abi. A site's MPI modules set it.

prefix=${SITE_ESPALIER:-/usr/local}
abi=${SITE_MPI_ABI:-mpich}

[ "${ESPALIER_DISABLE:-0}" = 1 ] && exit 0
for folder in lib lib64 "lib/$(uname -m)-linux-gnu"; do
    library=$prefix/$folder/libespalier-$abi.so.0
    if [ -r "$library" ]; then
        echo "export LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD}"
        exit 0
    fi
done
# A job is worth more than its speed: it runs without, and says so.
echo "print espalier: no libespalier-$abi.so.0 below $prefix; collectives stay with the MPI"
