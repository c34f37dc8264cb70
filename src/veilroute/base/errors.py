"""Every exception that veilroute raises on purpose.

::

    VeilrouteError
    ├── InvalidInputError (also a ValueError)   a field, option or file holds something unusable
    │   ├── FileFormatError                     a file that cannot be read as what it claims to be
    │   │   └── ManyProblemsError               several things that cannot be used, each in a line of its own
    │   ├── UnknownMethodError                  no planner, partitioner or format of that name
    │   └── TooLargeError                       beyond the size that a method is exact for
    ├── NotAnonymizedError                      the paper's Failure: the playbook will not give this secret a route
    │   └── BrokenPromiseError                  the playbook says that it hides this secret, and does not
    ├── FallsShortError                         classes on the way keep their promise no more; somebody must choose
    ├── UnsafeLedgerError                       linked trips break what a ledger's playbooks promise
    ├── UnknownCandidateError (also a KeyError) the secret is not one of the playbook's candidates
    ├── PluginError                             a plug-in cannot be used; names its package
    ├── MissingExtraError                       an optional library is not installed
    └── DownloadError                           a map archive could not be fetched

Infeasible and out of time are statuses of a playbook, not exceptions. No message ever holds a secret:
`NotAnonymizedError`, `BrokenPromiseError` and `UnknownCandidateError` take no argument that could carry one. Nor do
they advise to plan again for a secret that has no route: two public playbooks of which the second was made because of
the secret tell what was wrong with the first.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

MAX_MESSAGE = 280  #: no message is longer, whatever a file or an argument holds; the command line adds its own name
_SHOWN = 60
_MOST_PARTS = 4
_LONGEST_PATH = 120
_MOST_MEANT = 3
_IN_A_FILE = re.compile(r"(?P<file>.+), (?:line (?P<row>\d+)|(?P<part>features\[\d+\]|row \d+ of .+))")


def shorten(value: object) -> str:
    """Return ``repr(value)`` cut to a length that fits an error line, without ever making all of a large one."""
    text = _begin_repr(value, 3)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def one_line(text: str, length: int = MAX_MESSAGE) -> str:
    """One line that a terminal shows as it is; of a long one the beginning and the end, where the advice stands."""
    if len(text) > length:
        end = length // 3
        text = f"{text[: length - end - 5]} ... {text[-end:]}"
    return " ".join(printable(text).split())


def printable(text: str) -> str:
    """The text with a space in place of each sign that cannot be printed."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)


def _begin_repr(value: object, depth: int) -> str:
    """How ``repr(value)`` begins: of each part no more than can be shown."""
    if isinstance(value, str | bytes):
        return repr(value[:_SHOWN])
    if isinstance(value, list | tuple | dict) and len(value) > 0:
        if depth == 0:
            return "..."
        first = list(islice(value, _MOST_PARTS))
        parts = [_begin_repr(item, depth - 1) for item in first]
        if isinstance(value, dict):
            parts = [f"{key}: {_begin_repr(value[item], depth - 1)}" for key, item in zip(parts, first, strict=True)]
        inside = ", ".join(parts) + (", ..." if len(value) > _MOST_PARTS else "")
        if isinstance(value, dict):
            return f"{{{inside}}}"
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    try:
        return repr(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return f"an {type(value).__name__} too large to show"


class VeilrouteError(Exception):
    """Base of every exception raised on purpose; its message is one line of at most :data:`MAX_MESSAGE` signs.

    Only that of a :class:`ManyProblemsError` has several lines.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class InvalidInputError(VeilrouteError, ValueError):
    """A value that cannot be used.

    Parameters
    ----------
    field
        What holds the value, as the user would name it: ``Privacy.k``, ``--start``, ``edges[3].cost``.
    expected
        What would have been accepted.
    got
        What came; shown shortened.
    did_you_mean
        Texts that the user could type instead, best first; the message ends with them.
    name
        What the place is called that the value belongs to, when it has a name.
    """

    problem: str  #: the message without where it is, and without what could be typed instead
    did_you_mean: tuple[str, ...]
    name: str | None
    line: int | None = None  #: of the file, counted from 1
    column: str | None = None  #: of the table

    def __init__(
        self,
        field: str,
        expected: str,
        got: object = None,
        *,
        did_you_mean: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        tail = "" if got is None else f", got {shorten(got)}"
        self._say(field, f"expected {expected}{tail}", did_you_mean, name)

    @classmethod
    def saying(
        cls, field: str, problem: str, *, did_you_mean: Sequence[str] = (), name: str | None = None
    ) -> "InvalidInputError":
        """The error about something that a person typed: a sentence of its own in place of what was expected."""
        error = InvalidInputError.__new__(InvalidInputError)
        error._say(field, problem, did_you_mean, name)
        return error

    def _say(self, field: str, problem: str, did_you_mean: Sequence[str], name: str | None) -> None:
        self.field, self.problem, self.name = field, one_line(problem), name
        self.did_you_mean = tuple(did_you_mean)
        # What could be typed is kept whole, whatever the rest leaves of the line.
        where = one_line(field, _LONGEST_PATH) + _called(name)
        hint = _question(self.did_you_mean)
        room = max(MAX_MESSAGE - len(hint), _SHOWN)
        VeilrouteError.__init__(self, one_line(f"{where}: {problem}", room) + hint)


def _called(name: str | None) -> str:
    return "" if name is None else f", {one_line(name, _SHOWN)}"


def _question(texts: Sequence[str]) -> str:
    """What could be typed instead, as a question."""
    shown = [f"'{one_line(text, _SHOWN - 20)}'" for text in texts[:_MOST_MEANT]]
    return f" Did you mean {' or '.join(filter(None, [', '.join(shown[:-1]), shown[-1]]))}?" if shown else ""


class FileFormatError(InvalidInputError):
    """A file that cannot be read as what it claims to be.

    Parameters
    ----------
    path
        The file.
    problem
        What is wrong and what to change, in one line.
    line
        The line number in the file, counted from 1, when there is one.
    part
        What a file without lines calls the part that is wrong, as ``features[3]``.
    column
        The column of a table, when there is one.
    did_you_mean, name
        As of :class:`InvalidInputError`.
    """

    def __init__(
        self,
        path: object,
        problem: str,
        line: int | None = None,
        *,
        part: str | None = None,
        column: str | None = None,
        did_you_mean: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        self.field = str(path)
        self.problem = one_line(problem)
        self.line, self.part, self.column = line, part, column
        self.name, self.did_you_mean = name, tuple(did_you_mean)
        spot = part if line is None else f"line {line}"
        where = one_line(self.field, _LONGEST_PATH) + _called(spot) + _called(name)
        hint = _question(self.did_you_mean)
        # Of the problem the beginning and the end are kept, whatever the path leaves of the line.
        room = max(MAX_MESSAGE - len(where) - len(hint) - 2, _SHOWN)
        VeilrouteError.__init__(self, f"{where}: {one_line(self.problem, room)}{hint}")


MOST_PROBLEMS = 20  #: so many problems of a file are told of, each in a line
_MOST_KEPT = 1000


class ManyProblemsError(FileFormatError):
    """Several things in an input that cannot be used, each in a line of its own.

    Parameters
    ----------
    problems
        An error for each, in the order of the file.
    """

    def __init__(self, problems: Sequence[InvalidInputError]) -> None:
        self.problems = tuple(problems)
        self.field, self.line, self.part, self.name, self.did_you_mean = problems[0].field, None, None, None, ()
        lines = [str(problem) for problem in self.problems[:MOST_PROBLEMS]]
        if len(self.problems) > MOST_PROBLEMS:
            lines.append(f"and {len(self.problems) - MOST_PROBLEMS} more")
        self.problem = "; ".join(lines)
        Exception.__init__(self, "\n".join(lines))


class Problems:
    """Collects what is wrong with the parts of an input, so that all of it is told at once."""

    def __init__(self) -> None:
        self._found: list[InvalidInputError] = []

    @property
    def is_full(self) -> bool:
        """Whether there are so many that looking for more is of no use; further ones are forgotten."""
        return len(self._found) >= _MOST_KEPT

    def add(self, problem: InvalidInputError) -> None:
        """Remember a problem."""
        if not self.is_full:
            self._found += problem.problems if isinstance(problem, ManyProblemsError) else [problem]

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Within it, an error about a value is remembered and not raised."""
        try:
            yield
        except InvalidInputError as error:
            self.add(error)

    def raise_all(self) -> None:
        """Raise what was found, if anything was: one problem as it is, several by the lines of the file."""
        if len(self._found) == 1:
            raise self._found[0]
        if self._found:
            raise ManyProblemsError(sorted(self._found, key=lambda problem: _where(problem)[1] or 0))

    @property
    def issues(self) -> tuple["Issue", ...]:
        """What was found, as data."""
        return tuple(issue for problem in self._found for issue in issues_of(problem))

    def __len__(self) -> int:
        return len(self._found)


@dataclass(frozen=True)
class Issue:
    """One thing that is wrong with what somebody gave, as data."""

    what: str  #: the sentence, without the place and without what could be typed instead
    file: str | None = None
    row: int | None = None  #: line of the file, counted from 1
    column: str | None = None  #: of a table
    field: str | None = None  #: the option, the key, or the part of a file that has no lines
    name: str | None = None  #: what the place is called
    did_you_mean: tuple[str, ...] = ()  #: texts that the user could type instead, best first


def issues_of(error: InvalidInputError) -> tuple[Issue, ...]:
    """What an error says, thing by thing, in its order."""
    if isinstance(error, ManyProblemsError):
        return tuple(issue for problem in error.problems for issue in issues_of(problem))
    file, row, part = _where(error)
    return (Issue(error.problem, file, row, error.column, part, error.name, error.did_you_mean),)


def _where(error: InvalidInputError) -> tuple[str | None, int | None, str | None]:
    """File, line, and what else names the culprit: a field may be where a place of a file was given."""
    if isinstance(error, FileFormatError):
        return error.field, error.line, error.part
    place = _IN_A_FILE.fullmatch(error.field)
    if place is None:
        return None, None, error.field
    return place["file"], int(place["row"]) if place["row"] else None, place["part"]


@contextmanager
def blame_file(path: object) -> Iterator[None]:
    """Within it, an error about a value is one about the file that the value was read from."""
    try:
        yield
    except FileFormatError:
        raise
    except InvalidInputError as error:
        problem = f"{error.field}: {error.problem}"
        raise FileFormatError(path, problem, did_you_mean=error.did_you_mean, name=error.name) from None


class UnknownMethodError(InvalidInputError):
    """No planner, partitioner or format of that name."""

    def __init__(self, field: str, name: object, known: tuple[str, ...]) -> None:
        super().__init__(field, "one of " + ", ".join(known), name)


class TooLargeError(InvalidInputError):
    """The problem is beyond the size that a method is exact for."""


class NotAnonymizedError(VeilrouteError):
    """The paper's Failure: the playbook will not give this secret a route."""

    def __init__(self, *, has_route: bool = True) -> None:
        super().__init__(
            "this transit point is not anonymized by the playbook, so any route would give it away; do not plan again "
            "for its sake, which would show that it was left out: choose k, ell and the candidates before it is known"
            if has_route
            else "the playbook has no route for this transit point: it is a start or goal, or some trip cannot cover it"
        )


class BrokenPromiseError(NotAnonymizedError):
    """The playbook says that it hides this secret, and does not."""

    def __init__(self) -> None:
        VeilrouteError.__init__(
            self,
            "the playbook says that it hides this transit point, but its class does not keep (k, ell, m), so the route "
            "may give it away; check the playbook: veilroute audit PLAYBOOK",
        )


def listing(names: Sequence[str], most: int = 12) -> str:
    """Names one after the other, with spaces between those that have commas themselves, as cells do; only so many."""
    between = " " if any("," in name and " " not in name for name in names) else ", "
    return between.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


class FallsShortError(VeilrouteError):
    """Classes that are on the way keep their promise no more, and somebody has to choose what is done.

    Parameters
    ----------
    shortages
        What is left of each such class by either choice, as the dispatcher has it.
    lines
        The same in words, a line for each.
    """

    def __init__(self, shortages: Sequence[object], lines: Sequence[str]) -> None:
        self.shortages = tuple(shortages)
        Exception.__init__(self, "\n".join(map(one_line, lines)))


class UnsafeLedgerError(VeilrouteError):
    """Linked trips would break, or have broken, what a ledger's playbooks promise."""

    def __init__(self, day: str, names: Sequence[str], *, gone: Sequence[str] = (), in_use: bool = False) -> None:
        shown = listing(names, 5)
        self.names = tuple(names)
        missing = f" ({listing(gone, 5)}: no route, and the missing trip shows; keep it in the plan)" if gone else ""
        super().__init__(
            f"whoever links trips of this playbook ({day}) with others in the ledger is left with too few for {shown}; "
            "see who and why: veilroute ledger check LEDGER"
            if in_use
            else f"with this playbook linked trips leave too few for {shown}{missing}; plan under the ledger "
            "(veilroute plan --ledger LEDGER), or enter it anyway if it is in use already (--anyway)"
        )

    @classmethod
    def unknown(cls) -> "UnsafeLedgerError":
        """The playbook is in no line of the ledger."""
        error = cls("", ())
        error.args = ("the playbook is not in the ledger; enter it first: veilroute ledger add LEDGER PLAYBOOK",)
        return error


class UnknownCandidateError(VeilrouteError, KeyError):
    """The secret is not one of the playbook's candidates."""

    def __init__(self) -> None:
        super().__init__(
            "the transit point is not among the playbook's candidates; do not plan again to add it: the difference of "
            "the two lists would show it. Plan for a list that is fixed before it is known, such as all customers"
        )

    def __str__(self) -> str:
        return str(self.args[0])


class PluginError(VeilrouteError):
    """A plug-in that cannot be imported, is not what its kind asks for, or fails."""


class MissingExtraError(VeilrouteError):
    """An optional library is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed; run: pip install 'veilroute[{extra}]'")


class DownloadError(VeilrouteError):
    """A map archive could not be fetched."""
