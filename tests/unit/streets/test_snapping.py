from __future__ import annotations

import numpy as np
import pytest

import veilroute as vr
from street_samples import little_town, place
from veilroute.domain import great_circle_m, street_domain
from veilroute.streets import snap, span_text


def test_the_nearest_junction_and_how_far_it_is() -> None:
    town = little_town()
    lon, lat = place(107)
    found = snap(town, (lon + 0.0001, lat - 0.0002))
    assert town.label(found.node) == 107
    assert found.distance_m == pytest.approx(np.hypot(0.0001 * 0.4974, 0.0002) * 111_195, rel=1e-3)
    assert snap(town, place(112)).distance_m == 0.0


def test_east_and_west_count_less_in_the_north() -> None:
    """At 60 degrees a degree of longitude is half as long as one of latitude."""
    domain = street_domain(
        lonlat=[(25.0, 60.001), (25.0015, 60.0)], tails=[0], heads=[1], costs=[1], lengths=[1], unit="metres"
    )
    assert snap(domain, (25.0, 60.0)).node == 1


def test_ties_go_to_the_smallest_number() -> None:
    corners = [(0.001, 0.0), (0.0, 0.001), (-0.001, 0.0), (0.0, -0.001)]
    for turn in range(4):
        lonlat = corners[turn:] + corners[:turn]
        domain = street_domain(lonlat=lonlat, tails=[0], heads=[1], costs=[1], lengths=[1], unit="metres")
        assert snap(domain, (0.0, 0.0)).node == 0


def test_junctions_equally_near_to_the_millimetre_are_a_tie() -> None:
    lonlat = [(0.001 + 1e-10, 0.0), (-0.001, 0.0)]
    domain = street_domain(lonlat=lonlat, tails=[0], heads=[1], costs=[1], lengths=[1], unit="metres")
    assert snap(domain, (0.0, 0.0)).node == 0


def test_it_agrees_with_looking_at_every_junction() -> None:
    rng = np.random.default_rng(5)
    lonlat = rng.uniform((24.9, 60.1), (25.0, 60.2), (200, 2))
    domain = street_domain(lonlat=lonlat, tails=[0], heads=[1], costs=[1], lengths=[1], unit="metres")
    for point in rng.uniform((24.9, 60.1), (25.0, 60.2), (20, 2)).tolist():
        found = snap(domain, tuple(point))
        assert found.distance_m == pytest.approx(min(float(great_circle_m(point, there)) for there in lonlat))


def test_only_street_networks_have_places(line5: vr.Domain) -> None:
    with pytest.raises(vr.InvalidInputError, match="street network"):
        snap(line5, (0.0, 0.0))


def test_where_a_map_is() -> None:
    streets = little_town().streets
    assert streets is not None
    assert span_text(streets) == "latitude 60.170 to 60.172, longitude 24.940 to 24.946"
