"""Tables from records whose means can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench_samples import make_record, make_run
from veilroute import UnknownMethodError
from veilroute.bench import (
    BEST,
    CBP,
    M_PBP,
    NAIVE,
    OPTIMAL,
    RBP,
    SUITES,
    Instance,
    Layout,
    Mean,
    Method,
    Record,
    Selection,
    Table,
    build_details,
    build_findings,
    build_means,
    build_paired,
    build_times,
    compare_programs,
    find_suite,
    format_apr,
    format_number,
    format_seconds,
    record_from_dict,
    suite_names,
    time_stamps,
)

DF_BB = Method("pbp", "df-bb", "", "tunnel")
PLAIN = Layout("t", "T")


def build_tables(suite: str, records: list[Record]) -> list[Table]:
    return find_suite(suite).build_tables(records)


def select(suite: str, records: list[Record]) -> Selection:
    return find_suite(suite).select(records)


def row_of(table: Table, *start: object) -> dict[str, object]:
    """The one row that starts so."""
    (row,) = [row for row in table.rows if row[: len(start)] == start]
    return dict(zip(table.columns, row, strict=True))


def texts_of(table: Table, *start: object) -> list[str]:
    """The cells behind the start of the one row that starts so, as people read them, with a star if bold."""
    (row,) = [row for row in table.rows if row[: len(start)] == start]
    return ["-" if v is None else f"{v}{'*' * (isinstance(v, Mean) and v.is_best)}" for v in row[len(start) :]]


def table1_records() -> list[Record]:
    """Two instances: the optimum is 0.2 on the first and 0.4 on the second."""
    return [
        make_record(OPTIMAL, pair=1, mac=0.2, status="optimal", runtime_s=0.1),
        make_record(OPTIMAL, pair=2, mac=0.4, status="optimal", runtime_s=0.3),
        make_record(BEST, pair=1, mac=0.2 * (1 + 1e-12), runtime_s=1.0, num_partitions=30),
        make_record(BEST, pair=2, mac=0.5, runtime_s=300.0, is_finished=False, num_partitions=51),
        make_record(DF_BB, pair=1, mac=0.2, num_anonymized=8, runtime_s=5.0),
        # At the optimum's MAC, but for fewer candidates.
        make_record(DF_BB, pair=2, mac=0.4, num_anonymized=6, runtime_s=300.0, is_finished=False),
        make_record(NAIVE["tunnel"], pair=1, mac=0.8, runtime_s=0.0001),
        make_record(NAIVE["tunnel"], pair=2, mac=0.8, runtime_s=0.0003),
    ]


def test_table1() -> None:
    (table,) = build_tables("table1", table1_records())
    assert table.name == "table1"
    best = row_of(table, "Merge-BB, CostAsc, Tunnel")
    assert (best["instances"], best["coverage [%]"], best["APR"]) == (2, "50", "1.00")
    mac, seconds = best["MAC"], best["time [s]"]
    assert isinstance(mac, Mean) and mac.value == pytest.approx(0.35) and not mac.is_best
    assert isinstance(seconds, Mean) and str(seconds).startswith("≥ 150 ± ")
    assert (best["equal to the optimum"], best["partitions"]) == ("1 of 2", "40")
    exact = row_of(table, "optimal (exact)")
    assert (exact["coverage [%]"], exact["equal to the optimum"], exact["partitions"]) == ("100", "2 of 2", None)
    assert isinstance(exact["MAC"], Mean) and exact["MAC"].is_best
    # DF-BB is as cheap and hides fewer, so it is no rival; nor does it meet the optimum there.
    df_bb = row_of(table, "DF-BB, Tunnel")
    assert (df_bb["APR"], df_bb["equal to the optimum"]) == ("0.875", "1 of 2")
    assert isinstance(df_bb["MAC"], Mean) and not df_bb["MAC"].is_best
    naive = row_of(table, "Naive, Tunnel")
    assert (naive["coverage [%]"], naive["time [s]"]) == ("n/a", "<0.001")


def test_only_a_proved_optimum_is_one_to_be_equal_to() -> None:
    records = [*table1_records(), make_record(OPTIMAL, pair=3, mac=0.2), make_record(BEST, pair=3, mac=0.2)]
    (table,) = build_tables("table1", records)
    assert row_of(table, "Merge-BB, CostAsc, Tunnel")["equal to the optimum"] == "1 of 2"


def test_methods_that_prove_nothing_have_no_coverage() -> None:
    for name, expected in (("local-search", "n/a"), ("naive", "n/a"), ("df-bb", "100")):
        records = (make_record(Method("pbp", name)),)
        (table,) = build_means(replace(PLAIN, columns=("coverage",)), Selection(records))
        assert texts_of(table) == [expected, "1"]


def test_programs_that_cannot_tell_have_no_coverage() -> None:
    told = make_record(BEST)
    untold = replace(told, outcome=replace(told.outcome, is_finished=None))
    (table,) = build_means(replace(PLAIN, columns=("coverage",)), Selection((untold,)))
    assert texts_of(table) == ["n/a", "1"]
    (seconds,) = build_means(replace(PLAIN, columns=("time",)), Selection((untold,)))
    assert texts_of(seconds) == ["1.00", "1"], "nor did the clock stop them, as far as one knows"
    (table,) = build_means(replace(PLAIN, columns=("finished", "mac"), across="measure"), Selection((untold,)))
    assert table.rows[0][1] == "n/a"


def test_only_all_are_a_hundred_per_cent() -> None:
    records = [make_record(BEST, pair=pair, is_finished=pair > 1) for pair in range(1, 301)]
    layout = replace(PLAIN, columns=("coverage",))
    for chosen, text in ((records, "99"), (records[1:], "100"), (records[:1], "0")):
        (table,) = build_means(layout, Selection(tuple(chosen)))
        assert texts_of(table)[0] == text


def test_a_ratio_of_times_needs_a_base_that_ended() -> None:
    """What the clock stopped would have taken longer, so a ratio to its time is more than the true one."""
    records = [make_record(BEST, pair=1, runtime_s=2.0), make_record(BEST, pair=2, runtime_s=2.0)]
    records += [make_record(OPTIMAL, pair=1), make_record(OPTIMAL, pair=2, runtime_s=4.0, is_finished=False)]
    layout = replace(PLAIN, columns=("time / optimal",))
    (table,) = build_means(layout, Selection(tuple(records)))
    assert texts_of(table)[1] == "2.00 (1)"


def test_methods_that_hide_others_are_not_compared_by_cost() -> None:
    """Each hides everybody on one instance and nobody on the other: the means are over different instances."""
    records = [
        make_record(method, pair=pair, mac=mac if pair == own else None)
        for method, mac, own in ((BEST, 0.1, 1), (OPTIMAL, 0.5, 2))
        for pair in (1, 2)
    ]
    layout = replace(PLAIN, columns=("mac",))
    (table,) = build_means(layout, Selection(tuple(records)))
    assert texts_of(table)[:2] == ["0.500 (1)", "0.100 (1)"] and not list(
        build_findings(layout, Selection(tuple(records)))
    )
    both = [make_record(method, mac=mac) for method, mac in ((BEST, 0.1), (OPTIMAL, 0.5))]
    (table,) = build_means(layout, Selection(tuple(both)))
    assert texts_of(table)[:2] == ["0.500", "0.100*"]


def test_of_several_draws_every_audit_and_every_guess_counts() -> None:
    def drawn(*audits: bool | None) -> Record:
        records = [
            make_record(
                RBP, watching={"draw": draw}, m_ratio=1.0, audit_holds=holds, guesses=(("bayesian", draw / 4, 0.5),)
            )
            for draw, holds in enumerate(audits)
        ]
        (record,) = select("table4", records).records
        return record

    assert drawn(True, False, True).outcome.audit_holds is False
    assert drawn(True, True).outcome.audit_holds is True and drawn(True, None).outcome.audit_holds is None
    assert drawn(None, None, None).outcome.guesses == (("bayesian", 0.25, 0.5),)


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
    ]
    (table,) = build_tables("table2", records)
    # 0.2 and 0.6 have the mean 0.4; where Naive's MAC is 0 there is no ratio, which the brackets say.
    (cell, num) = texts_of(table, "Merge-BB, CostAsc, Tunnel")
    assert cell.startswith("0.400 ± 0.2") and cell.endswith(" (2)") and num == "3"
    assert texts_of(table, "optimal (exact)") == ["0.100", "1"], (
        "ratios are not marked: the best MAC need not have the lowest one"
    )
    assert texts_of(table, "DF-BB, Tunnel") == ["-", "1"], "it hid fewer than Naive"
    assert any(note.startswith("Not complete: some methods lack instances (1 to 3)") for note in table.notes)


def test_table4_has_a_row_for_each_k_and_planner_and_a_column_for_each_m() -> None:
    records = [
        make_record(RBP, pair=pair, k=3, m_ratio=5.0, mac=mac) for pair, mac in ((1, 20.0), (2, 40.0), (3, None))
    ]
    records += [make_record(OPTIMAL, k=2, m_ratio=ratio, mac=0.3) for ratio in (10.0, 0.5)]
    records += [make_record(M_PBP, k=2, m_ratio=10.0, mac=0.3)]
    records += [make_record(CBP, k=2, m_ratio=10.0, mac=0.4)]
    (table,) = build_tables("table4", records)
    assert table.columns == ("k", "method", "m 0.5", "m 5", "m 10", "instances")
    ((_, five, _, num),) = [texts_of(table, 3, "Rbp")]
    assert five.startswith("30.0 ± ") and five.endswith(" (2)") and num == "3"
    assert texts_of(table, 2, "optimal (exact)") == ["0.300", "-", "0.300*", "1"], "one method alone is not the best"
    assert texts_of(table, 2, "m-Pbp") == ["-", "-", "0.300*", "1"], "ties are all bold"
    assert texts_of(table, 2, "Cbp") == ["-", "-", "0.400", "1"]
    # The planners stand in the order of the study's file.
    assert [row[1] for row in table.rows if row[0] == 2] == ["Cbp", "m-Pbp", "optimal (exact)"]
    (note,) = [note for note in table.notes if note.startswith("optimal (exact) has no proof")]
    assert "for 2 of 2 cells" in note
    proved = [replace(each, outcome=replace(each.outcome, status="optimal")) for each in records]
    assert not [note for note in build_tables("table4", proved)[0].notes if "no proof" in note]


def test_convergence() -> None:
    records = [
        # 4 of 8 after 0.02 s, all after 2 s.
        make_record(
            BEST, pair=1, mac=0.2, improvements=((0.02, 4, 0.6), (2.0, 8, 0.2)), runtime_s=9.0, time_limit_s=10.0
        ),
        # Its first partition hides nobody, so that it has no MAC.
        make_record(
            BEST, pair=2, mac=0.4, improvements=((0.005, 0, 9.9), (0.5, 8, 0.4)), runtime_s=9.0, time_limit_s=10.0
        ),
        make_record(OPTIMAL, pair=1, mac=0.1, status="optimal", runtime_s=0.05, time_limit_s=10.0),
    ]
    aprs, macs = build_tables("convergence", records)
    stamps = ("0.01 s", "0.03 s", "0.1 s", "0.3 s", "1 s", "3 s", "10 s")
    assert (aprs.name, macs.name) == ("convergence-apr", "convergence-mac")
    assert aprs.columns[1:8] == tuple(f"after {stamp}" for stamp in stamps)
    assert texts_of(aprs, "Merge-BB, CostAsc, Tunnel")[:7] == [
        "0.000", "0.250", "0.250", "0.250", "0.750", "1.00", "1.00"
    ]  # fmt: skip
    shown = [text.partition(" ±")[0].rstrip("*") for text in texts_of(macs, "Merge-BB, CostAsc, Tunnel")]
    assert shown[:7] == ["-", "0.600 (1)", "0.600 (1)", "0.600 (1)", "0.500", "0.300", "0.300"]
    assert texts_of(macs, "optimal (exact)")[:3] == ["-", "-", "0.100*"]


def test_time_stamps_end_at_the_limit() -> None:
    assert time_stamps(4.0) == (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 4.0)
    assert time_stamps(300.0)[-3:] == (30.0, 100.0, 300.0)
    assert time_stamps(0.01) == (0.01,)


def test_examples() -> None:
    book = {"classes": [{"anonymized": True}, {"anonymized": True}, {"anonymized": False}]}
    records = [
        make_record(OPTIMAL, keep_playbook=True, playbook=book, audit_holds=True, status="optimal", mac=0.2),
        make_record(OPTIMAL, keep_playbook=True, ell=10.0, playbook=book, audit_holds=False),
    ]
    (table,) = build_tables("examples", records)
    assert texts_of(table, "den101d", 1, "1") == ["optimal (exact)", "2", "1.00", "0.200", "optimal", "holds"]
    assert texts_of(table, "den101d", 1, "10")[-1] == "VIOLATED"
    assert list(find_suite("examples").findings(select("examples", records))) == [
        "The auditor confirms 1 of 2 playbooks.",
        "It does NOT confirm 1; this is a fault of the planner or of the auditor.",
    ]


def test_observers_by_planner() -> None:
    records = make_run(num_pairs=1, maps=("den101d",), sizes=(8,))
    (table,) = build_tables("adversaries", records)
    row = row_of(table, "-", "infinity", "0.5", "randomised")
    watched = [record.outcome.guesses for record in records if record.cell.mechanism == "randomised"]
    assert isinstance(row["bayesian"], Mean) and row["bayesian"].value == watched[-1][2][1]
    assert isinstance(row["bayesian at the end"], Mean) and row["bayesian at the end"].value == watched[-1][2][2]
    others = [record for record in records if not record.cell.is_watched]
    for suite in SUITES:
        if suite != "adversaries":
            assert build_tables(suite, records) == build_tables(suite, others)


def test_no_row_is_a_mean_over_kinds_of_maps() -> None:
    """Steps, metres and seconds do not add up; the kind is no part of a cell's key, and old records have none."""
    places = (("hall", "", (1, 1)), ("town", "streets in metres", 7), ("city", "streets in seconds", 7))
    records = []
    for at, (name, kind, node) in enumerate(places, start=1):
        for pair in (1, 2):
            record = make_record(BEST, map_name=name, pair=pair, mac=float(at))
            instance = Instance(name, pair, node, node, record.cell.instance.candidates, kind=kind)
            records.append(replace(record, cell=replace(record.cell, instance=instance)))
    (table,) = build_means(replace(PLAIN, columns=("mac",)), Selection(tuple(records)))
    assert table.columns == ("map kind", "Merge-BB, CostAsc, Tunnel", "instances")
    assert [(row[0], str(row[1]), row[2]) for row in table.rows] == [
        ("grid", "1.00 ± 0.00", 2), ("streets in metres", "2.00 ± 0.00", 2), ("streets in seconds", "3.00 ± 0.00", 2)
    ]  # fmt: skip
    town = records[2]
    assert record_from_dict(town.to_dict()).cell.instance.map_kind == "streets in metres"
    bare = replace(town, cell=replace(town.cell, instance=replace(town.cell.instance, kind="")))
    assert bare.cell.key == town.cell.key and bare.cell.instance.map_kind == "graph"
    assert "kind" not in records[0].cell.to_dict()["instance"]


def test_what_stands_across() -> None:
    """The same figures by method, by a setting and by measure."""
    records = [
        make_record(method, size=size, mac=mac)
        for size, method, mac in ((8, OPTIMAL, 0.1), (8, BEST, 0.2), (12, OPTIMAL, 0.3), (12, BEST, 0.4))
    ]
    chosen = Selection(tuple(records))
    (by_method,) = build_means(replace(PLAIN, columns=("mac",), methods=(OPTIMAL, BEST)), chosen)
    assert by_method.columns == ("candidates", "optimal (exact)", "Merge-BB, CostAsc, Tunnel", "instances")
    assert texts_of(by_method, 8) == ["0.100*", "0.200", "1"]
    (by_size,) = build_means(replace(PLAIN, columns=("mac",), across="candidates"), chosen)
    assert by_size.columns == ("method", "candidates 8", "candidates 12", "instances")
    assert texts_of(by_size, "optimal (exact)") == ["0.100*", "0.300*", "1"]
    (by_measure,) = build_means(replace(PLAIN, columns=("mac", "status"), across="measure"), chosen)
    assert by_measure.columns == ("candidates", "method", "MAC", "status")
    assert texts_of(by_measure, 12, "optimal (exact)") == ["0.300*", "feasible"]
    two = build_means(replace(PLAIN, columns=("mac", "time / optimal")), chosen)
    assert [table.name for table in two] == ["t-mac", "t-time-optimal"]
    assert texts_of(two[1], 8) == ["1.00", "1.00", "1"]


@pytest.mark.parametrize("suite", suite_names("all"))
def test_the_optimum_is_in_every_table(suite: str) -> None:
    records = make_run(num_pairs=1, sizes=(8,))
    records.append(make_record(OPTIMAL, keep_playbook=True, audit_holds=True))
    for table in build_tables(suite, records):
        assert "optimal (" in table.to_html()
    assert build_tables(suite, records[::-1]) == build_tables(suite, records) != []


@pytest.mark.parametrize("suite", SUITES)
def test_no_records_no_table(suite: str) -> None:
    assert build_tables(suite, []) == []
    assert build_tables(suite, [make_record(OPTIMAL, status="error", mac=None, error="out of luck")]) == []


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
    assert "2 records of the same instances and methods" in " ".join(table.notes)


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


def test_csv_has_all_digits_and_latex_sets_what_stands_there() -> None:
    table = Table("t-1", "50 % & more", ("a_b", "x"), (("R&D #1", 0.123456), ('say "ah"', None)), ("≥ 3, -2 to -1.",))
    assert table.to_csv() == 'a_b,x\nR&D #1,0.123456\n"say ""ah""",\n'
    latex = table.to_latex()
    assert r"\caption{50 \% \& more}" in latex and r"\begin{tabular}{@{}lr@{}}" in latex
    assert r"R\&D \#1 & 0.123 \\" in latex and "a\\_b & x" in latex
    assert r"$\geq$ 3, $-$2 to $-$1." in latex
    for rule in ("toprule", "midrule", "bottomrule"):
        assert latex.count(f"\\{rule}") == 1


MEANS = Table(
    "m",
    "Means",
    ("k", "one & only", "two, with a long name"),
    (
        (2, Mean(0.123456, 0.0344, is_best=True), Mean(12.3456, 1.26)),
        (2, Mean(0.5, num=3), Mean(299.7, is_bound=True)),
        (3, None, Mean(0.0, 0.0)),
    ),
)


def test_means_have_intervals_and_the_best_is_bold() -> None:
    assert MEANS.to_text() == (
        "Means\n"
        "\n"
        "                    two, with\n"
        "                       a long\n"
        "k      one & only        name\n"
        "-  --------------  ----------\n"
        "2  0.123 ± 0.034*  12.3 ± 1.3\n"
        "2      0.500 (3)        ≥ 300\n"
        "3              -        0 ± 0\n"
        "\n"
        "* means bold.\n"
    )
    assert r"| 2 | **0.123 ± 0.034** | 12.3 ± 1.3 |" in MEANS.to_markdown()
    assert '<td class="number"><b>0.123 ± 0.034</b></td>' in MEANS.to_html()
    assert MEANS.to_csv() == (
        'k,one & only,one & only ±,"two, with a long name","two, with a long name ±"\n'
        "2,0.123456,0.0344,12.3456,1.26\n2,0.5,,≥ 299.7,\n3,,,0.0,0.0\n"
    )
    latex = MEANS.to_latex()
    assert r"2 & \textbf{0.123 $\pm$ 0.034} & 12.3 $\pm$ 1.3 \\" in latex
    assert r"\shortstack[r]{two, with\\a long\\name}" in latex and r"one \& only &" in latex
    assert latex.count(r"\addlinespace") == 1 and "\\addlinespace\n3 &" in latex, "between k = 2 and k = 3"


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
    layout = replace(PLAIN, methods=(OPTIMAL, BEST))
    means, by_map, paired, _ = build_details(layout, Selection(tuple(records)))
    assert [row[:2] for row in means.rows] == [("optimal (exact)", 3), ("Merge-BB, CostAsc, Tunnel", 3)]
    assert str(means.rows[0][means.columns.index("MAC")]) == "0.200 ± 0.000"
    assert "audit" not in means.columns, "nothing was audited"
    assert [(row[0], row[2]) for row in by_map.rows] == [("den101d", 2)] * 2 + [("lak510d", 1)] * 2
    (row,) = paired.rows
    assert row[2] == 3 and row[3] == pytest.approx(-0.1) and row[-2:] == ("0.250", "0.250")
    uneven = [*records[:-1], make_record(BEST, mac=0.1, num_anonymized=6, map_name="lak510d")]
    (paired,) = build_paired(PLAIN, Selection(tuple(uneven)))
    assert paired.rows[0][2] == 2 and "1 pair left out" in paired.notes[-1]


@pytest.mark.parametrize(("num", "told"), [(2, True), (9, True), (10, False)])
def test_an_interval_of_few_instances_is_said_to_be_too_narrow(num: int, told: bool) -> None:
    records = [make_record(OPTIMAL, mac=0.1 * pair, pair=pair) for pair in range(1, num + 1)]
    table, *_ = build_means(replace(PLAIN, columns=("mac",)), Selection(tuple(records)))
    assert (f"For {num} instances it is too narrow" in table.to_text().replace("\n", " ")) is told


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
    (table,) = build_times(PLAIN, Selection(tuple(records)))
    assert table.rows == (("Merge-BB, CostAsc, Tunnel", "optimal (exact)", 3, "≥ 20.0", "≥ 6.00", "≥ 600", None),)
    (table,) = build_times(PLAIN, Selection(tuple(records[:4])))
    assert table.rows[0][2:6] == (2, "13.0", "6.00", "20.0")
    assert list(compare_programs(Selection(tuple(records)))) == []


def test_the_cheapest_is_looked_for_among_those_that_hide_as_many() -> None:
    """A method that leaves out the expensive candidates has a low MAC."""
    records = [make_record(OPTIMAL, mac=0.3), make_record(BEST, mac=0.1, num_anonymized=4)]
    (finding,) = build_findings(PLAIN, Selection(tuple(records)))
    assert finding == "optimal (exact) has the lowest mean MAC of those that hide the most, 0.300."
    (finding,) = build_findings(PLAIN, Selection((records[0], make_record(BEST, mac=0.3))))
    assert finding == "optimal (exact); Merge-BB, CostAsc, Tunnel have the lowest mean MAC, 0.300."


def test_a_method_that_failed_on_the_expensive_instances_is_not_cheap() -> None:
    records = [make_record(OPTIMAL, mac=0.1), make_record(OPTIMAL, mac=0.9, pair=2), make_record(BEST, mac=0.2)]
    (finding,) = build_findings(PLAIN, Selection(tuple(records)))
    assert finding == "optimal (exact) has the lowest mean MAC on the 1 instance that all have, 0.100."


def test_findings_name_few_settings_and_count_many() -> None:
    records = [make_record(m, k=k, mac=mac) for k in range(2, 8) for m, mac in ((OPTIMAL, 0.1), (BEST, 0.2))]
    (finding,) = build_findings(PLAIN, Selection(tuple(records)))
    assert finding == "optimal (exact) has the lowest mean MAC, at 6 of 6 settings."
    cheap = [replace(each, outcome=replace(each.outcome, mac=0.05)) for each in records if each.cell.method == BEST][:1]
    found = list(build_findings(PLAIN, Selection((*cheap, *(r for r in records if r.cell.key != cheap[0].cell.key)))))
    assert found[0] == "Merge-BB, CostAsc, Tunnel has the lowest mean MAC, at k 2, 0.0500."
    assert found[1] == "optimal (exact) has the lowest mean MAC, at 5 of 6 settings."
