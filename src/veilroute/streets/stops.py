"""Where a vehicle stops on its route, and when: at every place that the route may be for, equally long at each.

A vehicle that stopped at the secret place only would give it away, however good its route is. So the stops are those of
everybody whose route looks the same within the promise (the first m nodes, or all of them): they depend on the playbook
and on what an observer sees, never on who asked. Members of a class that stand at the same spot are one stop.
"""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import takewhile

from veilroute.base.checks import check_finite
from veilroute.base.errors import InvalidInputError
from veilroute.domain.graph import Label
from veilroute.domain.visibility import AtNode
from veilroute.model.playbook import Playbook

DWELL_S = 60.0  #: how long a stop takes when nobody says
_LONGEST_DWELL_S = 86_400.0
_MINUTES = 24 * 60


@dataclass(frozen=True)
class Stop:
    """One stop of a route."""

    number: int  #: along the route, from 1
    total: int  #: how many the route has
    position: int  #: of its node on the route, from 0
    members: tuple[Label, ...]  #: the candidates that are reached here
    called: tuple[str, ...]  #: what people call them
    is_afar: bool = False  #: whether they are only seen from here, all of them

    @property
    def title(self) -> str:
        """``Stop 2 of 3``."""
        return f"Stop {self.number} of {self.total}"

    @property
    def text(self) -> str:
        """Which stop it is, and where: ``Stop 2 of 3: Harbour, Mill``."""
        return f"{self.title}: {'in sight of ' if self.is_afar else ''}{', '.join(self.called)}"


@dataclass(frozen=True)
class Schedule:
    """How long every stop takes, and when the trip begins."""

    dwell_s: float = DWELL_S  #: seconds at each stop, the same at all
    depart: str | None = None  #: the clock at the start, as ``HH:MM``; ``None`` for times from the start on

    def __post_init__(self) -> None:
        check_finite("dwell", self.dwell_s, least=0)
        if self.dwell_s > _LONGEST_DWELL_S:
            raise InvalidInputError("dwell", f"at most {_LONGEST_DWELL_S:g} seconds", self.dwell_s)
        if self.depart is not None and _minutes(self.depart) is None:
            raise InvalidInputError("depart", "a time of day as HH:MM", self.depart)

    def clock(self, seconds: float) -> str | None:
        """The time of day so many seconds after the start; ``None`` when nobody said when that is."""
        start = None if self.depart is None else _minutes(self.depart)
        if start is None:
            return None
        days, minutes = divmod(start + round(seconds / 60), _MINUTES)
        text = f"{minutes // 60:02}:{minutes % 60:02}"
        return text if not days else f"{text} (+{days} day{'' if days == 1 else 's'})"

    @property
    def stay(self) -> str:
        """How long a stop takes: ``60 s``, ``5 min``."""
        return stay_length(self.dwell_s)

    def note(self, num_stops: int | None = None) -> str:
        """What whoever drives has to know about the stops; of any route when left out how many there are."""
        return stay_note(self.dwell_s, num_stops)


def stay_length(seconds: float) -> str:
    """How long a stop takes: ``60 s``, ``5 min``."""
    minutes = float(seconds) / 60
    return f"{minutes:g} min" if minutes >= 2 and minutes.is_integer() else f"{seconds:g} s"


def stay_note(dwell_s: float | None, num_stops: int | None = None) -> str:
    """What to mind at stops, so that they look alike; how long they take may differ by class (``None``)."""
    many = "every stop" if num_stops is None else "the stop" if num_stops == 1 else f"all {num_stops} stops"
    if dwell_s is None:
        doing = f"Stay at {many} as long as it says there"
    else:
        doing = f"Stay {stay_length(dwell_s)} at {many}" if dwell_s else f"Pass {many} without stopping"
    others = "as at any other" if num_stops == 1 else "at each"
    return (
        f"{doing}, and behave the same {others}: same doors, same lights, same steps. "
        "Whoever watches must not see which place it is about."
    )


def _minutes(clock: str) -> int | None:
    """Minutes since midnight."""
    found = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", clock.strip(), re.ASCII)
    return None if found is None else 60 * int(found[1]) + int(found[2])


class Stops:
    """The stops of all routes of a playbook."""

    def __init__(self, playbook: Playbook) -> None:
        self.playbook = playbook
        self.node = playbook.problem.domain.node
        self._seen_from = _watchers(playbook)
        #: By trip and the nodes that are promised to look the same: who takes such a route, and its nodes.
        self._alike: dict[tuple[int, tuple[Label, ...]], list[tuple[Label, tuple[Label, ...]]]] = {}
        for group in playbook.classes:
            for member in group.members:
                for trip in range(len(playbook.trips)):
                    nodes = group.route_of(member, trip).nodes
                    self._alike.setdefault((trip, nodes[: playbook.privacy.m]), []).append((member, nodes))

    def on_route(self, nodes: Sequence[Label], trip: int) -> tuple[Stop, ...]:
        """The stops of a whole route, given by its nodes."""
        return self._number(self._spots(tuple(nodes), trip))

    def on_parts(
        self, routes: Iterable[Sequence[Label]], common: int, trip: int
    ) -> tuple[tuple[Stop, ...], list[tuple[Stop, ...]]]:
        """The stops of routes that share their first ``common`` nodes: on these, and on the rest of each.

        Positions on a rest are counted from the last node that all share.
        """
        spots = [self._spots(tuple(nodes), trip) for nodes in routes]
        shared = {member: at for found in spots for member, at in found.items() if at[0] < common}
        rests = []
        for found in spots:
            own = {member: at for member, at in found.items() if member not in shared}
            moved = {member: (at - common + 1, is_afar) for member, (at, is_afar) in own.items()}
            rests.append(self._number(moved, before=len({at for at, _ in shared.values()})))
        return self._number(shared), rests

    def on_detour(self, members: Sequence[Label], walked: Sequence[Label], ahead: Sequence[Label]) -> tuple[Stop, ...]:
        """The stops that are left of some members' where a vehicle leaves its route, numbered after those made.

        Who was only seen from afar, and is passed now, has a stop to come.
        """
        done: dict[Label, tuple[int, bool]] = {}
        left: dict[Label, tuple[int, bool]] = {}
        for member in members:
            before, later = self._spot(member, walked), self._spot(member, ahead)
            if later is not None and (before is None or (before[1] and not later[1])):
                left[member] = later
            elif before is not None:
                done[member] = before
        return self._number(left, before=len({at for at, _ in done.values()}))

    def _spots(self, nodes: tuple[Label, ...], trip: int) -> dict[Label, tuple[int, bool]]:
        """Where on a route each candidate is reached for which it may be; and whether only from afar.

        Within the promise that is the same for all who look alike. After it, it is each one's own affair.
        """
        m = self.playbook.privacy.m
        promised = len(nodes) if m is None else min(m, len(nodes))
        spots: dict[Label, tuple[int, bool]] = {}
        for member, theirs in self._alike.get((trip, nodes[:m]), ()):
            alike = takewhile(lambda pair: pair[0] == pair[1], zip(nodes, theirs, strict=False))
            common = sum(1 for _ in alike)
            found = self._spot(member, nodes[:promised])
            if found is None and (later := self._spot(member, nodes[promised:common])) is not None:
                found = (later[0] + promised, later[1])
            if found is not None:
                spots.setdefault(member, found)
        return spots

    def _spot(self, member: Label, nodes: Sequence[Label]) -> tuple[int, bool] | None:
        """The first position at which a way passes a candidate or, if it never does, at which it sees it."""
        way, own = [self.node(label) for label in nodes], self.node(member)
        if own in way:
            return way.index(own), False
        seers = self._seen_from.get(member, frozenset())
        return next(((i, True) for i, node in enumerate(way) if node in seers), None)

    def _number(self, spots: Mapping[Label, tuple[int, bool]], before: int = 0) -> tuple[Stop, ...]:
        """The stops in the order in which they are reached, members in the order of the candidates."""
        order = {label: i for i, label in enumerate(self.playbook.candidates)}
        positions = sorted({at for at, _ in spots.values()})
        stops = []
        for number, position in enumerate(positions, start=before + 1):
            here = sorted((m for m, (at, _) in spots.items() if at == position), key=lambda m: order.get(m, 0))
            called = tuple(self.playbook.name(member) for member in here)
            is_afar = all(spots[member][1] for member in here)
            stops.append(Stop(number, before + len(positions), position, tuple(here), called, is_afar))
        return tuple(stops)


def _watchers(playbook: Playbook) -> dict[Label, Set[int]]:
    """The nodes from which each candidate is seen from afar; none where one must be at the place itself."""
    if isinstance(playbook.visibility, AtNode):
        return {}
    # Imported here because it brings the compiled kernels, which most sheets do without.
    from veilroute.covering.task import find_watchers

    problem = playbook.problem
    found = find_watchers(problem.domain, playbook.visibility, problem.candidate_nodes)
    return {label: set(nodes.tolist()) for label, nodes in zip(problem.candidates, found, strict=True)}
