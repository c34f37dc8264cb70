"""Why a plan under a ledger does not hide somebody: since when there is too little left, and what would have helped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from veilroute.base.errors import listing
from veilroute.domain.graph import Label
from veilroute.ledger.intersection import Linking
from veilroute.model.entry import Entry, places_of
from veilroute.model.playbook import Playbook


@dataclass(frozen=True)
class Shortfall:
    """Why a plan under a ledger does not hide a candidate."""

    candidate: Label
    since: str  #: the day from which on there was too little left
    left: tuple[Label, ...]  #: who was still possible then, of those that the plan could hide it with
    reason: str
    advice: str  #: what would have avoided it

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "candidate": self.candidate,
            "since": self.since,
            "left": list(self.left),
            "reason": self.reason,
            "advice": self.advice,
        }


def explain_shortfalls(linking: Linking, playbook: Playbook) -> tuple[Shortfall, ...]:
    """Whom a plan does not hide because of what was linked before, in the order of its candidates.

    A candidate whom other obstacles keep from a route is not among them (:func:`veilroute.analysis.find_obstacles`).
    """
    explainer = _Explainer(linking, playbook)
    found: dict[int, Shortfall] = {}
    for number in explainer.unhidden:
        if (shortfall := explainer.by_history(number)) is not None:
            found[number] = shortfall
    # Who falls short takes others along, who then have too few with whom they could be hidden.
    while more := {n: each for n in explainer.unhidden if n not in found and (each := explainer.by_others(n, found))}:
        found |= more
    return tuple(found[number] for number in explainer.unhidden if number in found)


class _Explainer:
    """A plan's candidates as numbers of the roster."""

    def __init__(self, linking: Linking, playbook: Playbook) -> None:
        self.linking, self.playbook = linking, playbook
        problem = playbook.problem
        counted = [problem.candidates[i] for i in problem.counted]
        places = places_of(problem.domain, counted, problem.names)
        numbers = linking.join(problem.domain.sha256, places, playbook.privacy)
        self.label = dict(zip(numbers, counted, strict=True))
        blocked, exposed = set(playbook.uncoverable), set(playbook.exposed_candidates)
        self.coverable = {n for n, own in self.label.items() if own not in blocked}
        self.unhidden = [n for n, own in self.label.items() if own in blocked | exposed]
        self.since = None if playbook.past is None else playbook.past.since

    def names(self, people: Iterable[int]) -> str:
        """What people call some of the roster; on the plan's map where they are on it."""
        places, label = self.linking.roster.places, self.label
        return listing([self.playbook.name(label[n]) if n in label else places[n].text for n in sorted(people)])

    def labels(self, people: Iterable[int]) -> tuple[Label, ...]:
        """Those on the plan's map."""
        return tuple(self.label[n] for n in sorted(people) if n in self.label)

    def by_history(self, number: int) -> Shortfall | None:
        """What somebody's own history is short of, if it is."""
        linking, k = self.linking, self.playbook.privacy.k
        seen = linking.sightings(number, self.since)
        if not seen:
            return None
        if number not in self.coverable and linking.trips == "occasional":
            return None
        if number not in self.coverable:
            reason = "no walk of this trip covers it, and a missing trip shows"
            day = linking.entries[seen[-1][0].entry].date
            return Shortfall(self.label[number], day, (), reason, "a trip that covers it")
        for at in range(len(seen)):
            people = frozenset.intersection(*(min((s.members for s in each), key=len) for each in seen[: at + 1]))
            left = people & self.coverable
            if linking.num_doors(left) >= k:
                continue
            entry = linking.entries[seen[at][0].entry]
            if linking.num_doors(people) >= k:
                return self._company_gone(number, entry, people)
            reason = f"since {entry.date} linked trips leave {self.names(left)}"
            advice = f"k={k} already on {entry.date}"
            if seen[at][0].group < 0:
                reason += ": it had no route on that day, and a missing trip shows"
                advice = f"at least {k} places that get their first route on the same day"
                if linking.trips == "listed":
                    advice = f"a k or ell on {entry.date} that hides it, or leaving it out of the candidates"
            elif entry.parent is None and at:
                advice = f"planning the playbook of {entry.date} under the ledger"
            return Shortfall(self.label[number], entry.date, self.labels(left), reason, advice)
        return None

    def _company_gone(self, number: int, entry: Entry, people: frozenset[int]) -> Shortfall:
        """Enough are possible, but too few of them can be candidates of this trip."""
        left = people & self.coverable
        gone = {n for n in people - left if n not in self.label}
        blocked = people - left - gone
        days = [e.date for e, ids in zip(self.linking.entries, self.linking.ids, strict=True) if gone & set(ids)]
        day = max(days, default=entry.date)
        reasons, advice = [], []
        if gone:
            reasons.append(f"{self.names(gone)} {'is' if len(gone) == 1 else 'are'} no longer listed")
            advice.append(f"keeping {self.names(gone)}, last listed on {day}, as a candidate")
        if blocked:
            reasons.append(f"no walk of this trip covers {self.names(blocked)}")
            advice.append(f"a trip that covers {self.names(blocked)}")
        company = f"on {entry.date} it was hidden with {self.names(people - {number})}"
        return Shortfall(
            self.label[number], day, self.labels(left), f"{company}, and {' and '.join(reasons)}", " and ".join(advice)
        )

    def by_others(self, number: int, found: Mapping[int, Shortfall]) -> Shortfall | None:
        """What somebody is short of because of those who fall short, if that leaves it too few."""
        if number not in self.coverable:
            return None
        has_history = bool(self.linking.sightings(number, self.since))
        people = self.coverable & self.linking.left(number, self.since) if has_history else self.coverable
        lost = people & found.keys()
        if not lost or len(people - lost) >= self.playbook.privacy.k:
            return None
        reason = f"of those with whom it could be hidden, {self.names(lost)} cannot be hidden any more"
        day = max(found[n].since for n in lost)
        advice = "; ".join(dict.fromkeys(found[n].advice for n in sorted(lost)))
        return Shortfall(self.label[number], day, self.labels(people - lost), reason, advice)
