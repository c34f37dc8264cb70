"""Two independent answers to "who sees what": the planner's and the auditor's."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import veilroute as vr
from strategies import problems
from veilroute.auditing import survey_problem
from veilroute.covering import find_watchers


def assert_same_watchers(problem: vr.Problem) -> None:
    ours = find_watchers(problem.domain, problem.visibility, [problem.candidate_nodes[i] for i in problem.counted])
    theirs = survey_problem(problem).watchers
    for position, nodes in zip(problem.counted, ours, strict=True):
        assert nodes.tolist() == sorted(theirs[position]), position


@given(problems(max_nodes=12))
def test_graphs(problem: vr.Problem) -> None:
    assert_same_watchers(problem)


@given(
    hnp.arrays(bool, st.tuples(st.integers(2, 9), st.integers(2, 9)), elements=st.sampled_from([True, True, False])),
    st.sampled_from([0, 1, 1.5, 2, math.sqrt(5), 3.3, math.sqrt(13), 5, 20]),
    st.sampled_from([4, 8]),
    st.booleans(),
)
def test_grids(free: np.ndarray, reach: float, movement: int, by_sight: bool) -> None:
    free[0, :2] = True
    domain = vr.grid_domain(free, movement=movement)
    cells = [domain.label(node) for node in range(domain.num_nodes)]
    visibility = vr.LineOfSight(reach) if by_sight else vr.WithinDistance(reach)
    assert_same_watchers(vr.Problem(domain, [vr.Trip((0, 0), (0, 1))], cells, visibility))


def test_sight_is_symmetric_in_a_building() -> None:
    domain = vr.generate_rooms(24, 30, seed=3)
    watchers = find_watchers(domain, vr.LineOfSight(7), range(domain.num_nodes))
    sees = [set(nodes.tolist()) for nodes in watchers]
    assert all(a in sees[b] for a in range(domain.num_nodes) for b in sees[a])
