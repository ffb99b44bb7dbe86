"""Espalier's compiled core: topologies, choices, plans and their proof.

Operations are named "broadcast" ("bcast"), "allgather" and "barrier". Everything is immutable. Bad arguments raise
Error with a text made for people.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

class Error(ValueError): ...

def parse_bytes(text: str) -> int:
    """Reads a size as people write it: 4096, 64K, 1M, 2G."""

def format_bytes(bytes: int) -> str:
    """The shortest exact spelling that parse_bytes reads back."""

class Setting:
    @property
    def name(self) -> str:
        """The environment variable."""
    @property
    def default(self) -> str: ...
    @property
    def help(self) -> str: ...
    @property
    def is_collective(self) -> bool:
        """Must be equal on all ranks."""

def settings() -> list[Setting]: ...

class Topology:
    """Which rank sits on which node."""

    def __init__(
        self,
        node_of: Sequence[int],
        single_copy: bool = False,
        oversubscribed: bool = False,
        window_bytes: int = 262144,
    ) -> None:
        """`node_of[r]` is any label of rank r's node."""
    @property
    def ranks(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def largest_node(self) -> int: ...
    @property
    def is_blocked(self) -> bool:
        """Node-major order is rank order."""
    @property
    def single_copy(self) -> bool: ...
    @property
    def oversubscribed(self) -> bool: ...
    @property
    def window_bytes(self) -> int: ...
    @property
    def node_of(self) -> list[int]:
        """By rank; nodes are numbered by first appearance."""
    @property
    def local_rank(self) -> list[int]: ...

def virtual_node_of(spec: str, index: int, count: int) -> int:
    """The node of process `index` of `count` when ESPALIER_VIRTUAL_NODES is `spec`: 4, or 3,1,4, or cyclic:4."""

class Choice:
    """An algorithm and its knobs; str() is what parse_choice reads."""

    @property
    def between(self) -> str: ...
    @property
    def within(self) -> str: ...
    @property
    def radix(self) -> int: ...
    @property
    def segment(self) -> int:
        """In bytes; 0 sends each message whole."""
    @property
    def cell(self) -> int: ...
    @property
    def cells(self) -> int: ...

class Step:
    """One step of a program. Attributes that mean nothing for its operation are None."""

    @property
    def op(self) -> str: ...
    @property
    def buffer(self) -> str | None: ...
    @property
    def offset(self) -> int | None: ...
    @property
    def bytes(self) -> int | None: ...
    @property
    def peer(self) -> int | None: ...
    @property
    def slot(self) -> int | None: ...
    @property
    def neighbour(self) -> int | None: ...
    @property
    def window_offset(self) -> int | None: ...
    @property
    def far_buffer(self) -> str | None: ...
    @property
    def far_offset(self) -> int | None: ...
    @property
    def flag(self) -> str | None: ...
    @property
    def tick(self) -> int | None: ...
    @property
    def calls_back(self) -> int | None: ...

class Program:
    """What one rank does."""

    @property
    def steps(self) -> list[Step]: ...
    @property
    def scratch_bytes(self) -> int: ...
    @property
    def slots(self) -> int: ...
    @property
    def window_bytes(self) -> int: ...
    @property
    def is_exposed(self) -> bool: ...

class Plan:
    """The programs of all ranks."""

    @property
    def topology(self) -> Topology: ...
    @property
    def operation(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def root(self) -> int: ...
    @property
    def choice(self) -> Choice: ...
    @property
    def programs(self) -> list[Program]: ...
    @property
    def longest_program(self) -> int:
        """In steps."""
    def traffic(self) -> list[dict[str, int]]:
        """What moves, one entry per node: messages, bytes, connections, shared memory, steps."""

class Decision:
    @property
    def choice(self) -> Choice: ...
    @property
    def reason(self) -> str: ...

class Algorithm:
    @property
    def name(self) -> str:
        """Unique: broadcast_chain."""
    @property
    def operation(self) -> str: ...
    @property
    def between(self) -> str:
        """How a Choice spells it: chain."""
    @property
    def source(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def knobs(self) -> str: ...

def algorithms() -> list[Algorithm]: ...
def parse_choice(operation: str, text: str) -> Choice:
    """Reads "chain,segment=64K,cells=8"; knobs not named keep their default."""

def choose(topology: Topology, operation: str, bytes: int, root: int = 0) -> Decision:
    """The built-in choice. `bytes`: of the message, or of one rank's block of an allgather."""

def why_invalid(
    topology: Topology,
    operation: str,
    bytes: int,
    choice: Choice,
    element: int = 1,
    is_commutative: bool = True,
    counts: list[int] = [],
) -> str:
    """Why the choice does not apply here; empty when it does. The last three as in build()."""

def build(
    topology: Topology,
    operation: str,
    bytes: int,
    root: int,
    choice: Choice | str,
    element: int = 1,
    is_commutative: bool = True,
    counts: list[int] = [],
) -> Plan:
    """All ranks' programs. Only broadcast, scatter, gather and reduce look at `root`.

    `element` (bytes) and `is_commutative` belong to reductions; `counts` are the blocks' sizes of the v-forms, for
    alltoall row by row.
    """

class Signature:
    """For which machine and MPI a table holds, as two lines of text."""

    def __init__(self, machine: str, mpi: str) -> None: ...
    @property
    def machine(self) -> str: ...
    @property
    def mpi(self) -> str: ...

class TableRow:
    """One line of a tuned table. Ranges are closed; times are in microseconds."""

    @property
    def operation(self) -> str: ...
    @property
    def nodes(self) -> tuple[int, int]: ...
    @property
    def ppn(self) -> tuple[int, int]:
        """Ranks on the largest node."""
    @property
    def bytes(self) -> tuple[int, int]: ...
    @property
    def selection(self) -> str:
        """ "native", "tiny", or what parse_choice reads."""
    @property
    def measured_bytes(self) -> int: ...
    @property
    def native_us(self) -> float: ...
    @property
    def chosen_us(self) -> float: ...
    @property
    def lowest_ratio(self) -> float:
        """Native ÷ selection, of all rounds."""
    @property
    def highest_ratio(self) -> float: ...
    @property
    def calls(self) -> int: ...

class Table:
    """A tuned table."""

    @staticmethod
    def load(path: str) -> Table:
        """Raises Error when the file cannot be read, is torn or corrupt, or has a newer format."""
    @staticmethod
    def parse(text: str, name: str) -> Table:
        """The same for a text; errors begin with `name`."""
    @property
    def signature(self) -> Signature: ...
    @property
    def rows(self) -> list[TableRow]: ...
    def find(self, topology: Topology, operation: str, bytes: int) -> TableRow | None:
        """The first row that matches."""

table_version: int

def probe_signature(library_version: str) -> Signature:
    """This machine's, with the MPI whose MPI_Get_library_version says this."""

def why_foreign(made_for: Signature, here: Signature) -> str:
    """Why a table must not be used here; empty when it may."""

def table_places(xdg_config_home: str, home: str) -> list[str]:
    """Where tables are looked for, best first: the user's place, then the system's."""

def probe_table_path(setting: str = "") -> str:
    """The table that a process with this ESPALIER_TABLE uses; empty when there is none."""

def is_tiny(operation: str, bytes: int, ranks: int) -> bool:
    """Whether one node's ranks may take the dedicated path for short messages."""

class CostLine:
    """A fixed cost (µs) and a rate (bytes per µs)."""

    fixed: float
    rate: float
    def __init__(self, fixed: float, rate: float) -> None: ...

class CostParameters:
    """What things cost on a machine: src/cost/parameters.hpp. Times in µs, rates in bytes per µs."""

    flag: float
    step: float
    put: CostLine
    get: CostLine
    copy: CostLine
    reduce: CostLine
    single_copy: CostLine
    latency: float
    overhead: float
    gap: float
    link_rate: float
    cores: int
    yield_cost: float
    def __init__(self) -> None: ...

def estimate(plan: Plan, parameters: CostParameters = ...) -> float:
    """Microseconds from the common start to the last rank's end. Orders choices rather than predicts times."""

class Violation:
    """One fault of a plan: at `step` of `rank`'s program in the `call`-th of the verified calls."""

    @property
    def kind(self) -> str: ...
    @property
    def rank(self) -> int: ...
    @property
    def step(self) -> int:
        """-1 before the first; the length of the program at its end."""
    @property
    def call(self) -> int: ...
    @property
    def buffer(self) -> str: ...
    @property
    def first(self) -> int:
        """Bytes [first, last) of the buffer; equal when the fault is not about bytes."""
    @property
    def last(self) -> int: ...
    @property
    def text(self) -> str: ...

class _Failure(TypedDict):
    kind: str
    rank: int
    step: int
    call: int
    buffer: str
    first: int
    last: int
    text: str
    plan: str  # the call of build() that makes it again

class _Outcome(TypedDict):
    checked: int
    violations: list[_Failure]

def verify(plan: Plan) -> list[Violation]:
    """Proves the plan, run several times in a row. Empty when it is correct."""

def verify_sequence(plans: Sequence[Plan]) -> list[Violation]:
    """Proves consecutive calls on one communicator."""

def verify_random(count: int, seed: int, callback: Callable[[int], Any] | None = None) -> _Outcome:
    """Proves random plans; the same for a seed. `callback(done)` is called after each."""

def verify_exhaustive(first: int, last: int, callback: Callable[[int], Any] | None = None) -> _Outcome:
    """Proves every algorithm on every kind of machine of `first` to `last` ranks, from every root."""
