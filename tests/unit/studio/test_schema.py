"""Parameters of jobs: what is taken, what is refused, and the commands that come of it."""

from __future__ import annotations

import json
import math
import runpy
from pathlib import Path
from typing import Any

import pytest

from veilroute import InvalidInputError
from veilroute.studio import JOB_KINDS, Work, check_job, make_work, refs_of

MAP, TABLE, BOOK, LEDGER = "1" * 16, "2" * 16, f"{'3' * 16}/playbook.json", "4" * 16
KINDS = {MAP: "map", TABLE: "table", BOOK: "playbook", LEDGER: "ledger"}
SUFFIXES = {MAP: ".map", TABLE: ".csv", BOOK: ".json", LEDGER: ".jsonl"}


def kind_of(where: str, ref: str) -> str:
    if ref not in KINDS:
        raise InvalidInputError(where, "a file", ref)
    return KINDS[ref]


def work(kind: str, limit_s: float = 3600, **params: Any) -> Work:
    check_job(kind, params, kind_of)
    return make_work(kind, params, SUFFIXES.__getitem__, limit_s)


class TestChecks:
    @pytest.mark.parametrize(
        ("kind", "params", "words"),
        [
            ("route", {}, "kind"),
            (["plan"], {}, "kind"),
            ("plan", [], "params"),
            ("plan", {}, "params.source"),
            ("plan", {"source": MAP, "secret": "x"}, "no other keys"),
            ("plan", {"source": MAP, "options": {"transit": "x"}}, "params.options"),
            ("plan", {"source": "../" + MAP}, "params.source"),
            ("plan", {"source": BOOK}, "of the kind map"),
            ("plan", {"source": MAP, "options": {"k": True}}, "params.options.k"),
            ("plan", {"source": MAP, "options": {"k": 10**40}}, "params.options.k"),
            ("plan", {"source": MAP, "options": {"ell": math.inf}}, "params.options.ell"),
            ("plan", {"source": MAP, "options": {"m": "2; 3"}}, "params.options.m"),
            ("plan", {"source": MAP, "options": {"m": 0}}, "params.options.m"),
            ("plan", {"source": MAP, "options": {"start": "1,1\n--ledger"}}, "params.options.start"),
            ("plan", {"source": MAP, "options": {"start": "x" * 301}}, "params.options.start"),
            ("plan", {"source": MAP, "options": {"candidates": ["1,1", "2,2;3,3"]}}, "params.options.candidates[1]"),
            ("plan", {"source": MAP, "time_limit_s": "9"}, "params.time_limit_s"),
            ("export", {"playbook": BOOK, "format": "exe"}, "params.format"),
            ("fleet", {"playbook": BOOK, "touched": [], "vehicles": 1}, "params.touched"),
            ("fleet", {"playbook": BOOK, "orders": "Anna", "touched": [1], "vehicles": 1}, "no other keys"),
        ],
    )
    def test_what_is_refused_names_the_field(self, kind: object, params: object, words: str) -> None:
        with pytest.raises(InvalidInputError) as caught:
            check_job(kind, params, kind_of)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


class TestCommands:
    def test_texts_of_clients_are_values_of_options_only(self) -> None:
        sly = ["-o/etc/passwd", "--help", "{book}", "{file}", "$(id)", "a b"]
        for text in sly:
            made = work("plan", source=MAP, options={"start": text, "candidates": [text, "1,1"]})
            for step in made.steps[:4]:
                assert text not in step.argv
                assert all(word.startswith(("--start=", "--candidates=")) for word in step.argv if text in word)

    def test_a_long_plan_is_shown_early(self) -> None:
        steps = work("plan", source=MAP, options={}, time_limit_s=60).steps
        assert "--time-limit=2" in steps[0].argv
        assert [step.is_interim for step in steps] == [True, True, False, False, False, False]
        assert len(work("plan", source=MAP, options={}, time_limit_s=2).steps) == 4
        # Detours are planned also when the first plan is proved; no search is longer than the server allows.
        steps = work("plan", source=MAP, options={}, time_limit_s=60, contingencies="worst 3").steps
        assert steps[2].when == "always"
        assert "--contingencies=worst 3" in steps[2].argv
        assert not any("contingencies" in word for word in steps[0].argv)
        assert "--time-limit=5" in work("plan", 5.0, source=MAP, options={}, time_limit_s=60).steps[2].argv

    def test_options_as_on_the_command_line(self) -> None:
        options = {"k": 3, "ell": 2.5, "m": 7, "radius_measure": "cost", "places": TABLE, "candidates": ["1,1", " 2,2"]}
        argv = work("plan", source=MAP, options=options, time_limit_s=1, ledger=LEDGER).steps[0].argv
        assert argv[:3] == ("plan", "source.map", "--json")
        wanted = {"-k3", "--ell=2.5", "--m=7", "--radius-measure=cost", "--places=places.csv", "--candidates=1,1;2,2;"}
        assert wanted | {"--ledger=ledger.jsonl"} <= set(argv)
        given = {"source": MAP, "options": {"places": TABLE, "prior": TABLE}, "ledger": LEDGER}
        assert refs_of("plan", given) == [MAP, TABLE, TABLE, LEDGER]
        assert refs_of("linked", {"ledger": LEDGER, "playbooks": [BOOK]}) == [LEDGER, BOOK]

    def test_what_is_too_much_or_makes_no_sense_is_refused(self) -> None:
        many = list(range(1, 21))
        with pytest.raises(InvalidInputError, match="combinations"):
            work("frontier", source=MAP, options={}, k=many, ell=many)
        argv = work("frontier", source=MAP, options={"ell": 4, "k": 9}, k=[2, 3]).steps[0].argv
        assert {"--k=2,3", "--ell=4"} <= set(argv)
        assert "-k9" not in argv
        # Only maps of OpenStreetMap have kinds of roads.
        with pytest.raises(InvalidInputError, match="OpenStreetMap"):
            work("open", source=MAP, network="drive")

    def test_orders_never_come_here(self) -> None:
        argv = work("fleet", playbook=BOOK, touched=[2, 1], vehicles=3).steps[0].argv
        assert "--touched=2,1" in argv
        assert not any("order" in word for word in argv)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_the_description_in_the_docs_is_that_of_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_module("veilroute.studio.openapi", run_name="__main__")
    written = (Path(__file__).parents[3] / "docs" / "openapi.json").read_text(encoding="utf-8")
    made = capsys.readouterr().out
    assert json.loads(written) == json.loads(made), "write it: python -m veilroute.studio.openapi > docs/openapi.json"
    requests = json.loads(made)["components"]["schemas"]["JobRequest"]["oneOf"]
    described = {one["properties"]["kind"]["const"]: one["properties"]["params"] for one in requests}
    assert {kind: set(params["properties"]) for kind, params in described.items()} == {
        kind: set(fields) for kind, fields in JOB_KINDS.items()
    }
    assert all(params["additionalProperties"] is False for params in described.values())
