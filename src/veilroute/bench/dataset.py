"""A data set for planners of any kind: the instances as files, with proved optima beside them.

:func:`export_dataset` writes instances of the paper, and larger ones that go on from them, with the optimum of each as
a playbook with its certificate; beside the folder it writes an archive for a repository that gives out DOIs.
:func:`read_dataset` reads the folder or the archive and checks that it is what was exported.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata, resources
from pathlib import Path, PurePosixPath
from statistics import fmean
from string import Template
from typing import Any

from veilroute.app.audit import audit_playbook
from veilroute.auditing import AuditReport
from veilroute.base.checks import check_whole
from veilroute.base.errors import FileFormatError, InvalidInputError, VeilrouteError, shorten
from veilroute.base.io import dump_canonical, parse_json, read_bytes, write_file
from veilroute.base.run import ProgressCallback, Watch
from veilroute.bench.cells import SPREAD, Instance
from veilroute.bench.paper import MAPS, read_paper_instances
from veilroute.bench.suites import GENERATED, MAX_PAIRS, Terrain, known_instances
from veilroute.bench.table import Table, counted, listed
from veilroute.domain import Domain, draw_candidates
from veilroute.formats.movingai import parse_movingai, write_movingai
from veilroute.model.playbook import Playbook, playbook_from_json, read_playbook
from veilroute.model.problem import MECHANISMS, Privacy, Problem, Trip
from veilroute.planners.solve import solve

VERSION = "1.0.0"
"""The version of the data set, which is not that of the package. Raise it before you publish an export that differs.

The first number counts changes after which old results cannot be compared with new ones: an instance was changed or
removed, or files have another format. The second counts additions of instances. The third counts the rest: an optimum
is shown by another plan, or a text was changed.
"""
FORMAT = "veilroute-dataset/1"
SIZES = (8, 12, 16, 50, 100, 200)  #: numbers of candidates; those above 16 go on from the paper's
MAX_SIZE = 1000
INDEX, SUMS, METADATA = "dataset.json", "SHA256SUMS", ".zenodo.json"
TEXTS = {"README.md": "dataset.md", "DATASHEET.md": "datasheet.md"}  #: files of an export, and their templates
SUBMISSIONS = "submissions"
ARCHIVE = "transit-data"  #: the folder in an archive, before its version
_LICENCE = "odc-by-1.0"  # of what is made here: the one that copies of the benchmark's page name for its maps
_BENCHMARK = "10.1109/TCIAIG.2012.2197681"  # the article on the benchmark that the paper's maps are from
_K, _ELL = 2, 1.0


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
    archive: Path | None = None  #: the export as one file; not after an early stop
    sha256: str = ""  #: of the archive


@dataclass(frozen=True)
class DataSet:
    """A data set that was read and found to be what this package exports."""

    version: str
    sha256: str  #: of the file with the checksums, and so of all files
    entries: tuple[Entry, ...]
    asked: Mapping[str, tuple[Problem, Privacy]]  #: what each instance asks for, by its name
    files: Mapping[str, bytes]

    @property
    def is_generated(self) -> bool:
        """Whether its maps are generated ones."""
        return any(entry.map in GENERATED for entry in self.entries)


def version_of(entries: Iterable[Entry]) -> str:
    """The version of a data set with these entries; a plus marks an export that is not the one of that version.

    Only all instances on the paper's maps, each with an optimum, are the data set itself.
    """
    entries = tuple(entries)
    if any(entry.map in GENERATED for entry in entries):
        return f"{VERSION}+generated"
    places = [(at.map_name, at.seed) for at in read_paper_instances()]
    whole = {(name_of(*place, size, how), "optimal") for place in places for size in SIZES for how in MECHANISMS}
    return VERSION if {(entry.name, entry.status) for entry in entries} == whole else f"{VERSION}+custom"


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
    """Write the instances of a terrain and their optima into a folder, with an index, checksums and texts.

    An instance whose optimum is there already, and which the auditor proves, is not planned again: a stopped export
    goes on. The index and the checksums are written last, so that a folder without them is not complete. Beside the
    folder, under its name and the version, an archive of all files is written with its checksum.
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
        has_proof = playbook is not None
        if playbook is None:
            playbook = solve(problem, privacy, time_limit_s=time_limit_s, should_stop=should_stop)
            if watch.is_over():
                break  # what was stopped is no optimum
            playbook.write(folders["optima"] / f"{name}.json", embed_domain=False)
            has_proof = is_proved(playbook, audit_playbook(playbook, instance=problem, privacy=privacy))
        entries.append(Entry.of(at.map_name, at.seed, size, playbook))
        proved.update([name] if has_proof else [])
    made = partial(Exported, tuple(entries), len(wanted) - num_skipped, (terrain.remark, *small), len(proved))
    return made() if len(entries) < len(wanted) - num_skipped else made(*_finish(directory, terrain, made()))


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
    return playbook if is_proved(playbook, report) else None


def is_proved(playbook: Playbook, report: AuditReport) -> bool:
    """Whether a playbook says that it is optimal and the auditor has worked it out, not only found nothing against."""
    found = {claim.claim: claim.verdict for claim in report.claims}
    return playbook.status == "optimal" and report.holds and found["bound"] == found["optimality"] == "holds"


def _finish(directory: Path, terrain: Terrain, made: Exported) -> tuple[Path, str]:
    """Write what says that the data set is complete, and the archive; returns its path and checksum."""
    entries, version = made.entries, version_of(made.entries)
    about = {
        "format": FORMAT,
        "version": version,
        "veilroute": metadata.version("veilroute"),
        "is_generated": terrain.is_generated,
        "maps": {name: domain.sha256 for name, domain in terrain.domains.items()},
        "entries": [asdict(entry) for entry in entries],
        "notes": list(made.notes),
    }
    write_file(directory / INDEX, dump_canonical(about))
    words = _words(terrain, made, version)
    for name, template in TEXTS.items():
        text = resources.files("veilroute.bench").joinpath(template).read_text(encoding="utf-8")
        write_file(directory / name, Template(text).substitute(words))
    write_file(directory / METADATA, dump_canonical(_metadata(terrain, words)))
    names = [INDEX, METADATA, *TEXTS, *(f"maps/{name}.map" for name in terrain.domains)]
    names += [path for entry in entries for path in (entry.instance_path, entry.optimum_path)]
    files = {name: read_bytes(directory / name) for name in sorted(names)}
    files[SUMS] = "".join(f"{_sha256(raw)}  {name}\n" for name, raw in files.items()).encode()
    write_file(directory / SUMS, files[SUMS])
    place = directory.resolve()
    archive = place.with_name(f"{place.name or ARCHIVE}-{version}.zip")
    packed = pack_archive(files, f"{ARCHIVE}-{version}")
    write_file(archive, packed)
    write_file(f"{archive}.sha256", f"{_sha256(packed)}  {archive.name}\n")
    return archive, _sha256(packed)


def _sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _words(terrain: Terrain, made: Exported, version: str) -> dict[str, object]:
    """What the templates of the texts leave open: names and figures of this export."""
    entries = made.entries
    kinds = sorted({(entry.num_candidates, entry.mechanism) for entry in entries})
    groups = [(kind, [each for each in entries if (each.num_candidates, each.mechanism) == kind]) for kind in kinds]
    sizes = Table(
        "sizes", "Instances", ("candidates", "mechanism", "instances", "hidden [%]", "mean MAC of the optima"),
        tuple(
            (*kind, len(group), 100 * sum(each.num_anonymized for each in group) / (kind[0] * len(group)),
             fmean([each.mac for each in group if each.mac is not None] or [0.0]))
            for kind, group in groups
        ),
    )  # fmt: skip
    maps = Table(
        "maps", "Maps", ("map", "free cells", "pairs"),
        tuple((name, domain.num_nodes, len({each.pair for each in entries if each.map == name}))
              for name, domain in terrain.domains.items()),
    )  # fmt: skip
    return {
        "version": version,
        "veilroute": metadata.version("veilroute"),
        "title": f"Transit obfuscation: {counted(len(entries), 'instance')} with optima",
        "instances": counted(len(entries), "instance"),
        "maps": listed(terrain.domains),
        "sizes": listed(sorted({entry.num_candidates for entry in entries})),
        "mechanisms": listed(f"`{each}`" for each in MECHANISMS),
        "table_of_sizes": sizes.to_markdown().strip(),
        "table_of_maps": maps.to_markdown().strip(),
        "k": _K, "ell": f"{_ELL:g}", "spread": SPREAD,
        "source": (_GENERATED_SOURCE if terrain.is_generated else _PAPER_SOURCE).strip(),
        "licence": _LICENCE,
        "num": len(entries), "num_proved": made.num_proved,
        "notes": "; ".join(made.notes),
        "example": entries[0].name if entries else "NAME",
    }  # fmt: skip


def _metadata(terrain: Terrain, words: Mapping[str, object]) -> dict[str, object]:
    """What Zenodo reads of an upload, by the names of its fields; other archives have fields for the same."""
    benchmark = {"identifier": _BENCHMARK, "relation": "cites", "resource_type": "publication-article"}
    return {
        "upload_type": "dataset",
        "title": words["title"],
        "version": words["version"],
        "creators": [{"name": "The veilroute developers"}],
        "license": _LICENCE,
        "access_right": "open",
        "language": "eng",
        "keywords": ["transit obfuscation", "k-anonymity", "path planning", "benchmark"],
        "description": f"{words['instances']} of the Transit Obfuscation Problem on {words['maps']}, with "
        f"{words['sizes']} candidates; the auditor proved {words['num_proved']} of {words['num']} optima.",
        "notes": words["source"],
        "related_identifiers": [] if terrain.is_generated else [benchmark],
    }


_GENERATED_SOURCE = """\
The maps are generated by veilroute from fixed seeds, because the paper's maps were not at hand. Figures on them are not
those of the paper.
"""
_PAPER_SOURCE = """\
The maps are from the Moving AI benchmark (N. Sturtevant, "Benchmarks for Grid-Based Pathfinding", 2012). Copies of its
page say that its data are under the Open Data Commons Attribution License, and that BioWare allowed the distribution of
these maps, of the game Dragon Age: Origins, for research; ask there before you rely on it. The pairs of start and goal
and the first 16 candidates are those of the paper's authors; we found no licence in their public code. Later candidates
and the optima are made by veilroute.
"""


def pack_archive(files: Mapping[str, bytes], folder: str) -> bytes:
    """A zip of files, with the same bytes on each machine.

    Names are sorted, times and permissions fixed, and nothing is compressed: what zlib makes of the same bytes depends
    on its version and on who built it. An archive in which nothing is compressed cannot grow when it is read, either.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(f"{folder}/{name}")  # which has a fixed time, and the rest from the system
            info.create_system, info.external_attr = 3, 0o100644 << 16
            archive.writestr(info, files[name])
    return packed.getvalue()


def _unpack_archive(path: Path) -> dict[str, bytes]:
    """The files of an archive, which has to be byte by byte the one that :func:`pack_archive` makes of them.

    So nothing in it is there twice, hidden, a link, or called otherwise than it is listed; and nothing is written.
    """
    raw = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            infos = archive.infolist()
            is_plain = all(info.compress_type == zipfile.ZIP_STORED for info in infos)
            if is_plain and sum(info.file_size for info in infos) <= len(raw):  # else it may grow beyond all memory
                folder = infos[0].filename.partition("/")[0] if infos else ""
                files = {info.filename.removeprefix(f"{folder}/"): archive.read(info) for info in infos}
                if pack_archive(files, folder) == raw:
                    return files
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, struct.error):
        pass  # what the standard library raises for archives that are cut off or scrambled
    advice = "get it again; or unpack it yourself, if you trust its source, and give the folder"
    raise FileFormatError(path, f"not an archive as `veilroute bench export` writes it, byte by byte; {advice}")


def _read_files(path: Path) -> dict[str, bytes]:
    """The files of a data set, a folder or an archive, after comparing each with its checksum."""
    is_archive = path.is_file()
    files = _unpack_archive(path) if is_archive else {}
    if not is_archive and (path / SUMS).is_file():
        files[SUMS] = read_bytes(path / SUMS)
    if not path.exists():
        raise InvalidInputError(str(path), "the folder or archive of a data set, but there is nothing of this name")
    if SUMS not in files:
        raise InvalidInputError(str(path), f"a data set: {SUMS} is not there, so an export has not come to its end")
    names = {SUMS}
    for number, line in enumerate(files[SUMS].decode("ascii", "replace").splitlines(), start=1):
        digest, _, name = line.partition("  ")
        if not name or name in names or PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            problem = "expected a checksum, two spaces and a path within the data set, each path once"
            raise FileFormatError(path / SUMS, problem, number)
        if not is_archive and (path / name).is_file():
            files[name] = read_bytes(path / name)
        if name not in files:
            raise FileFormatError(path / name, "missing from the data set")
        if _sha256(files[name]) != digest:
            raise FileFormatError(path / name, f"not what it was: its SHA-256 is not that in {SUMS}")
        names.add(name)
    if strange := sorted(files.keys() - names):
        raise FileFormatError(path / strange[0], f"has no checksum in {SUMS}")
    return files


def read_dataset(path: Path) -> DataSet:
    """Read a data set, a folder or an archive, and refuse one that this package would not have written.

    Checksums only tell that no file was damaged: somebody who edits a file can write new ones. So the instances are
    made again from the map, whose fingerprint is known here, and what the index says of an optimum is compared with the
    file of that optimum. Whether that is one, the auditor says.
    """
    files = _read_files(path)
    index = path / INDEX
    if INDEX not in files:
        raise FileFormatError(path / SUMS, f"{INDEX} has no checksum")
    data = parse_json(files[INDEX], index)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileFormatError(index, f"not a data set; expected a JSON object with format {FORMAT}")
    version = str(data.get("version"))
    if version.partition("+")[0] != VERSION:
        problem = f"version {shorten(data.get('version'))} of the data set, and this veilroute reads {VERSION}"
        raise FileFormatError(index, f"{problem}; export it again, or use the veilroute that exported it")
    try:
        entries = tuple(Entry(**entry) for entry in data["entries"])
        is_known = all(entry.map in (*MAPS, *GENERATED) and entry.is_well_formed for entry in entries)
    except (KeyError, TypeError):
        is_known, entries = False, ()
    if not entries or not is_known or len({entry.name for entry in entries}) < len(entries):
        raise FileFormatError(index, "damaged; export the data set again")
    if version != (expected := version_of(entries)):
        raise FileFormatError(index, f"says that it is version {shorten(version)}; with its entries it is {expected}")
    for entry in entries:
        if not {f"maps/{entry.map}.map", entry.instance_path, entry.optimum_path} <= files.keys():
            raise FileFormatError(path / SUMS, f"the files of {entry.name} have no checksum")
    asked = _check_contents(path, entries, files)
    return DataSet(version, _sha256(files[SUMS]), entries, asked, files)


def _check_contents(
    path: Path, entries: Sequence[Entry], files: Mapping[str, bytes]
) -> dict[str, tuple[Problem, Privacy]]:
    """Compare maps, instances and optima with what they have to be; returns what each instance asks for."""
    domains: dict[str, Domain] = {}
    places: dict[tuple[str, int], tuple[Instance, list[Any]]] = {}
    asked: dict[str, tuple[Problem, Privacy]] = {}
    most = max(entry.num_candidates for entry in entries)
    for entry in entries:
        if entry.map not in domains:
            name = f"maps/{entry.map}.map"
            domain = parse_movingai(files[name].decode("utf-8", "replace").replace("\r\n", "\n"), source=path / name)
            num_pairs = max(other.pair for other in entries if other.map == entry.map)
            sha256, instances = known_instances(entry.map, num_pairs)
            if domain.sha256 != sha256:
                raise FileFormatError(path / name, "not the map of that name")
            domains[entry.map] = domain
            places |= {(entry.map, at.seed): (at, grown_candidates(domain, at, most)) for at in instances}
        own = places.get((entry.map, entry.pair))
        if own is not None:
            candidates = own[1][: entry.num_candidates]
            asked[entry.name] = _asked(domains[entry.map], own[0], candidates, entry.mechanism)
        if own is None or files[entry.instance_path] != _instance_bytes(entry.map, *asked[entry.name]):
            problem = "not the instance that this version of veilroute exports under this name"
            raise FileFormatError(path / entry.instance_path, problem)
        playbook = playbook_from_json(files[entry.optimum_path], source=path / entry.optimum_path)
        if entry != Entry.of(entry.map, entry.pair, entry.num_candidates, playbook):
            raise FileFormatError(path / entry.optimum_path, f"not the optimum that {INDEX} tells of")
    return asked


def _asked(domain: Domain, at: Instance, candidates: Sequence[Any], mechanism: str) -> tuple[Problem, Privacy]:
    """What an instance of the data set asks for."""
    privacy = Privacy(_K, _ELL, None, SPREAD, mechanism=mechanism)
    return Problem(domain, [Trip(at.start, at.goal)], candidates), privacy
