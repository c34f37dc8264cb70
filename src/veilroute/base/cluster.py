"""A Dask cluster that is there already: how to join it, who works there, and how to leave it.

Whoever starts a cluster decides whom it trusts: its workers get what they are to work on and send back what they like.
A public plan is all that ever goes there. Dask itself hands the work of a lost worker to another.
"""

import logging
import math
import time
from contextlib import suppress
from importlib import import_module
from typing import Any

from veilroute.base.errors import InvalidInputError, MissingExtraError

CONNECT_S = 5.0  #: how long to wait for a Dask scheduler, and then for its first worker
_COUNT_EVERY_S = 2.0


class Cluster:
    """The workers of a Dask cluster; each needs veilroute installed.

    The address is the scheduler's, as ``tcp://10.0.0.5:8786``. To connect either succeeds or says in one line why not.
    """

    def __init__(self, address: str, name: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise MissingExtraError("dask.distributed", "cluster") from None
        self.address = address
        self._nthreads: dict[str, int] = {}
        self._counted_at_s = -math.inf
        connect: Any = Client
        try:
            self.client: Any = connect(address, timeout=CONNECT_S, set_as_default=False, name=name)
        except (OSError, ValueError, TypeError) as error:
            expected = f"the address of a running Dask scheduler ({first_line(error)})"
            raise InvalidInputError("--dask", expected, address) from None
        try:
            self._check_workers()
        except BaseException:
            self.close()
            raise

    def _check_workers(self) -> None:
        """Refuse a cluster without workers, and one whose workers do not have this veilroute.

        A worker that cannot import veilroute would end when it is handed a job, and its jobs would wander on.
        """
        try:
            self.client.wait_for_workers(1, timeout=CONNECT_S)
        except OSError:
            expected = f"a cluster with workers; start some with 'dask worker {self.address}'"
            raise InvalidInputError("--dask", expected, "none") from None

        def ask() -> str:
            return str(import_module("veilroute").__version__)

        own = ask()
        # A function inside a function travels whole, and not as a name to import.
        for worker, answer in sorted(self.client.run(ask, on_error="return").items()):
            if answer != own:
                found = first_line(answer) if isinstance(answer, BaseException) else f"veilroute {answer}"
                expected = f"workers with veilroute {own}; install it at {worker}"
                raise InvalidInputError("--dask", expected, found)

    @property
    def num_workers(self) -> int:
        """How many workers are there now, perhaps none: they may come and go."""
        return len(self._count())

    @property
    def num_threads(self) -> int:
        """How many threads these workers have."""
        return sum(self._count().values())

    def _count(self) -> dict[str, int]:
        if time.monotonic() - self._counted_at_s > _COUNT_EVERY_S:
            with suppress(OSError, RuntimeError):  # the jobs will tell when the scheduler is gone
                self._nthreads = dict(self.client.nthreads())
            self._counted_at_s = time.monotonic()
        return self._nthreads

    def close(self) -> None:
        """Leave the cluster, which goes on for others."""
        with suppress(Exception):  # it may be gone
            self.client.close(timeout=CONNECT_S)


def hush_dask() -> None:
    """Keep Dask's own log off the screen: what matters of a lost worker or scheduler is said in our words."""
    with suppress(ImportError):
        import distributed  # noqa: F401
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL + 1)


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
