"""Planning by risk on the command line: options, instance files, what is said, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from veilroute.formats import read_instance

SPOTS = "2,2 2,10 10,2 10,10 20,20 30,40"
TRIP = ("--start", "1,18", "--goal", "32,60", "--candidates", SPOTS)
EVEN = "place;weight\n2,2;1\n2,10;1\n10,2;1\n10,10;1\n20,20;1\n30,40;1\n"
HEAVY = EVEN.replace("30,40;1", "30,40;20")
NEVER = EVEN.replace("30,40;1", "30,40;0")


@pytest.fixture
def priors(tmp_path: Path) -> Path:
    for name, text in {"even": EVEN, "heavy": HEAVY, "never": NEVER}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path


def test_too_probable_and_never(command: Command, building: Path, priors: Path) -> None:
    done = command("plan", building, *TRIP, "--risk", 0.5, "--prior", "heavy.csv")
    assert done.code == 0
    assert "30,40: it has 80% of the probability" in done.out and "80% of trips are not covered" in done.out
    done = command("plan", building, *TRIP, "--risk", 0.5, "--prior", "never.csv", "--json")
    (why,) = json.loads(done.out)["obstacles"]
    assert why["candidate"] == [30, 40] and "its weight is 0" in why["reason"]


def test_less_risk_than_is_possible(command: Command, building: Path, priors: Path) -> None:
    done = command("plan", building, *TRIP, "--risk", 0.1)
    assert done.code == 3
    assert "the least that is possible here is 0.1667" in done.err and done.err.count("\n") == 1
    assert command("plan", building, *TRIP, "--risk", 0.1667).code == 0
    done = command("plan", building, *TRIP, "--risk", 0.19, "--prior", "heavy.csv", "--json")
    assert done.code == 3 and "the least that is possible here is 0.2" in done.err
    assert json.loads(done.out)["status"] == "infeasible"


def test_instances_hold_it(command: Command, building: Path, priors: Path) -> None:
    wanted = ("--risk", 0.4, "--mechanism", "randomised")
    done = command("convert", building, "a.json", *TRIP, *wanted, "--prior", "heavy.csv")
    assert done.code == 0, done.err
    instance = read_instance("a.json")
    assert instance.privacy == vr.Privacy(risk=0.4, mechanism="randomised")
    assert instance.problem.prior == pytest.approx([0.04] * 5 + [0.8])
    assert not {"risk", "k", "mechanism", "prior"} & instance.unstated
    alone = json.loads(command("plan", building, *TRIP, *wanted, "--prior", "heavy.csv", "--json").out)
    again = json.loads(command("plan", "a.json", "--json").out)
    assert all(again[name] == alone[name] for name in ("classes", "expected_mac", "risk", "mechanism"))
    # Options go before the file.
    counted = json.loads(command("plan", "a.json", "-k", 3, "--mechanism", "partition", "--json").out)
    assert (counted["k"], counted["mechanism"], counted["risk"]["bound"]) == (3, "partition", None)
    done = command("plan", "a.json", "--candidates", "2,2 2,10 10,2", "--json")
    assert done.code == 0 and len(json.loads(done.out)["classes"][0]["members"]) == 3
    assert_refused(command("plan", "a.json", "--candidates", "2,2 2,3"), "--prior", "for others")
    assert command("convert", "a.json", "a.in").err.count("prior") == 1


def test_the_objective_of_an_instance_counts(command: Command, building: Path) -> None:
    assert command("convert", building, "a.json", *TRIP).code == 0
    data = json.loads(Path("a.json").read_bytes())
    Path("a.json").write_text(json.dumps(data | {"objective": "total"}))
    assert json.loads(command("plan", "a.json", "--json").out)["objective"] == "total"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--risk", "1"), ("--risk", "between 0 and 1")),
        (("--risk", "half"), ("--risk",)),
        (("--risk", "0.5", "-k", "2"), ("--risk", "not both")),
        (("--mechanism", "dice"), ("mechanism", "partition or randomised")),
        (("--mechanism", "randomised", "--spread", "witness"), ("--spread", "all-pairs")),
        (("--mechanism", "randomised", "-k", "1"), ("-k: ", "at least 2")),
        (("--prior", "nowhere.csv"), ("nowhere.csv", "no such file")),
        (("--prior", "even.txt.gz"), ("prior format",)),
        (("--risk", "0.5", "--objective", "total"), ("objective",)),
        (("--risk", "0.5", "--planner", "cbp", "--m", "20"), ("planner", "optimal")),
        (("--risk", "0.5", "--planner", "pbp", "--partitioner", "merge-bb"), ("optimal",)),
        (("--mechanism", "randomised", "--planner", "pbp", "--m", "20"), ("optimal",)),
    ],
)
def test_bad_options(
    command: Command, building: Path, priors: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_refused(command("plan", building, *TRIP, *options), *words)


@pytest.mark.parametrize("wanted", [("--risk", "0.5"), ("--mechanism", "randomised")])
def test_classes_of_an_earlier_trip_are_not_reused_by_risk(
    command: Command, building: Path, wanted: tuple[str, ...]
) -> None:
    assert command("plan", building, *TRIP, "-k", 2, "-o", "first.json").code == 0
    assert_refused(command("plan", building, *TRIP, *wanted, "--reuse", "first.json"), "planner", "optimal")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"prior": [1, 1]}, "one weight for each of 6"),
        ({"prior": {"2,2": 1}}, "a list"),
        ({"prior": [1, 1, 1, 1, 1, -1]}, "prior"),
        ({"privacy": {"k": 3, "risk": 0.5}}, "not both"),
        ({"privacy": {"risk": 1}}, "between 0 and 1"),
        ({"privacy": {"mechanism": 1}}, "mechanism"),
    ],
)
def test_bad_instances(command: Command, building: Path, change: dict[str, object], word: str) -> None:
    assert command("convert", building, "a.json", *TRIP).code == 0
    data = json.loads(Path("a.json").read_bytes())
    Path("a.json").write_text(json.dumps(data | change))
    assert_refused(command("plan", "a.json"), "a.json", word)
