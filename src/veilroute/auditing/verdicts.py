"""The auditor's report: a verdict per claim with the evidence, and the anonymity set over time."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

from veilroute.base.errors import one_line
from veilroute.base.lazy import SHOWN_BY
from veilroute.domain.graph import Label
from veilroute.model.exposure import ExposureReport, area_text
from veilroute.model.problem import Privacy

_MAX_NAMED = 6
_MAX_ROWS = 40
_WIDTH = 100
_LONGEST_NAME = 60


@dataclass(frozen=True)
class ClaimVerdict:
    """Whether one claim of the playbook holds."""

    claim: str  #: A short stable word such as ``walk`` or ``class-size``; the auditing page lists them.
    holds: bool  #: The verdict.
    evidence: str  #: What was counted, or which class, candidate and step break the claim.
    #: False when the problem is too large for the audit to work the claim out: nothing contradicts it, but it rests on
    #: the planner's word.
    checked: bool = True

    @property
    def verdict(self) -> str:
        """``holds``, ``violated``, or ``unproved`` when nothing contradicts the claim but it was not worked out."""
        if not self.holds:
            return "violated"
        return "holds" if self.checked else "unproved"

    @property
    def word(self) -> str:
        """The verdict as the report prints it."""
        return "OK" if self.verdict == "holds" else self.verdict.upper()


@dataclass(frozen=True)
class AnonymityStep:
    """What an observer knows after seeing the first ``m`` nodes of a trip."""

    trip: int  #: Which trip.
    m: int  #: How many nodes were seen.
    #: Size of the smallest group of candidates that still look the same, among the groups that hold a candidate claimed
    #: anonymized (among all groups when there is none).
    #: Several names at one node count once.
    smallest_class: int
    widest_witness: int  #: The least, over the same groups, of how many members stand pairwise at least ell apart.
    #: Candidates that are alone in their group, or with other names of the same node: the observer knows the place.
    revealed: tuple[Label, ...]
    #: Candidates whose group no longer has k members that are far enough apart, or exceeds the risk promised.
    exposed: tuple[Label, ...]


@dataclass(frozen=True)
class AuditSummary:
    """The figures that the plain-words part of a report is made of, all recomputed."""

    privacy: Privacy  #: What was promised.
    num_trips: int  #: How many trips there are.
    num_candidates: int  #: Candidates that are no start or goal.
    num_coverable: int  #: Those of them that a walk of every trip can cover.
    num_claimed: int  #: Candidates that the playbook lists as anonymized.
    num_protected: int  #: Those of them for which the promise really holds.


class Said(NamedTuple):
    """Something that a playbook or an instance says: as plain data, and in words."""

    value: object
    text: str


@dataclass(frozen=True)
class BoundTo:
    """One thing that the claims are about."""

    what: str  #: A short stable word such as ``map`` or ``k``; the auditing page lists them.
    playbook: Said  #: What the playbook says.
    instance: Said | None = None  #: What the instance says; ``None`` where it says nothing, or where there is none.
    difference: str = ""  #: In which way the two are not the same, or an empty string.

    @property
    def agrees(self) -> bool | None:
        """Whether both say the same; ``None`` when nothing says what was meant."""
        return None if self.instance is None else not self.difference

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``audit --json``."""
        said = None if self.instance is None else self.instance.value
        return {"what": self.what, "playbook": self.playbook.value, "instance": said, "agrees": self.agrees}


def joint_verdict(claims: Iterable[ClaimVerdict]) -> str:
    """``violated`` when one claim is, else ``unproved`` when one is, else ``holds``."""
    given = {claim.verdict for claim in claims}
    return next((word for word in ("violated", "unproved") if word in given), "holds")


@dataclass(frozen=True, repr=False)
class AuditReport:
    """Everything that an audit found."""

    holds: bool  #: Whether no claim is violated. Some may be unproved: :attr:`verdict` tells.
    #: One verdict per claim, always in the same order; the auditing page says which are not always there.
    claims: tuple[ClaimVerdict, ...]
    anonymity: tuple[AnonymityStep, ...]  #: One entry per trip and number of nodes seen.
    summary: AuditSummary  #: The recomputed figures behind the text.
    bound_to: tuple[BoundTo, ...] = ()  #: What the claims are about, and what was meant.
    #: What hiding costs: over the candidates claimed anonymized the sum of what their routes cost more than the
    #: cheapest routes that cover them alone (trips averaged by weight). ``None`` when there is none.
    total_extra: float | None = None
    worst_extra: float | None = None  #: The largest single one of these extra costs.
    names: Mapping[Label, str] = field(default_factory=dict)  #: Nodes in words, where people call them something.
    playbook_sha256: str = ""  #: Of the playbook that was audited: a report belongs to one playbook and no other.
    is_past_unknown: bool = field(default=False, repr=False)  #: Whether no ledger confirms its past.
    #: What observers can find out, worked out from the routes and the map.
    observer: ExposureReport = field(default_factory=ExposureReport)

    @property
    def verdict(self) -> str:
        """``violated`` when one claim is, else ``unproved`` when one is, else ``holds``."""
        return joint_verdict(self.claims)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``audit --json``."""
        return {
            "holds": self.holds,
            "verdict": self.verdict,
            "claims": [vars(claim) | {"verdict": claim.verdict} for claim in self.claims],
            "anonymity": [_plain(vars(step)) for step in self.anonymity],
            "bound_to": [_plain(item.to_dict()) for item in self.bound_to],
            "total_extra": self.total_extra,
            "worst_extra": self.worst_extra,
            "observer": self.observer.to_dict(),
            "playbook_sha256": self.playbook_sha256,
        }

    def rows(self) -> list[dict[str, Any]]:
        """A flat row for each claim, ready for ``pandas.DataFrame``."""
        return [{"claim": each.claim, "verdict": each.verdict, "evidence": each.evidence} for each in self.claims]

    def __repr__(self) -> str:
        counts = Counter(claim.verdict for claim in self.claims)
        said = ", ".join(f"{counts[word]} {word}" for word in ("violated", "unproved") if counts[word])
        return f"<AuditReport: {self.verdict}, {number(len(self.claims), 'claim')}{f', {said}' if said else ''}>"

    def _repr_html_(self) -> str:
        """For notebooks: the verdict and its claims."""
        return str(SHOWN_BY["AuditReport"](self))

    def to_text(self) -> str:
        """The report in words: verdict, what an observer is left with, claims, anonymity over time."""
        # Only the sentences are wrapped: breaking evidence could tear a cell like (3, 4) apart.
        sentences = textwrap.wrap(self.in_words, width=_WIDTH)
        lines = [self.headline, "", *sentences, *self.observer.to_lines(), "", "Claims"]
        width = max(len(v.claim) for v in self.claims)
        lines += [f"  {v.word:8}  {v.claim:{width}}  {v.evidence}" for v in self.claims]
        lines += ["", *self._about(), "", "Anonymity over time", *self._over_time()]
        return "\n".join(lines) + "\n"

    @property
    def headline(self) -> str:
        """Whether the playbook keeps its word, in one sentence."""
        num = len(self.claims)
        broken = [v.claim for v in self.claims if not v.holds]
        unchecked = [v.claim for v in self.claims if not v.checked]
        if len(broken) == 1:
            return f"Do not rely on this playbook: the claim {broken[0]!r} is violated."
        if broken:
            return f"Do not rely on this playbook: {len(broken)} of {num} claims are violated."
        if not unchecked:
            return f"The playbook keeps its word: all {num} claims hold."
        past = " under a past that was not given (name its ledger: --ledger FILE)" if self.is_past_unknown else ""
        return (
            f"The playbook keeps its word as far as could be checked{past}: {num - len(unchecked)} claims hold, "
            f"{len(unchecked)} could not be checked here ({', '.join(unchecked)})."
        )

    @property
    def in_words(self) -> str:
        """What is promised about an observer, for how many candidates it holds, and who is not protected."""
        s, p = self.summary, self.summary.privacy
        seen = "a whole trip" if p.m is None else f"the {first_nodes(p.m)} of a trip"
        seen += f", links the {s.num_trips} trips" if s.num_trips > 1 else ""
        apart = f", {'all' if p.spread == 'all-pairs' else p.k} of them at least {p.distance_text} apart"
        apart = apart + (" on foot" if p.measure == "cost" else "") if p.k > 1 and p.ell > 0 else ""
        left = (
            f"still has at least {number(p.k, 'possible place')} to choose from{apart}: "
            f"that holds for {s.num_protected} of {number(s.num_candidates, 'candidate')}."
        )
        if p.beta is not None:
            left = (
                f"gives no {area_text(p)} a probability above {p.beta:.9g} of holding the secret stop: "
                f"that holds for {s.num_protected} of {number(s.num_candidates, 'candidate')}."
            )
        found = left if s.num_protected else "finds no candidate protected."
        lines = [f"An observer who sees {seen} and has our map and our code {found}"]
        rest, lost = s.num_candidates - s.num_protected, s.num_claimed - s.num_protected
        out_of_reach = s.num_candidates - s.num_coverable
        reasons = {
            "said to be protected but not": lost,
            "out of reach of any walk": out_of_reach,
            "for which the playbook gives no route": max(0, rest - lost - out_of_reach),
        }
        if rest:
            parts = [f"{num} {reason}" for reason, num in reasons.items() if num]
            lines.append(f"Not protected: {number(rest, 'candidate')} ({', '.join(parts)}).")
        if p.m is not None:
            lines.append(f"After the {first_nodes(p.m)} nothing is promised; see below what then comes out.")
        return " ".join(lines)

    def _about(self) -> list[str]:
        """What the claims are about, line by line."""
        is_compared = any(v.claim == "instance" for v in self.claims)
        lines = ["About (compared with the instance)" if is_compared else "About (as the playbook says)"]
        words = {None: "UNSTATED" if is_compared else "", True: "AS MEANT", False: "OTHER"}
        for item in self.bound_to:
            word = f"{words[item.agrees]:8}  " if is_compared else ""
            lines.append(f"  {word}{item.what:10}  {item.playbook.text}")
            if item.instance is not None and not item.agrees:
                lines.append(f"  {'':8}  {'':10}  the instance says: {item.instance.text}")
        if not is_compared:
            lines.append("  That this is what was meant, is not checked: see `veilroute audit --instance`.")
        return lines

    def _over_time(self) -> list[str]:
        m = self.summary.privacy.m

        def state(step: AnonymityStep) -> tuple[AnonymityStep, bool]:
            """What stays the same in a stretch of steps; none reaches across the end of the promise."""
            return replace(step, m=0), m is not None and step.m > m

        stretches = [list(steps) for _, steps in groupby(self.anonymity, state)]
        lines: list[str] = []
        before: AnonymityStep | None = None
        for stretch in stretches[:_MAX_ROWS]:
            first, last = stretch[0], stretch[-1]
            if before is None or before.trip != first.trip:
                before = None
            elif m is not None and before.m <= m < first.m:
                lines.append(f"  (the promise ends with the {first_nodes(m)})")
            lines.append(self._stretch(first, last, before))
            before = last
        if len(stretches) > _MAX_ROWS:
            lines.append(f"  and {len(stretches) - _MAX_ROWS} more changes; the JSON report has them all")
        return lines or ["  no candidate gets a sound route, so there is nothing to watch"]

    def _stretch(self, first: AnonymityStep, last: AnonymityStep, before: AnonymityStep | None) -> str:
        """One line for a run of steps in which nothing changes; names only those who were not named before."""
        trip = f"trip {first.trip}, " if self.summary.num_trips > 1 else ""
        seen = f"node {first.m}" if first.m == last.m else f"nodes {first.m}-{last.m}"
        text = (
            f"  {trip}{seen} seen: smallest group {first.smallest_class}, of whom "
            f"{first.widest_witness} at least {self.summary.privacy.distance_text} apart"
        )
        is_bounded = self.summary.privacy.beta is not None
        weakness = "too probable in their group" if is_bounded else "in a group too small or too close"
        named, weak = (before.revealed, before.exposed) if before else ((), ())
        for what, labels, known in (
            ("revealed", first.revealed, {*named}),
            (weakness, first.exposed, {*first.revealed, *weak}),
        ):
            if new := [label for label in labels if label not in known]:
                text += f"; now {what}: {names(self.names.get(label, label) for label in new)}"
        return text


def number(count: int, noun: str, nouns: str | None = None) -> str:
    """``1 node``, ``2 nodes``; ``nouns`` is the plural where an s is not enough."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {nouns or noun + 's'}"


def first_nodes(m: int) -> str:
    """``first node``, ``first 2 nodes``."""
    return "first node" if m == 1 else f"first {m:,} nodes"


def names(labels: Iterable[object]) -> str:
    """Some labels in words, the first few of many."""
    items = [one_line(str(label), _LONGEST_NAME) for label in labels]
    shown = ", ".join(items[:_MAX_NAMED])
    return shown if len(items) <= _MAX_NAMED else f"{shown} and {len(items) - _MAX_NAMED} more"


def call_names(table: Mapping[Label, str], candidates: Iterable[Label]) -> dict[Label, str]:
    """Nodes in words: the name of each, with its label where another has the same name, or that for a label.

    Names come with the playbook, and nobody keeps it from calling two places the same.
    """
    labels = dict.fromkeys([*table, *candidates])
    taken = Counter([*table.values(), *(str(label) for label in labels if table.get(label) != str(label))])
    return {label: name if taken[name] == 1 else f"{name} ({label})" for label, name in table.items()}


def judge(
    claim: str, problems: Sequence[str], evidence: str, *, checked: bool = True, missing: Sequence[str] = ()
) -> ClaimVerdict:
    """A verdict from the problems found; ``evidence`` and ``checked`` are what to say when there are none.

    ``missing`` are figures that are not in the file. Playbooks of earlier versions lack them, so this contradicts
    nothing; but nothing holds of a figure that was taken away.
    """
    if missing and not problems:
        absent = f"not in the file: {' and '.join(missing)}; plan again if an earlier version made it"
        return ClaimVerdict(claim, True, f"{absent}; {evidence}", checked=False)
    if not problems:
        return ClaimVerdict(claim, True, evidence, checked)
    shown = "; ".join(one_line(problem) for problem in problems[:3])
    return ClaimVerdict(claim, False, shown if len(problems) <= 3 else f"{shown}; and {len(problems) - 3} more")


def _plain(value: object) -> Any:
    """The same with lists in place of tuples, as in JSON."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
