"""The simulation behind the tables of docs/risk.rst: its observer is exact, and the page shows what it prints."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from drawn_books import triangle_book
from risk import Channel, linked_tables, simulate

PAGE = Path(__file__).resolve().parents[2] / "docs" / "risk.rst"


@pytest.fixture(scope="module")
def channel() -> Channel:
    return Channel(triangle_book())


def believed(channel: Channel, seen: tuple[int, ...], *, is_one_secret: bool, is_fresh: bool) -> np.ndarray:
    """What the last day's secret is, by adding up all secrets and all draws that give what was seen."""
    num = len(channel.places)
    beliefs = np.zeros(num)
    routes = range(len(channel.seen))
    for secrets in product(range(num), repeat=len(seen)):
        if is_one_secret and len(set(secrets)) > 1:
            continue
        by_prior = np.prod(channel.prior[list(secrets[:1] if is_one_secret else secrets)])
        if is_fresh:
            beliefs[secrets[-1]] += by_prior * np.prod(channel.chances[list(secrets), list(seen)])
            continue
        for habits in product(routes, repeat=num):
            if all(habits[secret] == route for secret, route in zip(secrets, seen, strict=True)):
                beliefs[secrets[-1]] += by_prior * np.prod(channel.chances[range(num), list(habits)])
    return np.asarray(beliefs / beliefs.sum())


@pytest.mark.parametrize("is_one_secret", [True, False])
@pytest.mark.parametrize("is_fresh", [True, False])
def test_the_observer_believes_what_adding_up_everything_gives(
    channel: Channel, is_one_secret: bool, is_fresh: bool
) -> None:
    num_compared = 0
    for seen in product(range(len(channel.seen)), repeat=3):
        if is_one_secret and not is_fresh and len(set(seen)) > 1:
            continue  # cannot be seen
        if is_one_secret and len(set(seen)) == 3:
            continue  # nobody is in three classes
        believe = channel.one_secret if is_one_secret else channel.own_secrets
        expected = believed(channel, seen, is_one_secret=is_one_secret, is_fresh=is_fresh)
        assert believe(seen, is_fresh=is_fresh) == pytest.approx(expected, abs=1e-12)
        num_compared += 1
    assert num_compared >= 3


def test_one_day_tells_what_the_playbook_promises(channel: Channel) -> None:
    for is_one_secret, is_fresh in product((True, False), repeat=2):
        first, *_, last = simulate(channel, is_one_secret=is_one_secret, is_fresh=is_fresh, num_runs=60)
        assert first.worst == pytest.approx(0.5)
        assert (last.worst > 0.99) == (is_one_secret == is_fresh)


def test_the_page_shows_what_the_command_prints() -> None:
    """Out of date? `python benchmarks/risk.py --linked` prints the tables."""
    text = PAGE.read_text(encoding="utf-8")
    for lines in linked_tables():
        assert "\n".join(lines) in text
