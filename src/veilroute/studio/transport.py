"""Connections to the studio's server, of which none may be slow for ever.

The library below closes a connection on which nothing more is asked. What it does not do is to close one on which a
request never comes to the end of its headers, which is how a few clients could keep all others out.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

_HEADERS_S = 15.0
_LOOK_EVERY_S = 5.0


class PatientProtocol(H11Protocol):
    """A connection that is closed when a request takes too long to arrive."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch."""
        super().connection_made(transport)
        self._answered: Any = None
        self._idle_since = self.loop.time()
        self._look_timer = self.loop.call_later(_LOOK_EVERY_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch no more."""
        self._look_timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close the connection when nothing is being answered, and nothing was, for too long."""
        now = self.loop.time()
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering or self.cycle is not self._answered:
            self._answered, self._idle_since = self.cycle, now
        if now - self._idle_since > _HEADERS_S:
            self.transport.close()
            return
        self._look_timer = self.loop.call_later(_LOOK_EVERY_S, self._look)
