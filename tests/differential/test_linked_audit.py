"""The auditor's observer of linked trips against the ledger's: two programmes that share no code must agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import veilroute as vr
from ledger_weeks import plan_week, random_days, read_week, write_chain
from veilroute.auditing.sightings import Observer, see_entry
from veilroute.entries import Entry, Place, pairs_within
from veilroute.linking import Linking

SEEDS = [seed if seed < 10 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(150)]


def random_privacy(rng: Random) -> vr.Privacy:
    ell, m, spread = rng.choice([1, 1, 3, 6]), rng.choice([None, None, 8]), rng.choice(["witness", "all-pairs"])
    if rng.random() < 0.3:
        return vr.Privacy(risk=rng.choice([0.4, 0.5, 0.6]), ell=ell, m=m, spread=spread)
    return vr.Privacy(k=rng.choice([2, 2, 3]), ell=ell, m=m, spread=spread)


def short_after(report: vr.LinkedReport, at: int) -> set[str]:
    """Who is hidden after a playbook and yet falls short."""
    steps = ((each.name, each.over_time[at]) for each in report.candidates)
    return {name for name, step in steps if step is not None and step.is_hidden and step.is_short}


@pytest.mark.parametrize("seed", SEEDS)
def test_days_planned_under_a_ledger_keep_every_promise(seed: int, tmp_path: Path) -> None:
    rng = Random(f"planned {seed}")
    privacy = random_privacy(rng)
    path = tmp_path / "ledger.jsonl"
    books = plan_week(path, random_days(rng, privacy, rng.randint(5, 9), 4), privacy)
    for book in books:
        assert vr.audit(book).verdict == "holds"
    assert vr.read_ledger(path).check().safe
    assert vr.audit_linked(books, ledger=path).verdict == "holds"
    assert vr.audit_linked(rng.sample(books, len(books)), ledger=path).verdict == "holds"
    alone = vr.audit_linked([], ledger=path)
    assert {claim.claim: claim.verdict for claim in alone.claims}["linked"] == "holds"
    assert alone.verdict == "unproved"


@pytest.mark.parametrize("seed", SEEDS)
def test_days_planned_by_themselves_fall_short_as_the_ledger_says(seed: int, tmp_path: Path) -> None:
    rng = Random(f"free {seed}")
    privacy = random_privacy(rng)
    path = tmp_path / "ledger.jsonl"
    books = plan_week(path, random_days(rng, privacy, rng.randint(5, 9), 4), privacy, is_linked=False)
    by_routes, by_word = vr.audit_linked(books, ledger=path), vr.audit_linked([], ledger=path)
    entries, broken = read_week(path, books).entries, set()
    for at in range(len(entries)):
        write_chain(tmp_path / "part.jsonl", entries[: at + 1])
        expected = vr.read_ledger(tmp_path / "part.jsonl").check()
        # A promise once broken stays so, also where the next trip would make somebody less probable again.
        broken |= {each.name for each in expected.candidates if not each.qualifies}
        assert short_after(by_word, at) == {each.name for each in expected.candidates if each.is_hidden} & broken
        left = {each.name: len(each.left) for each in expected.candidates}
        assert {each.name: step.num_left for each in by_word.candidates if (step := each.over_time[at])} == left
        # Classes that share their routes look like one: then a little less is seen than the ledger takes for granted.
        if privacy.risk is None:
            assert short_after(by_routes, at) <= short_after(by_word, at)
    assert all(claim.verdict == "holds" for claim in by_routes.claims[1:])
    linked = vr.audit_linked(books).claims[0]
    assert linked.verdict == by_routes.claims[0].verdict


def random_entries(rng: Random) -> list[Entry]:
    """Playbooks as a ledger keeps them, of any kind: none of them planned, so that much is broken."""
    kind = rng.choice(["k", "k", "risk", "drawn"])
    privacy = {
        "k": vr.Privacy(k=rng.choice([1, 2, 3]), ell=2, spread=rng.choice(["witness", "all-pairs"])),
        "risk": vr.Privacy(risk=rng.choice([0.4, 0.5, 0.7]), ell=2),
        "drawn": vr.Privacy(k=2, mechanism="randomised"),
    }[kind]
    num = rng.randint(3, 7)
    people = [f"p{i}" if rng.random() < 0.5 else i for i in range(num)]
    entries: list[Entry] = []
    for day in range(1, rng.randint(3, 5)):
        if kind == "drawn" and entries and rng.random() < 0.3:
            entries.append(replace(entries[-1], date=f"2026-11-{day:02}"))
            continue
        listed = rng.sample(range(num), rng.randint(2, num))
        domain = rng.choice("ab")
        shift = 0 if domain == "a" else 100  # nodes have other numbers on the other map
        places = [
            Place(
                label=label + shift if isinstance(label := people[i], int) else label,
                name=f"place {i if rng.random() < 0.97 else 0}" if rng.random() < 0.8 else None,
                at=("plane", float(i), float(rng.random() < 0.05)) if rng.random() < 0.9 else None,
            )
            for i in listed
        ]
        at = list(range(len(listed)))
        rng.shuffle(at)
        cuts = sorted(rng.sample(range(len(at) + 1), 2))
        classes = [part for part in (at[: cuts[0]], at[cuts[0] : cuts[1]]) if part]
        refused = at[cuts[1] :]
        shares: list[tuple[float, ...]] = []
        if kind == "drawn":
            hidden = at[: cuts[1]]
            classes += [sorted(rng.sample(hidden, rng.randint(1, len(hidden))))] if hidden else []
            shares = [tuple(rng.choice([0.1, 0.2, 0.3]) for _ in members) for members in classes]
        near = [] if kind == "drawn" else [pair for pair in pairs_within(classes) if rng.random() < 0.2]
        if privacy.spread == "all-pairs":
            near = []  # there are none in a class
        entries.append(
            Entry(
                date=f"2026-11-{day:02}",
                playbook=f"{day:064}",
                domain=domain,
                trips=(("s", "g"),),
                privacy=privacy,
                places=tuple(places),
                classes=tuple(map(tuple, classes)),
                refused=tuple(refused),
                near=tuple(near),
                prior=tuple(rng.choice([1.0, 2.0]) for _ in listed) if kind == "risk" else None,
                shares=tuple(shares),
                since=rng.choice([None, None, None, f"2026-11-{rng.randint(1, day):02}"]),
                occasion=rng.choice([None, "Monday"]) if kind == "drawn" else None,
            )
        )
    return entries


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 20))])
def test_the_observer_agrees_with_the_ledger_on_anything_that_may_be_recorded(part: int) -> None:
    num_compared = num_refused = 0
    for seed in range(300 * part, 300 * part + 300):
        entries = random_entries(Random(seed))
        observer, broken = Observer(), set()
        for at, entry in enumerate(entries):
            try:
                linking = Linking(entries[: at + 1])
            except vr.InvalidInputError:
                with pytest.raises(vr.InvalidInputError):
                    observer.link(see_entry(entry))
                num_refused += 1
                break
            observer.link(see_entry(entry))
            assert observer.numbers == linking.ids
            for person, is_hidden in observer.hidden.items():
                assert is_hidden != linking.is_refused(person)
                assert observer.left(person) == linking.left(person)
                # A promise once broken stays so, also where the next trip would make somebody less probable again.
                broken |= {person} if linking.broken(person) is not None else set()
                assert (person in observer.broken) == (person in broken)
                since = entries[-1].since
                for is_parted in (False, True):
                    lines = linking.lines(person, since, is_parted=is_parted)
                    assert observer.parts(person, since, is_parted=is_parted) == set(lines)
                num_compared += 1
    assert num_compared > 500 and num_refused > 10
