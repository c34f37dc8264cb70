"""The report of a run: one HTML page, the same in Markdown, and the figures as files."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from veilroute.bench.design import SUITES
from veilroute.bench.figures import Picture, draw_figures
from veilroute.bench.findings import describe
from veilroute.bench.making import how_it_was_made
from veilroute.bench.page import Block, Bullets, Code, Heading, Image, Text, render_html, render_markdown
from veilroute.bench.published import SHOWN
from veilroute.bench.records import Record
from veilroute.bench.suites import SIZED_SUITES
from veilroute.bench.table import Table
from veilroute.bench.tables import build_tables
from veilroute.domain.graph import Domain

TITLE = "The paper's experiments, run with veilroute"

_HEADINGS = {
    "table1": "Table 1: partitioning strategies",
    "table2": "Table 2: MAC relative to Naive",
    "table3": "Table 3: runtimes by m",
    "table4": "Table 4: MAC by k and m",
    "convergence": "Convergence: APR and MAC over time",
    "klr": "The impact of k, ell and the radius",
    "examples": "Examples: playbooks on their maps",
}


@dataclass(frozen=True)
class ReportFiles:
    """Where a report is.

    Parameters
    ----------
    html, markdown
        The two forms of the report.
    figures
        Every picture, as ``.png`` and as ``.svg``.
    """

    html: Path
    markdown: Path
    figures: tuple[Path, ...]


def write_report(
    out: Path,
    suite_names: Sequence[str],
    records: Sequence[Record],
    *,
    domains: Mapping[str, Domain],
    notes: Sequence[str],
    command: str,
) -> ReportFiles:
    """Write ``report.html``, ``report.md`` and ``figures/`` into a folder.

    The same records give the same bytes, in whatever order they come.

    Parameters
    ----------
    out
        The folder; made when it is not there.
    suite_names
        What to report, in this order; names of :data:`veilroute.bench.design.SUITES`.
    records
        Of these suites and possibly of others, which are left aside. A run that is not complete is reported as far as
        it got.
    domains
        Maps by name, or by their hash, to draw the examples on.
    notes
        Sentences about the run, such as which maps were used.
    command
        What was typed, with a suite or ``all`` after ``bench``.
    """
    figures = out / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    blocks: list[Block] = [
        Text(
            "The tables and figures of H. Takahashi and A. Fukunaga, On the Transit Obfuscation Problem (AAMAS 2024), "
            "computed again. The paper's figures stand beside ours. The row optimal (exact) is not in the paper: it is "
            "our own planner."
        ),
        Heading("How this was made", "how"),
        Code(f"$ {command}"),
        Bullets(tuple(how_it_was_made(suite_names, records, notes))),
    ]
    pictures: list[Picture] = []
    for name in suite_names:
        drawn = draw_figures(name, records, figures, domains=domains)
        pictures += drawn
        blocks += _section(name, records, drawn, command)
    page, text = out / "report.html", out / "report.md"
    page.write_text(render_html(TITLE, blocks), encoding="utf-8", newline="\n")
    text.write_text(render_markdown(TITLE, blocks), encoding="utf-8", newline="\n")
    return ReportFiles(page, text, tuple(path for picture in pictures for path in (picture.png, picture.svg)))


def suite_command(command: str, suite_name: str) -> str:
    """The command that makes one suite: the same with its name in place of the suite that was asked for.

    With options that not every suite takes it stays as it was; that makes this suite too.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    options = {word.partition("=")[0] for word in words}
    if "--method" in options or ("--candidates" in options and suite_name not in SIZED_SUITES):
        return command
    start = words.index("bench") + 1 if "bench" in words else len(words)
    for i in range(start, len(words)):
        if words[i] in (*SUITES, "all"):
            words[i] = suite_name
            return shlex.join(words)
    return command


def _section(name: str, records: Sequence[Record], drawn: Sequence[Picture], command: str) -> list[Block]:
    shown = SHOWN[name]
    blocks: list[Block] = [
        Heading(_HEADINGS[name], f"suite-{name}"),
        Text(f"In the paper ({shown.where}): {shown.shows} It found: {shown.found}"),
    ]
    tables = build_tables(name, records)
    found = describe(name, records)
    if not tables:
        blocks.append(Text("There are no records of this suite yet."))
    elif found:
        blocks += [Text("Here:"), Bullets(tuple(found))]
    if name == "examples":
        tables = [_only_drawn(table, drawn) for table in tables]
    blocks += tables
    blocks += [Image(picture.png, f"figures/{picture.png.name}", picture.caption) for picture in drawn]
    return [*blocks, Text("Made by:"), Code(f"$ {suite_command(command, name)}")]


def _only_drawn(table: Table, drawn: Iterable[Picture]) -> Table:
    """The table of examples without the names of pictures that could not be drawn."""
    there = {picture.png.name for picture in drawn}
    place = table.columns.index("picture")
    rows = tuple(
        (*row[:place], row[place] if row[place] in there else "not drawn", *row[place + 1 :]) for row in table.rows
    )
    is_missing = any(row[place] == "not drawn" for row in rows)
    missing = ("Not drawn: the record holds no playbook, or its map is not here.",) * is_missing
    return replace(table, rows=rows, notes=(*table.notes, *missing))
