"""Launchers as data: the words by which each is told how many ranks, where, and what their environment is. Pure.

A word of a launcher has places in braces, which are filled when a line is written: {n} ranks, {nodes} nodes with {ppn}
ranks on each, {hosts} by name, {name} and {value} of a variable. Words about what nobody has said are left out; a
template of the user's that needs it is refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Formatter

from espalier.base.errors import UserError
from espalier.base.names import ask
from espalier.jobs.allocation import Allocation, System
from espalier.jobs.layout import Layout
from espalier.jobs.mpis import Family, Mpi

Words = tuple[str, ...]


@dataclass(frozen=True)
class Launcher:
    """One kind of launcher. Where `variable` is empty, the ranks' environment is set by env(1) before the program."""

    start: Words  # the program itself, and what it is always told
    ranks: Words = ()
    nodes: Words = ()
    per_node: Words = ()
    hosts: Words = ()  # for hosts that it does not find out itself
    host: str = "{host}:{slots}"  # one of {hosts}, which are joined by commas
    variable: Words = ()
    nested: Words = ()  # inside a task that it has started itself
    crowded: Words = ()  # where ranks may outnumber processors
    crowded_per_node: Words = ()  # the same in place of `per_node`, where that takes both in one word
    is_template: bool = False  # the user's own words: `start` has all places

    @property
    def is_mpiexec(self) -> bool:
        """Whether it is an MPI's own, which starts ranks on this machine unless it is told of others."""
        return bool(self.variable)

    def __str__(self) -> str:
        return " ".join(self.start)


HYDRA = Launcher(
    start=("mpiexec",),
    ranks=("-n", "{n}"),
    per_node=("-ppn", "{ppn}"),
    hosts=("-hosts", "{hosts}"),
    variable=("-genv", "{name}", "{value}"),
)
# Intel's takes no number after a host's name; -ppn says it.
INTEL_HYDRA = replace(HYDRA, host="{host}")
OPEN_MPI = Launcher(
    start=("mpiexec",),
    ranks=("-n", "{n}"),
    per_node=("--map-by", "ppr:{ppn}:node"),
    hosts=("--host", "{hosts}"),
    variable=("-x", "{name}={value}"),
    crowded=("--oversubscribe",),
)
OPEN_MPI_5 = replace(
    OPEN_MPI, crowded=("--map-by", ":OVERSUBSCRIBE"), crowded_per_node=("--map-by", "ppr:{ppn}:node:OVERSUBSCRIBE")
)
# Only rank 0 reads what is typed, as under mpiexec.
SRUN = Launcher(
    start=("srun", "--input=0"),
    ranks=("--ntasks={n}",),
    nodes=("--nodes={nodes}",),
    per_node=("--ntasks-per-node={ppn}",),
    hosts=("--nodelist={hosts}",),
    host="{host}",
    nested=("--overlap",),
    crowded=("--overcommit",),
)
FLUX = Launcher(start=("flux", "run"), ranks=("-n{n}",), nodes=("-N{nodes}",))

# How each family's ranks find each other when srun starts them. What a site's Cray MPICH or an unknown MPI wants is
# the site's default.
_PMI = {
    Family.MPICH: ("--mpi=pmi2",),
    Family.INTEL: ("--mpi=pmi2",),
    Family.MVAPICH: ("--mpi=pmi2",),
    Family.OPENMPI: ("--mpi=pmix",),
}
_PLACES = {"n", "nodes", "ppn"}


def pick_launcher(
    asked: str | None, mpi: Mpi, allocation: Allocation | None, has_srun: bool, option: str = "--launcher "
) -> Launcher:
    """The launcher that `asked` describes: mpiexec, srun and flux by name, with flags if need be, or a template with
    {n}; the fitting one where nothing was asked for. Raises UserError for what describes none, which `option` has said.

    Under Slurm that is srun, except for Open MPI, whose mpiexec works whatever Slurm was built with; in an allocation
    of Flux, flux; else the MPI's own mpiexec.
    """
    if asked:
        return _parse_launcher(asked, mpi, option)
    system = allocation.system if allocation else None
    if system is System.SLURM and has_srun and (mpi.family is not Family.OPENMPI or mpi.launcher is None):
        return _srun((), mpi)
    if system is System.FLUX:
        return FLUX
    return _mpiexec(mpi, ())


def _parse_launcher(asked: str, mpi: Mpi, option: str) -> Launcher:
    try:
        words = tuple(shlex.split(asked))
    except ValueError as error:
        raise UserError(f"{option}{asked}: {str(error).lower()}", "close the quotation") from error
    if not words:
        raise UserError(f"{option.strip(' =')} is empty", "write mpiexec, srun, flux, or 'CMD -n {n} --'")
    if "{" in asked:
        return _template(asked, words, option)
    name, flags = Path(words[0]).name, words[1:]
    if name in ("mpiexec", "mpirun"):
        own = mpi if name == words[0] else replace(mpi, launcher=Path(words[0]))
        return _mpiexec(own, flags)
    if name == "srun":
        return replace(_srun(flags, mpi), start=(words[0], *_srun(flags, mpi).start[1:]))
    if name == "flux":
        return replace(FLUX, start=(words[0], "run", *(flag for flag in flags if flag != "run")))
    question = ask(name, ("mpiexec", "mpirun", "srun", "flux"))
    raise UserError(
        f"{option}{asked}: how {words[0]} is told the number of ranks is not known",
        f"{question}say so with {{n}}, {{nodes}}, {{ppn}}: {option}'{asked} -n {{n}} --'",
    )


def _template(asked: str, words: Words, option: str) -> Launcher:
    try:
        places = {place for word in words for _, place, _, _ in Formatter().parse(word) if place is not None}
    except ValueError as error:
        raise UserError(f"{option}{asked}: {error}", "write {n}, {nodes}, {ppn}") from error
    if wrong := sorted(places - _PLACES):
        raise UserError(f"{option}{asked}: '{{{wrong[0]}}}' stands for nothing", "write {n}, {nodes}, {ppn}")
    if "n" not in places and not places >= {"nodes", "ppn"}:
        raise UserError(f"{option}{asked}: the number of ranks is missing", "write {n}, or {nodes} and {ppn}")
    return Launcher(words, is_template=True)


def _srun(flags: Words, mpi: Mpi) -> Launcher:
    pmi = () if any(flag.startswith("--mpi") for flag in flags) else _PMI.get(mpi.family, ())
    return replace(SRUN, start=(*SRUN.start, *pmi, *flags))


def _mpiexec(mpi: Mpi, flags: Words) -> Launcher:
    if mpi.launcher is None:
        raise UserError(
            f"found no launcher for {mpi} ({mpi.library})",
            "put its mpiexec on PATH, name another with --launcher, or start the job yourself with "
            "LD_PRELOAD=$(espalier lib --for PROGRAM)",
        )
    open_mpi = OPEN_MPI if is_old_open_mpi(mpi) else OPEN_MPI_5
    kinds = {Family.OPENMPI: open_mpi, Family.INTEL: INTEL_HYDRA}
    return replace(kinds.get(mpi.family, HYDRA), start=(str(mpi.launcher), *flags))


def is_old_open_mpi(mpi: Mpi) -> bool:
    """Whether it has flags of before version 5, whose launcher is another program."""
    return mpi.version.startswith(("1.", "2.", "3.", "4."))


def write_line(
    launcher: Launcher,
    allocation: Allocation | None,
    layout: Layout,
    variables: Mapping[str, str],
    crowded: bool = False,
    flags: Sequence[str] = (),
) -> list[str]:
    """The words up to the program: what starts `layout` in `allocation` with these variables in the ranks' environment.

    `crowded`: ranks may outnumber processors. `flags` are further words for the launcher. Raises UserError where a
    template has a place that nothing fills, and where a launcher cannot be told hosts' names.
    """
    if launcher.is_template:
        line = _fill_template(launcher, layout)
        end = len(line) - (line[-1] == "--")
        line[end:end] = flags
    else:
        line = [*launcher.start, *_set(launcher.variable, variables), *_name_hosts(launcher, allocation, layout)]
        line += launcher.nested if allocation is not None and allocation.in_step else ()
        line += [*_say_where(launcher, layout, crowded), *flags, *_fill(launcher.ranks, layout)]
    return line if launcher.is_mpiexec or not variables else [*line, "env", *(f"{k}={v}" for k, v in variables.items())]


def _say_where(launcher: Launcher, layout: Layout, crowded: bool) -> list[str]:
    line = _fill(launcher.nodes, layout) if layout.nodes is not None else []
    if layout.ppn is None:
        return line + list(launcher.crowded if crowded else ())
    if crowded and launcher.crowded_per_node:
        return line + _fill(launcher.crowded_per_node, layout)
    return line + _fill(launcher.per_node, layout) + list(launcher.crowded if crowded else ())


def _fill(words: Words, layout: Layout) -> list[str]:
    return [word.format(n=layout.ranks, nodes=layout.nodes, ppn=layout.ppn) for word in words]


def _set(words: Words, variables: Mapping[str, str]) -> list[str]:
    return [word.format(name=name, value=value) for name, value in variables.items() for word in words]


def _name_hosts(launcher: Launcher, allocation: Allocation | None, layout: Layout) -> list[str]:
    """Words for hosts that have names: those of batch systems that not every mpiexec was built for."""
    if allocation is None or not all(host.name for host in allocation.hosts):
        return []
    if not launcher.hosts:
        raise UserError(
            f"{launcher} takes no hosts by name, which is how {allocation.system} gives them",
            "write --launcher mpiexec",
        )
    hosts = ",".join(
        launcher.host.format(host=host.name, slots=layout.ppn or host.slots)
        for host in allocation.hosts[: layout.nodes]
    )
    return [word.format(hosts=hosts) for word in launcher.hosts]


def _fill_template(launcher: Launcher, layout: Layout) -> list[str]:
    for name, value in (("nodes", layout.nodes), ("ppn", layout.ppn)):
        if value is None and any(f"{{{name}}}" in word for word in launcher.start):
            raise UserError(
                f"--launcher '{launcher}': nothing says what {{{name}}} is",
                "give --nodes and --ppn, or write a launcher with {n} only",
            )
    return _fill(launcher.start, layout)
