"""Studies: what a file may say, what becomes of it, and what is wrong with one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import veilroute as vr
from bench_runs import InlineWorkforce
from veilroute import Instance, InvalidInputError, bench, write_instance
from veilroute.analysis import watch_playbook

HEAD = 'format = "veilroute-study/1"\n'
ONE = '[[experiment]]\nname = "one"\ncandidates = 4\nmethods = ["optimal"]\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def find(folder: Path, text: str) -> tuple[bench.Study, bench.Terrain]:
    """A study, and its terrain by the usual preset."""
    study = bench.read_study(write(folder, text))
    return study, study.find_terrain(study.preset(None)[1])


def test_to_run_the_papers_file_is_to_run_the_suites() -> None:
    study, direct = bench.read_study("paper"), bench.find_terrain(num_pairs=1, map_names=["rooms-2"])
    amount = replace(study.preset("quick")[1], pairs=1)
    choice = bench.Choice(amount.time_limit_s)
    ours = bench.build_cells(study.within(amount), study.find_terrain(amount, map_names=("rooms-2",)), choice)
    assert [cell.key for cell in ours] == [
        cell.key for cell in bench.build_cells(bench.suite_names("all"), direct, choice)
    ]
    assert study.is_paper


@pytest.mark.parametrize("name", bench.shipped_studies())
def test_every_shipped_study_has_cells_in_its_smallest_form(name: str) -> None:
    study = bench.read_study(name)
    _, amount = study.preset(None)
    names = ("rooms-2",) if any("maps" in spec for spec in study.terrain) else ()
    cells = bench.build_cells(
        study.within(amount), study.find_terrain(amount, map_names=names), bench.Choice(amount.time_limit_s)
    )
    assert cells


@pytest.fixture
def town(tmp_path: Path) -> tuple[Path, vr.Problem]:
    """A study of three kinds of terrain: an instance file on streets, a map of one's own, generated streets."""
    domain = vr.generate_streets(6, 6, seed=4)
    start, goal = domain.label(0), domain.label(20)
    problem = vr.Problem(domain, [vr.Trip(start, goal)], vr.draw_candidates(domain, start, goal, 6, seed=2))
    write_instance(Instance(problem), tmp_path / "town.json")
    rows = ["." * 12] * 8
    (tmp_path / "hall.map").write_text("type octile\nheight 8\nwidth 12\nmap\n" + "\n".join(rows) + "\n")
    text = """
title = "Mine"
pairs = 2
time_limit_s = 20
[[terrain]]
file = "town.json"
[[terrain]]
file = "hall.map"
candidates = 6
[[terrain]]
streets = [5, 5]
name = "blocks"
[[experiment]]
name = "mine"
candidates = [4, 6]
k = [2, 3]
spread = "witness"
draws = 2
methods = ["optimal", "pbp/naive/blind", "pbp/df-bb/tunnel/branch_order=join-first"]
[[experiment]]
name = "bounded"
candidates = 4
m = [3, "inf"]
methods = ["optimal"]
"""
    return write(tmp_path, text), problem


def test_a_study_runs_on_files_and_generated_maps(town: tuple[Path, vr.Problem], tmp_path: Path) -> None:
    path, problem = town
    study = bench.read_study(path)
    _, amount = study.preset(None)
    terrain = study.find_terrain(amount)
    counts = {name: sum(i.map_name == name for i in terrain.instances) for name in terrain.domains}
    assert counts == {"town": 1, "hall": 2, "blocks": 2}
    cells = bench.build_cells(study.suites, terrain, bench.Choice(amount.time_limit_s))
    # On each of 5 instances 2 sizes, 2 k and 4 runs, as Naive draws twice; then 2 m.
    assert len(cells) == 5 * (2 * 2 * 4 + 2)
    seeds = {cell.draw: cell.seed for cell in cells if cell.method.partitioner == "naive" and cell.instance.seed == 2}
    assert seeds == {0: 2, 1: 2 + 10**6}
    with bench.RecordStore(tmp_path / "out") as store:
        run = bench.run_cells(cells, terrain.domains, store, InlineWorkforce(), run_id="test")
    assert not run.errors
    by_cell = {record.cell: record for record in run.records}
    # What is recorded is what planning the file gives.
    cell = next(c for c in cells if c.instance.map_name == "town" and c.num_candidates == 6 and c.k == 3)
    expected = vr.solve(problem, vr.Privacy(k=3, ell=1, spread="witness"))
    assert by_cell[cell].outcome.mac == pytest.approx(expected.mac)
    assert by_cell[cell] == bench.record_from_dict(by_cell[cell].to_dict())
    bounded = [record for record in run.records if record.cell.m == 3]
    assert bounded and all(record.outcome.m == 3 for record in bounded)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('colour = "red"\n' + ONE, "colour: expected one of format, title"),
        (ONE.replace("4", "1"), "one.candidates: expected integers from 2 to 100000, got 1"),
        (ONE + 'm = 3\nm_ratio = 0.5\n', "m or m_ratio, not both"),
        (ONE + "risk = 1.5\n", "one.risk: expected numbers from 1e-09 to 0.999999999, or 'none'"),
        (ONE + "risk = 0.5\nk = 3\n", "one.k: expected k or risk"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_study_is_said(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        bench.read_study(write(tmp_path, text))


def test_the_prior_of_an_instance_file_is_planned_under(town: tuple[Path, vr.Problem], tmp_path: Path) -> None:
    weights = [6.0, 1.0, 2.0, 1.0, 3.0, 7.0]
    problem = replace(town[1], prior=weights)
    write_instance(Instance(problem), tmp_path / "town.json")
    text = '[[terrain]]\nfile = "town.json"\n[[terrain]]\nfile = "hall.map"\ncandidates = 6\n'
    text += ONE.replace("= 4", "= [4, 6]").replace('"one"', '"one"\nspread = "witness"\nwatched = true')
    text += '[[experiment]]\nname = "risky"\ncandidates = 6\nspread = "witness"\nrisk = 0.7\nmethods = ["optimal"]\n'
    study, terrain = find(tmp_path, text)
    cells = bench.build_cells(study.suites, terrain, bench.Choice(20))
    priors = {(cell.instance.map_name, cell.num_candidates): cell.instance.prior for cell in cells}
    assert problem.prior is not None
    first = {("town", 6): problem.prior, ("town", 4): tuple(problem.prior[:4])}
    assert priors == {**first, ("hall", 4): None, ("hall", 6): None}, "the first candidates have the first weights"
    with bench.RecordStore(tmp_path / "out") as store:
        run = bench.run_cells(cells, terrain.domains, store, InlineWorkforce(), run_id="test")
    assert not run.errors
    for record in run.records:
        cell, at = record.cell, record.cell.instance
        assert record == bench.record_from_dict(record.to_dict()), "the prior is read back"
        prior = weights[: cell.num_candidates]
        if at.map_name == "hall":
            prior = [1 / rank for rank in range(1, cell.num_candidates + 1)] if cell.is_watched else [1.0] * 6
        asked = vr.Problem(terrain.domains[at.map_name], [vr.Trip(at.start, at.goal)], at.candidates, prior=prior)
        ours = {"risk": cell.risk} if cell.risk else {"k": cell.k}
        book = vr.solve(asked, vr.Privacy(ell=cell.ell, spread="witness", **ours))
        assert record.outcome.mac == pytest.approx(book.mac)
        if cell.is_watched:
            watched = watch_playbook(book, "bayesian")
            guesses = {name: (within, end) for name, within, end in record.outcome.guesses}
            assert guesses["bayesian"] == pytest.approx((watched.success, watched.success_at_end))
