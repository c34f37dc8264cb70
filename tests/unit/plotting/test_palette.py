from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from veilroute.formats import OKABE_ITO
from veilroute.plotting import FLOOR, WALL, class_style, luminance

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
SIGHT = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


def lab(colour: str, sight: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A colour as someone with this sight sees it, in CIE Lab."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(SIGHT[sight]) @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ seen / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(first: str, second: str, sight: str) -> float:
    return float(np.linalg.norm(lab(first, sight) - lab(second, sight)))


@pytest.mark.parametrize("sight", SIGHT)
def test_classes_are_told_apart_with_any_colour_vision(sight: str) -> None:
    # 2.3 is the least difference that is noticed at all.
    for first, second in combinations(map(class_style, range(8)), 2):
        assert difference(first.colour, second.colour, sight) > 15
        assert difference(first.route, second.route, sight) > 8
    for first, second in combinations(map(class_style, range(4)), 2):
        assert difference(first.route, second.route, sight) > 18


@pytest.mark.parametrize("sight", SIGHT)
def test_routes_stand_out_from_the_floor(sight: str) -> None:
    for style in map(class_style, range(8)):
        assert difference(style.edge, FLOOR, sight) > 40
        assert difference(style.route, WALL, sight) > 20


def test_twenty_classes_all_look_different() -> None:
    lines = {(style.colour, style.dashes) for style in map(class_style, range(20))}
    assert len(lines) == 20


def test_routes_are_lighter_and_outlines_darker_than_markers() -> None:
    for index in range(len(OKABE_ITO)):
        style = class_style(index)
        assert luminance(style.edge) <= luminance(style.colour) < luminance(style.route)


def test_numbers_are_readable_on_their_marker() -> None:
    for style in map(class_style, range(8)):
        dark, light = sorted((luminance(style.colour), luminance(style.text)))
        assert (light + 0.05) / (dark + 0.05) > 3.5
