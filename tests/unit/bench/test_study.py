"""Studies: what a file may say, what becomes of it, and what is wrong with one."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pytest

import veilroute as vr
from bench_runs import InlineWorkforce
from bench_samples import make_record
from veilroute import Instance, InvalidInputError, write_instance
from veilroute.adversary import watch_playbook
from veilroute.bench import (
    SUITES,
    Choice,
    Job,
    Layout,
    Method,
    RecordStore,
    Study,
    Terrain,
    bootstrap_interval,
    build_cells,
    build_paired,
    correct_by_holm,
    find_terrain,
    grown_candidates,
    half_width,
    left_out,
    map_text,
    paired_p_value,
    paper,
    read_study,
    record_from_dict,
    run_cell,
    run_cells,
    shipped_studies,
    showing_own,
    suite_names,
)

HEAD = 'format = "veilroute-study/1"\n'
ONE = '[[experiment]]\nname = "one"\ncandidates = 4\nmethods = ["optimal"]\n'
HALL = "[[terrain]]\nrooms = [12, 16]\n"


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
    ours, theirs = build_cells(study.within(amount), terrain, choice), build_cells(suite_names("all"), direct, choice)
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


def test_instances_of_maps_go_on_with_those_of_the_data_set(tmp_path: Path) -> None:
    stated = ONE.replace("4", "[4, 30]") + '[[terrain]]\nmaps = ["rooms-2"]\n'
    few, many = (read_study(write(tmp_path, stated + more)) for more in ("", "candidates = 40\n"))
    amount = few.preset(None)[1]
    (own,), (grown,) = (study.find_terrain(amount).instances for study in (few, many))
    assert len(own.candidates) == 16 and grown.candidates[:16] == own.candidates
    # As many as the largest experiment takes, and no more.
    domain = find_terrain(num_pairs=1, map_names=["rooms-2"]).domains["rooms-2"]
    assert list(grown.candidates) == grown_candidates(domain, own, 30)


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
    assert [table.name for table in tables] == ["mine-mac", "mine-time", "mine-paired", "mine-times"]
    # A grid is measured in steps and streets in metres: no row has both.
    assert tables[0].columns[:4] == ("map kind", "candidates", "k", "optimal (exact)")
    assert [row[0] for row in tables[0].rows] == ["graph"] * 4 + ["grid"] * 4 + ["streets in metres"] * 4
    means, by_map, _, _ = mine.details(mine.select(run.records))
    assert means.columns[:4] == ("map kind", "candidates", "k", "method") and len(means.rows) == 3 * 2 * 2 * 3
    assert {row[1] for row in by_map.rows} == {"town", "hall", "blocks"}
    assert other.build_tables(run.records)[0].columns[1] == "m"
    (picture,) = mine.pictures(mine.select(run.records), tmp_path, {})
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
    assert any("mean of 2 draws" in note for note in study.suites[0].tables(chosen)[0].notes)


def test_limits_that_are_varied_stay_apart(tmp_path: Path) -> None:
    text = '[[terrain]]\nrooms = [12, 12]\n[[experiment]]\nname = "l"\ncandidates = 4\ntime_limit_s = [5, 9]\n'
    study = read_study(write(tmp_path, text + 'methods = ["optimal"]\n'))
    terrain = study.find_terrain(study.preset(None)[1])
    cells = build_cells(study.suites, terrain, Choice(99))
    assert sorted(cell.time_limit_s for cell in cells) == [5, 9]
    text = map_text(terrain.domains["rooms-12x12"])
    records = [record_from_dict(run_cell(Job(cell, text, "test"))) for cell in cells]
    assert len(study.suites[0].select(records).records) == 2


def own_sets(text: str, folder: Path, choice: Choice) -> list[set[tuple[int, float, int, str]]]:
    """What each experiment of a study shows of all that the study runs: sizes, limits, draws and methods."""
    study = read_study(write(folder, text))
    terrain = study.find_terrain(study.preset(None)[1])
    cells = build_cells(study.suites, terrain, choice)
    shown = showing_own(study.suites, terrain, choice)
    return [
        {(cell.num_candidates, cell.time_limit_s, cell.draw, cell.method.name) for cell in cells if suite.holds(cell)}
        for suite in shown
    ]


def test_experiments_of_a_study_do_not_show_the_records_of_each_other(tmp_path: Path) -> None:
    text = (
        "pairs = 3\n"
        + HALL
        + """
[[experiment]]
name = "first"
candidates = [4, 6]
instances = "first"
methods = ["optimal"]
[[experiment]]
name = "other"
candidates = [8, 10]
time_limit_s = 3
methods = ["optimal"]
[[experiment]]
name = "draws"
candidates = 8
time_limit_s = 3
draws = 2
methods = ["pbp/naive"]
"""
    )
    first, other, draws = own_sets(text, tmp_path, Choice(20))
    assert first == {(4, 20.0, 0, "optimal"), (6, 20.0, 0, "optimal")}
    assert other == {(8, 3.0, 0, "optimal"), (10, 3.0, 0, "optimal")}
    assert draws == {(8, 3.0, 0, "pbp/naive"), (8, 3.0, 1, "pbp/naive")}
    # A program of others joins each at its own settings, and --candidates is for those that vary it.
    first, other, draws = own_sets(text, tmp_path, Choice(20, sizes=(5,), externals=(("true", "true"),)))
    theirs = "external/true"
    assert {(n, s) for n, s, _, method in first if method == theirs} == {(5, 20.0)}
    assert {(n, s) for n, s, _, method in other if method == theirs} == {(5, 3.0)}
    assert {(n, s, draw) for n, s, draw, method in draws if method == theirs} == {(8, 3.0, 0), (8, 3.0, 1)}
    # With a method of one experiment only, the others have nothing.
    first, other, draws = own_sets(text, tmp_path, Choice(20, methods=("pbp/naive",)))
    assert not first and not other and len(draws) == 2


def test_a_study_shows_one_instance_where_it_runs_one(tmp_path: Path) -> None:
    text = "pairs = 2\n" + HALL + ONE + 'instances = "first"\n' + ONE.replace("one", "two")
    study = read_study(write(tmp_path, text))
    terrain, choice = study.find_terrain(study.preset(None)[1]), Choice(20)
    with RecordStore(tmp_path / "out") as store:
        cells = build_cells(study.suites, terrain, choice)
        run = run_cells(cells, terrain.domains, store, InlineWorkforce(), run_id="test")
    # As they are read back, in another process.
    records = [record_from_dict(record.to_dict()) for record in run.records]
    one, two = (len(suite.select(records).records) for suite in showing_own(study.suites, terrain, choice))
    assert (one, two) == (1, 2)


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
    assert [record.outcome.mac for record in drawn.records] == [pytest.approx((0.6 + 0.6 + 0.1) / 3)] * 3
    assert build_paired(Layout("p", "P"), chosen) == [], "no pair of which both hid as many"


def test_options_that_python_takes_for_equal_are_two_methods() -> None:
    one, true = (Method("mine", extra=(("s", value),)) for value in (1, True))
    chosen = SUITES["table1"].select([make_record(one), make_record(true)])
    assert len(chosen.records) == 2 and chosen.num_repeated == 0


def test_names_of_shipped_studies_mean_these(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, HALL + ONE).rename(tmp_path / "paper.toml")
    (tmp_path / "paper").write_bytes(path.read_bytes())
    assert read_study("paper").is_paper and len(read_study("paper").suites) == len(SUITES) - 1
    for source in ("paper.toml", path, "./paper"):
        mine = read_study(source)
        assert not mine.is_paper and [suite.name for suite in mine.suites] == ["one"]


def test_an_experiment_states_its_tables(tmp_path: Path) -> None:
    text = ONE.replace('"optimal"]', '"pbp/naive/tunnel", "optimal"]')
    text += 'k = [2, 3]\nacross = "k"\ncolumns = ["apr", "mac / pbp/naive/tunnel"]\nrows = ["pair"]\n'
    study = read_study(write(tmp_path, text))
    records = [
        make_record(method, size=4, k=k, mac=mac)
        for k in (2, 3)
        for method, mac in ((paper.NAIVE["tunnel"], 0.4 * k), (paper.OPTIMAL, 0.2))
    ]
    apr, ratio = study.suites[0].build_tables(records)
    assert (apr.name, ratio.name) == ("one-apr", "one-mac-pbp-naive-tunnel")
    assert ratio.columns == ("pair", "method", "k 2", "k 3", "instances")
    assert [tuple(map(str, row)) for row in ratio.rows] == [
        ("1", "Naive, Tunnel", "1.00", "1.00", "1"), ("1", "optimal (exact)", "0.250", "0.167", "1")
    ]  # fmt: skip


@pytest.mark.parametrize("name", shipped_studies())
def test_the_tables_of_shipped_studies_are_those_of_their_files(name: str) -> None:
    """A paper's suite and the study that repeats it on other maps say the same."""
    for suite in read_study(name).suites:
        same = SUITES.get(suite.name)
        assert suite.heading and (same is None or suite.heading == same.heading)


def test_intervals_and_tests_have_known_values() -> None:
    assert bootstrap_interval([3.0]) is None
    assert bootstrap_interval([2.0] * 5) == (2.0, 2.0)
    low, high = bootstrap_interval([0.0, 1.0] * 50) or (0, 0)
    # About 1.96 standard errors of 0.05 around a half.
    assert low == pytest.approx(0.402, abs=0.02)
    assert high == pytest.approx(0.598, abs=0.02)
    # Of 2^5 signs only two, all up and all down, are as extreme.
    assert paired_p_value([1.0, 2.0, 3.0, 4.0, 5.0]) == 2 / 32
    assert paired_p_value([-0.2, -0.1, 0.2, 0.1]) == 1.0, "all sums are as far from 0 as none"
    assert paired_p_value([2.8e-17] * 6) == 1.0, "rounding is no difference"
    assert paired_p_value([0.0] * 5) == 1.0
    assert paired_p_value([1.0, -1.0]) == 1.0
    assert paired_p_value([1.0] * 30) == pytest.approx(1 / 2001)
    assert half_width([3.0]) is None and half_width([0.0, 1.0] * 50) == pytest.approx((high - low) / 2)
    assert correct_by_holm([0.01, 0.04, 0.03]) == [pytest.approx(0.03), pytest.approx(0.06), pytest.approx(0.06)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "experiment: expected at least one"),
        ('colour = "red"\n' + ONE, "colour: expected one of format, title"),
        (ONE + "size = 3\n", r"experiment\[0\].size: expected one of name"),
        (ONE.replace("4", "1"), "one.candidates: expected integers from 2 to 100000, got 1"),
        (ONE + 'spread = "wide"\n', "one.spread: expected one of witness, all-pairs"),
        (ONE + 'm = "long"\n', r"one.m: expected integers from 1 to 1e\+15, or 'inf'"),
        (ONE + 'm = 3\nm_ratio = 0.5\n', "m or m_ratio, not both"),
        (ONE.replace("optimal", "optimum"), "planner: expected one of optimal, pbp, .*got 'optimum'"),
        (ONE.replace("optimal", "pbp/best"), "partitioner: expected one of .*merge-bb.*got 'best'"),
        (ONE.replace("optimal", "pbp/naive/tunnel/x"), "methods: expected PLANNER or PLANNER/PARTITIONER"),
        (ONE.replace('"optimal"', '"rbp", "rbp"'), "one.methods: expected methods that differ"),
        (ONE.replace('["optimal"]', "[]"), "one.methods: expected names of methods"),
        (ONE + 'shown_as = "table1"\n', "one.shown_as: expected as-printed; other tables are stated by columns"),
        (ONE + 'columns = ["costs"]\n', "one.columns: expected one of instances, .*mac / METHOD.*got 'costs'"),
        (ONE + 'columns = "mac"\n', "one.columns: expected a list of names, got 'mac'"),
        (ONE + 'columns = ["apr / optimal"]\n', "one.columns: expected one of instances"),
        (ONE + 'across = "size"\n', "one.across: expected one of method, measure, kind"),
        (ONE + 'rows = ["time"]\n', "one.rows: expected one of kind, map, pair"),
        ('[[terrain]]\nrooms = [9, 9]\nmaps = "paper"\n' + ONE, "one of maps, file, rooms and streets"),
        ("time_limit_s = 0\n" + ONE, "time_limit_s: expected a number of seconds > 0"),
        ("[preset.q]\nlots = 3\n" + ONE, "preset.q.lots: expected one of pairs"),
        ("terrain = 5\n" + ONE, "terrain: expected at least one"),
        ("terrain = []\n" + ONE, "terrain: expected at least one"),
        ("preset = 5\n" + ONE, "preset: expected tables"),
        ("preset = [1]\n" + ONE, "preset: expected tables"),
        ("[[terrain]]\nmaps = 5\n" + ONE, 'maps: expected a list of names, or "paper", got 5'),
        ("[[terrain]]\nmaps = []\n" + ONE, 'maps: expected a list of names, or "paper"'),
        ('[[terrain]]\nmaps = "rooms-1"\n' + ONE, "maps: expected a list of names.*got 'rooms-1'"),
        ('[[terrain]]\nmaps = ["rooms-1"]\nseed = 9\n' + ONE, "seed: expected nothing beside maps"),
        ('[[terrain]]\nmaps = ["rooms-1"]\ncandidates = 1001\n' + ONE, "candidates: expected an integer from 2"),
        ("[[terrain]]\nfile = 5\n" + ONE, "file: expected text, got 5"),
        ('[[terrain]]\nrooms = [12, 12]\nname = ""\n' + ONE, "name: expected text that is not empty"),
        ("pairs = 1000000000000\n" + ONE, "pairs: expected an integer from 1 to 1000"),
        (f"time_limit_s = 1{'0' * 400}\n" + ONE, "time_limit_s: expected a number of seconds"),
        (ONE + 'shown_as = ["table1"]\n', "one.shown_as: expected as-printed"),
        (ONE + "rows = {a = 1}\n", "one.rows: expected a list of names"),
        (ONE + "across = [1]\n", "one.across: expected one of method"),
        (ONE + ONE + 'columns = ["mac"]\n', "one.columns: expected the same in all experiments of one name"),
        (ONE + f"k = 1{'0' * 400}\n", "one.k: expected integers from 1 to 100000"),
        (ONE + f"k = 1{'0' * 5000}\n", "not TOML that can be read: an integer has thousands of digits"),
        (ONE + f"k = {'[' * 3000}{']' * 3000}\n", "not TOML that can be read.*nested too deep"),
        (ONE + f"draws = 1{'0' * 30}\n", "one.draws: expected an integer from 1 to 1000"),
        (ONE.replace("optimal", "naive"), r"methods, naive: .* as pbp/naive \(planner: expected one of optimal, pbp, "),
        (ONE + "time_limit_s = 0\n", "one.time_limit_s: expected numbers from 1e-09"),
        (ONE + "risk = 1.5\n", "one.risk: expected numbers from 1e-09 to 0.999999999, or 'none'"),
        (ONE + "risk = 0.5\nk = 3\n", "one.k: expected k or risk"),
        (ONE + 'reading = "authors"\nm_ratio = 1.0\n', "one.methods: expected rbp, cbp, m-pbp, pbp/naive alone"),
        (ONE.replace("optimal", "rbp") + 'reading = "authors"\n', "one.m_ratio: expected finite numbers"),
        (ONE.replace("optimal", "pbp/naive") + 'reading = "authors"\nm_ratio = 1.0\n', "and 'inf' for naive"),
        (ONE.replace("optimal", "cbp") + 'reading = "carried"\nm_ratio = 1.0\n', "one.methods: expected rbp alone"),
        (ONE + 'shown_as = "as-printed"\ncolumns = ["mac"]\n', "one.columns: expected none beside shown_as"),
        (ONE + ONE + "watched = true\n", "one.watched: expected the same in all experiments of one name"),
        (ONE + ONE + 'title = "Other"\n', "one.title: expected the same in all experiments of one name"),
        (ONE.replace('"one"', f'"{"a" * 300}"'), "name: expected lower case letters"),
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


def find(folder: Path, terrain: str, experiment: str = ONE) -> tuple[Study, Terrain]:
    study = read_study(write(folder, f"[[terrain]]\n{terrain}\n{experiment}"))
    return study, study.find_terrain(study.preset(None)[1])


@pytest.mark.parametrize(
    ("terrain", "message"),
    [
        ("rooms = 9", "two integers >= 12"),
        ("rooms = [1000000000, 1000000000]", "rooms: expected two integers >= 12 with a product of at most 20000000"),
        ("streets = [true, 9]", "streets: expected two integers >= 3"),
        ("rooms = [12, 12]\nseed = 5000", "seed: expected an integer from 1 to 1000"),
        ("rooms = [12, 12]\nstart = [1, 1]", "start and goal, or neither"),
        ("rooms = [12, 12]\ncandidates = [[1, 1], [2, 2]]", "start and goal for the candidates listed"),
        ("rooms = [12, 12]\ncandidates = 100000", r"terrain\[0\].candidates: expected an integer from 2 to \d+, or a"),
        ("rooms = [12, 12]\nstart = [0, 0]\ngoal = [5, 5]", r"terrain\[0\]: start: .*inside a wall"),
        ("rooms = [12, 12]\nstart = [0, 0]\ngoal = [5, 5]\ncandidates = [[4, 4]]", r"trip.start: .*inside a wall"),
        ("rooms = [12, 12]\nstart = [4, 4]\ngoal = [5, 5]\ncandidates = [[99, 4]]", r"terrain\[0\]: .*got \(99, 4\)"),
    ],
)
def test_terrain_is_refused_that_does_not_fit(terrain: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        find(tmp_path, terrain)


def test_more_candidates_than_there_are_are_refused_or_told(town: tuple[Path, vr.Problem], tmp_path: Path) -> None:
    many = ONE.replace("= 4", "= [4, 8]")
    study, terrain = find(tmp_path, 'file = "town.json"', many)
    assert {cell.num_candidates for cell in build_cells(study.suites, terrain, Choice(20))} == {4}
    assert list(left_out(study.suites, terrain, Choice(20)))
    study, terrain = find(tmp_path, 'file = "town.json"', ONE.replace("= 4", "= [8, 9]"))
    with pytest.raises(InvalidInputError, match="one.candidates: expected at most 6.*got 8"):
        build_cells(study.suites, terrain, Choice(20))
    study, terrain = find(tmp_path, 'file = "town.json"\n' + HALL, many)
    cells = build_cells(study.suites, terrain, Choice(20))
    assert {(cell.instance.map_name, cell.num_candidates) for cell in cells} == {
        ("town", 4), ("rooms-12x16", 4), ("rooms-12x16", 8)
    }  # fmt: skip
    (sentence,) = left_out(study.suites, terrain, Choice(20))
    assert sentence == "one: 8 candidates are left out where there are fewer, on town (6)"
    assert not list(left_out(study.suites, terrain, Choice(20, sizes=(5, 6))))


def test_a_file_has_no_more_than_a_study_takes(town: tuple[Path, vr.Problem], tmp_path: Path) -> None:
    problem = town[1]
    write_instance(Instance(replace(problem, objective="total")), tmp_path / "odd.json")
    with pytest.raises(InvalidInputError, match="odd.json: expected the objective .mac., .* a copy, got 'total'"):
        find(tmp_path, 'file = "odd.json"')
    write_instance(Instance(replace(problem, prior=[5.0, *[1.0] * 5])), tmp_path / "odd.json")
    for candidates in (4, [9, 10]):
        with pytest.raises(InvalidInputError, match="candidates: expected no candidates beside a file with a prior"):
            find(tmp_path, f'file = "odd.json"\ncandidates = {candidates}')


def test_the_prior_of_an_instance_file_is_planned_under(town: tuple[Path, vr.Problem], tmp_path: Path) -> None:
    weights = [6.0, 1.0, 2.0, 1.0, 3.0, 7.0]
    problem = replace(town[1], prior=weights)
    write_instance(Instance(problem), tmp_path / "town.json")
    text = (
        ONE.replace("= 4", "= [4, 6]").replace('"one"', '"one"\nspread = "witness"\nwatched = true')
        + '[[experiment]]\nname = "risky"\ncandidates = 6\nspread = "witness"\nrisk = 0.7\nmethods = ["optimal"]\n'
    )
    study, terrain = find(tmp_path, 'file = "town.json"\n[[terrain]]\nfile = "hall.map"\ncandidates = 6', text)
    cells = build_cells(study.suites, terrain, Choice(20))
    priors = {cell.num_candidates: cell.instance.prior for cell in cells if cell.instance.map_name == "town"}
    assert problem.prior is not None
    assert priors == {6: problem.prior, 4: tuple(problem.prior[:4])}, "the first candidates have the first weights"
    assert all(cell.instance.prior is None for cell in cells if cell.instance.map_name == "hall")
    with RecordStore(tmp_path / "out") as store:
        run = run_cells(cells, terrain.domains, store, InlineWorkforce(), run_id="test")
    assert not run.errors
    for record in run.records:
        cell, at = record.cell, record.cell.instance
        assert record == record_from_dict(record.to_dict()), "the prior is read back"
        assert ("prior" in record.to_dict()["cell"]["instance"]) == (at.map_name == "town")
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
    macs = {record.cell.instance.map_name: record.outcome.mac for record in run.records if record.cell.risk}
    plain = vr.solve(town[1], vr.Privacy(ell=1, risk=0.7, spread="witness"))
    assert macs["town"] != pytest.approx(plain.mac), "without its prior the plan is another one"


def test_first_candidates_with_one_weight_are_refused(town: tuple[Path, vr.Problem], tmp_path: Path) -> None:
    write_instance(Instance(replace(town[1], prior=[1.0, 0, 0, 1, 1, 1])), tmp_path / "town.json")
    study, terrain = find(tmp_path, 'file = "town.json"', ONE.replace("= 4", "= [3, 6]"))
    with pytest.raises(InvalidInputError, match="town.prior: expected weights above 0 for two of the first 3"):
        build_cells(study.suites, terrain, Choice(20))
    assert len(build_cells(study.suites, terrain, Choice(20, sizes=(4, 6)))) == 2


def test_keys_of_instances_without_prior_are_what_they_were() -> None:
    assert make_record(Method("optimal")).cell.key == "4589575deab7c5aa"
    watched = make_record(Method("by-cost", extra=(("size", 3),)), watching={"is_watched": True})
    assert watched.cell.key == "c05503cb817ef585"


def test_presets_leave_out_large_files_too(town: tuple[Path, vr.Problem], tmp_path: Path) -> None:
    num_nodes = town[1].domain.num_nodes
    text = (
        f'[preset.small]\nmost_nodes = {num_nodes}\n[[terrain]]\nfile = "town.json"\n[[terrain]]\nfile = "hall.map"\n'
    )
    study = read_study(write(tmp_path, text + ONE))
    terrain = study.find_terrain(study.preset(None)[1])
    assert list(terrain.domains) == ["town"] and "left out, beyond most_nodes: hall" in terrain.remark
    assert {instance.map_name for instance in terrain.instances} == {"town"}
    with pytest.raises(InvalidInputError, match="terrain: expected a map of at most 5 nodes"):
        study.find_terrain(replace(study.preset(None)[1], most_nodes=5))
    with pytest.raises(InvalidInputError, match="most_candidates: expected at least 4"):
        study.within(replace(study.preset(None)[1], most_candidates=3))
    with pytest.raises(InvalidInputError, match="--pairs"):
        study.find_terrain(replace(study.preset(None)[1], pairs=10**12))


def test_a_copy_of_the_papers_study_shows_what_the_papers_shows(tmp_path: Path) -> None:
    text = resources.files("veilroute.bench").joinpath("studies", "paper.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    study, terrain = read_study(tmp_path / "mine.toml"), find_terrain(num_pairs=1, map_names=["rooms-2"])
    assert not study.is_paper
    cells = build_cells(study.suites, terrain, Choice(4))
    for ours, papers in zip(showing_own(study.suites, terrain, Choice(4)), study.suites, strict=True):
        # The suite as-printed states time limits of its own, which its cells are told apart by.
        if ours.name != "as-printed":
            own = [cell.key for cell in cells if papers.holds(cell) and cell.time_limit_s == 4]
            assert [cell.key for cell in cells if ours.holds(cell)] == own


def test_options_that_only_look_alike_make_two_methods() -> None:
    one, true, again = (Method("x", extra=(("s", value),)) for value in (1, True, 1))
    assert one == again != true and len({one, true, again}) == 2
    assert one != "x"
