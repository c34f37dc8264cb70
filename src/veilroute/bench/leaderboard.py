"""How near submissions come to the optima of a data set: the auditor judges playbooks, and a page ranks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from veilroute.app.audit import audit_playbook
from veilroute.base.checks import check_list
from veilroute.base.errors import FileFormatError, InvalidInputError, VeilrouteError, one_line
from veilroute.base.io import parse_json, read_bytes
from veilroute.base.run import ProgressCallback, Watch
from veilroute.bench.dataset import SUMS, DataSet, Entry, is_proved, read_dataset
from veilroute.bench.report import Page
from veilroute.bench.table import Row, Table, counted, format_number, listed
from veilroute.model.playbook import Playbook, playbook_from_json
from veilroute.model.problem import Privacy, Problem
from veilroute.planners.solve import playbook_from_classes

_SAME_MAC = 1e-9  #: how far two MACs of the same plan may be off, by the order of adding up
_DRAWN = "veilroute-playbook/"
_LONGEST_NAME = 60
_MOST_REFUSED = 20  # of each submission on the page


@dataclass(frozen=True)
class Judgement:
    """What came of one playbook that was handed in."""

    submission: str
    entry: Entry
    status: str  #: ``accepted``, ``refused`` or ``missing``
    reason: str = ""  #: why it was refused
    num_anonymized: int = 0
    mac: float | None = None
    is_proved: bool = False  #: whether it says that it is optimal, and the auditor has proved it
    is_checked: bool = False  #: whether the auditor has proved the optimum of the data set this time

    @property
    def is_optimal(self) -> bool:
        """Whether it is as good as an optimum that was proved this time."""
        return self.is_checked and self.is_as_good

    @property
    def is_trusted(self) -> bool:
        """Whether it is as good as what the data set says to be an optimum, which was not proved this time."""
        return self.is_as_good and not self.is_checked

    @property
    def is_as_good(self) -> bool:
        """Whether it is as good as what the data set says to be an optimum."""
        is_stated = self.entry.status == "optimal"
        if not is_stated or self.status != "accepted" or self.num_anonymized < self.entry.num_anonymized:
            return False
        return self.entry.mac is None or (self.mac is not None and self.mac <= self.entry.mac + _SAME_MAC)

    @property
    def is_better(self) -> bool:
        """Whether it is better than what the data set says to be the optimum: then one of the two is wrong."""
        if self.status != "accepted" or self.mac is None or self.entry.status != "optimal":
            return False
        if self.num_anonymized != self.entry.num_anonymized:
            return self.num_anonymized > self.entry.num_anonymized
        return self.entry.mac is not None and self.mac < self.entry.mac - _SAME_MAC

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        data = {name: value for name, value in vars(self).items() if name != "entry"}
        told = {"is_optimal": self.is_optimal, "is_trusted": self.is_trusted, "optimum": self.entry.mac}
        return {**data, "name": self.entry.name, **told}


@dataclass(frozen=True)
class Standing:
    """A submission in the ranking."""

    submission: str
    judgements: tuple[Judgement, ...]

    def _of(self, status: str) -> list[Judgement]:
        return [each for each in self.judgements if each.status == status]

    @property
    def num_accepted(self) -> int:
        """How many playbooks the auditor has nothing against."""
        return len(self._of("accepted"))

    @property
    def num_refused(self) -> int:
        """How many it refused, or that could not be read."""
        return len(self._of("refused"))

    @property
    def num_missing(self) -> int:
        """For how many instances there is none."""
        return len(self._of("missing"))

    @property
    def num_optimal(self) -> int:
        """How many are as good as an optimum that was proved this time."""
        return sum(each.is_optimal for each in self.judgements)

    @property
    def num_trusted(self) -> int:
        """How many are as good as what the data set says to be an optimum, which was not proved this time."""
        return sum(each.is_trusted for each in self.judgements)

    @property
    def hidden(self) -> float:
        """The share of those hidden by the optima that its accepted playbooks hide, over all instances."""
        most = sum(each.entry.num_anonymized for each in self.judgements)
        return sum(each.num_anonymized for each in self._of("accepted")) / most if most else 0.0

    @property
    def excess(self) -> float | None:
        """By how much its MACs are above the optima on average, if it hides as many; ``None`` if it never does."""
        found = [
            each.mac - each.entry.mac
            for each in self._of("accepted")
            if each.mac is not None and each.entry.mac is not None and each.num_anonymized >= each.entry.num_anonymized
        ]
        # Nobody comes before others by the rounding of a sum.
        return fmean(0.0 if abs(each) <= _SAME_MAC else each for each in found) if found else None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = (
            "submission", "num_accepted", "num_refused", "num_missing", "num_optimal", "num_trusted", "hidden", "excess"
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


def _order(one: Standing) -> tuple[Any, ...]:
    """Sorts: fewest refused, fewest missing, most hidden, least excess; then by name."""
    excess = float("inf") if one.excess is None else one.excess
    return one.num_refused, one.num_missing, -one.hidden, excess, one.submission


@dataclass(frozen=True)
class Ranking:
    """What a verification has found: the submissions from the best to the last."""

    dataset: DataSet
    entries: tuple[Entry, ...]  #: those that are ranked by, of the data set
    standings: tuple[Standing, ...]
    is_complete: bool  #: whether all were judged; not after an early stop
    checked: frozenset[str] = frozenset()  #: names of the entries whose optimum the auditor has proved this time

    @property
    def refused(self) -> list[Judgement]:
        """All playbooks that were refused."""
        return [each for one in self.standings for each in one.judgements if each.status == "refused"]

    @property
    def contradictions(self) -> list[Judgement]:
        """Playbooks that are better than a proved optimum."""
        return [each for one in self.standings for each in one.judgements if each.is_better]

    def part(self, name: str, value: object) -> Ranking:
        """The ranking by those instances of which a field has a value."""
        entries = tuple(entry for entry in self.entries if getattr(entry, name) == value)
        standings = (
            replace(one, judgements=tuple(each for each in one.judgements if getattr(each.entry, name) == value))
            for one in self.standings
        )
        checked = self.checked & {entry.name for entry in entries}
        return replace(self, entries=entries, standings=tuple(sorted(standings, key=_order)), checked=checked)

    def to_table(self, name: str = "leaderboard", title: str = "Leaderboard") -> Table:
        """The leaderboard; the notes are those of the whole one."""
        num, num_said = len(self.entries), sum(entry.status == "optimal" for entry in self.entries)
        num_checked = len(self.checked)
        columns = (
            "rank", "submission", "accepted", "refused", "missing", "hidden [%]", "optimal", "on trust",
            "MAC above optimum",
        )  # fmt: skip
        figures = [_order(one)[:-1] for one in self.standings]  # with equal ones, submissions share a rank
        rows: list[Row] = [
            (
                1 + figures.index(own),
                one.submission,
                one.num_accepted,
                one.num_refused,
                one.num_missing,
                f"{100 * one.hidden:.1f}",
                f"{one.num_optimal} of {num_checked}",
                f"{one.num_trusted} of {num_said - num_checked}",
                None if one.excess is None else max(0.0, one.excess),
            )
            for one, own in zip(self.standings, figures, strict=True)
        ]
        sizes = listed(sorted({entry.num_candidates for entry in self.entries}))
        maps = "generated maps" if self.dataset.is_generated else "the paper's maps"
        notes = [
            f"{counted(num, 'instance')} with {sizes} candidates on {maps}. Ranked by how many playbooks are refused, "
            "then by how many are missing, then by how many candidates are hidden, then by cost. Hidden: in per cent "
            "of the candidates that the optima hide.",
        ]
        if num_said < num:
            notes.append(f"For {counted(num - num_said, 'instance')} no optimum is proved: others may be better there.")
        if num_checked < num_said:
            notes.append(
                f"On trust: {num_said - num_checked} optima are those that the data set states, and were not proved "
                "this time; --optima audits them all."
            )
        if not self.is_complete:
            notes.append("Interrupted: not all playbooks were looked at.")
        is_whole = len(self.entries) == len(self.dataset.entries)
        return Table(name, title, columns, tuple(rows), tuple(notes if is_whole else ()))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "version": self.dataset.version,
            "sha256": self.dataset.sha256,
            "num_instances": len(self.entries),
            "is_generated": self.dataset.is_generated,
            "is_complete": self.is_complete,
            "ranking": [one.to_dict() for one in self.standings],
            "judgements": [each.to_dict() for one in self.standings for each in one.judgements],
        }

    def to_html(self) -> str:
        """The leaderboard as one page that loads nothing; the same ranking gives the same bytes."""
        version, entries = self.dataset.version, self.entries
        page = Page(f"Leaderboard of the data set transit-data {version}")
        page.add_text(
            "This page shows how near planners come to the optimum when they hide a stop on a route. An auditor that "
            "does not know how a plan was made walked every route of every submission, and worked out each figure here."
        )
        page.add_text(f"Version {version} of the data set; the SHA-256 of its {SUMS} is {self.dataset.sha256}.")
        page.add_heading("Ranking", "ranking")
        page.add_table(self.to_table())
        if better := self.contradictions:
            names = listed(f"{each.submission}/{each.entry.name}" for each in better[:_MOST_REFUSED])
            page.add_text(f"{len(better)} better than a stated optimum, so that one of the two is wrong: {names}.")
        page.add_heading("By number of candidates", "candidates")
        for size in sorted({entry.num_candidates for entry in entries}):
            page.add_table(self.part("num_candidates", size).to_table(f"candidates-{size}", f"{size} candidates"))
        page.add_heading("By mechanism", "mechanisms")
        for mechanism in sorted({entry.mechanism for entry in entries}):
            page.add_table(self.part("mechanism", mechanism).to_table(f"mechanism-{mechanism}", mechanism.capitalize()))
        page.add_heading("Refused playbooks", "refused")
        page.add_table(self._table_of_refused())
        page.add_heading("Optima", "optima")
        page.add_table(self._table_of_optima())
        page.add_heading("How to take part", "part")
        page.add_bullets(
            [
                f"Get version {version} of the data set, and compare the SHA-256 above.",
                "For each instances/NAME.json let your planner write YOURS/NAME.json: a playbook, or classes with "
                "their routes. README.md of the data set shows both forms.",
                "Look at your place, then send the folder YOURS to the people who keep this page. They make it again "
                "from all folders with the same command:",
            ]
        )
        page.add_command("veilroute bench verify transit-data YOURS OTHERS --optima --page leaderboard.html")
        return page.to_html()

    def _table_of_refused(self) -> Table:
        rows: list[Row] = []
        for one in self.standings:
            own = [each for each in self.refused if each.submission == one.submission]
            rows += [(one.submission, each.entry.name, each.reason) for each in own[:_MOST_REFUSED]]
            if len(own) > _MOST_REFUSED:
                rows.append((one.submission, f"{len(own) - _MOST_REFUSED} more", "--json has them all"))
        notes = () if rows else ("No playbook was refused.",)
        return Table("refusals", "Refused, and why", ("submission", "instance", "reason"), tuple(rows), notes)

    def _table_of_optima(self) -> Table:
        kinds = sorted({(entry.num_candidates, entry.mechanism) for entry in self.entries})
        rows: list[Row] = []
        for kind in kinds:
            own = [each for each in self.entries if (each.num_candidates, each.mechanism) == kind]
            num_said = sum(each.status == "optimal" for each in own)
            rows.append((*kind, len(own), num_said, sum(each.name in self.checked for each in own)))
        columns = ("candidates", "mechanism", "instances", "stated as optimal", "proved this time")
        note = "The auditor proves an optimum if --optima was given, or if a submission proves the same one."
        return Table("proofs", "Optima that the auditor proved for this page", columns, tuple(rows), (note,))


def verify_dataset(
    path: Path,
    submissions: Sequence[Path],
    *,
    with_optima: bool = False,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Ranking:
    """Check a data set, a folder or an archive, let the auditor judge the playbooks of some folders, and rank these.

    A folder is one submission, called by its name; ``NAME.json`` in it answers the instance of that name. With
    ``with_optima`` the data set's own optima are judged as if somebody had handed them in.
    """
    dataset = read_dataset(path)
    entries = dataset.entries
    folders: list[Path | None] = [*([None] if with_optima else []), *submissions]
    shown = ("optima" if folder is None else folder.name or folder.resolve().name for folder in folders)
    names = [one_line(name, _LONGEST_NAME) for name in shown]
    if len(set(names)) < len(names):
        raise InvalidInputError("submissions", "folders with different names", ", ".join(names))
    watch, total = Watch(progress, None, should_stop), len(entries) * len(folders)
    judged: dict[str, list[Judgement]] = {name: [] for name in names}
    # Instance by instance, so that as many as possible can be compared after a stop.
    for done, (entry, (name, folder)) in enumerate(product(entries, zip(names, folders, strict=True))):
        watch.tell("playbooks", done, total)
        if watch.is_over():
            break
        judged[name].append(_judge(dataset, entry, name, folder))
    num_judged = min(map(len, judged.values()), default=len(entries))
    found = [judgement for each in judged.values() for judgement in each[:num_judged]]
    checked = frozenset(each.entry.name for each in found if each.is_proved and each.is_as_good and not each.is_better)
    standings = (
        Standing(name, tuple(replace(one, is_checked=one.entry.name in checked) for one in each[:num_judged]))
        for name, each in judged.items()
    )
    return Ranking(dataset, entries, tuple(sorted(standings, key=_order)), num_judged == len(entries), checked)


def _judge(dataset: DataSet, entry: Entry, submission: str, folder: Path | None) -> Judgement:
    """What the auditor says of one playbook, or why it cannot say anything."""
    path = Path(f"{entry.name}.json") if folder is None else folder / f"{entry.name}.json"
    if folder is not None and not path.exists():
        return Judgement(submission, entry, "missing")
    problem, privacy = dataset.asked[entry.name]
    try:
        raw = dataset.files[entry.optimum_path] if folder is None else read_bytes(path)
        playbook = _read_answer(raw, path, problem, privacy)
        report = audit_playbook(playbook, instance=problem, privacy=privacy)
    except FileFormatError as error:  # the name of the file says where it is on this machine
        where = "" if error.line is None else f"line {error.line}: "
        return Judgement(submission, entry, "refused", where + error.problem)
    except VeilrouteError as error:
        return Judgement(submission, entry, "refused", str(error).split("\n", 1)[0])
    if not report.holds:
        wrong = next(verdict for verdict in report.claims if not verdict.holds)
        return Judgement(submission, entry, "refused", one_line(f"{wrong.claim}: {wrong.evidence}"))
    claims = _reckoned(playbook, problem, privacy).claims
    has_proof = is_proved(playbook, report)
    judged = Judgement(submission, entry, "accepted", "", claims.num_anonymized, claims.mac, has_proof)
    if playbook.status == "optimal" and entry.status == "optimal" and not (judged.is_as_good or has_proof):
        mac = "nothing" if entry.mac is None else format_number(entry.mac)
        reason = f"says that it is optimal; the optimum hides {entry.num_anonymized} at a MAC of {mac}"
        return replace(judged, status="refused", reason=reason)
    return judged


def _reckoned(playbook: Playbook, problem: Problem, privacy: Privacy) -> Playbook:
    """The same classes and routes with the figures that we work out, which the ranking goes by, not those stated."""
    classes: list[dict[str, Any]] = [
        {"members": list(group.members), "route": list(group.route_of(group.members[0], 0).nodes)}
        | ({"shares": list(group.shares)} if group.shares else {})
        for group in playbook.hidden_classes
    ]
    return playbook_from_classes(problem, privacy, classes)


def _read_answer(raw: bytes, path: Path, problem: Problem, privacy: Privacy) -> Playbook:
    """A playbook file, or classes with their routes in the form of ``plan --json``."""
    data = parse_json(raw, path)
    if isinstance(data, dict) and str(data.get("format", "")).startswith(_DRAWN):
        return playbook_from_json(raw, source=path).with_domain(problem.domain)
    if not isinstance(data, dict) or "classes" not in data:
        raise FileFormatError(path, "neither a playbook nor an object with classes")
    return playbook_from_classes(problem, privacy, check_list("classes", data["classes"]))
