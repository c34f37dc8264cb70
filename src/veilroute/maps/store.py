"""The per-user cache of maps: what it holds, and the safe ways into it.

::

    ROOT/dao/den101d.map       taken from an archive, by `install_archive`
    ROOT/installed.json        which archive brought which files, so that nothing is fetched twice
    ROOT/added.json            local copies by absolute path, by `add_directory`
    ROOT/archives/             archives on their way in, by `fetch_sets`
"""

import difflib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import platformdirs

from veilroute.base.errors import DownloadError, FileFormatError, InvalidInputError
from veilroute.base.io import dump_canonical, move_file, parse_json, read_bytes, staging, write_file
from veilroute.maps.catalogue import CATALOGUE, DEFAULT_BASE_URL, Catalogue, hash_text
from veilroute.maps.download import (
    ADVICE,
    MAX_MEMBER_BYTES,
    SUFFIXES,
    check_url,
    download,
    find_archive_problem,
    read_members,
)

CACHE_VARIABLE = "VEILROUTE_CACHE"
URL_VARIABLE = "VEILROUTE_MAPS_URL"

_STAGING = ".veilroute-maps-"

Source = Literal["downloaded", "added"]
Flaw = Literal["", "missing", "damaged"]


@dataclass(frozen=True)
class StoredMap:
    """One map or scenario file that the cache knows."""

    name: str  #: file name
    set_name: str  #: the set it belongs to; ``local`` for added files of no known set
    path: Path  #: where it lies
    num_bytes: int  #: its size; 0 when it is missing
    verified: bool  #: whether it is pinned and its text, as it lies there now, is the pinned one
    source: Source  #: how it came here
    #: ``missing`` when the file has vanished or cannot be read, ``damaged`` when it is pinned and its text is another
    #: one, empty otherwise.
    problem: Flaw = ""


@dataclass(frozen=True)
class AddReport:
    """What :meth:`MapStore.add_directory` did."""

    verified: tuple[str, ...]  #: names of registered files that are what the paper used
    unverified: tuple[str, ...]  #: names of registered files that nothing is pinned for
    refused: tuple[str, ...]  #: one line for each file that was not registered because something is wrong with it
    skipped: tuple[str, ...]  #: one line for each file that was passed over in favour of another one of the same name

    @property
    def num_registered(self) -> int:
        """Number of files registered."""
        return len(self.verified) + len(self.unverified)


class MapStore:
    """The cache of maps. Nothing is created before something is written.

    Parameters
    ----------
    root
        Its directory; ``$VEILROUTE_CACHE/maps``, or else the platform's place for caches, when ``None``.
    catalogue
        The known sets and pinned maps.
    """

    def __init__(self, root: Path | None = None, *, catalogue: Catalogue = CATALOGUE) -> None:
        if root is None:
            chosen = os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("veilroute")
            root = Path(chosen).expanduser() / "maps"
        self.root = Path(root)
        self.archive_directory = self.root / "archives"
        self.catalogue = catalogue

    def list_maps(self) -> list[StoredMap]:
        """Return all maps, sorted by set, name and source."""
        return self._list(".map")

    def list_scenarios(self) -> list[StoredMap]:
        """Return all scenario files, sorted by set, name and source."""
        return self._list(".scen")

    def find(self, name: str) -> Path:
        """Return the path of a map (``.map`` may be left out), or of a scenario file when the name ends in ``.scen``.

        A downloaded copy goes before an added one, unless it has a problem. A pinned map is checked each
        time, so that an experiment never runs on an altered one unnoticed.
        """
        file_name = name if name.endswith(SUFFIXES) else f"{name}.map"
        known = [self._inspect(*place) for place in self._places() if place[0] == file_name]
        for stored in known:
            if not stored.problem:
                return stored.path
        raise self._not_found(file_name, known)

    def is_installed(self, set_name: str, archive_name: str) -> bool:
        """Whether everything that an archive (``dao-map.zip``) brought to a set is still there and sound."""
        sizes = self._read_index("installed.json").get(f"{set_name}/{archive_name}")
        if not isinstance(sizes, dict) or not sizes:
            return False
        home = self.root / set_name
        files = ((self._inspect(name, set_name, home / name, "downloaded"), size) for name, size in sizes.items())
        return all(not stored.problem and stored.num_bytes == size for stored, size in files)

    def add_directory(self, directory: str | Path) -> AddReport:
        """Register the ``.map`` and ``.scen`` files below a directory; they stay where they are.

        A file with a pinned name and another text is refused. Of several files with one name the first, in
        the order of paths, is taken; a name that was registered before now means the new file.
        """
        top = Path(directory).expanduser()
        if not top.is_dir():
            raise InvalidInputError("DIR", "a directory with .map or .scen files", str(directory))
        top = top.resolve()
        paths = sorted(path for path in top.rglob("*") if path.suffix in SUFFIXES and not path.name.startswith("._"))
        if not paths:
            raise InvalidInputError("DIR", "a directory with .map or .scen files; found none", str(directory))
        chosen: dict[str, StoredMap] = {}
        refused, skipped = [], []
        for path in paths:
            if path.name in chosen:
                skipped.append(f"{path}: skipped, {chosen[path.name].path} has the same name")
                continue
            stored = self._inspect(path.name, self.catalogue.set_name_of(path.name), path, "added")
            altered = "refused, it has the name of a map that the paper used but another text (SHA-256 differs)"
            problem = _find_file_problem(path) or (altered if stored.problem else "")
            if problem:
                refused.append(f"{os.fsencode(path).decode('utf-8', 'replace')}: {problem}")
            else:
                chosen[path.name] = stored
        if chosen:
            self._extend_index("added.json", {name: str(stored.path) for name, stored in chosen.items()})
        return AddReport(
            verified=tuple(name for name, stored in chosen.items() if stored.verified),
            unverified=tuple(name for name, stored in chosen.items() if not stored.verified),
            refused=tuple(refused),
            skipped=tuple(skipped),
        )

    def install_archive(self, zip_path: Path, set_name: str) -> list[str]:
        """Unpack the maps and scenarios of an archive into a set, all of them or none; return their names, sorted.

        Everything is unpacked and checked in a directory beside the set before the first file is moved into
        it, so that a bad archive leaves no trace and a reader never sees half a file.
        """
        set_name = self.catalogue.set_named(set_name).name
        pinned = self.catalogue.pinned
        sizes: dict[str, int] = {}
        home = self.root / set_name
        with self._writing(), staging(self.root, _STAGING, home=home) as place:
            # Closed explicitly: an error's traceback would keep the archive open, and Windows from deleting it.
            with closing(read_members(zip_path)) as members:
                for name, data in members:
                    if name in pinned and hash_text(data) != pinned[name]:
                        raise DownloadError(
                            f"{zip_path.name}: {name} is not the map that the paper used (SHA-256 of its text is "
                            f"{hash_text(data)[:12]}..., expected {pinned[name][:12]}...); nothing was installed, "
                            f"{ADVICE}"
                        )
                    write_file(place / name, data)
                    sizes[name] = len(data)
            if not sizes:
                raise DownloadError(f"{zip_path.name}: no .map or .scen file in it; check --url")
            home.mkdir(exist_ok=True)
            for name in sizes:
                move_file(place / name, home / name)
        self._extend_index("installed.json", {f"{set_name}/{zip_path.name}": sizes})
        return sorted(sizes)

    def _list(self, suffix: str) -> list[StoredMap]:
        files = [self._inspect(*place) for place in self._places() if place[0].endswith(suffix)]
        return sorted(files, key=lambda stored: (stored.set_name, stored.name, stored.source))

    def _places(self) -> Iterator[tuple[str, str, Path, Source]]:
        """Name, set, path and source of every known file; downloaded ones first."""
        for set_name in self.catalogue.names:
            home = self.root / set_name
            if home.is_dir():
                for path in sorted(home.iterdir()):
                    if path.suffix in SUFFIXES:
                        yield path.name, set_name, path, "downloaded"
        for name, path in self._read_index("added.json").items():
            yield name, self.catalogue.set_name_of(name), Path(str(path)), "added"

    def _inspect(self, name: str, set_name: str, path: Path, source: Source) -> StoredMap:
        pinned = self.catalogue.pinned.get(name)
        try:
            if pinned is None:
                num_bytes, verified = path.stat().st_size, False
            else:
                data = read_bytes(path, most=MAX_MEMBER_BYTES)
                num_bytes, verified = len(data), hash_text(data) == pinned
        except (OSError, ValueError):  # the latter for a path with a null byte, and from `read_bytes`
            return StoredMap(name, set_name, path, 0, False, source, "missing")
        problem: Flaw = "damaged" if pinned is not None and not verified else ""
        return StoredMap(name, set_name, path, num_bytes, verified, source, problem)

    def _not_found(self, file_name: str, known: list[StoredMap]) -> InvalidInputError:
        set_name = self.catalogue.set_name_of(file_name)
        get = "veilroute maps get" + ("" if set_name == "local" else f" {set_name}")
        advice = f"run '{get}', or 'veilroute maps add DIR' for local copies"
        if known:
            what = "has vanished" if known[0].problem == "missing" else "is not the text that the paper used"
            return FileFormatError(known[0].path, f"{what}; {advice}")
        similar = difflib.get_close_matches(file_name, {place[0] for place in self._places()}, n=1)
        if similar:
            advice = f"did you mean {similar[0]}? Otherwise run '{get}'"
        return InvalidInputError("map", f"one in the cache; {advice}", file_name)

    def _read_index(self, file_name: str) -> dict[str, Any]:
        path = self.root / file_name
        if not path.exists():
            return {}
        index = parse_json(read_bytes(path), path)
        if not isinstance(index, dict) or not all(name.isprintable() for name in index):
            raise FileFormatError(path, "not an index of maps; delete it and get or add the maps again")
        return index

    def _extend_index(self, file_name: str, entries: dict[str, Any]) -> None:
        index = self._read_index(file_name) | entries
        with self._writing():
            # Where a user keeps maps is nobody else's business.
            write_file(self.root / file_name, dump_canonical(index), mode=0o600)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Within it the cache is there; what the disk refuses is explained."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            yield
        except OSError as error:
            wanted = f"a directory that can be written, with room left ({error.strerror})"
            raise InvalidInputError(CACHE_VARIABLE, wanted, str(self.root)) from None


def _find_file_problem(path: Path) -> str:
    """Why a local file could not be read as a map, whatever its text; empty when it could."""
    try:
        str(path).encode("utf-8")
        if not path.is_file():
            return "not a file"
        if path.stat().st_size > MAX_MEMBER_BYTES:
            return f"larger than {MAX_MEMBER_BYTES // 2**20} MB; no benchmark map is"
        with path.open("rb") as file:
            file.read(1)
    except UnicodeEncodeError:
        return "its path is not UTF-8; rename it"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return ""


@dataclass(frozen=True)
class FetchedArchive:
    """What :func:`fetch_sets` did about one archive."""

    archive: str  #: its path below the base address
    set_name: str  #: the set it belongs to
    was_present: bool  #: whether its files were there already, so that nothing was fetched
    num_files: int = 0  #: number of files installed now


def resolve_base_url(option: str | None = None) -> str:
    """Return the base address: the option, else ``$VEILROUTE_MAPS_URL``, else the Moving AI site."""
    chosen, field = (option, "--url") if option else (os.environ.get(URL_VARIABLE), URL_VARIABLE)
    return check_url(chosen or DEFAULT_BASE_URL, field).rstrip("/")


def fetch_sets(
    store: MapStore,
    sets: Iterable[str] = (),
    *,
    base_url: str | None = None,
    scenarios: bool = True,
    force: bool = False,
    retries: int = 4,
    timeout_s: float = 20.0,
    report: Callable[[str, int, int | None], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> list[FetchedArchive]:
    """Download and install the archives of some sets, passing over what is there already.

    Parameters
    ----------
    store
        Where the maps go; its catalogue says which archives there are.
    sets
        Names of sets; all when empty.
    base_url
        See :func:`resolve_base_url`.
    scenarios
        Whether to fetch the scenario archives too.
    force
        Fetch even what is there.
    retries, timeout_s, should_stop
        See :func:`~veilroute.maps.download.download`.
    report
        Called as the bytes arrive, with the name of the archive before the two numbers.
    """
    base = resolve_base_url(base_url)
    fetched = []
    for one in [store.catalogue.set_named(name) for name in dict.fromkeys(sets or store.catalogue.names)]:
        for archive in (one.map_archive, one.scenario_archive)[: 2 if scenarios else 1]:
            target = store.archive_directory / one.name / archive.rpartition("/")[2]
            if not force and store.is_installed(one.name, target.name):
                fetched.append(FetchedArchive(archive, one.name, was_present=True))
                continue
            # A complete archive lies here only when a run was killed between download and installation.
            if force or not target.is_file() or find_archive_problem(target):
                url, tell = f"{base}/{archive}", None if report is None else partial(report, archive)
                download(url, target, retries=retries, timeout_s=timeout_s, report=tell, should_stop=should_stop)
            try:
                installed = store.install_archive(target, one.name)
            except DownloadError:
                # Kept, it would be installed again, and refused again, by every later run.
                target.unlink(missing_ok=True)
                raise
            target.unlink(missing_ok=True)
            absent = sorted(one.pinned.keys() - set(installed)) if archive == one.map_archive else []
            if absent:
                raise DownloadError(f"{base}/{archive}: {', '.join(absent)} not in the archive; {ADVICE}")
            fetched.append(FetchedArchive(archive, one.name, was_present=False, num_files=len(installed)))
    return fetched
