"""What the tuner's tests are made with: a machine whose times are known, in place of one that must be measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from espalier.base.core import load_core
from espalier.measure.worker import ArmTimes, WorkerLostError
from espalier.tuning.problems.candidates import Machine
from espalier.tuning.problems.problem import Shape

# Microseconds of an arm: (operation, bytes, arm) -> time.
TimeOf = Callable[[str, int, str], float]


def a_machine(*sizes: int, single_copy: bool = True, oversubscribed: bool = False) -> Machine:
    """Nodes with so many ranks each, and the real core."""
    core = load_core()
    node_of = tuple(node for node, size in enumerate(sizes) for _ in range(size))
    parameters = core.CostParameters()
    parameters.cores = max(sizes)
    return Machine(core, Shape(node_of), core.Topology(list(node_of), single_copy, oversubscribed), parameters)


def arm_times(arm: str, times: Sequence[float], said: str = "", refused: str = "") -> ArmTimes:
    return ArmTimes(arm, said, refused, 100, () if refused else tuple(times))


class SimulatedWorker:
    """Answers at once, from a function. Rounds differ by a disturbance that all arms of a round share."""

    def __init__(self, time_of: TimeOf) -> None:
        self.time_of = time_of
        self.measured: list[tuple[str, int, Sequence[str]]] = []
        self.refusals: dict[str, str] = {}
        self.before: Callable[[], None] = lambda: None  # may raise in place of an answer
        self.line_ns = 0.0
        self.others, self.is_disturbed = 0.0, False
        self.looks = 0
        self.is_closed = False

    def measure(
        self, operation: str, size: int, arms: Sequence[str], rounds: int, batch_us: float, cold: bool = False
    ) -> list[ArmTimes]:
        self.before()
        self.measured.append((operation, size, arms))
        disturbance = [1.0 + 0.3 * (number % 3) for number in range(rounds)]
        return [
            arm_times(
                arm,
                [self.time_of(operation, size, arm) * noise for noise in disturbance],
                said="" if arm == "native" else arm,
                refused=self.refusals.get(arm, ""),
            )
            for arm in arms
        ]

    def look(self) -> float:
        self.before()
        self.looks += 1
        return self.line_ns

    def curve(self, name: str) -> list[dict[str, Any]]:
        return []

    def close(self) -> None:
        self.is_closed = True

    def lose(self) -> None:
        """From now on no answer comes."""

        def lost() -> None:
            raise WorkerLostError("the job ended during: measure")

        self.before = lost
