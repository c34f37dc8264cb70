"""The audit of a day of a fleet, with the dispatcher run again in processes of its own."""

import csv
import importlib.util
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from veilroute.app.day_files import write_day
from veilroute.app.load import load_playbook
from veilroute.app.places import find_secret
from veilroute.auditing.day import DAY_FILE, RERUNS, DayReport, Order, audit_day
from veilroute.base.errors import InvalidInputError, MissingExtraError, UnknownCandidateError, VeilrouteError
from veilroute.base.run import Run
from veilroute.domain.graph import Label, label_text
from veilroute.model.day import read_day, read_terms
from veilroute.model.playbook import Playbook

_MOST_RERUNS = 10_000
_MOST_WORKERS = 4


def audit_day_files(
    playbook: Path,
    day: Path,
    before: Sequence[Path],
    terms: Path | None,
    reruns: int | None,
    domain: Path | None,
    movement: int,
    run: Run,
) -> DayReport:
    """Check the files of a day."""
    reruns = RERUNS if reruns is None else reruns
    if not 0 <= reruns <= _MOST_RERUNS:
        raise InvalidInputError("reruns", f"a number from 0 to {_MOST_RERUNS}", reruns)
    if reruns and importlib.util.find_spec("pyvrp") is None:
        raise MissingExtraError("pyvrp", "fleet")
    book = load_playbook(playbook, domain, movement)
    meant = None if terms is None else read_terms(terms)
    given = [] if domain is None else ["--domain", str(domain), "--movement", str(movement)]
    dispatcher = _Dispatcher(book, playbook, _day_file(day), before, given)
    workers = min(_MOST_WORKERS, os.cpu_count() or 1)
    return audit_day(
        book,
        day,
        before=before,
        dispatcher=dispatcher if reruns else None,
        reruns=reruns,
        terms=meant,
        workers=workers,
        progress=run.progress,
    )


def _day_file(source: Path) -> Path:
    return source / DAY_FILE if source.is_dir() else source


class _Dispatcher:
    """`veilroute fleet` under the terms of a day, as anybody could run it: orders in, files out."""

    def __init__(self, book: Playbook, playbook: Path, day: Path, before: Sequence[Path], given: Sequence[str]) -> None:
        self._book, self._day, self._before = book, day, before
        self._words = [sys.executable, "-P", "-m", "veilroute", "fleet", str(playbook), "--terms", str(day), *given]

    def __call__(self, orders: Sequence[Order]) -> dict[str, bytes]:
        """The files that are written for some orders, by name; without any, those of the rest of a day."""
        if not orders:
            return self._rest_again()
        table = io.StringIO()
        csv.writer(table).writerows([("place", "quantity"), *((self._typed(who), size) for who, size in orders)])
        # What depends on the order of a set, or on the hash of a text, is another in each process.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
        with TemporaryDirectory(prefix="veilroute-") as folder:
            out = Path(folder) / "day"
            words = [*self._words, "--orders", "-", "-o", str(out)]
            done = subprocess.run(words, input=table.getvalue().encode(), capture_output=True, env=env, check=False)
            if done.returncode:
                told = done.stderr.decode(errors="replace").strip().splitlines()
                raise VeilrouteError(told[-1] if told else f"it ended with {done.returncode}")
            return {path.name: path.read_bytes() for path in sorted(out.iterdir())}

    def _rest_again(self) -> dict[str, bytes]:
        """The rest of a day, planned again from where it says that the vehicles are."""
        from veilroute.fleet.replanning import repeat_replan  # here, because it loads kernels

        rest = read_day(self._day)
        days = [read_day(_day_file(each)) for each in self._before]
        (earlier,) = (each for each in days if rest.after and rest.after.earlier == sha256(each.to_json()).hexdigest())
        with TemporaryDirectory(prefix="veilroute-") as folder:
            paths = write_day(self._book, repeat_replan(self._book, earlier, rest), Path(folder) / "day")
            return {path.name: path.read_bytes() for path in paths}

    def _typed(self, label: Label) -> str:
        """What to write for a customer; its label may be the name of another."""
        for text in (label_text(label), self._book.name(label)):
            with suppress(UnknownCandidateError):
                if find_secret(self._book, text) == label:
                    return text
        return label_text(label)
