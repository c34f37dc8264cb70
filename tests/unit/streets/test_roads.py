"""Roads by a street's name or by their ends, and lists of places whose names have spaces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import veilroute as vr
from street_samples import NAMES, little_town
from veilroute.streets import Address, AddressBook, Gazetteer, find_roads, split_places

TOWN = little_town()
MIDDLE = [(105, 106), (106, 107), (107, 108)]


def roads(text: str, domain: vr.Domain = TOWN) -> tuple[list[object], list[object]]:
    found = find_roads(domain, text, names=NAMES, field="--closed")
    return list(found[0]), list(found[1])


@pytest.mark.parametrize(
    ("text", "both", "single"),
    [
        ("Keskuskatu", MIDDLE, []),
        ("keskusk.", MIDDLE, []),
        ("Koulukuja", [(102, 106), (106, 110)], []),
        ("Laensitie 101,102", [(101, 105), (105, 109), (101, 102)], []),
        ("Itatie; Branch North>106", [(104, 108), (108, 112)], [(102, 106)]),
        ("Branch North,Branch Yard", [(102, 103)], []),
        ("102 , branch yard", [(102, 103)], []),
        ("101,102 103>107", [(101, 102)], [(103, 107)]),
        ("60.172,24.94,60.172,24.942", [(101, 102)], []),
        ("60.172,24.94>Branch North; ", [], [(101, 102)]),
        ("", [], []),
    ],
)
def test_what_is_closed(text: str, both: list[object], single: list[object]) -> None:
    if text.startswith("Laensitie"):
        text = text.replace(" ", "; ")  # beside others in a list with spaces, a street is written out
    assert roads(text) == (both, single)


def test_cells_have_commas_themselves(two_rooms: vr.Domain) -> None:
    assert find_roads(two_rooms, "0,0,0,1 1,0>1,1", names={}, field="--closed") == (
        [((0, 0), (0, 1))],
        [((1, 0), (1, 1))],
    )


def test_ends_may_be_addresses() -> None:
    book = AddressBook.of([Address("Rantatie", "2", "", "address", 24.94, 60.17)])
    gazetteer = Gazetteer(TOWN, lambda: book)
    found = find_roads(TOWN, "Rantat. 2,Depot", names=NAMES, gazetteer=gazetteer, field="--closed")
    assert found == ([(109, 105)], [])


def test_all_that_is_wrong_is_told_at_once_with_what_was_meant() -> None:
    with pytest.raises(vr.ManyProblemsError) as caught:
        roads("Keskuskattu; 101; nowhere,101; Brunch North,103")
    meant = [error.did_you_mean for error in caught.value.problems]
    assert meant == [("Keskuskatu",), (), (), ("Branch North",)]


def test_two_streets_of_a_name() -> None:
    """Parts that no road joins and that are far from each other: one is chosen by what it is near."""
    assert TOWN.streets is not None
    lonlat = TOWN.streets.lonlat.copy()
    lonlat[8:] += (0.02, 0.0)  # Rantatie is elsewhere now, and called as Pohjoiskatu
    names = tuple("Pohjoiskatu" if name == "Rantatie" else name for name in TOWN.streets.names)
    town = replace(TOWN, streets=replace(TOWN.streets, lonlat=lonlat, names=names, shape=TOWN.streets.shape + 0.02))
    with pytest.raises(vr.InvalidInputError, match="there are 2 streets called Pohjoiskatu") as caught:
        roads("Pohjoiskatu", town)
    north, south = caught.value.did_you_mean
    assert roads(north, town)[0] == [(101, 102), (102, 103), (103, 104)]
    assert roads(south, town)[0] == [(109, 110), (110, 111), (111, 112)]


def test_a_road_whose_other_direction_has_another_name_is_closed_in_its_own() -> None:
    assert TOWN.streets is not None
    ids, names = TOWN.streets.name_ids.copy(), (*TOWN.streets.names, "Vastakatu")
    tails, heads, _ = TOWN.edge_arrays()
    ids[np.flatnonzero((tails == 5) & (heads == 4))] = len(names) - 1  # from 106 to 105
    town = replace(TOWN, streets=replace(TOWN.streets, names=names, name_ids=ids))
    assert roads("Keskuskatu", town) == (MIDDLE[1:], MIDDLE[:1])


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Pharmacy 21", ["Pharmacy 21"]),
        ("pharmacy  21 Bank law office", ["pharmacy 21", "Bank", "law office"]),
        ("60.1, 24.9 Pharmacy 21 7", ["60.1,24.9", "Pharmacy 21", "7"]),
        ("Pharmacy 21; Pharmacy 22;", ["Pharmacy 21", "Pharmacy 22"]),
        ("Pharmacy 22", ["Pharmacy", "22"]),
        ("  ", []),
    ],
)
def test_names_with_spaces_in_a_list(text: str, items: list[str]) -> None:
    assert split_places(text, ["Pharmacy 21", "Bank", "Law office"]) == items
