"""The studio's server: files, jobs and a page in the browser, on this machine.

Everything that computes runs in worker processes; the server itself keeps files and jobs, and hands out what is there.
The secret never comes here: the page picks the route of a secret by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names

if TYPE_CHECKING:
    from veilroute.studio.api import KINDS, Asked, openapi, plain, read_job, request_of
    from veilroute.studio.files import MOST_NAME, classify, clean_name
    from veilroute.studio.guard import OUR_FAULT, Guard, allowed_hosts
    from veilroute.studio.jobs import Limits, Supervisor
    from veilroute.studio.store import InUseError, Job, Store
    from veilroute.studio.tasks import Hall
    from veilroute.studio.worker import Attempt, Interrupts

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__: list[str] = []
