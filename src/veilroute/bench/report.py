"""The report of a run: one HTML page, the same in Markdown, and the figures as files.

A page of headings, text, tables and pictures, as HTML and as Markdown.

How a run was made, from what its records say: cells, maps, versions, machines, time.
"""

from __future__ import annotations

import base64
import html
import math
import re
import shlex
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from veilroute.bench.cells import Cell, Record
from veilroute.bench.figures import Picture, draw_figures
from veilroute.bench.findings import describe
from veilroute.bench.paper_tables import build_tables
from veilroute.bench.published import SHOWN
from veilroute.bench.selection import STATUSES, belongs, errors_of, method_label
from veilroute.bench.suites import PAPER_MAPS, SIZED_SUITES, SUITES
from veilroute.bench.table import Table, counted, escape_markdown, format_seconds, listed
from veilroute.domain.graph import Domain

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --page: #ffffff; --soft: #f2f2ee; --line: #d0d0cb; --quiet: #666660; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e2; --page: #17181a; --soft: #242629; --line: #44474b; --quiet: #a3a39d; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; }
h2 { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1.35rem; }
a { color: inherit; }
pre { overflow-x: auto; padding: .7rem .9rem; border-radius: .4rem; background: var(--soft); font-size: .85rem; }
figure { margin: 1.5rem 0; }
figcaption { color: var(--quiet); font-size: .85rem; }
figcaption p { margin: .35rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .82rem; font-variant-numeric: tabular-nums; }
caption { padding: .3rem 0; text-align: left; font-weight: 600; font-size: .95rem; }
th, td { padding: .25rem .55rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: bottom; }
td { white-space: nowrap; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--page); }
.number { text-align: right; }
.paper, .paper td { color: var(--quiet); font-style: italic; }
img { display: block; max-width: 100%; height: auto; padding: .4rem; border-radius: .4rem; background: #ffffff; }
@media print {
  :root { --ink: #000000; --page: #ffffff; --soft: #f2f2ee; --line: #bbbbbb; --quiet: #444444; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  .wide { overflow: visible; }
  table { font-size: 6.5pt; }
  th, td { padding: .12rem .25rem; }
  td { white-space: normal; }
  tr, img { break-inside: avoid; }
  h2, caption { break-after: avoid; }
}
""".strip()


@dataclass(frozen=True)
class Heading:
    """A heading; the contents of the page list it."""

    text: str
    anchor: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """A command."""

    text: str


@dataclass(frozen=True)
class Image:
    """A picture with a caption; HTML holds it, Markdown links to ``link``."""

    png: Path
    link: str
    caption: str


Block = Heading | Text | Bullets | Code | Image | Table


def render_html(title: str, blocks: Sequence[Block]) -> str:
    """One page that holds all it shows: no script, no other file, no address."""
    links = "".join(
        f'<li><a href="#{html.escape(block.anchor)}">{html.escape(block.text)}</a></li>'
        for block in blocks
        if isinstance(block, Heading)
    )
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; style-src '
        "'unsafe-inline'\">",
        f"<title>{html.escape(title)}</title>",
        f"<style>\n{STYLE}\n</style>",
        "</head>",
        "<body>",
        f"<h1>{html.escape(title)}</h1>",
        f"<nav><ul>{links}</ul></nav>",
        *(_block_html(block) for block in blocks),
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def render_markdown(title: str, blocks: Sequence[Block]) -> str:
    """The same as text, with links to the pictures."""
    return (
        "\n\n".join([f"# {escape_markdown(title)}", *(_block_markdown(block).strip("\n") for block in blocks)]) + "\n"
    )


def _block_html(block: Block) -> str:
    match block:
        case Heading():
            return f'<h2 id="{html.escape(block.anchor)}">{html.escape(block.text)}</h2>'
        case Text():
            return f"<p>{html.escape(block.text)}</p>"
        case Bullets():
            return "<ul>" + "".join(f"<li>{html.escape(item)}</li>" for item in block.items) + "</ul>"
        case Code():
            return f"<pre><code>{html.escape(block.text)}</code></pre>"
        case Image():
            return _image_html(block)
        case Table():
            return block.to_html()


def _image_html(image: Image) -> str:
    data = image.png.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    caption = html.escape(image.caption)
    source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
    picture = f'<img src="{source}" width="{width}" height="{height}" alt="{caption}">'
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def _block_markdown(block: Block) -> str:
    match block:
        case Heading():
            return f"## {escape_markdown(block.text)}"
        case Text():
            return escape_markdown(block.text)
        case Bullets():
            return "\n".join(f"- {escape_markdown(item)}" for item in block.items)
        case Code():
            longest = max((len(run) for run in re.findall("`+", block.text)), default=0)
            fence = "`" * max(3, longest + 1)
            return f"{fence}console\n{block.text}\n{fence}"
        case Image():
            caption = escape_markdown(block.caption)
            return f"![{caption}]({block.link})\n\n*{caption}*"
        case Table():
            return block.to_markdown()


_MOST_ERRORS = 10


def how_it_was_made(suite_names: Sequence[str], records: Sequence[Record], notes: Sequence[str]) -> list[str]:
    """Sentences on how the records of some suites came about.

    Parameters
    ----------
    suite_names
        Whose records count.
    records
        Of these and possibly of other suites.
    notes
        What the records do not know; these come first.
    """
    own = [record for record in records if any(belongs(name, record.cell) for name in suite_names)]
    failed = errors_of(own)
    stopped = [r for r in own if r.outcome.status in STATUSES and not r.outcome.is_finished]
    lines = [f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in notes]
    lines.append(f"Suites: {listed(suite_names)}.")
    num_ended = len(own) - len(stopped) - len(failed)
    lines.append(
        f"Cells: {len(own)}; {num_ended} came to their own end, {len(stopped)} were stopped by the clock, "
        f"{len(failed)} ended with an error."
    )
    if not own:
        return lines
    runtime_s = math.fsum(record.outcome.runtime_s for record in own)
    limits = sorted({record.cell.time_limit_s for record in own})
    lines.append(f"Time limit for a cell: {listed(limits)} s. Sum of the runtimes: {_duration(runtime_s)}.")
    lines.append(_maps(own))
    pairs = sorted({record.cell.instance.seed for record in own})
    seeds = sorted({record.cell.seed for record in own})
    lines.append(f"Pairs of start and goal on each map: {listed(pairs)}. Seeds of random draws: {listed(seeds)}.")
    if stopped:
        lines.append(f"Stopped by the clock: {_by_method(stopped)}.")
    lines += [f"Error in {_name(r.cell)}: {r.outcome.error or 'unknown'}" for r in failed[:_MOST_ERRORS]]
    if len(failed) > _MOST_ERRORS:
        lines.append(f"And {counted(len(failed) - _MOST_ERRORS, 'more error')}.")
    return lines + _provenance(own)


def _maps(records: Iterable[Record]) -> str:
    found = sorted({(record.cell.instance.map_name, record.cell.map_sha256) for record in records})
    named = listed([f"{name} ({sha256[:8]})" for name, sha256 in found])
    others = sorted({name for name, _ in found} - set(PAPER_MAPS))
    tail = "all have names of the paper's" if not others else f"not among the paper's: {listed(others)}"
    return f"Maps, with the start of their SHA-256: {named}; {tail}."


def _by_method(records: Iterable[Record]) -> str:
    counts: dict[str, int] = {}
    for record in records:
        name = method_label(record.cell.method)
        counts[name] = counts.get(name, 0) + 1
    return "; ".join(f"{name}: {counted(count, 'cell')}" for name, count in sorted(counts.items()))


def _provenance(records: Iterable[Record]) -> list[str]:
    told = [record.provenance for record in records]
    lines = []
    versions = _distinct(told, "versions")
    if versions:
        lines.append(f"Versions: {'; or '.join(versions)}.")
    machines = _distinct(told, "machine")
    if machines:
        lines.append(f"Machines: {'; and '.join(machines)}.")
    workers = {str(entry.get("worker")) for entry in told if entry.get("worker")}
    runs = {str(entry.get("run")) for entry in told if entry.get("run")}
    lines.append(f"Made by {counted(len(workers), 'worker')} in {counted(len(runs), 'run')}.")
    times = sorted(str(entry["finished_at"]) for entry in told if entry.get("finished_at"))
    if times:
        lines.append(f"The first cell was finished at {times[0]}, the last at {times[-1]}.")
    return lines


def _distinct(told: Iterable[dict[str, Any]], key: str) -> list[str]:
    """The different values of a field, each as ``name value, name value``."""
    found = set()
    for entry in told:
        value = entry.get(key)
        if isinstance(value, dict):
            found.add(", ".join(f"{name} {value[name]}" for name in sorted(value) if value[name] not in ("", None)))
        elif value:
            found.add(str(value))
    return sorted(found)


def _name(cell: Cell) -> str:
    where = f"{cell.instance.map_name}, pair {cell.instance.seed}, {cell.num_candidates} candidates"
    ratio = "infinity" if cell.m_ratio is None else f"{cell.m_ratio:g} shortest paths"
    return f"{cell.method.name} on {where}, k = {cell.k}, ell = {cell.ell:g}, radius {cell.radius:g}, m = {ratio}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{format_seconds(seconds)} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{minutes:.1f} minutes" if minutes < 90 else f"{hours:.1f} hours"


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
        What to report, in this order; names of :data:`veilroute.bench.suites.SUITES`.
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
