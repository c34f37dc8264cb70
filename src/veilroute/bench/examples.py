"""Playbooks that are drawn: which records hold one, and the names of their pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from veilroute.bench import published
from veilroute.bench.records import Record
from veilroute.bench.selection import select

_LONGEST = 40


@dataclass(frozen=True)
class Example:
    """A record to draw.

    Parameters
    ----------
    record
        With or without the playbook that its cell asked for.
    name
        Of its picture, without suffix: lower case letters, digits and hyphens, different for different records.
    num_classes
        How many classes are anonymized, ``None`` without a playbook.
    paper_figure
        Where the paper draws the same setting on a map of this name, ``None`` where it does not.
    """

    record: Record
    name: str
    num_classes: int | None
    paper_figure: str | None


def find_examples(records: Iterable[Record]) -> list[Example]:
    """The examples among records, by map, pair and setting."""
    examples: list[Example] = []
    taken: set[str] = set()
    for record in select("examples", records).records:
        cell, playbook = record.cell, record.outcome.playbook
        name = plain = f"example-{_plain(cell.instance.map_name)}-{cell.instance.seed}-k{cell.k}-ell{cell.ell:g}"
        number = 1
        while name in taken:
            number += 1
            name = f"{plain}-{number}"
        taken.add(name)
        num_classes = None if playbook is None else sum(group["anonymized"] for group in playbook["classes"])
        is_drawn = cell.k == 2 and cell.m_ratio is None
        figure = published.EXAMPLES.get((cell.instance.map_name, float(cell.ell))) if is_drawn else None
        examples.append(Example(record, name, num_classes, figure))
    return examples


def _plain(name: str) -> str:
    """What is left of a map's name in the name of a file, on every system."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_LONGEST] or "map"
