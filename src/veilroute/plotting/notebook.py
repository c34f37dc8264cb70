"""What a notebook shows of playbooks, audits and frontiers: HTML that loads nothing from anywhere.

A playbook is the page of its HTML map (:mod:`veilroute.plotting.html_map`) in a frame of its own. The frame may run the
page's script and save files; it cannot reach the notebook, nor does its policy let it ask for anything. Audits and
frontiers are tables, the latter with its chart. Whatever names hold, it is escaped.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from io import BytesIO

from matplotlib.figure import Figure

from veilroute.analysis.frontier import Frontier, FrontierPoint
from veilroute.auditing.verdicts import AuditReport
from veilroute.model.playbook import Playbook
from veilroute.plotting.frame import METADATA, plain_settings
from veilroute.plotting.frontier_plot import plot_frontier
from veilroute.plotting.html_map import html_map

_HEIGHT_PX = 560
_DPI = 110
_LONGEST_EVIDENCE = 400
_CELL = "padding:2px 10px 2px 0;text-align:left;vertical-align:top"
# The words say the same as the colours, which keep a contrast of 4.5 on light and on dark pages.
_COLOURS = {"holds": "#1a7f4b", "unproved": "#9a6700", "violated": "#c9252d"}


def playbook_html(playbook: Playbook) -> str:
    """A playbook as a frame with its map: to look at, to watch as an observer does, and to drive by."""
    if playbook.domain is None:
        return f"<p>{escape(repr(playbook))}: it holds only the hash of its map; attach one with with_domain.</p>"
    claims, status = playbook.claims, escape(playbook.status)
    lead = f"{claims.num_anonymized} of {claims.num_candidates} candidates hidden, {status}"
    return (
        f'<iframe title="{escape(f"Playbook: {lead}")}" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:{_HEIGHT_PX}px;border:1px solid #8884;border-radius:6px" '
        f'srcdoc="{escape(html_map(playbook))}"></iframe>'
    )


def audit_html(report: AuditReport) -> str:
    """An audit: the verdict, what an observer is left with, and every claim with its evidence."""
    rows = [
        (
            f'<b style="color:{_COLOURS[claim.verdict]}">{escape(claim.word)}</b>',
            f"<code>{escape(claim.claim)}</code>",
            escape(claim.evidence[:_LONGEST_EVIDENCE]),
        )
        for claim in report.claims
    ]
    known = [(escape(name), escape(value)) for name, value in report.observer.rows()]
    state = "unproved" if report.verdict == "holds" and report.observer.warnings else report.verdict
    about = [(escape(item.what), escape(item.playbook.text)) for item in report.bound_to]
    return (
        f'<div><p><b style="color:{_COLOURS[state]}">{escape(report.headline)}</b></p>'
        f"<p>{escape(report.in_words)}</p>{_table(('what an observer can find out', ''), known)}"
        f"{_table(('verdict', 'claim', 'evidence'), rows)}"
        f"<details><summary>What the claims are about</summary>{_table(('what', 'the playbook says'), about)}</details>"
        "</div>"
    )


def frontier_html(frontier: Frontier) -> str:
    """What privacy costs: the chart, and its points as a table."""
    heads = ("privacy", "ell", "m", "mechanism", "hidden", "longer", "status")
    rows = [tuple(map(escape, _cells(point))) for point in frontier.points]
    chart = ""
    if any(point.longer is not None for point in frontier.points):
        with plain_settings():
            figure, picture = plot_frontier(frontier).figure, BytesIO()
            assert isinstance(figure, Figure)
            figure.savefig(picture, format="png", dpi=_DPI, metadata=METADATA[".png"])
        encoded = base64.b64encode(picture.getvalue()).decode("ascii")
        chart = (
            '<img alt="What privacy costs: the table below has the points" style="max-width:100%" '
            f'src="data:image/png;base64,{encoded}">'
        )
    return f"<div>{chart}{_table(heads, rows)}</div>"


def _cells(point: FrontierPoint) -> Sequence[str]:
    privacy = point.privacy
    return (
        f"k={privacy.k}" if privacy.risk is None else f"risk {privacy.risk:.3g}",
        f"{privacy.ell:g}",
        "whole route" if privacy.m is None else str(privacy.m),
        privacy.mechanism,
        f"{point.num_anonymized}/{point.num_coverable}",
        "-" if point.longer is None else f"{point.longer:.1%}",
        point.status,
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f'<th scope="col" style="{_CELL}">{escape(name)}</th>' for name in heads)
    body = "".join("<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
