"""The audit of a day of a fleet: that it tells the touched classes and nothing else.

What vehicles drive is walked again (:mod:`veilroute.auditing.day_tours`). Whether files depend on the orders is found
out from outside: the dispatcher is run, as a black box, for other orders that touch the same classes, and whatever it
writes is compared byte by byte. The auditor knows no order, and needs none.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from veilroute.auditing.apartness import Spread, mask_of
from veilroute.auditing.day_risk import DayFigures, observe_day
from veilroute.auditing.day_tours import ReplayedDay, check_tours
from veilroute.auditing.survey import bare_survey
from veilroute.auditing.underway import audit_underway
from veilroute.auditing.verdicts import ClaimVerdict, joint_verdict, judge, names, number
from veilroute.base.errors import FileFormatError, InvalidInputError, VeilrouteError
from veilroute.base.io import dump_canonical, read_bytes
from veilroute.base.run import Progress, ProgressCallback
from veilroute.domain.graph import Label
from veilroute.model.day import Customer, Day, Terms, read_day
from veilroute.model.exposure import row_lines
from veilroute.model.playbook import Playbook

DAY_FILE = "day.json"
RERUNS = 20
_MOST_FILES = 10_000
_TRIES = 20  #: draws for each set of orders that is wanted, where there may be few

Order = tuple[Label, int | None]  #: a customer, and how much it orders where it may order anything
Dispatcher = Callable[[Sequence[Order]], Mapping[str, bytes]]
"""What makes the files of a day, by name, of orders; the playbook and the terms are those of the audited day."""


@dataclass(frozen=True)
class PublicTerm:
    """Something that was chosen before the day and that everybody sees: it could carry a message."""

    what: str
    day: object  #: as the day has it; long things are given as their number and SHA-256
    text: str
    expected: object = None
    agrees: bool | None = None  #: ``None`` where nothing says what was meant

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``audit --json``."""
        return {"what": self.what, "day": self.day, "expected": self.expected, "agrees": self.agrees}


@dataclass(frozen=True)
class DayReport:
    """Everything that the audit of a day found."""

    claims: tuple[ClaimVerdict, ...]
    terms: tuple[PublicTerm, ...]
    touched: tuple[int, ...]
    num_stops: int
    num_used: int  #: vehicles that have something to do
    smallest_class: int | None  #: the fewest members of a touched class
    observer: DayFigures | None = None  #: what can be found out; ``None`` where the day is not one of its playbook

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
        return {
            "holds": self.holds,
            "verdict": self.verdict,
            "claims": [vars(claim) | {"verdict": claim.verdict} for claim in self.claims],
            "touched": list(self.touched),
            "stops": self.num_stops,
            "vehicles_used": self.num_used,
            "smallest_class": self.smallest_class,
            "observer": None if self.observer is None else self.observer._asdict(),
            "terms": [term.to_dict() for term in self.terms],
        }

    def to_text(self) -> str:
        """The report in words: verdict, claims, and all that could carry a message."""
        broken = [claim.claim for claim in self.claims if not claim.holds]
        unproved = [claim.claim for claim in self.claims if claim.verdict == "unproved"]
        first = f"The day keeps its word: all {len(self.claims)} claims hold."
        if broken:
            first = f"Do not rely on this day: {number(len(broken), 'claim')} violated ({', '.join(broken)})."
        elif unproved:
            first = f"The day keeps its word as far as could be checked; not proved: {', '.join(unproved)}."
        seen = [
            f"An observer who watches all vehicles sees {number(self.num_stops, 'stop')} of "
            f"{number(self.num_used, 'vehicle')}, for {number(len(self.touched), 'class', 'classes')}:",
            *(row_lines(self.observer.rows()) if self.observer is not None and self.touched else ()),
        ]
        width = max(len(claim.claim) for claim in self.claims)
        lines = [first, "", *seen, "", "Claims"] if not broken else [first, "", "Claims"]
        lines += [f"  {claim.word:8}  {claim.claim:{width}}  {claim.evidence}" for claim in self.claims]
        lines.append("  (What the playbook claims by itself is not among these: see `veilroute audit PLAYBOOK`.)")
        is_compared = any(term.agrees is not None for term in self.terms)
        lines += ["", f"Public terms ({'compared with those expected' if is_compared else 'as the day says'})"]
        words = {None: "", True: "AS MEANT  ", False: "OTHER     "}
        lines += [f"  {words[term.agrees]}{term.what:16}  {term.text}" for term in self.terms]
        if not is_compared:
            lines.append("  Whoever chose them after the orders were known could have put a message into each of them:")
            lines.append("  only terms that you hold yourself settle it (`veilroute audit --day DIR --terms FILE`).")
        return "\n".join(lines) + "\n"


def audit_day(
    playbook: Playbook,
    day: Day | str | Path,
    *,
    before: Sequence[Day | str | Path] = (),
    dispatcher: Dispatcher | None = None,
    reruns: int = RERUNS,
    terms: Terms | None = None,
    workers: int = 1,
    progress: ProgressCallback | None = None,
) -> DayReport:
    """Check a day of a fleet with code that the dispatcher does not share.

    Parameters
    ----------
    playbook
        With its domain.
    day
        A day, or a folder with the files of one, or its ``day.json`` alone. If it is the rest of a day, it is checked
        against those before it.
    before
        For the rest of a day, all that were planned before it: the whole day and each rest of it, in any order.
    dispatcher
        Makes all files of a day of orders, under the terms of this one. It is called with ``reruns`` sets of orders
        that touch the same classes; for the rest of a day, of which no orders are asked, once with none. Without it the
        claim ``same-files`` is unproved.
    terms
        What was meant to be public; with it there is one more claim, ``terms``.
    workers
        How many reruns may be under way at a time.

    Returns
    -------
    DayReport
        A verdict per claim with the evidence, and all public terms.
    """
    files = None if isinstance(day, Day) else _read_files(Path(day))
    found = day if isinstance(day, Day) else read_day(files.path if files is not None else day)
    if playbook.is_randomised:
        raise InvalidInputError("playbook", "one with a fixed partition: in a randomised one classes are drawn")
    if found.after is not None:
        known = [each if isinstance(each, Day) else read_day(_day_file(Path(each))) for each in before]
        return _audit_rest(playbook, found, known, files, dispatcher if reruns else None, terms)
    if before:
        raise InvalidInputError("before", "the rest of a day as well: this one is whole")
    replayed = ReplayedDay(playbook, found)
    sizes = [len(members) for members in replayed.groups.values()]
    claims = (
        _check_binding(replayed),
        _check_qualifies(replayed),
        _check_complete(replayed),
        *check_tours(replayed),
        *([] if files is None else [_check_files(found, files)]),
        _check_same_files(replayed, files, dispatcher, reruns, workers, progress),
        *([] if terms is None else [_check_terms(found.terms, terms)]),
    )
    return DayReport(
        claims,
        tuple(_public_terms(replayed, terms)),
        found.touched,
        sum(len(tour.stops) for tour in found.tours),
        found.num_used,
        min(sizes, default=None),
        observe_day(playbook, found) if all(claim.holds for claim in claims[:3]) else None,
    )


def _day_file(source: Path) -> Path:
    return source / DAY_FILE if source.is_dir() else source


def _audit_rest(
    playbook: Playbook,
    rest: Day,
    before: Sequence[Day],
    files: _Files | None,
    dispatcher: Dispatcher | None,
    terms: Terms | None,
) -> DayReport:
    """Check the rest of a day, and what was planned before it, down to the whole day."""
    known = {hashlib.sha256(each.to_json()).hexdigest(): each for each in before}
    if len(known) < len(before):
        raise InvalidInputError("before", "each day once")
    chain = [rest]
    while (after := chain[0].after) is not None:
        earlier = known.pop(after.earlier, None)
        if earlier is None:
            which = "the day that it goes on from" if len(chain) == 1 else "each day that was planned before it"
            raise InvalidInputError("before", f"{which}, with the SHA-256 {after.earlier}")
        chain.insert(0, earlier)
    if known:
        raise InvalidInputError("before", "only days that this one goes on from", f"{len(known)} others")
    # Under names of their own, as the same topics come up for each part; the last part has the plain ones.
    claims = list(audit_day(playbook, chain[0]).claims)
    claims = [replace(each, claim=f"day:{each.claim}") for each in claims if each.claim != "same-files"]
    for at, (one, other) in enumerate(pairwise(chain), start=1):
        name = "" if at == len(chain) - 1 else f"rest-{at}:"
        claims += [replace(each, claim=name + each.claim) for each in audit_underway(playbook, one, other)]
    claims += [] if files is None else [_check_files(rest, files)]
    claims.append(_check_made_again(rest, files, dispatcher))
    claims += [] if terms is None else [_check_terms(rest.terms, terms)]
    whole, gone = ReplayedDay(playbook, chain[0]), {*(() if rest.after is None else rest.after.dropped)}
    sizes = [sum(member not in gone for member in members) for members in whole.groups.values()]
    return DayReport(
        tuple(claims),
        tuple(_public_terms(whole, terms)),
        rest.touched,
        sum(len(tour.stops) for tour in rest.tours),
        rest.num_used,
        min(sizes, default=None),
        observe_day(playbook, rest) if all(claim.holds for claim in claims) else None,
    )


def _check_made_again(rest: Day, files: _Files | None, dispatcher: Dispatcher | None) -> ClaimVerdict:
    """From where the vehicles are, under the same changes, the dispatcher makes the same files."""
    if dispatcher is None:
        return judge("same-files", [], "the dispatcher was not run again: whether it makes this is open", checked=False)
    here = {DAY_FILE: rest.to_json()} if files is None else files.contents
    is_all = files is not None and files.is_folder
    try:
        made = dispatcher(())
    except VeilrouteError as error:
        return judge("same-files", [f"the dispatcher makes no such day: {error}"], "")
    odd = [
        f"{name} is not what the dispatcher makes: {what}"
        for name, what in _differences(here, made, None if is_all else here)
    ]
    compared = number(len(here), "file") if is_all else f"{DAY_FILE} alone, of all that a day has,"
    return judge("same-files", odd, f"{compared} the same when it is planned again from where the vehicles are")


def _check_binding(replayed: ReplayedDay) -> ClaimVerdict:
    """The day is one of this playbook, and its terms are about what the playbook has."""
    playbook, day, terms = replayed.playbook, replayed.day, replayed.day.terms
    problems = []
    if day.playbook != playbook.sha256:
        problems.append(f"a day of the playbook {day.playbook[:12]}, not of {playbook.sha256[:12]}")
    num = sum(group.anonymized for group in playbook.classes)
    if beyond := [at for at in (*day.touched, *terms.always) if at > num]:
        problems.append(f"drives class {names(beyond)}, and the playbook has {num}")
    for at, van in enumerate(terms.vans, start=1):
        ends = [van.start] if van.goal is None else [van.start, van.goal]
        problems += [f"vehicle {at} has its depot at {end}, which is not on the map" for end in ends
                     if replayed.node(end) is None]  # fmt: skip
    if strangers := [label for label in terms.customers if label not in set(playbook.candidates)]:
        problems.append(f"has terms for {names(strangers)}, no candidates of the playbook")
    if left_out := sorted(set(terms.always) - set(day.touched)):
        problems.append(f"class {names(left_out)} is to be driven every day, and is not")
    wanted = None if terms.pad_to is None else min(terms.pad_to, num)
    if wanted is not None and len(day.touched) != wanted:
        classes = number(len(day.touched), "class", "classes")
        problems.append(f"drives {classes}, where every day is to have {terms.pad_to}")
    shown = f"{len(day.touched)} of {number(num, 'class', 'classes')} of the playbook {playbook.sha256[:12]}"
    return judge("binding", problems, shown)


def is_hidden_by_stops(playbook: Playbook) -> bool:
    """Whether every class keeps the promise by its own members, and nobody is in two.

    A trip hides somebody among all who have the same route, also in other classes. A fleet stops at the members of the
    touched classes, and at nobody else: that others have the same route hides nobody there.
    """
    groups = {at: group.members for at, group in enumerate(playbook.hidden_classes, start=1)}
    members = [member for group in groups.values() for member in group]
    return len(set(members)) == len(members) and not _broken_classes(playbook, groups)


def _check_qualifies(replayed: ReplayedDay) -> ClaimVerdict:
    """Every touched class is what the playbook promises: k members, ell apart, or within the risk."""
    problems = _broken_classes(replayed.playbook, replayed.groups)
    return judge("qualifies", problems, f"{number(len(replayed.groups), 'class', 'classes')}, each keeps the promise")


def _broken_classes(playbook: Playbook, groups: Mapping[int, Sequence[Label]]) -> list[str]:
    problem = playbook.problem
    counted = {problem.candidates[c]: c for c in problem.counted}
    known = {at: [counted[m] for m in members if m in counted] for at, members in groups.items()}
    survey = bare_survey(problem, [c for mine in known.values() for c in mine])
    rule = Spread(survey, playbook.privacy)
    problems = []
    for at, mine in known.items():
        if len(set(mine)) < len(groups[at]):
            problems.append(f"class {at} has members that are no candidates, or one twice")
        elif not rule.qualifies(mask_of(mine)):
            problems.append(f"class {at} does not keep the promise: {survey.names(mine)}")
    return problems


def _check_complete(replayed: ReplayedDay) -> ClaimVerdict:
    """Every member of every touched class is a stop, once, and nobody else is."""
    members = Counter(member for group in replayed.groups.values() for member in group)
    stops = Counter(stop for each in replayed.tours for stop in each.tour.stops)
    odd = {
        "is in two classes": [label for label, num in members.items() if num > 1],
        "is not visited, though its class is driven": [label for label in members if label not in stops],
        "is visited more than once": [label for label, num in stops.items() if num > 1],
        "is visited, though its class is not driven": [label for label in stops if label not in members],
    }
    problems = [f"{names(map(replayed.name, labels))} {what}" for what, labels in odd.items() if labels]
    num = number(len(replayed.groups), "class", "classes")
    return judge("complete", problems, f"all {number(len(members), 'member')} of {num} visited once, and nobody else")


@dataclass(frozen=True)
class _Files:
    """What was found where the day is."""

    path: Path  #: of the day itself
    contents: dict[str, bytes]
    strays: tuple[str, ...]  #: what is there and is no file, in words
    is_folder: bool


def _read_files(source: Path) -> _Files:
    if not source.is_dir():
        return _Files(source, {DAY_FILE: read_bytes(source)}, (), is_folder=False)
    contents, strays = {}, []
    with os.scandir(source) as entries:
        for at, entry in enumerate(sorted(entries, key=lambda each: each.name)):
            if at >= _MOST_FILES:
                raise FileFormatError(source, f"more than {_MOST_FILES:,} files; is it the folder of a day?")
            if entry.is_symlink() or not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
                strays.append(f"{entry.name} is {'a link' if entry.is_symlink() else 'no file'}")
            else:
                contents[entry.name] = read_bytes(entry.path)
    if DAY_FILE not in contents:
        raise FileFormatError(source, f"no {DAY_FILE} in it; name the folder that `veilroute fleet -o` wrote")
    return _Files(source / DAY_FILE, contents, tuple(strays), is_folder=True)


def _check_files(day: Day, files: _Files) -> ClaimVerdict:
    """The day is written in the one form that there is, and nothing but files is beside it."""
    problems = list(files.strays)
    if files.contents[DAY_FILE] != day.to_json():
        problems.append(f"{DAY_FILE} is not written as days are: spaces, signs or the order of keys could be a mark")
    return judge("files", problems, f"{number(len(files.contents), 'file')}, {DAY_FILE} in the one form that there is")


def _check_same_files(
    replayed: ReplayedDay,
    files: _Files | None,
    dispatcher: Dispatcher | None,
    reruns: int,
    workers: int,
    progress: ProgressCallback | None,
) -> ClaimVerdict:
    """Other orders that touch the same classes give the same files, byte for byte."""
    here = {DAY_FILE: replayed.day.to_json()} if files is None else files.contents
    sets = list(_draw_orders(replayed, reruns))
    if dispatcher is None or not sets:
        reason = "the dispatcher was not run again" if replayed.groups else "no class is touched"
        return judge("same-files", [], f"{reason}: whether files depend on orders was not worked out", checked=False)
    is_all = files is not None and files.is_folder
    problems: dict[str, None] = {}
    first: Mapping[str, bytes] | None = None
    for at, made in enumerate(_run(dispatcher, sets, workers, progress), start=1):
        if isinstance(made, VeilrouteError):
            problems[f"the dispatcher refuses other orders for these classes: {made}"] = None
            continue
        first = made if first is None else first
        for name, what in _differences(first, made):
            problems[f"{name} depends on the orders: {what} in rerun {at}"] = None
        for name, what in _differences(here, made, None if is_all else here):
            problems[f"{name} is not what the dispatcher makes of these classes: {what}"] = None
    compared = number(len(here), "file") if is_all else f"{DAY_FILE} alone, of all that a day has,"
    distinct = len({frozenset(label for label, _ in orders) for orders in sets})
    shown = f"{compared} the same for {number(len(sets), 'other set')} of orders ({distinct} different)"
    return judge("same-files", list(problems), shown)


def _run(
    dispatcher: Dispatcher, sets: Sequence[Sequence[Order]], workers: int, progress: ProgressCallback | None
) -> Iterator[Mapping[str, bytes] | VeilrouteError]:
    def run(orders: Sequence[Order]) -> Mapping[str, bytes] | VeilrouteError:
        try:
            return dispatcher(orders)
        except VeilrouteError as error:
            return error

    with ThreadPoolExecutor(max(1, workers)) as pool:
        try:
            for at, made in enumerate(pool.map(run, sets), start=1):
                if progress is not None:
                    progress(Progress("other orders for the same classes", at, len(sets)))
                yield made
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _differences(
    one: Mapping[str, bytes], other: Mapping[str, bytes], names: Collection[str] | None = None
) -> Iterator[tuple[str, str]]:
    """The files, of those named or of all, that are not the same, and what is not."""
    for name in sorted({*one, *other} if names is None else names):
        if name not in other:
            yield name, "it makes no such file"
        elif name not in one:
            yield name, "it is missing here"
        elif one[name] != other[name]:
            pairs = enumerate(zip(one[name], other[name], strict=False))
            place = next((at for at, (a, b) in pairs if a != b), min(len(one[name]), len(other[name])))
            yield name, f"other bytes from number {place + 1} on"


def _draw_orders(replayed: ReplayedDay, num: int) -> Iterator[list[Order]]:
    """Sets of orders that touch exactly the classes of a day: some members of each, in any order, of any size allowed.

    They are drawn by the day itself, so that an audit can be repeated. As long as there are others, none comes twice.
    """
    rng = Random(hashlib.sha256(replayed.day.to_json()).hexdigest())
    terms, seen = replayed.day.terms, set()
    groups = [members for members in replayed.groups.values() if members]
    for _ in range(num if groups else 0):
        for _ in range(_TRIES):
            chosen = [label for members in groups for label in rng.sample(members, rng.randint(1, len(members)))]
            if frozenset(chosen) not in seen:
                break
        seen.add(frozenset(chosen))
        rng.shuffle(chosen)
        bounds = (terms.customers.get(label, Customer()).demand for label in chosen)
        sizes = [terms.demand if bound is None else bound for bound in bounds]
        yield [(label, rng.randint(1, size) if size else None) for label, size in zip(chosen, sizes, strict=True)]


def _check_terms(stated: Terms, meant: Terms) -> ClaimVerdict:
    """All that is public is what was meant before anybody ordered."""
    here, there = stated.to_dict(), meant.to_dict()
    odd = [key for key in here if dump_canonical(here[key]) != dump_canonical(there[key])]
    return judge("terms", [f"others than expected: {', '.join(odd)}"] if odd else [], f"all {len(here)} as expected")


def _public_terms(replayed: ReplayedDay, meant: Terms | None) -> Iterator[PublicTerm]:
    """Everything that was chosen by somebody, what it is, and what to look at."""
    stated, wanted = replayed.day.terms.to_dict(), None if meant is None else meant.to_dict()
    for what, value in stated.items():
        shown, text = _brief(value)
        if what == "vans":
            ends = ((van.start, "its last stop" if van.goal is None else van.goal) for van in replayed.day.terms.vans)
            text = f"{len(value)}: {names(f'{start} to {goal}' for start, goal in ends)}"
        if what == "customers":
            text += _odd_customers(replayed)
        expected = None if wanted is None else _brief(wanted[what])[0]
        agrees = None if wanted is None else dump_canonical(value) == dump_canonical(wanted[what])
        yield PublicTerm(what, shown, text, expected, agrees)


def _brief(value: Any) -> tuple[object, str]:
    """A term as data and in words, long lists by their hash."""
    if not isinstance(value, list):
        return value, "not stated" if value is None else f"{value}"
    if len(value) <= 1 or not isinstance(value[0], dict):
        return value, dump_canonical(value).decode().strip() if value else "none"
    found = {"number": len(value), "sha256": hashlib.sha256(dump_canonical(value)).hexdigest()}
    return found, f"{found['number']}, {found['sha256']}"


def _odd_customers(replayed: ReplayedDay) -> str:
    """What is noteworthy about who has terms of its own: nobody can tell a list of windows from one of orders."""
    terms = replayed.day.terms
    usual = (terms.demand, terms.service_s, None, None, terms.rate)
    idle = []
    for label, own in terms.customers.items():
        demand, service, rate = (
            usual[at] if value is None else value for at, value in ((0, own.demand), (1, own.service_s), (4, own.rate))
        )
        if (demand, service, own.opens_s, own.closes_s, rate) == usual:
            idle.append(label)
    parts = [f"{len(idle)} of them as if not listed"] if idle else []
    hidden = [group.members for group in replayed.playbook.classes if group.anonymized]
    partly = [
        at
        for at, members in enumerate(hidden, start=1)
        if 0 < sum(m in terms.customers for m in members) < len(members)
    ]
    if partly:
        parts.append(f"of {number(len(partly), 'class', 'classes')} only some members")
    order = [label for label in replayed.playbook.candidates if label in terms.customers]
    if order != list(terms.customers):
        parts.append("not in the order of the playbook")
    return f" ({'; '.join(parts)})" if parts else ""
