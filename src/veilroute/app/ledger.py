"""The ledger: start one, enter playbooks, say who is who, check it, and ask what a change would do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from veilroute.app.audit import audit_playbook
from veilroute.app.beside import playbooks_beside
from veilroute.app.load import load_playbook
from veilroute.app.places import find_nodes, read_roads
from veilroute.app.plan import read_time_limit
from veilroute.app.requests import (
    LedgerAddRequest,
    LedgerCheckRequest,
    LedgerNewRequest,
    LedgerPlacesRequest,
    LedgerWhatIfRequest,
)
from veilroute.auditing import AuditReport
from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError, TooLargeError, UnsafeLedgerError
from veilroute.base.io import check_out
from veilroute.base.run import Progress, Run
from veilroute.ledger.composition import Account
from veilroute.ledger.ledger import Ledger, LedgerReport, Standing, new_ledger, read_ledger
from veilroute.ledger.what_if import WhatIf
from veilroute.ledger.what_if import what_if as ask_ledger
from veilroute.model.closure import Closure
from veilroute.model.entry import TRIPS
from veilroute.model.identities import Turnover
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy


@dataclass(frozen=True)
class LedgerAddResult:
    """A playbook that was audited, and entered unless it breaks a promise."""

    ledger: Ledger  #: as it is now
    audit: AuditReport
    turnover: Turnover | None = None  #: which places came and went with this playbook
    refusal: UnsafeLedgerError | None = None  #: why the ledger does not take it
    since: str | None = None  #: the playbook assumes that trips before this day cannot be linked
    short_of_all: tuple[Standing, ...] = ()  #: who falls short if an observer links them all the same
    short: tuple[Standing, ...] = ()  #: who falls short even so, if it was entered anyway

    @property
    def is_entered(self) -> bool:
        """Whether it is in the ledger now, and on the disk."""
        return self.audit.holds and self.refusal is None


@dataclass(frozen=True)
class LedgerPlacesResult:
    """What was said of two places, and what the ledger makes of it."""

    ledger: Ledger
    unknown: tuple[str, ...]  #: which of the two are in no playbook of the ledger yet
    is_clear: bool  #: whether all places can be told from each other
    short: tuple[Standing, ...]  #: who falls short now, if that is clear


@dataclass(frozen=True)
class LedgerCheckResult:
    """What linked trips leave of everybody in a ledger."""

    ledger: Ledger
    report: LedgerReport
    accounts: tuple[Account, ...]  #: what linked draws tell
    holds_head: bool = True  #: whether the head that was written down is still there

    @property
    def safe(self) -> bool:
        """Whether every promise is kept, and no line is missing."""
        return self.report.safe and self.holds_head

    def to_dict(self) -> dict[str, Any]:
        """The object that `ledger check --json` prints."""
        accounts = [each.to_dict() for each in self.accounts]
        return self.report.to_dict() | ({"accounts": accounts} if accounts else {})


def new(request: LedgerNewRequest) -> Ledger:
    """Make a ledger without playbooks."""
    check_name("trips", request.trips, TRIPS)
    return new_ledger(request.ledger, request.trips)


def add_to_ledger(request: LedgerAddRequest, run: Run | None = None) -> LedgerAddResult:
    """Audit a playbook that is going to be used, and enter it unless linked trips would break a promise."""
    ledger = read_ledger(request.ledger)
    book = load_playbook(request.playbook, request.domain, request.movement)
    return enter_playbook(
        ledger, book, run or Run(), date=request.date, occasion=request.occasion, anyway=request.anyway
    )


def enter_playbook(
    ledger: Ledger, book: Playbook, run: Run, *, date: str | None = None, occasion: str = "", anyway: bool = False
) -> LedgerAddResult:
    """The same for a playbook that is at hand."""
    run.progress(Progress("replaying the adversary"))
    audit = audit_playbook(book, ledger=ledger.journal.path)
    if not audit.holds:
        return LedgerAddResult(ledger, audit)
    turnover = ledger.turnover(book)
    try:
        ledger = ledger.add(book, day=date, occasion=occasion, anyway=anyway)
    except UnsafeLedgerError as refusal:
        return LedgerAddResult(ledger, audit, turnover, refusal)
    since = None if book.past is None else book.past.since
    short_of_all = () if since is None else ledger.check().short
    return LedgerAddResult(ledger, audit, turnover, None, since, short_of_all, ledger.check(since).short)


def same(request: LedgerPlacesRequest) -> LedgerPlacesResult:
    """Record that two places are the same, under another name or elsewhere."""
    return _what_follows(read_ledger(request.ledger).same(request.place, request.other, day=request.date), request)


def different(request: LedgerPlacesRequest) -> LedgerPlacesResult:
    """Record that two places are not the same, however near they are."""
    return _what_follows(read_ledger(request.ledger).different(request.place, request.other, day=request.date), request)


def _what_follows(ledger: Ledger, request: LedgerPlacesRequest) -> LedgerPlacesResult:
    unknown = tuple(text for text in (request.place, request.other) if not ledger.knows(text))
    is_clear = ledger.is_clear()
    return LedgerPlacesResult(ledger, unknown, is_clear, ledger.check().short if is_clear else ())


def check_ledger(request: LedgerCheckRequest, run: Run | None = None) -> LedgerCheckResult:
    """Say what linked trips leave of every place. The ledger alone is looked at, and taken at its word."""
    run = Run() if run is None else run
    ledger = read_ledger(request.ledger)
    report = ledger.check(request.since)
    if ledger.journal.torn:
        run.warn(f"{request.ledger}: an unfinished line at the end was passed over; the next add takes it away")
    accounts: tuple[Account, ...] = ()
    try:
        accounts = ledger.account(since=request.since)
    except TooLargeError as error:
        run.warn(f"what linked draws tell was not worked out: {error}")
    return LedgerCheckResult(ledger, report, accounts, request.head is None or ledger.journal.holds(request.head))


def what_if(request: LedgerWhatIfRequest, run: Run | None = None) -> WhatIf:
    """Plan what would follow a change, and write that plan if it is asked for. Nothing is written to the ledger."""
    run = Run() if run is None else run
    if request.out is not None:
        check_out(request.out)
    limit_s = read_time_limit(request.time_limit)
    is_elsewhere = any(text.strip() for text in (request.remove, request.add, request.close))
    if not is_elsewhere and request.k is None and request.risk is None:
        raise InvalidInputError("what-if", "a change: `remove`, `add`, `close`, `k` or `risk`")
    if request.k is not None and request.risk is not None:
        raise InvalidInputError("risk", "either `k` or `risk`, not both")
    ledger = read_ledger(request.ledger)
    today = _playbook_of(ledger, request)
    remove, add = (find_nodes(today, getattr(request, field), field, run) for field in ("remove", "add"))
    closure = Closure.of(*read_roads(today, request.close, "close", run)) if request.close.strip() else None
    answer = ask_ledger(
        ledger, today, remove=remove, add=add, closure=closure, privacy=_privacy(today.privacy, request),
        since=request.since, time_limit_s=limit_s, progress=run.progress, should_stop=run.should_stop,
    )  # fmt: skip
    if request.out is not None:
        answer.plan.write(request.out)
    return answer


def _privacy(today: Privacy, request: LedgerWhatIfRequest) -> Privacy:
    if request.k is not None:
        return replace(today, k=request.k, risk=None)
    changes: dict[str, Any] = {} if request.risk is None else {"k": None, "risk": request.risk}
    return replace(today, **changes)


def _playbook_of(ledger: Ledger, request: LedgerWhatIfRequest) -> Playbook:
    """The playbook that was named, or the last one of the ledger, which is looked for beside it by its hash."""
    entries = [entry for entry in ledger.entries if entry.kind == "playbook"]
    if not entries:
        raise InvalidInputError("FILE", "a ledger with a playbook: nothing was entered yet")
    if request.today is not None:
        book = load_playbook(request.today, request.domain, request.movement)
        if not ledger.holds(book):
            raise InvalidInputError("today", "a playbook of the ledger", str(request.today))
        return book
    last = entries[-1]
    for path, book in playbooks_beside(ledger.journal.path.parent, last.domain):
        if book.sha256 == last.playbook:
            return load_playbook(path, request.domain, request.movement)
    raise InvalidInputError("today", f"the file of the playbook of {last.date}, which is not beside the ledger")
