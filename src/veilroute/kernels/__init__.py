"""Numba kernels: arrays in, arrays out, no objects.

Conventions shared by all of them: graphs are CSR rows with ``uint32`` node numbers, distances that are not reached
are infinite, sets of candidates are bit masks in ``int64``. Nothing depends on the order of threads: where there are
several, each has its own memory and writes its own rows.

Nothing here is for users: `covering` and `partition` call the kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.kernels.astar import Estimator, estimate_state
    from veilroute.kernels.day_tours import join_tours
    from veilroute.kernels.flows import narrow_cuts
    from veilroute.kernels.jit import ready_seconds, specialise
    from veilroute.kernels.regroup import Tours
    from veilroute.kernels.subsets import count_bits
    from veilroute.kernels.touring import gather_class

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__: list[str] = []
