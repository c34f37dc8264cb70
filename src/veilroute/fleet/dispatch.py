"""The dispatcher: from the classes that are touched to a day of tours past every member of each, and what is left of it
where something happens on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from veilroute.base.run import ProgressCallback, Watch
from veilroute.domain.graph import Label
from veilroute.model.closure import Closure
from veilroute.model.day import Day, Terms
from veilroute.model.playbook import Playbook


def dispatch(
    playbook: Playbook,
    touched: Iterable[int],
    terms: Terms,
    *,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Day:
    """Plan tours that visit every member of every touched class.

    Orders are no argument: two days whose orders touch the same classes are the same day, byte for byte.

    Parameters
    ----------
    playbook
        A playbook that is not randomised.
    touched
        Numbers of classes among :attr:`Playbook.hidden_classes`, from 1, in any order.
    terms
        What is public about the day.
    progress, should_stop
        As in :func:`veilroute.solve`.

    Raises
    ------
    InvalidInputError
        No day keeps the terms, or none was found; it says which of them are in the way.
    """
    # Here and not at the top, because compiling kernels would make `import veilroute` slow.
    from veilroute.fleet.tours import plan_day

    return plan_day(playbook, touched, terms, watch=Watch(progress, None, should_stop))


def redispatch(
    playbook: Playbook,
    day: Day,
    *,
    at: float | None = None,
    positions: Mapping[int, int | tuple[int, int]] | None = None,
    broken: Iterable[int] = (),
    closed: Iterable[Sequence[Label]] = (),
    closed_one_way: Iterable[Sequence[Label]] = (),
    closed_nodes: Iterable[Label] = (),
    costs: Iterable[Sequence[Any]] = (),
    choice: str | None = None,
    late: bool = False,
    keep: bool = False,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Day:
    """Plan the rest of a day anew, where a vehicle has broken down or a road is closed.

    Whoever of the touched classes was not visited yet is, by the vehicles that are left, from where they are. Orders
    are no argument: the rest is the same whoever has ordered.

    Parameters
    ----------
    playbook, day
        The playbook, and the day as it was planned last.
    at
        What time it is, in seconds after midnight. Where a vehicle is follows from it: at the node that it comes to
        next. Who has begun a stop finishes it.
    positions
        Per vehicle, from 1, its place on its route of ``day``, from 0; needed where the day has no times. Stops at that
        place are still to be made; a pair says how many stops of the route are done.
    broken
        Vehicles, from 1, that stay where they are.
    closed, closed_one_way, closed_nodes, costs
        What has changed on the map, as in :func:`vr.replan`. What was closed before stays closed.
    choice
        ``go-on`` or ``give-up``: what is done about classes that keep their promise no more, because members are out of
        reach. Do not let it depend on who has ordered.
    late
        Drive on where windows or shifts cannot be kept: all may be missed by the same time, as little as is found.
    keep
        Vehicles keep the customers that they had, as where they have the goods of each on board; only those of vehicles
        that stay go to others.
    progress, should_stop
        As in :func:`veilroute.solve`.

    Raises
    ------
    FallsShortError
        Classes keep their promise no more, and there is no choice; it says who is exposed by either.
    InvalidInputError
        The terms cannot be kept; it says which, and by how much.
    """
    from veilroute.fleet.replanning import replan_day

    return replan_day(
        playbook,
        day,
        at=at,
        positions=positions,
        closure=Closure.of(closed, closed_one_way, closed_nodes, costs),
        broken=tuple(broken),
        choice=choice,
        late=late,
        keep=keep,
        watch=Watch(progress, None, should_stop),
    )
