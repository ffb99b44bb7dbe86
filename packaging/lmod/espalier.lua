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

-- Programs that open their MPI themselves, as Pythons do, get the build for the MPI module that is loaded.
local families = {
  openmpi = { "openmpi", "OpenMPI" },
  mpich = { "mpich", "MPICH", "impi", "intel-mpi", "mvapich2", "MVAPICH2", "mvapich", "cray-mpich" },
}
for abi, names in pairs(families) do
  for _, name in ipairs(names) do
    if isloaded(name) then
      prepend_path("LD_PRELOAD", pathJoin(base, "lib/libespalier-" .. abi .. ".so.0"), ":")
    end
  end
end
-- In front: what looks at each program's own MPI, and puts the build for that in place of any other.
prepend_path("LD_PRELOAD", pathJoin(base, "lib/libespalier-any.so.0"), ":")
