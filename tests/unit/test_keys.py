"""Keys and draws: exact chances, the same draw in any process, and nothing of the key to be seen."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import os
import pickle
import stat
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from drawn_books import PLACES, triangle_book
from veilroute import playbook_from_json
from veilroute.base.keys import draw, occasion_bytes

KEY = vr.Key(bytes(range(32)))
GOLDEN = "553702b993bd5cdf06b30d5344fee19fdb85d10d233664206fea789846999804"


@pytest.fixture
def book() -> vr.Playbook:
    return triangle_book()


def drawn_class(book: vr.Playbook, secret: Any, **how: Any) -> int:
    """The number of the class whose route came; all routes of the little book differ."""
    route = book.route_for(secret, **how)
    return next(i for i, group in enumerate(book.classes) if group.routes[0].nodes == route.nodes)


@pytest.mark.parametrize("secret", PLACES)
def test_a_playbook_draws_by_its_shares(book: vr.Playbook, secret: Any) -> None:
    """What a key draws is fixed below; without one each draw is a new one. Six standard deviations are too many."""
    weights, num = [group.share_of(secret) for group in book.classes], 20_000
    keyed = Counter(drawn_class(book, secret, key=KEY, occasion=f"day {day}") for day in range(num))
    fresh = Counter(drawn_class(book, secret) for _ in range(num))
    for seen in (keyed, fresh):
        for position, weight in enumerate(weights):
            chance = weight / sum(weights)
            assert abs(seen[position] - chance * num) <= 6 * (num * chance * (1 - chance)) ** 0.5


TINY = Fraction(1, 2**5000)


def digits_of(number: Fraction) -> Callable[[int], int]:
    """A source that gives the digits of a number from 0 to below 1."""
    assert 0 <= number < 1
    left = [number]

    def below(base: int) -> int:
        digit = floor(left[0] * base)
        left[0] = left[0] * base - digit
        return digit

    return below


def test_weights_are_never_rounded() -> None:
    """What begins and what ends each share falls to it, also where shares are hugely different."""
    for weights in (
        (1 / 3, 1 / 3, 1 / 3), (0.1, 0.2, 0.7), (1e-300, 1.0), (5e-324, 1.7e308), (5e-324, 5e-324),
        (3e-310, 0.0, 2e-320), (1e308, 1e308, 1e308),
    ):  # fmt: skip
        total, end = sum(map(Fraction, weights)), Fraction(0)
        for position, weight in enumerate(weights):
            begin, end = end, end + Fraction(weight) / total
            for number in (begin + TINY, end - TINY) if weight else ():
                assert draw(weights, digits_of(number)) == position
        assert end == 1
    assert [draw((0.25, 0.75), below) for below in (lambda base: base // 4, lambda base: base // 4 - 1)] == [1, 0]
    asked: list[int] = []
    draw((0.25, 0.75), lambda base: asked.append(base) or base // 3)  # type: ignore[func-returns-value]
    assert asked == [2**255], "one digit is enough"


def test_integers_below_any_number_are_uniform() -> None:
    below = KEY.numbers(b"uniform")
    for total in (1, 2, 3, 7, 2**64 - 1, 2**256, 2**256 + 1, 2**2000 + 12345):
        numbers = [below(total) for _ in range(600)]
        assert min(numbers) >= 0
        assert max(numbers) < total
        if total > 2:
            assert min(Counter(min(2, 3 * number // total) for number in numbers).values()) > 120


def test_draws_depend_on_the_key_and_on_what_they_are_about(book: vr.Playbook) -> None:
    """On the journeys, the members and the chances; what else is new in a file is in tests/regression."""
    bare = playbook_from_json(book.to_json(embed_domain=False))
    assert bare.draw_sha256(PLACES[0]) == book.draw_sha256(PLACES[0])
    days = [str(day) for day in range(64)]

    def drawn(book: vr.Playbook, key: vr.Key = KEY) -> list[int]:
        return [drawn_class(book, PLACES[0], key=key, occasion=day, expose=True) for day in days]

    mine = drawn(book)
    assert mine == drawn(bare) != drawn(book, vr.Key(bytes(32)))
    a_less = replace(book.classes[0], anonymized=False, shares=(0.0, 0.0))
    for other in (
        triangle_book(num_trips=1),
        triangle_book((0.4, 0.35, 0.3)),
        replace(book, classes=(a_less, *book.classes[1:])),
    ):
        assert other.draw_sha256(PLACES[0]) != book.draw_sha256(PLACES[0])
        assert drawn(other) != mine


def test_draws_are_those_of_the_file_formats_page(book: vr.Playbook) -> None:
    """Worked out from the file by what docs/formats.rst says, and pinned: a key must draw the same next year.

    And the same in every process, with and without the map, and however the accents of an occasion were typed.
    """
    assert occasion_bytes("e\u0301") == occasion_bytes("é") != occasion_bytes("e")
    data = json.loads(book.to_json())

    def text(value: object) -> str:
        return json.dumps(value, separators=(",", ":")) + "\n"

    ends = sorted({text([trip["start"], trip["goal"]]) for trip in data["trips"]})
    place, sums = [0, 2], dict[str, Fraction]()
    tables = [dict(zip(map(text, each["members"]), each["shares"], strict=True)) for each in data["classes"]]
    for table in tables:
        for member, share in table.items():
            sums[member] = sums.get(member, Fraction(0)) + Fraction(share)
    groups = []
    for group, table in zip(data["classes"], tables, strict=True):
        chances = {
            member: floor(1000 * Fraction(share) / sums[member] + Fraction("0.382")) for member, share in table.items()
        }
        line = text(sorted(text([json.loads(member), chance]) for member, chance in chances.items() if chance))
        if text(place) in table:
            groups.append((line, Fraction(table[text(place)]), group["routes"]))
    groups.sort()
    subject = "".join([*ends, "\n", *(line for line, _, _ in groups)]).encode()
    about = hashlib.sha256(subject).digest()
    assert about.hex() == book.draw_sha256((0, 2)) == GOLDEN
    for day in map(str, range(40)):
        parts = [b"veilroute-draw/2", about, text(place).encode(), day.encode()]
        message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        signed = (hmac.digest(bytes(range(32)), message + i.to_bytes(8, "big"), "sha256") for i in itertools.count())
        digit = next(number for number in (int.from_bytes(each, "big") for each in signed) if number < 2**255)
        number = Fraction(digit, 2**255) * sum(share for _, share, _ in groups)
        until = list(itertools.accumulate(share for _, share, _ in groups))
        for trip, route in enumerate(groups[sum(end <= number for end in until)][2]):
            assert book.route_for((0, 2), trip, key=KEY, occasion=day).nodes == tuple(map(tuple, route["route"]))


def test_what_is_no_key_or_occasion_is_refused(book: vr.Playbook) -> None:
    for key in (b"0" * 32, "key.txt", 7):
        with pytest.raises(vr.InvalidInputError, match="read_key") as refused:
            book.route_for(PLACES[0], key=key)  # type: ignore[arg-type]
        assert "0000" not in str(refused.value)
    with pytest.raises(vr.InvalidInputError, match="occasion: expected text"):
        book.route_for(PLACES[0], key=KEY, occasion=3)  # type: ignore[arg-type]
    with pytest.raises(vr.InvalidInputError, match="a key beside it"):
        book.route_for(PLACES[0], occasion="monday")
    assert occasion_bytes("\udcff")  # what the shell passes on where it is no text
    with pytest.raises(vr.InvalidInputError, match="32 bytes"):
        vr.Key(b"short")


def tiny_book() -> vr.Playbook:
    """The third place has a prior of 1e-12 and shares of 1e-10: it agrees within 1e-9, and hides hardly anything."""
    book = triangle_book((0.5, 0.5, 1e-12))
    ab, ac, bc = book.classes
    tiny = (replace(ac, shares=(1e-10, 1e-10)), replace(bc, shares=(1e-10, 1e-10)))
    return replace(book, classes=(replace(ab, shares=(0.5, 0.5)), *tiny))


def broken_books(book: vr.Playbook) -> dict[str, vr.Playbook]:
    """Randomised playbooks that do not keep their bound, as anybody who has the file can see, without the map."""
    ab, ac, bc = book.classes
    a, b, _ = PLACES
    route = ab.routes[0]
    own = {(0, a): replace(route, nodes=(*route.nodes[:-1], route.nodes[-2], route.nodes[-1]))}

    def with_first(**changes: Any) -> vr.Playbook:
        return replace(book, classes=(replace(ab, **changes), ac, bc))

    return {
        "unequal shares": with_first(shares=(0.3, 0.2)),
        "sums beside the prior": with_first(shares=(0.2, 0.2)),
        "a class left out": replace(book, classes=(ab, ac)),
        "shares that tiny priors do not have": tiny_book(),
        "another prior": replace(book, prior=(0.2, 0.4, 0.4)),
        "no prior": replace(book, prior=None),
        "no shares": with_first(shares=()),
        "huge shares": with_first(shares=(1.7e308, 1.7e308)),
        "shares that are no numbers": with_first(shares=(float("nan"), float("nan"))),
        "zero shares": with_first(shares=(0.0, 0.0)),
        "alone": with_first(members=(a,), shares=(0.25,)),
        "twice": with_first(members=(a, a)),
        "a start": with_first(members=(a, book.trips[0].start)),
        "no candidate": with_first(members=(a, (1, 1))),
        "uncoverable": replace(book, uncoverable=(b,)),
        "also not hidden": replace(book, classes=(ab, ac, bc, replace(ab, anonymized=False, members=(b,), shares=()))),
        "decoys that are never drawn": replace(book, prior=(1 - 2e-12, 1e-12, 1e-12)),
        "a lower bound": replace(book, privacy=vr.Privacy(risk=0.4, ell=1, mechanism="randomised")),
        "a route of its own": with_first(member_routes=own),
        "another start": with_first(routes=(replace(route, nodes=route.nodes[1:]), *ab.routes[1:])),
        "a trip too few": with_first(routes=ab.routes[:1]),
    }


@pytest.mark.parametrize("how", broken_books(triangle_book()))
def test_a_broken_promise_refuses_everybody(book: vr.Playbook, how: str) -> None:
    """Whoever the secret is, whatever is drawn: otherwise the refusal would tell something about it."""
    broken = broken_books(book)[how]
    for secret in PLACES:
        for key, day in ((None, ""), (KEY, "1"), (KEY, "2"), (KEY, "3")):
            with pytest.raises(vr.BrokenPromiseError) as refused:
                broken.route_for(secret, key=key, occasion=day)
            assert refused.value.__context__ is None
    if "no numbers" not in how:
        assert broken.route_for(PLACES[0], key=KEY, expose=True)


def test_a_class_under_a_prior_gives_no_route_beyond_its_risk(two_rooms: vr.Domain) -> None:
    places = [(0, 2), (2, 2), (0, 4)]
    trips = [vr.Trip((0, 0), (2, 6))]
    whole = vr.solve(vr.Problem(two_rooms, trips, places), vr.Privacy(k=3, ell=1))
    for prior in ((0.4, 0.35, 0.25), (0.5, 0.3, 0.2), (0.5, 0.5, 0.0)):
        assert replace(whole, privacy=vr.Privacy(risk=0.5, ell=1), prior=prior).route_for(places[0])
    for prior in ((0.51, 0.29, 0.2), (0.9, 0.1, 0.0)):
        with pytest.raises(vr.BrokenPromiseError):
            replace(whole, privacy=vr.Privacy(risk=0.5, ell=1), prior=prior).route_for(places[0])


def test_a_key_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "key"
    before = os.umask(0)
    try:
        vr.new_key(path)
    finally:
        os.umask(before)
    assert vr.read_key(path)
    (tmp_path / "link").symlink_to(path)
    assert vr.read_key(tmp_path / "link")
    if os.name != "posix":
        return
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for mode in (0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o610):
        path.chmod(mode)
        with pytest.raises(vr.FileFormatError, match="chmod 600"):
            vr.read_key(path)
    path.chmod(0o400)
    assert vr.read_key(path)


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "key"
    vr.new_key(path)
    text = path.read_text()
    (tmp_path / "dangling").symlink_to(tmp_path / "elsewhere")
    for name in ("key", "dangling"):
        with pytest.raises(vr.FileFormatError, match="is there already"):
            vr.new_key(tmp_path / name)
    assert path.read_text() == text
    assert not (tmp_path / "elsewhere").exists()


DIGITS = "0123456789abcdef" * 4
HEAD = "veilroute-key/1\n"


def test_what_is_no_key_is_refused_without_a_word_of_it(tmp_path: Path) -> None:
    path = tmp_path / "key"
    bad = ["", DIGITS, "veilroute-key/2\n" + DIGITS + "\n", "veilroute-key/1\r\n" + DIGITS + "\r\n"]
    bad += [HEAD + rest for rest in (DIGITS[:-1] + "\n", DIGITS + "0\n", DIGITS + "\n\n", DIGITS.upper() + "\n")]
    bad += [HEAD + "é" * 32 + "\n", HEAD + DIGITS + "\n" + "x" * 10_000]
    for text in (HEAD + DIGITS, HEAD + DIGITS + "\n", *bad):
        path.write_text(text, newline="")
        path.chmod(0o600)
        if text not in bad:
            assert vr.read_key(path)
            continue
        with pytest.raises(vr.FileFormatError, match="not a key") as refused:
            vr.read_key(path)
        assert "01234567" not in f"{refused.value}{refused.value!r}{vars(refused.value)}"
        assert refused.value.__cause__ is refused.value.__context__ is None


def test_nothing_shows_what_a_key_is(tmp_path: Path) -> None:
    path = tmp_path / "key"
    vr.new_key(path)
    digits = path.read_text().splitlines()[1]
    key = vr.read_key(path)
    shown = f"{key}{key!r}{[key]}{key._mac!r}{dir(key)}"
    assert digits not in shown.lower()
    assert str(bytes.fromhex(digits)) not in shown
    assert not hasattr(key, "__dict__")
    with pytest.raises(TypeError):
        pickle.dumps(key)
