"""The claims about probabilities: what is drawn, what an observer believes after a route, and what hiding costs then.

The observer knows the map, the playbook and the prior. It sees the first m nodes of the routes, and believes in each
candidate as much as that is probable to have led to them. Classes whose routes look the same are one to it. It bets on
an area, that is on candidates which are pairwise close, or on a node with all names that are there.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from veilroute.auditing.apartness import Area, mask_of, members_of
from veilroute.auditing.replay import Group, ReplayedPlaybook, is_same, wrong_figure
from veilroute.auditing.verdicts import ClaimVerdict, judge, number
from veilroute.model.exposure import ExposureReport, Figures, area_text, report_exposures
from veilroute.model.problem import ROUNDING


class Risk(NamedTuple):
    """What an observer makes of the routes; ``None`` where nothing that is possible is hidden."""

    worst: float | None = None  # the largest posterior of an area that was found
    most: float | None = None  # none is larger; the same as the worst if all areas were looked at
    where: Group | None = None  # who share the route that gives most
    area: Area | None = None  # the heaviest area among them
    bayes_success: float | None = None  # how often the best guess of a node is right


def observe(replayed: ReplayedPlaybook) -> ExposureReport:
    """What an observer can find out within the promise and, for a finite m, from whole routes."""
    privacy, m = replayed.playbook.privacy, replayed.playbook.privacy.m
    promised, whole = (_figures(replayed, replayed.claimed_alike(each)) for each in (m, None))
    survey, given = replayed.survey, replayed.playbook.prior
    weights = {c: 1.0 if given is None else given[c] for c in survey.counted}
    within_reach = math.fsum(weights[c] for c in survey.coverable)
    everything = math.fsum(weights.values())
    mass = replayed.mass(replayed.claimed) * (within_reach / everything if everything else 1.0)
    num = len(survey.counted)
    close = replayed.rule.here.close
    near = sum(close[c].bit_count() for c in survey.counted) / (num * (num - 1)) if privacy.ell > 0 and num > 1 else 0.0
    return report_exposures(privacy, promised, whole, hidden_mass=mass, num_trips=len(survey.trips), near_share=near)


def _figures(replayed: ReplayedPlaybook, groups: Sequence[Group]) -> Figures:
    seen = [group for group in groups if math.fsum(group.masses.values()) > 0]
    if not seen:
        return None, None, None, None
    risk = measure_risk(replayed, seen)
    place = max(_best_guess(replayed, group) / math.fsum(group.masses.values()) for group in seen)
    possible = (replayed.num_places(mask_of(c for c, mass in group.masses.items() if mass > 0)) for group in seen)
    return min(possible), place, risk.most, risk.bayes_success


def measure_risk(replayed: ReplayedPlaybook, groups: Sequence[Group] | None = None) -> Risk:
    """The posteriors of all routes that the playbook gives to candidates that it claims to anonymize.

    Those who look the same are the ``groups``; for the first m nodes of every trip when left out.
    """
    watched = replayed.claimed_groups if groups is None else groups
    beliefs = [(math.fsum(group.masses.values()), group) for group in watched]
    seen = [(total, group) for total, group in beliefs if total > 0]
    if not seen:
        return Risk()
    areas = [(replayed.rule.here.heaviest(group.masses), total, group) for total, group in seen]
    area, total, group = max(areas, key=lambda item: item[0].most / item[1])
    worst = max(area.mass / total for area, total, _ in areas)
    guessed = math.fsum(_best_guess(replayed, group) for _, group in seen)
    return Risk(worst, max(worst, area.most / total), group, area, guessed / math.fsum(total for total, _ in seen))


def _best_guess(replayed: ReplayedPlaybook, group: Group) -> float:
    """How probable the likeliest node is: guessing the right door is enough, whatever name is on it."""
    nodes: dict[int, list[float]] = {}
    for c, mass in group.masses.items():
        nodes.setdefault(replayed.survey.nodes[c], []).append(mass)
    return max(map(math.fsum, nodes.values()))


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
    """No posterior exceeds what was promised; the worst one and the observer's success are as stated.

    If there are too many areas to look at them all, a promise must hold by a bound that is no lower than the largest
    posterior, and a figure that is stated is not decided. A playbook that promises a bound has to state both figures.
    """
    claims, beta, risk = replayed.playbook.claims, replayed.rule.beta, measure_risk(replayed)
    problems = _exceeded(replayed, risk, beta)
    if lost := sorted({c for c, _ in replayed.listed.keys() - replayed.groups.keys()}):
        problems.append(f"cannot be worked out for {replayed.survey.names(lost)}: no sound route")
    else:
        if claims.worst_posterior is not None or risk.worst is None or beta is not None:
            problems += _wrong_worst(claims.worst_posterior, risk)
        if claims.bayes_success is not None or risk.worst is None or beta is not None:
            problems += wrong_figure("Bayes success", claims.bayes_success, risk.bayes_success)
    shown = _in_words(risk) + ("" if beta is None else f", the bound is {beta:.9g}")
    is_decided = risk.worst == risk.most or claims.worst_posterior is None
    stated = {"the worst posterior": claims.worst_posterior, "the Bayes success": claims.bayes_success}
    missing = [name for name, figure in stated.items() if figure is None and risk.worst is not None]
    return judge("risk", problems, shown, checked=is_decided, missing=missing)


def _wrong_worst(stated: float | None, risk: Risk) -> list[str]:
    """What is wrong with the worst posterior that is stated: it is not the real one, or outside what is known of it."""
    if risk.most is not None and stated is not None and risk.worst is not None and risk.worst < stated < risk.most:
        return []
    nearest = risk.worst if stated is None or risk.worst is None or stated < risk.worst else risk.most
    return wrong_figure("worst posterior", stated, nearest)


def check_prior(replayed: ReplayedPlaybook, prior: Sequence[float]) -> ClaimVerdict:
    """What an observer with another prior makes of the same routes; a promise that is made must hold for it as well."""
    survey = replayed.survey
    other = replace(replayed, survey=replace(survey, problem=replace(survey.problem, prior=prior)))
    risk = measure_risk(other)
    shown = f"under the prior given: {_in_words(risk)}"
    return judge("prior", _exceeded(other, risk, replayed.rule.beta), shown)


def _exceeded(replayed: ReplayedPlaybook, risk: Risk, beta: float | None) -> list[str]:
    if beta is None or risk.most is None or risk.where is None or risk.area is None:
        return []
    limit = beta * (1 + ROUNDING)
    if risk.most <= limit:
        return []
    survey, area = replayed.survey, area_text(replayed.playbook.privacy)
    who = survey.names(members_of(risk.where.mask))
    posterior = risk.area.mass / math.fsum(risk.where.masses.values())
    if posterior > limit:
        places = list(members_of(risk.area.mask))
        where = survey.names(places) + (f", in one {area}," if len(places) > 1 else "")
        return [f"the route shared by {who} gives {where} a probability of {posterior:.9g}, more than {beta:.9g}"]
    return [
        f"the route shared by {who} may give one {area} a probability of up to {risk.most:.9g}, more than {beta:.9g}: "
        "there are too many areas to look at them all; plan with a shorter distance apart"
    ]


def _in_words(risk: Risk) -> str:
    if risk.worst is None or risk.most is None:
        return "nothing that is possible is hidden, so there is none"
    worst = f"worst posterior {risk.worst:.9g}"
    if risk.most > risk.worst:
        worst = f"worst posterior not decided, between {risk.worst:.9g} and {risk.most:.9g} (too many areas to look at)"
    return f"{worst}, Bayes success {risk.bayes_success:.9g}"


def check_hidden_mass(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """How probable it is that the secret is one of the anonymized candidates."""
    stated, real = replayed.playbook.claims.hidden_mass, replayed.mass(replayed.claimed)
    shown = f"anonymized candidates are the secret with a probability of {real:.9g}"
    if stated is None:
        problems = [f"not stated, it is {real:.9g}"] if replayed.rule.beta is not None else []
        return judge("hidden-mass", problems, shown, missing=["the hidden probability"])
    problems = [] if is_same(real, stated) else [f"states {stated:.9g}, in truth it is {real:.9g}"]
    return judge("hidden-mass", problems, shown)


def check_expected_mac(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """The MAC with every candidate weighted as it is probable."""
    stated, real = replayed.playbook.claims.expected_mac, replayed.real_costs
    if real.unknown:
        who = replayed.survey.names(real.unknown)
        return judge("expected-mac", [f"cannot be recomputed for {who}: no walk, so no cost"], "")
    is_needed = replayed.rule.beta is not None
    problems = [] if stated is None and not is_needed else wrong_figure("expected MAC", stated, real.expected_mac)
    if real.expected_mac is None:
        return judge("expected-mac", problems, "nothing that is possible is anonymized, so there is none")
    missing = ["the expected MAC"] if stated is None else []
    return judge("expected-mac", problems, f"expected MAC recomputed: {real.expected_mac:.9g}", missing=missing)
