"""What `packaging/` has for sites, as far as it can be tried without one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import espalier

ROOT = Path(__file__).resolve().parents[2]

PACKAGING = ROOT / "packaging"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """A prefix with files of the right names."""
    folder = tmp_path / "prefix"
    (folder / "lib").mkdir(parents=True)
    for abi in ("any", "mpich", "openmpi"):
        (folder / "lib" / f"libespalier-{abi}.so.0").touch()
    return folder


def prolog(**variables: str) -> list[str]:
    """What Slurm would read from its TaskProlog."""
    done = subprocess.run(
        ["sh", PACKAGING / "slurm" / "task-prolog.sh"],
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_slurms_prolog_preloads_what_chooses_and_the_build_of_the_jobs_mpi_for_programs_that_open_it(
    prefix: Path,
) -> None:
    site = {"SITE_ESPALIER": str(prefix)}
    any_, own = (f"{prefix}/lib/libespalier-{name}.so.0" for name in ("any", "openmpi"))
    assert prolog(**site) == [f"export LD_PRELOAD={any_}"]
    assert prolog(**site, SITE_MPI_ABI="lam") == [f"export LD_PRELOAD={any_}"]
    assert prolog(**site, SITE_MPI_ABI="openmpi", LD_PRELOAD="/opt/tool.so") == [
        f"export LD_PRELOAD={any_}:{own}:/opt/tool.so"
    ]


def test_slurms_prolog_leaves_jobs_alone_that_want_none(prefix: Path) -> None:
    assert prolog(SITE_ESPALIER=str(prefix), ESPALIER_DISABLE="1") == []


def test_a_job_runs_without_what_is_not_installed() -> None:
    (line,) = prolog(SITE_ESPALIER="/nowhere")
    assert line.startswith("print ")
    assert "libespalier-any.so.0" in line


LMOD = Path("/usr/share/lmod/lmod/init/bash")


def in_modules(script: str, prefix: Path, tmp_path: Path) -> list[str]:
    """Runs a shell script where `module` knows Espalier, and an Open MPI."""
    text = (PACKAGING / "lmod" / "espalier.lua").read_text().replace("/opt/espalier", str(prefix))
    for name, body in (("espalier/0.1.0.lua", text), ("openmpi/5.0.lua", 'whatis("Open MPI")\n')):
        file = tmp_path / "modules" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body)
    plain = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "MODULEPATH")}
    done = subprocess.run(
        ["bash", "-c", f". {LMOD}; module use {tmp_path / 'modules'}; {script}"],
        env=plain,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.skipif(not LMOD.exists(), reason="no lmod (Debian: lmod)")
@pytest.mark.parametrize(("before", "names"), [("", ["any"]), ("module load openmpi;", ["any", "openmpi"])])
def test_the_module_preloads_what_chooses_and_the_build_for_the_mpi_that_is_loaded(
    before: str, names: list[str], prefix: Path, tmp_path: Path
) -> None:
    script = f'{before} module load espalier; echo "$LD_PRELOAD"; module unload espalier; echo "-$LD_PRELOAD-"'
    preloaded = ":".join(f"{prefix}/lib/libespalier-{name}.so.0" for name in names)
    assert in_modules(script, prefix, tmp_path) == [preloaded, "--"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
@pytest.mark.parametrize("unit", ["espalier-serve", "espalier-collect"])
def test_systemd_finds_nothing_wrong_with_a_unit(unit: str, tmp_path: Path) -> None:
    # Whether the manual is installed is not the unit's fault.
    file = tmp_path / f"{unit}.service"
    text = (PACKAGING / "systemd" / file.name).read_text()
    file.write_text("".join(line for line in text.splitlines(True) if not line.startswith("Documentation=man")))
    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)
    wrong = [line for line in done.stderr.splitlines() if file.name in line]
    assert not wrong


def test_installing_finds_the_words_in_a_unit_that_it_replaces() -> None:
    """cmake/Prefix.cmake puts the installed command's path in their place, and the guide does for a wheel's."""
    for unit in ("espalier-serve", "espalier-collect"):
        assert (PACKAGING / "systemd" / f"{unit}.service").read_text().count("\nExecStart=/usr/bin/env espalier ") == 1
    assert '"/usr/bin/env espalier "' in (ROOT / "cmake" / "Prefix.cmake").read_text()


def test_the_units_variables_are_those_of_the_environment_file() -> None:
    text = (PACKAGING / "systemd" / "espalier.default").read_text()
    names = {line.partition("=")[0] for line in text.splitlines() if line and not line.startswith("#")}
    used = set()
    for unit in ("espalier-serve", "espalier-collect"):
        body = (PACKAGING / "systemd" / f"{unit}.service").read_text()
        used |= {name for name in names if f"${{{name}}}" in body or f"${name}" in body}
    assert names == used


@pytest.mark.parametrize("script", ["slurm/task-prolog.sh", "slurm/example.sbatch"])
def test_shell_scripts_are_well_formed(script: str) -> None:
    subprocess.run(["bash", "-n", PACKAGING / script], check=True)


@pytest.mark.parametrize("recipe", ["spack/package.py", "easybuild/Espalier-0.1.0-gompi-2023a.eb"])
def test_recipes_are_well_formed(recipe: str) -> None:
    compile((PACKAGING / recipe).read_text(), recipe, "exec")


def test_changelogs_and_recipes_are_of_the_version_that_there_is() -> None:
    versions = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[:2] == ["Unreleased", espalier.__version__]
    assert (PACKAGING / "debian" / "changelog").read_text().startswith(f"espalier ({espalier.__version__}) ")
    (recipe,) = (PACKAGING / "easybuild").iterdir()
    assert recipe.name.startswith(f"Espalier-{espalier.__version__}-")
    assert f"version = '{espalier.__version__}'" in recipe.read_text()


@pytest.mark.long
def test_easybuild_finds_all_that_its_recipe_asks_for(tmp_path: Path) -> None:
    lmod = Path("/usr/share/lmod/lmod/libexec/lmod")
    if not lmod.exists():
        pytest.skip("Lmod is not installed (Debian: lmod)")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    pip = [tmp_path / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "easybuild==5.4.1"], check=True, timeout=300)
    recipe = PACKAGING / "easybuild" / "Espalier-0.1.0-gompi-2023a.eb"
    done = subprocess.run(
        ["eb", "--allow-use-as-root-and-accept-consequences", "--dry-run", "--robot", recipe],
        env={"PATH": f"{tmp_path / 'venv' / 'bin'}:{os.environ['PATH']}", "LMOD_CMD": str(lmod), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for package in ("OpenMPI", "hwloc", "UCX", "nlohmann_json", "Espalier"):
        assert f"module: {package}/" in done.stdout, done.stdout
