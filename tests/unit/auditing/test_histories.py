"""What earlier trips leave, in the auditor's rule: no class that is needed is passed over by its searches."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from plain_cliques import heaviest_area
from veilroute.auditing import ClassRule, Effort, mask_of, members_of


def random_lines(rng: Random, num: int, *, is_parted: bool) -> dict[int, tuple[int, ...]]:
    """Histories as ledgers make them: people come, go and come back, and are grouped anew each day."""
    if rng.random() < 0.5:  # or as somebody may write into a file
        left = [[mask_of({c, *rng.sample(range(num), num - rng.randint(1, 3))}) for _ in "ab"] for c in range(num)]
        return {c: tuple({*left[c][: rng.choice([1, 1, 2])]}) for c in range(num) if rng.random() < 0.8}
    found: dict[int, tuple[int, ...]] = {}
    for _ in range(rng.choice([1, 1, 2, 3])):
        listed = [c for c in range(num) if rng.random() < 0.8]
        rng.shuffle(listed)
        while listed:
            size = rng.randint(2, 8)
            group, listed = listed[:size], listed[size:]
            for c in group:
                now = mask_of(group)
                earlier = found.get(c, ())
                both = tuple(line & now for line in earlier)
                found[c] = tuple(dict.fromkeys((*earlier, now, *both))) if is_parted else (both or (now,))
    return found


def random_rule(rng: Random, *, with_beta: bool) -> ClassRule:
    num = rng.randint(6 if with_beta else 4, 8)
    close = dict.fromkeys(range(num), 0)
    crowding = rng.choice([0.0, 0.0, 0.2, 0.4])
    for a, b in combinations(range(num), 2):
        if rng.random() < crowding:
            close[a] |= 1 << b
            close[b] |= 1 << a
    is_all_pairs = rng.random() < 0.25
    lines = random_lines(rng, num, is_parted=with_beta) if rng.random() < 0.7 else {}
    if not with_beta:
        return ClassRule(rng.choice([1, 2, 2, 3]), close, is_all_pairs=is_all_pairs, effort=Effort(1e9), lines=lines)
    weights = sorted((rng.choice([1.0, 1.0, 2.0, 3.0, 0.5]) for _ in range(num)), reverse=True)
    masses = {i: weight / sum(weights) for i, weight in enumerate(weights)}
    beta = rng.choice([0.4, 0.5, 0.5, 0.6])
    return ClassRule(2, close, is_all_pairs=is_all_pairs, effort=Effort(1e9), beta=beta, masses=masses, lines=lines)


def plainly_hides(rule: ClassRule, group: tuple[int, ...]) -> bool:
    """The rule without histories, written down again."""

    def near(a: int, b: int) -> bool:
        return bool(rule.close[a] >> b & 1)

    if rule.is_all_pairs and any(near(a, b) for a, b in combinations(group, 2)):
        return False
    if rule.beta is None:
        return any(not any(near(a, b) for a, b in combinations(some, 2)) for some in combinations(group, rule.k))
    total = sum(rule.masses[c] for c in group)
    return bool(group) and heaviest_area(group, near, rule.masses.__getitem__) <= rule.beta * total * (1 + 1e-9)


def test_a_group_that_splits_with_all_who_may_still_come_is_passed_over() -> None:
    """Four of eight are two classes that can take anybody but 5, who is close to all four; asked in any order."""
    close = dict.fromkeys(range(4), 1 << 5) | {4: 0, 5: 0b1111, 6: 0, 7: 0}
    masses = dict.fromkeys(range(8), 1 / 8)
    rule = ClassRule(2, close, is_all_pairs=False, beta=0.5, masses=masses)
    for member in (4, 6, 5, 7, 6, 4):
        assert rule.may_join(0b1111, member) == (member < 6), member
    assert all(rule.may_join(mask_of(range(size)), 6) for size in range(4))


@pytest.mark.parametrize("with_beta", [False, True])
@pytest.mark.parametrize("seed", range(250))
def test_every_class_that_cannot_be_split_is_reached(seed: int, with_beta: bool) -> None:
    rng = Random(f"{seed}-{with_beta}")
    rule = random_rule(rng, with_beta=with_beta)
    everybody = range(len(rule.close))
    sets = [members for size in range(1, len(everybody) + 1) for members in combinations(everybody, size)]
    classes = set()
    for members in sets:
        lines = [line for c in members for line in rule.lines.get(c, ())]
        parts = [members, *(tuple(c for c in members if line >> c & 1) for line in lines)]
        if all(plainly_hides(rule, part) for part in parts):
            classes.add(mask_of(members))
        assert rule.qualifies(mask_of(members)) == (mask_of(members) in classes)
    for group in classes:
        part = (group - 1) & group
        while part and not (part in classes and group ^ part in classes):
            part = (part - 1) & group
        if part:
            continue
        assert group.bit_count() <= rule.max_size
        taken = 0
        for member in members_of(group):
            assert rule.may_join(taken, member), (bin(group), member)
            assert not taken & ~rule.partners[member]
            taken |= 1 << member
