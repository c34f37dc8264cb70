"""Claims about privacy: the partition, class sizes, spread, and how many candidates are protected."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from veilroute.audit.case import Case, is_same
from veilroute.audit.report import ClaimVerdict, first_nodes, judge, names, number
from veilroute.audit.spread import mask_of, members_of
from veilroute.domain.labels import Label


def check_partition(case: Case) -> ClaimVerdict:
    """Classes are disjoint and hold each counted candidate once, except those listed as uncoverable."""
    facts, playbook = case.facts, case.playbook
    problems = []
    home: dict[int, str] = {}
    places = [(f"class {i}", group.members) for i, group in enumerate(playbook.classes)]
    for place, members in (*places, ("the uncoverable list", playbook.uncoverable)):
        for label in members:
            c = facts.find(label)
            if c is None:
                problems.append(f"{place} holds {label}, which is no candidate that counts")
            elif c in home:
                problems.append(f"{label} is both in {home[c]} and in {place}")
            else:
                home[c] = place
    missing = [facts.label(c) for c in facts.counted if c not in home]
    if missing:
        problems.append(f"in no class and not listed as uncoverable: {names(missing)}")
    problems += [f"{place} has no members" for place, members in places if not members]
    for i, group in enumerate(playbook.classes):
        known: Collection[Label] = group.members
        with suppress(TypeError):  # a playbook that was not read from a file may hold anything
            known = set(group.members)
        problems += [
            f"class {i} holds a route for {member}, who is not a member"
            for _, member in group.member_routes
            if member not in known
        ]
    return judge(
        "partition",
        problems,
        f"{number(len(facts.counted), 'candidate')} stand once each in {len(playbook.classes)} classes "
        f"or among {len(playbook.uncoverable)} uncoverable",
    )


def check_class_size(case: Case) -> ClaimVerdict:
    """Every candidate claimed anonymized shares its first m nodes with at least k - 1 others."""
    k = case.standard.k
    m = case.playbook.privacy.m
    shared = "route" if m is None else first_nodes(m)
    lost = [case.facts.label(c) for c in case.claimed if c not in case.groups]
    problems = [f"without a sound route, and so nobody to hide among: {names(lost)}"] if lost else []
    for group in _claimed_groups(case):
        if group.bit_count() < k:
            who = names(case.facts.label(c) for c in members_of(group))
            alone = f"nobody shares the {shared} of {who}"
            few = f"only {who} share their {shared}"
            problems.append(f"{alone if group.bit_count() == 1 else few}: {group.bit_count()} where {k} are needed")
    sizes = [group.bit_count() for group in _claimed_groups(case)]
    if not sizes:
        return judge("class-size", problems, "no class is said to be anonymized")
    return judge(
        "class-size", problems, f"groups found by replaying have {min(sizes)} to {max(sizes)} members, k is {k}"
    )


def check_spread(case: Case) -> ClaimVerdict:
    """Enough members of each group stand at least ell apart; groups that are too small are left to ``class-size``."""
    facts, standard, apart = case.facts, case.standard, case.playbook.privacy.distance_text
    problems = []
    if not case.claimed:
        return judge("spread", [], "no class is said to be anonymized")
    if standard.is_all_pairs:
        for own in dict.fromkeys(case.groups.get(c, 1 << c) & standard.listed[c] for c in case.claimed):
            problems += [
                f"{facts.label(a)} and {facts.label(b)} share a class but are only {gap:.6g} apart, less than {apart}"
                for a, b, gap in standard.spread.close_pairs(own)
            ]
        return judge("spread", problems, f"all members of each class are pairwise at least {apart} apart")
    for group in _claimed_groups(case):
        needed = min(standard.k, group.bit_count())
        far = standard.spread.largest_far_set(group, enough=needed)
        if far.size < needed:
            a, b, gap = standard.spread.close_pairs(group)[0]
            most = f"at most {far.size}" if far.is_largest else f"no more than {far.size} were found that"
            problems.append(
                f"of {names(facts.label(c) for c in members_of(group))} {most} are pairwise at least {apart} "
                f"apart where {standard.k} are needed; {facts.label(a)} and {facts.label(b)} are only {gap:.6g} apart"
            )
    return judge("spread", problems, f"{standard.k} members of each group are pairwise at least {apart} apart")


def check_coverable(case: Case) -> ClaimVerdict:
    """The counts of candidates and the list of those that no walk of every trip can cover."""
    facts, claims = case.facts, case.playbook.claims
    problems = []
    if claims.num_candidates != len(facts.counted):
        problems.append(f"states {claims.num_candidates} candidates that count, there are {len(facts.counted)}")
    if claims.num_coverable != len(facts.coverable):
        problems.append(f"states {claims.num_coverable} coverable candidates, there are {len(facts.coverable)}")
    listed, coverable = {facts.find(label) for label in case.playbook.uncoverable}, set(facts.coverable)
    for c in facts.counted:
        if (c in listed) == (c in coverable):
            said, found = ("uncoverable", "a walk covers it") if c in listed else ("coverable", "no walk covers it")
            problems.append(
                f"{facts.label(c)} counts as {said}, but {found}{' on every trip' * (len(facts.trips) > 1)}"
            )
    return judge(
        "coverable", problems, f"{len(facts.coverable)} of {number(len(facts.counted), 'candidate')} can be covered"
    )


def check_anonymized(case: Case) -> ClaimVerdict:
    """The number of anonymized candidates is the number for which (k, ell, m) really holds."""
    stated, real = case.playbook.claims.num_anonymized, len(case.protected)
    problems = []
    if stated != real:
        lost = [case.facts.label(c) for c in sorted(set(case.claimed).difference(case.protected))]
        tail = f"; not anonymized in truth: {names(lost)}" if lost else ""
        problems.append(f"states {stated} anonymized candidates, in truth there are {real}{tail}")
    elif real != len(case.claimed):
        lost = [case.facts.label(c) for c in sorted(set(case.claimed).difference(case.protected))]
        problems.append(f"classes called anonymized hold {names(lost)}, for whom it is not true")
    return judge("anonymized", problems, f"(k, ell, m) holds for {number(real, 'candidate')}, as stated")


def check_apr(case: Case) -> ClaimVerdict:
    """APR is anonymized over coverable candidates; delta, where stated, over those stated to be anonymizable."""
    claims, num_real, num_coverable = case.playbook.claims, len(case.protected), len(case.facts.coverable)
    real = num_real / num_coverable if num_coverable else 0.0
    problems = [] if is_same(real, claims.apr) else [f"states an APR of {claims.apr:.6g}, in truth it is {real:.6g}"]
    if claims.delta is not None:
        delta = num_real / claims.num_anonymizable if claims.num_anonymizable else 0.0
        if not is_same(delta, claims.delta):
            problems.append(f"states a delta of {claims.delta:.6g}, in truth it is {delta:.6g}")
    return judge("apr", problems, f"{num_real} / {num_coverable} = {real:.6g}")


def _claimed_groups(case: Case) -> list[int]:
    """The distinct replayed groups that hold a candidate claimed anonymized."""
    promised = mask_of(case.claimed)
    return list(dict.fromkeys(group for group in case.groups.values() if group & promised))
