"""Which turns a walk may not make: banned stretches of nodes, and turning round.

A walk is legal when no stretch of it is banned and it never goes back to the node that it has just come from, except
where that is allowed. This is data, and the definition of it on single walks; planners search for legal walks
(:mod:`veilroute.covering.states`), and the auditor checks them with code of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from veilroute.base.arrays import Ints
from veilroute.base.checks import check_finite, check_list, check_name, is_whole
from veilroute.base.errors import InvalidInputError
from veilroute.domain.graph import Domain, Label, label_text, plain_label

U_TURNS = ("never", "dead-ends", "allow")
"""Where one may turn round: nowhere; where no other street leads on; everywhere."""

Stretch = tuple[int, ...]


@dataclass(frozen=True)
class Turns:
    """The rules for going on at a node; nodes are numbers of the domain."""

    u_turns: str = "dead-ends"  #: one of :data:`U_TURNS`
    u_turn_cost: float = 0.0  #: what turning round costs beside the edges, where it is allowed
    #: Stretches of three nodes or more that no walk may have in it, ascending and each once: "from, via, to" of a turn
    #: restriction, with all the nodes between where a way is to be passed.
    banned: tuple[Stretch, ...] = ()

    @classmethod
    def of(cls, u_turns: str = "dead-ends", banned: Iterable[Sequence[int]] = (), u_turn_cost: float = 0.0) -> Turns:
        """Rules in plain values, each stretch once."""
        check_name("turns.u_turns", u_turns, U_TURNS)
        check_finite("turns.u_turn_cost", u_turn_cost, least=0)
        stretches = sorted({tuple(int(node) for node in stretch) for stretch in banned})
        return cls(u_turns, float(u_turn_cost), tuple(stretches))

    @property
    def is_free(self) -> bool:
        """Whether every walk is legal, and turning round costs nothing."""
        return self.u_turns == "allow" and not self.banned and not self.u_turn_cost

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        data: dict[str, Any] = {"u_turns": self.u_turns, "banned": [list(stretch) for stretch in self.banned]}
        return data | ({"u_turn_cost": self.u_turn_cost} if self.u_turn_cost else {})


def turns_from_dict(data: Any) -> Turns:
    """Read what :meth:`Turns.to_dict` wrote, or raise naming what is wrong."""
    if not isinstance(data, dict) or not {"u_turns"} <= set(data) <= {"u_turns", "u_turn_cost", "banned"}:
        raise InvalidInputError("turns", "an object with u_turns and banned", data)
    stretches = check_list("turns.banned", data.get("banned", []))
    for stretch in stretches:
        if not isinstance(stretch, list) or not all(is_whole(node, 0, 2**31) for node in stretch):
            raise InvalidInputError("turns.banned", "lists of three nodes or more", stretch)
    return Turns.of(data["u_turns"], stretches, data.get("u_turn_cost", 0.0))


def also_from_list(data: Any) -> list[tuple[Label, int]]:
    """Further labels of nodes, as they stand in a JSON file."""
    pairs = check_list("also", data)
    if not all(isinstance(pair, list) and len(pair) == 2 and is_whole(pair[1], 0, 2**31) for pair in pairs):
        raise InvalidInputError("also", "pairs of a label and a node")
    return [(plain_label(label, field="also"), node) for label, node in pairs]


def with_rules(domain: Domain, turns: Turns | None, also: Sequence[tuple[Label, int]] | None = None) -> Domain:
    """The domain with rules for turns and, where they are given, with other further labels of its nodes; checked."""
    if turns is not None and turns.is_free:
        turns = None
    ruled = replace(domain, turns=turns, also=domain.also if also is None else tuple(also))
    if turns is not None:
        _check_banned(ruled, turns)
    if also:
        _check_labels(ruled)
    return ruled


def _check_labels(domain: Domain) -> None:
    """Raise when further labels are not told from others, as text, or name no node."""
    if domain.labels is None:
        raise InvalidInputError("also", "a domain whose nodes have labels")
    further = [(plain_label(label, field="also"), node) for label, node in domain.also]
    if not all(is_whole(node, 0, domain.num_nodes - 1) for _, node in further):
        raise InvalidInputError("also", f"labels with nodes from 0 to {domain.num_nodes - 1}")
    texts = {label_text(label) for label, _ in further}
    if len(texts) < len(further) or any(label_text(label) in texts for label in domain.labels):
        raise InvalidInputError("also", "labels that differ as text")


def _check_banned(domain: Domain, turns: Turns) -> None:
    """Raise when a banned stretch of a domain is no walk on it."""
    sizes = np.array([len(stretch) for stretch in turns.banned], dtype=np.int64)
    if not sizes.size:
        return
    if int(sizes.min()) < 3:
        raise InvalidInputError("turns.banned", "stretches of three nodes or more")
    nodes = np.concatenate([np.array(stretch, dtype=np.int64) for stretch in turns.banned])
    if int(nodes.min()) < 0 or int(nodes.max()) >= domain.num_nodes:
        raise InvalidInputError("turns.banned", f"nodes from 0 to {domain.num_nodes - 1}")
    steps = np.ones(nodes.size, dtype=np.bool_)
    steps[np.cumsum(sizes) - 1] = False
    firsts = np.flatnonzero(steps)
    if (edge_numbers(domain, nodes[firsts], nodes[firsts + 1]) < 0).any():
        raise InvalidInputError("turns.banned", "stretches along edges")


def edge_numbers(domain: Domain, tails: npt.ArrayLike, heads: npt.ArrayLike) -> Ints:
    """The number of the edge between each two nodes, in the order of :meth:`Domain.edge_arrays`; -1 without one."""
    all_tails, all_heads, _ = domain.edge_arrays()
    if not all_tails.size:
        return np.full(np.size(tails), -1, dtype=np.int64)
    keys = all_tails * domain.num_nodes + all_heads
    wanted = np.asarray(tails, dtype=np.int64) * domain.num_nodes + np.asarray(heads, dtype=np.int64)
    spots = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[spots] == wanted, spots, -1)


def without_missing(domain: Domain, turns: Turns | None) -> Turns | None:
    """Rules for whoever starts on a domain that lacks some edges of the one they were made for; nodes are the same."""
    if turns is None or not turns.banned:
        return turns
    steps = np.array([step for stretch in turns.banned for step in pairwise(stretch)], dtype=np.int64)
    firsts = np.cumsum([0, *(len(stretch) - 1 for stretch in turns.banned[:-1])])
    is_there = np.logical_and.reduceat(edge_numbers(domain, steps[:, 0], steps[:, 1]) >= 0, firsts)
    kept = [stretch for stretch, is_kept in zip(turns.banned, is_there.tolist(), strict=True) if is_kept]
    return Turns(turns.u_turns, turns.u_turn_cost, tuple(kept))
