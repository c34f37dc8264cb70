"""Findings F4, F11 and F12 of the privacy review: evidence that was talked away, and defaults that surprised."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from veilroute import playbook_from_json
from veilroute.bench import INDEX, SUMS, export_dataset, find_terrain, verify_dataset
from veilroute.cli import headline, run
from veilroute.plotting import playbook_scene

NAME = "rooms-2-1-16-partition"
FIGURES = ("worst_posterior", "bayes_success", "hidden_mass", "total_extra", "worst_extra", "expected_mac")


def building(num: int, **wanted: Any) -> vr.Problem:
    domain = vr.generate_rooms(20, 30, seed=4)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    return vr.Problem(domain, [vr.Trip(start, goal)], vr.draw_candidates(domain, start, goal, num, seed=1), **wanted)


def audit_of(data: dict[str, Any]) -> vr.AuditReport:
    return vr.audit(playbook_from_json(json.dumps(data).encode()))


def boast(playbook: vr.Playbook, **options: Any) -> dict[str, Any]:
    """A plan that is not the best one and says that it is, as a search that has come to its end."""
    data: dict[str, Any] = json.loads(playbook.to_json(embed_domain=False))
    data |= {"status": "optimal", "options": {"partitioner": "merge-bb", **options}}
    data["claims"]["mac_lower_bound"] = data["claims"]["mac"]
    return data


@pytest.fixture
def forged(tmp_path: Path) -> Path:
    """A data set whose partition is a random one, with figures and checksums that fit."""
    export_dataset(tmp_path, find_terrain(num_pairs=1, map_names=["rooms-2"]), sizes=(16,))
    instance = vr.read_instance(tmp_path / "instances" / f"{NAME}.json")
    naive = boast(vr.solve(instance.problem, instance.privacy, planner="pbp", partitioner="naive"))
    (tmp_path / "optima" / f"{NAME}.json").write_text(json.dumps(naive), encoding="utf-8")
    index = json.loads((tmp_path / INDEX).read_bytes())
    (entry,) = (each for each in index["entries"] if each["name"] == NAME)
    assert naive["claims"]["mac"] > 2 * entry["mac"]
    entry |= {"mac": naive["claims"]["mac"], "mac_lower_bound": naive["claims"]["mac"]}
    (tmp_path / INDEX).write_text(json.dumps(index), encoding="utf-8")
    names = [line.split("  ")[1] for line in (tmp_path / SUMS).read_text().splitlines()]
    lines = [f"{hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (tmp_path / SUMS).write_text("".join(lines))
    return tmp_path


def test_f4_a_forged_optimum_does_not_count_as_one(forged: Path) -> None:
    ranking = verify_dataset(forged, [], with_optima=True)
    (standing,) = ranking.standings
    assert standing.num_optimal == 1  # the randomised one, which is true
    assert [each.entry.name for each in ranking.refused] == [NAME]
    assert "without the certificate" in ranking.refused[0].reason


def test_f4_what_was_not_audited_is_taken_on_trust(forged: Path, tmp_path: Path) -> None:
    folder = tmp_path / "submissions" / "same"
    folder.mkdir(parents=True)
    for path in (forged / "optima").iterdir():
        data = json.loads(path.read_bytes())
        groups = [{"members": g["members"], "route": g["routes"][0]["route"]} for g in data["classes"]]
        if path.stem == NAME:
            (folder / path.name).write_text(json.dumps({"classes": groups}), encoding="utf-8")
    ranking = verify_dataset(forged, [folder])
    table = ranking.to_table()
    shown = dict(zip(table.columns, table.rows[0], strict=True))
    assert (shown["optimal"], shown["on trust"]) == ("0 of 0", "1 of 2")


def test_f4_an_export_does_not_keep_a_forged_optimum(forged: Path) -> None:
    before = (forged / "optima" / f"{NAME}.json").read_bytes()
    (forged / INDEX).unlink()
    (forged / SUMS).unlink()
    made = export_dataset(forged, find_terrain(num_pairs=1, map_names=["rooms-2"]), sizes=(16,))
    assert made.num_proved == 2
    assert (forged / "optima" / f"{NAME}.json").read_bytes() != before
    assert verify_dataset(forged, [], with_optima=True).standings[0].num_optimal == 2


@pytest.mark.parametrize("partitioner", ["merge-bb", "df-bb"])
def test_f4_a_search_without_evidence_claims_no_optimum(partitioner: str) -> None:
    problem, privacy = building(7), vr.Privacy(k=2, spread="all-pairs")
    searched = vr.solve(problem, privacy, planner="pbp", partitioner=partitioner)
    assert (searched.status, searched.mac_lower_bound) == ("feasible", None)
    assert searched.options["search_completed"] is True
    assert searched.mac == pytest.approx(vr.solve(problem, privacy).mac)


@pytest.mark.parametrize("partitioner", ["merge-bb", "df-bb", "exact"])
def test_f4_no_name_excuses_a_missing_certificate(partitioner: str) -> None:
    naive = vr.solve(building(16), vr.Privacy(k=2), planner="pbp", partitioner="naive")
    data = boast(naive, partitioner=partitioner, search_completed=True)
    data["domain"] = json.loads(naive.to_json())["domain"]
    assert audit_of(data).verdict == "violated"


def test_f11_an_invented_past_proves_nothing() -> None:
    problem, privacy = building(8), vr.Privacy(k=2)
    naive = vr.solve(problem, privacy, planner="pbp", partitioner="naive")
    best = vr.solve(problem, privacy)
    assert naive.mac is not None and best.mac is not None and naive.mac > best.mac
    data = json.loads(naive.to_json()) | {"status": "optimal"}
    data["claims"] |= {"mac_lower_bound": naive.mac, "num_anonymizable": 8, "delta": 1.0}
    assert audit_of(data).verdict == "violated"
    left = [[member, group["members"]] for group in data["classes"] for member in group["members"]]
    report = audit_of(data | {"past": {"ledger": "0" * 64, "left": left}})
    assert report.verdict != "holds"
    unproved = {claim.claim for claim in report.claims if claim.verdict == "unproved"}
    assert {"history", "anonymizable", "bound", "optimality"} <= unproved
    assert "under a past that was not given" in report.to_text().splitlines()[0]


def test_f11_the_ledger_proves_an_honest_past_and_no_other(tmp_path: Path) -> None:
    problem, privacy = building(8), vr.Privacy(k=2)
    path = tmp_path / "ledger.jsonl"
    ledger = vr.new_ledger(path).add(vr.solve(problem, privacy), day="2026-11-16")
    back = replace(problem, trips=[vr.Trip(problem.trips[0].goal, problem.trips[0].start)])
    book = vr.solve(replace(back, past=ledger.past(back, privacy)), privacy)
    assert vr.audit(book).verdict == "unproved"
    assert vr.audit(book, ledger=path).verdict == "holds"
    assert book.past is not None
    other = replace(book.past, left=book.past.left[1:])
    assert vr.audit(replace(book, past=other), ledger=path).verdict == "violated"


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("privacy", [vr.Privacy(k=2, ell=3), vr.Privacy(risk=0.5, ell=3)])
def test_f12_a_figure_that_was_taken_out_is_missed(figure: str, privacy: vr.Privacy) -> None:
    data = json.loads(vr.solve(building(6), privacy).to_json())
    assert audit_of(data).verdict == "holds"
    del data["claims"][figure]
    report = audit_of(data)
    is_promised = privacy.risk is not None and figure not in ("total_extra", "worst_extra")
    assert report.verdict == ("violated" if is_promised else "unproved")
    assert is_promised or "not in the file" in report.to_text()


def test_f12_delta_and_the_total_that_is_kept_small_are_missed() -> None:
    data = json.loads(vr.solve(building(6), vr.Privacy(k=2)).to_json())
    data["claims"]["delta"] = None
    assert audit_of(data).verdict == "unproved"
    least = json.loads(vr.solve(building(6, objective="total"), vr.Privacy(k=2)).to_json()) | {"status": "feasible"}
    least["claims"]["total_extra_lower_bound"] = None
    assert audit_of(least).verdict == "holds"
    del least["claims"]["total_extra"]
    assert audit_of(least).verdict == "violated"


def test_item13_ell_is_different_places_by_default() -> None:
    assert vr.Privacy().ell == 0
    side = vr.Domain.from_edges(5, range(4), range(1, 5), [0.1] * 4)
    problem = vr.Problem(side, [vr.Trip(0, 4)], [1, 2, 3])
    assert vr.solve(problem, vr.Privacy(k=2)).apr == 1


def test_item13_an_ell_that_is_too_large_is_said() -> None:
    """Also when nothing can be hidden because of it; the state stays green, so it is no warning of the verdict."""
    problem = building(8)
    for ell, status, is_large in ((2, "optimal", False), (20, "optimal", True), (60, "infeasible", True)):
        book = vr.solve(problem, vr.Privacy(k=2, ell=ell))
        assert book.status == status
        report = vr.audit(book)
        said = [
            " ".join(headline(book)),
            " ".join(value for name, value in report.observer.rows() if name == "Warning"),
        ]
        said += [" ".join(each["observer"]["notes"]) for each in (playbook_scene(book)["playbook"], report.to_dict())]
        assert [f"than ell={ell}" in text for text in said] == [is_large] * 4
        assert not any(f"than ell={ell}" in text for text in report.observer.warnings)


def test_item13_more_places_than_there_are_is_infeasible(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for num, k, planner in ((3, 4, "optimal"), (14, 15, "optimal"), (3, 4, "constructive"), (3, 10**9, "optimal")):
        playbook = vr.solve(building(num), vr.Privacy(k=k), planner=planner)
        assert playbook.status == "infeasible"
        assert vr.audit(playbook).verdict == "holds"
    path = tmp_path / "instance.json"
    vr.write_instance(vr.Instance(building(3), vr.Privacy(k=4)), path)
    assert run(["plan", str(path)]) == 3
    assert "there are 3: lower k, or add candidates" in capsys.readouterr().out


def test_item13_networkx_graphs_without_the_weight_are_refused() -> None:
    nx = pytest.importorskip("networkx")
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, 2.5, "length")
    with pytest.raises(vr.InvalidInputError, match="length is on 2"):
        vr.Domain.from_networkx(graph)
    assert vr.Domain.from_networkx(graph, weight="length").costs.tolist() == [2.5] * 4
    assert vr.Domain.from_networkx(nx.path_graph(3), default_cost=1).costs.tolist() == [1] * 4
