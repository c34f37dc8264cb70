"""The command line: one module per command; the only room that prints or exits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names
from veilroute.cli.main import main

if TYPE_CHECKING:
    from veilroute.cli.console import (
        TimeLimit,
        describe_best,
        gap_text,
        live_progress,
        polite_interrupt,
        read_time_limit,
    )
    from veilroute.cli.keys import option_of
    from veilroute.cli.main import COMMANDS, SHOWN, find_app, run
    from veilroute.cli.maps import app
    from veilroute.cli.route import SENTENCES
    from veilroute.cli.serve import write_down_address
    from veilroute.cli.summaries import headline

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = ["main"]
