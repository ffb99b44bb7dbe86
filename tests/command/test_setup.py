"""The set-up scripts, with stand-ins for the system's package tools, pip and Python."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class System:
    """A folder of fake programs in front of PATH. Each call of one is noted in `calls`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "calls"
        self.log.touch()
        self.fake("dpkg-query", "printf installed")
        self.fake("apt-get", "true")
        self.fake("id", "echo 0")
        # Fits (-), names itself (-c), and makes environments (-m venv FOLDER) whose pip refuses the word "unknown".
        pip = "! grep -q unknown ${@: -1}"
        environment = f"mkdir -p $3/bin; printf '#!/bin/bash\\n%s\\n' '{pip}' > $3/bin/python; chmod +x $3/bin/python"
        self.fake("python3", f'case $1 in -) ;; -c) echo "$0" ;; -m) {environment} ;; esac')

    def fake(self, name: str, body: str) -> None:
        file = self.folder / name
        file.write_text(f'#!/bin/bash\necho "{name} $*" >> {self.log}\n{body}\n')
        file.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()

    def called(self, start: str) -> list[str]:
        return [call for call in self.calls if call.startswith(start)]

    def run(self, script: str, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", **variables}
        environment.pop("PACKAGES", None) if "PACKAGES" not in variables else None
        return subprocess.run(
            [str(SCRIPTS / script), *map(str, arguments)], env=environment, capture_output=True, text=True, check=False
        )


@pytest.fixture
def system(tmp_path: Path) -> System:
    (tmp_path / "system").mkdir()
    return System(tmp_path / "system")


MISSING_HWLOC = 'for word; do [ "$word" = libhwloc-dev ] && exit 1; done; printf installed'


def test_nothing_happens_when_every_package_is_there(system: System) -> None:
    done = system.run("system-packages.sh")
    assert (done.returncode, done.stderr) == (0, "")
    assert not system.called("apt-get")


def test_root_gets_only_what_is_missing_installed(system: System) -> None:
    system.fake("dpkg-query", MISSING_HWLOC)
    assert system.run("system-packages.sh").returncode == 0
    (install,) = system.called("apt-get install")
    assert install.endswith("--no-install-recommends libhwloc-dev")


def test_the_demo_asks_for_no_more_than_it_is_built_with(system: System) -> None:
    system.fake("dpkg-query", "exit 1")
    assert system.run("system-packages.sh", "demo").returncode == 0
    (install,) = system.called("apt-get install")
    assert "libhwloc-dev" in install
    for package in ("chromium", "gfortran", "clang-format-14", "libgtest-dev", "libucx-dev"):
        assert package not in install


@pytest.mark.parametrize("group", ["build", "dist"])
def test_who_installs_or_makes_packages_gets_nothing_of_what_tests_need(system: System, group: str) -> None:
    system.fake("dpkg-query", "exit 1")
    assert system.run("system-packages.sh", group).returncode == 0
    (install,) = system.called("apt-get install")
    assert "libucx-dev" in install
    for package in ("chromium", "gfortran", "clang-format-14", "libgtest-dev", "libsimgrid-dev"):
        assert package not in install


@pytest.mark.parametrize("goal", ["install", "dist"])
def test_they_ask_for_that_group(goal: str) -> None:
    would = subprocess.run(["make", "-n", goal], cwd=SCRIPTS.parent, capture_output=True, text=True, check=True).stdout
    asked = [line.split()[1:] for line in would.splitlines() if line.startswith("scripts/system-packages.sh")]
    assert asked == [["build"]]


def test_a_group_that_there_is_not_is_named(system: System) -> None:
    done = system.run("system-packages.sh", "everything")
    assert done.returncode == 1
    assert "everything: no such group" in done.stderr


def test_what_an_installation_upgrades_is_said_before(system: System) -> None:
    system.fake("dpkg-query", "exit 1")
    system.fake(
        "apt-get", 'case $1 in --simulate) echo "Inst libc6 [2.35] (2.36)"; echo "Inst ninja-build (1.11)" ;; esac'
    )
    done = system.run("system-packages.sh", "demo")
    assert done.returncode == 0
    assert "upgrades packages that are installed: libc6\n" in done.stderr


def test_others_get_the_one_line_and_nothing_is_touched(system: System) -> None:
    system.fake("dpkg-query", MISSING_HWLOC)
    system.fake("id", "echo 1000")
    done = system.run("system-packages.sh")
    assert done.returncode == 1
    assert "sudo apt-get install -y --no-install-recommends libhwloc-dev" in done.stderr
    assert not system.called("apt-get")


def test_stale_package_lists_are_refreshed_once(system: System) -> None:
    system.fake("dpkg-query", MISSING_HWLOC)
    system.fake("apt-get", f'[ "$1" = update ] || [ "$(grep -c "^apt-get install" {system.log})" -gt 1 ]')
    assert system.run("system-packages.sh").returncode == 0
    assert system.called("apt-get update")
    assert len(system.called("apt-get install")) == 2


def test_a_package_that_cannot_be_had_ends_with_its_name(system: System) -> None:
    system.fake("dpkg-query", MISSING_HWLOC)
    system.fake("apt-get", "exit 100")
    done = system.run("system-packages.sh")
    assert done.returncode == 1
    assert "libhwloc-dev" in done.stderr


def test_another_distribution_is_told_what_it_needs(system: System, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "env"):
        (tools / name).symlink_to(Path("/usr/bin", name))
    done = system.run("system-packages.sh", PATH=str(tools))
    assert done.returncode == 1
    assert "no Debian system" in done.stderr
    assert "libhwloc-dev" in done.stderr
    assert system.run("system-packages.sh", PATH=str(tools), PACKAGES="skip").returncode == 0


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    file = tmp_path / "requirements.txt"
    file.write_text("# nothing\n")
    return file


def test_an_environment_is_made_once(system: System, tmp_path: Path, requirements: Path) -> None:
    folder = tmp_path / "env"
    assert system.run("environment.sh", folder, requirements).returncode == 0
    assert (folder / ".complete").read_text() == requirements.read_text()
    mark = folder / "mark"
    mark.touch()
    assert system.run("environment.sh", folder, requirements).stderr == ""
    assert mark.exists()


def test_an_interrupted_environment_is_made_anew_and_an_outdated_one_brought_up_to_date(
    system: System, tmp_path: Path, requirements: Path
) -> None:
    folder = tmp_path / "env"
    folder.mkdir()
    mark = folder / "left-over"
    mark.touch()
    assert system.run("environment.sh", folder, requirements).returncode == 0
    assert not mark.exists()
    mark.touch()
    requirements.write_text("# other\n")
    assert system.run("environment.sh", folder, requirements).returncode == 0
    assert mark.exists()
    assert (folder / ".complete").read_text() == "# other\n"
    requirements.write_text("unknown\n")
    assert system.run("environment.sh", folder, requirements).returncode == 1
    assert not (folder / ".complete").exists()


def test_a_failed_installation_leaves_no_mark_of_completion(system: System, tmp_path: Path, requirements: Path) -> None:
    requirements.write_text("unknown\n")
    done = system.run("environment.sh", tmp_path / "env", requirements)
    assert done.returncode == 1
    assert "pip could not install" in done.stderr
    assert not (tmp_path / "env" / ".complete").exists()


def test_without_a_fitting_python_the_message_says_how_to_name_one(system: System, tmp_path, requirements) -> None:
    done = system.run("environment.sh", tmp_path / "env", requirements, PYTHON="/nowhere/python")
    assert done.returncode == 1
    assert "make PYTHON=" in done.stderr


def test_the_help_lists_every_command(system: System) -> None:
    root = SCRIPTS.parent
    done = subprocess.run(["make", "-C", str(root), "--no-print-directory"], capture_output=True, text=True, check=True)
    for name in ("demo", "test", "lint", "bench", "setup", "asan", "tsan"):
        assert f"make {name} " in done.stdout


def test_the_build_that_is_compiled_once_and_soon_can_be_set_up_and_begins(tmp_path: Path) -> None:
    """As `make demo` does from nothing: without a compiler cache, which changes what is precompiled."""
    environment = {name: text for name, text in os.environ.items() if not name.endswith("_COMPILER_LAUNCHER")}
    words = [str(SCRIPTS / "configure-quick.sh"), str(tmp_path)]
    done = subprocess.run(words, cwd=SCRIPTS.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    begin = ["ninja", "-C", str(tmp_path), "espalier_mpich"]
    with subprocess.Popen(begin, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True) as build:
        assert build.stdout is not None
        said: list[str] = []
        for line in build.stdout:
            said.append(line)
            if "Building CXX object" in line:  # so no target waits for itself
                os.killpg(build.pid, signal.SIGKILL)
                break
    assert "Building CXX object" in said[-1], "".join(said)


def test_what_fails_among_others_is_run_again_alone_and_has_to_pass_then(tmp_path: Path) -> None:
    """scripts/test.sh, of a project with one test that fails at first, and then with many that do."""
    (tmp_path / "scripts").mkdir()
    for name in ("test.sh", "common.sh"):
        (tmp_path / "scripts" / name).symlink_to(SCRIPTS / name)
    (tmp_path / ".venv").symlink_to(SCRIPTS.parent / ".venv")
    once = """
import pathlib
def test_one():
    it = pathlib.Path("it")
    had = it.exists()
    it.touch()
    assert had
"""

    def run(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_it.py").write_text(text)
        words = [str(tmp_path / "scripts" / "test.sh"), "-q", "test_it.py"]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run(once)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed, and run again with nothing beside them:\ntest_it.py::test_one" in done.stderr
    assert run("def test_two():\n    assert False\n").returncode == 1
    many = run("import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_many(n):\n    assert False\n")
    assert many.returncode == 1
    assert "again" not in many.stderr
    assert run("def test_three(:\n").returncode == 2, "not even read"
