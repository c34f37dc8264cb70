"""How exactly lengths are compared.

Adding the same floating-point costs in another order can change the last bits, so a distance within a billionth
(relative) of a bound counts as equal to it, for planning and auditing alike. Integer costs are exact either way.
"""

from __future__ import annotations

RELATIVE = 1e-9


def at_most(bound: float) -> float:
    """The largest length that counts as ``<= bound``."""
    return bound * (1 + RELATIVE)


def at_least(bound: float) -> float:
    """The smallest length that counts as ``>= bound``."""
    return bound * (1 - RELATIVE)
