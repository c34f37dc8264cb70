"""What a change would do to a ledger, before it happens: who would fall short, and the cheapest plan that is safe.

A customer who leaves takes something from everybody it was hidden with, and nothing brings that back. So it is worth
asking first. Nothing here writes to a ledger.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from veilroute.base.errors import InvalidInputError, UnsafeLedgerError
from veilroute.domain.graph import Label, label_text, plain_label
from veilroute.domain.turns import without_missing
from veilroute.ledger.explain import Shortfall
from veilroute.ledger.ledger import Ledger, Standing
from veilroute.model.closure import Closure
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy
from veilroute.planners.solve import solve


@dataclass(frozen=True)
class WhatIf:
    """A playbook in use, and the plan that would follow it after a change."""

    today: Playbook
    plan: Playbook  #: the cheapest that keeps safe everybody whom it hides
    shortfalls: tuple[Shortfall, ...]  #: whom it does not hide because of their history, since when and why
    #: To whom earlier promises would be broken, among them places that leave; without them it may be entered.
    broken: tuple[Standing, ...] = ()
    trips: str = "occasional"  #: what the ledger assumes of a day without a trip

    @property
    def lost(self) -> tuple[Label, ...]:
        """Who is hidden today, would still be a candidate, and would not be hidden any more."""
        hidden, kept = _hidden(self.plan), set(self.plan.candidates)
        return tuple(label for label in _hidden(self.today) if label in kept and label not in hidden)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "keeps_all": not self.lost and not self.broken,
            "lost": list(self.lost),
            "trips": self.trips,
            "broken": [each.to_dict() for each in self.broken],
            "shortfalls": [each.to_dict() for each in self.shortfalls],
            "today": _figures(self.today),
            "plan": _figures(self.plan),
        }


def what_if(
    ledger: Ledger,
    playbook: Playbook,
    *,
    remove: Iterable[Label] = (),
    add: Iterable[Label] = (),
    closure: Closure | None = None,
    privacy: Privacy | None = None,
    since: str | None = None,
    **options: Any,
) -> WhatIf:
    """Plan what would follow a playbook of a ledger after a change.

    Parameters
    ----------
    ledger
        It is read, and stays as it is.
    playbook
        One of its playbooks, with its domain: the map, the trips, the candidates and the privacy of today.
    remove, add
        Candidates who leave, and places that join.
    closure
        What is not as it was on the map. What is seen from where is what it would be on the changed map, as for a plan
        that is made there.
    privacy
        What to promise from now on; less than the ledger has promised is an error.
    since
        The day before which nothing can be linked, if that is assumed.
    **options
        Those of :func:`veilroute.solve`, such as ``time_limit_s``.
    """
    if not ledger.holds(playbook):
        raise UnsafeLedgerError.unknown()
    problem = playbook.problem
    leaving = dict.fromkeys(plain_label(label, field="remove") for label in remove)
    joining = dict.fromkeys(plain_label(label, field="add") for label in add)
    for label in leaving:
        if label not in problem.candidates:
            raise InvalidInputError("remove", "a candidate of the playbook", label_text(label))
    for label in joining:
        problem.domain.node(label, field="add")
        if label in problem.candidates:
            raise InvalidInputError("add", "a place that is no candidate yet", label_text(label))
    if joining and problem.prior is not None:
        expected = "a playbook without a prior, which does not say how probable who joins is: plan with another one"
        raise InvalidInputError("add", expected)
    kept = [i for i, label in enumerate(problem.candidates) if label not in leaving]
    if not kept and not joining:
        raise InvalidInputError("remove", "somebody who stays")
    changed = replace(
        problem,
        domain=problem.domain if closure is None else _close(playbook, closure),
        candidates=[*(problem.candidates[i] for i in kept), *joining],
        prior=None if problem.prior is None else [problem.prior[i] for i in kept],
        past=None,
    )
    wanted = playbook.privacy if privacy is None else privacy
    changed = replace(changed, past=ledger.past(changed, wanted, since=since))
    plan = solve(changed, wanted, **options)
    return WhatIf(playbook, plan, ledger.explain(plan), ledger.broken_by(plan), ledger.trips)


def _close(playbook: Playbook, closure: Closure) -> Any:
    # Here and not at the top, because compiling kernels would make `import veilroute` slow.
    from veilroute.planners.replan import change_domain

    changed = change_domain(playbook.problem.domain, closure)
    return replace(changed, turns=without_missing(changed, changed.turns))


def _hidden(playbook: Playbook) -> dict[Label, None]:
    return dict.fromkeys(member for group in playbook.hidden_classes for member in group.members)


def _figures(playbook: Playbook) -> dict[str, Any]:
    claims = playbook.claims
    return {
        "status": playbook.status,
        **playbook.privacy.to_dict(),
        "num_candidates": claims.num_candidates,
        "num_coverable": claims.num_coverable,
        "num_anonymized": claims.num_anonymized,
        "mac": claims.mac,
        "mac_lower_bound": claims.mac_lower_bound,
    }
