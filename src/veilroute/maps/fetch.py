"""From a set of maps to the cache: download its archives and install them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from veilroute.errors import DownloadError
from veilroute.maps.archive import find_archive_problem
from veilroute.maps.catalogue import DEFAULT_BASE_URL
from veilroute.maps.download import ADVICE, Report, check_url, download
from veilroute.maps.store import MapStore

URL_VARIABLE = "VEILROUTE_MAPS_URL"

ArchiveReport = Callable[[str, int, int | None], None]
"""Called with the name of the archive, the bytes that are there and the bytes expected, ``None`` while unknown."""


@dataclass(frozen=True)
class FetchedArchive:
    """What :func:`fetch_sets` did about one archive.

    Parameters
    ----------
    archive
        Its path below the base address.
    set_name
        The set it belongs to.
    was_present
        Whether its files were there already, so that nothing was fetched.
    num_files
        Number of files installed now.
    """

    archive: str
    set_name: str
    was_present: bool
    num_files: int = 0


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
    report: ArchiveReport | None = None,
    should_stop: Callable[[], bool] | None = None,
    sleep: Callable[[float], None] = time.sleep,
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
    retries, timeout_s, should_stop, sleep
        See :func:`~veilroute.maps.download.download`.
    report
        Called as the bytes arrive.
    """
    base = resolve_base_url(base_url)
    chosen = [store.catalogue.set_named(name) for name in dict.fromkeys(sets or store.catalogue.names)]
    fetched = []
    for one in chosen:
        for archive in (one.map_archive, one.scenario_archive)[: 2 if scenarios else 1]:
            target = store.archive_directory / one.name / archive.rpartition("/")[2]
            if not force and store.is_installed(one.name, target.name):
                fetched.append(FetchedArchive(archive, one.name, was_present=True))
                continue
            # A complete archive lies here only when a run was killed between download and installation.
            if force or not target.exists() or find_archive_problem(target):
                download(
                    f"{base}/{archive}",
                    target,
                    retries=retries,
                    timeout_s=timeout_s,
                    report=_name_reports(report, archive),
                    should_stop=should_stop,
                    sleep=sleep,
                )
            try:
                installed = store.install_archive(target, one.name)
            except DownloadError:
                # Kept, it would be installed again, and refused again, by every later run.
                target.unlink(missing_ok=True)
                raise
            target.unlink(missing_ok=True)
            absent = sorted(one.pinned.keys() - set(installed.maps)) if archive == one.map_archive else []
            if absent:
                raise DownloadError(f"{base}/{archive}: {', '.join(absent)} not in the archive; {ADVICE}")
            num_files = len(installed.maps) + len(installed.scenarios)
            fetched.append(FetchedArchive(archive, one.name, was_present=False, num_files=num_files))
    return fetched


def _name_reports(report: ArchiveReport | None, archive: str) -> Report | None:
    if report is None:
        return None
    return lambda done, total: report(archive, done, total)
