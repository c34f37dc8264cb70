"""The ledger: the public record of the playbooks in use, and what keeps them safe together.

One playbook keeps its promise for one trip. Whoever links trips of the same secret intersects its classes, so a plan
for the next trip has to know the earlier ones. The ledger is a file that only grows (:mod:`veilroute.base.journal`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError, UnsafeLedgerError, listing
from veilroute.base.io import dump_canonical, parse_json
from veilroute.base.journal import Journal, append, new_journal, read_journal
from veilroute.domain.graph import Domain, Label
from veilroute.ledger.composition import Account, account_draws
from veilroute.ledger.explain import Shortfall, explain_shortfalls
from veilroute.ledger.intersection import Linking
from veilroute.model.closure import Replan
from veilroute.model.day import Day
from veilroute.model.entry import (
    LEDGER_FORMAT,
    LEDGER_FORMATS,
    TRIPS,
    Entry,
    Gap,
    Identity,
    Place,
    check_date,
    entry_from_dict,
    entry_of,
    identity_from_dict,
    pairs_within,
    places_of,
    read_entries,
    read_identities,
    read_trips,
    spots_of,
)
from veilroute.model.identities import Moved, Renamed, Turnover
from veilroute.model.playbook import Playbook
from veilroute.model.problem import ROUNDING, Past, Privacy, Problem


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
    is_decided: bool = True  #: false if too much would have to be tried to know; it then counts as broken
    num_left: int = 0  #: at how many places they are: several names at one door are one place

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "candidate": self.candidate,
            "name": self.name,
            "left": list(self.left),
            "num_left": self.num_left,
            "qualifies": self.qualifies,
            "hidden": self.is_hidden,
            "broken": self.broken,
            "since": self.since,
        } | ({} if self.is_decided else {"undecided": True})


@dataclass(frozen=True)
class LedgerReport:
    """Whether a ledger is safe: an observer who links all trips still knows no more than each playbook promised."""

    playbooks: int
    days: int  #: of fleets
    trips: str  #: what is assumed of a day without a trip (:attr:`Ledger.trips`)
    renamed: tuple[Renamed, ...]  #: places that are taken for the same under another name
    moved: tuple[Moved, ...]  #: places that moved by at least 50 m under the same name
    #: Of which pairs it is not known whether they are the same: ``"names"``, ``"cost"`` (:attr:`Turnover.not_judged`).
    not_judged: tuple[str, ...]
    identities: tuple[Identity, ...]  #: what the user said of who is who
    candidates: tuple[Standing, ...]
    head: str  #: the hash of the ledger's last line; write it down elsewhere, and nobody can cut lines off unnoticed

    @property
    def safe(self) -> bool:
        """Whether every promise is kept, also those to places that are not hidden any more."""
        return not self.short

    @property
    def short(self) -> tuple[Standing, ...]:
        """Those to whom a promise was broken."""
        return tuple(each for each in self.candidates if not each.qualifies)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        candidates = [each.to_dict() for each in self.candidates]
        counts = {"playbooks": self.playbooks, "days": self.days, "trips": self.trips}
        who = {
            "taken_for_the_same": [each.to_dict() for each in self.renamed],
            "moved": [each.to_dict() for each in self.moved],
            "not_judged": list(self.not_judged),
            "identities": [each.to_dict() for each in self.identities],
        }
        return {"safe": self.safe, **counts, "head": self.head, **who, "candidates": candidates}


def new_ledger(path: str | Path, trips: str = "occasional") -> Ledger:
    """Make a ledger without playbooks; a file that is there is never overwritten.

    ``trips`` is what the ledger assumes of a day on which a place has no trip. ``"occasional"``: such a day says
    nothing. ``"expected"``: every place that is served has a trip every day, so a missing trip shows.
    """
    check_name("trips", trips, TRIPS)
    return Ledger(new_journal(path, LEDGER_FORMAT, trips=trips))


def read_ledger(path: str | Path) -> Ledger:
    """Read a ledger; damage is an error that names the line."""
    return Ledger(read_journal(path, LEDGER_FORMATS))


@dataclass(frozen=True)
class Ledger:
    """The playbooks that are or were in use, in the order in which they were entered."""

    journal: Journal

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """What is recorded of each playbook."""
        return read_entries(self.journal)

    @property
    def trips(self) -> str:
        """What a day without a trip says: ``"occasional"``, ``"expected"``, or ``"listed"`` in an old file."""
        return read_trips(self.journal)

    @cached_property
    def identities(self) -> tuple[Identity, ...]:
        """What the user said of who is who, in the order in which it was said."""
        return read_identities(self.journal)

    @property
    def head(self) -> str:
        """The hash of the last line."""
        return self.journal.head

    def _link(self, entries: Sequence[Entry] | None = None, more: Iterable[Identity] = ()) -> Linking:
        """Its entries, or others in their place, as an observer links them."""
        identities = (*self.identities, *more)
        return Linking(self.entries if entries is None else entries, self.trips, identities)

    def check(self, since: str | None = None) -> LedgerReport:
        """What linked trips leave of everybody, and whether that keeps what was promised.

        With ``since``, trips before that day cannot be linked.
        """
        since = None if since is None else check_date(since, "since")
        linking = self._link()
        kept = [at for at, entry in enumerate(self.entries) if since is None or entry.date >= since]
        people = sorted({person for at in kept for person in linking.ids[at]})
        return LedgerReport(
            sum(self.entries[at].kind == "playbook" for at in kept),
            sum(self.entries[at].kind == "day" for at in kept),
            self.trips,
            tuple(each for turnover in linking.roster.turnovers for each in turnover.renamed),
            tuple(each for turnover in linking.roster.turnovers for each in turnover.moved),
            tuple(sorted({each for turnover in linking.roster.turnovers for each in turnover.not_judged})),
            self.identities,
            tuple(_standing(linking, number, since) for number in people),
            self.head,
        )

    def turnover(self, playbook: Playbook | None = None) -> Turnover:
        """How the places of a playbook differ from those of the ledger; of the last entry if none is named."""
        if playbook is None:
            return self._link().roster.turnovers[-1]
        linking = self._link()
        problem, privacy = playbook.problem, playbook.privacy
        linking.join(*_listed(problem), privacy, close_to_earlier(problem, privacy, self.entries))
        return linking.roster.turnovers[-1]

    def account(self, prior: Mapping[Label, float] | None = None, *, since: str | None = None) -> tuple[Account, ...]:
        """What linked draws tell about those whom each randomised playbook hides, and what one more would cost.

        ``prior`` says how probable places are, by label, in place of what the playbooks say.
        """
        since = None if since is None else check_date(since, "since")
        return account_draws(self.entries, prior, since, trips=self.trips, identities=self.identities)

    def past(self, problem: Problem, privacy: Privacy, *, since: str | None = None) -> Past:
        """What a plan for this problem has to take into account.

        It is an error when the ledger has promised more than the privacy asked for, or when its places cannot be told.
        """
        since = None if since is None else check_date(since, "since")
        counted = [problem.candidates[i] for i in problem.counted]
        linking = self._link()
        numbers = linking.join(*_listed(problem), privacy, close_to_earlier(problem, privacy, self.entries))
        label = dict(zip(numbers, counted, strict=True))
        kept = [at for at, entry in enumerate(self.entries) if since is None or entry.date >= since]
        left: dict[tuple[Label, tuple[Label, ...]], None] = {}
        near: dict[tuple[Label, Label], None] = {}
        for number, own in label.items():
            for line in linking.lines(number, since, is_weighed=privacy.risk is not None, among=label.keys()):
                left[own, tuple(label[other] for other in numbers if other in line)] = None
        for at in kept:
            entry, ids = self.entries[at], linking.ids[at]
            if any(ids[i] in label for members in entry.classes for i in members):
                _check_promise(entry, privacy)
            if privacy.risk is not None:
                weights = dict(zip(counted, problem.prior_of(problem.counted).tolist(), strict=True))
                _check_prior(entry, [weights.get(label.get(number)) for number in ids], linking.roster.turnovers[-1])
            for one, other in entry.near:
                if {ids[one], ids[other]} <= label.keys():
                    near[label[ids[one]], label[ids[other]]] = None
        return Past(tuple(left), tuple(near), self.head, since, self.trips)

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
        return self.enter(entry, anyway=anyway, playbook=playbook)

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

    def enter(self, entry: Entry, *, anyway: bool = False, playbook: Playbook | None = None) -> Ledger:
        """Enter what :meth:`add` makes of a playbook, or the record of a trip planned again or of a fleet's day.

        With the playbook, how near its places are to earlier ones is measured on its map, and recorded.
        """

        def decide(journal: Journal) -> dict[str, Any]:
            now = Ledger(journal)
            made = entry
            if playbook is not None:
                gaps = close_to_earlier(playbook.problem, playbook.privacy, now.entries)
                made = replace(entry, close=tuple(gaps))
            plain: dict[str, Any] = parse_json(dump_canonical(made.to_dict()), "entry")  # labels may be tuples
            entry_from_dict(plain)  # what could not be read again would spoil the ledger
            _check_place(now, made)
            # Built also where nothing is refused by it: places that cannot be told would spoil the ledger.
            linking = now._link([*now.entries, made])
            short = _broken_by(linking)
            if short and not anyway:
                names = {number: linking.roster.places[number].text for number in short}
                hidden = {linking.ids[-1][i] for members in entry.classes for i in members}
                gone = [name for number, name in names.items() if number not in hidden]
                raise UnsafeLedgerError(entry.date, [*names.values()], gone=gone)
            return plain

        return Ledger(append(self.journal.path, LEDGER_FORMATS, decide))

    def same(self, one: str, other: str, *, day: str | None = None) -> Ledger:
        """Record that two places are the same, whatever they are called and however far apart they are.

        They are named as in the playbooks, by name or by a label without one. It holds for the whole ledger, also for
        what was entered before, and until :meth:`different` says otherwise.
        """
        return self._identify("same", one, other, day)

    def different(self, one: str, other: str, *, day: str | None = None) -> Ledger:
        """Record that two places are not the same, however near to each other they are; see :meth:`same`."""
        return self._identify("different", one, other, day)

    def _identify(self, kind: str, one: str, other: str, day: str | None) -> Ledger:
        day = check_date(date.today().isoformat() if day is None else day)

        def decide(journal: Journal) -> dict[str, Any]:
            identity = identity_from_dict({"kind": kind, "places": [one, other], "date": day})
            now = Ledger(journal)
            try:
                # Built although nothing more is asked of it: places that cannot be told would spoil the ledger.
                roster = now._link(more=[identity]).roster
            except InvalidInputError:
                if now.is_clear() or not (now.knows(one) or now.knows(other)):
                    raise
                return identity.to_dict()  # one of several things that are to be said of such places
            first, second = roster.called(one), roster.called(other)
            if not first and not second:
                raise InvalidInputError("ledger", "the name of a place that was listed in it", one)
            for text, people in ((one, first), (other, second)):
                if len(people) > 1:
                    raise InvalidInputError("ledger", "a name that only one place of it ever had", text)
            if kind == "different" and first & second:
                expected = "names of two places: these two have the same label on one map, or one carried both names"
                raise InvalidInputError("ledger", expected, f"{one} and {other}")
            if kind == "same" and first and second and first != second:
                expected = "two places that were never listed together under different names: these two were"
                raise InvalidInputError("ledger", expected, f"{one} and {other}")
            return identity.to_dict()

        return Ledger(append(self.journal.path, LEDGER_FORMATS, decide))

    def is_clear(self) -> bool:
        """Whether all its places can be told from each other: those of older files perhaps cannot."""
        try:
            self._link()
        except InvalidInputError:
            return False
        return True

    def knows(self, text: str) -> bool:
        """Whether somebody was ever listed under a name, or a label without one."""
        return any(place.text == text for entry in self.entries for place in entry.places)

    def broken_by(self, playbook: Playbook) -> tuple[Standing, ...]:
        """Whose promises would be broken if a playbook were entered, also of those whom it does not hide or list."""
        days = [date.min.isoformat(), *(entry.date for entry in self.entries[-1:])]
        since = None if playbook.past is None else playbook.past.since
        entry = entry_of(playbook, near_pairs(playbook), max(*days, since or ""))
        entry = replace(entry, close=tuple(close_to_earlier(playbook.problem, playbook.privacy, self.entries)))
        linking = self._link([*self.entries, entry])
        return tuple(_standing(linking, number, since) for number in _broken_by(linking))

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
        linking = self._link(
            [replace(each, date=today) if at in mine else each for at, each in enumerate(self.entries)]
        )
        hidden = {linking.ids[at][i] for at in mine for members in self.entries[at].classes for i in members}
        short = [number for number in sorted(hidden) if linking.broken(number, since) is not None]
        if short:
            names = [linking.roster.places[number].text for number in short]
            raise UnsafeLedgerError(self.entries[mine[-1]].date, names, in_use=True)

    def explain(self, playbook: Playbook) -> tuple[Shortfall, ...]:
        """Whom a plan under this ledger does not hide because of their history, since when and why."""
        return explain_shortfalls(self._link(), playbook)


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


def close_to_earlier(problem: Problem, privacy: Privacy, entries: Sequence[Entry]) -> list[Gap]:
    """Which places are closer than ell on this map to one that is listed no more, but was in an earlier entry.

    The ell is that of the privacy, or of the last entry that listed it. Earlier places are found on this map by their
    labels, and on another map of the same kind by their coordinates; at one node they are close at every ell.
    """
    # Here and not at the top, because compiling kernels would make `import veilroute` slow.
    from veilroute.covering.task import gaps_below_ell

    domain = problem.domain
    sha256, places = _listed(problem)
    earlier: dict[object, tuple[int, int, Privacy]] = {}  # the first entry and place of each, and its last privacy
    for number, entry in enumerate(entries):
        for i, place in enumerate(entry.places):
            key = place.label if entry.domain == sha256 else place
            earlier[key] = (*earlier.get(key, (number, i))[:2], entry.privacy)
    listed = {*places, *(place.label for place in places)}
    new = [at for at, place in enumerate(places) if place not in earlier and place.label not in earlier]
    gone = [each for key, each in earlier.items() if key not in listed]
    if not new or not gone:
        return []
    nodes = [domain.node(places[at].label) for at in new]
    there = _nodes_of(domain, [(entries[number].domain == sha256, entries[number].places[i]) for number, i, _ in gone])
    found: dict[tuple[int, int, int], float] = {}
    for one in dict.fromkeys([privacy, *(last for _, _, last in gone)]):
        some = [at for at, (_, _, last) in enumerate(gone) if there[at] >= 0 and one in (privacy, last)]
        if some and (one.measure == "cost" or domain.streets is not None):
            gaps = gaps_below_ell(domain, [*nodes, *(there[at] for at in some)], one)[: len(new), len(new) :]
            for row, column in np.argwhere(np.isfinite(gaps)).tolist():
                which = (new[row], *gone[some[column]][:2])
                found[which] = min(float(f"{gaps[row, column]:.9g}"), found.get(which, math.inf))
    return [(*which, gap) for which, gap in sorted(found.items())]


def _nodes_of(domain: Domain, places: Sequence[tuple[bool, Place]]) -> list[int]:
    """The nodes of places of this map, and of others at the same coordinates; -1 where there is none."""
    spots = spots_of(domain, [0])[0]
    streets = domain.streets
    at = domain.coordinates if streets is None else np.round(streets.lonlat, 6)
    found = []
    for is_here, place in places:
        nodes = []
        if is_here:
            with suppress(InvalidInputError):  # a line may name a label that its map does not have
                nodes = [domain.node(place.label)]
        if not is_here and spots is not None and place.at is not None and place.at[0] == spots[0] and at is not None:
            nodes = np.flatnonzero((at == np.array(place.at[1:], dtype=np.float64)).all(axis=1)).tolist()
        found.append(nodes[0] if nodes else -1)
    return found


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
        close=None,
    )


def _listed(problem: Problem) -> tuple[str, tuple[Place, ...]]:
    """The map of a problem, and its candidates that count, as a ledger knows places."""
    counted = [problem.candidates[i] for i in problem.counted]
    return problem.domain.sha256, places_of(problem.domain, counted, problem.names)


def _broken_by(linking: Linking) -> list[int]:
    """To whom a promise is broken by the last entry, or once more: whom it hides, and whom its missing trip shows."""
    last, since = len(linking.entries) - 1, linking.entries[-1].since
    hidden = {linking.ids[-1][i] for members in linking.entries[-1].classes for i in members}
    found = []
    for number in range(len(linking.roster.places)):
        if linking.broken(number, since) is None:
            continue
        is_new = linking.broken(number, since, last - 1) is None
        if is_new or number in hidden or linking.left(number, since) < linking.left(number, since, last - 1):
            found.append(number)
    return found


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
        number not in linking.undecided,
        linking.num_doors(left),
    )


def _check_place(ledger: Ledger, entry: Entry) -> None:
    """Raise when an entry does not belong at the end of a ledger."""
    if ledger.entries and entry.date < ledger.entries[-1].date:
        raise InvalidInputError("date", f"a day from {ledger.entries[-1].date} on, that of the last entry", entry.date)
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


def _check_prior(entry: Entry, weights: Sequence[float | None], turnover: Turnover) -> None:
    """Raise when the prior of those whom an entry lists has changed: its promise was made under another one."""
    was = entry.prior or (1.0,) * len(entry.places)
    pairs = [(old, new) for old, new in zip(was, weights, strict=True) if new is not None]
    old_sum, new_sum = sum(old for old, _ in pairs), sum(new for _, new in pairs)
    if any(abs(old * new_sum - new * old_sum) > ROUNDING * old_sum * new_sum for old, new in pairs):
        expected = f"the weights of {entry.date} for who was listed then (or assume that it cannot be linked: since)"
        if turnover.renamed:
            pairs_text = listing([f"{each.was} = {each.now}" for each in turnover.renamed], 3)
            expected += f"; taken for the same are {pairs_text} (if they are not: veilroute ledger different)"
        raise InvalidInputError("prior", expected)
