"""The paper's figures against the paper itself, when it is here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from veilroute import bench

DF_BB = {heuristic: bench.Method("pbp", "df-bb", "", heuristic) for heuristic in ("blind", "tunnel")}
MERGE_BB = [
    bench.Method("pbp", "merge-bb", order, heuristic)
    for order in ("random", "cost-asc")
    for heuristic in ("blind", "tunnel")
]


@pytest.fixture(scope="module")
def paper(shared: Path) -> str:
    (path,) = (shared / "paper").glob("*.txt")
    return path.read_text(encoding="utf-8")


def rows_before(paper: str, label: str) -> list[list[str]]:
    """The rows of the last table before a label, with the commands that only set type taken away."""
    text = paper[: paper.index(rf"\label{{{label}}}")]
    text = text[text.rindex(r"\begin{tabular}{@{}c|") :]
    text = text.replace(r"\textless{}", "<")
    text = re.sub(r"\\(?:midrule|bottomrule|cmidrule\(l\)\{[0-9-]+\})", "", text)
    text = re.sub(r"\\(?:multicolumn|multirow)\{\d\}\{[^{}]*\}", "", text)
    text = re.sub(r"\\begin\{tabular\}\[c\]\{@\{\}c@\{\}\}(.*?)\\end\{tabular\}", r"\1", text, flags=re.DOTALL)
    text = text.replace(r"\textbf", "").replace("{", "").replace("}", "")
    return [[" ".join(cell.split()) for cell in row.split("&")] for row in re.split(r"\\\\", text)]


def test_table_1(paper: str) -> None:
    rows = [
        row[3:] for row in rows_before(paper, "tab:baseline-comp") if len(row) == 15 and row[2] in ("Blind", "Tunnel")
    ]
    methods = [*bench.NAIVE.values(), *DF_BB.values(), *MERGE_BB]
    assert len(rows) == len(methods) == 8
    for method, row in zip(methods, rows, strict=True):
        for i, size in enumerate(bench.SIZES):
            ours = bench.TABLE1[method, size]
            texts = [ours.coverage, ours.total_time_s, ours.apr, ours.mac]
            assert texts == [row[i], row[3 + i], row[6 + i], row[9 + i]]
    assert len(bench.TABLE1) == 24


def test_table_2(paper: str) -> None:
    text = paper[: paper.index(r"\label{tab:relative-mac}")]
    pairs = re.findall(r"(\d\.\d+) \\\\ \(±(\d\.\d+)\)", text)
    expected = [bench.TABLE2[method, size] for method in MERGE_BB for size in bench.SIZES]
    assert [(ratio.mean, ratio.deviation) for ratio in expected] == pairs
    assert len(bench.TABLE2) == len(pairs) == 12


def test_table_3(paper: str) -> None:
    text = paper[: paper.index(r"\end{tabular}", paper.index(r"\label{tab:impact-m-time}"))]
    lines = text[text.rindex(r"\begin{tabular}") :].splitlines()
    rows = {row[0]: row[1:] for row in ([cell.strip(" \\") for cell in line.split("&")] for line in lines)}
    assert rows[r"$m / |\pi^{*}|$"][:5] == ["0.1", "0.3", "0.5", "1.0", "5.0"]
    for planner, name in ((bench.RBP, "Rbp"), (bench.CBP, "Cbp"), (bench.M_PBP, "$m$-Pbp")):
        assert [bench.TABLE3[planner][ratio] for ratio in bench.M_RATIOS] == [cell.split(" ")[0] for cell in rows[name]]


def test_table_of_the_supplement(paper: str) -> None:
    names = {"$m$-Pbp": bench.M_PBP, "Cbp": bench.CBP, "Rbp": bench.RBP}
    rows = [row for row in rows_before(paper, "tab:impact-m") if len(row) == 8 and row[1] in names]
    assert len(rows) == len(bench.TABLE4) == 9
    for i, row in enumerate(rows):
        k = (2, 3, 5)[i // 3]
        assert [bench.TABLE4[names[row[1]], k][ratio] for ratio in bench.M_RATIOS] == row[2:]


def test_texts_that_are_no_numbers() -> None:
    assert [bench.number(text) for text in ("<1", "n/a", "-")] == [None] * 3
    assert bench.number(bench.TABLE1[bench.BEST, 12].coverage) == 47
    assert bench.number(bench.TABLE1[bench.NAIVE["blind"], 16].total_time_s) is None
