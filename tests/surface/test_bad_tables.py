"""A table of 60 customers in Helsinki, 12 of whose rows are wrong, each in its own way: all is told at once."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from commands import Command
from veilroute.formats import read_osm_addresses

#: The rows that are wrong: name, address, lat, lon, role; and what must be offered in its place, if anything can be.
BAD: dict[str, tuple[tuple[str, str, str, str], str | None]] = {
    "Misspelt": (("Yrjänkatu 29", "", "", ""), "Yrjönkatu 29"),
    "Letter missing": (("Anankatu 16", "", "", ""), "Annankatu 16"),
    "Letters swapped": (("Fabaininkatu 8", "", "", ""), "Fabianinkatu 8"),
    "Wrong end": (("Bulevarditie 7", "", "", ""), "Bulevardi 7"),
    "Misheard": (("Mikonkattu 8", "", "", ""), "Mikonkatu 8"),
    "No such number": (("Liisankatu 999", "", "", ""), "Liisankatu"),
    "Cut too short": (("K. 6", "", "", ""), None),
    "Several": (("Espresso House", "", "", ""), "60.17016,24.94140"),
    "Swapped": (("", "24.9384", "60.1699", ""), "60.1699"),
    "Far away": (("", "61.4981", "23.7610", ""), None),
    "Half": (("", "60.1699", "", ""), None),
    "Odd role": (("Unioninkatu 30", "", "", "custmer"), "candidate"),
}


@pytest.fixture
def table(helsinki: Path, command: Command) -> dict[str, int]:
    """The table of customers beside the extract, and a problem file; the lines of the rows that are wrong."""
    Path("Helsinki.osm.pbf").symlink_to(helsinki)
    houses = [
        one
        for one in read_osm_addresses(helsinki).entries
        if one.number and "-" not in one.number and one.name != "Mannerheimintie"
    ]
    good = {f"{one.name} {one.number}": one for one in houses}
    streets = sorted({one.name for one in houses})
    chosen = [next(text for text, one in good.items() if one.name == street) for street in streets][:47]
    rows = [["Depot", "", "60.1716", "24.9379", "start"], *([text, text, "", "", ""] for text in chosen)]
    for at, (name, (bad, _)) in enumerate(BAD.items(), 1):
        rows.insert(4 * at, [name, *bad])
    with Path("customers.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["customer", "address", "lat", "lon", "role"])
        writer.writerows(rows)
    assert len(rows) == 60
    Path("trip.toml").write_text('map = "Helsinki.osm.pbf"\nplaces = "customers.csv"\nstart = "Depot"\n')
    return {row[0]: line for line, row in enumerate(rows, 2) if row[0] in BAD}


def test_all_rows_that_are_wrong_are_told_at_once(table: dict[str, int], command: Command) -> None:
    done = command("check", "trip.toml", "--json")
    assert done.code == 2
    found = json.loads(done.out)
    told = {(each["name"], each["row"]): each for each in found["problems"]}
    assert set(told) == set(table.items())
    offered = {name: told[name, line]["did_you_mean"] for name, line in table.items()}
    right = [name for name, (_, wanted) in BAD.items() if wanted and any(wanted in text for text in offered[name])]
    assert len(right) >= 9, offered
    # No good row is lost by those that are wrong.
    assert len([place for place in found["places"] if place["role"] == "candidate"]) == 47
    # `plan` says the same, and plans nothing.
    refused = command("plan", "trip.toml", "-o", "book.json")
    assert refused.code == 2 and not Path("book.json").exists()
    for name, line in table.items():
        assert f"line {line}, {name}: " in refused.err, name
    # For people, a line each.
    lines = command("check", "trip.toml").out.splitlines()
    assert len(lines) == 13 and lines[-1].startswith("12 problems; ")
