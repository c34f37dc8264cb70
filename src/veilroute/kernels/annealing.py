"""Few large classes made better by moving and swapping single members, at random, by simulated annealing.

Each class has a walk, kept as the order of its members. A member leaves its place in one walk and joins another one
where that makes it least longer. What makes the plan worse is accepted with a chance that falls as time goes on.
"""

import math
from typing import NamedTuple

import numpy as np

from veilroute.base.arrays import Flags, Floats, Ints
from veilroute.kernels.extension import has_clique
from veilroute.kernels.jit import inner, jit
from veilroute.kernels.touring import detour, insert, length_of, shorten

_MULTIPLIER = 48271
_MODULUS = 2147483647


class Plan(NamedTuple):
    """Classes that are being changed."""

    orders: Ints  # by class: its members in the order of its walk
    sizes: Ints
    lengths: Floats
    weights: Floats  # of all members of a class
    class_of: Ints  # by member


@inner
def _qualifies(order: Ints, size: int, gone: int, come: int, k: int, far: Flags, far_of: Ints) -> bool:
    """Whether k of a class stand apart, once one member has left and another has come; -1 for nobody."""
    num = 0
    for i in range(size + 1):
        a = come if i == size else order[i]
        if a < 0 or a == gone:
            continue
        far_of[num] = 0
        before = 0
        for j in range(i):
            b = order[j]
            if b == gone:
                continue
            if far[a, b]:
                far_of[num] |= 1 << before
                far_of[before] |= 1 << num
            before += 1
        num += 1
    return num >= k and has_clique(far_of, (1 << num) - 1, k)


@inner
def _best_place(
    order: Ints, size: int, gone: int, x: int, from_start: Floats, to_goal: Floats, between: Floats
) -> tuple[float, int]:
    """How much longer a walk gets by x, and before which place, when the ``gone``-th has left it; -1 if nobody has."""
    least, place = np.inf, 0
    for j in range(size + 1):
        if j == gone:
            continue
        before = j - 1 if j - 1 != gone or gone < 0 else j - 2
        a, b = (order[before] if before >= 0 else -1), (order[j] if j < size else -1)
        more = detour(a, x, b, from_start, to_goal, between)
        if more < least:
            least, place = more, j
    return least, place


@inner
def _take_out(plan: Plan, c: int, at: int, less: float, weights: Floats) -> None:
    """A member leaves its class."""
    plan.weights[c] -= weights[plan.orders[c, at]]
    for i in range(at, plan.sizes[c] - 1):
        plan.orders[c, i] = plan.orders[c, i + 1]
    plan.sizes[c] -= 1
    plan.lengths[c] -= less


@inner
def _put_in(plan: Plan, c: int, at: int, x: int, more: float, weights: Floats) -> None:
    """A member joins a class."""
    insert(plan.orders[c], plan.sizes[c], at, x)
    plan.sizes[c] += 1
    plan.lengths[c] += more
    plan.weights[c] += weights[x]
    plan.class_of[x] = c


@jit
def anneal(
    plan: Plan, best: Plan, k: int, weights: Floats, far: Flags, partners: Ints, from_start: Floats, to_goal: Floats,
    between: Floats, draw: int, num_steps: int, hottest: float, coldest: float, far_of: Ints,
) -> float:  # fmt: skip
    """Change the plan, and write the best one that came up; returns what its walks cost, times the weights.

    All members are in classes that qualify. ``partners`` are those that a member may do well with. ``hottest`` and
    ``coldest`` are temperatures.
    """
    num, room = weights.size, plan.orders.shape[1]
    num_classes = plan.sizes.size
    total = 0.0
    for c in range(num_classes):
        total += plan.lengths[c] * plan.weights[c]
    least = total
    for step in range(num_steps):
        draw = draw * _MULTIPLIER % _MODULUS
        x = draw % num
        draw = draw * _MULTIPLIER % _MODULUS
        y = partners[x, draw % partners.shape[1]]
        draw = draw * _MULTIPLIER % _MODULUS
        is_swap = draw % 2 == 0
        c = plan.class_of[x]
        d = plan.class_of[y] if y >= 0 else c
        if c == d or (not is_swap and plan.sizes[d] == room):
            continue
        temperature = hottest * (coldest / hottest) ** (step / num_steps)
        at = 0
        while plan.orders[c, at] != x:
            at += 1
        # Who leaves the other class for this one, where two are swapped: somebody at random.
        other, z = -1, -1
        if is_swap:
            draw = draw * _MULTIPLIER % _MODULUS
            other = draw % plan.sizes[d]
            z = plan.orders[d, other]
        a = plan.orders[c, at - 1] if at > 0 else -1
        b = plan.orders[c, at + 1] if at + 1 < plan.sizes[c] else -1
        less = detour(a, x, b, from_start, to_goal, between)
        length_c, weight_c = plan.lengths[c] - less, plan.weights[c] - weights[x]
        length_d, weight_d = plan.lengths[d], plan.weights[d] + weights[x]
        less_z = more_z = 0.0
        place_z = 0
        if is_swap:
            a = plan.orders[d, other - 1] if other > 0 else -1
            b = plan.orders[d, other + 1] if other + 1 < plan.sizes[d] else -1
            less_z = detour(a, z, b, from_start, to_goal, between)
            more_z, place_z = _best_place(plan.orders[c], plan.sizes[c], at, z, from_start, to_goal, between)
            length_c += more_z
            weight_c += weights[z]
            length_d -= less_z
            weight_d -= weights[z]
        more, place = _best_place(plan.orders[d], plan.sizes[d], other, x, from_start, to_goal, between)
        length_d += more
        change = length_c * weight_c + length_d * weight_d
        change -= plan.lengths[c] * plan.weights[c] + plan.lengths[d] * plan.weights[d]
        draw = draw * _MULTIPLIER % _MODULUS
        if not change <= -temperature * math.log((draw + 0.5) / _MODULUS):
            continue
        if not _qualifies(plan.orders[c], plan.sizes[c], x, z, k, far, far_of):
            continue
        if is_swap and not _qualifies(plan.orders[d], plan.sizes[d], z, x, k, far, far_of):
            continue
        _take_out(plan, c, at, less, weights)
        if is_swap:
            _take_out(plan, d, other, less_z, weights)
            _put_in(plan, c, place_z - (1 if place_z > at else 0), z, more_z, weights)
        _put_in(plan, d, place - (1 if is_swap and place > other else 0), x, more, weights)
        total += change
        if total < least * (1 - 1e-9):
            # The walks of both may be shorter in another order.
            total = 0.0
            for e in range(num_classes):
                if e in (c, d):
                    plan.lengths[e] = shorten(plan.orders[e], plan.sizes[e], from_start, to_goal, between)
                plan.lengths[e] = length_of(plan.orders[e], plan.sizes[e], from_start, to_goal, between)
                total += plan.lengths[e] * plan.weights[e]
            least = total
            for e in range(num_classes):
                best.sizes[e] = plan.sizes[e]
                for i in range(plan.sizes[e]):
                    best.orders[e, i] = plan.orders[e, i]
    return least
