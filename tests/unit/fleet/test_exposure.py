"""What a day of a fleet shows, against all sets of orders; and the classes that are driven for show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations
from random import Random
from typing import Any

import pytest

import veilroute as vr
from veilroute.fleet import expose, pad

START = (0, 0)
KEY = vr.Key(bytes(range(32)))


def book_of(*sizes: int) -> vr.Playbook:
    """A playbook with classes of these sizes, along two streets; routes do not matter here."""
    num = sum(sizes)
    domain = vr.grid_domain(["." * (num + 1), "." * (num + 1)])
    places = [(1, col) for col in range(1, num + 1)]
    book = vr.solve(vr.Problem(domain, [vr.Trip(START, START)], places[:2]), vr.Privacy(k=2))
    ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
    groups = [places[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    classes = [replace(book.classes[0], members=tuple(group), anonymized=True) for group in groups]
    return replace(book, candidates=tuple(places), classes=tuple(classes), certificate=None)


def terms_of(rates: Mapping[Any, float] | float | None, **given: Any) -> vr.Terms:
    if isinstance(rates, Mapping):
        given["customers"] = {label: vr.Customer(rate=rate) for label, rate in rates.items()}
    else:
        given["rate"] = rates
    return vr.Terms((vr.Van(START, START),), **given)


def brute_force(
    book: vr.Playbook, driven: Sequence[int], rates: Mapping[Any, float], always: Sequence[int], pad_to: int | None
) -> tuple[dict[Any, Fraction], dict[int, Fraction], Fraction]:
    """Posteriors by going through all sets of orders and all dummies; and how probable it is that too many order."""
    groups = [group.members for group in book.hidden_classes]
    people = list(chain.from_iterable(groups))
    number = {label: at + 1 for at, members in enumerate(groups) for label in members}
    seen, excess = Fraction(0), Fraction(0)
    ordered: Counter[Any] = Counter()
    real: Counter[int] = Counter()
    for size in range(len(people) + 1):
        for orders in combinations(people, size):
            chance = math.prod(
                (Fraction(rates[each]) if each in orders else 1 - Fraction(rates[each]) for each in people),
                start=Fraction(1),
            )
            must = {number[each] for each in orders} | set(always)
            if pad_to is not None and len(must) > pad_to:
                excess += chance
                continue
            others = [at for at in range(1, len(groups) + 1) if at not in must]
            num_dummies = 0 if pad_to is None else pad_to - len(must)
            ways = list(combinations(others, num_dummies))
            share = chance * sum({*must, *way} == set(driven) for way in ways) / len(ways)
            seen += share
            for each in orders:
                ordered[each] += share  # type: ignore[assignment]
            for at in {number[each] for each in orders}:
                real[at] += share  # type: ignore[assignment]
    return (
        {label: Fraction(ordered[label]) / seen for label in people},
        {at: Fraction(real[at]) / seen for at in driven},
        excess,
    )


CASES = [
    ((2, 3, 2), [1, 3], (), None, None),
    ((2, 3, 2), [1, 3], (), 2, None),
    ((2, 2, 2, 2), [2, 3, 4], (3,), 3, None),
    ((2, 2, 2, 2), [2, 3, 4], (3,), None, None),
    ((3, 2, 3), [1, 2, 3], (), 3, None),
    ((3, 2, 3), [2], (2,), None, None),
    ((2, 2, 3), [1, 2], (1,), 2, {(1, 1): 1.0}),
    ((2, 2, 3), [1, 2], (), 2, {(1, 1): 0.0, (1, 2): 0.0}),
    ((2, 2, 3), [1, 2], (), 2, {(1, 3): 1.0}),
]


def drawn_cases(num: int) -> Iterator[tuple[Any, ...]]:
    """Days as they come about: somebody orders, some classes are always driven, and dummies fill up the rest."""
    rng = Random(6)
    for _ in range(num):
        sizes = tuple(rng.randint(2, 3) for _ in range(rng.randint(2, 3)))
        always = tuple(rng.sample(range(1, len(sizes) + 1), rng.randint(0, 1)))
        pad_to = rng.choice([None, rng.randint(max(1, len(always)), len(sizes))])
        touched = rng.sample(range(1, len(sizes) + 1), rng.randint(1, len(sizes)))
        if pad_to is None or len({*touched, *always}) <= pad_to:
            driven = pad(book_of(*sizes), touched, terms_of(None, always=always, pad_to=pad_to), key=KEY)
            yield sizes, list(driven), always, pad_to, None


@pytest.mark.parametrize(("sizes", "driven", "always", "pad_to", "special"), [*CASES, *drawn_cases(20)])
def test_posteriors_are_those_of_all_sets_of_orders(
    sizes: tuple[int, ...], driven: list[int], always: tuple[int, ...], pad_to: int | None, special: Any
) -> None:
    book, rng = book_of(*sizes), Random(str((sizes, driven)))
    people = [label for group in book.hidden_classes for label in group.members]
    rates = {label: rng.uniform(0.02, 0.6) for label in people} | (special or {})
    found = expose(book, driven, terms_of(rates, always=always, pad_to=pad_to))
    posterior, real, excess = brute_force(book, driven, rates, always, pad_to)
    assert [each.number for each in found.classes] == driven
    for each in found.classes:
        assert each.real == pytest.approx(float(real[each.number]), rel=1e-9, abs=1e-12)
        for label, value in each.posterior.items():
            assert value == pytest.approx(float(posterior[label]), rel=1e-9, abs=1e-12)
    shown = {label for each in found.classes for label in each.posterior}
    assert not any(posterior[label] for label in people if label not in shown)
    assert found.exceeds is None if pad_to is None else found.exceeds == pytest.approx(float(excess), abs=1e-12)
    assert found.worst == pytest.approx(max(map(float, posterior.values())))
    assert found.worst <= found.bound + 1e-12
    assert found.rate is None


def test_equal_rates_in_closed_form() -> None:
    found = expose(book_of(3, 3, 3), [2], terms_of(0.1))
    alone = 0.1 / (1 - 0.9**3)
    assert found.worst == found.bayes_success == pytest.approx(alone)
    assert alone <= 1 / 3 + 2 / 3 * 0.1  # docs/theory
    assert (found.smallest_left, found.identified, found.is_given, found.rate) == (3, (), True, 0.1)
    assert set(expose(book_of(2, 4), [2], terms_of(0.0)).classes[0].posterior.values()) == {0.25}
    for given in ({"pad_to": 3}, {"always": (1, 2, 3)}):  # driving everything, or always, tells nothing
        found = expose(book_of(2, 3, 2), [1, 2, 3], terms_of(0.2, **given))
        assert [value for each in found.classes for value in each.posterior.values()] == pytest.approx([0.2] * 7)


def test_what_is_said_in_words() -> None:
    one, shown = "Assumed: a customer orders on a day with a probability of", "What remains visible:"
    told, own = f"{one} 0.1.", (1, 2, 3, 4)
    assert expose(book_of(3, 3, 3), [2], terms_of(0.1)).text().splitlines() == [
        f"{shown} 1 of 3 classes are driven, and nobody in the other 2 has ordered.",
        "An observer who watches the whole day:",
        "  Places that may be behind an order:                     at least 3",
        "  How sure of an order at one place:                      at most 36.9% (on any day at most 36.9%)",
        "  How sure of an order in an area (here, a single place): at most 36.9% (on any day at most 36.9%)",
        "  Best guess of a place in each driven class:             "
        "right 36.9% of the time, averaged over the classes that are driven",
        "  Customers who are identified:                           0",
        told,
    ]
    for found, first, *last in (
        (
            expose(book_of(2, 2), [1], terms_of(None)),
            "1 of 2 classes are driven, and nobody in the other has ordered.",
            f"{one} 0.29, reckoned from how many classes are driven (say it: rate).",
        ), (
            expose(book_of(2, 2, 2), [1, 2], terms_of(0.1, pad_to=2)),
            "2 of 3 classes are driven, as on every day, some perhaps for show, and nobody in the other has ordered.",
            "More than 2 classes have to be driven with a probability of 0.0069 a day.", told,
        ),
        (expose(book_of(2, 2), [1, 2], terms_of({(1, col): col / 10 for col in own})), "2 of 2 classes are driven."),
    ):  # fmt: skip
        lines = found.text().splitlines()
        assert (lines[0], lines[7:]) == (f"{shown} {first}", last) and len(lines) > 6
    none = expose(book_of(2, 2), [], terms_of(0.1)).text().splitlines()
    assert none == [f"{shown} 0 of 2 classes are driven, and nobody in the other 2 has ordered.", told]


def test_of_an_area_more_may_be_known_than_of_a_place() -> None:
    """Neighbours are less than two apart, and some of them are in one class that is driven."""
    book = replace(book_of(3, 3), privacy=vr.Privacy(k=2, ell=2))
    found = expose(book, [2], terms_of(0.1))
    assert found.worst_area is not None and found.bound_area is not None
    pair = (1 - 0.9**2) / (1 - 0.9**3)
    assert found.worst < found.worst_area == pytest.approx(pair) and found.worst_area <= found.bound_area


def test_rates_that_leave_nobody_else_identify_and_certain_orders_were_known() -> None:
    book = book_of(2, 2)
    found = expose(book, [1, 2], terms_of({(1, 1): 0.2, (1, 2): 0.0, (1, 3): 1.0, (1, 4): 0.1}))
    assert found.identified == ((1, 1),)
    assert found.smallest_left == 1


def test_without_rates_an_equal_one_is_reckoned() -> None:
    book = book_of(3, 3, 3)
    found = expose(book, [1, 3], terms_of(None))
    assert found.rate is not None
    assert 3 * (1 - (1 - found.rate) ** 3) == pytest.approx(3 * 3 / 5)
    assert not found.is_given
    few, all_driven = (expose(book, driven, terms_of(None)) for driven in ([1], [1, 2, 3]))
    assert few.bound < all_driven.worst < 0.6  # that all are driven is no proof that all order


def test_many_classes_with_rates_that_underflow() -> None:
    book = book_of(*[2] * 30)
    chances = [each.real for each in expose(book, range(1, 26), terms_of(1e-30, pad_to=25)).classes]
    assert chances == pytest.approx([2e-30 * 30 / 25] * 25)  # at most one of the 30 classes holds an order


@pytest.mark.parametrize(
    ("driven", "given", "match"),
    [([3], {}, "from 1 to 2"), ([1], {"pad_to": 2}, "2 classes, as many"), ([1], {"always": (2,)}, "always driven")],
)
def test_a_day_that_is_not_of_its_terms(driven: list[int], given: Any, match: str) -> None:
    with pytest.raises(vr.InvalidInputError, match=match):
        expose(book_of(2, 2), driven, terms_of(0.1, **given))
    with pytest.raises(vr.InvalidInputError, match="a day of this playbook"):
        vr.exposure(book_of(4), vr.Day("0" * 64, terms_of(0.1), (2,), (vr.Tour((), (), (), 0),), 0, 0))


class TestPadding:
    book = book_of(*[2] * 6)

    def test_touched_always_and_as_many_dummies_as_are_missing(self) -> None:
        assert pad(self.book, [5, 2, 5], terms_of(None)) == (2, 5)
        assert pad(self.book, [5], terms_of(None, always=(1, 5))) == (1, 5)
        for touched in ([], [4], [4, 6], [1, 4, 6]):
            found = pad(self.book, touched, terms_of(None, always=(1,), pad_to=4), key=KEY)
            assert len(found) == 4
            assert {*touched, 1} <= set(found)
            assert list(found) == sorted(found)

    def test_the_same_key_and_occasion_give_the_same_dummies(self) -> None:
        terms = terms_of(None, pad_to=3)
        first = pad(self.book, [4], terms, key=KEY, occasion="spring")
        assert first == pad(self.book, (4, 4), terms, key=KEY, occasion="spring")
        days = {pad(self.book, [4], terms, key=KEY, occasion=str(day)) for day in range(200)}
        assert len(days) == math.comb(5, 2)
        assert len({pad(self.book, [4], terms, key=vr.Key(bytes([at] * 32))) for at in range(99)}) == math.comb(5, 2)
        assert len({pad(self.book, [4], terms) for _ in range(200)}) > 1

    def test_touched_classes_take_the_places_of_dummies(self) -> None:
        """Days of one occasion differ by what is touched, and by no fresh draw."""
        terms = terms_of(None, pad_to=4)
        none = set(pad(self.book, [], terms, key=KEY))
        for number in range(1, 7):
            one = set(pad(self.book, [number], terms, key=KEY))
            assert len(one - none) == (number not in none)

    def test_dummies_are_uniform(self) -> None:
        terms, num = terms_of(None, pad_to=3), 3000
        seen = Counter(pad(self.book, [2], terms, key=KEY, occasion=str(day)) for day in range(num))
        expected = num / math.comb(5, 2)
        assert sum((count - expected) ** 2 / expected for count in seen.values()) < 27.9  # chi squared, 9 free, 0.1 %

    @pytest.mark.parametrize(
        ("touched", "given", "match"),
        [
            ([1, 2, 3], {"pad_to": 2}, "today more classes have to be driven, got 2"),
            ([], {"pad_to": 7}, "at most 6"),
            ([], {"pad_to": 1, "always": (1, 2)}, "at least 2"),
            ([], {"always": (7,)}, "from 1 to 6"),
            ([7], {}, "from 1 to 6"),
        ],
    )
    def test_what_cannot_be_padded(self, touched: list[int], given: Any, match: str) -> None:
        with pytest.raises(vr.InvalidInputError, match=match):
            pad(self.book, touched, terms_of(None, **given), key=KEY)
