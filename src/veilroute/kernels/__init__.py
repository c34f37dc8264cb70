"""Numba kernels: arrays in, arrays out, no objects.

Conventions shared by all of them: graphs are CSR rows with ``uint32`` node numbers, distances that are not reached
are infinite, sets of candidates are bit masks in ``int64``, and nothing depends on the order of threads because
there is only one.
"""
