"""What a user can ask for, as data: the same fields are options, keys of a problem file, Python and the studio's JSON.

A request is plain: texts, numbers and paths, as a person would give them. ``None`` means that nobody has said anything,
and then the file that is planned decides, or what is usual. The text below a field is the help of its option.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

#: Where a value came from, for ``plan --explain``: nobody has said it, the problem file has, or the caller.
USUAL, FILE, CALLER = "usual", "file", "caller"


@dataclass(frozen=True, kw_only=True)
class ProblemSpec:
    """The map, and the places on it."""

    map: Path | None = None
    """The map: an .osm.pbf extract, a network, a grid or an instance. In place of PROBLEM."""

    places: str | tuple[str, ...] | None = None
    """A table of places (.xlsx, .csv, .geojson, .kml, .gpx, ...): where the stop could be, the start, the goal."""

    candidates: str | tuple[str, ...] | None = None
    """The possible stops in one line: "PLACE PLACE ...", or with semicolons between them."""

    random_candidates: int | None = None
    """Draw this many possible stops at random instead."""

    start: str | None = None
    """Where the trip starts: an address, a name, LAT,LON, or ROW,COLUMN on a grid."""

    goal: str | None = None
    """Where the trip ends. [the start]"""

    seed: int | None = None
    """For everything that is drawn at random. [0]"""


@dataclass(frozen=True, kw_only=True)
class StopsSpec:
    """How a stop is made, and from where it is seen."""

    at: str | None = None
    """Where a place on streets is: at its door, or at the next junction. [door]"""

    side: str | None = None
    """Which traffic passes a door: any, or kerb for that on its own side of the road. [any]"""

    traffic: str | None = None
    """On which side people drive, for side = kerb: right or left. [right]"""

    warn_beyond: float | None = None
    """Warn if the nearest street is further away than this, in metres. [100]"""

    seen_within: float | None = None
    """How near the vehicle must come to a place: at most this far. [0: it stops there]"""

    seen_measure: str | None = None
    """What seen_within is measured in: cost; or metres: driving, walking or straight, on streets. [cost]"""

    line_of_sight: float | None = None
    """A place is served from wherever it can be seen, at most this far away (grids)."""


@dataclass(frozen=True, kw_only=True)
class GridSpec:
    """How a grid is read."""

    movement: int | None = None
    """Moves on a .map: 4 or 8. [4]"""

    scenario: int | None = None
    """Which line of a .scen file, from 0. [0]"""

    origin: str | None = None
    """Where on earth a grid lies: LAT,LON of its north-west corner; with cell."""

    cell: float | None = None
    """How wide a cell of that grid is, in metres."""


@dataclass(frozen=True, kw_only=True)
class PrivacySpec:
    """What an observer must not find out."""

    k: int | None = None
    """An observer must still have at least this many possible stops to choose from. [2]"""

    apart: str | None = None
    """How far apart these must be: 8, "300 m", "300 m straight", "5 min". [0: different places]"""

    apart_measure: str | None = None
    """What a bare number of apart is measured in: cost; or metres: driving, walking or straight. [cost]"""

    until: str | None = None
    """Until when places stay hidden: end, or a number of nodes of the route. [end]"""

    spread: str | None = None
    """witness: some k places of a group are far apart. all-pairs: all of them are. [witness]"""

    risk: float | None = None
    """In place of k: how sure an observer who saw the route can be of any one area, between 0 and 1."""

    prior: Path | None = None
    """How likely each place is to be the stop: a table of place and weight."""

    mechanism: str | None = None
    """partition: each place is in one group. randomised: in several, of which one is drawn. [partition]"""


@dataclass(frozen=True, kw_only=True)
class MethodSpec:
    """How the plan is searched for."""

    planner: str | None = None
    """optimal, pbp, m-pbp, cbp, rbp, constructive, reuse, fleet, or a plug-in's. [optimal]"""

    partitioner: str | None = None
    """For pbp and m-pbp: exact, local-search, merge-bb, df-bb or naive. [exact]"""

    merge_order: str | None = None
    """For merge-bb: cost-asc or random. [cost-asc]"""

    heuristic: str | None = None
    """For merge-bb, df-bb and naive: tunnel, blind, singleton, tree or tour. [tunnel]"""

    engine: str | None = None
    """For merge-bb, df-bb and naive, how covering walks are found: astar or fields. [astar]"""

    options: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters of a planner or partitioner, also of a plug-in's."""

    objective: str | None = None
    """What to keep small: mac (the average ratio of detours) or total (their sum). [mac]"""

    reuse: Path | None = None
    """Keep the groups of this earlier playbook, for a new trip."""

    purpose: str | None = None
    """Groups for single trips, or for the tours of a fleet: trips or fleet. [trips]"""

    orders_per_day: float | None = None
    """With purpose = fleet: how many places order on a day. [15 % of them]"""

    customers: Path | None = None
    """With purpose = fleet: a table of when places can be visited and how often they order."""

    contingencies: str | None = None
    """Also plan what to do if one of these roads is closed, or one of the "worst N"."""

    time_limit: str | None = None
    """Stop after this many seconds with the best plan so far; none lifts the limit. [300]"""

    workers: str | None = None
    """Threads on this machine, or the address of a Dask scheduler. [one for each core]"""


@dataclass(frozen=True, kw_only=True)
class LedgerSpec:
    """Earlier plans that an observer could combine with this one."""

    file: Path | None = None
    """Plan under this ledger: places stay hidden even from an observer who links its trips with this one."""

    since: str | None = None
    """Assume that nobody can link trips before this day (YYYY-MM-DD)."""

    enter: bool = False
    """Enter the playbook in the ledger as well, in use from today."""


@dataclass(frozen=True, kw_only=True)
class ProblemRequest:
    """A map with its places, how stops are made, and the privacy that is wanted."""

    problem: ProblemSpec = ProblemSpec()
    privacy: PrivacySpec = PrivacySpec()
    stops: StopsSpec = StopsSpec()
    grid: GridSpec = GridSpec()


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """Plan this map with these places and this privacy, by this method, under this ledger."""

    problem: ProblemSpec = ProblemSpec()
    privacy: PrivacySpec = PrivacySpec()
    stops: StopsSpec = StopsSpec()
    grid: GridSpec = GridSpec()
    method: MethodSpec = MethodSpec()
    ledger: LedgerSpec = LedgerSpec()

    @property
    def asked(self) -> ProblemRequest:
        """The part that says what the problem is."""
        return ProblemRequest(problem=self.problem, privacy=self.privacy, stops=self.stops, grid=self.grid)


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """What several privacies cost on one problem, side by side."""

    asked: ProblemRequest = ProblemRequest()
    ks: tuple[int, ...] = ()  #: values of k; 2 to 5 if no k and no risk is named
    risks: tuple[float, ...] = ()
    aparts: tuple[float, ...] = ()
    untils: tuple[int | None, ...] = ()  #: ``None`` is the whole route
    mechanism: str = "both"
    time_limit_s: float | None = 300.0  #: for each point
    budget: float | None = None  #: how much longer routes may be, as a share: names the most private point within it
    playbooks: Path | None = None  #: a folder for the playbook of each point


@dataclass(frozen=True, kw_only=True)
class PairsRequest:
    """What one privacy costs for all starts and goals among some points of a map."""

    asked: ProblemRequest = ProblemRequest()
    points: int | None = 24  #: how many points of the map are drawn; ``None`` takes all
    planner: str = "optimal"
    partitioner: str | None = None
    time_limit_s: float | None = 300.0  #: for all of it


@dataclass(frozen=True, kw_only=True)
class AuditRequest:
    """Play the observer: of one playbook, or of several whose trips are linked."""

    playbooks: tuple[Path, ...] = ()
    against: ProblemRequest | None = None  #: what was meant; map, places and privacy are compared
    prior: Path | None = None  #: how likely places are to this observer
    ledger: Path | None = None  #: link the trips of all its playbooks
    trips: str | None = None  #: without a ledger: occasional, or expected every day
    domain: Path | None = None  #: the map, if the playbook holds only its hash
    movement: int = 4  #: moves on that map


@dataclass(frozen=True, kw_only=True)
class RiskRequest:
    """What a playbook tells an observer who knows how likely each place is."""

    playbook: Path
    prior: Path | None = None
    observer: str | None = None  #: also let this one guess: counting, bayesian or goal-recognition
    domain: Path | None = None
    movement: int = 4


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """A playbook as a picture, a page, routes, tables or a report: by the ending of the file."""

    playbook: Path
    out: Path
    trip: int | None = None
    dwell_s: float | None = None
    depart: str | None = None  #: HH:MM
    domain: Path | None = None
    movement: int = 4


@dataclass(frozen=True, kw_only=True)
class SceneRequest:
    """What the studio draws of a map, a problem or a playbook."""

    file: Path
    asked: ProblemRequest = ProblemRequest()
    domain: Path | None = None


@dataclass(frozen=True, kw_only=True)
class PlaybookRequest:
    """Something about one playbook."""

    playbook: Path

    domain: Path | None = None
    """The map or instance file, when the playbook holds only its hash."""

    movement: int = 4
    """Moves on that map: 4 or 8. [4]"""


@dataclass(frozen=True, kw_only=True)
class RouteRequest(PlaybookRequest):
    """The route for a secret stop. The secret is no part of this: it is asked for when nothing else is wrong."""

    trip: int = 0
    """Which trip, from 0."""

    format: str | None = None
    """text, json, gpx, geojson, kml or directions. [by the ending of --out, else text]"""

    out: Path | None = None
    """Write the route to this file; the secret is not in it."""

    dwell: float | None = None
    """How many seconds every stop takes, the same at each. [60]"""

    depart: str | None = None
    """HH:MM, when the trip begins, for times by the clock. [times from the start on]"""

    key: Path | None = None
    """Draw by this key (see key new): repeated, it gives the same route."""

    occasion: str = ""
    """What the draw by key is for, such as a date; not secret."""

    ledger: Path | None = None
    """Only if the playbook is in this ledger, and linked trips keep all its promises."""

    expose: bool = False
    """Give a route even if it gives the stop away."""


@dataclass(frozen=True, kw_only=True)
class ChangedMapRequest(PlaybookRequest):
    """Something about a playbook whose map is not as it was."""

    closed: str = ""
    """Closed roads: a street's name, or two places as A,B; A>B from A to B only; semicolons between them."""

    closed_nodes: str = ""
    """Closed nodes, with all roads to them and away."""

    costs: Path | None = None
    """What edges cost now: a table of from, to and cost."""

    choice: str | None = None
    """What to do if too few places stay covered: go-on to the other ones, or give-up. [nothing is chosen]"""

    ledger: Path | None = None
    """Enter what is driven now in this ledger."""

    date: str | None = None
    """The day of the trip, for the ledger. [today]"""


@dataclass(frozen=True, kw_only=True)
class ReplanRequest(ChangedMapRequest):
    """The rest of a class's route where roads are closed."""

    number: int | None = None
    """Which group, as `plan` and pictures number them, from 1."""

    at: str | None = None
    """Where the vehicle is: a node, its name, or LAT,LON; with --day, what time it is, HH:MM."""

    position: int | None = None
    """Where on the route that is, from 0, if the route passes the node more than once."""

    trip: int = 0
    """Which trip, from 0."""

    after: Path | None = None
    """The .json of the replan that the vehicle follows already; its roads stay closed."""

    out: Path | None = None
    """Write it to this file: .json; on streets also .gpx, .geojson or .txt."""


@dataclass(frozen=True, kw_only=True)
class ReplanDayRequest(ChangedMapRequest):
    """The rest of a fleet's day where a vehicle has broken down or a road is closed. It asks for no orders."""

    day: Path
    """The day as it was planned last: its folder, or its day.json."""

    at: str | None = None
    """What time it is, HH:MM; the positions of the vehicles follow from it."""

    positions: str = ""
    """Where vehicles are on their routes, from 0: "1=12 2=30+"; with + if the stops there are made."""

    broken: str = ""
    """Vehicles that have broken down, from 1: "2 5"."""

    late: bool = False
    """Drive on if windows or shifts cannot be kept, with as little delay as is found."""

    keep: bool = False
    """Vehicles keep their customers; only those of broken vehicles change hands."""

    out: Path | None = None
    """Write the files of the rest of the day into this folder."""


@dataclass(frozen=True, kw_only=True)
class FleetTerms:
    """What is public about a day of a fleet. ``None`` is what ``terms`` says, or what is usual."""

    vehicles: int | None = None
    """How many vehicles there are."""

    capacity: int | None = None
    """How much each of them takes. [anything]"""

    customers: Path | None = None
    """What is public about customers: a table of place, demand, service, opens, closes, rate."""

    demand: int | None = None
    """How large an order may be. [1]"""

    service: float | None = None
    """How many minutes a stop takes. [1]"""

    shift: str | None = None
    """How long a vehicle may be on its way, stops included: HH:MM, or minutes. [any time]"""

    depart: str | None = None
    """When vehicles leave at the earliest, HH:MM. [08:00]"""

    speed: float | None = None
    """How fast they are, in km/h, for times; costs that are not seconds are taken for metres."""

    depots: str | None = None
    """Where vehicles begin and end: "A; B", or "A=2; B=1". [start and goal of the first trip]"""

    is_open: bool = False
    """Days end at the last stop, wherever that is."""

    iterations: int | None = None
    """How long tours are improved. [3000]"""

    seed: int | None = None
    """Random seed; a different seed gives different tours. [0]"""

    pad_to: int | None = None
    """Visit this many groups every day, some of them for show."""

    always: str | None = None
    """Groups to visit every day: "1,5" by number, or by the name of a member."""

    rate: float | None = None
    """How probable it is that a customer orders on a day, 0 to 1."""

    terms: Path | None = None
    """The day.json of an earlier day, or its terms: all that options here do not say."""


@dataclass(frozen=True, kw_only=True)
class FleetRequest(PlaybookRequest):
    """Tours past every member of every class that holds an order. What is secret comes as numbers of classes alone."""

    touched: str | None = None
    """In place of --orders: "1,5", the numbers of the groups that hold one, which tours show anyway."""

    public: FleetTerms = FleetTerms()

    key: Path | None = None
    """Draw the groups for show by this key (see key new)."""

    occasion: str = ""
    """What the draw by key is for; not secret."""

    ledger: Path | None = None
    """Enter the day in this ledger."""

    date: str | None = None
    """The day, for the ledger. [today]"""

    out: Path | None = None
    """Write the files of the day into this folder."""


@dataclass(frozen=True, kw_only=True)
class LedgerNewRequest:
    """A ledger without playbooks."""

    ledger: Path

    trips: str = "occasional"
    """What a day without a trip says. occasional: nothing. expected: every place that is served has a trip every day,
    so a missing trip shows. [occasional]"""


@dataclass(frozen=True, kw_only=True)
class LedgerAddRequest(PlaybookRequest):
    """Enter a playbook that is going to be used."""

    ledger: Path
    date: str | None = None
    """The first day on which it is used, as 2026-11-16. [today]"""

    occasion: str = ""
    """For a randomised playbook: that of `route --occasion`."""

    anyway: bool = False
    """Enter it also if linked trips then leave too few possible stops for some places."""


@dataclass(frozen=True, kw_only=True)
class LedgerPlacesRequest:
    """Two places of a ledger that are the same, or different ones, as playbooks call them."""

    ledger: Path
    place: str
    other: str

    date: str | None = None
    """The day of this statement. [today]"""


@dataclass(frozen=True, kw_only=True)
class LedgerCheckRequest:
    """What linked trips leave of everybody in a ledger."""

    ledger: Path

    since: str | None = None
    """Assume that trips before this day (YYYY-MM-DD) cannot be linked with later ones."""

    head: str | None = None
    """A head that was written down earlier, which must still be there."""


@dataclass(frozen=True, kw_only=True)
class LedgerWhatIfRequest:
    """What a change would do to a ledger, before it happens."""

    ledger: Path

    remove: str = ""
    """Places that leave: "PLACE PLACE ...", or with semicolons between them."""

    add: str = ""
    """Places that join."""

    close: str = ""
    """Roads that are closed: a street's name, or two places as A,B; A>B from A to B only."""

    k: int | None = None
    """Another k."""

    risk: float | None = None
    """Another risk."""

    since: str | None = None
    """Assume that trips before this day (YYYY-MM-DD) cannot be linked with later ones."""

    today: Path | None = None
    """A playbook of the ledger. [the last one, if its file is beside the ledger]"""

    time_limit: str | None = None
    """Stop after this many seconds with the best plan so far; none lifts the limit. [300]"""

    out: Path | None = None
    """Write the plan that would follow here."""

    domain: Path | None = None
    """The map or instance file, when the playbook holds only its hash."""

    movement: int = 4
    """Moves on that map: 4 or 8. [4]"""


#: The letters of the paper and names that existed before, and the keys that took their place.
OLD_KEYS = {
    "ell": "apart",
    "ell_measure": "apart_measure",
    "m": "until",
    "snap": "at",
    "snap_warning": "warn_beyond",
    "radius": "seen_within",
    "radius_measure": "seen_measure",
    "sight": "line_of_sight",
    "option": "options",
    "for": "purpose",
    "dask": "workers",
}


def sections(kind: type) -> dict[str, type]:
    """The parts of a request by their names in a problem file; the keys of ``problem`` stand at its top."""
    found = {}
    for each in fields(kind):
        if is_dataclass(each.default) and not isinstance(each.default, type):
            found[each.name] = type(each.default)
    return found


def values(request: Any) -> Iterator[tuple[str, str, Any]]:
    """Each part, key and value of a request."""
    for part in sections(type(request)):
        spec = getattr(request, part)
        for each in fields(spec):
            yield part, each.name, getattr(spec, each.name)


@cache
def texts_of(kind: type) -> dict[str, str]:
    """The text below each field of a dataclass, or of one that it is made from."""
    import ast
    import inspect

    found = {name: text for base in kind.__bases__ if is_dataclass(base) for name, text in texts_of(base).items()}
    (node,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(node, ast.ClassDef)
    for one, following in zip(node.body, node.body[1:], strict=False):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and isinstance(following, ast.Expr):
            found[one.target.id] = str(ast.literal_eval(following.value))
    return found
