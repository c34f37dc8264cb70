"""The ledger: what it says of everybody, what it takes, and that plans under it keep what was promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import veilroute as vr
from drawn_books import triangle_book
from ledger_weeks import append_line, write_chain
from linked_entries import THERE, Entry, Place, book_of, entry, plan, town
from veilroute import Ledger

PLACES = [(0, 2), (0, 5), (2, 0), (2, 3), (4, 2), (4, 5)]
A, B, C, D, E, F = PLACES


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return vr.new_ledger(tmp_path / "ledger.jsonl")


@pytest.fixture
def expected(tmp_path: Path) -> Ledger:
    """A ledger that takes a missing trip for a sign."""
    return vr.new_ledger(tmp_path / "expected.jsonl", trips="expected")


@pytest.fixture
def old(tmp_path: Path) -> Ledger:
    """A file of the first format."""
    write_chain(tmp_path / "old.jsonl", [], {"format": "veilroute-ledger/1"})
    return vr.read_ledger(tmp_path / "old.jsonl")


def enter(ledger: Ledger, *entries: Entry) -> Ledger:
    """Whatever they break."""
    for each in entries:
        ledger = ledger.enter(each, anyway=True)
    return ledger


def standings(ledger: Ledger, since: str | None = None) -> dict[str, tuple[str, bool, bool, str | None, str | None]]:
    """Per letter who is left, whether promises hold and it is hidden, which day's was broken, and when."""
    return {
        each.name: ("".join(map(str, each.left)), each.qualifies, each.is_hidden, each.broken, each.since)
        for each in ledger.check(since).candidates
    }


class TestCheck:
    def test_what_is_left_whether_it_is_enough_and_since_when(self, old: Ledger) -> None:
        ledger = enter(old, entry("abcd ef"), entry("abc ed", "f", day=2), entry("abd ce f", day=3))
        assert standings(ledger) == {
            "a": ("ab", True, True, None, None),
            "b": ("ab", True, True, None, None),
            "c": ("c", False, True, "2026-11-01", "2026-11-03"),
            "d": ("d", False, True, "2026-11-01", "2026-11-02"),
            "e": ("e", False, True, "2026-11-01", "2026-11-02"),
            "f": ("f", False, True, "2026-11-01", "2026-11-02"),  # it had no trip on the second
        }
        assert not ledger.check().safe
        assert [each.name for each in ledger.check().short] == ["c", "d", "e", "f"]

    def test_what_is_broken_stays_so_and_is_no_reason_to_refuse_what_makes_nothing_worse(
        self, expected: Ledger
    ) -> None:
        ledger = enter(expected, entry("abcd"), entry("ab cd", day=2), entry("abc", "d", day=3))
        assert [each.name for each in ledger.check().short] == ["c", "d"]
        ledger = ledger.enter(entry("abd", "c", day=4), anyway=True)
        assert [each.name for each in ledger.enter(entry("ab", "cd", day=5)).check().short] == ["c", "d"]
        assert ledger.check(since="2026-11-04").trips == "expected"

    def test_labels_are_those_of_the_last_map(self, ledger: Ledger) -> None:
        first = entry("ab", places=(Place(1, "Shop"), Place(2, "Office")))
        other = entry("ab", places=(Place(2, "Shop"), Place(1, "Office")), domain="other map", day=2)
        report = enter(ledger, first, other).check()
        assert [(each.candidate, each.name, each.left) for each in report.candidates] == [
            (2, "Shop", (2, 1)),
            (1, "Office", (2, 1)),
        ]


class TestAdd:
    def test_what_was_added_is_there_for_the_next_who_reads(self, ledger: Ledger) -> None:
        book = plan(ledger, PLACES)
        after = ledger.add(book, day="2026-11-16")
        again = vr.read_ledger(ledger.journal.path)
        assert again.entries == after.entries
        (found,) = again.entries
        assert (found.date, found.playbook, found.domain) == ("2026-11-16", book.sha256, book.domain_sha256)
        assert found.parent == ledger.head
        assert [place.label for place in found.places] == PLACES
        assert again.holds(book)
        assert not ledger.holds(book)

    def test_days_go_forward(self, ledger: Ledger) -> None:
        ledger = ledger.enter(entry("abc", day=5))
        for day, since in ((4, None), (5, "2026-11-06")):
            with pytest.raises(vr.InvalidInputError, match="since: " if since else "date: .* from 2026-11-05 on"):
                ledger.enter(entry("abc", day=day, since=since), anyway=True)
        ledger = ledger.enter(entry("abcd", day=5, since="2026-11-05"))
        with pytest.raises(vr.InvalidInputError, match="date"):
            ledger.add(book_of(PLACES), day="5 November")
        with pytest.raises(vr.FileFormatError, match="is there already"):
            vr.new_ledger(ledger.journal.path)
        append_line(ledger.journal.path, entry("abc", day=2).to_dict())
        with pytest.raises(vr.FileFormatError, match="line 4: .* from 2026-11-05 on"):
            vr.read_ledger(ledger.journal.path).check()

    def test_a_playbook_counts_once(self, ledger: Ledger) -> None:
        book = book_of(PLACES)
        ledger = ledger.add(book, day="2026-11-16")
        with pytest.raises(vr.InvalidInputError, match="playbook: expected one that is not in the ledger yet"):
            ledger.add(book, day="2026-11-17", anyway=True)
        assert len(vr.read_ledger(ledger.journal.path).entries) == 1
        other = ledger.add(book_of(PLACES[:3], PLACES[3:]), day="2026-11-17", occasion="monday").entries[-1]
        assert other.occasion is None, "nothing is drawn from a partition"

    def test_draws_on_other_occasions_are_other_draws(self, ledger: Ledger) -> None:
        book = triangle_book()
        ledger = ledger.add(book, day="2026-11-16", occasion="monday")
        with pytest.raises(vr.InvalidInputError, match="playbook"):
            ledger.add(book, day="2026-11-17", occasion="monday")
        with pytest.raises(vr.UnsafeLedgerError):
            ledger.add(book, day="2026-11-17", occasion="tuesday")
        ledger = ledger.add(book, day="2026-11-17", occasion="tuesday", anyway=True)
        assert not ledger.check().safe
        assert ledger.check(since="2026-11-17").safe

    def test_who_was_given_up_is_not_hidden_again(self, expected: Ledger) -> None:
        """The promise to c is broken since it has no route. A playbook that hides it all the same is refused."""
        ledger = enter(expected, entry("abc de"), entry("ab de", "c", day=2))
        with pytest.raises(vr.UnsafeLedgerError) as caught:
            ledger.enter(entry("abc de", day=3))
        assert caught.value.names == ("c",)

    def test_two_of_one_name_are_two(self, ledger: Ledger) -> None:
        """That one Shop is found out already does not hide that the other one is."""
        names = {"a": "Shop", "b": "Shop"}
        places = tuple(Place(letter, names.get(letter)) for letter in "abcdef")
        ledger = enter(ledger, entry("acf bde", places=places), entry("a bde cf", places=places, day=2))
        assert [each.name for each in ledger.check().short] == ["Shop"]
        with pytest.raises(vr.UnsafeLedgerError) as caught:
            ledger.enter(entry("af b cde", places=places, day=3))
        assert "Shop" in caught.value.names
        with pytest.raises(vr.InvalidInputError, match="a name that only one place of it ever had"):
            ledger.same("Shop", "Kiosk")

    def test_two_who_read_it_before_the_other_wrote(self, ledger: Ledger) -> None:
        """What is decided is decided on what is in the file when it is written."""
        mine = plan(vr.read_ledger(ledger.journal.path), PLACES)
        vr.read_ledger(ledger.journal.path).add(book_of([A, F], [B, E], [C, D]), day="2026-11-16")
        for book in (book_of([A, B], [C, D], [E, F]), mine):
            with pytest.raises(vr.UnsafeLedgerError):
                ledger.add(book, day="2026-11-16")
        again = plan(vr.read_ledger(ledger.journal.path), PLACES)
        assert ledger.add(again, day="2026-11-16").check().safe

    def test_another_ledger_s_plan_and_who_cannot_be_told_are_refused_even_anyway(
        self, ledger: Ledger, tmp_path: Path
    ) -> None:
        """Otherwise nobody could check the ledger from then on."""
        other = vr.new_ledger(tmp_path / "other.jsonl").enter(entry("abc"))
        ledger = ledger.enter(entry("ab", places=(Place(1), Place(2))))
        unclear = entry("ab", places=(Place(1), Place(2)), domain="other map", day=2)
        for made, said in ((unclear, "told from each other"), (entry("cd", day=2, parent=other.head), "planned under")):
            with pytest.raises(vr.InvalidInputError, match=said):
                ledger.enter(made, anyway=True)
        assert vr.read_ledger(ledger.journal.path).check().safe

    @pytest.mark.parametrize("classes", [([A, B], [B, C]), ([A, B, A], [C]), ([A, THERE.goal],), ([A, (3, 0)],)])
    def test_what_could_not_be_read_again_is_not_written(self, ledger: Ledger, classes: Any) -> None:
        bad = replace(book_of([A, B], [C, D]), classes=())
        group = book_of([A, B]).classes[0]
        bad = replace(bad, classes=tuple(replace(group, members=tuple(members)) for members in classes))
        with pytest.raises(vr.InvalidInputError):
            ledger.add(bad, day="2026-11-16", anyway=True)
        assert vr.read_ledger(ledger.journal.path).entries == ()

    @pytest.mark.parametrize(
        "change",
        [
            {"date": "2026-11-99"}, {"classes": [[0, 7]]}, {"privacy": {"k": -1}}, {"places": 3},
            {"close": [[0, 1, 0, 1.0]]}, {"close": [[0, 0, 3, 1.0]]},
            *({"kind": "same"} | each for each in ({"places": ["a"]}, {"places": ["a", 3]}, {"date": "now"}, {"x": 1})),
        ],
    )  # fmt: skip
    def test_forged_lines_are_refused_with_their_number(self, ledger: Ledger, change: dict[str, Any]) -> None:
        """Somebody who makes all hashes again can write what is no entry, and no word about two places."""
        ledger.enter(entry("abc"))
        good: dict[str, Any] = entry("abc", day=2).to_dict() | {"close": [[0, 0, 2, 1.0]]}
        if change.get("kind") == "same":
            good = {"kind": "same", "places": ["a", "b"], "date": "2026-11-02"}
        for line in (good, good | change):
            before = ledger.journal.path.read_bytes()
            append_line(ledger.journal.path, line)
            if line == good:
                vr.read_ledger(ledger.journal.path).check()
                ledger.journal.path.write_bytes(before)
        with pytest.raises(vr.FileFormatError, match="not an entry of a ledger") as caught:
            vr.read_ledger(ledger.journal.path).check()
        assert caught.value.line == 3
        with pytest.raises(vr.FileFormatError, match="line 3"):
            ledger.enter(entry("abcd", day=3))


class TestPast:
    def test_names_of_the_map_that_is_planned_on(self, ledger: Ledger, expected: Ledger, old: Ledger) -> None:
        """A closed cell makes another map, of which cells tell the places; who is not listed any more is left out."""
        new = (3, 0)
        hidden = {A: (B, A), B: (B, A), D: (E, D), E: (E, D)}
        for book, others in ((ledger, {}), (expected, {F: (F, new), new: (F, new)}), (old, {F: (F,)})):
            ledger = book.add(book_of([A, B, C], [D, E], refused=[F]), day="2026-11-16")
            problem = vr.Problem(town((2, 1)), [THERE], [F, E, D, B, A, new])
            past = ledger.past(problem, vr.Privacy(k=2))
            assert dict(past.left) == hidden | others
            assert (past.near, past.ledger, past.since, past.trips) == ((), ledger.head, None, ledger.trips)
        assert ledger.past(problem, vr.Privacy(k=2), since="2026-11-17").left == ()

    @pytest.mark.parametrize(
        "promised, asked, field",
        [
            ({"k": 3}, {"k": 2}, "k"),
            ({"ell": 2}, {"ell": 1}, "ell"),
            ({"m": 5}, {"m": 6}, "m"),
            ({}, {"m": 5}, "m"),
            ({"spread": "all-pairs"}, {"spread": "witness"}, "spread"),
            ({"risk": 0.4}, {"risk": 0.5}, "risk"),
            ({"k": 2}, {"risk": 0.5}, "k"),
            ({"k": 2, "mechanism": "randomised"}, {"k": 2}, "risk"),
        ],
    )
    def test_less_than_was_promised_is_refused(
        self, ledger: Ledger, promised: dict[str, Any], asked: dict[str, Any], field: str
    ) -> None:
        shares: dict[str, Any] = {"shares": ((0.5, 0.5),)} if "mechanism" in promised else {}
        places = (Place(A, "Shop"), Place(B, "Office"))
        ledger = enter(ledger, entry("ab", places=places, privacy=vr.Privacy(**promised), **shares))
        problem = vr.Problem(town(), [THERE], [A, B], names={A: "Shop", B: "Office"})
        with pytest.raises(vr.InvalidInputError, match=rf"Privacy\.{field}: .*2026-11-01.*since"):
            ledger.past(problem, vr.Privacy(**asked))
        assert ledger.past(problem, vr.Privacy(**asked), since="2026-11-02").left == ()
        # It was promised to each of them; who was never listed may be promised anything.
        with pytest.raises(vr.InvalidInputError, match=rf"Privacy\.{field}: "):
            ledger.past(replace(problem, candidates=[A, C], names={A: "Shop", C: "Kiosk"}), vr.Privacy(**asked))
        others = replace(problem, candidates=[C, D], names={C: "Kiosk", D: "Bar"})
        assert ledger.past(others, vr.Privacy(**asked)).left == ()

    def test_the_prior_stays_what_it_was(self, ledger: Ledger) -> None:
        risk = vr.Privacy(risk=0.5)
        weights = [3.0, 3, 2, 2, 1, 1]
        first = vr.solve(vr.Problem(town(), [THERE], PLACES, prior=weights), risk)
        ledger = ledger.add(first, day="2026-11-16")
        problem = vr.Problem(town(), [THERE], [*PLACES, (3, 0)], prior=[*weights, 5])
        assert ledger.past(problem, risk).left  # newcomers may be as probable as they like
        assert ledger.past(replace(problem, candidates=PLACES[1:], prior=weights[1:]), risk).left
        for prior in (None, [3, 3, 2, 2, 1, 1.5, 5]):
            with pytest.raises(vr.InvalidInputError, match="prior: expected the weights of 2026-11-16"):
                ledger.past(replace(problem, prior=prior), risk)
        assert ledger.past(replace(problem, prior=None), risk, since="2026-11-17").left == ()

    def test_a_forgetful_plan_says_so(self, ledger: Ledger) -> None:
        ledger = ledger.add(book_of([A, B], [C, D], [E, F]), day="2026-11-16")
        book = plan(ledger, PLACES, vr.Privacy(k=3), since="2026-11-17")
        assert book.claims.num_anonymized == 6
        after = ledger.add(book, day="2026-11-17", anyway=True)
        assert after.entries[-1].since == "2026-11-17"
        assert after.check(since="2026-11-17").safe
        assert ledger.broken_by(book) == ()
        alone = replace(book, classes=tuple(replace(book.classes[0], members=(each,)) for each in PLACES))
        assert [(each.candidate, each.left) for each in ledger.broken_by(alone)] == [(each, (each,)) for each in PLACES]

    @pytest.mark.parametrize("seed", range(4))
    def test_the_classes_of_reuse_are_always_safe(self, ledger: Ledger, seed: int) -> None:
        """Customers leave, other cells are closed, and the trip is another one."""
        rng = Random(seed)
        customers, others = [*PLACES, (1, 2), (3, 3)], [(0, 0), (4, 4), (0, 3), (4, 0), (2, 5), (2, 2)]
        book = vr.solve(vr.Problem(town(), [THERE], customers), vr.Privacy(k=2))
        ledger = ledger.add(book, day="2026-11-01")
        for day in range(2, 6):
            customers = [cell for cell in customers if rng.random() < 0.95]
            start, goal = rng.sample(others, 2)
            problem = vr.Problem(town(rng.choice([(3, 0), (1, 3)])), [vr.Trip(start, goal)], customers)
            later = vr.solve(problem, vr.Privacy(k=2), planner="reuse", partition=book)
            if not later.hidden_classes:
                break
            book = later
            if not ledger.holds(book):
                ledger = ledger.add(book, day=f"2026-11-{day:02}")
            assert ledger.check().safe
        # What reuse keeps, a plan under the ledger may keep as well, and costs no more.
        best = plan(ledger, book.candidates, domain=book.domain, trips=book.trips)
        again = vr.solve(replace(best.problem, past=None), vr.Privacy(k=2), planner="reuse", partition=book)
        assert best.claims.num_anonymized >= again.claims.num_anonymized
        if best.claims.num_anonymized == again.claims.num_anonymized:
            assert (best.mac or 0) <= (again.mac or 0) + 1e-9


class TestExplain:
    def test_a_customer_has_left(self, ledger: Ledger) -> None:
        """Theory: of {a, b, c} with k = 3, c leaves."""
        three = vr.Privacy(k=3)
        ledger = ledger.add(book_of([A, B, C], [D, E, F], privacy=three), day="2026-11-16")
        ledger = ledger.add(book_of([A, B, C], [D, E, F], privacy=three, domain=town((3, 0))), day="2026-11-17")
        book = plan(ledger, [A, B, D, E, F, (3, 0)], three)
        assert {frozenset(group.members) for group in book.hidden_classes} == {frozenset({D, E, F, (3, 0)})}
        found = {each.candidate: each for each in ledger.explain(book)}
        assert set(found) == {A, B}
        assert (found[A].left, found[A].since) == ((A, B), "2026-11-17")
        assert "2,0" in found[A].reason and "2026-11-17" in found[A].advice
        assert ledger.add(book, day="2026-11-17").check().safe

    def test_it_had_no_route(self, expected: Ledger, ledger: Ledger) -> None:
        book = book_of([A, B, C, D, E], refused=[F])
        ledger = ledger.add(book, day="2026-11-16")
        assert ledger.explain(plan(ledger, PLACES)) == ()
        expected = expected.add(book, day="2026-11-16")
        (only,) = expected.explain(plan(expected, PLACES))
        assert (only.candidate, only.left, only.since) == (F, (F,), "2026-11-16") and "first route" in only.advice


class TestUse:
    def test_a_later_playbook_may_have_made_it_unsafe(self, ledger: Ledger) -> None:
        first, second = book_of([A, B], [C, D, E, F]), book_of([C, D], [E, F])
        ledger = ledger.add(first, day="2026-11-16").add(second, day="2026-11-17")
        ledger.check_use(first)
        ledger.check_use(second)
        third = book_of([C, E], [D, F])
        ledger = ledger.add(third, day="2026-11-18", anyway=True)
        for book in (first, second, third):
            with pytest.raises(vr.UnsafeLedgerError) as caught:
                ledger.check_use(book)
            assert set(caught.value.names) == {"2,0", "2,3", "4,2", "4,5"}
        ledger.check_use(third, since="2026-11-18")

    def test_who_forgets_earlier_trips_is_linked_with_one_that_is_made_now(self, ledger: Ledger) -> None:
        first = book_of([A, B, C, D])
        second = book_of([A, B, E], [C, D, F], privacy=vr.Privacy(k=3))
        ledger = ledger.add(first, day="2026-11-16")
        past = replace(plan(ledger, PLACES, vr.Privacy(k=3), since="2026-11-17").past or vr.Past(()), left=())
        ledger = ledger.add(replace(second, past=past), day="2026-11-17")
        assert ledger.check().safe
        with pytest.raises(vr.UnsafeLedgerError):  # the first promised two, and keeps that, but the second three
            ledger.check_use(first)
        ledger.check_use(replace(second, past=past), since="2026-11-17")


def street(*metres: float, names: Sequence[str | None] = (), label: int = 0) -> tuple[Place, ...]:
    """Places along a meridian, this far north of its first one."""
    some = [*names, *[None] * (len(metres) - len(names))]
    spots = [("earth", 24.94, round(60.17 + each / 111_194.9, 6)) for each in metres]
    return tuple(Place(label + at, name, spot) for at, (name, spot) in enumerate(zip(some, spots, strict=True)))


class TestIdentities:
    """F14: the same doors under other names, a few metres off."""

    def test_a_place_that_appears_beside_one_that_has_disappeared_is_the_same(self, ledger: Ledger) -> None:
        days = [
            entry("abc", places=street(0, 400, 800, names=["Shop", "Office", "Bakery"])),
            entry("abc", places=street(9, 451, 800, names=["Customer 1", "Customer 2", "Bakery"]), domain="B", day=2),
        ]
        turnover = enter(ledger, *days).turnover()
        assert (turnover.gone, turnover.new, turnover.nearest) == (2, 2, "9 m")
        assert [(each.was, each.now, each.apart) for each in turnover.renamed] == [("Shop", "Customer 1", "9 m")]
        assert [each.name for each in vr.read_ledger(ledger.journal.path).check().candidates] == [
            "Customer 1", "Office", "Bakery", "Customer 2",
        ]  # fmt: skip

    def test_the_last_word_counts_for_the_whole_ledger(self, ledger: Ledger) -> None:
        days = [
            entry("abc", places=street(0, 300, 900, names=["Shop", "Office", "Bakery"])),
            entry("ab", places=street(9, 600, names=["Kiosk", "Bar"]), domain="B", day=2),
        ]
        ledger = enter(ledger, *days)

        def people(book: Ledger) -> dict[str, int]:
            return {each.name: len(each.left) for each in book.check().candidates}

        assert people(ledger) == {"Kiosk": 1, "Office": 3, "Bakery": 3, "Bar": 2}
        assert [each.name for each in ledger.check().short] == ["Kiosk"]
        ledger = ledger.different("Kiosk", "Shop")
        assert people(ledger) == {"Shop": 3, "Office": 3, "Bakery": 3, "Kiosk": 2, "Bar": 2}
        assert ledger.check().safe
        ledger = ledger.same("Office", "Bar")
        assert people(ledger) == {"Shop": 3, "Bar": 1, "Bakery": 3, "Kiosk": 2}
        ledger = ledger.different("Office", "Bar").same("Shop", "Kiosk")
        assert people(ledger) == {"Kiosk": 1, "Office": 3, "Bakery": 3, "Bar": 2}
        assert len(vr.read_ledger(ledger.journal.path).entries) == 2
        assert len(ledger.journal.entries) == 6

    @pytest.mark.parametrize(
        "kind, one, other, expected",
        [
            ("same", "Shop", "Shop", "the names of two places"),
            ("same", "Shop", "Office", "never listed together"),
            ("different", "Nobody", "No one", "a place that was listed"),
            ("different", "Shop", "Kiosk", "same label on one map, or one carried both names"),
            ("same", "Bar", "Office", "a name that only one place of it ever had, got 'Bar'"),
        ],
    )
    def test_what_cannot_be_is_not_recorded(
        self, ledger: Ledger, kind: str, one: str, other: str, expected: str
    ) -> None:
        days = enumerate([["Shop", "Office"], ["Kiosk", "Bar"], ["Bar", "Office"]], start=1)
        ledger = enter(ledger, *(entry("ab", places=street(0, 300, names=names), day=day) for day, names in days))
        with pytest.raises(vr.InvalidInputError, match=expected):
            getattr(ledger, kind)(one, other)
        assert vr.read_ledger(ledger.journal.path).identities == ()


@pytest.mark.parametrize("first", [{}, {"trips": "never"}, {"trips": "expected", "more": "x"}])
def test_a_ledger_says_what_a_missing_trip_means(tmp_path: Path, first: dict[str, str]) -> None:
    write_chain(tmp_path / "ledger.jsonl", [], {"format": "veilroute-ledger/2", **first})
    with pytest.raises(vr.FileFormatError, match="what a missing trip means"):
        vr.read_ledger(tmp_path / "ledger.jsonl").check()
    with pytest.raises(vr.InvalidInputError, match="occasional or expected"):
        vr.new_ledger(tmp_path / "other.jsonl", trips="listed")
