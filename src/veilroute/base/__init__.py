"""What every room stands on: errors, checks of values, files in and out, keys, registries, progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.base.errors import (
        BrokenPromiseError,
        DownloadError,
        FallsShortError,
        FileFormatError,
        ManyProblemsError,
        MissingExtraError,
        PluginError,
        TooLargeError,
        UnknownCandidateError,
        UnknownMethodError,
        UnsafeLedgerError,
    )
    from veilroute.base.keys import Key, new_key, read_key
    from veilroute.base.run import Incumbent, OutOfTimeError, Progress, Run, Watch

# Each is imported when it is wanted; what is for users is in __all__.
__getattr__ = lazy_names(__name__, __file__)

__all__ = [
    "BrokenPromiseError", "DownloadError", "FallsShortError", "FileFormatError", "Incumbent", "Key",
    "ManyProblemsError", "MissingExtraError", "OutOfTimeError", "PluginError", "Progress", "Run", "TooLargeError",
    "UnknownCandidateError", "UnknownMethodError", "UnsafeLedgerError", "Watch", "new_key", "read_key",
]  # fmt: skip
