"""Distances in metres for ell and for sight, planned in seconds."""

from __future__ import annotations

from dataclasses import replace

import veilroute as vr
from veilroute.domain import street_domain


def test_a_slow_street_counts_where_a_fast_one_is_kept() -> None:
    """Of two streets from 0 to 1 the faster is 500 m long and is the one to drive; the slower is 115 m."""
    town = street_domain(
        lonlat=[(24.940, 60.170), (24.942, 60.170), (24.944, 60.170)],
        tails=[0, 0, 1, 1, 1, 2], heads=[1, 1, 0, 0, 2, 1],
        costs=[20.0, 40.0, 20.0, 40.0, 9.0, 9.0], lengths=[500.0, 115.0, 500.0, 115.0, 111.0, 111.0], unit="seconds",
    )  # fmt: skip
    assert town.streets is not None
    assert town.streets.lengths.tolist() == [500.0, 500.0, 111.0, 111.0]
    assert town.streets.shortest.tolist() == [115.0, 115.0, 111.0, 111.0]
    problem = vr.Problem(town, [vr.Trip(2, 2)], [0, 1])
    for measure in ("driving", "walking"):
        privacy = vr.Privacy(k=2, ell=300, measure=measure)
        assert vr.solve(problem, privacy).status == "infeasible"
        near = vr.solve(problem, vr.Privacy(k=2, ell=100, measure=measure))
        claims = {verdict.claim for verdict in vr.audit(replace(near, privacy=privacy)).claims if not verdict.holds}
        assert "spread" in claims
