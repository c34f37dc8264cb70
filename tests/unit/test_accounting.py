"""The account of linked draws, against adding up every sequence of draws, and against draws with a key."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from drawn_books import PLACES, triangle_book
from veilroute.ledger.composition import Knowledge, account_draws

Channel = dict[Any, dict[Any, float]]  #: per place how probable each class is


def channel_of(book: vr.Playbook) -> Channel:
    """What a playbook draws for each of its places; a partition draws what is certain."""
    shares: Channel = defaultdict(dict)
    for number, group in enumerate(book.classes):
        for member in group.members:
            shares[member][number] = group.share_of(member) if group.shares else 1.0
    return {place: {c: share / sum(own.values()) for c, share in own.items()} for place, own in shares.items()}


def add_up(prior: dict[Any, float], channels: list[Channel]) -> Knowledge:
    """Worst posterior and Bayes success over all sequences that may be seen, one class for each channel."""
    joint: dict[tuple[Any, ...], dict[Any, float]] = defaultdict(dict)
    for place, weight in prior.items():
        for seen in product(*(channel[place] for channel in channels)):
            chances = (channel[place][c] for channel, c in zip(channels, seen, strict=True))
            joint[seen][place] = weight * math.prod(chances)
    worst = max(max(own.values()) / sum(own.values()) for own in joint.values())
    total = sum(prior.values())
    return Knowledge(worst, sum(max(own.values()) for own in joint.values()) / total)


def room_book(seed: int, **privacy: Any) -> vr.Playbook:
    """Six places of a building under a prior."""
    domain = vr.generate_rooms(12, 12, seed=seed)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    places = vr.draw_candidates(domain, start, goal, 6, seed=seed)
    problem = vr.Problem(domain, [vr.Trip(start, goal)], places, prior=[5, 4, 4, 3, 3, 2])
    return vr.solve(problem, vr.Privacy(**privacy))


@pytest.fixture
def ledger(tmp_path: Path) -> vr.Ledger:
    return vr.new_ledger(tmp_path / "ledger.jsonl")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("num_draws", [1, 2, 4])
def test_repeated_draws_are_those_of_all_sequences(seed: int, num_draws: int, ledger: vr.Ledger) -> None:
    book = room_book(seed, risk=0.4, mechanism="randomised")
    for number in range(num_draws):
        ledger = ledger.add(book, day="2026-11-16", occasion=f"day {number}", anyway=True)
    (account,) = ledger.account()
    prior = dict(zip(book.candidates, book.prior or (), strict=True))
    hidden = {place: prior[place] for place in channel_of(book)}
    assert len(hidden) == 6
    assert (account.playbook, account.draws, account.bound) == (book.sha256, num_draws, 0.4)
    for known, num in ((account.now, num_draws), (account.after_another, num_draws + 1)):
        assert known == pytest.approx(add_up(hidden, [channel_of(book)] * num))
    if seed == 0:
        with pytest.raises(vr.TooLargeError, match="at most 100,000 ways"):
            account_draws([replace(each, occasion=None) for each in ledger.entries] * 500)
    if num_draws == 1:
        # The account takes classes for told apart; two with one route are one sight, of which less is known.
        assert account.now.worst >= (book.claims.worst_posterior or 1) - 1e-9
        assert account.now.bayes_success >= (book.claims.bayes_success or 1) - 1e-9
        assert account.now.worst <= 0.4 + 1e-9 < account.after_another.worst


def test_other_playbooks_are_linked_as_well(ledger: vr.Ledger) -> None:
    """A partition on one day, draws of two other playbooks on the next."""
    one = room_book(1, risk=0.4, mechanism="randomised")
    two = room_book(1, risk=0.5, mechanism="randomised")
    sure = room_book(1, k=3)
    for day, (book, occasion) in enumerate([(one, "a"), (sure, None), (two, "a"), (one, "b"), (two, None)]):
        ledger = ledger.add(book, day=f"2026-11-{day + 1:02}", occasion=occasion, anyway=True)
    prior = dict(zip(one.candidates, one.prior or (), strict=True))
    channels = [channel_of(book) for book in (one, one, two, two, sure)]
    accounts = ledger.account()
    assert [(each.playbook, each.draws) for each in accounts] == [(one.sha256, 2), (two.sha256, 2)]
    for account, book in zip(accounts, (one, two), strict=True):
        assert account.now == pytest.approx(add_up(prior, channels))
        assert account.after_another == pytest.approx(add_up(prior, [*channels, channel_of(book)]))
    (first, last) = ledger.account(since="2026-11-04")
    assert first.now == last.now == pytest.approx(add_up(prior, [channel_of(one), channel_of(two)]))
    flat = dict.fromkeys(prior, 1.0)
    assert ledger.account(flat)[0].now == pytest.approx(add_up(flat, channels))


def test_one_occasion_is_one_draw(ledger: vr.Ledger) -> None:
    """The ledger takes the same occasion once; the day does not matter."""
    book = triangle_book()
    ledger = ledger.add(book, day="2026-11-16", occasion="monday")
    before = ledger.account()
    with pytest.raises(vr.InvalidInputError, match="playbook"):
        ledger.add(book, day="2026-11-17", occasion="monday", anyway=True)
    assert vr.read_ledger(ledger.journal.path).account() == before
    twice = replace(ledger.entries[0], date="2026-11-17")
    assert account_draws([*ledger.entries, twice])[0] == before[0]
    assert account_draws([*ledger.entries, twice], since="2026-11-17")[0].date == "2026-11-17"


def test_a_hundred_draws_of_a_small_playbook_are_exact(ledger: vr.Ledger) -> None:
    """Each place is in two classes, so that 101 multisets stand for 2 ** 100 sequences."""
    book = triangle_book()
    entries = ledger.add(book, day="2026-11-16").entries * 100
    (account,) = account_draws(entries)
    assert account.draws == 100
    assert account.now.worst == 1
    # Only who always drew the class that another place is in as well is not found out.
    alone = {place: max(own.values()) for place, own in channel_of(book).items()}
    assert 1 - sum(chance**100 for chance in alone.values()) < account.now.bayes_success <= 1


def test_a_prior_names_everybody(ledger: vr.Ledger) -> None:
    ledger = ledger.add(triangle_book(), day="2026-11-16")
    with pytest.raises(vr.InvalidInputError, match="prior"):
        ledger.account({PLACES[0]: 1.0, PLACES[1]: 2.0})
    assert ledger.account(dict.fromkeys(PLACES, 1.0))[0].now.worst <= 1
