"""How Sphinx builds these pages: `make docs` writes docs/_build/html and runs the examples."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from sphinx.util.inspect import TypeAliasForwardRef

import veilroute

project = "veilroute"
author = "The veilroute developers"
copyright = "The veilroute developers, MIT licence"
version = release = veilroute.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.doctest", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"veilroute {release}"
html_show_sourcelink = False
# No page loads anything from elsewhere: opening one must not tell a third party that you read it.

default_role = "code"

napoleon_google_docstring = False
napoleon_attr_annotations = False
napoleon_use_param = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
# Signatures name types as the source does: `Label` and not what it stands for.
autodoc_typehints = "signature"
_ALIASES = (
    "Block Bytes Classes CostArray Floats Group Hops IndexArray Indices InstanceKey Label Links Masks "
    "Members Positions Prices ProgressCallback Relation Step Visibility Walk Words npt.ArrayLike npt.NDArray"
)
autodoc_type_aliases = {name: name for name in _ALIASES.split()}
# Inside brackets Sphinx shows how it keeps an alias, and not the alias.
TypeAliasForwardRef.__repr__ = lambda alias: alias.name
python_use_unqualified_type_names = True
maximum_signature_line_length = 100

# Error messages are part of what the examples show, so they are compared as well (Sphinx would ignore them).
doctest_default_flags = doctest.ELLIPSIS | doctest.DONT_ACCEPT_TRUE_FOR_1
# Every page's examples run in an empty directory of their own, where they may write files.
doctest_global_setup = """
import os, tempfile
_home, _folder = os.getcwd(), tempfile.TemporaryDirectory()
os.chdir(_folder.name)
import veilroute as vr
"""
doctest_global_cleanup = """
os.chdir(_home)
_folder.cleanup()
"""


def setup(app: Any) -> None:
    """Called by Sphinx before it reads the pages."""
    app.connect("builder-inited", _leave_kernels_uncompiled)
    app.connect("autodoc-process-docstring", _keep_colons, priority=400)
    app.connect("autodoc-process-signature", _shorten_factories)
    app.connect("autodoc-skip-member", _skip_fields)


def _leave_kernels_uncompiled(app: Any) -> None:
    """Show kernels as the plain functions that they are written as; only the examples need them compiled."""
    if app.builder.name != "doctest":
        import numba

        numba.config.DISABLE_JIT = True


def _keep_colons(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Napoleon, which runs after this, would take what stands before a colon for the type of an attribute."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]


def _shorten_factories(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Sphinx cannot parse the `<factory>` that a dataclass shows for a default made anew each time."""
    return signature and signature.replace("<factory>", "..."), returns


def _skip_fields(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Fields of a named tuple are described with its parameters; by themselves they say "Alias for field number 0"."""
    return True if type(obj).__name__ == "_tuplegetter" else None
