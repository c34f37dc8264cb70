"""A data set for planners of any kind: the instances as files, proved optima beside them, and who comes how near.

:func:`export_dataset` writes instances of the paper, and larger ones that go on from them, with the optimum of each as
a playbook with its certificate. :func:`verify_dataset` checks that the files are what they were, gives playbooks that
others have handed in to the auditor, and ranks them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import Any

from veilroute.auditing import AuditReport, audit_playbook
from veilroute.bench.cells import SPREAD, Instance
from veilroute.bench.paper import MAPS
from veilroute.bench.suites import GENERATED, MAX_PAIRS, Terrain, known_instances
from veilroute.bench.table import Row, Table, counted, format_number, listed
from veilroute.checks import check_list, check_whole
from veilroute.domain import Domain, draw_candidates
from veilroute.errors import FileFormatError, InvalidInputError, VeilrouteError, one_line
from veilroute.formats.instance import read_instance
from veilroute.formats.movingai import read_movingai, write_movingai
from veilroute.jsontext import dump_canonical, parse_json, read_bytes, write_file
from veilroute.playbook import Playbook, playbook_from_json, read_playbook
from veilroute.problem import MECHANISMS, Privacy, Problem, Trip
from veilroute.progress import ProgressCallback, Watch
from veilroute.solver import playbook_from_classes, solve

FORMAT = "veilroute-dataset/1"
SIZES = (8, 12, 16, 50, 100, 200)  #: numbers of candidates; those above 16 go on from the paper's
MAX_SIZE = 1000
INDEX, SUMS, README = "dataset.json", "SHA256SUMS", "README.md"
SUBMISSIONS = "submissions"
_SAME_MAC = 1e-9  #: how far two MACs of the same plan may be off, by the order of adding up
_K, _ELL = 2, 1.0
_DRAWN = "veilroute-playbook/"


def name_of(map_name: str, pair: int, num_candidates: int, mechanism: str) -> str:
    """What the files of an instance are called."""
    return f"{map_name}-{pair}-{num_candidates}-{mechanism}"


@dataclass(frozen=True)
class Entry:
    """One instance of a data set with its optimum."""

    name: str  #: of its files: map, pair, number of candidates, mechanism
    map: str
    pair: int
    num_candidates: int
    mechanism: str
    status: str  #: of the plan, by its own word: whether an optimum is one, the auditor says
    num_coverable: int
    num_anonymized: int
    mac: float | None
    mac_lower_bound: float | None

    @classmethod
    def of(cls, map_name: str, pair: int, num_candidates: int, playbook: Playbook) -> Entry:
        """The entry of a plan for an instance."""
        claims, mechanism = playbook.claims, playbook.privacy.mechanism
        figures = (claims.num_coverable, claims.num_anonymized, claims.mac, claims.mac_lower_bound)
        name = name_of(map_name, pair, num_candidates, mechanism)
        return cls(name, map_name, pair, num_candidates, mechanism, playbook.status, *figures)

    @property
    def is_well_formed(self) -> bool:
        """Whether its numbers are such and its files are called as they should be, which a forged index may not say."""
        bounds = ((self.pair, 1, MAX_PAIRS), (self.num_candidates, 2, MAX_SIZE))
        is_whole = all(type(each) is int and least <= each <= most for each, least, most in bounds)
        # Of these instances none is infeasible: any two places can share a walk.
        is_whole = is_whole and self.mechanism in MECHANISMS and self.status in ("optimal", "feasible")
        return is_whole and self.name == name_of(self.map, self.pair, self.num_candidates, self.mechanism)

    @property
    def instance_path(self) -> str:
        """Where the instance is, within the data set."""
        return f"instances/{self.name}.json"

    @property
    def optimum_path(self) -> str:
        """Where the playbook of its optimum is."""
        return f"optima/{self.name}.json"


@dataclass(frozen=True)
class Exported:
    """What an export has written."""

    entries: tuple[Entry, ...]
    num_wanted: int  #: more than there are entries after an early stop
    notes: tuple[str, ...]
    num_proved: int = 0  #: of how many entries the auditor has proved the optimum


def grown_candidates(domain: Domain, instance: Instance, num: int) -> list[Any]:
    """The first ``num`` candidates of an instance, which goes on with drawn ones where it has fewer.

    What is drawn depends on the map, the trip and the number of the pair, and not on ``num``: a larger set holds the
    smaller one. There may be fewer where the map is small.
    """
    own = list(instance.candidates)
    if num <= len(own):
        return own[:num]
    most = min(MAX_SIZE, domain.num_nodes - len({instance.start, instance.goal}))
    drawn = draw_candidates(domain, instance.start, instance.goal, most, seed=instance.seed)
    known = set(own)
    return (own + [label for label in drawn if label not in known])[:num]


def export_dataset(
    directory: Path,
    terrain: Terrain,
    *,
    sizes: Sequence[int] = SIZES,
    time_limit_s: float | None = None,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Exported:
    """Write the instances of a terrain and their optima into a folder, with an index, checksums and a text.

    An instance whose optimum is there already, and which the auditor proves, is not planned again: a stopped export
    goes on. The index and the checksums are written last, so that a folder without them is not complete.
    """
    for size in sizes:
        check_whole("--candidates", size, f"numbers from 2 to {MAX_SIZE}", least=2, most=MAX_SIZE)
    folders = {name: directory / name for name in ("maps", "instances", "optima")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    for name in (INDEX, SUMS):
        (directory / name).unlink(missing_ok=True)
    for name, domain in terrain.domains.items():
        write_movingai(domain, folders["maps"] / f"{name}.map")
    wanted = [(at, size, how) for size in sorted(set(sizes)) for at in terrain.instances for how in MECHANISMS]
    watch, entries, small = Watch(progress, None, should_stop), list[Entry](), dict[str, None]()
    proved = set[str]()
    num_skipped = 0
    for done, (at, size, mechanism) in enumerate(wanted):
        watch.tell("instances", done, len(wanted))
        if watch.is_over():
            break
        domain = terrain.domains[at.map_name]
        candidates = grown_candidates(domain, at, size)
        if len(candidates) < size:
            small[f"{at.map_name} has no {size} candidates"] = None
            num_skipped += 1
            continue
        problem, privacy = _asked(domain, at, candidates, mechanism)
        name = name_of(at.map_name, at.seed, size, mechanism)
        write_file(folders["instances"] / f"{name}.json", _instance_bytes(at.map_name, problem, privacy))
        playbook = _kept(folders["optima"] / f"{name}.json", problem, privacy)
        is_proved = playbook is not None
        if playbook is None:
            playbook = solve(problem, privacy, time_limit_s=time_limit_s, should_stop=should_stop)
            if watch.is_over():
                break  # what was stopped is no optimum
            playbook.write(folders["optima"] / f"{name}.json", embed_domain=False)
            is_proved = _is_proved(playbook, audit_playbook(playbook, instance=problem, privacy=privacy))
        entries.append(Entry.of(at.map_name, at.seed, size, playbook))
        proved.update([name] if is_proved else [])
    notes = (terrain.remark, *small)
    if len(entries) + num_skipped == len(wanted):
        _finish(directory, terrain, entries, notes, len(proved))
    return Exported(tuple(entries), len(wanted) - num_skipped, notes, len(proved))


def _instance_bytes(map_name: str, problem: Problem, privacy: Privacy) -> bytes:
    """An instance file that names its map, which many share."""
    return dump_canonical(
        {
            "format": "veilroute-instance/1",
            "domain": {"grid": {"map": f"../maps/{map_name}.map", "movement": 4}},
            "trips": [asdict(trip) for trip in problem.trips],
            "candidates": list(problem.candidates),
            "visibility": {"kind": "at-node"},
            "privacy": privacy.to_dict(),
        }
    )


def _kept(path: Path, problem: Problem, privacy: Privacy) -> Playbook | None:
    """The optimum that an earlier export has left, if the auditor proves that it is one of this problem."""
    if not path.exists():
        return None
    try:
        playbook = read_playbook(path, domain=problem.domain)
        report = audit_playbook(playbook, instance=problem, privacy=privacy)
    except VeilrouteError:
        return None
    return playbook if _is_proved(playbook, report) else None


def _is_proved(playbook: Playbook, report: AuditReport) -> bool:
    """Whether a playbook says that it is optimal and the auditor has worked it out, not only found nothing against."""
    found = {claim.claim: claim.verdict for claim in report.claims}
    return playbook.status == "optimal" and report.holds and found["bound"] == found["optimality"] == "holds"


def _finish(directory: Path, terrain: Terrain, entries: Sequence[Entry], notes: Sequence[str], num_proved: int) -> None:
    """Write what says that the data set is complete."""
    write_file(
        directory / INDEX,
        dump_canonical(
            {
                "format": FORMAT,
                "veilroute": version("veilroute"),
                "is_generated": terrain.is_generated,
                "maps": {name: domain.sha256 for name, domain in terrain.domains.items()},
                "entries": [asdict(entry) for entry in entries],
                "notes": list(notes),
            }
        ),
    )
    write_file(directory / README, _readme(terrain, entries, notes, num_proved))
    names = [INDEX, README, *(f"maps/{name}.map" for name in terrain.domains)]
    names += [path for entry in entries for path in (entry.instance_path, entry.optimum_path)]
    lines = [f"{_sha256(directory / name)}  {name}\n" for name in sorted(names)]
    write_file(directory / SUMS, "".join(lines))


def _sha256(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


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
        is_proved = self.entry.status == "optimal"
        if not is_proved or self.status != "accepted" or self.num_anonymized < self.entry.num_anonymized:
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
        """By how much its MACs are above the optima on average, where it hides as many; ``None`` without any."""
        found = [
            each.mac - each.entry.mac
            for each in self._of("accepted")
            if each.mac is not None and each.entry.mac is not None and each.num_anonymized >= each.entry.num_anonymized
        ]
        # Nobody comes before others by the rounding of a sum.
        return fmean(0.0 if abs(each) <= _SAME_MAC else each for each in found) if found else None

    @property
    def order(self) -> tuple[Any, ...]:
        """Sorts: fewest refused, fewest missing, most hidden, least excess; then by name."""
        excess = float("inf") if self.excess is None else self.excess
        return self.num_refused, self.num_missing, -self.hidden, excess, self.submission

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = (
            "submission", "num_accepted", "num_refused", "num_missing", "num_optimal", "num_trusted", "hidden", "excess"
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Ranking:
    """What a verification has found: the submissions from the best to the last."""

    entries: tuple[Entry, ...]
    standings: tuple[Standing, ...]
    is_generated: bool
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

    def to_table(self) -> Table:
        """The leaderboard."""
        num, num_said = len(self.entries), sum(entry.status == "optimal" for entry in self.entries)
        num_checked = len(self.checked)
        columns = (
            "rank", "submission", "accepted", "refused", "missing", "hidden [%]", "optimal", "on trust",
            "MAC above optimum",
        )  # fmt: skip
        rows: list[Row] = [
            (
                rank,
                one.submission,
                one.num_accepted,
                one.num_refused,
                one.num_missing,
                f"{100 * one.hidden:.1f}",
                f"{one.num_optimal} of {num_checked}",
                f"{one.num_trusted} of {num_said - num_checked}",
                None if one.excess is None else max(0.0, one.excess),
            )
            for rank, one in enumerate(self.standings, start=1)
        ]
        sizes = listed(sorted({entry.num_candidates for entry in self.entries}))
        maps = "generated maps" if self.is_generated else "the paper's maps"
        notes = [
            f"{counted(num, 'instance')} with {sizes} candidates on {maps}. Ranked by playbooks refused, then missing, "
            "then by who is hidden, then by cost. Hidden: in per cent of whom the optima hide.",
        ]
        if num_said < num:
            notes.append(f"Of {num - num_said} instances no optimum is proved: there others may be better.")
        if num_checked < num_said:
            notes.append(
                f"On trust: {num_said - num_checked} optima are those that the data set states, and were not proved "
                "this time; --optima audits them all."
            )
        if not self.is_complete:
            notes.append("Interrupted: not all playbooks were looked at.")
        return Table("leaderboard", "Leaderboard", columns, tuple(rows), tuple(notes))


def read_dataset(directory: Path) -> tuple[tuple[Entry, ...], bool]:
    """The entries of a data set, after checking every file against its checksum; and whether its maps are generated."""
    sums = directory / SUMS
    if not sums.is_file():
        raise InvalidInputError(
            str(directory), f"a data set: {SUMS} is not there, so an export has not come to its end"
        )
    listed_names = set()
    for number, line in enumerate(read_bytes(sums).decode("ascii", "replace").splitlines(), start=1):
        digest, _, name = line.partition("  ")
        parts = PurePosixPath(name).parts
        if not name or PurePosixPath(name).is_absolute() or ".." in parts:
            raise FileFormatError(sums, "expected a checksum, two spaces and a path within the data set", number)
        path = directory.joinpath(*parts)
        if not path.is_file():
            raise FileFormatError(path, "missing from the data set")
        if _sha256(path) != digest:
            raise FileFormatError(path, f"not what it was: its SHA-256 is not that in {SUMS}")
        listed_names.add(name)
    index = directory / INDEX
    if INDEX not in listed_names:
        raise FileFormatError(sums, f"{INDEX} has no checksum")
    data = parse_json(read_bytes(index), index)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileFormatError(index, f"not a data set; expected a JSON object with format {FORMAT}")
    try:
        entries = tuple(Entry(**entry) for entry in data["entries"])
        is_known = all(entry.map in (*MAPS, *GENERATED) and entry.is_well_formed for entry in entries)
    except (KeyError, TypeError):
        is_known, entries = False, ()
    if not entries or not is_known or len({entry.name for entry in entries}) < len(entries):
        raise FileFormatError(index, "damaged; export the data set again")
    for entry in entries:
        if not {f"maps/{entry.map}.map", entry.instance_path, entry.optimum_path} <= listed_names:
            raise FileFormatError(sums, f"the files of {entry.name} have no checksum")
    _check_contents(directory, entries)
    return entries, any(entry.map in GENERATED for entry in entries)


def _check_contents(directory: Path, entries: Sequence[Entry]) -> None:
    """Refuse a data set that this package would not have written, whatever its checksums say.

    Checksums only tell that no file was damaged: whoever edits a file can write new ones. So the instances are made
    again from the map, whose fingerprint is known here, and what the index says of an optimum is held against the file
    of that optimum. Whether that is one, the auditor says.
    """
    domains: dict[str, Domain] = {}
    places: dict[tuple[str, int], tuple[Instance, list[Any]]] = {}
    most = max((entry.num_candidates for entry in entries), default=0)
    for entry in entries:
        if entry.map not in domains:
            path = directory / "maps" / f"{entry.map}.map"
            domains[entry.map] = read_movingai(path)
            num_pairs = max(other.pair for other in entries if other.map == entry.map)
            sha256, instances = known_instances(entry.map, num_pairs)
            if domains[entry.map].sha256 != sha256:
                raise FileFormatError(path, "not the map of that name")
            for at in instances:
                places[entry.map, at.seed] = at, grown_candidates(domains[entry.map], at, most)
        path = directory / entry.instance_path
        own = places.get((entry.map, entry.pair))
        if own is None or read_bytes(path) != _bytes_of(entry, domains[entry.map], *own):
            raise FileFormatError(path, "not the instance that this version of veilroute exports under this name")
        path = directory / entry.optimum_path
        playbook = playbook_from_json(read_bytes(path), source=path)
        if entry != Entry.of(entry.map, entry.pair, entry.num_candidates, playbook):
            raise FileFormatError(path, f"not the optimum that {INDEX} tells of")


def _bytes_of(entry: Entry, domain: Domain, at: Instance, candidates: Sequence[Any]) -> bytes:
    """The instance file of an entry, made again."""
    return _instance_bytes(entry.map, *_asked(domain, at, candidates[: entry.num_candidates], entry.mechanism))


def _asked(domain: Domain, at: Instance, candidates: Sequence[Any], mechanism: str) -> tuple[Problem, Privacy]:
    """What an instance of the data set asks for."""
    privacy = Privacy(_K, _ELL, None, SPREAD, mechanism=mechanism)
    return Problem(domain, [Trip(at.start, at.goal)], candidates), privacy


def verify_dataset(
    directory: Path,
    submissions: Sequence[Path],
    *,
    with_optima: bool = False,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Ranking:
    """Check a data set, have the auditor judge the playbooks of some folders, and rank these.

    A folder is one submission, called by its name; ``NAME.json`` in it answers the instance of that name. With
    ``with_optima`` the data set's own optima are judged as if somebody had handed them in.
    """
    entries, is_generated = read_dataset(directory)
    folders = [*([directory / "optima"] if with_optima else []), *submissions]
    names = [one_line(folder.name or folder.resolve().name) for folder in folders]
    if len(set(names)) < len(names):
        raise InvalidInputError("submissions", "folders with different names", ", ".join(names))
    watch, total = Watch(progress, None, should_stop), len(entries) * len(folders)
    judged: dict[str, list[Judgement]] = {name: [] for name in names}
    for done, (entry, name, folder) in enumerate(_in_turn(entries, names, folders)):
        watch.tell("playbooks", done, total)
        if watch.is_over():
            break
        judged[name].append(_judge(directory, entry, name, folder))
    # After a stop, who is compared is compared on the same instances.
    num_judged = min(map(len, judged.values()), default=len(entries))
    found = [judgement for each in judged.values() for judgement in each[:num_judged]]
    checked = frozenset(each.entry.name for each in found if each.is_proved and each.is_as_good and not each.is_better)
    rows = (
        Standing(name, tuple(replace(one, is_checked=one.entry.name in checked) for one in each[:num_judged]))
        for name, each in judged.items()
    )
    standings = sorted(rows, key=lambda one: one.order)
    is_complete = num_judged == len(entries)
    return Ranking(entries, tuple(standings), is_generated, is_complete, checked)


def _in_turn(
    entries: Sequence[Entry], names: Sequence[str], folders: Sequence[Path]
) -> Iterator[tuple[Entry, str, Path]]:
    """Instance by instance, so that as many as possible can be compared after a stop."""
    for entry in entries:
        for name, folder in zip(names, folders, strict=True):
            yield entry, name, folder


def _judge(directory: Path, entry: Entry, submission: str, folder: Path) -> Judgement:
    """What the auditor says of one playbook, or why it cannot say anything."""
    path = folder / f"{entry.name}.json"
    if not path.exists():
        return Judgement(submission, entry, "missing")
    asked = read_instance(directory / entry.instance_path)
    try:
        playbook = _read_answer(path, asked.problem, asked.privacy)
        report = audit_playbook(playbook, instance=asked.problem, privacy=asked.privacy)
    except VeilrouteError as error:
        return Judgement(submission, entry, "refused", str(error).split("\n", 1)[0])
    if not report.holds:
        wrong = next(verdict for verdict in report.claims if not verdict.holds)
        return Judgement(submission, entry, "refused", f"{wrong.claim}: {wrong.evidence}")
    claims = _reckoned(playbook, asked.problem, asked.privacy).claims
    is_proved = _is_proved(playbook, report)
    judged = Judgement(submission, entry, "accepted", "", claims.num_anonymized, claims.mac, is_proved)
    if playbook.status == "optimal" and entry.status == "optimal" and not (judged.is_as_good or is_proved):
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


def _read_answer(path: Path, problem: Problem, privacy: Privacy) -> Playbook:
    """A playbook file, or classes with their routes in the form of ``plan --json``."""
    raw = read_bytes(path)
    data = parse_json(raw, path)
    if isinstance(data, dict) and str(data.get("format", "")).startswith(_DRAWN):
        return playbook_from_json(raw, source=path).with_domain(problem.domain)
    if not isinstance(data, dict) or "classes" not in data:
        raise FileFormatError(path, "neither a playbook nor an object with classes")
    return playbook_from_classes(problem, privacy, check_list("classes", data["classes"]))


_README = """\
# Transit obfuscation: instances with proved optima

{instances} of the Transit Obfuscation Problem (H. Takahashi and A. Fukunaga, AAMAS 2024) on {maps}, with {sizes}
candidates, for the mechanisms `partition` and `randomised`. All ask for k = {k}, ell = {ell:g}, spread `{spread}`
and whole routes. Moves are 4-way and cost 1, and a candidate is covered where it stands.

{source}
Instances with more than 16 candidates have these 16 first, then drawn ones; a larger set holds the smaller one.

## Files

| file | what |
|---|---|
| `{index}` | all instances with their optima: how many are hidden, at which MAC, with which status |
| `maps/*.map` | the grids, in the format of the Moving AI benchmark |
| `instances/NAME.json` | a trip, candidates and the privacy asked for; `NAME` is map, pair, candidates, mechanism |
| `optima/NAME.json` | the optimum as a playbook with its certificate; the auditor proved {num_proved} of {num} |
| `{sums}` | checksums: `sha256sum -c {sums}` |

Notes: {notes}.

## Compare your planner

For each instance write `{submissions}/YOURS/NAME.json`, for example `{submissions}/YOURS/{example}.json`:
a playbook file, or an object with the classes,

```json
{{"classes": [{{"members": [[15, 60], [16, 63]], "route": [[34, 3], [33, 3]]}}]}}
```

with cells as `[row, column]`: who shares a route, and the route from start to goal, node by node. Whoever is in no
class is not hidden. For `randomised` each class also has `shares`, one number for each member: how probable it is
that this member is the secret and this class is drawn. Then

```sh
veilroute bench verify .
```

checks the data set, has an auditor that knows nothing of how you planned walk every route, and prints a leaderboard. A
playbook that leaks, whose routes are none, or that is not what it says it is, is refused, with the reason.
"""
_GENERATED_SOURCE = """\
The maps are **generated** (seeded, by veilroute), because the paper's were not at hand. Figures on them are not
those of the paper.
"""
_PAPER_SOURCE = """\
The maps are from the Moving AI benchmark (N. Sturtevant, *Benchmarks for Grid-Based Pathfinding*, 2012); the pairs of
start and goal and the first 16 candidates are those of the paper's authors.
"""


def _readme(terrain: Terrain, entries: Sequence[Entry], notes: Sequence[str], num_proved: int) -> str:
    """The text that goes with the data set."""
    return _README.format(
        instances=counted(len(entries), "instance"),
        maps=listed(terrain.domains),
        sizes=listed(sorted({entry.num_candidates for entry in entries})),
        k=_K,
        ell=_ELL,
        spread=SPREAD,
        source=_GENERATED_SOURCE if terrain.is_generated else _PAPER_SOURCE,
        index=INDEX,
        sums=SUMS,
        num=len(entries),
        num_proved=num_proved,
        notes="; ".join(notes),
        submissions=SUBMISSIONS,
        example=entries[0].name if entries else "NAME",
    )
