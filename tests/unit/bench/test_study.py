"""Studies: what a file may say, what becomes of it, and what is wrong with one."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import veilroute as vr
from bench_runs import InlineWorkforce
from bench_samples import make_record
from veilroute.bench import paper
from veilroute.bench.cells import Method, record_from_dict
from veilroute.bench.comparing import (
    bootstrap_interval,
    build_paired,
    build_tables,
    correct_by_holm,
    draw_pictures,
    paired_p_value,
)
from veilroute.bench.results import RecordStore
from veilroute.bench.runner import Job, map_text, run_cell, run_cells
from veilroute.bench.study import read_study, shipped_studies
from veilroute.bench.suites import SUITES, Choice, Terrain, build_cells, find_terrain
from veilroute.errors import InvalidInputError
from veilroute.formats.instance import Instance, write_instance

HEAD = 'format = "veilroute-study/1"\n'
ONE = '[[experiment]]\nname = "one"\ncandidates = 4\nmethods = ["optimal"]\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def test_the_papers_file_has_the_methods_and_settings_of_its_tables() -> None:
    (table1,), (table4,) = SUITES["table1"].variations, SUITES["table4"].variations
    assert table1.methods == paper.PARTITIONING and table1.sizes == paper.SIZES
    assert (table4.methods, table4.ks, table4.m_ratios) == (paper.BOUNDED, paper.BOUNDED_KS, paper.M_RATIOS)
    (klr,), (convergence,) = SUITES["klr"].variations, SUITES["convergence"].variations
    assert (klr.methods, klr.ks, klr.ells, klr.radii) == (
        paper.KLR_METHODS, paper.KLR_KS, paper.KLR_ELLS, paper.KLR_RADII
    )  # fmt: skip
    assert convergence.methods == paper.CONVERGING


def test_running_the_papers_file_is_running_its_suites() -> None:
    study = read_study("paper")
    _, amount = study.preset("quick")
    amount = replace(amount, pairs=1)
    terrain = study.find_terrain(amount, map_names=("rooms-2",))
    direct = find_terrain(num_pairs=1, map_names=["rooms-2"])
    choice = Choice(amount.time_limit_s)
    ours, theirs = build_cells(study.within(amount), terrain, choice), build_cells(list(SUITES), direct, choice)
    assert [cell.key for cell in ours] == [cell.key for cell in theirs]


@pytest.mark.parametrize("name", shipped_studies())
def test_every_shipped_study_has_cells_in_its_smallest_form(name: str) -> None:
    study = read_study(name)
    _, amount = study.preset(None)
    names = ("rooms-2",) if any("maps" in spec for spec in study.terrain) else ()
    cells = build_cells(study.within(amount), study.find_terrain(amount, map_names=names), Choice(amount.time_limit_s))
    assert cells
    sizes = [preset.most_candidates or 10**6 for preset in study.presets.values()]
    assert all(a <= b for a, b in pairwise(sizes))


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
    study = read_study(path)
    _, amount = study.preset(None)
    terrain = study.find_terrain(amount)
    assert {name: sum(i.map_name == name for i in terrain.instances) for name in terrain.domains} == {
        "town": 1, "hall": 2, "blocks": 2
    }  # fmt: skip
    cells = build_cells(study.suites, terrain, Choice(amount.time_limit_s))
    # On each of 5 instances 2 sizes, 2 k and 4 runs, as Naive draws twice; then 2 m.
    assert len(cells) == 5 * (2 * 2 * 4 + 2)
    with RecordStore(tmp_path / "out") as store:
        run = run_cells(cells, terrain.domains, store, InlineWorkforce(), run_id="test")
    assert not run.errors
    by_cell = {record.cell: record for record in run.records}
    # What is recorded is what planning the file gives.
    cell = next(c for c in cells if c.instance.map_name == "town" and c.num_candidates == 6 and c.k == 3)
    expected = vr.solve(problem, vr.Privacy(k=3, ell=1, spread="witness"))
    assert by_cell[cell].outcome.mac == pytest.approx(expected.mac)
    assert by_cell[cell] == record_from_dict(by_cell[cell].to_dict())
    bounded = [record for record in run.records if record.cell.m == 3]
    assert bounded and all(record.outcome.m == 3 for record in bounded)
    mine, other = study.suites
    tables = mine.build_tables(run.records)
    assert [table.name for table in tables] == ["mine-means", "mine-by-map", "mine-paired", "mine-times"]
    assert tables[0].columns[:3] == ("candidates", "k", "method") and len(tables[0].rows) == 2 * 2 * 3
    assert {row[0] for row in tables[1].rows} == {"town", "hall", "blocks"}
    assert other.build_tables(run.records)[0].columns[0] == "m"
    (picture,) = draw_pictures(mine.select(run.records), tmp_path, {}, name="mine")
    assert [picture.png.with_suffix(f".{form}").exists() for form in ("png", "svg", "pdf")] == [True] * 3


def test_the_mean_of_draws_is_one_record(town: tuple[Path, vr.Problem]) -> None:
    study = read_study(town[0])
    terrain = study.find_terrain(study.preset(None)[1], map_names=("town",))
    cells = [
        c for c in build_cells(study.suites, terrain, Choice(20)) if c.method == Method("pbp", "naive", "", "blind")
    ]
    cells = [cell for cell in cells if (cell.num_candidates, cell.k) == (6, 2)]
    assert [cell.draw for cell in cells] == [0, 1] and cells[0].seed != cells[1].seed
    text = map_text(terrain.domains["town"])
    records = [record_from_dict(run_cell(Job(cell, text, "test"))) for cell in cells]
    chosen = study.suites[0].select(records)
    (merged,) = chosen.records
    macs = [record.outcome.mac or 0.0 for record in records]
    assert merged.outcome.mac == pytest.approx(sum(macs) / 2) and chosen.num_draws == 2
    counts = [record.outcome.num_expansions or 0 for record in records]
    assert merged.outcome.num_expansions == round(sum(counts) / 2)
    assert any("mean of 2 draws" in note for note in build_tables(chosen, name="n")[0].notes)


def test_limits_that_are_varied_stay_apart(tmp_path: Path) -> None:
    text = '[[terrain]]\nrooms = [12, 12]\n[[experiment]]\nname = "l"\ncandidates = 4\ntime_limit_s = [5, 9]\n'
    study = read_study(write(tmp_path, text + 'methods = ["optimal"]\n'))
    terrain = study.find_terrain(study.preset(None)[1])
    cells = build_cells(study.suites, terrain, Choice(99))
    assert sorted(cell.time_limit_s for cell in cells) == [5, 9]
    text = map_text(terrain.domains["rooms-12x12"])
    records = [record_from_dict(run_cell(Job(cell, text, "test"))) for cell in cells]
    assert len(study.suites[0].select(records).records) == 2


def test_a_draw_that_hides_fewer_is_not_averaged_away() -> None:
    naive = paper.NAIVE["tunnel"]
    records = []
    for pair in (1, 2, 3):
        records.append(make_record(paper.OPTIMAL, pair=pair, mac=0.5))
        for draw, num in enumerate((8, 8, 7)):
            record = make_record(naive, pair=pair, mac=0.6 if num == 8 else 0.1, num_anonymized=num)
            records.append(replace(record, cell=replace(record.cell, draw=draw, seed=pair + 10**6 * draw)))
    chosen = SUITES["table1"].select(records)
    drawn = chosen.where(method=naive)
    assert [record.outcome.num_anonymized for record in drawn.records] == [7, 7, 7]
    assert drawn.averages.num_partial == 3 and drawn.averages.mac == pytest.approx((0.6 + 0.6 + 0.1) / 3)
    assert build_paired(chosen, "paired") is None, "no pair of which both hid as many"


def test_options_that_python_takes_for_equal_are_two_methods() -> None:
    one, true = (Method("mine", extra=(("s", value),)) for value in (1, True))
    chosen = SUITES["table1"].select([make_record(one), make_record(true)])
    assert len(chosen.records) == 2 and chosen.num_repeated == 0


def test_intervals_and_tests_have_known_values() -> None:
    assert bootstrap_interval([3.0]) is None
    assert bootstrap_interval([2.0] * 5) == (2.0, 2.0)
    low, high = bootstrap_interval([0.0, 1.0] * 50) or (0, 0)
    # About 1.96 standard errors of 0.05 around a half.
    assert low == pytest.approx(0.402, abs=0.02)
    assert high == pytest.approx(0.598, abs=0.02)
    # Of 2^5 signs only two, all up and all down, are as extreme.
    assert paired_p_value([1.0, 2.0, 3.0, 4.0, 5.0]) == 2 / 32
    assert paired_p_value([0.0] * 5) == 1.0
    assert paired_p_value([1.0, -1.0]) == 1.0
    assert paired_p_value([1.0] * 30) == pytest.approx(1 / 2001)
    assert correct_by_holm([0.01, 0.04, 0.03]) == [pytest.approx(0.03), pytest.approx(0.06), pytest.approx(0.06)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "experiment: expected at least one"),
        ('colour = "red"\n' + ONE, "colour: expected one of format, title"),
        (ONE + "size = 3\n", r"experiment\[0\].size: expected one of name"),
        (ONE.replace("4", "1"), "one.candidates: expected numbers >= 2, got 1"),
        (ONE + 'spread = "wide"\n', "one.spread: expected one of witness, all-pairs"),
        (ONE + 'm = "long"\n', "one.m: expected numbers >= 1, or 'inf'"),
        (ONE + 'm = 3\nm_ratio = 0.5\n', "m or m_ratio, not both"),
        (ONE.replace("optimal", "optimum"), "optimum"),
        (ONE.replace('["optimal"]', "[]"), "one.methods: expected names of methods"),
        (ONE + 'shown_as = "table9"\n', "one.shown_as: expected one of table1"),
        ('[[terrain]]\nrooms = [9, 9]\nmaps = "paper"\n' + ONE, "one of maps, file, rooms and streets"),
        ("time_limit_s = 0\n" + ONE, "time_limit_s: expected a number of seconds > 0"),
        ("[preset.q]\nlots = 3\n" + ONE, "preset.q.lots: expected one of pairs"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_study_is_said(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_study(write(tmp_path, text))


def test_what_is_no_study_is_said(tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text("title = 3 3")
    with pytest.raises(vr.VeilrouteError, match="not TOML"):
        read_study(tmp_path / "odd.toml")
    (tmp_path / "other.toml").write_text('format = "other/1"')
    with pytest.raises(InvalidInputError, match="format: expected"):
        read_study(tmp_path / "other.toml")
    with pytest.raises(InvalidInputError, match=r"a .toml file, or one of adversaries"):
        read_study("nowhere")
    study = read_study(write(tmp_path, "[[terrain]]\nrooms = [12, 12]\n" + ONE))
    with pytest.raises(InvalidInputError, match="--map"):
        study.find_terrain(study.preset(None)[1], map_names=("elsewhere",))


def test_terrain_is_refused_that_does_not_fit(tmp_path: Path) -> None:
    def find(terrain: str) -> Terrain:
        study = read_study(write(tmp_path, f"[[terrain]]\n{terrain}\n{ONE}"))
        return study.find_terrain(study.preset(None)[1])

    for terrain, message in (
        ("rooms = 9", "two numbers"), ("rooms = [12, 12]\nstart = [1, 1]", "start and goal, or neither"),
        ("rooms = [12, 12]\ncandidates = [[1, 1], [2, 2]]", "start and goal for the candidates listed"),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError, match=message):
            find(terrain)
