from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import veilroute as vr
from street_samples import little_town
from veilroute.streets import Address, AddressBook, Gazetteer, addresses_of

BOOK = AddressBook.of(
    [
        Address("Keskuskatu", "1", "Here", "address", 24.9401, 60.1711),
        Address("Keskuskatu", "1", "There", "address", 24.9459, 60.1711),
        Address("Keskuskatu", "3", "Here", "address", 24.9411, 60.1711),
        Address("Keskuskatu", "3 B", "Here", "address", 24.9413, 60.1711),
        Address("3. linja", "12", "", "address", 24.942, 60.1705),
        Address("St. John's", "", "", "church", 24.943, 60.171),
        Address("Bus stop", "", "", "stop position", 24.9430, 60.1712),
        Address("Bus stop", "", "", "stop position", 24.9432, 60.1708),
    ]
)


def find(text: str, domain: vr.Domain | None = None) -> tuple[float, float]:
    return Gazetteer(domain or little_town(), lambda: BOOK).find(text, field="--goal")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Keskuskatu 3b", (24.9413, 60.1711)),
        ("Keskuskatu 3 C 7", (24.9411, 60.1711)),
        ("Keskuskatu 1, There", (24.9459, 60.1711)),
        ("Keskuskatu 1, 00100 HERE", (24.9401, 60.1711)),
        ("3. Linja 12", (24.942, 60.1705)),
        ("st johns", (24.943, 60.171)),
        ("bus  stop", (24.943, 60.1712)),
    ],
)
def test_what_is_meant(text: str, place: tuple[float, float]) -> None:
    assert find(text) == place


def test_a_street_is_its_middle_and_parts_far_away_are_several() -> None:
    lon, lat = find("Pohjoiskatu")
    assert lat == 60.172 and 24.942 < lon < 24.944
    town = little_town()
    assert town.streets is not None
    moved = town.streets.lonlat.copy()
    moved[3] = (24.99, 60.172)  # the eastern end of Pohjoiskatu
    with pytest.raises(vr.InvalidInputError, match="'Pohjoiskatu' is at 2 places on the map"):
        find("Pohjoiskatu", replace(town, streets=replace(town.streets, lonlat=moved)))


def test_a_book_is_read_as_it_was_written() -> None:
    assert AddressBook.from_dict(BOOK.to_dict()) == BOOK
    assert AddressBook.of(reversed(BOOK.entries)) == BOOK


@pytest.mark.parametrize(
    "data",
    [
        None,
        {"texts": []},
        {"texts": ["a"], "rows": [[0, 0, 0, 1, 24.9, 60.1]]},
        {"texts": ["a"], "rows": [[0, 0, 0, 0, 240.9, 60.1]]},
        {"texts": ["a"], "rows": [[0, 0, 0, 0, None, 60.1]]},
    ],
)
def test_books_that_are_damaged(data: Any) -> None:
    with pytest.raises(vr.InvalidInputError, match="addresses"):
        AddressBook.from_dict(data)


def test_tags() -> None:
    tags = {"addr:street": "A\tstreet", "addr:housenumber": "5;7, ", "name": "Shop", "shop": "bakery_and_more"}
    assert [(one.name, one.number, one.kind) for one in addresses_of(tags, 1, 2)] == [
        ("A street", "5", "address"),
        ("A street", "7", "address"),
        ("Shop", "", "bakery and more"),
    ]
    assert addresses_of({"addr:housenumber": "5", "name": "A house"}, 1, 2) == []
