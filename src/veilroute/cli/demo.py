"""`veilroute demo`: the tour. Makes maps, plans, audits and draws; needs no input and no network."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from veilroute.app.audit import audit_playbook
from veilroute.app.plan import timed_solve
from veilroute.base.io import dump_canonical, write_file
from veilroute.base.run import Progress
from veilroute.cli.console import DONE, VIOLATED, live_progress, plain_run, stdout
from veilroute.cli.summaries import headline
from veilroute.domain import WithinDistance, draw_candidates, generate_rooms, generate_streets
from veilroute.model.problem import Privacy, Problem, Trip


def tour() -> Iterator[tuple[str, str, Problem, Privacy]]:
    """A guard's round through a building, and a cash van in one-way streets: name, story, and the problem behind it."""
    building = generate_rooms(36, 64, seed=11)
    entrance, exit_ = building.label(0), building.label(building.num_nodes - 1)
    places = draw_candidates(building, entrance, exit_, 10, seed=1)
    yield (
        "building",
        "A guard walks from the entrance to the exit of a building and must pass within two steps of one of ten "
        "places. Whoever follows the guard should be left with three places at least, eight steps apart.",
        Problem(building, [Trip(entrance, exit_)], places, WithinDistance(2)),
        Privacy(k=3, ell=8),
    )
    city = generate_streets(13, 18, seed=5)
    depot = city.label(city.num_nodes // 2)
    branches = draw_candidates(city, depot, depot, 12, seed=2)
    yield (
        "streets",
        "A van leaves its depot, visits one of twelve branches in a town with one-way streets, and comes back. "
        "Two branches at least, 300 m apart, must stay possible even after the whole trip was watched.",
        Problem(city, [Trip(depot, depot)], branches, WithinDistance(0)),
        Privacy(k=2, ell=300),
    )


def run_demo(
    *,
    out: Annotated[Path, Parameter(metavar="DIR", help="Where to put the results.")] = Path("veilroute-demo"),
) -> int:
    """Take the tour: make maps, plan, audit and draw. No input, no network, under a minute."""
    from veilroute.plotting import draw_playbook

    console = stdout()
    out.mkdir(parents=True, exist_ok=True)
    all_hold = True
    with live_progress() as report:
        for number, (name, story, problem, privacy) in enumerate(tour(), start=1):
            console.print(f"\n{number}. The {name}", style="bold")
            console.print(story)
            playbook, _ = timed_solve(problem, privacy, plain_run(), progress=report)
            for line in headline(playbook):
                console.print(line)
            report(Progress("replaying the adversary"))
            verdict = audit_playbook(playbook)
            all_hold &= verdict.holds
            console.print(verdict.to_text().splitlines()[0])
            report(Progress("drawing"))
            plan, text, picture = (out / f"{name}{end}" for end in (".json", "-audit.txt", ".png"))
            playbook.write(plan)
            write_file(text, verdict.to_text())
            write_file(text.with_suffix(".json"), dump_canonical(verdict.to_dict()))
            draw_playbook(playbook, picture)
            console.print(f"playbook: {plan}   audit: {text}   picture: {picture}")
    # As it was called, so that the line can be typed again.
    program = sys.argv[0] if Path(sys.argv[0]).name == "veilroute" else "veilroute"
    console.print(
        "\nNow be the guard. Type one of the ten places when it waits, and get its route; typed like this, the secret\n"
        "stays out of your shell's history:\n"
        f"  {program} route {out / 'building.json'} --stop -\n"
        "Or see both maps in a browser, and watch as an observer does: make studio, or\n"
        f"  {program} serve --demo"
    )
    return DONE if all_hold else VIOLATED
