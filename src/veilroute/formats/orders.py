"""Today's orders, which are secret, and what is public about customers: from tables or lists of names.

Orders become the set of classes that they touch, and nothing else of them is kept. A problem with them is told by the
number of a line and by one of the sentences below: no name, no quantity, no path, for any of these may be a secret in
the wrong place. Problems are put down and not raised, so that no traceback leads back to what was read.

What is public about customers may be named, and is.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from veilroute.base.errors import FileFormatError, InvalidInputError, Problems
from veilroute.domain.graph import Label
from veilroute.formats.places import ALIASES
from veilroute.formats.sheets import Sheet, number_of_text
from veilroute.model.day import Customer, Terms, seconds_of_clock
from veilroute.model.playbook import Playbook

Finder = Callable[[str], Label | None]  #: the candidate that a text means, if it means one

ORDERS = "--orders"  #: what messages call the orders, whichever file they are in
SENTENCES = {
    "file": "expected a file that can be read, or - for standard input; orders themselves are not typed here, where "
    "the shell's history and the list of processes would show them",
    "table": "expected a table with a column place, customer or name and perhaps quantity, or a name in each line; "
    "check quotes, separators and how it was saved",
    "unknown": "not a customer of the playbook, or not only one; write its name or label as the playbook has it; do "
    "not plan again to add it: the difference of the two lists would show it",
    "refused": "a customer whom the playbook does not hide: a stop there would give it away; do not plan again for its "
    "sake, which would show it",
    "quantity": "expected a quantity as a number above 0, without a comma between thousands, or none",
    "bound": "more than this customer may order at most, which is public (--demand, --customers) and not to be changed "
    "for the sake of an order",
    "header": "may be a header or a customer; write a header above it",
    "none": "no orders; without --pad-to or --always nobody has anything to drive",
}
"""All that is said about orders. They are fixed: only numbers of lines are ever filled in."""

TERM_COLUMNS = ("demand", "service", "opens", "closes", "rate")
_QUANTITY = ("quantity", "qty", "amount")
_MINUTE_S = 60


def order_problem(which: str, line: int | None = None) -> FileFormatError:
    """One of the sentences about orders."""
    return FileFormatError(ORDERS, SENTENCES[which], line)


def read_orders(raw: bytes, playbook: Playbook, terms: Terms, find: Finder, problems: Problems) -> frozenset[int]:
    """The numbers of the classes that orders touch, from 1.

    The orders are a table with a column for names (as in files of places) and perhaps one for quantities, or a list
    with a name in each line. Nobody may be in it twice. Whatever else fails while it is read is not shielded here.
    """
    if not raw.strip():
        return frozenset()
    try:
        sheet = Sheet(ORDERS, (*ALIASES["name"], *_QUANTITY), raw=raw)
        rows = list(_order_rows(sheet, find, problems))
    except FileFormatError as error:
        line = error.line
    else:
        return _touched(rows, playbook, terms, find, problems)
    problems.add(order_problem("table", line))
    return frozenset()


def _order_rows(sheet: Sheet, find: Finder, problems: Problems) -> Iterator[tuple[int, str, str]]:
    """Line, name and quantity of every order."""
    names = [sheet.columns.index(alias) for alias in ALIASES["name"] if alias in sheet.columns]
    if not names:
        yield from ((line, text, "") for line, (text,) in sheet.lines())
        return
    first, (header,) = next(sheet.lines())
    if find(header) is not None:
        problems.add(order_problem("header", first))
    width, name = len(sheet.columns), names[0]
    quantity = next((at for at, key in enumerate(sheet.columns) if key in _QUANTITY), None)
    for row in sheet:
        if any(row[width:]):
            problems.add(order_problem("table", sheet.line))
            continue
        cells = row + [""] * (width - len(row))
        yield sheet.line, cells[name], "" if quantity is None else cells[quantity]


def _touched(
    rows: Collection[tuple[int, str, str]], playbook: Playbook, terms: Terms, find: Finder, problems: Problems
) -> frozenset[int]:
    number_of = {member: n for n, group in enumerate(playbook.hidden_classes, start=1) for member in group.members}
    first: dict[Label, int] = {}  # the line of each order
    touched = set()
    for line, name, quantity in rows:
        label = find(name)
        if label is None:
            problems.add(order_problem("unknown", line))
            continue
        if first.setdefault(label, line) != line:
            problems.add(FileFormatError(ORDERS, f"the same customer as in line {first[label]}; keep one", line))
        if label in number_of:
            touched.add(number_of[label])
        else:
            problems.add(order_problem("refused", line))
        if quantity:
            amount = _amount(quantity)
            own = terms.customers.get(label, Customer()).demand
            if amount is None:
                problems.add(order_problem("quantity", line))
            elif amount > (terms.demand if own is None else own):
                problems.add(order_problem("bound", line))
    return frozenset(touched)


def _amount(text: str) -> float | None:
    try:
        amount = float(number_of_text(text))
    except (ValueError, OverflowError):
        return None
    return amount if 0 < amount < float("inf") else None


def read_customers(
    path: str | Path, find: Finder, ends: Collection[Label], candidates: Collection[Label]
) -> dict[Label, Customer]:
    """Read what is public about customers, in the order of the candidates.

    The file is a table with a column for names (as in files of places, of which it may be one) and some of ``demand``,
    ``service`` (minutes), ``opens`` and ``closes`` (``HH:MM``) and ``rate``. What is empty is as for all others. Starts
    and goals (``ends``) are passed over. All that is wrong is raised at once.
    """
    sheet = Sheet(path, (*ALIASES["name"], *TERM_COLUMNS))
    names = [sheet.columns.index(alias) for alias in ALIASES["name"] if alias in sheet.columns]
    if not names or not any(key in sheet.columns for key in TERM_COLUMNS):
        # Without what was found there: it may be the orders, in the wrong place.
        expected = f"a header with the column place, customer or name and some of {', '.join(TERM_COLUMNS)}"
        raise FileFormatError(path, f"expected {expected}")
    columns = {key: sheet.find(key) for key in TERM_COLUMNS}
    role = sheet.find(*ALIASES["role"])
    problems = Problems()
    found: dict[Label, Customer] = {}
    first: dict[Label, int] = {}
    for given in sheet:
        row = given + [""] * (len(sheet.columns) - len(given))
        name = row[names[0]]
        label = find(name)
        if (role is not None and row[role].lower() in ("start", "goal")) or label in ends:
            continue
        if label is None:
            problems.add(sheet.error(f"{name[:60]!r} is not a customer of the playbook, or not only one"))
        elif first.setdefault(label, sheet.line) != sheet.line:
            problems.add(sheet.error(f"{name[:60]} is there already, in line {first[label]}; keep one"))
        else:
            with problems.collecting():
                found[label] = _customer(sheet, row, columns, problems)
    problems.raise_all()
    return {label: found[label] for label in candidates if label in found}


def _customer(sheet: Sheet, row: list[str], columns: Mapping[str, int | None], problems: Problems) -> Customer:
    texts = {key: "" if at is None else row[at] for key, at in columns.items()}
    given: dict[str, float | None] = {}
    for key, at in columns.items():
        if at is not None and texts[key]:
            with problems.collecting():
                given[key] = _clock(sheet, key, texts[key]) if key in ("opens", "closes") else sheet.number(row, at, 0)
    service = given.get("service")
    try:
        return Customer(
            given.get("demand"),  # type: ignore[arg-type]  # checked there
            None if service is None else service * _MINUTE_S,
            given.get("opens"),
            given.get("closes"),
            given.get("rate"),
        )
    except InvalidInputError as error:
        raise sheet.error(str(error)) from None


def _clock(sheet: Sheet, key: str, text: str) -> int:
    # Spreadsheets keep times of day with their seconds.
    seconds = seconds_of_clock(text[:-3] if text.count(":") == 2 and text.endswith(":00") else text)
    if seconds is None:
        raise sheet.error(f"expected a time of day as HH:MM for {key}, got {text[:20]!r}")
    return seconds
