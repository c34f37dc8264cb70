"""Positions for graphs without coordinates."""

from __future__ import annotations

import numpy as np

from veilroute.arrays import Ints, Points
from veilroute.domain.graph import Domain

_NUM_PIVOTS = 48
_POLISH_UP_TO = 400
_POLISH_ROUNDS = 120


def lay_out(domain: Domain) -> Points:
    """Place the nodes so that distances on paper resemble numbers of steps, directions and costs aside.

    Pivot MDS (Brandes and Pich, 2006) from up to 48 pivots, each the furthest from those before; graphs of up to
    400 nodes are then polished by stress majorization (Gansner, Koren and North, 2004). Nothing is random and no
    library is needed, so a graph looks the same everywhere. Parts that are not connected stand apart.
    """
    num_nodes = domain.num_nodes
    if num_nodes == 1:
        return np.zeros((1, 2))
    neighbours = _undirected_rows(domain)
    num_pivots = num_nodes if num_nodes <= _POLISH_UP_TO else _NUM_PIVOTS
    steps = _steps_from_pivots(neighbours, num_pivots)
    points = _pivot_mds(steps)
    if num_pivots == num_nodes:
        points = _majorize(points, steps)
    return points


def _undirected_rows(domain: Domain) -> tuple[Ints, Ints]:
    tails, heads, _ = domain.edge_arrays()
    both = np.unique(np.stack([np.concatenate([tails, heads]), np.concatenate([heads, tails])]), axis=1)
    indptr = np.zeros(domain.num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(both[0], minlength=domain.num_nodes), out=indptr[1:])
    return indptr, both[1]


def _steps_from_pivots(rows: tuple[Ints, Ints], num_pivots: int) -> Points:
    """Numbers of steps, one column per pivot; with as many pivots as nodes, column ``i`` belongs to node ``i``."""
    num_nodes = rows[0].size - 1
    columns: list[Ints] = []
    nearest = np.full(num_nodes, num_nodes, dtype=np.int64)
    for number in range(num_pivots):
        pivot = number if num_pivots == num_nodes else int(nearest.argmax()) if number else 0
        column = _steps_from(rows, pivot)
        columns.append(column)
        nearest = np.minimum(nearest, np.where(column < 0, num_nodes, column))
    steps = np.stack(columns, axis=1).astype(np.float64)
    steps[steps < 0] = steps.max() * 1.25 + 1.0
    return steps


def _steps_from(rows: tuple[Ints, Ints], root: int) -> Ints:
    """Breadth-first numbers of steps, -1 where there is no way."""
    indptr, indices = rows
    steps = np.full(indptr.size - 1, -1, dtype=np.int64)
    front = np.array([root])
    steps[root] = depth = 0
    while front.size:
        depth += 1
        ahead = np.concatenate([indices[indptr[node] : indptr[node + 1]] for node in front.tolist()])
        front = np.unique(ahead[steps[ahead] < 0])
        steps[front] = depth
    return steps


def _pivot_mds(steps: Points) -> Points:
    squares = steps**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    points = -0.5 * centred @ axes[:2].T
    if points.shape[1] < 2:
        points = np.column_stack([points, np.zeros(len(points))])
    # The sign of a singular vector is arbitrary: let the first node be left of and above the middle.
    points = points * np.where(points[0] * (-1.0, 1.0) < 0, -1.0, 1.0)
    length = float(np.abs(points[:, 0]).max())
    scaled = points * (steps.max() / 2 / length) if length > 0 else points
    return np.asarray(scaled, dtype=np.float64)


def _majorize(points: Points, steps: Points) -> Points:
    """Move every node to the weighted mean of where the others want it, again and again."""
    num_nodes = len(points)
    wanted = np.where(steps > 0, steps, 1.0)
    weights = 1.0 / wanted**2
    np.fill_diagonal(weights, 0.0)
    # Nodes with the same neighbours start on one spot and would stay there; a small turn of the clock parts them.
    angles = np.arange(num_nodes) * 2.399963
    points = points + 1e-3 * np.column_stack([np.cos(angles), np.sin(angles)])
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(_POLISH_ROUNDS):
        apart = points[:, None, :] - points[None, :, :]
        lengths = np.sqrt((apart**2).sum(axis=2))
        pull = weights * wanted / np.where(lengths > 1e-9, lengths, 1.0)
        np.fill_diagonal(pull, 0.0)
        points = inverse @ (pull.sum(axis=1)[:, None] * points - pull @ points)
    return np.asarray(points, dtype=np.float64)
