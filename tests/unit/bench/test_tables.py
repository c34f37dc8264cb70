"""Tables from records whose means can be worked out by hand, and the report that holds them."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from bench_samples import make_record, make_run
from veilroute import bench

DF_BB = bench.Method("pbp", "df-bb", "", "tunnel")
PLAIN = bench.Layout("t", "T")


def build_tables(suite: str, records: Sequence[bench.Record]) -> list[bench.Table]:
    return bench.find_suite(suite).build_tables(records)


def select(suite: str, records: Sequence[bench.Record]) -> bench.Selection:
    return bench.find_suite(suite).select(records)


def texts_of(table: bench.Table, *start: object) -> list[str]:
    """The cells behind the start of the one row that starts so, as people read them, with a star if bold."""
    (row,) = [row for row in table.rows if row[: len(start)] == start]
    return ["-" if v is None else f"{v}{'*' * (isinstance(v, bench.Mean) and v.is_best)}" for v in row[len(start) :]]


def row_of(table: bench.Table, *start: object) -> dict[str, str]:
    return dict(zip(table.columns[len(start) :], texts_of(table, *start), strict=True))


# -- the paper's tables


def test_table1() -> None:
    """Two instances: the optimum is 0.2 on the first and 0.4 on the second."""
    naive = bench.NAIVE["tunnel"]
    records = [
        make_record(bench.OPTIMAL, pair=1, mac=0.2, status="optimal", runtime_s=0.1),
        make_record(bench.OPTIMAL, pair=2, mac=0.4, status="optimal", runtime_s=0.3),
        make_record(bench.BEST, pair=1, mac=0.2 * (1 + 1e-12), runtime_s=1.0, num_partitions=30),
        make_record(bench.BEST, pair=2, mac=0.5, runtime_s=300.0, is_finished=False, num_partitions=51),
        make_record(DF_BB, pair=1, mac=0.2, num_anonymized=8, runtime_s=5.0),
        # At the optimum's MAC, but for fewer candidates: no rival, nor does it meet the optimum there.
        make_record(DF_BB, pair=2, mac=0.4, num_anonymized=6, runtime_s=300.0, is_finished=False),
        *(make_record(naive, pair=pair, mac=0.8, runtime_s=s) for pair, s in ((1, 0.0001), (2, 0.0003))),
    ]
    (table,) = build_tables("table1", records)
    rows = {str(row[0]): row_of(table, row[0]) for row in table.rows}
    names = ("instances", "coverage [%]", "APR", "equal to the optimum", "partitions")
    assert {who: tuple(row[name] for name in names) for who, row in rows.items()} == {
        "Naive, Tunnel": ("2", "n/a", "1.00", "0 of 2", "-"),
        "DF-BB, Tunnel": ("2", "50", "0.875", "1 of 2", "-"),
        "Merge-BB, CostAsc, Tunnel": ("2", "50", "1.00", "1 of 2", "40"),
        "optimal (exact)": ("2", "100", "1.00", "2 of 2", "-"),
    }
    assert [row["MAC"].partition(" ±")[0] for row in rows.values()] == ["0.800", "0.300", "0.350", "0.300"]
    assert [who for who, row in rows.items() if row["MAC"].endswith("*")] == ["optimal (exact)"]
    assert rows["Merge-BB, CostAsc, Tunnel"]["time [s]"].startswith("≥ 150 ± ")
    assert rows["Naive, Tunnel"]["time [s]"] == "<0.001"
    # Ratios are taken where Naive has a MAC and the other has hidden as many as it.
    macs = {naive: (1.0, 0.5, 0.0), bench.BEST: (0.2, 0.3, 0.0)}
    ratios = [make_record(method, pair=i, mac=mac) for method, own in macs.items() for i, mac in enumerate(own, 1)]
    (table2,) = build_tables("table2", [*ratios, make_record(DF_BB, mac=0.1, num_anonymized=6)])
    cell, num = texts_of(table2, "Merge-BB, CostAsc, Tunnel")
    assert cell.startswith("0.400 ± 0.2") and cell.endswith(" (2)") and num == "3"
    # Only a proved optimum is one to be equal to.
    (table,) = build_tables(
        "table1", [*records, *(make_record(m, pair=3, mac=0.2) for m in (bench.OPTIMAL, bench.BEST))]
    )
    assert row_of(table, "Merge-BB, CostAsc, Tunnel")["equal to the optimum"] == "1 of 2"


def test_only_methods_that_hide_the_same_are_compared_by_cost() -> None:
    layout = replace(PLAIN, columns=("mac",), methods=(bench.BEST, bench.OPTIMAL))

    def shown(*told: tuple[bench.Method, int, float | None, int]) -> tuple[list[str], list[str]]:
        records = [make_record(m, pair=pair, mac=mac, num_anonymized=num) for m, pair, mac, num in told]
        (table,) = bench.build_means(layout, bench.Selection(tuple(records)))
        return texts_of(table)[:-1], list(bench.build_findings(layout, bench.Selection(tuple(records))))

    cells, (finding,) = shown((bench.BEST, 1, 0.1, 8), (bench.OPTIMAL, 1, 0.5, 8))
    assert cells == ["0.100*", "0.500"] and finding.startswith("Merge-BB") and finding.endswith("0.100.")
    # Each hides everybody on one instance and nobody on the other: the means are over different instances.
    cells, none = shown(
        (bench.BEST, 1, 0.1, 8), (bench.BEST, 2, None, 0), (bench.OPTIMAL, 1, None, 0), (bench.OPTIMAL, 2, 0.5, 8)
    )
    assert cells == ["0.100 (1)", "0.500 (1)"] and not none
    # A method that leaves out the expensive candidates has a low MAC.
    cells, (finding,) = shown((bench.BEST, 1, 0.1, 4), (bench.OPTIMAL, 1, 0.3, 8))
    assert cells == ["0.100", "0.300*"] and finding.startswith("optimal (exact) has")
    # So has one that failed on the expensive instances.
    cells, (finding,) = shown((bench.BEST, 1, 0.2, 8), (bench.OPTIMAL, 1, 0.1, 8), (bench.OPTIMAL, 2, 0.9, 8))
    assert cells[0] == "0.200" and cells[1].endswith("*") and finding.endswith(" 0.100.")
    assert shown((bench.BEST, 1, 0.3, 8), (bench.OPTIMAL, 1, 0.3 + 5e-10, 8))[0] == ["0.300*", "0.300*"]
    assert shown((bench.BEST, 1, 0.3, 8), (bench.OPTIMAL, 1, 0.3 + 2e-9, 8))[0] == ["0.300*", "0.300"]


# -- which records are shown


def test_of_equal_records_the_one_with_the_longest_limit_is_shown() -> None:
    records = [
        make_record(bench.BEST, time_limit_s=limit, mac=mac) for limit, mac in ((4.0, 0.9), (300.0, 0.2), (10.0, 0.8))
    ]
    chosen = select("table1", records)
    assert [record.outcome.mac for record in chosen.records] == [0.2] and chosen.num_repeated == 2
    # Options of 1 and true are equal to Python, and make two methods.
    one, true, again = (bench.Method("mine", extra=(("s", value),)) for value in (1, True, 1))
    assert one == again != true and len({one, true, again}) == 2 and one != "mine"
    assert len(select("table1", [make_record(one), make_record(true)]).records) == 2


def test_of_several_draws_the_worst_counts_and_figures_are_means() -> None:
    def drawn(**told: Sequence[Any]) -> bench.Record:
        made = [dict(zip(told, values, strict=True)) for values in zip(*told.values(), strict=True)]
        records = [make_record(bench.RBP, m_ratio=1.0, watching={"draw": i}, **each) for i, each in enumerate(made)]
        chosen = select("table4", records)
        (record,) = chosen.records
        assert chosen.num_draws == len(made) and chosen.num_repeated == 0
        return record

    def ended(*ends: bool | None) -> bool | None:
        return drawn(is_finished=ends).outcome.is_finished

    assert (ended(True, False, None), ended(True, None), ended(True, True)) == (False, None, True)
    guesses = [(("bayesian", chance, 0.5),) for chance in (0.0, 0.25, 0.5)]
    outcome = drawn(
        mac=(0.6, 0.6, 0.1), num_anonymized=(8, 8, 7), runtime_s=(1.0, 2.0, 6.0), audit_holds=(True, False, True),
        num_searches=(1, 2, 2), guesses=guesses,
    ).outcome  # fmt: skip
    assert (outcome.num_anonymized, outcome.audit_holds, outcome.num_searches) == (7, False, 2)
    assert outcome.mac == pytest.approx(1.3 / 3) and outcome.runtime_s == 3.0
    assert outcome.guesses == (("bayesian", 0.25, 0.5),)
    assert drawn(audit_holds=(True, True)).outcome.audit_holds is True
    assert drawn(audit_holds=(True, None)).outcome.audit_holds is None
    # A draw that hides fewer is not averaged away: no pair of which both hid as many.
    hidden = [make_record(bench.RBP, watching={"draw": i}, num_anonymized=8 - i) for i in (0, 1)]
    assert bench.build_paired(PLAIN, bench.Selection((make_record(bench.OPTIMAL), *hidden[1:]))) == []


# -- statistics


def test_intervals_and_tests_have_known_values() -> None:
    assert bench.bootstrap_interval([3.0]) is None and bench.bootstrap_interval([2.0] * 5) == (2.0, 2.0)
    low, high = bench.bootstrap_interval([0.0, 1.0] * 50) or (0, 0)
    # About 1.96 standard errors of 0.05 around a half.
    assert low == pytest.approx(0.402, abs=0.009) and high == pytest.approx(0.598, abs=0.009)
    assert bench.half_width([3.0]) is None and bench.half_width([0.0, 1.0] * 50) == pytest.approx((high - low) / 2)
    # Of 2^5 signs only two, all up and all down, are as extreme; of 2^12 too, and beyond that they are drawn.
    assert bench.paired_p_value([1.0, 2.0, 3.0, 4.0, 5.0]) == 2 / 32
    assert bench.paired_p_value([1.0] * 12) == 2 / 4096 and bench.paired_p_value([1.0] * 30) == pytest.approx(1 / 2001)
    assert bench.paired_p_value([-0.2, -0.1, 0.2, 0.1]) == 1.0, "all sums are as far from 0 as none"
    assert (
        bench.paired_p_value([2.8e-17] * 6)
        == bench.paired_p_value([0.0] * 5)
        == bench.paired_p_value([1.0, -1.0])
        == 1.0
    )
    assert bench.paired_p_value([0.1, 0.2, 0.3]) == bench.paired_p_value([0.3, 0.2, 0.1]) == 0.25, (
        "rounding plays no part"
    )
    assert bench.correct_by_holm([0.01, 0.04, 0.03]) == [pytest.approx(0.03), pytest.approx(0.06), pytest.approx(0.06)]
    assert bench.correct_by_holm([0.9, 0.8]) == [1.0, 1.0]


@pytest.fixture
def example(two_rooms: vr.Domain) -> bench.Record:
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4), (2, 4)])
    book = vr.solve(problem, vr.Privacy(k=2)).to_dict(embed_domain=False)
    return make_record(
        bench.OPTIMAL, map_name="../a <b>&\"'| map\n2", keep_playbook=True, playbook=book, map_sha256=two_rooms.sha256
    )


def test_a_report_of_all_suites(example: bench.Record, two_rooms: vr.Domain, tmp_path: Path) -> None:
    failed = make_record(bench.BEST, pair=9, status="error", mac=None, error="ValueError: <script>x</script>")
    records = [*make_run(maps=("rooms-2",), num_pairs=1, sizes=(8,)), example, failed]
    written = bench.write_report(
        tmp_path, list(bench.SUITES), records, domains={two_rooms.sha256: two_rooms}, notes=["Maps & <more>."],
        command="veilroute bench all",
    )  # fmt: skip
    raw = written.html.read_text(encoding="utf-8")
    # Nothing is fetched, nothing runs, and what comes from files is text.
    assert not re.search(r"https?:|//[a-z]|@import|url\(", re.sub(r"base64,[A-Za-z0-9+/=]+", "", raw))
    assert not re.search(r"<(script|link|iframe|object)", raw) and "a <b>" not in raw
    assert "Maps & <more>." in html.unescape(re.sub(r"<[^>]*>", "", raw))
    # A picture is not called as the file says.
    assert all(path.parent == tmp_path / "figures" and path.is_file() for path in written.figures)
    assert "example-a-b-map-2-1-k2-ell1.png" in {path.name for path in written.figures}
