"""`veilroute draw`: a playbook on its map."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilroute.cli.audit import DomainOption, MovementOption, load_playbook
from veilroute.cli.console import live_progress, stdout
from veilroute.cli.exit_codes import DONE
from veilroute.progress import Progress


def run_draw(
    playbook: Annotated[Path, typer.Argument(metavar="PLAYBOOK", help="A playbook made by `veilroute plan`.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="A .png, .svg, .pdf or .html file.")],
    trip: Annotated[int, typer.Option(help="Which trip, from 0.")] = 0,
    domain: DomainOption = None,
    movement: MovementOption = 4,
) -> int:
    """Draw a playbook: obstacles, start, goal, and one colour per class for candidates and route.

    A .html is a map for the browser, on street networks only; it loads nothing from anywhere.
    """
    from veilroute.plotting import draw_playbook, write_html_map

    book = load_playbook(playbook, domain, movement)
    with live_progress() as report:
        report(Progress("drawing"))
        if out.suffix.lower() == ".html":
            write_html_map(book, out, trip=trip)
        else:
            draw_playbook(book, out, trip=trip)
    stdout().print(f"Picture: {out}")
    return DONE
