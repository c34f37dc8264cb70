"""`veilroute convert`: between instance formats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from veilroute.cli.instances import InstanceOptions, load_instance
from veilroute.cli.plan import (
    CandidatesOption,
    EllOption,
    FileArgument,
    GoalOption,
    KOption,
    MOption,
    MovementOption,
    RadiusOption,
    RandomOption,
    ScenarioOption,
    SeedOption,
    SightOption,
    SpreadOption,
    StartOption,
)
from veilroute.formats import write_instance


def run_convert(
    instance: FileArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .json, .in or .map file.")],
    start: StartOption = None,
    goal: GoalOption = None,
    candidates: CandidatesOption = None,
    random_candidates: RandomOption = None,
    movement: MovementOption = None,
    scenario: ScenarioOption = 0,
    radius: RadiusOption = None,
    sight: SightOption = None,
    k: KOption = None,
    ell: EllOption = None,
    m: MOption = None,
    spread: SpreadOption = None,
    seed: SeedOption = 0,
) -> int:
    """Convert an instance to another format; what the new format cannot hold is named on standard error."""
    options = InstanceOptions(
        start, goal, candidates, random_candidates, movement, scenario, radius, sight, k, ell, m, spread, seed
    )
    lost = write_instance(load_instance(instance, options), out)
    print(f"Written: {out}")
    if lost:
        print(f"veilroute: {out.suffix} holds no {', '.join(lost)}; left out", file=sys.stderr)
    return 0
