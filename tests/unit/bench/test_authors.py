"""The paper's methods as its authors' program runs them: what each figure is made of, and that they stay apart."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import veilroute as vr
from veilroute import InvalidInputError, Watch, bench

PRIVACY = vr.Privacy(2, 1, spread="all-pairs")


def corridor() -> vr.Problem:
    """From the middle of a corridor and back: the base costs of the four candidates are 4, 6, 8 and 10."""
    domain = vr.grid_domain(["." * 13])
    return vr.Problem(domain, [vr.Trip((0, 6), (0, 6))], [(0, 4), (0, 9), (0, 2), (0, 11)])


def read(method: bench.Method, ratio: float | None, *, is_carried: bool = False) -> bench.Outcome:
    return bench.read_as_authors(corridor(), PRIVACY, method, ratio, is_carried=is_carried, watch=Watch())


def test_the_carried_sum_holds_the_walks_of_all_candidates_before() -> None:
    """At ratio 1 the walks have 4, 6, 8 and 10 nodes, and cost 3, 5, 7 and 9."""
    carried, reset = read(bench.RBP, 1.0, is_carried=True).mac, read(bench.RBP, 1.0).mac
    assert carried is not None and reset is not None
    assert carried - reset == pytest.approx((3 / 6 + (3 + 5) / 8 + (3 + 5 + 7) / 10) / 4)


def test_a_long_m_is_the_whole_route_of_pbp() -> None:
    whole = vr.solve(corridor(), PRIVACY, planner="pbp", partitioner="merge-bb")
    assert read(bench.M_PBP, 10.0).mac == pytest.approx(whole.mac)
    for method in (bench.RBP, bench.CBP, bench.M_PBP):
        outcome = read(method, 0.0)
        assert (outcome.mac, outcome.num_anonymized) == (0.0, 4), "without shared nodes nothing is paid"
    assert (read(bench.M_PBP, 0.5).mac or 0) < (whole.mac or 0)


def test_m_follows_the_secret() -> None:
    """Half its base cost is the way to each place: a member that shares that much of a route has come to its place."""
    outcome = read(bench.Method("m-pbp", "merge-bb", "cost-asc", "tunnel"), 0.5)
    # Classes are those of one side, (4, 8) and (6, 10): the nearer one turns back at its place.
    assert outcome.mac == 0.0


def test_other_methods_have_no_such_reading() -> None:
    with pytest.raises(InvalidInputError, match="rbp, cbp, m-pbp or naive"):
        read(bench.OPTIMAL, 1.0)
    for method, ratio in ((bench.NAIVE["tunnel"], 1.0), (bench.RBP, None)):
        with pytest.raises(InvalidInputError, match="a finite m"):
            read(method, ratio)
    with pytest.raises(InvalidInputError, match="carried for Rbp only"):
        read(bench.CBP, 1.0, is_carried=True)


def test_naive_is_priced_by_the_pairs_that_gnus_shuffle_draws() -> None:
    """Seed 42 shuffles four places to 1, 2 and 3, 0 of the list: cells 9 and 2, and cells 11 and 4, 14 steps each."""
    outcome = read(bench.NAIVE["tunnel"], None)
    assert outcome.mac == pytest.approx((14 / 6 + 14 / 8 + 14 / 10 + 14 / 4 - 4) / 4)
    stated = read(bench.Method("pbp", "naive", "", "tunnel", (("shuffle", "python"),)), None)
    assert stated.mac != outcome.mac, "what a method states goes before what the program does"


@pytest.mark.parametrize("planner", ["rbp", "cbp", "m-pbp"])
@pytest.mark.parametrize("map_name", ["den201d", pytest.param("", marks=pytest.mark.slow, id="all")])
def test_each_run_of_the_authors_comes_out(map_name: str, planner: str, shared: Path) -> None:
    """The figures of each run that the authors have published, to the digits that they have written down."""
    path, method = (
        shared / "instances" / "authors-finite-m.csv",
        {"rbp": bench.RBP, "cbp": bench.CBP, "m-pbp": bench.M_PBP}[planner],
    )
    if not path.is_file():
        pytest.skip("the authors' figures of each run are not here")
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 690 and {row["map"] for row in rows} == set(bench.MAPS)
    instances = {(each.map_name, each.seed): each for each in bench.read_paper_instances()}
    domains = {file.stem: vr.read_movingai(file) for file in (shared / "maps").rglob(f"{map_name or '*'}.map")}
    own = [row for row in rows if row["planner"] == planner and row["map"] in (map_name or bench.MAPS)]
    assert own
    for row in own:
        at, ratio, printed = instances[row["map"], int(row["seed"])], float(row["ratio"]), float(row["mac"])
        problem = vr.Problem(domains[at.map_name], [vr.Trip(at.start, at.goal)], at.candidates[:8])
        is_carried = planner == "rbp"
        ours = bench.read_as_authors(problem, PRIVACY, method, ratio, is_carried=is_carried, watch=Watch()).mac
        # Written down are six digits, for m-Pbp six behind the point.
        slack = 6e-7 if planner == "m-pbp" else 6e-6 * printed
        assert ours == pytest.approx(printed, rel=0, abs=slack), row
