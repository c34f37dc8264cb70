"""The ledger: the public record of the playbooks in use, and what keeps them safe together.

One playbook keeps its promise for one trip. Whoever links trips of the same secret intersects its classes, so a plan
for the next trip has to know the earlier ones. The ledger is a file that only grows (:mod:`veilroute.journal`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from veilroute.accounting import Account, account_draws
from veilroute.closures import Replan
from veilroute.days import Day
from veilroute.domain.graph import Label
from veilroute.entries import (
    LEDGER_FORMAT,
    Entry,
    check_date,
    entry_from_dict,
    entry_of,
    pairs_within,
    places_of,
    read_entries,
)
from veilroute.errors import InvalidInputError, UnsafeLedgerError
from veilroute.journal import Journal, append, new_journal, read_journal
from veilroute.jsontext import dump_canonical, parse_json
from veilroute.linking import Linking
from veilroute.playbook import Playbook
from veilroute.problem import ROUNDING, Past, Privacy, Problem
from veilroute.shortfalls import Shortfall, explain_shortfalls


@dataclass(frozen=True)
class Standing:
    """What linked trips have left of one candidate's hiding. Labels are those of the map where each was listed last."""

    candidate: Label
    name: str
    left: tuple[Label, ...]  #: who is still possible, itself included
    qualifies: bool  #: whether all that was promised about it still holds
    is_hidden: bool  #: whether the last playbook that lists it hides it
    broken: str | None = None  #: the day of the first playbook whose promise no longer holds
    since: str | None = None  #: the day of the playbook that broke it

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "candidate": self.candidate,
            "name": self.name,
            "left": list(self.left),
            "qualifies": self.qualifies,
            "hidden": self.is_hidden,
            "broken": self.broken,
            "since": self.since,
        }


@dataclass(frozen=True)
class LedgerReport:
    """Whether a ledger is safe: everybody who is hidden is so also from who links all trips."""

    playbooks: int
    days: int  #: of fleets
    candidates: tuple[Standing, ...]
    head: str  #: the hash of the ledger's last line; write it down elsewhere, and nobody can cut lines off unnoticed

    @property
    def safe(self) -> bool:
        """Whether nobody who is hidden falls short."""
        return not self.short

    @property
    def short(self) -> tuple[Standing, ...]:
        """Those about whom a promise was broken by trips; that somebody gets no route by now breaks none."""
        return tuple(each for each in self.candidates if each.broken is not None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        candidates = [each.to_dict() for each in self.candidates]
        counts = {"playbooks": self.playbooks, "days": self.days}
        return {"safe": self.safe, **counts, "head": self.head, "candidates": candidates}


def new_ledger(path: str | Path) -> Ledger:
    """Make a ledger without playbooks; a file that is there is never overwritten."""
    return Ledger(new_journal(path, LEDGER_FORMAT))


def read_ledger(path: str | Path) -> Ledger:
    """Read a ledger; damage is an error that names the line."""
    return Ledger(read_journal(path, LEDGER_FORMAT))


@dataclass(frozen=True)
class Ledger:
    """The playbooks that are or were in use, in the order in which they were entered."""

    journal: Journal

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """What is recorded of each playbook."""
        return read_entries(self.journal)

    @property
    def head(self) -> str:
        """The hash of the last line."""
        return self.journal.head

    def check(self, since: str | None = None) -> LedgerReport:
        """What linked trips leave of everybody, and whether that keeps what was promised.

        With ``since``, trips before that day cannot be linked.
        """
        since = None if since is None else check_date(since, "since")
        linking = Linking(self.entries)
        kept = [entry for entry in self.entries if since is None or entry.date >= since]
        people = [number for number in range(len(linking.roster.places)) if linking.sightings(number, since)]
        return LedgerReport(
            sum(entry.kind == "playbook" for entry in kept),
            sum(entry.kind == "day" for entry in kept),
            tuple(_standing(linking, number, since) for number in people),
            self.head,
        )

    def account(self, prior: Mapping[Label, float] | None = None, *, since: str | None = None) -> tuple[Account, ...]:
        """What linked draws tell about those whom each randomised playbook hides, and what one more would cost.

        ``prior`` says how probable places are, by label, in place of what the playbooks say.
        """
        return account_draws(self.entries, prior, None if since is None else check_date(since, "since"))

    def past(self, problem: Problem, privacy: Privacy, *, since: str | None = None) -> Past:
        """What a plan for this problem has to take into account.

        It is an error when the ledger has promised more than the privacy asked for, or when its places cannot be told.
        """
        since = None if since is None else check_date(since, "since")
        counted = [problem.candidates[i] for i in problem.counted]
        linking = Linking(self.entries)
        numbers = linking.roster.enter(problem.domain.sha256, places_of(problem.domain, counted, problem.names))
        label = dict(zip(numbers, counted, strict=True))
        kept = [at for at, entry in enumerate(self.entries) if since is None or entry.date >= since]
        left: dict[tuple[Label, tuple[Label, ...]], None] = {}
        near: dict[tuple[Label, Label], None] = {}
        for number, own in label.items():
            for line in linking.lines(number, since, is_parted=privacy.risk is not None):
                left[own, tuple(label[other] for other in numbers if other in line)] = None
        for at in kept:
            entry, ids = self.entries[at], linking.ids[at]
            if any(ids[i] in label for members in entry.classes for i in members):
                _check_promise(entry, privacy)
            if privacy.risk is not None:
                weights = dict(zip(counted, problem.prior_of(problem.counted).tolist(), strict=True))
                _check_prior(entry, [weights.get(label.get(number)) for number in ids])
            for one, other in entry.near:
                if {ids[one], ids[other]} <= label.keys():
                    near[label[ids[one]], label[ids[other]]] = None
        return Past(tuple(left), tuple(near), self.head, since)

    def add(
        self, playbook: Playbook, *, day: str | None = None, occasion: str | None = None, anyway: bool = False
    ) -> Ledger:
        """Enter a playbook. When this returns, it is on the disk.

        Parameters
        ----------
        playbook
            With its domain attached.
        day
            The first day on which it is used; today when left out.
        occasion
            That of the draws, for a randomised playbook: those of one occasion are one draw.
        anyway
            Enter it also where linked trips would then break a promise; otherwise that is an error, and nothing is
            written.
        """
        near = near_pairs(playbook)
        entry = entry_of(playbook, near, date.today().isoformat() if day is None else day, occasion)
        return self.enter(entry, anyway=anyway)

    def add_replan(self, playbook: Playbook, found: Replan, *, day: str | None = None, anyway: bool = False) -> Ledger:
        """Enter a trip that was planned again on the way, of a playbook that is in the ledger.

        Whoever watches is left with the members still covered. Those who dropped out are not listed for this trip: it
        looked for them as it did for all. The line says which class was on the way, as the trip did to who watched.
        """
        self._check_holds(playbook)
        if playbook.is_randomised:
            raise InvalidInputError("ledger", "a partition: what a draw shows that was planned again is not recorded")
        if found.choice is None:
            raise InvalidInputError("replan", "one for which it was chosen how to go on")
        near = [pair for pair in near_pairs(playbook) if set(pair) <= set(found.members)]
        whole = entry_of(playbook, near, date.today().isoformat() if day is None else day)
        part = _part_of(whole, [found.still_hidden], "replan")
        return self.enter(replace(part, trips=(whole.trips[found.trip],)), anyway=anyway)

    def add_day(
        self,
        playbook: Playbook,
        found: Day,
        *,
        dropped: Iterable[Label] = (),
        day: str | None = None,
        anyway: bool = False,
    ) -> Ledger:
        """Enter a day of a fleet, of a playbook that is in the ledger.

        The line says which classes were driven, as the vans did to who watched, and not which of them for show. Whoever
        links days of one standing order is left with its class, day after day; so it stays safe to drive by the same
        playbook, unless another one that was entered since parts somebody from its class. Customers who dropped out on
        the way, as a day planned again says, or are said to be ``dropped``, have left their classes, for this day.
        """
        self._check_holds(playbook)
        if found.playbook != playbook.sha256 or playbook.is_randomised:
            raise InvalidInputError("day", "one of this playbook, which is a partition")
        gone = {*dropped, *(() if found.after is None else found.after.dropped)}
        members = [playbook.hidden_classes[number - 1].members for number in found.touched]
        groups = [[member for member in group if member not in gone] for group in members]
        driven = {member for group in groups for member in group}
        near = [pair for pair in near_pairs(playbook) if driven.issuperset(pair)]
        whole = entry_of(playbook, near, date.today().isoformat() if day is None else day)
        return self.enter(_part_of(whole, groups, "day"), anyway=anyway)

    def enter(self, entry: Entry, *, anyway: bool = False) -> Ledger:
        """Enter what :meth:`add` makes of a playbook, or the record of a trip planned again or of a fleet's day."""

        def decide(journal: Journal) -> dict[str, Any]:
            plain: dict[str, Any] = parse_json(dump_canonical(entry.to_dict()), "entry")  # labels may be tuples
            entry_from_dict(plain)  # what could not be read again would spoil the ledger
            now = Ledger(journal)
            _check_place(now, entry)
            # Built also where nothing is refused by it: places that cannot be told would spoil the ledger.
            short = _broken_by(Linking([*now.entries, entry]))
            if short and not anyway:
                raise UnsafeLedgerError(entry.date, short)
            return plain

        return Ledger(append(self.journal.path, LEDGER_FORMAT, decide))

    def holds(self, playbook: Playbook) -> bool:
        """Whether a playbook is in the ledger."""
        return any(entry.playbook == playbook.sha256 for entry in self.entries)

    def _check_holds(self, playbook: Playbook) -> None:
        if not self.holds(playbook):
            raise UnsafeLedgerError.unknown()

    def check_use(self, playbook: Playbook, since: str | None = None) -> None:
        """Raise when a playbook is not in the ledger, or a later one has made a trip of it unsafe for somebody.

        All who are hidden by it are looked at, whatever the secret is: a refusal then tells nothing about it.
        """
        mine = [at for at, entry in enumerate(self.entries) if entry.playbook == playbook.sha256]
        if not mine:
            raise UnsafeLedgerError.unknown()
        # It is going to be used now: also playbooks that take no heed of what was before a day are linked with it.
        today = self.entries[-1].date
        linking = Linking([replace(each, date=today) if at in mine else each for at, each in enumerate(self.entries)])
        hidden = {linking.ids[at][i] for at in mine for members in self.entries[at].classes for i in members}
        short = [number for number in sorted(hidden) if linking.broken(number, since) is not None]
        if short:
            names = [linking.roster.places[number].text for number in short]
            raise UnsafeLedgerError(self.entries[mine[-1]].date, names, in_use=True)

    def explain(self, playbook: Playbook) -> tuple[Shortfall, ...]:
        """Whom a plan under this ledger does not hide because of their history, since when and why."""
        return explain_shortfalls(Linking(self.entries), playbook)


def near_pairs(playbook: Playbook) -> list[tuple[Label, Label]]:
    """Who stand closer than ell, of those in one class of a playbook."""
    # Here and not at the top, because compiling kernels would make `import veilroute` slow.
    from veilroute.covering.task import far_matrix

    domain = playbook.problem.domain
    hidden = list(dict.fromkeys(member for group in playbook.hidden_classes for member in group.members))
    place = {label: at for at, label in enumerate(hidden)}
    far = far_matrix(domain, [domain.node(label) for label in hidden], playbook.privacy)
    pairs = pairs_within([place[m] for m in group.members] for group in playbook.hidden_classes)
    return [(hidden[one], hidden[other]) for one, other in pairs if not far[one, other]]


def _part_of(whole: Entry, groups: Sequence[Sequence[Label]], kind: str) -> Entry:
    """What is shown of a playbook by trips of some of its classes, or of parts of them."""
    seen = {label for members in groups for label in members}
    at = [i for i, place in enumerate(whole.places) if place.label in seen]
    new = {old: number for number, old in enumerate(at)}
    number_of = {whole.places[old].label: number for old, number in new.items()}
    return replace(
        whole,
        places=tuple(whole.places[i] for i in at),
        classes=tuple(tuple(sorted(number_of[label] for label in members)) for members in groups if members),
        refused=(),
        near=tuple((new[one], new[other]) for one, other in whole.near if {one, other} <= new.keys()),
        prior=None if whole.prior is None else tuple(whole.prior[i] for i in at),
        parent=None,
        kind=kind,
    )


def _broken_by(linking: Linking) -> list[str]:
    """Who is hidden by the last entry and yet falls short, because linked trips leave too few; nobody else can."""
    entry, ids = linking.entries[-1], linking.ids[-1]
    hidden = sorted({ids[i] for members in entry.classes for i in members})
    return [linking.roster.places[n].text for n in hidden if linking.broken(n, entry.since) is not None]


def _standing(linking: Linking, number: int, since: str | None) -> Standing:
    places, fell = linking.roster.places, linking.fell_short(number, since)
    left = sorted(linking.left(number, since))
    return Standing(
        places[number].label,
        places[number].text,
        tuple(places[other].label for other in left),
        fell is None and linking.broken(number, since) is None,
        not linking.is_refused(number),
        None if fell is None else linking.entries[fell[0]].date,
        None if fell is None else linking.entries[fell[1]].date,
    )


def _check_place(ledger: Ledger, entry: Entry) -> None:
    """Raise when an entry does not belong at the end of a ledger."""
    if ledger.entries and entry.date < ledger.entries[-1].date:
        raise InvalidInputError("date", f"a day from {ledger.entries[-1].date} on, that of the last entry", entry.date)
    if entry.since is not None and entry.since > entry.date:
        raise InvalidInputError(
            "since", f"a day up to {entry.date}, the first on which the playbook is used", entry.since
        )
    if entry.parent is not None and not ledger.journal.holds(entry.parent):
        expected = "the ledger that the playbook was planned under: this is another one, or lines of it are missing"
        raise InvalidInputError("ledger", expected)
    same = [
        each for each in ledger.entries if each.playbook == entry.playbook and each.kind == entry.kind == "playbook"
    ]
    if any(not each.shares or (each.occasion is not None and each.occasion == entry.occasion) for each in same):
        raise InvalidInputError(
            "playbook", "one that is not in the ledger yet (it counts once, however often it is used)"
        )


def _check_promise(entry: Entry, privacy: Privacy) -> None:
    """Raise when less is asked for than an entry has promised: the ledger would not be kept safe by it."""
    was = entry.privacy
    remedy = f"as the ledger has promised on {entry.date} (or assume that earlier trips cannot be linked: since)"
    if was.m != privacy.m:
        raise InvalidInputError("Privacy.m", f"{'inf' if was.m is None else was.m}, {remedy}", privacy.m)
    if (was.beta is None) != (privacy.beta is None):
        kind = "k" if was.beta is None else "risk"
        raise InvalidInputError(f"Privacy.{kind}", f"a {kind}, {remedy}")
    if was.beta is not None and privacy.beta is not None and privacy.beta > was.beta * (1 + ROUNDING):
        raise InvalidInputError("Privacy.risk", f"at most {was.beta:g}, {remedy}", privacy.beta)
    if was.beta is None and privacy.k < was.k:
        raise InvalidInputError("Privacy.k", f"at least {was.k}, {remedy}", privacy.k)
    if was.measure != privacy.measure or privacy.ell < was.ell:
        raise InvalidInputError("Privacy.ell", f"at least {was.distance_text}, {remedy}", privacy.distance_text)
    if was.spread == "all-pairs" and privacy.spread != "all-pairs":
        raise InvalidInputError("Privacy.spread", f"all-pairs, {remedy}", privacy.spread)


def _check_prior(entry: Entry, weights: Sequence[float | None]) -> None:
    """Raise when the prior of those whom an entry lists has changed: its promise was made under another one."""
    was = entry.prior or (1.0,) * len(entry.places)
    pairs = [(old, new) for old, new in zip(was, weights, strict=True) if new is not None]
    old_sum, new_sum = sum(old for old, _ in pairs), sum(new for _, new in pairs)
    if any(abs(old * new_sum - new * old_sum) > ROUNDING * old_sum * new_sum for old, new in pairs):
        expected = f"the weights of {entry.date} for who was listed then (or assume that it cannot be linked: since)"
        raise InvalidInputError("prior", expected)
