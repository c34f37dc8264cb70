"""Hypothesis strategies for small awkward problems."""

from __future__ import annotations

from hypothesis import strategies as st

import veilroute as vr


@st.composite
def domains(draw: st.DrawFn, max_nodes: int = 8) -> vr.Domain:
    """Directed or not, connected or not, unit, integer, float or zero costs."""
    num_nodes = draw(st.integers(2, max_nodes))
    node = st.integers(0, num_nodes - 1)
    pairs = draw(st.lists(st.tuples(node, node), min_size=1, max_size=3 * num_nodes))
    if draw(st.booleans()):
        pairs = pairs + [(b, a) for a, b in pairs]
    kind = draw(st.sampled_from(["unit", "two", "integer", "float", "zeros"]))
    cost = {
        "unit": st.just(1),
        "two": st.just(2),
        "integer": st.integers(1, 4),
        "float": st.sampled_from([0.1, 0.5, 1.0, 1.7, 2.25]),
        "zeros": st.integers(0, 2),
    }[kind]
    costs = [draw(cost) for _ in pairs]
    return vr.Domain.from_edges(num_nodes, [a for a, _ in pairs], [b for _, b in pairs], costs)


@st.composite
def problems(draw: st.DrawFn, max_nodes: int = 8, max_candidates: int = 5, max_trips: int = 2) -> vr.Problem:
    domain = draw(domains(max_nodes))
    node = st.integers(0, domain.num_nodes - 1)
    num_trips = draw(st.integers(1, max_trips))
    trips = [vr.Trip(draw(node), draw(node), draw(st.sampled_from([1.0, 0.5, 3.0]))) for _ in range(num_trips)]
    candidates = draw(st.lists(node, min_size=1, max_size=max_candidates, unique=True))
    visibility: vr.Visibility
    match draw(st.sampled_from(["at", "within", "explicit"])):
        case "at":
            visibility = vr.AtNode()
        case "within":
            visibility = vr.WithinDistance(draw(st.sampled_from([0, 0.6, 1, 2, 2.2])))
        case _:
            sees = draw(st.dictionaries(node, st.lists(node, max_size=3, unique=True), max_size=domain.num_nodes))
            visibility = vr.Explicit(sees)
    return vr.Problem(domain, trips, candidates, visibility)


@st.composite
def privacies(draw: st.DrawFn, max_k: int = 3) -> vr.Privacy:
    return vr.Privacy(
        k=draw(st.integers(1, max_k)),
        ell=draw(st.sampled_from([0, 0.5, 1, 1.5, 2, 3])),
        spread=draw(st.sampled_from(["witness", "all-pairs"])),
    )
