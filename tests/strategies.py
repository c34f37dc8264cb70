"""Hypothesis strategies for small awkward problems.

Hypothesis chooses the kind and size; what fills them is drawn uniformly from a seeded generator, because its own
choices lean to the smallest, and most problems would then have nothing to cover.
"""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

import veilroute as vr

KINDS = ("ring", "ring", "tree", "tree", "path", "loose")
COSTS: dict[str, tuple[float, ...]] = {
    "unit": (1,),
    "two": (2,),
    "integer": (1, 2, 3, 4),
    "float": (0.1, 0.5, 1.0, 1.7, 2.25),
    "zeros": (0, 0, 1, 2),
}


def build_domain(rng: Random, kind: str, costs: str, num_nodes: int) -> vr.Domain:
    chords = [(rng.randrange(num_nodes), rng.randrange(num_nodes)) for _ in range(rng.randint(0, num_nodes))]
    match kind:
        case "ring":  # one-way, strongly connected
            pairs = [(i, (i + 1) % num_nodes) for i in range(num_nodes)] + chords
        case "tree":  # both ways, connected
            tree = [(rng.randrange(i), i) for i in range(1, num_nodes)] + chords[:3]
            pairs = tree + [(b, a) for a, b in tree]
        case "path":  # one-way and forwards, but for the chords
            pairs = [(i, i + 1) for i in range(num_nodes - 1)] + chords[: num_nodes // 2]
        case _:  # possibly in several parts
            pairs = [*chords, *chords[::2], (0, 1)] + [(b, a) for a, b in chords[: num_nodes // 2]]
    return vr.Domain.from_edges(
        num_nodes, [a for a, _ in pairs], [b for _, b in pairs], [rng.choice(COSTS[costs]) for _ in pairs]
    )


def build_visibility(rng: Random, kind: str, num_nodes: int) -> vr.Visibility:
    match kind:
        case "at":
            return vr.AtNode()
        case "within":
            return vr.WithinDistance(rng.choice([0, 0.6, 1, 2, 2.2]))
        case _:
            # Everybody is seen from somewhere, most from several nodes; some nodes see nothing.
            sees: dict[int, list[int]] = {}
            for node in range(num_nodes):
                for seer in rng.sample(range(num_nodes), rng.randint(1, min(3, num_nodes))):
                    sees.setdefault(seer, []).append(node)
            return vr.Explicit(sees)


def rooms(
    num: int, seed: int = 0, *, radius: float = 0, num_trips: int = 1, prior: list[float] | None = None
) -> vr.Problem:
    """A building with this many candidates, for what a handful of nodes does not show."""
    domain = vr.generate_rooms(25, 25, seed=seed)
    rng = Random(seed)
    cells = [domain.label(node) for node in range(domain.num_nodes)]
    trips = [vr.Trip(rng.choice(cells), rng.choice(cells), weight) for weight in (1.0, 2.0)[:num_trips]]
    candidates = vr.draw_candidates(domain, trips[0].start, trips[0].goal, num, seed=seed)
    return vr.Problem(domain, trips, candidates, vr.WithinDistance(radius), prior=prior)


@st.composite
def domains(draw: st.DrawFn, max_nodes: int = 8) -> vr.Domain:
    """Directed or not, connected or not, unit, integer, float or zero costs."""
    rng = draw(st.randoms(use_true_random=True))
    kind, costs = draw(st.sampled_from(KINDS)), draw(st.sampled_from(sorted(COSTS)))
    return build_domain(rng, kind, costs, rng.randint(max_nodes // 2, max_nodes))


@st.composite
def problems(draw: st.DrawFn, max_nodes: int = 8, max_candidates: int = 5, max_trips: int = 2) -> vr.Problem:
    """Any domain with one or several trips and any visibility but line of sight."""
    domain = draw(domains(max_nodes))
    rng = draw(st.randoms(use_true_random=True))
    nodes = range(domain.num_nodes)
    num_trips = draw(st.integers(1, max_trips))
    trips = [vr.Trip(rng.choice(nodes), rng.choice(nodes), rng.choice([1.0, 0.5, 3.0])) for _ in range(num_trips)]
    if draw(st.booleans()):  # from the first node to the last: on a path, the trip that can see them all
        trips = [vr.Trip(0, domain.num_nodes - 1, trip.weight) for trip in trips]
    candidates = rng.sample(nodes, min(len(nodes), rng.randint((max_candidates + 1) // 2, max_candidates)))
    visibility = build_visibility(rng, draw(st.sampled_from(["at", "within", "explicit"])), domain.num_nodes)
    return vr.Problem(domain, trips, candidates, visibility)


@st.composite
def privacies(draw: st.DrawFn, max_k: int = 3) -> vr.Privacy:
    """Any reading of spread, with an ell that sometimes matters."""
    return vr.Privacy(
        k=draw(st.sampled_from([2, *range(1, max_k + 1)])),
        ell=draw(st.sampled_from([0, 0.5, 1, 1.5, 2, 3])),
        spread=draw(st.sampled_from(["witness", "all-pairs"])),
    )
