"""The authors' reading of m: what its rows are made of, and that they stay apart from ours."""

from __future__ import annotations

from dataclasses import replace

import pytest

import veilroute as vr
from bench_runs import small_terrain
from bench_samples import make_record
from veilroute.bench.authors import read_as_authors
from veilroute.bench.cells import AUTHORS, CARRIED, TEXT, Method, Outcome, record_from_dict
from veilroute.bench.paper import BOUNDED_KS, CBP, M_PBP, M_RATIOS, OPTIMAL, RBP, TABLE4, number
from veilroute.bench.runner import Job, map_text, run_cell
from veilroute.bench.suites import SUITES, Choice, build_cells, suite_names
from veilroute.errors import InvalidInputError
from veilroute.progress import Watch

PRIVACY = vr.Privacy(2, 1, spread="all-pairs")


def corridor() -> vr.Problem:
    """From the middle of a corridor and back: the base costs of the four candidates are 4, 6, 8 and 10."""
    domain = vr.grid_domain(["." * 13])
    return vr.Problem(domain, [vr.Trip((0, 6), (0, 6))], [(0, 4), (0, 9), (0, 2), (0, 11)])


def read(method: Method, ratio: float, *, is_carried: bool = False) -> Outcome:
    return read_as_authors(corridor(), PRIVACY, method, ratio, is_carried=is_carried, seed=3, watch=Watch())


def test_the_carried_sum_holds_the_walks_of_all_candidates_before() -> None:
    """At ratio 1 the walks have 4, 6, 8 and 10 nodes, and cost 3, 5, 7 and 9."""
    carried, reset = read(RBP, 1.0, is_carried=True).mac, read(RBP, 1.0).mac
    assert carried is not None and reset is not None
    assert carried - reset == pytest.approx((3 / 6 + (3 + 5) / 8 + (3 + 5 + 7) / 10) / 4)


def test_without_shared_nodes_nothing_is_paid() -> None:
    for method in (RBP, CBP, M_PBP):
        outcome = read(method, 0.0)
        assert (outcome.mac, outcome.apr, outcome.num_anonymized) == (0.0, 1.0, 4)


def test_a_long_m_is_the_whole_route_of_pbp() -> None:
    whole = vr.solve(corridor(), PRIVACY, planner="pbp", partitioner="merge-bb")
    assert read(M_PBP, 10.0).mac == pytest.approx(whole.mac)
    assert (read(M_PBP, 0.5).mac or 0) < (whole.mac or 0)


def test_m_follows_the_secret() -> None:
    """Half its base cost is the way to each place: who shares that much of a route past two has gone to its own."""
    outcome = read(Method("m-pbp", "merge-bb", "cost-asc", "tunnel"), 0.5)
    # Classes are those of one side, (4, 8) and (6, 10): the nearer one turns back at its place.
    assert outcome.mac == 0.0


def test_other_methods_have_no_such_reading() -> None:
    with pytest.raises(InvalidInputError, match="rbp, cbp or m-pbp"):
        read(OPTIMAL, 1.0)
    with pytest.raises(InvalidInputError, match="carried for Rbp only"):
        read(CBP, 1.0, is_carried=True)


def test_the_suite_comes_with_the_reading_only() -> None:
    assert "authors" not in suite_names("all")
    assert set(suite_names("all", AUTHORS)) == set(SUITES)
    assert suite_names("table4", AUTHORS) == ("table4", "authors")
    for suite, reading, message in (("table1", AUTHORS, "table4, or all"), ("table4", "mine", "text, authors")):
        with pytest.raises(InvalidInputError, match=message):
            suite_names(suite, reading)


def test_records_of_both_readings_stay_apart() -> None:
    terrain = small_terrain()
    cells = build_cells(suite_names("table4", AUTHORS), terrain, Choice(time_limit_s=20))
    assert {(cell.method, cell.reading) for cell in cells if cell.reading != TEXT} == {
        (RBP, AUTHORS), (RBP, CARRIED), (CBP, AUTHORS), (M_PBP, AUTHORS)
    }  # fmt: skip
    cell = next(cell for cell in cells if cell.reading == CARRIED and cell.m_ratio == 0.5)
    text = map_text(terrain.domains["rooms-2"])
    record = record_from_dict(run_cell(Job(cell, text, "test")))
    assert record.cell == cell and record.has_ended and record.outcome.playbook is None
    assert "reading" not in replace(cell, reading=TEXT).to_dict()
    assert not SUITES["table3"].holds(cell) and not SUITES["table4"].holds(cell) and SUITES["authors"].holds(cell)


def test_the_largest_difference_is_that_of_the_row() -> None:
    """A row that is the paper's but for one figure, which is a quarter above it."""
    records = []
    for ratio, printed in TABLE4[M_PBP, 2].items():
        mac = (number(printed) or 0) * (1.25 if ratio == M_RATIOS[2] else 1)
        record = make_record(M_PBP, k=2, m_ratio=ratio, mac=mac, status="feasible")
        records.append(replace(record, cell=replace(record.cell, reading=AUTHORS)))
    (table,) = SUITES["authors"].build_tables(records)
    by_row = {row[:3]: row[-2] for row in table.rows}
    assert by_row[2, "m-Pbp", "authors' reading"] == "25.0 %"
    assert by_row[3, "m-Pbp", "authors' reading"] is None
    assert len([row for row in table.rows if row[2] == "paper"]) == 4 * len(BOUNDED_KS)
    assert "UNSAFE" in table.to_text()
