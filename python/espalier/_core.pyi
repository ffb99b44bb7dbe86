"""Espalier's compiled core: topologies, choices, plans and their proof.

Operations are named "broadcast" ("bcast"), "allgather" and "barrier". Everything is immutable. Bad arguments raise
Error with a text made for people.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypedDict

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

class NumaNode:
    """Memory with its processors, as a list such as 0-3,8."""

    @property
    def os_index(self) -> int: ...
    @property
    def cpus(self) -> str: ...

class Nic:
    """One network device, whatever names it has."""

    @property
    def names(self) -> list[str]: ...
    @property
    def is_fabric(self) -> bool:
        """InfiniBand, RoCE, HSN; False: Ethernet and nothing else."""
    @property
    def bus(self) -> str: ...
    @property
    def near(self) -> str:
        """The processors it hangs off; empty when that is not known."""
    @property
    def mbits(self) -> int:
        """0: not known."""
    @property
    def is_active(self) -> bool: ...

class MachineNode:
    """One node's facts: src/machine/node.hpp."""

    @property
    def source(self) -> str: ...
    @property
    def cpus(self) -> str: ...
    @property
    def packages(self) -> list[str]: ...
    @property
    def numa_nodes(self) -> list[NumaNode]: ...
    @property
    def distances(self) -> list[list[int]]:
        """In firmware's unit: 10 is local."""
    @property
    def l3_groups(self) -> list[str]: ...
    @property
    def nics(self) -> list[Nic]: ...

class RankFacts:
    """Where a rank sits on its node."""

    @property
    def numa(self) -> int: ...
    @property
    def l3(self) -> int: ...
    @property
    def binding(self) -> str:
        """unknown, unbound or bound."""
    @property
    def distances(self) -> list[int]:
        """To each NIC in use; -1: not known."""

def probe_node(machine: str = "") -> MachineNode:
    """This machine; or a snapshot, FILE.xml; or a description in hwloc's synthetic notation."""

def probe_hwloc() -> MachineNode:
    """This machine as hwloc sees it."""

def probe_cpus() -> str:
    """The processors that this process may run on."""

def nics_in_use(node: MachineNode, setting: str = "") -> tuple[list[int], str]:
    """Indexes into `node.nics`, and why these. `setting` as ESPALIER_NIC; the transports' variables count too."""

def rank_facts(node: MachineNode, nics: list[int], cpus: str) -> RankFacts:
    """Those of a process bound to `cpus`, with these NICs in use."""

def binding_of(node: MachineNode, mapping: str, index: int) -> str:
    """The processors that rank `index` of a node is bound to under one of mappings()."""

def parse_cpus(text: str) -> list[int]:
    """The processors of a list such as 0-3,8."""

def mappings() -> list[str]: ...
def policies() -> list[str]: ...
def leaders_of(
    topology: Topology,
    node: int,
    operation: str,
    root: int = 0,
    policy: str = "near",
    count: int = 1,
    relays: bool = False,
    hands_over: bool = False,
) -> tuple[list[tuple[int, int]], str]:
    """(rank, index of its NIC) of each leader of a node, and the reason: src/leaders/direction.hpp."""

def chain_of(topology: Topology, operation: str, root: int = 0, policy: str = "near") -> list[int]:
    """All ranks as one chain, every node entered through its near rank."""

class Topology:
    """Which rank sits on which node."""

    def __init__(
        self,
        node_of: Sequence[int],
        single_copy: bool = False,
        oversubscribed: bool = False,
        window_bytes: int = 262144,
        facts: list[RankFacts] = [],
        turn: int = 0,
        class_of: Sequence[int] = ...,
        ways: Sequence[tuple[float, float]] = ...,
        leaf_of: Sequence[int] = ...,
        trunks: Sequence[float] = ...,
    ) -> None:
        """`node_of[r]` is any label of rank r's node; `facts[r]`, if anybody knows, where it sits there.

        What is known of the network: the class of each node, and a way (latency in µs, µs per byte) from each class to
        each, row by row; on the diagonal between two nodes of one class. And what nodes share: the leaf switch of each
        node, and of each leaf what its cables to others carry together (µs per byte; 0: not known)."""
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
    @property
    def groups(self) -> int:
        """Groups of masters: how many ranks of a node speak on the network."""
    @property
    def exchange(self) -> str:
        """How the masters of a group exchange."""
    @property
    def connections(self) -> int:
        """Messages that one rank has under way at most; 0 sets no bound."""
    @property
    def staging(self) -> str:
        """What the masters of an allgather's groups send and receive: auto, copy, zero_copy."""
    @property
    def stores(self) -> str:
        """How ranks write what they take out of cells: cached, streaming."""
    @property
    def levels(self) -> int:
        """2: within a node, data pass from domain to domain once and are handed on there."""

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
    @property
    def phases(self) -> list[tuple[str, int]]:
        """Name and first step of each part that has a name of its own."""
    @property
    def stores(self) -> str: ...

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

def derive_distances(
    delays: FabricDelays,
) -> tuple[list[int], list[tuple[float, float]], list[int], list[float]]:
    """A Topology's `class_of`, `ways`, `leaf_of` and `trunks`, out of latencies, slowest links and leaves' cables."""

class LaidTree:
    """A choice's tree or ring between nodes as it lies on the network."""

    @property
    def shape(self) -> str:
        """knomial, chain, ring, scatter_ring …; flat where no order of nodes is better than another."""
    @property
    def traversal(self) -> str:
        """natural, breadth, depth or bine; auto where nodes have changed places since."""
    @property
    def node_at(self) -> list[int]:
        """The node at each position; the root's first."""
    @property
    def parents(self) -> list[int]:
        """The position above each position; -1 at the root."""
    @property
    def reach(self) -> float:
        """Estimated microseconds until the last node has everything."""
    @property
    def natural_reach(self) -> float:
        """The same, with nodes in the order of their numbers."""

def lay_tree(topology: Topology, operation: str, bytes: int, root: int, choice: Choice) -> LaidTree: ...

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

def rank_choices(
    topology: Topology,
    operation: str,
    bytes: int,
    root: int = 0,
    parameters: CostParameters = ...,
    element: int = 1,
    counts: list[int] = [],
) -> list[tuple[Choice, float]]:
    """What the built-in choice compares: valid candidates and their microseconds by closed form, fastest first."""

class Share:
    """So many ranks, each with so many bytes."""

    @property
    def count(self) -> int: ...
    @property
    def bytes(self) -> int: ...

class Stream:
    """Connections that carry `steps` messages of `bytes` each, one behind the other."""

    @property
    def bytes(self) -> int: ...
    @property
    def connections(self) -> int: ...
    @property
    def order(self) -> str: ...
    @property
    def steps(self) -> int: ...

class PhaseAccount:
    """What the ranks of a node write to and read from shared memory in one phase."""

    @property
    def name(self) -> str: ...
    @property
    def writes(self) -> list[Share]: ...
    @property
    def reads(self) -> list[Share]: ...

class Accounting:
    """What one node does in a plan, counted from its steps."""

    @property
    def connections_in(self) -> int: ...
    @property
    def connections_out(self) -> int: ...
    @property
    def network(self) -> list[Stream]: ...
    @property
    def phases(self) -> list[PhaseAccount]: ...

def account_for(plan: Plan, node: int) -> Accounting:
    """Raises Error when the plan has no such node."""

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
    is_symmetric: bool = True,
) -> Plan:
    """All ranks' programs. Only broadcast, scatter, gather and reduce look at `root`.

    `element` (bytes), `is_commutative` and `is_symmetric` (also in bits) belong to reductions; `counts` are the blocks'
    sizes of the v-forms, for alltoall row by row.
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
    def uneven(self) -> bool:
        """Only for blocks of different sizes."""
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
    @property
    def parameters(self) -> CostParameters:
        """What things cost on its machine, as far as it was measured."""
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
    flow_rate: float  # inf: what one connection carries has no bound of its own
    eager: float
    cores: int
    yield_cost: float
    def __init__(self) -> None: ...
    def __copy__(self) -> CostParameters: ...

def estimate(plan: Plan, parameters: CostParameters = ...) -> float:
    """Microseconds from the common start to the last rank's end. Orders choices rather than predicts times."""

def estimate_choice(
    topology: Topology, operation: str, bytes: int, root: int, choice: Choice, parameters: CostParameters = ...
) -> float:
    """The same without building the plan, in closed form. The choice must be valid."""

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

def draw_places(node_of: list[int], seed: int) -> list[RankFacts]:
    """Invented places of ranks on their nodes: src/verify/places.hpp."""

def verify_exhaustive(first: int, last: int, callback: Callable[[int], Any] | None = None) -> _Outcome:
    """Proves every algorithm on every kind of machine of `first` to `last` ranks, from every root."""

class FabricError(Error):
    """Why dumps of a fabric were rejected, or why a question about one has no answer."""

    fault: str
    """unreadable, empty, truncated, bad-number, bad-record, too-large, no-wiring or unknown-host."""

class FabricEndpoint:
    """A cabled port of an adapter: where a route begins and ends."""

    @property
    def node(self) -> int:
        """Index into Fabric.nodes."""
    @property
    def port(self) -> int: ...

class FabricNode:
    @property
    def guid(self) -> str: ...
    @property
    def kind(self) -> str:
        """switch, adapter, aggregation or gateway."""
    @property
    def name(self) -> str: ...
    @property
    def lid(self) -> int:
        """Of a switch; 0 otherwise."""
    @property
    def part(self) -> int:
        """Which connected part of the fabric it is in; 0 is the largest."""
    @property
    def cables(self) -> list[tuple[int, int, int, str, float]]:
        """(port, peer's index, peer's port, rate, Gbit/s; 0 when not known), as this end sees them."""

class FabricHost:
    @property
    def name(self) -> str: ...
    @property
    def endpoints(self) -> list[FabricEndpoint]:
        """The first stands for the host."""

class FabricFinding:
    @property
    def kind(self) -> str: ...
    @property
    def text(self) -> str: ...

class FabricRoute:
    @property
    def source(self) -> FabricEndpoint: ...
    @property
    def target(self) -> FabricEndpoint: ...
    @property
    def status(self) -> str: ...
    @property
    def basis(self) -> str: ...
    @property
    def links(self) -> int:
        """Crossed; 0 to oneself, -1 without a route."""
    @property
    def hops(self) -> list[tuple[int, int, int]]:
        """(switch's index, port in, port out)."""

class FabricDelays:
    @property
    def hosts(self) -> int: ...
    @property
    def cells(self) -> int:
        """What is kept: pairs of a first switch and a distinct column."""
    def status(self, source: int, target: int) -> str: ...
    def count_statuses(self) -> list[tuple[str, int, int, int]]:
        """(status, ordered pairs, source and target of the first one)."""
    def matrix(self, metric: str, bytes: int = 0, latency: Sequence[tuple[int, float]] = ()) -> list[list[float]]:
        """Row by source. `latency` is (links, µs), ascending; without it TACC Ranger's."""

class FabricFormat:
    """What a file is."""

    unknown: ClassVar[FabricFormat]
    empty: ClassVar[FabricFormat]
    compressed: ClassVar[FabricFormat]
    ibnetdiscover: ClassVar[FabricFormat]
    opensm_subnet: ClassVar[FabricFormat]
    port_list: ClassVar[FabricFormat]
    link_info: ClassVar[FabricFormat]
    link_info_lines: ClassVar[FabricFormat]
    slurm_yaml: ClassVar[FabricFormat]
    slurm_conf: ClassVar[FabricFormat]
    tables: ClassVar[FabricFormat]
    opensm_tables: ClassVar[FabricFormat]
    opensm_routes: ClassVar[FabricFormat]
    @property
    def title(self) -> str: ...

fabric_head_bytes: int
"""How much of a file detect_fabric_format wants to see."""

def detect_fabric_format(head: bytes) -> FabricFormat: ...
def choose_fabric_files(formats: Sequence[FabricFormat]) -> list[int]:
    """Which files to read, in this order."""

class FabricLoader:
    """Builds a Fabric out of files that someone else opens: for each open, feed…, close; then finish."""

    def __init__(self) -> None: ...
    def open(self, name: str, format: FabricFormat) -> None: ...
    def feed(self, bytes: bytes) -> None: ...
    def close(self) -> None: ...
    def note_empty(self, name: str) -> None: ...
    def finish(self) -> Fabric: ...

class Fabric:
    """Switches, adapters, cables, forwarding tables and hosts; immutable."""

    @property
    def nodes(self) -> list[FabricNode]: ...
    @property
    def hosts(self) -> list[FabricHost]:
        """By name."""
    @property
    def findings(self) -> list[FabricFinding]: ...
    @property
    def parts(self) -> int:
        """How many connected parts have hosts."""
    @property
    def basis(self) -> str:
        """What routes are known from: tables, shortest or tree."""
    def lid_of(self, at: FabricEndpoint) -> int: ...
    def lmc_of(self, at: FabricEndpoint) -> int: ...
    def label(self, at: FabricEndpoint) -> str: ...
    def find_endpoint(self, text: str) -> FabricEndpoint:
        """A host, host/PORT, host/DEVICE, or the GUID of an adapter or of its port."""
    def find_pair(self, source: str, target: str) -> tuple[FabricEndpoint, FabricEndpoint]:
        """The ports by which two hosts meet in one part of the fabric."""
    def trace_route(self, source: FabricEndpoint, target: FabricEndpoint, path: int = 0) -> FabricRoute: ...
    def find_shortest_routes(
        self, source: FabricEndpoint, target: FabricEndpoint, most: int = 64
    ) -> list[FabricRoute]: ...
    def explain(self, route: FabricRoute) -> str:
        """What is wrong with it; empty when nothing is."""
    def bottleneck(self, route: FabricRoute) -> tuple[str, float]:
        """The slowest link's rate, and what it carries in Gbit/s."""
    def format_hops(self, route: FabricRoute) -> str: ...
    def routes_from(self, host: FabricHost) -> str:
        """Lines of `espalier routes` for one source."""
    def derive_delays(self, hosts: Sequence[str]) -> FabricDelays: ...

def expand_host_list(text: str, most: int = 1000000) -> list[str]:
    """Slurm's host lists: node[000-003],login."""

def compress_host_list(names: Sequence[str]) -> str: ...
