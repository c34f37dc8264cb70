"""Numba kernels: arrays in, arrays out, no objects.

Conventions shared by all of them: graphs are CSR rows with ``uint32`` node numbers, distances that are not reached
are infinite, sets of candidates are bit masks in ``int64``. Nothing depends on the order of threads: where there are
several, each has its own memory and writes its own rows.

Nothing here is for users: `covering` and `partition` call the kernels.
"""

__all__: list[str] = []
