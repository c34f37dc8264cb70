"""Pages of paper: headings, paragraphs, tables that go on over pages, and maps, one below the other, as a PDF."""

import io
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, takewhile
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.patches import Rectangle

from veilroute.base.io import write_file
from veilroute.plotting.frame import METADATA, POINTS_PER_INCH, plain_settings
from veilroute.plotting.palette import INK, MUTED

_WIDTH, _HEIGHT, _MARGIN = 8.27, 11.69, 0.75  # of a page, in inches (A4)
_LINE = 1.35  # of a line, in heights of its letters
_BODY, _SMALL, _HEADING, _TITLE = 9.0, 7.5, 12.5, 20.0
_GAP = 0.14  # between columns
_NARROWEST = 0.8  # of a column that has to be broken into lines
_MOST_LINES = 60  # of a row
_DPI = 150


class Pages:
    """A document that is written from top to bottom.

    Attributes
    ----------
    figures
        One for each page so far.
    """

    def __init__(self) -> None:
        self.figures: list[Figure] = []
        self._y = 0.0
        self._turn()

    def _turn(self) -> None:
        figure = Figure(figsize=(_WIDTH, _HEIGHT), facecolor="white")
        FigureCanvasAgg(figure)
        self.figures.append(figure)
        self._y = _MARGIN

    @property
    def _room(self) -> float:
        return _HEIGHT - _MARGIN - self._y

    def _put(
        self, x: float, text: str, size: float, *, colour: str = INK, weight: str = "normal", ha: str = "left"
    ) -> None:
        """One line of text with its top at the present height."""
        baseline = self._y + 0.95 * size / POINTS_PER_INCH
        place = x / _WIDTH, 1 - baseline / _HEIGHT
        self.figures[-1].text(*place, text, fontsize=size, color=colour, weight=weight, ha=ha, parse_math=False)

    def title(self, text: str, below: str) -> None:
        """The head of the document."""
        self._put(_MARGIN, text, _TITLE, weight="bold")
        self._y += 1.5 * _TITLE / POINTS_PER_INCH
        self.paragraph(below, colour=MUTED)

    def heading(self, text: str, *, least: float = 1.3) -> None:
        """A heading, on a new page where less than so many inches are left."""
        if self._room < least:
            self._turn()
        self._y += 0.16
        self._put(_MARGIN, text, _HEADING, weight="bold")
        self._y += 1.6 * _HEADING / POINTS_PER_INCH

    def paragraph(self, text: str, *, colour: str = INK, size: float = _BODY) -> None:
        """Sentences, broken into lines."""
        for line in break_lines(text, _WIDTH - 2 * _MARGIN, size):
            if self._room < _line_in(size):
                self._turn()
            self._put(_MARGIN, line, size, colour=colour)
            self._y += _line_in(size)
        self._y += 0.07

    def banner(self, text: str, colour: str) -> None:
        """A sentence in a box that nobody overlooks."""
        lines = break_lines(text, _WIDTH - 2 * _MARGIN - 0.3, _BODY + 1.5)
        height = len(lines) * _line_in(_BODY + 1.5) + 0.2
        self._box(_MARGIN, _WIDTH - 2 * _MARGIN, height, colour)
        self._y += 0.1
        for line in lines:
            self._put(_MARGIN + 0.15, line, _BODY + 1.5, colour="#FFFFFF", weight="bold")
            self._y += _line_in(_BODY + 1.5)
        self._y += 0.24

    def _box(self, x: float, width: float, height: float, colour: str) -> None:
        corner = x / _WIDTH, 1 - (self._y + height) / _HEIGHT
        box = Rectangle(corner, width / _WIDTH, height / _HEIGHT, facecolor=colour, edgecolor="none")
        box.set_transform(self.figures[-1].transFigure)
        self.figures[-1].add_artist(box)

    def facts(self, rows: Sequence[tuple[str, str]]) -> None:
        """Names and values, side by side."""
        wide = max(text_in(name, _BODY) for name, _ in rows) + 2 * _GAP
        for name, value in rows:
            lines = break_lines(value, _WIDTH - 2 * _MARGIN - wide, _BODY)
            if self._room < len(lines) * _line_in(_BODY):
                self._turn()
            self._put(_MARGIN, name, _BODY, colour=MUTED)
            for line in lines:
                self._put(_MARGIN + wide, line, _BODY)
                self._y += _line_in(_BODY)
            self._y += 0.03

    def table(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, colours: Sequence[str | None] = ()
    ) -> None:
        """A table; its headings are repeated on every page. Where ``colours`` has one for a row, it begins with it."""
        swatch = 0.16 if any(colours) else 0.0
        widths = _column_widths(headings, rows, _WIDTH - 2 * _MARGIN - swatch)
        is_number = [all(_is_number(row[j]) for row in rows) for j in range(len(headings))]

        def lay(cells: Sequence[str], *, is_head: bool = False, colour: str | None = None) -> None:
            broken = [_cut(break_lines(cell, width, _SMALL)) for cell, width in zip(cells, widths, strict=True)]
            height = max(map(len, broken)) * _line_in(_SMALL) + 0.045
            if self._room < height and not is_head:
                self._turn()
                lay(headings, is_head=True)
            top, x = self._y, _MARGIN + swatch
            if colour is not None:
                self._y += 0.02
                self._box(_MARGIN, 0.1, 0.1, colour)
                self._y = top
            for lines, width, right in zip(broken, widths, is_number, strict=True):
                for line in lines:
                    weight, place = "bold" if is_head else "normal", x + width if right else x
                    self._put(place, line, _SMALL, weight=weight, ha="right" if right else "left")
                    self._y += _line_in(_SMALL)
                self._y, x = top, x + width + _GAP
            self._y = top + height
            if is_head:
                self._box(_MARGIN, _WIDTH - 2 * _MARGIN, 0.008, MUTED)
                self._y += 0.035

        if self._room < 0.6:
            self._turn()
        lay(headings, is_head=True)
        for i, row in enumerate(rows):
            lay(row, colour=colours[i] if colours else None)
        self._y += 0.1

    def picture(self, draw: Callable[[Axes], object], *, least: float = 4.2, most: float = 6.6) -> None:
        """Axes as high as there is room, on a new page where that is too little; ``draw`` is called with them."""
        below = 0.35
        if self._room < least + below:
            self._turn()
        else:
            self._y += 0.15
        height = min(self._room - below, most)
        box = (_MARGIN / _WIDTH, 1 - (self._y + height) / _HEIGHT, 1 - 2 * _MARGIN / _WIDTH, height / _HEIGHT)
        ax = self.figures[-1].add_axes(box)
        ax.set_anchor("N")
        draw(ax)
        ax.apply_aspect()
        self._y += min(height, ax.get_position().height * _HEIGHT) + below

    def save(self, path: str | Path, footer: str) -> None:
        """Write all pages, numbered."""
        made = io.BytesIO()
        with plain_settings(), PdfPages(made, metadata=METADATA[".pdf"]) as pdf:
            for number, page in enumerate(self.figures, start=1):
                text = f"{footer}   page {number} of {len(self.figures)}"
                page.text(0.5, 0.4 / _HEIGHT, text, fontsize=_SMALL, color=MUTED, ha="center", parse_math=False)
                pdf.savefig(page, dpi=_DPI)
        write_file(path, made.getvalue())


def _line_in(size: float) -> float:
    return _LINE * size / POINTS_PER_INCH


def break_lines(text: str, width: float, size: float) -> list[str]:
    """The text in lines of at most so many inches, broken at spaces and, where a word is too long, within it."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if text_in(longer, size) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
        while text_in(lines[-1], size) > width and len(lines[-1]) > 1:
            line = lines[-1]
            ends = accumulate(map(_advance, line))
            fitting = max(1, sum(1 for _ in takewhile(lambda end: size * end <= width, ends)))
            lines[-1:] = [line[:fitting], line[fitting:]]
    return lines


def text_in(text: str, size: float) -> float:
    """How wide a text is, in inches."""
    return size * sum(map(_advance, text))


@cache
def _advance(character: str) -> float:
    """How wide a character is at a size of one point, in inches; one that the font lacks is as wide as its box."""
    font = get_font(findfont("DejaVu Sans"))
    font.set_size(100, 72)
    return (
        1.02
        * float(font.load_glyph(font.get_char_index(ord(character))).linearHoriAdvance)
        / 65536
        / 100
        / POINTS_PER_INCH
    )


def _column_widths(headings: Sequence[str], rows: Sequence[Sequence[str]], room: float) -> list[float]:
    """As wide as the widest cell, or word of a heading; where that is too much in all, the widest columns give way."""
    widths = []
    for j, heading in enumerate(headings):
        texts = [*(row[j] for row in rows), *(f"{word}  " for word in heading.split())]
        widths.append(1.02 * max(text_in(text, _SMALL) for text in texts) + 0.01)
    room -= _GAP * (len(widths) - 1)
    while sum(widths) > room + 1e-9:
        widest = max(widths)
        if widest <= _NARROWEST:
            return [width * room / sum(widths) for width in widths]
        next_one = max((width for width in widths if width < widest), default=_NARROWEST)
        many = widths.count(widest)
        less = max(widest - (sum(widths) - room) / many, next_one, _NARROWEST)
        widths = [less if width == widest else width for width in widths]
    return widths


def _is_number(cell: str) -> bool:
    return not cell or cell.replace(".", "", 1).lstrip("-").isdigit()


def _cut(lines: list[str]) -> list[str]:
    """No more lines than fit a page."""
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], "…"]
