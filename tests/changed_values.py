"""Some JSON with one value changed at random, as a forger or a fault would."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any


def slots(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in some JSON at which a value stands: what holds it, and under which key."""
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], dict | list):
            yield from slots(data[key])


def mutate(rng: Random, data: Any, labels: list[Any]) -> None:
    """Change one value somewhere, a little or wholly, or leave something out, or put it there twice."""
    holder, key = rng.choice(list(slots(data)))
    value = holder[key]
    ways: list[Callable[[], Any]] = [lambda: rng.choice(labels), lambda: None, list]
    if isinstance(value, bool):
        ways = [lambda: not value]
    elif isinstance(value, int | float):
        ways += [
            lambda: value + rng.choice([-1, 1]),
            lambda: value * (1 + rng.choice([1e-6, -1e-6, 0.5])),
            lambda: -value,
        ]
    elif isinstance(value, list) and value:
        at = rng.randrange(len(value))
        ways += [
            lambda: value[:at] + value[at + 1 :],
            lambda: [*value[:at], value[at], *value[at:]],
            lambda: value[::-1],
            lambda: rng.sample(value, len(value)),
            lambda: [*value[:at], rng.choice(labels), *value[at + 1 :]],
            lambda: [*value, rng.choice(labels)],
        ]
    elif isinstance(value, str):
        ways += [lambda: value[::-1], lambda: rng.choice(["go-on", "give-up", "fit", "broken", "stuck", "optimal"])]
    if rng.random() < 0.1:
        if isinstance(holder, dict) and rng.random() < 0.5:
            del holder[key]
        elif isinstance(holder, dict):
            holder[rng.choice(["mark", "closed_nodes", "closed_one_way", "seen"])] = copy.deepcopy(value)
        else:
            del holder[key]
    else:
        holder[key] = copy.deepcopy(rng.choice(ways)())
