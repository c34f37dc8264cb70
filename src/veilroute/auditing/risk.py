"""The claims about probabilities: what is drawn, what an observer believes after a route, and what hiding costs then.

The observer knows the map, the playbook and the prior. It sees the first m nodes of the routes, and believes in each
place as much as that is probable to have led to them. Classes whose routes look the same are one to it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from veilroute.auditing.apartness import members_of
from veilroute.auditing.replay import Group, ReplayedPlaybook, is_same, wrong_figure
from veilroute.auditing.verdicts import ClaimVerdict, judge, number
from veilroute.problem import ROUNDING


class Risk(NamedTuple):
    """What an observer makes of the routes; ``None`` where nothing that is possible is hidden."""

    worst: float | None = None  # the largest posterior of a place, with those closer than ell to it
    where: Group | None = None  # the routes' candidates behind it
    bayes_success: float | None = None  # how often the best guess is right


def measure_risk(replayed: ReplayedPlaybook) -> Risk:
    """The posteriors of all routes that the playbook gives to candidates that it claims to anonymize."""
    beliefs = [(math.fsum(group.masses.values()), group) for group in replayed.claimed_groups]
    seen = [(total, group) for total, group in beliefs if total > 0]
    if not seen:
        return Risk()
    worst, at = max((replayed.rule.here.heaviest(group.masses)[1] / total, -i) for i, (total, group) in enumerate(seen))
    guessed = math.fsum(max(group.masses.values()) for _, group in seen)
    return Risk(worst, seen[-at][1], guessed / math.fsum(total for total, _ in seen))


def check_shares(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """In a randomised playbook all hidden members have shares that sum to their prior; in a partition nobody has."""
    survey, classes = replayed.survey, replayed.playbook.classes
    is_randomised = replayed.playbook.privacy.mechanism == "randomised"
    problems, sums = [], dict.fromkeys(replayed.claimed, 0.0)
    for position, group in enumerate(classes):
        if not is_randomised or not group.anonymized:
            if group.shares:
                problems.append(f"class {position} has shares, though nobody is drawn for it")
            continue
        if len(group.shares) != len(group.members):
            problems.append(f"class {position} has {len(group.shares)} shares for {len(group.members)} members")
            continue
        for label, share in zip(group.members, group.shares, strict=True):
            if not 0 < share < math.inf:
                problems.append(f"{label} has the share {share!r} of class {position}, which is not above 0")
            elif (c := survey.find(label)) is not None:
                sums[c] += share
    if is_randomised and not problems:
        for c, total in sums.items():
            prior = survey.prior.get(c, 0.0)
            if not is_same(total, prior, prior):
                problems.append(f"the shares of {survey.name(c)} sum to {total:.9g}, its prior is {prior:.9g}")
    num = len(replayed.listed)
    shown = f"{number(num, 'share')} sum to the priors of {number(len(sums), 'candidate')}"
    return judge("shares", problems, shown if is_randomised else "none, as each candidate is in one class")


def check_risk(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """No posterior exceeds what was promised; the worst one and the observer's success are as stated."""
    claims, beta, risk = replayed.playbook.claims, replayed.rule.beta, measure_risk(replayed)
    problems = _exceeded(replayed, risk, beta)
    if lost := sorted({c for c, _ in replayed.listed.keys() - replayed.groups.keys()}):
        problems.append(f"cannot be worked out for {replayed.survey.names(lost)}: no sound route")
    else:
        if claims.worst_posterior is not None or risk.worst is None:
            problems += wrong_figure("worst posterior", claims.worst_posterior, risk.worst)
        if claims.bayes_success is not None or risk.worst is None:
            problems += wrong_figure("Bayes success", claims.bayes_success, risk.bayes_success)
    return judge("risk", problems, _in_words(risk) + ("" if beta is None else f", the bound is {beta:.9g}"))


def check_prior(replayed: ReplayedPlaybook, prior: Sequence[float]) -> ClaimVerdict:
    """What an observer with another prior makes of the same routes; a promise that is made must hold for it as well."""
    survey = replayed.survey
    other = replace(replayed, survey=replace(survey, problem=replace(survey.problem, prior=prior)))
    risk = measure_risk(other)
    shown = f"under the prior given: {_in_words(risk)}"
    return judge("prior", _exceeded(other, risk, replayed.rule.beta), shown)


def _exceeded(replayed: ReplayedPlaybook, risk: Risk, beta: float | None) -> list[str]:
    if beta is None or risk.worst is None or risk.where is None or risk.worst <= beta * (1 + ROUNDING):
        return []
    survey, rule, group = replayed.survey, replayed.rule.here, risk.where
    heaviest, _ = rule.heaviest(group.masses)
    close = survey.names(members_of(rule.close[heaviest] & group.mask))
    place = survey.name(heaviest) + (f", with {close} close to it," if close else "")
    who = survey.names(members_of(group.mask))
    return [f"the route shared by {who} gives {place} a probability of {risk.worst:.9g}, more than {beta:.9g}"]


def _in_words(risk: Risk) -> str:
    if risk.worst is None:
        return "nothing that is possible is hidden, so there is none"
    return f"worst posterior {risk.worst:.9g}, Bayes success {risk.bayes_success:.9g}"


def check_hidden_mass(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """How probable it is that the secret is one of the anonymized candidates."""
    stated, real = replayed.playbook.claims.hidden_mass, replayed.mass(replayed.claimed)
    is_wrong = stated is not None and not is_same(real, stated)
    problems = [f"states {stated:.9g}, in truth it is {real:.9g}"] if is_wrong else []
    return judge("hidden-mass", problems, f"anonymized candidates are the secret with a probability of {real:.9g}")


def check_expected_mac(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """The MAC with every candidate weighted as it is probable."""
    stated, real = replayed.playbook.claims.expected_mac, replayed.real_costs
    if real.unknown:
        who = replayed.survey.names(real.unknown)
        return judge("expected-mac", [f"cannot be recomputed for {who}: no walk, so no cost"], "")
    problems = wrong_figure("expected MAC", stated, real.expected_mac)
    if real.expected_mac is None:
        return judge("expected-mac", problems, "nothing that is possible is anonymized, so there is none")
    return judge("expected-mac", problems, f"expected MAC recomputed: {real.expected_mac:.9g}")
