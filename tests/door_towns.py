"""Winding towns with rules for turns, and problems whose places stand beside their streets."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np

import veilroute as vr
from veilroute.domain import Turns, great_circle_m, street_domain
from veilroute.streets import DoorFinder, open_doors


def winding_town(
    seed: int, *, side: int = 6, u_turns: str = "dead-ends", num_banned: int = 8, u_turn_cost: float = 0.0
) -> vr.Domain:
    """A grid of streets with gaps, one-way streets, bends, dead ends and banned turns; costs are seconds at 36 km/h."""
    rng = random.Random(seed)
    spots = [(24.9 + 0.002 * x + rng.uniform(-4e-4, 4e-4), 60.1 + 0.001 * y) for y in range(side) for x in range(side)]
    pairs = [(n, n + 1) for n in range(side * side) if (n + 1) % side]
    pairs += [(n, n + side) for n in range(side * (side - 1))]
    rows: list[tuple[int, int, list[tuple[float, float]], str]] = []
    for tail, head in pairs:
        kind = rng.random()
        if kind < 0.1:
            continue
        middle = [(spots[tail][i] + spots[head][i]) / 2 + rng.uniform(-1e-4, 1e-4) for i in range(2)]
        bends = [(middle[0], middle[1])] if rng.random() < 0.5 else []
        name = f"Street {tail % side if head - tail > 1 else tail // side}"
        rows.append((tail, head, bends, name))
        if kind < 0.85:
            rows.append((head, tail, bends[::-1], name))
    names = sorted({row[3] for row in rows})
    lines = [np.array([spots[tail], *bends, spots[head]]) for tail, head, bends, _ in rows]
    metres = [float(great_circle_m(line[:-1], line[1:]).sum()) for line in lines]
    ahead: dict[int, list[int]] = {}
    for tail, head, *_ in rows:
        ahead.setdefault(tail, []).append(head)
    banned = []
    for _ in range(num_banned):
        stretch = list(rng.choice(rows)[:2])
        while len(stretch) < 3 or (len(stretch) < 5 and rng.random() < 0.4):
            if not ahead.get(stretch[-1]):
                break
            stretch.append(rng.choice(ahead[stretch[-1]]))
        banned += [stretch] if len(stretch) > 2 else []
    return street_domain(
        lonlat=spots,
        tails=[row[0] for row in rows],
        heads=[row[1] for row in rows],
        costs=[length / 10 for length in metres],
        lengths=metres,
        unit="seconds",
        labels=[f"J{n}" for n in range(side * side)],
        names=names,
        name_ids=[names.index(row[3]) for row in rows],
        shape_ptr=np.concatenate([[0], np.cumsum([len(row[2]) for row in rows])]),
        shape=np.array([bend for row in rows for bend in row[2]]).reshape(-1, 2),
        turns=Turns.of(u_turns, banned, u_turn_cost),
    )


def door_problem(
    seed: int, town: vr.Domain | None = None, *, num: int = 8, side: str = "any", num_twins: int = 2,
    names: Mapping[int, str] | None = None,
) -> vr.Problem:  # fmt: skip
    """Places drawn over the town, some of them where another is; the first two are start and goal.

    ``names`` calls some of them by something else than "Place 3".
    """
    rng = random.Random(1000 + seed)
    town = winding_town(seed) if town is None else town
    assert town.streets is not None
    (west, south), (east, north) = town.streets.lonlat.min(axis=0).tolist(), town.streets.lonlat.max(axis=0).tolist()
    spots = [(rng.uniform(west, east), rng.uniform(south, north)) for _ in range(num + 2 - num_twins)]
    spots += [rng.choice(spots[2:]) for _ in range(num_twins)]
    finder = DoorFinder(town, side=side)
    called = [(names or {}).get(i, f"Place {i}") for i in range(len(spots))]
    domain, labels = open_doors(town, [(name, finder.find(spot)) for name, spot in zip(called, spots, strict=True)])
    places = dict(zip(labels, spots, strict=True))
    return vr.Problem(domain, [vr.Trip(labels[0], labels[1])], labels[2:], places=places)
