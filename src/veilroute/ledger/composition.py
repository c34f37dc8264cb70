"""What linked draws add up to: the exact posterior of an observer who links the trips of one secret.

A randomised playbook promises that one draw makes no place more probable than its bound. Draws for the same secret on
other occasions, and other playbooks, tell more: what is seen of each is multiplied (docs/theory,
:ref:`Linked trips <theory-linking>`). The same occasion repeats its draw, and adds nothing. Which draw came first does
not matter, so repeated ones are counted and not listed.

Classes count as told apart also where their routes look alike, because a ledger does not hold routes. The observer then
knows less than what is worked out, never more.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from veilroute.base.errors import InvalidInputError
from veilroute.domain.graph import Label
from veilroute.ledger.intersection import Linking, Sighting, remaining
from veilroute.model.entry import Entry, Identity
from veilroute.model.problem import checked_prior


class Knowledge(NamedTuple):
    """What an observer knows after all that may have been seen."""

    worst: float  #: the largest posterior of a place that anything seen gives
    bayes_success: float  #: how often the best guess is right

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return self._asdict()


@dataclass(frozen=True)
class Account:
    """What linked trips tell about those whom a randomised playbook hides."""

    playbook: str  #: its hash
    date: str  #: the day on which it was entered first
    draws: int  #: on how many occasions
    bound: float  #: the largest posterior that it promises, for one draw
    now: Knowledge
    after_another: Knowledge  #: with one more draw of this playbook, on an occasion of its own

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        data = {"playbook": self.playbook, "date": self.date, "draws": self.draws, "bound": self.bound}
        return data | self.now.to_dict() | {"after_another": self.after_another.to_dict()}


def account_draws(
    entries: Sequence[Entry],
    prior: Mapping[Label, float] | None = None,
    since: str | None = None,
    *,
    trips: str = "occasional",
    identities: Sequence[Identity] = (),
) -> tuple[Account, ...]:
    """An account of each randomised playbook among the entries, in the order in which they were entered.

    Parameters
    ----------
    entries
        Those of a ledger, all of which can be linked, from the day ``since`` on.
    prior
        How probable the places are, by label, in place of what the playbooks say.
    since
        A day.
    trips, identities
        What the ledger assumes of days without a trip, and what it says of who is who.
    """
    linking = Linking(entries, trips, identities)
    accounts = []
    linked = [number for number, entry in enumerate(entries) if since is None or entry.date >= since]
    drawn = [number for number in linked if entries[number].shares and entries[number].kind == "playbook"]
    for name in dict.fromkeys(entries[number].playbook for number in drawn):
        numbers = [number for number in drawn if entries[number].playbook == name]
        own = [entries[number] for number in numbers]
        weights = _weights(own[0], prior)
        another = Linking([*entries, replace(own[-1], occasion=None)], trips, identities)
        beta = own[0].privacy.beta
        assert beta is not None  # Privacy has one for all that is drawn
        accounts.append(
            Account(
                name,
                own[0].date,
                sum(entry.occasion is None for entry in own) + len({entry.occasion for entry in own} - {None}),
                beta,
                _watch(linking, numbers[0], weights, since),
                _watch(another, numbers[0], weights, since),
            )
        )
    return tuple(accounts)


def _weights(entry: Entry, prior: Mapping[Label, float] | None) -> Sequence[float]:
    """How probable each place of an entry is."""
    if prior is None:
        return entry.prior or (1.0,) * len(entry.places)
    if missing := [place.text for place in entry.places if place.label not in prior]:
        raise InvalidInputError("prior", "a weight for each candidate of the playbook", f"none for {missing[0]}")
    return checked_prior([prior[place.label] for place in entry.places], len(entry.places))


def _watch(linking: Linking, number: int, weights: Sequence[float], since: str | None) -> Knowledge:
    """What is known of those whom an entry hides: nobody else is possible once its class has been seen."""
    ids = linking.ids[number]
    logs = {
        ids[at]: math.log(weights[at])
        for at in sorted({at for members in linking.entries[number].classes for at in members})
        if weights[at] > 0
    }
    total = math.fsum(map(math.exp, logs.values()))
    worst, guessed = 0.0, []
    for secret in logs:
        for seen in linking.combinations(secret, since):
            joint = {
                person: logs[person] + _log_chance(linking, seen, person)
                for person in sorted(remaining(seen) & logs.keys())
            }
            most = max(joint.values())
            top = 1 / math.fsum(math.exp(log - most) for log in joint.values())
            worst = max(worst, top)
            guessed.append(math.exp(joint[secret] + math.log(_orders(seen))) / total * top)
    return Knowledge(worst, math.fsum(guessed))


def _log_chance(linking: Linking, seen: Sequence[Sighting], person: int) -> float:
    """The logarithm of how probable it is that a secret shows this, in this order: a product may be too small."""
    return math.fsum(num * math.log(linking.chance(sighting, person)) for sighting, num in Counter(seen).items())


def _orders(seen: Sequence[Sighting]) -> int:
    """In how many orders the draws of each playbook may have gone."""
    draws, repeats = Counter(sighting.entry for sighting in seen), Counter(seen)
    return math.prod(map(math.factorial, draws.values())) // math.prod(map(math.factorial, repeats.values()))
