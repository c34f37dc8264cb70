"""The dispatcher: from the classes that are touched to a day of tours past every member of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from veilroute.days import Day, Terms
from veilroute.playbook import Playbook
from veilroute.progress import ProgressCallback, Watch


def dispatch(
    playbook: Playbook,
    touched: Iterable[int],
    terms: Terms,
    *,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Day:
    """Plan tours that visit every member of every touched class.

    Orders are no argument: two days whose orders touch the same classes are the same day, byte for byte.

    Parameters
    ----------
    playbook
        A playbook that is not randomised.
    touched
        Numbers of classes among :attr:`Playbook.hidden_classes`, from 1, in any order.
    terms
        What is public about the day.
    progress, should_stop
        As in :func:`veilroute.solve`.

    Raises
    ------
    InvalidInputError
        No day keeps the terms, or none was found; it says which of them are in the way.
    """
    # Here and not at the top, because compiling kernels would make `import veilroute` slow.
    from veilroute.fleet.tours import plan_day

    return plan_day(playbook, touched, terms, watch=Watch(progress, None, should_stop))
