"""espalier verify: prove plans on random machines."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from rich.markup import escape

from espalier.base import console
from espalier.base.core import load_core, user_errors
from espalier.base.units import counted

_MOST_VIOLATIONS_SHOWN = 20


def verify(
    random: Annotated[int, typer.Option("--random", min=1, metavar="N", help="How many random plans to prove.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same plans.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="The result as JSON.")] = False,
) -> None:
    """Build plans for random machines, sizes, roots and choices, and prove each. Exit code 1 on any violation."""
    core = load_core()
    start = time.monotonic()
    with user_errors("see espalier verify --help"):
        result = _verify_with_progress(core, random, seed)
    violations = result["violations"]
    checked = int(result["checked"])
    if json:
        seconds = round(time.monotonic() - start, 3)
        console.print_json({"checked": checked, "seed": seed, "seconds": seconds, "violations": violations})
    else:
        _print(checked, seed, time.monotonic() - start, violations)
    raise typer.Exit(1 if violations else 0)


def _verify_with_progress(core: Any, count: int, seed: int) -> dict[str, Any]:
    with console.progress("proving plans", count) as tell:
        before = 0

        def report(done: int, *_: object) -> None:
            nonlocal before
            tell("", done - before)
            before = done

        result: dict[str, Any] = core.verify_random(count, seed, report)
        return result


def _print(checked: int, seed: int, seconds: float, violations: list[dict[str, Any]]) -> None:
    for violation in violations[:_MOST_VIOLATIONS_SHOWN]:
        place = f"rank {violation['rank']}, step {violation['step']}, call {violation['call']}"
        if violation["last"] > violation["first"]:
            place += f", bytes {violation['first']} to {violation['last'] - 1} of {violation['buffer']}"
        console.out.print(f"[red]{violation['kind']}[/] at {place}: {escape(violation['text'])}", soft_wrap=True)
        console.out.print(f"  [dim]again with:[/] {escape(violation['plan'])}", soft_wrap=True)
    if len(violations) > _MOST_VIOLATIONS_SHOWN:
        console.out.print(f"… and {len(violations) - _MOST_VIOLATIONS_SHOWN} more")
    colour = "red" if violations else "green"
    told = f"{counted(checked, 'plan')} checked, {counted(len(violations), 'violation')}"
    console.out.print(f"[{colour}]{told}[/] (seed {seed}, {seconds:.1f} s)")
