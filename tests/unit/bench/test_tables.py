"""Tables from records whose means can be worked out by hand."""

from __future__ import annotations

import pytest

from bench_samples import make_record, make_run
from veilroute.bench import comparing
from veilroute.bench.cells import Method, Record
from veilroute.bench.design import Selection
from veilroute.bench.paper import BEST, CBP, M_PBP, NAIVE, OPTIMAL, PARTITIONING, RBP
from veilroute.bench.partitioning import time_stamps
from veilroute.bench.suites import SUITES, find_suite, suite_names
from veilroute.bench.table import Table, format_apr, format_number, format_seconds
from veilroute.errors import UnknownMethodError

RANDOM_BLIND = Method("pbp", "merge-bb", "random", "blind")
COST_BLIND = Method("pbp", "merge-bb", "cost-asc", "blind")
DF_BB = Method("pbp", "df-bb", "", "tunnel")


def build_tables(suite: str, records: list[Record]) -> list[Table]:
    return find_suite(suite).build_tables(records)


def select(suite: str, records: list[Record]) -> Selection:
    return find_suite(suite).select(records)


def row_of(table: Table, *start: object) -> dict[str, object]:
    """The one row that starts so; of headings that occur twice, the later."""
    (row,) = [row for row in table.rows if row[: len(start)] == start]
    return dict(zip(table.columns, row, strict=True))


def words_of(table: Table) -> str:
    return " ".join(table.notes)


def table1_records() -> list[Record]:
    """Two instances: the optimum is 0.2 on the first and 0.4 on the second."""
    return [
        make_record(OPTIMAL, pair=1, mac=0.2, status="optimal", runtime_s=0.1),
        make_record(OPTIMAL, pair=2, mac=0.4, status="optimal", runtime_s=0.3),
        make_record(BEST, pair=1, mac=0.2 * (1 + 1e-12), runtime_s=1.0),
        make_record(BEST, pair=2, mac=0.5, runtime_s=300.0, is_finished=False),
        make_record(RANDOM_BLIND, pair=1, mac=0.2, runtime_s=40.0, num_partitions=30),
        make_record(RANDOM_BLIND, pair=2, mac=0.4, runtime_s=60.0, num_partitions=51),
        make_record(COST_BLIND, pair=1, mac=0.2, runtime_s=20.0),
        make_record(COST_BLIND, pair=2, mac=0.6, runtime_s=300.0, is_finished=False),
        make_record(DF_BB, pair=1, mac=0.2, num_anonymized=8, runtime_s=5.0),
        # At the optimum's MAC, but for fewer candidates.
        make_record(DF_BB, pair=2, mac=0.4, num_anonymized=6, runtime_s=300.0, is_finished=False),
        make_record(NAIVE["tunnel"], pair=1, mac=0.8, runtime_s=0.01),
    ]


def test_table1() -> None:
    (table,) = build_tables("table1", table1_records())
    assert table.name == "table1-8"
    best = row_of(table, "Merge-BB, CostAsc, Tunnel")
    assert (best["instances"], best["coverage [%]"], best["paper [%]"]) == (2, "50", "100")
    assert (best["APR"], best["paper APR"]) == ("1.00", "1.00")
    assert best["MAC"] == pytest.approx((0.2 + 0.5) / 2)
    assert best["paper MAC"] == "0.229"
    assert best["equal to the optimum"] == "1 of 2"
    # (1 + 300) / 2 over all; Merge-BB with Blind finished under both orders on the first instance only.
    assert (best["mean time [s]"], best["total time [s]"], best["paper [s]"]) == ("≥ 150", "1.00", "1")
    # The mean where it is counted, and a dash elsewhere.
    assert (row_of(table, "Merge-BB, Random, Blind")["partitions"], best["partitions"]) == ("40", None)
    exact = row_of(table, "optimal (exact)")
    assert (exact["coverage [%]"], exact["paper [%]"], exact["equal to the optimum"]) == ("100", None, "2 of 2")
    assert (exact["mean time [s]"], exact["total time [s]"]) == ("0.200", "0.100")
    assert "Total time is over 1 instance." in table.notes


def test_table1_when_not_all_is_anonymized() -> None:
    (table,) = build_tables("table1", table1_records())
    df_bb = row_of(table, "DF-BB, Tunnel")
    assert (df_bb["APR"], df_bb["MAC"], df_bb["equal to the optimum"]) == ("0.875", None, "1 of 2")


def test_table1_says_what_is_missing() -> None:
    (table,) = build_tables("table1", table1_records())
    naive = row_of(table, "Naive, Tunnel")
    assert (naive["instances"], naive["coverage [%]"], naive["paper [s]"]) == (1, "n/a", "<1")
    # A method without records has no row, and nothing rests on 0 instances.
    assert "Naive, Blind" not in [row[0] for row in table.rows] and len(table.rows) == 6
    assert "some figures rest on 1 and others on 2 of the instances" in words_of(table)
    assert "Records of 2 instances; the paper has 30" in words_of(table)
    (whole,) = build_tables("table1", [make_record(method) for method in PARTITIONING])
    assert "Not complete" not in words_of(whole)


def test_total_time_is_a_dash_where_a_method_did_not_finish() -> None:
    records = table1_records()
    records[7] = make_record(COST_BLIND, pair=2, mac=0.6, runtime_s=90.0)
    (table,) = build_tables("table1", records)
    assert row_of(table, "Merge-BB, CostAsc, Tunnel")["total time [s]"] is None
    assert row_of(table, "Merge-BB, Random, Blind")["total time [s]"] == "50.0"
    # Naive has one of the two.
    assert row_of(table, "Naive, Tunnel")["total time [s]"] == "0.0100 (1)"


def test_one_table_for_each_number_of_candidates() -> None:
    tables = build_tables("table1", [make_record(BEST, size=size) for size in (16, 10, 8)])
    assert [table.name for table in tables] == ["table1-8", "table1-10", "table1-16"]
    assert "Total time is over" not in words_of(tables[0])
    assert row_of(tables[1], "Merge-BB, CostAsc, Tunnel")["paper MAC"] is None


def test_table2() -> None:
    naive = NAIVE["tunnel"]
    records = [
        make_record(naive, pair=1, mac=1.0),
        make_record(naive, pair=2, mac=0.5),
        make_record(naive, pair=3, mac=0.0),
        make_record(BEST, pair=1, mac=0.2),
        make_record(BEST, pair=2, mac=0.3),
        make_record(BEST, pair=3, mac=0.0),
        make_record(OPTIMAL, pair=1, mac=0.1, status="optimal"),
        make_record(DF_BB, pair=1, mac=0.1, num_anonymized=6),
        # Naive with Blind counts for methods with Blind only.
        make_record(NAIVE["blind"], pair=1, mac=0.4),
        make_record(COST_BLIND, pair=1, mac=0.2),
    ]
    (table,) = build_tables("table2", records)
    # 0.2 and 0.6: mean 0.4, deviation sqrt(2 * 0.2^2 / 1) = 0.283.
    assert row_of(table, "Merge-BB, CostAsc, Tunnel")["8 candidates"] == "0.400 ± 0.283"
    assert row_of(table, "Merge-BB, CostAsc, Tunnel")["paper, 8"] == "0.423 ± 0.226"
    assert row_of(table, "optimal (exact)") == {
        "method": "optimal (exact)",
        "8 candidates": "0.100",
        "instances": 1,
        "paper, 8": None,
    }
    assert row_of(table, "Merge-BB, CostAsc, Blind")["8 candidates"] == "0.500"
    assert row_of(table, "DF-BB, Tunnel")["8 candidates"] is None
    # The third instance of Merge-BB, and the one of DF-BB.
    assert "2 results left out" in words_of(table)
    assert not [row for row in table.rows if str(row[0]).startswith("Naive")]


def test_table3() -> None:
    records = [
        make_record(CBP, pair=pair, k=k, m_ratio=0.1, runtime_s=pair * k / 10) for pair in (1, 2) for k in (2, 3, 5)
    ]
    records.append(make_record(M_PBP, m_ratio=10.0, runtime_s=300.0, is_finished=False))
    (table,) = build_tables("table3", records)
    # (0.2 + 0.3 + 0.5 + 0.4 + 0.6 + 1.0) / 6
    ours = row_of(table, "Cbp", "ours")
    assert (ours["0.1"], ours["0.3"], ours["cells"]) == ("0.500", None, "0 to 6")
    assert row_of(table, "Cbp", "paper")["0.1"] == "0.098"
    assert row_of(table, "m-Pbp", "ours")["10"] == "≥ 300"
    assert {row[0] for row in table.rows} == {"Cbp", "m-Pbp"}


def test_table4() -> None:
    records = [
        make_record(RBP, pair=pair, k=3, m_ratio=5.0, mac=mac) for pair, mac in ((1, 20.0), (2, 40.0), (3, None))
    ]
    records += [make_record(OPTIMAL, k=2, m_ratio=5.0, mac=0.3), make_record(BEST, k=2, mac=0.25)]
    records.append(make_record(M_PBP, k=2, m_ratio=5.0))
    (table,) = build_tables("table4", records)
    assert row_of(table, 3, "Rbp", "ours")["5"] == 30.0
    assert row_of(table, 3, "Rbp", "ours")["instances"] == "0 to 2"
    assert row_of(table, 3, "Rbp", "paper")["5"] == "29"
    assert row_of(table, 2, "m-Pbp", "ours")["infinity"] == 0.25
    assert row_of(table, 2, "optimal (not all proved)", "ours")["5"] == 0.3
    assert not [row for row in table.rows if str(row[1]).startswith("optimal") and row[2] == "paper"]
    assert "1 cell anonymized only a part" in words_of(table)


def test_table4_needs_a_bounded_m() -> None:
    assert build_tables("table4", [make_record(BEST)]) == []
    (table,) = build_tables("table4", [make_record(RBP, m_ratio=0.1)])
    assert "infinity" not in table.columns


@pytest.mark.parametrize("suite", ["table3", "table4"])
def test_the_note_on_finite_m_goes_when_the_optimum_is_proved(suite: str) -> None:
    proved = [make_record(OPTIMAL, pair=pair, m_ratio=0.5, status="optimal") for pair in (1, 2)]
    (table,) = build_tables(suite, proved)
    assert "could not prove" not in words_of(table)
    (table,) = build_tables(suite, [*proved, make_record(OPTIMAL, pair=3, m_ratio=0.5, status="feasible")])
    assert "could not prove" in words_of(table)


def test_convergence() -> None:
    records = [
        # 4 of 8 after 0.02 s, all after 2 s.
        make_record(
            BEST, pair=1, mac=0.2, improvements=((0.02, 4, 0.6), (2.0, 8, 0.2)), runtime_s=9.0, time_limit_s=10.0
        ),
        make_record(BEST, pair=2, mac=0.4, improvements=((0.5, 8, 0.4),), runtime_s=9.0, time_limit_s=10.0),
        make_record(OPTIMAL, pair=1, mac=0.1, status="optimal", runtime_s=0.05, time_limit_s=10.0),
    ]
    (table,) = build_tables("convergence", records)
    assert table.columns[2:9] == ("0.01 s", "0.03 s", "0.1 s", "0.3 s", "1 s", "3 s", "10 s")
    aprs, macs = row_of(table, "Merge-BB, CostAsc, Tunnel", "APR"), row_of(table, "Merge-BB, CostAsc, Tunnel", "MAC")
    assert [aprs[f"{time} s"] for time in ("0.01", "0.03", "1", "3", "10")] == [
        "0.000",
        "0.250",
        "0.750",
        "1.00",
        "1.00",
    ]
    assert [macs[f"{time} s"] for time in ("0.01", "0.03", "1", "3")] == [None, "0.600 (1)", "0.500", "0.300"]
    assert (aprs["paper, 300 s"], macs["paper, 300 s"]) == ("1.00", "0.229")
    exact = row_of(table, "optimal (exact)", "MAC")
    assert (exact["0.03 s"], exact["0.1 s"]) == (None, "0.100")


def test_time_stamps_end_at_the_limit() -> None:
    assert time_stamps(4.0) == (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 4.0)
    assert time_stamps(300.0)[-3:] == (30.0, 100.0, 300.0)
    assert time_stamps(0.01) == (0.01,)


def test_klr() -> None:
    records = [
        make_record(BEST, pair=1, k=3, ell=10.0, radius=2.0, mac=1.0, num_anonymized=6),
        make_record(BEST, pair=2, k=3, ell=10.0, radius=2.0, mac=None),
        make_record(OPTIMAL, pair=1, k=2, mac=0.2),
    ]
    (table,) = build_tables("klr", records)
    assert len(table.rows) == 12
    # k, ell, radius; MAC, APR and instances of Merge-BB, then of the optimum; the paper.
    (row,) = [row for row in table.rows if row[:3] == (3, 10, 2)]
    assert row[3:] == (1.0, "0.375", "1 of 2", None, None, "0 of 0", None)
    (row,) = [row for row in table.rows if row[:3] == (2, 1, 0)]
    assert row[3:] == (None, None, "0 of 0", 0.2, "1.00", "1 of 1", "0.229")


def test_examples() -> None:
    book = {"classes": [{"anonymized": True}, {"anonymized": True}, {"anonymized": False}]}
    records = [
        make_record(OPTIMAL, keep_playbook=True, playbook=book, audit_holds=True, status="optimal", mac=0.2),
        make_record(OPTIMAL, keep_playbook=True, ell=10.0, playbook=book, audit_holds=False),
        make_record(OPTIMAL, map_name="../Evil | map\n2", keep_playbook=True, playbook=book),
        make_record(OPTIMAL, map_name=".. evil-map/2", keep_playbook=True),
    ]
    (table,) = build_tables("examples", records)
    found = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["picture"] for row in found] == [
        None,
        "example-evil-map-2-1-k2-ell1-2.png",
        "example-den101d-1-k2-ell1.png",
        "example-den101d-1-k2-ell10.png",
    ]
    assert [row["audit"] for row in found] == ["not asked", "not asked", "holds", "VIOLATED"]
    assert [row["classes"] for row in found] == [None, 2, 2, 2]
    assert [row["paper's picture"] for row in found] == [None, None, "Figure 5", "supplement"]


@pytest.mark.parametrize("suite", suite_names("all"))
def test_the_optimum_and_the_paper_are_in_every_table(suite: str) -> None:
    records = make_run(num_pairs=1, sizes=(8,))
    records.append(make_record(OPTIMAL, keep_playbook=True, audit_holds=True))
    for table in build_tables(suite, records):
        assert "optimal (" in table.to_html()
        has_paper = 'class="number paper"' in table.to_html() or 'class="paper"' in table.to_html()
        assert has_paper == bool(SUITES[suite].where)
    assert build_tables(suite, records[::-1]) == build_tables(suite, records) != []


@pytest.mark.parametrize("suite", SUITES)
def test_no_records_no_table(suite: str) -> None:
    assert build_tables(suite, []) == []
    assert build_tables(suite, [make_record(OPTIMAL, status="error", mac=None, error="out of luck")]) == []


def test_observers_by_planner() -> None:
    records = make_run(num_pairs=1, maps=("den101d",), sizes=(8,))
    (table,) = build_tables("adversaries", records)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [(row["planner"], row["m"]) for row in rows[-3:]] == [
        ("optimal (exact), k = 2", "the whole route"),
        ("optimal (exact), risk 0.5", "the whole route"),
        ("randomised, risk 0.5", "the whole route"),
    ]
    watched = [record.outcome.guesses for record in records if record.cell.mechanism == "randomised"]
    assert rows[-1]["bayesian"] == watched[-1][2][1]
    assert rows[-1]["bayesian at the end"] == watched[-1][2][2]
    others = [record for record in records if not record.cell.is_watched]
    for suite in SUITES:
        if suite != "adversaries":
            assert build_tables(suite, records) == build_tables(suite, others)


def test_unknown_suite() -> None:
    with pytest.raises(UnknownMethodError, match=r"suite: expected one of table1, .*, got 'table9'"):
        build_tables("table9", [])


def test_longest_limit_wins() -> None:
    records = [
        make_record(BEST, time_limit_s=4.0, mac=0.9),
        make_record(BEST, time_limit_s=300.0, mac=0.2),
        make_record(BEST, time_limit_s=10.0, mac=0.8),
    ]
    chosen = select("table1", records)
    assert [record.outcome.mac for record in chosen.records] == [0.2]
    assert chosen.num_repeated == 2
    (table,) = build_tables("table1", records)
    assert "2 records of the same instances and methods" in words_of(table)


def test_records_of_other_suites_are_left_aside() -> None:
    others = [
        make_record(BEST, k=3),
        make_record(BEST, ell=10.0),
        make_record(BEST, radius=2.0),
        make_record(BEST, m_ratio=0.5),
        make_record(BEST, keep_playbook=True),
        make_record(Method("pbp", "local-search")),
    ]
    assert select("table1", others).records == ()
    # A setting of Figure 4, but with 12 candidates.
    assert select("klr", [make_record(BEST, size=12)]).records == ()
    assert len(select("klr", others).records) == 3


def test_numbers_as_text() -> None:
    assert [format_number(x) for x in (0.0, 0.00707, 0.19, 5.8, 29.04, 58.08, 123.4, 1234.5)] == [
        *("0", "0.00707", "0.190", "5.80", "29.0", "58.1", "123", "1234"),
    ]
    assert [format_seconds(x) for x in (0.0, 0.00099, 0.0012, 300.0)] == ["<0.001", "<0.001", "0.00120", "300"]
    assert [format_apr(x) for x in (1.0, 0.99999, 0.5, 0.0)] == ["1.00", "0.999", "0.500", "0.000"]


AWKWARD = Table(
    "t",
    "Rows & <columns>",
    ("name", "a long heading", "paper [s]"),
    (("a|b <i>_*&", 1.25, "<1"), ("two\nlines\x1b[31m", None, "12")),
    ("A note.",),
)


def test_text_is_aligned() -> None:
    assert AWKWARD.to_text() == (
        "Rows & <columns>\n"
        "\n"
        "                 a long  paper\n"
        "name            heading    [s]\n"
        "--------------  -------  -----\n"
        "a|b <i>_*&         1.25     <1\n"
        "two?lines?[31m        -     12\n"
        "\n"
        "A note.\n"
    )


def test_markdown_is_escaped() -> None:
    lines = AWKWARD.to_markdown().splitlines()
    assert lines[0] == r"**Rows &amp; \<columns\>**"
    assert lines[2:6] == [
        r"| name | a long heading | paper \[s\] |",
        "| :--- | ---: | ---: |",
        r"| a\|b \<i\>\_\*&amp; | 1.25 | \<1 |",
        r"| two?lines?\[31m | - | 12 |",
    ]


def test_html_is_escaped_and_marks_the_paper() -> None:
    page = AWKWARD.to_html()
    assert "<td>a|b &lt;i&gt;_*&amp;</td>" in page
    assert '<td class="number paper">&lt;1</td>' in page
    assert "<caption>Rows &amp; &lt;columns&gt;</caption>" in page
    row = Table("t", "", ("planner", "source"), (("Rbp", "paper"),)).to_html()
    assert '<tr class="paper"><td>Rbp</td>' in row


def test_csv_has_all_digits_and_latex_sets_what_stands_there() -> None:
    table = Table("t-1", "50 % & more", ("a_b", "x"), (("R&D #1", 0.123456), ('say "ah"', None)), ("≥ 3, -2 to -1.",))
    assert table.to_csv() == 'a_b,x\nR&D #1,0.123456\n"say ""ah""",\n'
    latex = table.to_latex()
    assert r"\caption{50 \% \& more}" in latex and r"\begin{tabular}{lr}" in latex
    assert r"R\&D \#1 & 0.123 \\" in latex and "a\\_b & x" in latex
    assert r"$\geq$ 3, $-$2 to $-$1." in latex
    for rule in ("toprule", "midrule", "bottomrule"):
        assert latex.count(f"\\{rule}") == 1


def test_details_of_a_suite_rest_on_its_records() -> None:
    """Three instances on two maps; the difference is -0.1 on each: of 2^3 signs two are as extreme."""
    places = [
        {"map_name": "den101d", "pair": 1},
        {"map_name": "den101d", "pair": 2},
        {"map_name": "lak510d", "pair": 1},
    ]
    records = [
        make_record(method, mac=mac, **place)  # type: ignore[arg-type]
        for place in places
        for method, mac in ((OPTIMAL, 0.2), (BEST, 0.3))
    ]
    means, by_map, paired, _ = comparing.build_tables(Selection(tuple(records)), name="table1")
    assert [row[:2] for row in means.rows] == [("optimal (exact)", 3), ("Merge-BB, CostAsc, Tunnel", 3)]
    assert means.rows[0][means.columns.index("interval")] == "0.200 to 0.200"
    assert [(row[0], row[2]) for row in by_map.rows] == [("den101d", 2)] * 2 + [("lak510d", 1)] * 2
    (row,) = paired.rows
    assert row[2] == 3 and row[3] == pytest.approx(-0.1) and row[-2:] == ("0.250", "0.250")
    uneven = [*records[:-1], make_record(BEST, mac=0.1, num_anonymized=6, map_name="lak510d")]
    (paired,) = [t for t in comparing.build_tables(Selection(tuple(uneven)), name="t") if t.name == "t-paired"]
    assert paired.rows[0][2] == 2 and "1 pairs left out" in paired.notes[-1]


def test_times_stand_beside_each_other() -> None:
    """On three instances; on the third the clock stops the slower, on a fourth the quicker, which says nothing."""
    told = [
        (1, 6.0, True, 1.0, True),
        (2, 40.0, True, 2.0, True),
        (3, 300.0, False, 0.5, True),
        (4, 2.0, True, 9.0, False),
    ]
    records = [
        make_record(method, pair=pair, runtime_s=seconds, is_finished=is_finished)
        for pair, slow_s, slow_ended, quick_s, quick_ended in told
        for method, seconds, is_finished in ((BEST, slow_s, slow_ended), (OPTIMAL, quick_s, quick_ended))
    ]
    (table,) = [t for t in comparing.build_tables(Selection(tuple(records)), name="t") if t.name == "t-times"]
    assert table.rows == (("Merge-BB, CostAsc, Tunnel", "optimal (exact)", 3, "≥ 20.0", "≥ 6.00", "≥ 600", None),)
    (table,) = [t for t in comparing.build_tables(Selection(tuple(records[:4])), name="t") if t.name == "t-times"]
    assert table.rows[0][2:6] == (2, "13.0", "6.00", "20.0")
    assert list(comparing.compare_programs(Selection(tuple(records)))) == []


def test_the_cheapest_is_looked_for_among_those_that_hide_as_many() -> None:
    """Whoever leaves out the expensive candidates has a low MAC."""
    records = [make_record(OPTIMAL, mac=0.3), make_record(BEST, mac=0.1, num_anonymized=4)]
    (finding,) = comparing.build_findings(Selection(tuple(records)))
    assert finding == "optimal (exact) has the lowest mean MAC of those that hide the most (APR 1.00), 0.300."
    (finding,) = comparing.build_findings(Selection((records[0], make_record(BEST, mac=0.3))))
    assert finding == "optimal (exact) and Merge-BB, CostAsc, Tunnel have the lowest mean MAC, 0.300."


def test_who_failed_on_the_dear_instances_is_not_cheap() -> None:
    records = [make_record(OPTIMAL, mac=0.1), make_record(OPTIMAL, mac=0.9, pair=2), make_record(BEST, mac=0.2)]
    (finding,) = comparing.build_findings(Selection(tuple(records)))
    assert finding == "optimal (exact) has the lowest mean MAC on the 1 instance that all have, 0.100."
