"""veilroute: plan routes that hide where they stop, and check that they do.

>>> import veilroute as vr
>>> domain = vr.generate_rooms(seed=7)
"""

from veilroute.audit import AuditReport
from veilroute.audit import audit_playbook as audit
from veilroute.certificate import Certificate
from veilroute.covering.cover import Cover, cover
from veilroute.diagnosis import Obstacle, find_obstacles
from veilroute.domain import (
    AtNode,
    Domain,
    Explicit,
    LineOfSight,
    Visibility,
    WithinDistance,
    draw_candidates,
    generate_rooms,
    generate_streets,
    grid_domain,
)
from veilroute.errors import (
    FileFormatError,
    InvalidInputError,
    NotAnonymizedError,
    UnknownCandidateError,
    VeilrouteError,
)
from veilroute.formats import (
    Instance,
    read_instance,
    read_movingai,
    read_scenarios,
    write_instance,
    write_movingai,
)
from veilroute.playbook import Claims, Playbook, PlaybookClass, Route, read_playbook
from veilroute.problem import Privacy, Problem, Trip
from veilroute.progress import Progress
from veilroute.solver import solve

__version__ = "0.1.0"

__all__ = [
    "AtNode",
    "AuditReport",
    "Certificate",
    "Claims",
    "Cover",
    "Domain",
    "Explicit",
    "FileFormatError",
    "Instance",
    "InvalidInputError",
    "LineOfSight",
    "NotAnonymizedError",
    "Obstacle",
    "Playbook",
    "PlaybookClass",
    "Privacy",
    "Problem",
    "Progress",
    "Route",
    "Trip",
    "UnknownCandidateError",
    "VeilrouteError",
    "Visibility",
    "WithinDistance",
    "__version__",
    "audit",
    "cover",
    "draw_candidates",
    "find_obstacles",
    "generate_rooms",
    "generate_streets",
    "grid_domain",
    "read_instance",
    "read_movingai",
    "read_playbook",
    "read_scenarios",
    "solve",
    "write_instance",
    "write_movingai",
]
