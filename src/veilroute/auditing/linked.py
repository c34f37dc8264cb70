"""The audit of several playbooks: what is left of everybody to whoever links the trips of one secret.

With a ledger also whether it says of the playbooks at hand what they are, and whether each was planned under the past
that it names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from veilroute.auditing.linked_risk import LinkedFigures, observe_linked
from veilroute.auditing.neighbours import measure_gaps
from veilroute.auditing.sightings import Observer, People, Sight, see_entry, see_playbook
from veilroute.auditing.verdicts import ClaimVerdict, joint_verdict, judge, names, number
from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError
from veilroute.base.journal import Journal, read_journal
from veilroute.domain.graph import Label
from veilroute.model.entry import LEDGER_FORMATS, TRIPS, Entry, Identity, Place, read_lines, read_trips
from veilroute.model.exposure import row_lines
from veilroute.model.playbook import Playbook

_MAX_ROWS = 40
_MAX_COLUMNS = 12

_ASSUMED = {
    "occasional": "places have trips now and then, so a day without a trip says nothing (trips: occasional).",
    "expected": "every place that is served has a trip every day, so a missing trip shows (trips: expected).",
    "listed": "a day on which a place is listed and gets no route shows that it had no trip, and a day on which it is "
    "not listed says nothing (trips: listed). This ledger was made by an earlier version; make a new one with: "
    "veilroute ledger new FILE --trips occasional, or --trips expected.",
}


@dataclass(frozen=True)
class LinkedPlaybook:
    """One playbook of a row, and what was left after it."""

    playbook: str  #: its hash
    date: str | None  #: its day, where a ledger says
    is_at_hand: bool  #: whether its routes were looked at; else the ledger's word was taken
    num_hidden: int  #: whom it hides
    num_refused: int  #: to whom it gives no route
    smallest_left: int | None  #: the fewest who are left to who links all trips up to here, of somebody that is hidden
    num_identified: int  #: of all seen so far those of whom nobody else is left
    num_below: int  #: of all seen so far those for whom a promise does not hold any more


@dataclass(frozen=True)
class LinkedStep:
    """What is left of somebody after a playbook."""

    num_left: int  #: places that stay possible; several names at one door are one place
    is_hidden: bool  #: whether the last playbook that lists it hides it
    is_short: bool  #: whether a promise to it does not hold any more


@dataclass(frozen=True)
class LinkedCandidate:
    """Somebody over time. Labels are those of the map where each was listed last."""

    candidate: Label
    name: str
    left: tuple[Label, ...]  #: who is still possible at the end
    over_time: tuple[LinkedStep | None, ...]  #: one for each playbook, ``None`` before it was listed


@dataclass(frozen=True)
class LinkedReport:
    """What whoever links all trips of one secret is left with."""

    claims: tuple[ClaimVerdict, ...]
    playbooks: tuple[LinkedPlaybook, ...]
    candidates: tuple[LinkedCandidate, ...]
    trips: str = "occasional"  #: what is assumed of a day without a trip; ``listed`` in ledgers of an earlier version
    since: tuple[tuple[str, str], ...] = ()  #: days of playbooks, and from which day on each assumes trips are linked
    matched: tuple[tuple[str, str], ...] = ()  #: places taken for one: what it was called, and what it is called now
    identities: tuple[Identity, ...] = ()  #: what the ledger says of places that are the same, or different
    moved: tuple[tuple[str, float], ...] = ()  #: places known by name that moved by at least 50 m, and how far
    #: What observers of all trips can find out. The first sees the longest part of routes that a promise is about. If
    #: that is not the whole route, and all playbooks are at hand, the second sees whole routes.
    observers: tuple[LinkedFigures, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no claim is violated."""
        return all(claim.holds for claim in self.claims)

    @property
    def verdict(self) -> str:
        """``violated`` when one claim is, else ``unproved`` when one is, else ``holds``."""
        return joint_verdict(self.claims)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``audit --json``."""
        playbooks = [
            {
                "playbook": each.playbook,
                "date": each.date,
                "at_hand": each.is_at_hand,
                "hidden": each.num_hidden,
                "refused": each.num_refused,
                "smallest_left": each.smallest_left,
                "identified": each.num_identified,
                "below": each.num_below,
            }
            for each in self.playbooks
        ]
        candidates = [
            {
                "candidate": each.candidate,
                "name": each.name,
                "left": list(each.left),
                "over_time": [
                    None if step is None else {"left": step.num_left, "hidden": step.is_hidden, "short": step.is_short}
                    for step in each.over_time
                ],
            }
            for each in self.candidates
        ]
        claims = [vars(claim) | {"verdict": claim.verdict} for claim in self.claims]
        return {
            "holds": self.holds,
            "verdict": self.verdict,
            "trips": self.trips,
            "since": [{"playbook": day, "since": since} for day, since in self.since],
            "taken_for_the_same": [{"was": was, "now": now} for was, now in self.matched],
            "moved": [{"name": name, "distance_m": metres} for name, metres in self.moved],
            "identities": [each.to_dict() for each in self.identities],
            "observers": [each._asdict() for each in self.observers],
            "claims": claims,
            "playbooks": playbooks,
            "candidates": candidates,
        }

    def to_text(self) -> str:
        """The report in words: verdict, claims, and a table of how many are left of each candidate over time."""
        num = number(len(self.playbooks), "playbook")
        first = {
            "holds": f"Linked trips tell nothing more than was promised: {num}, all claims hold.",
            "unproved": f"Linked trips tell nothing more than was promised, as far as could be checked: {num}.",
            "violated": f"Do not rely on these playbooks together: {num}, a claim is violated.",
        }
        width = max(len(claim.claim) for claim in self.claims)
        claims = [f"  {claim.word:8}  {claim.claim:{width}}  {claim.evidence}" for claim in self.claims]
        claims.append("  (What each playbook claims by itself is not among these: see `veilroute audit PLAYBOOK`.)")
        told = [first[self.verdict], *self._assumed()]
        for each in self.observers:
            told += [f"An observer who sees {each.seen} and links all trips of one secret:", *row_lines(each.rows())]
        return "\n".join([*told, "", "Claims", *claims, "", *self._over_time()]) + "\n"

    def _assumed(self) -> list[str]:
        """On what the verdict rests beside routes and maps, a line for each."""
        lines = [f"Assumed: {_ASSUMED[self.trips]}"]
        for day, since in self.since:
            lines.append(f"Assumed for the playbook of {day}: trips before {since} cannot be linked.")
        if self.matched:
            pairs = names(f"{now} for {before}" for before, now in self.matched)
            lines.append(
                f"{number(len(self.matched), 'place')} taken for the same under another name: {pairs} "
                "(say otherwise with: veilroute ledger different FILE A B)."
            )
        if self.moved:
            moved = names(f"{name} ({metres:.0f} m)" for name, metres in self.moved)
            lines.append(f"{number(len(self.moved), 'place')} moved by 50 m or more under the same name: {moved}.")
        for each in self.identities:
            what = "the same place" if each.kind == "same" else "different places"
            lines.append(f"Said in the ledger: {names(each.places[:1])} and {names(each.places[1:])} are {what}.")
        return lines

    def _over_time(self) -> list[str]:
        shown = range(max(0, len(self.playbooks) - _MAX_COLUMNS), len(self.playbooks))
        lines = ["Left of each candidate to who links all trips up to a playbook"]
        lines.append("  (! a promise does not hold any more; - gets no route; . not listed yet)")
        heads = [self.playbooks[at].date or str(at + 1) for at in shown]
        rows = sorted(self.candidates, key=lambda each: (not _is_short(each), len(each.left)))[:_MAX_ROWS]
        wide = max((len(each.name[:30]) for each in rows), default=0)
        lines.append(f"  {'':{wide}}  " + "  ".join(f"{head:>5}" for head in heads))
        for each in rows:
            cells = (_cell(each.over_time[at]) for at in shown)
            row = "  ".join(f"{cell:>{max(5, len(head))}}" for cell, head in zip(cells, heads, strict=True))
            lines.append(f"  {each.name[:30]:{wide}}  {row}")
        if len(self.candidates) > len(rows) or len(self.playbooks) > len(shown):
            lines.append("  (the JSON report has all candidates and playbooks)")
        return lines


def _is_short(candidate: LinkedCandidate) -> bool:
    return any(step is not None and step.is_short for step in candidate.over_time)


def _cell(step: LinkedStep | None) -> str:
    if step is None:
        return "."
    return f"{step.num_left}{'!' if step.is_short else ''}{'' if step.is_hidden else '-'}"


def audit_linked(
    playbooks: Sequence[Playbook], *, ledger: str | Path | None = None, trips: str | None = None
) -> LinkedReport:
    """Replay the observer who links the trips of one secret over several playbooks, with code that nothing else shares.

    What is seen of a playbook at hand are its routes: who get the same first m nodes on every trip, and who get none.
    Of the others the ledger's word is taken, and said so.

    Parameters
    ----------
    playbooks
        In the order in which they are used, each with its domain; with a ledger in any order, and there may be none.
        Without a ledger one that is named twice is used twice: a second draw of a randomised playbook tells more.
    ledger
        The file. Its entries must say what the playbooks say, and these must have been planned under the past that the
        ledger had.
    trips
        What a day without a trip says: nothing (``"occasional"``, the default), or that the place got no route that day
        (``"expected"``). A ledger says it itself.

    Returns
    -------
    LinkedReport
        The claim ``linked``, that no promise that was made to anybody is broken; with a ledger ``recorded`` and
        ``past``; and what is left of everybody after each playbook.

    Raises
    ------
    InvalidInputError
        When places of different maps cannot be told from each other, or a playbook lacks its domain.
    FileFormatError
        When the ledger is damaged.
    """
    books = {book.sha256: book for book in playbooks}
    seen = {sha256: see_playbook(book) for sha256, book in books.items()}
    if ledger is None:
        if not books:
            raise InvalidInputError("playbooks", "at least one, or a ledger")
        trips = check_name("trips", "occasional" if trips is None else trips, TRIPS)
        sights: list[Sight] = []
        for book in playbooks:
            sight = seen[book.sha256]
            sights.append(replace(sight, close=measure_gaps(book.problem.domain, sight, sights)))
        return _report(sights, playbooks, _unknown_pasts(books.values()), trips)
    if trips is not None:
        raise InvalidInputError("trips", "none beside a ledger, whose first line says it", trips)
    journal = read_journal(ledger, LEDGER_FORMATS)
    lines = read_lines(journal)
    entries = [line for line in lines if isinstance(line, Entry)]
    said = [see_entry(entry) for entry in entries]
    at_hand = [books.get(entry.playbook) if entry.kind == "playbook" else None for entry in entries]
    trips = read_trips(journal)
    sights = []
    for at, (each, own) in enumerate(zip(said, at_hand, strict=True)):
        sight = each if own is None else _dated(seen[own.sha256], each)
        # Files of the first format lack distances.
        if own is not None and (entries[at].close is not None or trips != "listed"):
            sight = replace(sight, close=measure_gaps(own.problem.domain, each, said[:at]))
        sights.append(sight)
    extra = [_check_recorded(journal, lines, books, seen), _check_past(journal, lines, books, seen, trips)]
    return _report(sights, at_hand, extra, trips, [line for line in lines if isinstance(line, Identity)])


def _dated(sight: Sight, said: Sight) -> Sight:
    """What was seen, with what only the ledger says: when, and on which occasion."""
    return replace(sight, date=said.date, occasion=said.occasion, close=said.close)


def _seen_by(m: int | None, sight: Sight, book: Playbook | None) -> Sight:
    """A playbook to who sees so many nodes of its trips, which may be more, or fewer, than it makes promises about."""
    if sight.privacy.m == m:
        return sight
    other = sight if book is None else _dated(see_playbook(book, m), sight)
    return replace(other, is_promised=False)


def _report(
    sights: Sequence[Sight],
    at_hand: Sequence[Playbook | None],
    extra: Iterable[ClaimVerdict],
    trips: str,
    identities: Sequence[Identity] = (),
) -> LinkedReport:
    # A promise about whole routes is held against whole routes of all trips, one about m nodes against so many.
    lengths = sorted({sight.privacy.m for sight in sights}, key=lambda m: math.inf if m is None else m)
    observers = {m: Observer(trips, People(identities)) for m in lengths or [None]}
    observer = list(observers.values())[-1]  # who sees most
    playbooks: list[LinkedPlaybook] = []
    steps: list[dict[int, LinkedStep]] = []
    problems: dict[int, str] = {}
    for at, (sight, book) in enumerate(zip(sights, at_hand, strict=True)):
        for m, each in observers.items():
            each.link(_seen_by(m, sight, book))
        for who in observers.values():
            for person in sorted(who.broken.keys() - problems.keys()):
                problems[person] = _shortfall(who, person, at)
        now = {
            person: LinkedStep(observer.num_doors(observer.left(person)), is_hidden, person in problems)
            for person, is_hidden in observer.hidden.items()
        }
        steps.append(now)
        playbooks.append(
            LinkedPlaybook(
                playbook=sight.playbook,
                date=sight.date,
                is_at_hand=book is not None,
                num_hidden=len(sight.hidden),
                num_refused=len(sight.places) - len(sight.hidden),
                smallest_left=min((step.num_left for step in now.values() if step.is_hidden), default=None),
                num_identified=sum(step.num_left == 1 for step in now.values()),
                num_below=sum(step.is_short for step in now.values()),
            )
        )
    places = observer.people.last
    candidates = tuple(
        LinkedCandidate(
            places[person].label,
            places[person].text,
            tuple(places[other].label for other in sorted(observer.left(person))),
            tuple(step.get(person) for step in steps),
        )
        for person in sorted(observer.hidden)
    )
    shown = f"{number(len(candidates), 'candidate')} over {number(len(sights), 'playbook')}: every promise is kept"
    num_unknown = sum(
        book is None and sight.privacy.m != lengths[-1] for sight, book in zip(sights, at_hand, strict=True)
    )
    if num_unknown:
        shown += f"; what later nodes show of {number(num_unknown, 'playbook')} not at hand is not known"
    if undecided := sorted(set().union(*(each.undecided for each in observers.values())) - problems.keys()):
        shown += f"; the promise to {names(places[person].text for person in undecided)} could not be decided"
    is_checked = not num_unknown and not undecided
    claims = (judge("linked", list(problems.values()), shown, checked=is_checked), *extra)
    assumed = tuple((sight.date, sight.since) for sight in sights if sight.date is not None and sight.since is not None)
    matched, moved = tuple(observer.people.matched), tuple(observer.people.moved)
    found = [observe_linked(observer, lengths[-1] if lengths else None)]
    if lengths and lengths[-1] is not None and None not in at_hand:
        watcher = Observer(trips, People(identities))
        for sight, book in zip(sights, at_hand, strict=True):
            watcher.link(_seen_by(None, sight, book))
        found.append(observe_linked(watcher, None))
    told = tuple(each for each in found if each is not None)
    return LinkedReport(claims, tuple(playbooks), candidates, trips, assumed, matched, tuple(identities), moved, told)


def _shortfall(observer: Observer, person: int, at: int) -> str:
    """A promise that does not hold, in words."""
    places, promised = observer.people.last, observer.sights[observer.broken[person]]
    others = names(places[other].text for other in sorted(observer.left(person)) if other != person)
    privacy = promised.privacy
    what = f"{privacy.k} places" if privacy.beta is None else f"that no place is more probable than {privacy.beta:.9g}"
    what += f", {privacy.distance_text} apart" if privacy.ell > 0 and privacy.beta is None else ""
    after, by = (_called(observer.sights, which) for which in (at, observer.broken[person]))
    left = f"it and {others}" if others else "it alone"
    return f"after {after} whoever links the trips of {places[person].text} is left with {left}; {by} promised {what}"


def _called(sights: Sequence[Sight], at: int) -> str:
    return f"playbook {at + 1}" + (f" ({sights[at].date})" if sights[at].date is not None else "")


def _unknown_pasts(books: Iterable[Playbook]) -> list[ClaimVerdict]:
    """Where playbooks were planned under a ledger that is not given, what they say of it is not checked."""
    num = sum(book.past is not None for book in books)
    if not num:
        return []
    shown = f"{number(num, 'playbook')} planned under a ledger, which is not given: see `veilroute audit --ledger`"
    return [judge("past", [], shown, checked=False)]


def _check_recorded(
    journal: Journal, lines: Sequence[Entry | Identity], books: dict[str, Playbook], seen: dict[str, Sight]
) -> ClaimVerdict:
    """The playbooks at hand are in the ledger, which says of them what they are."""
    entries = [line for line in lines if isinstance(line, Entry)]
    known = {entry.playbook for entry in entries if entry.kind == "playbook"}
    problems = [f"playbook {sha256[:12]} is not in the ledger" for sha256 in books if sha256 not in known]
    for at, entry in enumerate(lines):
        if isinstance(entry, Identity):
            continue
        before = [line for line in lines[:at] if isinstance(line, Entry)]
        called = f"line {at + 2} of the ledger ({entry.date})"
        if entry.parent is not None and entry.parent not in journal.hashes[: at + 1]:
            problems.append(f"{called}: it was planned under a line that does not come before it")
        if entry.kind == "day":
            problems += [f"{called}: {what}" for what in _wrong_day(entry, before)]
        if entry.kind != "playbook":
            continue
        listed = {place for members in entry.classes for place in members} | set(entry.refused)
        if silent := [place.text for i, place in enumerate(entry.places) if i not in listed]:
            problems.append(f"{called}: says nothing of {names(silent)}")
        if entry.playbook in books:
            book, sight = books[entry.playbook], seen[entry.playbook]
            wrong = _differences(entry, book, sight)
            is_old = entry.close is None and read_trips(journal) == "listed"  # such files lack distances
            if not is_old and entry.close != measure_gaps(
                book.problem.domain, sight, [see_entry(each) for each in before]
            ):
                wrong.append("the distances to places of earlier lines are")
            problems += [f"{called}: {what} not as in the playbook" for what in wrong]
    num_known = sum(entry.kind == "playbook" and entry.playbook in books for entry in entries)
    num_days = sum(entry.kind == "day" and entry.playbook in books for entry in entries)
    num = len(entries) - num_known - num_days
    shown = f"the ledger says what {number(num_known, 'playbook')} at hand are"
    shown += f", and which of their classes {number(num_days, 'day')} drove by" if num_days else ""
    if num:
        shown += f"; for {number(num, 'other line', 'other lines')} its word was taken: name their playbooks"
    return judge("recorded", problems, shown, checked=not num)


def _wrong_day(entry: Entry, before: Sequence[Entry]) -> list[str]:
    """What a fleet's day says otherwise than the line of its playbook, in words: it may show fewer people, never more.

    So whoever knows that line knows what a day shows, and cannot be told of classes that are larger than they are.
    """
    line = next((each for each in before if (each.kind, each.playbook) == ("playbook", entry.playbook)), None)
    if line is None:
        return ["a day of a playbook that was not entered before it"]

    def places(of: Entry, numbers: Iterable[int]) -> frozenset[Place]:
        return frozenset(of.places[i] for i in numbers)

    listed = [set(places(line, members)) for members in line.classes]
    driven = [places(entry, members) for members in entry.classes]
    whose = [next((at for at, group in enumerate(listed) if members <= group), None) for members in driven]
    near = {pair for each in line.near if (pair := places(line, each)) <= set(entry.places)}
    weights = dict(zip(line.places, line.prior or (), strict=False))
    found = {
        "it drives by classes that are not of the playbook": None not in whose and len(set(whose)) == len(whose),
        "it lists customers whom it does not visit": not entry.refused
        and set(entry.places) == {place for members in driven for place in members},
        "near pairs are not those of the playbook": {places(entry, each) for each in entry.near} == near,
        "it is not of the playbook's map, trips and privacy": (entry.domain, entry.trips, entry.privacy)
        == (line.domain, line.trips, line.privacy),
        "the prior is not that of the playbook": entry.prior
        == (None if line.prior is None else tuple(weights.get(place) for place in entry.places)),
        "it was drawn, or planned by itself": not entry.shares and entry.occasion is None and entry.parent is None,
        "trips are linked from another day on than for the playbook": entry.since == line.since,
    }
    return [what for what, is_right in found.items() if not is_right]


def _differences(entry: Entry, book: Playbook, sight: Sight) -> list[str]:
    """What an entry says otherwise than its playbook, in words."""
    place = {each.label: at for at, each in enumerate(sight.places)}
    past, classes = book.past, [group for group in book.classes if group.anonymized]
    is_randomised = book.privacy.mechanism == "randomised"

    def plain(groups: Iterable[tuple[Sequence[int | None], Sequence[float]]]) -> list[Any]:
        return sorted(sorted(zip(members, shares or [0.0] * len(members), strict=False)) for members, shares in groups)

    recorded = [(list(members), entry.shares[i] if entry.shares else ()) for i, members in enumerate(entry.classes)]
    planned = [([place.get(label) for label in group.members], group.shares) for group in classes]
    if any(None in members for members, _ in planned):
        return ["classes with strangers are"]
    together = {
        frozenset((a, b)) for members, _ in planned for a in members for b in members if a is not None and b is not None
    }
    found = {
        "the map is": entry.domain == sight.domain,
        "trips are": entry.trips == tuple((trip.start, trip.goal) for trip in book.trips),
        "the privacy is": entry.privacy == book.privacy,
        "places are": entry.places == sight.places,
        "classes or shares are": plain(recorded) == plain(planned)
        and bool(entry.shares) == (is_randomised and bool(classes)),
        "the refused are": sorted(entry.refused) == sorted(set(place.values()) - sight.hidden),
        "near pairs are": set(map(frozenset, entry.near)) == {pair for pair in sight.near if pair in together},
        "the prior is": entry.prior == (None if book.prior is None else sight.weights),
        "the line that it was planned under is": entry.parent == (None if past is None else past.ledger),
        "the day from which on trips are linked is": entry.since == (None if past is None else past.since),
        "the occasion is": entry.occasion is None or is_randomised,
    }
    return [what for what, is_same in found.items() if not is_same]


def _check_past(
    journal: Journal,
    lines: Sequence[Entry | Identity],
    books: dict[str, Playbook],
    seen: dict[str, Sight],
    trips: str,
) -> ClaimVerdict:
    """What playbooks at hand say of the past is what the ledger had then."""
    problems: list[str] = []
    planned: dict[int, list[Playbook]] = {}  # by how many lines the ledger had
    for book in books.values():
        if book.past is None:
            continue
        called = f"playbook {book.sha256[:12]}"
        if book.past.ledger not in journal.hashes:
            problems.append(f"{called} was planned under another ledger, or lines of this one are missing")
            continue
        last = journal.hashes.index(book.past.ledger)
        planned.setdefault(last, []).append(book)
        if any(isinstance(line, Entry) and line.playbook == book.sha256 for line in lines[:last]):
            problems.append(f"{called} was planned under a ledger that held it already")
    observer, known = Observer(trips), list[Identity]()
    entered = [line for line in lines if isinstance(line, Entry)]
    unmeasured = {each.playbook for each in entered if each.close is None and trips == "listed"}
    for last in sorted(planned):
        # What was said of identities up to then goes for all lines up to then.
        said = [line for line in lines[:last] if isinstance(line, Identity)]
        if said != known:
            observer, known = Observer(trips, People(said)), said
        entries = [line for line in lines[:last] if isinstance(line, Entry)]
        for entry in entries[len(observer.sights) :]:
            observer.link(see_entry(entry))
        for book in planned[last]:
            sight = seen[book.sha256]
            if book.sha256 not in unmeasured:
                sight = replace(sight, close=measure_gaps(book.problem.domain, sight, observer.sights))
            wrong = _wrong_past(book, sight, entries, observer)
            problems += [f"playbook {book.sha256[:12]}: {what}" for what in wrong]
    num = sum(map(len, planned.values()))
    unseen = sum(isinstance(line, Entry) and line.parent is not None and line.playbook not in books for line in lines)
    shown = f"{number(num, 'playbook')} planned under what the ledger had then"
    shown += f"; of {number(unseen, 'other')} that is not known without the playbook" if unseen else ""
    return judge("past", problems, shown, checked=not unseen)


def _wrong_past(book: Playbook, sight: Sight, entries: Sequence[Entry], observer: Observer) -> list[str]:
    """What a playbook says of the past otherwise than the ledger's lines up to it, which the observer has seen."""
    past = book.past
    assert past is not None, "only such playbooks are asked about"
    asked, people = observer.expecting(sight)
    label = {person: place.label for person, place in zip(people, sight.places, strict=True)}

    def lines(*, is_parted: bool) -> set[tuple[Label, frozenset[Label]]]:
        return {
            (own, frozenset(label[other] for other in part if other in label))
            for person, own in label.items()
            for part in asked.parts(person, past.since, is_parted=is_parted)
        }

    near = {
        frozenset(label[numbers[i]] for i in pair)
        for entry, numbers in zip(entries, observer.numbers, strict=True)
        if past.since is None or entry.date >= past.since
        for pair in entry.near
        if all(numbers[i] in label for i in pair)
    }
    wrong = []
    if (past.trips or "listed") != observer.trips:
        wrong.append(f"it takes trips to be {past.trips or 'listed'}, and the ledger says {observer.trips}")
    stated, whole = {(own, frozenset(others)) for own, others in past.left}, lines(is_parted=False)
    # Under a risk it may have kept to what some of the trips leave as well: that asks more of it, and is true.
    extra = stated - whole if book.privacy.risk is None else stated - whole - lines(is_parted=True)
    if lost := sorted({str(own) for own, _ in (whole - stated) | extra}):
        wrong.append(f"what is left of {names(lost)} is not what the ledger leaves")
    if near != set(map(frozenset, past.near)):
        wrong.append("those who stood near each other earlier are not those of the ledger")
    return wrong
