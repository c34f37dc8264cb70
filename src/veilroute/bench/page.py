"""A page of headings, text, tables and pictures, as HTML and as Markdown."""

from __future__ import annotations

import base64
import html
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from veilroute.bench.table import Table, escape_markdown

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --page: #ffffff; --soft: #f2f2ee; --line: #d0d0cb; --quiet: #666660; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e2; --page: #17181a; --soft: #242629; --line: #44474b; --quiet: #a3a39d; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; }
h2 { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1.35rem; }
a { color: inherit; }
pre { overflow-x: auto; padding: .7rem .9rem; border-radius: .4rem; background: var(--soft); font-size: .85rem; }
figure { margin: 1.5rem 0; }
figcaption { color: var(--quiet); font-size: .85rem; }
figcaption p { margin: .35rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .82rem; font-variant-numeric: tabular-nums; }
caption { padding: .3rem 0; text-align: left; font-weight: 600; font-size: .95rem; }
th, td { padding: .25rem .55rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: bottom; }
td { white-space: nowrap; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--page); }
.number { text-align: right; }
.paper, .paper td { color: var(--quiet); font-style: italic; }
img { display: block; max-width: 100%; height: auto; padding: .4rem; border-radius: .4rem; background: #ffffff; }
@media print {
  :root { --ink: #000000; --page: #ffffff; --soft: #f2f2ee; --line: #bbbbbb; --quiet: #444444; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  .wide { overflow: visible; }
  table { font-size: 6.5pt; }
  th, td { padding: .12rem .25rem; }
  td { white-space: normal; }
  tr, img { break-inside: avoid; }
  h2, caption { break-after: avoid; }
}
""".strip()


@dataclass(frozen=True)
class Heading:
    """A heading; the contents of the page list it."""

    text: str
    anchor: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """A command."""

    text: str


@dataclass(frozen=True)
class Image:
    """A picture with a caption; HTML holds it, Markdown links to ``link``."""

    png: Path
    link: str
    caption: str


Block = Heading | Text | Bullets | Code | Image | Table


def render_html(title: str, blocks: Sequence[Block]) -> str:
    """One page that holds all it shows: no script, no other file, no address."""
    links = "".join(
        f'<li><a href="#{html.escape(block.anchor)}">{html.escape(block.text)}</a></li>'
        for block in blocks
        if isinstance(block, Heading)
    )
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; style-src '
        "'unsafe-inline'\">",
        f"<title>{html.escape(title)}</title>",
        f"<style>\n{STYLE}\n</style>",
        "</head>",
        "<body>",
        f"<h1>{html.escape(title)}</h1>",
        f"<nav><ul>{links}</ul></nav>",
        *(_block_html(block) for block in blocks),
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def render_markdown(title: str, blocks: Sequence[Block]) -> str:
    """The same as text, with links to the pictures."""
    return (
        "\n\n".join([f"# {escape_markdown(title)}", *(_block_markdown(block).strip("\n") for block in blocks)]) + "\n"
    )


def _block_html(block: Block) -> str:
    match block:
        case Heading():
            return f'<h2 id="{html.escape(block.anchor)}">{html.escape(block.text)}</h2>'
        case Text():
            return f"<p>{html.escape(block.text)}</p>"
        case Bullets():
            return "<ul>" + "".join(f"<li>{html.escape(item)}</li>" for item in block.items) + "</ul>"
        case Code():
            return f"<pre><code>{html.escape(block.text)}</code></pre>"
        case Image():
            return _image_html(block)
        case Table():
            return block.to_html()


def _image_html(image: Image) -> str:
    data = image.png.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    caption = html.escape(image.caption)
    source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
    picture = f'<img src="{source}" width="{width}" height="{height}" alt="{caption}">'
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def _block_markdown(block: Block) -> str:
    match block:
        case Heading():
            return f"## {escape_markdown(block.text)}"
        case Text():
            return escape_markdown(block.text)
        case Bullets():
            return "\n".join(f"- {escape_markdown(item)}" for item in block.items)
        case Code():
            longest = max((len(run) for run in re.findall("`+", block.text)), default=0)
            fence = "`" * max(3, longest + 1)
            return f"{fence}console\n{block.text}\n{fence}"
        case Image():
            caption = escape_markdown(block.caption)
            return f"![{caption}]({block.link})\n\n*{caption}*"
        case Table():
            return block.to_markdown()
