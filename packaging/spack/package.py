# Spack: put this folder into a repository as packages/espalier/, then: spack install espalier ^mpich
from spack.package import *


class Espalier(CMakePackage):
    """Fast collectives for any MPI, as a preloaded library: no change to the application."""

    # No release has an address yet: name your clone here.
    git = "file:///opt/src/espalier"
    license("BSD-3-Clause")
    version("main", branch="main")

    variant("ucx", default=True, description="Write into remote memory over UCX, which is loaded at run time")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-nanobind@2:", type="build")
    depends_on("py-typer@0.12:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("nlohmann-json@3.9:", type="build")
    depends_on("asio@1.22:", type="build")
    # Its types at build time; the library is looked for when a job starts.
    depends_on("hwloc@2:")
    depends_on("ucx", when="+ucx")
    depends_on("mpi")

    conflicts("%gcc@:11", msg="C++20 needs gcc 12")
    generator("ninja")

    def cmake_args(self):
        include = self.spec["mpi"].prefix.include
        family = "OPENMPI" if self.spec.satisfies("^openmpi") else "MPICH"
        return [
            self.define("ESPALIER_BINDINGS", True),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_SimGrid", True),
            self.define("Python_EXECUTABLE", python.path),
            self.define(f"ESPALIER_{family}_INCLUDE", include),
        ]

    def setup_run_environment(self, env):
        abi = "openmpi" if self.spec.satisfies("^openmpi") else "mpich"
        env.prepend_path("LD_PRELOAD", join_path(self.prefix.lib, f"libespalier-{abi}.so.0"))
