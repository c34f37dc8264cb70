"""How exactly lengths are compared.

Adding the same floating-point costs in another order can change the last bits, so a distance within a billionth
(relative) of a bound counts as equal to it, for planning and auditing alike. Integer costs are compared exactly.
"""

from __future__ import annotations

RELATIVE = 1e-9
_ROUNDING = 1e-12


def at_most(bound: float, *, exact: bool) -> float:
    """The largest length that counts as ``<= bound``; ``exact`` where lengths are sums of integers."""
    return bound if exact else bound * (1 + RELATIVE)


def at_least(bound: float, *, exact: bool) -> float:
    """The smallest length that counts as ``>= bound``; ``exact`` where lengths are sums of integers."""
    return bound if exact else bound * (1 - RELATIVE)


def choice_margin(*, exact: bool) -> float:
    """Factor of the best so far that a later choice must stay below to be preferred, so that rounding never chooses."""
    return 1.0 if exact else 1 - _ROUNDING
