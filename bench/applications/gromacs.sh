#!/bin/sh
# GROMACS writes its energies into a log: rank 0 prints their averages when it is done. Ranks of a job have one parent.
gmx_mpi mdrun -s water.tpr -ntomp 1 -reprod -nobackup -deffnm "out.$PPID" 2>/dev/null || exit
[ "${OMPI_COMM_WORLD_RANK:-0}" != 0 ] || sed -n '/A V E R A G E S/,/Total Virial/p; /^ *Time:/p' "out.$PPID.log"
