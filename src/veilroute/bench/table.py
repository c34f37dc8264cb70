"""A table as data, its forms (plain text, Markdown, HTML, CSV, LaTeX), and how numbers are written in all of them."""

import csv
import html
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mean:
    """A mean as a cell of a table: ``0.229 ± 0.031``, bold if it is the best of its kind."""

    value: float
    half_width: float | None = None  #: Half the width of its confidence interval; ``None`` without one.
    num: int | None = None  #: On how many instances it rests, if these are not all.
    is_bound: bool = False  #: Whether it is only a lower bound.
    is_best: bool = False

    def __str__(self) -> str:
        text = format_number(self.value)
        if self.half_width is not None:
            text += f" ± {self.half_width:.{len(text.partition('.')[2])}f}"
        return f"{'≥ ' * self.is_bound}{text}{'' if self.num is None else f' ({self.num})'}"


Value = str | int | float | Mean | None
Row = tuple[Value, ...]

_NUMBER = re.compile(r"(n/a|-|[<≥]? ?-?\d.*|\d+ of \d+)$")
_NOTE_WIDTH = 100
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|!~$])")


@dataclass(frozen=True)
class Table:
    """Figures with a title above and notes below; the name is that of files and anchors, such as ``table1-8``.

    Text stays as it is, a float gets three significant digits, ``None`` is a dash. A column whose heading starts with
    ``paper`` holds the paper's figures. A :class:`Mean` that is the best of its kind is bold; in plain text it has a
    star.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Aligned columns: numbers to the right, text to the left; long headings and notes are broken."""
        has_best = [any(map(_is_best, cells)) for cells in zip(*self.rows, strict=True)] or [False] * len(self.columns)
        texts = [
            [text + ("*" if _is_best(value) else " ") * star for value, text, star in zip(*cells, strict=True)]
            for cells in ((row, texts, has_best) for row, texts in zip(self.rows, self._texts(), strict=True))
        ]
        headings = self._headings()
        widths = [max(map(len, (*lines, *cells))) for lines, *cells in zip(headings, *texts, strict=True)]
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
        star = ["* means bold."] if any(has_best) else []
        notes = [textwrap.fill(note, _NOTE_WIDTH) for note in (*star, *self.notes)]
        return "\n".join([self.title, "", *lines, *(["", *notes] if notes else [])]) + "\n"

    def to_markdown(self) -> str:
        """A table with pipes; the title and the notes are paragraphs."""
        rule = ["---:" if right else ":---" for right in self._is_number()]
        body = self._marked(escape_markdown, "**{}**")
        lines = [[escape_markdown(cell) for cell in self.columns], rule, *body]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join([f"**{escape_markdown(self.title)}**", table, *map(escape_markdown, self.notes)]) + "\n"

    def to_html(self) -> str:
        """A ``figure`` with the table, its title as caption, and its notes."""
        kinds = zip(self._is_number(), self.columns, strict=True)
        classes = [_classes(right, heading.startswith("paper")) for right, heading in kinds]

        def line(opening: str, texts: Sequence[str]) -> str:
            cells = zip(texts, classes, strict=True)
            return "".join(f"<{opening}{kind}>{text}</{opening[:2]}>" for text, kind in cells)

        head = line('th scope="col"', list(map(html.escape, self.columns)))
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        lines = [
            f'<figure class="table" id="{html.escape(self.name)}">',
            f'<div class="wide"><table><caption>{html.escape(self.title)}</caption>',
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *(f"<tr>{line('td', row)}</tr>" for row in self._marked(html.escape, "<b>{}</b>")),
            "</tbody></table></div>",
            *([f"<figcaption>{notes}</figcaption>"] if notes else []),
            "</figure>",
        ]
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """A line of headings and one for each row; numbers with all their digits, an empty field for ``None``.

        A column of means with intervals is followed by one with half their widths.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.columns)
        has_widths = [any(isinstance(each, Mean) and each.half_width is not None for each in own) for own in columns]
        for row in (self.columns, *self.rows):
            fields: list[Value] = []
            for value, has_width in zip(row, has_widths, strict=True):
                mean = value if isinstance(value, Mean) else None
                fields.append(value if mean is None else f"≥ {mean.value}" if mean.is_bound else mean.value)
                if has_width:
                    fields.append(f"{value} ±" if row is self.columns else mean and mean.half_width)
            writer.writerow(["" if field is None else field for field in fields])
        return text.getvalue()

    def to_latex(self) -> str:
        """A ``table`` for ``booktabs``, no wider than the line; the title is its caption, the notes are below it."""
        separator = r"\\"
        ends = "".join("r" if right else "l" for right in self._is_number())
        heads = [
            escape_latex(lines[0])
            if len(lines) == 1
            else rf"\shortstack[{end}]{{{separator.join(map(escape_latex, lines))}}}"
            for lines, end in zip(self._headings(), ends, strict=True)
        ]
        lines = [" & ".join(row) + r" \\" for row in (heads, *self._marked(escape_latex, r"\textbf{{{}}}"))]
        firsts = [row[0] for row in self.rows]
        for at in range(len(firsts) - 1, 0, -1):  # a little room between rows that begin alike and others
            if firsts[at] != firsts[at - 1] and len(set(firsts)) < len(firsts):
                lines.insert(at + 1, r"\addlinespace")
        fit = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
        begin = r"\par\smallskip\footnotesize\raggedright"
        notes = [begin, escape_latex(" ".join(self.notes))] if self.notes else []
        return "\n".join(
            [
                r"% Needs \usepackage{booktabs,graphicx}.",
                r"\begin{table}", r"\centering\small\setlength{\tabcolsep}{4pt}",
                rf"\caption{{{escape_latex(self.title)}}}", rf"\label{{tab:{self.name}}}", r"\smallskip", fit,
                rf"\begin{{tabular}}{{@{{}}{ends}@{{}}}}",
                r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}}", *notes,
                r"\end{table}", "",
            ]
        )  # fmt: skip

    def _marked(self, escape: Callable[[str], str], bold: str) -> list[list[str]]:
        """The texts of the cells, escaped, and those of the best ones in what makes them bold."""
        return [
            [bold.format(escape(text)) if _is_best(value) else escape(text) for value, text in zip(*pair, strict=True)]
            for pair in zip(self.rows, self._texts(), strict=True)
        ]

    def _headings(self) -> list[list[str]]:
        """The lines of each heading, broken at blanks so that it is no wider than its column."""
        columns = zip(self.columns, *self._texts(), strict=True)
        widths = [max(map(len, (*heading.split(), *cells))) for heading, *cells in columns]
        return [textwrap.wrap(heading, width) or [""] for heading, width in zip(self.columns, widths, strict=True)]

    def _texts(self) -> list[list[str]]:
        return [[_text(value) for value in row] for row in self.rows]

    def _is_number(self) -> list[bool]:
        columns = zip(self.columns, *self._texts(), strict=True)
        return [bool(cells) and all(map(_NUMBER.match, cells)) for _, *cells in columns]


def _is_best(value: Value) -> bool:
    return isinstance(value, Mean) and value.is_best


def _classes(is_number: bool, of_paper: bool) -> str:
    names = " ".join(name for name, holds in (("number", is_number), ("paper", of_paper)) if holds)
    return f' class="{names}"' if names else ""


def _text(value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return format_number(value)
    # Names of maps come from files and may hold anything; a table has one line for each row.
    return "".join(letter if letter.isprintable() else "?" for letter in str(value))


_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "[": "{[}", "]": "{]}", "*": "{*}",  # which are options behind the end of a row
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"$<$", ">": r"$>$", "≥": r"$\geq$", "±": r"$\pm$",
}  # fmt: skip


def escape_latex(text: str) -> str:
    """Text that LaTeX sets as it is, in one line; a minus before a number is one."""
    escaped = "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))
    return re.sub(r"(?<![\w.)])-(?=\d)", "$-$", escaped)


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


def counted(number: int, noun: str) -> str:
    """For example ``1 cell`` or ``3 cells``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(items: Iterable[object]) -> str:
    """For example ``2, 3 and 5``."""
    texts = [f"{item:g}" if isinstance(item, float) else str(item) for item in items]
    if len(texts) < 2:
        return texts[0] if texts else "none"
    return f"{', '.join(texts[:-1])} and {texts[-1]}"
