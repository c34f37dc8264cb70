"""The result: which candidates share a route, the routes, and what is claimed about them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, takewhile
from math import floor
from pathlib import Path
from typing import Any, overload

from veilroute.base.checks import check_count, check_finite, check_list, check_name, count_text, is_whole
from veilroute.base.errors import (
    BrokenPromiseError,
    FileFormatError,
    InvalidInputError,
    NotAnonymizedError,
    UnknownCandidateError,
)
from veilroute.base.io import dump_canonical, parse_json, read_bytes, write_file
from veilroute.base.keys import Key, draw, occasion_bytes
from veilroute.base.lazy import SHOWN_BY
from veilroute.domain.codec import domain_from_dict, domain_to_dict
from veilroute.domain.graph import Domain, Label, label_text, plain_label
from veilroute.domain.visibility import Visibility, visibility_from_dict, visibility_to_dict
from veilroute.model.certificate import Certificate, certificate_from_dict
from veilroute.model.closure import Replan, replan_from_dict
from veilroute.model.figures import PlanStats, class_rows
from veilroute.model.problem import (
    OBJECTIVES,
    ROUNDING,
    Past,
    Privacy,
    Problem,
    Trip,
    checked_names,
    checked_prior,
    past_from_dict,
    places_from_list,
)

FORMAT = "veilroute-playbook/1"
_EXTRA = (
    "total_extra", "worst_extra", "total_extra_lower_bound", "expected_mac", "expected_mac_lower_bound", "hidden_mass",
    "worst_posterior", "bayes_success",
)  # fmt: skip

_DRAWN = 1e-6
"""So much, relatively, may a posterior exceed its bound because shares sum to tiny priors only up to rounding."""


_STEP = Fraction(382, 1000)
"""Where thousandths of a chance begin and end: not beside any that plans often have, so that rounding moves none."""


@dataclass(frozen=True, repr=False)
class Route(Sequence[Label]):
    """A walk from a trip's start to its goal; behaves as the sequence of its nodes."""

    nodes: tuple[Label, ...]  #: labels of the nodes, start and goal included
    cost: float  #: sum of the edge costs
    trip: int = 0  #: which trip of the problem it belongs to

    @overload
    def __getitem__(self, index: int) -> Label: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Label, ...]: ...
    def __getitem__(self, index: int | slice) -> Label | tuple[Label, ...]:
        return self.nodes[index]

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.nodes)

    def __repr__(self) -> str:
        return f"<Route: {count_text(len(self.nodes), 'node')}, cost {self.cost:g}>"


@dataclass(frozen=True, repr=False)
class PlaybookClass:
    """Candidates that an observer of the route cannot tell apart."""

    members: tuple[Label, ...]  #: labels of the candidates
    #: Whether the class reaches the playbook's (k, ell); the playbook gives no route to members of other classes.
    anonymized: bool
    #: What all members share, one per trip: the whole route or, where their routes part, how all of these begin.
    routes: tuple[Route, ...]
    #: Routes of single members, by (trip, member); those that have none take the shared one. Empty when m is infinite:
    #: files that have some are refused then.
    member_routes: dict[tuple[int, Label], Route] = field(default_factory=dict)
    #: In a randomised playbook, for each member how probable it is that it is the secret and this class is drawn;
    #: empty in a partition.
    shares: tuple[float, ...] = ()

    def __repr__(self) -> str:
        kind = "anonymized" if self.anonymized else "not anonymized"
        return f"<PlaybookClass: {count_text(len(self.members), 'member')}, {kind}>"

    def share_of(self, member: Label) -> float:
        """How probable it is that ``member`` is the secret and this class is drawn; 0 without shares."""
        pairs = zip(self.members, self.shares, strict=False)
        return next((share for label, share in pairs if label == member), 0.0)

    def route_of(self, member: Label, trip: int) -> Route:
        """The route that ``member`` gets on a trip."""
        own = self.member_routes.get((trip, member))
        return self.routes[trip] if own is None else own

    def shared(self, trip: int) -> tuple[Label, ...]:
        """The nodes with which the routes of all members begin; the whole route where all have the same.

        Read off the members' routes. Older playbooks have the whole route of one member where the shared one stands.
        """
        routes = list(dict.fromkeys(self.route_of(member, trip).nodes for member in self.members))
        if len(routes) < 2:
            return routes[0] if routes else self.routes[trip].nodes
        alike = takewhile(lambda nodes: all(node == nodes[0] for node in nodes), zip(*routes, strict=False))
        return tuple(nodes[0] for nodes in alike)

    def rests(self, trip: int) -> list[tuple[tuple[Label, ...], tuple[Label, ...]]]:
        """How members go on from the last node that all share: who, and the nodes; empty where all go the same way."""
        common = len(self.shared(trip))
        ways: dict[tuple[Label, ...], list[Label]] = {}
        for member in self.members:
            ways.setdefault(self.route_of(member, trip).nodes[max(common - 1, 0) :], []).append(member)
        return [(tuple(members), nodes) for nodes, members in ways.items()] if len(ways) > 1 else []


@dataclass(frozen=True)
class Claims:
    """What the playbook says of itself and the auditor checks."""

    num_candidates: int  #: those that are no trip's start or goal
    num_coverable: int  #: those that a walk of every trip can cover
    num_anonymized: int
    num_anonymizable: int | None  #: those that some planner could anonymize; ``None`` when it was not worked out
    apr: float
    mac: float | None  #: the weighted mean of the trips' and, like them, ``None`` when nothing is anonymized
    mac_by_trip: tuple[float | None, ...]
    mac_lower_bound: float | None = None  #: proved for this ``num_anonymized``; ``None`` where the method has none
    delta: float | None = None  #: the local anonymity: anonymized over anonymizable candidates
    #: The sum over the anonymized candidates of what their routes cost more than without hiding, trips averaged by
    #: their weights. Playbooks of old have neither this nor the next.
    total_extra: float | None = None
    worst_extra: float | None = None  #: the largest single extra cost
    total_extra_lower_bound: float | None = None  #: in place of ``mac_lower_bound`` where the total is the objective
    #: The MAC with every candidate weighted by how probable it is; without a prior, that of a partition is the MAC.
    expected_mac: float | None = None
    expected_mac_lower_bound: float | None = None  #: in place of ``mac_lower_bound`` where a risk is bounded
    hidden_mass: float | None = None  #: how probable it is that the secret is one of the anonymized candidates
    #: The largest posterior that a route gives to an area: candidates at one node, or pairwise closer than ell.
    worst_posterior: float | None = None
    bayes_success: float | None = None  #: how often an observer who bets on the most probable place is right

    @property
    def gap(self) -> float | None:
        """Relative distance between ``mac``, or whatever else has the bound, and its bound."""
        reached, bound = self.mac, self.mac_lower_bound
        if self.total_extra_lower_bound is not None:
            reached, bound = self.total_extra, self.total_extra_lower_bound
        elif self.expected_mac_lower_bound is not None:
            reached, bound = self.expected_mac, self.expected_mac_lower_bound
        if reached is None or bound is None:
            return None
        return max(0.0, reached - bound) / max(bound, 1e-12)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file, without figures of the extra cost where there are none."""
        return {name: value for name, value in vars(self).items() if name not in _EXTRA or value is not None}


@dataclass(frozen=True, eq=False, repr=False)
class Playbook:
    """Classes, one route per class and trip, and the claims made about them.

    Everything in it is independent of the secret and may be known to the adversary. :meth:`route_for` is the only
    function of veilroute that takes the secret.
    """

    domain: Domain | None
    domain_sha256: str
    trips: tuple[Trip, ...]
    candidates: tuple[Label, ...]
    visibility: Visibility
    privacy: Privacy
    planner: str
    options: dict[str, Any]
    status: str
    classes: tuple[PlaybookClass, ...]
    uncoverable: tuple[Label, ...]
    claims: Claims
    certificate: Certificate | None = None  #: the evidence for the bound in the claims, where the planner has one
    names: Mapping[Label, str] = field(default_factory=dict)  #: what people call some of the nodes
    names_sha256: str | None = None  #: of the names when it was planned; playbooks of old lack it and the next
    drawing_sha256: str | None = None  #: that of the domain when it was planned
    objective: str = "mac"
    prior: tuple[float, ...] | None = None  #: how probable each candidate is beforehand; ``None`` for all the same
    #: What the vehicles do where a road is closed, worked out beforehand (:meth:`with_contingencies`).
    contingencies: tuple[Replan, ...] = ()
    past: Past | None = None  #: what earlier trips had shown when it was planned under a ledger
    places: Mapping[Label, tuple[float, float]] = field(default_factory=dict)  #: where places are, as they were given
    places_sha256: str | None = None  #: of the places when it was planned
    #: On streets, where each candidate and each end of a trip is, as longitude and latitude (:meth:`draw_label`).
    #: ``None`` in a file of an earlier version without the map, where that is not known.
    spots: Mapping[Label, tuple[float, float]] | None = field(default_factory=dict)
    stats: PlanStats = field(default_factory=PlanStats)  #: what it took to plan; in no file

    @property
    def apr(self) -> float:
        """Anonymized path ratio: anonymized over coverable candidates."""
        return self.claims.apr

    @property
    def mac(self) -> float | None:
        """Mean anonymization cost, or ``None`` when nothing is anonymized."""
        return self.claims.mac

    @property
    def num_candidates(self) -> int:
        """How many candidates are no trip's start or goal."""
        return self.claims.num_candidates

    @property
    def num_coverable(self) -> int:
        """How many of them a walk of every trip can cover."""
        return self.claims.num_coverable

    @property
    def num_anonymized(self) -> int:
        """How many candidates are anonymized."""
        return self.claims.num_anonymized

    @property
    def total_extra(self) -> float | None:
        """What all anonymized candidates' routes cost more than without hiding."""
        return self.claims.total_extra

    @property
    def worst_extra(self) -> float | None:
        """The largest single extra cost."""
        return self.claims.worst_extra

    @property
    def mac_lower_bound(self) -> float | None:
        """A proved lower bound on :attr:`mac` at this number of anonymized candidates, if there is one."""
        return self.claims.mac_lower_bound

    @property
    def gap(self) -> float | None:
        """Relative distance between :attr:`mac` and its bound."""
        return self.claims.gap

    @property
    def search_completed(self) -> bool:
        """Whether it comes from a search that has looked at everything and leaves no proof that others can check."""
        return self.options.get("search_completed") is True

    @property
    def hidden_classes(self) -> tuple[PlaybookClass, ...]:
        """The classes that are anonymized; pictures, directions and tables number them from 1."""
        return tuple(group for group in self.classes if group.anonymized)

    @property
    def exposed_candidates(self) -> tuple[Label, ...]:
        """The candidates that could be covered but are not anonymized."""
        return tuple(member for group in self.classes if not group.anonymized for member in group.members)

    @cached_property
    def problem(self) -> Problem:
        """The problem that was solved; needs the domain."""
        if self.domain is None:
            raise InvalidInputError("Playbook.domain", "the domain: this playbook holds only its hash; supply the file")
        return Problem(
            self.domain, self.trips, self.candidates, self.visibility, self.names, self.objective, self.prior,
            self.past, self.places,
        )  # fmt: skip

    @cached_property
    def sha256(self) -> str:
        """A hash of all that the playbook says, the same whether it holds the map or the map's hash alone."""
        said = self.to_dict(embed_domain=False)
        said.pop("spots", None)  # the hash of the map covers them
        return hashlib.sha256(b"veilroute-playbook\n" + dump_canonical(said)).hexdigest()

    def route_for(
        self, secret: Label, trip: int = 0, *, key: Key | None = None, occasion: str = "", expose: bool = False
    ) -> Route:
        """Give the route for a secret transit point: looked up or, in a randomised playbook, that of a class drawn.

        **A second draw for the same secret leaks**: whoever sees both routes knows that the secret is in both classes.
        So draw with a key, and keep to one occasion for as long as the secret stays the same: key, secret and occasion
        settle the class, on all trips of this playbook. Another playbook, with other trips, weights or members, is
        another draw (:meth:`draw_subject`). Days with secrets of their own need occasions of their own. In a partition
        nothing is drawn, and neither key nor occasion matters.

        Parameters
        ----------
        secret
            Label of the transit point.
        trip
            Which trip to take.
        key
            From :func:`~veilroute.base.read_key`. Without one the operating system's randomness is used, afresh
            each time.
        occasion
            What the draw is for, such as a date. It is not secret.
        expose
            Also return the route of a candidate that the playbook could not anonymize. Whoever watches such a route
            learns the secret.

        Raises
        ------
        UnknownCandidateError
            When the secret is not a candidate. The message does not hold it.
        NotAnonymizedError
            The paper's Failure, unless ``expose`` is set.
        BrokenPromiseError
            A Failure as well: the class is called anonymized, and the playbook itself shows that it is not. What takes
            the map to see (walks, coverage, distances) is not looked at: that is the work of
            :func:`~veilroute.audit`.
        """
        if not is_whole(trip, 0, len(self.trips) - 1):
            # Without what came: with arguments the wrong way round, that is the secret.
            raise InvalidInputError("trip", f"a trip from 0 to {len(self.trips) - 1}")
        if not isinstance(key, Key | None):
            raise InvalidInputError("key", "what read_key returns")
        if occasion_bytes(occasion) and key is None and self.is_randomised:
            raise InvalidInputError("occasion", "a key beside it: without one each draw is a fresh one")
        label = plain_label(secret)
        groups = self.classes_of(label)
        if not groups:
            if label in self.candidates:
                raise NotAnonymizedError(has_route=False)
            raise UnknownCandidateError
        if not expose:
            if not any(group.anonymized for group in groups):
                raise NotAnonymizedError
            if not (self._keeps_shares if self.is_randomised else self._can_hide(groups[0])):
                raise BrokenPromiseError
        group = self._draw_class(label, key, occasion) if self.is_randomised else groups[0]
        # All members who go the same way get the very same object, whatever else a class may hold.
        if self.privacy.m is None:
            return group.routes[trip]
        nodes, routes = group.route_of(label, trip).nodes, (group.route_of(member, trip) for member in group.members)
        return next(route for route in routes if route.nodes == nodes)

    @property
    def is_randomised(self) -> bool:
        """Whether a candidate may be in several classes, of which one is drawn."""
        return self.privacy.mechanism == "randomised"

    def class_of(self, label: Label) -> PlaybookClass | None:
        """The class of a candidate, the first that lists it; ``None`` where none does."""
        return next(iter(self.classes_of(label)), None)

    def classes_of(self, label: Label) -> tuple[PlaybookClass, ...]:
        """All classes that list a candidate: one in a partition, perhaps several in a randomised playbook."""
        return tuple(self._classes_at.get(label, ()))

    @cached_property
    def _classes_at(self) -> dict[Label, list[PlaybookClass]]:
        table: dict[Label, list[PlaybookClass]] = {}
        for group in self.classes:
            for member in group.members:
                with suppress(TypeError):  # what no dictionary can hold is nobody's label
                    groups = table.setdefault(member, [])
                    if not groups or groups[-1] is not group:
                        groups.append(group)
        return table

    def draw_order(self, label: Label) -> list[PlaybookClass]:
        """The classes that list a candidate in the order in which a draw goes through their shares.

        They are sorted by what :meth:`draw_subject` says of them and, if that is the same, by what an observer sees of
        their routes. So the order of classes and members in a file does not matter.
        """
        return sorted(self.classes_of(label), key=lambda group: self._draw_ranks[id(group)])

    @cached_property
    def _draw_ranks(self) -> dict[int, int]:
        def place(group: PlaybookClass) -> tuple[bytes, list[bytes], list[bytes]]:
            seen = sorted(dump_canonical(route.nodes[: self.privacy.m]) for route in group.routes)
            members = sorted(dump_canonical(self.draw_label(member)) for member in group.members)
            return self._subject_lines[id(group)], seen, members

        return {id(group): rank for rank, group in enumerate(sorted(self.classes, key=place))}

    def draw_sha256(self, label: Label) -> str:
        """A hash of what a keyed draw for a candidate is about: of the classes that may be drawn for it."""
        groups = [group for group in self.classes_of(label) if any(m == label for m, _ in self._chances[id(group)])]
        return hashlib.sha256(self.draw_subject(groups)).hexdigest()

    def draw_subject(self, groups: Iterable[PlaybookClass]) -> bytes:
        """What a keyed draw among some classes is about, and nothing else, in a canonical form.

        These are the ends of the trips, the members of the classes and, where classes are drawn, with which chance each
        is drawn for each member, to a thousandth. Two draws for one secret identify it: so what can change while these
        stay must not cause another, such as names, seeds, certificates, the map, other classes, or how a route leads to
        its goal. The same class by another road shows nothing new. Other ends are another journey, and other chances
        another prior, which may be about another secret on the same occasion.
        """
        return b"".join([self._draw_ends, b"\n", *sorted(self._subject_lines[id(group)] for group in groups)])

    def draw_label(self, label: Label) -> Label:
        """What a keyed draw calls a place: on streets where it is, to a metre or so, and elsewhere its label.

        On streets a label is a name that the user has given, and a customer with a new name must not cause another
        draw.
        """
        if self.spots is None or label not in self.spots:
            return label
        longitude, latitude = self.spots[label]
        return f"{latitude:.5f},{longitude:.5f}"

    @cached_property
    def _draw_ends(self) -> bytes:
        ends = ([self.draw_label(trip.start), self.draw_label(trip.goal)] for trip in self.trips)
        return b"".join(sorted(set(map(dump_canonical, ends))))

    @cached_property
    def _subject_lines(self) -> dict[int, bytes]:
        lines = {}
        for group in self.classes:
            if self.is_randomised:
                said = [dump_canonical([self.draw_label(one), chance]) for one, chance in self._chances[id(group)]]
            else:
                said = [dump_canonical(self.draw_label(one)) for one in group.members]
            lines[id(group)] = dump_canonical([part.decode() for part in sorted(said)])
        return lines

    @cached_property
    def _chances(self) -> dict[int, list[tuple[Label, int]]]:
        """For whom each class may be drawn, with which chance in thousandths, worked out exactly and then rounded."""
        sums: dict[Label, Fraction] = {}
        pairs = {id(group): list(zip(group.members, group.shares, strict=False)) for group in self.classes}
        for member, share in (pair for each in pairs.values() for pair in each):
            sums[member] = sums.get(member, Fraction(0)) + Fraction(share)
        chances = {
            number: [(member, floor(1000 * Fraction(share) / (sums[member] or 1) + _STEP)) for member, share in each]
            for number, each in pairs.items()
        }
        return {number: [pair for pair in each if pair[1]] for number, each in chances.items()}

    def _draw_class(self, label: Label, key: Key | None, occasion: str) -> PlaybookClass:
        """One of the classes that hold the secret, with the chance of its share; the trip has no part in it."""
        groups = self.draw_order(label)
        weights = [group.share_of(label) for group in groups]
        if not any(weights):  # not hidden, and to be exposed
            return groups[0]
        if key is None:
            return groups[draw(weights)]
        if self.spots is None:  # with its map it may draw another class, and two draws identify
            expected = "the map: an earlier version wrote this playbook without it and without where its places are"
            raise InvalidInputError("Playbook.domain", expected)
        place = dump_canonical(self.draw_label(label))
        parts = (bytes.fromhex(self.draw_sha256(label)), place, occasion_bytes(occasion))
        return groups[draw(weights, key.numbers(*parts))]

    @cached_property
    def coverable_prior(self) -> dict[Label, float]:
        """How probable each candidate is among those that every trip can cover, before anything is seen."""
        # By the classes and not by the ends of trips: a candidate under another name of an end does not count either.
        weights, known = self.prior or (1.0,) * len(self.candidates), self._classes_at.keys() - set(self.uncoverable)
        kept = {label: weight for label, weight in zip(self.candidates, weights, strict=True) if label in known}
        total = math.fsum(kept.values())
        return {label: weight / total if total > 0 else 1 / len(kept) for label, weight in kept.items()}

    def _can_hide(self, group: PlaybookClass) -> bool:
        """Whether nothing in the playbook itself says that a class of a partition falls short of its promise."""
        if not self.privacy.k <= len(group.members) or not self._looks_alike(group):
            return False
        if any(self.class_of(member) is not group for member in group.members):
            return False
        return self.privacy.beta is None or self._within_bound([self.coverable_prior[m] for m in group.members])

    @cached_property
    def _keeps_shares(self) -> bool:
        """Whether nothing in a randomised playbook itself says that a class of it falls short of its promise.

        All classes are looked at, whatever the secret is. What an observer believes after one class depends on how
        often its other members are drawn with their other classes; and a refusal then tells nothing about the secret.
        """
        prior, scales = self.coverable_prior, dict[Label, float]()
        for group in self.hidden_classes:
            if len(group.shares) != len(group.members) or not self._looks_alike(group):
                return False
            if not self._within_bound(group.shares):
                return False
            for member in group.members:
                groups = self.classes_of(member)
                total = math.fsum(other.share_of(member) for other in groups)
                if not all(other.anonymized for other in groups) or abs(total - prior[member]) > ROUNDING or not total:
                    return False
                scales[member] = prior[member] / total
        # A draw goes by the shares of its secret alone, whatever they sum to: this is what comes of it.
        for group in self.hidden_classes:
            pairs = zip(group.members, group.shares, strict=True)
            if not self._within_bound([share * scales[member] for member, share in pairs], _DRAWN):
                return False
        return True

    def _within_bound(self, masses: Sequence[float], slack: float = ROUNDING) -> bool:
        """Whether no member of a class has more of its probability than is promised."""
        if not all(0 <= mass <= 1 + slack for mass in masses):  # nor is it NaN
            return False
        limit = (self.privacy.beta or 0.0) * math.fsum(masses) * (1 + slack)
        return 0 < max(masses) <= limit

    def _looks_alike(self, group: PlaybookClass) -> bool:
        """Whether a class has distinct members that can be covered, and their routes the same first m nodes."""
        members = set(group.members)
        if not members or len(members) != len(group.members) or len(group.routes) != len(self.trips):
            return False
        if not members <= self.coverable_prior.keys():
            return False
        for number, trip in enumerate(self.trips):
            routes = [group.route_of(member, number).nodes for member in group.members]
            if len({nodes[: self.privacy.m] for nodes in routes}) > 1:
                return False
            if any(not nodes or (nodes[0], nodes[-1]) != (trip.start, trip.goal) for nodes in routes):
                return False
        return True

    def cost_of(self, nodes: Sequence[Label]) -> float | None:
        """What a walk costs on the map, whatever the file says of it; ``None`` without the map or off its edges.

        It is added up as planners do it, so that it is what they say to the last digit: an integer where all costs are.
        """
        domain = self.domain
        if domain is None:
            return None
        try:
            walk = [domain.node(label) for label in nodes]
        except InvalidInputError:
            return None
        costs: list[float] = []
        for tail, head in pairwise(walk):
            first, last = int(domain.indptr[tail]), int(domain.indptr[tail + 1])
            edge = first + int(domain.indices[first:last].searchsorted(head))
            if edge == last or domain.indices[edge] != head:
                return None
            costs.append(domain.costs[edge].item())
        total: float = 0 if domain.has_integer_costs else 0.0
        for cost in costs:  # not by `sum`, which adds floating-point numbers in another way
            total += cost
        if domain.turns is not None and domain.turns.u_turn_cost:
            total += domain.turns.u_turn_cost * sum(walk[i] == walk[i + 2] for i in range(len(walk) - 2))
            is_whole_number = domain.has_integer_costs and domain.turns.u_turn_cost.is_integer()
            return int(total) if is_whole_number else total
        return total

    def name(self, label: Label) -> str:
        """What people call a node: its name where it has one, else its label as text."""
        return self.names.get(label) or label_text(label)

    def with_domain(self, domain: Domain) -> Playbook:
        """The same playbook with its domain attached, after checking the hash."""
        if domain.sha256 != self.domain_sha256:
            expected = f"the map that the playbook was made for, with SHA-256 {self.domain_sha256}"
            raise InvalidInputError("domain", expected, domain.sha256)
        if self.domain is not None and domain.drawing_sha256 != self.domain.drawing_sha256:
            expected = "the map as it is drawn in the playbook: names, bends or coordinates are not the same"
            raise InvalidInputError("domain", expected)
        # Read without its domain, an explicit visibility still has its nodes as text.
        visibility = visibility_from_dict(visibility_to_dict(self.visibility), domain)
        spots = find_spots(domain, self.trips, self.candidates)
        return replace(self, domain=domain, visibility=visibility, spots=_same_spots(self.spots or spots, spots))

    def to_dict(self, *, embed_domain: bool = True) -> dict[str, Any]:
        """Plain data for a JSON file; without the domain only its hash is kept."""
        data: dict[str, Any] = {
            "format": FORMAT,
            "domain_sha256": self.domain_sha256,
            "trips": [asdict(trip) for trip in self.trips],
            "candidates": list(self.candidates),
            "visibility": visibility_to_dict(self.visibility),
            "privacy": self.privacy.to_dict(),
            "planner": self.planner,
            "options": self.options,
            "status": self.status,
            "classes": [_class_to_dict(group) for group in self.classes],
            "uncoverable": list(self.uncoverable),
            "claims": self.claims.to_dict(),
        }
        optional = {
            "objective": None if self.objective == "mac" else self.objective,
            "prior": None if self.prior is None else list(self.prior),
            "past": None if self.past is None else self.past.to_dict(),
            "certificate": None if self.certificate is None else asdict(self.certificate),
            "contingencies": [entry.to_dict() for entry in self.contingencies] or None,
            "names": [[label, name] for label, name in self.names.items()] or None,
            "names_sha256": self.names_sha256,
            "drawing_sha256": self.drawing_sha256,
            "places": [[label, *lonlat] for label, lonlat in self.places.items()] or None,
            "places_sha256": self.places_sha256,
            "domain": domain_to_dict(self.domain) if embed_domain and self.domain is not None else None,
        }
        if not embed_domain or self.domain is None:  # otherwise the map says it
            spots = None if self.spots is None else [[label, *spot] for label, spot in self.spots.items()]
            optional["spots"] = spots if spots or self.is_randomised else None
        return data | {name: value for name, value in optional.items() if value is not None}

    def to_json(self, *, embed_domain: bool = True) -> bytes:
        """Canonical JSON: equal playbooks give equal bytes."""
        return dump_canonical(self.to_dict(embed_domain=embed_domain))

    def write(self, path: str | Path, *, embed_domain: bool = True) -> None:
        """Write the playbook to a file."""
        write_file(path, self.to_json(embed_domain=embed_domain))

    def rows(self) -> list[dict[str, Any]]:
        """A flat row for each class, ready for ``pandas.DataFrame``: :func:`~veilroute.model.figures.class_rows`."""
        return class_rows(self)

    def plot(self, ax: Any = None, trip: int = 0) -> Any:
        """Draw the playbook on its map, on matplotlib's axes ``ax`` or in a new figure; the axes are returned."""
        return SHOWN_BY["plot"](self, ax=ax, trip=trip)

    def __eq__(self, other: object) -> bool:
        """Whether two playbooks say the same, byte for byte; whether they hold the map does not matter."""
        return self is other or (isinstance(other, Playbook) and self.sha256 == other.sha256)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return (
            f"<Playbook: {self.status}, {count_text(len(self.hidden_classes), 'class', 'classes')}, "
            f"{self.num_anonymized} of {count_text(self.num_coverable, 'coverable candidate')} anonymized>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the playbook on its map."""
        return str(SHOWN_BY["Playbook"](self))


def read_playbook(path: str | Path, *, domain: Domain | None = None) -> Playbook:
    """Read a playbook file; ``domain`` is needed to audit or draw one that holds only its domain's hash."""
    playbook = playbook_from_json(read_bytes(path), source=path)
    return playbook if domain is None else playbook.with_domain(domain)


def playbook_from_json(raw: bytes, *, source: object = "playbook") -> Playbook:
    """Read a playbook from JSON; ``source`` is named in errors."""
    data = parse_json(raw, source)
    version = data.get("format") if isinstance(data, dict) else None
    if not isinstance(version, str) or not version.startswith("veilroute-playbook/"):
        raise FileFormatError(source, f"not a veilroute playbook; expected a JSON object with format {FORMAT}")
    if version != FORMAT:
        other = f"written in {version[:40]}, but this version reads {FORMAT}"
        raise FileFormatError(source, f"{other}; plan again or use the matching veilroute")
    try:
        return _playbook_from_dict(data)
    except InvalidInputError as error:
        raise FileFormatError(source, str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        what = f"field {error}" if isinstance(error, KeyError) else str(error)
        raise FileFormatError(source, f"damaged playbook ({what}); plan again") from None


def _playbook_from_dict(data: dict[str, Any]) -> Playbook:
    domain = domain_from_dict(data["domain"]) if "domain" in data else None
    if domain is not None and domain.sha256 != data["domain_sha256"]:
        raise InvalidInputError("domain_sha256", "the hash of the domain in the file", data["domain_sha256"])
    trips = tuple(Trip(t["start"], t["goal"], t["weight"]) for t in data["trips"])
    if not {"k", "ell", "m", "spread"} <= set(data["privacy"]) or data["privacy"]["k"] is None:
        # Whoever leaves a promise out must not be taken to have made the usual one.
        raise InvalidInputError("privacy", "k, ell, m and spread, none left out", sorted(data["privacy"]))
    privacy = Privacy(**data["privacy"])
    contingencies = tuple(
        replan_from_dict(entry, where=f"contingencies[{i}]")
        for i, entry in enumerate(check_list("contingencies", data.get("contingencies", [])))
    )
    if privacy.m is None and any(entry.has_own_ways for entry in contingencies):
        raise InvalidInputError("contingencies.member_routes", "none where members share the whole route")
    names = checked_names({plain_label(label): name for label, name in data.get("names", [])})
    if len(names) != len(data.get("names", [])):
        raise InvalidInputError("names", "one name for each node")
    for name in ("names_sha256", "drawing_sha256", "places_sha256"):
        if not isinstance(data.get(name), str | None):
            raise InvalidInputError(name, "a hash as text", data[name])
    candidates, stated = _labels(data["candidates"]), places_from_list(data.get("spots", []), field="spots")
    spots = stated if domain is None else find_spots(domain, trips, candidates)
    labels = [*candidates, *(end for trip in trips for end in (trip.start, trip.goal))]
    is_unknown = (  # cells and numbers are no names that somebody gives
        domain is None
        and "spots" not in data
        and privacy.mechanism == "randomised"
        and any(isinstance(label, str) for label in labels)
    )
    return Playbook(
        domain=domain,
        domain_sha256=str(data["domain_sha256"]),
        trips=trips,
        candidates=candidates,
        visibility=visibility_from_dict(data["visibility"], domain),
        privacy=privacy,
        planner=str(data["planner"]),
        options={**data["options"]},  # a list of pairs is none: their names need not be text
        status=str(data["status"]),
        classes=tuple(_class_from_dict(entry, len(trips), privacy.m) for entry in data["classes"]),
        uncoverable=_labels(data["uncoverable"]),
        claims=_claims_from_dict(data["claims"]),
        certificate=certificate_from_dict(data["certificate"]) if "certificate" in data else None,
        names=names,
        names_sha256=data.get("names_sha256"),
        drawing_sha256=data.get("drawing_sha256"),
        objective=check_name("objective", data.get("objective", "mac"), OBJECTIVES),
        prior=checked_prior(check_list("prior", data["prior"]), len(data["candidates"])) if "prior" in data else None,
        contingencies=contingencies,
        past=past_from_dict(data["past"]) if "past" in data else None,
        places=places_from_list(data.get("places", [])),
        places_sha256=data.get("places_sha256"),
        spots=None if is_unknown else _same_spots(stated or spots, spots),
    )


def find_spots(domain: Domain, trips: Iterable[Trip], candidates: Iterable[Label]) -> dict[Label, tuple[float, float]]:
    """Where candidates and ends of trips are on a street network; nothing on other maps, whose labels nobody gives."""
    if domain.streets is None:
        return {}
    everybody = dict.fromkeys([*candidates, *(end for trip in trips for end in (trip.start, trip.goal))])
    labels = [label for label in everybody if domain.has_label(label)]
    lonlat = domain.streets.lonlat[[domain.node(label) for label in labels]].tolist()
    return {label: (longitude, latitude) for label, (longitude, latitude) in zip(labels, lonlat, strict=True)}


def _same_spots(
    stated: Mapping[Label, tuple[float, float]], found: Mapping[Label, tuple[float, float]]
) -> Mapping[Label, tuple[float, float]]:
    """What the map says, if the file says the same: other places would make another draw."""
    if dict(stated) != dict(found):
        raise InvalidInputError("spots", "the longitude and latitude that the map has for each place")
    return found


def _claims_from_dict(data: dict[str, Any]) -> Claims:
    """Figures that are not claimed are null; those of the extra cost may be missing, as in playbooks of old."""
    given: dict[str, Any] = {}
    for name in Claims.__dataclass_fields__:
        value: Any = data.get(name) if name in _EXTRA else data[name]
        if name == "mac_by_trip":
            value = tuple(None if mac is None else check_finite("claims.mac_by_trip", mac) for mac in value)
        elif name.startswith("num_") and (value is not None or name != "num_anonymizable"):
            value = check_count(name, value)
        elif value is not None or name == "apr":
            value = check_finite(f"claims.{name}", value)
        given[name] = value
    return Claims(**given)


def _class_to_dict(group: PlaybookClass) -> dict[str, Any]:
    routes = [{"trip": r.trip, "cost": r.cost, "route": list(r.nodes)} for r in group.routes]
    routes += [
        {"trip": trip, "member": member, "cost": own.cost, "route": list(own.nodes)}
        for (trip, member), own in group.member_routes.items()
    ]
    data: dict[str, Any] = {"members": list(group.members), "anonymized": group.anonymized, "routes": routes}
    return data | {"shares": list(group.shares)} if group.shares else data


def _class_from_dict(entry: dict[str, Any], num_trips: int, m: int | None) -> PlaybookClass:
    shared: dict[int, Route] = {}
    own: dict[tuple[int, Label], Route] = {}
    members = _labels(entry["members"])
    known = set(members)
    for item in entry["routes"]:
        trip = check_count("trip", item["trip"])
        route = Route(_labels(item["route"]), check_finite("classes.routes.cost", item["cost"]), trip)
        if "member" in item:
            member = plain_label(item["member"])
            if member not in known or trip >= num_trips or (trip, member) in own:
                raise InvalidInputError("classes.routes.member", "a member of the class, once for each trip")
            own[trip, member] = route
        elif trip in shared:
            raise InvalidInputError("classes.routes", "one shared route for each trip", f"two for trip {trip}")
        else:
            shared[trip] = route
    if sorted(shared) != list(range(num_trips)):
        raise InvalidInputError("classes.routes", f"one shared route for each of {num_trips} trips", sorted(shared))
    # A copy may differ in what it says beside its nodes, and so tell for whom it is.
    if own and m is None:
        raise InvalidInputError("classes.routes", "no routes of single members where members share the whole route")
    if any(route.nodes == shared[trip].nodes for (trip, _), route in own.items()):
        raise InvalidInputError("classes.routes", "no route of a single member that is the shared one again")
    if not isinstance(entry["anonymized"], bool):
        raise InvalidInputError("classes.anonymized", "true or false", entry["anonymized"])
    shares = [check_finite("classes.shares", share, least=0) for share in check_list("shares", entry.get("shares", []))]
    if max(shares, default=0) > 1 + ROUNDING:
        raise InvalidInputError("classes.shares", "probabilities, from 0 to 1", max(shares))
    if len(shares) not in (0, len(members)):
        raise InvalidInputError("classes.shares", f"one for each of {len(members)} members", len(shares))
    routes = tuple(shared[t] for t in range(num_trips))
    return PlaybookClass(members, entry["anonymized"], routes, own, tuple(map(float, shares)))


def _labels(items: Any) -> tuple[Label, ...]:
    return tuple(plain_label(item) for item in check_list("nodes", items))
