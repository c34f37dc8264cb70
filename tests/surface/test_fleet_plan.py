"""`plan --for fleet`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command, assert_refused
from order_sets import town_book

pytest.importorskip("pyvrp")


@pytest.fixture
def town(command: Command) -> Path:
    book = town_book()
    vr.write_instance(vr.Instance(book.problem, book.privacy), "town.json")
    Path("customers.csv").write_text("place,opens,closes,rate\nAdams,08:05,12:00,0.5\nBaker,13:00,,\nDepot,,,\n")
    return Path("town.json")


def test_what_days_will_cost_is_told(command: Command, town: Path) -> None:
    ask = ("plan", town, "--for", "fleet", "--orders-per-day", 2)
    done = command(*ask, "-o", "book.json")
    assert done.code == 0, done.err
    assert command("audit", "book.json").code == 0
    data = json.loads(command(*ask, "--customers", "customers.csv", "--json").out)
    assert (data["planner"], data["num_anonymized"]) == ("fleet", 12)
    figures = data["fleet"]
    assert figures["extra"] == pytest.approx(figures["cost"] - figures["direct_cost"])
    assert 1 <= figures["touched_per_day"] <= figures["orders_per_day"] == 2 <= figures["stops_per_day"]
    plain = json.loads(command("plan", town, "--for", "trips", "--json").out)
    assert (plain["planner"], "fleet" in plain) == ("optimal", False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--for", "vans"), "--for: expected trips or fleet, got 'vans'"),
        (("--orders-per-day", "3"), "--orders-per-day: expected --for fleet as well"),
        (("--customers", "customers.csv"), "--customers: expected --for fleet as well"),
        (("--for", "fleet", "--planner", "cbp"), "--planner: expected none with --for fleet"),
        (("--for", "fleet", "--partitioner", "naive"), "--partitioner: expected none with --for fleet"),
        (("--for", "fleet", "--mechanism", "randomised"), "--mechanism: expected partition with --for fleet"),
        (("--for", "fleet", "--orders-per-day", "0"), "orders_per_day: expected a number above 0"),
    ],
)
def test_what_does_not_go_with_it_is_refused(command: Command, town: Path, options: tuple[str, ...], said: str) -> None:
    assert_refused(command("plan", town, *options), said)
