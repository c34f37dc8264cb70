"""The suite of playbooks that are drawn on their maps: Figure 5 and the supplement's figures."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain, count
from pathlib import Path

from veilroute.bench.cells import Record
from veilroute.bench.design import Picture, Selection, Suite, paper_variations
from veilroute.bench.paper import MAPS
from veilroute.bench.table import Table, Value, counted, format_apr
from veilroute.domain.graph import Domain
from veilroute.errors import InvalidInputError
from veilroute.jsontext import dump_canonical
from veilroute.playbook import Playbook, playbook_from_json

PAPER_PICTURES = {(name, 1.0): "supplement" for name in MAPS} | {
    ("den101d", 1.0): "Figure 5",
    ("den101d", 10.0): "supplement",
}
"""By map and ell: where the paper draws a playbook, at k = 2 and m = infinity."""

_LONGEST = 40


def _find_examples(chosen: Selection) -> dict[str, Record]:
    """The records to draw by the names of their pictures without suffix: lower case letters, digits and hyphens."""
    examples: dict[str, Record] = {}
    for record in chosen.records:
        cell = record.cell
        # What is left of a map's name in the name of a file, on every system.
        map_name = re.sub(r"[^a-z0-9]+", "-", cell.instance.map_name.lower()).strip("-")[:_LONGEST] or "map"
        plain = f"example-{map_name}-{cell.instance.seed}-k{cell.k}-ell{cell.ell:g}"
        names = chain([plain], (f"{plain}-{number}" for number in count(2)))
        examples[next(name for name in names if name not in examples)] = record
    return examples


def _playbook(record: Record, domains: Mapping[str, Domain]) -> Playbook | None:
    """The playbook on its map, ``None`` when the record has none or the map is not there."""
    cell, data = record.cell, record.outcome.playbook
    domain = domains.get(cell.map_sha256, domains.get(cell.instance.map_name))
    if data is None or domain is None:
        return None
    try:
        return playbook_from_json(dump_canonical(data)).with_domain(domain)
    except InvalidInputError:
        # Another map of that name, or a record that was damaged: the table still has its figures.
        return None


def _tables(chosen: Selection) -> list[Table]:
    """One row for each playbook."""
    rows: list[dict[str, Value]] = []
    for name, record in _find_examples(chosen).items():
        cell, outcome = record.cell, record.outcome
        at = cell.instance
        picture = num_classes = paper_picture = None
        if outcome.playbook is not None:
            picture = f"{name}.png"
            num_classes = sum(group["anonymized"] for group in outcome.playbook["classes"])
        if cell.k == 2 and cell.m_ratio is None:
            paper_picture = PAPER_PICTURES.get((at.map_name, float(cell.ell)))
        rows.append(
            {
                "map": at.map_name,
                "pair": at.seed,
                "k": cell.k,
                "ell": f"{cell.ell:g}",
                "radius": f"{cell.radius:g}",
                "candidates": cell.num_candidates,
                "classes": num_classes,
                "APR": format_apr(outcome.apr),
                "MAC": outcome.mac,
                "status": outcome.status,
                "audit": {True: "holds", False: "VIOLATED", None: "not asked"}[outcome.audit_holds],
                "picture": picture,
                "paper's picture": paper_picture,
            }
        )
    note = (
        "optimal (exact), m = infinity. Classes: those that are anonymized. Audit: the verdict of the auditor, which "
        "shares no code with the planners. The paper's pictures have no numbers."
    )
    return [Table("examples", "Drawn playbooks", tuple(rows[0]), tuple(tuple(row.values()) for row in rows), (note,))]


def _findings(chosen: Selection) -> Iterator[str]:
    verdicts = [record.outcome.audit_holds for record in chosen.records]
    yield f"The auditor confirms {verdicts.count(True)} of {counted(len(verdicts), 'playbook')}."
    if num_refused := verdicts.count(False):
        yield f"It does NOT confirm {num_refused}; this is a fault of the planner or of the auditor."


def _draw(chosen: Selection, folder: Path, domains: Mapping[str, Domain]) -> list[Picture]:
    """One picture for each playbook; those whose map is not there are not drawn."""
    from veilroute.plotting import draw_playbook

    pictures = []
    for name, record in _find_examples(chosen).items():
        playbook, cell = _playbook(record, domains), record.cell
        if playbook is None:
            continue
        caption = (
            f"Map {cell.instance.map_name}, pair {cell.instance.seed}: the playbook of optimal (exact), k = {cell.k}, "
            f"ell = {cell.ell:g}, radius {cell.radius:g}, {cell.num_candidates} candidates."
        )
        pictures.append(Picture(folder / f"{name}.png", caption))
        draw_playbook(playbook, pictures[-1].png, dpi=110)
        draw_playbook(playbook, pictures[-1].svg)
        draw_playbook(playbook, pictures[-1].pdf)
    return pictures


EXAMPLES_SUITE = Suite(
    name="examples",
    heading="Examples: playbooks on their maps",
    where="Figure 5 and the supplement's figures",
    shows="Optimal (2, 1, infinity)-anonymized paths on each of the six maps, and on den101d also for (2, 10, "
    "infinity).",
    found="On den101d, two candidates in the left corner share a class at ell = 1 and not at ell = 10.",
    variations=paper_variations("examples"),
    takes=lambda cell: cell.keep_playbook,
    tables=_tables,
    findings=_findings,
    pictures=_draw,
)
