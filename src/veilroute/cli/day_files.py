"""The files of a day of a fleet: what the dispatcher, the drivers and the auditor are given.

All of them are functions of the day, which is public, and of the playbook: the same day gives the same bytes.
"""

from pathlib import Path

from veilroute.days import Day
from veilroute.playbook import Playbook

DAY_FILE = "day.json"


def write_day(book: Playbook, day: Day, folder: Path) -> list[Path]:
    """Write all files of a day into a folder, which is made if it is not there; returns their paths, in order."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / DAY_FILE
    path.write_bytes(day.to_json())
    return [path]
