"""Parameters of jobs: what is taken, what is refused, and the requests that come of it."""

from __future__ import annotations

import json
import math
import runpy
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from veilroute import InvalidInputError
from veilroute.app.requests import AuditRequest, FleetRequest, PlanRequest, ReplanRequest
from veilroute.studio import KINDS, Asked, plain, read_job, request_of

MAP, TABLE, BOOK, LEDGER = "1" * 16, "2" * 16, f"{'3' * 16}/playbook.json", "4" * 16
FILES = {MAP: ("map", ".map"), TABLE: ("table", ".csv"), BOOK: ("playbook", ".json"), LEDGER: ("ledger", ".jsonl")}


def kind_of(where: str, ref: str) -> str:
    if ref not in FILES:
        raise InvalidInputError(where, "a file", ref)
    return FILES[ref][0]


def read(kind: object, params: object, limit_s: float = 3600) -> Asked:
    return read_job(kind, params, kind_of, lambda ref: FILES[ref][1], limit_s)


class TestChecks:
    @pytest.mark.parametrize(
        ("kind", "params", "words"),
        [
            ("route", {}, "kind"),
            (["plan"], {}, "kind"),
            ("plan", [], "params"),
            ("plan", {}, "params.source"),
            ("plan", {"source": MAP, "secret": "x"}, "a key that is known"),
            ("plan", {"source": MAP, "options": {"transit": "x"}}, "params.options.transit"),
            ("plan", {"source": MAP, "options": {"statr": "x"}}, "Did you mean 'start'?"),
            ("plan", {"source": MAP, "options": "x"}, "params"),
            ("plan", {"source": "../" + MAP}, "params.source"),
            ("plan", {"source": BOOK}, "of the kind map"),
            ("plan", {"source": MAP, "options": {"k": True}}, "params.options.k"),
            ("plan", {"source": MAP, "options": {"k": 10**40}}, "params.options.k"),
            ("plan", {"source": MAP, "options": {"ell": math.inf}}, "params.options.ell"),
            ("plan", {"source": MAP, "options": {"m": "2; 3"}}, "params.options.m"),
            ("plan", {"source": MAP, "options": {"m": 0}}, "params.options.m"),
            ("plan", {"source": MAP, "options": {"start": "1,1\n--ledger"}}, "params.options.start"),
            ("plan", {"source": MAP, "options": {"start": "x" * 301}}, "params.options.start"),
            ("plan", {"source": MAP, "options": {"start": ["1,1"]}}, "params.options.start"),
            ("plan", {"source": MAP, "options": {"candidates": ["1,1", "\n"]}}, "params.options.candidates[1]"),
            ("plan", {"source": MAP, "time_limit_s": 4000}, "params.time_limit_s"),
            ("plan", {"source": MAP, "map": MAP}, "only one"),
            ("export", {"playbook": BOOK, "format": "exe"}, "params.format"),
            ("export", {"playbook": BOOK, "format": "csv/../x"}, "params.format"),
            ("fleet", {"playbook": BOOK, "touched": [], "vehicles": 1}, "params.touched"),
            ("fleet", {"playbook": BOOK, "orders": "Anna", "touched": [1], "vehicles": 1}, "a key that is known"),
        ],
    )
    def test_what_is_refused_names_the_field(self, kind: object, params: object, words: str) -> None:
        with pytest.raises(InvalidInputError) as caught:
            read(kind, params)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_all_that_is_wrong_is_told_at_once(self) -> None:
        with pytest.raises(InvalidInputError) as caught:
            read("plan", {"source": MAP, "options": {"k": 0, "elll": 2}, "planner": "best"})
        told = str(caught.value)
        assert all(word in told for word in ("params.options.k", "elll", "params.planner"))

    @pytest.mark.parametrize(
        ("kind", "key"),
        [
            ("plan", "method.workers"),  # an address of other machines
            ("plan", "method.options"),
            ("plan", "ledger.enter"),  # which would write into a file of somebody
            ("frontier", "playbooks"),
            ("fleet", "key"),  # a secret
            ("fleet", "pad_to"),  # draws for show need a key, and two draws without one leak
            ("fleet", "out"),
            ("fleet", "ledger"),
            ("export", "out"),
            ("audit", "against"),
        ],
    )
    def test_what_is_no_business_of_clients_has_no_key(self, kind: str, key: str) -> None:
        assert key not in KINDS[kind].names

    def test_no_path_is_taken_but_by_reference(self) -> None:
        for kind in KINDS.values():
            for leaf in kind.leaves.values():
                assert leaf.kinds or "Path" not in str(leaf.type), leaf


class TestRequests:
    def test_texts_of_clients_stay_texts(self) -> None:
        for text in ("-o/etc/passwd", "--help", "{book}", "../x", "$(id)", "a b"):
            asked = read("plan", {"source": MAP, "options": {"start": text, "candidates": [text, "1,1"]}})
            problem = asked.request.problem
            assert (problem.start, problem.candidates) == (text, (text, "1,1"))
            assert (problem.map, asked.inputs) == (Path("source.map"), ((MAP, "source.map"),))

    def test_older_names_and_those_of_a_problem_file_give_the_same(self) -> None:
        options = {"k": 3, "ell": 2.5, "m": 7, "radius_measure": "cost", "places": TABLE, "candidates": ["1,1", " 2,2"]}
        old = read("plan", {"source": MAP, "options": options, "time_limit_s": 1, "ledger": LEDGER, "planner": "pbp"})
        privacy, method = {"k": 3, "apart": 2.5, "until": "7"}, {"time_limit": 1, "planner": "pbp"}
        places = {"map": MAP, "places": TABLE, "candidates": ["1,1", "2,2"], "stops": {"seen_measure": "cost"}}
        new = read("plan", {**places, "privacy": privacy, "method": method, "ledger": {"file": LEDGER}})
        assert old.request == new.request
        made = old.request
        assert isinstance(made, PlanRequest)
        assert (made.problem.map, made.problem.places) == (Path("source.map"), "places.csv")
        assert (made.problem.candidates, made.ledger.file) == (("1,1", "2,2"), Path("ledger.jsonl"))
        assert (made.privacy.k, made.privacy.apart, made.privacy.until) == (3, "2.5", "7")
        assert (made.method.time_limit, made.method.planner) == ("1", "pbp")
        assert {one.ref for one in old.inputs} == {MAP, TABLE, LEDGER}
        assert read("plan", {"source": MAP, "time_limit_s": 4}, 5).request.method.time_limit == "4"
        assert read("plan", {"source": MAP}, 5).request.method.time_limit == "5"

    def test_a_request_reaches_the_worker_as_it_was(self) -> None:
        for kind, params in {
            "plan": {"source": MAP, "options": {"k": 2, "prior": TABLE}},
            "frontier": {"source": MAP, "k": [2, 3], "m": [4, "inf"], "risk": [0.5]},
            "fleet": {"playbook": BOOK, "touched": [2, 1], "vehicles": 3, "customers": TABLE},
            "linked": {"ledger": LEDGER, "playbooks": [BOOK, BOOK]},
        }.items():
            request = read(kind, params).request
            assert request_of(KINDS[kind], json.loads(json.dumps(plain(request)))) == request

    def test_other_kinds(self) -> None:
        assert read("audit", {"playbook": BOOK}).request == AuditRequest(playbooks=(Path("playbook.json"),))
        wanted = ReplanRequest(playbook=Path("playbook.json"), number=2, at="0,0", closed="0,0,0,1", choice="go-on")
        params = {"playbook": BOOK, "class": 2, "at": "0,0", "closed": "0,0,0,1", "choice": "go-on"}
        assert read("replan", params).request == wanted
        linked = read("linked", {"ledger": LEDGER, "playbooks": [BOOK, BOOK]})
        assert [one.alias for one in linked.inputs] == ["ledger.jsonl", "playbook-1.json", "playbook-2.json"]

    def test_what_is_too_much_or_makes_no_sense_is_refused(self) -> None:
        many = list(range(1, 21))
        with pytest.raises(InvalidInputError, match="combinations"):
            read("frontier", {"source": MAP, "k": many, "ell": many})
        made = read("frontier", {"source": MAP, "options": {"ell": 4, "k": 9}, "k": [2, 3], "m": ["inf", 5]}).request
        assert (made.ks, made.untils, made.asked.privacy.apart, made.asked.privacy.k) == ((2, 3), (None, 5), "4", None)
        # Only maps of OpenStreetMap have kinds of roads.
        with pytest.raises(InvalidInputError, match="OpenStreetMap"):
            read("open", {"source": MAP, "network": "drive"})

    def test_orders_never_come_here(self) -> None:
        made = read("fleet", {"playbook": BOOK, "touched": [2, 1], "vehicles": 3}).request
        assert isinstance(made, FleetRequest)
        assert (made.touched, made.public.vehicles, made.key) == ("2,1", 3, None)
        assert not any("order" in name for name in KINDS["fleet"].names)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_the_description_in_the_docs_is_that_of_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_module("veilroute.studio.api", run_name="__main__")
    written = (Path(__file__).parents[3] / "docs" / "openapi.json").read_text(encoding="utf-8")
    made = capsys.readouterr().out
    assert json.loads(written) == json.loads(made), "write it: python -m veilroute.studio.api > docs/openapi.json"
    schemas = json.loads(made)["components"]["schemas"]
    described = {
        one["properties"]["kind"]["const"]: one["properties"]["params"] for one in schemas["JobRequest"]["oneOf"]
    }
    assert set(described) == set(KINDS)
    for kind, params in described.items():
        assert set(_names(params, schemas)) == set(KINDS[kind].names)
    assert set(schemas["Issue"]["properties"]) >= {"file", "row", "column", "field", "what", "did_you_mean", "name"}
    spec = {each.name for each in fields(PlanRequest().privacy)}
    assert set(schemas["Privacy"]["properties"]) == spec


def _names(schema: dict[str, Any], schemas: dict[str, Any], within: str = "") -> list[str]:
    """The names of all values that a schema takes."""
    schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if "properties" in schema:
        assert schema["additionalProperties"] is False
        return [name for key, one in schema["properties"].items() for name in _names(one, schemas, f"{within}.{key}")]
    parts = [one for one in schema.get("anyOf", ()) if "properties" in one]
    return [within.lstrip("."), *(name for part in parts for name in _names(part, schemas, within))]
