"""A table as data, and its forms: plain text, Markdown, HTML.

Words and numbers that tables and sentences of a report share.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from veilroute.bench import published
from veilroute.bench.cells import Record
from veilroute.bench.selection import Selection, is_finite_optimum_open
from veilroute.bench.summaries import Averages, num_instances

Value = str | int | float | None

_NUMBER = re.compile(r"(n/a|-|[<≥]? ?\d.*|\d+ of \d+)$")
_NOTE_WIDTH = 100
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|!~$])")


@dataclass(frozen=True)
class Table:
    """Figures with a title and notes.

    Parameters
    ----------
    name
        Of files and anchors, such as ``table1-8``.
    title
        Stands above the table.
    columns
        Headings. A column whose heading starts with ``paper`` holds the paper's figures.
    rows
        Text stays as it is, a float gets three significant digits, ``None`` is a dash. A row with the text ``paper``
        in it holds the paper's figures.
    notes
        Sentences below the table.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Aligned columns: numbers to the right, text to the left; long headings and notes are broken."""
        texts = self._texts()
        widths = []
        for i, heading in enumerate(self.columns):
            widths.append(max([len(word) for word in heading.split()] + [len(row[i]) for row in texts]))
        headings = [textwrap.wrap(heading, width) for heading, width in zip(self.columns, widths, strict=True)]
        height = max(map(len, headings))
        head = [list(line) for line in zip(*([""] * (height - len(h)) + h for h in headings), strict=True)]
        is_number = self._is_number()
        lines = []
        for line in [*head, ["-" * width for width in widths], *texts]:
            padded = (
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(line, widths, is_number, strict=True)
            )
            lines.append("  ".join(padded).rstrip())
        notes = [textwrap.fill(note, _NOTE_WIDTH) for note in self.notes]
        return "\n".join([self.title, "", *lines, *(["", *notes] if notes else [])]) + "\n"

    def to_markdown(self) -> str:
        """A table with pipes; the title and the notes are paragraphs."""
        rule = ["---:" if right else ":---" for right in self._is_number()]
        body = [[escape_markdown(cell) for cell in row] for row in self._texts()]
        lines = [[escape_markdown(cell) for cell in self.columns], rule, *body]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join([f"**{escape_markdown(self.title)}**", table, *map(escape_markdown, self.notes)]) + "\n"

    def to_html(self) -> str:
        """A ``figure`` with the table, its title as caption, and its notes."""
        is_number = self._is_number()
        of_paper = [heading.startswith("paper") for heading in self.columns]
        head = "".join(
            f'<th scope="col"{_classes(right, paper)}>{html.escape(heading)}</th>'
            for heading, right, paper in zip(self.columns, is_number, of_paper, strict=True)
        )
        body = []
        for row in self._texts():
            cells = "".join(
                f"<td{_classes(right, paper)}>{html.escape(cell)}</td>"
                for cell, right, paper in zip(row, is_number, of_paper, strict=True)
            )
            body.append(f"<tr{_classes(False, 'paper' in row)}>{cells}</tr>")
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        lines = [
            f'<figure class="table" id="{html.escape(self.name)}">',
            f'<div class="wide"><table><caption>{html.escape(self.title)}</caption>',
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *body,
            "</tbody></table></div>",
            f"<figcaption>{notes}</figcaption>" if notes else "",
            "</figure>",
        ]
        return "\n".join(line for line in lines if line) + "\n"

    def _texts(self) -> list[list[str]]:
        return [[_text(value) for value in row] for row in self.rows]

    def _is_number(self) -> list[bool]:
        texts = self._texts()
        return [bool(texts) and all(_NUMBER.match(row[i]) for row in texts) for i in range(len(self.columns))]


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.replace("&", "&amp;").split()))


def format_number(value: float) -> str:
    """Three significant digits: ``0.00707``, ``0.190``, ``58.1``, ``1234``; 0 is ``0``."""
    if value == 0:
        return "0"
    return f"{value:.0f}" if abs(value) >= 999.5 else f"{value:#.3g}".rstrip(".")


def format_seconds(value: float) -> str:
    """Three significant digits, and nothing finer than a millisecond."""
    return "<0.001" if value < 0.001 else format_number(value)


def format_apr(value: float) -> str:
    """Two digits for 1 and three for all below, as the paper prints them; only 1 is rounded to 1."""
    return "1.00" if value == 1 else f"{min(value, 0.999):.3f}"


def _text(value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return format_number(value)
    # Names of maps come from files and may hold anything; a table has one line for each row.
    return "".join(letter if letter.isprintable() else "?" for letter in str(value))


def _classes(is_number: bool, of_paper: bool) -> str:
    names = " ".join(name for name, holds in (("number", is_number), ("paper", of_paper)) if holds)
    return f' class="{names}"' if names else ""


FINITE_M = (
    "Where the planner optimal could not prove an optimum for a finite m, too much work or stopped by the clock, it "
    "follows the optimum of m = infinity for the first m nodes. That hides as asked, and may cost more than it must."
)

PAPERS_M = (
    "m is a number of nodes: the given multiple of those on a shortest path from start to goal. The extra cost of Rbp "
    "is then at most two steps for each of them, and its MAC at most about twice the multiple. The paper's is above "
    "that, so its m must have been measured against something else: compare shapes, not heights."
)


def counted(number: int, noun: str) -> str:
    """For example ``1 cell`` or ``3 cells``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(items: Iterable[object]) -> str:
    """For example ``2, 3 and 5``."""
    texts = [f"{item:g}" if isinstance(item, float) else str(item) for item in items]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}" if texts else "none"


def span_of(numbers: Iterable[int]) -> str:
    """For example ``30``, or ``12 to 30`` where they differ."""
    found = sorted(set(numbers))
    return "0" if not found else str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def mean_time(averages: Averages) -> str | None:
    """Mean runtime in seconds, with ≥ where some cells were stopped by the clock."""
    if averages.runtime_s is None:
        return None
    return f"{'≥ ' if averages.is_time_bound else ''}{format_seconds(averages.runtime_s)}"


def plus_minus(middle: float, deviation: float | None) -> str:
    """Mean and standard deviation as the paper prints them; the mean alone where there is only one value."""
    return f"{middle:.3f}" if deviation is None else f"{middle:.3f} ± {deviation:.3f}"


def setting_note(chosen: Selection, fixed: str) -> str:
    """The setting, the time limit and how many instances there are."""
    sizes = f"{listed(chosen.sizes)} candidates"
    limits = f"time limit {listed(chosen.time_limits_s)} s"
    here = counted(num_instances(chosen.records), "instance")
    if len(chosen.sizes) > 1:
        here += f" at {len(chosen.sizes)} sizes"
        paper = published.NUM_INSTANCES * len(chosen.sizes)
    else:
        paper = published.NUM_INSTANCES
    return f"{fixed}, {sizes}, {limits}. Records of {here}; the paper has {paper}, and a limit of 300 s."


def caveats(chosen: Selection, bases: Iterable[object], noun: str = "instances") -> list[str]:
    """What keeps a table from being complete and even: gaps, mixed limits, repetitions."""
    notes = []
    counts = sorted({base for base in bases if isinstance(base, int)})
    if len(counts) > 1:
        notes.append(
            f"Not complete: some figures rest on {counts[0]} and others on {counts[-1]} of the {noun}, so they are "
            "not all comparable."
        )
    if len(chosen.time_limits_s) > 1:
        notes.append(f"The records have different time limits: {listed(chosen.time_limits_s)} s.")
    if chosen.num_repeated:
        notes.append(
            f"{counted(chosen.num_repeated, 'record')} of the same instances and methods with a shorter limit or "
            "another seed left out."
        )
    return notes


def stopped_note(records: Sequence[Record]) -> list[str]:
    """How many cells the clock stopped, if any."""
    stopped = sum(not record.outcome.is_finished for record in records)
    if not stopped:
        return []
    return [f"{stopped} of {counted(len(records), 'cell')} stopped by the clock; their best so far counts."]


def finite_m_note(chosen: Selection) -> list[str]:
    """What the row of the optimal planner is at a finite m, as long as it is not proved there."""
    return [FINITE_M] if is_finite_optimum_open(chosen.records) else []
