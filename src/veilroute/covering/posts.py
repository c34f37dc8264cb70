"""The posts of a set of candidates: all nodes from which one of them is watched, and distances between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veilroute.covering.sweeps import Sweeper
from veilroute.domain.graph import Domain
from veilroute.kernels.sweep import Floats, Indices


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
    watch_ptr: npt.NDArray[np.int64]
    watch_posts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, watchers: Sequence[Indices]) -> Posts:
        """Number the watchers of each candidate."""
        flat = np.concatenate(watchers) if watchers else np.empty(0, dtype=np.uint32)
        nodes, positions = np.unique(flat, return_inverse=True)
        ptr = np.zeros(len(watchers) + 1, dtype=np.int64)
        np.cumsum([w.size for w in watchers], out=ptr[1:])
        return cls(nodes, ptr, positions.reshape(-1).astype(np.int64))

    def posts_of(self, candidate: int) -> npt.NDArray[np.int64]:
        """The posts of one candidate, ascending."""
        return self.watch_posts[self.watch_ptr[candidate] : self.watch_ptr[candidate + 1]]

    def subset(self, candidates: Sequence[int]) -> tuple[Posts, npt.NDArray[np.int64]]:
        """The posts of some of the candidates, and their positions among all posts."""
        lists = [self.posts_of(i) for i in candidates]
        kept, positions = np.unique(np.concatenate(lists), return_inverse=True)
        ptr = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([w.size for w in lists], out=ptr[1:])
        return Posts(self.nodes[kept], ptr, positions.reshape(-1).astype(np.int64)), kept


def distance_table(domain: Domain, posts: Posts) -> Floats:
    """Distance from every post to every post, in the sweeper's units, by one sweep per post."""
    sweeper = Sweeper(domain, backward=False, num_seeds=1)
    table = np.empty((posts.nodes.size, posts.nodes.size))
    for i, node in enumerate(posts.nodes.tolist()):
        table[i] = sweeper.run(node)[posts.nodes]
    return table
