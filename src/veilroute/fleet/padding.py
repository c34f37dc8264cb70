"""Classes that are driven for show: how many hold an order stays hidden, and so does in part which.

Dummies are the first classes of a private order that are not touched. With a key each class has its place by a number
that depends on the key, the ends of the trips, the members of the class and an occasion, and on nothing else: days that
touch the same classes on one occasion show the same classes, whatever else is new in the playbook's file.
Which occasion to use depends on what an observer may link (docs/theory, :ref:`theory-fleets`).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from veilroute.base.errors import InvalidInputError
from veilroute.base.keys import Key, occasion_bytes
from veilroute.model.day import Terms
from veilroute.model.playbook import Playbook

_PADDING = b"veilroute-padding/2"
_RANKS = 2**255


def pad(
    playbook: Playbook, touched: Iterable[int], terms: Terms, *, key: Key | None = None, occasion: str = ""
) -> tuple[int, ...]:
    """The classes to drive: those touched, those that are driven always, and dummies, as many as the terms ask for.

    Parameters
    ----------
    playbook
        A playbook that is not randomised.
    touched
        Numbers of the classes that hold an order; there may be none.
    terms
        ``always`` says which classes are driven every day, ``pad_to`` how many in all.
    key
        A private key: dummies are then the same whenever key, occasion and touched classes are. Without one they are
        drawn anew each time, by the operating system's randomness.
    occasion
        Another one gives other dummies. Keep it while the same orders may come again; see docs/fleet.

    Returns
    -------
    tuple of int
        Numbers of classes, ascending. Which of them are dummies is said nowhere.

    Raises
    ------
    InvalidInputError
        More classes have to be driven than ``pad_to``, or than there are. How many are touched is not said.
    """
    # Here and not at the top, because compiling kernels would make `import veilroute` slow.
    from veilroute.fleet.tours import touched_groups

    real, last = touched_groups(playbook, touched), len(playbook.hidden_classes)
    if terms.always and max(terms.always) > last:
        raise InvalidInputError("always", f"class numbers from 1 to {last}", max(terms.always))
    driven = {*real, *terms.always}
    if terms.pad_to is None:
        return tuple(sorted(driven))
    if terms.pad_to > last:
        raise InvalidInputError("pad_to", f"at most {last}, the number of classes", terms.pad_to)
    if len(set(terms.always)) > terms.pad_to:
        expected = f"at least {len(set(terms.always))}, the number of classes that are always driven"
        raise InvalidInputError("pad_to", expected, terms.pad_to)
    if len(driven) > terms.pad_to:
        expected = f"a number up to {last} that no day exceeds; today more classes have to be driven"
        raise InvalidInputError("pad_to", expected, terms.pad_to)
    dummies = [number for number in _private_order(playbook, key, occasion) if number not in driven]
    return tuple(sorted([*driven, *dummies[: terms.pad_to - len(driven)]]))


def _private_order(playbook: Playbook, key: Key | None, occasion: str) -> list[int]:
    """All classes in an order that is uniform to whoever does not have the key."""
    ranks = {}
    for number, group in enumerate(playbook.hidden_classes, start=1):
        about = playbook.draw_subject([group])
        below = secrets.randbelow if key is None else key.numbers(_PADDING, about, occasion_bytes(occasion))
        ranks[number] = below(_RANKS)
    return sorted(ranks, key=ranks.__getitem__)
