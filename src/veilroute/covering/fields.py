"""Fields: the cheapest walks to every post that cover a set, for many sets at once (theory, section 4)."""

from __future__ import annotations

from veilroute.covering.posts import Posts
from veilroute.covering.sweeps import Sweeper
from veilroute.kernels.subsets import Masks, advance_by_sweeps, advance_by_table
from veilroute.kernels.sweep import Floats


class FieldStepper:
    """Advances fields from sets of one size to sets of the next.

    Parameters
    ----------
    posts
        Where fields are kept.
    transport
        A :class:`Sweeper` over the domain, or the table of distances from each post (row) to each.
    """

    def __init__(self, posts: Posts, transport: Sweeper | Floats) -> None:
        self.posts = posts
        self.transport = transport

    def advance(self, masks: Masks, rows: Masks, previous: Floats, out: Floats) -> None:
        """Write the fields of ``masks`` to ``out``; ``previous[rows[S]]`` is that of each set S one smaller."""
        watch = (self.posts.watch_ptr, self.posts.watch_posts)
        match self.transport:
            case Sweeper() as sweeper:
                advance_by_sweeps(
                    masks, rows, previous, *watch, self.posts.nodes,
                    sweeper.by_hops, sweeper.indptr, sweeper.indices, sweeper.costs,
                    sweeper.distances, sweeper.towards, sweeper.heap_keys, sweeper.heap_nodes, sweeper.hops, out,
                )  # fmt: skip
            case table:
                advance_by_table(masks, rows, previous, *watch, table, out)
