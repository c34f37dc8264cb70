from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from street_samples import little_town
from veilroute.formats import read_osm, read_osm_addresses
from veilroute.streets import Address, AddressBook, Gazetteer, addresses_of, find_roads

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
        Address("Øvre Müllerstraße", "7", "", "address", 24.9421, 60.1701),
        Address("Øvre Müllerstraße", "36a", "", "address", 24.9422, 60.1701),
        Address("Øvre Müllerstraße", "36b", "", "address", 24.9423, 60.1701),
        Address("Church Street", "2", "", "address", 24.9431, 60.1711),
        Address("Church Stairs", "4", "", "address", 24.9451, 60.1721),
        Address("Yrjönkatu", "1", "", "address", 24.9411, 60.1719),
        Address("Yrjonkatu", "1", "", "address", 24.9455, 60.1701),
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
        ("Kesküskàtu 3", (24.9411, 60.1711)),
        ("keskusk. 3", (24.9411, 60.1711)),
        ("Keskusk.3 A 5", (24.9411, 60.1711)),
        ("3 Keskuska", (24.9411, 60.1711)),
        ("ovre muellerstr. 7", (24.9421, 60.1701)),
        ("Oevre Mullerstrasse 36", (24.9422, 60.1701)),
        ("Church St 2", (24.9431, 60.1711)),
        ("Kesk.katu 3", (24.9411, 60.1711)),
        ("Ch.Street 2", (24.9431, 60.1711)),
        ("Church Sta 4", (24.9451, 60.1721)),
        ("Yrjonkatu 1", (24.9455, 60.1701)),
        ("Yrjönkatu 1", (24.9411, 60.1719)),
    ],
)
def test_what_is_meant(text: str, place: tuple[float, float]) -> None:
    assert find(text) == place


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Keskuskattu 3", ("Keskuskatu 3",)),
        ("Kesskuskatu 1", ("Keskuskatu 1, Here", "Keskuskatu 1, There")),
        ("Keskuskatu 1", ("Keskuskatu 1, Here", "Keskuskatu 1, There")),
        ("Keskuskatu 5", ("Keskuskatu 3", "Keskuskatu 3 B", "Keskuskatu 1, Here")),
        ("Church 4", ("Church Stairs 4", "Church Street 2")),
        ("Pohjoiskatu 4", ("Pohjoiskatu",)),
        ("Bus stopp", ("Bus stop",)),
        ("Kes", ()),
        ("?", ()),
    ],
)
def test_what_is_only_similar_or_not_clear_is_refused_with_what_to_type(text: str, meant: tuple[str, ...]) -> None:
    with pytest.raises(vr.InvalidInputError) as caught:
        find(text)
    assert set(caught.value.did_you_mean) == set(meant)
    assert all(each in str(caught.value) for each in meant)
    for each in meant:
        find(each)


def test_what_was_found_is_told() -> None:
    gazetteer = Gazetteer(little_town(), lambda: BOOK)
    gazetteer.find("Keskusk. 3", field="--goal")
    assert [(text, one.text) for text, one in gazetteer.found.items()] == [("Keskusk. 3", "Keskuskatu 3 (Here)")]


def test_helsinki_as_people_type_it(helsinki: Path) -> None:
    domain, book = read_osm(helsinki).domain, read_osm_addresses(helsinki)
    gazetteer = Gazetteer(domain, lambda: book)
    for text, house in (
        ("Yrjonkatu 29", "Yrjönkatu 29"),
        ("Annankat 16", "Annankatu 16 (Helsinki)"),
        ("Fabianink. 38", "Fabianinkatu 38 (Helsinki)"),
        ("Aleksanterinkatu 36", "Aleksanterinkatu 36a (Helsinki)"),
    ):
        gazetteer.find(text, field="--goal")
        assert gazetteer.found[text].text == house
    for text, meant in (("Yrjänkatu 29", "Yrjönkatu 29"), ("Anankatu 16", "Annankatu 16")):
        with pytest.raises(vr.InvalidInputError) as caught:
            gazetteer.find(text, field="Row 9, Clinic")
        assert str(caught.value) == f"Row 9, Clinic: '{text}' was not found. Did you mean '{meant}'?"
    assert domain.streets is not None
    roads, one_way = find_roads(domain, "Kaisaniemenkatu", names={}, field="--closed")
    tails, heads, _ = domain.edge_arrays()
    edges = [e for e in range(domain.num_edges) if domain.streets.name(e) == "Kaisaniemenkatu"]
    wanted = {frozenset(map(domain.label, (int(tails[e]), int(heads[e])))) for e in edges}
    assert {frozenset(pair) for pair in (*roads, *one_way)} == wanted and wanted


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
