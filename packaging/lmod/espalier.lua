-- Lmod: put this file into a module path as espalier/VERSION.lua and say below where Espalier is installed.
-- Loading it preloads Espalier into what runs from then on; programs without MPI never notice.
local base = "/opt/espalier"

help([[
Fast MPI collectives for programs as they are: every MPI program started after `module load espalier` runs with it.
ESPALIER_VERBOSE=1 says at its end what was handled. ESPALIER_DISABLE=1 leaves everything to your MPI.
]])
whatis("Name: Espalier")
whatis("Description: fast MPI collectives for any MPI, without changing the program")

prepend_path("PATH", pathJoin(base, "bin"))
prepend_path("MANPATH", pathJoin(base, "share/man"))
prepend_path("CMAKE_PREFIX_PATH", base)
prepend_path("PKG_CONFIG_PATH", pathJoin(base, "lib/pkgconfig"))

-- The build for the MPI at hand. Without an MPI module it is that of MPICH, Intel MPI, MVAPICH and Cray MPICH.
local abi = "mpich"
for _, name in ipairs({ "openmpi", "OpenMPI" }) do
  if isloaded(name) then
    abi = "openmpi"
  end
end
prepend_path("LD_PRELOAD", pathJoin(base, "lib/libespalier-" .. abi .. ".so.0"), ":")
