"""The posts of a set of candidates: all nodes from which one of them is watched, and distances between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

import numpy as np

from veilroute.arrays import Floats, Indices, Ints
from veilroute.covering.sweeps import NearSweeper, Sweeper, num_threads
from veilroute.domain.graph import Domain
from veilroute.progress import Watch


@dataclass(frozen=True, eq=False)
class Posts:
    """Watchers of several candidates in one numbering.

    Parameters
    ----------
    nodes
        The posts, ascending.
    watch_ptr, watch_posts
        Candidate i is watched from the posts ``watch_posts[watch_ptr[i]:watch_ptr[i + 1]]``.
    """

    nodes: Indices
    watch_ptr: Ints
    watch_posts: Ints

    @classmethod
    def of(cls, watchers: Sequence[Indices]) -> Posts:
        """Number the watchers of each candidate."""
        flat = np.concatenate(watchers) if watchers else np.empty(0, dtype=np.uint32)
        nodes, positions = np.unique(flat, return_inverse=True)
        ptr = np.zeros(len(watchers) + 1, dtype=np.int64)
        np.cumsum([w.size for w in watchers], out=ptr[1:])
        return cls(nodes, ptr, positions.reshape(-1).astype(np.int64))

    def posts_of(self, candidate: int) -> Ints:
        """The posts of one candidate, ascending."""
        return self.watch_posts[self.watch_ptr[candidate] : self.watch_ptr[candidate + 1]]

    def subset(self, candidates: Sequence[int]) -> tuple[Posts, Ints]:
        """The posts of some of the candidates, and their positions among all posts."""
        lists = [self.posts_of(i) for i in candidates]
        kept, positions = np.unique(np.concatenate(lists), return_inverse=True)
        ptr = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([w.size for w in lists], out=ptr[1:])
        return Posts(self.nodes[kept], ptr, positions.reshape(-1).astype(np.int64)), kept


class PostTable:
    """Distances between all posts, by one sweep per post.

    Parameters
    ----------
    domain
        The world.
    posts
        Among which distances are wanted.
    order
        Which posts the rows and columns stand for; all, ascending, when left out.
    near
        What to sweep with where the posts are few and stand together.
    """

    def __init__(
        self,
        domain: Domain,
        posts: Posts,
        *,
        order: Ints | None = None,
        near: NearSweeper | None = None,
    ) -> None:
        self._domain = domain
        self._nodes = posts.nodes if order is None else posts.nodes[order]
        self._near = near
        num = self._nodes.size
        # From each post (row) to each, in the sweeper's units; rows are valid once they are done.
        self.distances: Floats = np.empty((num, num))
        self.num_done = 0

    def complete(self, watch: Watch) -> bool:
        """Make the sweeps that are missing; false when the time is over."""
        if self._near is not None:
            for row in range(self.num_done, self._nodes.size):
                self.distances[row] = self._near.values(self._nodes[row : row + 1], np.zeros(1), self._nodes)
            self.num_done = self._nodes.size
        if self.is_complete:
            return True
        first = Sweeper(self._domain, backward=False, num_seeds=1)
        # A thread for each core, with memory of its own; each writes other rows.
        num_left = self._nodes.size - self.num_done
        num = min(num_threads(), math.ceil(num_left / first.sweeps_per_look))
        sweepers = [first, *(Sweeper(self._domain, backward=False, num_seeds=1) for _ in range(num - 1))]
        with ThreadPoolExecutor(num) as pool:
            while self.num_done < self._nodes.size:
                if watch.is_over():
                    return False
                watch.tell("distances", self.num_done, self._nodes.size)
                ends = np.minimum(
                    self.num_done + first.sweeps_per_look * np.arange(1, num + 1), self._nodes.size
                ).tolist()
                begins = [self.num_done, *ends[:-1]]
                parts = [self.distances[begin:end] for begin, end in zip(begins, ends, strict=True)]
                if num == 1:
                    first.fill_rows(self._nodes, begins[0], parts[0])
                else:
                    list(pool.map(Sweeper.fill_rows, sweepers, repeat(self._nodes), begins, parts))
                self.num_done = ends[-1]
        return True

    def part(self, posts: Posts, rows: Ints) -> PostTable:
        """The distances between some of the posts, which stand in ``rows``, once complete."""
        table = PostTable(self._domain, posts)
        table.distances = self.distances[np.ix_(rows, rows)]
        table.num_done = posts.nodes.size
        return table

    @property
    def is_complete(self) -> bool:
        """Whether all distances are there."""
        return self.num_done == self._nodes.size

    @cached_property
    def transposed(self) -> Floats:
        """The distances to each post (row) from each, once complete."""
        return np.ascontiguousarray(self.distances.T)
