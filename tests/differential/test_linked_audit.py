"""The auditor's observer of linked trips, the ledger's, and a plain one: three that share no code must agree."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from random import Random

import pytest

import veilroute as vr
from ledger_weeks import plan_week, random_days, read_week, write_chain
from linked_entries import IDENTITIES, TRIPS, Entry, Identity, Linking, Place, Spot
from plain_links import Links, UnclearError
from veilroute.auditing import Observer, People, see_entry

SEEDS = [seed if seed < 10 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(150)]


def random_privacy(rng: Random) -> vr.Privacy:
    ell, m, spread = rng.choice([1, 1, 3, 6]), rng.choice([None, None, 8]), rng.choice(["witness", "all-pairs"])
    if rng.random() < 0.3:
        return vr.Privacy(risk=rng.choice([0.4, 0.5, 0.6]), ell=ell, m=m, spread=spread)
    return vr.Privacy(k=rng.choice([2, 2, 3]), ell=ell, m=m, spread=spread)


def short_after(report: vr.LinkedReport, at: int) -> set[str]:
    """To whom a promise is broken after a playbook."""
    steps = ((each.name, each.over_time[at]) for each in report.candidates)
    return {name for name, step in steps if step is not None and step.is_short}


@pytest.mark.parametrize("seed", SEEDS)
def test_days_planned_under_a_ledger_keep_every_promise(seed: int, tmp_path: Path) -> None:
    rng = Random(f"planned {seed}")
    privacy, trips = random_privacy(rng), rng.choice(TRIPS)
    path = tmp_path / "ledger.jsonl"
    books = plan_week(path, random_days(rng, privacy, rng.randint(5, 9), 4), privacy, trips=trips)
    for book in books:
        assert vr.audit(book, ledger=path).verdict == "holds"
    assert vr.read_ledger(path).check().safe
    assert vr.audit_linked(books, ledger=path).verdict == "holds"
    assert vr.audit_linked(rng.sample(books, len(books)), ledger=path).verdict == "holds"
    alone = vr.audit_linked([], ledger=path)
    assert {claim.claim: claim.verdict for claim in alone.claims}["linked"] == "holds"
    assert alone.verdict == "unproved"


@pytest.mark.parametrize("seed", SEEDS)
def test_days_planned_by_themselves_fall_short_as_the_ledger_says(seed: int, tmp_path: Path) -> None:
    rng = Random(f"free {seed}")
    privacy, trips = random_privacy(rng), rng.choice(TRIPS)
    path = tmp_path / "ledger.jsonl"
    days = random_days(rng, privacy, rng.randint(5, 9), 4)
    books = plan_week(path, days, privacy, is_linked=False, trips=trips)
    by_routes, by_word = vr.audit_linked(books, ledger=path), vr.audit_linked([], ledger=path)
    week, broken = read_week(path, books), set()
    for at in range(len(week.entries)):
        write_chain(tmp_path / "part.jsonl", week.entries[: at + 1], week.first)
        expected = vr.read_ledger(tmp_path / "part.jsonl").check()
        # A promise once broken stays so, also where the next trip would make somebody less probable again.
        broken |= {each.name for each in expected.candidates if not each.qualifies}
        assert short_after(by_word, at) == broken
        left = {each.name: len(each.left) for each in expected.candidates}
        seen = {each.name: step.num_left for each in by_word.candidates if (step := each.over_time[at])}
        assert {name: seen[name] for name in left} == left
        # Classes that share their routes look like one: then a little less is seen than the ledger takes for granted.
        if privacy.risk is None:
            assert short_after(by_routes, at) <= short_after(by_word, at)
    assert all(claim.verdict == "holds" for claim in by_routes.claims[1:])
    linked = vr.audit_linked(books, trips=trips).claims[0]
    assert linked.verdict == by_routes.claims[0].verdict


def random_entries(rng: Random) -> tuple[list[Entry], list[Identity]]:
    """Playbooks as a ledger keeps them, of any kind: none of them planned, so that much is broken.

    With what a user may have said of the places, which are renamed and moved a little now and then.
    """
    kind = rng.choice(["k", "k", "risk", "risk", "drawn"])
    privacy = {
        "k": vr.Privacy(k=rng.choice([1, 2, 3]), ell=rng.choice([1, 2]), spread=rng.choice(["witness", "all-pairs"])),
        "risk": vr.Privacy(risk=rng.choice([0.4, 0.5, 0.7]), ell=2),
        "drawn": vr.Privacy(k=2, mechanism="randomised"),
    }[kind]
    is_on_earth, is_in_cells = rng.random() < 0.3, rng.random() < 0.3
    if is_on_earth and kind != "drawn":
        measure = rng.choice(["cost", "straight", "driving"])
        privacy = replace(privacy, ell=rng.choice([10, 80]), measure=measure)
    num, step = rng.randint(3, 7), rng.choice([1, 1, 3, 10])
    people = [f"p{i}" if rng.random() < 0.5 else i for i in range(num)]

    def spot(i: int) -> Spot:
        x, y = float(i * step), float(rng.random() < 0.05)
        if is_in_cells and not is_on_earth:
            return ("cell", 99, 9 + (rng.random() < 0.05), int(x), int(y))
        return ("earth", round(24 + x * 1e-4, 6), round(60 + y * 1e-4, 6)) if is_on_earth else ("plane", x, y)

    entries: list[Entry] = []
    for day in range(1, rng.randint(3, 6)):
        if kind == "drawn" and entries and rng.random() < 0.3:
            entries.append(replace(entries[-1], date=f"2026-11-{day:02}"))
            continue
        listed = rng.sample(range(num), rng.randint(2, num))
        domain = rng.choice("ab")
        shift = 0 if domain == "a" else 100  # nodes have other numbers on the other map
        is_renamed = rng.random() < 0.25
        places = []
        for i in listed:
            label = people[i]
            if isinstance(label, int):
                label += shift
            elif is_renamed:
                label = f"q{day}{i}"
            name = f"new {day} {i}" if is_renamed else f"place {i if rng.random() < 0.97 else 0}"
            places.append(Place(label, name if rng.random() < 0.8 else None, spot(i) if rng.random() < 0.9 else None))
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
        close = [
            (at, earlier, rng.randrange(len(entries[earlier].places)), float(rng.randint(0, 3)))
            for at in range(len(places))
            for earlier in range(len(entries))
            if rng.random() < 0.1
        ]
        within = chain.from_iterable(combinations(sorted(members), 2) for members in classes)
        near = [] if kind == "drawn" else [pair for pair in within if rng.random() < 0.2]
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
                kind=rng.choice(["playbook"] * 5 + ["day"]) if kind != "drawn" else "playbook",
                close=tuple(close),
            )
        )
    texts = sorted({place.text for each in entries for place in each.places})
    said = [rng.sample(texts, 2) for _ in range(rng.choice([0, 0, 0, 1, 2])) if len(texts) > 1]
    return entries, [Identity(rng.choice(IDENTITIES), (one, other), "2026-11-01") for one, other in said]


def compare(seed: int) -> tuple[int, int, int]:
    """The auditor, the ledger and the plain reference on one row of entries: how many were compared, and what came."""
    rng = Random(seed)
    entries, said = random_entries(rng)
    trips = rng.choice([*TRIPS, "listed"])
    observer, broken = Observer(trips, People(said)), set[int]()
    fell: dict[int, int] = {}  # by which entry promises were broken
    is_counted = entries[0].privacy.beta is None
    num_compared = 0
    for at, entry in enumerate(entries):
        sofar = entries[: at + 1]
        try:
            plain = Links(sofar, trips, said)
        except UnclearError:
            with pytest.raises(vr.InvalidInputError):
                Linking(sofar, trips, said)
            with pytest.raises(vr.InvalidInputError):
                observer.link(see_entry(entry))
            return num_compared, len(broken), 1
        linking = Linking(sofar, trips, said)
        observer.link(see_entry(entry))
        assert observer.numbers == linking.ids == plain.numbers
        now = {person for person in observer.hidden if plain.is_broken(person)}
        by_ledger = {person for person in observer.hidden if linking.broken(person) is not None}
        # A promise once broken stays so, also where the next trip would make somebody less probable again.
        broken |= now
        fell = dict.fromkeys(now, at) | fell
        # Under a risk whoever is left by some trips only falls into histories: one of these breaks it then.
        assert (by_ledger == now) if is_counted else (by_ledger <= now and bool(by_ledger) == bool(now))
        assert (observer.broken.keys() == broken) if is_counted else observer.broken.keys() <= broken
        assert bool(observer.broken) == bool(broken)
        for person, is_hidden in observer.hidden.items():
            assert is_hidden != linking.is_refused(person)
            if is_counted:
                assert (linking.fell_short(person) or (0, None))[1] == fell.get(person)
            assert observer.left(person) == linking.left(person) == plain.left(person)
            since = entries[-1].since
            whole, some = (observer.parts(person, since, is_parted=is_parted) for is_parted in (False, True))
            assert set(linking.lines(person, since, is_weighed=False)) == whole
            assert whole <= set(linking.lines(person, since, is_weighed=True)) <= some
            num_compared += 1
    return num_compared, len(broken), 0


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 20))])
def test_auditor_ledger_and_reference_agree_on_anything_that_may_be_recorded(part: int) -> None:
    found = [compare(seed) for seed in range(300 * part, 300 * part + 300)]
    num_compared, num_broken, num_unclear = map(sum, zip(*found, strict=True))
    assert num_compared > 500 and num_broken > 100 and num_unclear > 10
