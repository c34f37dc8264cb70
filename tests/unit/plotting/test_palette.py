from __future__ import annotations

from veilroute.plotting import class_style, luminance


def test_twenty_classes_all_look_different() -> None:
    lines = {(style.colour, style.dashes) for style in map(class_style, range(20))}
    assert len(lines) == 20


def test_numbers_are_readable_on_their_marker() -> None:
    for style in map(class_style, range(8)):
        dark, light = sorted((luminance(style.colour), luminance(style.text)))
        assert (light + 0.05) / (dark + 0.05) > 3.5
