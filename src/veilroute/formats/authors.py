"""The text format of the authors' program (``.in``).

First ``N E``, then E directed edges ``a b cost``, then ``start goal``, the number of candidates, and the candidates
one a line. Anything after that is ignored.
"""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

from veilroute.domain.graph import Domain
from veilroute.errors import FileFormatError, InvalidInputError
from veilroute.jsontext import read_text
from veilroute.problem import Problem, Trip


def read_authors(path: str | Path) -> Problem:
    """Read a problem in the authors' format; candidates are watched from themselves only."""
    words = _Words(path)
    num_nodes, num_edges = words.whole("the number of nodes"), words.whole("the number of edges")
    if num_edges > words.left() // 3:
        raise FileFormatError(path, f"truncated: {num_edges} edges promised, the file is too short for them")
    tails, heads, costs = [], [], []
    for number in range(num_edges):
        tails.append(words.whole(f"the tail of edge {number}"))
        heads.append(words.whole(f"the head of edge {number}"))
        costs.append(words.cost(f"the cost of edge {number}"))
    start, goal = words.whole("the start"), words.whole("the goal")
    candidates = [words.whole("a candidate") for _ in range(words.whole("the number of candidates"))]
    try:
        domain = Domain.from_edges(num_nodes, tails, heads, costs)
        return Problem(domain, [Trip(start, goal)], candidates)
    except InvalidInputError as error:
        raise FileFormatError(path, str(error)) from None


def write_authors(problem: Problem, path: str | Path) -> None:
    """Write a problem with one trip in the authors' format; nodes are numbered, labels and visibility are lost."""
    if len(problem.trips) != 1:
        raise InvalidInputError("trips", "one trip; the .in format holds no more", len(problem.trips))
    tails, heads, costs = problem.domain.edge_arrays()
    lines = [f"{problem.domain.num_nodes} {problem.domain.num_edges}"]
    lines += [f"{a} {b} {c}" for a, b, c in zip(tails.tolist(), heads.tolist(), costs.tolist(), strict=True)]
    lines.append(f"{problem.start_nodes[0]} {problem.goal_nodes[0]}")
    lines.append(str(len(problem.candidates)))
    lines += [str(node) for node in problem.candidate_nodes]
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii", newline="\n")


class _Words:
    """The words of a file, one after another."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.text = read_text(path)
        self.words = self.text.split()
        self.next = 0

    def left(self) -> int:
        return len(self.words) - self.next

    def whole(self, what: str) -> int:
        word = self._take(what)
        if not (word.isascii() and word.isdigit() and len(word) < 16):
            raise self._error(f"expected {what} as a whole number >= 0, got {word[:20]!r}")
        return int(word)

    def cost(self, what: str) -> int | float:
        word = self._take(what)
        try:
            value = int(word) if word.lstrip("-").isdigit() else float(word)
        except ValueError:
            raise self._error(f"expected {what} as a number >= 0, got {word[:20]!r}") from None
        if not 0 <= value < float("inf"):
            raise self._error(f"expected {what} as a finite number >= 0, got {word[:20]}")
        return value

    def _error(self, problem: str) -> FileFormatError:
        """An error about the word that was taken last, with its line."""
        ends = accumulate(len(line.split()) for line in self.text.split("\n"))
        line = next(number for number, end in enumerate(ends, start=1) if end >= self.next)
        return FileFormatError(self.path, problem, line)

    def _take(self, what: str) -> str:
        if self.next >= len(self.words):
            raise FileFormatError(self.path, f"truncated: the file ends before {what}")
        self.next += 1
        return self.words[self.next - 1]
