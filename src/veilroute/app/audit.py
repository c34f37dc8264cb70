"""Audit: whether playbooks keep their word, and what they tell an observer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veilroute.analysis import WatchReport, watch_playbook
from veilroute.analysis.posterior import RiskReport, measure_risk
from veilroute.app.load import load_instance, load_playbook
from veilroute.app.requests import AuditRequest, RiskRequest
from veilroute.auditing import AuditReport, LinkedReport, Planner, audit_linked, check_playbook
from veilroute.auditing.verdicts import joint_verdict
from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError
from veilroute.base.run import Progress, Run
from veilroute.formats.places import read_prior
from veilroute.formats.route_text import differing_formats
from veilroute.ledger.ledger import read_ledger
from veilroute.model.entry import TRIPS
from veilroute.model.playbook import Playbook, read_playbook
from veilroute.model.problem import Privacy, Problem


def audit_playbook(
    playbook: Playbook,
    *,
    planner: Planner | None = None,
    instance: Problem | None = None,
    privacy: Privacy | None = None,
    unstated: Collection[str] = (),
    prior: Sequence[float] | None = None,
    ledger: str | Path | None = None,
) -> AuditReport:
    """The auditor with the writer of files that it has to judge; see :func:`veilroute.audit`."""
    if ledger is not None and playbook.past is None:  # nothing rests on it, but a slip in its name is no passed audit
        read_ledger(ledger)
    return check_playbook(
        playbook, written_apart=differing_formats, planner=planner, instance=instance, privacy=privacy,
        unstated=unstated, prior=prior, ledger=ledger,
    )  # fmt: skip


@dataclass(frozen=True)
class AuditResult:
    """What the observer found: of one playbook, or of several whose trips are linked."""

    reports: tuple[tuple[Path, AuditReport], ...]  #: of single playbooks, with their files
    linked: LinkedReport | None = None  #: of several playbooks, or of a ledger
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """``violated`` when one claim is, else ``unproved`` when one is, else ``holds``."""
        claims = [] if self.linked is None else [*self.linked.claims]
        return joint_verdict([*claims, *(claim for _, report in self.reports for claim in report.claims)])

    def to_dict(self) -> dict[str, Any]:
        """The object that `audit --json` prints."""
        if self.linked is None:
            ((_, report),) = self.reports
            return report.to_dict()
        alone = [{"file": str(path), **report.to_dict()} for path, report in self.reports]
        found = {"holds": self.verdict != "violated", "verdict": self.verdict}
        return self.linked.to_dict() | ({"audits": alone} if alone else {}) | found

    def text(self) -> str:
        """What people read: everything about one playbook, of several in one line each what they are by themselves."""
        is_one = len(self.reports) == 1
        texts = [(path, each.to_text().rstrip("\n") if is_one else each.headline) for path, each in self.reports]
        if self.linked is None:
            return "".join(f"{text}\n" for _, text in texts)
        return self.linked.to_text() + "".join(f"\n{path}: {text}\n" for path, text in texts)


@dataclass(frozen=True)
class RiskResult:
    """What a playbook tells an observer, and how well one of a kind guesses."""

    risk: RiskReport
    guesses: WatchReport | None = None

    def to_dict(self) -> dict[str, Any]:
        """The object that `risk --json` prints."""
        return self.risk.to_dict() | ({} if self.guesses is None else {"adversary": self.guesses.to_dict()})

    def text(self) -> str:
        """The same for people."""
        return self.risk.to_text() + ("" if self.guesses is None else self.guesses.to_text())


def audit(request: AuditRequest, run: Run | None = None) -> AuditResult:
    """Check every claim of a playbook; of several, or with a ledger, what an observer who links their trips learns."""
    run = Run() if run is None else run
    run.progress(Progress("replaying the adversary"))
    if request.ledger is not None or len(request.playbooks) > 1:
        return _audit_linked(request, run)
    if request.trips is not None:
        raise InvalidInputError("trips", "several playbooks, whose trips are linked")
    if not request.playbooks:
        raise InvalidInputError("playbook", "one to check, several to link, or `ledger` FILE")
    (path,) = request.playbooks
    meant: dict[str, Any] = {}
    if request.against is None:
        book = load_playbook(path, request.domain, request.movement)
        if request.prior is not None:
            meant["prior"] = _read_prior(request.prior, book)
    elif request.domain is not None:
        raise InvalidInputError("domain", "`against` alone, which says what the map is")
    else:
        given = load_instance(request.against, run)
        meant = {"instance": given.problem, "privacy": given.privacy, "unstated": given.unstated}
        book = read_playbook(path)
        book = book if book.domain is not None else book.with_domain(given.problem.domain)
    report = audit_playbook(book, **meant)
    if request.domain is not None:
        run.warn("of `domain` only the map was compared; `against` compares the rest too")
    return AuditResult(((path, report),), None, tuple(run.warnings))


def _audit_linked(request: AuditRequest, run: Run) -> AuditResult:
    """Replay the observer who links trips; what was planned under the ledger is proved under what the ledger says."""
    if request.against is not None or request.prior is not None:
        raise InvalidInputError("against", "one playbook alone, with all options that say what was meant")
    if request.trips is not None and request.ledger is not None:
        raise InvalidInputError("trips", "no ledger beside it: the first line of a ledger says it", request.trips)
    if request.trips is not None:
        check_name("trips", request.trips, TRIPS)
    books = []
    for path in request.playbooks:
        book = read_playbook(path)
        books.append(book if book.domain is not None else load_playbook(path, request.domain, request.movement))
    linked = audit_linked(books, ledger=request.ledger, trips=request.trips)
    named = zip(request.playbooks, books, strict=True)
    under = [(path, book) for path, book in named if request.ledger is not None and book.past is not None]
    alone = tuple((path, audit_playbook(book, ledger=request.ledger)) for path, book in under)
    return AuditResult(alone, linked, tuple(run.warnings))


def risk(request: RiskRequest, run: Run | None = None) -> RiskResult:
    """How much a playbook tells an observer who knows how probable each place is."""
    (Run() if run is None else run).progress(Progress("watching every trip"))
    book = load_playbook(request.playbook, request.domain, request.movement)
    prior = None if request.prior is None else _read_prior(request.prior, book)
    guesses = None if request.observer is None else watch_playbook(book, request.observer, prior)
    return RiskResult(measure_risk(book, prior), guesses)


def _read_prior(path: Path, book: Playbook) -> tuple[float, ...]:
    """How probable each of a playbook's candidates is to somebody else."""
    ends = {end for trip in book.trips for end in (trip.start, trip.goal)}
    return read_prior(path, book.problem.domain, book.candidates, book.names, ends=ends)
