"""The report of a run: one HTML page, the same in Markdown, and the figures as files.

A report says how the records were made, then, suite by suite, what the paper found and what is found here.
"""

import base64
import html
import math
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from veilroute.base.io import write_file
from veilroute.bench.cells import Cell, Record
from veilroute.bench.design import Picture, Selection, Suite, order_of, paper_file
from veilroute.bench.paper import MAPS, method_label
from veilroute.bench.suites import find_suite
from veilroute.bench.table import Table, counted, escape_markdown, format_seconds, listed
from veilroute.bench.tables import compare_programs
from veilroute.domain.graph import Domain

_MOST_ERRORS = 10


class Page:
    """A page that is written in two forms at once, block by block: HTML and Markdown."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._links: list[str] = []
        self._html: list[str] = []
        self._markdown = [f"# {escape_markdown(title)}"]

    def add_heading(self, text: str, anchor: str) -> None:
        """A heading; the contents of the page list it."""
        name, shown = html.escape(anchor), html.escape(text)
        self._links.append(f'<li><a href="#{name}">{shown}</a></li>')
        self._add(f'<h2 id="{name}">{shown}</h2>', f"## {escape_markdown(text)}")

    def add_text(self, text: str) -> None:
        """A paragraph."""
        self._add(f"<p>{html.escape(text)}</p>", escape_markdown(text))

    def add_bullets(self, items: Sequence[str]) -> None:
        """A list."""
        listing = "".join(f"<li>{html.escape(item)}</li>" for item in items)
        self._add(f"<ul>{listing}</ul>", "\n".join(f"- {escape_markdown(item)}" for item in items))

    def add_command(self, command: str) -> None:
        """A command as one types it."""
        fence = max(("```", *(f"{run}`" for run in re.findall("`+", command))), key=len)
        self._add(f"<pre><code>{html.escape(f'$ {command}')}</code></pre>", f"{fence}console\n$ {command}\n{fence}")

    def add_picture(self, picture: Picture) -> None:
        """A picture with its caption; HTML holds it, Markdown links to it in the folder ``figures``."""
        data = picture.png.read_bytes()
        width, height = struct.unpack(">II", data[16:24])
        caption, shown = html.escape(picture.caption), escape_markdown(picture.caption)
        source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
        image = f'<img src="{source}" width="{width}" height="{height}" alt="{caption}">'
        markdown = f"![{shown}](figures/{picture.png.name})\n\n*{shown}*"
        self._add(f"<figure>{image}<figcaption>{caption}</figcaption></figure>", markdown)

    def add_table(self, table: Table) -> None:
        """A table with its title and notes."""
        self._add(table.to_html(), table.to_markdown().strip("\n"))

    def to_html(self) -> str:
        """One page that holds all it shows: no script, no other file, no address."""
        frame = Template(resources.files("veilroute.bench").joinpath("page.html").read_text(encoding="utf-8"))
        return frame.substitute(title=html.escape(self.title), links="".join(self._links), blocks="\n".join(self._html))

    def to_markdown(self) -> str:
        """The same as text, with links to the pictures."""
        return "\n\n".join(self._markdown) + "\n"

    def _add(self, block: str, markdown: str) -> None:
        self._html.append(block)
        self._markdown.append(markdown)


def how_it_was_made(names: Sequence[str | Suite], records: Sequence[Record], notes: Sequence[str]) -> Iterator[str]:
    """Sentences on how the records of some suites came about; ``notes``, which the records do not know, come first."""
    suites = [find_suite(each) if isinstance(each, str) else each for each in names]
    own = [record for record in records if any(suite.holds(record.cell) for suite in suites)]
    failed = sorted((record for record in own if not record.has_ended), key=order_of)
    stopped = [record for record in own if record.has_ended and record.outcome.is_finished is False]
    yield from (f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in notes)
    yield f"Suites: {listed(suite.name for suite in suites)}."
    yield (
        f"Cells: {len(own)}; {len(own) - len(stopped) - len(failed)} came to their own end, {len(stopped)} were "
        f"stopped by the clock, {len(failed)} ended with an error."
    )
    if not own:
        return
    cells = [record.cell for record in own]
    runtime_s = math.fsum(record.outcome.runtime_s for record in own)
    limits = sorted({cell.time_limit_s for cell in cells})
    yield f"Time limit for a cell: {listed(limits)} s. Sum of the runtimes: {_duration(runtime_s)}."
    maps = sorted({(cell.instance.map_name, cell.map_sha256) for cell in cells})
    named = listed(f"{name} ({sha256[:8]})" for name, sha256 in maps)
    others = sorted({name for name, _ in maps} - set(MAPS))
    tail = f"not among the paper's: {listed(others)}" if others else "all have names of the paper's"
    yield f"Maps, with the start of their SHA-256: {named}; {tail}."
    pairs, seeds = sorted({cell.instance.seed for cell in cells}), sorted({cell.seed for cell in cells})
    yield f"Pairs of start and goal on each map: {listed(pairs)}. Seeds of random draws: {listed(seeds)}."
    if stopped:
        counts = Counter(method_label(record.cell.method) for record in stopped)
        by_method = "; ".join(f"{label}: {counted(count, 'cell')}" for label, count in sorted(counts.items()))
        yield f"Stopped by the clock: {by_method}."
    yield from (f"Error in {_name(r.cell)}: {r.outcome.error or 'unknown'}" for r in failed[:_MOST_ERRORS])
    if len(failed) > _MOST_ERRORS:
        yield f"And {counted(len(failed) - _MOST_ERRORS, 'more error')}."
    told = [record.provenance for record in own]
    versions, machines = (sorted({_pairs(entry[key]) for entry in told}) for key in ("versions", "machine"))
    workers, runs = ({str(entry[key]) for entry in told if entry[key]} for key in ("worker", "run"))
    yield f"Versions: {'; or '.join(versions)}."
    yield f"Machines: {'; and '.join(machines)}."
    yield f"Made by {counted(len(workers), 'worker')} in {counted(len(runs), 'run')}."
    if times := sorted(entry["finished_at"] for entry in told if entry["finished_at"]):
        yield f"The first cell was finished at {times[0]}, the last at {times[-1]}."


def _pairs(values: Mapping[str, object]) -> str:
    """For example ``cores 2, system Linux``."""
    return ", ".join(f"{name} {value}" for name, value in sorted(values.items()) if value not in ("", None))


def _name(cell: Cell) -> str:
    where = f"{cell.instance.map_name}, pair {cell.instance.seed}, {cell.num_candidates} candidates"
    ratio = "infinity" if cell.m_ratio is None else f"{cell.m_ratio:g} shortest paths"
    return f"{cell.method.name} on {where}, k = {cell.k}, ell = {cell.ell:g}, radius {cell.radius:g}, m = {ratio}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{format_seconds(seconds)} s"
    return f"{seconds / 60:.1f} minutes" if seconds < 90 * 60 else f"{seconds / 3600:.1f} hours"


@dataclass(frozen=True)
class ReportFiles:
    """Where a report is: its two forms, every picture as ``.png``, ``.svg`` and ``.pdf``, every table as ``.csv`` and
    ``.tex``."""

    html: Path
    markdown: Path
    figures: tuple[Path, ...]
    tables: tuple[Path, ...]


def write_report(
    out: Path,
    suites: Sequence[str | Suite],
    records: Sequence[Record],
    *,
    domains: Mapping[str, Domain],
    notes: Sequence[str],
    command: str,
    title: str = str(paper_file()["title"]),
    about: str = str(paper_file()["about"]),
) -> ReportFiles:
    """Write ``report.html``, ``report.md``, ``figures/`` and ``tables/`` into a folder, made when it is not there.

    The same records give the same bytes, in whatever order they come. Those of other suites are left aside, and a run
    that is not complete is reported as far as it got. Examples are drawn on ``domains``, maps by name or by hash.
    ``notes`` are sentences about the run; ``command`` is what was typed, with a suite or ``all`` after ``bench``.
    Suites come by name or as they are; the page begins with a ``title`` and a paragraph ``about`` them.
    """
    figures, folder = out / "figures", out / "tables"
    figures.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    page = Page(title)
    if about:
        page.add_text(about)
    page.add_heading("How this was made", "how")
    page.add_command(command)
    page.add_bullets(list(how_it_was_made(suites, records, notes)))
    paths: list[Path] = []
    kept: list[Path] = []
    for suite in (find_suite(each) if isinstance(each, str) else each for each in suites):
        page.add_heading(suite.heading, f"suite-{suite.name}")
        found = f" It found: {suite.found}" if suite.found else ""
        said = f"In the paper ({suite.where}): {suite.shows}{found}" if suite.where else suite.shows
        if said:
            page.add_text(said)
        chosen, tables = suite.select(records), suite.build_tables(records)
        drawn = suite.pictures(chosen, figures, domains) if chosen.records else []
        if not tables:
            page.add_text("There are no records of this suite yet.")
        elif sentences := [*suite.findings(chosen), *compare_programs(chosen)]:
            page.add_text("What came out here:")
            page.add_bullets(sentences)
        for table in tables:
            page.add_table(table)
        if (missing := sum(record.cell.keep_playbook for record in chosen.records) - len(drawn)) > 0:
            page.add_text(f"{counted(missing, 'playbook')} not drawn: the record has none, or its map is not here.")
        for picture in drawn:
            page.add_picture(picture)
            paths += picture.paths
        kept += _write_tables(folder, [*tables, *_further(suite, chosen, tables)])
    files = ReportFiles(out / "report.html", out / "report.md", tuple(paths), tuple(kept))
    write_file(files.html, page.to_html())
    write_file(files.markdown, page.to_markdown())
    return files


def _further(suite: Suite, chosen: Selection, tables: Sequence[Table]) -> list[Table]:
    """The tables that a suite does not show."""
    names = {table.name for table in tables}
    return [table for table in suite.details(chosen) if table.name not in names] if chosen.records else []


def _write_tables(folder: Path, tables: Iterable[Table]) -> Iterator[Path]:
    for table in tables:
        for suffix, text in (("csv", table.to_csv()), ("tex", table.to_latex())):
            path = folder / f"{table.name}.{suffix}"
            write_file(path, text)
            yield path
