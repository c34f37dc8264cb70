from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilroute.streets import read_degrees, read_lat_lon


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("60,17", 60.17),
        ("−60.17°", -60.17),
        ("60°10'12\"N", 60.17),
        ("60 10 12 N", 60.17),
        ("N60 10,2", 60.17),
        ("60d10'12''n", 60.17),
        ("-0°30'", -0.5),
    ],
)
def test_degrees_in_many_forms(text: str, value: float) -> None:
    assert read_degrees(text, "lat") == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "such as 60.17"),
        ("٦٠", "such as 60.17"),
        ("60°60'", "minutes below 60"),
        ("60.5°10'", "whole numbers before the minutes"),
        ("-60 N", "a sign or a letter"),
        ("24.9 E", "this is a longitude"),
        ("13°24'O", "such as 60.17"),
    ],
)
def test_what_is_no_latitude(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_degrees(text, "lat")


@pytest.mark.parametrize(
    "text",
    [
        *("60.17,24.93", "60.17 24.93", " ( 60.17 ; 24.93 ) ", "60,17 24,93", "60,17, 24,93", "60,17,24,93"),
        *("60.17/24.93", "geo:60.17,24.93", "60.17N24.93E", "24.93 E, 60.17 N", "E24.93 N60.17", "60.17, 24.93 E"),
        *("POINT (24.93 60.17)", "point z(24.93 60.17 5)", "60°10'12\"N 24°55'48\"E", "60°10'12\" 24°55'48\""),
        *("N 60° 10.2' E 24° 55.8'", "60 10 12 N, 24 55 48 E", "60°10′12″N24°55′48″E"),
    ],
)  # fmt: skip
def test_both_in_one_text(text: str) -> None:
    assert read_lat_lon(text) == pytest.approx((60.17, 24.93), abs=1e-12)


@pytest.mark.parametrize(
    "text", ["", "60", "60.17,24.93,12", "60.17 N,24.93 N", "1E5,3", "Main Street 5", "5 6 7", "60°70'N 24°E", "9" * 99]
)
def test_what_is_no_pair(text: str) -> None:
    with pytest.raises(ValueError, match="latitude and longitude such as"):
        read_lat_lon(text)


@pytest.mark.parametrize("text", ["N 60 10 24 56", "60 10 24 56 E", "60 24 56 E", "60,24,9384", "60° 10 24 56 E"])
def test_what_can_be_read_in_two_ways(text: str) -> None:
    with pytest.raises(ValueError, match="two ways"):
        read_lat_lon(text)


@given(st.text(alphabet="0123456789.,;°'\"NSEW -+/()geo:POINT", max_size=40))
def test_any_text_gives_numbers_or_a_value_error(text: str) -> None:
    for read in (read_lat_lon, lambda text: read_degrees(text, "lon")):
        try:
            read(text)
        except ValueError as error:
            assert str(error)


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_what_python_writes_is_read_again(lat: float, lon: float) -> None:
    lat, lon = round(lat, 7), round(lon, 7)
    assert read_lat_lon(f"{lat:.7f},{lon:.7f}") == (lat, lon)
    assert read_lat_lon(f"{abs(lat):.7f}{'NS'[lat < 0]} {abs(lon):.7f}{'EW'[lon < 0]}") == (lat, lon)
