"""What keys of requests are called on the command line, and messages in which they are."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from functools import cache

from cyclopts import Group

#: Options that are not called like their key, or like it in one part of a request only. People are told the first name.
NAMES = {
    "k": ("-k",),
    "apart": ("--apart", "--ell"),
    "apart_measure": ("--apart-measure", "--ell-measure"),
    "until": ("--until", "--m"),
    "stops.at": ("--at", "--snap"),
    "warn_beyond": ("--warn-beyond", "--snap-warning"),
    "seen_within": ("--seen-within", "--radius"),
    "seen_measure": ("--seen-measure", "--radius-measure"),
    "line_of_sight": ("--line-of-sight", "--sight"),
    "purpose": ("--for",),
    "workers": ("--workers", "--dask"),
    "file": ("--ledger",),
    "ledger": ("--ledger",),
    "out": ("--out", "-o"),
    "playbook": ("PLAYBOOK",),
    "number": ("--class",),
    "is_open": ("--open",),
    "pad_to": ("--pad-to", "--classes"),
    "today": ("--playbook",),
}


def names_of(key: str, part: str = "") -> tuple[str, ...]:
    """How a key is typed on the command line: all names of its option."""
    return NAMES.get(f"{part}.{key}") or NAMES.get(key) or ("--" + key.replace("_", "-"),)


def option_of(key: str) -> str:
    """What people are told that a key is called."""
    return names_of(key)[0]


#: What stands before a key in a message: a part of a request, or the object that refused the value; or nothing.
_PARTS = ("", "problem", "privacy", "stops", "grid", "method", "ledger", "Privacy", "Problem", "Terms")


@cache
def known_keys() -> frozenset[str]:
    """All keys of requests, by which errors name what is wrong."""
    from veilroute.app import requests

    kinds = [kind for kind in vars(requests).values() if inspect.isclass(kind) and is_dataclass(kind)]
    return frozenset(each.name for kind in kinds for each in fields(kind)) | {"options", "domain", "reruns"}


def as_typed(message: str) -> str:
    """A message in which keys are called like the options that were typed."""
    field, colon, rest = message.partition(": ")
    part, _, key = field.rpartition(".")
    if colon and key in known_keys() and part in _PARTS:
        message = f"{option_of(key)}: {rest}"
    return re.sub(r"`([a-z_]+)`", lambda match: option_of(match[1]) if match[1] in known_keys() else match[0], message)


@cache
def heading(name: str) -> Group:
    """The group of options under this heading, in the order of the headings of `plan`."""
    order = ("Problem", "Privacy", "Ledger", "Method", "Output", "More")
    return Group(name, sort_key=order.index(name) if name in order else len(order))
