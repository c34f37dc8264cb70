"""Other files in the same folder: a ledger's own playbooks, and those that a new plan could be linked with.

A folder may hold anything, so looking into it is quick and never fails: so many files, so many bytes, and whatever
cannot be read is passed over.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from veilroute.base.errors import VeilrouteError
from veilroute.domain.graph import Label
from veilroute.model.entry import LEDGER_FORMAT
from veilroute.model.playbook import Playbook, playbook_from_json

_MOST_FILES = 200
_MOST_BYTES = 2**26
_MOST_BYTES_UNASKED = 2**24
_LEDGER = b'{"entry":{"format":"' + LEDGER_FORMAT.rpartition("/")[0].encode()


def playbooks_beside(folder: Path, domain_sha256: str) -> Iterator[tuple[Path, Playbook]]:
    """The playbooks of a map in a folder, by the names of their files."""
    yield from _playbooks(_files(folder, _MOST_BYTES), domain_sha256)


def _playbooks(files: Iterable[tuple[Path, bytes]], domain_sha256: str) -> Iterator[tuple[Path, Playbook]]:
    for path, raw in files:
        if domain_sha256.encode() in raw and b'"veilroute-playbook/' in raw:
            with suppress(VeilrouteError, MemoryError):
                book = playbook_from_json(raw)
                if book.domain_sha256 == domain_sha256:
                    yield path, book


def link_warning(playbook: Playbook, folder: Path) -> str:
    """What is to be said of a plan that was made without a ledger, in one line; empty where nothing is known."""
    domain = playbook.domain_sha256
    files = list(_files(folder, _MOST_BYTES_UNASKED))
    for path, raw in files:
        if raw.startswith(_LEDGER) and domain.encode() in raw:
            from veilroute.ledger.ledger import read_ledger  # here, because most folders have none

            with suppress(VeilrouteError):
                read_ledger(path)
                heed = "which this plan takes no heed of: linked trips may identify somebody"
                return f"{path} records playbooks on this map, {heed}; plan under it: --ledger {path}"
    books = [(path, book) for path, book in _playbooks(files, domain) if book.sha256 != playbook.sha256]
    left = _groups(playbook)
    shared: set[Label] = set()
    met: list[Path] = []
    for path, book in books:
        others = _groups(book)
        both = left.keys() & others.keys()
        if both:
            met.append(path)
            shared |= both
            left |= {member: left[member] & others[member] for member in both}
    node = playbook.problem.domain.node  # several names at one node are one place
    num_short = sum(len(set(map(node, left[member]))) < playbook.privacy.k for member in shared)
    if not shared or (playbook.planner == "reuse" and not num_short):
        return ""
    named = f"{met[0]} hides" if len(met) == 1 else f"{met[0]} and {len(met) - 1} more hide"
    shown = f"leave too few for {num_short} of them" if num_short else "may show more than each by itself"
    linked = f"{named} {len(shared)} of these candidates as well, and linked trips {shown}"
    return f"{linked}; keep a ledger (veilroute ledger new), and plan under it: --ledger FILE"


def _groups(playbook: Playbook) -> dict[Label, frozenset[Label]]:
    """With whom each candidate is hidden; in the smallest of its classes where one is drawn."""
    found: dict[Label, frozenset[Label]] = {}
    for group in sorted(playbook.hidden_classes, key=lambda group: -len(group.members)):
        found |= dict.fromkeys(group.members, frozenset(group.members))
    return found


def _files(folder: Path, room: int) -> Iterator[tuple[Path, bytes]]:
    """Files that may be playbooks or ledgers, with what they hold, in the order of their names."""
    with suppress(OSError):
        for path in sorted(islice(folder.iterdir(), _MOST_FILES)):
            with suppress(OSError):
                if not path.is_file() or path.stat().st_size > room:
                    continue
                with path.open("rb") as file:
                    begin = file.read(len(_LEDGER))
                    if begin == _LEDGER or begin.lstrip()[:1] == b"{":
                        raw = begin + file.read(room)
                        room -= len(raw)
                        yield path, raw
