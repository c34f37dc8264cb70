"""The auditor's observer of linked trips against the ledger's: two programmes that share no code must agree."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import veilroute as vr
from ledger_weeks import plan_week, random_days, read_week, write_chain

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
    entries = read_week(path, books).entries
    for at in range(len(entries)):
        write_chain(tmp_path / "part.jsonl", entries[: at + 1])
        expected = vr.read_ledger(tmp_path / "part.jsonl").check()
        assert short_after(by_word, at) == {each.name for each in expected.short}
        left = {each.name: len(each.left) for each in expected.candidates}
        assert {each.name: step.num_left for each in by_word.candidates if (step := each.over_time[at])} == left
        # Classes that share their routes look like one: then a little less is seen than the ledger takes for granted.
        if privacy.risk is None:
            assert short_after(by_routes, at) <= short_after(by_word, at)
    assert all(claim.verdict == "holds" for claim in by_routes.claims[1:])
    linked = vr.audit_linked(books).claims[0]
    assert linked.verdict == by_routes.claims[0].verdict
