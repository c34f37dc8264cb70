"""The evidence behind a lower bound: prices that any reader can check without solving anything.

What a class C adds to the MAC sum is ``s(C)``: over its members and trips (weights summing to 1), the extra cost of
the shared walk over the base cost. With a price ``dual_t`` for each member t and a price ``dual_S >= 0`` for each cut
S, its *reduced cost* is ::

    rc(C) = s(C) - sum of dual_t over t in C + sum over cuts S of dual_S * floor(|C & S| / 2)

Where no class has a negative one, a partition that groups N members costs at least ::

    (sum of the N smallest dual_t) - sum over cuts S of dual_S * floor(|S| / 2) + sum of rc over its classes

because the classes of a partition are disjoint: over them, ``floor(|C & S| / 2)`` sums to at most ``floor(|S| / 2)``.
So a partition cheaper than the bound plus some threshold is made of classes with reduced costs within that threshold,
and these are few enough to be listed and compared.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from veilroute.base.checks import check_count, check_finite, check_list, plain_number
from veilroute.base.errors import InvalidInputError
from veilroute.domain.graph import Label, plain_label

MAX_TRIED = 12
"""Up to so many coverable candidates planners and auditor try all ways to group them, and need no certificate. Where
there are more, whoever says optimal has to give one."""


@dataclass(frozen=True)
class Cut:
    """A set of members of which the classes of a partition, together, hold at most so many pairs.

    Over any partition, ``floor(|C & members| / 2)`` summed over its classes C is at most ``floor(len(members) / 2)``.
    """

    members: tuple[Label, ...]  #: an odd number, at least 3, of distinct coverable candidates
    dual: float  #: its price, at least 0

    def __post_init__(self) -> None:
        members = _labels("Cut.members", self.members)
        if len(members) < 3 or len(members) % 2 == 0:
            raise InvalidInputError("Cut.members", "an odd number of members, at least 3", len(members))
        object.__setattr__(self, "members", members)
        object.__setattr__(self, "dual", float(check_finite("Cut.dual", self.dual, least=0)))


@dataclass(frozen=True)
class DualPrices:
    """What members and cuts are priced at."""

    duals: tuple[float, ...]  #: one for each member of the certificate
    cuts: tuple[Cut, ...] = ()  #: the cuts with their prices

    def __post_init__(self) -> None:
        # Made plain, here and below: numpy's floats pass for floats, but no JSON is written of them.
        duals = (float(check_finite("DualPrices.duals", dual)) for dual in self.duals)
        object.__setattr__(self, "duals", tuple(duals))
        object.__setattr__(self, "cuts", tuple(self.cuts))


@dataclass(frozen=True)
class Certificate:
    """What a planner hands over so that others can check its bound."""

    members: tuple[Label, ...]  #: the coverable candidates, in the order of the duals
    cost: DualPrices  #: prices behind the bound on the MAC sum
    #: Prices behind "no more candidates can be anonymized": none is negative, and for every class those of its members,
    #: and of each cut S times ``floor(|C & S| / 2)``, sum to at least its size. ``None`` when all coverable candidates
    #: are anonymized, or where nothing is claimed.
    count: DualPrices | None
    #: What ``cost`` alone proves about the MAC sum (not the mean) at the playbook's number of anonymized candidates.
    bound: float
    #: All classes with at most this reduced cost were listed, and every partition made of them was compared or ruled
    #: out; 0 when nothing was listed.
    threshold: float
    num_enumerated: int  #: how many classes these are
    num_columns: int  #: classes that took part in the linear programme
    num_nodes: int = 0  #: nodes of the branch-and-bound search over the classes listed

    def __post_init__(self) -> None:
        settle = object.__setattr__
        settle(self, "members", _labels("Certificate.members", self.members))
        settle(self, "bound", float(check_finite("Certificate.bound", self.bound)))
        settle(self, "threshold", float(check_finite("Certificate.threshold", self.threshold, least=0)))
        for name in ("num_enumerated", "num_columns", "num_nodes"):
            settle(self, name, check_count(f"Certificate.{name}", plain_number(getattr(self, name))))
        known = set(self.members)
        for name, prices in (("cost", self.cost), ("count", self.count)):
            if prices is None:
                continue
            if len(prices.duals) != len(self.members):
                expected = f"one for each of {len(self.members)} members"
                raise InvalidInputError(f"Certificate.{name}.duals", expected, len(prices.duals))
            if any(not known.issuperset(cut.members) for cut in prices.cuts):
                raise InvalidInputError(f"Certificate.{name}.cuts", "cuts of the certificate's own members")
        if self.count is not None and any(dual < 0 for dual in self.count.duals):
            raise InvalidInputError("Certificate.count.duals", "numbers >= 0", min(self.count.duals))


def certificate_from_dict(data: dict[str, Any]) -> Certificate:
    """Build a certificate from the plain data that :func:`dataclasses.asdict` makes of it; raises when damaged."""
    given = {field.name: data[field.name] for field in fields(Certificate)}
    given["members"] = check_list("certificate.members", data["members"])
    given["cost"] = _prices_from_dict(data["cost"])
    given["count"] = None if data["count"] is None else _prices_from_dict(data["count"])
    return Certificate(**given)


def _prices_from_dict(data: dict[str, Any]) -> DualPrices:
    cuts = [
        Cut(tuple(check_list("certificate.cuts.members", cut["members"])), cut["dual"])
        for cut in check_list("certificate.cuts", data["cuts"])
    ]
    return DualPrices(tuple(check_list("certificate.duals", data["duals"])), tuple(cuts))


def _labels(name: str, items: Iterable[Any]) -> tuple[Label, ...]:
    labels = tuple(plain_label(item, field=name) for item in items)
    if len(set(labels)) != len(labels):
        raise InvalidInputError(name, "distinct candidates")
    return labels
